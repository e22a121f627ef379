"""Match the rows of two tables, by id or in their order, and choose columns in both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from averagefair._util.text import counted
from averagefair.errors import InputError, extra, some_of
from averagefair.files.reading import STREAM
from averagefair.files.table import FileTable

REMEDY = "Remove them, or add them to the other table"


def check_streams(*paths: str | None) -> None:
    """Refuse to read two tables from standard input."""
    if sum(path == STREAM for path in paths) > 1:
        raise InputError("standard input (-) can hold only one table. Name files for the others.")


def ignored_columns(patterns: Sequence[str] | None, *tables: FileTable) -> set[str]:
    """Return the columns to leave out; each pattern must match in at least one table."""
    ignored: set[str] = set()
    for pattern in patterns or []:
        matching = {name for table in tables for name in table.matching(pattern)}
        ignored |= matching or set(tables[0].select([pattern], "--ignore"))
    return ignored


def match(
    first: FileTable, second: FileTable, *, more: bool = False, remedy: str = REMEDY
) -> NDArray[np.intp]:
    """Return each person's row in the second table: found by id, or else by order.

    Parameters
    ----------
    first, second : FileTable
    more : bool, default False
        Whether the second table may list other people too.
    remedy : str
        What to do about people who are in only one table.
    """
    if first is second:
        return np.arange(len(first))
    if first.ids is None or second.ids is None:
        _check_order(first, second)
        return np.arange(len(first))
    ours, theirs = first.ids.tolist(), second.ids.tolist()
    row_of = {person: row for row, person in enumerate(theirs)}
    known = set(ours)
    missing = [person for person in ours if person not in row_of]
    surplus = [] if more else [person for person in theirs if person not in known]
    if missing or surplus:
        _refuse_others(first, second, missing, surplus, remedy)
    return np.array([row_of[person] for person in ours], dtype=np.intp)


def _check_order(first: FileTable, second: FileTable) -> None:
    """Refuse tables without ids whose rows cannot be the same people in the same order."""
    remedy = "without an id they must list the same people in the same order. Join them with --id"
    if len(first) != len(second):
        raise InputError(
            f"{first.source} has {counted(len(first), 'row')} and {second.source} has "
            f"{len(second):,}; {remedy}."
        )
    distinct = extra("pyarrow.compute", "files").count_distinct
    for name in first.others([]):
        if name in second.columns and distinct(first.columns[name]).as_py() == len(first) > 1:
            ours, theirs = first.words(name, ""), second.words(name, "")
            if ours != theirs and set(ours) == set(theirs):
                raise InputError(
                    f"{first.source} and {second.source} have the same cells in column {name!r}, "
                    f"in another order; {remedy} {name}."
                )


def _refuse_others(
    first: FileTable, second: FileTable, missing: list[str], surplus: list[str], remedy: str
) -> None:
    """Refuse tables with different people; name the first person who is in only one table."""
    differences = [
        f"{len(names):,} only in {table.source}: {some_of(names)}"
        for table, names in ((first, missing), (second, surplus))
        if names
    ]
    hint = ""
    if {name.lstrip("0") for name in missing} & {name.lstrip("0") for name in surplus}:
        hint = " Some ids differ only by leading zeroes, which spreadsheets drop."
    table, names = (first, missing) if missing else (second, surplus)
    assert table.ids is not None
    row = table.ids.tolist().index(names[0])
    table.refuse(
        row,
        str(table.id_column),
        f"{first.source} and {second.source} must list the same people; "
        f"{'; '.join(differences)}.{hint} {remedy}",
    )


def columns_of_groups(table: FileTable, columns: Sequence[str] | None) -> list[str]:
    """Return the columns that hold groups: those that were named, else all."""
    if columns:
        return list(table.select(columns, "--group-columns"))
    chosen = table.others([])
    if not chosen:
        raise InputError(
            f"{table.source}: there is no column beside the id, so nobody has a group."
        )
    return chosen
