"""Column generation against release 0.1.0, which had one chance for whole plays. ``make bench``.

``python -m benchmarks.solvers.against_release [speed] [carry-over]``

- speed: both versions fit the same data, in turns, one process and one thread each. Compares the
  error after the same seconds, and the seconds to the same error. Then growth: how the seconds of
  this version grow with the number of people.
- carry-over: both versions fit random splits. Compares the error at equal unfairness on new people,
  on new tasks and on both.

Options:

- ``--quick``: tiny sizes, to try the script in a minute. The figures mean nothing.
- ``--default``: carry-over with the default oracle instead of least squares.
- ``--processes N``: processes of carry-over, which measures no time. Default: one for each core.
- ``--release PYTHON``: an interpreter that has release 0.1.0. Default: a clone of the release in
  results/release-0.1.0, made at the first run.

Each result is saved in results/bench/against_release.jsonl at once, so a stopped run goes on.
Delete this file to measure again. Results of this version are also measured again if its sources
have changed.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

from benchmarks.common import ROOT, communities_path, heading, machine, table, verdict
from benchmarks.solvers.release import NEW, OLD, Job, Result, Runner

PARTS = ("speed", "carry-over")
TARGET_RATIO = {"default": 5.0, "regression": 2.0}
TARGET_EXPONENT = 1.1
ORACLE_NAMES = {"regression": "least squares", "default": "the default oracle"}
CORNERS = ("new people", "new people, drawn", "new tasks", "both new")
# An error this little above the final error counts as the same in the second ratio.
NEARLY = 0.001


@dataclass(frozen=True)
class Plan:
    """The sizes of a run.

    Attributes
    ----------
    cases : sequence of (people, tasks, alpha)
    growth : sequence of int
        Numbers of people.
    growth_tasks : int
    time_limit : float
        Seconds of each fit.
    splits : int
        Random splits of each population.
    alphas : sequence of float
        Of carry-over.
    communities : sequence of int
        Numbers of training people.
    synthetic : dict
        Arguments of ``make_synthetic``.
    """

    cases: Sequence[tuple[int, int, float]]
    growth: Sequence[int]
    growth_tasks: int
    time_limit: float
    splits: int
    alphas: Sequence[float]
    communities: Sequence[int]
    synthetic: dict[str, int]


FULL = Plan(
    cases=[
        *((n, 50, alpha) for n in (200, 2_000, 20_000) for alpha in (0.05, 0.10)),
        (2_000, 400, 0.05),
        (100_000, 100, 0.10),
    ],
    growth=(2_000, 10_000, 20_000, 100_000),
    growth_tasks=100,
    time_limit=120.0,
    splits=10,
    alphas=(0.03, 0.05, 0.07, 0.10, 0.15),
    communities=(400, 1_595),
    synthetic={"n": 2_000, "m": 100, "d": 20, "n_holdout": 1_000, "m_holdout": 100},
)
QUICK = Plan(
    cases=[(100, 10, 0.05), (300, 20, 0.10)],
    growth=(200, 400, 800),
    growth_tasks=10,
    time_limit=10.0,
    splits=3,
    alphas=(0.05, 0.10, 0.15),
    communities=(100,),
    synthetic={"n": 200, "m": 20, "d": 20, "n_holdout": 100, "m_holdout": 20},
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help="speed, carry-over; default: both")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to try the script")
    parser.add_argument("--default", action="store_true", help="default oracle in carry-over")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="of carry-over")
    parser.add_argument("--release", metavar="PYTHON", help="interpreter that has release 0.1.0")
    given = parser.parse_args()
    parts = given.parts or PARTS
    if unknown := sorted({*parts} - {*PARTS}):
        parser.error(f"no part is called {unknown[0]}; the parts are {' and '.join(PARTS)}.")
    plan, name = (QUICK, "quick") if given.quick else (FULL, "release")
    runner = Runner(ROOT / "results" / "bench" / f"against_{name}.jsonl", given.release)
    print(machine())
    if "speed" in parts:
        for oracle in ORACLE_NAMES:
            report_speed(runner, plan, oracle)
        report_growth(runner, plan)
    if "carry-over" in parts:
        oracle = "default" if given.default else "regression"
        report_carry_over(runner, plan, oracle, given.processes)
    if runner.used_again:
        file = runner.file.relative_to(ROOT)
        print(f"\n{runner.used_again} results are from {file}. Delete it to measure again.")


# Speed


class Case(NamedTuple):
    """One problem: its name in the table, and the job."""

    name: str
    job: Job


def speed_cases(plan: Plan, oracle: str) -> list[Case]:
    def case(name: str, data: Any, alpha: float) -> Case:
        job = {"kind": "fit", "data": data, "oracle": oracle, "alpha": alpha}
        return Case(f"{name}, alpha {alpha:.2f}", job | {"time_limit": plan.time_limit})

    path, cases = communities_path(), []
    if path is not None:
        cases = [case("Communities, 200 x 50", {"communities": path}, a) for a in (0.05, 0.10)]
    return cases + [case(f"{n:,} x {m}", synthetic(n, m), alpha) for n, m, alpha in plan.cases]


def synthetic(n: int, m: int) -> dict[str, Any]:
    return {"synthetic": {"n": n, "m": m, "d": 20, "random_state": 0}}


def report_speed(runner: Runner, plan: Plan, oracle: str) -> None:
    heading(
        f"Against release {OLD}: {ORACLE_NAMES[oracle]}",
        "training error; synthetic people x tasks unless named; answers are of the oracle, for all "
        f"tasks; one thread; time limit {plan.time_limit:.0f} s",
    )
    cases = speed_cases(plan, oracle)
    pairs = runner.run_both(case.job for case in cases)
    rows, lower, never_later, ratios, strict_ratios = [], True, True, [], []
    for case, (old, new) in zip(cases, pairs, strict=True):
        then = error_after(new, old["seconds"])
        reached = seconds_to(new, old["error"])
        lower &= then < old["error"]
        never_later &= reached <= old["seconds"]
        ratios.append(old["seconds"] / reached)
        strict_ratios.append(seconds_to(old, old["error"] + NEARLY) / reached)
        rows.append(
            [
                case.name,
                f"{old['error']:.4f}",
                f"{old['seconds']:.2f}{limited(old)}",
                f"{old['answers']:.0f}",
                "none yet" if np.isinf(then) else f"{then:.4f}",
                "never" if np.isinf(reached) else f"{reached:.2f}",
                f"{ratios[-1]:.1f}",
                f"{new['error']:.4f}",
                f"{new['seconds_of_rounds']:.2f}{limited(new)}",
                f"{new['seconds']:.2f}",
                f"{new['answers']:.0f}",
            ]
        )
    table(
        [
            "",
            f"{OLD}: error",
            "seconds",
            "answers",
            "now: error then",
            f"s to {OLD}'s error",
            "times sooner",
            "error",
            "s of learned tasks",
            "s in all",
            "answers",
        ],
        rows,
    )
    print(
        f"Error then: of this version after the seconds that {OLD} took. Seconds in all include "
        "the mapping for tasks to come. *: ended by the time limit."
    )
    median, target = float(np.median(ratios)), TARGET_RATIO[oracle]
    verdict("lower error everywhere after the same seconds", lower)
    verdict(f"{OLD}'s error never later", never_later, f"at worst {min(ratios):.1f} times sooner")
    verdict(
        f"{OLD}'s error at least {target:g} times sooner (median)",
        median >= target,
        f"{median:.1f} times",
    )
    print(
        f"{OLD} spends its last rounds on small gains. From its first round within {NEARLY:g} of "
        f"its final error, the median is {np.median(strict_ratios):.1f} times."
    )


def limited(result: Result) -> str:
    return "*" if result["stop_reason"] == "TIME" else ""


def error_after(result: Result, seconds: float) -> float:
    """Return the error of the last round by then; inf before the first, the final one at the end.

    Parameters
    ----------
    result : dict
        Of a job "fit".
    seconds : float
        Since the start of the fit.
    """
    if seconds >= result["seconds"]:
        return float(result["error"])
    return min((error for then, error in result["history"] if then <= seconds), default=np.inf)


def seconds_to(result: Result, error: float) -> float:
    """Return the seconds to a round with at most this error; inf if it was never reached.

    Parameters
    ----------
    result : dict
        Of a job "fit".
    error : float
    """
    times = [then for then, own in result["history"] if own <= error]
    if result["error"] <= error:
        times.append(result["seconds"])
    return min(times, default=np.inf)


def report_growth(runner: Runner, plan: Plan) -> None:
    alpha = 0.10
    heading(
        "Growth of this version with people: least squares",
        f"synthetic, {plan.growth_tasks} tasks, alpha = {alpha}; seconds of the learned tasks",
    )
    seconds, marks = [], []
    for n in plan.growth:
        data = synthetic(n, plan.growth_tasks)
        job = {"kind": "fit", "data": data, "oracle": "regression", "alpha": alpha}
        result = runner.run(NEW, job | {"time_limit": plan.time_limit})
        seconds.append(result["seconds_of_rounds"])
        marks.append(limited(result))
    exponent = float(np.polyfit(np.log(plan.growth), np.log(seconds), 1)[0])
    cells = [f"{own:.2f}{mark}" for own, mark in zip(seconds, marks, strict=True)]
    table(
        ["people", *(f"{n:,}" for n in plan.growth), "exponent"],
        [["seconds", *cells, f"{exponent:.2f}"]],
    )
    verdict(f"exponent at most {TARGET_EXPONENT:g}", exponent <= TARGET_EXPONENT)


# Carry-over


def report_carry_over(runner: Runner, plan: Plan, oracle: str, processes: int) -> None:
    path = communities_path()
    if path is None:
        print("\nCarry-over on Communities: left out, there is no file of it here.")
    populations: dict[str, list[Any]] = {
        f"Communities, {count:,} training people": [
            {"communities": path, "people": count, "seed": seed} for seed in range(plan.splits)
        ]
        for count in (plan.communities if path is not None else ())
    }
    n, m = plan.synthetic["n"], plan.synthetic["m"]
    populations[f"synthetic, {n:,} training people x {m} tasks"] = [
        {"synthetic": plan.synthetic | {"random_state": seed}} for seed in range(plan.splits)
    ]
    for name, draws in populations.items():
        heading(
            f"What carries over: {name}",
            f"{ORACLE_NAMES[oracle]}; {plan.splits} random splits; means over splits of error / "
            f"unfairness; difference: this version's error minus {OLD}'s",
        )
        jobs = [
            {"kind": "carry over", "data": data, "oracle": oracle, "alphas": list(plan.alphas)}
            for data in draws
        ]
        pairs = runner.run_both(jobs, processes)
        rows = learned_rows(pairs, plan.alphas)
        for corner in CORNERS:
            rows += corner_rows(pairs, plan.alphas, corner)
        table(["", "alpha", OLD, NEW, "difference", "95% CI", "splits", "left out"], rows)
    print(
        "\nLearned: the difference at equal alpha. This lower training error is for the people and "
        "tasks learned from.\n"
        f"Other rows: the difference at equal unfairness. {OLD}'s error is interpolated between "
        "its alphas, without points that another point dominates. Points outside its range of "
        "unfairness are left out and counted: less unfair / more unfair than all its points.\n"
        "Unfairness: standard deviation of people's error rates, averaged over draws; drawn: of "
        "the decisions that people meet; on new tasks sigma, without the noise from few tasks.\n"
        "95% CI: t-interval over the splits. All: the mean of a split's alphas first."
    )


Pairs = Sequence[tuple[Result, Result]]


def learned_rows(pairs: Pairs, alphas: Sequence[float]) -> list[list[str]]:
    """Return a row for each alpha, and one for all: the learned sample at equal alpha."""
    differences = np.array(
        [
            [
                after["learned"][0] - before["learned"][0]
                for before, after in zip(old["points"], new["points"], strict=True)
            ]
            for old, new in pairs
        ]
    )
    return rows_of("learned", pairs, alphas, differences)


def corner_rows(pairs: Pairs, alphas: Sequence[float], corner: str) -> list[list[str]]:
    """Return a row for each alpha, and one for all: a corner at equal unfairness."""
    differences = np.array(
        [
            differences_at_equal_unfairness(
                [point[corner] for point in old["points"]],
                [point[corner] for point in new["points"]],
            )
            for old, new in pairs
        ]
    )
    return rows_of(corner, pairs, alphas, differences)


def differences_at_equal_unfairness(
    old: Sequence[tuple[float, float]], new: Sequence[tuple[float, float]]
) -> list[float]:
    """Return each new point's error minus the old curve's error at the same unfairness.

    The result is -inf where the new point is less unfair than the whole old curve, and inf where it
    is more unfair.

    Parameters
    ----------
    old, new : sequence of (error, unfairness)
    """
    curve = undominated(old)
    unfairness, errors = [point[1] for point in curve], [point[0] for point in curve]
    level = np.interp([own for _, own in new], unfairness, errors, left=np.inf, right=-np.inf)
    return [float(error - at) for (error, _), at in zip(new, level, strict=True)]


def undominated(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points that no other point beats, by rising unfairness.

    Examples
    --------
    >>> undominated([(0.3, 0.1), (0.2, 0.3), (0.25, 0.4)])
    [(0.3, 0.1), (0.2, 0.3)]
    """
    kept: list[tuple[float, float]] = []
    for error, unfairness in sorted(points, key=lambda point: (point[1], point[0])):
        if not kept or error < kept[-1][0]:
            kept.append((error, unfairness))
    return kept


