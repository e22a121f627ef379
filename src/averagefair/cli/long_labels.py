"""Labels as a long table: a row for each person and task becomes a column for each task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from averagefair._util.text import counted
from averagefair.errors import InputError, extra, some_of
from averagefair.files.excel import split_sheet
from averagefair.files.reading import STREAM, check_path
from averagefair.files.table import FileTable


@dataclass(frozen=True)
class LongColumns:
    """The columns of a long table of labels.

    Attributes
    ----------
    person, task, label : str
    """

    person: str
    task: str
    label: str


def long_columns(long: bool, labels: str | None, **columns: str | None) -> LongColumns | None:
    """Return the columns that the options name; None without ``--long``.

    Parameters
    ----------
    long : bool
    labels : str, or None
        The table of ``--labels``.
    **columns : str, or None
        person, task and label.
    """
    example = "--labels events.parquet --long --person id --task school --label hired"
    if not long:
        named = [name for name, column in columns.items() if column is not None]
        if named:
            raise InputError(
                f"--{named[0]} is for a long table of labels: add --long, e.g. {example}."
            )
        return None
    if labels is None:
        raise InputError(f"--long needs the table of labels, e.g. {example}.")
    missing = [f"--{name}" for name, column in columns.items() if column is None]
    if missing:
        raise InputError(f"--long needs {some_of(missing)}: name the column, e.g. {example}.")
    return LongColumns(**columns)  # type: ignore[arg-type]


def read_long(
    people: FileTable, path: str, columns: LongColumns, positive: Sequence[str]
) -> tuple[FileTable, FileTable, tuple[str, ...]]:
    """Return the people with labels, their labels with a column for each task, and notes.

    People who are in only one of the tables are left out; the notes say how many.

    Parameters
    ----------
    people : FileTable
        With ids.
    path : str
        The long table.
    columns : LongColumns
    positive : sequence of str
        The words that mean 1.
    """
    from averagefair.logs.labels import read_labels

    if path == STREAM:
        raise InputError(
            "a long table of labels is read in parts, so it cannot come from standard input. Name "
            "a file."
        )
    check_path(path)
    found = read_labels(
        path,
        person=columns.person,
        task=columns.task,
        label=columns.label,
        positive=list(positive) or None,
    )
    assert people.ids is not None
    number = {str(name): place for place, name in enumerate(found.people.tolist())}
    ids = people.ids.tolist()
    rows = np.array([row for row, person in enumerate(ids) if person in number], dtype=np.intp)
    notes = []
    if len(rows) < len(ids):
        others = [person for person in ids if person not in number]
        notes.append(
            f"left out: {counted(len(others), 'person', 'people')} of {people.source} without a "
            f"label ({some_of(others)})"
        )
    known = set(ids)
    others = [person for person in number if person not in known]
    if others:
        notes.append(
            f"left out: {counted(len(others), 'person', 'people')} of {path} without features "
            f"({some_of(others)})"
        )
    if not len(rows):
        zeros = {name.lstrip("0") for name in known} & {name.lstrip("0") for name in number}
        hint = " Some ids differ only by leading zeroes." if zeros else ""
        raise InputError(
            f"{people.source} and {path} have nobody in common; {'; '.join(notes)}.{hint} Choose "
            "another --id or --person column, or write the ids alike."
        )
    people = people.take(rows)
    assert people.ids is not None
    own = np.array([number[person] for person in people.ids.tolist()], dtype=np.intp)
    cells, pa = found.cells(own), extra("pyarrow", "files")
    labels = FileTable(
        path,
        {str(task): pa.array(cells[:, place]) for place, task in enumerate(found.tasks.tolist())},
        _digest(path),
        ids=people.ids,
    )
    return people, labels, tuple(notes)


def _digest(path: str) -> str:
    """Return the SHA-256 of a file, or of the files of a folder one after the other."""
    from averagefair.logs.reading import sources_of

    found = sha256()
    for name, _ in sources_of(path):
        with Path(split_sheet(name)[0]).open("rb") as file:
            while block := file.read(1 << 20):
                found.update(block)
    return found.hexdigest()
