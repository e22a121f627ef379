"""Row blocks: how work over n people x m tasks is cut so that no large temporary is built."""

from __future__ import annotations

from collections.abc import Iterator
from threading import local
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

# Half a million cells are 4 MB of float64: several fit into a cache, and a matrix product over
# them is long enough to run at full speed. 250,000 and 2,000,000 were no faster (measured).
CELLS_PER_BLOCK = 500_000
# A wide table gets this many rows a block even so (products of few rows are slow), up to four
# times the cells.
ROWS_PER_BLOCK = 512


def row_blocks(n: int, width: int, cells: int = CELLS_PER_BLOCK) -> Iterator[slice]:
    """Cut n rows into slices of about half a million cells each, whatever the width.

    Examples
    --------
    >>> list(row_blocks(1_200_000, 1))
    [slice(0, 500000, None), slice(500000, 1000000, None), slice(1000000, 1200000, None)]
    """
    width = max(1, width)
    least = min(ROWS_PER_BLOCK, 4 * cells // width)
    step = max(1, least, cells // width)
    for start in range(0, n, step):
        yield slice(start, min(n, start + step))


def count_true(marks: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Count the marks of each row, shape (rows,)."""
    return np.asarray(np.add.reduce(marks.view(np.uint8), axis=1, dtype=np.uint32))


def scratch(name: str, rows: int, width: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return room for a block, the same memory for every call of a thread by this name.

    Fresh memory for every block costs as much as the work on it: a round at 100,000 x 500 took
    97 ms instead of 78 (two threads).
    """
    if not _SMALL < rows * width <= _LARGE:
        return np.empty((rows, width), dtype)
    kept: NDArray[Any] | None = getattr(_rooms, name, None)
    if kept is None or kept.size < rows * width or kept.dtype != dtype:
        kept = np.empty(rows * width, dtype)
        setattr(_rooms, name, kept)
    return kept[: rows * width].reshape(rows, width)


_rooms = local()
# So few cells are no matter, and so many are not kept.
_SMALL, _LARGE = 32_768, 4 * CELLS_PER_BLOCK
