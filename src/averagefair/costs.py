"""The Learner's costs: cost-sensitive classification (the paper's Definition CSC).

For multipliers with weights w the best response of the Learner is one cost-sensitive problem
for each task j. Up to the common factor b_j, deciding 1 on person i where y_ij = 0 costs

    false_positive_i = a_i / rho^err_i + negatives * w_i / rho_i

and deciding 0 where y_ij = 1 costs

    false_negative_i = a_i / rho^err_i + positives * w_i / rho_i

(Subroutines BEST and BEST_fp, written for any rate; several rates add up). Costs may be negative:
then the mistake is wanted. Unobserved cells cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import frexp, ldexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.parts import Part
from averagefair.protocols import Hypothesis
from averagefair.sample import FloatArray, Sample
from averagefair.spaces import Space

TIE = 1e-12
"""Costs (or scores) that differ by less than this share of their terms are a tie that rounding
would break. Oracles break it by a rule instead, so that they answer alike on every machine."""

# Sums of prices beyond this, or of their inverses, may be too large for float32.
_OUT_OF_REACH = 1e25


@dataclass(frozen=True, eq=False)
class CostRule:
    """How weights become costs: all that a mapping must keep of the training labels.

    Attributes
    ----------
    objective : array, shape (n,)
        a_i / rho^err_i: the price of any mistake on person i in the overall error.
    leverage : sequence of arrays of shape (n,), one for each rate
        1 / rho_i: how much a counted mistake moves person i's rate; 0 if unconstrained.
    negatives, positives : array, shape (rates,)
        Each rate's weight of a mistake on a label 0 and on a label 1.
    """

    objective: Any
    leverage: Sequence[Any]
    negatives: FloatArray
    positives: FloatArray

    def prices(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what a false positive and a false negative on each person cost; shape (n,) both.

        Where the rates price both alike, the two are one and the same array.

        Parameters
        ----------
        weights : array, shape (rates * n,)
            Rate after rate.
        """
        pulls = [
            weights[place * own.shape[0] : (place + 1) * own.shape[0]] * own
            for place, own in enumerate(self.leverage)
        ]
        false_positive = self._price(self.negatives, pulls)
        if (self.negatives == self.positives).all():
            return false_positive, false_positive
        return false_positive, self._price(self.positives, pulls)

    def _price(self, shares: FloatArray, pulls: Sequence[Any]) -> Any:
        return self.objective + sum(float(b) * pull for b, pull in zip(shares, pulls, strict=True))


@dataclass(frozen=True, eq=False)
class Costs:
    """The cost-sensitive problems of k tasks that share the prices of their people.

    Attributes
    ----------
    sample : Sample
        The people, with their labels on these tasks.
    false_positive, false_negative : array, shape (n,)
        In the sample's space.
    tasks : integer array of shape (k,), or None
        Which columns of the bound sample these are; None means all of them.
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
        """Of a false positive and of a false negative; None where both are priced alike."""
        alike = self.false_positive is self.false_negative
        return self.false_positive, None if alike else self.false_negative

    def above_zero(self, hypothesis: Hypothesis) -> FloatArray:
        """Return what a hypothesis costs more than deciding 0 always, task by task; shape (k,).

        Parameters
        ----------
        hypothesis : Hypothesis
            For the k tasks.

        Examples
        --------
        >>> from averagefair.constants import Constant
        >>> sample = Sample([[0.0], [1.0]], [[0, 1], [1, 1]])
        >>> Costs(sample, np.ones(2), np.ones(2)).above_zero(Constant(True, 2))
        array([ 0., -2.])
        """
        return np.asarray(self.sample.total(_cost_of_ones, *self.prices, hypothesis=hypothesis))

    def in_reach(self) -> Costs:
        """Return the same problems priced in another unit where float32 could not hold the prices.

        By a power of two: no comparison of costs comes out differently.
        """
        xp = Space.of(self.false_positive).xp
        most = max(float(xp.max(xp.abs(one))) for one in self.prices if one is not None)
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
            Which people and which tasks. Default: all.

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
    """Return the sum of the gaps of those for whom a hypothesis decides 1, shape (k,)."""
    space, xp = part.space, part.space.xp
    total = np.zeros(part.signs.shape[1])
    for rows in part.blocks(len(total)):
        ones = hypothesis.decide(part.features[rows, :])
        signs = xp.astype(xp.astype(ones, xp.int8) * part.signs[rows, :], xp.float64)
        if false_negative is None:
            found = false_positive[rows] @ signs
        else:
            found = xp.sum(gaps(signs, false_positive[rows], false_negative[rows]), axis=0)
        total += space.to_host(found)
    return total


def gaps(signs: Any, false_positive: Any, false_negative: Any | None) -> Any:
    """Return the cost gaps of people with these signs and prices, shape (rows, k).

    ``false_negative`` is None where both mistakes are priced alike. All of one kind of number, or
    of kinds that their library lets meet.
    """
    if false_negative is None:
        return signs * false_positive[:, None]
    xp = Space.of(signs).xp
    return signs * xp.where(signs > 0, false_positive[:, None], false_negative[:, None])
