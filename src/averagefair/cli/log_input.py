"""Logs on the command line: the options that describe one, and the sums of earlier ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from averagefair._util.text import counted
from averagefair.cli.options import DATA
from averagefair.errors import InputError, some_of
from averagefair.files.reading import STREAM, check_path
from averagefair.files.writing import beside

if TYPE_CHECKING:
    from averagefair.logs import DecisionLog

PANEL = "A log, instead of tables"
WHY_NOT = {
    "--tasks": "the column --task names the tasks of a log",
    "--ignore": "a log has only the columns that are named",
    "--common-people": "a log is one table",
    "--skip-undecided": "blank the labels of events without a decision; such events are left out",
    "--batches": "the batches of a log are windows of time, --time and --every",
    "--id": "the column --person says who an event is about",
}
"""Why a log does not take options of tables."""
EXAMPLE = "--person id --task school --label hired --decision offer"


class Period(str, Enum):  # noqa: UP042 - typer shows the value
    """The length of a window of time."""

    day = "day"
    week = "week"
    month = "month"
    quarter = "quarter"
    year = "year"


def _column(name: str, help: str) -> Any:
    return typer.Option(f"--{name}", metavar="COLUMN", help=help, rich_help_panel=PANEL)


Log = Annotated[
    list[str] | None,
    typer.Option(
        "--log",
        metavar="FILE",
        help="Log of decisions, a row for each event: CSV, Parquet, or a folder of them; may be "
        "larger than memory; repeatable.",
        rich_help_panel=PANEL,
    ),
]
Sums = Annotated[
    str | None,
    typer.Option(
        "--sums",
        metavar="FOLDER",
        help="Folder with the sums of earlier logs, without their events. --log adds to it; alone, "
        "it is read as it is.",
        rich_help_panel=PANEL,
    ),
]
Person = Annotated[str | None, _column("person", "Column of the log: who the decision is about.")]
Task = Annotated[str | None, _column("task", "Column of the log: the kind of decision.")]
Label = Annotated[
    str | None, _column("label", "Column of the log: the right decision, 0, 1 or blank.")
]
Decision = Annotated[
    str | None,
    _column("decision", "Column of the log: the decision, 0, 1, or the chance of deciding 1."),
]
Time = Annotated[
    str | None, _column("time", "Column of the log: the date or time. It makes windows for drift.")
]
Weight = Annotated[
    str | None, _column("weight", "Column of the log: how many events a row stands for.")
]
Positive = Annotated[
    list[str] | None,
    typer.Option(
        "--positive",
        metavar="WORD",
        help="Word that means 1 in labels and decisions, e.g. yes; every other word means 0. "
        "Repeatable for tables. Default: they are 0 and 1.",
        show_default=False,
        rich_help_panel=DATA,
    ),
]
Every = Annotated[
    Period | None,
    typer.Option(
        "--every",
        metavar="PERIOD",
        help="Length of a window: day, week, month, quarter or year. Default: month.",
        rich_help_panel=PANEL,
    ),
]


@dataclass(frozen=True)
class LogOptions:
    """The options that describe a log, as they were given.

    Attributes
    ----------
    log : sequence of str, or None
        Files and folders.
    sums : str, or None
    columns : mapping of str to (str or None)
        The names of the columns by option; None where an option was not given.
    decision : sequence of str
        The options that name columns of decisions.
    """

    log: Sequence[str] | None
    sums: str | None
    columns: Mapping[str, str | None]
    decision: tuple[str, ...] = ("decision",)

    @property
    def chosen(self) -> bool:
        """Whether a log was named."""
        return bool(self.log) or self.sums is not None

    def given(self) -> list[str]:
        """Return the options of columns that were given, as typed."""
        return [f"--{name}" for name, column in self.columns.items() if column is not None]

    def example(self) -> str:
        """Return the options of a log's columns, as an example."""
        if self.decision == ("decision",):
            return EXAMPLE
        return EXAMPLE.replace("--decision offer", "--before old_offer --after new_offer")

    def needed(self) -> tuple[str, ...]:
        """Return the names of the columns that every log has."""
        return ("person", "task", "label", *self.decision)


def event_options(
    log: Sequence[str] | None,
    sums: str | None,
    positive: Sequence[str] | None,
    every: Any,
    **columns: str | None,
) -> LogOptions:
    """Return the options of a log with one decision in each event, as typed."""
    period, word = every and every.value, word_of_log(positive, log, sums)
    return LogOptions(log, sums, {**columns, "every": period, "positive": word})


