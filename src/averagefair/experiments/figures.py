"""The paper's three figures, as tables: convergence, error spread, generalisation.

Section "Experimental Evaluation" and appendix "Additional Experimental Results". For each run,
every table has columns for:

- the request: ``alpha``, and ``allowed`` = 2 alpha, the largest spread allowed;
- the result in training: ``reached_spread`` and ``reached_error``;
- the effort: ``rounds``, ``columns``, ``oracle_calls`` and ``seconds``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from averagefair.datasets.split import Split
from averagefair.errors import InputError
from averagefair.estimator import AverageFairClassifier
from averagefair.evaluation.generalisation import CORNERS, generalisation
from averagefair.experiments.tidy import ResultTable, stack
from averagefair.frontier import Frontier, FrontierPoint, frontier
from averagefair.game.certificate import Certificate
from averagefair.game.measure import Measurement
from averagefair.oracles import RegressionOracle
from averagefair.solvers import ColumnGeneration, ExponentiatedGradient, StopReason

PUBLISHED, COLUMNS = "authors' setting", "column generation"
SOLVERS = (PUBLISHED, COLUMNS)
"""Exponentiated gradient as in the authors' published runs, and this library's default solver."""
RATES = ("error", "false_positive", "false_negative")
UNCONSTRAINED = 0.5
"""At this alpha the constraint never binds."""
GRID = (0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2, 0.22, UNCONSTRAINED)
"""The alphas of the authors' published runs, and the alpha without a constraint."""
TRAJECTORY_ALPHAS = (0.05, 0.1, 0.15, 0.2)
"""The paper's 2 alpha = 0.1, 0.2, 0.3, 0.4."""
ROUNDS = 1000
SEED = 0

Curves = Mapping[tuple[str, str], Frontier]
"""A trade-off curve for each rate and solver."""


ORACLE = RegressionOracle()
"""The paper's oracle. Both solvers use it, so that only the solvers differ."""


def make_solver(name: str, rounds: int = ROUNDS) -> Any:
    """Return one of ``SOLVERS``, with this limit of rounds."""
    makers: dict[str, Callable[[int], Any]] = {
        PUBLISHED: ExponentiatedGradient.published,
        COLUMNS: lambda limit: ColumnGeneration(max_rounds=limit),
    }
    if name not in makers:
        raise InputError(f"a solver must be one of {', '.join(SOLVERS)}; got {name!r}.")
    return makers[name](rounds)


def trajectories(
    split: Split,
    alphas: Sequence[float] = TRAJECTORY_ALPHAS,
    *,
    rates: Sequence[str] = ("error",),
    solvers: Sequence[str] = SOLVERS,
    rounds: int = ROUNDS,
) -> ResultTable:
    """Record runs round by round: the paper's figure "convergence".

    Parameters
    ----------
    split : Split
        The training people and training tasks.
    alphas, rates, solvers
        One run for each combination; column generation starts from scratch for every alpha.
    rounds : int, default 1000
        Limit of rounds.

    Returns
    -------
    ResultTable
        A row for each round of each run: ``round``, ``error`` and ``spread`` after the round, and
        ``aim``, the slack of the round. (Column generation approaches alpha from above.) The last
        row of a run is the final model.

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


def _path(split: Split, alpha: float, rate: str, solver: str, rounds: int) -> ResultTable:
    settings = {
        "rate": rate,
        "oracle": ORACLE,
        "solver": make_solver(solver, rounds),
        "decisions": "drawn",
        "random_state": SEED,
    }
    with _no_convergence_warning():
        model = AverageFairClassifier(alpha=alpha, **settings).fit(split.X, split.Y)
    past, end = model.history_, model.certificate_
    return ResultTable(
        {
            "round": np.append(past["round"], end.rounds),
            "error": np.append(past["error"], end.error),
            "spread": np.append(past["spread"], end.spread),
            "aim": np.append(past["value"], alpha),
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

    The authors' setting solves each alpha separately. Column generation solves all alphas with one
    pool of columns. (A column is one classifier for each task; the pool holds all columns found so
    far.) A point's effort (``oracle_calls``, ``seconds``) is the effort added to that of the points
    with larger alpha.

    Parameters
    ----------
    split : Split
        The training people and training tasks.
    alphas : sequence of float, optional
        Default: :data:`GRID`.
    rates : sequence of str, default ("error",)
        Any of ``"error"``, ``"false_positive"`` and ``"false_negative"``.
    solvers : sequence of str, optional
        Default: all of :data:`SOLVERS`.
    rounds : int, default 1000
        Limit of rounds.

    Returns
    -------
    dict of (rate, solver) to Frontier
    """
    with _no_convergence_warning():
        return {
            (rate, solver): frontier(
                split.X,
                split.Y,
                alphas,
                rate=rate,
                oracle=ORACLE,
                solver=make_solver(solver, rounds),
                decisions="drawn",
                random_state=SEED,
            )
            for rate in rates
            for solver in solvers
        }


