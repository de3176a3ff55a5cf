"""Every setting of a run as one tree: its parts, each with the settings of the entry chosen."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, SerializeAsAny, model_validator

from pseudoshot.classifiers import ClassifierSettings
from pseudoshot.data.loading import MOST_PIXELS_A_SIDE
from pseudoshot.methods import MethodSettings
from pseudoshot.readings import ReadingName
from pseudoshot.tools.registry import PartSettings, Settings
from pseudoshot.views import ViewSettings

MOST = 10**9  # of anything that is counted: beyond, a slip of the finger is likelier than a wish

Optimiser = Literal["adam", "sgd", "muon"]
Annealing = Literal["epoch", "step", "end"]
Precision = Literal["32-true", "bf16-mixed", "16-mixed"]


class DataSettings(PartSettings):
    """What is trained on."""

    size: int | None = Field(default=None, ge=1, le=MOST_PIXELS_A_SIDE)
    """side of the images in pixels: the set's own where not given, 64 for a folder"""
    rotations: bool = False
    """Omniglot only: turned characters are classes of their own"""


class OptimisationSettings(Settings):
    """How the weights are found."""

    optimiser: Optimiser
    """adam (conv4), sgd with momentum 0.9 and weight decay 5e-4 (the others), or muon (fast and
    best)"""
    lr: PositiveFloat = Field(le=1e6)
    """first learning rate, annealed to 0: 0.002 for conv4, 0.03 for the others, 0.004 in fast and
    best"""
    annealing: Annealing = "epoch"
    """the learning rate falls every epoch (paper), every step, or at the end (fast and best)"""
    warm_up: int = Field(default=0, ge=0, le=MOST)
    """steps in which the learning rate rises from 0"""
    averaging: float = Field(default=0.0, ge=0, lt=1)
    """decay of a moving average of the weights, which is what the run leaves behind; 0: none
    (fast: 0.99, best: 0.998)"""
    epochs: PositiveInt = Field(le=MOST)
    """passes over all images: 100 for conv4, 200 for the others; in fast and best, ten and fifty
    parts of as many steps, whatever the number of images"""
    episodes_per_epoch: int | None = Field(default=None, ge=1, le=MOST)
    """steps per epoch: as many as visit every image once where not given (fast: 150, best: 300,
    adapting: 10)"""
    frozen_epochs: int = Field(default=0, ge=0, le=MOST)
    """with start_from: first epochs in which only what the method trains beside the backbone, such
    as a head, is trained"""
    keep: Literal["better", "end"] = "better"
    """with start_from: the better of start and end on held-out images, or the end whatever it
    scored (fine-tuning as the paper's studies measure it)"""
    precision: Precision = "32-true"
    """of the backbone's arithmetic: 32-true; or bf16-mixed (fast and best, where the processor has
    instructions for it), which takes about half the time; or 16-mixed on a GPU"""
    sync_bn: bool = False
    """with several devices: batch statistics over all of them"""

    @model_validator(mode="after")
    def _thaws(self) -> Self:
        if 0 < self.frozen_epochs >= self.epochs:
            raise ValueError(
                f"--frozen-epochs {self.frozen_epochs} leaves no epoch of {self.epochs} in which "
                f"the backbone is trained: raise --epochs"
            )
        return self


class RunSettings(Settings):
    """What `run.json` holds: with these and the data, a run can be made again."""

    recipe: Literal["paper", "fast", "best"] = "paper"
    """what is not given: as in the paper, for named sets; fast, minutes on a CPU, for folders; or
    best, an afternoon"""
    seed: int = Field(default=0, ge=0, lt=2**63)
    """of every random draw"""
    start_from: str | None = None
    """a trained model whose network is the first: lite0, a run, a bundled model or a transformers
    folder; for a folder of photos, where no recipe is given, the bundled one. Size, reading and
    classifier are that model's. One that labels were behind, or a transformers model, is trained by
    a few small steps, and its BatchNorm statistics stay. Where held-out images do not show that the
    network became better, the run's model is the start as it was"""
    pre_learn: str | None = None
    """the method by which another run is trained first, such as simclr, into OUT/pre-learnt; with
    the same data, size, backbone, recipe and seed. Its embeddings are clustered, in place of
    from_run, or stay as they are and are learnt from, with frozen in place of start_from"""
    pre_learn_epochs: int | None = Field(default=None, ge=1, le=MOST)
    """epochs of pre_learn: the recipe's where not given"""
    data: DataSettings
    """a folder of images, or the name of a set"""
    class_source: SerializeAsAny[PartSettings]
    """what counts as the same: exemplars (views of one image), clusters of embeddings, or labels"""
    views: SerializeAsAny[ViewSettings]
    """how altered copies of an image are made: amdim, or strokes and typefaces for characters"""
    backbone: SerializeAsAny[PartSettings]
    """the network: conv4, or resnet-pyramid in the recipes fast and best"""
    method: SerializeAsAny[MethodSettings]
    """the objective: baseline where not given; `pseudoshot methods` lists them all"""
    classifier: SerializeAsAny[ClassifierSettings]
    """what the embedding is used with at test: what the method is made for where not given"""
    reading: ReadingName = "plain"
    """how a vector is made of what the network says of an image: plain (paper); centred, of
    the image and its mirror image, about the mean of all; joined, the last two blocks in this way;
    described, the image and its mirror image with HOG and colours beside them (fast and best);
    crops, over five crops as well. Of characters, four copies, each moved a little and turned, take
    the place of mirror image and crops"""
    optimisation: OptimisationSettings
    """how the weights are found"""