@dataclass(frozen=True, eq=False)
class LogInput:
    """A log that was read.

    Attributes
    ----------
    log : DecisionLog
    options : LogOptions
    files : tuple of str
        The files that were read now.
    new : int
        The number of events in them.
    skipped : tuple of str
        Files of folders that had been added before.
    """

    log: DecisionLog
    options: LogOptions
    files: tuple[str, ...]
    new: int
    skipped: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        """What the events came from, for a title."""
        return some_of(self.files) if self.files else str(self.options.sums)

    def notes(self, people: int, tasks: int) -> tuple[str, ...]:
        """Return what was read, and what was not.

        Parameters
        ----------
        people, tasks : int
            With a labelled event.
        """
        log, sums = self.log, self.options.sums
        about = f"about {counted(people, 'person', 'people')} on {counted(tasks, 'task')}"
        events = counted(log.events, "event")
        if self.files and self.new < log.events:
            before = log.events - self.new
            text = (
                f"read: {counted(self.new, 'event')} from {some_of(self.files)}, and the sums of "
                f"{before:,} more in {sums}: {events} {about}"
            )
        elif self.files:
            text = f"read: {events} from {some_of(self.files)}, {about}"
        else:
            text = f"read: the sums of {events} in {sums}, {about}"
        if log.windows:
            last = f" to {log.windows[-1]}" if len(log.windows) > 1 else ""
            text += (
                f"; {counted(len(log.windows), 'window')} of a {log.columns['every']}: "
                f"{log.windows[0]}{last}"
            )
        out = [f"{text}."]
        if self.skipped:
            out.append(
                f"not read again, because they were added to {sums} before: "
                f"{some_of(self.skipped)}."
            )
        return tuple(out)

    def settings(self) -> dict[str, str]:
        """Return what a report says about its input."""
        known = {name: column for name, column in self.log.columns.items() if column is not None}
        if "time" not in known:
            known.pop("every", None)
        return {
            "log": some_of(self.log.sources),
            "events": f"{self.log.events:,}",
            "columns": ", ".join(f"{name}: {column}" for name, column in known.items()),
        }

    def save(self) -> None:
        """Write the sums, if a folder was named and events were added."""
        if self.options.sums is not None and self.files:
            self.log.save(self.options.sums)


def word_of_log(positive: Sequence[str] | None, *logs: Any) -> str | None:
    """Return the positive word of a log; None if there is no log.

    Parameters
    ----------
    positive : sequence of str, or None
        The words of ``--positive``.
    *logs : value or None
        The options that name a log.
    """
    if not positive or not any(logs):
        return None
    if len(positive) > 1:
        raise InputError(
            f"a log takes one word as --positive; got {some_of(positive)}. Write these labels "
            "alike, or as 1 and 0."
        )
    return positive[0]


def read_log(options: LogOptions) -> LogInput:
    """Read the logs, and the sums of earlier ones; nothing is written.

    Parameters
    ----------
    options : LogOptions
    """
    log = _begin(options)
    files, skipped = _files(options, log)
    before = log.events
    if files:
        log.update(list(files))
        _refuse_doubles(log)
    return LogInput(log, options, files, log.events - before, skipped)


def person_column(options: LogOptions) -> str | None:
    """Return the column that says who an event is about; None if it is not known yet."""
    from averagefair.logs.state import saved_columns

    if options.columns.get("person") is not None or options.sums is None:
        return options.columns.get("person")
    known = (Path(options.sums) / "log.json").exists()
    return saved_columns(options.sums).person if known else None


def log_files(options: LogOptions) -> list[str]:
    """Return the files of a log, with those in its folders; a missing file is refused."""
    return [name for given in options.log or () for name, _ in _found(given)]


def _begin(options: LogOptions) -> DecisionLog:
    """Return the saved log of ``--sums``, or a new one."""
    from averagefair.logs import DecisionLog

    if options.sums is not None and _holds_log(options.sums, options.log is not None):
        log = DecisionLog.load(options.sums)
        _refuse_contradictions(options, log)
        return log
    missing = [f"--{name}" for name in options.needed() if options.columns.get(name) is None]
    if missing:
        raise InputError(
            f"a log needs the names of its columns: add {some_of(missing)}, e.g. "
            f"{options.example()}."
        )
    columns = dict(options.columns)
    if columns.get("every") is None:
        columns.pop("every", None)
    elif columns.get("time") is None:
        raise InputError(
            "--every needs the time of each event: name its column, e.g. --time date --every "
            f"{columns['every']}."
        )
    return DecisionLog(**columns)  # type: ignore[arg-type]


