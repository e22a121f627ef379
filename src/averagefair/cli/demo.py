"""``averagefair demo``: learn, test and audit on synthetic data, without any input."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from averagefair.cli import options as given
from averagefair.cli.console import answer, command_line
from averagefair.cli.progress import progress
from averagefair.errors import InputError, warn
from averagefair.files.reading import STREAM
from averagefair.files.writing import check_output, write_table, write_whole


def demo(
    output: given.Report = "averagefair-demo.html",
    tables: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder for the data as CSV files, to try other commands on.",
            rich_help_panel=given.OUTPUT,
        ),
    ] = None,
    open_report: Annotated[
        bool,
        typer.Option("--open", help="Open the report in a browser.", rich_help_panel=given.OUTPUT),
    ] = False,
    explain: given.Explain = False,
    quiet: given.Quiet = False,
    as_json: given.AsJson = False,
) -> None:
    """Learn, choose a promise, test and audit on the paper's synthetic population; no input.

    Example: averagefair demo
    """
    from averagefair.cli.demo_run import CHOICE, SHOWN, run
    from averagefair.showing.headline import as_dict, audit_headline
    from averagefair.showing.report import frontier_report

    output = str(output)
    if open_report and output == STREAM:
        raise InputError("--open needs a file: name one with --output, e.g. -o demo.html.")
    given.check_streams_out(output, as_json=as_json)
    check_output(output, (".html",))
    if tables is not None:
        _make_folder(tables)
    with progress(not quiet and not as_json, SHOWN, max_rounds=1000) as callback:
        made = run(callback)
    split = made.split
    page = frontier_report(
        made.curve,
        split.Y,
        measured=made.measured,
        beside=made.worst_off,
        beside_measured=made.worst_off_measured,
        choice=CHOICE,
        audit=made.audit,
        title="Fairness and error on the paper's synthetic population",
        settings={"command": command_line()},
    )
    write_whole(output, page.encode())
    written = [] if tables is None else _write_tables(split, tables)
    facts = {
        "points": [point.to_dict() for point in made.curve],
        "worst_off": [point.to_dict() for point in made.worst_off],
        "who_pays": made.who_pays(),
        "audit": made.audit.to_dict(),
        "headline": as_dict(audit_headline(made.audit)),
        "tables": written,
        "report": output,
    }
    listed = "".join(f"table: {path}\n" for path in written)
    text = made.text() if explain else made.screen()
    text += f"\n\n{listed}report, to open in a browser: {output}"
    answer(facts, text, as_json=as_json, aside=output == STREAM)
    if open_report:
        _open(output)


def _open(path: str) -> None:
    """Open a page in the user's browser."""
    import webbrowser

    if not webbrowser.open(Path(path).resolve().as_uri()):
        warn(f"no browser was found. Open {path} yourself.", UserWarning)


def _make_folder(folder: str) -> None:
    try:
        Path(folder).mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder {folder} cannot be created: {error.strerror}. Give another one."
        ) from None


def _write_tables(split: Any, folder: str) -> list[str]:
    """Write the population as tables; training people's ids begin with p, new people's with q."""

    def named(prefix: str, count: int) -> dict[str, Any]:
        return {"person": np.array([f"{prefix}{person + 1:03}" for person in range(count)])}

    def columns(prefix: str, cells: Any) -> dict[str, Any]:
        whole = cells.astype(np.int8)
        return {f"{prefix}{task + 1}": whole[:, task] for task in range(whole.shape[1])}

    old, new = named("p", len(split.X)), named("q", len(split.X_new))
    tables = {
        "people.csv": {**old, **columns("x", split.X), **columns("task_", split.Y)},
        "newcomers.csv": {
            **new,
            **columns("x", split.X_new),
            **columns("task_", split.Y_new_people),
            **columns("new_", split.Y_new_both),
        },
        "new_tasks.csv": {**old, **columns("new_", split.Y_new_tasks)},
        "groups.csv": {**new, "group": split.groups_new},
    }
    for name, table in tables.items():
        write_table(str(Path(folder) / name), table)
    return [str(Path(folder) / name) for name in tables]
