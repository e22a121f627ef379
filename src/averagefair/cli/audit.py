"""``averagefair audit``: how unfair decisions are, to whom, and how certain the finding is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Annotated, Any

import numpy as np
import typer

from averagefair._util.text import percent
from averagefair.cli import options as given
from averagefair.cli.audit_input import AuditInput, read_audit_input
from averagefair.cli.console import NOT_MET, answer, bulleted, command_line
from averagefair.errors import InputError
from averagefair.files.reading import STREAM
from averagefair.files.writing import TABLES, check_output, write_table, write_whole


class Figure(str, Enum):  # noqa: UP042 - typer shows the value
    """A figure that --fail-above can bound."""

    spread = "spread"
    near = "near"
    denoised = "denoised"
    sigma = "sigma"
    sd = "sd"
    mean = "mean"


def audit(
    labels: Annotated[
        str, typer.Argument(help="Table of true labels: 0, 1 or blank; one column for each task.")
    ],
    decisions: Annotated[
        str, typer.Argument(help="Table of decisions: 0, 1, or the chance of deciding 1.")
    ],
    output: given.Report = None,
    id_column: given.Id = None,
    tasks: given.SomeTasks = None,
    ignore: given.Ignore = None,
    rate: given.OneRate = "error",
    groups: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Table with the group of each person."),
    ] = None,
    group_columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS",
            help="Columns that hold groups, in --groups if given, else in LABELS; repeatable.",
        ),
    ] = None,
    common_people: Annotated[
        bool, typer.Option("--common-people", help="Leave out people who are in only one table.")
    ] = False,
    skip_undecided: Annotated[
        bool, typer.Option("--skip-undecided", help="Leave out cells without a decision.")
    ] = False,
    alpha: Annotated[
        float | None,
        typer.Option(help="Request to check: everybody's rate is within alpha of a common rate."),
    ] = None,
    beta: Annotated[
        float | None, typer.Option(help="Share of people allowed outside alpha. Default: 0.")
    ] = None,
    learned_tasks: Annotated[
        bool,
        typer.Option(
            "--learned-tasks",
            help="Say that the decisions come from a fair model learned from these tasks, even if "
            "the people are new. The audit then shows observed rates and estimates no true rates.",
        ),
    ] = False,
    confidence: given.Confidence = 0.95,
    fail_above: Annotated[
        float | None, typer.Option(help="Bound on the figure of --fail-on; above it, exit code 1.")
    ] = None,
    fail_on: Annotated[
        Figure | None,
        typer.Option(
            help="Figure for --fail-above. spread: largest minus smallest observed rate (mostly "
            "noise over few tasks). near: half-width of the band that holds all but beta (5%) of "
            "the observed rates. denoised: near without the noise. sigma: standard deviation of "
            "true rates. sd: observed standard deviation. mean: mean rate. With --learned-tasks, "
            "near replaces denoised and sd replaces sigma. Default: spread."
        ),
    ] = None,
    people: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Table to write: everybody's rate and interval, CSV or Parquet."
        ),
    ] = None,
    title: given.Title = None,
    seed: Annotated[int, typer.Option(help="Seed of the test's random signs.")] = 0,
    as_json: given.AsJson = False,
) -> None:
    """Audit decisions: individual rates, their spread, how much is chance, who is worst off.

    Exit code 1: the audit shows that the request of --alpha is not met (with --learned-tasks: not
    met as observed), or the figure is above --fail-above.

    Example: averagefair audit labels.csv decisions.csv --id person --alpha 0.1 --beta 0.05
    -o report.html
    """
    from averagefair.auditing import Verdict
    from averagefair.auditing import audit as run_audit

    given.check_streams_out(output, people, as_json=as_json)
    inputs = [labels, decisions, groups]
    if output is not None:
        check_output(output, (".html",), inputs)
    if people is not None:
        check_output(people, TABLES, inputs)
    _check_gate(fail_above, fail_on)
    tables = read_audit_input(
        labels,
        decisions,
        id_column=id_column,
        tasks=tasks,
        ignore=ignore,
        groups=groups,
        group_columns=group_columns,
        common_people=common_people,
        skip_undecided=skip_undecided,
    )
    found = run_audit(
        tables.labels,
        tables.decisions,
        rate=given.one_rate(rate),
        individual_names=tables.names,
        groups=tables.groups,
        alpha=alpha,
        beta=beta,
        learned_tasks=learned_tasks,
        confidence=confidence,
        random_state=given.seed(seed),
    )
    found = replace(found, notes=(*tables.notes, *found.notes))
    gate = None if fail_above is None else _gate(found, fail_above, fail_on or Figure.spread)
    if output is not None:
        write_whole(output, _page(found, tables, gate, title).encode())
    if people is not None:
        write_table(people, _people(found, tables))
    failed = gate is not None and gate.above
    if found.assessment is not None and learned_tasks:
        failed |= not found.assessment.met_as_observed
    elif found.assessment is not None:
        failed |= found.assessment.verdict is Verdict.NOT_MET
    lines = [bulleted(found.summary())]
    lines += [str(gate)] if gate else []
    lines += [f"report: {output}"] if output else []
    lines += [f"people: {people}"] if people else []
    facts = {
        **found.to_dict(),
        "fail_above": fail_above,
        "fail_on": gate and gate.figure.value,
        "figure": gate and gate.reached,
        "failed": bool(failed),
        "report": output,
        "people_table": people,
    }
    answer(facts, "\n".join(lines), as_json=as_json, aside=STREAM in (output, people))
    if failed:
        raise typer.Exit(NOT_MET)


@dataclass(frozen=True)
class Gate:
    """A figure compared with its bound."""

    figure: Figure
    words: str
    reached: float
    bound: float

    @property
    def above(self) -> bool:
        """Whether the bound is exceeded."""
        return self.reached > self.bound

    def __str__(self) -> str:
        where = "ABOVE" if self.above else "within"
        return f"{self.words} {self.reached:.4f} is {where} {self.bound:g}"


def _check_gate(fail_above: float | None, fail_on: Figure | None) -> None:
    if fail_on is not None and fail_above is None:
        raise InputError("--fail-on needs a bound: add --fail-above, e.g. --fail-above 0.2.")
    if fail_above is not None and not 0 <= fail_above <= 1:
        raise InputError(
            f"--fail-above must lie between 0 and 1, as rates do (5% is 0.05); got {fail_above}."
        )


OBSERVED = {Figure.denoised: Figure.near, Figure.sigma: Figure.sd}
"""On training tasks, observed figures replace figures about true rates."""


def _gate(found: Any, bound: float, figure: Figure) -> Gate:
    beta = 0.05 if found.assessment is None else found.assessment.beta
    at = found.curve.at(beta)
    asked = figure
    if found.learned_tasks:
        figure = OBSERVED.get(figure, figure)
    reached = {
        Figure.spread: found.range.width,
        Figure.near: at["alpha"],
        Figure.denoised: at["denoised"],
        Figure.sigma: found.dispersion.sigma,
        Figure.sd: found.dispersion.sd,
        Figure.mean: found.mean.value,
    }[figure]
    if np.isnan(reached):
        raise InputError(
            f"--fail-on {figure.value} cannot be estimated from these tables. Choose another "
            "figure, e.g. --fail-on spread."
        )
    details = [f"all but {percent(beta)}"] if figure in (Figure.near, Figure.denoised) else []
    if found.learned_tasks and figure is not Figure.mean:
        details.append("as observed on learned tasks")
        details += [f"replaces {asked.value}"] if asked is not figure else []
    words = f"{figure.value} ({', '.join(details)})" if details else figure.value
    return Gate(figure, words, reached, bound)


def _page(found: Any, tables: AuditInput, gate: Gate | None, title: str | None) -> str:
    from averagefair.showing.report import audit_report

    source = " and ".join(file.source for file in tables.files[:2])
    settings = given.origin(tables.files)
    if gate is not None:
        settings["gate"] = str(gate)
    settings = {"command": command_line(), **settings}
    return audit_report(found, title=title or f"Audit: {source}", settings=settings)


def _people(found: Any, tables: AuditInput) -> dict[str, Any]:
    """Return the table of people: their ids, their groups, then the audit's figures."""
    columns = found.people.to_dict()
    out: dict[str, Any] = {tables.id_name: columns.pop("name")}
    if tables.groups is not None:
        out |= zip(tables.groups.columns or (), tables.groups.cells.T, strict=True)
    for name, part in columns.items():
        cells = np.array(part)
        if cells.dtype.kind == "f":
            rounded = np.round(cells, 6)
            out[name] = [None if np.isnan(number) else float(number) for number in rounded]
        else:
            out[name] = cells
    return out
