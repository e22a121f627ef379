"""The certificate: what was asked, what was reached, and what of it is proved.

Nothing is taken on the solver's word. Error and rates are measured anew from the data and the
final classifiers; the lower bound is computed anew by one best response at the multipliers the
solver proposes: for every lambda >= 0, min over (h, gamma) of L(h, gamma, lambda) <= OPT.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import Enum
from typing import Any

import numpy as np

from averagefair.auditor import lagrangian, worst_case
from averagefair.learner import Learner
from averagefair.measure import Measurement
from averagefair.mixture import Mixture
from averagefair.request import ROUNDING, Request
from averagefair.solvers.iterate import Solution, StopReason
from averagefair.spaces import Space, total_size
from averagefair.text import counted, plain


class Status(Enum):
    """What the numbers of a certificate are worth; the value says it in words.

    Attributes
    ----------
    CERTIFIED
        The oracle is exact: the bounds hold.
    HEURISTIC
        Fairness and error are measured, but the oracle is not exact: nothing is proved about how
        much better one could do.
    UNPROVED
        Fairness and error are measured, but the oracle, an exact one, failed before it could prove
        a bound.
    CONTRADICTED
        The oracle calls itself exact, and is not: it proves more than what was reached without it.
        Nothing is proved.
    """

    CERTIFIED = "certified: the oracle is exact, so the bounds hold"
    HEURISTIC = (
        "heuristic: the fairness and error reached are measured, but the oracle is not exact, so "
        "nothing is proved about how much better one could do"
    )
    UNPROVED = (
        "unproved: the fairness and error reached are measured, but the oracle failed before it "
        "could prove a bound"
    )
    CONTRADICTED = (
        "contradicted: the oracle calls itself exact, but what it proves is more than what was "
        "reached without it, so it is not; nothing is proved"
    )


@dataclass(frozen=True, repr=False)
class Certificate:
    """What was asked, what was reached, what is proved.

    Attributes
    ----------
    request : Request
        What was asked: alpha, beta, max_influence.
    aim : float
        The deviation the solver set out for: alpha, or the theory's promise of 3/2 alpha (its 3
        alpha) where the solver was made from the theory.
    deviation : float
        The largest ``|R_i - common rate|`` reached, over constrained individuals.
    spread : float
        Largest minus smallest individual rate. Of several rates, the widest.
    outside : float
        The beta reached: the share of people who do not fit into a window of 2 aim. Of several
        rates, the largest.
    error : float
        Overall error on the training sample.
    common_rate : float, or tuple of float where a list of rates was asked for
        gamma.
    lower, upper : float
        Bounds on OPT, the least error that keeps to the request, of any mixture of the class's
        classifiers and of "always 0" and "always 1" in all tasks at once. ``upper`` is the error
        plus the price of what violations are left. ``lower`` is NaN with a heuristic oracle, which
        proves no such bound. With ``beta``, OPT is for the people excepted here; with
        ``max_influence`` it is the least error plus price of violations.
    gap : float
        upper - lower where that is known (then error <= OPT + gap). With a heuristic oracle and
        exponentiated gradient, only what the Auditor could still gain against the average play;
        with a heuristic oracle and column generation, NaN.
    status : Status
    stop_reason : StopReason
    rounds, oracle_calls : int
        Rounds played; cost-sensitive problems solved, one for each task and answer.
    columns : int
        Classifiers of each task that the mixture is made of.
    seconds : float
        Time in the solver.
    trouble : str
        What failed on the way, where something did.
    unconstrained_error : float
        Error of the oracle's answer where fairness has no weight. A heuristic oracle's first
        answer need not be its best, so ``error`` may be lower. NaN where it is not known, as in
        a model file of release 0.1.0.
    coin_flip_error : float
        Error of meeting the request by coin flips alone: of mixing them into the unconstrained
        answer until all but a share beta are within the aim. NaN where it is not known, and with
        ``max_influence``, which asks for no share.
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
        """The slack asked for: the largest ``|R_i - common rate|``."""
        return self.request.alpha

    @property
    def met(self) -> bool:
        """Whether all but a share beta are within the aim of some common rate.

        The definition of average individual fairness asks for *some* common rate; the one the
        solver ended with need not be the best. With ``max_influence`` no share was asked for.
        """
        return self.request.max_influence is not None or self.outside <= self.request.beta + 1e-9

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain numbers and words; what is unknown is None."""
        request = {f"requested_{name}": value for name, value in asdict(self.request).items()}
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "request"}
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
        request = {one.name: facts[f"requested_{one.name}"] for one in fields(Request)}
        # Files of release 0.1.0 lack the errors to compare with.
        known = {"unconstrained_error": None, "coin_flip_error": None, **facts}
        own = {one.name: known[one.name] for one in fields(cls) if one.name != "request"}
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
        """Return what is known, line by line, each with what it is about."""
        written = (
            ("Asked", self.asked()),
            ("Reached", self._reached()),
            ("Compared", self.compared()),
            ("Effort", self._effort()),
            ("Proved", self.status.value),
            ("Trouble", self.trouble),
        )
        return [(about, line) for about, line in written if line]

    def asked(self) -> str:
        """Say in one line what was asked and whether it was met."""
        request, outside = self.request, f"{self.outside:.1%} of the people are outside"
        if isinstance(self.common_rate, tuple):
            outside += " (of the rate where most are)"
        aimed = "" if self.aim == self.alpha else f" (aim {self.aim:g}, the theory's promise)"
        verdict = "met" if self.met else "NOT met"
        if request.max_influence is not None:
            return (
                f"requested alpha {self.alpha:g}, nobody's influence above "
                f"{request.max_influence:g}/n: {outside}; spread {self.spread:.6f}"
            )
        if request.beta:
            each = " (of each rate)" if isinstance(self.common_rate, tuple) else ""
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
            of = "with these exceptions " if self.request.beta else ""
            of = "with the price of those outside " if self.request.max_influence else of
            known = f"; OPT {of}in [{self.lower:.6f}, {self.upper:.6f}], gap {self.gap:.6f}"
        elif not np.isnan(self.gap):
            known = f"; gap {self.gap:.4f}"
        return (
            f"error {self.error:.4f}; rates within {self.deviation:.4f} of the common {rates} "
            f"{', '.join(f'{rate:.4f}' for rate in common)}{known}"
        )

    def compared(self) -> str:
        """Say in one line what the error would be unconstrained, and by coin flips; or nothing."""
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
            f"{counted(self.columns, 'column')} in use, {self.seconds:.2f} s; "
            f"stopped: {self.stop_reason.value}"
        )


def certify(
    learner: Learner, mixture: Mixture, solution: Solution
) -> tuple[Certificate, Measurement]:
    """Measure a solution from scratch and say what is proved about it.

    Parameters
    ----------
    learner : Learner
        The sample, the rate and the oracle.
    mixture : Mixture
        The classifiers of the sample's tasks.
    solution : Solution
        What the solver claims: used for its common rate and the multipliers it proposes.
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
            # The oracle has failed before: whatever it raises now is no news.
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
    unconstrained, coin_flips = _to_compare(learner, solution)
    certificate = Certificate(
        request=request,
        aim=solution.aim,
        deviation=constraints.deviation(rates, solution.common_rates),
        spread=constraints.spread(rates),
        outside=constraints.share_outside(rates, solution.aim + ROUNDING / 2),
        error=reached.error,
        common_rate=tuple(solution.common_rates.tolist())
        if learner.several
        else float(solution.common_rates[0]),
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


def _to_compare(learner: Learner, solution: Solution) -> tuple[float, float]:
    """Return the error of the unconstrained answer, and of meeting the request by coin flips."""
    try:
        free = learner.unconstrained()
    except Exception:
        # An oracle that failed on the way may fail again: the answer stands without this.
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

    The multipliers of an optimum add up to 1 / (2 alpha) at most, since coin flips err half the
    time on everybody: a lower price of the worst violation would be no bound.
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
    rivals = (learner.lagrangian(play, weights, alpha) for play in learner.constants())
    return min(value, *rivals)
