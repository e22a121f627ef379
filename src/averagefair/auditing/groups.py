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

from averagefair.auditing.frozen import Frozen
from averagefair.auditing.losses import Losses
from averagefair.auditing.spread import Spread
from averagefair.auditing.tally import Tally
from averagefair.errors import InputError
from averagefair.names import in_a_line
from averagefair.sample import FloatArray
from averagefair.tables import read_categories, read_columns
from averagefair.text import counted, figure, table

MOST_GROUPS = 50  # more than these must have two people each, on average


@dataclass(frozen=True, eq=False, repr=False)
class Groups(Frozen):
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
    lowest, highest : arrays, shape (groups,)
        The smallest and the largest individual rate, noise and all.
    variance : array, shape (groups,)
        The de-noised variance of true rates within the group, signed; NaN below two people, and
        for tasks that were learned from.
    between, within : float
        The shares of the de-noised variance that lie between groups and within them, adding up to
        1; NaN where no difference between people was found. Point estimates.
    ungrouped : int
        How many people have no group; they are left out here.
    shown : bool
        Whether differences between people are more than chance; if not, there is nothing to
        divide, and the shares are not spoken of.
    """

    attribute: str
    name: tuple[str, ...]
    people: NDArray[np.intp]
    mean: FloatArray
    lowest: FloatArray
    highest: FloatArray
    variance: FloatArray
    between: float
    within: float
    ungrouped: int
    shown: bool

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
        columns = ("people", "mean", "lowest", "highest", "variance", "sigma")
        return {
            "attribute": self.attribute,
            "name": list(self.name),
            **{column: getattr(self, column).tolist() for column in columns},
            "gap": self.gap,
            "between": self.between,
            "within": self.within,
            "ungrouped": self.ungrouped,
            "shown": self.shown,
        }

    def statement(self) -> str:
        """Say in plain words what the groups show, and what they hide."""
        if np.isnan(self.gap):
            return f"By {in_a_line(self.attribute)}: nobody with a group has a rate."
        most, least = np.nanargmax(self.mean), np.nanargmin(self.mean)
        low, high = f"{self.mean[least]:.3f}", f"{self.mean[most]:.3f}"
        said = (
            f"all groups have a mean rate of {low}"
            if low == high
            else f"mean rates run from {low} ({self._called(least)}, "
            f"{_people(self.people[least])}) to {high} ({self._called(most)}, "
            f"{_people(self.people[most])})"
        )
        head = f"By {in_a_line(self.attribute)}: {said}."
        if not self.shown or np.isnan(self.between):
            return head
        verdict = ": who looks at groups alone misses most of it" if self.within >= 0.5 else ""
        return (
            f"{head} Of the variance of true rates about {self.between:.0%} lies between groups "
            f"and {self.within:.0%} within them{verdict}."
        )

    def _called(self, place: Any) -> str:
        """Name a group; a number with what it is a number of."""
        name = in_a_line(self.name[place])
        return f"{in_a_line(self.attribute)} {name}" if name[:1].isdigit() else name

    def __str__(self) -> str:
        rows = (
            [name, str(count), *map(figure, values)]
            for name, count, *values in zip(
                self.name,
                self.people,
                self.mean,
                self.lowest,
                self.highest,
                self.sigma,
                strict=True,
            )
        )
        head = [self.attribute, "people", "mean rate", "lowest", "highest", "true sd"]
        if np.isnan(self.variance).all():
            head, rows = head[:-1], (row[:-1] for row in rows)
        return f"{table(head, rows)}\n{self.statement()}"

    __repr__ = __str__


def group_views(
    groups: Any, losses: Losses, tally: Tally, spread: Spread, shown: bool
) -> tuple[Groups, ...]:
    """Return a view by each attribute given: a list, or a table with a column for each."""
    return tuple(
        _view(attribute, column, losses, tally, spread, shown)
        for attribute, column in read_columns(groups, "group")
    )


def _view(
    attribute: str, column: Any, losses: Losses, tally: Tally, spread: Spread, shown: bool
) -> Groups:
    names, codes = read_categories(column, losses.index, losses.n, "groups")
    k = len(names)
    if not names:
        raise InputError(f"groups: nobody has a {in_a_line(attribute)}; every entry is blank.")
    if k > MOST_GROUPS and k > losses.n / 2:
        raise InputError(
            f"groups: {in_a_line(attribute)} has {k:,} groups for {losses.n:,} people; group "
            "people by what many of them share, e.g. age in decades rather than an id."
        )
    of = codes[tally.rated]
    rates = tally.rates[tally.rated][of >= 0]
    of = of[of >= 0]
    people = np.bincount(of, minlength=k)
    lowest, highest = np.full(k, np.inf), np.full(k, -np.inf)
    np.minimum.at(lowest, of, rates)
    np.maximum.at(highest, of, rates)
    some = people > 0
    variance, between, within = np.full(k, nan), nan, nan
    if not np.isnan(spread.sigma2.value):
        variance, between, within = _shares(codes, k, losses, tally, spread)
    return Groups(
        attribute=attribute,
        name=names,
        people=people,
        mean=np.where(some, np.bincount(of, rates, k) / np.maximum(people, 1), nan),
        lowest=np.where(some, lowest, nan),
        highest=np.where(some, highest, nan),
        variance=variance,
        between=between,
        within=within,
        ungrouped=int(np.count_nonzero(codes < 0)),
        shown=shown,
    )


def _shares(
    codes: NDArray[np.intp], k: int, losses: Losses, tally: Tally, spread: Spread
) -> tuple[FloatArray, float, float]:
    """Return the de-noised variance within each group, and the shares between and within.

    The estimator of :mod:`averagefair.auditing.spread`, for all people with a group and for each
    group alone. Within groups it is pooled, sum_g (n_g - 1) sigma2_g / (n - k), so that groups
    made at random have a share of about 0 between them, however many they are.
    """
    judged = tally.judged & (codes >= 0)
    of, rates, noise = codes[judged], tally.rates[judged], spread.noise[judged]
    own, places = np.where(judged, tally.rates, 0.0), np.where(judged, codes, 0)
    scale = np.where(judged, tally.scale, 0.0)
    sums = np.zeros((k, losses.units))  # C_j of each group
    for rows, counts, totals in losses.blocks():
        z = totals - counts * own[rows, None]
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
    freedom = np.maximum(sizes - 1.0, 0.0).sum()
    everybody = np.zeros(of.size, dtype=np.intp)
    whole = total(everybody, sums.sum(axis=0, keepdims=True), sizes.sum(keepdims=True))[0]
    if freedom < 1 or whole <= 0:
        return variance, nan, nan
    within = float(np.clip((inner.sum() / freedom) / (whole / (of.size - 1)), 0.0, 1.0))
    return variance, 1.0 - within, within


def _people(number: Any) -> str:
    return counted(int(number), "person", "people")
