"""The curves of a training, from the records of `log.jsonl`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pseudoshot.report.markup import figure, image, section
from pseudoshot.report.pictures import data_uri
from pseudoshot.report.plots import BLUE, GRAY, as_svg, new_plot

_POINTS = 300  # more are averaged: a screen shows no more


@dataclass(frozen=True)
class Curve:
    """What to plot, and what it says to someone who sees it for the first time."""

    key: str
    title: str
    axis: str
    meaning: str
    band: str = ""  # the key of a standard deviation drawn around it


CURVES = (
    Curve(
        "loss",
        "Loss",
        "loss",
        "How wrong the network is on the tasks it practises on; it falls as the network learns.",
    ),
    Curve(
        "pseudo_accuracy",
        "Validation accuracy on held-out images, without labels",
        "percent right",
        "On images kept from training: how often a view is matched to its own image among all of "
        "them. It needs no labels, and rises as the network learns.",
    ),
    Curve(
        "norm_mean",
        "Length of the embeddings",
        "mean length ± deviation",
        "The network turns an image into a list of numbers, its <em>embedding</em>; this is how "
        "long these vectors are. A collapse to zero would mean trouble.",
        band="norm_std",
    ),
    Curve(
        "gradient_norm",
        "Pull on the embeddings",
        "mean gradient length",
        "How strongly a step still changes the embeddings (their gradient).",
    ),
)


def curves_section(records: Sequence[dict[str, Any]]) -> str:
    """A plot of every curve that has data; nothing where none has."""
    plots = [plot for curve in CURVES if (plot := _plot(curve, records))]
    if not plots:
        return ""
    lead = (
        "From left to right the training goes on: one <em>epoch</em> is one pass over all images, "
        "made of many steps, each on a batch of images (an <em>episode</em>)."
    )
    body = "\n".join(plots)
    return section("How the training went", lead, f'<div class="plots">{body}</div>')


def _plot(curve: Curve, records: Sequence[dict[str, Any]]) -> str:
    keys = ["epoch", curve.key] + ([curve.band] if curve.band else [])
    values = [[record.get(key) for key in keys] for record in records]
    points = np.array([row for row in values if all(map(_is_number, row))], dtype=float)
    if len(points) == 0:
        return ""
    drawn = data_uri("image/svg+xml", _draw(curve, _thinned(points)))
    picture = image(drawn, f"{curve.title}: {_in_words(points)}")
    return figure(picture, f"<strong>{curve.title}.</strong> {curve.meaning}", "plot")


def _draw(curve: Curve, points: npt.NDArray[np.float64]) -> bytes:
    from matplotlib.ticker import MaxNLocator

    plot, axes = new_plot(5.2, 2.7)
    epochs, values = points[:, 0], points[:, 1]
    marker = "o" if len(points) <= 20 else ""
    axes.plot(epochs, values, color=BLUE, linewidth=1.8, marker=marker, markersize=4)
    if curve.band:
        low, high = values - points[:, 2], values + points[:, 2]
        if len(points) == 1:
            axes.errorbar(epochs, values, points[:, 2], color=BLUE, capsize=4)
        axes.fill_between(epochs, low, high, color=BLUE, alpha=0.15, linewidth=0)
        axes.set_ylim(bottom=min(0.0, float(low.min())))
    if len(points) == 1:
        axes.set_xlim(0, 2 * epochs[0] or 1)
    else:
        axes.set_xlim(left=0)
    if epochs[-1] >= 2:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("epochs (passes over the images)", color=GRAY)
    axes.set_ylabel(curve.axis, color=GRAY)
    return as_svg(plot)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _thinned(points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Means over runs of neighbouring points: at most `_POINTS` rows."""
    return np.array([part.mean(0) for part in np.array_split(points, min(len(points), _POINTS))])


def _in_words(points: npt.NDArray[np.float64]) -> str:
    """For those who do not see the picture."""
    if len(points) == 1:
        return f"{points[0, 1]:.4g}"
    return f"from {points[0, 1]:.4g} to {points[-1, 1]:.4g}"
