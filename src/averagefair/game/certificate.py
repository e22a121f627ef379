"""The certificate: what was requested, what was reached, and what is proved.

The certificate does not trust the solver. Error and rates are measured again from the data and the
final classifiers. The lower bound is computed by a best response at the multipliers that the solver
proposes: for every lambda >= 0, min over (h, gamma) of L(h, gamma, lambda) <= OPT.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import Enum
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from averagefair._util.text import counted, plain
from averagefair.errors import warn
from averagefair.game.auditor import lagrangian, worst_case
from averagefair.game.learner import Learner
from averagefair.game.measure import Measurement
from averagefair.game.mixture import Mixture
from averagefair.game.request import ROUNDING, Request
from averagefair.game.solution import Solution, StopReason
from averagefair.people.backends import Space, total_size


class Status(Enum):
    """What a certificate proves; the value says it in words.

    Attributes
    ----------
    CERTIFIED
        The oracle is exact: the bounds hold.
    HEURISTIC
        Error and fairness are measured. Nothing is proved about the optimum, since the oracle is
        not exact.
    UNPROVED
        Error and fairness are measured. The oracle is exact, but failed before it proved a bound.
    CONTRADICTED
        The oracle claims to be exact but is not: its lower bound exceeds the upper bound, which was
        reached without it. Nothing is proved.
    """

    CERTIFIED = "certified: the oracle is exact, so the bounds hold"
    HEURISTIC = "heuristic: error and fairness are measured; nothing is proved about the optimum"
    UNPROVED = (
        "unproved: error and fairness are measured; the oracle failed before it proved a bound"
    )
    CONTRADICTED = (
        "contradicted: the oracle claims to be exact, but its lower bound exceeds the upper bound; "
        "nothing is proved"
    )


@dataclass(frozen=True, repr=False)
class Certificate:
    """What was requested, what was reached, what is proved.

    Attributes
    ----------
    request : Request
        alpha, beta and max_influence as requested.
    aim : float
        The deviation that the solver aims at: alpha. For a solver made by ``from_theory`` it is 3/2
        alpha: the theory promises 3 times its own alpha, which is half of this alpha.
    deviation : float
        The largest ``|R_i - common rate|`` over constrained individuals.
    spread : float
        Largest minus smallest individual rate. With several rates: the largest spread.
    outside : float
        The beta reached: the least share of people outside a window of width 2 aim. With several
        rates: the largest share.
    error : float
        Overall error on the training sample.
    common_rate : float, or tuple of float if a list of rates was given
        gamma.
    lower, upper : float
        Bounds on OPT, the least error of any mixture that meets the request. A mixture may use the
        class's classifiers, and "always 0" and "always 1" in all tasks at once. ``upper`` is the
        error plus the price of remaining violations. ``lower`` is NaN with a heuristic oracle. With
        ``beta``, OPT is for the exemptions chosen here. With ``max_influence``, OPT is the least
        sum of the error and the price of violations.
    gap : float
        upper - lower if lower is known (then error <= OPT + gap). With a heuristic oracle, column
        generation gives NaN. Exponentiated gradient then gives only what the Auditor could still
        gain against the average play (the mean of all rounds).
    status : Status
    stop_reason : StopReason
    rounds, oracle_calls : int
        Rounds played; cost-sensitive problems solved, one for each task and answer.
    columns : int
        Number of classifiers in each task's mixture.
    seconds : float
        Time in the solver.
    trouble : str
        What failed; empty if nothing did.
    unconstrained_error : float
        Error of the oracle's answer without a fairness constraint. A heuristic oracle's first
        answer may not be its best, so ``error`` may be lower. NaN if unknown, as in a model file of
        release 0.1.0.
    coin_flip_error : float
        Error if coin flips alone are used to meet the request. They are mixed into the
        unconstrained answer until all but a share beta of the people are within the aim. NaN if
        unknown, and with ``max_influence``, which requests no share.
    """

    request: Request
    aim: float
    deviation: float
    spread: float
    outside: float
    error: float
    common_rate: float | tuple[float, ...]
    lower: float
    upper: float
    gap: float
    status: Status
    stop_reason: StopReason
    rounds: int
    oracle_calls: int
    columns: int
    seconds: float
    trouble: str = ""
    unconstrained_error: float = float("nan")
    coin_flip_error: float = float("nan")

    @property
    def alpha(self) -> float:
        """The slack requested: the largest ``|R_i - common rate|`` allowed."""
        return self.request.alpha

    @property
    def met(self) -> bool:
        """Whether all but a share beta are within the aim of some common rate.

        The definition of average individual fairness asks for *some* common rate. The solver's
        common rate may not be the best. With ``max_influence`` no share is requested, so this is
        always True.
        """
        return self.request.max_influence is not None or self.outside <= self.request.beta + 1e-9

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and strings; None for NaN."""
        request = {f"requested_{name}": value for name, value in asdict(self.request).items()}
        names = [field.name for field in fields(self) if field.name != "request"]
        own = {name: getattr(self, name) for name in names}
        own |= {"status": self.status.name.lower(), "stop_reason": self.stop_reason.name.lower()}
        facts: dict[str, Any] = plain({**request, "met": self.met, **own})
        return facts

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Certificate:
        """Return the certificate that :meth:`to_dict` wrote.

        Parameters
        ----------
        facts : mapping
        """
        request = {field.name: facts[f"requested_{field.name}"] for field in fields(Request)}
        # Files of release 0.1.0 lack these two errors.
        known = {"unconstrained_error": None, "coin_flip_error": None, **facts}
        own = {field.name: known[field.name] for field in fields(cls) if field.name != "request"}
        own = {name: float("nan") if value is None else value for name, value in own.items()}
        common = own.pop("common_rate")
        return cls(
            **own
            | {
                "request": Request(**request),
                "common_rate": tuple(common) if isinstance(common, list) else common,
                "status": Status[own["status"].upper()],
                "stop_reason": StopReason[own["stop_reason"].upper()],
            }
        )

    def __str__(self) -> str:
        return "\n".join(line for _, line in self.lines())

    __repr__ = __str__

    def lines(self) -> list[tuple[str, str]]:
        """Return (topic, line) for each line of the printed certificate."""
        lines = (
            ("Asked", self.asked()),
            ("Reached", self._reached()),
            ("Compared", self.compared()),
            ("Effort", self._effort()),
            ("Proved", self.status.value),
            ("Trouble", self.trouble),
        )
        return [(topic, line) for topic, line in lines if line]

    def asked(self) -> str:
        """Say in one line what was requested and whether it was met."""
        request, outside = self.request, f"{self.outside:.1%} of the people are outside"
        if isinstance(self.common_rate, tuple):
            outside += " (for the rate with most outside)"
        aimed = "" if self.aim == self.alpha else f" (aim {self.aim:g}, the theory's promise)"
        verdict = "met" if self.met else "NOT met"
        if request.max_influence is not None:
            return (
                f"requested alpha {self.alpha:g}, nobody's influence above "
                f"{request.max_influence:g}/n: {outside}; spread {self.spread:.6f}"
            )
        if request.beta:
            each = " (for each rate)" if isinstance(self.common_rate, tuple) else ""
            return (
                f"requested alpha {self.alpha:g} for all but {request.beta:.1%}{each}: {verdict}; "
                f"{outside}; spread {self.spread:.6f}"
            )
        return (
            f"requested alpha {self.alpha:g}{aimed}: {verdict}; "
            f"spread {self.spread:.6f} of {2 * self.aim:g} allowed"
        )

    def _reached(self) -> str:
        common = self.common_rate if isinstance(self.common_rate, tuple) else (self.common_rate,)
        rates = "rate" if len(common) == 1 else "rates"
        known = ""
        if self.status is Status.CERTIFIED:
            scope = "with these people exempt " if self.request.beta else ""
            scope = "plus the price of violations " if self.request.max_influence else scope
            known = f"; OPT {scope}in [{self.lower:.6f}, {self.upper:.6f}], gap {self.gap:.6f}"
        elif not np.isnan(self.gap):
            known = f"; gap {self.gap:.4f}"
        return (
            f"error {self.error:.4f}; rates within {self.deviation:.4f} of the common {rates} "
            f"{', '.join(f'{rate:.4f}' for rate in common)}{known}"
        )

    def compared(self) -> str:
        """Say in one line the error without a constraint and with coin flips; "" if unknown."""
        if np.isnan(self.unconstrained_error):
            return ""
        flips = f"; error with coin flips alone {self.coin_flip_error:.4f}"
        return (
            f"unconstrained error {self.unconstrained_error:.4f}"
            f"{'' if np.isnan(self.coin_flip_error) else flips}"
        )

    def _effort(self) -> str:
        return (
            f"{counted(self.rounds, 'round')}, {counted(self.oracle_calls, 'oracle call')}, "
            f"{counted(self.columns, 'column')} in use, {self.seconds:.2f} s. "
            f"{self.stop_reason.value}"
        )


