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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from averagefair.sample import FloatArray, SignArray

TIE = 1e-12
"""Costs (or scores) that differ by less than this share of their terms are a tie that rounding
would break. Oracles break it by a rule instead, so that they answer alike on every machine."""


@dataclass(frozen=True, eq=False)
class CostRule:
    """How weights become costs: all that a mapping must keep of the training labels.

    Attributes
    ----------
    objective : array, shape (n,)
        a_i / rho^err_i: the price of any mistake on person i in the overall error.
    leverage : array, shape (rates, n)
        1 / rho_i: how much a counted mistake moves person i's rate; 0 if unconstrained.
    negatives, positives : array, shape (rates,)
        Each rate's weight of a mistake on a label 0 and on a label 1.
    """

    objective: FloatArray
    leverage: FloatArray
    negatives: FloatArray
    positives: FloatArray

    def prices(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what a false positive and a false negative on each person cost; shape (n,) both.

        ``weights`` has shape (rates * n,), rate after rate. Where the rates price both alike, the
        two are one and the same array.
        """
        pull = weights.reshape(self.leverage.shape) * self.leverage
        false_positive = self.objective + self.negatives @ pull
        if (self.negatives == self.positives).all():
            return false_positive, false_positive
        return false_positive, self.objective + self.positives @ pull


@dataclass(frozen=True, eq=False)
class Costs:
    """The cost-sensitive problems of k tasks that share the prices of their people.

    Attributes
    ----------
    signs : int8 array, shape (n, k)
    false_positive, false_negative : array, shape (n,)
    tasks : integer array of shape (k,), or None
        Which columns of the bound sample these are; None means all of them.
    """

    signs: SignArray
    false_positive: FloatArray
    false_negative: FloatArray
    tasks: NDArray[np.intp] | None = None

    def gaps(self, rows: slice = slice(None)) -> FloatArray:
        """Return the cost gaps c1 - c0 of these people, shape (rows, k): decide 1 where negative.

        Examples
        --------
        >>> costs = Costs(np.array([[1, -1, 0]], np.int8), np.array([0.5]), np.array([0.2]))
        >>> costs.gaps()
        array([[ 0.5, -0.2,  0. ]])
        """
        signs = self.signs[rows]
        if self.false_positive is self.false_negative:
            return signs * self.false_positive[rows, None]
        gaps = np.maximum(signs, 0) * self.false_positive[rows, None]
        gaps += np.minimum(signs, 0) * self.false_negative[rows, None]
        return gaps
