"""What the paper's theorems promise, in figures."""

from __future__ import annotations

from dataclasses import dataclass

from averagefair.theory.ranges import real


@dataclass(frozen=True)
class Promise:
    """What a theorem promises; a deviation or share of 1, or a probability of 0, is no promise.

    FPAIF's theorems have the same shape, for false-positive rates.

    Attributes
    ----------
    deviation : float
        How far a rate lies from the common rate at most.
    share : float
        The share of individuals of whom that need not hold.
    probability : float
        How likely it is that the promise holds.
    error_excess : float, or None
        How much above OPT the error lies at most; None where no constant is derived.
    """

    deviation: float
    share: float
    probability: float
    error_excess: float | None = None


def _promise(
    deviation: float, share: float, failure: float, error_excess: float | None = None
) -> Promise:
    return Promise(min(1.0, deviation), min(1.0, share), max(0.0, 1 - failure), error_excess)


def in_sample(alpha: float, nu: float, delta: float) -> Promise:
    """For the training individuals and tasks: 3 alpha for everyone, error at most OPT + 2 nu.

    Theorem In-sample Accuracy and Fairness; OPT is for rates within 2 alpha of a common one.
    Assumes batches of :func:`tasks_per_round`. It is certain if every round looks at all tasks, and
    the Learner uses the sample's own shares rho. Error rates have no other: all tasks count. For
    false-positive and false-negative rates the sample's own are the library's default. No number
    of tasks is needed then; outside estimates of rho need m of :func:`tasks_needed`.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    nu : float in (0, 1]
        The distance from equilibrium to accept.
    delta : float in (0, 1)
        The chance of failure to accept.

    Examples
    --------
    >>> in_sample(0.125, 0.5, 0.25)
    Promise(deviation=0.375, share=0.0, probability=0.75, error_excess=1.0)
    """
    return Promise(3 * real("alpha", alpha), 0.0, 1 - real("delta", delta), 2 * real("nu", nu))


def over_new_individuals(alpha: float, beta: float, delta: float) -> Promise:
    """For all individuals and the training tasks: 5 alpha for all but a share beta.

    Theorem Generalization over P; error OPT + O(nu) + O(alpha beta), OPT for rates within alpha of
    a common one. Assumes, for the fairness part, n of :func:`individuals_needed`.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    beta : float in (0, 1)
        The share of individuals left without a promise.
    delta : float in (0, 1)
        The chance of failure to accept.

    Examples
    --------
    >>> over_new_individuals(0.125, 0.25, 0.125)
    Promise(deviation=0.625, share=0.25, probability=0.375, error_excess=None)
    """
    return _promise(5 * real("alpha", alpha), real("beta", beta), 5 * real("delta", delta))


def over_new_tasks(alpha: float, delta: float, nu: float | None = None) -> Promise:
    """For the training individuals and all tasks: 4 alpha for everyone.

    Theorem Generalization over Q; OPT is for rates within alpha of a common one. Assumes m of
    :func:`tasks_needed`. The paper leaves the error as OPT + O(nu). With the m0 and T given here
    the excess is at most 2 nu + 1.05 nu / B, for B of :func:`dual_bound`. The proof's terms are:

    - 2 nu, in sample;
    - 2 sqrt(log(4nT / delta) / (2 m0)) for the learned mapping. That is
      nu / B times sqrt(1 + log(2) / log(2nT / delta)), at most 1.037 nu / B because T >= 5696;
    - sqrt(log(2 / delta) / (2 m0 T)) for the best one: at most nu / (2 B sqrt(T)).

    The larger m0 for false-positive rates makes the last two smaller still.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    delta : float in (0, 1)
        The chance of failure to accept.
    nu : float in (0, 1], optional
        The distance from equilibrium to accept. Default: the promise has no error excess.

    Examples
    --------
    >>> over_new_tasks(0.125, 0.125, nu=0.5)
    Promise(deviation=0.5, share=0.0, probability=0.25, error_excess=1.0328125)
    """
    alpha = real("alpha", alpha)
    excess = None
    if nu is not None:
        nu = real("nu", nu)
        excess = 2 * nu + 1.05 * nu * alpha / (1 + 2 * nu)
    return _promise(4 * alpha, 0.0, 6 * real("delta", delta), excess)


def over_both(alpha: float, beta: float, delta: float) -> Promise:
    """For all individuals and all tasks: 6 alpha for all but a share 2 beta.

    Theorem Simultaneous Generalization over P and Q; error as in :func:`over_new_individuals`.
    Assumes both sample sizes at once, of :func:`sizes_for_both`: n grows linearly in m, and m only
    with log n.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    beta : float in (0, 1)
        The share of individuals left without a promise.
    delta : float in (0, 1)
        The chance of failure to accept.

    Examples
    --------
    >>> over_both(0.125, 0.25, 0.0625)
    Promise(deviation=0.75, share=0.5, probability=0.25, error_excess=None)
    """
    return _promise(6 * real("alpha", alpha), 2 * real("beta", beta), 12 * real("delta", delta))
