"""Helpers of the figures of experiments: panels, a common legend, the styles of solvers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair.experiments.figures import COLUMNS, PUBLISHED, SOLVERS
from averagefair.experiments.sweeps import NO_CONSTRAINT
from averagefair.experiments.tidy import ResultTable
from averagefair.showing import drawing
from averagefair.showing.drawing import SERIES, Style, tint

WIDTH = 9.0
"""The width of every figure in inches; text stays readable at a width of 800 pixels."""
SMALL = 9
SOLVER_NAMES = {
    PUBLISHED: "authors' setting",
    COLUMNS: "column generation",
    NO_CONSTRAINT: NO_CONSTRAINT,
}
SOLVER_STYLES = {PUBLISHED: SERIES[1], COLUMNS: SERIES[0], NO_CONSTRAINT: SERIES[2]}


class Picture(NamedTuple):
    """A figure, and a sentence that describes it to people who cannot see it."""

    figure: Any
    alt: str


def panels(height: float, rows: int, columns: int, *, share: bool = True) -> tuple[Any, Any]:
    """Return a figure and its axes, shape (rows, columns); shared axes have equal limits."""
    figure = drawing.new_figure((WIDTH, height))
    return figure, figure.subplots(rows, columns, sharex=share, sharey=share, squeeze=False)


def finish(figure: Any, ncols: int, *, share: bool = True) -> None:
    """Remove the boxes, and put one legend for all panels above them."""
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
    """Write a title above a panel, at the left."""
    ax.set_title(text, loc="left", fontsize=10)


def solvers(table: ResultTable) -> list[str]:
    """Return the solvers in a table, always in the same order."""
    return [name for name in (*SOLVERS, NO_CONSTRAINT) if name in table["solver"]]


def by_alpha(table: ResultTable) -> ResultTable:
    """Return the rows in the order of alpha."""
    return table.take(np.argsort(table["alpha"], kind="stable"))


def draw_curve(ax: Any, x: FloatArray, y: FloatArray, style: Style, label: str) -> None:
    """Draw connected points."""
    drawing.draw_line(ax, x, y, style, label, size=6)


def draw_intervals(
    ax: Any, at: FloatArray, ends: Sequence[FloatArray], style: Style, *, upright: bool
) -> None:
    """Draw a thin interval through each point; skip intervals with an end of NaN."""
    draw = ax.vlines if upright else ax.hlines
    draw(at, ends[0], ends[1], color=tint(style.colour, 0.45), linewidth=1.0, zorder=1)


def limit(axes: Any, *, upright: bool) -> None:
    """Limit an axis to the points and some room: intervals over few draws can be very wide.

    Wide intervals run out of the panel.
    """
    points = [line.get_xydata() for ax in axes for line in ax.get_lines()]
    values = np.vstack(points)[:, int(upright)]
    low, high = np.nanmin(values), np.nanmax(values)
    room = 0.75 * (high - low)
    seen = axes[0].get_ylim() if upright else axes[0].get_xlim()
    ends = max(seen[0], low - room), min(seen[1], high + room)
    axes[0].set(**{"ylim" if upright else "xlim": ends})


def from_zero(ax: Any, *, upright: bool) -> None:
    """Begin an axis at 0, and end it at the largest value in the panels that share it."""
    ax.autoscale(axis="y" if upright else "x")
    if upright:
        ax.set_ylim(bottom=0.0)
    else:
        ax.set_xlim(left=0.0)
