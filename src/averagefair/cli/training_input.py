"""The input of ``fit`` and ``frontier``: features and labels, in one file or in two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.text import counted, percent
from averagefair.cli.joining import check_streams, ignored_columns, match
from averagefair.cli.long_labels import LongColumns, read_long
from averagefair.errors import InputError, extra, some_of
from averagefair.files.positive import check_positive, positive_words
from averagefair.files.reading import read_file
from averagefair.files.table import FileTable
from averagefair.people.frames import Table
from averagefair.people.raw_columns import LEAVE_OUT, NUMBER, EncodingError

if TYPE_CHECKING:
    from averagefair.people.encoder import TableEncoder


@dataclass(frozen=True, eq=False)
class TrainingInput:
    """Features and labels of the same people, in the same order.

    Attributes
    ----------
    X : Table, shape (n, d)
        With ``encode``, a pyarrow table of the columns as they are.
    Y : Table, shape (n, m)
    feature_names : list of str
        The columns of X.
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
    notes : tuple of str
        Who was left out.
    """

    X: Any
    Y: Table
    feature_names: list[str]
    ids: NDArray[np.str_] | None
    names: NDArray[np.str_]
    files: tuple[FileTable, ...]
    blank: float
    Y_new_tasks: Table | None = None
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """The number of people."""
        return len(self.names)

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
            f"{''.join(f'{chr(10)}{note}' for note in self.notes)}"
        )

    @contextmanager
    def naming_cells(self) -> Iterator[None]:
        """Name the file, the row and the person in errors about cells that cannot be encoded."""
        with naming_cells(self.files[0]):
            yield


def read_training_input(
    data: str,
    *,
    tasks: Sequence[str] | None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    id_column: str | None = None,
    labels: str | None = None,
    new_tasks: Sequence[str] | None = None,
    positive: Sequence[str] | None = None,
    encode: bool | TableEncoder = False,
    long: LongColumns | None = None,
    exact: bool = False,
) -> TrainingInput:
    """Read the training people, or the held-out people.

    Parameters
    ----------
    data, labels : str
        File names; without ``labels``, ``data`` holds the labels too.
    tasks, features, ignore, new_tasks : sequences of names or patterns
        Features default to all remaining columns, and with ``long`` tasks to all tasks. ``ignore``
        overrides the others, and ``new_tasks`` overrides ``tasks``.
    id_column : str, optional
        Required with ``labels``.
    positive : sequence of str, optional
        Words that mean 1 in the labels.
    encode : bool or TableEncoder, default False
        Whether features may be words, dates and blanks; for held-out people, the encoder of the
        training people.
    long : LongColumns, optional
        The columns of ``labels``, if it is a long table. The id column defaults to its column of
        people.
    exact : bool, default False
        Whether the names come from another table and are not patterns.
    """
    if long is not None:
        id_column = id_column or long.person
    elif not tasks:
        raise InputError(
            "--tasks is missing: name the label columns, e.g. --tasks 'task_*'. For a long table "
            "of labels: --long."
        )
    if labels is not None and id_column is None:
        raise InputError(
            "--labels needs --id: name the column that says who a row is, in both tables."
        )
    check_streams(data, labels)
    people = read_file(data).by(id_column)
    words: tuple[str, ...] = tuple(positive or ())
    notes: tuple[str, ...] = ()
    if long is not None:
        assert labels is not None
        people, answers, notes = read_long(people, labels, long, words)
        words = ()  # these labels are 0 and 1
    else:
        answers = people if labels is None else read_file(labels).by(id_column)
    choose = FileTable.require if exact else FileTable.select
    ignored = ignored_columns(ignore, people, answers)
    held_out = [
        name for name in choose(answers, new_tasks or [], "--new-tasks") if name not in ignored
    ]
    aside = {*ignored, *held_out}
    chosen = choose(answers, tasks, "--tasks") if tasks else answers.others([])
    learned = [name for name in chosen if name not in aside]
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
    if exact:
        words = positive_words(words)
    else:
        words = check_positive(words, [answers.columns[name] for name in [*learned, *held_out]])
    rows = match(people, answers)
    Y = answers.labels(learned, words)[rows]
    return TrainingInput(
        X=_numbers(people, named)
        if encode is False
        else raw_table(people, named, None if encode is True else encode),
        Y=Table(Y, tuple(learned), None),
        feature_names=named,
        ids=people.ids,
        names=people.names,
        files=(people,) if answers is people else (people, answers),
        blank=float(np.isnan(Y).mean()),
        Y_new_tasks=(
            Table(answers.labels(held_out, words)[rows], tuple(held_out), None)
            if held_out
            else None
        ),
        notes=notes,
    )


def raw_table(people: FileTable, names: Sequence[str], encoder: TableEncoder | None = None) -> Any:
    """Return columns to encode, a pyarrow table; columns of numbers are read as such.

    Parameters
    ----------
    people : FileTable
    names : sequence of str
    encoder : TableEncoder, optional
        Knows which columns hold numbers. Default: those that only hold numbers.
    """
    columns = {name: people.columns[name] for name in names}
    kinds = {} if encoder is None else {own.name: own.kind for own in encoder.encodings_}
    for name in names:
        if kinds.get(name, NUMBER) == NUMBER:
            # The encoder names a cell that is not a number.
            with suppress(InputError):
                columns[name] = people.numbers([name], blanks=True)[:, 0]
    return extra("pyarrow", "files").table(columns)


def _numbers(people: FileTable, names: Sequence[str]) -> Table:
    return Table(people.numbers(names, encode=True), tuple(names), None)


@contextmanager
def naming_cells(table: FileTable) -> Iterator[None]:
    """Name the file, the row and the person in errors about cells that cannot be encoded.

    Parameters
    ----------
    table : FileTable
        The table whose rows are encoded.
    """
    try:
        yield
    except EncodingError as error:
        remedy = f"{LEAVE_OUT} (--ignore)" if error.remedy == LEAVE_OUT else error.remedy
        what = f"{error.what}. {remedy}"
        if error.row is not None:
            table.refuse(error.row, error.column, what)
        raise InputError(f"{table.source}: column {error.column!r}: {what}.") from None
