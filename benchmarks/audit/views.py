"""Are the audit's other answers right? Simulated where the truth is known.

1. Equal exposure: people meet easy and hard tasks unequally. Size of the test, coverage of sigma2.
2. Systemic failure: coverage of the interval, and false surpluses.
3. Group means: coverage, for groups of people who are alike.
4. Rules on features: how often a false one is reported, where true rates are equal.
5. Cross-fitting: sigma2 of three solvers against a thousand fresh tasks; beside it what an audit of
   the learned tasks says, as in release 0.1.0.

``python -m benchmarks.audit.views [parts]`` runs the study (an hour on two cores); ``--docs`` also
writes its tables into docs/audit.md; ``--repetitions 50`` makes it short.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import nan, sqrt
from multiprocessing import get_context
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    ExponentiatedGradient,
    audit,
    cross_audit,
)
from averagefair.datasets import make_synthetic
from averagefair.oracles import RegressionOracle
from benchmarks.audit.populations import COMPLETE, MASKED, OBSERVED, POPULATIONS
from benchmarks.common import DOCS, markdown, table, write_section

Array = NDArray[Any]

SEED = 21
LEVEL, COVERAGE, SIZE = 0.05, 0.90, (0.03, 0.07)
REPETITIONS = 1_000
CROSS_REPETITIONS, CROSS_BIAS = 40, 0.10
CHUNK = 50


def seed_of(*parts: Any) -> np.random.Generator:
    return np.random.default_rng([SEED, *(hash_of(part) for part in parts)])


def hash_of(part: Any) -> int:
    return part if isinstance(part, int) else int.from_bytes(str(part).encode()[-6:], "big")


class Row(NamedTuple):
    """A row of a table: its name, the figures, and the names of those that miss a target."""

    name: tuple[str, ...]
    figures: dict[str, float]
    missed: tuple[str, ...]


# 1. Equal exposure.


class Exposure(NamedTuple):
    """People, tasks, whether similar people err together, the true sigma, the share seen."""

    n: int
    m: int
    together: bool
    sigma: float
    seen: tuple[float, float]


EXPOSURES = tuple(
    Exposure(n, m, together, sigma, seen)
    for n, m, seen in (
        (400, 100, (0.15, 0.85)),
        (200, 40, (0.15, 0.85)),
        (300, 100, (0.05, 0.15)),
        (200, 200, (0.05, 0.15)),
    )
    for together in (False, True)
    for sigma in (0.0, 0.04)
)


def draw_exposure(case: Exposure, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return mistakes and who met what. Half of the tasks are hard; each person meets other shares.

    Everybody with the same true rate is equally likely to be wrong on each task.
    """
    hard = np.where(rng.random(case.m) < 0.5, 0.5, 0.1)
    chances = hard + case.sigma * rng.choice([-1.0, 1.0], (case.n, 1))
    if case.together:
        people, tasks = (rng.standard_normal((count, 3)) for count in (case.n, case.m))
        people /= np.linalg.norm(people, axis=1, keepdims=True)
        tasks /= np.linalg.norm(tasks, axis=1, keepdims=True)
        wrong = np.abs(people @ tasks.T) > 1.0 - chances
    else:
        wrong = rng.random((case.n, case.m)) < chances
    low, high = case.seen
    of_hard = rng.uniform(low, high, (case.n, 1))
    met = rng.random((case.n, case.m)) < np.where(hard > 0.3, of_hard, low + high - of_hard)
    return wrong.astype(float), met


def exposure_scores(case: Exposure, repetitions: range) -> list[tuple[float, ...]]:
    out = []
    for repetition in repetitions:
        wrong, met = draw_exposure(case, seed_of("exposure", repr(case), repetition))
        found = audit(np.where(met, 0.0, nan), np.where(met, wrong, 0.0))
        view = found.equal_exposure
        assert view is not None, found.notes
        own = view.dispersion.sigma2
        out.append(
            (
                found.chance.p <= LEVEL,
                view.chance.p <= LEVEL,
                own.value,
                own.low <= case.sigma**2 <= own.high,
                view.dispersion.upper >= case.sigma,
            )
        )
    return out


