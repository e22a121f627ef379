"""The pool: every play (answer of the Learner) so far, and the columns it is made of.

A column is a play's answer in one block of tasks. Two plays that decide a block alike share its
column. A play takes a byte for each person and block.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.game.blocks import BlockShares, RateScale
from averagefair.game.learner import Play
from averagefair.people.backends import Space, take_rows

# Two random whole numbers below this for each person identify a column. Their sums are exact in
# float64 for up to 33 million people and 255 tasks in a block.
_KEY_RANGE = 2**20
_KEY_SEED = 20190705
CONSTANTS = 2
"""The first plays of every pool: always 0, always 1."""


class Pool:
    """The plays, and their distinct columns.

    Parameters
    ----------
    scale : RateScale
        Turns counts of mistakes into rates.
    blocks : int
        The number of blocks.

    Attributes
    ----------
    plays : list of Play
    play_of, block_of : integer array, shape (columns,)
        The play and the block of each column.
    errors : array, shape (columns,)
        The share of the overall error.
    """

    def __init__(self, scale: RateScale, blocks: int) -> None:
        self.scale, self.blocks = scale, blocks
        self.plays: list[Play] = []
        self.play_of = np.zeros(0, dtype=np.intp)
        self.block_of = np.zeros(0, dtype=np.intp)
        self.errors = np.zeros(0)
        self._columns: dict[tuple[int, bytes], int] = {}

    def __len__(self) -> int:
        return len(self.errors)

    @property
    def space(self) -> Space:
        """Where vectors over the constraints are."""
        return self.scale.constraints.space

    def add(self, play: Play) -> NDArray[np.intp]:
        """Add a play; return its columns, shape (blocks,). Some may be known already."""
        shares = _shares(play)
        number, columns = len(self.plays), np.empty(self.blocks, dtype=np.intp)
        new: list[int] = []
        for block, key in enumerate(self._keys(shares.counts)):
            columns[block] = self._columns.setdefault((block, key), len(self) + len(new))
            if columns[block] == len(self) + len(new):
                new.append(block)
        if not new and number >= CONSTANTS:
            return columns  # nothing in it is new
        self.plays.append(play)
        self.play_of = np.append(self.play_of, np.full(len(new), number))
        self.block_of = np.append(self.block_of, np.array(new, dtype=np.intp))
        self.errors = np.append(self.errors, shares.errors[new])
        return columns

    def _keys(self, counts: Any) -> list[bytes]:
        """Return what identifies each block's answer."""
        space, xp = self.space, self.space.xp
        sums = [
            space.to_host(xp.astype(counts[label, :, :], xp.float64) @ self._numbers)
            for label in range(counts.shape[0])
        ]
        return [row.tobytes() for row in np.ascontiguousarray(np.hstack(sums))]

    @cached_property
    def _numbers(self) -> Any:
        drawn = np.random.default_rng(_KEY_SEED).integers(_KEY_RANGE, size=(self.scale.n, 2))
        return self.space.asarray(drawn.astype(np.float64))

    def rates(self, columns: NDArray[np.intp], at: NDArray[np.intp] | None = None) -> Any:
        """Return the shares of the rates, shape (columns, N), or at some constraints only.

        Parameters
        ----------
        columns : integer array
        at : integer array, optional
            Constraints. Default: all.
        """
        space, xp = self.space, self.space.xp
        place = None if at is None else space.asarray(at)
        order = np.argsort(self.play_of[columns], kind="stable")
        plays, first = np.unique(self.play_of[columns[order]], return_index=True)
        pieces = [
            self.scale.rates(
                xp.take(
                    _shares(self.plays[play]).counts,
                    space.asarray(self.block_of[columns[mine]]),
                    axis=1,
                ),
                place,
            )
            for play, mine in zip(plays, np.split(order, first[1:]), strict=True)
        ]
        if not pieces:
            return space.zeros((0, len(self.scale.constraints) if at is None else len(at)))
        together = pieces[0] if len(pieces) == 1 else xp.concat(pieces)
        return take_rows(together, np.argsort(order))

    def along(self, columns: NDArray[np.intp], weights: Any) -> FloatArray:
        """Return w . R of these columns, shape (columns,)."""
        out = np.zeros(len(columns))
        for play in np.unique(self.play_of[columns]):
            mine = np.flatnonzero(self.play_of[columns] == play)
            whole = self.scale.along(_shares(self.plays[play]).counts, weights)
            out[mine] = whole[self.block_of[columns[mine]]]
        return out

    def mix(self, mixture: FloatArray) -> Any:
        """Return everybody's rates under chances of the first columns, shape (N,)."""
        space, xp = self.space, self.space.xp
        total = space.zeros(len(self.scale.constraints))
        used = np.flatnonzero(mixture)
        for play in np.unique(self.play_of[used]):
            mine = used[self.play_of[used] == play]
            chances = np.zeros(self.blocks)
            chances[self.block_of[mine]] = mixture[mine]
            counts = _shares(self.plays[play]).counts
            mixed = [
                space.asarray(chances) @ xp.astype(counts[label, :, :], xp.float64)
                for label in range(counts.shape[0])
            ]
            total = total + self.scale.rates(xp.stack(mixed)[:, None, :])[0, :]
        return total

    def error(self, mixture: FloatArray) -> float:
        """Return the overall error under chances of the first columns."""
        return float(mixture @ self.errors[: len(mixture)])

    def chances(self, mixture: FloatArray) -> FloatArray:
        """Return the chance of each play in each block, shape (plays, blocks)."""
        out = np.zeros((len(self.plays), self.blocks))
        used = np.flatnonzero(mixture)
        out[self.play_of[used], self.block_of[used]] = mixture[used]
        return out


def _shares(play: Play) -> BlockShares:
    assert play.blocks is not None, "plays in a pool are divided into blocks"
    return play.blocks
