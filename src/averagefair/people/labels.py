"""Labels: a user's 0, 1 and blanks become signs, one byte for each person and task.

The sign is +1 for label 0, -1 for label 1, and 0 for a blank. Blanks drop out from here on: a cell
with sign 0 costs nothing, counts towards no rate and is part of no sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import SignArray
from averagefair.errors import InputError
from averagefair.people.backends import Space, is_foreign, is_mapped
from averagefair.people.blocks import row_blocks, write_temporary_file
from averagefair.people.parts import blocks_in


def signs_of(cells: Any, task_names: Sequence[str], first_row: int = 0) -> Any:
    """Read labels a block at a time; the result takes one byte for each cell."""
    if is_foreign(cells):
        return _foreign_signs(cells, task_names)
    cuts = list(row_blocks(*cells.shape))
    blocks = (read_signs(cells[rows], task_names, first_row + rows.start) for rows in cuts)
    if is_mapped(cells):
        return write_temporary_file(blocks, cells.shape, np.int8)
    out = np.empty(cells.shape, dtype=np.int8)
    for rows, block in zip(cuts, blocks, strict=True):
        out[rows] = block
    return out


def _foreign_signs(cells: Any, task_names: Sequence[str]) -> Any:
    """Read labels in their own library and device, a block at a time."""
    space = Space.of(cells)
    xp, out = space.xp, space.zeros(tuple(cells.shape), "int8")
    for rows in blocks_in(space, *cells.shape):
        block = cells[rows, :]
        if xp.isdtype(block.dtype, "bool"):
            block = xp.astype(block, xp.int8)
        ones, zeros = block == 1, block == 0
        blank = xp.isnan(block) if xp.isdtype(block.dtype, "real floating") else xp.zeros_like(ones)
        strange = xp.any(~(ones | zeros | blank), axis=1)
        if bool(xp.any(strange)):
            row = rows.start + int(xp.argmax(xp.astype(strange, xp.int8)))
            read_signs(space.to_host(cells[row : row + 1, :]), task_names, row)
        out[rows, :] = xp.astype(zeros, xp.int8) - xp.astype(ones, xp.int8)
    return out


def read_signs(cells: NDArray[Any], task_names: Sequence[str], first_row: int = 0) -> SignArray:
    """Read labels, shape (n, m): 0 becomes +1, 1 becomes -1, blank becomes 0; refuse others."""
    ones, zeros = cells == 1, cells == 0
    signs: SignArray = zeros.view(np.int8) - ones.view(np.int8)
    if cells.dtype.kind == "f":
        zeros |= np.isnan(cells)
    known = np.logical_or(ones, zeros, out=zeros)
    if not known.all():
        row, column = map(int, np.argwhere(~known)[0])
        raise InputError(
            "labels must be 0, 1 or blank (NaN, None). Only binary classification is supported. "
            f"Unknown label type: row {first_row + row}, task {task_names[column]!r} holds "
            f"{cells[row, column].item()!r}. Encode each task as 0/1, one column for each task."
        )
    return signs
