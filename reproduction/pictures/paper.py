"""The paper's three figures, a panel for each solver."""

from __future__ import annotations

import numpy as np

from averagefair.evaluation.generalisation import CORNERS
from averagefair.experiments.figures import UNCONSTRAINED
from averagefair.experiments.tidy import ResultTable
from averagefair.game.rates import spoken
from averagefair.showing.drawing import SERIES
from averagefair.showing.plots import ErrorSpreadDisplay, TrajectoryDisplay
from reproduction.pictures.panels import (
    SOLVER_NAMES,
    Picture,
    by_alpha,
    draw_curve,
    finish,
    from_zero,
    panels,
    solvers,
    title,
)


def convergence(table: ResultTable, rate: str) -> Picture:
    """Draw error and spread of runs, round by round (the paper's figure 1(a), "convergence").

    Parameters
    ----------
    table : ResultTable
        From :func:`~averagefair.experiments.trajectories`.
    rate : str
    """
    here = table.where(rate=rate)
    names = solvers(here)
    figure, axes = panels(4.5, 1, len(names))
    for ax, solver in zip(axes[0], names, strict=True):
        mine = here.where(solver=solver)
        alphas = np.unique(mine["alpha"]).tolist()
        runs = [mine.where(alpha=alpha) for alpha in alphas]
        TrajectoryDisplay(
            names=tuple(f"alpha = {alpha:g}" for alpha in alphas),
            alphas=tuple(alphas),
            errors=tuple(run["error"] for run in runs),
            spreads=tuple(run["spread"] for run in runs),
        ).plot(ax)
        title(ax, SOLVER_NAMES[solver])
    from_zero(axes[0, 0], upright=True)
    finish(figure, ncols=3)
    kept = " and ".join(f"{_kept(here.where(solver=one))} by {SOLVER_NAMES[one]}" for one in names)
    return Picture(
        figure,
        f"Overall error (x) and spread of individual {spoken(rate)} rates (y), round by round, a "
        f"path for each alpha and a panel for each solver: of the runs, {kept} end within the "
        "spread allowed, 2 alpha, which dashed lines mark.",
    )


def _kept(mine: ResultTable) -> str:
    """Count the runs that end within the allowed spread."""
    runs = mine.only("alpha", "allowed", "reached_spread")
    within = np.count_nonzero(runs["reached_spread"] <= runs["allowed"] + 1e-6)
    return f"{within} of {len(runs)}"


def error_spread(table: ResultTable, rate: str) -> Picture:
    """Draw everybody's rate at each 2 alpha (the paper's figure 1(b), "error spread").

    Parameters
    ----------
    table : ResultTable
        From :func:`~averagefair.experiments.error_spread`.
    rate : str
    """
    here = table.where(rate=rate)
    names = solvers(here)
    figure, axes = panels(1.5 + 0.4 * max(4, len(here.distinct("alpha"))), 1, len(names))
    for ax, solver in zip(axes[0], names, strict=True):
        _everybody(here.where(solver=solver), rate).plot(ax)
        title(ax, SOLVER_NAMES[solver])
    finish(figure, ncols=3)
    return Picture(
        figure,
        f"Individual {spoken(rate)} rates, a row of dots for each allowed spread 2 alpha and a "
        "panel for each solver: the less is allowed the closer together people are, beside grey "
        "dots for a mixture with coin flips that is as fair.",
    )


def _wider(here: ResultTable) -> str:
    """Count the held-out points whose spread is wider than their model's spread in training."""
    out = here.take(here["corner"] != "training")
    return f"{np.count_nonzero(out['spread'] > out['reached_spread'])} of {len(out)}"


def _everybody(mine: ResultTable, rate: str) -> ErrorSpreadDisplay:
    alphas = np.unique(mine["alpha"])
    points = [mine.where(alpha=alpha) for alpha in alphas]
    return ErrorSpreadDisplay(
        rate_names=(spoken(rate),),
        alpha=np.where(alphas < UNCONSTRAINED, alphas, np.nan),
        rates=tuple(point["individual_rate"][:, None] for point in points),
        common_rate=np.array([point["common_rate"][:1] for point in points]),
        mean=np.array([point["mean_rate"][:1] for point in points]),
        coin_flips=np.array([point["coin_flip_mean"][:1] for point in points]),
        coin_flip_rates=tuple(point["coin_flip_rate"][:, None] for point in points),
    )


def generalisation(table: ResultTable, rate: str) -> Picture:
    """Draw the trade-off in and out of sample (the paper's figure of generalisation).

    Parameters
    ----------
    table : ResultTable
        From :func:`~averagefair.experiments.generalise`.
    rate : str
    """
    here = table.where(rate=rate)
    names = solvers(here)
    figure, axes = panels(4.3, 1, len(names))
    for ax, solver in zip(axes[0], names, strict=True):
        for place, (corner, name) in enumerate(CORNERS.items()):
            mine = by_alpha(here.where(solver=solver, corner=corner))
            draw_curve(ax, mine["error"], mine["spread"], SERIES[place], name)
        ax.set(xlabel="overall error", ylabel="unfairness: spread of individual rates")
        title(ax, SOLVER_NAMES[solver])
    from_zero(axes[0, 0], upright=True)
    axes[0, 0].locator_params(axis="x", nbins=6)
    finish(figure, ncols=4)
    return Picture(
        figure,
        f"Spread of individual {spoken(rate)} rates against overall error, in training, for new "
        "people, for new tasks and for both, points in order of alpha and a panel for each solver: "
        f"held out, the spread is wider than in training at {_wider(here)} points.",
    )
