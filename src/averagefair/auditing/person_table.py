"""The table of people: rate, interval, rank, and a flag for rates that are clearly too high."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair._util.frozen import Frozen
from averagefair.auditing.intervals import Counts, Interval
from averagefair.auditing.losses import BoolArray, Losses
from averagefair.auditing.tally import Tally
from averagefair.game.windows import ROUNDING


@dataclass(frozen=True, eq=False, repr=False)
class PersonTable(Frozen):
    """A row for each person, in the order given.

    Attributes
    ----------
    name : array, shape (n,)
    rate : array, shape (n,)
        NaN if none of the person's cells counts; the intervals and the rank are NaN too.
    tasks : integer array, shape (n,)
        On how many tasks the person has a cell that counts.
    low, high : arrays, shape (n,)
        The confidence interval of each person alone; NaN for learned tasks (tasks that the model
        was trained on).
    all_low, all_high : arrays, shape (n,)
        Simultaneous intervals for all people (Bonferroni: delta / n each); NaN for learned tasks.
    rank : array, shape (n,)
        1 is the highest rate; equal rates share a rank.
    flagged : bool array, shape (n,)
        Whether ``all_low`` lies above a threshold, the estimated common rate plus alpha. With the
        audit's confidence, every flagged person's true rate is above the threshold. For learned
        tasks: whether the observed rate is above the threshold. Without alpha, learned tasks have
        no flags.
    """

    name: NDArray[Any]
    rate: FloatArray
    tasks: NDArray[np.intp]
    low: FloatArray
    high: FloatArray
    all_low: FloatArray
    all_high: FloatArray
    rank: FloatArray
    flagged: BoolArray

    def __len__(self) -> int:
        return len(self.name)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the table, a list for each column."""
        return {name: getattr(self, name).tolist() for name in self.__dataclass_fields__}

    def rows(self, numbers: NDArray[np.intp]) -> list[dict[str, Any]]:
        """Return the rows with these numbers, each as a dictionary by column."""
        columns = {
            name: getattr(self, name)[numbers].tolist() for name in self.__dataclass_fields__
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def worst_first(self) -> NDArray[np.intp]:
        """Return the row numbers of people who have a rate, the highest rate first.

        Among equal rates, a higher ``low`` comes first, then more tasks.
        """
        order = np.lexsort((self.tasks, self.low, self.rate))
        return order[: np.count_nonzero(~np.isnan(self.rate))][::-1]

    def best_first(self) -> NDArray[np.intp]:
        """Return the row numbers of people who have a rate, the lowest rate first.

        Among equal rates, a lower ``high`` comes first, then more tasks.
        """
        order = np.lexsort((-self.tasks, self.high, self.rate))
        return order[: np.count_nonzero(~np.isnan(self.rate))]

    def __repr__(self) -> str:
        return f"PersonTable({len(self)}; {int(self.flagged.sum())} flagged)"


def person_table(
    losses: Losses, tally: Tally, counts: Counts | None, threshold: float, delta: float
) -> PersonTable:
    """Return the table; flags mark rates above ``threshold``.

    Without counts (learned tasks) there are no intervals, and flags use the observed rates.
    """
    if counts is None:
        low = high = all_low = all_high = np.full(losses.n, nan)
        least = tally.rates - ROUNDING
    else:
        low, high = fill_in(counts.approximate(delta), tally.rated)
        all_low, all_high = fill_in(counts.exact(delta / max(1, counts.wrong.size)), tally.rated)
        least = all_low
    return PersonTable(
        name=losses.individual_names,
        rate=tally.rates,
        tasks=tally.tasks,
        low=low,
        high=high,
        all_low=all_low,
        all_high=all_high,
        rank=_ranks(tally.rates),
        flagged=np.nan_to_num(least, nan=-np.inf) > threshold,
    )


def fill_in(interval: Interval, rated: BoolArray) -> Interval:
    """Expand the intervals of people who have a rate to everybody, with NaN for the others."""
    out = np.full((2, rated.size), nan)
    out[:, rated] = interval
    return out[0], out[1]


def _ranks(rates: FloatArray) -> FloatArray:
    """Return ranks, 1 for the largest rate; equal rates share the smallest of their ranks.

    Examples
    --------
    >>> _ranks(np.array([0.2, 0.5, np.nan, 0.5]))
    array([ 3.,  1., nan,  1.])
    """
    known = ~np.isnan(rates)
    out = np.full(rates.size, nan)
    out[known] = 1.0 + np.searchsorted(np.sort(-rates[known]), -rates[known], side="left")
    return out