def rows_of(
    corner: str, pairs: Pairs, alphas: Sequence[float], differences: Any
) -> list[list[str]]:
    """Return the rows of a corner.

    Parameters
    ----------
    corner : str
    pairs : sequence of (result of release 0.1.0, result of this version)
    alphas : sequence of float
    differences : array, shape (splits, alphas)
        Infinite where a point was left out.
    """
    rows = []
    for column, alpha in enumerate(alphas):
        means = [
            np.mean([result["points"][column][corner] for result in results], axis=0)
            for results in zip(*pairs, strict=True)
        ]
        cells = [f"{error:.4f} / {unfairness:+.3f}" for error, unfairness in means]
        own = differences[:, column]
        rows.append([corner, f"{alpha:.2f}", *cells, *interval(own), left_out(own)])
    by_split = [own[np.isfinite(own)] for own in differences]
    means_of_splits = np.array([own.mean() for own in by_split if own.size])
    rows.append([corner, "all", "", "", *interval(means_of_splits), left_out(differences)])
    return rows


def left_out(differences: Any) -> str:
    less, more = (int((differences == side).sum()) for side in (-np.inf, np.inf))
    return f"{less} / {more}"


def interval(values: Any) -> tuple[str, str, str]:
    """Return the mean, its 95% t-interval and the number of values, if finite, as text."""
    values = values[np.isfinite(values)]
    if not values.size:
        return "", "", "0"
    mean = float(values.mean())
    if values.size == 1:
        return f"{mean:+.4f}", "", "1"
    half = float(student.ppf(0.975, values.size - 1) * values.std(ddof=1) / np.sqrt(values.size))
    return f"{mean:+.4f}", f"{mean - half:+.4f} to {mean + half:+.4f}", f"{values.size}"


if __name__ == "__main__":
    main()
