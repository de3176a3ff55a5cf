"""Three rows with accuracies that are given, to be judged."""

from pseudoshot.studies.results import Results
from pseudoshot.studies.study import read_study

STUDY = read_study(
    "s", 'title = ""\nwhere = ""\nasks = ""\n[runs]\nA = {}\nB = {way = 5}\nC = {way = 6}'
)


def results(a, b, c=(0.0, 0.0, 0.0), shots=(1,)) -> Results:
    """Accuracies of the rows by seed, the same at every shot unless they come as a mapping."""
    found = Results(STUDY, 3)
    for row, given in {"A": a, "B": b, "C": c}.items():
        for shot in shots:
            values = given[shot] if isinstance(given, dict) else given
            found.accuracies[row, shot] = dict(enumerate(values))
    return found


HIGHER, LOWER, UNSURE = (52.0, 52.1, 51.9), (50.0, 50.1, 50.0), (49.0, 53.0, 51.0)
