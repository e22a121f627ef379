"""Speed of the logistic regressions of all tasks, against scikit-learn's one task at a time.

The prices are consecutive ones of column generation on the same population. LogisticOracle starts
from its last answer, as in a fit (warm); its first answer is listed separately (cold).
scikit-learn fits every task from scratch in two processes of one thread each. The processes map
the standardised features from a file, and use the same weights and penalty. scikit-learn's
tolerance is the loosest that brings coefficients within the same distance of the minimum.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from averagefair import (
    ColumnGeneration,
    Equal,
    ErrorRate,
    Learner,
    LogisticOracle,
    RegressionOracle,
    Sample,
)
from averagefair.game.costs import Costs
from benchmarks.common import heading, table, verdict
from benchmarks.oracles.costs import Prices, Recording
from benchmarks.oracles.tables import JOBS
from benchmarks.solvers.foundation import make_people

SIZE = {"n": 20_000, "m": 200, "d": 50}
ALPHA, ROUNDS = 0.02, 10
TURNS = 3
JUDGED = 5
"""Compare the coefficients of this many tasks with a tight fit."""
CLOSE, TARGET_RATIO = 1e-4, 20.0
TOLERANCES = 10.0 ** -np.arange(2, 10)
TIGHT = {"solver": "newton-cholesky", "tol": 1e-12, "max_iter": 1000}
THEIRS = ("lbfgs", "newton-cholesky")
WARM, COLD = "LogisticOracle, warm", "LogisticOracle, cold"

Floats = NDArray[np.float64]


def report_speed(size: dict[str, int] | None = None) -> dict[str, Any]:
    """Print the seconds of a round; return the figures."""
    size = size or SIZE
    X, Y = make_people(**size)
    sample, l2 = Sample(X, Y), LogisticOracle().l2
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    prices = moving_prices(sample)
    gaps = Costs(sample, *prices[-1]).gaps()
    judged = np.linspace(0, gaps.shape[1] - 1, min(JUDGED, gaps.shape[1])).astype(int)
    exact = np.array([coefficients(standard, gaps[:, task], l2, **TIGHT) for task in judged])
    settings = {name: loosest(standard, gaps[:, judged], l2, name, exact) for name in THEIRS}
    with in_file(standard) as mapped, Workers(mapped, l2) as workers:
        clocked, answer = in_turns(sample, prices, gaps, settings, workers)
    off = float(np.abs(standardised(answer, X)[judged] - exact).max())
    written = ", ".join(f"{letter} = {count:,}" for letter, count in size.items())
    heading(
        "A round of logistic regressions",
        f"{written}; medians of {TURNS} turns (warm: {len(clocked[WARM])} rounds); "
        f"scikit-learn in {JOBS} processes",
    )
    warm = float(np.median(clocked[WARM]))
    medians = {name: float(np.median(seconds)) for name, seconds in clocked.items()}
    table(
        ["", "seconds", "ratio", "least", "most"],
        [
            [
                f"scikit-learn, {name}" if name in THEIRS else name,
                f"{medians[name]:.3f}",
                f"{medians[name] / warm:.1f}",
                f"{min(seconds):.3f}",
                f"{max(seconds):.3f}",
            ]
            for name, seconds in clocked.items()
        ],
    )
    for name, own in settings.items():
        print(f"{name}: tol {own['tol']:.0e}, the loosest for coefficients within {CLOSE:g}")
    ratios = {name: medians[name] / warm for name in THEIRS}
    verdict(
        f"warm, at least {TARGET_RATIO:.0f} times as fast as the faster solver of scikit-learn",
        min(ratios.values()) >= TARGET_RATIO,
        ", ".join(f"{solver}: {ratio:.0f} times" for solver, ratio in ratios.items()),
    )
    verdict(f"coefficients within {CLOSE:g} of a tight fit", off <= CLOSE, f"{off:.1e}")
    return {"seconds": clocked, "off": off, "settings": settings}


def moving_prices(sample: Sample) -> list[Prices]:
    """Return consecutive prices of a fit, after the constraints have begun to bind."""
    oracle = Recording(RegressionOracle())
    learner = Learner(sample, ErrorRate(), oracle)
    ColumnGeneration(max_rounds=ROUNDS).solve(learner, Equal(ALPHA))
    return oracle.prices[-(ROUNDS + 1) :]


def in_turns(
    sample: Sample,
    prices: Sequence[Prices],
    gaps: Floats,
    settings: dict[str, dict[str, Any]],
    workers: Workers,
) -> tuple[dict[str, list[float]], Any]:
    """Return the seconds of rounds, ours and scikit-learn's, and our answer to the last prices.

    They take turns, so that a busy machine slows all of them.
    """
    clocked: dict[str, list[float]] = {name: [] for name in (WARM, COLD, *settings)}
    answer = None
    for _ in range(TURNS):
        respond = LogisticOracle().bind(sample)
        for place, one in enumerate(prices):
            costs = Costs(sample, *one)
            start = perf_counter()
            answer = respond(costs)
            clocked[WARM if place else COLD].append(perf_counter() - start)
        for name, own in settings.items():
            start = perf_counter()
            workers.fit(gaps, own)
            clocked[name].append(perf_counter() - start)
    return clocked, answer


def standardised(answer: Any, X: Floats) -> Floats:
    """Return an answer's intercepts and coefficients in scikit-learn's convention, shape (m, d+1).

    LinearThresholds decide 1 where the score is negative, and take features in original units.
    """
    coefficients = -answer.coefficients * X.std(axis=0)[:, None]
    intercepts = -(answer.intercepts + X.mean(axis=0) @ answer.coefficients)
    return np.vstack([intercepts, coefficients]).T


def loosest(
    standard: Floats, gaps: Floats, l2: float, solver: str, exact: Floats
) -> dict[str, Any]:
    """Return scikit-learn's settings with the loosest sufficient tolerance on these tasks."""
    settings: dict[str, Any] = {}
    for tol in TOLERANCES:
        settings = {"solver": solver, "tol": float(tol), "max_iter": 10_000}
        mine = [coefficients(standard, gap, l2, **settings) for gap in gaps.T]
        if np.abs(mine - exact).max() <= CLOSE:
            break
    return settings


