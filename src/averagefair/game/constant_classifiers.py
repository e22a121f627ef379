"""The constant classifiers: the same decision for everybody, in every task.

The paper assumes that both lie in the class. A mixture of both, half and half, is a coin flip,
which errs equally often on everybody. "Always 0" has no false positives, "always 1" no false
negatives. So a fair mixture always exists, whatever the oracle answers.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

    @classmethod
    def gather(
        cls, hypotheses: Sequence[Hypothesis], choice: NDArray[np.intp], columns: NDArray[np.intp]
    ) -> Constant | None:
        """Return a constant if the same constant decides all tasks.

        Parameters
        ----------
        hypotheses, choice, columns
            As for ``Hypothesis.gather``.
        """
        chosen = [hypotheses[position] for position in np.unique(choice)]
        decisions = {one.decision if isinstance(one, Constant) else None for one in chosen}
        decision = decisions.pop()
        return None if decisions or decision is None else cls(decision, len(choice))


def constants(tasks: int) -> list[Constant]:
    """Return "always 0" and "always 1" for this many tasks, in this order."""
    return [Constant(False, tasks), Constant(True, tasks)]
