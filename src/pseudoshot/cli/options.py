"""The options that commands share, and those of `train`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

DataRoot = Annotated[
    Path | None,
    Parameter(help="Folder that holds the named sets; else $PSEUDOSHOT_DATA, else the cache."),
]
Rotations = Annotated[
    bool | None,
    Parameter(help="Omniglot only: turned characters are classes of their own.", negative=()),
]


@dataclass(frozen=True)
class TrainOptions:
    """What is not given follows the recipe, the paper's for the backbone unless told otherwise."""

    recipe: Annotated[
        str | None,
        Parameter(
            help="What is not given: as in the paper (default), or fast, for trainings of "
            "minutes on a CPU (results/README.md says how the two compare)."
        ),
    ] = None
    method: Annotated[
        str | None,
        Parameter(help="The objective: baseline by default; `pseudoshot methods` lists them all."),
    ] = None
    backbone: Annotated[
        str | None,
        Parameter(
            help="conv4 (default), conv4-pyramid (the fast recipe's), conv4-flat, resnet12 or "
            "wrn28-10."
        ),
    ] = None
    epochs: Annotated[
        int | None, Parameter(help="Passes over all images: 100 for conv4, 200 for the others.")
    ] = None
    seed: Annotated[int | None, Parameter(help="Of every random draw; 0 by default.")] = None
    views: Annotated[
        str | None,
        Parameter(
            help="How copies of an image are made: amdim (default), simclr, simple, autoaug, "
            "randaug; for characters strokes (omniglot's default) and typefaces (glyphs')."
        ),
    ] = None
    view_scale: Annotated[
        float | None,
        Parameter(help="Side of a view as a part of the image's: 1 (paper), 0.5 (fast, photos)."),
    ] = None
    size: Annotated[
        int | None,
        Parameter(help="Side of the images in pixels: the set's own, or 64 for a folder."),
    ] = None
    images: Annotated[
        int | None, Parameter(help="Images an episode (one step): 64 for conv4, else 32.")
    ] = None
    way: Annotated[
        int | None, Parameter(help="Classes of a training task: all images of its episode.")
    ] = None
    shot: Annotated[int | None, Parameter(help="Support views of a class in a task: 1.")] = None
    query: Annotated[int | None, Parameter(help="Query views of a class in a task: 5.")] = None
    tasks: Annotated[
        int | Literal["exhaustive"] | None,
        Parameter(help="Tasks re-sampled from an episode: 512 (1 for vanilla), or exhaustive."),
    ] = None
    similarity: Annotated[
        str | None, Parameter(help="sns (default), cosine, euclidean (vanilla's) or inner.")
    ] = None
    temperature: Annotated[
        float | None, Parameter(help="Divides the similarity: 0.5 for cosine, 1 for the others.")
    ] = None
    optimiser: Annotated[
        str | None, Parameter(help="adam (conv4) or sgd with momentum (the others).")
    ] = None
    lr: Annotated[
        float | None, Parameter(help="First learning rate, annealed to 0: 0.002 adam, 0.03 sgd.")
    ] = None
    annealing: Annotated[
        str | None,
        Parameter(
            help="The learning rate falls every epoch (paper), every step, or at the end (fast)."
        ),
    ] = None
    warm_up: Annotated[
        int | None, Parameter(help="Steps in which the learning rate rises from 0; none.")
    ] = None
    averaging: Annotated[
        float | None,
        Parameter(help="Keep a moving average of the weights, of this decay: 0 (none), fast 0.99."),
    ] = None
    precision: Annotated[
        str | None, Parameter(help="32-true (default), or bf16-mixed or 16-mixed on a GPU.")
    ] = None
    sync_bn: Annotated[
        bool | None,
        Parameter(help="With several devices: batch statistics over all of them.", negative=()),
    ] = None
    rotations: Rotations = None
