"""The center: the best dual point found so far, and the lower bound there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.game.limits import Program


class Center:
    """A dual point, and the least cost err + w . R there of all known answers, block by block.

    If an exact oracle was asked at w, the Lagrangian of these costs is the dual function: a lower
    bound on the optimum. With a heuristic oracle the value may be too high, and is lowered whenever
    a cheaper answer is found.

    Parameters
    ----------
    program : Program

    Attributes
    ----------
    point : array, shape (limits, N)
    least_costs : array, shape (blocks,), or None
        Without the terms of the limits, so that they serve any bounds. None until the oracle has
        been asked at this point.
    """

    def __init__(self, program: Program) -> None:
        self.point: Any = program.zero()
        self.least_costs: FloatArray | None = None
        self.weights = program.weights(self.point)

    @property
    def evaluated(self) -> bool:
        """Whether the oracle has been asked at this point."""
        return self.least_costs is not None

    def value(self, program: Program) -> float:
        """Return the Lagrangian for this program; -inf until it is evaluated."""
        if self.least_costs is None:
            return -np.inf
        return float(self.least_costs.sum()) - program.offset(self.point)

    def move_if_better(self, point: Any, least_costs: FloatArray, program: Program) -> bool:
        """Move to this point, where the blocks cost no less than this, if L is higher there."""
        better = float(least_costs.sum()) - program.offset(point) > self.value(program)
        if better:
            self.point, self.least_costs = point, least_costs
            self.weights = program.weights(point)
        return better

    def lower_to(self, costs: FloatArray) -> None:
        """Lower the bound where a new answer's blocks cost less at these weights."""
        if self.least_costs is not None:
            self.least_costs = np.minimum(self.least_costs, costs)

    def remove_weights(self, exempt: NDArray[np.bool_], program: Program) -> None:
        """Set the multipliers of exempt people to 0; the oracle must then be asked again."""
        space = program.constraints.space
        own = space.xp.where(space.asarray(exempt), 0.0, self.point[0, :])
        others = [self.point[k, :] for k in range(1, self.point.shape[0])]
        self.point = space.xp.stack([own, *others])
        self.weights, self.least_costs = program.weights(self.point), None
