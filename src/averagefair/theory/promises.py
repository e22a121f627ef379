"""The promises of the paper's theorems, as numbers."""

from __future__ import annotations

from dataclasses import dataclass

from averagefair.theory.ranges import real


@dataclass(frozen=True)
class Promise:
    """A theorem's promise. It says nothing if deviation or share is 1, or probability is 0.

    The theorems for false-positive rates (FPAIF) make promises of the same form.

    Attributes
    ----------
    deviation : float
        Largest distance of a rate from the common rate.
    share : float
        The share of individuals left without this promise.
    probability : float
        The probability that the promise holds.
    error_excess : float, or None
        The error is at most OPT, the least error under the constraint, plus this value. None if
        no constant is known, or if ``nu`` was not given.
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
    """For training individuals and tasks: everyone within 3 alpha, error at most OPT + 2 nu.

    This is the theorem In-sample Accuracy and Fairness. OPT is the least error with all rates
    within 2 alpha of a common rate. The promise assumes batches of :func:`tasks_per_round` tasks.

    Suppose that every round looks at all tasks, and the Learner uses the sample's own shares rho of
    tasks that count. Then the promise is certain, for any number of tasks. For error rates all
    tasks count, so the shares are always the sample's own. For false-positive and false-negative
    rates the library uses the sample's own shares by default. With outside estimates of rho, the
    promise needs at least :func:`tasks_needed` tasks.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    nu : float in (0, 1]
        The accepted distance from equilibrium.
    delta : float in (0, 1)
        The accepted chance of failure.

    Examples
    --------
    >>> in_sample(0.125, 0.5, 0.25)
    Promise(deviation=0.375, share=0.0, probability=0.75, error_excess=1.0)
    """
    return Promise(3 * real("alpha", alpha), 0.0, 1 - real("delta", delta), 2 * real("nu", nu))


def over_new_individuals(alpha: float, beta: float, delta: float) -> Promise:
    """For all individuals and the training tasks: all but a share beta within 5 alpha.

    This is the theorem Generalization over P. The error is at most OPT + O(nu) + O(alpha beta).
    OPT is the least error with all rates within alpha of a common rate. The fairness part assumes
    at least :func:`individuals_needed` individuals.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    beta : float in (0, 1)
        The share of individuals left without a promise.
    delta : float in (0, 1)
        The promise fails with probability at most 5 delta.

    Examples
    --------
    >>> over_new_individuals(0.125, 0.25, 0.125)
    Promise(deviation=0.625, share=0.25, probability=0.375, error_excess=None)
    """
    return _promise(5 * real("alpha", alpha), real("beta", beta), 5 * real("delta", delta))


def over_new_tasks(alpha: float, delta: float, nu: float | None = None) -> Promise:
    """For the training individuals and all tasks: everyone within 4 alpha.

    This is the theorem Generalization over Q. OPT is the least error with all rates within alpha of
    a common rate. The promise assumes at least :func:`tasks_needed` training tasks. The paper gives
    the error only as OPT + O(nu). With m0 of :func:`tasks_per_round` and T of :func:`rounds`, the
    excess is at most 2 nu + 1.05 nu / B, where B is :func:`dual_bound`. The terms of the proof are:

    - 2 nu, in sample;
    - 2 sqrt(log(4nT / delta) / (2 m0)) for the learned mapping. This equals nu / B times
      sqrt(1 + log(2) / log(2nT / delta)), which is at most 1.037 nu / B because T >= 5696;
    - sqrt(log(2 / delta) / (2 m0 T)) for the best mapping: at most nu / (2 B sqrt(T)).

    For false-positive rates m0 is larger, which makes the last two terms smaller.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    delta : float in (0, 1)
        The promise fails with probability at most 6 delta.
    nu : float in (0, 1], optional
        The accepted distance from equilibrium. Default: leave the error excess out.

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
    """For all individuals and all tasks: all but a share 2 beta within 6 alpha.

    This is the theorem Simultaneous Generalization over P and Q. The bound on the error is that of
    :func:`over_new_individuals`. The promise assumes both sample sizes of :func:`sizes_for_both`.
    The n needed grows about linearly in m, and the m needed only with powers of log n.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    beta : float in (0, 1)
        Half the share of individuals left without a promise.
    delta : float in (0, 1)
        The promise fails with probability at most 12 delta.

    Examples
    --------
    >>> over_both(0.125, 0.25, 0.0625)
    Promise(deviation=0.75, share=0.5, probability=0.25, error_excess=None)
    """
    return _promise(6 * real("alpha", alpha), 2 * real("beta", beta), 12 * real("delta", delta))
