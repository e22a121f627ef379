"""Excuses: who of a share beta may stay outside.

Which people to except is a combinatorial question; this is a heuristic for it. Prices tell who
costs most to bring inside: they are excused first. Asked again and again as a solver goes on, it
never makes an answer worse, since whoever is outside stays excused.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from averagefair.constraints import Constraints
from averagefair.solvers.master import Answer

_ROUNDING = 1e-7


def choices(
    answer: Answer, constraints: Constraints, slack: float, beta: float
) -> Iterator[NDArray[np.bool_]]:
    """Propose whom to excuse, shape (N,), the most promising choice first.

    Everybody who is outside, then those who cost most; or those with the highest rates, or with
    the lowest (prices may single out one of several people who are alike). Last: everybody beyond
    the narrowest window. Of each rate at most a share beta of the people, counted by their
    multiplicities.
    """
    off = constraints.space.to_host(answer.rates - constraints.expand(answer.common_rates))
    outside = np.abs(off) > slack + _ROUNDING
    # What one person pays; somebody who stands for many is not dearer for that.
    price = np.abs(constraints.space.to_host(answer.weights)) / constraints.multiplicities
    # Excused without need, somebody would drift outside and use the share up.
    for merit, needed in ((price, outside | (price > 0)), (off, off > 0), (-off, off < 0)):
        order = np.lexsort((-merit, ~outside))
        yield _first(order[(outside | needed)[order]], constraints, beta)
    yield constraints.beyond(answer.rates, beta)


def _first(order: NDArray[np.intp], constraints: Constraints, beta: float) -> NDArray[np.bool_]:
    """Mark the first of each rate, as many as a share beta allows."""
    excused = np.zeros(len(constraints), dtype=bool)
    present = constraints.add_up(constraints.counts)
    for rate in range(constraints.rate_count):
        left = order[constraints.rate_of[order] == rate]
        budget = beta * present[rate] * (1.0 + _ROUNDING)
        # Whoever weighs more than is left of the share is passed over.
        while (left := left[constraints.multiplicities[left] <= budget]).size:
            used = np.cumsum(constraints.multiplicities[left])
            count = int(np.searchsorted(used, budget, side="right"))
            excused[left[:count]] = True
            left, budget = left[count:], budget - float(used[count - 1])
    return excused
