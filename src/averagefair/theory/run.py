"""The constants of AIF-Learn and FPAIF-Learn: how long to run, with which step, on which tasks."""

from __future__ import annotations

import math
from dataclasses import dataclass

from averagefair.errors import InputError
from averagefair.theory.promises import in_sample
from averagefair.theory.ranges import count, hoeffding, real, whole


def slack(alpha: float) -> float:
    """How far each rate may lie from the common rate in the empirical problem: 2 alpha.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.

    Examples
    --------
    >>> slack(0.05)
    0.1
    """
    return 2 * real("alpha", alpha)


def dual_bound(alpha: float, nu: float) -> float:
    """Largest l1 norm B of the multipliers, such that a nu-equilibrium is fair within 3 alpha.

    B = (1 + 2 nu) / alpha (Algorithm AIF-Learn). At a nu-equilibrium no rate is further than
    2 alpha + (1 + 2 nu) / B from the common one (proof of In-sample Accuracy and Fairness).
    FPAIF-Learn uses the same B, and the same T and eta below.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    nu : float in (0, 1]
        The distance from equilibrium to accept.

    Examples
    --------
    >>> dual_bound(0.1, 0.5)
    20.0
    """
    return (1 + 2 * real("nu", nu)) / real("alpha", alpha)


def rounds(alpha: float, nu: float, n: int) -> int:
    """Enough rounds T for the Auditor's regret, sampling apart, to be at most nu / 2.

    T = 16 B^2 (1 + 2 alpha)^2 log(2n + 1) / nu^2, rounded up (Algorithm AIF-Learn). Assumes the
    learning rate of :func:`step_size`.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    nu : float in (0, 1]
        The distance from equilibrium to accept.
    n : int
        Number of individuals.

    Examples
    --------
    >>> rounds(0.25, 1.0, 1)
    5696
    """
    scale = dual_bound(alpha, nu) * (1 + slack(alpha)) / real("nu", nu)
    return whole("The number of rounds", 16 * scale * scale * math.log(2 * count("n", n) + 1))


def step_size(alpha: float, nu: float) -> float:
    """Auditor's learning rate eta: after :func:`rounds` both terms of its regret are nu / 4.

    eta = nu / (4 (1 + 2 alpha)^2 B) (Algorithm AIF-Learn).

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    nu : float in (0, 1]
        The distance from equilibrium to accept.

    Examples
    --------
    >>> step_size(0.25, 1.0) == 1 / (4 * 1.5**2 * 12)
    True
    """
    return real("nu", nu) / (4 * (1 + slack(alpha)) ** 2 * dual_bound(alpha, nu))


def auditor_regret(
    *,
    alpha: float,
    n: int,
    B: float,
    eta: float,
    T: int,
    m0: int | None = None,
    delta: float | None = None,
    rho_hat_min: float | None = None,
) -> float:
    """Upper bound on the Auditor's average regret over T rounds of exponentiated gradient.

    B log(2n + 1) / (eta T) + eta B (1 + 2 alpha)^2, and when each round looks at a batch of m0
    tasks only, a sampling term: B sqrt(log(2nT / delta) / (2 m0)) for error rates, with probability
    1 - delta (lemma Regret of the Auditor); given ``rho_hat_min``,
    (2B / rho_hat_min) sqrt(log(8nT / delta) / (2 m0)) for false-positive rates, with probability
    1 - delta / 2 (the same lemma for FPAIF).

    The sampling term is the lemma's as stated. It assumes that a batch is an independent draw from
    the training tasks even given the earlier batches. Its proof takes two multiplier vectors to be
    at most B apart in l1 norm, where the triangle inequality gives 2B: an m0 four times as large
    covers that.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    n : int
        Number of individuals.
    B : float
        The multipliers' largest l1 norm, as from :func:`dual_bound`.
    eta : float
        The Auditor's learning rate, as from :func:`step_size`.
    T : int
        Number of rounds, as from :func:`rounds`.
    m0 : int, optional
        Number of tasks in a round's batch, as from :func:`tasks_per_round`. Default: all tasks.
    delta : float in (0, 1), optional
        The chance of failure to accept; needed with ``m0``.
    rho_hat_min : float in (0, 1], optional
        The smallest individual share of training tasks that count, for false-positive rates.

    Examples
    --------
    >>> paper = dict(B=dual_bound(0.1, 0.5), eta=step_size(0.1, 0.5), T=rounds(0.1, 0.5, 100))
    >>> round(auditor_regret(alpha=0.1, n=100, **paper), 4)
    0.25
    """
    alpha, n = real("alpha", alpha), count("n", n)
    B, eta, T = real("B", B), real("eta", eta), count("T", T)
    certain = B * math.log(2 * n + 1) / (eta * T) + eta * B * (1 + 2 * alpha) ** 2
    if m0 is None and delta is None and rho_hat_min is None:
        return certain
    if m0 is None or delta is None:
        raise InputError(
            "`m0` and `delta` must be given together, and `rho_hat_min` only with them; "
            f"got m0={m0!r}, delta={delta!r}, rho_hat_min={rho_hat_min!r}. "
            "Leave all three out when every round looks at all tasks."
        )
    if rho_hat_min is None:
        return certain + B * hoeffding(2 * n * T, m0, delta)
    return certain + 2 * B / real("rho_hat_min", rho_hat_min) * hoeffding(8 * n * T, m0, delta)


