"""The constraints: whose rates must be near which common rate.

One pair of constraints, |R_c - gamma_r| <= slack, for each individual c whose rate r is defined.
With several rates (false positives and false negatives, say) each rate has a common rate of its
own and the pairs of all rates stand in one vector, rate after rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from averagefair.sample import FloatArray
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

    def __len__(self) -> int:
        return len(self.people)

    def expand(self, common_rates: FloatArray) -> FloatArray:
        """Return each constraint's common rate, shape (N,)."""
        return np.asarray(common_rates[self.rate_of], dtype=np.float64)

    def add_up(self, values: FloatArray) -> FloatArray:
        """Return the sum over the constraints of each rate, shape (rates,)."""
        total = np.bincount(self.rate_of, weights=values, minlength=self.rate_count)
        return np.asarray(total, dtype=np.float64)

    def mean(self, values: FloatArray) -> FloatArray:
        """Return the mean over the people of each rate, shape (rates,); 0 where there are none."""
        people = self.add_up(self.multiplicities)
        return self.add_up(self.multiplicities * values) / np.where(people > 0, people, 1.0)

    def best_common_rates(self, weights: FloatArray) -> FloatArray:
        """Return the Learner's gamma for these weights: 1 where they add up to more than 0."""
        return (self.add_up(weights) > 0).astype(np.float64)

    def deviation(self, rates: FloatArray, common_rates: FloatArray) -> float:
        """Return the largest |R - gamma|; 0 where nobody is constrained."""
        return float(np.abs(rates - self.expand(common_rates)).max(initial=0.0))

    def spread(self, rates: FloatArray) -> float:
        """Return the largest less the smallest rate, of whichever rate is spread out most."""
        low, high = self._ends(rates)
        return float((high - low).max(initial=0.0, where=high >= low))

    def middle(self, rates: FloatArray, of: NDArray[np.bool_] | None = None) -> FloatArray:
        """Return the common rates that are nearest to everybody, or to these; shape (rates,)."""
        low, high = self._ends(rates, of)
        some = high >= low
        return 0.5 * (np.where(some, low, 0.5) + np.where(some, high, 0.5))

    def _ends(
        self, rates: FloatArray, of: NDArray[np.bool_] | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and the largest of each rate; inf and -inf where there are none."""
        rate_of = self.rate_of
        if of is not None:
            rates, rate_of = rates[of], rate_of[of]
        low, high = np.full(self.rate_count, np.inf), np.full(self.rate_count, -np.inf)
        np.minimum.at(low, rate_of, rates)
        np.maximum.at(high, rate_of, rates)
        return low, high

    def share_outside(self, rates: FloatArray, slack: float) -> float:
        """Return the beta reached: the least share of people outside a window of 2 slack.

        The window may lie anywhere: fairness asks for *some* common rate. With several rates each
        has its own window, and the largest share counts.
        """
        return max(
            (fullest(mine, 2.0 * slack, below)[1] for mine, below in self._by_rate(rates)),
            default=0.0,
        )

    def width(self, rates: FloatArray, outside: float) -> float:
        """Return the width of the narrowest window that leaves out no more than this share.

        With several rates, the widest of theirs. With nobody left out it is the spread.
        """
        windows = (narrowest(mine, outside, below) for mine, below in self._by_rate(rates))
        return max((window.width for window in windows), default=0.0)

    def _by_rate(self, rates: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield each rate's rates in ascending order, and the running sum of people from 0 on.

        A rate that nobody has is passed over.
        """
        for rate in range(self.rate_count):
            mine = np.flatnonzero(self.rate_of == rate)
            if not mine.size:
                continue
            order = mine[np.argsort(rates[mine])]
            yield rates[order], np.append(0.0, np.cumsum(self.multiplicities[order]))
