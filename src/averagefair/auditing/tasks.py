"""Each task: how often it goes wrong, and how much it adds to the spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.auditing.frozen import Frozen
from averagefair.auditing.losses import Losses
from averagefair.auditing.spread import Spread
from averagefair.auditing.tally import Tally
from averagefair.sample import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Tasks(Frozen):
    """A row for each task, in the order given.

    Attributes
    ----------
    name : tuple of str
    family : tuple of str, or None where there are no families
    people : integer array, shape (m,)
        How many people's cells count.
    rate : array, shape (m,)
        The share of them decided wrongly; NaN where nobody's cell counts.
    influence : array, shape (m,)
        How the de-noised variance sigma2 moves with the task's weight: without the task it would
        be about this much smaller. Of a task in a family, the family's. NaN where sigma2 is.
    """

    name: tuple[str, ...]
    family: tuple[str, ...] | None
    people: NDArray[np.intp]
    rate: FloatArray
    influence: FloatArray

    def __len__(self) -> int:
        return len(self.name)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the table, a list for each column."""
        out: dict[str, list[Any]] = {"name": list(self.name)}
        if self.family is not None:
            out["family"] = list(self.family)
        return out | {
            name: getattr(self, name).tolist() for name in ("people", "rate", "influence")
        }

    def __repr__(self) -> str:
        return f"Tasks({len(self)})"


def tasks_table(losses: Losses, tally: Tally, spread: Spread) -> Tasks:
    """Return the table."""
    influence = spread.task_influence
    family = None
    if losses.families is not None:
        influence = influence[losses.families]
        family = tuple(losses.family_names[place] for place in losses.families)
    if np.isnan(spread.sigma2.value):
        influence = np.full(losses.m, np.nan)
    return Tasks(
        name=losses.task_names,
        family=family,
        people=tally.task_counted.astype(np.intp),
        rate=tally.task_wrong / np.where(tally.task_counted > 0, tally.task_counted, np.nan),
        influence=influence,
    )
