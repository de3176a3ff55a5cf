"""The options of `train`, for type checkers and editors.

Written by `make options` from the settings models: change those, not this file.
"""

from typing import Literal, TypedDict


class TrainOptions(TypedDict, total=False):
    """Every setting of a run but its data; what is not given follows the recipe."""

    recipe: Literal["paper", "fast", "best"] | None
    seed: int | None
    start_from: str | None
    pre_learn: str | None
    pre_learn_epochs: int | None
    size: int | None
    rotations: bool | None
    class_source: str | None
    labels: float | None
    from_run: str | None
    partitions: int | None
    clusters: int | None
    whitened: int | None
    round_epochs: int | None
    k1: int | None
    k2: int | None
    rho: float | None
    min_samples: int | None
    views: str | None
    view_scale: float | None
    backbone: str | None
    method: str | None
    images: int | None
    way: int | None
    shot: int | None
    query: int | None
    tasks: int | Literal["exhaustive"] | None
    similarity: Literal["sns", "cosine", "euclidean", "inner"] | None
    temperature: float | None
    neighbours: int | None
    strength: float | None
    delay: int | None
    neighbours_from: Literal["task", "batch"] | None
    head_lr_scale: float | None
    heads: int | None
    layers: int | None
    residual: Literal["paper", "released"] | None
    dropout: float | None
    attention_dropout: float | None
    beta: int | None
    solver: Literal["ridge", "svm"] | None
    regularisation: float | None
    views_per_class: int | None
    projection: int | None
    queue: int | None
    momentum: float | None
    hardest: int | None
    mixed: int | None
    mixed_with_query: int | None
    learner: Literal["maml", "prototype"] | None
    inner_steps: int | None
    inner_lr: float | None
    first_order: bool | None
    augmented: Literal["support", "query"] | None
    support_mix: float | None
    query_mix: float | None
    rotation_weight: float | None
    prior_share: float | None
    prior_beta: float | None
    loss: Literal["triplet", "prototype", "both"] | None
    margin: float | None
    set_size: int | None
    latent: int | None
    samples: int | None
    components: int | None
    em_steps: int | None
    frozen: bool | None
    penalty: float | None
    cost_scale: float | None
    classifier: str | None
    classifier_similarity: Literal["sns", "cosine", "euclidean", "inner"] | None
    classifier_inverse_regularisation: float | None
    classifier_regularisation: float | None
    classifier_epochs: int | None
    classifier_lr: float | None
    classifier_steps: int | None
    classifier_statistics: Literal["running", "batch"] | None
    classifier_entropy: float | None
    classifier_passes: int | None
    classifier_blend: float | None
    classifier_em_steps: int | None
    classifier_samples: int | None
    classifier_variances: Literal["last", "all"] | None
    reading: Literal["plain", "centred", "joined", "described", "crops"] | None
    optimiser: Literal["adam", "sgd", "muon"] | None
    lr: float | None
    annealing: Literal["epoch", "step", "end"] | None
    warm_up: int | None
    averaging: float | None
    epochs: int | None
    episodes_per_epoch: int | None
    frozen_epochs: int | None
    keep: Literal["better", "end"] | None
    precision: Literal["32-true", "bf16-mixed", "16-mixed"] | None
    sync_bn: bool | None
