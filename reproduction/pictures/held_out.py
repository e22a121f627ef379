"""Figures of held-out fairness, and of how much of the observed unfairness is noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from averagefair._util.text import percent
from averagefair.evaluation.generalisation import CORNERS
from averagefair.experiments.figures import PUBLISHED, UNCONSTRAINED
from averagefair.experiments.findings import HELD_OUT, LEARNED, interval, measure_of
from averagefair.experiments.tidy import ResultTable
from averagefair.game.rates import spoken
from averagefair.showing.drawing import NOISE, REQUEST
from reproduction.pictures.panels import (
    SMALL,
    SOLVER_NAMES,
    SOLVER_STYLES,
    Picture,
    by_alpha,
    draw_curve,
    draw_intervals,
    finish,
    from_zero,
    limit,
    panels,
    solvers,
    title,
)

SIGMA = "unfairness: standard deviation of true rates; of new people, of rates as observed"


def noise(table: ResultTable, rate: str) -> Picture:
    """Draw the raw held-out spread, and the spread that noise alone would show, against alpha.

    Parameters
    ----------
    table : ResultTable
        From :func:`~averagefair.experiments.generalise`; rows without a constraint are left out.
    rate : str
    """
    here = by_alpha(table.where(rate=rate))
    here = here.take((here["alpha"] < UNCONSTRAINED) & np.isin(here["corner"], HELD_OUT))
    asked = np.unique(here["alpha"])
    figure, axes = panels(3.7, 1, len(HELD_OUT))
    for ax, corner in zip(axes[0], HELD_OUT, strict=True):
        for solver in solvers(here):
            mine = here.where(solver=solver, corner=corner)
            style, name = SOLVER_STYLES[solver], SOLVER_NAMES[solver]
            alpha, floor = mine["alpha"], mine["spread_floor"]
            draw_curve(ax, alpha, mine["spread"], style, f"{name}, observed")
            ax.fill_between(alpha, 0.0, floor, color=NOISE, alpha=0.22, linewidth=0)
            look = {"color": style.colour, "linestyle": style.dash, "linewidth": 0.9}
            if corner != LEARNED:
                ax.plot(alpha, floor, label=f"{name}, noise alone", **look)
        ax.plot(asked, 2 * asked, color=REQUEST, linestyle=":", label="allowed in training")
        title(ax, CORNERS[corner])
    axes[0, 0].set(ylabel=f"spread of individual\n{spoken(rate)} rates")
    from_zero(axes[0, 0], upright=True)
    figure.supxlabel("requested alpha", fontsize=10)
    finish(figure, ncols=3)
    share = float(np.nanmedian(here["spread_floor"] / here["spread"]))
    return Picture(
        figure,
        f"Spread of individual {spoken(rate)} rates held out against the requested alpha, for new "
        "people, new tasks and both: on new tasks noise alone, if everybody's true rate were "
        f"equal, would typically show {percent(round(share, 2))} of the spread observed.",
    )


def corrected(table: ResultTable, rate: str) -> Picture:
    """Draw error against held-out unfairness, with intervals; on new tasks without the noise.

    Parameters
    ----------
    table : ResultTable
        From :func:`~averagefair.experiments.generalise`.
    rate : str
    """
    here = by_alpha(table.where(rate=rate))
    figure, axes = panels(4.0, 1, len(HELD_OUT))
    for ax, corner in zip(axes[0], HELD_OUT, strict=True):
        _flip_coins(ax, here.where(solver=PUBLISHED, corner=corner, alpha=UNCONSTRAINED), corner)
        for solver in solvers(here):
            mine, style = here.where(solver=solver, corner=corner), SOLVER_STYLES[solver]
            apart, error = mine[measure_of(corner)], mine["error"]
            sides, ends = (
                (mine[f"{name}_low"], mine[f"{name}_high"]) for name in ("sigma", "error")
            )
            if corner != LEARNED:
                draw_intervals(ax, error, sides, style, upright=False)
            draw_intervals(ax, apart, ends, style, upright=True)
            draw_curve(ax, apart, error, style, SOLVER_NAMES[solver])
        title(ax, CORNERS[corner])
    _label(figure, axes)
    return Picture(
        figure,
        f"Overall error against the standard deviation of true {spoken(rate)} rates (of new "
        "people: of rates as observed on the tasks learned from), for new "
        "people, new tasks and both, with the intervals of each point: both solvers beside the "
        "line of coin flips, from the model without a constraint to error one half.",
    )


def random_splits(table: ResultTable) -> Picture:
    """Draw error against held-out unfairness: means over random splits, with their intervals.

    Parameters
    ----------
    table : ResultTable
        From :func:`~averagefair.experiments.random_splits`.
    """
    settings = by_people(table)
    figure, axes = panels(1.6 + 2.3 * len(settings), len(settings), len(HELD_OUT))
    for row, setting in zip(axes, settings, strict=True):
        for ax, corner in zip(row, HELD_OUT, strict=True):
            here = by_alpha(table.where(corner=corner, **setting))
            _flip_coins(ax, here.where(solver=PUBLISHED, alpha=UNCONSTRAINED), corner)
            for solver in solvers(here):
                _draw_mean(ax, here.where(solver=solver), solver, corner)
        look = {"xycoords": "axes fraction", "rotation": 270, "va": "center", "fontsize": SMALL}
        row[-1].annotate(setting_name(**setting), (1.03, 0.5), **look)
    for ax, corner in zip(axes[0], HELD_OUT, strict=True):
        title(ax, CORNERS[corner])
    for upright in (False, True):
        limit(axes.ravel(), upright=upright)
    _label(figure, axes)
    return Picture(
        figure,
        "Overall error against the standard deviation of true error rates (of new people: of "
        "rates as observed on the tasks learned from), means over random splits with their "
        "intervals, for new people, new tasks and both, a row of panels for each way of splitting: "
        "where a solver's curve lies below the line of coin flips it does better than them.",
    )


def by_people(table: ResultTable) -> list[dict[str, Any]]:
    """Return the settings of random splits, in the order of the number of people."""
    settings = table.only("learned_from", "held_out_tasks")
    return list(settings.take(np.argsort(settings["learned_from"], kind="stable")))


def setting_name(learned_from: int, held_out_tasks: str) -> str:
    """Return a name for a split of Communities and Crime.

    Examples
    --------
    >>> setting_name(1595, "the paper's"), setting_name(200, "drawn")
    ("1,595 people, the paper's tasks", '200 people, drawn tasks')
    """
    return f"{learned_from:,} people, {held_out_tasks} tasks"


def _draw_mean(ax: Any, mine: ResultTable, solver: str, corner: str) -> None:
    """Draw the means over splits at each alpha."""
    points = [mine.where(alpha=alpha) for alpha in mine.distinct("alpha")]
    apart, *sides = np.array([interval(point[measure_of(corner)]) for point in points]).T
    error, *ends = np.array([interval(point["error"]) for point in points]).T
    style = SOLVER_STYLES[solver]
    draw_intervals(ax, error, sides, style, upright=False)
    draw_intervals(ax, apart, ends, style, upright=True)
    draw_curve(ax, apart, error, style, SOLVER_NAMES[solver])


def _flip_coins(ax: Any, free: ResultTable, corner: str) -> None:
    """Draw the line of mixtures of the unconstrained model and coin flips."""
    if len(free):
        x, y = [0.0, free[measure_of(corner)].mean()], [0.5, free["error"].mean()]
        ax.plot(x, y, color=REQUEST, linestyle=":", label="coin flips")


def _label(figure: Any, axes: Any) -> None:
    """Label the axes; begin the unfairness just below 0, with room for points there."""
    axes[0, 0].set_xlim(left=-0.02 * axes[0, 0].get_xlim()[1])
    axes[0, 0].locator_params(axis="x", nbins=4)
    figure.supxlabel(SIGMA, fontsize=10)
    figure.supylabel("overall error", fontsize=10)
    finish(figure, ncols=3)
