"""``averagefair compare``: two sets of decisions about the same people and tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from averagefair._util.text import table
from averagefair.cli import log_input as of_log
from averagefair.cli import options as given
from averagefair.cli.audit import (
    AuditSeed,
    CommonPeople,
    Labels,
    LearnedTasks,
    SkipUndecided,
    rounded,
)
from averagefair.cli.audit_input import AuditInput, read_audit_input
from averagefair.cli.console import answer, command_line
from averagefair.cli.face import changes_lines
from averagefair.cli.log_input import LogOptions, choose_way, log_files, read_log, word_of_log
from averagefair.errors import InputError
from averagefair.files.reading import STREAM
from averagefair.files.writing import TABLES, check_output, table_content, write_whole

if TYPE_CHECKING:
    from averagefair.auditing import Audit, Comparison

OF_LOG = "Column of the log: the decision {}, 0, 1, or the chance of deciding 1."


def compare(
    labels: Labels = None,
    before: Annotated[
        str | None,
        typer.Argument(metavar="BEFORE", help="Table of decisions before.", show_default=False),
    ] = None,
    after: Annotated[
        str | None,
        typer.Argument(metavar="AFTER", help="Table of decisions after.", show_default=False),
    ] = None,
    log: of_log.Log = None,
    person: of_log.Person = None,
    task: of_log.Task = None,
    label: of_log.Label = None,
    before_column: Annotated[
        str | None,
        typer.Option(
            "--before", metavar="COLUMN", help=OF_LOG.format("before"), rich_help_panel=of_log.PANEL
        ),
    ] = None,
    after_column: Annotated[
        str | None,
        typer.Option(
            "--after", metavar="COLUMN", help=OF_LOG.format("after"), rich_help_panel=of_log.PANEL
        ),
    ] = None,
    weight: of_log.Weight = None,
    positive: of_log.Positive = None,
    output: given.Report = None,
    id_column: given.Id = None,
    tasks: given.SomeTasks = None,
    ignore: given.Ignore = None,
    rate: given.OneRate = "error",
    common_people: CommonPeople = False,
    skip_undecided: SkipUndecided = False,
    alpha: Annotated[
        float | None,
        typer.Option(
            help="Count people further than alpha from a common rate. Default: nobody.",
            rich_help_panel=given.QUESTION,
        ),
    ] = None,
    learned_tasks: LearnedTasks = False,
    confidence: given.Confidence = 0.95,
    people: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Table to write: everybody's rates before and after, and the change, CSV or "
            "Parquet.",
            rich_help_panel=given.OUTPUT,
        ),
    ] = None,
    title: given.Title = None,
    seed: AuditSeed = 0,
    explain: given.Explain = False,
    as_json: given.AsJson = False,
) -> None:
    """Compare decisions before and after, or of two vendors, by paired differences.

    The people, the tasks and the labels are the same. The decisions are two tables, or two columns
    of a log (--log).

    Example: averagefair compare labels.csv decisions.csv new_decisions.csv --id person
    -o comparison.html
    """
    from averagefair.auditing.audit import check_request

    options = LogOptions(
        log,
        None,
        {
            "person": person,
            "task": task,
            "label": label,
            "before": before_column,
            "after": after_column,
            "weight": weight,
            "positive": word_of_log(positive, log),
        },
        ("before", "after"),
    )
    from_log = choose_way(
        "compare",
        {"LABELS": labels, "BEFORE": before, "AFTER": after},
        options,
        {
            "--id": id_column,
            "--tasks": tasks,
            "--ignore": ignore,
            "--common-people": common_people,
            "--skip-undecided": skip_undecided,
        },
    )
    given.check_streams_out(output, people, as_json=as_json)
    for path, endings in ((output, (".html",)), (people, TABLES)):
        if path is not None:
            check_output(path, endings, [labels, before, after, *log_files(options)])
    request: dict[str, Any] = {
        "rate": given.one_rate(rate),
        "alpha": alpha,
        "learned_tasks": learned_tasks,
        "confidence": confidence,
        "random_state": given.seed(seed),
    }
    shared = ("rate", "alpha", "confidence", "random_state")
    check_request(beta=None, **{name: request[name] for name in shared})  # before any long work
    if from_log:
        made = _of_log(options, request)
    else:
        made = _of_tables(
            [str(labels), str(before), str(after)],
            request,
            id_column=id_column,
            tasks=tasks,
            ignore=ignore,
            groups=None,
            group_columns=None,
            common_people=common_people,
            skip_undecided=skip_undecided,
            positive=positive,
        )
    found = made.found
    table_bytes = None if people is None else table_content(people, _people(made))
    if output is not None:
        from averagefair.showing.report import comparison_report

        settings = {"command": command_line(), **made.settings}
        title = title or f"Comparison: {made.source}"
        page = comparison_report(found, title=title, settings=settings, notes=made.notes)
        write_whole(output, page.encode())
    if people is not None and table_bytes is not None:
        write_whole(people, table_bytes)
    said = found.statements()
    short = [
        f"{words.partition('. ')[0].partition(' (corr')[0].rstrip('.')}." for words in said[:2]
    ]
    lines = [table(*found.table()), *changes_lines(short, said, made.notes, explain)]
    lines += [f"report: {output}"] if output is not None else []
    lines += [f"people: {people}"] if people is not None else []
    facts = {
        **found.to_dict(),
        "notes": list(made.notes),
        "report": output,
        "people_table": people,
    }
    answer(facts, "\n".join(lines), as_json=as_json, aside=STREAM in (output, people))


@dataclass(frozen=True, eq=False)
class _Compared:
    """A comparison, with what is needed to show it."""

    found: Comparison
    id_name: str
    source: str
    settings: dict[str, str]
    notes: tuple[str, ...]


def _of_log(options: LogOptions, request: dict[str, Any]) -> _Compared:
    """Compare two columns of a log; it is read twice."""
    from averagefair.auditing import compare as run_compare

    columns = dict(options.columns)
    sides = columns.pop("before"), columns.pop("after")
    if None not in sides and sides[0] == sides[1]:
        raise InputError(f"--before and --after name the same column, {sides[0]!r}. Name two.")
    missing = [f"--{name}" for name in options.needed() if options.columns[name] is None]
    if missing:
        raise InputError(
            f"a log needs the names of its columns: add {missing[0]}, e.g. {options.example()}."
        )
    reads = [
        read_log(LogOptions(options.log, None, {**columns, "decision": side})) for side in sides
    ]
    audits = [read.log.audit(**request) for read in reads]
    found = run_compare(*audits)
    read = reads[0]
    settings = read.settings()
    decided = f"decision: {sides[0]}"
    settings["columns"] = settings["columns"].replace(
        decided, f"before: {sides[0]}, after: {sides[1]}"
    )
    about = [note for note in audits[0].notes if note.startswith(("left out", "only one person"))]
    notes = (*read.notes(audits[0].n, audits[0].m), *about)
    return _Compared(found, str(columns["person"]), read.name, settings, notes)


def _of_tables(paths: Sequence[str], request: dict[str, Any], **options: Any) -> _Compared:
    """Compare two tables of decisions with one table of labels."""
    from averagefair.auditing import audit as run_audit
    from averagefair.auditing import compare as run_compare

    labels, *sides = paths
    if paths.count(STREAM):
        raise InputError(
            "compare reads LABELS twice, so no table can be standard input. Name files."
        )
    read = [read_audit_input(labels, side, **options) for side in sides]
    first, second = _alike(*read)
    audits: list[Audit] = [
        run_audit(first.labels, own.decisions, individual_names=first.names, **request)
        for own in (first, second)
    ]
    notes = tuple(dict.fromkeys((*first.notes, *second.notes, *_left_out(audits[0]))))
    files = {file.source: file for own in read for file in own.files}
    return _Compared(
        run_compare(*audits),
        first.id_name,
        " and ".join(sides),
        given.origin([*files.values()]),
        notes,
    )


def _alike(first: AuditInput, second: AuditInput) -> tuple[AuditInput, AuditInput]:
    """Return both with the people and the tasks that both have, and with the same labels."""
    ours, theirs = first.labels.columns or (), second.labels.columns or ()
    if set(ours) != set(theirs):
        raise InputError(
            f"BEFORE and AFTER must have the same tasks; got {len(ours):,} and {len(theirs):,}. "
            "Choose the tasks of both with --tasks."
        )
    _, here, there = np.intersect1d(first.names, second.names, return_indices=True)
    order = np.argsort(here)
    here, there = here[order], there[order]
    columns = [theirs.index(name) for name in ours]
    known = first.labels.cells[here]
    known = np.where(np.isnan(second.labels.cells[there][:, columns]), np.nan, known)
    labels = first.labels._replace(cells=known)
    made = first.decisions._replace(cells=first.decisions.cells[here])
    later = first.decisions._replace(cells=second.decisions.cells[there][:, columns])
    names = first.names[here]
    return (
        replace(first, labels=labels, decisions=made, names=names),
        replace(second, labels=labels, decisions=later, names=names),
    )


def _left_out(found: Audit) -> list[str]:
    return [note for note in found.notes if note.startswith(("no rate", "tasks left out"))]


def _people(made: _Compared) -> dict[str, Any]:
    """Return the table of people: rates before and after, and the change."""
    columns = made.found.people.to_dict()
    return {made.id_name: columns.pop("name")} | {
        name: rounded(column) for name, column in columns.items()
    }
