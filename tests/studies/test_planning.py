"""Budgets, shards, the paper's files, and which runs they share."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pseudoshot.methods import METHODS
from pseudoshot.settings.resolve import resolve
from pseudoshot.studies import all_studies, get_study
from pseudoshot.studies.budget import LEAST_STEPS, Budget, StepCost
from pseudoshot.studies.changes import _papers
from pseudoshot.studies.order import Order, Shard
from pseudoshot.studies.plan import _measured_images, make_plan
from pseudoshot.studies.running import share
from pseudoshot.studies.study import QUANTITIES, read_study
from pseudoshot.tools.errors import PseudoshotError
from tests.pictures import draw_trees

SOURCE = Path(__file__).parents[2] / "src" / "pseudoshot" / "studies" / "paper"


def order(**given) -> Order:
    usual = {"data": "glyphs", "test": "glyphs", "budget": Budget(seconds=60.0), "seeds": 1}
    return Order(**{**usual, "tasks": 100, "out": Path("nowhere"), **given})


@given(st.floats(0.001, 1e6).map(lambda x: round(x, 3)), st.sampled_from("smh"))
def test_a_budget_of_time_is_read(number, unit):
    seconds = Budget.parse(f"{number:.3f}{unit}").seconds
    assert seconds == pytest.approx(number * {"s": 1, "m": 60, "h": 3600}[unit])


@given(st.text(max_size=12))
def test_anything_else_is_refused_in_one_sentence(text):
    try:
        budget = Budget.parse(text)
    except PseudoshotError:
        return
    assert Budget.parse(budget.given) == budget


@pytest.mark.parametrize("text", ["0s", "0 epochs", "1.5 epochs", "-5m", "20", "m", "1e9m", ""])
def test_impossible_budgets_are_refused(text):
    with pytest.raises(PseudoshotError, match="is no budget"):
        Budget.parse(text)


@given(st.floats(1, 1e5), st.floats(1e-3, 10), st.integers(10, 10**6))
def test_a_budget_is_never_exceeded_nor_the_papers_steps(seconds, step, papers):
    try:
        found = Budget(seconds=seconds).options(StepCost(step, papers, 10), 100)
    except PseudoshotError:
        assert seconds / step < LEAST_STEPS + 1
        return
    steps = found["epochs"] * found["episodes_per_epoch"] if found else papers
    assert min(LEAST_STEPS, papers) <= steps <= papers
    assert steps * step <= seconds * (1 + 1e-9)
    assert not found or steps * step > seconds - 11 * step


@given(st.integers(LEAST_STEPS, 100_000))
def test_hardly_a_step_is_lost_where_parts_are_made_equal(steps):
    """So that a method of long steps has as much of a budget as one of short ones."""
    found = Budget(seconds=steps + 0.5).options(StepCost(1.0, 10**6, 10), 100)
    assert 0.95 * steps <= found["epochs"] * found["episodes_per_epoch"] <= steps


def test_a_run_that_is_clustered_is_not_trained_for_longer_than_the_papers():
    cost = StepCost(0.5, 1000, 10, epoch_before=2.0, epochs_before=7)
    assert Budget(seconds=100).options(cost, 100)["pre_learn_epochs"] == 7
    with pytest.raises(PseudoshotError, match="after an epoch of 90 s of the run that it needs"):
        Budget(seconds=60).options(StepCost(0.5, 1000, 10, 90.0, 100), 100)


@given(st.floats(10, 1e4), st.floats(1e-2, 1), st.floats(0, 100), st.integers(1, 200))
def test_finding_clusters_anew_is_within_the_seconds(seconds, step, found_in, round_epochs):
    cost = StepCost(step, 10**9, 10, round_seconds=found_in)
    try:
        found = Budget(seconds=seconds).options(cost, 100, round_epochs=round_epochs)
    except PseudoshotError:
        assert (seconds - found_in) / step < LEAST_STEPS + 1
        return
    rounds = -(-found["epochs"] // found["round_epochs"])
    steps = found["epochs"] * found["episodes_per_epoch"]
    spent = found["epochs"] * found_in + steps * step
    assert spent <= seconds * (1 + 1e-9)
    assert found["epochs"] == 10 or spent > seconds - 2 * found_in - 32 * step
    assert rounds <= -(-100 // round_epochs)


def test_the_papers_rounds_are_its_own():
    assert Budget().options(None, 100, round_epochs=5) == {}
    with pytest.raises(PseudoshotError, match="after 59 s to find clusters, and 5 are the least"):
        Budget(seconds=60).options(StepCost(0.5, 1000, 10, round_seconds=59.0), 100)


@given(st.integers(1, 40), st.integers(1, 12))
def test_shards_share_all_of_the_work_once(count, shards):
    parts = [Shard.parse(f"{n}/{shards}") for n in range(1, shards + 1)]
    assert [sum(part.has(n) for part in parts) for n in range(count)] == [1] * count


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/2/3", "-1/2"])
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(PseudoshotError, match="is no shard"):
        Shard.parse(text)


def test_every_file_is_listed():
    assert set(all_studies()) == {path.stem for path in SOURCE.glob("*.toml")}


@pytest.mark.parametrize("name", all_studies())
def test_the_settings_of_every_study_are_possible(name):
    """At the paper's size and at a laptop's; figures are accuracies in a possible number."""
    study = get_study(name)
    for run, own in study.runs.items():
        options = {"recipe": "paper", "data": "cifar-fs", **study.options(run)}
        for backbone in (study.backbone, "conv4"):
            first = {"backbone": backbone, "class_source": "labels"} if "start" in own else {}
            resolve({"backbone": backbone, **first, **options})
    for paper in study.paper:
        assert all(20 < v <= 100 for figures in paper.figures.values() for v in figures)
        assert all(len(figures) <= len(paper.shots) for figures in paper.figures.values())
        assert set(paper.figures) <= {row.name for row in study.rows}
    assert {claim.of for claim in study.claims} <= set(QUANTITIES)


def test_rivals_are_all_methods_of_its_table_that_there_are():
    runs = {options["method"] for options in get_study("rivals").runs.values()}
    assert {"vanilla", "simclr", "moco-v2", "mochi", "umtra", "aal", "protoclr"} <= runs
    assert runs <= set(METHODS)


RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.parametrize("file", sorted(RESULTS.glob("*.toml")), ids=lambda file: file.stem)
def test_studies_behind_results_can_still_be_run(file):
    plan = make_plan([get_study(str(file))], order())
    assert plan.jobs
    assert not plan.refused


def test_the_runs_of_rivals_are_those_measured_at_twenty_ways():
    twenty, five = get_study(str(RESULTS / "rivals-20-way.toml")), get_study("rivals")
    assert list(twenty.runs) == list(five.runs)
    assert all(twenty.options(run) == five.options(run) for run in five.runs)


def test_studies_share_runs_of_the_same_settings():
    """However they are written: the baseline is SES, SNS, 512 tasks and 64 ways of 64."""
    names = ["tasks", "similarity", "sampling", "norms", "way"]
    plan = make_plan([get_study(name) for name in names], order())
    same = {
        plan.cells[key][0]
        for key in plan.cells
        if key[1].name in ("512 tasks", "SNS", "SES", "64 ways") and key[2] == 0
    }
    assert len(same) == 1
    # numbers of tasks, other similarities, Hard Task, 5 and 32 ways
    assert len(plan.jobs) == 5 + 3 + 1 + 2


def test_seeds_budgets_and_data_are_runs_of_their_own():
    study = [get_study("combined")]
    plans = [
        order(),
        order(seeds=2),
        order(budget=Budget(seconds=30.0)),
        order(backbone="resnet12"),
    ]
    first, two, shorter, other = (set(make_plan(study, given).jobs) for given in plans)
    assert first < two
    assert len(two) == 2 * len(first)
    assert not first & shorter
    assert not first & other


def test_the_papers_budget_has_the_papers_network():
    study = get_study("combined")
    (job, *_) = make_plan([study], order(budget=Budget())).jobs.values()
    assert job.run.options["backbone"] == "resnet12"
    (job, *_) = make_plan([study], order()).jobs.values()
    assert job.run.options["backbone"] == "conv4"


def test_what_is_too_large_for_a_budget_is_skipped():
    studies = [get_study("benchmark-wrn28-10"), get_study("combined")]
    plan = make_plan(studies, order())
    assert plan.skipped == {
        "benchmark-wrn28-10": "its networks need a budget of 10h or more per run"
    }
    assert not make_plan(studies, order(budget=Budget())).skipped


def test_a_fine_tuning_comes_after_its_start_and_goes_with_it():
    plan = make_plan([get_study("labels")], order(seeds=2))
    jobs = list(plan.jobs.values())
    places = {job.run.identity: n for n, job in enumerate(jobs)}
    tuned = [job.run for job in jobs if job.run.start is not None]
    assert len(tuned) == 2 * (5 * 3 + 1)  # seeds, starts and shares of labels, and a ProtoNet
    for run in tuned:
        assert places[run.start.identity] < places[run.identity]
        assert run.start.seed == run.seed
    parts = [share(jobs, Shard(n, 4)) for n in (1, 2, 3, 4)]
    assert sorted(places[job.run.identity] for part in parts for job in part) == list(
        range(len(jobs))
    )
    for part in parts:
        there = {job.run.identity for job in part}
        assert all(job.run.start.identity in there for job in part if job.run.start)


def test_a_run_that_cannot_be_costs_itself_alone():
    text = 'title=""\nwhere=""\nasks=""\n[runs]\ngood={}\nbad={way=65}'
    plan = make_plan([read_study("s", text)], order())
    assert len(plan.jobs) == 1
    assert "way 65 does not fit" in plan.refused["s", "bad"]


ONE_RUN = 'title = ""\n{}\n[runs]\nA = {{views = "amdim"}}'


@pytest.mark.parametrize(
    "text",
    [
        *("title = 1", "runs = [", "[runs]\nA = {start = 'B'}"),
        *(ONE_RUN.format('curves = ["acuracy"]'), ONE_RUN.format('along = "views"')),
    ],
)
def test_a_file_that_is_no_study_is_refused(text):
    read_study("s", ONE_RUN.format(""))
    with pytest.raises(PseudoshotError, match="study 's'"):
        read_study("s", text)


def test_a_measure_is_of_images_not_of_their_folder_alone(tmp_path):
    def identity() -> str:
        _measured_images.cache_clear()
        given = Order(str(tmp_path), str(tmp_path), Budget(), 1, 20, tmp_path / "out", None, None)
        study = read_study("s", 'title = ""\n[runs]\nA = {size = 16}')
        (job,) = make_plan([study], given).jobs.values()
        (measure,) = job.measures
        return measure

    draw_trees(tmp_path, 2, seed=1)
    before = identity()
    assert identity() == before
    (tmp_path / "ash" / "0.jpg").write_bytes((tmp_path / "elm" / "1.jpg").read_bytes())
    assert identity() != before


def test_tasks_of_all_ways_do_not_differ_from_the_papers():
    """Though a run's settings, which its baseline shares, hold no `way`."""
    study = get_study("way")
    papers = {name: _papers(study, study.options(name))["way"] for name in study.runs}
    assert papers == {"5 ways": 5, "32 ways": 32, "64 ways": None}
