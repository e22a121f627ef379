"""Overhead of a round with a scikit-learn classifier as oracle.

A round is one best response of HistGradientBoostingClassifier for all tasks, measured on everybody.
The bare loop makes the same fits and predictions; the difference is the overhead of the oracle and
the meter. The parallel bare loop is the best that joblib can do. Its processes map the features
from a file, fit and predict, and send back only decisions.

All four take turns, so that a busy machine slows all of them. Times are medians, with warm workers.
"On one thread" limits OpenMP to one thread, as joblib does in its processes; with two busy cores,
more threads take longer.

``python -m benchmarks.scale.weighted_oracle 5`` takes five turns; default 3.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from averagefair import ErrorRate, Learner, Sample, WeightedOracle
from benchmarks.common import heading, machine, table, verdict
from benchmarks.solvers.foundation import make_people

SIZE = {"n": 20_000, "m": 20, "d": 20}
JOBS = 2
TARGET_SHARE = 0.1
BOOSTING = HistGradientBoostingClassifier(random_state=0)


def main() -> None:
    print(machine())
    turns = int(sys.argv[1]) if sys.argv[1:] else 3
    X, Y = make_people(**SIZE)
    weights = np.random.default_rng(1).normal(scale=0.3 / len(X), size=len(X))
    price = 1.0 / len(X) + weights
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", X)
        mapped = np.load(Path(folder) / "X.npy", mmap_mode="r")
        report(
            {
                "one by one, on one thread": (
                    on_one_thread(our_round(X, Y, weights, None)),
                    on_one_thread(bare_round(X, Y, price, 1)),
                ),
                f"{JOBS} processes": (
                    our_round(X, Y, weights, JOBS),
                    bare_round(mapped, Y, price, JOBS),
                ),
            },
            turns,
        )


def report(pairs: dict[str, tuple[Callable, Callable]], turns: int) -> None:
    """Print the seconds of each round and of its bare loop."""
    clocked = clock_in_turns([one for pair in pairs.values() for one in pair], turns)
    size = ", ".join(f"{letter} = {count:,}" for letter, count in SIZE.items())
    heading("One round of HistGradientBoostingClassifier", f"{size}; seconds, {turns} turns")
    rows, shares = [], []
    for name, ours, bare in zip(pairs, clocked[::2], clocked[1::2], strict=True):
        shares.append(1 - bare / ours)
        rows.append([name, f"{ours:.2f}", f"{bare:.2f}", f"{ours - bare:.2f}", f"{shares[-1]:.1%}"])
    table(["", "a round", "bare loop", "overhead", "share"], rows)
    print(f"{JOBS} processes are {clocked[0] / clocked[2]:.2f} times as fast as one by one.")
    verdict(f"overhead in parallel under {TARGET_SHARE:.0%}", shares[-1] < TARGET_SHARE)


def clock_in_turns(functions: list[Callable[[], NDArray[np.float64]]], turns: int) -> list[float]:
    """Return each function's median seconds; exit if their results differ."""
    Parallel(n_jobs=JOBS, max_nbytes=None)(delayed(warm_up)() for _ in range(2 * JOBS))
    seconds: list[list[float]] = [[] for _ in functions]
    found = []
    for _ in range(turns):
        for function, own in zip(functions, seconds, strict=True):
            start = perf_counter()
            found.append(function())
            own.append(perf_counter() - start)
    if not all(np.allclose(rates, found[0], rtol=0, atol=1e-12) for rates in found):
        sys.exit("A round and its bare loop decide differently: nothing was compared.")
    return [float(np.median(own)) for own in seconds]


def warm_up() -> None:
    """Fit a small model, so that a worker imports its modules."""
    X = np.arange(40.0)[:, None]
    fit_and_predict(X, np.where(X[:, 0] < 20, 1.0, -1.0))


def our_round(
    X: NDArray[np.float64], Y: NDArray[np.int8], weights: NDArray[np.float64], n_jobs: int | None
) -> Callable[[], NDArray[np.float64]]:
    oracle, sample = WeightedOracle(BOOSTING, n_jobs=n_jobs), Sample(X, Y)
    # Make a new Learner each time: a Learner remembers its answer to these weights.
    return lambda: Learner(sample, ErrorRate(), oracle).respond(weights).rates


def bare_round(
    X: NDArray[np.float64], Y: NDArray[np.int8], price: NDArray[np.float64], n_jobs: int
) -> Callable[[], NDArray[np.float64]]:
    price = price / np.abs(price).max()
    price = price * (len(price) / np.abs(price).sum())  # 1 on average, as in the oracle
    gaps = np.where(Y == 0, price[:, None], -price[:, None])

    def run() -> NDArray[np.float64]:
        jobs = (delayed(fit_and_predict)(X, gap) for gap in gaps.T)
        decisions = Parallel(n_jobs=n_jobs, max_nbytes=None)(jobs)
        return (np.column_stack(decisions) != Y).mean(axis=1)

    return run


def fit_and_predict(X: NDArray[np.float64], gap: NDArray[np.float64]) -> NDArray[np.bool_]:
    model = clone(BOOSTING).fit(X, (gap < 0).astype(np.int64), sample_weight=np.abs(gap))
    return np.asarray(model.predict(X) == 1)


def on_one_thread(run: Callable) -> Callable:
    def limited() -> object:
        with threadpool_limits(1, "openmp"):
            return run()

    return limited


if __name__ == "__main__":
    main()
