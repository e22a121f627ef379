"""Groups: how much of the variance of true rates lies between groups, and how much within them.

Group fairness asks that the part between groups be small. It ignores the part within groups, which
is unfairness to individuals.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from averagefair._util.arrays import FloatArray
from averagefair._util.frozen import Frozen
from averagefair._util.names import in_a_line
from averagefair._util.text import counted, figure, table
from averagefair.auditing.class_means import class_means
from averagefair.auditing.dispersion import Dispersion
from averagefair.auditing.losses import Losses
from averagefair.auditing.tally import Tally
from averagefair.errors import InputError
from averagefair.people.frames import read_categories, read_columns

MOST_GROUPS = 50  # with more groups than this, groups must have two people on average


@dataclass(frozen=True, eq=False, repr=False)
class Groups(Frozen):
    """The mean rate of each group, and the variance of true rates within it. ``print`` it.

    Attributes
    ----------
    attribute : str
        What people are grouped by.
    name : tuple of str
        The groups.
    people : integer array, shape (groups,)
        The number of people with a rate in each group.
    mean : array, shape (groups,)
        The mean individual rate; NaN for a group without rates.
    low, high : arrays, shape (groups,)
        The interval of each mean, over people and tasks; for learned tasks (the model's training
        tasks) over people alone. NaN for fewer than two people.
    lowest, highest : arrays, shape (groups,)
        The smallest and the largest observed rate, noise included.
    variance : array, shape (groups,)
        The de-noised variance of true rates within the group, signed; NaN for fewer than two
        people, and for learned tasks (the model's training tasks).
    between, within : float
        The shares of the de-noised variance between groups and within them; they sum to 1. NaN if
        no difference between people was found. Both are point estimates.
    ungrouped : int
        The number of people without a group; they are left out.
    shown : bool
        Whether differences between people are more than chance; if not, the statement omits the
        shares.
    """

    attribute: str
    name: tuple[str, ...]
    people: NDArray[np.intp]
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    lowest: FloatArray
    highest: FloatArray
    variance: FloatArray
    between: float
    within: float
    ungrouped: int
    shown: bool

    @property
    def sigma(self) -> FloatArray:
        """The standard deviation of true rates within each group; 0 for negative variances."""
        return np.sqrt(np.maximum(0.0, self.variance))

    @property
    def gap(self) -> float:
        """The largest minus the smallest mean rate of the groups."""
        known = self.mean[~np.isnan(self.mean)]
        return float(np.ptp(known)) if known.size else nan

    def to_dict(self) -> dict[str, Any]:
        """Return the table, a list for each column, and the two shares."""
        columns = ("people", "mean", "low", "high", "lowest", "highest", "variance", "sigma")
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
        """Return in plain words what the groups show, and what they hide."""
        if np.isnan(self.gap):
            return f"By {in_a_line(self.attribute)}: nobody in a group has a rate."
        most, least = np.nanargmax(self.mean), np.nanargmin(self.mean)
        low, high = f"{self.mean[least]:.3f}", f"{self.mean[most]:.3f}"
        said = (
            f"all groups have a mean rate of {low}"
            if low == high
            else f"mean rates range from {low} ({self._described(least)}) to {high} "
            f"({self._described(most)})"
        )
        head = f"By {in_a_line(self.attribute)}: {said}."
        if not self.shown or np.isnan(self.between):
            return head
        missed = " Group means miss most of it." if self.within >= 0.5 else ""
        return (
            f"{head} About {self.between:.0%} of the variance of true rates lies between groups, "
            f"and {self.within:.0%} within them.{missed}"
        )

    def _described(self, group: Any) -> str:
        """Return a group's name, its size and the interval of its mean."""
        text = f"{self._label(group)}, {counted(int(self.people[group]), 'person', 'people')}"
        if np.isnan(self.low[group]):
            return text
        return f"{text}, CI {max(0.0, self.low[group]):.3f} to {min(1.0, self.high[group]):.3f}"

    def _label(self, group: Any) -> str:
        """Return a group's name, with its attribute if the name is a number."""
        name = in_a_line(self.name[group])
        return f"{in_a_line(self.attribute)} {name}" if name[:1].isdigit() else name

    def __str__(self) -> str:
        columns = (self.mean, self.low, self.high, self.lowest, self.highest, self.sigma)
        rows = (
            [name, str(count), *map(figure, values)]
            for name, count, *values in zip(self.name, self.people, *columns, strict=True)
        )
        head = [self.attribute, "people", "mean rate", "CI low", "CI high"]
        head += ["lowest", "highest", "true sd"]
        if np.isnan(self.variance).all():
            head, rows = head[:-1], (row[:-1] for row in rows)
        return f"{table(head, rows)}\n{self.statement()}"

    __repr__ = __str__


def group_views(
    groups: Any,
    losses: Losses,
    tally: Tally,
    dispersion: Dispersion,
    confidence: float,
    *,
    shown: bool,
) -> tuple[Groups, ...]:
    """Return a view for each attribute; ``groups`` is a list, or a table of attributes."""
    return tuple(
        _view(attribute, column, losses, tally, dispersion, confidence, shown)
        for attribute, column in read_columns(groups, "group")
    )


def _view(
    attribute: str,
    column: Any,
    losses: Losses,
    tally: Tally,
    dispersion: Dispersion,
    confidence: float,
    shown: bool,
) -> Groups:
    names, codes = read_categories(column, losses.index, losses.n, "groups")
    k = len(names)
    if not names:
        raise InputError(f"groups: column {in_a_line(attribute)} is blank for everybody.")
    if k > MOST_GROUPS and k > losses.n / 2:
        raise InputError(
            f"groups: {in_a_line(attribute)} has {k:,} groups for {losses.n:,} people. Use groups "
            "that many people share, e.g. age in decades instead of an id."
        )
    of = codes[tally.rated]
    rates = tally.rates[tally.rated][of >= 0]
    of = of[of >= 0]
    people = np.bincount(of, minlength=k)
    lowest, highest = np.full(k, np.inf), np.full(k, -np.inf)
    np.minimum.at(lowest, of, rates)
    np.maximum.at(highest, of, rates)
    some = people > 0
    means = class_means(codes, k, losses, tally)
    variance, between, within = np.full(k, nan), nan, nan
    learned = np.isnan(dispersion.task_influence).all()
    each = [means.estimate(own, confidence, tasks=not learned) for own in np.eye(k)]
    if not np.isnan(dispersion.sigma2.value):
        variance, between, within = _shares(codes, k, losses, tally, dispersion)
    return Groups(
        attribute=attribute,
        name=names,
        people=people,
        mean=means.mean,
        low=np.array([one.low for one in each]),
        high=np.array([one.high for one in each]),
        lowest=np.where(some, lowest, nan),
        highest=np.where(some, highest, nan),
        variance=variance,
        between=between,
        within=within,
        ungrouped=int(np.count_nonzero(codes < 0)),
        shown=shown,
    )


def _shares(
    codes: NDArray[np.intp], k: int, losses: Losses, tally: Tally, dispersion: Dispersion
) -> tuple[FloatArray, float, float]:
    """Return the de-noised variance within each group, and the shares between and within.

    The estimator of :mod:`averagefair.auditing.dispersion` is applied to all people with a group,
    and to each group alone. The estimates within groups are pooled:
    sum_g (n_g - 1) sigma2_g / (n - k). So for random groups the share between groups is about 0,
    whatever the number of groups.
    """
    estimable = tally.estimable & (codes >= 0)
    of, rates, noise = codes[estimable], tally.rates[estimable], dispersion.noise[estimable]
    own, group = np.where(estimable, tally.rates, 0.0), np.where(estimable, codes, 0)
    scale = np.where(estimable, tally.scale, 0.0)
    sums = np.zeros((k, losses.units))  # C_j of each group
    for rows, counts, totals in losses.blocks():
        z = totals - counts * own[rows, None]
        height = len(z)
        gather = csr_array((scale[rows], (group[rows], np.arange(height))), shape=(k, height))
        sums += gather @ z

    def total(of: NDArray[np.intp], sums: FloatArray, sizes: FloatArray) -> FloatArray:
        """Return (n - 1) sigma2 of each group; ``of`` is the group of each person."""
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
