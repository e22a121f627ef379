"""Decisions to be judged, from files: labels, decisions and groups of the same people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.cli.people import as_table, check_streams, ignored_columns, match
from averagefair.errors import InputError, extra, some_of
from averagefair.files.reading import read_file
from averagefair.files.table import FileTable
from averagefair.text import counted


@dataclass(frozen=True, eq=False)
class Judged:
    """Labels and decisions of the same people on the same tasks.

    Attributes
    ----------
    labels, decisions : pyarrow tables, shape (n, m)
    names : array of str, shape (n,)
    id_name : str
        What the names are called.
    groups : pyarrow table, shape (n, attributes), or None
    tables : tuple of FileTable
        The files they came from.
    notes : tuple of str
        How rows were matched, and what was left out.
    """

    labels: Any
    decisions: Any
    names: NDArray[np.str_]
    id_name: str
    groups: Any
    tables: tuple[FileTable, ...]
    notes: tuple[str, ...]


def read_judged(
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
) -> Judged:
    """Read what is to be audited; options as the command has them."""
    if groups is not None and not group_columns:
        raise InputError(
            "--groups is a table; say which of its columns hold groups: --group-columns."
        )
    if common_people and id_column is None:
        raise InputError("--common-people needs to know who is who: give --id.")
    check_streams(labels, decisions, groups)
    right, made = read_file(labels).by(id_column), read_file(decisions).by(id_column)
    tables = [right, made]
    notes = [] if id_column else ["no --id was given: row 1 was held against row 1, and so on."]
    if common_people:
        right, made, left = _common(right, made)
        notes += left
    by = right if groups is None else read_file(groups).by(id_column)
    attributes = by.select(group_columns, "--group-columns") if group_columns else []
    names = _tasks(right, made, tasks, ignore, attributes)
    rows = match(right, made, remedy="Leave them out with --common-people")
    known, decided = right.labels(names), made.decisions(names)[rows]
    gaps = ~np.isnan(known) & np.isnan(decided)
    if gaps.any() and not skip_undecided:
        row, place = (int(one) for one in np.argwhere(gaps)[0])
        right.refuse(
            row,
            names[place],
            f"has a label, but {made.source} has no decision there "
            f"({counted(int(gaps.sum()), 'such cell')}). Fill them in, or leave "
            "such cells out with --skip-undecided",
        )
    if gaps.any():
        known[gaps] = np.nan
        cells = counted(int(gaps.sum()), "cell")
        notes.append(f"left out: {cells} with a label but no decision.")
    return Judged(
        labels=as_table(names, known),
        decisions=as_table(names, decided),
        names=right.names,
        id_name=id_column or "row",
        groups=_groups(right, by, attributes),
        tables=(*tables, by) if groups is not None else tuple(tables),
        notes=tuple(notes),
    )


def _common(right: FileTable, made: FileTable) -> tuple[FileTable, FileTable, list[str]]:
    """Return both tables with only the people in both, and who was left out."""
    assert right.ids is not None
    assert made.ids is not None
    ours, theirs = set(right.ids.tolist()), set(made.ids.tolist())
    if not ours & theirs:
        raise InputError(f"{right.source} and {made.source} have nobody in common.")
    left = [
        f"left out: {counted(len(only), 'person', 'people')} only in {table.source} "
        f"({some_of(sorted(only))})."
        for table, only in ((right, ours - theirs), (made, theirs - ours))
        if only
    ]
    kept = (
        table.take(np.flatnonzero([one in other for one in table.names.tolist()]))
        for table, other in ((right, theirs), (made, ours))
    )
    return (*kept, left)  # type: ignore[return-value]


def _tasks(
    right: FileTable,
    made: FileTable,
    tasks: Sequence[str] | None,
    ignore: Sequence[str] | None,
    attributes: Sequence[str],
) -> list[str]:
    """Return the tasks to audit, which both tables must have."""
    ignored = ignored_columns(ignore, right, made)
    if tasks:
        chosen = [name for name in right.select(tasks, "--tasks") if name not in ignored]
        return _some(made.require(chosen, "--tasks"), right)
    left_out = {*ignored, *attributes}
    names, theirs = (
        [name for name in table.others([]) if name not in left_out] for table in (right, made)
    )
    for one, other, columns in ((right, made, names), (made, right, theirs)):
        missing = [name for name in columns if name not in other.columns]
        if missing:
            hint = "" if right.id_column else "; if one says who a row is, pass it as --id"
            raise InputError(
                f"{one.source} has columns that {other.source} has not: "
                f"{some_of([*map(repr, missing)])}. Choose the tasks with --tasks, or leave such "
                f"columns out with --ignore{hint}."
            )
    return _some(names, right)


def _some(names: list[str], table: FileTable) -> list[str]:
    if not names:
        raise InputError(f"{table.source}: no column is left to be a task.")
    return names


def _groups(right: FileTable, by: FileTable, attributes: Sequence[str]) -> Any:
    if not attributes:
        return None
    rows = match(right, by, more=True)
    words = {name: by.words(name, "--group-columns") for name in attributes}
    columns = {name: [part[row] for row in rows] for name, part in words.items()}
    return extra("pyarrow", "files").table(columns)
