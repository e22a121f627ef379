"""The constant classifiers: the same decision for everybody, in every task.

The paper assumes that both lie in the class. A mixture of both, half and half, is a coin flip,
which errs equally often on everybody. "Always 0" has no false positives, "always 1" no false
negatives. So a fair mixture always exists, whatever the oracle answers.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from averagefair.game.protocols import Hypothesis
from averagefair.people.backends import Space


@dataclass(frozen=True)
class Constant(Hypothesis):
    """The same decision for everybody in each of k tasks.

    Examples
    --------
    >>> import numpy as np
    >>> Constant(True, 2).decide(np.zeros((1, 5)))
    array([[ True,  True]])
    """

    decision: bool
    tasks: int

    decides_anywhere = True

    def decide(self, features: Any) -> Any:
        """Decide for each person and task, in the features' array library; shape (n, k)."""
        space = Space.of(features)
        shape = features.shape[0], self.tasks
        return space.xp.full(shape, self.decision, dtype=space.xp.bool, device=space.device)

    def key(self) -> Hashable:
        """Return the decision and the number of tasks."""
        return "constant", self.decision, self.tasks


def constants(tasks: int) -> list[Constant]:
    """Return "always 0" and "always 1" for this many tasks, in this order."""
    return [Constant(False, tasks), Constant(True, tasks)]
