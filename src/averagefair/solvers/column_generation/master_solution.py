"""What a master returns: chances of the pool's columns, and prices for the next ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from averagefair._util.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class MasterSolution:
    """Chances of the pool's columns, and the duals that price the next columns.

    Attributes
    ----------
    value : float
        The objective: the error plus the price of violations.
    mixture : array, shape (columns,)
        The chance of each column of the pool; those of a block add up to 1.
    common_rates : array, shape (rates,)
        gamma of each rate; 0 for a promise without a common rate.
    rates : array, shape (N,)
        Everybody's rates under these chances.
    point : array, shape (limits, N)
        The duals of each limit, a dual point.
    weights : array, shape (N,)
        w, the weights of the dual point.
    thresholds : array, shape (blocks,)
        The duals of the blocks' simplexes: a column of a block with err + w . R below the block's
        threshold improves the solution.
    excess : float
        By how much the relaxed limits are broken; 0 if they can be kept.
    """

    value: float
    mixture: FloatArray
    common_rates: FloatArray
    rates: Any
    point: Any
    weights: Any
    thresholds: FloatArray
    excess: float = 0.0
