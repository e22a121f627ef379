"""The Auditor: the dual player, who raises the price of mistakes on the people treated worst.

The Auditor runs exponentiated gradient over the multipliers (Algorithm AIF-Learn). For the paper's
promise, lambda = B softmax(theta) over 2n + 1 coordinates: "+" and "-" for each individual, and an
idle coordinate with theta = 0. One-sided promises have "+" coordinates alone. For the worst-off,
no person's multiplier may exceed a share of the sum, so the softmax is capped.

All of them are one rule: the next multipliers maximise lambda . theta plus the entropy, over the
set of multipliers that the promise allows. Regret bounds for the rule need only that set.
"""

from __future__ import annotations

from math import exp
from typing import Any, Protocol

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair.people.backends import Space


class Auditor(Protocol):
    """The state of the dual player for one limit: theta, which determines the multipliers."""

    def multipliers(self) -> Any:
        """Return lambda."""

    def update(self, rates: Any, common_rate: Any, step: float) -> None:
        """Move theta by step times the violations of one play (an answer of the Learner).

        The theta of an individual whose rate is NaN (no task of the batch counts) stays the same.

        Parameters
        ----------
        rates : array, shape (n,)
        common_rate : float, or array of shape (n,)
        step : float
        """


class TwoSidedAuditor:
    """The paper's Auditor: rates may be too high ("+") or too low ("-").

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
        >>> auditor = TwoSidedAuditor(np.ones(1), slack=0.1, dual_bound=3.0)
        >>> auditor.multipliers()
        array([[1.], [1.]])
        >>> auditor.theta[0] = 1e4
        >>> auditor.multipliers()
        array([[3.], [0.]])
        """
        return _softmax(self.theta, self.dual_bound, self._xp)

    def update(self, rates: Any, common_rate: Any, step: float) -> None:
        """Move theta; see :class:`Auditor`."""
        xp, off = self._xp, rates - common_rate
        defined = ~xp.isnan(off)
        moves = [xp.where(defined, step * (sign * off - self.slack), 0.0) for sign in (1.0, -1.0)]
        self.theta += xp.stack(moves)


class OneSidedAuditor:
    """The Auditor of caps: rates may only be too high.

    Parameters
    ----------
    multiplicities : array, shape (n,)
    caps : float, or array of shape (n,)
        The highest rate allowed.
    dual_bound : float
        B, the largest sum of the multipliers.
    """

    def __init__(self, multiplicities: Any, caps: Any, dual_bound: float) -> None:
        self._xp = Space.of(multiplicities).xp
        self.theta = self._xp.log(multiplicities)
        self.caps, self.dual_bound = caps, dual_bound

    def multipliers(self) -> Any:
        """Return lambda, shape (n,): B exp(theta) / (1 + sum exp(theta)).

        Examples
        --------
        >>> OneSidedAuditor(np.ones(2), 0.3, dual_bound=3.0).multipliers()
        array([1., 1.])
        """
        return _softmax(self.theta, self.dual_bound, self._xp)

    def update(self, rates: Any, common_rate: Any, step: float) -> None:
        """Move theta; see :class:`Auditor`. A cap has no common rate."""
        xp, over = self._xp, rates - self.caps
        self.theta += xp.where(xp.isnan(over), 0.0, step * over)


class WorstOffAuditor:
    """The Auditor of the worst-off share: nobody's multiplier exceeds a share of the sum.

    The multipliers are total * r. Here r is a distribution with r_i <= cap_i, and the caps are
    count_i / (share * people).

    Parameters
    ----------
    multiplicities : array, shape (n,)
    share : float in (0, 1)
    price : float, optional
        The sum of the multipliers.
    max_rate, dual_bound : float
        Without a price: the highest mean rate allowed, and B, the largest sum of the multipliers.
    """

    def __init__(
        self,
        multiplicities: Any,
        share: float,
        *,
        price: float | None = None,
        max_rate: float | None = None,
        dual_bound: float = 1.0,
    ) -> None:
        self._space = Space.of(multiplicities)
        counts = self._space.to_host(multiplicities)
        self._log_caps = np.log(counts / (share * counts.sum()))
        self.theta = np.log(counts)
        self.price, self.max_rate, self.dual_bound = price, max_rate, dual_bound

    def multipliers(self) -> Any:
        """Return lambda, shape (n,).

        Examples
        --------
        >>> auditor = WorstOffAuditor(np.ones(4), share=0.5, price=1.0)
        >>> auditor.theta[:] = [5.0, 0.0, 0.0, 0.0]
        >>> auditor.multipliers().round(3)
        array([0.5  , 0.167, 0.167, 0.167])
        """
        shares = capped_softmax(self.theta, self._log_caps)
        total = self.price
        if total is None:
            used = shares > 0
            # The entropy of the shares competes with the idle coordinate, whose theta is 0.
            gain = float(shares[used] @ (self.theta[used] - np.log(shares[used])))
            total = self.dual_bound * (1.0 / (1.0 + exp(-gain)) if gain > -700.0 else 0.0)
        return self._space.asarray(total * shares)

    def update(self, rates: Any, common_rate: Any, step: float) -> None:
        """Move theta; see :class:`Auditor`. The worst-off have no common rate."""
        over = self._space.to_host(rates) - (self.max_rate or 0.0)
        self.theta += np.where(np.isnan(over), 0.0, step * over)


def _softmax(theta: Any, total: float, xp: Any) -> Any:
    """Return total * exp(theta) / (1 + sum exp(theta)), without overflow."""
    shift = max(0.0, float(xp.max(theta))) if theta.shape[-1] else 0.0
    grown = xp.exp(theta - shift)
    return grown * (total / (exp(-shift) + float(xp.sum(grown))))


def capped_softmax(theta: FloatArray, log_caps: FloatArray) -> FloatArray:
    """Return the distribution r of largest r . theta + entropy with log r <= log_caps.

    It is r_i = min(cap_i, s exp(theta_i)): anybody who would exceed their cap gets the cap,
    and the others share the rest.

    Parameters
    ----------
    theta, log_caps : arrays, shape (n,)
        The caps add up to at least 1.

    Examples
    --------
    >>> capped_softmax(np.log([8.0, 1.0, 1.0]), np.log([0.5, 0.5, 0.5])).round(3)
    array([0.5 , 0.25, 0.25])
    """
    if not theta.size:
        return np.zeros(0)
    order = np.argsort(log_caps - theta, kind="stable")
    caps, grown = np.exp(log_caps[order]), theta[order]
    # For each k: the first k people get their caps, and the scale s is what the rest then get.
    room = 1.0 - np.append(0.0, np.cumsum(caps)[:-1])
    rest = np.logaddexp.accumulate(grown[::-1])[::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.log(np.maximum(room, 0.0)) - rest
    fits = scale + grown <= log_caps[order] + 1e-12
    first = int(np.argmax(fits)) if fits.any() else len(fits)
    out = np.empty(len(theta))
    out[order[:first]] = caps[:first]
    if first < len(theta):
        out[order[first:]] = np.exp(scale[first] + grown[first:])
    total: FloatArray = out / out.sum()
    return total
