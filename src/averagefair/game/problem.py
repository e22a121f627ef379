"""The problem: a sample and its Learner, and the outcome of a solution.

A fit poses one problem and solves it once. The frontier poses one problem and solves it for many
promises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.errors import InputError
from averagefair.game.blocks import Blocks
from averagefair.game.certificate import Certificate, certify
from averagefair.game.degenerate_tasks import warn_of_constant_tasks
from averagefair.game.learner import Learner
from averagefair.game.mapping import Mapping
from averagefair.game.measure import Measurement, Meter
from averagefair.game.mixture import Mixture
from averagefair.game.per_task_choice import choose_per_task
from averagefair.game.protocols import Hypothesis, Oracle
from averagefair.game.rates import Rates
from averagefair.game.solution import Answers, Solution, StopReason
from averagefair.people.backends import to_host
from averagefair.people.feature_map import fit_map
from averagefair.people.sample import Sample
from averagefair.people.threads import one_thread

Fix = Callable[[Learner, Solution, int], tuple[Hypothesis, StopReason | None]]
"""Takes a Learner, a solution with answers and a seed; returns one classifier for each task.

Beside it stands what ended the choice early, the time limit or Ctrl-C, or None.
"""

WrapOracle = Callable[[Oracle, str | None], Oracle]
"""Takes the oracle and the data's fingerprint; returns the oracle that the Learner uses."""


class Problem:
    """A fair learning problem: everything but the promise.

    Parameters
    ----------
    sample : Sample
        As read from the user's tables.
    rates : Rates
    oracle : Oracle
    transformer : scikit-learn transformer, optional
        Fitted on everybody's features and applied to them before the game begins.
    seed : int
        Seeds the draws of decisions and the choice of tasks to set aside.
    wrap_oracle : callable, optional
        Wraps the oracle in a recorder; see ``Checkpoint.wrap_oracle``.
    against : array, optional
        Rates to compare with; see :class:`~averagefair.Learner`.

    Attributes
    ----------
    sample : Sample
        With mapped features if there is a transformer.
    learned : Sample
        The sample without the tasks set aside.
    aside : integer array
        The tasks set aside (FPAIF's F_0).
    learner : Learner
    rng : numpy Generator
    fingerprint : str, or None
        Hash of features, labels, weights and names; see :meth:`Sample.fingerprint`.
    """

    def __init__(
        self,
        sample: Sample,
        rates: Rates,
        oracle: Oracle,
        *,
        seed: int,
        transformer: Any | None = None,
        wrap_oracle: WrapOracle | None = None,
        against: FloatArray | None = None,
    ) -> None:
        self.oracle, self.fingerprint = oracle, sample.fingerprint()
        if transformer is not None:
            sample = sample.map_features(fit_map(transformer, sample))
        self.sample = sample
        warn_of_constant_tasks(sample, oracle)
        self.seed, self.rng = seed, np.random.default_rng(seed)
        rates, self.learned, self.aside = _set_aside(rates, sample, self.rng)
        played = oracle if wrap_oracle is None else wrap_oracle(oracle, self.fingerprint)
        with one_thread(spread=True):
            self.learner = Learner(self.learned, rates, played, against)
        self._individuals = self.learned.without_labels()
        self._free: Mixture | None = None

    def baseline_rates(self) -> FloatArray:
        """Return the rates that people are compared with; NaN where there is none."""
        return self.learner.baseline_rates()

    @contextmanager
    def playing(self) -> Iterator[Learner]:
        """Yield the Learner to a solver. The oracle is closed even if the solver fails."""
        try:
            yield self.learner
        finally:
            self.learner.oracle.close()

    def settle(self, solution: Solution, fix: Fix | None = None) -> Outcome:
        """Turn a solver's solution into classifiers and certify them.

        Parameters
        ----------
        solution : Solution
        fix : callable, optional
            Chooses one classifier for each task. Default: decisions are drawn.
        """
        mapping = Mapping(
            self._individuals,
            self.oracle,
            self.learner.cost_rule,
            self.learner.scatter(solution.weights),
            solution.mixture,
            self.seed,
            solution.constants,
        )
        if solution.chances is not None:
            assert solution.hypotheses is not None
            classifiers = Mixture.by_task(
                solution.hypotheses, solution.chances, self.learned, self.seed
            )
        elif solution.hypotheses is None:
            classifiers = mapping.classifiers(self.learned)
            calls = solution.oracle_calls + len(mapping.first_rounds) * self.learned.m
            solution = replace(solution, oracle_calls=calls)
        else:
            kept = [solution.hypotheses[round_] for round_ in mapping.first_rounds]
            classifiers = mapping.mix(kept, self.learned)
        fixed = None
        if fix is not None:
            fixed, ended = self._fixed(solution, classifiers, fix)
            if ended is not None and not solution.stop_reason.by_user:
                solution = replace(solution, stop_reason=ended)
        with one_thread(spread=True):
            certificate, reached = certify(self.learner, classifiers, solution, fixed)
        if self.aside.size:
            classifiers = mapping.classifiers(self.sample)
            fixed = None if fixed is None else self._with_aside(fixed, classifiers)
        free = self._unconstrained(mapping) if certificate.each_who_pays else None
        return Outcome(self, mapping, classifiers, fixed, free, certificate, reached, solution)

    def _fixed(
        self, solution: Solution, chances: Mixture, fix: Fix
    ) -> tuple[Mixture, StopReason | None]:
        """Return the fixed classifiers of the learned tasks, and what ended their choice early."""
        if solution.answers is None:
            q = np.array(chances.probabilities)
            q = q if q.ndim == 2 else np.repeat(q[:, None], self.learned.m, axis=1)
            blocks = Blocks.even(self.learned.m, self.learned.m)
            solution = replace(solution, answers=Answers(chances.hypotheses, q, blocks))
        hypothesis, ended = fix(self.learner, solution, self.seed)
        return Mixture.fixed(hypothesis, self.learned, self.seed), ended

    def _with_aside(self, fixed: Mixture, mapped: Mixture) -> Mixture:
        """Return fixed classifiers of all tasks; the tasks set aside get their likeliest one."""
        likeliest = int(np.argmax(mapped.probabilities))
        own = np.setdiff1d(np.arange(self.sample.m), self.aside)
        choice, columns = np.ones(self.sample.m, dtype=np.intp), np.arange(self.sample.m)
        choice[own], columns[own] = 0, np.arange(len(own))
        both = [fixed.hypotheses[0], mapped.hypotheses[likeliest]]
        hypothesis = choose_per_task(both, choice, columns)
        return Mixture.fixed(hypothesis, self.sample, self.seed)

    def _unconstrained(self, mapping: Mapping) -> Mixture:
        """Return the classifiers of the training tasks with nothing asked; made once."""
        if self._free is None:
            own = mapping.unconstrained()
            if self.aside.size:
                self._free = own.classifiers(self.sample)
            else:
                self._free = own.mix([self.learner.unconstrained().hypothesis], self.learned)
        return self._free


