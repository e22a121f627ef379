"""Exemptions: which share beta of the people may stay outside.

The best choice of people is a combinatorial problem; this is a heuristic. People whose constraints
have the largest multipliers are exempt first. The solver asks for a new choice from time to time. A
new choice is used only if it improves the solution.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from averagefair.game.constraints import Constraints
from averagefair.game.limits import PersonLimit, Program
from averagefair.game.promises import Promise
from averagefair.solvers.column_generation.master_solution import MasterSolution

_ROUNDING = 1e-7
# A person this near to their cap may be worth an exemption.
_NEAR_A_CAP = 0.05


def choices(
    solution: MasterSolution, program: Program, promise: Promise
) -> Iterator[NDArray[np.bool_]]:
    """Yield choices of whom to exempt, shape (N,), the most promising choice first.

    The first choices exempt everybody outside, and then the people with the largest multipliers,
    the highest rates, or (if rates may be too low) the lowest rates. (Multipliers may single out
    one of several people who are alike.) The last choice is everybody beyond the narrowest window,
    or the highest rates. Each choice exempts at most a share beta of the people of each rate,
    counted by their multiplicities.
    """
    constraints, limit = program.constraints, program.limits[0]
    assert isinstance(limit, PersonLimit), "only limits of single people have exemptions"
    everybody = limit.exempting(None)
    off = constraints.space.to_host(limit.off(solution.rates, solution.common_rates))
    over = constraints.space.to_host(everybody.excess(solution.rates, solution.common_rates))
    outside = over > _ROUNDING
    # Use the multiplier per person: a row is not more expensive if it stands for many people.
    price = np.abs(constraints.space.to_host(solution.point[0, :])) / constraints.multiplicities
    # Exempt only people who need it: others would drift outside and use up the share.
    scores = [(price, outside | (price > 0))]
    if limit.two_sided:
        scores += [(off, off > 0), (-off, off < 0)]
    else:
        scores.append((over, over > -_NEAR_A_CAP))
    beta = promise.exempt_share
    for score, needed in scores:
        order = np.lexsort((-score, ~outside))
        yield _first(order[(outside | needed)[order]], constraints, beta)
    yield promise.beyond(constraints, solution.rates)


def _first(order: NDArray[np.intp], constraints: Constraints, beta: float) -> NDArray[np.bool_]:
    """Mark the first constraints in this order, for each rate up to a share beta of its people."""
    exempt = np.zeros(len(constraints), dtype=bool)
    present = constraints.add_up(constraints.counts)
    for rate in range(constraints.rate_count):
        left = order[constraints.rate_of[order] == rate]
        budget = beta * present[rate] * (1.0 + _ROUNDING)
        # Skip anybody who weighs more than is left of the budget.
        while (left := left[constraints.multiplicities[left] <= budget]).size:
            used = np.cumsum(constraints.multiplicities[left])
            count = int(np.searchsorted(used, budget, side="right"))
            exempt[left[:count]] = True
            left, budget = left[count:], budget - float(used[count - 1])
    return exempt
