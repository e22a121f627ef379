"""Are the audit's numbers right? Audit populations with known true rates many times.

For each population, table and rate, print the size (or power) of the chance test, how often each
interval contains the truth, and the bias of the de-noised variance. Compare them with the targets.

``python -m benchmarks.audit.simulation`` runs the study, some minutes on two cores; ``--docs`` also
writes its table into docs/audit.md; ``--repetitions 100`` makes it short.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from math import nan, sqrt
from multiprocessing import get_context
from time import perf_counter
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from averagefair import Audit, audit
from benchmarks.audit.populations import (
    COMPLETE,
    ERROR,
    FALSE_POSITIVE,
    MASKED,
    POPULATIONS,
    Draw,
    draw,
)
from benchmarks.common import DOCS, markdown, table, write_section

Array = NDArray[Any]

SEED = 20
LEVEL = 0.05
REPETITIONS = 2_000
CHUNK = 125
SIZE = (0.03, 0.07)
COVERAGE = 0.90
BIAS = 0.05
PAGE = DOCS / "audit.md"


class Case(NamedTuple):
    """One case: the population, which cells are observed, the rate, how many people and tasks."""

    population: str
    table: str
    rate: str
    n: int = 200
    m: int = 50

    @property
    def mean(self) -> float:
        """The population's mean of the true rates."""
        return POPULATIONS[self.population].mean(self.rate)

    @property
    def variance(self) -> float:
        """The population's variance of the true rates; 0 if all rates are equal."""
        return POPULATIONS[self.population].variance(self.rate)

    @property
    def effort(self) -> float:
        """The number of repetitions, as a multiple of the usual number.

        Large tables take long, so they get fewer. Low rates get more: errors are few, tests and
        intervals are least precise, and the bias is a share of a small variance.
        """
        if self.n > 200:
            return 0.5
        return 4.0 if self.mean < 0.07 else 1.0

    def draw(self, repetition: int) -> Draw:
        """Draw people and tasks; the repetition's number is part of the seed."""
        seed = [SEED, crc32(repr(tuple(self)).encode()), repetition]
        population = POPULATIONS[self.population]
        return draw(population, self.table, self.rate, self.n, self.m, np.random.default_rng(seed))


CASES = tuple(
    Case(*parts) for parts in product(POPULATIONS, (COMPLETE, MASKED), (ERROR, FALSE_POSITIVE))
)
LARGE = tuple(
    Case(*parts, n=1_000, m=100)
    for parts in product(
        (
            "equal, tasks very unlike",
            "equal, like people err together",
            "unequal, tasks very unlike",
            "unequal, like people err together",
        ),
        (COMPLETE, MASKED),
        (ERROR, FALSE_POSITIVE),
    )
)


class Figures(NamedTuple):
    """The figures of an audit that can be compared with the truth."""

    p: float
    q_p: float
    mean: tuple[float, float]
    sigma2: float
    sigma2_interval: tuple[float, float]
    sigma_upper: float
    each: tuple[Array, Array]
    everybody: tuple[Array, Array]


def figures(found: Audit, drawn: Draw) -> Figures:
    """Take the figures from an audit."""
    dispersion, people = found.dispersion, found.people
    return Figures(
        p=found.chance.p,
        q_p=found.exchangeability.p,
        mean=(found.mean.low, found.mean.high),
        sigma2=dispersion.sigma2.value,
        sigma2_interval=(dispersion.sigma2.low, dispersion.sigma2.high),
        sigma_upper=dispersion.upper,
        each=(people.low, people.high),
        everybody=(people.all_low, people.all_high),
    )


class Score(NamedTuple):
    """One repetition: its estimates, and whether each interval contained the truth (1 or 0)."""

    rejected: float
    q_rejected: float
    mean: float
    sigma2: float
    sigma2_held: float
    upper: float
    each: float
    everybody: float


