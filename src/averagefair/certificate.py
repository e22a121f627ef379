"""The certificate: what was asked, what was reached, and what of it is proved.

Nothing is taken on the solver's word. Error and rates are measured anew from the data and the
final classifiers; the lower bound is computed anew by one best response at the multipliers the
solver proposes: for every lambda >= 0, min over (h, gamma) of L(h, gamma, lambda) <= OPT.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from averagefair.auditor import deviation, lagrangian, spread, worst_case
from averagefair.learner import Learner
from averagefair.measure import Measurement
from averagefair.mixture import Mixture
from averagefair.solvers.iterate import Solution, StopReason

# A request counts as met to this precision: a spread is a difference of long sums.
_ROUNDING = 1e-6


class Status(Enum):
    """What the numbers of a certificate are worth."""

    CERTIFIED = "certified: the oracle is exact, so the bounds hold"
    HEURISTIC = (
        "heuristic: the fairness and error reached are measured, but the oracle is not exact, so "
        "nothing is proved about how much better one could do"
    )


@dataclass(frozen=True, repr=False)
class Certificate:
    """What was asked, what was reached, what is proved.

    Attributes
    ----------
    alpha : float
        The slack asked for: the largest |R_i - common rate|.
    aim : float
        The deviation the solver set out for: alpha, or the theory's promise of 3/2 alpha (its 3
        alpha) where the solver was made from the theory.
    deviation : float
        The largest |R_i - common rate| reached, over constrained individuals.
    spread : float
        Largest minus smallest individual rate.
    error : float
        Overall error on the training sample.
    common_rate : float
        gamma.
    lower, upper : float
        Lagrangian bounds. ``upper`` = error + B max(0, worst violation). ``lower`` <= OPT, the
        least error of any mixture over the class with deviation at most alpha; NaN with a
        heuristic oracle, which proves no such bound.
    gap : float
        upper - lower where that is known (then error <= OPT + gap). With a heuristic oracle, only
        what the Auditor could still gain against the average play. Violations count B-fold in it.
    status : Status
    stop_reason : StopReason
    rounds, oracle_calls : int
        Rounds played; cost-sensitive problems solved, one for each task and round.
    seconds : float
        Time in the solver.
    """

    alpha: float
    aim: float
    deviation: float
    spread: float
    error: float
    common_rate: float
    lower: float
    upper: float
    gap: float
    status: Status
    stop_reason: StopReason
    rounds: int
    oracle_calls: int
    seconds: float

    @property
    def met(self) -> bool:
        """Whether everybody is within the aim of some common rate: spread <= 2 aim.

        The definition of average individual fairness asks for *some* common rate; the one the
        solver ended with need not be the best.
        """
        return self.spread <= 2 * self.aim + _ROUNDING

    def __str__(self) -> str:
        proof = f"lower bound {self.lower:.4f}, " if self.status is Status.CERTIFIED else ""
        aimed = "" if self.aim == self.alpha else f" (aim {self.aim:g}, the theory's promise)"
        return (
            f"requested alpha {self.alpha:g}{aimed}: {'met' if self.met else 'NOT met'}; "
            f"spread {self.spread:.6f} of {2 * self.aim:g} allowed\n"
            f"error {self.error:.4f}; rates within {self.deviation:.4f} of the common rate "
            f"{self.common_rate:.4f}; {proof}gap {self.gap:.4f}\n"
            f"{self.rounds} rounds, {self.oracle_calls} oracle calls, {self.seconds:.2f} s; "
            f"stopped: {self.stop_reason.value}\n{self.status.value}"
        )

    __repr__ = __str__


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
    calls = learner.calls
    reached = learner.meter(mixture.chances)
    rates = reached.rates[learner.constrained]
    off = deviation(rates, solution.common_rate)
    upper = worst_case(reached.error, off, solution.slack, solution.dual_bound)
    if learner.oracle.exact:
        status = Status.CERTIFIED
        lower = max(learner.dual_value(point, solution.slack) for point in solution.dual_points)
        gap = upper - lower
    else:
        status, lower = Status.HEURISTIC, float("nan")
        weights = solution.multipliers[0] - solution.multipliers[1]
        price = solution.slack * float(solution.multipliers.sum())
        gap = upper - lagrangian(reached.error, rates, solution.common_rate, weights, price)
    certificate = Certificate(
        alpha=solution.slack,
        aim=solution.aim,
        deviation=off,
        spread=spread(rates),
        error=reached.error,
        common_rate=solution.common_rate,
        lower=lower,
        upper=upper,
        gap=max(0.0, gap),
        status=status,
        stop_reason=solution.stop_reason,
        rounds=len(solution.history),
        oracle_calls=calls,
        seconds=solution.seconds,
    )
    return certificate, reached
