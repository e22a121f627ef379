"""The paper's three figures, as tables: convergence, error spread, generalisation.

Section "Experimental Evaluation" and appendix "Additional Experimental Results". Every table has,
for each run, what was asked (``alpha``, and ``allowed`` = 2 alpha: how far apart two people may
be), what was reached on the people and tasks learned from (``reached_spread``, ``reached_error``),
and what it took (``rounds``, ``columns``, ``oracle_calls``, ``seconds``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from averagefair.certificate import Certificate
from averagefair.datasets.split import Split
from averagefair.errors import InputError
from averagefair.estimator import AverageFairClassifier
from averagefair.experiments.tidy import Table, stack
from averagefair.frontier import Frontier, FrontierPoint, frontier
from averagefair.generalisation import CORNERS, generalisation
from averagefair.measure import Measurement
from averagefair.oracles import RegressionOracle
from averagefair.solvers import ColumnGeneration, ExponentiatedGradient, StopReason

PUBLISHED, COLUMNS = "authors' setting", "column generation"
SOLVERS = (PUBLISHED, COLUMNS)
"""Exponentiated gradient in the setting of the authors' published runs, and this library's own."""
RATES = ("error", "false_positive", "false_negative")
UNCONSTRAINED = 0.5
"""At this alpha nothing is asked for."""
GRID = (0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2, 0.22, UNCONSTRAINED)
"""The alphas of the authors' published runs, and none at all."""
TRAJECTORY_ALPHAS = (0.05, 0.1, 0.15, 0.2)
"""The paper's 2 alpha = 0.1, 0.2, 0.3, 0.4."""
ROUNDS = 1000
SEED = 0

Curves = Mapping[tuple[str, str], Frontier]
"""A trade-off curve for each rate and solver."""


ORACLE = RegressionOracle()
"""The paper's: both solvers play with it, so that they differ in nothing else."""


def make_solver(name: str, rounds: int = ROUNDS) -> Any:
    """Return one of ``SOLVERS``, with so many rounds at most."""
    makers: dict[str, Callable[[int], Any]] = {
        PUBLISHED: ExponentiatedGradient.published,
        COLUMNS: lambda most: ColumnGeneration(max_rounds=most),
    }
    if name not in makers:
        raise InputError(f"a solver is one of {', '.join(SOLVERS)}; got {name!r}.")
    return makers[name](rounds)


def trajectories(
    split: Split,
    alphas: Sequence[float] = TRAJECTORY_ALPHAS,
    *,
    rates: Sequence[str] = ("error",),
    solvers: Sequence[str] = SOLVERS,
    rounds: int = ROUNDS,
) -> Table:
    """Follow runs round by round: the paper's figure "convergence".

    Parameters
    ----------
    split : Split
        People and tasks to learn from.
    alphas, rates, solvers
        A run for each of each; column generation is started anew for every alpha.
    rounds : int, default 1000
        At most.

    Returns
    -------
    Table
        A row for each round of each run: ``round``, and ``error`` and ``spread`` of the answer
        after it; of column generation also at which alpha it stands (``aim``), since it comes down
        to the one requested from above. The last row of a run is the model that came of it.

    Examples
    --------
    >>> from averagefair.datasets import make_synthetic
    >>> found = trajectories(make_synthetic(n=40, m=10), [0.1], rounds=50)
    >>> found.where(solver="authors' setting")["round"][-1]
    np.int64(50)
    """
    return stack(
        [
            _path(split, alpha, rate, solver, rounds)
            for rate in rates
            for solver in solvers
            for alpha in alphas
        ]
    )


def _path(split: Split, alpha: float, rate: str, solver: str, rounds: int) -> Table:
    how = {
        "rate": rate,
        "oracle": ORACLE,
        "solver": make_solver(solver, rounds),
        "random_state": SEED,
    }
    with _rounds_in_the_tables():
        model = AverageFairClassifier(alpha=alpha, **how).fit(split.X, split.Y)
    past, end = model.history_, model.certificate_
    return Table(
        {
            "round": np.append(past["round"], end.rounds),
            "error": np.append(past["error"], end.error),
            "spread": np.append(past["spread"], end.spread),
            "aim": np.append(past["alpha"], alpha),
        }
    ).with_columns(rate=rate, solver=solver, alpha=alpha, **run_columns(end))


def learn(
    split: Split,
    alphas: Sequence[float] = GRID,
    *,
    rates: Sequence[str] = ("error",),
    solvers: Sequence[str] = SOLVERS,
    rounds: int = ROUNDS,
) -> Curves:
    """Learn the trade-off curves that :func:`error_spread` and :func:`generalise` measure.

    The authors' setting solves each alpha by itself; column generation all alphas with one pool
    of columns, so that what a point took (``oracle_calls``, ``seconds``) is what it added to the
    points of larger alpha.

    Parameters
    ----------
    split : Split
        What to learn from.
    alphas : sequence of float, optional
        Default: :data:`GRID`.
    rates : sequence of str, default ("error",)
        Of ``"error"``, ``"false_positive"`` and ``"false_negative"``.
    solvers : sequence of str, optional
        Default: all of :data:`SOLVERS`.
    rounds : int, default 1000
        At most.

    Returns
    -------
    dict of (rate, solver) to Frontier
    """
    with _rounds_in_the_tables():
        return {
            (rate, solver): frontier(
                split.X,
                split.Y,
                alphas,
                rate=rate,
                oracle=ORACLE,
                solver=make_solver(solver, rounds),
                random_state=SEED,
            )
            for rate in rates
            for solver in solvers
        }