def score(said: Figures, case: Case, truth: Array) -> Score:
    """Compare an audit's figures with the truth; an interval of NaN does not contain it."""
    rated = ~np.isnan(said.each[0])
    low, high = (end[rated] for end in said.everybody)
    return Score(
        rejected=said.p <= LEVEL,
        q_rejected=nan if np.isnan(said.q_p) else said.q_p <= LEVEL,
        mean=said.mean[0] <= case.mean <= said.mean[1],
        sigma2=said.sigma2,
        sigma2_held=said.sigma2_interval[0] <= case.variance <= said.sigma2_interval[1],
        upper=said.sigma_upper >= sqrt(case.variance),
        each=float(np.mean((said.each[0] <= truth) & (truth <= said.each[1]), where=rated)),
        everybody=bool(((low <= truth[rated]) & (truth[rated] <= high)).all()),
    )


Reader = Callable[[Audit, Draw], Figures]


def simulate(case: Case, repetitions: Iterable[int], read: Reader = figures) -> Array:
    """Return the scores of these repetitions, shape (repetitions, 8)."""
    scores = []
    for repetition in repetitions:
        drawn = case.draw(repetition)
        found = audit(
            drawn.labels,
            drawn.decisions,
            rate=case.rate,
            observed=drawn.observed,
            random_state=repetition,
        )
        scores.append(score(read(found, drawn), case, drawn.truth))
    return np.array(scores, dtype=np.float64)


@dataclass(frozen=True)
class Result:
    """The result of a case: each figure's mean over repetitions and its Monte Carlo error.

    If true rates differ, ``bias`` is a share of the true variance. If they are equal, the bias is
    absolute.
    """

    case: Case
    repetitions: int
    value: dict[str, float]
    error: dict[str, float]


def result(case: Case, scores: Array) -> Result:
    """Average the scores."""
    columns = Score(*scores.T)._asdict()
    off = columns.pop("sigma2") - case.variance
    columns["bias"] = off / case.variance if case.variance > 0 else off
    root = sqrt(len(scores))
    return Result(
        case,
        len(scores),
        {name: float(column.mean()) for name, column in columns.items()},
        {name: float(column.std(ddof=1)) / root for name, column in columns.items()},
    )


def missed(of: Result, errors: float = 0.0) -> list[str]:
    """Return the figures that miss their target by more than ``errors`` Monte Carlo errors.

    The error of a share is computed at the target, so a share of exactly 0 or 1 has an error too.
    """

    def beyond(share: float) -> float:
        return errors * sqrt(share * (1 - share) / of.repetitions)

    out = []
    if of.case.variance == 0:
        low, high = SIZE
        if not low - beyond(low) <= of.value["rejected"] <= high + beyond(high):
            out.append("rejected")
    elif not abs(of.value["bias"]) < BIAS + errors * of.error["bias"]:
        out.append("bias")
    held = ("mean", "sigma2_held", "upper", "each", "everybody")
    return out + [name for name in held if of.value[name] < COVERAGE - beyond(COVERAGE)]


def study(
    repetitions: int = REPETITIONS, processes: int = 2, cases: Sequence[Case] = CASES + LARGE
) -> Iterator[Result]:
    """Run the cases in turn; split the repetitions of each case between processes."""
    # Small products gain nothing from threads, and two processes of two threads compete for cores.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        waiting = []
        for case in cases:
            count = max(2, round(repetitions * case.effort))
            chunks = [range(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK)]
            waiting.append((case, [pool.submit(simulate, case, chunk) for chunk in chunks]))
        for case, futures in waiting:
            yield result(case, np.concatenate([future.result() for future in futures]))


HEAD = (
    "true rates",
    "cells",
    "rate",
    "mean",
    "sigma",
    "chance test",
    "Cochran's Q",
    "mean held",
    "sigma2 held",
    "bias of sigma2",
    "sigma_U held",
    "each held",
    "all held",
    "repetitions",
)


