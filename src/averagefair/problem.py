"""The problem as posed: people and labels read, a Learner at hand; and what a solution makes of it.

The estimator poses one and solves it once; the frontier poses one and solves it for many alphas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from averagefair.certificate import Certificate, certify
from averagefair.errors import InputError
from averagefair.learner import Learner
from averagefair.mapping import Mapping, merge_rounds
from averagefair.measure import Measurement, Meter
from averagefair.mixture import Mixture
from averagefair.oracles import WeightedOracle, default_oracle
from averagefair.oracles.degenerate import warn_of_constant_tasks
from averagefair.oracles.feature_map import fit_map, split_map
from averagefair.protocols import Oracle, Rate, is_oracle
from averagefair.rates import resolve_rates
from averagefair.sample import Sample
from averagefair.solvers.iterate import Solution
from averagefair.spaces import take_rows, to_host
from averagefair.threads import one_thread


@dataclass(frozen=True, eq=False)
class Settled:
    """What a solution comes to: classifiers, and what is known about them.

    Attributes
    ----------
    mapping : Mapping
        Makes the classifiers of any task.
    classifiers : Mixture
        The classifiers of all tasks of the sample.
    certificate : Certificate
    reached : Measurement
        Error and everybody's rates on the tasks learned from.
    solution : Solution
    """

    mapping: Mapping
    classifiers: Mixture
    certificate: Certificate
    reached: Measurement
    solution: Solution


class Problem:
    """A fair learning problem, all of it but the request.

    Parameters
    ----------
    X, Y : array-like or DataFrame
        Features (n, d) and labels (n, m) or (n,), blanks allowed.
    rate : str, Rate, or list of these
    oracle : Oracle, FeatureMap, scikit-learn classifier or pipeline, or None
    seed : int
        Of the draws, and of the choice of tasks to set aside.
    sample_weight, task_weight : array-like, optional
    ids : array-like of shape (n,), optional
        Names to report people by.
    dtype : {"float64", "float32", "tf32"}, optional
        What products are computed in. Default: "float64".
    around : callable, optional
        Takes the oracle and the fingerprint and returns the oracle the game is played with; see
        ``Checkpoint.around``.

    Attributes
    ----------
    sample : Sample
        Its features are mapped where the oracle has a map in front of it.
    learned : Sample
        The sample without the tasks set aside.
    aside : integer array
        The tasks set aside (FPAIF's F_0).
    learner : Learner
    rng : numpy Generator
    fingerprint : str, or None
        Of X, Y, weights and names; see :meth:`Sample.fingerprint`.
    """

    def __init__(
        self,
        X: Any,
        Y: Any,
        *,
        rate: str | Rate | Sequence[str | Rate],
        oracle: Any,
        seed: int,
        sample_weight: ArrayLike | None = None,
        task_weight: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        dtype: str | None = None,
        around: Callable[[Oracle, str | None], Oracle] | None = None,
    ) -> None:
        transformer, oracle = split_map(oracle)
        rates, self.oracle = resolve_rates(rate), _resolve_oracle(oracle)
        self.sample = Sample(
            X,
            Y,
            individual_weights=sample_weight,
            task_weights=task_weight,
            individual_names=ids,  # type: ignore[arg-type]
            dtype="float64" if dtype is None else dtype,
        )
        self.fingerprint = self.sample.fingerprint()
        if transformer is not None:
            self.sample = self.sample.map_features(fit_map(transformer, self.sample))
        warn_of_constant_tasks(self.sample, self.oracle)
        self.seed, self.rng = seed, np.random.default_rng(seed)
        rates, self.learned, self.aside = _set_aside(rates, self.sample, self.rng)
        # A list stays a list, whatever its length: so do the shapes of what is measured.
        several = isinstance(rate, list | tuple)
        played = self.oracle if around is None else around(self.oracle, self.fingerprint)
        with one_thread(spread=True):
            self.learner = Learner(self.learned, rates if several else rates[0], played)
        self._individuals = self.learned.without_labels()

    @contextmanager
    def playing(self) -> Iterator[Learner]:
        """Hand out the Learner to a solver; whatever happens, what is recorded is kept."""
        try:
            yield self.learner
        finally:
            close = getattr(self.learner.oracle, "close", None)
            if close is not None:
                close()

    def settle(self, solution: Solution) -> Settled:
        """Turn a solution into classifiers and certify them."""
        first, chances = merge_rounds(solution.weights, solution.mixture)
        mapping = Mapping(
            self._individuals,
            self.oracle,
            self.learner.cost_rule,
            self.learner.scatter(take_rows(solution.weights, first)),
            chances,
            self.seed,
            solution.constants,
        )
        if solution.hypotheses is None:
            classifiers = mapping.classifiers(self.learned)
            calls = solution.oracle_calls + len(first) * self.learned.m
            solution = replace(solution, oracle_calls=calls)
        else:
            classifiers = mapping.mix([solution.hypotheses[k] for k in first], self.learned)
        with one_thread(spread=True):
            certificate, reached = certify(self.learner, classifiers, solution)
        if self.aside.size:
            classifiers = mapping.classifiers(self.sample)
        return Settled(mapping, classifiers, certificate, reached, solution)


def _resolve_oracle(oracle: Any) -> Oracle:
    if oracle is None:
        return default_oracle()
    if is_oracle(oracle):
        return oracle
    return WeightedOracle(oracle)


def _set_aside(
    rates: tuple[Rate, ...], sample: Sample, rng: np.random.Generator
) -> tuple[tuple[Rate, ...], Sample, NDArray[np.intp]]:
    """Estimate rho on tasks set aside (FPAIF's F_0).

    Returns the rates with those estimates, the tasks left to learn from, and which were set aside.
    """
    counts = {rate.holdout_tasks for rate in rates} - {0}
    if not counts:
        return rates, sample, np.zeros(0, dtype=np.intp)
    if len(counts) > 1:
        raise InputError(
            f"all rates share the tasks set aside; got holdout_tasks of {sorted(counts)}. Give "
            "one number."
        )
    k, met = counts.pop(), np.flatnonzero(sample.task_weights)
    if k >= met.size:
        raise InputError(
            f"holdout_tasks must leave at least one of the {met.size} tasks of positive weight to "
            f"learn from; got {k}."
        )
    aside = np.sort(rng.choice(met, k, replace=False))
    seen = sample.take_tasks(aside)
    # Nothing counted among k tasks is taken as half a task, since rho tilde must be positive;
    # rounding may carry a share of all tasks a hair above 1.
    rates = tuple(
        rate.with_rho(np.clip(to_host(Meter(seen, rate).rho), 0.5 / k, 1.0))
        if rate.holdout_tasks
        else rate
        for rate in rates
    )
    return rates, sample.take_tasks(np.setdiff1d(np.arange(sample.m), aside)), aside
