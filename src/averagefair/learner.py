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

from averagefair.auditor import dual_value
from averagefair.costs import CostRule, Costs
from averagefair.errors import InputError, UndefinedRateWarning, some_of
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
        if rate.holdout_tasks:
            raise InputError(
                "a Learner takes rho as it is and sets no tasks aside: use AverageFairClassifier, "
                "or give the estimates by rate.with_rho(...)."
            )
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

        Outside estimates of rho, if any, are left aside: the bound is on the sample's own problem.
        """
        play = self._answer(self._cost_rule(self.meter.rho), weights, None)
        return dual_value(play.error, play.rates, play.common_rate, weights, slack)

    def _answer(self, rule: CostRule, weights: FloatArray, tasks: NDArray[np.intp] | None) -> Play:
        sample = self.sample if tasks is None else self.sample.take_tasks(tasks)
        meter = self.meter if tasks is None else Meter(sample, self.rate)
        prices = rule.prices(self.scatter(weights))
        hypothesis = self._best_response(Costs(sample.signs, *prices, tasks))
        if self.calls == 0:
            _vet(hypothesis, sample)
        self.calls += sample.m
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
        names = some_of(self.sample.individual_names[self.undefined].tolist())
        warnings.warn(
            f"the {self.rate.name} rate of {self.undefined.size} of {self.sample.n} individuals is "
            f"undefined, since none of their labels counts towards it: {names}. "
            "They carry no constraint.",
            UndefinedRateWarning,
            stacklevel=4,
        )


def _vet(hypothesis: Hypothesis, sample: Sample) -> None:
    """Refuse an oracle's first answer if it is not what a hypothesis must be."""
    if not isinstance(hypothesis, Hypothesis):
        raise InputError(
            "an oracle must answer with a hypothesis, an object with the methods decide and key; "
            f"got {hypothesis!r}."
        )
    decisions = np.asarray(hypothesis.decide(sample.features[:1]))
    if decisions.dtype != np.bool_ or decisions.shape != (1, sample.m):
        raise InputError(
            "a hypothesis must decide True or False for each person and task: for 1 person and "
            f"{sample.m} tasks a bool array of shape {(1, sample.m)}; got {decisions.dtype} of "
            f"shape {decisions.shape}."
        )
