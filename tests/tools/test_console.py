"""What is said of a long work, by a clock that the test turns."""

from __future__ import annotations

import pytest

from pseudoshot.tools.console import SpokenProgress, progress_bar


class Clock:
    def __init__(self) -> None:
        self.now = 1e6

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def nothing_said_yet(monkeypatch):
    for name in ("last_line", "last_step"):
        monkeypatch.setattr(SpokenProgress, name, 0.0)


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def work(clock: Clock, steps: int, seconds: float, *, of: str = "images", size: int = 10) -> None:
    """A bar over `steps` of so many seconds, each of `size` images."""
    with progress_bar(of=of, clock=clock) as bar:
        task = bar.add_task("embedding", total=steps * size)
        for _ in range(steps):
            clock.now += seconds
            bar.advance(task, size)


def test_what_it_will_take_is_said_once_its_beginning_is_measured(capsys):
    work(Clock(), 24, 1.0)
    assert lines_of(capsys) == ["embedding: 240 images, about 24 s"]


def test_nothing_is_said_of_what_is_soon_done(capsys):
    work(Clock(), 9, 1.0)
    work(Clock(), 1, 0.5)
    assert lines_of(capsys) == []


def test_without_a_terminal_a_line_a_minute_and_no_more(capsys):
    work(Clock(), 300, 1.0)
    announced, *lines = lines_of(capsys)
    assert announced == "embedding: 3,000 images, about 5 min"
    assert lines == [
        "embedding: 600 of 3,000 images, about 4 min left",
        "embedding: 1,200 of 3,000 images, about 3 min left",
        "embedding: 1,800 of 3,000 images, about 2 min left",
        "embedding: 2,400 of 3,000 images, about 60 s left",
    ]


def test_works_that_follow_one_another_share_the_minute(capsys):
    clock = Clock()
    for _ in range(3):
        work(clock, 40, 1.0, of="")
    assert lines_of(capsys) == ["embedding: 200 of 400, about 20 s left"]
    for _ in range(200):  # many short ones
        work(clock, 9, 0.1, of="")
    assert lines_of(capsys) == []
    clock.now += 3600  # a server that waited
    work(clock, 40, 1.0, of="")
    assert lines_of(capsys) == []


def test_a_sequence_that_is_tracked_is_told_of_alike(capsys):
    clock = Clock()
    with progress_bar(clock=clock) as bar:
        for _ in bar.track(range(100), description="sorting"):
            clock.now += 1
    assert lines_of(capsys) == ["sorting: 60 of 100, about 40 s left"]


def test_what_was_done_before_does_not_make_it_look_fast(capsys):
    clock = Clock()
    with progress_bar("loss {task.fields[loss]}", clock=clock) as bar:
        task = bar.add_task("training", total=1000, completed=900, loss="-")
        for _ in range(90):
            clock.now += 1
            bar.update(task, advance=1, loss="0.5")
    assert lines_of(capsys) == ["training: 960 of 1,000, loss 0.5, about 40 s left"]


def test_a_folder_called_like_markup_is_named_as_it_is(capsys):
    clock = Clock()
    with progress_bar(of="images", clock=clock) as bar:
        task = bar.add_task(r"reading \[bold]", total=100)
        clock.now += 5
        bar.advance(task, 1)
    assert lines_of(capsys) == ["reading [bold]: 100 images, about 8 min"]


def test_a_bar_that_is_not_to_be_shown_says_nothing(capsys):
    bar = progress_bar(shown=False, of="images")
    assert not isinstance(bar, SpokenProgress)
    with bar:
        bar.advance(bar.add_task("embedding", total=2))
    assert lines_of(capsys) == []