def certify(
    learner: Learner, mixture: Mixture, solution: Solution
) -> tuple[Certificate, Measurement]:
    """Measure a solution from scratch and compute its certificate.

    Parameters
    ----------
    learner : Learner
        The sample, the rate and the oracle.
    mixture : Mixture
        The classifiers of the sample's tasks.
    solution : Solution
        The solver's claim. Its common rate and multipliers are used, not its error or rates.
    """
    constraints, request = learner.constraints, solution.request
    reached = learner.meter.mix(mixture.parts())
    rates = learner.gather(reached.rates)
    common = constraints.expand(solution.common_rates)
    xp = constraints.space.xp
    upper = _upper(reached.error, xp.abs(rates - common), solution)
    lower = gap = float("nan")
    status = Status.CERTIFIED if learner.oracle.exact else Status.HEURISTIC
    if learner.oracle.exact:
        try:
            lower = max(_lower(learner, solution, point) for point in solution.dual_points)
        except Exception:
            # The solution already reports that the oracle failed: do not raise again.
            if not solution.trouble:
                raise
            status = Status.UNPROVED
        gap = upper - lower
        if gap < -ROUNDING:
            status, lower, gap = Status.CONTRADICTED, float("nan"), float("nan")
    elif solution.multipliers is not None:
        weights = solution.multipliers[0, :] - solution.multipliers[1, :]
        price = request.alpha * total_size(solution.multipliers)
        gap = upper - lagrangian(reached.error, rates, common, weights, price)
    unconstrained, coin_flips = _comparison_errors(learner, solution)
    certificate = Certificate(
        request=request,
        aim=solution.aim,
        deviation=constraints.deviation(rates, solution.common_rates),
        spread=constraints.spread(rates),
        outside=constraints.share_outside(rates, solution.aim + ROUNDING / 2),
        error=reached.error,
        common_rate=learner.rates.per_rate(solution.common_rates.tolist()),
        lower=lower,
        upper=upper,
        gap=gap if np.isnan(gap) else max(0.0, gap),
        status=status,
        stop_reason=solution.stop_reason,
        rounds=len(solution.history),
        oracle_calls=solution.oracle_calls,
        columns=len(mixture.hypotheses),
        seconds=solution.seconds,
        trouble=solution.trouble,
        unconstrained_error=unconstrained,
        coin_flip_error=coin_flips,
    )
    return certificate, reached.on_host()