def exposure_row(case: Exposure, scores: Array) -> Row:
    as_met, rejected, sigma2, held, upper = scores.mean(axis=0)
    error = scores[:, 2].std() / sqrt(len(scores))
    missed = [name for name, share in (("held", held), ("bound", upper)) if share < COVERAGE]
    if case.sigma == 0 and not SIZE[0] <= rejected <= SIZE[1]:
        missed.append("test")
    shares = f"{case.seen[0]:.0%} to {case.seen[1]:.0%}"
    kind = "like people err together" if case.together else "independent mistakes"
    return Row(
        (f"{case.n} x {case.m}", shares, kind, f"{case.sigma**2:.4f}"),
        {
            "test as met": as_met,
            "test": rejected,
            "sigma2": sigma2,
            "error": error,
            "held": held,
            "bound": upper,
        },
        tuple(missed),
    )


# 2 to 4: the populations of the other study.


def draw_people(name: str, cells: str, n: int, m: int, rng: np.random.Generator) -> Any:
    """Return people, mistakes, who met what, and the true rates."""
    population = POPULATIONS[name]
    people, tasks = population.people(rng, n), population.tasks(rng, m)
    wrong = population.losses(rng, people, tasks).astype(float)
    met = np.ones((n, m), dtype=bool)
    if cells == MASKED:
        met = rng.random((n, m)) < rng.uniform(*OBSERVED, (n, 1))
    return people, wrong, met, population.rates(people, "error")


def features_of(people: Any, rng: np.random.Generator) -> Array:
    """Return features that say who people are: their direction, cluster or own rate, and noise."""
    n = len(people[0]) if isinstance(people, tuple) else len(people)
    noise = rng.standard_normal((n, 2))
    if isinstance(people, tuple):
        return np.column_stack([people[1], noise])
    return np.column_stack([people, noise])


def population_scores(
    what: str, name: str, cells: str, n: int, m: int, repetitions: range
) -> list[tuple[float, ...]]:
    read = {"systemic": read_systemic, "groups": read_groups, "rules": read_rules}[what]
    out = []
    for repetition in repetitions:
        rng = seed_of(what, name, cells, n, m, repetition)
        people, wrong, met, truth = draw_people(name, cells, n, m, rng)
        labels, decisions = np.where(met, 0.0, nan), np.where(met, wrong, 0.0)
        out.append(read(people, truth, labels, decisions, repetition, rng))
    return out


def read_systemic(
    people: Any, truth: Array, labels: Array, decisions: Array, seed: int, rng: Any
) -> tuple[float, ...]:
    """Return the surplus at the first k that few reach by independent mistakes, and its ends."""
    found = audit(labels, decisions, random_state=seed).systemic
    at = found.many
    return tuple(
        float(value[at] - found.expected[at]) for value in (found.observed, found.low, found.high)
    )


def systemic_row(name: str, cells: str, n: int, m: int, scores: Array) -> Row:
    surplus, low, high = scores.T
    true = float(surplus.mean())
    held = float(np.mean((low <= true) & (true <= high)))
    false = float(np.mean(low > 0.0))
    equal = POPULATIONS[name].variance("error") == 0
    missed = ["held"] if held < COVERAGE else []
    if equal and false > LEVEL:
        missed.append("surplus")
    return Row(
        (name, cells, f"{n} x {m}"),
        {"mean surplus": true, "held": held, "surplus": false},
        tuple(missed),
    )


SHARES = (0.05, 0.25, 0.70)
"""The groups: the people with the lowest first feature, and so on."""


def read_groups(
    people: Any, truth: Array, labels: Array, decisions: Array, seed: int, rng: Any
) -> tuple[float, ...]:
    """Return each group's true mean, and the ends of its interval."""
    order = np.argsort(np.argsort(features_of(people, rng)[:, 0] + 1e-9 * rng.random(len(truth))))
    group = np.searchsorted(np.cumsum(SHARES)[:-1], order / len(order), side="right")
    view = audit(labels, decisions, groups=group, random_state=seed).groups[0]
    known = [truth[group == own].mean() for own in range(len(SHARES))]
    return (*known, *view.low, *view.high)


