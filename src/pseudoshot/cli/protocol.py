"""The options of the commands that measure: by which tasks, and how queries are told apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from pseudoshot.cli.options import ClassifierName, DataRoot, Reading


@dataclass(frozen=True)
class Protocol:
    """Named as the options of `evaluate_run`."""

    way: Annotated[int, Parameter(help="Classes per task.")] = 5
    shots: Annotated[
        tuple[int, ...],
        Parameter(
            name="--shot",
            negative=(),
            help="Labelled examples of each class; give it again for more. 1, 5, 20 and 50 by "
            "default, as far as the set allows.",
        ),
    ] = ()
    query: Annotated[
        int | None,
        Parameter(help="Images of each class to recognise in a task; 15 by default, 7 for glyphs."),
    ] = None
    tasks: Annotated[int, Parameter(help="How many tasks to draw.")] = 10_000
    seed: Annotated[int, Parameter(help="Of the tasks' draw.")] = 0
    classifier: ClassifierName = None
    reading: Reading = None
    pseudo: Annotated[
        bool,
        Parameter(
            help="Measure on pseudo tasks: a class is an image, its members are views; labels are "
            "not used.",
            negative=(),
        ),
    ] = False
    linear: Annotated[
        bool,
        Parameter(
            help="Linear evaluation in place of tasks: a logistic regression on nine tenths of the "
            "images tells the last, ten times.",
            negative=(),
        ),
    ] = False
    tsne: Annotated[
        bool,
        Parameter(
            help="Add a map to the report (t-SNE): five classes of the training, five of these.",
            negative=(),
        ),
    ] = False
    rotations: Annotated[
        bool,
        Parameter(help="Omniglot only: turned characters are classes of their own.", negative=()),
    ] = False
    data_root: DataRoot = None


AsJson = Annotated[
    bool, Parameter(name="--json", help="Print one JSON object, in percent.", negative=())
]
