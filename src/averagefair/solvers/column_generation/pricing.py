"""Pricing: ask the Learner for plays (answers) that are cheap at given weights.

Where each block of tasks has chances of its own, one answer at central prices is enough. Where one
chance serves all tasks (the mapping), a heuristic oracle's answer is often not the cheapest play.
It is then asked again with more weight on the people it misjudged, as in boosting, while that
lowers the true cost err + w . R. Where nothing has improved, it is also asked at *shaken* weights,
with a little random noise.
"""

from __future__ import annotations

from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from averagefair.game.blocks import Blocks
from averagefair.game.learner import Learner, Play

# Reweighting multiplies costs by exp(_BOOST * (R_i - mean R)). It ends after _BOOST_PATIENCE
# answers in a row that are no cheaper.
_BOOST, _BOOST_PATIENCE = 1.0, 3
# A shake multiplies costs by lognormal noise with this sigma, times the rounds without a gain.
_SHAKE = 0.1
# The number of places in the noise vector where a shake may start.
_OFFSETS = 65_536
# Multiplications of an answer of least squares for each person, task and feature.
_ANSWER_WORK = 10.0
# A gain smaller than this is rounding.
_LEAST_GAIN = 1e-7


class Pricer:
    """Asks the Learner for plays divided into blocks.

    Parameters
    ----------
    learner : Learner
    blocks : Blocks
    reweightings : int
        The largest number of further answers of a heuristic oracle.
    rng : numpy Generator
        Source of the shakes.
    deadline : float, optional
        The ``time.perf_counter`` after which nothing more is asked.

    Attributes
    ----------
    cheaply : bool
        Whether to ask the oracle's cheaper stand-in.
    work : float
        Multiplications of all answers so far: an estimate that is the same on every machine.
    """

    def __init__(
        self,
        learner: Learner,
        blocks: Blocks,
        reweightings: int,
        rng: np.random.Generator,
        deadline: float = np.inf,
    ) -> None:
        self.learner, self.blocks, self.reweightings = learner, blocks, reweightings
        self.rng = rng
        self.deadline, self.cheaply, self.work = deadline, False, 0.0

    def ask(self, weights: Any, shakes: int = 0) -> list[Play]:
        """Return the Learner's answers at and around these weights.

        Parameters
        ----------
        weights : array, shape (N,)
        shakes : int, default 0
            How many further answers of a heuristic oracle to ask for at shaken weights. More
            shakes are larger ones.
        """
        plays = [self._first_answer(weights)]
        if not self.learner.exact:
            self._reweight(plays, weights)
            for _ in range(shakes):
                if perf_counter() > self.deadline:
                    break
                plays.append(self._respond(self._shaken(weights, _SHAKE * shakes)))
        return plays

    def unconstrained(self) -> Play:
        """Return the answer without a constraint, divided into blocks."""
        if self.cheaply:
            return self._respond(self.learner.sample.space.zeros(len(self.learner.constraints)))
        return self.learner.divide(self.learner.unconstrained(), self.blocks)

    def constants(self) -> list[Play]:
        """Return "always 0" and "always 1", divided into blocks."""
        return [self.learner.divide(play, self.blocks) for play in self.learner.constants()]

    def answer_work(self, cheaply: bool) -> float:
        """Return about how many multiplications an answer takes, as a Newton step counts them."""
        sample, oracle = self.learner.sample, self.learner.oracle
        effort = oracle.cheaper.effort if cheaply and oracle.cheaper is not None else oracle.effort
        return _ANSWER_WORK * effort * sample.n * sample.m * (sample.d + 1)

    def _respond(self, weights: Any) -> Play:
        self.work += self.answer_work(self.cheaply)
        return self.learner.respond(weights, blocks=self.blocks, cheaply=self.cheaply)

    def _first_answer(self, weights: Any) -> Play:
        """Return the answer to the weights themselves; for zero weights it is known already."""
        some = bool(self.learner.constraints.space.xp.any(weights != 0.0))
        return self._respond(weights) if some else self.unconstrained()

    def _reweight(self, plays: list[Play], weights: Any) -> None:
        """Append answers with more weight on misjudged people."""
        least, failures = plays[0].cost(weights), 0
        for _ in range(self.reweightings):
            if perf_counter() > self.deadline:
                break
            plays.append(self._respond(self._boosted(plays[-1])))
            now, failures = plays[-1].cost(weights), failures + 1
            if now < least - _LEAST_GAIN:
                least, failures = now, 0
            if failures == _BOOST_PATIENCE:
                break

    def _boosted(self, play: Play) -> Any:
        """Return a play's weights with more weight on the people it misjudged.

        The cost of a mistake on person i is stake_i + w_i. A positive cost is multiplied by
        exp(R_i - mean R); a negative cost is divided by it.
        """
        constraints, stakes = self.learner.constraints, self.learner.stakes
        xp = constraints.space.xp
        off = play.rates - constraints.expand(constraints.mean(play.rates))
        costs = stakes + play.weights
        return costs * xp.exp(_BOOST * xp.sign(costs) * off) - stakes

    def _shaken(self, weights: Any, strength: float) -> Any:
        """Return weights with the cost of a mistake on each person changed at random."""
        start = int(self.rng.integers(_OFFSETS))
        noise = strength * self._noise[start : start + weights.shape[0]]
        stakes = self.learner.stakes
        return (stakes + weights) * self.learner.sample.space.xp.exp(noise) - stakes

    @cached_property
    def _noise(self) -> Any:
        """Standard normal numbers in the sample's space. Each shake uses a part of them.

        The numbers are drawn once: new numbers for each shake would take longer than a GPU's
        answer.
        """
        return self.learner.sample.space.asarray(
            self.rng.standard_normal(len(self.learner.constraints) + _OFFSETS)
        )
