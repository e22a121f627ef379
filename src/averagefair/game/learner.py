"""The Learner: the primal player, who answers multipliers with classifiers.

Subroutine BEST (and BEST_fp of the appendix): given weights w = lambda+ - lambda-, the best
common rate is gamma = 1[sum_i w_i > 0], without a tolerance. The best classifier of each task
solves a cost-sensitive problem (:mod:`averagefair.game.costs`). With an exact oracle the answer is
a true best response; otherwise it is only as good as the oracle.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.errors import InputError, UndefinedRateWarning, some_of, warn
from averagefair.game.blocks import Blocks, BlockShares, RateScale
from averagefair.game.constant_classifiers import constants
from averagefair.game.constraints import Constraints
from averagefair.game.costs import CostRule, Costs
from averagefair.game.limits import Program
from averagefair.game.measure import Measurement, Meter
from averagefair.game.promises import Baseline, Promise
from averagefair.game.protocols import BestResponse, Hypothesis, Oracle, Rate
from averagefair.game.rates import Rates
from averagefair.people.backends import Space, to_host
from averagefair.people.parts import block_bytes_on_gpu
from averagefair.people.sample import Sample


@dataclass(frozen=True, eq=False)
class Play:
    """One play, an answer of the Learner: what a solver sees, and the classifiers.

    Attributes
    ----------
    error : float
        Overall error, sum_i a_i E_i.
    rates : array, shape (constraints,)
        Individual rates R_i. NaN if no task of the batch counts for that individual.
    common_rates : array, shape (rates,)
        gamma, 0 or 1.
    weights : array, shape (constraints,)
        The weights w that this play answers.
    hypothesis : Hypothesis
    blocks : BlockShares, or None
        The shares of each block of tasks, if the solver asked for them.
    """

    error: float
    rates: Any
    common_rates: FloatArray
    weights: Any
    hypothesis: Hypothesis
    blocks: BlockShares | None = None

    def cost(self, weights: Any) -> float:
        """Return err + w . R: the Lagrangian without the terms that depend on w alone."""
        return self.error + float(weights @ self.rates)


class Learner:
    """The primal player on one sample, with one oracle, for one rate or several.

    Parameters
    ----------
    sample : Sample
    rate : str, Rate, or list of these
    oracle : Oracle
    against : array, shape (n,) or (n, rates), optional
        Rates that people have today, to compare with; NaN where unknown. Default: the rates of the
        oracle's answer without a constraint.

    Attributes
    ----------
    rates : Rates
    constraints : Constraints
        One for each individual whose rate is defined and whose weight is positive. Solvers work on
        vectors over the constraints.
    undefined : integer array
        The individuals who have no constraint on at least one rate, since none of their labels
        counts towards this rate.
    cost_rule : CostRule
        How weights (over all n individuals) become costs.
    stakes : array, shape (constraints,)
        The cost of a counted mistake in the objective, in the units of the weights. At w = -stake a
        person's mistakes cost nothing.
    calls : int
        Cost-sensitive problems solved so far, one for each task and answer.
    """

    def __init__(
        self,
        sample: Sample,
        rate: str | Rate | Sequence[str | Rate],
        oracle: Oracle,
        against: FloatArray | None = None,
    ) -> None:
        self.rates = Rates.of(rate)
        if any(own.holdout_tasks for own in self.rates):
            raise InputError(
                "a Learner sets no tasks aside to estimate rho: use AverageFairClassifier, or pass "
                "estimates with rate.with_rho(...)."
            )
        self.sample, self.oracle = sample, oracle
        self.meter = self._meter(sample)
        space, xp = sample.space, sample.space.xp
        if bool(xp.any(xp.isnan(self.meter.shares))):
            raise InputError(
                "no label is observed for anybody with positive weight. Pass at least one label."
            )
        present = sample.individual_weights > 0
        # One vector holds all rates of all people, rate after rate; only some are constrained.
        defined = space.to_host(self.meter.rho).reshape(sample.n, -1).T > 0
        constrained = np.flatnonzero(defined & present)
        self._selection = _Selection(constrained, defined.size, space)
        people = constrained % sample.n
        self.constraints = Constraints(
            people,
            constrained // sample.n,
            sample.individual_weights[people],
            rate_count=len(self.rates),
            space=space,
        )
        self.undefined = np.flatnonzero(~defined.all(axis=0) & present)
        self.cost_rule = self._cost_rule([own.rho for own in self.rates])
        objective = xp.concat([self.cost_rule.objective] * len(self.rates))
        leverage = xp.concat(list(self.cost_rule.leverage))
        self.stakes = self._selection.take(objective) / self._selection.take(leverage)
        self.calls = 0
        self._against = None if against is None else self._read_against(against)
        self._unconstrained: Play | None = None
        self._report_undefined(~defined & present)
        check_reach(oracle, sample)
        with self._enough_room("binding the oracle"):
            self._best_response = oracle.bind(sample)

    @property
    def exact(self) -> bool:
        """Whether plays are true best responses: an exact oracle, and no rho from outside."""
        return self.oracle.exact and all(rate.rho is None for rate in self.rates)

    def respond(
        self,
        weights: Any,
        tasks: NDArray[np.intp] | None = None,
        *,
        blocks: Blocks | None = None,
        cheaply: bool = False,
    ) -> Play:
        """Answer weights over the constraints with a best response.

        Parameters
        ----------
        weights : array, shape (constraints,)
        tasks : integer array, optional
            Use these tasks only (a fresh batch F_t): classifiers are learned for them alone.
        blocks : Blocks, optional
            Also return the shares of each block of tasks.
        cheaply : bool, default False
            Ask the oracle's cheaper stand-in (:attr:`Oracle.cheaper`).
        """
        return self._answer(self.cost_rule, weights, tasks, blocks, cheaply)

    def unconstrained(self) -> Play:
        """Return the oracle's answer without a fairness constraint; the oracle is asked once."""
        if self._unconstrained is None:
            nothing = self.sample.space.zeros(len(self.constraints))
            self._unconstrained = self._answer(self.cost_rule, nothing, None)
        return self._unconstrained

    def divide(self, play: Play, blocks: Blocks) -> Play:
        """Return a play with the shares of each block of tasks.

        Parameters
        ----------
        play : Play
            Of all tasks.
        blocks : Blocks
        """
        return replace(play, blocks=self.shares(play.hypothesis, blocks))

    def shares(self, hypothesis: Hypothesis, blocks: Blocks) -> BlockShares:
        """Return a hypothesis's shares of the error and of everybody's mistakes in each block.

        Parameters
        ----------
        hypothesis : Hypothesis
            Of all tasks.
        blocks : Blocks
        """
        return self._shares(self.meter.count(hypothesis, blocks))

    def _shares(self, counts: Any) -> BlockShares:
        return BlockShares(self.meter.block_errors(counts), counts)

    @cached_property
    def rate_scale(self) -> RateScale:
        """How counts of mistakes become shares of people's rates."""
        scales = self.meter.scales()
        labels = [self.gather(scales[label, ...]) for label in range(scales.shape[0])]
        stacked = self.sample.space.xp.stack(labels)
        return RateScale(self.constraints, stacked, self.sample.n)

    @property
    def against_given(self) -> bool:
        """Whether the user gave the rates to compare with."""
        return self._against is not None

    def baseline(self) -> Baseline:
        """Return the rates that people are compared with, a rate for each constraint.

        A person whose rate was not given has a rate of 1, so that nothing harms them.
        """
        if self._against is None:
            return Baseline(to_host(self.unconstrained().rates), given=False)
        rates = self.gather(self._against)
        return Baseline(np.where(np.isnan(rates), 1.0, rates), given=True)

    def baseline_rates(self) -> FloatArray:
        """Return everybody's baseline rates, in NumPy; NaN where there is none."""
        if self._against is not None:
            return self._against
        rates = to_host(self.scatter(self.unconstrained().rates + 1.0))  # 0 where undefined
        shape = (len(self.rates), self.sample.n)
        rates = np.where(rates == 0.0, np.nan, rates - 1.0).reshape(shape).T
        return rates if self.rates.listed else rates[:, 0]

    def _read_against(self, against: FloatArray) -> FloatArray:
        shape = (self.sample.n, len(self.rates)) if self.rates.listed else (self.sample.n,)
        if against.shape != shape:
            raise InputError(
                f"`against` must give a rate for each of the {self.sample.n} training people, "
                f"shape {shape}; got {against.shape}."
            )
        some = against[~np.isnan(against)]
        if some.size == 0 or some.min() < 0.0 or some.max() > 1.0:
            given = f"values from {some.min():g} to {some.max():g}" if some.size else "blanks only"
            raise InputError(f"`against` must hold rates between 0 and 1; got {given}.")
        return against

    def program(self, promise: Promise) -> Program:
        """Return the fair learning problem of a promise on this sample.

        Parameters
        ----------
        promise : Promise
        """
        people = float(self.sample.individual_weights.sum())
        baseline = None if promise.no_harm is None else self.baseline()
        return promise.program(self.constraints, people, baseline)

    def constants(self) -> list[Play]:
        """Return the plays "always 0" and "always 1", with weights of 0."""
        nothing = self.sample.space.zeros(len(self.constraints))
        return [self._play(nothing, always, self.meter) for always in constants(self.sample.m)]

    def present(self, measured: Measurement) -> Measurement:
        """Return a measurement with NaN as the rate of people of weight 0.

        Parameters
        ----------
        measured : Measurement
            Of everybody, with or without weight.
        """
        absent = self.sample.individual_weights == 0
        rates = measured.on_host().rates
        return Measurement(measured.error, np.where(absent, np.nan, rates.T).T)

    def dual_value(self, program: Program, point: Any, blocks: Blocks | None = None) -> float:
        """Return the least Lagrangian at a dual point: with an exact oracle, at most OPT.

        The least is over the class, the two constants and the common rate. Outside estimates of rho
        are not used: the bound is for the sample's own rho.

        Parameters
        ----------
        program : Program
        point : array, shape (limits, constraints)
        blocks : Blocks, optional
            The blocks with chances of their own: each may take another constant. Default: one
            block.
        """
        weights = program.weights(point)
        blocks = Blocks.even(self.sample.m, 1) if blocks is None else blocks
        play = self._answer(self._cost_rule([None] * len(self.rates)), weights, None, blocks)
        plays = (play, *(self.divide(always, blocks) for always in self.constants()))
        costs = [self.block_costs(own, weights) for own in plays]
        return float(np.min(costs, axis=0).sum()) - program.offset(point)

    def block_costs(self, play: Play, weights: Any) -> FloatArray:
        """Return err + w . R of each block of a play, shape (blocks,).

        Parameters
        ----------
        play : Play
            With blocks.
        weights : array, shape (constraints,)
        """
        assert play.blocks is not None, "the play was not divided into blocks"
        errors, counts = play.blocks
        return np.asarray(errors + self.rate_scale.along(counts, weights))

    def _answer(
        self,
        rule: CostRule,
        weights: Any,
        tasks: NDArray[np.intp] | None,
        blocks: Blocks | None = None,
        cheaply: bool = False,
    ) -> Play:
        with self._enough_room("a best response"):
            sample = self.sample if tasks is None else self.sample.take_tasks(tasks)
            meter = self.meter if tasks is None else self._meter(sample)
            prices = rule.prices(self.scatter(weights))
            respond = self._cheap_response if cheaply else self._best_response
            hypothesis = respond(Costs(sample, *prices, tasks))
            if self.calls == 0:
                _check_answer(hypothesis, sample)
            self.calls += sample.m
            return self._play(weights, hypothesis, meter, blocks)

    @cached_property
    def _cheap_response(self) -> BestResponse:
        assert self.oracle.cheaper is not None, "this oracle has no cheaper stand-in"
        return self.oracle.cheaper.bind(self.sample)

    def _enough_room(self, doing: str) -> AbstractContextManager[None]:
        sample = self.sample
        return sample.space.guarded(doing, block_bytes_on_gpu(sample.n, sample.m))

    def _play(
        self, weights: Any, hypothesis: Hypothesis, meter: Meter, blocks: Blocks | None = None
    ) -> Play:
        shares = None
        if blocks is None:
            error, rates = meter(hypothesis)
        else:
            shares = self._shares(meter.count(hypothesis, blocks))
            error, rates = meter.measure(shares.counts)
        common_rates = self.constraints.best_common_rates(weights)
        return Play(error, self.gather(rates), common_rates, weights, hypothesis, shares)

    def _meter(self, sample: Sample) -> Meter:
        return Meter(sample, self.rates)

    def gather(self, rates: Any) -> Any:
        """Return the constrained rates, shape (constraints,), from everybody's rates.

        Parameters
        ----------
        rates : array, shape (n,) or (n, rates)
        """
        if rates.ndim > 1:
            xp = Space.of(rates).xp
            rates = xp.reshape(xp.matrix_transpose(rates), (-1,))
        return self._selection.take(rates)

    def scatter(self, weights: Any) -> Any:
        """Extend vectors over the constraints to all rates and people, with 0 elsewhere.

        Parameters
        ----------
        weights : array, shape (constraints,) or (k, constraints)
        """
        return self._selection.put(weights)

    def _cost_rule(self, outside: Sequence[Any]) -> CostRule:
        """Return the cost rule with these estimates of rho; None means the sample's own rho."""
        n, meter, space = self.sample.n, self.meter, self.sample.space
        xp = space.xp
        own = xp.reshape(meter.rho, (n, -1))
        present = self.sample.counts > 0
        leverage = []
        for rate, given in enumerate(outside):
            defined = (own[:, rate] > 0) & present
            rho = own[:, rate]
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


