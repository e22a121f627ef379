"""The Auditor: the dual player, who raises the price of whoever is treated worst.

Exponentiated gradient over the multipliers (Algorithm AIF-Learn): lambda = B softmax(theta) over
2n + 1 coordinates, "+" and "-" for each individual and one that stays idle at 0.
"""

from __future__ import annotations

import numpy as np

from averagefair.sample import FloatArray


def lagrangian(
    error: float,
    rates: FloatArray,
    common_rate: FloatArray | float,
    weights: FloatArray,
    price: float,
) -> float:
    """Return L = err + lambda . r, what the Learner pays the Auditor.

    With r = (R - gamma - slack, gamma - R - slack) it needs of lambda no more than its weights
    w = lambda+ - lambda- and ``price`` = slack * sum(lambda): L = err + w . (R - gamma) - price.
    (The paper's Lagrangian, with ``slack`` in the place of its 2 alpha.)
    """
    return error + float(weights @ (rates - common_rate)) - price


def worst_case(error: float, deviation: float, slack: float, dual_bound: float) -> float:
    """Return L at the Auditor's best response: B on the worst violation, or nothing.

    Examples
    --------
    >>> worst_case(0.25, deviation=0.75, slack=0.5, dual_bound=10.0)
    2.75
    """
    return error + dual_bound * max(0.0, deviation - slack)


class Auditor:
    """The state of the dual player: theta, and the multipliers it stands for.

    Parameters
    ----------
    multiplicities : array, shape (n,)
        How many people each individual stands for. theta starts at their logarithm, so that one
        row of weight 2 is priced as two rows of weight 1 are together (all 1: the paper's 0).
    slack, dual_bound : float
        The allowed |R_i - gamma|, and B, the most that all multipliers may add up to.

    Attributes
    ----------
    theta : array, shape (2, n)
        Rows "+" (rate too high) and "-" (rate too low).
    """

    def __init__(self, multiplicities: FloatArray, slack: float, dual_bound: float) -> None:
        self.theta = np.tile(np.log(multiplicities), (2, 1))
        self.slack, self.dual_bound = slack, dual_bound

    def multipliers(self) -> FloatArray:
        """Return lambda, shape (2, n): B exp(theta) / (1 + sum exp(theta)), without overflow.

        Examples
        --------
        >>> auditor = Auditor(np.ones(1), slack=0.1, dual_bound=3.0)
        >>> auditor.multipliers()
        array([[1.], [1.]])
        >>> auditor.theta[0] = 1e4
        >>> auditor.multipliers()
        array([[3.], [0.]])
        """
        shift = max(0.0, float(self.theta.max(initial=0.0)))
        grown = np.exp(self.theta - shift)
        return np.asarray(grown * (self.dual_bound / (np.exp(-shift) + grown.sum())))

    def update(self, rates: FloatArray, common_rate: FloatArray | float, step: float) -> None:
        """Move theta by step times the violations of one play.

        An individual whose rate is NaN (none of the tasks looked at counts) is left alone.
        """
        off = rates - common_rate
        defined = ~np.isnan(off)
        self.theta[0] += np.where(defined, step * (off - self.slack), 0.0)
        self.theta[1] += np.where(defined, step * (-off - self.slack), 0.0)