def learner_regret(
    *, n: int, B: float, T: int, m0: int, delta: float, rho_tilde_min: float
) -> float:
    """Upper bound on the Learner's average regret in FPAIF-Learn, with probability 1 - delta / 2.

    (4B / rho_tilde_min) sqrt(log(8nT / delta) / (2 m0)) (lemma Regret of the Learner).
    Assumes that the Learner's outside estimates are as close as :func:`rho_estimate_error`. In
    AIF-Learn the Learner's best responses are exact: its regret is 0.

    Parameters
    ----------
    n : int
        Number of individuals.
    B : float
        The multipliers' largest l1 norm, as from :func:`dual_bound`.
    T : int
        Number of rounds, as from :func:`rounds`.
    m0 : int
        Number of tasks in a round's batch, as from :func:`tasks_per_round`.
    delta : float in (0, 1)
        The chance of failure to accept.
    rho_tilde_min : float in (0, 1]
        The smallest of the Learner's outside estimates.

    Examples
    --------
    >>> round(learner_regret(n=10, B=20.0, T=100, m0=10**8, delta=0.05, rho_tilde_min=0.5), 4)
    0.0392
    """
    scale = 4 * real("B", B) / real("rho_tilde_min", rho_tilde_min)
    return scale * hoeffding(8 * count("n", n) * count("T", T), m0, delta)


def rho_estimate_error(n: int, m0: int, delta: float | None = None) -> float:
    """How close FPAIF-Learn's outside estimates must be to each individual's true share rho.

    sqrt(log(n) / (2 m0)) (the assumption on rho_tilde). A batch of m0 tasks set aside does not
    promise this much: Hoeffding's bound over n individuals gives sqrt(log(2n / delta) / (2 m0))
    with probability 1 - delta. That is the answer when ``delta`` is given; the proof of
    :func:`learner_regret` can use it instead.

    Parameters
    ----------
    n : int
        Number of individuals.
    m0 : int
        Number of tasks set aside for the estimates.
    delta : float in (0, 1), optional
        The chance of failure to accept. Default: the assumption as the paper states it.

    Examples
    --------
    >>> round(rho_estimate_error(100, 1000), 4), round(rho_estimate_error(100, 1000, 0.05), 4)
    (0.048, 0.0644)
    """
    n, m0 = count("n", n), count("m0", m0)
    return math.sqrt(math.log(n) / (2 * m0)) if delta is None else hoeffding(2 * n, m0, delta)


def tasks_per_round(
    alpha: float, nu: float, n: int, delta: float, rho_min: float | None = None
) -> int:
    """Tasks m0 in each round's fresh batch that make the average plays a nu-equilibrium.

    For error rates m0 = 2 B^2 log(2nT / delta) / nu^2, rounded up: the sampling term of
    :func:`auditor_regret` is then nu / 2, like the rest of it (proof of Average Play
    Characterization).

    For false-positive rates the paper has O(log(nT / delta) / (alpha nu rho_min)^2). To be
    explicit, let s be the root of log(8nT / delta) / (2 m0). If rho_tilde_min and rho_hat_min are
    at least rho_min / 2, the Learner's regret is at most 8 B s / rho_min and the Auditor's sampling
    term at most 4 B s / rho_min. These add up to nu / 2 when s = nu rho_min / (24 B), that is when
    m0 = 288 B^2 log(8nT / delta) / (nu rho_min)^2. The two conditions follow: rho_tilde is within
    sqrt(log(n) / (2 m0)) <= s of rho by assumption, rho_hat is within s of it on the event of the
    Learner's lemma, and s <= rho_min / 288 because B >= 12 nu.

    Assumes what :func:`auditor_regret` assumes, and inherits its caveat.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    nu : float in (0, 1]
        The distance from equilibrium to accept.
    n : int
        Number of individuals.
    delta : float in (0, 1)
        The chance of failure to accept.
    rho_min : float in (0, 1], optional
        The smallest true share of tasks that count, for false-positive rates.

    Examples
    --------
    >>> tasks_per_round(0.1, 0.5, n=100, delta=0.05)
    65528
    >>> tasks_per_round(0.1, 0.5, n=100, delta=0.05, rho_min=0.5)
    40299117
    """
    q = dual_bound(alpha, nu) / real("nu", nu)
    log = math.log(count("n", n) * rounds(alpha, nu, n)) - math.log(real("delta", delta))
    if rho_min is None:
        return whole("The number of tasks per round", 2 * q * q * (math.log(2) + log))
    q /= real("rho_min", rho_min)
    return whole("The number of tasks per round", 288 * q * q * (math.log(8) + log))


