"""Groups: fair by group, unfair to individuals, in two numbers.

The variance of people's true rates falls into what lies between groups and what lies within them.
Fairness by group asks that the first be small. What it does not look at is the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from averagefair.auditing.losses import Losses
from averagefair.auditing.spread import Spread
from averagefair.auditing.tally import Tally
from averagefair.errors import InputError
from averagefair.sample import FloatArray
from averagefair.tables import read_categories, read_columns
from averagefair.text import table


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """The mean individual rate and the spread of each group. ``print`` it.

    Attributes
    ----------
    attribute : str
        What people are grouped by.
    name : tuple of str
        The groups.
    people : integer array, shape (groups,)
        How many of each have a rate.
    mean : array, shape (groups,)
        The mean individual rate; NaN for a group without one.
    low, high : arrays, shape (groups,)
        The smallest and the largest individual rate.
    variance : array, shape (groups,)
        The de-noised variance of true rates within the group, signed; NaN below two people.
    between, within : float
        The shares of the de-noised variance that lie between groups and within them, adding up to
        1; NaN where no difference between people was found.
    ungrouped : int
        How many people have no group; they are left out here.
    """

    attribute: str
    name: tuple[str, ...]
    people: NDArray[np.intp]
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    variance: FloatArray
    between: float
    within: float
    ungrouped: int

    @property
    def sigma(self) -> FloatArray:
        """The standard deviation of true rates within each group, 0 where below 0."""
        return np.sqrt(np.maximum(0.0, self.variance))

    @property
    def gap(self) -> float:
        """The largest less the smallest of the groups' mean rates."""
        known = self.mean[~np.isnan(self.mean)]
        return float(np.ptp(known)) if known.size else nan

    def to_dict(self) -> dict[str, Any]:
        """Return the table, a list for each column, and the two shares."""
        columns = ("people", "mean", "low", "high", "variance", "sigma")
        return {
            "attribute": self.attribute,
            "name": list(self.name),
            **{column: getattr(self, column).tolist() for column in columns},
            "gap": self.gap,
            "between": self.between,
            "within": self.within,
            "ungrouped": self.ungrouped,
        }

    def statement(self) -> str:
        """Say in plain words what the groups show, and what they hide."""
        if np.isnan(self.gap):
            return f"By {self.attribute}: nobody with a group has a rate."
        head = f"By {self.attribute}: the groups' mean rates are at most {self.gap:.3f} apart"
        if np.isnan(self.between):
            return f"{head}; no difference between people beyond noise to divide."
        verdict = "."
        if self.within >= 0.5:
            verdict = ": who looks at groups alone misses most of it."
        return (
            f"{head}. Of the true differences between people {_percent(self.between)} lie between "
            f"groups and {_percent(self.within)} within them{verdict}"
        )

    def __str__(self) -> str:
        rows = (
            [name, str(count), *(_written(value) for value in values)]
            for name, count, *values in zip(
                self.name, self.people, self.mean, self.low, self.high, self.sigma, strict=True
            )
        )
        head = [self.attribute, "people", "mean rate", "lowest", "highest", "true sd"]
        return f"{table(head, rows)}\n{self.statement()}"

    __repr__ = __str__


def group_views(groups: Any, losses: Losses, tally: Tally, spread: Spread) -> tuple[Groups, ...]:
    """Return a view by each attribute given: a list, or a table with a column for each."""
    return tuple(
        _view(
            attribute,
            *read_categories(column, losses.index, losses.n, "groups"),
            losses,
            tally,
            spread,
        )
        for attribute, column in read_columns(groups, "group")
    )


def _view(
    attribute: str,
    names: tuple[str, ...],
    codes: NDArray[np.intp],
    losses: Losses,
    tally: Tally,
    spread: Spread,
) -> Groups:
    if not names:
        raise InputError(f"groups: nobody has a {attribute}; every entry is blank.")
    k = len(names)
    of = codes[tally.rated]
    rates = tally.rates[tally.rated][of >= 0]
    of = of[of >= 0]
    people = np.bincount(of, minlength=k)
    low, high = np.full(k, np.inf), np.full(k, -np.inf)
    np.minimum.at(low, of, rates)
    np.maximum.at(high, of, rates)
    some = people > 0
    mean = np.where(some, np.bincount(of, rates, k) / np.maximum(people, 1), nan)
    variance, between, within = _shares(codes, k, losses, tally, spread)
    return Groups(
        attribute=attribute,
        name=names,
        people=people,
        mean=mean,
        low=np.where(some, low, nan),
        high=np.where(some, high, nan),
        variance=variance,
        between=between,
        within=within,
        ungrouped=int(np.count_nonzero(codes < 0)),
    )


def _shares(
    codes: NDArray[np.intp], k: int, losses: Losses, tally: Tally, spread: Spread
) -> tuple[FloatArray, float, float]:
    """Return the de-noised variance within each group, and the shares between and within.

    The estimator of :mod:`averagefair.auditing.spread`, for all people with a group and for each
    group alone: (n - 1) sigma2 = sum_g (n_g - 1) sigma2_g + what lies between.
    """
    judged = tally.judged & (codes >= 0)
    of = codes[judged]
    rates, noise = tally.rates[judged], spread.noise[judged]
    u = np.where(judged, tally.units, 2.0)
    scale = np.where(judged, np.sqrt(u / (u - 1.0)) / np.maximum(tally.counted, 1.0), 0.0)
    all_rates, places = np.where(judged, tally.rates, 0.0), np.where(judged, codes, 0)
    sums = np.zeros((k, losses.units))  # C_j of each group
    for rows, counts, totals in losses.blocks():
        z = totals - counts * all_rates[rows, None]
        height = len(z)
        gather = csr_array((scale[rows], (places[rows], np.arange(height))), shape=(k, height))
        sums += gather @ z

    def total(of: NDArray[np.intp], sums: FloatArray, sizes: FloatArray) -> FloatArray:
        """Return (n - 1) sigma2 of each of the groups ``of``."""
        some = np.maximum(sizes, 1.0)
        off = rates - (np.bincount(of, rates, sizes.size) / some)[of]
        own = np.bincount(of, off**2 - noise, sizes.size)
        return np.asarray(own + np.square(sums).sum(axis=1) / some)

    sizes = np.bincount(of, minlength=k).astype(np.float64)
    inner = np.where(sizes >= 2, total(of, sums, sizes), 0.0)
    variance = inner / np.where(sizes >= 2, sizes - 1.0, nan)
    everybody = np.zeros(of.size, dtype=np.intp)
    whole = total(everybody, sums.sum(axis=0, keepdims=True), sizes.sum(keepdims=True))[0]
    if of.size < 2 or whole <= 0:
        return variance, nan, nan
    within = float(np.clip(inner.sum() / whole, 0.0, 1.0))
    return variance, 1.0 - within, within


def _percent(share: float) -> str:
    return f"{share:.0%}"


def _written(value: float) -> str:
    return "unknown" if np.isnan(value) else f"{value:.3f}"
