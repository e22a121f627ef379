"""``averagefair audit``: how unfair anybody's decisions are, to whom, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Annotated, Any

import numpy as np
import typer

from averagefair.cli import options as given
from averagefair.cli.judged import Judged, read_judged
from averagefair.cli.speech import NOT_MET, answer, bulleted, command_line
from averagefair.errors import InputError
from averagefair.files.reading import STREAM
from averagefair.files.writing import TABLES, check_output, write_table, write_whole
from averagefair.text import percent


class Figure(str, Enum):  # noqa: UP042 - typer shows the value
    """What can be held against a bound."""

    spread = "spread"
    near = "near"
    denoised = "denoised"
    sigma = "sigma"
    sd = "sd"
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
    ignore: given.Ignore = None,
    rate: given.OneRate = "error",
    groups: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A table that says which group each person is in."),
    ] = None,
    group_columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS",
            help="The columns with groups, in --groups, else in the labels' table. May be "
            "repeated.",
        ),
    ] = None,
    common_people: Annotated[
        bool, typer.Option("--common-people", help="Leave out who is in one table only.")
    ] = False,
    skip_undecided: Annotated[
        bool, typer.Option("--skip-undecided", help="Leave out cells that have no decision.")
    ] = False,
    alpha: Annotated[
        float | None, typer.Option(help="Ask whether everybody is within alpha of a common rate.")
    ] = None,
    beta: Annotated[
        float | None, typer.Option(help="... but for a share beta of the people.")
    ] = None,
    learned_tasks: Annotated[
        bool,
        typer.Option(
            "--learned-tasks",
            help="The decisions come from a fair model that was learned from these tasks (for new "
            "people too): show what was observed on them, and estimate nothing for true rates.",
        ),
    ] = False,
    confidence: given.Confidence = 0.95,
    fail_above: Annotated[
        float | None, typer.Option(help="Exit with 1 where the figure of --fail-on is above this.")
    ] = None,
    fail_on: Annotated[
        Figure | None,
        typer.Option(
            help="spread (the default): largest less smallest rate, as observed (over few tasks "
            "mostly noise); near: within which all but beta (5%) are, as observed; denoised: the "
            "same without the noise; sigma: standard deviation of true rates; sd: standard "
            "deviation as observed; mean: the mean rate. With --learned-tasks near stands in for "
            "denoised, and sd for sigma."
        ),
    ] = None,
    people: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Everybody's rate and interval as a table, CSV or Parquet."
        ),
    ] = None,
    title: given.Title = None,
    seed: Annotated[int, typer.Option(help="Where the test's random signs start from.")] = 0,
    as_json: given.AsJson = False,
) -> None:
    """Audit decisions: individual rates, how far apart, how much of it is chance, who is worst off.

    Exit code 1: the request of --alpha is shown not to be met (with --learned-tasks: is not met
    as observed), or --fail-above is exceeded.

    Example: averagefair audit labels.csv decisions.csv --id person --alpha 0.1 --beta 0.05
    -o report.html
    """
    from averagefair.auditing import Verdict
    from averagefair.auditing import audit as judge

    given.check_streams_out(output, people, as_json=as_json)
    inputs = [labels, decisions, groups]
    if output is not None:
        check_output(output, (".html",), inputs)
    if people is not None:
        check_output(people, TABLES, inputs)
    _check_gate(fail_above, fail_on)
    judged = read_judged(
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
    found = judge(
        judged.labels,
        judged.decisions,
        rate=given.one_rate(rate),
        individual_names=judged.names,
        groups=judged.groups,
        alpha=alpha,
        beta=beta,
        learned_tasks=learned_tasks,
        confidence=confidence,
        random_state=given.seed(seed),
    )
    found = replace(found, notes=(*judged.notes, *found.notes))
    gate = None if fail_above is None else _gate(found, fail_above, fail_on or Figure.spread)
    if output is not None:
        write_whole(output, _page(found, judged, gate, title).encode())
    if people is not None:
        write_table(people, _people(found, judged))
    failed = gate is not None and gate.above
    if found.answer is not None and learned_tasks:
        failed |= not found.answer.met_as_observed
    elif found.answer is not None:
        failed |= found.answer.verdict is Verdict.NOT_MET
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
    """A figure held against a bound."""

    figure: Figure
    said: str
    reached: float
    bound: float

    @property
    def above(self) -> bool:
        """Whether the bound is exceeded."""
        return self.reached > self.bound

    def __str__(self) -> str:
        where = "ABOVE" if self.above else "within"
        return f"{self.said} {self.reached:.4f} is {where} {self.bound:g}"


def _check_gate(fail_above: float | None, fail_on: Figure | None) -> None:
    if fail_on is not None and fail_above is None:
        raise InputError("--fail-on says what is held against --fail-above: give that too.")
    if fail_above is not None and not 0 <= fail_above <= 1:
        raise InputError(
            f"--fail-above must lie within 0 and 1, as rates do (5% is 0.05); got {fail_above}."
        )


OBSERVED = {Figure.denoised: Figure.near, Figure.sigma: Figure.sd}
"""What stands in, on tasks that were learned from, for figures about true rates."""


def _gate(found: Any, bound: float, figure: Figure) -> Gate:
    beta = 0.05 if found.answer is None else found.answer.beta
    at = found.curve.at(beta)
    asked = figure
    if found.learned_tasks:
        figure = OBSERVED.get(figure, figure)
    reached = {
        Figure.spread: found.range.width,
        Figure.near: at["alpha"],
        Figure.denoised: at["denoised"],
        Figure.sigma: found.spread.sigma,
        Figure.sd: found.spread.sd,
        Figure.mean: found.mean.value,
    }[figure]
    if np.isnan(reached):
        raise InputError(
            f"--fail-on {figure.value} cannot be told from these tables; choose another."
        )
    of = f" (all but {percent(beta)})" if figure in (Figure.near, Figure.denoised) else ""
    if found.learned_tasks and figure is not Figure.mean:
        of += ", as observed on learned tasks"
        of += f" (there is no {asked.value})," if asked is not figure else ","
    return Gate(figure, f"{figure.value}{of}", reached, bound)


def _page(found: Any, judged: Judged, gate: Gate | None, title: str | None) -> str:
    from averagefair.report import audit_report

    source = " and ".join(table.source for table in judged.tables[:2])
    settings = given.origin(judged.tables)
    if gate is not None:
        settings["gate"] = str(gate)
    settings = {"command": command_line(), **settings}
    return audit_report(found, title=title or f"Audit: {source}", settings=settings)


def _people(found: Any, judged: Judged) -> dict[str, Any]:
    """Return the table of people: who, in which groups, then what was found."""
    columns = found.people.to_dict()
    out: dict[str, Any] = {judged.id_name: columns.pop("name")}
    if judged.groups is not None:
        out |= {name: judged.groups[name] for name in judged.groups.column_names}
    for name, part in columns.items():
        cells = np.array(part)
        if cells.dtype.kind == "f":
            rounded = np.round(cells, 6)
            out[name] = [None if np.isnan(one) else float(one) for one in rounded]
        else:
            out[name] = cells
    return out
