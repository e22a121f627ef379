"""Parts: some of the people in one space, and functions that run part by part.

Everything that reads features or labels is a function of a part. Such a function returns a sum
over the part's people, or a value for each person. So the same function runs in threads on this
machine, on a GPU, or on the cluster machines that hold the parts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from averagefair.people.backends import Space
from averagefair.people.blocks import CELLS_PER_BLOCK, row_blocks
from averagefair.people.threads import block_threads, one_thread

# Cells of a block on a GPU: smaller blocks would not keep the GPU busy.
_CELLS_ON_GPU = 64_000_000
# Cut people into at most this many pieces. The number does not depend on the threads, so every
# machine adds up sums in the same order.
_MOST_PIECES = 16
# Use threads from this many blocks on: fewer blocks gain nothing from a second thread.
_LEAST_BLOCKS_FOR_THREADS = 4


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the people: their features and labels, in one space.

    Attributes
    ----------
    features : array, shape (rows, d)
    signs : int8 array, shape (rows, m)
    precision : {"float64", "float32", "tf32"}
        Precision of matrix products; "tf32" is float32 rounded for a GPU's tensor cores.
    """

    features: Any
    signs: Any
    precision: str = "float64"

    def __len__(self) -> int:
        return int(self.features.shape[0])

    @cached_property
    def space(self) -> Space:
        """Array library and device of the arrays."""
        return Space.of(self.features)

    def __reduce__(self) -> tuple[Any, ...]:
        # Leave out the space: the receiver reads it off the arrays.
        return Part, (self.features, self.signs, self.precision)

    def blocks(self, width: int, least_rows: int = 1) -> Iterator[slice]:
        """Cut the people into blocks small enough for a temporary table of this width."""
        return blocks_in(self.space, len(self), width, least_rows)

    def __getitem__(self, rows: slice) -> Part:
        return Part(self.features[rows], self.signs[rows], self.precision)


def blocks_in(space: Space, n: int, width: int, least_rows: int = 1) -> Iterator[slice]:
    """Cut n rows into blocks of a size that suits the space."""
    cells = _CELLS_ON_GPU if space.is_gpu else CELLS_PER_BLOCK
    return row_blocks(n, width, max(cells, least_rows * width))


PartFunction = Callable[..., Any]
"""Takes a Part, then vectors over its people, then settings by name."""


def apply_to_pieces(
    function: PartFunction, whole: Part, by_person: Sequence[Any], settings: dict[str, Any]
) -> Iterator[Any]:
    """Apply a function to the people of this machine; yield the result of each piece, in order.

    Parameters
    ----------
    function : callable
    whole : Part
    by_person : sequence of arrays of shape (n, ...), or None
        Cut in the same way as the people.
    settings : dict
        Passed to every call.
    """
    if not whole.space.is_numpy:
        yield function(whole, *by_person, **settings)
        return
    pieces = _pieces(len(whole), whole.signs.shape[1])
    if len(pieces) == 1:
        with one_thread(spread=True):
            yield function(whole, *by_person, **settings)
        return

    def apply(rows: slice) -> Any:
        vectors = (None if vector is None else vector[rows] for vector in by_person)
        return function(whole[rows], *vectors, **settings)

    yield from in_threads(apply, pieces)


def in_threads(function: Callable[[slice], Any], pieces: Sequence[slice]) -> Iterator[Any]:
    """Apply a function to each slice of rows, in threads; yield the results in order."""
    threads = min(block_threads(), len(pieces))
    # Each thread computes its own products: threads that share a product wait for each other.
    with one_thread(spread=True):
        yield from map(function, pieces) if threads <= 1 else _pool(threads).map(function, pieces)


def block_bytes_on_gpu(n: int, m: int) -> int:
    """Return about how many bytes a block of people x tasks may take on a GPU."""
    return 16 * min(n * m, _CELLS_ON_GPU) + 100 * n


def _pieces(n: int, m: int) -> list[slice]:
    blocks = -(-n * max(1, m) // CELLS_PER_BLOCK)
    if blocks < _LEAST_BLOCKS_FOR_THREADS:
        return [slice(0, n)]
    step = -(-n // min(_MOST_PIECES, blocks))
    return [slice(start, min(n, start + step)) for start in range(0, n, step)]


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="averagefair")


# A forked process inherits the pool without its threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
