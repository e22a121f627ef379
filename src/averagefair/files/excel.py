"""Read one sheet of an Excel workbook; every cell becomes text, as in a CSV file.

openpyxl reads the sheet row by row. It distinguishes a cell that holds an error from an empty one:
an error is refused by the name of its cell. Formulas are not computed. Their results are read as
the program that saved the file stored them, and a formula without a stored result is refused.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime, time
from difflib import get_close_matches
from io import BytesIO
from itertools import zip_longest
from typing import Any
from zipfile import ZipFile

from averagefair._util.text import digits
from averagefair.errors import InputError, extra, said, some_of

ENDING = ".xlsx"
ZIP, OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How a workbook begins, and how an old workbook or one with a password begins."""
# Rows that are turned into Arrow columns at a time.
_ROWS = 5_000
# A workbook that expands to more bytes than this may be at most this many times as long as its file
# (a usual one is 10 to 30 times as long).
_LARGE, _RATIO = 1 << 28, 200
_FORMULA = re.compile(rb"<(?:\w+:)?f[ >/]")
_SHEET = re.compile(r"(.+\.xls[xm])#(.+)", re.IGNORECASE | re.DOTALL)


def split_sheet(path: str) -> tuple[str, str | None]:
    """Return the file and the sheet that a name means; no sheet unless it is named after a "#".

    Examples
    --------
    >>> split_sheet("people.xlsx#North"), split_sheet("people.xlsx"), split_sheet("a#b.csv")
    (('people.xlsx', 'North'), ('people.xlsx', None), ('a#b.csv', None))
    """
    found = _SHEET.fullmatch(path)
    return (path, None) if found is None or os.path.exists(path) else (found[1], found[2])


def read_sheet(data: bytes, source: str, sheet: str | None = None) -> tuple[list[str], list[Any]]:
    """Return the head of a sheet and its columns below, pyarrow text; None where empty.

    Parameters
    ----------
    data : bytes
        The content of the file.
    source : str
        The file's name in messages.
    sheet : str, optional
        The name of the sheet. Default: the first one.
    """
    openpyxl = extra("openpyxl", "excel")
    has_formulas = _check_archive(data, source)

    def book(results: bool) -> Any:
        return closing(openpyxl.load_workbook(BytesIO(data), read_only=True, data_only=results))

    try:
        with warnings.catch_warnings(), book(results=True) as values:
            warnings.simplefilter("ignore")  # about styles and other parts that are not read
            found = _choose(values, source, sheet)
            if not has_formulas:
                return _columns(_rows(found, None, source), found.title, source)
            with book(results=False) as formulas:
                rows = _rows(found, _choose(formulas, source, sheet), source)
                return _columns(rows, found.title, source)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # a foreign file may raise anything
        raise InputError(f"{source} is not a whole Excel workbook: {said(error)}.") from None


