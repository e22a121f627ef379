"""``averagefair drift``: whether differences between people grow over time, and for whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from averagefair._util.text import counted, table
from averagefair.cli import log_input as of_log
from averagefair.cli import options as given
from averagefair.cli.audit import AuditSeed, CommonPeople, Decisions, Labels, SkipUndecided
from averagefair.cli.audit_input import read_audit_input
from averagefair.cli.console import answer, command_line
from averagefair.cli.face import changes_lines
from averagefair.cli.log_input import choose_way, event_options, log_files, read_log
from averagefair.errors import InputError, some_of
from averagefair.files.reading import STREAM, read_file
from averagefair.files.writing import check_output, write_whole

if TYPE_CHECKING:
    from averagefair.auditing import Drift


def drift(
    labels: Labels = None,
    decisions: Decisions = None,
    batches: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Table with the batch of each task: columns 'task' and 'batch'. Batches are in "
            "the order of this table.",
            rich_help_panel=given.DATA,
        ),
    ] = None,
    log: of_log.Log = None,
    sums: of_log.Sums = None,
    person: of_log.Person = None,
    task: of_log.Task = None,
    label: of_log.Label = None,
    decision: of_log.Decision = None,
    time: of_log.Time = None,
    every: of_log.Every = None,
    weight: of_log.Weight = None,
    positive: of_log.Positive = None,
    output: given.Report = None,
    id_column: given.Id = None,
    tasks: given.SomeTasks = None,
    ignore: given.Ignore = None,
    rate: given.OneRate = "error",
    common_people: CommonPeople = False,
    skip_undecided: SkipUndecided = False,
    confidence: given.Confidence = 0.95,
    title: given.Title = None,
    seed: AuditSeed = 0,
    explain: given.Explain = False,
    as_json: given.AsJson = False,
) -> None:
    """Follow people over windows of time (a log), or over batches of tasks (two tables).

    The tasks must be fresh: no fair model was learned from them.

    Example: averagefair drift --log events.csv --person id --task school --label hired
    --decision offer --time date --every month -o drift.html
    """
    from averagefair.auditing import audit as run_audit
    from averagefair.auditing import drift as run_drift
    from averagefair.auditing.audit import check_request

    columns = {"person": person, "task": task, "label": label, "decision": decision}
    options = event_options(log, sums, positive, every, **columns, time=time, weight=weight)
    from_log = choose_way(
        "drift",
        {"LABELS": labels, "DECISIONS": decisions},
        options,
        {
            "--batches": batches,
            "--id": id_column,
            "--tasks": tasks,
            "--ignore": ignore,
            "--common-people": common_people,
            "--skip-undecided": skip_undecided,
        },
    )
    given.check_streams_out(output, as_json=as_json)
    if output is not None:
        check_output(output, (".html",), [labels, decisions, batches, *log_files(options)])
    request: dict[str, Any] = {
        "rate": given.one_rate(rate),
        "confidence": confidence,
        "random_state": given.seed(seed),
    }
    check_request(**request, alpha=None, beta=None)  # before any long work
    if from_log:
        if options.columns["time"] is None and sums is None:
            raise InputError(
                "drift needs the time of each event: name its column, e.g. --time date."
            )
        read = read_log(options)
        _check_windows(read.log.windows, read.name)
        found = read.log.drift(**request)
        people, seen = _everybody(found)
        notes = read.notes(people, seen)
        if read.log.unlabelled:
            notes += (f"left out: {counted(read.log.unlabelled, 'event')} without a label.",)
        source, settings = read.name, read.settings()
    else:
        if batches is None:
            raise InputError(
                "--batches is missing: name the table with the batch of each task, e.g. --batches "
                "months.csv, with columns 'task' and 'batch'. For a log: --log and --time."
            )
        order = _read_batches(batches)
        tables = read_audit_input(
            str(labels),
            str(decisions),
            id_column=id_column,
            tasks=tasks,
            ignore=ignore,
            groups=None,
            group_columns=None,
            common_people=common_people,
            skip_undecided=skip_undecided,
            positive=positive,
        )
        chosen = _in_order(tables.labels.columns or (), order, batches)
        audited = run_audit(
            _columns(tables.labels, chosen),
            _columns(tables.decisions, chosen),
            individual_names=tables.names,
            **request,
        )
        found = run_drift(audited, [order[name] for name in chosen])
        notes = tables.notes
        source = " and ".join(file.source for file in tables.files[:2])
        settings = given.origin([*tables.files, read_file(batches)])
    if output is not None:
        from averagefair.showing.report import drift_report

        settings = {"command": command_line(), **settings}
        page = drift_report(
            found, title=title or f"Drift: {source}", settings=settings, notes=notes
        )
        write_whole(output, page.encode())
    if from_log:
        read.save()
    said = found.statements()
    lines = [table(*found.table()), *changes_lines(said[:2], said, notes, explain)]
    lines += [f"report: {output}"] if output is not None else []
    facts = {**found.to_dict(), "notes": list(notes), "report": output, "sums": sums}
    answer(facts, "\n".join(lines), as_json=as_json, aside=output == STREAM)


def _check_windows(windows: Sequence[str], source: str) -> None:
    """Refuse a log with fewer than two windows."""
    if not windows:
        raise InputError(
            f"{source} has no times: its sums were made without --time. Add the logs again, with "
            "--time, to another --sums folder."
        )
    if len(windows) < 2:
        raise InputError(
            f"{source}: all events are in one window, which begins on {windows[0]}. Drift compares "
            "two or more. Choose shorter windows, e.g. --every week, or add another log."
        )


def _everybody(found: Drift) -> tuple[int, int]:
    """Return how many people and tasks there are in all batches together."""
    people = np.unique(np.concatenate([audit.people.name for audit in found]))
    tasks = set().union(*(audit.tasks.name for audit in found))
    return len(people), len(tasks)


def _read_batches(path: str) -> dict[str, str]:
    """Return the batch of each task, in the order of the table."""
    table = read_file(path)
    table.require(["task", "batch"], "--batches")
    out: dict[str, str] = {}
    pairs = zip(table.words("task", ""), table.words("batch", ""), strict=True)
    for row, (task, batch) in enumerate(pairs):
        if task is None or batch is None:
            column = "task" if task is None else "batch"
            table.refuse(row, column, "is blank; every row needs a task and its batch")
        if task in out:
            table.refuse(row, "task", f"the task {task!r} is listed twice; each task has one batch")
        out[task] = batch
    return out


def _in_order(tasks: Sequence[str], batches: dict[str, str], path: str) -> list[str]:
    """Return the tasks in the order of the table of batches; each must have a batch."""
    missing = [name for name in tasks if name not in batches]
    if missing:
        raise InputError(
            f"{path} has no batch for {counted(len(missing), 'task')}: {some_of(missing)}. Add "
            "them, or leave these tasks out with --ignore."
        )
    audited = set(tasks)
    chosen = [name for name in batches if name in audited]
    if len({batches[name] for name in chosen}) < 2:
        raise InputError(
            f"{path}: all tasks are in one batch ({batches[chosen[0]]}); drift compares two or "
            "more. Split the tasks into more batches."
        )
    return chosen


def _columns(cells: Any, names: Sequence[str]) -> Any:
    """Return a table with these columns."""
    place = {name: number for number, name in enumerate(cells.columns)}
    chosen = [place[name] for name in names]
    return cells._replace(cells=cells.cells[:, chosen], columns=tuple(names))
