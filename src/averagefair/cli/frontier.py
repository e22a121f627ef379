"""``averagefair frontier``: the trade-off between error and fairness, and its report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
import typer

from averagefair.cli import options as given
from averagefair.cli.people import People, check_streams, read_people
from averagefair.cli.progress import progress
from averagefair.cli.speech import NOT_MET, answer, wrapped
from averagefair.errors import InputError
from averagefair.files import STREAM, TABLES, check_output, write_table, write_whole
from averagefair.text import exactly, figure, table


def frontier(
    data: given.Data,
    tasks: given.Tasks,
    output: given.Report = None,
    alphas: Annotated[
        str, typer.Option(help="First:last:step, or a list such as 0.02,0.05,0.1.")
    ] = "0.02:0.22:0.01",
    test: Annotated[
        str | None, typer.Option(help="People held out: a table with the same columns.")
    ] = None,
    new_tasks: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Tasks held out: served by the mapping, never learned from. {given.MATCH}."
        ),
    ] = None,
    choice: Annotated[
        float | None, typer.Option(help="The alpha to speak of; default: the middle one.")
    ] = None,
    labels: given.Labels = None,
    test_labels: Annotated[
        str | None, typer.Option(help="The labels of --test, where --labels is used.")
    ] = None,
    features: given.Features = None,
    ignore: given.Ignore = None,
    id_column: given.Id = None,
    rate: given.Rates = ["error"],  # noqa: B006 - typer copies it
    beta: given.Beta = 0.0,
    max_influence: given.MaxInfluence = None,
    oracle: given.Oracle = given.OracleName.regression,
    l2: given.L2 = 0.0,
    max_rounds: given.MaxRounds = 1000,
    time_limit: given.TimeLimit = None,
    seed: given.Seed = 0,
    curve_table: Annotated[
        str | None, typer.Option("--table", help="The curve as a table, CSV or Parquet.")
    ] = None,
    quiet: given.Quiet = False,
    as_json: given.AsJson = False,
) -> None:
    """Learn at many alphas at once and show what each costs, in and out of sample.

    Exit code 1: some alpha was not reached.

    Example: averagefair frontier people.csv --tasks 'task_*' --id person --test others.csv
    -o report.html
    """
    from averagefair.frontier import frontier as solve
    from averagefair.generalisation import generalisation

    grid = read_alphas(alphas)
    given.check_streams_out(output, curve_table, as_json=as_json)
    if output is not None:
        check_output(output, (".html",))
    if curve_table is not None:
        check_output(curve_table, TABLES)
    if test_labels is not None and (test is None or labels is None):
        raise InputError("--test-labels are the labels of --test where --labels is used: give all.")
    check_streams(data, labels, test, test_labels)
    kind: dict[str, Any] = {
        "tasks": tasks,
        "features": features,
        "ignore": ignore,
        "id_column": id_column,
    }
    people = read_people(data, labels=labels, new_tasks=new_tasks, **kind)
    new = _held_out(people, test, test_labels, new_tasks, kind)
    with progress(
        not quiet and not as_json, grid, max_rounds=max_rounds, time_limit=time_limit
    ) as callback:
        curve = solve(
            people.X,
            people.Y,
            grid,
            rate=given.rates(rate),
            oracle=given.oracle(oracle, l2),
            solver=given.solver(given.SolverName.columns, max_rounds, time_limit),
            beta=beta,
            max_influence=max_influence,
            random_state=seed,
            callback=callback,
            ids=people.ids,
        )
    chosen = curve.at(curve.alphas[len(curve) // 2] if choice is None else choice)
    tested = generalisation(curve, **new) if new else None
    if output is not None:
        from averagefair.report import frontier_report

        page = frontier_report(
            curve,
            people.X,
            people.Y,
            held_out=tested,
            choice=chosen.alpha,
            title=f"Fairness and error: {people.source}",
            settings={"command": command_line(), "data": people.source, "seed": seed},
        )
        write_whole(output, page.encode())
    if curve_table is not None:
        write_table(curve_table, {name: np.array(part) for name, part in flat(curve).items()})
    lines = [f"{people.size} from {people.source}", str(curve)]
    if tested is not None:
        lines.append(
            "\nHeld out: error / how far all but 5% of the people are from a common rate / how\n"
            f"far noise alone would make it\n{tested_table(tested)}"
        )
    lines += ["", wrapped(f"alpha = {chosen.alpha:g}: {chosen.statement()}")]
    lines += [f"report: {output}"] if output else []
    lines += [f"table: {curve_table}"] if curve_table else []
    facts = {
        "data": people.source,
        "people": len(people.X),
        "tasks": people.Y.column_names,
        "features": people.X.column_names,
        "unconstrained": {"error": curve.unconstrained.error, "spread": curve.unconstrained.spread},
        "points": [point.to_dict() | {"met": point.certificate.met} for point in curve],
        "held_out": {
            name: asdict(corner) for name, corner in (tested.corners if tested else {}).items()
        },
        "choice": {"alpha": chosen.alpha, "statement": chosen.statement()},
        "report": output,
        "table": curve_table,
    }
    text = "\n".join(lines)
    answer(facts, text, as_json=as_json, aside=STREAM in (output, curve_table))
    if not all(point.certificate.met for point in curve):
        raise typer.Exit(NOT_MET)


def read_alphas(text: str) -> list[float]:
    """Read "first:last:step", ends included, or "a,b,c".

    Examples
    --------
    >>> read_alphas("0.02:0.04:0.01"), read_alphas("0.1, 0.2")
    ([0.02, 0.03, 0.04], [0.1, 0.2])
    """
    try:
        parts = [float(part) for part in text.replace(":", ",").split(",")]
    except ValueError:
        parts = []
    if not parts or (":" in text and (len(parts) != 3 or "," in text)):
        raise InputError(
            f"--alphas must be first:last:step or numbers with commas between; got {text!r}."
        )
    if ":" not in text:
        return parts
    first, last, step = parts
    if step <= 0 or last < first or not np.isfinite(parts).all():
        raise InputError(f"--alphas must go up from first to last by a step > 0; got {text!r}.")
    count = int(np.floor((last - first) / step + 1e-9)) + 1
    if count > 1000:
        raise InputError(f"--alphas must be 1000 at most; {text!r} makes {count}.")
    return [round(first + step * place, 10) for place in range(count)]


def _held_out(
    people: People,
    test: str | None,
    test_labels: str | None,
    new_tasks: Sequence[str] | None,
    kind: dict[str, Any],
) -> dict[str, Any]:
    """Return what the curve is to be tested on."""
    new: dict[str, Any] = {} if people.later is None else {"Y_new_tasks": people.later}
    if test is None:
        return new
    named = {"features": [*people.X.column_names], "tasks": [*people.Y.column_names]}
    later = [*people.later.column_names] if new_tasks else None
    others = read_people(
        test, labels=test_labels, new_tasks=later, **{**kind, **named, "ignore": None}
    )
    new |= {
        "X_new": others.X.select(people.X.column_names),
        "Y_new_people": others.Y.select(people.Y.column_names),
    }
    if later:
        new["Y_new_both"] = others.later.select(later)
    return new


def tested_table(tested: Any) -> str:
    """Return error and nearness of every corner, a row for each alpha."""
    corners = {name: corner for name, corner in tested.corners.items() if name != "training"}
    spoken = {"people": "new people", "tasks": "new tasks", "both": "both new"}
    head = ["alpha", *(spoken[name] for name in corners)]
    rows = [
        [
            exactly(alpha),
            *(
                " / ".join(figure(part[k]) for part in (one.error, one.near, one.floor))
                for one in corners.values()
            ),
        ]
        for k, alpha in enumerate(tested.training.alpha)
    ]
    return table(head, rows)


def flat(curve: Any) -> dict[str, list[Any]]:
    """Return the curve's table with one number in a cell."""
    columns: dict[str, list[Any]] = {}
    for name, values in curve.to_dict().items():
        if isinstance(values[0], tuple):
            for place, part in enumerate(zip(*values, strict=True)):
                columns[f"{name}_{place + 1}"] = list(part)
        else:
            columns[name] = values
    return columns


def command_line() -> str:
    """Return the command as it was given."""
    import shlex

    return shlex.join(["averagefair", *sys.argv[1:]])
