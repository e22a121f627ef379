"""The constraints: whose rates must be near which common rate.

There is one constraint, |R_c - gamma_r| <= slack, for each individual c whose rate r is defined.
With several rates (such as false positives and false negatives) each rate has its own common rate.
The constraints of all rates are in one vector, rate after rate.

Vectors over the constraints live in the sample's space (its array library and device). Common
rates, one number for each rate, are NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.game.windows import ROUNDING, fullest, narrowest
from averagefair.people.backends import NUMPY, Space, to_host


@dataclass(frozen=True, eq=False)
class Constraints:
    """The individual and the rate of each of the N constraints.

    Attributes
    ----------
    people : integer array, shape (N,)
        The individual.
    rate_of : integer array, shape (N,)
        The rate, counted from 0; ascending.
    multiplicities : array, shape (N,)
        How many people the individual stands for.
    rate_count : int
        The number of rates.
    space : Space
        Array library and device of vectors over the constraints.

    Examples
    --------
    >>> both = Constraints(np.array([0, 1, 1]), np.array([0, 0, 1]), np.ones(3), rate_count=2)
    >>> rates = np.array([0.25, 0.75, 0.5])
    >>> both.spread(rates), both.deviation(rates, np.array([0.5, 0.5]))
    (0.5, 0.25)
    """

    people: NDArray[np.intp]
    rate_of: NDArray[np.intp]
    multiplicities: FloatArray
    rate_count: int = 1
    space: Space = NUMPY

    def __len__(self) -> int:
        return len(self.people)

    @cached_property
    def counts(self) -> Any:
        """The multiplicities in the constraints' space."""
        return self.space.asarray(self.multiplicities)

    @cached_property
    def slices(self) -> list[slice]:
        """The slice of each rate's constraints."""
        ends = np.searchsorted(self.rate_of, np.arange(self.rate_count + 1)).tolist()
        return [slice(*pair) for pair in pairwise(ends)]

    @cached_property
    def _rate_of(self) -> Any:
        return self.space.asarray(self.rate_of)

    def expand(self, common_rates: FloatArray) -> Any:
        """Return each constraint's common rate: a number for one rate, else shape (N,).

        Parameters
        ----------
        common_rates : array, shape (rates,)
            gamma of each rate.
        """
        if self.rate_count == 1:
            return float(common_rates[0])
        return self.space.xp.take(self.space.asarray(common_rates), self._rate_of)

    def add_up(self, values: Any) -> FloatArray:
        """Return the sum over each rate's constraints, shape (rates,).

        Parameters
        ----------
        values : array, shape (N,)
            A number for each constraint.
        """
        total = self.space.xp.sum
        return np.array([float(total(values[rate])) for rate in self.slices])

    def mean(self, values: Any) -> FloatArray:
        """Return the mean over each rate's people, shape (rates,); 0 for a rate without people.

        Parameters
        ----------
        values : array, shape (N,)
            A number for each constraint.
        """
        people = self.add_up(self.counts)
        return self.add_up(self.counts * values) / np.where(people > 0, people, 1.0)

    def best_common_rates(self, weights: Any) -> FloatArray:
        """Return the Learner's gamma for these weights: the paper's 1[sum w > 0].

        The inequality is strict and has no tolerance. If the weights cancel, either gamma is a best
        response, and the rounding of the sum decides.

        Parameters
        ----------
        weights : array, shape (N,)
            w, of either sign.
        """
        return (self.add_up(weights) > 0).astype(np.float64)

    def deviation(self, rates: Any, common_rates: FloatArray) -> float:
        """Return the largest ``|R - gamma|``; 0 if nobody is constrained.

        Parameters
        ----------
        rates : array, shape (N,)
            Everybody's rates.
        common_rates : array, shape (rates,)
            gamma of each rate.
        """
        if not len(self):
            return 0.0
        xp = self.space.xp
        return float(xp.max(xp.abs(rates - self.expand(common_rates))))

    def spread(self, rates: Any) -> float:
        """Return the largest minus the smallest rate; with several rates, the largest spread.

        Parameters
        ----------
        rates : array, shape (N,)
            Everybody's rates.
        """
        low, high = self._ends(rates)
        return float((high - low).max(initial=0.0, where=high >= low))

    def middle(self, rates: Any, of: NDArray[np.bool_] | None = None) -> FloatArray:
        """Return the middle between each rate's smallest and largest value, shape (rates,).

        Parameters
        ----------
        rates : array, shape (N,)
            Everybody's rates.
        of : bool array, shape (N,), optional
            The constraints to use. Default: all.
        """
        low, high = self._ends(rates, of)
        some = high >= low
        return 0.5 * (np.where(some, low, 0.5) + np.where(some, high, 0.5))

    def _ends(
        self, rates: Any, of: NDArray[np.bool_] | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return each rate's smallest and largest value; inf and -inf for a rate without people."""
        xp = self.space.xp
        ends = np.array([[np.inf] * self.rate_count, [-np.inf] * self.rate_count])
        for number, rate in enumerate(self.slices):
            values = rates[rate]
            if of is not None and not of[rate].all():
                values = values[self.space.asarray(of[rate])]
            if values.shape[0]:
                ends[:, number] = float(xp.min(values)), float(xp.max(values))
        return ends[0], ends[1]

    def share_outside(self, rates: Any, slack: float) -> float:
        """Return the beta reached: the least share of people outside a window of width 2 slack.

        The window may lie anywhere: fairness asks for *some* common rate. With several rates: the
        largest share, each rate with its own window.

        Parameters
        ----------
        rates : array, shape (N,)
            Everybody's rates.
        slack : float
            Half the width of the window.
        """
        return max(
            (fullest(values, 2.0 * slack, below)[1] for values, below in self._by_rate(rates)),
            default=0.0,
        )

    def width(self, rates: Any, outside: float) -> float:
        """Return the width of the narrowest window that leaves out at most this share of people.

        With several rates: the largest width. With nobody left out, the width is the spread.

        Parameters
        ----------
        rates : array, shape (N,)
            Everybody's rates.
        outside : float
            The share of people, from 0 to 1.
        """
        if outside == 0.0:  # return exactly the spread, even if somebody's weight is tiny
            on_host = to_host(rates)
            spreads = (np.ptp(on_host[rate]) for rate in filter(_not_empty, self.slices))
            return float(max(spreads, default=0.0))
        windows = (narrowest(values, outside, below) for values, below in self._by_rate(rates))
        return max((window.width for window in windows), default=0.0)

    def beyond(self, rates: Any, outside: float) -> NDArray[np.bool_]:
        """Mark people outside the narrowest window that leaves out at most this share.

        Each rate has its own window. Shape (N,), in NumPy.

        Parameters
        ----------
        rates : array, shape (N,)
            Everybody's rates.
        outside : float
            The share of people, from 0 to 1.
        """
        on_host, marks = to_host(rates), np.zeros(len(self), dtype=bool)
        if outside == 0.0:
            return marks
        windows = (narrowest(values, outside, below) for values, below in self._by_rate(on_host))
        for rate, window in zip(filter(_not_empty, self.slices), windows, strict=True):
            marks[rate] = (on_host[rate] < window.low) | (on_host[rate] > window.high)
        return marks

    def highest(self, rates: Any, left_out: float) -> float:
        """Return the highest rate of all but this share of people; 0 if nobody is constrained.

        With several rates: the highest, each rate with its own share.

        Parameters
        ----------
        rates : array, shape (N,)
            Everybody's rates.
        left_out : float
            The share of people with the highest rates, from 0 to 1.
        """
        kept = ~self.topmost(rates, left_out)
        on_host = to_host(rates)
        return float(on_host[kept].max(initial=0.0))

    def share_above(self, rates: Any, cap: float) -> float:
        """Return the share of people whose rate is above the cap; the largest of several rates.

        Parameters
        ----------
        rates : array, shape (N,)
            Everybody's rates.
        cap : float
        """
        above = self.space.xp.astype(rates > cap, self.space.xp.float64)
        return float(self.mean(above).max(initial=0.0))

    def topmost(self, rates: Any, share: float) -> NDArray[np.bool_]:
        """Mark the people with the highest rates, at most this share of them; (N,), in NumPy.

        Parameters
        ----------
        rates : array, shape (N,)
            Everybody's rates.
        share : float
            From 0 to 1, for each rate.
        """
        on_host, marks = to_host(rates), np.zeros(len(self), dtype=bool)
        if share == 0.0:
            return marks
        for rate in filter(_not_empty, self.slices):
            order = np.argsort(-on_host[rate], kind="stable")
            used = np.cumsum(self.multiplicities[rate][order])
            allowed = share * used[-1] * (1.0 + ROUNDING)
            marks[rate][order[used <= allowed]] = True
        return marks

    def kept_among_coin_flips(self, rates: Any, slack: float, outside: float) -> float:
        """Return the largest chance for the model with these rates; coin flips get the rest.

        Coin flips err half the time on everybody, so they shrink all differences by one factor. All
        but the share ``outside`` must lie within the slack of a common rate.

        Parameters
        ----------
        rates : array, shape (N,)
            Everybody's rates.
        slack : float
        outside : float
            The share of people, from 0 to 1.
        """
        width = self.width(rates, outside)
        return min(1.0, 2.0 * slack / width) if width > 0 else 1.0

    def _by_rate(self, rates: Any) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield each rate's values in ascending order, and the running sum of people, from 0.

        A rate without people is skipped.
        """
        on_host = to_host(rates)
        for rate in filter(_not_empty, self.slices):
            values = on_host[rate]
            order = np.argsort(values)
            yield values[order], np.append(0.0, np.cumsum(self.multiplicities[rate][order]))


def _not_empty(rate: slice) -> bool:
    return bool(rate.stop > rate.start)
