"""Draws of classifiers: how far they move people's rates.

These results are ours, not the paper's. Each task draws r classifiers from a mixture, independently
of the other tasks (:meth:`averagefair.Mixture.sparsify`). A person's rate is a mean over tasks, so
the draws average out over tasks too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from averagefair.errors import InputError
from averagefair.theory.ranges import count, real, tasks_of_a_person, whole


def draws_per_task(n: int, m: float, alpha: float, delta: float) -> int:
    """Return r, the draws for each task that move nobody's rate by more than alpha.

    r = log(2n / delta) / (2 m alpha^2), rounded up. With probability 1 - delta over the draws, this
    holds for all n people at once. The people, the tasks and the mixture are fixed before the
    draws. On the same event the overall error moves by at most alpha, if the rate is the error
    rate.

    :func:`sparse_support` is the paper's number. It also covers draws that all tasks share, and the
    chance of every single decision.

    Parameters
    ----------
    n : int
        Number of individuals.
    m : float
        Number of tasks: for complete labels and equal task weights, the tasks themselves. Otherwise
        the least of :func:`effective_tasks`.
    alpha : float in (0, 0.25]
        The theory's alpha, half the slack: the change to accept.
    delta : float in (0, 1)
        The accepted chance of failure.

    Examples
    --------
    >>> draws_per_task(200, 200, 0.03, 0.05)
    25
    """
    log, m = math.log(2 * count("n", n)) - math.log(real("delta", delta)), tasks_of_a_person(m)
    alpha = real("alpha", alpha)
    return max(1, whole("The number of draws", log / 2 / m / alpha / alpha))


def draws_deviation(n: int, m: float, r: int, delta: float) -> float:
    """Return alpha, the most that r draws for each task move anybody's rate.

    alpha = sqrt(log(2n / delta) / (2 m r)), at most 1. With probability 1 - delta over the draws,
    this holds for all n people at once. With r = 1, each task has one classifier, drawn once and
    used for everybody. This is the inverse of :func:`draws_per_task`.

    Parameters
    ----------
    n : int
        Number of individuals. With 1, this bounds the change of one person's rate, and of the
        overall error if labels are complete and tasks weigh the same.
    m : float
        Number of tasks, as in :func:`draws_per_task`.
    r : int
        Number of draws for each task.
    delta : float in (0, 1)
        The accepted chance of failure.

    Examples
    --------
    >>> round(draws_deviation(200, 200, 1, 0.05), 4)
    0.1499
    >>> draws_deviation(200, 200, 25, 0.05) <= 0.03
    True
    """
    log = math.log(2 * count("n", n)) - math.log(real("delta", delta))
    return min(1.0, math.sqrt(log / 2 / tasks_of_a_person(m) / count("r", r)))


def effective_tasks(
    counted: ArrayLike,
    *,
    task_weights: ArrayLike | None = None,
    drawn: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Return the number of tasks over which each person's draws average out, shape (n,).

    It is rho_i^2 / sum_j (b_j e_ij)^2, where e_ij marks the cells that count towards the rate, b_j
    are the task weights and rho_i = sum_j b_j e_ij. By Hoeffding's inequality this number takes the
    place of m. For equal weights it is the number of cells that count.

    Given ``drawn``, the sum in the denominator is over drawn cells alone: draws do not move the
    other cells. For equal weights and k_i drawn cells, the number is m_i^2 / k_i, where m_i cells
    count.

    Parameters
    ----------
    counted : array-like, shape (n, m)
        e_ij, not negative. Error rates: whether the label is known. False-positive rates: whether
        the label is 0.
    task_weights : array-like, shape (m,), optional
        b_j. Default: equal.
    drawn : array-like of bool, shape (n, m), optional
        Whether the mixture's chance of deciding 1 lies strictly between 0 and 1. Default: all may.

    Returns
    -------
    array, shape (n,)
        NaN where no cell counts; infinite where no cell that counts is drawn.

    Examples
    --------
    >>> effective_tasks([[1, 1, 1, 1], [1, 1, 0, 0]])
    array([4., 2.])
    >>> effective_tasks([[1, 1, 1, 1]], task_weights=[3, 1, 1, 1])
    array([3.])
    >>> effective_tasks([[1, 1, 1, 1]], drawn=[[True, False, False, False]])
    array([16.])
    """
    e = np.asarray(counted, dtype=np.float64)
    b = np.ones(e.shape[-1:]) if task_weights is None else np.asarray(task_weights, np.float64)
    marks: NDArray[Any] = np.ones(e.shape) if drawn is None else np.asarray(drawn)
    if e.ndim != 2 or b.shape != e.shape[1:] or marks.shape != e.shape:
        raise InputError(
            "`counted` and `drawn` must have one row for each person and one column for each task, "
            f"and `task_weights` one entry for each task; got shapes {e.shape}, {marks.shape} and "
            f"{b.shape}."
        )
    for name, values in (("counted", e), ("task_weights", b)):
        if not (np.isfinite(values).all() and (values >= 0).all()):
            raise InputError(
                f"`{name}` must be finite and not negative; got values from {values.min():g} to "
                f"{values.max():g}. Mark a cell that does not count by 0."
            )
    weights = e * b
    total, squares = weights.sum(axis=1), (np.square(weights) * (marks != 0)).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.square(total) / squares)
