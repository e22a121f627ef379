"""The figure: cost against gain for new people on fresh tasks, one panel per table and oracle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.promises.compare import estimate
from benchmarks.promises.fits import CAP, EQUAL, WIDE, WORST_OFF
from benchmarks.promises.results import Panel

CORNER, MEASURE = "both", "drawn_worst_off"
STYLES = {
    EQUAL: ("equal rates (alpha)", "#888888", "s"),
    WORST_OFF: ("worst-off tenth (price)", "#0b6e99", "o"),
    WIDE: ("worst-off three tenths (price)", "#6ab7a8", "D"),
    CAP: ("cap (way down to the 90% quantile)", "#c4622d", "^"),
}
DPI = 110


def draw(found: Sequence[Panel], file: Path) -> None:
    """Draw the panels, oracles below each other, tables side by side.

    Parameters
    ----------
    found : sequence of Panel
    file : Path
        Where the picture goes.
    """
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    tables, oracles = ([*dict.fromkeys(names)] for names in zip(*map(_names, found), strict=True))
    figure, axes = plt.subplots(
        len(oracles),
        len(tables),
        figsize=(3.4 * len(tables) + 0.6, 3.0 * len(oracles) + 0.7),
        squeeze=False,
        layout="constrained",
    )
    for axis in axes.flat:
        axis.set_visible(False)
    for panel in found:
        axis = axes[oracles.index(panel.oracle), tables.index(panel.table)]
        axis.set_visible(True)
        draw_panel(panel, axis)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    figure.supxlabel("change of the error, points")
    figure.supylabel("change of the worst-off tenth's mean rate, drawn decisions, points")
    figure.savefig(file, dpi=DPI)
    plt.close(figure)


def draw_panel(panel: Panel, axis: Any) -> None:
    """Draw each promise's curve from no promise (0, 0), with 95% intervals."""
    for promise, (label, colour, marker) in STYLES.items():
        points = [
            [estimate(panel.changes(promise, setting, CORNER, name)) for name in ("error", MEASURE)]
            for setting in panel.settings(promise)
        ]
        if not points:
            continue
        means = np.array([[0.0, 0.0], *([one.mean for one in point] for point in points)])
        # A single split has no interval.
        margins = np.nan_to_num([[0.0, 0.0], *([one.margin for one in point] for point in points)])
        axis.errorbar(
            *means.T,
            xerr=margins[:, 0],
            yerr=margins[:, 1],
            label=label,
            color=colour,
            marker=marker,
            markersize=4,
            linewidth=1.2,
            elinewidth=0.7,
        )
    axis.axhline(0.0, color="black", linewidth=0.6)
    axis.axvline(0.0, color="black", linewidth=0.6)
    axis.set_title(f"{panel.table}, {panel.oracle}", fontsize=9)


def _names(panel: Panel) -> tuple[str, str]:
    return panel.table, panel.oracle