@contextmanager
def _rounds_in_the_tables() -> Iterator[None]:
    """Do not warn of runs that end after all rounds: the tables have their rounds."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the fit did not converge", ConvergenceWarning)
        yield


def error_spread(curves: Curves, split: Split) -> Table:
    """Tell everybody's rate at each alpha: the paper's figure "error spread".

    Parameters
    ----------
    curves : mapping of (rate, solver) to Frontier
        From :func:`learn`.
    split : Split
        What they were learned from.

    Returns
    -------
    Table
        A row for each person, alpha, rate and solver: ``individual_rate`` (NaN where the person
        has none) and its mean over people, ``mean_rate``; ``coin_flip_rate``, ``coin_flip_mean``
        and ``coin_flip_error``: the same and the overall error if what the oracle answers without
        a constraint is mixed with coin flips until people are as near to each other. People of the
        synthetic population have a ``group``.
    """
    rates = dict.fromkeys(rate for rate, _ in curves)
    plain = {rate: _plain(split, rate) for rate in rates}
    found = stack(
        [
            _everybody(point, rate, solver, plain[rate])
            for (rate, solver), curve in curves.items()
            for point in curve
        ]
    )
    groups = getattr(split, "groups", None)
    if groups is None:
        return found
    return found.with_columns(group=groups[found["person"]])


def _plain(split: Split, rate: str) -> Measurement:
    """Return what the oracle answers where fairness has no weight."""
    solver = ExponentiatedGradient(max_rounds=1, tol=None)  # whose first round is that
    how: dict[str, Any] = {"rate": rate, "oracle": ORACLE, "solver": solver}
    return frontier(split.X, split.Y, [UNCONSTRAINED], **how).unconstrained


def _everybody(point: FrontierPoint, rate: str, solver: str, plain: Measurement) -> Table:
    mine, end = point.model.individual_rates_, point.certificate
    kept = min(1.0, end.spread / plain.spread) if plain.spread > 0 else 1.0
    flipped = kept * plain.rates + (1.0 - kept) * 0.5
    return Table(
        {"person": np.arange(mine.size), "individual_rate": mine, "coin_flip_rate": flipped}
    ).with_columns(
        rate=rate,
        solver=solver,
        alpha=point.alpha,
        **run_columns(end),
        common_rate=end.common_rate,
        mean_rate=np.nanmean(mine),
        coin_flip_mean=np.nanmean(flipped),
        coin_flip_error=kept * plain.error + (1.0 - kept) * 0.5,
    )


MEASURED = (
    *("error", "error_low", "error_high", "spread", "spread_floor", "noise_share"),
    *("sd", "near", "floor", "denoised", "sigma", "sigma_low", "sigma_high"),
)


def generalise(curves: Curves, split: Split) -> Table:
    """Measure curves on people and tasks held out: the paper's figure of generalisation.

    Parameters
    ----------
    curves : mapping of (rate, solver) to Frontier
        From :func:`learn`.
    split : Split
        What they were learned from, and what was held out.

    Returns
    -------
    Table
        A row for each corner ("training", "people", "tasks", "both"), alpha, rate and solver, with
        the columns of ``averagefair.generalisation.Corner``: error and its interval, raw
        ``spread`` and ``sd`` as observed, and, for new tasks only, what noise alone would show
        (``spread_floor``), the share of the variance that is noise, and the chance-corrected
        figures ``denoised`` and ``sigma``. Those are NaN on the tasks learned from.
    """
    new: dict[str, Any] = {
        "X_new": split.X_new,
        "Y_new_people": split.Y_new_people,
        "Y_new_tasks": split.Y_new_tasks,
        "Y_new_both": split.Y_new_both,
    }
    tables = []
    for (rate, solver), curve in curves.items():
        corners = generalisation(curve, **new).corners
        tables += [
            Table.of_rows(
                {
                    "rate": rate,
                    "solver": solver,
                    "alpha": point.alpha,
                    **run_columns(point.certificate),
                    "corner": name,
                    "people": corners[name].n,
                    "tasks": corners[name].m,
                    **{what: getattr(corners[name], what)[place] for what in MEASURED},
                }
                for place, point in enumerate(curve)
                for name in CORNERS
            )
        ]
    return stack(tables)


def run_columns(end: Certificate) -> dict[str, Any]:
    """Return what every table says of a run; one that was cut short is not an experiment."""
    if end.stop_reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    if end.trouble:
        raise RuntimeError(f"a run of the experiments failed: {end.trouble}")
    return {
        "allowed": 2 * end.alpha,
        "reached_spread": end.spread,
        "reached_error": end.error,
        "rounds": end.rounds,
        "columns": end.columns,
        "oracle_calls": end.oracle_calls,
        "seconds": end.seconds,
    }
