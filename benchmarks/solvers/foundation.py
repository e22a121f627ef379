"""Time and memory of least squares and exponentiated gradient: a round, a run, growth, memory.

``python -m benchmarks.solvers.foundation`` runs it, and so does ``make bench``.

1. The oracle. One best response for all tasks and everybody's errors, against a loop that fits
   scikit-learn's LinearRegression twice for each task. Both must make the same decisions, on
   weights from a real run. They take turns, so that a busy machine slows both. Medians.
2. Authors' setting. The wall time of a fit as in the authors' published runs, and the parts of a
   round's time. The oracle, the meter and ``respond`` are timed from outside; the rest is the
   remainder.
3. Growth. The time of one round as people, tasks or features grow, one of them at a time, and the
   least-squares slope of log time on log size: 1 is linear. All sizes take turns. Minima, on one
   thread: only large products use a second thread, which would bend the slope. On a busy machine,
   threads that wait for each other take ten times as long.
4. Memory. The peak resident memory of a fit in a process of its own, less the memory resident after
   the imports. It includes the caller's own X and Y. The peak is VmHWM. On Linux ``ru_maxrss`` of a
   child starts at its parent's peak, so it is used only on systems without /proc.

Times depend on the machine: compare ratios, slopes and shares, from one run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from averagefair import (
    AverageFairClassifier,
    Equal,
    ErrorRate,
    ExponentiatedGradient,
    Learner,
    RegressionOracle,
    Sample,
)
from averagefair.datasets import Split
from averagefair.game.learner import Play
from benchmarks.common import (
    ROOT,
    heading,
    machine,
    paper_data,
    resident,
    table,
    take_turns,
    verdict,
)

ALPHA = 0.1
TARGET_RATIO = 200.0
TARGET_SECONDS = 1.0

GROWTH = {
    "n": [{"n": n, "m": 100, "d": 20} for n in (2_000, 4_000, 8_000, 16_000, 32_000, 64_000)],
    "m": [{"n": 10_000, "m": m, "d": 20} for m in (20, 40, 80, 160, 320, 640)],
    "d": [{"n": 10_000, "m": 100, "d": d} for d in (8, 16, 32, 64, 128)],
}
MEMORY_SIZE = {"n": 100_000, "m": 200, "d": 30}
MEMORY_CASES = [
    ("error", 0.0),
    ("error", 0.05),
    ("false_positive", 0.0),
    ("false_positive", 0.05),
]
MB = 1e6


def main() -> None:
    print(machine())
    data, source = paper_data()
    report_oracle(data, source)
    report_published(data)
    report_growth()
    report_memory()


# 1. The oracle


def report_oracle(data: Split, source: str) -> None:
    sample = Sample(data.X, data.Y)
    learner = Learner(sample, ErrorRate(), RegressionOracle())
    met = ExponentiatedGradient.published(100).solve(learner, Equal(ALPHA)).weights
    checked = met[:: max(1, len(met) // 10)]
    for weights in checked:
        check_same(learner.respond(weights), data, weights)
    weights = checked[-1]
    loop, ours = take_turns(
        [
            lambda: loop_round(data.X, data.Y, weights),
            lambda: [learner.respond(weights) for _ in range(100)],
        ],
        repeats=9,
    )
    slow, fast = float(np.median(loop)), float(np.median(ours)) / 100
    heading("The oracle: one round", f"{source}; n = {sample.n}, m = {sample.m}, d = {sample.d}")
    table(
        ["", "milliseconds", "ratio"],
        [
            ["loop of two regressions a task", f"{1e3 * slow:.2f}", f"{slow / fast:.0f}"],
            ["all tasks at once", f"{1e3 * fast:.3f}", "1"],
        ],
    )
    print(f"Same decisions and rates on {len(checked)} weights met in a run.")
    verdict(f"at least {TARGET_RATIO:.0f} times faster", slow / fast >= TARGET_RATIO)


def loop_round(
    X: NDArray[np.float64], Y: NDArray[np.int8], weights: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return decisions (n, m) and error rates (n,), one task at a time, as in the paper."""
    from sklearn.linear_model import LinearRegression

    price = 1.0 / len(X) + weights
    decisions = np.empty(Y.shape, dtype=bool)
    for task in range(Y.shape[1]):
        cost_of_1 = np.where(Y[:, task] == 0, price, 0.0)
        cost_of_0 = np.where(Y[:, task] == 1, price, 0.0)
        predicted_1 = LinearRegression().fit(X, cost_of_1).predict(X)
        predicted_0 = LinearRegression().fit(X, cost_of_0).predict(X)
        decisions[:, task] = predicted_1 < predicted_0
    return decisions, (decisions != Y).mean(axis=1)


