"""One task of new classes as pictures: the examples, the queries, and what each was taken for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pseudoshot.classifiers import build_classifier
from pseudoshot.data import ImageSet
from pseudoshot.evaluation.few_shot import NovelTasks, TaskSampler, predict
from pseudoshot.report.markup import figure, image, section, short_name, text
from pseudoshot.report.pictures import Painter
from pseudoshot.tasks.similarity import Similarity
from pseudoshot.views import ViewSettings

WAY, QUERY, SEED = 5, 5, 0
_SMALL = 36  # pixels a side of the example shown beside a wrong answer


@dataclass(frozen=True)
class Novel:
    """A labelled image set and the run's embedding of each of its images, (n, d)."""

    images: ImageSet
    embeddings: Tensor


def draw_task(images: ImageSet) -> NovelTasks | None:
    """The one task the page shows, or None where the set is too small for any: 5-way 1-shot with
    5 queries per class, fewer where there are not as many."""
    if images.labels is None or len(images.classes) < 2:
        return None
    way = min(WAY, len(images.classes))
    query = min(QUERY, int(images.class_counts().min()) - 1)
    if query < 1:
        return None
    generator = torch.Generator().manual_seed(SEED)
    return TaskSampler(images).draw(way, 1, query, tasks=1, generator=generator)


def task_section(novel: Novel, similarity: Similarity, views: ViewSettings) -> str:
    """Nothing where the set is too small for a task."""
    images, task = novel.images, draw_task(novel.images)
    if task is None:
        return ""
    predicted = predict(novel.embeddings, task, build_classifier("prototype", similarity))[0]
    drawing = _Drawing(images, Painter.of(images, views), task.support[0, :, 0].tolist())
    way, query = predicted.shape
    right = int((predicted == torch.arange(way)[:, None]).sum())
    body = "\n".join(
        drawing.row(position, task.query[0, position].tolist(), predicted[position].tolist())
        for position in range(way)
    )
    lead = (
        f"From one labelled example of each of {way} classes (<em>{way}-way, 1-shot</em>), the "
        f"network sorted {way * query} other images, the <em>queries</em>: each went to the "
        f"example it is most similar to. <strong>{right} of {way * query}</strong> are right (✓); "
        f"beside a wrong one (✗) stands the example it was taken for. Classes and images were "
        f"drawn at random with seed {SEED}, not picked.{drawing.painter.remark}"
    )
    title = f"One task from {text(short_name(images.name))}"
    return section(title, lead, drawing.painter.frame(body, "task"))


@dataclass(frozen=True)
class _Drawing:
    images: ImageSet
    painter: Painter
    examples: list[int]  # row of each class's example

    def row(self, position: int, queries: list[int], predicted: list[int]) -> str:
        """One class: its name, its example, its queries."""
        name = self._class_of(self.examples[position])
        example = figure(
            image(self._png(self.examples[position]), f"example of {name}"), "example", "example"
        )
        shown = [
            self._query(query, position, guess)
            for query, guess in zip(queries, predicted, strict=True)
        ]
        return (
            f'<div class="class"><h3>{text(name)}</h3>'
            f'<div class="queries">{example}{"".join(shown)}</div></div>'
        )

    def _query(self, row: int, truth: int, guess: int) -> str:
        if guess == truth:
            picture = image(self._png(row), "right")
            return figure(picture, '<span class="mark">✓</span>', "right")
        taken_for = self.examples[guess]
        name = self._class_of(taken_for)
        picture = image(self._png(row), f"wrong: taken for {name}")
        small = image(self._png(taken_for, _SMALL), f"taken for {name}")
        return figure(picture, f'<span class="mark">✗</span>{small}', "wrong")

    def _png(self, row: int, largest: int | None = None) -> str:
        pixels = np.asarray(self.images.images[row])
        return self.painter.png(pixels, largest) if largest else self.painter.png(pixels)

    def _class_of(self, row: int) -> str:
        assert self.images.labels is not None
        return self.images.classes[int(self.images.labels[row])]
