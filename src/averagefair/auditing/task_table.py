"""The table of tasks: each task's error rate, and its influence on the variance of true rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair._util.frozen import Frozen
from averagefair.auditing.dispersion import Dispersion
from averagefair.auditing.losses import Losses
from averagefair.auditing.tally import Tally


@dataclass(frozen=True, eq=False, repr=False)
class TaskTable(Frozen):
    """A row for each task, in the order given.

    Attributes
    ----------
    name : tuple of str
    family : tuple of str, or None where there are no families
    people : integer array, shape (m,)
        How many people's cells count.
    rate : array, shape (m,)
        The share of these cells that was decided wrongly; NaN if no cell counts.
    influence : array, shape (m,)
        How the de-noised variance sigma2 changes with the task's weight: without the task, sigma2
        would be about this much smaller. A task in a family has the family's influence. NaN if
        sigma2 is NaN.
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
        return f"TaskTable({len(self)})"


def task_table(losses: Losses, tally: Tally, dispersion: Dispersion) -> TaskTable:
    """Return the table of tasks."""
    influence = dispersion.task_influence
    family = None
    if losses.families is not None:
        influence = influence[losses.families]
        family = tuple(losses.family_names[number] for number in losses.families)
    if np.isnan(dispersion.sigma2.value):
        influence = np.full(losses.m, np.nan)
    return TaskTable(
        name=losses.task_names,
        family=family,
        people=tally.task_people,
        rate=tally.task_wrong / np.where(tally.task_counted > 0, tally.task_counted, np.nan),
        influence=influence,
    )
