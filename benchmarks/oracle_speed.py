"""How fast all tasks' logistic regressions are beside scikit-learn's, one task at a time.

The prices are those that column generation asked for one after the other on the same population.
LogisticOracle starts from its last answer, as it does in a fit (warm); its first answer is told
apart (cold). scikit-learn fits every task anew in two processes that have the standardised features
in a file and one thread each, with the same weights and penalty; its tolerance is the loosest that
brings coefficients to within the same distance of the minimum.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from common import heading, table, verdict
from foundation import make_people
from joblib import Parallel, delayed, parallel_config
from numpy.typing import NDArray
from oracle_costs import Prices, Recording
from oracle_tables import JOBS
from sklearn.linear_model import LogisticRegression

from averagefair import (
    ColumnGeneration,
    ErrorRate,
    Learner,
    LogisticOracle,
    RegressionOracle,
    Request,
    Sample,
)
from averagefair.costs import Costs

SIZE = {"n": 20_000, "m": 200, "d": 50}
ALPHA, ROUNDS = 0.02, 10
JUDGED = 10
"""How many tasks are judged by a tight fit."""
CLOSE, TARGET_RATIO = 1e-4, 20.0
TOLERANCES = 10.0 ** -np.arange(2, 10)
TIGHT = {"solver": "newton-cholesky", "tol": 1e-12, "max_iter": 1000}
THEIRS = ("lbfgs", "newton-cholesky")

Floats = NDArray[np.float64]


def report_speed(size: dict[str, int] | None = None) -> dict[str, Any]:
    """Print the seconds of a round; return the figures."""
    size = size or SIZE
    X, Y = make_people(**size)
    sample, l2 = Sample(X, Y), LogisticOracle().l2
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    prices = moving_prices(sample)
    seconds, answer = our_rounds(sample, prices)
    cold, warm = seconds[0], float(np.median(seconds[1:]))
    gaps = Costs(sample, *prices[-1]).gaps()
    judged = np.linspace(0, gaps.shape[1] - 1, min(JUDGED, gaps.shape[1])).astype(int)
    exact = np.array([coefficients(standard, gaps[:, task], l2, **TIGHT) for task in judged])
    off = float(np.abs(standardised(answer, X)[judged] - exact).max())
    theirs = [their_round(standard, gaps, l2, solver, judged, exact) for solver in THEIRS]
    written = ", ".join(f"{letter} = {count:,}" for letter, count in size.items())
    heading("A round of logistic regressions", f"{written}; off: the coefficients, standardised")
    rows = [["LogisticOracle, warm", warm, 1.0, off], ["LogisticOracle, cold", cold, cold / warm]]
    rows += [
        [
            f"scikit-learn, {solver}, tol {one['tol']:.0e}",
            one["seconds"],
            one["seconds"] / warm,
            one["off"],
        ]
        for solver, one in zip(THEIRS, theirs, strict=True)
    ]
    table(
        ["", "seconds", "ratio", "off"],
        [
            [name, f"{taken:.3f}", f"{ratio:.1f}", *(f"{one:.0e}" for one in rest or [])]
            + [""] * (not rest)
            for name, taken, ratio, *rest in rows
        ],
    )
    print(f"Warm rounds: {', '.join(f'{one:.3f}' for one in seconds[1:])}")
    ratios = {solver: one["seconds"] / warm for solver, one in zip(THEIRS, theirs, strict=True)}
    verdict(
        f"at least {TARGET_RATIO:.0f} times as fast as scikit-learn's default solver, warm",
        ratios["lbfgs"] >= TARGET_RATIO,
        ", ".join(f"{solver}: {ratio:.0f} times" for solver, ratio in ratios.items()),
    )
    verdict(f"coefficients within {CLOSE:g} of a tight fit", off <= CLOSE, f"{off:.1e}")
    return {
        "warm": warm,
        "cold": cold,
        "off": off,
        "theirs": dict(zip(THEIRS, theirs, strict=True)),
    }


def moving_prices(sample: Sample) -> list[Prices]:
    """Return prices asked for one after the other, once the constraints have begun to bind."""
    oracle = Recording(RegressionOracle())
    learner = Learner(sample, ErrorRate(), oracle)
    ColumnGeneration(max_rounds=ROUNDS).solve(learner, Request(ALPHA))
    return oracle.prices[-(ROUNDS + 1) :]


def our_rounds(sample: Sample, prices: Sequence[Prices]) -> tuple[list[float], Any]:
    """Return the seconds of each answer, the first one cold, and the last answer."""
    respond, taken, answer = LogisticOracle().bind(sample), [], None
    for one in prices:
        costs = Costs(sample, *one)
        start = perf_counter()
        answer = respond(costs)
        taken.append(perf_counter() - start)
    return taken, answer


def standardised(answer: Any, X: Floats) -> Floats:
    """Return an answer's intercepts and coefficients as scikit-learn has them, shape (m, d+1).

    LinearThresholds decide 1 where the score is negative, in plain units.
    """
    coefficients = -answer.coefficients * X.std(axis=0)[:, None]
    intercepts = -(answer.intercepts + X.mean(axis=0) @ answer.coefficients)
    return np.vstack([intercepts, coefficients]).T


def their_round(
    standard: Floats, gaps: Floats, l2: float, solver: str, judged: NDArray[np.int_], exact: Floats
) -> dict[str, float]:
    """Return the tolerance, the distance from the minimum and the seconds of scikit-learn."""
    for tol in TOLERANCES:
        settings = {"solver": solver, "tol": float(tol), "max_iter": 10_000}
        mine = [coefficients(standard, gaps[:, task], l2, **settings) for task in judged]
        off = float(np.abs(mine - exact).max())
        if off <= CLOSE:
            break
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", standard)
        mapped = np.load(Path(folder) / "X.npy", mmap_mode="r")
        with parallel_config("loky", n_jobs=JOBS, inner_max_num_threads=1):
            parallel = Parallel(max_nbytes=None)
            parallel(jobs(mapped, gaps[:, : 2 * JOBS], l2, settings))  # workers import
            start = perf_counter()
            parallel(jobs(mapped, gaps, l2, settings))
            seconds = perf_counter() - start
        del mapped
    return {"tol": settings["tol"], "off": off, "seconds": seconds}


def jobs(X: Floats, gaps: Floats, l2: float, settings: dict[str, Any]) -> Iterator[Any]:
    return (delayed(coefficients)(X, gap, l2, **settings) for gap in gaps.T)


def coefficients(X: Floats, gap: Floats, l2: float, **settings: Any) -> Floats:
    """Fit one task by scikit-learn; return the intercept and the coefficients."""
    weight = np.abs(gap)
    model = LogisticRegression(C=1 / l2, **settings)
    model.fit(X, gap < 0, sample_weight=weight / weight.mean())
    return np.append(model.intercept_, model.coef_)
