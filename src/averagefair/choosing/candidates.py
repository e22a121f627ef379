"""Candidates: for each group of tasks, the distinct answers that a fixed choice is made among.

Two plays that judge everybody alike on a group of tasks are one candidate there. The candidates
kept have a chance in the program's solution, or the least reduced cost err + w . R at its prices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.game.blocks import Blocks, BlockShares, RateScale

# A candidate with a chance comes before all others.
_FIRST = 1e6
_KEY_SEED, _KEY_RANGE = 20260619, 2**20
# Shares of this many cells (people x tasks x plays) are kept between the two passes.
_KEPT_CELLS = 2e8


@dataclass(frozen=True, eq=False)
class Candidates:
    """What can be chosen for each group of tasks.

    Attributes
    ----------
    groups : Blocks
        Groups of neighbouring tasks; all tasks of a group take the same play.
    plays : integer array, shape (groups, keep)
        The number of the play that a candidate comes from; -1 where a group has fewer candidates.
    errors : array, shape (groups, keep)
        Shares of the overall error; infinite where there is no candidate.
    chances : array, shape (groups, keep)
        Chances in the program's solution; each row sums to 1.
    counts : list of arrays, each of shape (labels, candidates, n)
        Everybody's mistakes, for each group. In the sample's space.
    """

    groups: Blocks
    plays: NDArray[np.intp]
    errors: FloatArray
    chances: FloatArray
    counts: list[Any]

    @property
    def sizes(self) -> NDArray[np.intp]:
        """The number of candidates of each group, shape (groups,)."""
        return np.asarray((self.plays >= 0).sum(axis=1))


def gather_candidates(
    shares_of: Callable[[int], BlockShares],
    chances: FloatArray,
    groups: Blocks,
    scale: RateScale,
    weights: Any,
    keep: int,
    deadline: float = np.inf,
) -> Candidates:
    """Return the candidates among some plays.

    Parameters
    ----------
    shares_of : callable
        Takes the number of a play; returns its shares, group by group.
    chances : array, shape (plays, groups)
        Chances in the program's solution.
    groups : Blocks
    scale : RateScale
    weights : array, shape (N,)
        The program's prices w.
    keep : int
        The largest number of candidates of a group.
    deadline : float, optional
        The ``time.perf_counter`` after which only plays with a chance are looked at.
    """
    play_count, size = chances.shape[0], len(groups)
    remember = float(scale.n) * size * play_count <= _KEPT_CELLS
    table, kept_shares = _Table(size, keep), {}
    numbers = _key_numbers(scale)
    for play in np.argsort(-chances.sum(axis=1), kind="stable").tolist():
        if not chances[play].any() and perf_counter() > deadline:
            break
        shares = shares_of(play)
        if remember:
            kept_shares[play] = shares
        cost = shares.errors + scale.along(shares.counts, weights)
        table.offer(play, cost, shares.errors, chances[play], _keys(shares.counts, numbers, scale))
    table.sort()
    columns: list[list[Any]] = [[None] * keep for _ in range(size)]
    for play in np.unique(table.plays[table.plays >= 0]):
        counts = (kept_shares[play] if remember else shares_of(play)).counts
        for group, slot in np.argwhere(table.plays == play):
            columns[group][slot] = counts[:, int(group), :]
    xp = scale.constraints.space.xp
    counts_of = [
        xp.stack([column for column in own if column is not None], axis=1) for own in columns
    ]
    total = table.chances.sum(axis=1, keepdims=True)
    return Candidates(groups, table.plays, table.errors, table.chances / total, counts_of)


class _Table:
    """The best candidates so far: a row for each group, a slot for each candidate."""

    def __init__(self, groups: int, keep: int) -> None:
        self.plays = np.full((groups, keep), -1, dtype=np.intp)
        self.errors = np.full((groups, keep), np.inf)
        self.chances = np.zeros((groups, keep))
        self._ranks = np.full((groups, keep), np.inf)
        self._keys: NDArray[Any] | None = None

    def offer(
        self,
        play: int,
        cost: FloatArray,
        errors: FloatArray,
        chances: FloatArray,
        keys: FloatArray,
    ) -> None:
        """Take a play's answers in the groups where they are new and among the best."""
        if self._keys is None:
            self._keys = np.full((*self.plays.shape, keys.shape[1]), np.nan)
        rank = cost - _FIRST * (chances > 0)
        same = (self._keys == keys[:, None, :]).all(axis=2)
        known = np.flatnonzero(same.any(axis=1))
        slots = same[known].argmax(axis=1)
        self.chances[known, slots] += chances[known]
        self._ranks[known, slots] = np.minimum(self._ranks[known, slots], rank[known])
        worst = self._ranks.argmax(axis=1)
        rows = np.arange(len(worst))
        better = rank < self._ranks[rows, worst]
        better[known] = False
        rows, worst = rows[better], worst[better]
        self.plays[rows, worst] = play
        self.errors[rows, worst] = errors[rows]
        self.chances[rows, worst] = chances[rows]
        self._ranks[rows, worst] = rank[rows]
        self._keys[rows, worst] = keys[rows]

    def sort(self) -> None:
        """Put the likeliest first, then those of least cost; empty slots come last."""
        order = np.lexsort((self._ranks, -self.chances), axis=1)
        for name in ("plays", "errors", "chances"):
            setattr(self, name, np.take_along_axis(getattr(self, name), order, axis=1))
        lost = self.chances.sum(axis=1) <= 0.0
        self.chances[lost, 0] = 1.0


def _key_numbers(scale: RateScale) -> Any:
    drawn = np.random.default_rng(_KEY_SEED).integers(_KEY_RANGE, size=(scale.n, 2))
    return scale.constraints.space.asarray(drawn.astype(np.float64))


def _keys(counts: Any, numbers: Any, scale: RateScale) -> FloatArray:
    """Return what identifies the answer in each group, shape (groups, 2 labels)."""
    space = scale.constraints.space
    sums = [
        space.to_host(space.xp.astype(counts[label, :, :], space.xp.float64) @ numbers)
        for label in range(counts.shape[0])
    ]
    return np.hstack(sums)


def mixed_rates(candidates: Candidates, scale: RateScale) -> tuple[float, Any]:
    """Return the error and everybody's rates, shape (N,), under the chances of the candidates.

    Parameters
    ----------
    candidates : Candidates
    scale : RateScale
    """
    some = candidates.chances > 0.0
    error = float(np.sum(np.where(some, candidates.errors, 0.0) * candidates.chances))
    space, xp = scale.constraints.space, scale.constraints.space.xp
    total: Any = 0.0
    for chances, counts in zip(candidates.chances, candidates.counts, strict=True):
        own = space.asarray(chances[: counts.shape[1]])
        labels = range(counts.shape[0])
        mixed = [own @ xp.astype(counts[label, :, :], xp.float64) for label in labels]
        total = total + xp.stack(mixed)
    return error, scale.rates(total[:, None, :])[0, :]
