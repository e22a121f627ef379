"""Cells of a table: blanks, words for true and false, and numbers."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.errors import extra
from averagefair.people.words import BLANKS, FALSE, TRUE

# Numbers as people write them: 1,000 (but 0,123 is a decimal comma), 0,5, 1.000,5 and 1 000.
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
_DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+")
_GERMAN = re.compile(r"[-+]?\d{1,3}(\.\d{3})+,\d+")
_SPACES = re.compile("[ '\u2019\u00a0\u202f]")
_SPACED = re.compile(rf"[-+]?\d{{1,3}}({_SPACES.pattern}\d{{3}})+(\.\d*)?")


def numbers(column: Any) -> NDArray[np.float64]:
    """Read a pyarrow column as numbers, shape (n,); NaN where blank.

    Raises
    ------
    NotNumbersError
        With the first cell that is not a number.
    """
    pa, pc = extra("pyarrow", "files"), extra("pyarrow.compute", "files")
    stored = column
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        text = pc.utf8_lower(pc.utf8_trim_whitespace(column))
        column = pc.if_else(pc.is_in(text, pa.array(BLANKS, text.type)), None, text)
        for words, digit in ((TRUE, "1"), (FALSE, "0")):
            matches = pc.is_in(column, pa.array(words, text.type))
            column = pc.if_else(matches, pa.scalar(digit, text.type), column)
    whole = pa.types.is_integer(column.type)  # FileTable warns if large ones are rounded
    try:
        cells = pc.cast(column, pa.float64(), safe=not whole)
        return np.asarray(cells.to_numpy(), dtype=np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return _one_by_one(stored, column.to_pylist())


def spelling(text: str) -> str:
    """Return advice on a number with commas or grouped digits; "" for any other text.

    Examples
    --------
    >>> spelling("0,5"), spelling("1,000,000"), spelling("1.000,5")
    ('Write 0.5, with a point', 'Write 1000000, without commas', 'Write 1000.5, with a point')
    >>> spelling("1,000")
    'Write 1000 if the comma groups thousands, 1.000 if it is a decimal comma'
    """
    word = text.strip()
    if _GERMAN.fullmatch(word):
        return f"Write {word.replace('.', '').replace(',', '.')}, with a point"
    if _GROUPED.fullmatch(word):
        plain = word.replace(",", "")
        if "." in word or word.count(",") > 1:
            return f"Write {plain}, without commas"
        point = word.replace(",", ".")
        return f"Write {plain} if the comma groups thousands, {point} if it is a decimal comma"
    if _DECIMAL_COMMA.fullmatch(word):
        return f"Write {word.replace(',', '.')}, with a point"
    if _SPACED.fullmatch(word):
        return f"Write {_SPACES.sub('', word)}, without spaces or apostrophes"
    return ""


class NotNumbersError(ValueError):
    """A cell is not a number; ``row`` and ``value`` are its row and its content."""

    def __init__(self, row: int, value: Any) -> None:
        self.row, self.value = row, value


def _one_by_one(stored: Any, values: list[Any]) -> NDArray[np.float64]:
    """Convert cell by cell; raise at the first one that is not a number."""
    out = np.empty(len(values))
    for row, value in enumerate(values):
        try:
            if isinstance(value, str) and "_" in value:
                raise ValueError  # float() would read 1_000
            out[row] = math.nan if value is None else float(value)
        except (TypeError, ValueError):
            raise NotNumbersError(row, stored[row].as_py()) from None
    return out
