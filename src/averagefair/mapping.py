"""The mapping psi: what is learned is not m classifiers but how to make one for any task.

Mapping psi-hat of the paper: the weights {w_k} over the training individuals, with a chance q_k
each (the paper has 1/T). A task, given by its labels on those individuals, gets the mixture of
the oracle's answers under each w_k, and of the two constants where they have a chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.checks import whole_number
from averagefair.constants import constants
from averagefair.costs import CostRule, Costs
from averagefair.mixture import Mixture, merge_equal
from averagefair.oracles.degenerate import warn_of_constant_tasks
from averagefair.protocols import Hypothesis, Oracle
from averagefair.sample import FloatArray, Sample
from averagefair.spaces import is_foreign, take_rows
from averagefair.text import counted
from averagefair.threads import one_thread


@dataclass(frozen=True, eq=False, repr=False)
class Mapping:
    """psi: tasks in, randomised classifiers out.

    Parameters
    ----------
    individuals : Sample
        The training individuals; their labels are not used, and not kept.
    oracle : Oracle
    cost_rule : CostRule
        How weights become costs.
    weights : array, shape (k, n)
        The weights w_k of each round; with several rates (k, rates * n), rate after rate.
    mixture : array, shape (k,)
        The chance q_k of each round. Rounds with the same weights are merged.
    seed : int
    constants : pair of float, default (0, 0)
        The chances of deciding 0 always and of deciding 1 always; with ``mixture`` they sum to 1.
    """

    individuals: Sample
    oracle: Oracle
    cost_rule: CostRule
    weights: Any
    mixture: FloatArray
    seed: int = 0
    constants: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        if self.individuals.m:
            object.__setattr__(self, "individuals", self.individuals.without_labels())
        first, mixture = merge_rounds(self.weights, self.mixture)
        if len(first) < self.weights.shape[0]:
            object.__setattr__(self, "weights", take_rows(self.weights, first))
            object.__setattr__(self, "mixture", mixture)

    def extend(self, Y: Any, *, task_names: Sequence[Any] | NDArray[Any] | None = None) -> Mixture:
        """Return the classifiers of new tasks, one oracle call for each round and task.

        Parameters
        ----------
        Y : array-like or DataFrame, shape (n, k) or (n,)
            The new tasks' labels on the training individuals, in their order; blanks allowed.
        task_names : sequence, optional
            Default: the columns of Y; without such, names made from the labels, so that two tasks
            share their draws only if they are the same.
        """
        sample = self.individuals.with_labels(Y, task_names=task_names)
        warn_of_constant_tasks(sample, self.oracle)
        return self.classifiers(sample)

    def classifiers(self, sample: Sample) -> Mixture:
        """Return the classifiers of the tasks of a sample of the training individuals.

        Parameters
        ----------
        sample : Sample
            With labels on the tasks to learn.
        """
        with one_thread(spread=True):
            best_response = self.oracle.bind(sample)
            hypotheses = [
                best_response(Costs(sample, *self.cost_rule.prices(weights)))
                for weights in (self.weights[place, :] for place in range(len(self.mixture)))
            ]
        return self.mix(hypotheses, sample)

    def mix(self, hypotheses: Sequence[Hypothesis], sample: Sample) -> Mixture:
        """Return the mixture of the rounds' answers and the constants, each with its chance.

        Parameters
        ----------
        hypotheses : sequence of Hypothesis, length k
            The oracle's answer in each round.
        sample : Sample
            What they were learned from.
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
        """Return the average of r rounds drawn from this mapping: the paper's r-sparse sample.

        Individual rates then differ from the full mapping's by at most alpha for everybody with
        high probability, once r reaches ``theory.sparse_support`` (Definition "Sparse Randomized
        Classifiers" and the proof of the generalisation theorem). That many draws also keep every
        single decision's chance within alpha. For the rates of n people alone
        log(2n / delta) / (2 alpha^2) draws suffice, with probability 1 - delta.

        Here all tasks share the r draws, so the draws do not average out over tasks. Draws of
        their own for each of m tasks would: a rate is then a mean of m r independent losses, and
        by Hoeffding's inequality r = log(2n / delta) / (2 m alpha^2) suffices. With r = 1, one
        classifier fixed for each task, every rate is within sqrt(log(2n / delta) / (2 m)) of the
        mixture's.

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

    def __repr__(self) -> str:
        k = self.weights.shape[0]
        people = counted(self.individuals.n, "individual")
        return f"Mapping({counted(k, 'round')} over {people}, oracle={self.oracle!r})"


def merge_rounds(weights: Any, mixture: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """Find the rounds with distinct weights: the first of each kind, and their joint chances.

    Away from the host they are left as they are: to look at all of them would take longer.
    """
    if is_foreign(weights):
        return np.arange(len(mixture)), mixture
    digests = (blake2b(row.tobytes(), digest_size=16).digest() for row in weights)
    return merge_equal(digests, mixture)
