"""The mapping psi: a fit learns not only m classifiers but how to make one for any task.

The paper's psi-hat is a set of weights {w_k} over the training individuals, each with a chance q_k
(1/T in the paper). A task is given by its labels on these individuals. Its classifier is the
mixture of the oracle's answers under each w_k, and of the two constants if their chance is
positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair._util.checks import whole_number
from averagefair._util.text import counted
from averagefair.game.constant_classifiers import constants
from averagefair.game.costs import CostRule, Costs
from averagefair.game.degenerate_tasks import warn_of_constant_tasks
from averagefair.game.mixture import Mixture, merge_equal
from averagefair.game.protocols import Hypothesis, Oracle
from averagefair.people.backends import Space, is_foreign, take_rows
from averagefair.people.sample import Sample
from averagefair.people.threads import one_thread


@dataclass(frozen=True, eq=False, repr=False)
class Mapping:
    """psi: tasks in, randomised classifiers out.

    Parameters
    ----------
    individuals : Sample
        The training individuals. Their labels are neither used nor kept.
    oracle : Oracle
    cost_rule : CostRule
        How weights become costs.
    weights : array, shape (k, n)
        The weights w_k of each round; with several rates (k, rates * n), rate after rate.
    mixture : array, shape (k,)
        The chance q_k of each round. Rounds with the same weights are merged.
    seed : int
    constants : pair of float, default (0, 0)
        The chances of "always 0" and "always 1"; with ``mixture`` they sum to 1.

    Attributes
    ----------
    first_rounds : integer array, shape (distinct rounds,)
        The rounds kept: the first of each set of rounds with the same weights.
    """

    individuals: Sample
    oracle: Oracle
    cost_rule: CostRule
    weights: Any
    mixture: FloatArray
    seed: int = 0
    constants: tuple[float, float] = (0.0, 0.0)
    first_rounds: NDArray[np.intp] = field(init=False)

    def __post_init__(self) -> None:
        if self.individuals.m:
            object.__setattr__(self, "individuals", self.individuals.without_labels())
        first, mixture = _merge_rounds(self.weights, self.mixture)
        object.__setattr__(self, "first_rounds", first)
        if len(first) < self.weights.shape[0]:
            object.__setattr__(self, "weights", take_rows(self.weights, first))
            object.__setattr__(self, "mixture", mixture)

    def extend(self, Y: Any, *, task_names: Sequence[Any] | NDArray[Any] | None = None) -> Mixture:
        """Return the classifiers of new tasks, with one oracle call for each round and task.

        Parameters
        ----------
        Y : array-like or DataFrame, shape (n, k) or (n,)
            The new tasks' labels on the training individuals, in their order; blanks allowed.
        task_names : sequence, optional
            Default: the column names of Y. If Y has none, names are made from the labels. Two tasks
            then share their draws only if their labels are the same.
        """
        return self.classifiers(self.sample_of(Y, task_names))

    def sample_of(self, Y: Any, task_names: Sequence[Any] | NDArray[Any] | None = None) -> Sample:
        """Return the training individuals with the labels of new tasks.

        Parameters
        ----------
        Y, task_names
            As for :meth:`extend`.
        """
        sample = self.individuals.with_labels(Y, task_names=task_names)
        warn_of_constant_tasks(sample, self.oracle)
        return sample

    def classifiers(self, sample: Sample) -> Mixture:
        """Return the classifiers of a sample's tasks; its people are the training individuals.

        Parameters
        ----------
        sample : Sample
            With the labels of the tasks to learn.
        """
        with one_thread(spread=True):
            best_response = self.oracle.bind(sample)
            hypotheses = [
                best_response(Costs(sample, *self.cost_rule.prices(weights)))
                for weights in (self.weights[round_, :] for round_ in range(len(self.mixture)))
            ]
        return self.mix(hypotheses, sample)

    def mix(self, hypotheses: Sequence[Hypothesis], sample: Sample) -> Mixture:
        """Return the mixture of the rounds' answers and the constants, each with its chance.

        Parameters
        ----------
        hypotheses : sequence of Hypothesis, length k
            The oracle's answer in each round.
        sample : Sample
            The training sample of these hypotheses.
        """
        parts = [*zip(hypotheses, self.mixture, strict=True)]
        parts += [*zip(constants(sample.m), self.constants, strict=True)]
        kept = [(hypothesis, chance) for hypothesis, chance in parts if chance != 0]
        return Mixture(
            [hypothesis for hypothesis, _ in kept],
            np.array([chance for _, chance in kept]),
            sample,
            self.seed,
        )

    def sparsify(self, r: int, *, random_state: int = 0) -> Mapping:
        """Return the average of r rounds drawn from this mapping: fewer oracle calls for each task.

        All tasks share the draws, so the draws do not average out over tasks.
        :meth:`Mixture.sparsify` draws for each task separately, and needs far fewer draws for the
        same rates. Use this method to make a mapping of many rounds cheaper.

        Once r reaches :func:`averagefair.theory.sparse_support`, the chance of every single
        decision, and so every rate, differs from the full mapping's by at most alpha with high
        probability (proof of Generalization over P). For the rates of n people alone,
        log(2n / delta) / (2 alpha^2) draws suffice, with probability 1 - delta.

        Parameters
        ----------
        r : int
            Number of draws.
        random_state : int, default 0
            Seeds the draws.
        """
        r = whole_number("r", r)
        chances = np.append(self.mixture, self.constants)
        draws = np.random.default_rng(random_state).multinomial(r, chances / chances.sum())
        kept = np.flatnonzero(draws[:-2])
        zero, one = draws[-2:] / r
        return replace(
            self,
            weights=take_rows(self.weights, kept),
            mixture=draws[kept] / r,
            constants=(float(zero), float(one)),
        )

    def unconstrained(self) -> Mapping:
        """Return the mapping with nothing asked: the oracle's own answer for each task."""
        space = Space.of(self.weights)
        nothing = space.zeros((1, self.weights.shape[1]))
        return replace(self, weights=nothing, mixture=np.ones(1), constants=(0.0, 0.0))

    def __repr__(self) -> str:
        k = self.weights.shape[0]
        people = counted(self.individuals.n, "individual")
        return f"Mapping({counted(k, 'round')} over {people}, oracle={self.oracle!r})"


def _merge_rounds(weights: Any, mixture: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """Find the rounds with distinct weights, and add up the chances of rounds that are equal.

    On a GPU or cluster nothing is merged: comparing all weights would take longer.
    """
    if is_foreign(weights):
        return np.arange(len(mixture)), mixture
    digests = (blake2b(row.tobytes(), digest_size=16).digest() for row in weights)
    return merge_equal(digests, mixture)