def _comparison_errors(learner: Learner, solution: Solution) -> tuple[float, float]:
    """Return the error of the unconstrained answer, and of meeting the request by coin flips."""
    try:
        free = learner.unconstrained()
    except Exception:
        # An oracle that failed before may fail again: certify the answer without these errors.
        if not solution.trouble:
            raise
        return float("nan"), float("nan")
    if solution.request.max_influence is not None:
        return free.error, float("nan")
    beta = solution.request.beta
    kept = learner.constraints.kept_among_coin_flips(free.rates, solution.aim, beta)
    return free.error, kept * free.error + 0.5 * (1.0 - kept)


def _upper(error: float, off: Any, solution: Solution) -> float:
    """Return the error plus the price of the violations.

    The multipliers of an optimum add up to at most 1 / (2 alpha), since coin flips err half the
    time on everybody. If the price of the worst violation were lower than that, the result would
    not be an upper bound.
    """
    alpha, space = solution.request.alpha, Space.of(off)
    if isinstance(solution.prices, float):
        worst = float(space.xp.max(off)) if off.shape[0] else 0.0
        return worst_case(error, worst, alpha, max(solution.prices, 0.5 / alpha))
    return error + float(space.asarray(solution.prices) @ space.xp.clip(off - alpha, min=0.0))


def _lower(learner: Learner, solution: Solution, weights: Any) -> float:
    """Return the dual function: the least Lagrangian of the class and of the constants."""
    alpha = solution.request.alpha
    value = learner.dual_value(weights, alpha)
    constants = (learner.lagrangian(play, weights, alpha) for play in learner.constants())
    return min(value, *constants)


def warn_if_missed(certificate: Certificate) -> None:
    """Warn if a fit ended before it converged, or did not meet its request."""
    reason, ended = certificate.stop_reason, ""
    if certificate.trouble:
        ended = f"the fit failed part-way ({certificate.trouble})"
    elif reason is StopReason.INTERRUPTED:
        ended = "the fit was interrupted"
    elif reason is StopReason.ROUNDS:
        ended = f"the fit did not converge within its limit of rounds ({certificate.rounds})"
    elif reason is StopReason.TIME:
        ended = "the fit did not converge within its time limit"
    sentences = [] if certificate.met else [certificate.asked()]
    if ended:
        sentences.append(
            f"{ended}; the model is the best answer so far (error {certificate.error:.4f}, spread "
            f"{certificate.spread:.6f})"
        )
    if not sentences:
        return
    if certificate.compared():
        sentences.append(f"For comparison: {certificate.compared()}")
    if reason.limit:
        sentences.append("Raise max_rounds or time_limit to search longer")
    if not certificate.met:
        sentences.append("Raise alpha, or use the default solver, which meets every alpha")
    warn(". ".join(sentences) + ".", ConvergenceWarning)
