"""Numbers of individuals and tasks that the generalisation theorems need."""

from __future__ import annotations

import math
from typing import NamedTuple

from averagefair.theory.ranges import count, real, whole
from averagefair.theory.run import rounds, tasks_needed


def sparse_support(n: int, m: int, alpha: float, delta: float) -> int:
    """Return r, the draws per task that keep every cell within alpha of the learned mixture.

    r = log(12nm / delta) / (2 alpha^2), rounded up (proof of Generalization over P). With
    probability 1 - delta / 6 over the draws, all nm cells of any n individuals are within alpha. So
    individual error rates and false-positive rates are within alpha too.

    Parameters
    ----------
    n : int
        Number of individuals.
    m : int
        Number of tasks.
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    delta : float in (0, 1)
        The accepted chance of failure.

    Examples
    --------
    >>> sparse_support(1000, 50, 0.1, 0.05)
    816
    """
    log = math.log(12 * count("n", n) * count("m", m)) - math.log(real("delta", delta))
    alpha = real("alpha", alpha)
    return whole("The sparse support", log / 2 / alpha / alpha)


def individuals_needed(
    alpha: float, nu: float, beta: float, delta: float, m: int, vc_dimension: int
) -> int:
    """Return how many training individuals suffice for fairness to carry over to the population.

    Draw n or more individuals independently, with any m tasks. Suppose that all of them are within
    3 alpha of the common rate (:func:`in_sample`). Then all but a share beta of the population is
    within 5 alpha. This implication holds with probability 1 - delta over the draw.

    This is the fairness part of Generalization over P, where n is
    O~((m d + log(1 / (nu^2 delta))) / (alpha beta)^2). The proof applies the lemma Uniform
    Convergence at beta / 2 and delta / 3. For the lemma it suffices that::

        (2en / d)^(d r m) (T + 1) 4 exp(-n beta^2 / 32) <= delta / 6,

    where r is :func:`sparse_support`, T is :func:`rounds` and d is the VC dimension. Sauer's lemma
    is used as (eN / d)^d for N = 2n points. This inequality implies the proof's other two
    conditions on n: 2 exp(-n beta^2 / 8) <= 1/2 for the two-sample trick, and
    2 exp(-n beta^2 / 2) <= delta / 6 for the sparse mixture. The result is exact up to
    floating-point precision: the inequality fails at n - 1, and holds at n and above.

    The paper gives the error only as OPT + O(nu) + O(alpha beta); this function does not compute
    it. With batches, :func:`in_sample` also needs at least :func:`tasks_needed` tasks. That number
    grows with n.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    nu : float in (0, 1]
        The accepted distance from equilibrium.
    beta : float in (0, 1)
        The share of individuals left without a promise.
    delta : float in (0, 1)
        The accepted chance of failure.
    m : int
        Number of tasks.
    vc_dimension : int
        The VC dimension of the classifiers; for linear thresholds, the number of features plus one.

    Examples
    --------
    >>> individuals_needed(0.25, 1.0, beta=0.5, delta=0.5, m=1, vc_dimension=1)
    226282
    """
    m, d = count("m", m), count("vc_dimension", vc_dimension)
    rate, delta = real("beta", beta) ** 2 / 32, real("delta", delta)

    def holds(n: int, r: int, T: int) -> bool:
        labellings = math.log(2 * math.e * n / d) * r * m * d
        return labellings + math.log(24 * (T + 1)) - math.log(delta) <= rate * n

    # Let r' and T' be the unrounded values. With r' + 1 and T' + 1, the left side is concave for
    # n >= d and exceeds the right side at n = d. So this inequality, once true, stays true for
    # larger n. The loop tests the rounded r + 1 and T + 1, which are at least r' + 1 and T' + 1;
    # r and T themselves are at most that. So where the loop stops, the inequality with r and T
    # holds for all larger n.
    n = d
    while not holds(n, sparse_support(n, m, alpha, delta) + 1, rounds(alpha, nu, n) + 1):
        n = whole("The number of individuals", 2.0 * n)
    # Fix r and T at their values for n - 1; smaller n have equal or smaller r and T. Bisect for
    # `high`, the smallest number at which the inequality then holds. If `high` is n, the inequality
    # fails at n - 1: return n. Otherwise it holds from `high` to n - 1: continue from `high`.
    while True:
        r, T = sparse_support(n - 1, m, alpha, delta), rounds(alpha, nu, n - 1)
        low, high = d, n
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(middle, r, T) else (middle, high)
        if high == n:
            return n
        n = high


class Sizes(NamedTuple):
    """Numbers of individuals and tasks; see :func:`sizes_for_both`.

    Attributes
    ----------
    individuals, tasks : int
    """

    individuals: int
    tasks: int


def sizes_for_both(
    alpha: float,
    nu: float,
    beta: float,
    delta: float,
    vc_dimension: int,
    *,
    rho_inf: float | None = None,
) -> Sizes:
    """Smallest n and m that meet both conditions of the promise :func:`over_both`.

    The theorem Simultaneous Generalization over P and Q needs n >= :func:`individuals_needed` and
    m >= :func:`tasks_needed`. The first grows with m, the second with n. Start from n = 1 and apply
    the two functions in turn. Both functions are non-decreasing, so no iterate passes the smallest
    solution, and the fixed point is that solution. The steps end because m grows only with powers
    of log n.

    For false-positive rates, rho_x is the true share of tasks on which individual x has label 0.
    The theorem uses rho_inf, the infimum of rho_x over all individuals x of the population. The
    other theorems need only the smallest share among the training individuals.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    nu : float in (0, 1]
        The accepted distance from equilibrium.
    beta : float in (0, 1)
        Half the share of individuals left without a promise.
    delta : float in (0, 1)
        The accepted chance of failure.
    vc_dimension : int
        The VC dimension of the classifiers; for linear thresholds, the number of features plus one.
    rho_inf : float in (0, 1], optional
        For false-positive rates only: the smallest share of label-0 tasks of any individual in the
        population.

    Examples
    --------
    >>> n, m = sizes_for_both(0.05, 0.1, beta=0.05, delta=0.004, vc_dimension=21)
    >>> f"{n:.3g} individuals, {m:.3g} tasks"
    '2.19e+26 individuals, 6.69e+14 tasks'
    """
    rho = None if rho_inf is None else real("rho_inf", rho_inf)
    sizes, last = Sizes(1, 0), Sizes(0, 0)
    while sizes != last:
        last = sizes
        m = tasks_needed(alpha, nu, last.individuals, delta, rho)
        sizes = Sizes(individuals_needed(alpha, nu, beta, delta, m, vc_dimension), m)
    return sizes
