"""Blocks of tasks: each block has chances of its own.

Rates are sums over tasks, so each task may mix its answers with chances of its own (the paper's
p in Delta(H)^m). A solver sees a play as one share of the error and one share of everybody's rates
for each block of tasks. One block is the whole play, m blocks are the tasks one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.game.constraints import Constraints

_LARGEST_BYTE = 255


@dataclass(frozen=True, eq=False)
class Blocks:
    """A division of the tasks into blocks of neighbouring tasks.

    Attributes
    ----------
    edges : integer array, shape (blocks + 1,)
        Block b holds the tasks from ``edges[b]`` to ``edges[b + 1] - 1``.

    Examples
    --------
    >>> Blocks.even(5, 2).of_task
    array([0, 0, 0, 1, 1])
    """

    edges: NDArray[np.intp]

    @classmethod
    def even(cls, tasks: int, count: int) -> Blocks:
        """Return blocks of nearly equal size.

        Parameters
        ----------
        tasks, count : int
            Numbers of tasks and of blocks; there are never more blocks than tasks.
        """
        size = -(-tasks // max(1, min(tasks, count)))
        return cls(np.append(np.arange(0, tasks, size), tasks))

    def __len__(self) -> int:
        return len(self.edges) - 1

    @property
    def tasks(self) -> int:
        """The number of tasks."""
        return int(self.edges[-1])

    @cached_property
    def of_task(self) -> NDArray[np.intp]:
        """The block of each task, shape (m,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.edges))

    @property
    def dtype(self) -> str:
        """The smallest type that holds a count of a block's tasks."""
        return "uint8" if np.diff(self.edges).max(initial=0) <= _LARGEST_BYTE else "int32"


class BlockShares(NamedTuple):
    """What a solver sees of a play, block by block.

    Attributes
    ----------
    errors : array, shape (blocks,)
        Each block's share of the overall error, in NumPy. They add up to the play's error.
    counts : array, shape (labels, blocks, n)
        Everybody's mistakes in each block: all of them, or on label 0 and on label 1. One byte a
        person and block if tasks weigh the same. In the sample's space.
    """

    errors: FloatArray
    counts: Any


@dataclass(frozen=True, eq=False)
class RateScale:
    """Turns counts of mistakes into shares of people's rates.

    A mistake of person i on label l adds ``scales[l, c]`` to the rate of constraint c of person i.

    Attributes
    ----------
    constraints : Constraints
    scales : array, shape (labels, N)
        In the constraints' space.
    n : int
        The number of people.
    """

    constraints: Constraints
    scales: Any
    n: int

    @cached_property
    def _everybody(self) -> bool:
        people = self.constraints.people
        return len(people) == self.n and bool((people == np.arange(self.n)).all())

    @cached_property
    def _people(self) -> Any:
        return self.constraints.space.asarray(self.constraints.people)

    def rates(self, counts: Any, at: Any | None = None) -> Any:
        """Return the shares of the rates, shape (rows, N): a row for each row of counts.

        Parameters
        ----------
        counts : array, shape (labels, rows, n)
        at : integer array, optional
            The constraints to return, in their space. Default: all.
        """
        xp = self.constraints.space.xp
        people = None if self._everybody else self._people
        scales = self.scales
        if at is not None:
            people = at if people is None else xp.take(people, at)
            scales = xp.take(scales, at, axis=1)
        total: Any = 0.0
        for label in range(counts.shape[0]):
            own = counts[label, :, :]
            own = own if people is None else xp.take(own, people, axis=1)
            total = total + xp.astype(own, xp.float64) * scales[label, :]
        return total

    def along(self, counts: Any, weights: Any) -> FloatArray:
        """Return w . R of each row of counts, shape (rows,), in NumPy.

        Parameters
        ----------
        counts : array, shape (labels, rows, n)
        weights : array, shape (N,)
        """
        space, xp = self.constraints.space, self.constraints.space.xp
        total = np.zeros(counts.shape[1])
        for label in range(counts.shape[0]):
            weighed = self._by_person(self.scales[label, :] * weights)
            total += space.to_host(xp.astype(counts[label, :, :], xp.float64) @ weighed)
        return total

    def _by_person(self, values: Any) -> Any:
        """Add up values over the constraints of each person, shape (n,)."""
        if self._everybody:
            return values
        space, xp = self.constraints.space, self.constraints.space.xp
        total = space.zeros(self.n)
        for rate in self.constraints.slices:
            # People are distinct within a rate, so nothing is added twice.
            people = self._people[rate]
            if space.is_numpy or space.is_torch:
                total[people] += values[rate]
            else:
                own = np.zeros(self.n)
                own[self.constraints.people[rate]] = space.to_host(values[rate])
                total = total + xp.asarray(own, device=space.device)
        return total
