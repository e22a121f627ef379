"""The center: the best dual point found so far, and the lower bound there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.game.learner import Play
from averagefair.game.limits import Program
from averagefair.solvers.column_generation.pricing import cost


class Center:
    """A dual point, and the least cost err + w . R there of all known plays (Learner's answers).

    If an exact oracle was asked at w, the Lagrangian of this cost is the dual function: a lower
    bound on the optimum. With a heuristic oracle the value may be too high, and is lowered whenever
    a cheaper play is found.

    Parameters
    ----------
    program : Program

    Attributes
    ----------
    point : array, shape (limits, N)
    least_cost : float
        Without the terms of the limits, so that it serves any bounds. -inf until the oracle has
        been asked at this point.
    """

    def __init__(self, program: Program) -> None:
        self.point, self.least_cost = program.zero(), -np.inf
        self.weights = program.weights(self.point)

    @property
    def evaluated(self) -> bool:
        """Whether the oracle has been asked at this point."""
        return self.least_cost > -np.inf

    def value(self, program: Program) -> float:
        """Return the Lagrangian for this program."""
        return self.least_cost - program.offset(self.point)

    def move_if_better(self, point: Any, least_cost: float, program: Program) -> None:
        """Move to this point, where err + w . R >= ``least_cost``, if L is higher there."""
        if least_cost - program.offset(point) > self.value(program):
            self.point, self.least_cost = point, least_cost
            self.weights = program.weights(point)

    def lower_to(self, play: Play) -> None:
        """Lower the bound if this new play is cheaper at these weights."""
        self.least_cost = min(self.least_cost, cost(play, self.weights))

    def remove_weights(self, exempt: NDArray[np.bool_], program: Program) -> None:
        """Set the multipliers of exempt people to 0; the oracle must then be asked again."""
        space = program.constraints.space
        own = space.xp.where(space.asarray(exempt), 0.0, self.point[0, :])
        others = [self.point[k, :] for k in range(1, self.point.shape[0])]
        self.point = space.xp.stack([own, *others])
        self.weights, self.least_cost = program.weights(self.point), -np.inf
