"""Cells: what is blank, what is true, what is a number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.errors import extra

BLANKS = ("", "na", "n/a", "nan", "null", "none")
# As programs and spreadsheets write them, in some languages.
TRUE = ("true", "wahr", "vrai", "verdadero", "vero")
FALSE = ("false", "falsch", "faux", "falso")


def numbers(column: Any) -> NDArray[np.float64]:
    """Read a pyarrow column as numbers, shape (n,); NaN where blank.

    Raises
    ------
    NotNumbersError
        With the first cell that is no number.
    """
    pa, pc = extra("pyarrow", "files"), extra("pyarrow.compute", "files")
    stored = column
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        text = pc.utf8_lower(pc.utf8_trim_whitespace(column))
        column = pc.if_else(pc.is_in(text, pa.array(BLANKS, text.type)), None, text)
        for words, digit in ((TRUE, "1"), (FALSE, "0")):
            said = pc.is_in(column, pa.array(words, text.type))
            column = pc.if_else(said, pa.scalar(digit, text.type), column)
    try:
        return np.asarray(pc.cast(column, pa.float64()).to_numpy(), dtype=np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return _one_by_one(stored, column.to_pylist())


class NotNumbersError(ValueError):
    """A column holds something that is no number: ``row`` and ``value`` say where and what."""

    def __init__(self, row: int, value: Any) -> None:
        self.row, self.value = row, value


def _one_by_one(stored: Any, values: list[Any]) -> NDArray[np.float64]:
    """Find the first cell that is no number; of what is of another type, take what is one."""
    out = np.empty(len(values))
    for row, value in enumerate(values):
        try:
            if isinstance(value, str) and "_" in value:
                raise ValueError  # which float() would read as 1_000
            out[row] = math.nan if value is None else float(value)
        except (TypeError, ValueError):
            raise NotNumbersError(row, stored[row].as_py()) from None
    return out
