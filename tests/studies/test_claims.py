"""Claims: each kind held, not held and undecided."""

from pathlib import Path

import numpy as np
import pytest

from pseudoshot.settings.resolve import resolve
from pseudoshot.studies.claims import judge
from pseudoshot.studies.results import OneSeed, Protocol, Results, Trained
from pseudoshot.studies.study import KINDS, Claim, read_study
from pseudoshot.tools.errors import PseudoshotError
from tests.studies.rows import HIGHER, LOWER, UNSURE, results


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


def test_of_many_rows_one_is_below_by_chance():
    """A difference of -1.07 ± 0.76: enough against one row, not against one of two."""
    low, b = (49.0, 49.0, 49.0), (50.0, 49.8, 50.4)
    found = results(low, b, (40.0, 40.1, 40.2))
    assert judge(Claim(says="", better="A", than=("B",)), found).judgement == "not held"
    assert judge(Claim(says="", better="A", than=("B", "C")), found).judgement == "undecided"
    above = results(b, low, low)  # all of several, which is rarer than one, needs no more than one
    assert judge(Claim(says="", better="A", than=("B", "C")), above).judgement == "held"


@pytest.mark.parametrize("cases", [1, 8])
def test_all_is_not_denied_more_often_than_one_would_be(cases):
    """Where nothing differs, in 2.5 % of repetitions."""
    rng = np.random.default_rng(0)
    claim = Claim(says="", better="A", than=("B",), shots="each")
    shots, repetitions = range(1, cases + 1), 1_000
    drawn = rng.normal(50, 1, (2, repetitions, cases, 3))
    denied = 0
    for a, b in zip(*drawn, strict=True):
        rows = [dict(zip(shots, row, strict=True)) for row in (a, b)]
        found = results(*rows, dict.fromkeys(shots, (0, 0, 0)), shots)
        denied += judge(claim, found).judgement == "not held"
    assert denied / repetitions == pytest.approx(0.025, abs=0.012)


def test_where_the_gain_is_most():
    a = {1: (53.0, 53.1, 53.0), 50: (70.5, 70.4, 70.5)}
    b = {1: (50.0, 50.1, 50.0), 50: (70.0, 70.0, 70.0)}
    found = results(a, b, shots=(1, 50))
    gains = {at: Claim(says="", gains="A", than=("B",), at=at) for at in ("fewest", "most")}
    assert judge(gains["fewest"], found).judgement == "held"
    assert judge(gains["most"], found).judgement == "not held"
    assert judge(gains["fewest"], results(HIGHER, LOWER)).judgement == "not measured"


def test_who_loses_least_has_gained_nothing():
    a = {1: (49.0, 49.1, 49.0), 50: (66.0, 66.1, 66.0)}
    b = {1: (50.0, 50.1, 50.0), 50: (70.0, 70.0, 70.0)}
    finding = judge(Claim(says="", gains="A", than=("B",)), results(a, b, shots=(1, 50)))
    assert finding.judgement == "not held"
    assert (finding.figure, finding.judged) == ("-1.00 ± 0.00", "any gain at 1 shot")


def test_a_margin_is_of_how_much_more_is_gained_not_of_the_gain():
    a = {1: (51.0, 51.1, 51.0), 50: (67.0, 67.1, 67.0)}
    b = {1: (50.0, 50.1, 50.0), 50: (70.0, 70.1, 70.0)}
    claim = Claim(says="", gains="A", than=("B",), margin=2)
    assert judge(claim, results(a, b, shots=(1, 50))).judgement == "held"


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


def test_in_all_cases_is_at_every_number_of_shots():
    """Though the mean over shots is above by far."""
    claim = Claim(says="", better="A", than=("B",), shots="each")
    far = (70.0, 70.1, 70.0)
    found = results(
        {1: far, 5: LOWER, 20: HIGHER}, {1: LOWER, 5: HIGHER, 20: LOWER}, shots=(1, 5, 20)
    )
    assert judge(Claim(says="", better="A", than=("B",)), found).judgement == "held"
    finding = judge(claim, found)
    assert (finding.judgement, finding.columns) == ("not held", (5,))
    assert finding.judged == "every number of shots, here 5 shots"
    found = results({1: far, 5: HIGHER}, {1: LOWER, 5: LOWER}, shots=(1, 5))
    finding = judge(claim, found)
    assert (finding.judgement, finding.columns) == ("held", (5,))
    found = results({1: far, 5: UNSURE}, {1: LOWER, 5: LOWER}, shots=(1, 5))
    assert judge(claim, found).judgement == "undecided"


