"""The center: the best dual point found so far, and the lower bound there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.game.constraints import Constraints
from averagefair.game.learner import Play
from averagefair.people.backends import total_size
from averagefair.solvers.column_generation.pricing import cost


class Center:
    """Weights w, and the least Lagrangian at w of all known plays (answers of the Learner).

    If an exact oracle was asked at w, this is the dual function: a lower bound on the optimum. With
    a heuristic oracle the value may be too high, and is lowered whenever a cheaper play is found.

    Attributes
    ----------
    weights : array, shape (N,)
    base : float
        The Lagrangian without the price of the slack, so that it serves any slack. -inf until the
        oracle has been asked at these weights.
    """

    def __init__(self, constraints: Constraints) -> None:
        self.constraints = constraints
        self.weights, self.base = constraints.space.zeros(len(constraints)), -np.inf

    @property
    def evaluated(self) -> bool:
        """Whether the oracle has been asked at these weights."""
        return self.base > -np.inf

    def value(self, slack: float) -> float:
        """Return the Lagrangian at this slack."""
        return self.base - slack * total_size(self.weights)

    def move_if_better(self, weights: Any, least_cost: float, slack: float) -> None:
        """Move to these weights, where err + w . R >= ``least_cost``, if L is higher there."""
        base = least_cost - self._common_rate_term(weights)
        if base - slack * total_size(weights) > self.value(slack):
            self.weights, self.base = weights, base

    def lower_to(self, play: Play) -> None:
        """Lower the bound if this new play is cheaper at these weights."""
        value = cost(play, self.weights) - self._common_rate_term(self.weights)
        self.base = min(self.base, value)

    def remove_weights(self, exempt: NDArray[np.bool_]) -> None:
        """Set the weights of exempt constraints to 0; the oracle must then be asked again."""
        space = self.constraints.space
        self.weights = space.xp.where(space.asarray(exempt), 0.0, self.weights)
        self.base = -np.inf

    def _common_rate_term(self, weights: Any) -> float:
        """Return the largest sum of w gamma over gamma in [0, 1]."""
        return float(np.maximum(0.0, self.constraints.add_up(weights)).sum())