def groups_row(name: str, cells: str, n: int, m: int, scores: Array) -> Row:
    known, low, high = (scores[:, 3 * part : 3 * part + 3] for part in range(3))
    true = known.mean(axis=0)
    held = ((low <= true) & (true <= high)).mean(axis=0)
    figures = {f"{share:.0%} of the people": own for share, own in zip(SHARES, held, strict=True)}
    return Row(
        (name, cells, f"{n} x {m}"),
        figures,
        tuple(key for key, share in figures.items() if share < COVERAGE),
    )


def read_rules(
    people: Any, truth: Array, labels: Array, decisions: Array, seed: int, rng: Any
) -> tuple[float, ...]:
    rules = audit(labels, decisions).who(features_of(people, rng), random_state=seed)
    return len(rules) > 0, len(rules)


def rules_row(name: str, cells: str, n: int, m: int, scores: Array) -> Row:
    some, count = scores.mean(axis=0)
    beyond = LEVEL + 3.0 * sqrt(LEVEL * (1 - LEVEL) / len(scores))
    equal = POPULATIONS[name].variance("error") == 0
    return Row(
        (name, cells, f"{n} x {m}"),
        {"some rule": some, "rules": count},
        ("some rule",) if equal and some > beyond else (),
    )


# 5. Cross-fitting.

SOLVERS: dict[str, Callable[[], Any]] = {
    "column generation": ColumnGeneration,
    "column generation, one chance for whole plays": partial(ColumnGeneration, blocks=1),
    "exponentiated gradient": partial(ExponentiatedGradient.published, max_rounds=200),
}
CROSS = {"n": 300, "m": 50, "n_holdout": 400, "m_holdout": 1_000}


