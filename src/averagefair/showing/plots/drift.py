"""The figure of a drift: the mean rate and the standard deviation of true rates, by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from averagefair._util.text import percent
from averagefair.game.rates import spoken
from averagefair.showing import drawing
from averagefair.showing.drawing import NOISE, SERIES

if TYPE_CHECKING:
    from averagefair.auditing import Drift

MOST_NAMES = 8
"""Of more batches, this many are named below the axis."""
PANELS = {"mean": "mean {rate} rate", "sigma": "standard deviation of true rates"}


def draw_drift(found: Drift) -> drawing.Panels:
    """Draw both figures side by side, batch by batch, with intervals.

    Parameters
    ----------
    found : Drift
        The drift to draw.
    """
    panels = drawing.Panels.new(len(PANELS), (10, 4.4))
    for ax, figure in zip(panels.axes, PANELS, strict=True):
        draw_batches(found, figure, ax)
    return panels


def draw_batches(found: Drift, figure: str = "sigma", ax: Any = None) -> Any:
    """Draw one figure in each batch, with its interval; returns the axes.

    Parameters
    ----------
    found : Drift
        The drift to draw.
    figure : {"mean", "sigma"}, default "sigma"
        The mean rate, or the standard deviation of true rates.
    ax : matplotlib axes, optional
        Where to draw. Default: the axes of a new pyplot figure.
    """
    ax = drawing.axes(ax)
    columns = found.to_dict()["batches"]
    value, low, high = (
        np.array(columns[name], dtype=np.float64)
        for name in (figure, f"{figure}_low", f"{figure}_high")
    )
    at = np.arange(float(len(found)))
    level = f"{percent(found[0].confidence)} CI"
    known = ~np.isnan(low) & ~np.isnan(high)
    look = {"color": NOISE, "alpha": 0.55, "linewidth": 4, "label": level}
    if known.any():
        ax.vlines(at[known], low[known], high[known], **look)
    drawing.draw_line(ax, at, value, SERIES[0], "as estimated", size=5)
    named = np.unique(np.linspace(0, at.size - 1, min(at.size, MOST_NAMES)).round().astype(int))
    names = [drawing.words(found.names[batch]) for batch in named]
    slanted = sum(map(len, names)) > 40
    ax.set_xticks(named, names, rotation=30 if slanted else 0, ha="right" if slanted else "center")
    name = PANELS[figure].format(rate=drawing.words(spoken(found[0].rate)))
    ax.set(xlabel="batch", ylabel=name)
    ax.set_ylim(bottom=0.0)
    return drawing.finish(ax, above=True)
