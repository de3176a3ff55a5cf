"""Plots as SVG, all drawn alike."""

from __future__ import annotations

import io
from typing import Any

BLUE, GRAY = "#2f5d8a", "#6b7280"
_LINE, _GRID = "#c9ced6", "#eceff3"


def new_plot(width: float, height: float) -> tuple[Any, Any]:
    """A figure of so many inches, and its axes."""
    from matplotlib.figure import Figure

    plot = Figure(figsize=(width, height), layout="constrained")
    axes = plot.subplots()
    axes.tick_params(colors=GRAY, length=3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(_LINE)
    axes.grid(axis="y", color=_GRID)
    axes.set_axisbelow(True)
    return plot, axes


def colour(position: int) -> Any:
    """Ten strong ones, then their ten pale ones, and again."""
    from matplotlib import color_sequences

    return color_sequences["tab20"][2 * (position % 10) + position // 10 % 2]


def as_svg(plot: Any) -> bytes:
    """The same bytes for the same figure."""
    import matplotlib

    stream = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "pseudoshot"}):
        plot.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    return stream.getvalue()
