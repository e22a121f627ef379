"""The Learner: the primal player, who answers multipliers with classifiers.

Subroutine BEST (and BEST_fp of the appendix): given weights w = lambda+ - lambda-, the best
common rate is gamma = 1[sum_i w_i > 0], strictly and without a tolerance, and the best classifier
of each task solves a cost-sensitive problem (:mod:`averagefair.costs`). With an exact oracle the
answer is a true best response; otherwise it is only as good as the oracle.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.auditor import lagrangian
from averagefair.constants import constants
from averagefair.constraints import Constraints
from averagefair.costs import CostRule, Costs
from averagefair.errors import InputError, UndefinedRateWarning, some_of, warn
from averagefair.measure import Measurement, Meter
from averagefair.parts import room_for_a_block
from averagefair.protocols import Hypothesis, Oracle, Rate
from averagefair.rates import resolve_rates
from averagefair.sample import FloatArray, Sample
from averagefair.spaces import Space, total_size


@dataclass(frozen=True, eq=False)
class Play:
    """One play of the Learner: all that a solver sees of it, and the classifiers behind it.

    Attributes
    ----------
    error : float
        Overall error, sum_i a_i E_i.
    rates : array, shape (constraints,)
        Individual rates R_i. NaN where none of the tasks looked at counts for that individual.
    common_rates : array, shape (rates,)
        gamma, 0 or 1.
    weights : array, shape (constraints,)
        The w this play answers.
    hypothesis : Hypothesis
    """

    error: float
    rates: Any
    common_rates: FloatArray
    weights: Any
    hypothesis: Hypothesis


class Learner:
    """The primal player on one sample, with one oracle, for one rate or several at once.

    Parameters
    ----------
    sample : Sample
    rate : str, Rate, or list of these
    oracle : Oracle

    Attributes
    ----------
    rates : tuple of Rate
    several : bool
        Whether a list of rates was given (of one or more).
    constraints : Constraints
        The individuals whose rate is defined and whose weight is positive. Solvers work on
        vectors over these alone.
    undefined : integer array
        The individuals that carry no constraint (on one of the rates at least), since nothing of
        theirs counts.
    cost_rule : CostRule
        How weights (over all n individuals) become costs.
    stakes : array, shape (constraints,)
        What a mistake that counts costs in the objective, in the units of the weights: at w = -
        stake a person's mistakes cost nothing.
    calls : int
        Cost-sensitive problems solved so far, one for each task and round.
    """

    def __init__(
        self, sample: Sample, rate: str | Rate | Sequence[str | Rate], oracle: Oracle
    ) -> None:
        self.rates, self.several = resolve_rates(rate), isinstance(rate, list | tuple)
        if any(one.holdout_tasks for one in self.rates):
            raise InputError(
                "a Learner takes rho as it is and sets no tasks aside: use AverageFairClassifier, "
                "or give the estimates by rate.with_rho(...)."
            )
        self.sample, self.oracle = sample, oracle
        self.meter = self._meter(sample)
        space, xp = sample.space, sample.space.xp
        if bool(xp.any(xp.isnan(self.meter.shares))):
            raise InputError(
                "no label is observed for anybody of positive weight: there is nothing to learn "
                "from. Pass at least one label."
            )
        present = sample.individual_weights > 0
        # Everybody's rates one after the other, rate after rate: which of these are constrained.
        defined = space.to_host(self.meter.rho).reshape(sample.n, -1).T > 0
        constrained = np.flatnonzero(defined & present)
        self._places = _Places(constrained, defined.size, space)
        people = constrained % sample.n
        self.constraints = Constraints(
            people,
            constrained // sample.n,
            sample.individual_weights[people],
            rate_count=len(self.rates),
            space=space,
        )
        self.undefined = np.flatnonzero(~defined.all(axis=0) & present)
        self.cost_rule = self._cost_rule([one.rho for one in self.rates])
        objective = xp.concat([self.cost_rule.objective] * len(self.rates))
        leverage = xp.concat(list(self.cost_rule.leverage))
        self.stakes = self._places.take(objective) / self._places.take(leverage)
        self.calls = 0
        self._unconstrained: Play | None = None
        self._report_undefined(~defined & present)
        check_reach(oracle, sample)
        with self._enough_room("binding the oracle"):
            self._best_response = oracle.bind(sample)

    @property
    def exact(self) -> bool:
        """Whether plays are true best responses: an exact oracle, and the sample's own rho."""
        return self.oracle.exact and all(one.rho is None for one in self.rates)

    def respond(self, weights: Any, tasks: NDArray[np.intp] | None = None) -> Play:
        """Answer weights over the constraints with a best response.

        Parameters
        ----------
        weights : array, shape (constraints,)
        tasks : integer array, optional
            Look at these tasks only (a fresh batch F_t); classifiers are learned for them alone.
        """
        return self._answer(self.cost_rule, weights, tasks)

    def unconstrained(self) -> Play:
        """Return the oracle's answer where fairness has no weight; it is asked once."""
        if self._unconstrained is None:
            nothing = self.sample.space.zeros(len(self.constraints))
            self._unconstrained = self._answer(self.cost_rule, nothing, None)
        return self._unconstrained

    def constants(self) -> list[Play]:
        """Return the plays "always 0" and "always 1"; they answer no weights."""
        nothing = self.sample.space.zeros(len(self.constraints))
        return [self._play(nothing, one, self.meter) for one in constants(self.sample.m)]

    def present(self, measured: Measurement) -> Measurement:
        """Return a measurement in which people of weight 0 are absent: their rates are NaN.

        Parameters
        ----------
        measured : Measurement
            Of everybody, present or absent.
        """
        absent = self.sample.individual_weights == 0
        rates = measured.on_host().rates
        return Measurement(measured.error, np.where(absent, np.nan, rates.T).T)

    def dual_value(self, weights: Any, slack: float) -> float:
        """Return min over (h, gamma) of L at these weights: with an exact oracle, at most OPT.

        Outside estimates of rho, if any, are left aside: the bound is on the sample's own problem.

        Parameters
        ----------
        weights : array, shape (constraints,)
        slack : float
            The alpha of the request.
        """
        play = self._answer(self._cost_rule([None] * len(self.rates)), weights, None)
        return self.lagrangian(play, weights, slack)

    def lagrangian(self, play: Play, weights: Any, slack: float) -> float:
        """Return L of a play at these weights and at the gamma that is best for them.

        Of all multipliers with these weights, lambda+ = max(w, 0) and lambda- = max(-w, 0) pay the
        slack least: those are meant.

        Parameters
        ----------
        play : Play
        weights : array, shape (constraints,)
        slack : float
            The alpha of the request.
        """
        common_rates = self.constraints.expand(self.constraints.best_common_rates(weights))
        price = slack * total_size(weights)
        return lagrangian(play.error, play.rates, common_rates, weights, price)

    def _answer(self, rule: CostRule, weights: Any, tasks: NDArray[np.intp] | None) -> Play:
        with self._enough_room("a best response"):
            sample = self.sample if tasks is None else self.sample.take_tasks(tasks)
            meter = self.meter if tasks is None else self._meter(sample)
            prices = rule.prices(self.scatter(weights))
            hypothesis = self._best_response(Costs(sample, *prices, tasks))
            if self.calls == 0:
                _vet(hypothesis, sample)
            self.calls += sample.m
            return self._play(weights, hypothesis, meter)

    def _enough_room(self, doing: str) -> AbstractContextManager[None]:
        sample = self.sample
        return sample.space.guarded(doing, room_for_a_block(sample.n, sample.m))

    def _play(self, weights: Any, hypothesis: Hypothesis, meter: Meter) -> Play:
        error, rates = meter(hypothesis)
        common_rates = self.constraints.best_common_rates(weights)
        return Play(error, self.gather(rates), common_rates, weights, hypothesis)

    def _meter(self, sample: Sample) -> Meter:
        return Meter(sample, self.rates if self.several else self.rates[0])

    def gather(self, rates: Any) -> Any:
        """Return the constrained ones of everybody's rates, as the meter measures them.

        Shape (constraints,).

        Parameters
        ----------
        rates : array, shape (n,) or (n, rates)
        """
        if rates.ndim > 1:
            xp = Space.of(rates).xp
            rates = xp.reshape(xp.matrix_transpose(rates), (-1,))
        return self._places.take(rates)

    def scatter(self, weights: Any) -> Any:
        """Turn vectors over the constraints into vectors over all rates and people, 0 elsewhere.

        Parameters
        ----------
        weights : array, shape (constraints,) or (k, constraints)
        """
        return self._places.put(weights)

    def _cost_rule(self, outside: Sequence[Any]) -> CostRule:
        """Return the rule with these estimates of rho, or the sample's own where None."""
        n, meter, space = self.sample.n, self.meter, self.sample.space
        xp = space.xp
        own = xp.reshape(meter.rho, (n, -1))
        present = self.sample.counts > 0
        leverage = []
        for place, given in enumerate(outside):
            defined = (own[:, place] > 0) & present
            rho = own[:, place]
            if given is not None:
                if np.shape(given) != (n,):
                    raise InputError(
                        f"rho must give one number for each of the {n} individuals; got shape "
                        f"{np.shape(given)}."
                    )
                rho = space.asarray(given, "float64")
            leverage.append(xp.where(defined, 1.0 / xp.where(defined, rho, 1.0), 0.0))
        some = meter.shares > 0
        objective = xp.where(some, meter.shares / xp.where(some, meter.error_rho, 1.0), 0.0)
        return CostRule(
            objective,
            leverage,
            np.array([rate.negatives for rate in self.rates]),
            np.array([rate.positives for rate in self.rates]),
        )

    def _report_undefined(self, undefined: NDArray[np.bool_]) -> None:
        for rate, without in zip(self.rates, undefined, strict=True):
            if without.any():
                names = some_of(self.sample.individual_names[without].tolist())
                warn(
                    f"the {rate.name} rate of {without.sum()} of {self.sample.n} individuals is "
                    f"undefined, since none of their labels counts towards it: {names}. "
                    "They carry no constraint.",
                    UndefinedRateWarning,
                )


