"""``averagefair audit``: how unfair anybody's decisions are, to whom, and how sure that is."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

import numpy as np
import typer

from averagefair.cli import options as given
from averagefair.cli.frontier import command_line
from averagefair.cli.people import as_table, check_streams, match
from averagefair.cli.speech import NOT_MET, answer, bulleted
from averagefair.errors import InputError, some_of
from averagefair.files import (
    STREAM,
    TABLES,
    FileTable,
    check_output,
    read_file,
    write_table,
    write_whole,
)


class Figure(str, Enum):  # noqa: UP042 - typer shows the value
    """What can be held against a bound."""

    spread = "spread"
    near = "near"
    denoised = "denoised"
    sigma = "sigma"
    mean = "mean"


def audit(
    labels: Annotated[
        str, typer.Argument(help="What was right: 0, 1 or blank; a column for each task.")
    ],
    decisions: Annotated[
        str, typer.Argument(help="What was decided: 0, 1, or the chance of deciding 1.")
    ],
    output: given.Report = None,
    id_column: given.Id = None,
    tasks: given.SomeTasks = None,
    rate: given.OneRate = "error",
    groups: Annotated[
        str | None, typer.Option(help="A table that says which group each person is in.")
    ] = None,
    group_columns: Annotated[
        list[str] | None,
        typer.Option(
            help="The columns with groups, in --groups, else in the labels' table. May be repeated."
        ),
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Ask whether everybody is within alpha of a common rate.")
    ] = None,
    beta: Annotated[
        float | None, typer.Option(help="... but for a share beta of the people.")
    ] = None,
    confidence: given.Confidence = 0.95,
    fail_above: Annotated[
        float | None, typer.Option(help="Exit with 1 where the figure of --fail-on is above this.")
    ] = None,
    fail_on: Annotated[
        Figure,
        typer.Option(
            help="spread: largest less smallest rate, as observed (over few tasks mostly noise); "
            "near: within which all but beta (5%) are, as observed; denoised: the same without "
            "the noise; sigma: standard deviation of true rates; mean: the mean rate."
        ),
    ] = Figure.spread,
    people: Annotated[
        str | None, typer.Option(help="Everybody's rate and interval as a table, CSV or Parquet.")
    ] = None,
    seed: given.Seed = 0,
    as_json: given.AsJson = False,
) -> None:
    """Audit decisions: individual rates, how far apart, how much of it is chance, who is worst off.

    Exit code 1: the request of --alpha is shown not to be met, or --fail-above is exceeded.

    Example: averagefair audit labels.csv decisions.csv --id person --alpha 0.1 --beta 0.05
    -o report.html
    """
    from averagefair.auditing import Verdict
    from averagefair.auditing import audit as judge

    given.check_streams_out(output, people, as_json=as_json)
    if output is not None:
        check_output(output, (".html",))
    if people is not None:
        check_output(people, TABLES)
    if groups is not None and not group_columns:
        raise InputError(
            "--groups is a table; say which of its columns hold groups: --group-columns."
        )
    check_streams(labels, decisions, groups)
    right, made = read_file(labels).by(id_column), read_file(decisions).by(id_column)
    by = right if groups is None else read_file(groups).by(id_column)
    columns = by.select(group_columns, "--group-columns") if group_columns else []
    names = _tasks(right, made, tasks, columns if by is right else [])
    known, decided = right.labels(names), made.decisions(names)[match(right, made)]
    _refuse_gaps(right, made, names, known, decided)
    found = judge(
        as_table(names, known),
        as_table(names, decided),
        rate=given.one_rate(rate),
        individual_names=right.ids if right.ids is not None else np.arange(1, len(right) + 1),
        groups=_groups(right, by, columns),
        alpha=alpha,
        beta=beta,
        confidence=confidence,
        random_state=seed,
    )
    source = f"{labels} and {decisions}"
    if output is not None:
        from averagefair.report import audit_report

        settings = {"command": command_line(), "labels": labels, "decisions": decisions}
        page = audit_report(found, title=f"Audit: {source}", settings=settings)
        write_whole(output, page.encode())
    if people is not None:
        write_table(people, {name: np.array(part) for name, part in found.people.to_dict().items()})
    lines = [bulleted(found.summary())]
    failed = found.answer is not None and found.answer.verdict is Verdict.NOT_MET
    reached = None
    if fail_above is not None:
        reached = _figures(found)[fail_on]
        if np.isnan(reached):
            raise InputError(
                f"--fail-on {fail_on.value} cannot be told from these tables; choose another."
            )
        above = reached > fail_above
        failed |= above
        lines.append(
            f"{fail_on.value} {reached:.4f} is {'ABOVE' if above else 'within'} {fail_above:g}"
        )
    lines += [f"report: {output}"] if output else []
    lines += [f"people: {people}"] if people else []
    facts = {
        **found.to_dict(),
        "fail_above": fail_above,
        "fail_on": fail_on.value if fail_above is not None else None,
        "figure": reached,
        "failed": bool(failed),
        "report": output,
    }
    answer(facts, "\n".join(lines), as_json=as_json, aside=STREAM in (output, people))
    if failed:
        raise typer.Exit(NOT_MET)


def _tasks(
    right: FileTable, made: FileTable, tasks: list[str] | None, taken: list[str]
) -> list[str]:
    """Return the tasks to audit, which both tables must have."""
    if tasks:
        names = right.select(tasks, "--tasks")
        made.select(names, "--tasks")
        return names
    names = right.others(taken)
    for one, other, columns in ((right, made, names), (made, right, made.others([]))):
        missing = [name for name in columns if name not in other.columns]
        if missing:
            raise InputError(
                f"{one.source} has columns that {other.source} has not: {some_of(missing)}. Choose "
                "the tasks with --tasks; if one of them says who a row is, pass it as --id."
            )
    return names


def _refuse_gaps(
    right: FileTable, made: FileTable, names: list[str], known: Any, decided: Any
) -> None:
    gaps = np.argwhere(~np.isnan(known) & np.isnan(decided))
    if gaps.size:
        row, place = (int(one) for one in gaps[0])
        right.refuse(
            row,
            names[place],
            f"has a label, but {made.source} has no decision there ({len(gaps):,} such cells). "
            "Fill it in, or blank the label to leave it out",
        )


def _groups(right: FileTable, by: FileTable, columns: list[str]) -> Any:
    if not columns:
        return None
    import pyarrow as pa

    rows = match(right, by)
    words = {name: by.words(name, "--group-columns") for name in columns}
    return pa.table({name: [part[row] for row in rows] for name, part in words.items()})


def _figures(found: Any) -> dict[Figure, float]:
    beta = found.answer.beta if found.answer is not None and found.answer.beta > 0 else 0.05
    at = found.curve.at(beta)
    return {
        Figure.spread: found.range.width,
        Figure.near: at["alpha"],
        Figure.denoised: at["denoised"],
        Figure.sigma: found.spread.sigma,
        Figure.mean: found.mean.value,
    }
