"""The field's protocol: mean accuracy and 95 % interval over thousands of N-way K-shot tasks.

In eval mode an embedding does not depend on its batch, so the set is embedded once and tasks are
drawn from the table: exactly what embedding every task anew would give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pseudoshot.classifiers import Chosen, Classifier, Setting, Support
from pseudoshot.data import ImageSet
from pseudoshot.embedders import Embedder
from pseudoshot.tasks.similarity import Similarity
from pseudoshot.tools.console import progress_bar
from pseudoshot.tools.distinct import sample_distinct
from pseudoshot.tools.errors import PseudoshotError

DEFAULT_SHOTS = (1, 5, 20, 50)
_FLOATS_A_BATCH = 1 << 24  # embeddings gathered at a time: 64 MB


@dataclass(frozen=True)
class Accuracy:
    """In percent; `interval` is the half-width of the 95 % confidence interval over tasks."""

    shot: int
    accuracy: float
    interval: float


@dataclass(frozen=True)
class Evaluation:
    """A result and the protocol it was obtained by.

    Attributes
    ----------
    results
        Accuracy and interval in percent, one per shot.
    scores
        Percent right in every task, (shots, tasks).
    classifier, setting, similarity, reading
        How queries were told apart; inductive, or transductive: together; by which vectors.
    data, note, way, query, tasks, seed
        What the tasks were.
    pretrained_labels
        The labels that the model was pre-trained with: not comparable with unsupervised figures.
    fingerprint, labelling
        Of the image set, and of which row has which label.

    Examples
    --------
    >>> evaluate(load("runs/demo"), images).results[0].accuracy  # doctest: +SKIP
    """

    data: str
    note: str  # what else the set's protocol must state, such as rotations as classes
    way: int
    query: int
    tasks: int
    seed: int
    similarity: Similarity
    classifier: str
    setting: Setting  # inductive, or transductive: queries are seen together
    results: tuple[Accuracy, ...]
    reading: str = "plain"  # how vectors were made of what the network says
    pretrained_labels: str = ""  # those the model was pre-trained with; "": none
    fingerprint: str = field(default="", repr=False)  # of the image set
    labelling: str = field(default="", repr=False)  # which row has which label: see `ImageSet`
    scores: npt.NDArray[np.float32] = field(  # percent right in every task, (shots, tasks)
        default_factory=lambda: np.empty((0, 0), np.float32), repr=False, compare=False
    )

    def as_dict(self) -> dict[str, Any]:
        """The protocol and its results as a person reads them."""
        told = asdict(self)
        for name in ("fingerprint", "labelling", "scores"):
            del told[name]
        return told


@dataclass(frozen=True)
class NovelTasks:
    """T labelled tasks as rows of an image set: support (T, N, K) and query (T, N, Q)."""

    support: Tensor
    query: Tensor


class TaskSampler:
    """Draws tasks of real classes: N classes of a labelled set, K + Q distinct images of each."""

    def __init__(self, images: ImageSet) -> None:
        self.counts = torch.from_numpy(images.class_counts())
        assert images.labels is not None
        self.by_class = torch.from_numpy(np.argsort(images.labels, kind="stable"))
        self.starts = self.counts.cumsum(0) - self.counts

    def draw(
        self, way: int, shot: int, query: int, tasks: int, generator: torch.Generator
    ) -> NovelTasks:
        total = torch.full((tasks,), len(self.counts))
        classes = sample_distinct(total, way, generator)  # (T, N)
        members = sample_distinct(self.counts[classes], shot + query, generator)
        rows = self.by_class[self.starts[classes][..., None] + members]  # (T, N, K+Q)
        return NovelTasks(rows[..., :shot], rows[..., shot:])


class PreparedImages:
    """A set's images as a network takes them, made when rows are asked for: what stands in place of
    a table of embeddings for a classifier that takes images."""

    def __init__(self, embedder: Embedder, images: ImageSet) -> None:
        self.embedder, self.images = embedder, images

    @property
    def shape(self) -> tuple[int, int]:
        """How many images, and numbers of each."""
        card = self.embedder.card
        return len(self.images), card.channels * card.size**2

    def __getitem__(self, rows: Tensor) -> Tensor:
        """(...) to (..., channels, size, size)."""
        pixels = self.images.images[rows.flatten().numpy()]
        prepared = self.embedder.prepare(self.embedder.preprocess(pixels))
        return prepared.reshape(*rows.shape, *prepared.shape[1:])


Table: TypeAlias = Tensor | PreparedImages


def table_for(classifier: Classifier, embedder: Embedder, images: ImageSet) -> Table:
    """What the classifier is given of every image: its embedding, or itself."""
    takes_images = classifier.takes == "images"
    return PreparedImages(embedder, images) if takes_images else embedder.embed(images)


def predict(table: Table, tasks: NovelTasks, classifier: Classifier) -> Tensor:
    """The class of every query: (T, N, Q) of class positions."""
    queries = table[tasks.query.flatten(1)]  # (T, NQ, ...)
    fitted = classifier.fit(Support.balanced(table[tasks.support]))
    return fitted.logits(queries).argmax(-1).view_as(tasks.query)


@torch.inference_mode()
def score_tasks(table: Table, tasks: NovelTasks, classifier: Classifier) -> Tensor:
    """The accuracy of every task, (T,), in batches of bounded memory."""
    T, N, K = tasks.support.shape
    Q = tasks.query.shape[2]
    floats = classifier.floats_a_task(N * (K + Q), table.shape[1])
    batch = max(1, _FLOATS_A_BATCH // floats)
    truth = torch.arange(N)[None, :, None]
    scores = torch.empty(T, dtype=torch.float64)
    with progress_bar(of="tasks") as bar:
        task = bar.add_task(f"{K}-shot", total=T)
        for start in range(0, T, batch):
            part = slice(start, start + batch)
            some = NovelTasks(tasks.support[part], tasks.query[part])
            right = predict(table, some, classifier) == truth
            scores[part] = right.double().mean((1, 2))
            bar.advance(task, len(some.support))
    return scores


def evaluate_embeddings(
    embeddings: Table,
    images: ImageSet,
    classifier: Classifier,
    *,
    way: int = 5,
    shots: Sequence[int] = DEFAULT_SHOTS,
    query: int = 15,
    tasks: int = 10_000,
    seed: int = 0,
    reading: str = "plain",
    pretrained_labels: str = "",
) -> Evaluation:
    """Accuracy at every shot; the tasks of a shot depend on the seed and the task's shape alone."""
    check_tasks(images, way, shots, query, tasks, seed)
    sampler = TaskSampler(images)
    scores = torch.empty(len(shots), tasks, dtype=torch.float64)
    for shot, its_scores in zip(shots, scores, strict=True):
        drawn = sampler.draw(way, shot, query, tasks, torch.Generator().manual_seed(seed))
        its_scores[:] = 100 * score_tasks(embeddings, drawn, classifier)
    return Evaluation(
        data=images.name,
        note=images.note,
        way=way,
        query=query,
        tasks=tasks,
        seed=seed,
        similarity=classifier.similarity,
        classifier=classifier.name,
        setting=classifier.setting,
        reading=reading,
        results=tuple(
            Accuracy(shot, *mean_and_interval(its_scores))
            for shot, its_scores in zip(shots, scores, strict=True)
        ),
        pretrained_labels=pretrained_labels,
        fingerprint=images.fingerprint(),
        labelling=images.labelling(),
        scores=scores.float().numpy(),
    )


