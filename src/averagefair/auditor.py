"""The Auditor: the dual player, who raises the price of whoever is treated worst.

Exponentiated gradient over the multipliers (Algorithm AIF-Learn): lambda = B softmax(theta) over
2n + 1 coordinates, "+" and "-" for each individual and one that stays idle at 0.
"""

from __future__ import annotations

import numpy as np

from averagefair.sample import FloatArray


def violations(rates: FloatArray, common_rate: float, slack: float) -> FloatArray:
    """Return r(h, gamma), shape (2, n): R - gamma - slack above, gamma - R - slack below.

    The paper's Equation for r, with ``slack`` in the place of its 2 alpha.

    Examples
    --------
    >>> violations(np.array([0.5, 0.1]), 0.25, 0.125)
    array([[ 0.125, -0.275], [-0.375,  0.025]])
    """
    off = rates - common_rate
    return np.stack([off - slack, -off - slack])


def lagrangian(error: float, violation: FloatArray, multipliers: FloatArray) -> float:
    """Return L = err + lambda . r, the Learner's loss and the Auditor's gain."""
    return error + float(np.vdot(multipliers, violation))


def worst_case(error: float, violation: FloatArray, dual_bound: float) -> float:
    """Return L at the Auditor's best response: B on the worst violation, or nothing.

    Examples
    --------
    >>> worst_case(0.2, np.array([[-0.1, 0.05], [-0.1, -0.2]]), dual_bound=10.0)
    0.7
    """
    return error + dual_bound * max(0.0, float(violation.max(initial=0.0)))


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

    def update(self, rates: FloatArray, common_rate: float, step: float) -> None:
        """Move theta by step times the violations of one play.

        An individual whose rate is NaN (none of the tasks looked at counts) is left alone.
        """
        change = step * violations(rates, common_rate, self.slack)
        self.theta += np.where(np.isnan(change), 0.0, change)
