"""The constants of AIF-Learn and FPAIF-Learn: rounds, step size and numbers of tasks."""

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
    """Largest l1 norm B of the multipliers; it makes a nu-equilibrium fair within 3 alpha.

    B = (1 + 2 nu) / alpha (Algorithm AIF-Learn). At a nu-equilibrium every rate is within
    2 alpha + (1 + 2 nu) / B of the common rate (proof of In-sample Accuracy and Fairness).
    FPAIF-Learn uses the same B, and the same T and eta below.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    nu : float in (0, 1]
        The accepted distance from equilibrium.

    Examples
    --------
    >>> dual_bound(0.1, 0.5)
    20.0
    """
    return (1 + 2 * real("nu", nu)) / real("alpha", alpha)


def rounds(alpha: float, nu: float, n: int) -> int:
    """Return T, the rounds that bring the Auditor's regret, without sampling term, to nu / 2.

    T = 16 B^2 (1 + 2 alpha)^2 log(2n + 1) / nu^2, rounded up (Algorithm AIF-Learn). This assumes
    the learning rate of :func:`step_size`.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    nu : float in (0, 1]
        The accepted distance from equilibrium.
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
    """Return eta, the Auditor's learning rate; after :func:`rounds` both regret terms are nu / 4.

    eta = nu / (4 (1 + 2 alpha)^2 B) (Algorithm AIF-Learn).

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    nu : float in (0, 1]
        The accepted distance from equilibrium.

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

    The bound is B log(2n + 1) / (eta T) + eta B (1 + 2 alpha)^2. If each round looks at a batch of
    m0 tasks, a sampling term is added:

    - for error rates B sqrt(log(2nT / delta) / (2 m0)), with probability 1 - delta (lemma Regret of
      the Auditor);
    - for false-positive rates, given ``rho_hat_min``, (2B / rho_hat_min) sqrt(log(8nT / delta) /
      (2 m0)), with probability 1 - delta / 2 (the same lemma for FPAIF).

    The sampling term is as the lemma states it. The lemma assumes that a batch is an independent
    draw from the training tasks, even given the earlier batches. The lemma's proof takes two
    multiplier vectors to be at most B apart in l1 norm, but the triangle inequality gives 2B. An m0
    four times as large covers the difference.

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
        The accepted chance of failure; needed with ``m0``.
    rho_hat_min : float in (0, 1], optional
        For false-positive rates only: the smallest individual share of training tasks that count.

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

    The bound is (4B / rho_tilde_min) sqrt(log(8nT / delta) / (2 m0)) (lemma Regret of the Learner).
    It assumes that the Learner's outside estimates are within :func:`rho_estimate_error` of the
    true shares rho. In AIF-Learn the Learner's best responses are exact, so this regret is 0.

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
        The accepted chance of failure.
    rho_tilde_min : float in (0, 1]
        The smallest of the Learner's outside estimates of the shares rho.

    Examples
    --------
    >>> round(learner_regret(n=10, B=20.0, T=100, m0=10**8, delta=0.05, rho_tilde_min=0.5), 4)
    0.0392
    """
    scale = 4 * real("B", B) / real("rho_tilde_min", rho_tilde_min)
    return scale * hoeffding(8 * count("n", n) * count("T", T), m0, delta)


def rho_estimate_error(n: int, m0: int, delta: float | None = None) -> float:
    """How close FPAIF-Learn's outside estimates must be to each individual's true share rho.

    The paper assumes a distance of at most sqrt(log(n) / (2 m0)) (the assumption on rho_tilde).
    Estimates from m0 tasks set aside are not guaranteed to be this close. For them, Hoeffding's
    bound over n individuals gives sqrt(log(2n / delta) / (2 m0)) with probability 1 - delta. Given
    ``delta``, the function returns this larger bound. The proof of :func:`learner_regret` can use
    the larger bound instead.

    Parameters
    ----------
    n : int
        Number of individuals.
    m0 : int
        Number of tasks set aside for the estimates.
    delta : float in (0, 1), optional
        The accepted chance of failure. Default: the assumption as the paper states it.

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
    """Return m0, the number of tasks in each round's fresh batch that gives a nu-equilibrium.

    The nu-equilibrium is the pair of average plays; a play is what a player chooses in one round.
    For error rates m0 = 2 B^2 log(2nT / delta) / nu^2, rounded up. The sampling term of
    :func:`auditor_regret` is then nu / 2, and its other terms add up to nu / 2 as well (proof of
    Average Play Characterization).

    For false-positive rates the paper gives only O(log(nT / delta) / (alpha nu rho_min)^2). The
    constant is found as follows. Let s be the square root of log(8nT / delta) / (2 m0). Suppose
    that rho_tilde_min and rho_hat_min are at least rho_min / 2. Then the Learner's regret is at
    most 8 B s / rho_min, and the Auditor's sampling term is at most 4 B s / rho_min. Their sum is
    nu / 2 when s = nu rho_min / (24 B), that is when
    m0 = 288 B^2 log(8nT / delta) / (nu rho_min)^2.

    Both conditions hold: s <= rho_min / 288 because B >= 12 nu, and rho_tilde and rho_hat are
    within s of rho. For rho_tilde this is the paper's assumption, as sqrt(log(n) / (2 m0)) <= s.
    For rho_hat it holds on the event of the Learner's lemma.

    The assumptions and the caveat of :func:`auditor_regret` apply here too.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    nu : float in (0, 1]
        The accepted distance from equilibrium.
    n : int
        Number of individuals.
    delta : float in (0, 1)
        The accepted chance of failure.
    rho_min : float in (0, 1], optional
        For false-positive rates only: the smallest true share of tasks that count, over
        individuals.

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
    """Return a number of training tasks that suffices for :func:`in_sample` with batches.

    It is m0 T for error rates, with m0 of :func:`tasks_per_round` and T of :func:`rounds` (the
    assumption on m0). This number suffices for :func:`over_new_tasks` as well: rates on new tasks
    and on training tasks differ by at most 2 sqrt(log(4nT / delta) / (2 m0)), which is below alpha.
    For false-positive rates the number is m0 (T + 1): one more batch, F_0, is set aside to estimate
    the shares.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    nu : float in (0, 1]
        The accepted distance from equilibrium.
    n : int
        Number of individuals.
    delta : float in (0, 1)
        The accepted chance of failure.
    rho_min : float in (0, 1], optional
        For false-positive rates only: the smallest true share of tasks that count, over
        individuals.

    Examples
    --------
    >>> tasks_needed(0.25, 1.0, n=1, delta=0.5) == 5696 * tasks_per_round(0.25, 1.0, 1, 0.5)
    True
    """
    batches = rounds(alpha, nu, n) + (rho_min is not None)
    return tasks_per_round(alpha, nu, n, delta, rho_min) * batches


@dataclass(frozen=True)
class Plan:
    """The constants that the theory requires of a run; see :func:`plan`.

    Attributes
    ----------
    alpha, nu : float
        As given.
    n : int
        As given.
    slack : float
        Largest allowed distance of a rate from the common rate: :func:`slack`.
    dual_bound : float
        The multipliers' largest l1 norm: :func:`dual_bound`.
    rounds : int
        Rounds to play: :func:`rounds`.
    step_size : float
        The Auditor's learning rate: :func:`step_size`.
    tasks_per_round : int
        Tasks in each round's batch: :func:`tasks_per_round`.
    tasks_needed : int
        Training tasks in all, including tasks set aside: :func:`tasks_needed`.
    promised_deviation : float
        Promised largest distance of a rate from the common rate: 3 alpha.
    promised_excess_error : float
        Promised bound on the error minus OPT: 2 nu.
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
    """Return all constants of AIF-Learn (FPAIF-Learn, given ``rho_min``) together.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    nu : float in (0, 1]
        The accepted distance from equilibrium.
    n : int
        Number of individuals.
    delta : float in (0, 1), default 0.05
        The accepted chance of failure.
    rho_min : float in (0, 1], optional
        For false-positive rates only: the smallest true share of tasks that count, over
        individuals.

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