def check_same(play: Play, data: Split, weights: NDArray[np.float64]) -> None:
    decisions, rates = loop_round(data.X, data.Y, weights)
    differ = int((play.hypothesis.decide(data.X) != decisions).sum())
    if differ or not np.allclose(play.rates, rates, rtol=0, atol=1e-12):
        sys.exit(f"The loop and the oracle differ in {differ} of {decisions.size} decisions.")


# 2. The authors' setting


def report_published(data: Split) -> None:
    def fit() -> AverageFairClassifier:
        solver = ExponentiatedGradient.published()
        model = AverageFairClassifier(alpha=ALPHA, solver=solver, random_state=0)
        return model.fit(data.X, data.Y)

    rounds = fit().certificate_.rounds
    seconds = float(np.median(take_turns([fit], repeats=5)[0]))
    heading("Authors' setting: a whole fit", f"alpha = {ALPHA}, {rounds} rounds")
    print(f"{seconds:.3f} s, {1e6 * seconds / rounds:.0f} microseconds a round.")
    verdict(
        f"1000 rounds under {TARGET_SECONDS:g} s",
        1000 * seconds / rounds < TARGET_SECONDS,
        f"{TARGET_SECONDS * rounds / 1000 / seconds:.1f} times faster than that",
    )
    print("\nWhere a round's time goes:")
    table(
        ["", "microseconds", "share"],
        [
            [piece, f"{1e6 * spent:.0f}", f"{share:.0%}"]
            for piece, spent, share in round_breakdown(data)
        ],
    )


def round_breakdown(data: Split) -> list[tuple[str, float, float]]:
    """Return (piece, seconds a round, share of the round) over one run of the solver."""
    spent: dict[str, float] = {}
    learner = Learner(Sample(data.X, data.Y), ErrorRate(), _TimedOracle(spent))
    learner.meter = timed(learner.meter, spent, "measuring")  # type: ignore[assignment]
    learner.respond = timed(learner.respond, spent, "respond")  # type: ignore[method-assign]
    solution = ExponentiatedGradient.published().solve(learner, Equal(ALPHA))
    respond = spent.pop("respond")
    spent["costs and the play"] = respond - sum(spent.values())
    spent["replay, auditor, bookkeeping"] = solution.seconds - respond
    rounds = len(solution.history)
    return [(piece, s / rounds, s / solution.seconds) for piece, s in spent.items()]


class _TimedOracle(RegressionOracle):
    """The regression oracle with a stopwatch on every answer."""

    def __init__(self, spent: dict[str, float]) -> None:
        super().__init__()
        object.__setattr__(self, "spent", spent)

    def bind(self, sample: Sample) -> Callable:  # type: ignore[override]
        return timed(super().bind(sample), self.spent, "oracle")


def timed(function: Callable, spent: dict[str, float], piece: str) -> Callable:
    """Return the function, adding the time of each call to ``spent[piece]``."""
    spent[piece] = 0.0

    def run(*args: object) -> object:
        start = perf_counter()
        result = function(*args)
        spent[piece] += perf_counter() - start
        return result

    return run


# 3. Growth