def tasks_needed(
    alpha: float, nu: float, n: int, delta: float, rho_min: float | None = None
) -> int:
    """Training tasks that suffice for :func:`in_sample` with batches: m0 T, or m0 (T + 1).

    m0 from :func:`tasks_per_round`, T from :func:`rounds` (the assumption on m0). For error rates m
    suffices for :func:`over_new_tasks` as well: 2 sqrt(log(4nT / delta) / (2 m0)), the most that a
    rate moves between training and new tasks, is below alpha. For false-positive rates one further
    batch F_0 of m0 tasks is counted, which is set aside to estimate the shares.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    nu : float in (0, 1]
        The distance from equilibrium to accept.
    n : int
        Number of individuals.
    delta : float in (0, 1)
        The chance of failure to accept.
    rho_min : float in (0, 1], optional
        The smallest true share of tasks that count, for false-positive rates.

    Examples
    --------
    >>> tasks_needed(0.25, 1.0, n=1, delta=0.5) == 5696 * tasks_per_round(0.25, 1.0, 1, 0.5)
    True
    """
    batches = rounds(alpha, nu, n) + (rho_min is not None)
    return tasks_per_round(alpha, nu, n, delta, rho_min) * batches


@dataclass(frozen=True)
class Plan:
    """All that the theory asks of a run, for given alpha, nu, n and delta; see :func:`plan`.

    Attributes
    ----------
    alpha, nu : float
        As given.
    n : int
        As given.
    slack : float
        How far each rate may lie from the common rate: :func:`slack`.
    dual_bound : float
        The multipliers' largest l1 norm: :func:`dual_bound`.
    rounds : int
        Rounds to play: :func:`rounds`.
    step_size : float
        The Auditor's learning rate: :func:`step_size`.
    tasks_per_round : int
        Tasks in each round's batch: :func:`tasks_per_round`.
    tasks_needed : int
        Training tasks in all, those set aside among them: :func:`tasks_needed`.
    promised_deviation : float
        How far from the common rate everybody's rate is promised to lie at most: 3 alpha.
    promised_excess_error : float
        How much above OPT the error is promised to lie at most: 2 nu.
    """

    alpha: float
    nu: float
    n: int
    slack: float
    dual_bound: float
    rounds: int
    step_size: float
    tasks_per_round: int
    tasks_needed: int
    promised_deviation: float
    promised_excess_error: float


def plan(
    alpha: float, nu: float, n: int, *, delta: float = 0.05, rho_min: float | None = None
) -> Plan:
    """Return the constants of AIF-Learn (FPAIF-Learn, given ``rho_min``) in one piece.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    nu : float in (0, 1]
        The distance from equilibrium to accept.
    n : int
        Number of individuals.
    delta : float in (0, 1), default 0.05
        The chance of failure to accept.
    rho_min : float in (0, 1], optional
        The smallest true share of tasks that count, for false-positive rates.

    Examples
    --------
    >>> plan(0.25, 1.0, 1).rounds
    5696
    """
    promise = in_sample(alpha, nu, delta)
    return Plan(
        alpha=alpha,
        nu=nu,
        n=n,
        slack=slack(alpha),
        dual_bound=dual_bound(alpha, nu),
        rounds=rounds(alpha, nu, n),
        step_size=step_size(alpha, nu),
        tasks_per_round=tasks_per_round(alpha, nu, n, delta, rho_min),
        tasks_needed=tasks_needed(alpha, nu, n, delta, rho_min),
        promised_deviation=promise.deviation,
        promised_excess_error=2 * nu,
    )
