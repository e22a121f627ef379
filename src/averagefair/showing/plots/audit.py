"""Figures of an audit (matplotlib, the extra ``plots``). All data comes from the Audit.

Dark lines show observations, light areas show noise. The figures are readable in grey and by people
with red-green colour blindness.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from averagefair._util.text import percent
from averagefair.game.rates import spoken
from averagefair.showing import drawing
from averagefair.showing.drawing import NOISE, OBSERVED, REQUEST

if TYPE_CHECKING:
    from averagefair.auditing.result import Audit

# Above this many people, draw a band instead of one bar per person. Mark at most this many.
MOST_BARS = 100


def draw_audit(audit: Audit) -> drawing.Panels:
    """Draw all panels side by side and return them.

    Learned tasks (tasks that the model was trained on) have no panel for the chance test.

    Parameters
    ----------
    audit : Audit
        The audit to draw.
    """
    draws = [draw_rates, draw_curve, *([] if audit.learned_tasks else [draw_chance])]
    panels = drawing.Panels.new(len(draws), (5 * len(draws), 4.6))
    for draw, ax in zip(draws, panels.axes, strict=True):
        draw(audit, ax)
    return panels


def draw_rates(audit: Audit, ax: Any = None) -> Any:
    """Draw the sorted individual rates with intervals; returns the axes.

    Parameters
    ----------
    audit : Audit
        The audit to draw.
    ax : matplotlib axes, optional
        Where to draw. Default: the axes of a new pyplot figure.
    """
    ax = drawing.axes(ax)
    rows = audit.people.worst_first()[::-1]
    position = np.arange(1.0, rows.size + 1)
    rate, low, high = audit.people.rate[rows], audit.people.low[rows], audit.people.high[rows]
    level = f"{percent(audit.confidence)} CI of each person"
    if audit.learned_tasks:
        pass  # individual intervals need independent tasks; learned tasks are not independent
    elif rows.size <= MOST_BARS:
        ax.vlines(position, low, high, color=NOISE, alpha=0.55, linewidth=1.2, label=level)
    else:
        at, low, high = drawing.thin(position, low, high, most=MOST_BARS)
        ax.fill_between(at, low, high, color=NOISE, alpha=0.4, linewidth=0, label=level)
    ax.plot(*drawing.thin(position, rate), color=OBSERVED, linewidth=2, label="individual rate")
    flagged = np.flatnonzero(audit.people.flagged[rows])
    if flagged.size:
        some = flagged[:: -(-flagged.size // MOST_BARS)]
        worse = f"clearly above: {flagged.size:,}"
        if audit.learned_tasks:
            worse = f"above, as observed: {flagged.size:,}"
        ax.plot(position[some], rate[some], "v", color="black", markersize=5, label=worse)
    if audit.assessment is not None:
        alpha = audit.assessment.alpha
        ax.axhspan(
            audit.common_rate - alpha,
            audit.common_rate + alpha,
            color=REQUEST,
            alpha=0.15,
            label=f"within {alpha:g} of the common rate",
        )
    elif rows.size:
        ax.axhline(audit.mean.value, color=REQUEST, linestyle="--", linewidth=1, label="mean")
    ax.set(
        xlabel="people, from best off to worst off",
        ylabel=f"{drawing.words(spoken(audit.rate))} rate",
        title="Individual rates",
    )
    ax.locator_params(axis="x", nbins=5)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    return drawing.finish(ax)


def draw_curve(audit: Audit, ax: Any = None) -> Any:
    """Draw the share outside against alpha, with the noise floor; returns the axes.

    Parameters
    ----------
    audit : Audit
        The audit to draw.
    ax : matplotlib axes, optional
        Where to draw. Default: the axes of a new pyplot figure.
    """
    ax = drawing.axes(ax)
    line = audit.curve
    ax.plot(line.alpha, line.beta, color=OBSERVED, linewidth=2, marker="o", markersize=3)
    ax.plot([], [], color=OBSERVED, linewidth=2, label="observed")
    if not np.isnan(line.floor).all():
        look = {"color": NOISE, "alpha": 0.4, "linewidth": 0, "label": "noise alone"}
        ax.fill_betweenx(line.beta, 0.0, line.floor, **look)
    if not np.isnan(line.denoised).all():
        ax.plot(line.denoised, line.beta, color=OBSERVED, linestyle="--", label="without noise")
    if audit.assessment is not None:
        request = audit.assessment.alpha, audit.assessment.beta
        ax.plot(*request, "x", color="black", markersize=9, mew=2, label="requested")
    ax.set(
        xlabel="alpha: half the width of the narrowest band",
        ylabel="beta: share of people outside it",
        title="How close together people are",
        ylim=(-0.02, 1.0),
    )
    ax.set_xlim(left=0.0)
    return drawing.finish(ax)


def draw_chance(audit: Audit, ax: Any = None) -> Any:
    """Draw the chance test: the statistic under chance, and as observed; returns the axes.

    Parameters
    ----------
    audit : Audit
        The audit to draw.
    ax : matplotlib axes, optional
        Where to draw. Default: the axes of a new pyplot figure.
    """
    ax = drawing.axes(ax)
    test = audit.chance
    if test.flipped.size:
        what = "all flips" if test.enumerated else f"{test.flipped.size} random flips"
        ax.hist(
            test.flipped, bins=test.bins, color=NOISE, alpha=0.6, label=f"chance alone ({what})"
        )
        ax.margins(y=0.3)  # room for the legend
        ax.axvline(
            test.statistic, color=OBSERVED, linewidth=2.5, label=f"observed, p = {test.p:.3g}"
        )
    ax.set(
        xlabel="differences between people (U)",
        ylabel="number of flips",
        title="More than chance?",
    )
    return drawing.finish(ax)
