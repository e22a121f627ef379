"""How many individuals and tasks the generalisation theorems ask for."""

from __future__ import annotations

import math
from typing import NamedTuple

from averagefair.theory.ranges import count, real, whole
from averagefair.theory.run import rounds, tasks_needed


def sparse_support(n: int, m: int, alpha: float, delta: float) -> int:
    """Draws r per task from the learned mixture that keep every cell within alpha of it.

    r = log(12nm / delta) / (2 alpha^2), rounded up (proof of Generalization over P). This holds for
    all nm cells of any n individuals with probability 1 - delta / 6 over the draws, and so for
    individual error and false-positive rates alike.

    Parameters
    ----------
    n : int
        Number of individuals.
    m : int
        Number of tasks.
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    delta : float in (0, 1)
        The chance of failure to accept.

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
    """Individuals n from which on fairness carries over from them to the whole population.

    With n or more individuals drawn independently, whatever the m tasks, with probability 1 -
    delta: if all of them are within 3 alpha of the common rate (:func:`in_sample`), then all but a
    share beta of the population is within 5 alpha. This is the fairness part of Generalization over
    P, where n is O~((m d + log(1 / (nu^2 delta))) / (alpha beta)^2). Its proof applies the lemma
    Uniform Convergence at beta / 2 and delta / 3, for which it suffices that::

        (2en / d)^(d r m) (T + 1) 4 exp(-n beta^2 / 32) <= delta / 6,

    with r from :func:`sparse_support`, T from :func:`rounds`, d the VC dimension and Sauer's lemma
    as (eN / d)^d for N = 2n points. The proof's other demands on n follow: 2 exp(-n beta^2 / 8) <=
    1/2 for the two-sample trick, 2 exp(-n beta^2 / 2) <= delta / 6 for the sparse mixture. The
    answer is exact, as far as floats resolve n: the inequality fails at n - 1, and holds from n on.

    The paper leaves the error as OPT + O(nu) + O(alpha beta), and so does this. With batches, the
    promise :func:`in_sample` also needs m of :func:`tasks_needed`, which grows with n.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    nu : float in (0, 1]
        The distance from equilibrium to accept.
    beta : float in (0, 1)
        The share of individuals left without a promise.
    delta : float in (0, 1)
        The chance of failure to accept.
    m : int
        Number of tasks.
    vc_dimension : int
        Of the class of classifiers; for linear thresholds the number of features plus one.

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

    # Were r and T one above their unrounded values, the left side would be concave for n >= d and
    # above the right at n = d: once true, always true. The rounded values plus one bound those.
    n = d
    while not holds(n, sparse_support(n, m, alpha, delta) + 1, rounds(alpha, nu, n) + 1):
        n = whole("The number of individuals", 2.0 * n)
    # At fixed r and T it holds from some point on. With those of n - 1, which are no smaller than
    # those of any number below, either it holds from that point up to n - 1, or n - 1 fails.
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
    """How many individuals and tasks it takes; see :func:`sizes_for_both`.

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
    """Smallest n and m that meet both conditions of the promise :func:`over_both` at once.

    Theorem Simultaneous Generalization over P and Q asks for n of :func:`individuals_needed`, which
    grows with m, and for m of :func:`tasks_needed`, which grows with n. Both functions only grow.
    So we start from n = 1 and take them in turn: each step stays below every solution, and where
    the steps end is the smallest. They end, because m grows with log(n) only.

    For false-positive rates the theorem has rho_inf = inf_x rho_x, over all individuals x that may
    come. The other theorems need the smallest share of the training individuals only.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    nu : float in (0, 1]
        The distance from equilibrium to accept.
    beta : float in (0, 1)
        Half the share of individuals left without a promise.
    delta : float in (0, 1)
        The chance of failure to accept.
    vc_dimension : int
        Of the class of classifiers; for linear thresholds the number of features plus one.
    rho_inf : float in (0, 1], optional
        The smallest true share of tasks that count for anybody, for false-positive rates.

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
