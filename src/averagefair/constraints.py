"""The constraints: whose rates must be near which common rate.

One pair of constraints, |R_c - gamma_r| <= slack, for each individual c whose rate r is defined.
With several rates (false positives and false negatives, say) each rate has a common rate of its
own and the pairs of all rates stand in one vector, rate after rate.

Vectors over the constraints live in the sample's space; common rates, a number for each rate, are
NumPy's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.sample import FloatArray
from averagefair.spaces import NUMPY, Space, to_host
from averagefair.windows import fullest, narrowest


@dataclass(frozen=True, eq=False)
class Constraints:
    """Which individual and which rate each constrained rate belongs to. N pairs in all.

    Attributes
    ----------
    people : integer array, shape (N,)
        The individual.
    rate_of : integer array, shape (N,)
        The rate, counted from 0; ascending.
    multiplicities : array, shape (N,)
        How many people the individual stands for.
    rate_count : int
        How many rates there are.
    space : Space
        Where vectors over the constraints live.

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
    def _stretches(self) -> list[slice]:
        """Where each rate's constraints stand."""
        ends = np.searchsorted(self.rate_of, np.arange(self.rate_count + 1)).tolist()
        return [slice(*pair) for pair in pairwise(ends)]

    @cached_property
    def _rate_of(self) -> Any:
        return self.space.asarray(self.rate_of)

    def expand(self, common_rates: FloatArray) -> Any:
        """Return each constraint's common rate: a number if there is one rate, else (N,).

        Parameters
        ----------
        common_rates : array, shape (rates,)
            gamma of each rate.
        """
        if self.rate_count == 1:
            return float(common_rates[0])
        return self.space.xp.take(self.space.asarray(common_rates), self._rate_of)

    def add_up(self, values: Any) -> FloatArray:
        """Return the sum over the constraints of each rate, shape (rates,).

        Parameters
        ----------
        values : array, shape (N,)
            A number for each constraint.
        """
        total = self.space.xp.sum
        return np.array([float(total(values[stretch])) for stretch in self._stretches])

    def mean(self, values: Any) -> FloatArray:
        """Return the mean over the people of each rate, shape (rates,); 0 where there are none.

        Parameters
        ----------
        values : array, shape (N,)
            A number for each constraint.
        """
        people = self.add_up(self.counts)
        return self.add_up(self.counts * values) / np.where(people > 0, people, 1.0)

    def best_common_rates(self, weights: Any) -> FloatArray:
        """Return the Learner's gamma for these weights: 1[sum w > 0], as the paper has it.

        The inequality is strict and has no tolerance, however small the weights are. Where the
        weights cancel, either gamma is a best response, and the rounding of the sum decides.

        Parameters
        ----------
        weights : array, shape (N,)
            w, of either sign.
        """
        return (self.add_up(weights) > 0).astype(np.float64)

    def deviation(self, rates: Any, common_rates: FloatArray) -> float:
        """Return the largest ``|R - gamma|``; 0 where nobody is constrained.

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
        """Return the largest less the smallest rate, of whichever rate is spread out most.

        Parameters
        ----------
        rates : array, shape (N,)
            Everybody's rates.
        """
        low, high = self._ends(rates)
        return float((high - low).max(initial=0.0, where=high >= low))

    def middle(self, rates: Any, of: NDArray[np.bool_] | None = None) -> FloatArray:
        """Return the common rates that are nearest to everybody, or to these; shape (rates,).

        Parameters
        ----------
        rates : array, shape (N,)
            Everybody's rates.
        of : bool array, shape (N,), optional
            Whose rates to look at. Default: everybody.
        """
        low, high = self._ends(rates, of)
        some = high >= low
        return 0.5 * (np.where(some, low, 0.5) + np.where(some, high, 0.5))

    def _ends(
        self, rates: Any, of: NDArray[np.bool_] | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and the largest of each rate; inf and -inf where there are none."""
        xp = self.space.xp
        ends = np.array([[np.inf] * self.rate_count, [-np.inf] * self.rate_count])
        for place, stretch in enumerate(self._stretches):
            mine = rates[stretch]
            if of is not None and not of[stretch].all():
                mine = mine[self.space.asarray(of[stretch])]
            if mine.shape[0]:
                ends[:, place] = float(xp.min(mine)), float(xp.max(mine))
        return ends[0], ends[1]

    def share_outside(self, rates: Any, slack: float) -> float:
        """Return the beta reached: the least share of people outside a window of 2 slack.

        The window may lie anywhere: fairness asks for *some* common rate. With several rates each
        has its own window, and the largest share counts.

        Parameters
        ----------
        rates : array, shape (N,)
            Everybody's rates.
        slack : float
            Half the width of the window.
        """
        return max(
            (fullest(mine, 2.0 * slack, below)[1] for mine, below in self._by_rate(rates)),
            default=0.0,
        )

    def width(self, rates: Any, outside: float) -> float:
        """Return the width of the narrowest window that leaves out no more than this share.

        With several rates, the widest of theirs. With nobody left out it is the spread.

        Parameters
        ----------
        rates : array, shape (N,)
            Everybody's rates.
        outside : float
            The share of people, from 0 to 1.
        """
        if outside == 0.0:  # the spread exactly, however little somebody weighs
            on_host = to_host(rates)
            spreads = (np.ptp(on_host[stretch]) for stretch in filter(_some, self._stretches))
            return float(max(spreads, default=0.0))
        windows = (narrowest(mine, outside, below) for mine, below in self._by_rate(rates))
        return max((window.width for window in windows), default=0.0)

    def beyond(self, rates: Any, outside: float) -> NDArray[np.bool_]:
        """Mark who lies beyond the narrowest window that leaves out no more than this share.

        Each rate has a window of its own. Shape (N,), on the host.

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
        windows = (narrowest(mine, outside, below) for mine, below in self._by_rate(on_host))
        for stretch, window in zip(filter(_some, self._stretches), windows, strict=True):
            mine = on_host[stretch]
            marks[stretch] = (mine < window.low) | (mine > window.high)
        return marks

    def kept_among_coin_flips(self, rates: Any, slack: float, outside: float) -> float:
        """Return the largest chance of these rates that, with coin flips else, keeps to the slack.

        Coin flips err half the time on everybody, so they shrink every difference alike. All but
        the share ``outside`` are to lie within the slack of a common rate.

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
        """Yield each rate's rates in ascending order, and the running sum of people from 0 on.

        A rate that nobody has is passed over.
        """
        on_host = to_host(rates)
        for stretch in filter(_some, self._stretches):
            mine = on_host[stretch]
            order = np.argsort(mine)
            yield mine[order], np.append(0.0, np.cumsum(self.multiplicities[stretch][order]))


def _some(stretch: slice) -> bool:
    """Return whether there is anything in a stretch."""
    return bool(stretch.stop > stretch.start)
