"""Claims beside the paper's own figures: its difference, and where its tables say otherwise."""

import pytest

from pseudoshot.studies.claims import judge, papers_difference
from pseudoshot.studies.results import Results
from pseudoshot.studies.study import Claim, PaperFigures, Study, all_studies
from tests.studies.rows import HIGHER, LOWER, results


def test_the_papers_own_difference_is_of_the_same_shots():
    """On a set that allows 1 and 5, the most are 5 for the paper as well."""
    papers = PaperFigures(
        backbone="conv4", figures={"A": (58.0, 75.0, 82.0, 84.0), "B": (56.0, 74.0, 82.0)}
    )

    def difference(allowed, **fields) -> float | None:
        claim = Claim(says="", than=("B",), **fields)
        return judge(claim, results(HIGHER, LOWER, shots=allowed), papers).paper

    assert difference((1, 5, 20, 50), better="A") == pytest.approx(1.0)  # that the paper has
    assert difference((1, 5), better="A") == pytest.approx(1.5)
    assert difference((1, 5), better="A", shots="most") == pytest.approx(1.0)
    assert difference((1, 20), better="A", shots="most") == 0.0
    assert difference((1, 50), better="A", shots="most") is None
    assert difference((1, 5), gains="A") == pytest.approx(1.0)
    assert difference((1, 20), gains="A", at="most") == pytest.approx(-2.0)
    assert difference((1, 50), gains="A") is None
    assert difference((1, 5), better="C") is None
    claim = Claim(says="", less="A", than=("B",), of="gradient_norm")
    assert papers_difference(claim, "B", (1,), papers) is None


def as_printed(study: Study, papers: PaperFigures) -> Results:
    """The paper's figures as if they were ours; any figure where it has none."""
    found = Results(study, 3, papers.data)
    for row in study.rows:
        shots = study.evaluations[row.evaluation].get("shots", papers.shots)
        for shot in shots:
            value = papers.of(row.name).get(shot, 50.0)
            found.accuracies[row.name, shot] = {0: value, 1: value + 0.001, 2: value - 0.001}
    return found


DENIED = """
conv4 miniimagenet: HMS gains most at the fewest shots
resnet12 miniimagenet: at higher shots the baseline surpasses self-supervised methods by a large margin
resnet12 miniimagenet: the baseline is stably better than CACTUs w/ SES+SNS
resnet12 miniimagenet: TSP-Head performs better than CACTUs w/ SES+SNS in all cases
resnet12 cifar-fs: HMS is above the baseline at 1 shot
resnet12 cifar-fs: HMS gains most at the fewest shots
resnet12 cifar-fs: HMS outperforms self-supervised methods such as MoCHi at 1 shot
resnet12 cifar-fs: the baseline is stably better than CACTUs w/ SES+SNS
resnet12 cifar-fs: HMS performs better than CACTUs w/ SES+SNS in all cases
resnet12 cifar-fs: HMS works well at lower shots: it is above TSP-Head at 1 shot
resnet12 cifar-fs: TSP-Head performs better at higher shots: it is above HMS at the most
resnet12 fc100: HMS gains most at the fewest shots
resnet12 fc100: TSP-Head performs better at higher shots: it is above HMS at the most
resnet12 tieredimagenet: at higher shots the baseline surpasses self-supervised methods by a large margin
resnet12 tieredimagenet: the baseline is stably better than CACTUs w/ SES+SNS
resnet12 tieredimagenet: TSP-Head performs better than CACTUs w/ SES+SNS in all cases
"""  # noqa: E501


def test_claims_that_the_papers_own_tables_contradict_are_known():
    """A sentence that was misread, or a margin that is too large, would be another."""
    denied = [
        f"{papers.backbone} {papers.data}: {claim.says}"
        for study in all_studies().values()
        for papers in study.paper
        for claim in study.claims
        if "own table" in (finding := judge(claim, as_printed(study, papers), papers)).note
        or (finding.judgement == "not held" and finding.paper is not None)
    ]
    assert denied == DENIED.strip().splitlines()


def test_a_claim_that_the_paper_contradicts_says_so():
    papers = PaperFigures(backbone="conv4", figures={"A": (58.0, 75.0), "B": (56.0, 75.5)})
    found = results(HIGHER, LOWER, shots=(1, 5))

    def note(**fields) -> str:
        return judge(Claim(says="", than=("B",), **fields), found, papers).note

    assert note(better="A") == ""
    assert note(better="A", margin=2) == ""  # the margin is ours
    assert note(better="A", shots="most") == "not so in the paper's own table"
    assert note(better="A", shots="each") == "not so in the paper's own table (B, 5 shots)"
    assert note(not_worse="A", shots="most") == ""
    assert note(not_worse="A", shots="most", margin=0.1) == "not so in the paper's own table"
    assert note(same="A", shots="fewest") == "not so in the paper's own table"
    denied = "not so in the paper's own table (B, 5 shots more than 1 shot)"
    assert note(gains="A", at="most") == denied
    assert note(less="A") == "not so in the paper's own table"
    assert note(less="A", shots="most") == ""
    assert note(better="A", in_table=True) == "read off the paper's table"
