"""Row blocks: cut work over n people x m tasks so that every temporary array stays small."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from threading import local
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from averagefair.errors import InputError

# Half a million cells are 4 MB of float64. Several such blocks fit into a cache, and a matrix
# product over one block runs at full speed. 250,000 and 2,000,000 were no faster (measured).
CELLS_PER_BLOCK = 500_000
# A block of a wide table has at least this many rows, since products of few rows are slow. Such a
# block has up to four times CELLS_PER_BLOCK.
ROWS_PER_BLOCK = 512


def row_blocks(n: int, width: int, cells: int = CELLS_PER_BLOCK) -> Iterator[slice]:
    """Cut n rows of this width into slices of about ``cells`` cells each.

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
    """Count the true cells of each row; shape (rows,)."""
    return np.asarray(np.add.reduce(marks.view(np.uint8), axis=1, dtype=np.uint32))


def scratch(name: str, rows: int, width: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an uninitialised array for a block; each thread reuses one buffer per name.

    Allocating new memory for every block is slow: a round at 100,000 x 500 took 97 ms instead of
    78 ms (two threads).
    """
    if not _LEAST_REUSED < rows * width <= _MOST_REUSED:
        return np.empty((rows, width), dtype)
    buffer: NDArray[Any] | None = getattr(_buffers, name, None)
    if buffer is None or buffer.size < rows * width or buffer.dtype != dtype:
        buffer = np.empty(rows * width, dtype)
        setattr(_buffers, name, buffer)
    return buffer[: rows * width].reshape(rows, width)


_buffers = local()
# Reuse buffers between these numbers of cells: smaller ones are cheap, larger ones waste memory.
_LEAST_REUSED, _MOST_REUSED = 32_768, 4 * CELLS_PER_BLOCK


def write_temporary_file(
    blocks: Iterable[NDArray[Any]], shape: tuple[int, ...], dtype: Any
) -> NDArray[Any]:
    """Write blocks of rows to an unnamed temporary file; return its memory map.

    Used for data that came in a file, since they may exceed memory. The file disappears with the
    array.
    """
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    try:
        with tempfile.TemporaryFile(prefix="averagefair-") as file:
            # Write to the file, not through the map: on a full disk the map kills the process.
            for block in blocks:
                file.write(np.ascontiguousarray(block).data)
            file.flush()
            return np.memmap(file, dtype=dtype, mode="r", shape=shape)
    except OSError as error:
        raise InputError(
            f"{size / 1e6:,.0f} MB could not be written to the folder for temporary files, "
            f"{tempfile.gettempdir()}: {error.strerror}. Free space there, or set TMPDIR to a "
            "folder with enough space."
        ) from error