def report_growth() -> None:
    heading("Growth: the time of one round", "one thread; milliseconds; slope 1 is linear")
    rounds = [one_round(size) for sizes in GROWTH.values() for size in sizes]
    with threadpool_limits(1):
        fastest = iter([min(times) for times in take_turns(rounds, repeats=10)])
    for letter, sizes in GROWTH.items():
        seconds = [next(fastest) for _ in sizes]
        grown = [size[letter] for size in sizes]
        fixed = ", ".join(f"{key} = {sizes[0][key]:,}" for key in sizes[0] if key != letter)
        print(f"{fixed}:")
        table(
            [letter, *(f"{size:,}" for size in grown), "slope"],
            [["ms", *(f"{1e3 * s:.2f}" for s in seconds), f"{slope(grown, seconds):.2f}"]],
        )
        if letter != "d":
            print()


def one_round(size: dict[str, int]) -> Callable[[], Play]:
    """Return a function that runs one round at this size, after all one-off work."""
    X, Y = make_people(**size)
    learner = Learner(Sample(X, Y), ErrorRate(), RegressionOracle())
    weights = np.random.default_rng(1).normal(scale=1.0 / size["n"], size=size["n"])
    return lambda: learner.respond(weights)


def slope(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


# 4. Memory


def report_memory() -> None:
    n, m, d = MEMORY_SIZE.values()
    features, labels = 8 * n * d / MB, n * m / MB
    limit = 4 * features + labels + 200
    heading("Memory: the peak of a fit", f"n = {n:,}, m = {m}, d = {d}; MB, MB = 10^6 bytes")
    rows, within = [], True
    for rate, blank in MEMORY_CASES:
        found = measure_elsewhere(rate, blank)
        peak, own = found["peak"] / MB, found["labels"] / MB
        within &= peak <= limit
        name = f"{rate.replace('_', ' ')} rate" + (f", {blank:.0%} blank" if blank else "")
        numbers = (features, own, peak - features - own, peak)
        rows.append([name, *(f"{v:.0f}" for v in numbers), f"{peak / limit:.2f}"])
    table(["", "X", "Y", "ours", "peak", "of limit"], rows)
    print("X and Y are the caller's own, in the peak: Y is int8, with blanks float32.")
    print(f"Limit: 4 x {features:.0f} (X) + {labels:.0f} (labels in int8) + 200 = {limit:.0f} MB.")
    verdict(f"peak within {limit:.0f} MB", within)


def measure_elsewhere(rate: str, blank: float) -> dict[str, float]:
    """Run one case in a fresh process and return the numbers it printed."""
    command = [sys.executable, "-m", "benchmarks.solvers.foundation", "memory", rate, str(blank)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout))


def measure_here(rate: str, blank: float) -> None:
    """Fit once; print by how much memory grew at its peak, and the size of Y, in bytes."""
    before = resident("VmRSS")
    X, Y = make_people(**MEMORY_SIZE, blank=blank)
    prepared = resident("VmHWM")
    solver = ExponentiatedGradient(max_rounds=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        AverageFairClassifier(alpha=ALPHA, rate=rate, solver=solver, random_state=0).fit(X, Y)
    peak = resident("VmHWM")
    if peak == prepared:
        sys.exit("Making the data took more memory than the fit: nothing was measured.")
    print(json.dumps({"peak": peak - before, "labels": Y.nbytes}))


def make_people(
    n: int, m: int, d: int, blank: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.int8] | NDArray[np.float32]]:
    """Return normal features and noisy linear labels, made without large temporaries."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    Y = np.empty((n, m), dtype=np.float32 if blank else np.int8)
    rule = rng.standard_normal((d, m))
    step = max(1, 400_000 // m)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        scores = X[rows] @ rule
        Y[rows] = scores + rng.normal(scale=d**0.5, size=scores.shape) > 0
        if blank:
            Y[rows][rng.random(scores.shape) < blank] = np.nan
    return X, Y


if __name__ == "__main__":
    if sys.argv[1:2] == ["memory"]:
        measure_here(sys.argv[2], float(sys.argv[3]))
    else:
        main()
