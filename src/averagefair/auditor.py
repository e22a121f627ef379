"""The Auditor: the dual player, who raises the price of whoever is treated worst.

Exponentiated gradient over the multipliers (Algorithm AIF-Learn): lambda = B softmax(theta) over
2n + 1 coordinates, "+" and "-" for each individual and one that stays idle at 0.
"""

from __future__ import annotations

from math import exp
from typing import Any

from averagefair.spaces import Space


def lagrangian(
    error: float,
    rates: Any,
    common_rate: Any,
    weights: Any,
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
        The allowed ``|R_i - gamma|``, and B, the most that all multipliers may add up to.

    Attributes
    ----------
    theta : array, shape (2, n)
        Rows "+" (rate too high) and "-" (rate too low).
    """

    def __init__(self, multiplicities: Any, slack: float, dual_bound: float) -> None:
        self._xp = Space.of(multiplicities).xp
        self.theta = self._xp.stack([self._xp.log(multiplicities)] * 2)
        self.slack, self.dual_bound = slack, dual_bound

    def multipliers(self) -> Any:
        """Return lambda, shape (2, n): B exp(theta) / (1 + sum exp(theta)), without overflow.

        Examples
        --------
        >>> import numpy as np
        >>> auditor = Auditor(np.ones(1), slack=0.1, dual_bound=3.0)
        >>> auditor.multipliers()
        array([[1.], [1.]])
        >>> auditor.theta[0] = 1e4
        >>> auditor.multipliers()
        array([[3.], [0.]])
        """
        xp = self._xp
        shift = max(0.0, float(xp.max(self.theta))) if self.theta.shape[1] else 0.0
        grown = xp.exp(self.theta - shift)
        return grown * (self.dual_bound / (exp(-shift) + float(xp.sum(grown))))

    def update(self, rates: Any, common_rate: Any, step: float) -> None:
        """Move theta by step times the violations of one play.

        An individual whose rate is NaN (none of the tasks looked at counts) is left alone.
        """
        xp, off = self._xp, rates - common_rate
        defined = ~xp.isnan(off)
        moves = [xp.where(defined, step * (sign * off - self.slack), 0.0) for sign in (1.0, -1.0)]
        self.theta += xp.stack(moves)
