"""Figures of an audit (matplotlib, the extra ``plots``). Everything drawn is in the Audit already.

Dark lines are what was observed, light areas what noise allows: readable in grey, and for whoever
does not tell red from green.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from averagefair import drawing
from averagefair.drawing import NOISE, OBSERVED, REQUEST
from averagefair.rates import spoken
from averagefair.text import percent

if TYPE_CHECKING:
    from averagefair.auditing.result import Audit

# Above this many people a band takes the place of a bar for each, and some marks that of all.
MOST_BARS = 100


def draw_audit(audit: Audit) -> drawing.Panels:
    """Draw all panels side by side and return them; learned tasks have no test to draw.

    Parameters
    ----------
    audit : Audit
        What was found.
    """
    draws = [draw_rates, draw_curve, *([] if audit.learned_tasks else [draw_chance])]
    panels = drawing.Panels.new(len(draws), (5 * len(draws), 4.6))
    for draw, ax in zip(draws, panels.axes, strict=True):
        draw(audit, ax)
    return panels


def draw_rates(audit: Audit, ax: Any = None) -> Any:
    """Draw everybody's rate, sorted, with intervals; returns the axes.

    Parameters
    ----------
    audit : Audit
        What was found.
    ax : matplotlib axes, optional
        Where to draw. Default: those of a new pyplot figure.
    """
    ax = drawing.axes(ax)
    rows = audit._by_rate()
    place = np.arange(1.0, rows.size + 1)
    rate, low, high = audit.people.rate[rows], audit.people.low[rows], audit.people.high[rows]
    level = f"{percent(audit.confidence)} interval of each"
    if audit.learned_tasks:
        pass  # one person's interval takes tasks as draws, which these are not
    elif rows.size <= MOST_BARS:
        ax.vlines(place, low, high, color=NOISE, alpha=0.55, linewidth=1.2, label=level)
    else:
        at, low, high = drawing.thin(place, low, high, most=MOST_BARS)
        ax.fill_between(at, low, high, color=NOISE, alpha=0.4, linewidth=0, label=level)
    ax.plot(*drawing.thin(place, rate), color=OBSERVED, linewidth=2, label="individual rate")
    flagged = np.flatnonzero(audit.people.flagged[rows])
    if flagged.size:
        some = flagged[:: -(-flagged.size // MOST_BARS)]
        worse = f"worse off for sure: {flagged.size:,}"
        if audit.learned_tasks:
            worse = f"above, as observed: {flagged.size:,}"
        ax.plot(place[some], rate[some], "v", color="black", markersize=5, label=worse)
    if audit.answer is not None:
        asked = audit.answer
        ax.axhspan(
            audit.common_rate - asked.alpha,
            audit.common_rate + asked.alpha,
            color=REQUEST,
            alpha=0.15,
            label=f"within {asked.alpha:g} of the common rate",
        )
    elif rows.size:
        ax.axhline(audit.mean.value, color=REQUEST, linestyle="--", linewidth=1, label="mean")
    ax.set(
        xlabel="people, from best off to worst off",
        ylabel=f"{drawing.words(spoken(audit.rate))} rate",
        title="Who is worse off",
    )
    ax.locator_params(axis="x", nbins=5)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    return drawing.finish(ax)


def draw_curve(audit: Audit, ax: Any = None) -> Any:
    """Draw the share outside against alpha, with the noise floor; returns the axes.

    Parameters
    ----------
    audit : Audit
        What was found.
    ax : matplotlib axes, optional
        Where to draw. Default: those of a new pyplot figure.
    """
    ax = drawing.axes(ax)
    line = audit.curve
    ax.plot(line.alpha, line.beta, color=OBSERVED, linewidth=2, marker="o", markersize=3)
    ax.plot([], [], color=OBSERVED, linewidth=2, label="observed")
    if not np.isnan(line.floor).all():
        look = {"color": NOISE, "alpha": 0.4, "linewidth": 0, "label": "noise alone"}
        ax.fill_betweenx(line.beta, 0.0, line.floor, **look)
    if not np.isnan(line.denoised).all():
        ax.plot(line.denoised, line.beta, color=OBSERVED, linestyle="--", label="without the noise")
    if audit.answer is not None:
        asked = audit.answer
        ax.plot(asked.alpha, asked.beta, "x", color="black", markersize=9, mew=2, label="requested")
    ax.set(
        xlabel="alpha: half the width of the narrowest band",
        ylabel="beta: share of people outside it",
        title="How near all but a few are",
        ylim=(-0.02, 1.0),
    )
    ax.set_xlim(left=0.0)
    return drawing.finish(ax)


def draw_chance(audit: Audit, ax: Any = None) -> Any:
    """Draw what chance alone would show, and what was observed; returns the axes.

    Parameters
    ----------
    audit : Audit
        What was found.
    ax : matplotlib axes, optional
        Where to draw. Default: those of a new pyplot figure.
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
        ylabel="how often",
        title="Is it more than chance?",
    )
    return drawing.finish(ax)
