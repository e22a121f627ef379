"""Pricing: asking the Learner for plays that are cheap at given multipliers.

An exact oracle's answer is the cheapest there is. A heuristic oracle's often is not, so it is asked
again. What it is asked for decides only what it tries; every answer is judged by its true cost at
the multipliers, err + w . R, and stands for itself, whatever it was asked for.
"""

from __future__ import annotations

from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from averagefair.learner import Learner, Play

# How strongly the misjudged are made heavier: by a factor e for one who is always misjudged, in
# comparison to one who never is. After so many re-weightings in a row that bring nothing, enough.
_BOOST, _BOOST_PATIENCE = 1.0, 3
# The standard deviation of the logarithm of what shaking multiplies by; and how many times more
# often and more widely at most, after rounds in vain.
_SHAKE, _MOST_PERSISTENCE = 0.1, 3
# From how many places on a shake's stretch of noise may start.
_DRAWS = 65_536
# A gain smaller than this is rounding.
_LEAST_GAIN = 1e-7


def cost(play: Play, weights: Any) -> float:
    """Return err + w . R, a play's Lagrangian but for what depends on the weights alone."""
    return play.error + float(weights @ play.rates)


class Pricer:
    """Asks a Learner once, or a heuristic one again and again.

    Parameters
    ----------
    learner : Learner
    reweightings, shakes : int
        How often at most a heuristic oracle is asked again in either way.
    rng : numpy Generator
        Where shakes are drawn from.
    deadline : float, optional
        Do not ask again after this moment of ``time.perf_counter``.
    """

    def __init__(
        self,
        learner: Learner,
        reweightings: int,
        shakes: int,
        rng: np.random.Generator,
        deadline: float = np.inf,
    ) -> None:
        self.learner, self.rng, self.deadline = learner, rng, deadline
        self.reweightings, self.shakes = reweightings, shakes

    def ask(self, weights: Any, vain_rounds: int) -> list[Play]:
        """Return the Learner's answers around these weights.

        Parameters
        ----------
        weights : array, shape (N,)
        vain_rounds : int
            How many rounds in a row have gained nothing: the more, the more often and the more
            widely a heuristic oracle's weights are shaken.
        """
        plays = [self._first_answer(weights)]
        if not self.learner.exact:
            best = self._reweight(plays, weights)
            persistence = 1 + min(vain_rounds, _MOST_PERSISTENCE)
            for _ in range(self.shakes * persistence):
                if perf_counter() > self.deadline:
                    break
                plays.append(self.learner.respond(self._shaken(best, _SHAKE * persistence)))
                best = min(best, plays[-1], key=lambda play: cost(play, weights))
        return plays

    def _first_answer(self, weights: Any) -> Play:
        """Return the answer to the weights themselves; where they are all 0, it is known."""
        some = bool(self.learner.constraints.space.xp.any(weights != 0.0))
        return self.learner.respond(weights) if some else self.learner.unconstrained()

    def _reweight(self, plays: list[Play], weights: Any) -> Play:
        """Ask again with the misjudged made heavier while that helps; return the best play."""
        best, least, vain = plays[0], cost(plays[0], weights), 0
        for _ in range(self.reweightings):
            if perf_counter() > self.deadline:
                break
            plays.append(self.learner.respond(self._boosted(plays[-1])))
            now, vain = cost(plays[-1], weights), vain + 1
            if now < least - _LEAST_GAIN:
                best, least, vain = plays[-1], now, 0
            if vain == _BOOST_PATIENCE:
                break
        return best

    def _boosted(self, play: Play) -> Any:
        """Return the weights of a play with those it is wrong about made heavier.

        What a mistake on a person costs, stake + w, is multiplied by exp(R_i - mean R) where it
        costs, and divided by it where it pays.
        """
        constraints, stakes = self.learner.constraints, self.learner.stakes
        xp = constraints.space.xp
        off = play.rates - constraints.expand(constraints.mean(play.rates))
        costs = stakes + play.weights
        return costs * xp.exp(_BOOST * xp.sign(costs) * off) - stakes

    def _shaken(self, play: Play, strength: float) -> Any:
        """Return the weights of a play, what a mistake on each person costs changed at random."""
        start = int(self.rng.integers(_DRAWS))
        noise = strength * self._noise[start : start + play.weights.shape[0]]
        stakes = self.learner.stakes
        return (stakes + play.weights) * self.learner.sample.space.xp.exp(noise) - stakes

    @cached_property
    def _noise(self) -> Any:
        """Normal numbers, where the people are; a shake takes a stretch of them.

        Drawn once: fresh ones for each shake would take longer than a GPU takes to answer.
        """
        return self.learner.sample.space.asarray(
            self.rng.standard_normal(len(self.learner.constraints) + _DRAWS)
        )
