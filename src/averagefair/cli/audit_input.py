"""The input of ``audit``: labels, decisions and groups of the same people, from files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from averagefair._util.names import NamesPeople
from averagefair._util.text import counted
from averagefair.cli.joining import (
    check_streams,
    columns_of_groups,
    ignored_columns,
    match,
)
from averagefair.errors import InputError, some_of
from averagefair.files.positive import check_positive
from averagefair.files.reading import read_file
from averagefair.files.table import FileTable
from averagefair.people.frames import Table


@dataclass(frozen=True, eq=False)
class AuditInput:
    """Labels and decisions of the same people on the same tasks.

    Attributes
    ----------
    labels, decisions : Table, shape (n, m)
    names : array of str, shape (n,)
    id_name : str
        The name of the id column; "row" without one.
    groups : Table of words, shape (n, attributes), or None
    files : tuple of FileTable
        The files that were read.
    notes : tuple of str
        How rows were matched, and what was left out.
    """

    labels: Table
    decisions: Table
    names: NDArray[np.str_]
    id_name: str
    groups: Table | None
    files: tuple[FileTable, ...]
    notes: tuple[str, ...]


def read_audit_input(
    labels: str,
    decisions: str,
    *,
    id_column: str | None,
    tasks: Sequence[str] | None,
    ignore: Sequence[str] | None,
    groups: str | None,
    group_columns: Sequence[str] | None,
    common_people: bool,
    skip_undecided: bool,
    positive: Sequence[str] | None = None,
) -> AuditInput:
    """Read the tables of an audit; parameters as the command's options."""
    if common_people and id_column is None:
        raise InputError("--common-people needs --id: name the column that says who a row is.")
    check_streams(labels, decisions, groups)
    right, made = read_file(labels).by(id_column), read_file(decisions).by(id_column)
    files = [right, made]
    notes = [] if id_column else ["no --id was given: the tables were matched row by row."]
    if common_people:
        right, made, left_out = _common(right, made)
        notes += left_out
    grouped = right if groups is None else read_file(groups).by(id_column)
    attributes = (
        [] if groups is None and not group_columns else columns_of_groups(grouped, group_columns)
    )
    names = _tasks(right, made, tasks, ignore, attributes)
    rows = match(right, made, remedy="Leave them out with --common-people")
    columns = [table.columns[name] for table in (right, made) for name in names]
    words = check_positive(positive or (), columns)
    known, decided = right.labels(names, words), made.decisions(names, words)[rows]
    gaps = ~np.isnan(known) & np.isnan(decided)
    if gaps.any() and not skip_undecided:
        row, column = map(int, np.argwhere(gaps)[0])
        right.refuse(
            row,
            names[column],
            f"has a label, but {made.source} has no decision there "
            f"({counted(int(gaps.sum()), 'such cell')}). Fill them in, or leave them out with "
            "--skip-undecided",
        )
    if gaps.any():
        known[gaps] = np.nan
        cells = counted(int(gaps.sum()), "cell")
        notes.append(f"left out: {cells} with a label but no decision.")
    return AuditInput(
        labels=Table(known, tuple(names), None),
        decisions=Table(decided, tuple(names), None),
        names=right.names,
        id_name=id_column or "row",
        groups=_groups(right, grouped, attributes),
        files=(*files, grouped) if groups is not None else tuple(files),
        notes=tuple(notes),
    )


def _common(right: FileTable, made: FileTable) -> tuple[FileTable, FileTable, list[str]]:
    """Return both tables with only the people in both, and notes on who was left out."""
    assert right.ids is not None
    assert made.ids is not None
    ours, theirs = set(right.ids.tolist()), set(made.ids.tolist())
    if not ours & theirs:
        raise InputError(
            f"{right.source} and {made.source} have nobody in common. Choose another --id column, "
            "or write the ids alike."
        )
    notes = [
        _left_out(only, table.source)
        for table, only in ((right, ours - theirs), (made, theirs - ours))
        if only
    ]
    kept = (
        table.take(np.flatnonzero([person in other for person in table.names.tolist()]))
        for table, other in ((right, theirs), (made, ours))
    )
    return (*kept, notes)  # type: ignore[return-value]


def _left_out(people: set[str], source: str) -> NamesPeople:
    text = f"left out: {counted(len(people), 'person', 'people')} only in {source}"
    return NamesPeople(f"{text} ({some_of(sorted(people))}).", f"{text}.")


def _tasks(
    right: FileTable,
    made: FileTable,
    tasks: Sequence[str] | None,
    ignore: Sequence[str] | None,
    attributes: Sequence[str],
) -> list[str]:
    """Return the tasks to audit; both tables must have them."""
    ignored = ignored_columns(ignore, right, made)
    if tasks:
        chosen = [name for name in right.select(tasks, "--tasks") if name not in ignored]
        return _at_least_one(made.require(chosen, "--tasks"), right)
    left_out = {*ignored, *attributes}
    names, theirs = (
        [name for name in table.others([]) if name not in left_out] for table in (right, made)
    )
    for table, other, columns in ((right, made, names), (made, right, theirs)):
        missing = [name for name in columns if name not in other.columns]
        if missing:
            hint = "" if right.id_column else "; if one says who a row is, pass it as --id"
            raise InputError(
                f"{table.source} has columns that {other.source} lacks: "
                f"{some_of([*map(repr, missing)])}. Choose the tasks with --tasks, or leave "
                f"columns out with --ignore{hint}."
            )
    return _at_least_one(names, right)


def _at_least_one(names: list[str], table: FileTable) -> list[str]:
    if not names:
        raise InputError(
            f"{table.source}: no column is left to be a task. Choose others with --tasks, or "
            "ignore fewer."
        )
    return names


def _groups(right: FileTable, grouped: FileTable, attributes: Sequence[str]) -> Table | None:
    """Return the people's groups in the order of their labels; None where blank."""
    if not attributes:
        return None
    rows = match(right, grouped, more=True)
    cells = np.empty((len(rows), len(attributes)), dtype=object)
    for column, name in enumerate(attributes):
        words = grouped.words(name, "--group-columns")
        cells[:, column] = [words[row] for row in rows]
    return Table(cells, tuple(attributes), None)
