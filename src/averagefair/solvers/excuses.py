"""Excuses: who of a share beta may stay outside.

Which people to except is a combinatorial question; this is a heuristic for it. Prices tell who
costs most to bring inside: they are excused first. Asked again and again as a solver goes on, it
never makes an answer worse, since whoever is outside stays excused.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from averagefair.constraints import Constraints
from averagefair.solvers.master import Answer

_ROUNDING = 1e-7


def choose_excused(
    answer: Answer, constraints: Constraints, slack: float, beta: float
) -> NDArray[np.bool_]:
    """Return whom to excuse, shape (N,): those outside, then those who cost most.

    Of each rate at most a share beta of the people, counted by their multiplicities.
    """
    off = np.abs(answer.rates - constraints.expand(answer.common_rates))
    outside = off > slack + _ROUNDING
    # What one person pays; somebody who stands for many is not dearer for that.
    price = np.abs(answer.weights) / constraints.multiplicities
    order = np.lexsort((-price, ~outside))
    order = order[(outside | (price > 0))[order]]
    excused = np.zeros(len(constraints), dtype=bool)
    present = constraints.add_up(constraints.multiplicities)
    for rate in range(constraints.rate_count):
        mine = order[constraints.rate_of[order] == rate]
        used = np.cumsum(constraints.multiplicities[mine])
        excused[mine[used <= beta * present[rate] * (1.0 + _ROUNDING)]] = True
    return excused
