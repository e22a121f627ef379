"""Every oracle on every population: the cost of answers, the error of fits, and the time."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from time import perf_counter
from typing import Any

import numpy as np

from averagefair.experiments.findings import envelope
from averagefair.game.costs import Costs
from benchmarks.common import heading, table
from benchmarks.oracles.costs import Asked, Prices, compare, posed, recorded_prices
from benchmarks.oracles.fits import BOOSTING_LIMIT, UNCONSTRAINED, Fit, fits, mean_curve
from benchmarks.oracles.tables import (
    BOOSTING,
    LEAST_SQUARES,
    ORACLES,
    SMALL,
    population,
    side_by_side,
)

ALPHA, LEVEL = 0.1, 0.8
ALPHAS = (0.05, ALPHA, 0.2, UNCONSTRAINED)
LIMIT = BOOSTING_LIMIT
ASKED = 12
"""Give each oracle this many consecutive problems; boosted trees get a third of them."""

LEGEND = (
    "cost: of answers, as a ratio to least squares. error: in training. new people: error at "
    f"{LEVEL} of the unfairness that least squares shows on new people without a constraint, one "
    "split. round: milliseconds of an answer and its measurement. fit: seconds of processor time. "
    f"*: the fit, or one of the curve, was ended after {LIMIT:.0f} s."
)


def report_comparison(
    names: Sequence[str], oracles: Sequence[str] = tuple(ORACLES)
) -> dict[str, Any]:
    """Print a table for each population; return the figures."""
    heading("Every oracle on every population", f"alpha {ALPHA}")
    print(fill(LEGEND, 100), end="\n\n")
    found, sizes = {}, {}
    for name in names:
        mine = [own for own in oracles if own != BOOSTING or name in SMALL]
        found[name] = compared(name, mine)
        sizes[name] = size_of(name)
        print(f"{name}: {sizes[name]}")
        table(["", *HEAD], [[oracle, *cells(row)] for oracle, row in found[name].items()])
        print()
    return {"alpha": ALPHA, "level": LEVEL, "limit": LIMIT, "sizes": sizes, "rows": found}


def size_of(name: str) -> str:
    data = population(name)
    return f"{len(data.X):,} people, {data.Y.shape[1]} tasks, {data.X.shape[1]} features"


HEAD = ("cost", "error", "new people", "round", "fit")


def cells(row: dict[str, Any]) -> list[str]:
    """Return a row's figures in the order of the columns."""
    return [
        f"{row['cost']:.4f}",
        f"{row['error']:.4f}{'*' if row['cut_short'] else ''}",
        f"{row['new_people']:.4f}{'*' if row['some_cut_short'] else ''}",
        f"{1000 * row['round']:.1f}",
        f"{row['fit']:.1f}{'*' if row['cut_short'] else ''}",
    ]


def compared(name: str, oracles: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return, for each oracle, the figures of one population."""
    prices = prices_in_a_row(name)
    asked = [Asked(name, one) for one in prices]
    costs = compare(asked, [one for one in oracles if one != BOOSTING])[name]
    if BOOSTING in oracles:
        few = compare(asked[: share(BOOSTING)], [LEAST_SQUARES, BOOSTING])[name]
        costs[BOOSTING] = few[BOOSTING]
    made = fits((name, oracle, alpha, LIMIT) for oracle in oracles for alpha in ALPHAS)
    by_oracle = {own: [one for one in made if one.oracle == own] for own in oracles}
    rounds = side_by_side(
        seconds_of_a_round, [(name, oracle, prices[: share(oracle)]) for oracle in oracles]
    )
    base, _ = mean_curve(by_oracle[LEAST_SQUARES], "people")
    rows = {}
    for (oracle, mine), seconds in zip(by_oracle.items(), rounds, strict=True):
        fair = next(one for one in mine if one.alpha == ALPHA)
        rows[oracle] = {
            "cost": costs[oracle].ratio,
            "error": fair.error,
            "new_people": error_at(mine, LEVEL * base[ALPHAS.index(UNCONSTRAINED)]),
            "round": seconds,
            "fit": fair.seconds,
            "cut_short": fair.cut_short,
            "some_cut_short": any(one.cut_short for one in mine),
        }
    return rows


def share(oracle: str) -> int:
    return ASKED // 3 if oracle == BOOSTING else ASKED


def prices_in_a_row(name: str) -> list[Prices]:
    """Return consecutive prices from the middle of a fit."""
    prices = recorded_prices(name, ALPHA, "error", LEAST_SQUARES)
    start = max(0, len(prices) // 2 - ASKED)
    return prices[start : start + ASKED]


def error_at(mine: Sequence[Fit], unfairness: float) -> float:
    """Return the least error on new people that mixtures of these fits have at this unfairness."""
    return float(envelope(*mean_curve(mine, "people")).at(np.array([unfairness]))[0])


def seconds_of_a_round(name: str, oracle: str, prices: Sequence[Prices]) -> float:
    """Return the median seconds of an answer and its measurement, without the first answer."""
    taken, problem = [], posed(oracle, name)
    answer = problem.oracle.bind(problem.sample)
    for false_positive, false_negative in prices:
        costs = Costs(problem.sample, false_positive, false_negative)
        start = perf_counter()
        problem.learner.meter(answer(costs))
        taken.append(perf_counter() - start)
    return float(np.median(taken[1:]))
