"""Each person: rate, interval, rank, and whether they are worse off than alpha allows for sure."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.auditing.frozen import Frozen
from averagefair.auditing.intervals import Evidence, Interval
from averagefair.auditing.losses import BoolArray, Losses
from averagefair.auditing.tally import Tally
from averagefair.sample import FloatArray
from averagefair.windows import ROUNDING


@dataclass(frozen=True, eq=False, repr=False)
class People(Frozen):
    """A row for each person, in the order given.

    Attributes
    ----------
    name : array, shape (n,)
    rate : array, shape (n,)
        NaN where none of the person's cells counts; so are the intervals and the rank.
    tasks : integer array, shape (n,)
        How many of the person's cells count.
    low, high : arrays, shape (n,)
        The interval of that person alone; NaN for tasks that were learned from.
    all_low, all_high : arrays, shape (n,)
        Intervals that hold for everybody at once (Bonferroni: delta / n each); NaN likewise.
    rank : array, shape (n,)
        1 is worst off; who is equally badly off has the same.
    flagged : bool array, shape (n,)
        Whether ``all_low`` lies above the common rate (as estimated) plus alpha: with the audit's
        confidence, not one is flagged whose true rate is not worse than that. On tasks that were
        learned from: whether the observed rate lies above it (nobody where no alpha was given).
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

    def rows(self, places: NDArray[np.intp]) -> list[dict[str, Any]]:
        """Return the rows of these places, each by column."""
        columns = {name: getattr(self, name)[places].tolist() for name in self.__dataclass_fields__}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def __repr__(self) -> str:
        return f"People({len(self)}; {int(self.flagged.sum())} flagged)"


def people_table(
    losses: Losses, tally: Tally, known: Evidence | None, threshold: float, delta: float
) -> People:
    """Return the table, flags being for rates above ``threshold``.

    Without evidence, which tasks that were learned from are not, flags go by the rates observed.
    """
    if known is None:
        low = high = all_low = all_high = np.full(losses.n, nan)
        sure = tally.rates - ROUNDING
    else:
        low, high = fill_in(known.usual(delta), tally.rated)
        all_low, all_high = fill_in(known.exact(delta / max(1, known.wrong.size)), tally.rated)
        sure = all_low
    return People(
        name=losses.individual_names,
        rate=tally.rates,
        tasks=tally.counted.astype(np.intp),
        low=low,
        high=high,
        all_low=all_low,
        all_high=all_high,
        rank=_ranks(tally.rates),
        flagged=np.nan_to_num(sure, nan=-np.inf) > threshold,
    )


def evidence(losses: Losses, tally: Tally) -> Evidence:
    """Return what intervals are made from, of those who have a rate."""
    rated = tally.rated
    wrong, counted = tally.wrong[rated], tally.counted[rated]
    if (tally.largest <= 1).all():
        return Evidence(wrong, counted, losses.whole)
    return Evidence(wrong, counted, False, tally.largest[rated], tally.shared[rated])


def fill_in(interval: Interval, rated: BoolArray) -> Interval:
    """Put the intervals of those who have a rate in their places; NaN for the others."""
    out = np.full((2, rated.size), nan)
    out[:, rated] = interval
    return out[0], out[1]


def _ranks(rates: FloatArray) -> FloatArray:
    """Return 1 for the largest; equals share the smallest rank of theirs.

    Examples
    --------
    >>> _ranks(np.array([0.2, 0.5, np.nan, 0.5]))
    array([ 3.,  1., nan,  1.])
    """
    some = ~np.isnan(rates)
    out = np.full(rates.size, nan)
    out[some] = 1.0 + np.searchsorted(np.sort(-rates[some]), -rates[some], side="left")
    return out
