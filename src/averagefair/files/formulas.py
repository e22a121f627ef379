r"""Guard text that a spreadsheet would run as a formula, by an apostrophe in CSV.

A spreadsheet that opens a CSV file runs cells that begin with ``=``, ``+``, ``-`` or ``@`` as
formulas, even ``=HYPERLINK(...)`` and ``=cmd|...``. A stranger may have chosen the name in such a
cell. Quotes do not help: they mark where a cell ends, not that it is text. An apostrophe in front
makes the cell text in Excel, LibreOffice and others. It is the only guard that works everywhere and
can be removed again: some programs drop a leading tab, others a leading space, and ``="..."`` is
itself a formula.

So the writer puts an apostrophe before text that begins like a formula, and this package's reader
removes that apostrophe: a table is read back as it was written. Other programs see the apostrophe,
and the writer warns of it. Plain numbers are left alone. Parquet needs no guard.

In many countries a spreadsheet separates cells by semicolons or tabs. Such a spreadsheet splits our
comma-separated file at semicolons, tabs and line ends inside cells, so text after these is guarded
too. Text that already begins with such an apostrophe gets a second one. Otherwise the reader would
remove the original.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from averagefair.errors import extra

# Spreadsheets in East Asia read the full-width signs as formulas.
_SIGN = "[=+\\-@\uff1d\uff0b\uff0d\uff20]"
# \s covers some control characters; spreadsheets skip others too, and zero-width spaces.
_SKIPPED = "['\\s\\x00-\\x20\\x7f-\\xa0\u200b-\u200f\u2060\ufeff]"
_FORMULA = f"(?:{_SKIPPED}*{_SIGN}|'*[\t\r\n])"
_BEGIN = "(?:^|(?<=[;\t\r\n]))"
_GUARD, _GUARDED = re.compile(f"{_BEGIN}(?={_FORMULA})"), re.compile(f"{_BEGIN}'(?={_FORMULA})")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def guard(text: str) -> str:
    r"""Return text that no spreadsheet runs as a formula.

    Examples
    --------
    >>> guard("=1+1"), guard("ann"), guard("-5"), guard("'=1"), guard("a;@b")
    ("'=1+1", 'ann', '-5', "''=1", "a;'@b")
    """
    return text if _NUMBER.fullmatch(text) else _GUARD.sub("'", text)


def unguard(text: str) -> str:
    r"""Undo :func:`guard`.

    Examples
    --------
    >>> unguard("'=1+1"), unguard("'n Abend"), unguard("'-5")
    ('=1+1', "'n Abend", "'-5")
    """
    return text if _NUMBER.fullmatch(text[1:]) else _GUARDED.sub("", text)


def guard_columns(columns: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Guard the names and text of pyarrow columns; also return the number of changed cells."""
    out, changed = {}, 0
    for name, column in columns.items():
        safe, cells = guard(name), _in_text(column, guard, f"{_SIGN}|[\t\r\n]")
        out[safe] = column if cells is None else cells[0]
        changed += (safe != name) + (0 if cells is None else cells[1])
    return out, changed


def unguard_column(column: Any) -> Any:
    """Undo the guards in the text of a pyarrow column."""
    cells = _in_text(column, unguard, "'")
    return column if cells is None else cells[0]


def _in_text(column: Any, change: Callable[[str], str], hint: str) -> tuple[Any, int] | None:
    """Change the text cells of a column and count the changes; None if no cell matches."""
    pa, pc = extra("pyarrow", "files"), extra("pyarrow.compute", "files")
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    if not pc.any(pc.match_substring_regex(column, hint)).as_py():
        return None
    cells = column.to_pylist()
    changed = [cell if cell is None else change(cell) for cell in cells]
    count = sum(old != new for old, new in zip(cells, changed, strict=True))
    return pa.chunked_array([pa.array(changed, column.type)]), count
