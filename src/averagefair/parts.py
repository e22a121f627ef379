"""Parts: some of the people in one place, and work that is done part by part.

Everything that reads features or labels is a function of a part: it returns a sum over the part's
people, or something for each of them. That is all it takes to run it in threads on this machine,
on a GPU, or on the machines of a cluster that hold the parts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from averagefair.blocks import CELLS_PER_BLOCK, row_blocks
from averagefair.spaces import Space
from averagefair.threads import block_threads, one_thread

# A GPU works on blocks as large as this; smaller ones would not keep it busy.
_CELLS_ON_GPU = 64_000_000
# People are cut into so many pieces at most, whatever the number of threads: sums are then added
# up in the same order on every machine.
_PIECES = 16
# Fewer blocks than this are not worth a second thread.
_WORTH_THREADS = 4


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the people: their features and labels, in one space.

    Attributes
    ----------
    features : array, shape (rows, d)
    signs : int8 array, shape (rows, m)
    precision : {"float64", "float32", "tf32"}
        What products are computed in; "tf32" is float32 rounded for a GPU's tensor cores.
    """

    features: Any
    signs: Any
    precision: str = "float64"

    def __len__(self) -> int:
        return int(self.features.shape[0])

    @cached_property
    def space(self) -> Space:
        """Where the arrays live."""
        return Space.of(self.features)

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the space, which is known from the arrays, wherever they come to.
        return Part, (self.features, self.signs, self.precision)

    def blocks(self, width: int, least_rows: int = 1) -> Iterator[slice]:
        """Cut the people so that a table of this width over a block is no large temporary."""
        return blocks_in(self.space, len(self), width, least_rows)

    def __getitem__(self, rows: slice) -> Part:
        return Part(self.features[rows], self.signs[rows], self.precision)


def blocks_in(space: Space, n: int, width: int, least_rows: int = 1) -> Iterator[slice]:
    """Cut n rows into blocks of a size that suits a space."""
    cells = _CELLS_ON_GPU if space.is_gpu else CELLS_PER_BLOCK
    return row_blocks(n, width, max(cells, least_rows * width))


Work = Callable[..., Any]
"""Takes a Part, then vectors over its people, then settings by name."""


def results(
    work: Work, whole: Part, by_person: Sequence[Any], settings: dict[str, Any]
) -> Iterator[Any]:
    """Do some work on all people of this machine; yield a result for each piece, in order.

    Parameters
    ----------
    work : callable
    whole : Part
    by_person : sequence of arrays of shape (n, ...), or None
        Cut as the people are.
    settings : dict
        The same for everybody.
    """
    if not whole.space.is_numpy:
        yield work(whole, *by_person, **settings)
        return
    pieces = _pieces(len(whole), whole.signs.shape[1])
    if len(pieces) == 1:
        with one_thread(spread=True):
            yield work(whole, *by_person, **settings)
        return

    def piece(rows: slice) -> Any:
        cut = (None if vector is None else vector[rows] for vector in by_person)
        return work(whole[rows], *cut, **settings)

    yield from in_threads(piece, pieces)


def in_threads(work: Callable[[slice], Any], pieces: Sequence[slice]) -> Iterator[Any]:
    """Do some work on pieces of NumPy arrays side by side; yield the results in order."""
    threads = min(block_threads(), len(pieces))
    # Each thread has its own blocks: threads that share a product wait for each other.
    with one_thread(spread=True):
        yield from map(work, pieces) if threads <= 1 else _pool(threads).map(work, pieces)


def room_for_a_block(n: int, m: int) -> int:
    """Return how many bytes work on a block of people x tasks may take on a GPU, about."""
    return 16 * min(n * m, _CELLS_ON_GPU) + 100 * n


def _pieces(n: int, m: int) -> list[slice]:
    blocks = -(-n * max(1, m) // CELLS_PER_BLOCK)
    if blocks < _WORTH_THREADS:
        return [slice(0, n)]
    step = -(-n // min(_PIECES, blocks))
    return [slice(start, min(n, start + step)) for start in range(0, n, step)]


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="averagefair")


# A forked process has the pool, but not its threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
