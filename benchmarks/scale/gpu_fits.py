"""Whole fits on a GPU: the error after a number of seconds, least squares against the default.

    python -m benchmarks.scale.gpu_fits [--small] [--json FILE]

The population and its size are those of ``benchmarks.scale.gpu``. Each fit has a limit of 60 s of
the learned tasks. The script uses public names only, so it runs with release 0.1.0 too.
"""

from __future__ import annotations

import json
import sys
import warnings
from time import perf_counter

import torch

import averagefair
from averagefair import AverageFairClassifier, ColumnGeneration, RegressionOracle
from benchmarks.common import machine, table
from benchmarks.scale.gpu import ALPHA, SMALL, D, M, N, population, synchronise

SECONDS = (1.0, 2.0, 5.0, 10.0, 20.0, 60.0) if not SMALL else (0.5, 1.0, 3.0)
FIGURES = (0.2682, 0.2207)
"""Errors of release 0.1.0 at this size: the default after 60 s, least squares when converged."""


def main() -> None:
    warnings.simplefilter("ignore")
    print(machine())
    print(f"averagefair {averagefair.__version__}; {N:,} people, {M:,} tasks, {D} features")
    X, Y = population(N, M, D)
    rows, record = [], {}
    for name, oracle in (("least squares", RegressionOracle()), ("default", None)):
        for dtype in ("float32",):
            model, history = fit(X, Y, oracle, dtype)
            label = f"{name}, {dtype}"
            record[label] = history
            at = [error_at(history, seconds) for seconds in SECONDS]
            until = [seconds_to(history, error) for error in FIGURES]
            known = model.certificate_
            rows.append(
                [
                    label,
                    *(f"{error:.4f}" for error in at),
                    *(f"{seconds:.1f}" for seconds in until),
                    f"{known.error:.4f}",
                    f"{known.spread:.4f}",
                    f"{known.seconds:.1f}",
                    str(known.rounds),
                    known.stop_reason.name,
                ]
            )
            del model
            torch.cuda.empty_cache()
    head = ["", *(f"{seconds:g} s" for seconds in SECONDS), *(f"to {e}" for e in FIGURES)]
    table([*head, "error", "spread", "seconds", "rounds", "stopped"], rows)
    if "--json" in sys.argv:
        with open(sys.argv[sys.argv.index("--json") + 1], "w") as file:
            json.dump(record, file)


def fit(X: torch.Tensor, Y: torch.Tensor, oracle: object, dtype: str) -> tuple:
    history: list[tuple[float, float]] = []
    start = 0.0

    def note(now: object) -> None:
        synchronise()
        # 0.1.0 approaches alpha from above: rounds before that keep less than was asked.
        if getattr(now, "value", getattr(now, "alpha", ALPHA)) <= ALPHA + 1e-9:
            history.append((perf_counter() - start, float(now.error)))

    # Release 0.1.0 has neither.
    known = AverageFairClassifier().get_params()
    options = {"look_first": False, "decisions": "drawn"}
    options = {name: value for name, value in options.items() if name in known}
    model = AverageFairClassifier(
        alpha=ALPHA,
        oracle=oracle,
        solver=ColumnGeneration(time_limit=SECONDS[-1]),
        random_state=0,
        callback=note,
        dtype=dtype,
        **options,
    )
    synchronise()
    start = perf_counter()
    model.fit(X, Y)
    history.append((perf_counter() - start, model.certificate_.error))
    return model, history


def error_at(history: list[tuple[float, float]], seconds: float) -> float:
    return min((error for at, error in history if at <= seconds), default=float("nan"))


def seconds_to(history: list[tuple[float, float]], error: float) -> float:
    return min((at for at, own in history if own <= error), default=float("nan"))


if __name__ == "__main__":
    main()
