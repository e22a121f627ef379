"""The paper's constants, bounds and sample sizes, as functions of plain numbers.

Throughout this module ``alpha`` is *the theory's alpha*. AIF-Learn lets every individual's rate lie
within a slack of 2 alpha of the common rate gamma (the paper's empirical fair learning problem),
while elsewhere in the library ``alpha`` names that slack itself. To use a function here with a
user-facing ``alpha``, pass half of it; :func:`slack` is the way back.

Every guarantee assumes an exact cost-sensitive oracle and the constants given here. Logarithms are
natural. The numbers are worst cases, and large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from averagefair.checks import whole_number
from averagefair.errors import InputError

__all__ = [
    "Plan",
    "Promise",
    "auditor_regret",
    "dual_bound",
    "in_sample",
    "individuals_needed",
    "learner_regret",
    "over_both",
    "over_new_individuals",
    "over_new_tasks",
    "plan",
    "rho_estimate_error",
    "rounds",
    "slack",
    "sparse_support",
    "step_size",
    "tasks_needed",
    "tasks_per_round",
]

_REALS = {
    "alpha": (0.25, "]", "It is half the slack; at a slack of 0.5 the constraint never binds."),
    "nu": (1.0, "]", "It is the distance from equilibrium to accept, such as 0.1."),
    "beta": (1.0, ")", "It is the share of individuals left without a promise, such as 0.05."),
    "delta": (1.0, ")", "It is the chance of failure to accept, such as 0.05."),
    "rho_min": (1.0, "]", "Leave out individuals for whom no task counts towards the rate."),
    "rho_hat_min": (1.0, "]", "Leave out individuals for whom no task counts towards the rate."),
    "rho_tilde_min": (1.0, "]", "Estimate the shares of counting tasks from more tasks."),
    "B": (math.inf, ")", "`dual_bound` gives the paper's value."),
    "eta": (math.inf, ")", "`step_size` gives the paper's value."),
}
_COUNTS = {
    "n": "Pass the number of individuals.",
    "m": "Pass the number of tasks.",
    "m0": "Pass the number of tasks in a round's batch; `tasks_per_round` gives one that suffices.",
    "T": "Pass the number of rounds; `rounds` gives the paper's value.",
    "vc_dimension": "For linear thresholds it is the number of features plus one.",
}


def _real(name: str, value: float) -> float:
    top, end, remedy = _REALS[name]
    number = isinstance(value, Real) and not isinstance(value, bool)
    if number and (0 < value < top or (end == "]" and value == top)):
        return float(value)
    raise InputError(f"`{name}` must lie in (0, {top:g}{end}; got {value!r}. {remedy}")


def _count(name: str, value: int) -> int:
    return whole_number(name, value, remedy=_COUNTS[name])


def _ceil(what: str, value: float) -> int:
    if math.isfinite(value):
        return math.ceil(value)
    raise InputError(f"{what} must be finite; got {value!r}. Use larger alpha, nu, beta, rho_min.")


def _hoeffding(events: int, m0: int, delta: float) -> float:
    log = math.log(events) - math.log(_real("delta", delta))
    return math.sqrt(log / (2 * _count("m0", m0)))


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
    return 2 * _real("alpha", alpha)


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
    return (1 + 2 * _real("nu", nu)) / _real("alpha", alpha)


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
    scale = dual_bound(alpha, nu) * (1 + slack(alpha)) / _real("nu", nu)
    return _ceil("The number of rounds", 16 * scale * scale * math.log(2 * _count("n", n) + 1))


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
    return _real("nu", nu) / (4 * (1 + slack(alpha)) ** 2 * dual_bound(alpha, nu))


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
    alpha, n = _real("alpha", alpha), _count("n", n)
    B, eta, T = _real("B", B), _real("eta", eta), _count("T", T)
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
        return certain + B * _hoeffding(2 * n * T, m0, delta)
    return certain + 2 * B / _real("rho_hat_min", rho_hat_min) * _hoeffding(8 * n * T, m0, delta)


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
    scale = 4 * _real("B", B) / _real("rho_tilde_min", rho_tilde_min)
    return scale * _hoeffding(8 * _count("n", n) * _count("T", T), m0, delta)


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
    n, m0 = _count("n", n), _count("m0", m0)
    return math.sqrt(math.log(n) / (2 * m0)) if delta is None else _hoeffding(2 * n, m0, delta)


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
    q = dual_bound(alpha, nu) / _real("nu", nu)
    log = math.log(_count("n", n) * rounds(alpha, nu, n)) - math.log(_real("delta", delta))
    if rho_min is None:
        return _ceil("The number of tasks per round", 2 * q * q * (math.log(2) + log))
    q /= _real("rho_min", rho_min)
    return _ceil("The number of tasks per round", 288 * q * q * (math.log(8) + log))


def tasks_needed(
    alpha: float, nu: float, n: int, delta: float, rho_min: float | None = None
) -> int:
    """Training tasks m = m0 T that suffice for the promise :func:`in_sample`.

    m0 from :func:`tasks_per_round`, T from :func:`rounds` (the assumption on m0). For error rates m
    suffices for the fairness part of :func:`over_new_tasks` as well: 2 sqrt(log(4nT / delta) / (2
    m0)), the most that a rate moves between training and new tasks, is below alpha. For
    false-positive rates set one further batch of m0 tasks aside to estimate the shares.

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
    return tasks_per_round(alpha, nu, n, delta, rho_min) * rounds(alpha, nu, n)


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
        Training tasks in all: :func:`tasks_needed`.
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
    log = math.log(12 * _count("n", n) * _count("m", m)) - math.log(_real("delta", delta))
    alpha = _real("alpha", alpha)
    return _ceil("The sparse support", log / 2 / alpha / alpha)


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
    m, d = _count("m", m), _count("vc_dimension", vc_dimension)
    rate, delta = _real("beta", beta) ** 2 / 32, _real("delta", delta)

    def holds(n: int, r: int, T: int) -> bool:
        labellings = math.log(2 * math.e * n / d) * r * m * d
        return labellings + math.log(24 * (T + 1)) - math.log(delta) <= rate * n

    # Were r and T one above their unrounded values, the left side would be concave for n >= d and
    # above the right at n = d: once true, always true. The rounded values plus one bound those.
    n = d
    while not holds(n, sparse_support(n, m, alpha, delta) + 1, rounds(alpha, nu, n) + 1):
        n = _ceil("The number of individuals", 2.0 * n)
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
        How much above OPT the error lies at most; None where the paper gives no constant.
    """

    deviation: float
    share: float
    probability: float
    error_excess: float | None = None


def _promise(deviation: float, share: float, failure: float) -> Promise:
    return Promise(min(1.0, deviation), min(1.0, share), max(0.0, 1 - failure))


def in_sample(alpha: float, nu: float, delta: float) -> Promise:
    """For the training individuals and tasks: 3 alpha for everyone, error at most OPT + 2 nu.

    Theorem In-sample Accuracy and Fairness; OPT is for rates within 2 alpha of a common one.
    Assumes batches of :func:`tasks_per_round`. For error rates it is certain if every round looks
    at all tasks.

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
    return Promise(3 * _real("alpha", alpha), 0.0, 1 - _real("delta", delta), 2 * _real("nu", nu))


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
    return _promise(5 * _real("alpha", alpha), _real("beta", beta), 5 * _real("delta", delta))


def over_new_tasks(alpha: float, delta: float) -> Promise:
    """For the training individuals and all tasks: 4 alpha for everyone.

    Theorem Generalization over Q; error OPT + O(nu), OPT for rates within alpha of a common one.
    Assumes, for the fairness part, m of :func:`tasks_needed`.

    Parameters
    ----------
    alpha : float in (0, 0.25]
        The theory's alpha: half the slack.
    delta : float in (0, 1)
        The chance of failure to accept.

    Examples
    --------
    >>> over_new_tasks(0.125, 0.125)
    Promise(deviation=0.5, share=0.0, probability=0.25, error_excess=None)
    """
    return _promise(4 * _real("alpha", alpha), 0.0, 6 * _real("delta", delta))


def over_both(alpha: float, beta: float, delta: float) -> Promise:
    """For all individuals and all tasks: 6 alpha for all but a share 2 beta.

    Theorem Simultaneous Generalization over P and Q; error as in :func:`over_new_individuals`.
    Assumes both sample sizes at once: n grows linearly in m, and m only with log n.

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
    return _promise(6 * _real("alpha", alpha), 2 * _real("beta", beta), 12 * _real("delta", delta))
