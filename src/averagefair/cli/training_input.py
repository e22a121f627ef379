"""The input of ``fit`` and ``frontier``: features and labels, in one file or in two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from averagefair._util.text import counted, percent
from averagefair.cli.joining import check_streams, ignored_columns, match
from averagefair.errors import InputError, some_of
from averagefair.files.reading import read_file
from averagefair.files.table import FileTable
from averagefair.people.frames import Table


@dataclass(frozen=True, eq=False)
class TrainingInput:
    """Features and labels of the same people, in the same order.

    Attributes
    ----------
    X, Y : Table, shapes (n, d) and (n, m)
    ids : array of str, shape (n,), or None
        The ids of the people, if a column holds them.
    names : array of str, shape (n,)
        The people's names: their ids, else "row 1", "row 2", ...
    files : tuple of FileTable
        The files that hold X and Y.
    blank : float
        The share of blank labels.
    Y_new_tasks : Table, or None
        Labels on held-out tasks.
    """

    X: Table
    Y: Table
    ids: NDArray[np.str_] | None
    names: NDArray[np.str_]
    files: tuple[FileTable, ...]
    blank: float
    Y_new_tasks: Table | None = None

    @property
    def n(self) -> int:
        """The number of people."""
        return len(self.names)

    @property
    def feature_names(self) -> list[str]:
        """The columns of X."""
        return list(self.X.columns or ())

    @property
    def task_names(self) -> list[str]:
        """The columns of Y."""
        return list(self.Y.columns or ())

    @property
    def new_task_names(self) -> list[str]:
        """The columns of the held-out labels."""
        return [] if self.Y_new_tasks is None else list(self.Y_new_tasks.columns or ())

    @property
    def source(self) -> str:
        """The names of the files."""
        return " and ".join(file.source for file in self.files)

    @property
    def size(self) -> str:
        """The numbers of people, tasks and features, and the features' names."""
        blank = f" ({percent(self.blank)} of the labels blank)" if self.blank else ""
        return (
            f"{counted(self.n, 'person', 'people')}, "
            f"{counted(len(self.task_names), 'task')}{blank}, "
            f"{counted(len(self.feature_names), 'feature')} from {self.source}\n"
            f"features: {some_of(self.feature_names)}"
        )


def read_training_input(
    data: str,
    *,
    tasks: Sequence[str],
    features: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    id_column: str | None = None,
    labels: str | None = None,
    new_tasks: Sequence[str] | None = None,
    exact: bool = False,
) -> TrainingInput:
    """Read the training people, or the held-out people.

    Parameters
    ----------
    data, labels : str
        File names; without ``labels``, ``data`` holds the labels too.
    tasks, features, ignore, new_tasks : sequences of names or patterns
        Features default to all remaining columns. ``ignore`` overrides the others, and
        ``new_tasks`` overrides ``tasks``.
    id_column : str, optional
        Required with ``labels``.
    exact : bool, default False
        Whether the names come from another table and are not patterns.
    """
    if labels is not None and id_column is None:
        raise InputError(
            "--labels needs --id: name the column that says who a row is, in both tables."
        )
    check_streams(data, labels)
    people = read_file(data).by(id_column)
    answers = people if labels is None else read_file(labels).by(id_column)
    choose = FileTable.require if exact else FileTable.select
    ignored = ignored_columns(ignore, people, answers)
    held_out = [
        name for name in choose(answers, new_tasks or [], "--new-tasks") if name not in ignored
    ]
    aside = {*ignored, *held_out}
    learned = [name for name in choose(answers, tasks, "--tasks") if name not in aside]
    taken = [*learned, *held_out]
    named = choose(people, features, "--features") if features else people.others(taken)
    named = [name for name in named if name not in ignored]
    both = [name for name in named if name in {*taken, id_column}]
    if both:
        raise InputError(
            f"{people.source}: column {both[0]!r} is both a feature and a label or id. Leave it "
            "out of --features."
        )
    for kind, option, names in (("a feature", "features", named), ("a task", "tasks", learned)):
        if not names:
            raise InputError(
                f"{people.source}: no column is left to be {kind}. Choose others with --{option}, "
                "or ignore fewer."
            )
    rows = match(people, answers)
    Y = answers.labels(learned)[rows]
    return TrainingInput(
        X=Table(people.numbers(named), tuple(named), None),
        Y=Table(Y, tuple(learned), None),
        ids=people.ids,
        names=people.names,
        files=(people,) if answers is people else (people, answers),
        blank=float(np.isnan(Y).mean()),
        Y_new_tasks=(
            Table(answers.labels(held_out)[rows], tuple(held_out), None) if held_out else None
        ),
    )
