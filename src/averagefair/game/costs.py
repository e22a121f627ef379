"""The Learner's costs: cost-sensitive classification (the paper's Definition CSC).

For multipliers with weights w the best response of the Learner is one cost-sensitive problem
for each task j. Up to the common factor b_j, deciding 1 on person i where y_ij = 0 costs

    false_positive_i = a_i / rho^err_i + negatives * w_i / rho_i

and deciding 0 where y_ij = 1 costs

    false_negative_i = a_i / rho^err_i + positives * w_i / rho_i

(Subroutines BEST and BEST_fp, written for any rate; several rates add up). Where a cost is
negative, the mistake is wanted. Unobserved cells cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import frexp, ldexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.game.protocols import Hypothesis
from averagefair.people.backends import Space
from averagefair.people.parts import Part
from averagefair.people.sample import Sample

TIE = 1e-12
"""Costs (or scores) that differ by less than this share of their terms are a tie. Rounding would
break a tie differently on each machine, so oracles break ties by a rule."""

# If the largest price is above this, or below its inverse, float32 may not hold the sums.
_OUT_OF_REACH = 1e25


@dataclass(frozen=True, eq=False)
class CostRule:
    """How weights become costs: the only part of the training labels that a mapping keeps.

    Attributes
    ----------
    objective : array, shape (n,)
        a_i / rho^err_i: the price of any mistake on person i in the overall error.
    leverage : sequence of arrays of shape (n,), one for each rate
        1 / rho_i: how much one counted mistake changes person i's rate; 0 if unconstrained.
    negatives, positives : array, shape (rates,)
        Each rate's weight of a mistake on a label 0 and on a label 1.
    """

    objective: Any
    leverage: Sequence[Any]
    negatives: FloatArray
    positives: FloatArray

    def prices(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the cost of a false positive and of a false negative on each person, (n,) each.

        If all rates weigh both labels equally, both are the same array object.

        Parameters
        ----------
        weights : array, shape (rates * n,)
            Rate after rate.
        """
        pulls = [
            weights[rate * own.shape[0] : (rate + 1) * own.shape[0]] * own
            for rate, own in enumerate(self.leverage)
        ]
        false_positive = self._price(self.negatives, pulls)
        if (self.negatives == self.positives).all():
            return false_positive, false_positive
        return false_positive, self._price(self.positives, pulls)

    def _price(self, shares: FloatArray, pulls: Sequence[Any]) -> Any:
        pairs = zip(shares, pulls, strict=True)
        return self.objective + sum(float(share) * pull for share, pull in pairs)


@dataclass(frozen=True, eq=False)
class Costs:
    """The cost-sensitive problems of k tasks that share the prices of their people.

    Attributes
    ----------
    sample : Sample
        The people, with their labels on these tasks.
    false_positive, false_negative : array, shape (n,)
        The cost of each mistake on each person, in the sample's space.
    tasks : integer array of shape (k,), or None
        The tasks' columns in the sample that the oracle was bound to. None means all columns.
    """

    sample: Sample
    false_positive: Any
    false_negative: Any
    tasks: NDArray[np.intp] | None = None

    @property
    def signs(self) -> Any:
        """Labels as signs, shape (n, k)."""
        return self.sample.signs

    @property
    def prices(self) -> tuple[Any, Any | None]:
        """Costs of a false positive and of a false negative; the second is None if equal."""
        alike = self.false_positive is self.false_negative
        return self.false_positive, None if alike else self.false_negative

    def above_zero(self, hypothesis: Hypothesis) -> FloatArray:
        """Return each task's cost of a hypothesis minus the cost of "always 0"; shape (k,).

        Parameters
        ----------
        hypothesis : Hypothesis
            For the k tasks.

        Examples
        --------
        >>> from averagefair.game.constant_classifiers import Constant
        >>> sample = Sample([[0.0], [1.0]], [[0, 1], [1, 1]])
        >>> Costs(sample, np.ones(2), np.ones(2)).above_zero(Constant(True, 2))
        array([ 0., -2.])
        """
        return np.asarray(self.sample.total(_cost_of_ones, *self.prices, hypothesis=hypothesis))

    def in_reach(self) -> Costs:
        """Return the same problems, with prices rescaled if float32 could not hold them.

        The factor is a power of two, so every comparison of costs stays the same.
        """
        xp = Space.of(self.false_positive).xp
        most = max(float(xp.max(xp.abs(price))) for price in self.prices if price is not None)
        if most == 0.0 or 1.0 / _OUT_OF_REACH < most < _OUT_OF_REACH:
            return self
        unit = ldexp(1.0, min(-frexp(most)[1], 1000))
        first = self.false_positive * unit
        alike = self.false_positive is self.false_negative
        other = first if alike else self.false_negative * unit
        return replace(self, false_positive=first, false_negative=other)

    def gaps(self, rows: slice = slice(None), columns: slice = slice(None)) -> FloatArray:
        """Return the cost gaps c1 - c0 of these people and tasks: decide 1 where negative.

        Shape (rows, columns).

        Parameters
        ----------
        rows, columns : slice
            People and tasks. Default: all.

        Examples
        --------
        >>> sample = Sample([[0.0]], [[0, 1, None]])
        >>> Costs(sample, np.array([0.5]), np.array([0.2])).gaps()
        array([[ 0.5, -0.2,  0. ]])
        """
        false_positive, false_negative = self.prices
        other = None if false_negative is None else false_negative[rows]
        return np.asarray(gaps(self.signs[rows, columns], false_positive[rows], other))


def _cost_of_ones(
    part: Part, false_positive: Any, false_negative: Any | None, *, hypothesis: Hypothesis
) -> FloatArray:
    """Return the sum of the gaps of people for whom a hypothesis decides 1, shape (k,)."""
    space, xp = part.space, part.space.xp
    total = np.zeros(part.signs.shape[1])
    for rows in part.blocks(len(total)):
        ones = hypothesis.decide(part.features[rows, :])
        signs = xp.astype(xp.astype(ones, xp.int8) * part.signs[rows, :], xp.float64)
        if false_negative is None:
            costs = false_positive[rows] @ signs
        else:
            costs = xp.sum(gaps(signs, false_positive[rows], false_negative[rows]), axis=0)
        total += space.to_host(costs)
    return total


def gaps(signs: Any, false_positive: Any, false_negative: Any | None) -> Any:
    """Return the cost gaps of people with these signs and prices, shape (rows, k).

    ``false_negative`` is None if both mistakes cost the same. The arrays must have dtypes that
    their library can multiply.
    """
    if false_negative is None:
        return signs * false_positive[:, None]
    xp = Space.of(signs).xp
    return signs * xp.where(signs > 0, false_positive[:, None], false_negative[:, None])
