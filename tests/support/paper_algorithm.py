"""Algorithm AIF-Learn of the paper as a plain NumPy loop, independent of the library's code.

(The authors' published runs, with replay and shrinking, are ``experiment_judges.PublishedGame``.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class PlainRun(NamedTuple):
    """The average of all rounds.

    ``vanished`` counts the rounds whose multipliers sum to less than 1e-12 but are not all 0.
    ``closest`` is the least abs(sum w) / sum abs(w). If it is far above rounding, no common rate is
    a near tie.
    """

    error: float
    common_rate: float
    rates: np.ndarray
    vanished: int
    closest: float


def aif_learn(Y, decisions, alpha, nu, rounds, faster=1):
    """Play the first rounds of AIF-Learn over a class of k classifiers, for all tasks.

    Among classifiers of equal cost (within 1e-12) it takes the first, as FiniteOracle documents.

    Parameters
    ----------
    Y : array, shape (n, m)
    decisions : bool array, shape (k, n)
        The decisions of each classifier of the class.
    alpha, nu : float
        The paper's: half the slack, and the distance from equilibrium.
    rounds : int
        How many of the paper's T rounds to play.
    faster : float
        A factor on the paper's step size.
    """
    n, m = Y.shape
    dual_bound, scale = (1 + 2 * nu) / alpha, (1 + 2 * alpha) ** 2
    step = faster * nu / (4 * scale * dual_bound)
    wrong = (decisions[:, :, None] != Y).astype(float)
    theta, error_sum, rate_sum, common_rate_sum = np.zeros((2, n)), 0.0, np.zeros(n), 0
    vanished, closest = 0, np.inf
    for _ in range(rounds):
        shift = max(0.0, theta.max())
        grown = np.exp(theta - shift)
        multipliers = dual_bound * grown / (np.exp(-shift) + grown.sum())
        w = multipliers[0] - multipliers[1]
        common_rate = int(w.sum() > 0)
        if w.any():
            vanished += multipliers.sum() < 1e-12
            closest = min(closest, abs(w.sum()) / np.abs(w).sum())
        costs = np.tensordot(1 / n + w, wrong, axes=(0, 1))
        cheapest = costs <= costs.min(axis=0) + 1e-12 * np.abs(1 / n + w).sum()
        rates = wrong[cheapest.argmax(axis=0), :, np.arange(m)].mean(axis=0)
        error_sum += rates.mean()
        rate_sum += rates
        common_rate_sum += common_rate
        off = rates - common_rate
        theta += step * np.array([off - 2 * alpha, -off - 2 * alpha])
    return PlainRun(
        error_sum / rounds, common_rate_sum / rounds, rate_sum / rounds, vanished, closest
    )
