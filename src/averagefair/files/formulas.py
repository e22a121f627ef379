r"""Names that a spreadsheet would take for formulas, guarded in CSV by an apostrophe.

Whoever opens a CSV file in a spreadsheet has cells that begin with ``=``, ``+``, ``-`` or ``@``
worked out, ``=HYPERLINK(...)`` and ``=cmd|...`` too, and somebody else may have chosen the name in
that cell. Quotes do not help: they say where a cell ends, not what it is. An apostrophe in front
does, in Excel, LibreOffice and the others: such a cell is text. Nothing else both works everywhere
and can be taken back: a tab in front is dropped by some, a space is dropped by others, and
``="..."`` is itself a formula.

So the writer puts an apostrophe before text that begins like a formula, and the reader of this
package takes away just that apostrophe: a table that comes back is the table that went out.
Programs that know nothing of it see the apostrophe, of which the writer warns. What is a plain
number is left alone. Parquet needs none of this.

Where a spreadsheet separates cells by semicolons or tabs, as it does in many countries, a table
with commas is torn apart at the semicolons, tabs and line ends within its cells: what follows
those is guarded too. Text that has the apostrophe already gets a second one, or it would lose its
own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from averagefair.errors import extra

# The full-width signs are formulas to spreadsheets in East Asia.
_SIGN = "[=+\\-@\uff1d\uff0b\uff0d\uff20]"
# \s knows some of the control characters; spreadsheets drop others too, and spaces of no width.
_SKIPPED = "['\\s\\x00-\\x20\\x7f-\\xa0\u200b-\u200f\u2060\ufeff]"
_FORMULA = f"(?:{_SKIPPED}*{_SIGN}|'*[\t\r\n])"
_BEGIN = "(?:^|(?<=[;\t\r\n]))"
_GUARD, _GUARDED = re.compile(f"{_BEGIN}(?={_FORMULA})"), re.compile(f"{_BEGIN}'(?={_FORMULA})")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def guard(text: str) -> str:
    r"""Return text that no spreadsheet takes for a formula.

    Examples
    --------
    >>> guard("=1+1"), guard("ann"), guard("-5"), guard("'=1"), guard("a;@b")
    ("'=1+1", 'ann', '-5', "''=1", "a;'@b")
    """
    return text if _NUMBER.fullmatch(text) else _GUARD.sub("'", text)


def unguard(text: str) -> str:
    r"""Take back what :func:`guard` did.

    Examples
    --------
    >>> unguard("'=1+1"), unguard("'n Abend"), unguard("'-5")
    ('=1+1', "'n Abend", "'-5")
    """
    return text if _NUMBER.fullmatch(text[1:]) else _GUARDED.sub("", text)


def guard_columns(columns: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Guard the names and the text of pyarrow columns; also return how many cells that changed."""
    out, changed = {}, 0
    for name, column in columns.items():
        safe, cells = guard(name), _in_text(column, guard, f"{_SIGN}|[\t\r\n]")
        out[safe] = column if cells is None else cells[0]
        changed += (safe != name) + (0 if cells is None else cells[1])
    return out, changed


def unguard_column(column: Any) -> Any:
    """Take back what was done to the text of a pyarrow column."""
    cells = _in_text(column, unguard, "'")
    return column if cells is None else cells[0]


def _in_text(column: Any, change: Callable[[str], str], hint: str) -> tuple[Any, int] | None:
    """Change the text of a column, and count the cells; None where no cell matches the hint."""
    pa, pc = extra("pyarrow", "files"), extra("pyarrow.compute", "files")
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    if not pc.any(pc.match_substring_regex(column, hint)).as_py():
        return None
    cells = column.to_pylist()
    changed = [cell if cell is None else change(cell) for cell in cells]
    count = sum(one != other for one, other in zip(cells, changed, strict=True))
    return pa.chunked_array([pa.array(changed, column.type)]), count