@pytest.mark.parametrize("kind", ["better", "less"])
@pytest.mark.parametrize(("margin", "verdict"), [(1, "held"), (2, "undecided"), (3, "not held")])
def test_a_large_margin_must_be_exceeded(kind, margin, verdict):
    """By the same two points above, or below."""
    a, b = (HIGHER, LOWER) if kind == "better" else (LOWER, HIGHER)
    claim = Claim(says="", than=("B",), margin=margin, **{kind: "A"})
    finding = judge(claim, results(a, b))
    assert (finding.judgement, finding.judged[8:21]) == (verdict, "by more than ")


def test_a_gain_may_have_to_be_large():
    a = {1: (53.0, 53.1, 53.0), 50: (70.5, 70.4, 70.5)}
    b = {1: (50.0, 50.1, 50.0), 50: (70.0, 70.0, 70.0)}
    found = results(a, b, shots=(1, 50))
    for margin, verdict in ((2, "held"), (3, "not held")):
        claim = Claim(says="", gains="A", than=("B",), margin=margin)
        finding = judge(claim, found)
        assert finding.judgement == verdict
        assert finding.judged == f"1 shot more than 50 shots, by more than {margin} points"


def test_small_differences_count_only_where_they_are_meant_to():
    kinds = KINDS[:-1]
    claims = [Claim(says="", than=("B",), **{kind: "A"}) for kind in kinds]
    assert [claim.threshold for claim in claims] == [0, 1, 1, 0, 0]
    with pytest.raises(ValueError, match="a margin of 0 could never be held"):
        Claim(says="", same="A", than=("B",), margin=0)


def test_a_claim_says_where_and_by_what_it_was_judged():
    found = results(HIGHER, LOWER, shots=(1, 5, 20))
    told = [
        judge(Claim(says="", than=("B",), **fields), found).judged
        for fields in (
            {"better": "A"},
            {"same": "A", "shots": (1,)},
            {"not_worse": "A", "margin": 2},
        )
    ]
    assert told[0] == "mean of 1, 5 and 20 shots"
    assert told[1] == "1 shot, within 1 point"
    assert told[2] == "mean of 1, 5 and 20 shots, at most 2 points below"


def trained(*losses: float) -> Trained:
    """A run of ten epochs, with the loss of each; scores are there at some."""
    settings = resolve({"data": "glyphs"})
    log = [{"step": 10 * n, "loss": loss} for n, loss in enumerate(losses, 1)]
    log[-1]["pseudo_accuracy"], log[0]["pseudo_accuracy"] = 50.0, None
    return Trained(Path("nowhere"), settings, log, None)


def test_a_curve_falls_or_does_not():
    found = results(HIGHER, LOWER)
    for run, scale in (("A", 0.5), ("B", 2.0)):
        runs = [trained(*(8 * scale**n for n in range(10))) for _ in range(3)]
        runs[0].log[-1]["loss"] *= 1.01
        found.runs[run] = dict(enumerate(runs))
    claims = [Claim(says="", falls=row, of="loss") for row in "ABC"]
    findings = [judge(claim, found) for claim in claims]
    assert [f.judgement for f in findings] == ["held", "not held", "not measured"]
    assert findings[0].between == "A: last and first fifth of the training"
    assert found.runs["A"][1].quantity("loss", early=True) == 6.0  # the first two of ten
    assert found.runs["A"][1].quantity("pseudo_accuracy") == 50.0  # of records that have one
    assert found.runs["A"][1].quantity("pseudo_accuracy", early=True) is None


def with_losses(a, b) -> Results:
    found = results((50.0,) * len(a), (50.0,) * len(b), (50.0,) * len(a))
    for run, losses in (("A", a), ("B", b)):
        found.runs[run] = {seed: trained(*[loss] * 10) for seed, loss in enumerate(losses)}
    return found


