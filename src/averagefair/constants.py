"""The constant classifiers: everybody is decided alike, in every task.

The paper assumes that both lie in the class. Half of each is a coin flip, which errs on everybody
equally; "always 0" has no false positives, "always 1" no false negatives. So there is always some
fair answer, whatever the oracle finds.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from averagefair.spaces import Space


@dataclass(frozen=True)
class Constant:
    """The same decision for everybody in each of k tasks.

    Examples
    --------
    >>> import numpy as np
    >>> Constant(True, 2).decide(np.zeros((1, 5)))
    array([[ True,  True]])
    """

    decision: bool
    tasks: int

    def decide(self, features: Any) -> Any:
        """Decide for each person and task, where the features are; shape (n, k)."""
        space = Space.of(features)
        shape = features.shape[0], self.tasks
        return space.xp.full(shape, self.decision, dtype=space.xp.bool, device=space.device)

    def key(self) -> Hashable:
        """Return the decision and how often it is made."""
        return "constant", self.decision, self.tasks


def constants(tasks: int) -> list[Constant]:
    """Return "always 0" and "always 1" for so many tasks, in this order."""
    return [Constant(False, tasks), Constant(True, tasks)]
