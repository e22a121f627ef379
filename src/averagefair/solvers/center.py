"""The center: the best dual point found so far, and the bound it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.constraints import Constraints
from averagefair.learner import Play
from averagefair.solvers.pricing import cost
from averagefair.spaces import total_size


class Center:
    """Weights w, and the least Lagrangian of any play known at them.

    With an exact oracle asked at w that is the dual function, a lower bound on the optimum. With a
    heuristic oracle it is the best guess at it, corrected as cheaper plays turn up.

    Attributes
    ----------
    weights : array, shape (N,)
    base : float
        The Lagrangian without the price of the slack, so that it serves any slack; -inf until the
        oracle has been asked at these weights.
    """

    def __init__(self, constraints: Constraints) -> None:
        self.constraints = constraints
        self.weights, self.base = constraints.space.zeros(len(constraints)), -np.inf

    @property
    def confirmed(self) -> bool:
        """Whether the oracle has been asked at these weights."""
        return self.base > -np.inf

    def value(self, slack: float) -> float:
        """Return the Lagrangian at this slack."""
        return self.base - slack * total_size(self.weights)

    def offer(self, weights: Any, least: float, slack: float) -> None:
        """Move to these weights, where no play is known to cost less, if that is higher."""
        base = least - self._paid(weights)
        if base - slack * total_size(weights) > self.value(slack):
            self.weights, self.base = weights, base

    def correct(self, play: Play) -> None:
        """Take a new play into account."""
        self.base = min(self.base, cost(play, self.weights) - self._paid(self.weights))

    def leave_alone(self, excused: NDArray[np.bool_]) -> None:
        """Put no weight on these constraints; what that is worth is yet to be asked."""
        space = self.constraints.space
        self.weights = space.xp.where(space.asarray(excused), 0.0, self.weights)
        self.base = -np.inf

    def _paid(self, weights: Any) -> float:
        """Return the sum of w gamma at the best gamma in [0, 1]."""
        return float(np.maximum(0.0, self.constraints.add_up(weights)).sum())
