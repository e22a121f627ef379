"""The mean rate, with an interval that minds both who was audited and on which tasks.

Everybody meets the same tasks, so people's rates rise and fall together: an interval over people
alone holds the truth less than half of the time where it says 95%
(``test_what_the_wrong_figures_come_to`` in ``tests/test_audit_simulation.py``).
"""

from __future__ import annotations

from math import nan

import numpy as np

from averagefair.auditing.chance import EPSILON
from averagefair.auditing.estimates import UNKNOWN, Estimate, with_interval
from averagefair.auditing.tally import Tally
from averagefair.sample import FloatArray


def mean_rate(
    rates: FloatArray,
    task_means: FloatArray,
    squares: float,
    tally: Tally,
    confidence: float,
) -> Estimate:
    """Return the mean rate and its two-way interval.

    That is Ebar +- t sqrt(V), t of units - 1 degrees of freedom, with

    V = sum_i (E_i - Ebar)^2 / (n (n - 1)) + u / (u - 1) sum_j zbar_j^2 - sum_ij z_ij^2 / n^2.

    Where V comes out negative (the cells vary more than people and tasks together), the last
    term alone is taken: every cell as a draw of its own.

    Parameters
    ----------
    rates : array, shape (n,)
        E_i, of those who have one.
    task_means : array, shape (units,)
        zbar_j: the mean over people of z_ij = W_ij (L_ij - Ebar) / m_i.
    squares : float
        The sum of all z_ij squared.
    tally : Tally
        For u, the tasks in which anything counts, and u / (u - 1); of families see
        :attr:`Tally.task_factor`.
    """
    n, units = rates.size, tally.live.size
    if n == 0:
        return UNKNOWN
    mean = float(rates.mean())
    # Where no cell differs from the mean, nothing shows how it would vary.
    if n == 1 or units < 2 or squares == 0:
        return Estimate(mean, nan, nan, nan, nan)
    people = float(np.square(rates - mean).sum()) / (n * (n - 1))
    cells = squares / n**2
    tasks = tally.task_factor * float(task_means @ task_means) - cells
    if people + tasks <= 0:
        people, tasks = 0.0, cells
    return with_interval(mean, people, tasks, units, confidence)


def mean_over_people(rates: FloatArray, confidence: float) -> Estimate:
    """Return the mean rate and its interval over people alone: tasks are these and no others.

    Ebar +- t sqrt(sum_i (E_i - Ebar)^2 / (n (n - 1))), t of n - 1 degrees of freedom. It holds for
    people drawn alike whom nothing was learned from.

    Parameters
    ----------
    rates : array, shape (n,)
        E_i, of those who have one.
    """
    n = rates.size
    if n == 0:
        return UNKNOWN
    mean = float(rates.mean())
    variance = float(np.square(rates - mean).sum()) / (n * (n - 1)) if n > 1 else 0.0
    if variance <= EPSILON**2:  # nothing shows how the mean would vary
        return Estimate(mean, nan, nan, nan, nan)
    return with_interval(mean, variance, 0.0, n, confidence)
