"""The Auditor: the dual player, who raises the price of mistakes on the people treated worst.

The Auditor runs exponentiated gradient over the multipliers (Algorithm AIF-Learn):
lambda = B softmax(theta). There are 2n + 1 coordinates: "+" and "-" for each individual, and an
idle coordinate with theta = 0.
"""

from __future__ import annotations

from math import exp
from typing import Any

from averagefair.people.backends import Space


def lagrangian(
    error: float,
    rates: Any,
    common_rate: Any,
    weights: Any,
    price: float,
) -> float:
    """Return the Lagrangian L = err + lambda . r, which the Learner pays the Auditor.

    Here r = (R - gamma - slack, gamma - R - slack). With the weights w = lambda+ - lambda- and
    ``price`` = slack * sum(lambda), this is L = err + w . (R - gamma) - price. (This is the paper's
    Lagrangian, with ``slack`` in place of the paper's 2 alpha.)
    """
    return error + float(weights @ (rates - common_rate)) - price


def worst_case(error: float, deviation: float, slack: float, dual_bound: float) -> float:
    """Return L at the Auditor's best response: B on the worst violation, or 0 if there is none.

    Examples
    --------
    >>> worst_case(0.25, deviation=0.75, slack=0.5, dual_bound=10.0)
    2.75
    """
    return error + dual_bound * max(0.0, deviation - slack)


class Auditor:
    """The state of the dual player: theta, which determines the multipliers.

    Parameters
    ----------
    multiplicities : array, shape (n,)
        How many people each individual stands for. theta starts at their logarithm, so that one row
        of weight 2 is priced like two rows of weight 1. (If all are 1, theta starts at 0, as in the
        paper.)
    slack, dual_bound : float
        The allowed ``|R_i - gamma|``, and B, the largest sum of the multipliers.

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
        """Move theta by step times the violations of one play (an answer of the Learner).

        The theta of an individual whose rate is NaN (no task of the batch counts) stays the same.
        """
        xp, off = self._xp, rates - common_rate
        defined = ~xp.isnan(off)
        moves = [xp.where(defined, step * (sign * off - self.slack), 0.0) for sign in (1.0, -1.0)]
        self.theta += xp.stack(moves)
