"""The search: one candidate for each group, so that the rates keep the promise at least error.

The program's solution is rounded first, and a few draws from its chances are tried. Then groups
are visited one after the other, again and again. A visit looks at everybody's rates under each
candidate of the group, and draws one: the cheaper, the likelier (simulated annealing). The
temperature falls, and the penalty for broken limits rises while limits are broken. The best choice
seen is returned, so the result is never worse than the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.choosing.candidates import Candidates
from averagefair.choosing.penalties import Penalties, Score
from averagefair.game.blocks import Blocks, RateScale
from averagefair.game.solution import StopReason
from averagefair.people.sample import Sample

Choice = NDArray[np.intp]
"""The chosen candidate of each group, shape (groups,)."""

MOST_CANDIDATES = 12
"""The largest number of candidates of a group of tasks."""
MOST_DECISIONS = 4e9
"""Tasks are chosen one by one up to this many decisions (people x tasks x answers)."""
# The number of draws tried at the start.
_DRAWS = 20
# Cells (people x candidates) visited in one annealing, and the bounds on its sweeps: few groups
# need few.
_CELLS, _FEWEST_SWEEPS, _MOST_SWEEPS, _SWEEPS_FOR_A_GROUP = 2e8, 16, 120, 10
# The temperatures at the start of each annealing, and at its end, in shares of the error that one
# group can change. The first annealing finds a choice that keeps the promise, the others lower its
# error.
_HOT, _COLD = (0.05, 0.01, 0.03, 0.005), 3e-4
# A promise not kept after this many annealings is given up: the next comes as near as it can.
_TRIES = 2
# The penalty: its first value if no price is known, its growth in a sweep that breaks a limit and
# its fall in one that does not, and its bounds in multiples of the first.
_PENALTY, _GROWTH, _FALL, _LEAST, _MOST = 10.0, 1.08, 0.96, 1e-3, 1e4
# An annealing ends after this many sweeps that change nothing.
_FROZEN = 12
# A kept promise at an objective this near the program's own ends the search.
_NEAR = 1e-4
# Shares of rates are kept in memory up to this many cells, else they are computed at each visit.
_KEPT_CELLS = 1.5e8


@dataclass(frozen=True, eq=False)
class Chosen:
    """The result of a search.

    Attributes
    ----------
    choice : integer array, shape (groups,)
        The candidate of each group.
    score : Score
    """

    choice: Choice
    score: Score


class Search:
    """A search over the candidates of all groups.

    Parameters
    ----------
    candidates : Candidates
    scale : RateScale
        Turns counts of mistakes into rates.
    penalties : Penalties
    target : float
        The program's objective; a choice cannot be expected to reach less. -inf if unknown.
    first_penalty : float
        The largest price of a person's rate in the program, in people; 0 if unknown.
    rng : numpy Generator
    order : integer array, shape (groups,), optional
        The groups in an order of their own, e.g. by name. Random numbers are used up in this order,
        so the choice does not depend on the order in which the groups are given.
    past : array, shape (N,), optional
        What is added to everybody's rates.
    effort : float, default 1
        How many times as long to search.
    deadline : float, optional
        The ``time.perf_counter`` after which the best choice so far is returned.
    """

    def __init__(
        self,
        candidates: Candidates,
        scale: RateScale,
        penalties: Penalties,
        *,
        target: float,
        first_penalty: float,
        rng: np.random.Generator,
        order: NDArray[np.intp] | None = None,
        past: Any | None = None,
        effort: float = 1.0,
        deadline: float = np.inf,
    ) -> None:
        self.candidates, self.scale, self.penalties = candidates, scale, penalties
        self.target, self.rng, self.deadline = target, rng, deadline
        self.ended: StopReason | None = None
        self.first_penalty = first_penalty if first_penalty > 0 else _PENALTY
        self._space, self._xp = scale.constraints.space, scale.constraints.space.xp
        self.past = self._space.zeros(len(scale.constraints)) if past is None else past
        self._sizes = candidates.sizes
        self._order = np.arange(len(self._sizes)) if order is None else order
        cells = float(self._sizes.sum()) * len(scale.constraints)
        most = min(_MOST_SWEEPS, _FEWEST_SWEEPS + _SWEEPS_FOR_A_GROUP * len(self._sizes))
        sweeps = np.clip(_CELLS / max(1.0, cells), _FEWEST_SWEEPS, most)
        self.sweeps = int(effort * sweeps)
        self._shares: dict[int, Any] = {}
        self._remember = cells <= _KEPT_CELLS
        self._kept: Chosen | None = None
        self._nearest: Chosen | None = None
        self._budget = np.inf

    def run(self) -> Chosen:
        """Return the best choice found; the time limit and Ctrl-C end the search early."""
        try:
            return self._run()
        except KeyboardInterrupt:
            if self._kept is None and self._nearest is None:
                raise
            self.ended = StopReason.INTERRUPTED
            return self._best()

    def _run(self) -> Chosen:
        start = self._start()
        if self._finished() or len(self._sizes) == 1 or not (self._sizes > 1).any():
            return self._best()
        choice = start.choice
        for number, hot in enumerate(_HOT):
            lost = self._kept is None and number >= _TRIES
            self._anneal(choice.copy(), _HOT[0] if lost else hot, within_budget=lost)
            if lost or self._finished() or self.ended is not None:
                return self._best()
            choice = self._best().choice
        return self._best()

    def _start(self) -> Chosen:
        """Try the likeliest candidates and some draws, or all if there is one group.

        Return the best.
        """
        chances = self.candidates.chances
        starts = [chances.argmax(axis=1)]
        edges = chances.cumsum(axis=1)
        if len(self._sizes) == 1:
            starts += [np.array([candidate]) for candidate in range(int(self._sizes[0]))]
        else:
            for _ in range(_DRAWS):
                drawn = np.empty((len(chances), 1))
                drawn[self._order] = self.rng.random((len(chances), 1))
                drawn *= edges[:, -1:]
                starts.append(np.minimum((edges <= drawn).sum(axis=1), self._sizes - 1))
        scored = [Chosen(choice, self._score(choice)) for choice in starts]
        best = min(scored, key=lambda chosen: chosen.score)
        self._budget = max(self.target, best.score.objective)
        for chosen in scored:
            self._note(chosen.choice, chosen.score)
        return best

    def _finished(self) -> bool:
        return self._kept is not None and self._kept.score.objective <= self.target + _NEAR

    def _best(self) -> Chosen:
        best = self._kept or self._nearest
        assert best is not None, "the search has not started"
        return best

    def _note(self, choice: Choice, score: Score) -> None:
        """Keep a choice if it is the best so far."""
        if score.broken == 0.0:
            if self._kept is None or score.objective < self._kept.score.objective:
                self._kept = Chosen(choice.copy(), score)
        elif score.objective <= self._budget and (
            self._nearest is None or score < self._nearest.score
        ):
            self._nearest = Chosen(choice.copy(), score)

    def _anneal(self, choice: Choice, hot: float, *, within_budget: bool) -> None:
        """Visit all groups many times, at temperatures that fall from ``hot``.

        ``within_budget`` lowers the penalty where the objective exceeds the program's and that of
        the best start: the promise is then out of reach, and the search comes as near as it can at
        no more error. More error for a promise that stays broken was of no use to new people.
        """
        groups = self._order[self._sizes[self._order] > 1]
        penalty = self.first_penalty
        rates = self._rates(choice)
        cooling = (_COLD / hot) ** (1.0 / (self.sweeps - 1))
        frozen = 0
        for sweep in range(self.sweeps):
            if perf_counter() > self.deadline:
                self.ended = StopReason.TIME
                return
            before = choice.copy()
            warmth = hot * cooling**sweep / len(self._sizes)
            hinges = self.penalties.hinges(rates, "float32")
            now = self._xp.astype(rates, self._xp.float32)
            for group in self.rng.permutation(groups):
                shares = self._shares_of(int(group))
                other = now - shares[int(choice[group]), :]
                each = other + shares
                costs = self.candidates.errors[group, : shares.shape[0]].copy()
                for hinge in hinges:
                    own = self._space.to_host(hinge.cost(each, self._xp))
                    costs += own * penalty if hinge.hard else own
                taken = _draw(costs, warmth, self.rng)
                choice[group] = taken
                now = each[taken, :]
            rates = self._rates(choice)
            score = self.penalties.score(self._error(choice), rates)
            self._note(choice, score)
            frozen = frozen + 1 if (choice == before).all() else 0
            if self._finished() or frozen >= _FROZEN:
                return
            self.penalties.emphasise(rates)
            dear = within_budget and score.objective > self._budget
            grow = score.broken > 0.0 and not dear
            penalty *= _GROWTH if grow else _FALL
            penalty = min(max(penalty, _LEAST * self.first_penalty), _MOST * self.first_penalty)

    def _shares_of(self, group: int) -> Any:
        """Return the candidates' shares of everybody's rates, shape (candidates, N)."""
        if group not in self._shares:
            shares = self.scale.rates(self.candidates.counts[group])
            shares = self._xp.astype(shares, self._xp.float32)
            if not self._remember:
                return shares
            self._shares[group] = shares
        return self._shares[group]

    def _error(self, choice: Choice) -> float:
        return float(self.candidates.errors[np.arange(len(choice)), choice].sum())

    def _score(self, choice: Choice) -> Score:
        return self.penalties.score(self._error(choice), self._rates(choice))

    def _rates(self, choice: Choice) -> Any:
        """Return everybody's rates under a choice, shape (N,)."""
        total: Any = 0.0
        for group, taken in enumerate(choice.tolist()):
            counts = self.candidates.counts[group][:, taken, :]
            total = total + self._xp.astype(counts, self._xp.float64)
        return self.scale.rates(total[:, None, :])[0, :] + self.past


def order_of(groups: Blocks, sample: Sample) -> NDArray[np.intp]:
    """Return the groups ordered by the names of their tasks.

    The given order is kept if tasks have no names of their own, or groups hold several.

    Parameters
    ----------
    groups : Blocks
    sample : Sample
    """
    if len(groups) < sample.m or not sample.named_tasks:
        return np.arange(len(groups))
    return np.argsort(np.asarray(sample.task_names), kind="stable")


def _draw(costs: FloatArray, warmth: float, rng: np.random.Generator) -> int:
    """Return a candidate with chances proportional to exp(-cost / warmth)."""
    odds = np.exp((costs.min() - costs) / warmth)
    edges = np.cumsum(odds)
    return min(int(np.searchsorted(edges, rng.random() * edges[-1], side="right")), len(odds) - 1)