class _Places:
    """Some places of a long vector: what is there can be taken out, and put back among zeros."""

    def __init__(self, places: NDArray[np.intp], size: int, space: Space) -> None:
        self._all, self._space, self._places = len(places) == size, space, places
        if not self._all:
            self._there = space.asarray(places)
            # Where each place of the long vector is filled from; the last is a zero.
            source = np.full(size, len(places))
            source[places] = np.arange(len(places))
            self._source = space.asarray(source)

    def take(self, long: Any) -> Any:
        """Return what is at the places, shape (N,), of a vector here or on the host."""
        if self._all:
            return long
        space = Space.of(long)
        return space.xp.take(long, self._places if space.is_numpy else self._there)

    def put(self, short: Any) -> Any:
        """Return long vectors with these values, shape (..., N), at the places and 0 elsewhere."""
        if self._all:
            return short
        nothing = self._space.zeros((*short.shape[:-1], 1))
        padded = self._space.xp.concat([short, nothing], axis=-1)
        return self._space.xp.take(padded, self._source, axis=-1)


def check_reach(oracle: Oracle, sample: Sample) -> None:
    """Refuse an oracle that needs everybody in NumPy's arrays, where they are elsewhere."""
    if not sample.rows.local and not getattr(oracle, "anywhere", False):
        raise InputError(
            f"{type(oracle).__name__} needs everybody in NumPy arrays of this machine; these "
            f"people are in {sample.rows.whereabouts}. Use the default oracle, RegressionOracle() "
            "or LogisticOracle(), or hand over NumPy arrays."
        )


def _vet(hypothesis: Hypothesis, sample: Sample) -> None:
    """Refuse an oracle's first answer if it is not what a hypothesis must be."""
    if not isinstance(hypothesis, Hypothesis):
        raise InputError(
            "an oracle must answer with a hypothesis, an object with the methods decide and key; "
            f"got {hypothesis!r}."
        )
    if getattr(hypothesis, "count_mistakes", None) is not None:
        return  # one of ours, which decides wherever the people are
    decisions = np.asarray(hypothesis.decide(sample.features[:1]))
    if decisions.dtype != np.bool_ or decisions.shape != (1, sample.m):
        raise InputError(
            "a hypothesis must decide True or False for each person and task: for 1 person and "
            f"{sample.m} tasks a bool array of shape {(1, sample.m)}; got {decisions.dtype} of "
            f"shape {decisions.shape}."
        )
