"""A table as it stands in a file, and what can be asked of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from averagefair.errors import InputError, some_of, warn
from averagefair.files.cells import BLANKS, NotNumbersError, numbers, spelling
from averagefair.names import in_a_line
from averagefair.sampling import id_text
from averagefair.tables import MOST_EXACT, ROUNDED, is_missing
from averagefair.text import counted, digits

# pandas keeps a table's row names in a Parquet column of this name: no column of the data.
_INDEX = re.compile(r"__index_level_\d+__")
_WHOLE = re.compile(r"[-+]?\d+")


def _rounded(cell: Any, number: float) -> bool:
    """Tell whether a whole number in a file was read as another one."""
    if isinstance(cell, str):
        cell = int(cell) if _WHOLE.fullmatch(cell.strip()) and len(cell) < 400 else None
    return isinstance(cell, int) and cell != int(number)


def _filled(cell: Any) -> bool:
    return not is_missing(cell) and (not isinstance(cell, str) or bool(cell.strip()))


@dataclass(frozen=True, eq=False, repr=False)
class FileTable:
    """A table as it stands in a file.

    Attributes
    ----------
    source : str
        What the file is called in messages.
    columns : mapping of str to pyarrow array
        Text where it came from CSV, else of the type it was stored with.
    digest : str
        The SHA-256 of the file.
    ids : array of str, shape (n,), or None
        Who each row is, once :meth:`by` has said where that stands.
    id_column : str, or None
    first : int, or None
        Where the rows begin in the file, if they are only some of its rows.
    dashes : str
        What stands before the names of options in messages: nothing where they are arguments.
    """

    source: str
    columns: Mapping[str, Any]
    digest: str = ""
    ids: NDArray[np.str_] | None = None
    id_column: str | None = None
    first: int | None = None
    dashes: str = "--"

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def names(self) -> NDArray[np.str_]:
        """What people are called: their ids, else "row 1", "row 2", ..."""
        if self.ids is not None:
            return self.ids
        return np.array([f"row {place + 1}" for place in range(len(self))])

    def by(self, column: str | None) -> FileTable:
        """Return the table with its rows known by an id column, one row for each person."""
        if column is None:
            return self
        rows = len(self)
        self.require([column], self.option("id"))
        columns = self.columns.values()
        while rows and not any(_filled(one[rows - 1].as_py()) for one in columns):
            rows -= 1  # empty rows at the end, as spreadsheets leave them
        if rows < len(self):
            return self.take(np.arange(rows)).by(column)
        ids = self.ids_in(column)
        first: dict[str, int] = {}
        for row, one in enumerate(ids.tolist()):
            if first.setdefault(one, row) != row:
                self.refuse_twin(row, column, one, (self.first or 0) + first[one])
        return replace(self, ids=ids, id_column=column)

    def refuse_twin(self, row: int, column: str, one: str, first: int) -> NoReturn:
        """Complain of an id that stands in an earlier row of the file, counted from 0, already."""
        self.refuse(
            row,
            column,
            f"the id {one!r} stands in row {first + 1} already; each person must have one row",
        )

    def ids_in(self, column: str) -> NDArray[np.str_]:
        """Return a column as ids, shape (n,); a blank is refused, the same id twice is not."""
        values = self.values(column, self.option("id"))
        for row, value in enumerate(values):
            if is_missing(value) or value == "":
                self.refuse(row, column, "the id is blank; every row must say who it is")
            if isinstance(value, str) and "\x00" in value:
                self.refuse(row, column, f"an id must not hold the character NUL; got {value!r}")
            if isinstance(value, list | dict | bytes):
                self.refuse(row, column, f"an id must be a word or a number; got {value!r}")
        cells = np.empty(len(values), dtype=object)
        cells[:] = values
        return id_text(cells)

    def option(self, name: str) -> str:
        """Return what an option is called in messages."""
        return f"{self.dashes}{name}"

    def take(self, rows: NDArray[np.intp]) -> FileTable:
        """Return some of the rows, in this order."""
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        return replace(self, columns=columns, ids=None if self.ids is None else self.ids[rows])

    def rest(self, skipped: int) -> FileTable:
        """Return the rows but for the first ones, which know where they stand in the file."""
        rows = self.take(np.arange(skipped, len(self)))
        return replace(rows, first=(self.first or 0) + skipped)

    def require(self, names: Sequence[str], option: str) -> list[str]:
        """Return these very columns, in the order given; refuse where one is missing."""
        for name in names:
            if name not in self.columns:
                self._no_column(name, option)
        return list(names)

    def select(self, patterns: Sequence[str], option: str) -> list[str]:
        """Return the columns that match, in the order of the table.

        A pattern that is a column's very name means that column, whatever signs are in it. Other
        patterns never mean the ids.
        """
        chosen: set[str] = set()
        for pattern in patterns:
            found = self.matching(pattern)
            if not found:
                self._no_column(pattern, option)
            chosen.update(found)
        return [name for name in self.columns if name in chosen]

    def matching(self, pattern: str) -> list[str]:
        """Return the columns that match one pattern."""
        if pattern in self.columns:
            return [pattern]
        return [name for name in self.others([]) if fnmatchcase(name, pattern)]

    def others(self, taken: Sequence[str]) -> list[str]:
        """Return the columns that are none of these, nor the ids, nor pandas' row names."""
        known = {*taken, self.id_column}
        return [name for name in self.columns if name not in known and not _INDEX.fullmatch(name)]

    def numbers(self, names: Sequence[str], *, blanks: bool = False) -> NDArray[np.float64]:
        """Return columns of finite numbers, shape (n, names); a blank is refused, or NaN."""
        out = self._numbers(
            names, "a feature must be a number", "Encode words as numbers, or leave the column out"
        )
        wrong = np.isinf(out) if blanks else ~np.isfinite(out)
        if wrong.any():
            row, place = (int(one) for one in np.argwhere(wrong)[0])
            given = self.columns[names[place]][row].as_py()
            in_all = [repr(names[one]) for one in np.flatnonzero(wrong.any(axis=0)).tolist()]
            self.refuse(
                row,
                names[place],
                f"holds {given!r} where a finite number must stand "
                f"({counted(int(wrong.sum()), 'such cell')}{self._among()}, in {some_of(in_all)}). "
                "Fill them, or leave the columns or the rows out",
            )
        self._warn_of_rounding(names, out)
        return out

    def _warn_of_rounding(self, names: Sequence[str], out: NDArray[np.float64]) -> None:
        """Warn of columns with whole numbers that float64 does not hold."""
        large = np.abs(out) >= MOST_EXACT
        for place in np.flatnonzero(large.any(axis=0)).tolist():
            rows = np.flatnonzero(large[:, place])
            cells = self.columns[names[place]].take(rows).to_pylist()
            read = out[rows, place].tolist()
            if any(_rounded(cell, number) for cell, number in zip(cells, read, strict=True)):
                given = self._as_id(names[place])
                warn(
                    f"{self.source}, column {names[place]!r}: {ROUNDED} If it says who a row is, "
                    f"pass {given}; if it is a code, leave it out.",
                    UserWarning,
                )

    def _as_id(self, name: str) -> str:
        """Say how to pass a column as the ids."""
        return f"--id {name}" if self.dashes else f"id={name!r}"

    def labels(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return columns of labels, shape (n, names): 0, 1, or NaN where blank."""
        return self._between(names, "a label must be 0, 1 or blank", ends_only=True)

    def decisions(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return columns of decisions, shape (n, names): within 0 and 1, or NaN where blank."""
        rule = "a decision must be 0, 1, or the chance of deciding 1"
        return self._between(names, rule, ends_only=False)

    def words(self, name: str, option: str) -> list[str | None]:
        """Return a column as words; None where blank."""
        text = [None if one is None else str(one).strip() for one in self.values(name, option)]
        return [None if one is None or one.lower() in BLANKS else one for one in text]

    def values(self, name: str, option: str) -> list[Any]:
        """Return a column's cells as they stand."""
        self.require([name], option)
        try:
            values: list[Any] = self.columns[name].to_pylist()
        except ValueError as error:
            raise InputError(f"{self.source}: column {name!r} is damaged: {error}.") from None
        return values

    def refuse(self, row: int, column: str, what: str) -> NoReturn:
        """Complain of one cell; rows are counted from 1, the head apart."""
        who = ""
        if self.ids is not None and column != self.id_column:
            who = f" ({in_a_line(self.id_column)} {in_a_line(self.ids[row])})"
        place = (self.first or 0) + row + 1
        raise InputError(f"{self.source}: row {place}{who}, column {column!r}: {what}.")

    def _among(self) -> str:
        if self.first is None:
            return ""
        return f" among rows {self.first + 1} to {self.first + len(self)}"

    def _between(self, names: Sequence[str], rule: str, *, ends_only: bool) -> NDArray[np.float64]:
        remedy = (
            "Write labels in words as 0 and 1, e.g. no as 0 and yes as 1. If the column is no "
            f"task, choose others ({self.option('tasks')})"
        )
        out = self._numbers(names, rule, remedy)
        known = np.isnan(out) | (out == 0) | (out == 1)
        if not ends_only:
            known |= (out >= 0) & (out <= 1)
        if not known.all():
            row, place = (int(one) for one in np.argwhere(~known)[0])
            self.refuse(row, names[place], f"{rule}; got {digits(out[row, place])}")
        return out

    def _numbers(self, names: Sequence[str], rule: str, remedy: str) -> NDArray[np.float64]:
        """Return columns of numbers, shape (n, names); a blank is NaN."""
        out = np.empty((len(self), len(names)))
        wrong: dict[str, NotNumbersError] = {}
        for place, name in enumerate(names):
            try:
                out[:, place] = numbers(self.columns[name])
            except NotNumbersError as error:
                wrong[name] = error
            except ValueError as error:
                raise InputError(f"{self.source}: column {name!r} is damaged: {error}.") from None
        if not wrong:
            return out
        (name, first), *more = wrong.items()
        text = f"{rule}; got {first.value!r}"
        advice = spelling(first.value) if isinstance(first.value, str) else ""
        text += f". {advice}" if advice else ""
        if more:
            text += f". Other columns hold no numbers either: {some_of([repr(n) for n, _ in more])}"
        text += f". {remedy}"
        if self.id_column is None:
            text += f"; if it says who a row is, pass {self._as_id(name)}"
        self.refuse(first.row, name, text)

    def _no_column(self, name: str, option: str) -> NoReturn:
        near = get_close_matches(name, list(self.columns), 1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        if "," in name:
            meant += f" To name several, {'repeat the option' if self.dashes else 'pass a list'}."
        if len(self.columns) == 1:
            meant += " Is the first line the head?"
        raise InputError(
            f"{self.source}: no column matches {option} {name!r}.{meant} There are: "
            f"{some_of([*map(repr, self.columns)])}."
        )