@contextmanager
def _no_convergence_warning() -> Iterator[None]:
    """Suppress warnings about runs that reach the limit of rounds: the tables show the rounds."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the fit did not converge", ConvergenceWarning)
        yield


def error_spread(curves: Curves, split: Split) -> ResultTable:
    """Return everybody's rate at each alpha: the paper's figure "error spread".

    Parameters
    ----------
    curves : mapping of (rate, solver) to Frontier
        From :func:`learn`.
    split : Split
        The split that the curves were trained on.

    Returns
    -------
    ResultTable
        A row for each person, alpha, rate and solver: ``individual_rate`` (NaN if undefined) and
        its mean over people, ``mean_rate``. Each model is compared with a baseline: the
        oracle's unconstrained answer, mixed with coin flips until its spread is no larger than the
        model's. ``coin_flip_rate``, ``coin_flip_mean`` and ``coin_flip_error`` are the baseline's
        rate, mean rate and overall error. People of the synthetic population have a ``group``.
    """
    rates = dict.fromkeys(rate for rate, _ in curves)
    free = {rate: _unconstrained(split, rate) for rate in rates}
    table = stack(
        [
            _everybody(point, rate, solver, free[rate])
            for (rate, solver), curve in curves.items()
            for point in curve
        ]
    )
    groups = getattr(split, "groups", None)
    if groups is None:
        return table
    return table.with_columns(group=groups[table["person"]])


def _unconstrained(split: Split, rate: str) -> Measurement:
    """Measure the oracle's answer without a constraint, which is this solver's first round."""
    solver = ExponentiatedGradient(max_rounds=1, tol=None)
    settings: dict[str, Any] = {"rate": rate, "oracle": ORACLE, "solver": solver}
    return frontier(split.X, split.Y, [UNCONSTRAINED], **settings).unconstrained


def _everybody(point: FrontierPoint, rate: str, solver: str, free: Measurement) -> ResultTable:
    rates, end = point.model.individual_rates_, point.certificate
    kept = min(1.0, end.spread / free.spread) if free.spread > 0 else 1.0
    flipped = kept * free.rates + (1.0 - kept) * 0.5
    return ResultTable(
        {"person": np.arange(rates.size), "individual_rate": rates, "coin_flip_rate": flipped}
    ).with_columns(
        rate=rate,
        solver=solver,
        alpha=point.value,
        **run_columns(end),
        common_rate=end.common_rate,
        mean_rate=np.nanmean(rates),
        coin_flip_mean=np.nanmean(flipped),
        coin_flip_error=kept * free.error + (1.0 - kept) * 0.5,
    )


MEASURED = (
    *("error", "error_low", "error_high", "spread", "spread_floor", "noise_share"),
    *("sd", "near", "floor", "denoised", "sigma", "sigma_low", "sigma_high"),
)


def generalise(curves: Curves, split: Split) -> ResultTable:
    """Measure curves on held-out people and tasks: the paper's figure of generalisation.

    Parameters
    ----------
    curves : mapping of (rate, solver) to Frontier
        From :func:`learn`.
    split : Split
        The split that the curves were trained on, with its held-out part.

    Returns
    -------
    ResultTable
        A row for each corner, alpha, rate and solver. A corner ("training", "people", "tasks",
        "both") combines training or new people with training or new tasks. The columns are those of
        ``averagefair.evaluation.generalisation.CornerCurve``: error and its interval, and
        ``spread`` and ``sd`` as observed. Other columns are for new tasks only, and NaN on training
        tasks: the spread under noise alone (``spread_floor``), the noise's share of the variance,
        and the figures without noise, ``denoised`` and ``sigma``.
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
            ResultTable.of_rows(
                {
                    "rate": rate,
                    "solver": solver,
                    "alpha": point.value,
                    **run_columns(point.certificate),
                    "corner": name,
                    "people": corners[name].n,
                    "tasks": corners[name].m,
                    **{figure: getattr(corners[name], figure)[index] for figure in MEASURED},
                }
                for index, point in enumerate(curve)
                for name in CORNERS
            )
        ]
    return stack(tables)


def run_columns(end: Certificate) -> dict[str, Any]:
    """Return the columns that every table has for a run; refuse a run that was cut short."""
    if end.stop_reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    if end.trouble:
        raise RuntimeError(f"a run of the experiments failed: {end.trouble}")
    return {
        "allowed": 2 * end.promise.value,
        "reached_spread": end.spread,
        "reached_error": end.error,
        "rounds": end.rounds,
        "columns": end.columns,
        "oracle_calls": end.oracle_calls,
        "seconds": end.seconds,
    }
