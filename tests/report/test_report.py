"""The page of a run that was never trained: its files are written by hand."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from pseudoshot.classifiers import CLASSIFIERS, build_classifier
from pseudoshot.data import ImageSet
from pseudoshot.evaluation.few_shot import Evaluation, predict
from pseudoshot.evaluation.records import append_record, read_records
from pseudoshot.report import Novel, write_report
from pseudoshot.report.novel import draw_task
from pseudoshot.report.pictures import Painter
from pseudoshot.report.scores import accuracy_sections
from pseudoshot.settings.resolve import resolve
from pseudoshot.training.run_folder import RunFolder
from pseudoshot.views import POLICIES
from tests.evaluation.test_records import make_evaluation
from tests.report.reading import Page, read

VIEWS, TASK, ACCURACY, CURVES = (
    "What it learned from",
    "One task from toy:test",
    "Accuracy on toy:test",
    "How the training went",
)
EVIL = '<b>&"'


def make_folder(path: Path, records: int = 3, full: bool = False) -> RunFolder:
    """Only the loss is logged unless `full`: a plot takes a tenth of a second."""
    folder = RunFolder(path)
    folder.write_settings(resolve({"data": "toy", "recipe": "paper", "epochs": 2}))
    for step in range(1, records + 1):
        folder.append_log(make_record(step, step / records * 2, full))
    return folder


def make_record(step: int, epoch: float, full: bool = False) -> dict[str, float]:
    record = {"step": step, "epoch": epoch, "loss": 3 / step, "seconds": 42.0 * step}
    if full:
        record |= {"norm_mean": 9.0, "norm_std": 1.0, "gradient_norm": 0.01}
        record |= {"pseudo_accuracy": 50.0}
    return record


def make_images(classes: tuple[str, ...] = (EVIL, "b", "c"), a_class: int = 4) -> ImageSet:
    generator = np.random.default_rng(0)
    labels = np.repeat(np.arange(len(classes)), a_class)
    pixels = generator.integers(0, 256, (len(labels), 12, 12, 3), dtype=np.uint8)
    return ImageSet("toy:test", pixels, labels, classes)


def make_novel(images: ImageSet, seed: int = 0) -> Novel:
    generator = torch.Generator().manual_seed(seed)
    return Novel(images, torch.randn(len(images), 4, generator=generator))


def written(
    folder: RunFolder, *parts: Any, evaluations: Mapping[str, list[Evaluation]] = {}, **named: Any
) -> Page:
    for measured, its_evaluations in evaluations.items():
        for evaluation in its_evaluations:
            append_record(folder.path, measured, evaluation)
    path = write_report(folder, *parts, **named)
    assert path == folder.path / "report.html"
    names = sorted(p.name for p in folder.path.iterdir() if "report" in p.name)
    assert names == ["report", "report.html"]
    return read(path.read_text(encoding="utf-8"))


def test_the_whole_page_is_self_contained(tmp_path: Path) -> None:
    images = make_images()
    page = written(
        make_folder(tmp_path, full=True),
        images,
        make_novel(images),
        evaluations={"raw pixels": [make_evaluation(30.0)], "trained": [make_evaluation(60.0)]},
    )
    assert page.headings == ["toy", VIEWS, TASK, ACCURACY, CURVES]
    assert page.sources
    assert all(source.startswith("data:image/") for source in page.sources)
    assert page.links == []
    assert not page.tags & {"script", "link", "iframe"}
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert not any(scheme in html for scheme in ("http:", "https:", "file:"))


def test_the_header_names_the_run(tmp_path: Path) -> None:
    page = written(make_folder(tmp_path))
    for shown in ("baseline", "conv4", "2 min 6 s", "temperature", "optimiser", torch.__version__):
        assert shown in page.text


def test_an_unfinished_run_says_how_far_it_is(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, records=0)
    folder.append_log(make_record(1, 0.5))
    assert "0.5 of 2" in written(folder).text


@pytest.mark.parametrize(
    ("parts", "headings"),
    [
        ({}, [CURVES]),
        ({"images": make_images().without_labels()}, [VIEWS, CURVES]),
        ({"evaluations": {"trained": [make_evaluation(60.0, 70.0)]}}, [ACCURACY, CURVES]),
        ({"novel": make_novel(make_images())}, [TASK, CURVES]),
        ({"evaluations": {"trained": []}}, [CURVES]),
    ],
)
def test_a_part_that_is_not_given_is_left_out(
    tmp_path: Path, parts: dict[str, Any], headings: list[str]
) -> None:
    page = written(make_folder(tmp_path), **parts)
    assert page.headings == ["toy", *headings]
    assert ("pseudoshot evaluate" in page.text) == (ACCURACY not in headings)


def test_a_run_without_a_log_has_no_curves(tmp_path: Path) -> None:
    assert written(make_folder(tmp_path, records=0)).headings == ["toy"]


def test_scoring_adds_to_the_page(tmp_path: Path) -> None:
    folder, images = make_folder(tmp_path, records=0), make_images()
    written(folder, images.without_labels())
    scored = {"trained": [make_evaluation(60.0)]}
    page = written(folder, evaluations=scored, novel=make_novel(images))
    assert page.headings == ["toy", VIEWS, TASK, ACCURACY]
    assert "pseudoshot evaluate" not in page.text

    page = written(folder, evaluations={"trained": [make_evaluation(61.5)]})  # the same, renewed
    assert page.headings == ["toy", VIEWS, TASK, ACCURACY]
    assert "61.50" in page.text
    assert "60.00" not in page.text
    page = written(folder, evaluations={"trained": [make_evaluation(77.0, way=3)]})
    assert page.headings.count(ACCURACY) == 1
    assert page.text.index("77.00") < page.text.index("61.50")  # fewer classes first
    other = replace(make_evaluation(44.0), fingerprint="of other images")
    page = written(folder, evaluations={"trained": [other]})
    assert page.headings == ["toy", VIEWS, TASK, ACCURACY, ACCURACY]
    assert len(read_records(tmp_path)) == 4


def test_each_image_set_has_its_own_task(tmp_path: Path) -> None:
    folder, images = make_folder(tmp_path, records=0), make_images()
    written(folder, novel=make_novel(images))
    page = written(folder, novel=make_novel(replace(images, name="birds")))
    assert sorted(page.headings[1:]) == ["One task from birds", TASK]
    again = written(folder, novel=make_novel(images, seed=1))
    assert again.headings == page.headings


def test_a_page_of_an_earlier_version_is_kept(tmp_path: Path, capsys: Any) -> None:
    folder = make_folder(tmp_path, records=0)
    (tmp_path / "report.html").write_text("accuracies that are nowhere else")
    for _ in range(2):
        write_report(folder, make_images())
        assert "accuracies" in (tmp_path / "report-earlier.html").read_text()
        assert VIEWS in (tmp_path / "report.html").read_text()
    assert capsys.readouterr().err.count("the report so far is kept as") == 1


def test_the_same_run_gives_the_same_page(tmp_path: Path) -> None:
    folder, images = make_folder(tmp_path), make_images()
    first = write_report(folder, images).read_bytes()
    assert write_report(folder, images).read_bytes() == first


@pytest.mark.parametrize("seed", range(3))
def test_marks_are_the_predictions(tmp_path: Path, seed: int) -> None:
    images = make_images(tuple("abcdefg"), a_class=7)
    novel = make_novel(images, seed)
    task = draw_task(images)
    assert task is not None
    predicted = predict(novel.embeddings, task, build_classifier("prototype"))[0]
    assert predicted.shape == (5, 5)
    expected, names = [], []
    for position, row in enumerate(predicted.tolist()):
        expected.append("example")
        for guess in row:
            expected.append("right" if guess == position else "wrong")
            if guess != position:
                taken_for = int(task.support[0, guess, 0])
                names.append(images.classes[images.labels[taken_for]])  # type: ignore[index]
    assert {"right", "wrong"} < set(expected)

    page = written(make_folder(tmp_path, records=0), novel=novel)
    assert page.figures == expected
    assert [alt.removeprefix("taken for ") for alt in page.alts if alt.startswith("taken")] == names
    assert page.text.count("✗") == len(names) + 1  # and once in the explanation
    assert f"{25 - len(names)} of 25" in page.text


@pytest.mark.parametrize(
    ("images", "figures"),
    [
        (make_images(("a", "b"), a_class=2), 4),  # 2-way, one query a class
        (make_images(("a", "b"), a_class=1), 0),
        (make_images(("a",), a_class=9), 0),
        (make_images().without_labels(), 0),
    ],
)
def test_a_small_set_gives_a_small_task_or_none(
    tmp_path: Path, images: ImageSet, figures: int
) -> None:
    page = written(make_folder(tmp_path, records=0), novel=make_novel(images))
    assert len(page.figures) == figures
    assert (TASK in page.headings) == (figures > 0)


def test_text_from_outside_is_escaped(tmp_path: Path) -> None:
    images = make_images((EVIL, f"{EVIL}2"))
    folder = RunFolder(tmp_path / "a b")
    folder.path.mkdir()
    folder.write_settings(resolve({"data": f"photos/{EVIL}"}))
    page = written(
        folder,
        images,
        make_novel(images),
        evaluations={EVIL: [make_evaluation(50.0, way=2, note=EVIL, data=f"a/{EVIL}")]},
    )
    assert page.headings[0] == EVIL
    assert "b" in page.tags  # the bars' own
    html = (folder.path / "report.html").read_text(encoding="utf-8")
    assert "<b>" not in html
    assert f"example of {EVIL}" in page.alts


def test_a_name_that_is_not_unicode_is_written(tmp_path: Path) -> None:
    images = make_images(("caf\udce9", "b"))
    assert "caf?" in written(make_folder(tmp_path, records=0), novel=make_novel(images)).text


def test_rows_of_accuracy(tmp_path: Path) -> None:
    compared = {
        "raw pixels": [make_evaluation(30.0), make_evaluation(20.0, way=20)],
        "trained": [make_evaluation(60.0), make_evaluation(40.0, way=20)],
    }
    text = written(make_folder(tmp_path, records=0), evaluations=compared).text
    order = ["5-way, 1-shot", "raw pixels", "trained", "20-way, 1-shot", "raw pixels", "trained"]
    position = text.index(ACCURACY)
    for words in order:
        position = text.index(words, position) + 1
    assert "60.00 ± 0.25 %" in text
    assert "mean over 4 tasks" in text
    assert "15 images of each class" in text


def plots_of(page: Page) -> list[str]:
    """The titles of the plots, each of which is an SVG that can be parsed."""
    for source in page.sources:
        kind, _, content = source.partition(";base64,")
        assert kind == "data:image/svg+xml"
        ElementTree.fromstring(base64.b64decode(content))
    return [alt.partition(":")[0] for alt in page.alts]


def test_one_record_is_enough_for_the_curves(tmp_path: Path) -> None:
    titles = plots_of(written(make_folder(tmp_path, records=1, full=True)))
    assert titles == [
        "Loss",
        "Validation accuracy on held-out images, without labels",
        "Length of the embeddings",
        "Pull on the embeddings",
    ]


def test_a_curve_without_data_is_left_out(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, records=0)
    for step in (1, 2):
        record = make_record(step, float(step), full=True)
        del record["pseudo_accuracy"]
        folder.append_log({**record, "gradient_norm": float("nan")})
    assert plots_of(written(folder)) == ["Loss", "Length of the embeddings"]


def test_a_long_log_gives_a_small_page(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, records=5000, full=True)
    write_report(folder)
    assert (tmp_path / "report.html").stat().st_size < 300_000


def test_characters_are_shown_as_ink_photographs_as_they_are() -> None:
    dark = np.zeros((2, 12, 12, 1), dtype=np.uint8)
    dark[:, 5:7] = 255
    images = ImageSet("toy", dark)
    assert Painter.of(images, POLICIES.parse("strokes")).inverted
    assert not Painter.of(ImageSet("toy", 255 - dark), POLICIES.parse("strokes")).inverted
    assert not Painter.of(images, POLICIES.parse("amdim")).inverted


@pytest.mark.parametrize("name", [*CLASSIFIERS, f"another{EVIL}"])
def test_every_classifier_is_explained_and_marked(name: str, tmp_path: Path) -> None:
    evaluation = replace(make_evaluation(60.0), classifier=name, setting="inductive")
    (section,) = accuracy_sections([append_record(tmp_path, "trained", evaluation)])
    text = read(section).text
    assert f"classifier: {name} (inductive)" in text
    rule = getattr(CLASSIFIERS.get(name), "rule", "Every other image goes to the class")
    assert rule in text
