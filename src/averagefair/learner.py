"""The Learner: the primal player, who answers multipliers with classifiers.

Subroutine BEST (and BEST_fp of the appendix): given weights w = lambda+ - lambda-, the best
common rate is gamma = 1[sum_i w_i > 0], and the best classifier of each task solves a
cost-sensitive problem (:mod:`averagefair.costs`). With an exact oracle the answer is a true best
response; otherwise it is only as good as the oracle.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from averagefair.auditor import lagrangian
from averagefair.costs import CostRule, Costs
from averagefair.errors import InputError, UndefinedRateWarning
from averagefair.measure import Meter
from averagefair.protocols import Hypothesis, Oracle, Rate
from averagefair.sample import FloatArray, Sample


@dataclass(frozen=True, eq=False)
class Play:
    """One play of the Learner: all that a solver sees of it, and the classifiers behind it.

    Attributes
    ----------
    error : float
        Overall error, sum_i a_i E_i.
    rates : array, shape (constrained individuals,)
        Individual rates R_i. NaN where none of the tasks looked at counts for that individual.
    common_rate : float
        gamma, 0 or 1.
    weights : array, shape (constrained individuals,)
        The w this play answers.
    hypothesis : Hypothesis
    """

    error: float
    rates: FloatArray
    common_rate: float
    weights: FloatArray
    hypothesis: Hypothesis


class Learner:
    """The primal player on one sample, for one rate, with one oracle.

    Parameters
    ----------
    sample : Sample
    rate : Rate
    oracle : Oracle

    Attributes
    ----------
    constrained : integer array
        The individuals whose rate is defined and whose weight is positive. Solvers work on
        vectors over these alone.
    multiplicities : array, shape (constrained individuals,)
        How many people each of them stands for.
    undefined : integer array
        The individuals that carry no constraint since nothing of theirs counts.
    cost_rule : CostRule
        How weights (over all n individuals) become costs.
    calls : int
        Cost-sensitive problems solved so far, one for each task and round.
    """

    def __init__(self, sample: Sample, rate: Rate, oracle: Oracle) -> None:
        self.sample, self.rate, self.oracle = sample, rate, oracle
        self.meter = Meter(sample, rate)
        if np.isnan(self.meter.shares).any():
            raise InputError(
                "no label is observed for anybody of positive weight: there is nothing to learn "
                "from. Pass at least one label."
            )
        present = sample.individual_weights > 0
        self.constrained = np.flatnonzero((self.meter.rho > 0) & present)
        self.undefined = np.flatnonzero((self.meter.rho == 0) & present)
        self.multiplicities = sample.individual_weights[self.constrained]
        rho = self.meter.rho if rate.rho is None else np.asarray(rate.rho, dtype=np.float64)
        self.cost_rule = self._cost_rule(rho)
        self.calls = 0
        self._report_undefined()
        self._best_response = oracle.bind(sample)

    @property
    def exact(self) -> bool:
        """Whether plays are true best responses: an exact oracle, and the sample's own rho."""
        return self.oracle.exact and self.rate.rho is None

    def respond(self, weights: FloatArray, tasks: NDArray[np.intp] | None = None) -> Play:
        """Answer weights over the constrained individuals with a best response.

        Parameters
        ----------
        weights : array, shape (constrained individuals,)
        tasks : integer array, optional
            Look at these tasks only (a fresh batch F_t); classifiers are learned for them alone.
        """
        return self._answer(self.cost_rule, weights, tasks)

    def dual_value(self, weights: FloatArray, slack: float) -> float:
        """Return min over (h, gamma) of L at these weights: with an exact oracle, at most OPT.

        Of all multipliers with weights w those with lambda+ = max(w, 0), lambda- = max(-w, 0) give
        the best bound, as they pay the slack least. Outside estimates of rho, if any, are left
        aside: the bound is on the sample's own problem.
        """
        play = self._answer(self._cost_rule(self.meter.rho), weights, None)
        price = slack * float(np.abs(weights).sum())
        return lagrangian(play.error, play.rates, play.common_rate, weights, price)

    def _answer(self, rule: CostRule, weights: FloatArray, tasks: NDArray[np.intp] | None) -> Play:
        signs = self.sample.signs if tasks is None else self.sample.signs[:, tasks]
        prices = rule.prices(self.scatter(weights))
        hypothesis = self._best_response(Costs(signs, *prices, tasks))
        self.calls += signs.shape[1]
        meter = self.meter if tasks is None else Meter(self.sample.take_tasks(tasks), self.rate)
        error, rates = meter(hypothesis.decide)
        common_rate = float(weights.sum() > 0)
        return Play(error, rates[self.constrained], common_rate, weights, hypothesis)

    def scatter(self, weights: FloatArray) -> FloatArray:
        """Turn vectors over the constrained individuals into vectors over all n, 0 elsewhere."""
        if self.constrained.size == self.sample.n:
            return weights
        out = np.zeros((*weights.shape[:-1], self.sample.n))
        out[..., self.constrained] = weights
        return out

    def _cost_rule(self, rho: FloatArray) -> CostRule:
        n, meter = self.sample.n, self.meter
        if rho.shape != (n,):
            raise InputError(
                f"rho must give one number for each of the {n} individuals; got shape {rho.shape}."
            )
        objective = np.divide(
            meter.shares, meter.error_rho, out=np.zeros(n), where=meter.shares > 0
        )
        leverage = np.zeros(n)
        leverage[self.constrained] = 1.0 / rho[self.constrained]
        return CostRule(objective, leverage, self.rate.negatives, self.rate.positives)

    def _report_undefined(self) -> None:
        if self.undefined.size == 0:
            return
        names = ", ".join(str(name) for name in self.sample.individual_names[self.undefined[:5]])
        more = f" and {self.undefined.size - 5} more" if self.undefined.size > 5 else ""
        warnings.warn(
            f"the {self.rate.name} rate of {self.undefined.size} of {self.sample.n} individuals is "
            f"undefined, since none of their labels counts towards it: {names}{more}. "
            "They carry no constraint.",
            UndefinedRateWarning,
            stacklevel=4,
        )