@dataclass(frozen=True, eq=False)
class Outcome:
    """The classifiers of a solved problem, and their certificate.

    Attributes
    ----------
    problem : Problem
    mapping : Mapping
        Makes the classifiers of any task.
    mixture : Mixture
        The classifiers of all tasks of the sample, each with its chance.
    fixed : Mixture, or None
        One classifier for each of these tasks. None: decisions are drawn.
    unconstrained : Mixture, or None
        The oracle's own classifiers of these tasks, with nothing asked. None if the oracle failed.
    certificate : Certificate
    reached : Measurement
        Error and everybody's rates on the training tasks, without the tasks set aside. Of the fixed
        decisions, else on average over draws.
    solution : Solution
    """

    problem: Problem
    mapping: Mapping
    mixture: Mixture
    fixed: Mixture | None
    unconstrained: Mixture | None
    certificate: Certificate
    reached: Measurement
    solution: Solution

    @property
    def classifiers(self) -> Mixture:
        """The classifiers that decide: fixed, or drawn by their chances."""
        return self.mixture if self.fixed is None else self.fixed


def _set_aside(
    rates: Rates, sample: Sample, rng: np.random.Generator
) -> tuple[Rates, Sample, NDArray[np.intp]]:
    """Estimate rho on tasks set aside (FPAIF's F_0).

    Returns the rates with those estimates, the sample of the other tasks, and the tasks set aside.
    """
    counts = {rate.holdout_tasks for rate in rates} - {0}
    if not counts:
        return rates, sample, np.zeros(0, dtype=np.intp)
    if len(counts) > 1:
        raise InputError(
            f"all rates share the tasks set aside; got holdout_tasks of {sorted(counts)}. Use the "
            "same number for each rate."
        )
    k, weighted = counts.pop(), np.flatnonzero(sample.task_weights)
    if k >= weighted.size:
        raise InputError(
            f"holdout_tasks must leave at least one of the {weighted.size} tasks of positive "
            f"weight to learn from; got {k}."
        )
    aside = np.sort(rng.choice(weighted, k, replace=False))
    held = sample.take_tasks(aside)

    def with_rho(rate: Any) -> Any:
        if not rate.holdout_tasks:
            return rate
        # rho tilde must be positive: somebody for whom no task counts gets half a task. Rounding
        # may lift a share of all tasks slightly above 1.
        return rate.with_rho(np.clip(to_host(Meter(held, rate).rho), 0.5 / k, 1.0))

    rates = replace(rates, each=tuple(map(with_rho, rates)))
    return rates, sample.take_tasks(np.setdiff1d(np.arange(sample.m), aside)), aside