def _holds_log(folder: str, writes: bool) -> bool:
    """Return whether a folder holds sums; refuse one that could not be written or read."""
    if folder == STREAM or not folder:
        raise InputError("--sums needs the name of a folder, e.g. --sums sums.")
    check_path(folder)
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise InputError(f"{folder} is a file; --sums names a folder, e.g. --sums sums.")
    known = (place / "log.json").exists()
    if not writes:
        if not known:
            raise InputError(
                f"{folder} holds no sums. Add a log: --log events.parquet {EXAMPLE} --sums "
                f"{folder}."
            )
        return True
    if not known and place.is_dir() and any(place.iterdir()):
        raise InputError(
            f"{folder} is not empty and holds no sums. Name a folder that is empty or new."
        )
    parent = place if place.is_dir() else place.parent
    if not parent.is_dir():
        raise InputError(f"{folder} cannot be written: there is no folder {parent}.")
    try:
        trial = beside(parent.resolve() / "trial")
        trial.touch(exist_ok=False)
        trial.unlink()
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror or error}.") from None
    return known


def _refuse_contradictions(options: LogOptions, log: DecisionLog) -> None:
    """Refuse options of columns that differ from those of the saved log."""
    saved = log.columns
    if options.columns.get("every") is not None and saved["time"] is None:
        raise InputError(
            f"the sums in {options.sums} were made without --time, so there are no windows. Leave "
            "--every out."
        )
    for name, column in options.columns.items():
        if column is None or column == saved[name]:
            continue
        was = f"without --{name}" if saved[name] is None else f"with --{name} {saved[name]}"
        raise InputError(
            f"the sums in {options.sums} were made {was}; got --{name} {column}. Leave --{name} "
            "out: the columns are saved with the sums. For other columns, name another --sums "
            "folder."
        )


def _files(options: LogOptions, log: DecisionLog) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files to read, and those of folders that were added before."""
    files: list[str] = []
    skipped: list[str] = []
    for given in options.log or ():
        for name, folder in _found(given):
            if name in files:
                raise InputError(f"--log names {name} twice; its events would count twice.")
            if name not in log.sources:
                files.append(name)
            elif folder:
                skipped.append(name)
            else:
                raise InputError(
                    f"{name} was added to {options.sums} before; its events would count twice. "
                    "Leave it out. If it holds other events now, rename it."
                )
    return tuple(files), tuple(skipped)


def _found(given: str) -> list[tuple[str, bool]]:
    """Return the files of a path, and whether they were found in a folder."""
    from averagefair.logs.reading import sources_of

    if given == STREAM or not given:
        raise InputError(
            "--log reads files and folders, not standard input: large logs are read in parts. "
            "Save the events as a CSV or Parquet file."
        )
    check_path(given)
    if not Path(given).exists():
        raise InputError(
            f"{given} does not exist. Name a CSV or Parquet file, or a folder of them."
        )
    return [(name, Path(given).is_dir()) for name, _ in sources_of(given)]


def _refuse_doubles(log: DecisionLog) -> None:
    """Refuse two files with the same sums: probably copies, or one file by two names."""
    for first, second in log.doubled():
        raise InputError(
            f"{second} has the same sums as {first}; the same events would count twice. Leave one "
            "of them out. If they do hold different events, join both files into one."
        )


def choose_way(
    command: str,
    tables: Mapping[str, str | None],
    log: LogOptions,
    for_tables: Mapping[str, Any],
) -> bool:
    """Return whether a log was given, not tables; refuse both, neither, and options of the other.

    Parameters
    ----------
    command : str
    tables : mapping of str to (str or None)
        The arguments that name tables.
    log : LogOptions
    for_tables : mapping of str to value
        Options that only tables take, as given.
    """
    words = " ".join(tables)
    named = [name for name, path in tables.items() if path is not None]
    own = "--log" if log.log else "--sums"
    if log.chosen and named:
        raise InputError(
            f"{named[0]} and {own} are two ways to give decisions: give {words}, or give a log."
        )
    if log.chosen:
        for option, value in for_tables.items():
            if value:
                raise InputError(f"{option} cannot go with {own}: {WHY_NOT[option]}.")
        return True
    if not named:
        raise InputError(
            f"no decisions were given. Name tables: averagefair {command} {words}. Or name a log: "
            f"averagefair {command} --log events.parquet {log.example()}."
        )
    missing = [name for name, path in tables.items() if path is None]
    if missing:
        raise InputError(
            f"missing argument {missing[0]}: averagefair {command} takes {words}, or a log (--log)."
        )
    if log.given():
        raise InputError(
            f"{log.given()[0]} is for a log, and {words} are tables. Leave it out, or give the "
            "decisions as --log."
        )
    return False
