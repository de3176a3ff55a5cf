"""UMTRA (Khodadadeh et al. 2019): random images stand for classes, views of them are queries."""

from __future__ import annotations

from types import MappingProxyType

from pydantic import Field, NonNegativeInt

from pseudoshot.methods.pairs import PairMethod, PairSettings


class UMTRASettings(PairSettings):
    inner_steps: NonNegativeInt = Field(default=1, le=1000)


class UMTRA(PairMethod):
    """UMTRA: tasks of N random images, one example each; a view of each image is its query.

    MAML with K = Q = 1, for N images of a large set are likely of N classes. Inner steps and rate
    are the authors' for miniImageNet, one of 0.05 in their sum over five classes; for Omniglot they
    take five of a fifth of it (--inner-steps 5 --inner-lr 0.05). Their paper and Omniglot code
    augment the query, their miniImageNet code the support (--augmented). Views are the run's.
    """

    Settings = UMTRASettings
    described = "section 6.1, Table of unsupervised meta-learning methods"
    defaults = MappingProxyType({"images": 40})
    settings: UMTRASettings
