"""What the figures of experiments share: panels, one legend for all, how solvers look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from averagefair import drawing
from averagefair.drawing import SERIES, Style, tint
from averagefair.experiments.figures import COLUMNS, PUBLISHED, SOLVERS
from averagefair.experiments.sweeps import NO_CONSTRAINT
from averagefair.experiments.tidy import Table
from averagefair.sample import FloatArray

WIDTH = 9.0
"""Of every figure, in inches: letters are still readable where it is shown 800 pixels wide."""
SMALL = 9
SOLVER_NAMES = {
    PUBLISHED: "authors' setting",
    COLUMNS: "column generation",
    NO_CONSTRAINT: NO_CONSTRAINT,
}
SOLVER_STYLES = {PUBLISHED: SERIES[1], COLUMNS: SERIES[0], NO_CONSTRAINT: SERIES[2]}


class Picture(NamedTuple):
    """A figure, and the same in a sentence for people who cannot see it."""

    figure: Any
    alt: str


def panels(height: float, rows: int, columns: int, *, share: bool = True) -> tuple[Any, Any]:
    """Return a figure and its axes, shape (rows, columns); shared axes have equal limits."""
    figure = drawing.new_figure((WIDTH, height))
    return figure, figure.subplots(rows, columns, sharex=share, sharey=share, squeeze=False)


def finish(figure: Any, ncols: int, *, share: bool = True) -> None:
    """Take off the boxes, and put one legend for all panels above them."""
    found: dict[str, Any] = {}
    for ax in figure.axes:
        ax.spines[["top", "right"]].set_visible(False)
        if share:
            ax.label_outer()
        if ax.get_legend():
            ax.get_legend().remove()
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    place = {"loc": "outside upper center", "ncols": ncols, "frameon": False, "fontsize": SMALL}
    figure.legend(found.values(), found.keys(), handlelength=2.8, columnspacing=1.6, **place)


def title(ax: Any, text: str) -> None:
    """Say above a panel what sets it apart from its neighbours."""
    ax.set_title(text, loc="left", fontsize=10)


def solvers(table: Table) -> list[str]:
    """Return the solvers in a table, always in the same order."""
    return [name for name in (*SOLVERS, NO_CONSTRAINT) if name in table["solver"]]


def by_alpha(table: Table) -> Table:
    """Return the rows in the order of alpha."""
    return table.take(np.argsort(table["alpha"], kind="stable"))


def draw_curve(ax: Any, x: FloatArray, y: FloatArray, style: Style, label: str) -> None:
    """Draw connected points."""
    drawing.draw_line(ax, x, y, style, label, size=6)


def draw_intervals(
    ax: Any, at: FloatArray, ends: Sequence[FloatArray], style: Style, *, upright: bool
) -> None:
    """Draw an interval through each point, lightly; none where an end is NaN."""
    draw = ax.vlines if upright else ax.hlines
    draw(at, ends[0], ends[1], color=tint(style.colour, 0.45), linewidth=1.0, zorder=1)


def limit(axes: Any, *, upright: bool) -> None:
    """Keep the points in view: the intervals of few draws can be so wide that they hide the rest.

    Such intervals run out of the panel.
    """
    points = [line.get_xydata() for ax in axes for line in ax.get_lines()]
    values = np.vstack(points)[:, int(upright)]
    low, high = np.nanmin(values), np.nanmax(values)
    room = 0.75 * (high - low)
    seen = axes[0].get_ylim() if upright else axes[0].get_xlim()
    ends = max(seen[0], low - room), min(seen[1], high + room)
    axes[0].set(**{"ylim" if upright else "xlim": ends})


def from_zero(ax: Any, *, upright: bool) -> None:
    """Begin an axis at 0, and end it where the panels that share it need."""
    ax.autoscale(axis="y" if upright else "x")
    if upright:
        ax.set_ylim(bottom=0.0)
    else:
        ax.set_xlim(left=0.0)
