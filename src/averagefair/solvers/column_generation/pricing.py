"""Pricing: ask the Learner for plays (answers) that are cheap at given weights.

An exact oracle's answer is the cheapest play. A heuristic oracle's answer often is not, so a
heuristic oracle is asked again, at weights nearby. Every answer is judged by its true cost
err + w . R at the weights given, whichever weights the oracle was asked at.
"""

from __future__ import annotations

from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from averagefair.game.learner import Learner, Play

# Reweighting multiplies costs by exp(_BOOST * (R_i - mean R)). It ends after _BOOST_PATIENCE
# answers in a row that are no cheaper.
_BOOST, _BOOST_PATIENCE = 1.0, 3
# A shake multiplies costs by lognormal noise with this sigma. After rounds without a gain there are
# more and larger shakes: up to 1 + _MOST_PERSISTENCE times as many and as large.
_SHAKE, _MOST_PERSISTENCE = 0.1, 3
# The number of places in the noise vector where a shake may start.
_OFFSETS = 65_536
# A gain smaller than this is rounding.
_LEAST_GAIN = 1e-7


def cost(play: Play, weights: Any) -> float:
    """Return err + w . R: a play's Lagrangian without the terms that depend on w alone."""
    return play.error + float(weights @ play.rates)


class Pricer:
    """Asks an exact Learner once, and a heuristic Learner several times.

    A heuristic oracle is asked again in two ways. *Reweighting* gives more weight to the people it
    misjudged, as boosting does. A *shake* changes everybody's weight a little at random.

    Parameters
    ----------
    learner : Learner
    reweightings, shakes : int
        The largest number of further answers of each kind. After rounds without a gain, there are
        up to four times as many shakes.
    rng : numpy Generator
        Source of the shakes.
    deadline : float, optional
        The ``time.perf_counter`` after which nothing more is asked.
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

    def ask(self, weights: Any, rounds_without_gain: int) -> list[Play]:
        """Return the Learner's answers at and around these weights.

        Parameters
        ----------
        weights : array, shape (N,)
        rounds_without_gain : int
            More such rounds in a row lead to more and larger shakes.
        """
        plays = [self._first_answer(weights)]
        if not self.learner.exact:
            best = self._reweight(plays, weights)
            persistence = 1 + min(rounds_without_gain, _MOST_PERSISTENCE)
            for _ in range(self.shakes * persistence):
                if perf_counter() > self.deadline:
                    break
                plays.append(self.learner.respond(self._shaken(best, _SHAKE * persistence)))
                best = min(best, plays[-1], key=lambda play: cost(play, weights))
        return plays

    def _first_answer(self, weights: Any) -> Play:
        """Return the answer to the weights themselves; for zero weights it is known already."""
        some = bool(self.learner.constraints.space.xp.any(weights != 0.0))
        return self.learner.respond(weights) if some else self.learner.unconstrained()

    def _reweight(self, plays: list[Play], weights: Any) -> Play:
        """Append answers with more weight on misjudged people; return the cheapest play."""
        best, least, failures = plays[0], cost(plays[0], weights), 0
        for _ in range(self.reweightings):
            if perf_counter() > self.deadline:
                break
            plays.append(self.learner.respond(self._boosted(plays[-1])))
            now, failures = cost(plays[-1], weights), failures + 1
            if now < least - _LEAST_GAIN:
                best, least, failures = plays[-1], now, 0
            if failures == _BOOST_PATIENCE:
                break
        return best

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

    def _shaken(self, play: Play, strength: float) -> Any:
        """Return a play's weights with the cost of a mistake on each person changed at random."""
        start = int(self.rng.integers(_OFFSETS))
        noise = strength * self._noise[start : start + play.weights.shape[0]]
        stakes = self.learner.stakes
        return (stakes + play.weights) * self.learner.sample.space.xp.exp(noise) - stakes

    @cached_property
    def _noise(self) -> Any:
        """Standard normal numbers in the sample's space. Each shake uses a part of them.

        The numbers are drawn once: new numbers for each shake would take longer than a GPU's
        answer.
        """
        return self.learner.sample.space.asarray(
            self.rng.standard_normal(len(self.learner.constraints) + _OFFSETS)
        )
