"""An average of the weights over the last steps: steadier than any one of them."""

from __future__ import annotations

from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from pseudoshot.backbones import Backbone


def averaged(backbone: Backbone, decay: float) -> AveragedModel | None:
    """The exponential moving average of weights and BatchNorm statistics; None where decay is 0."""
    if decay == 0:
        return None
    step = get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]
    return AveragedModel(backbone, multi_avg_fn=step, use_buffers=True)