def row(of: Result) -> list[str]:
    """Return the cells of a result, with a star at each figure that misses its target."""
    case, value, stars = of.case, of.value, missed(of)

    def share(name: str) -> str:
        return "" if np.isnan(value[name]) else f"{value[name]:.3f}{'*' if name in stars else ''}"

    if case.variance > 0:
        bias = f"{value['bias']:+.1%} ± {of.error['bias']:.1%}{'*' if 'bias' in stars else ''}"
    else:
        bias = f"{value['bias']:+.6f} ± {of.error['bias']:.6f}"
    return [
        case.population,
        case.table,
        case.rate.replace("_", "-"),
        f"{case.mean:.3f}",
        f"{sqrt(case.variance):.3f}",
        share("rejected"),
        share("q_rejected"),
        share("mean"),
        share("sigma2_held"),
        bias,
        share("upper"),
        share("each"),
        share("everybody"),
        f"{of.repetitions:,}",
    ]


def titles(results: Sequence[Result]) -> Iterator[tuple[str, list[Result]]]:
    """Group the results by equal or unequal true rates and by size; yield each group's title."""
    for equal, large in product((True, False), (False, True)):
        part = [of for of in results if (of.case.variance == 0, of.case in LARGE) == (equal, large)]
        if part:
            first = part[0]
            yield (
                (
                    f"{'Equal' if equal else 'Unequal'} true rates, {first.case.n:,} people x "
                    f"{first.case.m} tasks: the chance test's "
                    f"{'size' if equal else 'power'} at {LEVEL}"
                ),
                part,
            )


def targets(repetitions: int) -> str:
    """Return a sentence with the targets and the Monte Carlo error."""
    return (
        f"Targets: where true rates are equal, the chance test rejects between {SIZE[0]} and "
        f"{SIZE[1]} of the time at {LEVEL}; every interval contains the truth at least "
        f"{COVERAGE:.2f} of the time; the bias of sigma2 is under {BIAS:.0%} of the truth. "
        f"The Monte Carlo error of {repetitions:,} repetitions is "
        f"{sqrt(0.05 * 0.95 / repetitions):.3f} at a share of 0.05 or 0.95, and "
        f"{sqrt(0.1 * 0.9 / repetitions):.3f} at 0.90; for the bias it is printed. A star marks a "
        "missed target."
    )


LEGEND = (
    "People and tasks are drawn from scratch each time, from a population whose true rates are "
    "known (`benchmarks/audit/populations.py`). In masked tables 30% of the cells are missing. "
    "*Mean* and *sigma* are the true values. *Held* is how often a 95% interval or bound contains "
    "the truth: the mean's, that of sigma2, the one-sided sigma_U, a person's own, and those for "
    "all people at once. Where true rates are equal, the bias of sigma2 is in absolute terms. "
    "Cochran's Q, for complete tables, answers another question than the chance test: it also "
    "rejects if people err equally often, but on different tasks."
)


def written(results: Sequence[Result]) -> str:
    """Return the tables in Markdown, for the documentation."""
    parts = [LEGEND, targets(results[0].repetitions)]
    for title, part in titles(results):
        rows = [[cell.replace("*", "\\*") for cell in row(of)] for of in part]
        parts.append(f"**{title}**\n\n{markdown(HEAD, rows)}")
    return "\n\n".join(parts)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--docs", action="store_true", help="write the table to docs/audit.md")
    arguments.add_argument("--repetitions", type=int, default=REPETITIONS)
    arguments.add_argument("--processes", type=int, default=2)
    given = arguments.parse_args()
    start = perf_counter()
    results = list(study(given.repetitions, given.processes))
    for title, part in titles(results):
        print(f"\n{title}\n")
        table(HEAD, [row(of) for of in part])
    print(f"\n{targets(given.repetitions)}")
    count = sum(bool(missed(of)) for of in results)
    print(f"\n{count} of {len(results)} cases miss a target; {perf_counter() - start:.0f} s.")
    if given.docs:
        write_section(PAGE, "simulation", written(results))


if __name__ == "__main__":
    main()
