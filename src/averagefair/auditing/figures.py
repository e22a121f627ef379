"""Figures of an audit (matplotlib, the extra ``plots``). Everything drawn is in the Audit already.

Dark lines are what was observed, light areas what noise allows: readable in grey, and for whoever
does not tell red from green.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from averagefair.rates import spoken
from averagefair.sample import FloatArray
from averagefair.text import percent

if TYPE_CHECKING:
    from averagefair.auditing.result import Audit

OBSERVED, NOISE, REQUEST = "#0b4f8a", "#e69f00", "#555555"
# Above this many people a band takes the place of a bar for each.
MOST_BARS = 100


def draw_audit(audit: Audit) -> Any:
    """Return a figure with all three panels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 4.6), layout="constrained")
    panels = figure.subplots(1, 3)
    draw_rates(audit, panels[0])
    draw_curve(audit, panels[1])
    draw_chance(audit, panels[2])
    return figure


def draw_rates(audit: Audit, ax: Any = None) -> Any:
    """Draw everybody's rate, sorted, with intervals; returns the axes."""
    ax = _axes(ax)
    rows = audit._by_rate()
    place = np.arange(1, rows.size + 1)
    rate, low, high = audit.people.rate[rows], audit.people.low[rows], audit.people.high[rows]
    level = f"{percent(audit.confidence)} interval of each"
    if rows.size <= MOST_BARS:
        ax.vlines(place, low, high, color=NOISE, alpha=0.55, linewidth=1.2, label=level)
    else:
        at, low, high = _thin(place, low, high)
        ax.fill_between(at, low, high, color=NOISE, alpha=0.4, linewidth=0, label=level)
    ax.plot(place, rate, color=OBSERVED, linewidth=2, label="individual rate")
    flagged = audit.people.flagged[rows]
    if flagged.any():
        ax.plot(
            place[flagged],
            rate[flagged],
            "v",
            color="black",
            markersize=5,
            label=f"worse off for sure: {int(flagged.sum())}",
        )
    if audit.answer is not None:
        asked = audit.answer
        ax.axhspan(
            asked.common_rate - asked.alpha,
            asked.common_rate + asked.alpha,
            color=REQUEST,
            alpha=0.15,
            label=f"within {asked.alpha:g} of the common rate",
        )
    elif rows.size:
        ax.axhline(audit.mean.value, color=REQUEST, linestyle="--", linewidth=1, label="mean")
    ax.set(
        xlabel="people, from best off to worst off",
        ylabel=f"{spoken(audit.rate)} rate",
        title="Who is worse off",
    )
    return _finish(ax)


def draw_curve(audit: Audit, ax: Any = None) -> Any:
    """Draw the share outside against alpha, with the noise floor; returns the axes."""
    ax = _axes(ax)
    line = audit.curve
    ax.plot(line.alpha, line.beta, color=OBSERVED, linewidth=2, marker="o", markersize=3)
    ax.plot([], [], color=OBSERVED, linewidth=2, label="observed")
    ax.fill_betweenx(
        line.beta, 0.0, line.floor, color=NOISE, alpha=0.4, linewidth=0, label="noise alone"
    )
    if not np.isnan(line.denoised).all():
        ax.plot(line.denoised, line.beta, color=OBSERVED, linestyle="--", label="without the noise")
    if audit.answer is not None:
        asked = audit.answer
        ax.plot(asked.alpha, asked.beta, "x", color="black", markersize=9, mew=2, label="requested")
    ax.set(
        xlabel="alpha: distance from the common rate",
        ylabel="beta: share of people further off",
        title="How near all but a few are",
        ylim=(-0.02, 1.0),
    )
    ax.set_xlim(left=0.0)
    return _finish(ax)


def draw_chance(audit: Audit, ax: Any = None) -> Any:
    """Draw what chance alone would show, and what was observed; returns the axes."""
    ax = _axes(ax)
    test = audit.chance
    if test.flipped.size:
        bins = min(40, max(5, int(np.sqrt(test.flipped.size))))
        what = "all flips" if test.enumerated else f"{test.flipped.size} random flips"
        ax.hist(test.flipped, bins=bins, color=NOISE, alpha=0.6, label=f"chance alone ({what})")
        ax.margins(y=0.3)  # room for the legend
        ax.axvline(
            test.statistic, color=OBSERVED, linewidth=2.5, label=f"observed, p = {test.p:.3g}"
        )
    ax.set(
        xlabel="differences between people (U)",
        ylabel="how often",
        title="Is it more than chance?",
    )
    return _finish(ax)


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    return Figure(figsize=(5.5, 4.6), layout="constrained").subplots()


def _finish(ax: Any) -> Any:
    ax.spines[["top", "right"]].set_visible(False)
    if ax.get_legend_handles_labels()[1]:
        ax.legend(frameon=False, fontsize="small")
    return ax


def _thin(
    place: NDArray[np.intp], low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return at most a hundred points: mean ends of the intervals of people next to each other."""
    parts = np.array_split(np.arange(place.size), MOST_BARS)
    at = np.array([place[part].mean() for part in parts])
    at[0], at[-1] = place[0], place[-1]
    return (
        at,
        np.array([low[part].mean() for part in parts]),
        np.array([high[part].mean() for part in parts]),
    )
