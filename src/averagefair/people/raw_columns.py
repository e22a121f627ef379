"""Columns of a table before they are encoded: numbers, dates, text or categories.

A table from a CSV file has text in every column, while a DataFrame has types. Both are read into
the same columns, so that a model encodes both in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from numbers import Number
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair._util.text import digits
from averagefair.errors import InputError
from averagefair.people.backends import is_foreign
from averagefair.people.dask import is_dask
from averagefair.people.frames import check_name_types, is_missing
from averagefair.people.words import BLANKS, FALSE, TRUE

NUMBER, DATE, WORDS = "number", "date", "words"
TEXT, EMPTY = "text", "blank"
_PLURAL = {NUMBER: "numbers", DATE: "dates", WORDS: "words"}
_EPOCH, _DAY = datetime(1970, 1, 1, tzinfo=UTC), 86_400.0
_ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
)
_OTHER_DATE = re.compile(r"\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d{2})|\d{4}([./])\d{1,2}\2\d{1,2}")


LEAVE_OUT = "Leave the column out"


class EncodingError(InputError):
    """A column cannot be encoded.

    Parameters
    ----------
    column : str
    what : str
        What is wrong.
    remedy : str
    row : int, optional
        The row of the cell. Default: the whole column is wrong.
    code : str
        More advice, for users of Python.
    """

    def __init__(
        self, column: str, what: str, remedy: str, row: int | None = None, code: str = ""
    ) -> None:
        where = "" if row is None else f"row {row}, "
        super().__init__(f"X: {where}column {column!r}: {what}. {remedy}{code}.")
        self.column, self.what, self.remedy, self.row = column, what, remedy, row


@dataclass(frozen=True, eq=False)
class RawTable:
    """The columns of a table as they were given.

    Attributes
    ----------
    columns : dict of str to column
        Columns without names are called x0, x1, ...
    rows : int
    named : bool
        Whether the columns have names.
    row_names : array, or None
    """

    columns: dict[str, Any]
    rows: int
    named: bool
    row_names: NDArray[Any] | None

    @classmethod
    def read(cls, X: Any) -> RawTable:
        """Read a DataFrame of any library, or a NumPy array."""
        if is_dask(X) or is_foreign(X) or hasattr(X, "collect"):
            raise InputError(
                "words, dates and blanks can be encoded in DataFrames and NumPy arrays in memory; "
                f"X is {type(X).__module__}.{type(X).__name__}. Convert it first, e.g. by "
                "X.compute() or X.collect()."
            )
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            check_name_types(X)
            columns = [(str(column.name), column) for column in frame.iter_columns()]
            index = nw.maybe_get_index(frame)
            if len(dict(columns)) < len(columns):
                raise InputError("X's columns must have distinct names. Rename one of them.")
            names = None if index is None else np.asarray(index)
            return cls(dict(columns), len(frame), True, names)
        cells = np.asarray(X if hasattr(X, "dtype") else np.array(X, dtype=object))
        if cells.ndim != 2:
            raise InputError(f"X must be a table, rows x columns; got shape {cells.shape}.")
        columns = [(f"x{number}", column) for number, column in enumerate(cells.T)]
        return cls(dict(columns), len(cells), False, None)


@dataclass(frozen=True, eq=False)
class RawColumn:
    """The cells of a column.

    Attributes
    ----------
    name : str
    kind : {"number", "date", "text", "words", "blank"}
        Text may hold numbers, dates or words. "words" is a categorical column.
    numbers : array, or None
        Numbers, or days since 1970; NaN where blank.
    text : list of str or None, or None
        Without spaces around words; None where blank.
    """

    name: str
    kind: str
    numbers: FloatArray | None = None
    text: list[str | None] | None = None

    @classmethod
    def read(cls, name: str, column: Any) -> RawColumn:
        """Read a column of any type."""
        if not isinstance(column, nw.Series):
            return _of_array(name, column)
        dtype = column.dtype
        if dtype.is_numeric() or dtype == nw.Boolean:
            return _of_numbers(name, NUMBER, _floats(column))
        if dtype == nw.Datetime or dtype == nw.Date:
            return _of_numbers(name, DATE, _floats(column.dt.timestamp("us")) / (_DAY * 1e6))
        if dtype == nw.Categorical or dtype == nw.Enum:
            cells = [None if is_missing(cell) else _category(cell) for cell in column.to_list()]
            return cls(name, WORDS, text=_stripped(cells))
        return _of_values(name, column.to_list())

    def kind_to_encode(self, most: int) -> str:
        """Return "number", "date" or "words"; refuse text that is mostly numbers or dates.

        Parameters
        ----------
        most : int
            With at most this many different words, numbers among words are words too.
        """
        if self.kind != TEXT:
            return NUMBER if self.kind == EMPTY else self.kind
        assert self.text is not None
        words = {word for word in self.text if word is not None}
        for kind, read in READERS.items():
            odd = {word for word in words if read(word) is None}
            if not odd:
                return kind
            if 2 * len(odd) < len(words) and (kind == DATE or len(words) > most):
                row = next(row for row, word in enumerate(self.text) if word in odd)
                raise EncodingError(
                    self.name,
                    f"holds {self.text[row]!r}, but most of its values are {_PLURAL[kind]}",
                    "Correct the cell, or leave it blank if it is unknown",
                    row,
                )
        if all(_OTHER_DATE.fullmatch(word) for word in words):
            raise EncodingError(
                self.name,
                f"seems to hold dates, such as {min(words)!r}",
                "Write dates as 2026-05-31",
            )
        return WORDS

    def as_words(self) -> list[str | None]:
        """Return the cells as words; refuse numbers and dates."""
        if self.text is None:
            raise EncodingError(
                self.name,
                f"holds {_PLURAL[self.kind]}, but in the training table it held words",
                "Convert it to text",
                code=f": X[{self.name!r}].astype(str)",
            )
        return self.text

    def as_numbers(self, kind: str) -> FloatArray:
        """Return the cells as numbers or as days; refuse another kind.

        Parameters
        ----------
        kind : {"number", "date"}
        """
        numbers = self.numbers
        if self.kind not in (kind, EMPTY):
            if self.text is None:
                raise EncodingError(
                    self.name,
                    f"holds {_PLURAL[self.kind]}, but in the training table it held "
                    f"{_PLURAL[kind]}",
                    f"Convert it to {_PLURAL[kind]}",
                )
            numbers = self._parsed(self.text, kind)
        assert numbers is not None
        if np.isinf(numbers).any():
            row = int(np.flatnonzero(np.isinf(numbers))[0])
            raise EncodingError(
                self.name, "is infinite", "A feature must be a finite number or blank", row
            )
        return numbers

    def _parsed(self, text: Sequence[str | None], kind: str) -> FloatArray:
        read = READERS[kind]
        values = {word: np.nan if word is None else read(word) for word in set(text)}
        if None in values.values():
            row = next(row for row, word in enumerate(text) if values[word] is None)
            rule = {NUMBER: "numbers", DATE: "dates such as 2026-05-31"}[kind]
            raise EncodingError(
                self.name,
                f"holds {text[row]!r}, but in the training table it held {rule}",
                "Correct the cell, or leave it blank if it is unknown",
                row,
            )
        return np.array([values[word] for word in text], dtype=np.float64)


def _of_numbers(name: str, kind: str, cells: FloatArray) -> RawColumn:
    """Return a column of numbers or days; a column of blanks may have any type."""
    if np.isnan(cells).all():
        return RawColumn(name, EMPTY, cells, [None] * len(cells))
    return RawColumn(name, kind, cells)


def _floats(column: Any) -> FloatArray:
    """Return a series of numbers, NaN where blank."""
    return np.array(column.cast(nw.Float64).fill_null(float("nan")).to_numpy(), dtype=np.float64)


def _of_array(name: str, column: NDArray[Any]) -> RawColumn:
    """Read a column of an array."""
    if column.dtype.kind in "fiub":
        return _of_numbers(name, NUMBER, column.astype(np.float64))
    return _of_values(name, [*column] if column.dtype.kind == "M" else column.tolist())


def _of_values(name: str, values: list[Any]) -> RawColumn:
    """Read a column of Python objects."""
    kinds = {kind: _kind_of(kind) for kind in {type(value) for value in values}}
    blank = [is_missing(value) for value in values]
    there = {kinds[type(value)] for value, empty in zip(values, blank, strict=True) if not empty}
    if not there:
        return RawColumn(name, EMPTY, np.full(len(values), np.nan), [None] * len(values))
    if len(there) > 1 or "" in there:
        odd = "" if "" in there else TEXT if TEXT in there else DATE
        row = next(
            row for row, value in enumerate(values) if not blank[row] and kinds[type(value)] == odd
        )
        why = "beside cells of other kinds" if odd else "which cannot be encoded"
        raise EncodingError(
            name,
            f"holds {values[row]!r} ({type(values[row]).__name__}), {why}",
            "A column must hold numbers, dates or words",
            row,
            code=f": convert it, e.g. X[{name!r}].astype(str)",
        )
    (kind,) = there
    if kind == TEXT:
        return RawColumn(name, TEXT, text=_stripped(values))
    convert: Callable[[Any], float] = float if kind == NUMBER else _days
    pairs = zip(values, blank, strict=True)
    numbers = [np.nan if empty else convert(value) for value, empty in pairs]
    return RawColumn(name, kind, np.array(numbers, dtype=np.float64))


def _kind_of(kind: type) -> str:
    """Return the kind of a cell's type; "" for types that cannot be encoded."""
    if issubclass(kind, str):
        return TEXT
    if issubclass(kind, complex | np.complexfloating):
        return ""
    if issubclass(kind, Number | np.bool_):
        return NUMBER
    return DATE if issubclass(kind, date | np.datetime64) else ""