def test_percentages_are_true_ones():
    """A third, not the 110 hundredths by which the logarithms differ."""
    claim = Claim(says="", less="A", than=("B",), of="loss")
    finding = judge(claim, with_losses((1.0, 1.0, 1.1), (3.0, 3.0, 3.3)))
    assert (finding.judgement, finding.figure) == ("held", "-66.7 % (-66.7 to -66.7)")
    finding = judge(claim, with_losses((2.0, 4.0), (1.0, 1.0)))
    assert finding.figure == "+182.8 % (-96.5 to +23021.7)"  # 2 to the power 1.5 ± 12.71 / 2
    assert judge(claim, with_losses((1.0,), (2.0,))).figure == "-50.0 %"


@pytest.mark.parametrize(("margin", "verdict"), [(49, "held"), (51, "not held")])
def test_half_as_long_is_less_by_fifty_percent(margin, verdict):
    claim = Claim(says="", less="A", than=("B",), of="loss", margin=margin)
    finding = judge(claim, with_losses((1.0, 1.0, 1.001), (2.0, 2.0, 2.0)))
    assert (finding.judgement, finding.judged) == (verdict, f"by more than {margin} %")


def test_a_claim_about_one_set_is_not_judged_on_others():
    claim = Claim(says="", better="A", than=("B",), only_on="fc100")
    verdicts = {}
    for data in ("fc100", "fc100:train", "cifar-fs"):
        found = results(HIGHER, LOWER)
        found.data = data
        verdicts[data] = judge(claim, found)
    assert [finding.judgement for finding in verdicts.values()] == ["held", "held", "not measured"]
    assert verdicts["cifar-fs"].note == "said of fc100 alone"


def test_a_row_that_could_not_be_measured_has_its_reason():
    found = results(HIGHER, LOWER)
    found.reasons["B"] = "the set is not here"
    finding = judge(Claim(says="", better="A", than=("B",)), found)
    assert (finding.judgement, finding.note) == ("not measured", "B: the set is not here")


@pytest.mark.parametrize("fields", [{}, {"better": "A", "less": "A"}, {"falls": "A", "of": "loss"}])
def test_a_claim_is_of_one_kind(fields):
    with pytest.raises(ValueError, match="a claim has one of"):
        Claim(says="", than=("B",), **fields)
    with pytest.raises(ValueError, match="a claim has one of"):
        Claim(says="", better="A")
    with pytest.raises(ValueError, match="accuracy is no curve"):
        Claim(says="", falls="A")


def test_a_claim_about_no_row_is_refused():
    text = 'title=""\nwhere=""\nasks=""\n[runs]\nA={}\n[[claims]]\nsays=""\nbetter="A"\nthan=["D"]'
    with pytest.raises(PseudoshotError, match="no row is called D"):
        read_study("s", text)


def test_rows_that_do_not_compare_are_named():
    """The first looks at all queries together, the other was measured on a hundred tasks."""
    found = results(HIGHER, LOWER, LOWER)
    found.notes["B"] = "transductive"
    alike = Protocol("glyphs", "labels", "", 5, 15, 10_000)
    found.protocols |= {"A": alike, "B": alike, "C": alike._replace(tasks=100)}
    notes = [judge(Claim(says="", better="A", than=(row,)), found).note for row in ("B", "C")]
    assert notes == ["transductive: B", "on other tasks than A: C (100)"]
    both = judge(Claim(says="", better="A", than=("B", "C")), found)
    assert both.note == "; ".join(notes)
    found.runs = {row: dict.fromkeys(range(3), trained(1.0, 1.0)) for row in "AB"}
    cost = judge(Claim(says="", less="A", than=("B",), of="loss"), found)
    assert (cost.judgement, cost.note) == ("undecided", "")


def test_with_one_seed_a_difference_has_the_interval_of_paired_tasks():
    found = results((60.0,), (50.0,), (0.0,))
    scores = {"A": np.array([70, 50], np.float32), "B": np.array([60, 38], np.float32)}
    for row, of_tasks in scores.items():
        found.one_seed[row, 1] = OneSeed(9.0, ("the same",), of_tasks)
    assert found.over_tasks("A", 1) == 9.0
    assert found.over_tasks("A", 1, "B") == pytest.approx(1.96 / 2**0.5)  # of 10 and 12
    found.one_seed["C", 1] = OneSeed(9.0, ("others",), scores["B"])
    assert found.over_tasks("A", 1, "C") is None
