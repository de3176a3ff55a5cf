"""Claims: each kind held, not held and undecided."""

import numpy as np
import pytest

from pseudoshot.studies.claims import judge, papers_difference
from pseudoshot.studies.results import OneSeed, Results
from pseudoshot.studies.study import Claim, PaperFigures, read_study
from pseudoshot.tools.errors import PseudoshotError

STUDY = read_study(
    "s", 'title = ""\nwhere = ""\nasks = ""\n[runs]\nA = {}\nB = {way = 5}\nC = {way = 6}'
)


def results(a, b, c=(0.0, 0.0, 0.0), shots=(1,)) -> Results:
    """Accuracies of the rows by seed, the same at every shot unless they come as a mapping."""
    found = Results(STUDY, len(a))
    for row, given in {"A": a, "B": b, "C": c}.items():
        for shot in shots:
            values = given[shot] if isinstance(given, dict) else given
            found.accuracies[row, shot] = dict(enumerate(values))
    return found


HIGHER, LOWER, UNSURE = (52.0, 52.1, 51.9), (50.0, 50.1, 50.0), (49.0, 53.0, 51.0)


@pytest.mark.parametrize(
    ("kind", "a", "b", "verdict"),
    [
        ("better", HIGHER, LOWER, "held"),
        ("better", LOWER, HIGHER, "not held"),
        ("better", UNSURE, LOWER, "undecided"),
        ("less", LOWER, HIGHER, "held"),
        ("less", HIGHER, LOWER, "not held"),
        ("not_worse", HIGHER, LOWER, "held"),
        ("not_worse", LOWER, (50.5, 50.6, 50.5), "held"),  # by less than the margin
        ("not_worse", LOWER, HIGHER, "not held"),
        ("not_worse", UNSURE, LOWER, "undecided"),
        ("same", LOWER, (50.5, 50.6, 50.5), "held"),
        ("same", LOWER, HIGHER, "not held"),
        ("same", HIGHER, LOWER, "not held"),
        ("same", UNSURE, LOWER, "undecided"),
    ],
)
def test_each_kind_can_come_out_either_way(kind, a, b, verdict):
    claim = Claim(says="", than=("B",), **{kind: "A"})
    assert judge(claim, results(a, b)).judgement == verdict


def test_nothing_is_held_on_one_seed():
    finding = judge(Claim(says="", better="A", than=("B",)), results((90.0,), (10.0,), (0.0,)))
    assert (finding.judgement, finding.note) == ("undecided", "one seed")
    assert finding.figure == "+80.00"


def test_what_is_hard_in_a_seed_is_hard_for_both():
    """Seeds that differ by ten points, a difference of two within each."""
    a, b = (42.0, 52.1, 61.9), (40.0, 50.0, 60.0)
    assert judge(Claim(says="", better="A", than=("B",)), results(a, b)).judgement == "held"


def test_several_rows_are_all_to_be_surpassed():
    claim = Claim(says="", better="A", than=("C", "B"))
    assert judge(claim, results(HIGHER, LOWER, LOWER)).judgement == "held"
    finding = judge(claim, results(HIGHER, UNSURE, LOWER))
    assert (finding.judgement, finding.against) == ("undecided", "B")
    finding = judge(claim, results(LOWER, HIGHER, (40.0, 40.1, 40.0)))
    assert (finding.judgement, finding.against) == ("not held", "B")


def test_where_the_gain_is_most():
    a = {1: (53.0, 53.1, 53.0), 50: (70.5, 70.4, 70.5)}
    b = {1: (50.0, 50.1, 50.0), 50: (70.0, 70.0, 70.0)}
    found = results(a, b, shots=(1, 50))
    gains = {at: Claim(says="", gains="A", than=("B",), at=at) for at in ("fewest", "most")}
    assert judge(gains["fewest"], found).judgement == "held"
    assert judge(gains["most"], found).judgement == "not held"
    assert judge(gains["fewest"], results(HIGHER, LOWER)).judgement == "not measured"


def test_shots_are_those_that_the_set_allows():
    found = results({1: HIGHER, 5: LOWER}, {1: LOWER, 5: HIGHER}, shots=(1, 5))
    verdicts = {
        shots: judge(Claim(says="", better="A", than=("B",), shots=shots), found).judgement
        for shots in ("fewest", "most", (1,), (5, 50), (50,), None)
    }
    assert verdicts == {
        "fewest": "held",
        "most": "not held",
        (1,): "held",
        (5, 50): "not held",
        (50,): "not measured",
        None: "undecided",
    }


def test_a_row_that_could_not_be_measured_has_its_reason():
    found = results(HIGHER, LOWER)
    found.reasons["B"] = "the set is not here"
    finding = judge(Claim(says="", better="A", than=("B",)), found)
    assert (finding.judgement, finding.note) == ("not measured", "B: the set is not here")


@pytest.mark.parametrize("fields", [{}, {"better": "A", "less": "A"}])
def test_a_claim_is_of_one_kind(fields):
    with pytest.raises(ValueError, match="a claim has one of"):
        Claim(says="", than=("B",), **fields)


def test_a_claim_about_no_row_is_refused():
    text = 'title=""\nwhere=""\nasks=""\n[runs]\nA={}\n[[claims]]\nsays=""\nbetter="A"\nthan=["D"]'
    with pytest.raises(PseudoshotError, match="no row is called D"):
        read_study("s", text)


def test_the_papers_own_difference_is_of_the_same_shots():
    papers = PaperFigures(
        backbone="conv4", figures={"A": (58.0, 75.0, 82.0, 84.0), "B": (56.0, 74.0, 82.0)}
    )

    def difference(**fields) -> float | None:
        return papers_difference(Claim(says="", than=("B",), **fields), "B", papers)

    assert difference(better="A") == pytest.approx(1.0)  # of the three shots that both have
    assert difference(better="A", shots=(1, 50)) == pytest.approx(2.0)
    assert difference(better="A", shots="most") == 0.0
    assert difference(gains="A") == pytest.approx(2.0)
    assert difference(gains="A", at="most") == pytest.approx(-2.0)
    assert difference(better="C") is None
    assert difference(less="A", of="gradient_norm") is None


def test_with_one_seed_a_difference_has_the_interval_of_paired_tasks():
    found = results((60.0,), (50.0,), (0.0,))
    scores = {"A": np.array([70, 50], np.float32), "B": np.array([60, 38], np.float32)}
    for row, of_tasks in scores.items():
        found.one_seed[row, 1] = OneSeed(9.0, ("the same",), of_tasks)
    assert found.over_tasks("A", 1) == 9.0
    assert found.over_tasks("A", 1, "B") == pytest.approx(1.96 / 2**0.5)  # of 10 and 12
    found.one_seed["C", 1] = OneSeed(9.0, ("others",), scores["B"])
    assert found.over_tasks("A", 1, "C") is None