class _Selection:
    """Some indices of a long vector: take their entries out, or put them back among zeros."""

    def __init__(self, indices: NDArray[np.intp], size: int, space: Space) -> None:
        self._all, self._space, self._indices = len(indices) == size, space, indices
        if not self._all:
            self._indices_in_space = space.asarray(indices)
            # Where each entry of the long vector comes from; index len(indices) stands for a zero.
            source = np.full(size, len(indices))
            source[indices] = np.arange(len(indices))
            self._source = space.asarray(source)

    def take(self, long: Any) -> Any:
        """Return the selected entries, shape (N,), of a vector in the space or in NumPy."""
        if self._all:
            return long
        space = Space.of(long)
        return space.xp.take(long, self._indices if space.is_numpy else self._indices_in_space)

    def put(self, short: Any) -> Any:
        """Return long vectors: these values, shape (..., N), where selected, and 0 elsewhere."""
        if self._all:
            return short
        nothing = self._space.zeros((*short.shape[:-1], 1))
        padded = self._space.xp.concat([short, nothing], axis=-1)
        return self._space.xp.take(padded, self._source, axis=-1)


def check_reach(oracle: Oracle, sample: Sample) -> None:
    """Refuse an oracle that needs NumPy arrays if the people are on a GPU or a cluster."""
    if not sample.rows.local and not oracle.reads_in_parts:
        raise InputError(
            f"{type(oracle).__name__} needs everybody in NumPy arrays of this machine; these "
            f"people are in {sample.rows.location}. Use the default oracle, RegressionOracle() "
            "or LogisticOracle(), or pass NumPy arrays."
        )


def _check_answer(hypothesis: Hypothesis, sample: Sample) -> None:
    """Refuse an oracle's first answer unless it is a valid hypothesis."""
    if not isinstance(hypothesis, Hypothesis):
        raise InputError(
            "an oracle must answer with a Hypothesis: subclass "
            "averagefair.game.protocols.Hypothesis with the methods decide and key; got "
            f"{hypothesis!r}."
        )
    if hypothesis.decides_anywhere:
        return
    decisions = np.asarray(hypothesis.decide(sample.features[:1]))
    if decisions.dtype != np.bool_ or decisions.shape != (1, sample.m):
        raise InputError(
            "a hypothesis must decide True or False for each person and task: for 1 person and "
            f"{sample.m} tasks a bool array of shape {(1, sample.m)}; got {decisions.dtype} of "
            f"shape {decisions.shape}."
        )
