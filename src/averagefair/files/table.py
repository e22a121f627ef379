"""FileTable: a table read from a file; its columns become ids, numbers, labels or words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from averagefair._util.names import in_a_line
from averagefair._util.text import counted, digits
from averagefair.errors import InputError, some_of, warn
from averagefair.files.cells import NotNumbersError, numbers, spelling
from averagefair.files.positive import advice, read_positive
from averagefair.people.draws import id_text
from averagefair.people.frames import MOST_EXACT, ROUNDED, is_missing
from averagefair.people.words import BLANKS

# pandas stores a table's row names in a Parquet column of this name; it is not data.
_INDEX = re.compile(r"__index_level_\d+__")
_WHOLE = re.compile(r"[-+]?\d+")


def _rounded(cell: Any, number: float) -> bool:
    """Return whether a whole number was rounded when it was read."""
    if isinstance(cell, str):
        cell = int(cell) if _WHOLE.fullmatch(cell.strip()) and len(cell) < 400 else None
    return isinstance(cell, int) and cell != int(number)


def _filled(cell: Any) -> bool:
    return not is_missing(cell) and (not isinstance(cell, str) or bool(cell.strip()))


@dataclass(frozen=True, eq=False, repr=False)
class FileTable:
    """A table as a file holds it.

    Attributes
    ----------
    source : str
        The file's name in messages.
    columns : mapping of str to pyarrow array
        Text from CSV; from Parquet, the stored type.
    digest : str
        The SHA-256 of the file.
    ids : array of str, shape (n,), or None
        Each person's id; set by :meth:`by`.
    id_column : str, or None
    first : int, or None
        The number of the first row in the file, from 0; None if the table is the whole file.
    dashes : str
        The prefix of option names in messages: "--", or empty if the options are Python arguments.
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
        """The people's names: their ids, else "row 1", "row 2", ..."""
        if self.ids is not None:
            return self.ids
        return np.array([f"row {row + 1}" for row in range(len(self))])

    def by(self, column: str | None) -> FileTable:
        """Return the table with ids from this column; each person must have one row."""
        if column is None:
            return self
        rows = len(self)
        self.require([column], self.option("id"))
        columns = self.columns.values()
        while rows and not any(_filled(cells[rows - 1].as_py()) for cells in columns):
            rows -= 1  # spreadsheets leave empty rows at the end
        if rows < len(self):
            return self.take(np.arange(rows)).by(column)
        ids = self.ids_in(column)
        first: dict[str, int] = {}
        for row, person in enumerate(ids.tolist()):
            if first.setdefault(person, row) != row:
                self.refuse_twin(row, column, person, (self.first or 0) + first[person])
        return replace(self, ids=ids, id_column=column)

    def refuse_twin(self, row: int, column: str, person: str, first: int) -> NoReturn:
        """Refuse an id that an earlier row has too; ``first`` is that row in the file, from 0."""
        self.refuse(
            row,
            column,
            f"the id {person!r} is already in row {first + 1}; each person must have one row. "
            "Remove or rename one of them",
        )

    def ids_in(self, column: str) -> NDArray[np.str_]:
        """Return a column as ids, shape (n,); blanks are refused, repeated ids are not."""
        values = self.values(column, self.option("id"))
        for row, value in enumerate(values):
            if is_missing(value) or value == "":
                self.refuse(row, column, "the id is blank; every row needs the id of its person")
            if isinstance(value, str) and "\x00" in value:
                self.refuse(row, column, f"an id must not hold the character NUL; got {value!r}")
            if isinstance(value, list | dict | bytes):
                self.refuse(row, column, f"an id must be a word or a number; got {value!r}")
        cells = np.empty(len(values), dtype=object)
        cells[:] = values
        return id_text(cells)

    def option(self, name: str) -> str:
        """Return an option's name as messages show it."""
        return f"{self.dashes}{name}"

    def take(self, rows: NDArray[np.intp]) -> FileTable:
        """Return some of the rows, in this order."""
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        return replace(self, columns=columns, ids=None if self.ids is None else self.ids[rows])

    def rest(self, skipped: int) -> FileTable:
        """Return all rows after the first ``skipped`` ones."""
        rows = self.take(np.arange(skipped, len(self)))
        return replace(rows, first=(self.first or 0) + skipped)

    def require(self, names: Sequence[str], option: str) -> list[str]:
        """Return exactly these columns, in the given order; refuse a missing one."""
        for name in names:
            if name not in self.columns:
                self._no_column(name, option)
        return list(names)

    def select(self, patterns: Sequence[str], option: str) -> list[str]:
        """Return the columns that match, in the order of the table.

        A pattern that equals a column's name means only that column, even if it holds wildcards.
        Other patterns never match the id column.
        """
        chosen: set[str] = set()
        for pattern in patterns:
            names = self.matching(pattern)
            if not names:
                self._no_column(pattern, option)
            chosen.update(names)
        return [name for name in self.columns if name in chosen]

    def matching(self, pattern: str) -> list[str]:
        """Return the columns that match one pattern."""
        if pattern in self.columns:
            return [pattern]
        return [name for name in self.others([]) if fnmatchcase(name, pattern)]

    def others(self, taken: Sequence[str]) -> list[str]:
        """Return the columns except these, the id column and pandas' row names."""
        known = {*taken, self.id_column}
        return [name for name in self.columns if name not in known and not _INDEX.fullmatch(name)]

    def numbers(
        self, names: Sequence[str], *, blanks: bool = False, encode: bool = False
    ) -> NDArray[np.float64]:
        """Return columns of finite numbers, shape (n, names); with ``blanks``, NaN where blank.

        With ``encode``, errors name the option --encode.
        """
        how = "Encode words as numbers"
        remedy = f"{'Add --encode' if encode else how}, or leave the column out"
        out = self._numbers(names, "a feature must be a number", lambda _: remedy)
        wrong = np.isinf(out) if blanks else ~np.isfinite(out)
        if wrong.any():
            row, column = map(int, np.argwhere(wrong)[0])
            given = self.columns[names[column]][row].as_py()
            affected = [repr(names[k]) for k in np.flatnonzero(wrong.any(axis=0)).tolist()]
            self.refuse(
                row,
                names[column],
                f"holds {given!r}, but a feature must be a finite number "
                f"({counted(int(wrong.sum()), 'such cell')}{self._among()}, in "
                f"{some_of(affected)}). Fill them in, {'add --encode, ' if encode else ''}or leave "
                "out the columns or the rows",
            )
        self._warn_of_rounding(names, out)
        return out

    def _warn_of_rounding(self, names: Sequence[str], out: NDArray[np.float64]) -> None:
        """Warn of columns with whole numbers that float64 cannot represent."""
        large = np.abs(out) >= MOST_EXACT
        for column in np.flatnonzero(large.any(axis=0)).tolist():
            name, rows = names[column], np.flatnonzero(large[:, column])
            cells, read = self.columns[name].take(rows).to_pylist(), out[rows, column].tolist()
            if any(_rounded(cell, number) for cell, number in zip(cells, read, strict=True)):
                warn(
                    f"{self.source}, column {name!r}: {ROUNDED} If the column says who a row is, "
                    f"pass {self._as_id(name)}; if it is a code, leave it out.",
                    UserWarning,
                )

    def _as_id(self, name: str) -> str:
        """Return how to pass a column as the ids."""
        return f"--id {name}" if self.dashes else f"id={name!r}"

    def labels(self, names: Sequence[str], positive: Sequence[str] = ()) -> NDArray[np.float64]:
        """Return columns of labels, shape (n, names): 0, 1, or NaN where blank.

        If ``positive`` (from ``check_positive``) has words, these are 1 and all others 0.
        """
        return self._between(names, "a label must be 0, 1 or blank", positive, ends_only=True)

    def decisions(self, names: Sequence[str], positive: Sequence[str] = ()) -> NDArray[np.float64]:
        """Return columns of decisions, shape (n, names): from 0 to 1, or NaN where blank.

        Words are read as :meth:`labels` reads them.
        """
        rule = "a decision must be 0, 1, or the chance of deciding 1"
        return self._between(names, rule, positive, ends_only=False)

    def rates(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return columns of rates, shape (n, names): from 0 to 1, or NaN where blank."""
        rule, remedy = "a rate must be a number from 0 to 1, or blank", "Write 25% as 0.25"
        out = self._numbers(names, rule, lambda _: remedy)
        wrong = ~np.isnan(out) & ~((out >= 0) & (out <= 1))
        if wrong.any():
            row, column = map(int, np.argwhere(wrong)[0])
            self.refuse(row, names[column], f"{rule}; got {digits(out[row, column])}. {remedy}")
        if np.isnan(out).all():
            raise InputError(
                f"{self.source}: all rates are blank. Fill in the rates that are known."
            )
        return out

    def words(self, name: str, option: str) -> list[str | None]:
        """Return a column as words; None where blank."""
        cells = self.values(name, option)
        words = ["" if cell is None else str(cell).strip() for cell in cells]
        return [None if word.lower() in BLANKS else word for word in words]

    def values(self, name: str, option: str) -> list[Any]:
        """Return a column's cells unchanged."""
        self.require([name], option)
        try:
            values: list[Any] = self.columns[name].to_pylist()
        except ValueError as error:
            raise InputError(f"{self.source}: column {name!r} is damaged: {error}.") from None
        return values

    def refuse(self, row: int, column: str, what: str) -> NoReturn:
        """Raise an error about one cell; messages count rows from 1, without the head."""
        who = ""
        if self.ids is not None and column != self.id_column:
            who = f" ({in_a_line(self.id_column)} {in_a_line(self.ids[row])})"
        number = (self.first or 0) + row + 1
        raise InputError(f"{self.source}: row {number}{who}, column {column!r}: {what}.")

    def _among(self) -> str:
        if self.first is None:
            return ""
        return f" among rows {self.first + 1} to {self.first + len(self)}"

    def _between(
        self, names: Sequence[str], rule: str, positive: Sequence[str], *, ends_only: bool
    ) -> NDArray[np.float64]:
        chances = not ends_only
        out = (
            self._of_words(names, positive, chances=chances)
            if positive
            else self._numbers(names, rule, self._label_remedy)
        )
        known = np.isnan(out) | (out == 0) | (out == 1)
        if chances:
            known |= (out >= 0) & (out <= 1)
        if not known.all():
            row, column = map(int, np.argwhere(~known)[0])
            how = advice(self.columns[names[column]]) if self.dashes else ""
            text = f"{rule}; got {digits(out[row, column])}"
            self.refuse(row, names[column], f"{text}. {how}" if how else text)
        return out

    def _of_words(
        self, names: Sequence[str], positive: Sequence[str], *, chances: bool
    ) -> NDArray[np.float64]:
        out = np.empty((len(self), len(names)))
        for column, name in enumerate(names):
            try:
                out[:, column] = read_positive(self.columns[name], positive, chances=chances)
            except (ValueError, NotImplementedError) as error:
                raise InputError(f"{self.source}: column {name!r} is damaged: {error}.") from None
        return out

    def _label_remedy(self, name: str) -> str:
        how = advice(self.columns[name]) if self.dashes else ""
        return (
            f"{how or 'Write words as 0 and 1, e.g. no as 0 and yes as 1'}. If the column is not a "
            f"task, choose others ({self.option('tasks')})"
        )

    def _numbers(
        self, names: Sequence[str], rule: str, remedy: Callable[[str], str]
    ) -> NDArray[np.float64]:
        """Return columns of numbers, shape (n, names); a blank is NaN.

        ``remedy`` returns the advice for a column that is not numbers.
        """
        out = np.empty((len(self), len(names)))
        wrong: dict[str, NotNumbersError] = {}
        for column, name in enumerate(names):
            try:
                out[:, column] = numbers(self.columns[name])
            except NotNumbersError as error:
                wrong[name] = error
            except ValueError as error:
                raise InputError(f"{self.source}: column {name!r} is damaged: {error}.") from None
        if not wrong:
            return out
        (name, first), *more = wrong.items()
        text = f"{rule}; got {first.value!r}"
        spelled = spelling(first.value) if isinstance(first.value, str) else ""
        text += f". {spelled}" if spelled else ""
        if more:
            text += f". Other columns are not numbers either: {some_of([repr(n) for n, _ in more])}"
        text += f". {remedy(name)}"
        if self.id_column is None:
            text += f"; if it says who a row is, pass {self._as_id(name)}"
        self.refuse(first.row, name, text)

    def _no_column(self, name: str, option: str) -> NoReturn:
        near = get_close_matches(name, list(self.columns), 1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        if "," in name:
            meant += f" To name several, {'repeat the option' if self.dashes else 'pass a list'}."
        if len(self.columns) == 1:
            meant += " Is the first line the head (the column names)?"
        raise InputError(
            f"{self.source}: no column matches {option} {name!r}.{meant} There are: "
            f"{some_of([*map(repr, self.columns)])}."
        )