def cross_scores(solver: str, repetitions: range) -> list[tuple[float, ...]]:
    out = []
    for repetition in repetitions:
        people = make_synthetic(**CROSS, random_state=repetition)
        model = AverageFairClassifier(
            alpha=0.05,
            oracle=RegressionOracle(),
            solver=SOLVERS[solver](),
            decisions="drawn",
            look_first=False,
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            crossed = cross_audit(model, people.X, people.Y, random_state=repetition)
            model.fit(people.X, people.Y)
        assert model.mapping_ is not None
        later = model.mapping_.extend(people.Y_new_tasks).decision_probability(people.X_new)
        fresh = audit(people.Y_new_both, later)
        learned = audit(people.Y_new_people, model.decision_probability(people.X_new))
        training = audit(people.Y, model.decision_probability(people.X))
        own = crossed.dispersion.sigma2
        true = fresh.dispersion.sigma2.value
        out.append(
            (
                true,
                own.value,
                own.low <= true <= own.high,
                crossed.dispersion.upper**2 >= true,
                training.dispersion.sigma2.value,
                training.dispersion.upper**2 >= true,
                learned.dispersion.sigma2.value,
            )
        )
    return out


def cross_row(solver: str, scores: Array) -> Row:
    true, crossed, held, upper, training, bound, learned = scores.mean(axis=0)
    error = (scores[:, 1] - scores[:, 0]).std() / sqrt(len(scores))
    missed = ["held"] if held < COVERAGE else []
    if abs(crossed - true) > CROSS_BIAS * true + 2.0 * error:
        missed.append("cross-fitted")
    return Row(
        (solver,),
        {
            "1,000 fresh tasks": true,
            "cross-fitted": crossed,
            "error": error,
            "held": held,
            "bound": upper,
            "learned tasks, training people": training,
            "their bound": bound,
            "learned tasks, new people": learned,
        },
        tuple(missed),
    )


# Running and writing.


class Part(NamedTuple):
    """A part of the study: jobs (each a function of a range of repetitions) and their rows."""

    title: str
    names: tuple[str, ...]
    jobs: list[tuple[Callable[[range], Any], Callable[[Array], Row], int]]


def parts(repetitions: int) -> dict[str, Part]:
    out = {
        "exposure": Part(
            "Equal exposure",
            ("people x tasks", "share of tasks met", "mistakes", "true sigma2"),
            [
                (partial(exposure_scores, case), partial(exposure_row, case), repetitions)
                for case in EXPOSURES
            ],
        )
    }
    kinds = {
        "systemic": ("Systemic failure", systemic_row, [(200, 50)]),
        "groups": ("Group means", groups_row, [(200, 50)]),
        "rules": ("Rules on features", rules_row, [(200, 50), (600, 20)]),
    }
    for what, (title, row, sizes) in kinds.items():
        jobs = [
            (
                partial(population_scores, what, name, cells, n, m),
                partial(row, name, cells, n, m),
                repetitions,
            )
            for n, m in sizes
            for name in POPULATIONS
            for cells in (COMPLETE, MASKED)
            if what != "rules" or POPULATIONS[name].variance("error") == 0 or n == 200
        ]
        out[what] = Part(title, ("true rates", "cells", "people x tasks"), jobs)
    few = max(2, round(CROSS_REPETITIONS * repetitions / REPETITIONS))
    out["cross"] = Part(
        "Cross-fitting",
        ("solver",),
        [(partial(cross_scores, name), partial(cross_row, name), few) for name in SOLVERS],
    )
    return out


def run(part: Part, processes: int) -> Iterator[Row]:
    """Run a part's jobs; split their repetitions between processes."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        waiting = []
        for work, row, count in part.jobs:
            size = min(CHUNK, -(-count // processes))
            chunks = [range(start, min(start + size, count)) for start in range(0, count, size)]
            waiting.append((row, [pool.submit(work, chunk) for chunk in chunks]))
        for row, futures in waiting:
            scores = [score for future in futures for score in future.result()]
            yield row(np.array(scores, dtype=np.float64))


DIGITS = {"sigma2": 5, "error": 5, "1,000 fresh tasks": 5, "cross-fitted": 5, "mean surplus": 3}
DIGITS |= {"learned tasks, training people": 5, "learned tasks, new people": 5, "rules": 2}


def cells_of(row: Row) -> list[str]:
    shown = []
    for name, value in row.figures.items():
        star = "*" if name in row.missed else ""
        shown.append(f"{value:.{DIGITS.get(name, 3)}f}{star}")
    return [*row.name, *shown]


def text_of(part: Part, rows: Sequence[Row]) -> str:
    head = [*part.names, *rows[0].figures]
    body = [[cell.replace("*", "\\*") for cell in cells_of(row)] for row in rows]
    return f"**{part.title}**\n\n{markdown(head, body)}"


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    known = parts(REPETITIONS)
    arguments.add_argument("parts", nargs="*", metavar="part", help=f"{', '.join(known)}")
    arguments.add_argument("--docs", action="store_true", help="write the tables to docs/audit.md")
    arguments.add_argument("--repetitions", type=int, default=REPETITIONS)
    arguments.add_argument("--processes", type=int, default=2)
    given = arguments.parse_args()
    chosen = given.parts or [*known]
    if unknown := sorted({*chosen} - {*known}):
        arguments.error(f"no part is called {unknown[0]}; the parts are {', '.join(known)}.")
    for name in chosen:
        start = perf_counter()
        part = parts(given.repetitions)[name]
        rows = [*run(part, given.processes)]
        print(f"\n{part.title} ({part.jobs[0][2]:,} repetitions; {perf_counter() - start:.0f} s)\n")
        table([*part.names, *rows[0].figures], [cells_of(row) for row in rows])
        print(f"\n{sum(bool(row.missed) for row in rows)} of {len(rows)} rows miss a target (*).")
        if given.docs:
            write_section(DOCS / "audit.md", f"views-{name}", text_of(part, rows))


if __name__ == "__main__":
    main()