def _check_archive(data: bytes, source: str) -> bool:
    """Refuse what is no workbook, or expands too far; return whether sheets have formulas."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            parts = {part.filename: part.file_size for part in archive.infolist()}
            if "xl/workbook.xml" not in parts:
                raise InputError(
                    f"{source} is an archive, but not an Excel workbook ({ENDING}). Save the table "
                    "as CSV, Excel or Parquet."
                )
            size = sum(parts.values())
            if size > max(_LARGE, _RATIO * len(data)):
                raise InputError(
                    f"{source} would expand to {size / 2**20:,.0f} MB, {_RATIO} times its length "
                    "and more. Save the table as CSV."
                )
            sheets = [name for name in parts if name.startswith("xl/worksheets/")]
            return any(_mentions_formulas(archive, name) for name in sheets)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # a foreign file may raise anything
        raise InputError(f"{source} is not a whole Excel workbook: {said(error)}.") from None


def _mentions_formulas(archive: ZipFile, name: str) -> bool:
    end = b""
    with archive.open(name) as part:
        while block := part.read(1 << 20):
            if _FORMULA.search(end + block):
                return True
            end = block[-64:]
    return False


def _choose(book: Any, source: str, sheet: str | None) -> Any:
    """Return the sheet of this name, or the first one."""
    sheets = {own.title: own for own in book.worksheets}
    if not sheets:
        raise InputError(f"{source} has no sheet with cells.")
    if sheet is None:
        return next(iter(sheets.values()))
    same = [title for title in sheets if title.lower() == sheet.lower()]
    if not same:
        near = get_close_matches(sheet, list(sheets), 1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise InputError(
            f"{source}: there is no sheet {sheet!r}.{meant} The sheets: "
            f"{some_of([*map(repr, sheets)])}."
        )
    return sheets[sheet if sheet in sheets else same[0]]


def _rows(values: Any, formulas: Any, source: str) -> Iterator[list[str | None]]:
    """Yield the rows of a sheet as text; refuse errors and formulas without a result."""
    values.reset_dimensions()  # some programs write wrong ones
    if formulas is None:
        for cells in values.iter_rows():
            yield [_cell(cell, values.title, source) for cell in cells]
        return
    formulas.reset_dimensions()
    for cells, written in zip(values.iter_rows(), formulas.iter_rows(), strict=True):
        for cell, formula in zip(cells, written, strict=True):
            computed = cell.value is not None or cell.data_type != "n"
            if formula.data_type == "f" and not computed:
                raise InputError(
                    f"{source}: cell {cell.coordinate} of sheet {values.title!r} holds a formula "
                    "without a result. Open the file in a spreadsheet program and save it."
                )
        yield [_cell(cell, values.title, source) for cell in cells]


def _cell(cell: Any, title: str, source: str) -> str | None:
    """Return a cell as text; refuse an error."""
    value = cell.value
    if type(value) is float:  # most cells: every cell costs time
        return digits(value)
    if cell.data_type == "e":
        raise InputError(
            f"{source}: cell {cell.coordinate} of sheet {title!r} holds the error {value}. Correct "
            "its formula, or clear the cell."
        )
    return _text(value)


def _text(value: Any) -> str | None:
    """Write a cell as it would stand in a CSV file.

    Examples
    --------
    >>> _text(7.0), _text(0.1), _text(True), _text(datetime(2026, 5, 31)), _text(None)
    ('7', '0.1', 'true', '2026-05-31', None)
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return digits(value)
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    return value.isoformat() if isinstance(value, date | time) else str(value)


def _columns(
    rows: Iterator[list[str | None]], title: str, source: str
) -> tuple[list[str], list[Any]]:
    """Return the head and the columns below it. Empty rows above and at the end do not count."""
    pa = extra("pyarrow", "files")
    head: list[str | None] | None = None
    blocks: list[list[Any]] = []
    block: list[list[str | None]] = []
    empty = 0
    for row in rows:
        if not any(cell is not None and cell.strip() for cell in row):
            empty += head is not None
            continue
        if head is None:
            head = row
            continue
        block += [[]] * empty
        empty = 0
        block.append(row)
        if len(block) >= _ROWS:
            blocks.append(_transposed(block))
            block = []
    if head is None:
        raise InputError(
            f"{source}: sheet {title!r} is empty. Name another sheet, e.g. "
            f"people{ENDING}#Sheet2, or give a table with a head and rows."
        )
    blocks.append(_transposed(block))
    width = max(len(head), *(len(own) for own in blocks))
    columns = [
        pa.chunked_array(
            [
                own[column] if column < len(own) else pa.nulls(_height(own), pa.string())
                for own in blocks
            ],
            pa.string(),
        )
        for column in range(width)
    ]
    names = [name or "" for name in head] + [""] * (width - len(head))
    return names, columns


def _transposed(rows: list[list[str | None]]) -> list[Any]:
    """Return rows of any length as columns, pyarrow text."""
    pa = extra("pyarrow", "files")
    return [pa.array(column, pa.string()) for column in zip_longest(*rows)]


def _height(columns: list[Any]) -> int:
    return len(columns[0]) if columns else 0