def mean_and_interval(values: Tensor) -> tuple[float, float]:
    """The mean over tasks and the half-width of its 95 % confidence interval.

    >>> mean_and_interval(torch.tensor([40.0, 60.0, 40.0, 60.0]))
    (50.0, 9.8)
    """
    return float(values.mean()), 1.96 * float(values.std(correction=0)) / len(values) ** 0.5


def evaluate(
    embedder: Embedder,
    images: ImageSet,
    *,
    classifier: Chosen | None = None,
    way: int = 5,
    shots: Sequence[int] | None = None,
    query: int = 15,
    tasks: int = 10_000,
    seed: int = 0,
) -> Evaluation:
    """The paper's protocol for a trained embedding, by the classifier it is made for or another.

    Parameters
    ----------
    embedder, images
        A model and a labelled image set of classes it was not trained on.
    classifier
        A name, or settings, of `pseudoshot.classifiers`; what the model is made for by default.
    way, shots, query
        Classes per task; examples of each, by default those of 1, 5, 20 and 50 that the set's
        smallest class allows; images of each to recognise.
    tasks, seed
        How many tasks, and the seed of their draw.

    Examples
    --------
    >>> evaluate(load("runs/demo"), load_data("glyphs:test"), query=7)  # doctest: +SKIP
    """
    chosen = embedder.classifier(classifier)  # what is refused is so before the work of embedding
    shots = check_tasks(images, way, shots, query, tasks, seed)
    return evaluate_embeddings(
        table_for(chosen, embedder, images),
        images,
        chosen,
        way=way,
        shots=shots,
        query=query,
        tasks=tasks,
        seed=seed,
        reading=str(embedder.card.reading),
        pretrained_labels=embedder.card.labels,
    )


def check_tasks(
    images: ImageSet, way: int, shots: Sequence[int] | None, query: int, tasks: int, seed: int
) -> tuple[int, ...]:
    """Refuse tasks the set cannot give, naming the numbers; without shots, choose the possible."""
    counts = images.class_counts()
    smallest = int(counts.argmin())
    most = int(counts[smallest])
    possible = tuple(shot for shot in DEFAULT_SHOTS if shot + query <= most)
    shots = tuple(shots or possible or DEFAULT_SHOTS[:1])
    numbers = {"--way": way, "--query": query, "--shot": min(shots), "--tasks": tasks}
    for name, number in numbers.items():
        if number < 1:
            raise PseudoshotError(f"{name} must be at least 1, not {number}")
    if not 0 <= seed < 2**63:
        raise PseudoshotError(f"--seed must be between 0 and 2**63 - 1, not {seed}")
    if way > len(images.classes):
        raise PseudoshotError(
            f"{way}-way tasks need {way} classes but '{images.name}' has {len(images.classes)}: "
            f"lower --way to {len(images.classes)} or less"
        )
    needed = max(shots) + query
    if needed > most:
        raise PseudoshotError(
            f"{max(shots)} shots and {query} queries need {needed} images of a class but class "
            f"'{images.classes[smallest]}' of '{images.name}' has {most}: "
            f"lower --shot or --query until they add up to {most} or less"
        )
    return shots


def pixel_embeddings(images: ImageSet) -> Tensor:
    """Raw pixels as an embedding: what a trained one has to beat."""
    pixels: npt.NDArray[np.float32] = images.images[:].reshape(len(images), -1).astype(np.float32)
    return torch.from_numpy(pixels / 255)