@contextmanager
def in_file(features: Floats) -> Iterator[Floats]:
    """Write features to a file and map it, so that processes can share it."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", features)
        yield np.load(Path(folder) / "X.npy", mmap_mode="r")


class Workers:
    """Processes of one thread that fit tasks one at a time; they start before the clock does."""

    def __init__(self, mapped: Floats, l2: float) -> None:
        self.mapped, self.l2 = mapped, l2

    def __enter__(self) -> Workers:
        self._config = parallel_config("loky", n_jobs=JOBS, inner_max_num_threads=1)
        self._config.__enter__()
        self._parallel = Parallel(max_nbytes=None)
        some = np.where(np.arange(len(self.mapped)) % 2, 1.0, -1.0)[:, None]
        self.fit(np.repeat(some, 2 * JOBS, axis=1), {"max_iter": 10_000})
        return self

    def __exit__(self, *error: object) -> None:
        self._config.__exit__(*error)

    def fit(self, gaps: Floats, settings: dict[str, Any]) -> list[Floats]:
        """Fit all tasks."""
        jobs = (delayed(coefficients)(self.mapped, gap, self.l2, **settings) for gap in gaps.T)
        return self._parallel(jobs)


def coefficients(X: Floats, gap: Floats, l2: float, **settings: Any) -> Floats:
    """Fit one task by scikit-learn; return the intercept and the coefficients."""
    weight = np.abs(gap)
    model = LogisticRegression(C=1 / l2, **settings)
    model.fit(X, gap < 0, sample_weight=weight / weight.mean())
    return np.append(model.intercept_, model.coef_)