def _category(cell: Any) -> str:
    """Write a category as a word; 1 and 1.0 are the same."""
    whole = isinstance(cell, int | float | np.number) and not isinstance(cell, bool)
    return digits(float(cell)) if whole else str(cell)


def _stripped(values: Sequence[Any]) -> list[str | None]:
    """Return text without spaces around it; None where blank."""
    known: dict[Any, str | None] = {}
    for value in set(values):
        text = "" if is_missing(value) else str(value).strip()
        known[value] = None if text.lower() in BLANKS else text
    return [known[value] for value in values]


def _days(value: Any) -> float:
    """Return days since 1970."""
    if isinstance(value, np.datetime64):
        return float((value - np.datetime64(0, "s")) / np.timedelta64(1, "D"))
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return float((value - _EPOCH).total_seconds() / _DAY)


def number_in(text: str) -> float | None:
    """Return the number that text holds, or None.

    Examples
    --------
    >>> number_in("1e3"), number_in("TRUE"), number_in("1_000"), number_in("x")
    (1000.0, 1.0, None, None)
    """
    word = text.lower()
    if word in TRUE or word in FALSE:
        return float(word in TRUE)
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def date_in(text: str) -> float | None:
    """Return the date that text holds, in days since 1970, or None.

    Examples
    --------
    >>> date_in("1970-01-02T12:00"), date_in("2026-02-30"), date_in("31.5.2026")
    (1.5, None, None)
    """
    if not _ISO.fullmatch(text):
        return None
    try:
        return _days(datetime.fromisoformat(text))
    except ValueError:
        return None


READERS: dict[str, Callable[[str], float | None]] = {NUMBER: number_in, DATE: date_in}
