"""Fine-tuning with some of the base set's labels, by the objective of the unsupervised stage."""

from __future__ import annotations

from pydantic import PositiveInt

from pseudoshot.methods.base import EpisodeSettings
from pseudoshot.methods.baseline import Baseline


class FineTuneSettings(EpisodeSettings):
    query: PositiveInt = 3
    """Q, query images of a class: 64 classes of 4 images an episode"""


class FineTune(Baseline):
    """Fine-tuning: SES and SNS on real classes, from a run's weights (`pseudoshot finetune`).

    Eq. 1 as in the baseline, its pseudo-classes the base set's labels.
    """

    Settings = FineTuneSettings
    described = "section 7.1, Limited base class labels"
    labelled = True
