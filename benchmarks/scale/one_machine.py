"""How close the library is to the limits of this machine: one round, memory, growth, Dask.

``python -m benchmarks.scale.one_machine`` runs it. ``make bench-scale`` runs it together with
``benchmarks/scale/weighted_oracle.py`` and, on a machine with CUDA, ``benchmarks/scale/gpu.py``.

1. One round in float32 at n = 100,000, m = 500, d = 50, against the two bare matrix products of
   that size on the same number of threads, in turns. A product split between threads waits for
   the slowest thread. So load slows the products more than a round: look at the load first.
2. Memory of a fit at that size, in a process of its own: peak resident memory, less imports, X and
   the labels.
3. Growth. The time of one round on one thread and the peak memory of a fit. People, tasks and
   features grow by two decades, one of them at a time. Slope of the logarithms: 1 is linear.
4. Dask. A fit on two worker processes of this machine: the same answer, and the overhead per round.

Times depend on the machine: compare ratios and slopes, from one run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from averagefair import (
    AverageFairClassifier,
    ErrorRate,
    ExponentiatedGradient,
    Learner,
    RegressionOracle,
    Sample,
)
from averagefair.people.threads import block_threads, one_thread
from benchmarks.common import ROOT, heading, machine, resident, table, take_turns, verdict
from benchmarks.solvers.foundation import make_people, slope

SIZE = {"n": 100_000, "m": 500, "d": 50}
LIMIT_RATIO, LIMIT_MB = 1.6, 300
GROWTH = {
    "n": [{"n": n, "m": 100, "d": 32} for n in (31_600, 100_000, 316_000, 1_000_000, 3_160_000)],
    "m": [{"n": 3_000, "m": m, "d": 32} for m in (300, 950, 3_000, 9_500, 30_000)],
    "d": [{"n": 20_000, "m": 100, "d": d} for d in (40, 126, 400, 1_265, 4_000)],
}
ROUNDS = 5
MB = 1e6


def main() -> None:
    print(machine())
    parts = {
        "round": report_round,
        "memory": report_memory,
        "growth": report_growth,
        "dask": report_dask,
    }
    for name in sys.argv[1:] or parts:
        parts[name]()


# 1. One round


def report_round() -> None:
    n, m, d = SIZE.values()
    X, Y = people(SIZE)
    floats = (1 - 2 * Y).astype(np.float32)
    rule = np.random.default_rng(1).standard_normal((d, m)).astype(np.float32)

    def bare() -> None:
        _ = X.T @ floats
        _ = X @ rule

    heading("One round in float32", f"n = {n:,}, m = {m}, d = {d}; milliseconds, medians")
    rows, ratios = [], {}
    for threads in sorted({1, block_threads()}):
        with threadpool_limits(threads):
            fast, ours, exact = (
                float(np.median(times))
                for times in take_turns([bare, round_of(X, Y, "float32"), round_of(X, Y)], 9)
            )
        ratios[threads] = ours / fast
        rows.append([f"{threads}", *(f"{1e3 * s:.1f}" for s in (fast, ours))])
        rows[-1] += [f"{ours / fast:.2f}", f"{1e3 * exact:.1f}"]
    table(["threads", "two bare products", "a round", "ratio", "a round in float64"], rows)
    for threads, ratio in ratios.items():
        verdict(f"{threads} threads: at most {LIMIT_RATIO} times", ratio <= LIMIT_RATIO)


def round_of(X: np.ndarray, Y: np.ndarray, dtype: str = "float64") -> Callable[[], object]:
    learner = Learner(Sample(X, Y, dtype=dtype), ErrorRate(), RegressionOracle())
    weights = np.random.default_rng(1).normal(scale=1.0 / len(X), size=len(X))

    def as_in_a_solver() -> None:
        with one_thread(spread=True):
            learner.respond(weights)

    return as_in_a_solver


def people(size: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    X, Y = make_people(**size)
    return X.astype(np.float32), Y


# 2. Memory


def report_memory() -> None:
    heading("Memory of a fit", f"n = {SIZE['n']:,}, m = {SIZE['m']}, d = {SIZE['d']}; MB")
    found = measure_elsewhere(SIZE)
    given = found["given"] / MB
    table(
        ["X and labels", "beyond them", "in all"],
        [[f"{given:.0f}", f"{found['peak'] / MB - given:.0f}", f"{found['peak'] / MB:.0f}"]],
    )
    verdict(f"at most {LIMIT_MB} MB beyond", found["peak"] / MB - given <= LIMIT_MB)


def measure_elsewhere(size: dict[str, int]) -> dict[str, float]:
    """Fit in a fresh process and return the numbers it printed."""
    command = [sys.executable, "-m", "benchmarks.scale.one_machine", "measure", json.dumps(size)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout))


def measure_here(size: dict[str, int]) -> None:
    """Fit once; print by how much memory grew at its peak, and the size of X and Y, in bytes."""
    solver = ExponentiatedGradient(max_rounds=ROUNDS)
    model = AverageFairClassifier(
        alpha=0.1, oracle=RegressionOracle(), solver=solver, random_state=0, dtype="float32"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # A small first fit loads modules and allocates blocks, so that neither is measured.
        model.fit(*people({"n": 6_000, "m": 500, "d": 32}))
        before = resident("VmRSS")
        X, Y = people(size)
        model.fit(X, Y)
    print(json.dumps({"peak": resident("VmHWM") - before, "given": X.nbytes + Y.nbytes}))


# 3. Growth


def report_growth() -> None:
    heading(
        "Growth of a round and of a fit's memory",
        "float32, one thread; milliseconds, MB; slope 1: linear",
    )
    for letter, sizes in GROWTH.items():
        fixed = ", ".join(f"{key} = {sizes[0][key]:,}" for key in sizes[0] if key != letter)
        rounds = [round_of(*people(size), "float32") for size in sizes]
        with threadpool_limits(1):
            seconds = [min(times) for times in take_turns(rounds, repeats=7)]
        del rounds
        memory = [measure_elsewhere(size)["peak"] for size in sizes]
        grown = [size[letter] for size in sizes]
        print(f"{fixed}:")
        table(
            [letter, *(f"{size:,}" for size in grown), "slope"],
            [
                ["ms", *(f"{1e3 * s:.1f}" for s in seconds), f"{slope(grown, seconds):.2f}"],
                ["MB", *(f"{one / MB:.0f}" for one in memory), f"{slope(grown, memory):.2f}"],
            ],
        )
        print()


# 4. A cluster


def report_dask() -> None:
    import dask.array as da
    from distributed import Client, LocalCluster

    size = {"n": 100_000, "m": 200, "d": 32}
    X, Y = people(size)
    solver = ExponentiatedGradient.published(20)

    def fit(*data: object) -> AverageFairClassifier:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            settings = {"alpha": 0.1, "solver": solver, "random_state": 0, "dtype": "float32"}
            return AverageFairClassifier(**settings).fit(*data)

    heading(
        "Dask, two processes of one thread on this machine, float32",
        ", ".join(f"{key} = {value:,}" for key, value in size.items()),
    )
    rows, rates = [], []
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        for name, data in (
            ("here, one thread", (X, Y)),
            ("here, all threads", (X, Y)),
            ("cluster, 2 chunks", [da.from_array(one, chunks=(50_000, -1)) for one in (X, Y)]),
            ("cluster, 10 chunks", [da.from_array(one, chunks=(10_000, -1)) for one in (X, Y)]),
        ):
            with threadpool_limits(1 if "one" in name else None):
                model = fit(*data)
            known = model.certificate_
            rates.append(model.individual_rates_)
            rows.append([name, f"{1e3 * known.seconds / known.rounds:.1f}", f"{known.error:.6f}"])
    table(["", "ms a round", "error"], rows)
    apart = max(float(np.abs(one - rates[0]).max()) for one in rates)
    print(f"Rates differ by at most {apart:.1e}.")
    tiny = [da.from_array(one[:2000], chunks=(1000, -1)) for one in (X, Y)]
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        known = fit(*tiny).certificate_
    print(f"Overhead: {1e3 * known.seconds / known.rounds:.1f} ms a round where there is no work.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure_here(json.loads(sys.argv[2]))
    else:
        main()
