"""``averagefair frontier``: the trade-off between error and fairness, and its report."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
import typer

from averagefair._util.text import exactly, figure, table
from averagefair.cli import options as given
from averagefair.cli.console import ENDED_EARLY, NOT_MET, answer, command_line, wrapped
from averagefair.cli.joining import check_streams
from averagefair.cli.progress import progress
from averagefair.cli.training_input import TrainingInput, read_training_input
from averagefair.errors import InputError, some_of
from averagefair.files.reading import STREAM
from averagefair.files.writing import TABLES, check_output, write_table, write_whole


def frontier(
    data: given.Data,
    tasks: given.Tasks,
    output: given.Report = None,
    alphas: Annotated[
        str, typer.Option(help="Alphas: first:last:step, or a list such as 0.02,0.05,0.1.")
    ] = "0.02:0.22:0.01",
    test: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Table of held-out people, with the same columns."),
    ] = None,
    new_tasks: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS",
            help=f"Held-out tasks: {given.MATCH}. Not used in training; the learned mapping makes "
            "their classifiers.",
        ),
    ] = None,
    choice: Annotated[
        float | None, typer.Option(help="Alpha to describe in words. Default: the middle one.")
    ] = None,
    labels: given.Labels = None,
    test_labels: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Table of the labels of --test, if --labels is used."),
    ] = None,
    features: given.Features = None,
    ignore: given.Ignore = None,
    id_column: given.Id = None,
    rate: given.Rates = ["error"],  # noqa: B006 - typer copies it
    beta: given.Beta = 0.0,
    max_influence: given.MaxInfluence = None,
    oracle: given.Oracle = None,
    l2: given.L2 = None,
    feature_map: given.Map = given.MapName.none,
    max_rounds: given.MaxRounds = None,
    time_limit: given.TimeLimit = None,
    seed: given.Seed = 0,
    checkpoint: given.CheckpointFolder = None,
    resume: given.Resume = False,
    checkpoint_every: given.CheckpointEvery = 10.0,
    curve_table: Annotated[
        str | None,
        typer.Option("--table", metavar="FILE", help="Table to write: the curve, CSV or Parquet."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Model file to write: the model of --choice."),
    ] = None,
    extendable: given.Extendable = False,
    title: given.Title = None,
    quiet: given.Quiet = False,
    as_json: given.AsJson = False,
) -> None:
    """Learn at many alphas and show what each one costs, on training and held-out data.

    Exit code 1: some alpha was not reached. Exit code 4: the run ended early, by --time-limit,
    --max-rounds, Ctrl-C or SIGTERM; the best answers so far are written.

    Example: averagefair frontier people.csv --tasks 'task_*' --id person --test others.csv
    -o report.html
    """
    from averagefair.evaluation.generalisation import generalisation
    from averagefair.frontier import frontier as solve

    grid = read_alphas(alphas)
    if choice is not None and not np.isclose(grid, choice, rtol=0.0, atol=1e-9).any():
        raise InputError(
            f"--choice must be one of the alphas, {', '.join(map(str, grid))}; got {choice}."
        )
    if test_labels is None and not (test is None or labels is None):
        raise InputError("with --labels, --test needs a table of labels too: add --test-labels.")
    if test_labels is not None and (test is None or labels is None):
        raise InputError("--test-labels needs --test and --labels: add these, or leave it out.")
    outputs = Outputs(output, curve_table, model, extendable, title)
    outputs.check([data, labels, test, test_labels], as_json=as_json)
    check_streams(data, labels, test, test_labels)
    kept = given.checkpoint(checkpoint, resume, checkpoint_every)
    people = read_training_input(
        data,
        tasks=tasks,
        features=features,
        ignore=ignore,
        id_column=id_column,
        labels=labels,
        new_tasks=new_tasks,
    )
    new = _held_out(people, test, test_labels, id_column)
    columns = given.SolverName.columns
    how = given.solver(columns, max_rounds, time_limit)
    with progress(
        not quiet and not as_json, grid, max_rounds=how.max_rounds, time_limit=time_limit
    ) as callback:
        curve = solve(
            people.X,
            people.Y,
            grid,
            rate=given.rates(rate),
            oracle=given.mapped(feature_map, given.oracle(oracle, l2), people.n),
            solver=how,
            beta=beta,
            max_influence=max_influence,
            random_state=given.seed(seed),
            callback=callback,
            ids=people.names,
            checkpoint=kept,
        )
    chosen = curve.at(curve.values[len(curve) // 2] if choice is None else choice)
    tested = generalisation(curve, **new) if new else None
    outputs.write(curve, chosen, tested, people, id_column)
    early = any(given.ended_early(point.certificate, columns, max_rounds) for point in curve)
    lines = [*_lines(curve, chosen, tested, people, rate), *outputs.lines(chosen)]
    answer(
        _facts(curve, chosen, tested, people) | outputs.facts() | {"ended_early": early},
        "\n".join([*lines, *given.leave(kept, early)]),
        as_json=as_json,
        aside=STREAM in (output, curve_table),
    )
    if early or not all(point.certificate.met for point in curve):
        raise typer.Exit(ENDED_EARLY if early else NOT_MET)


@dataclass(frozen=True)
class Outputs:
    """The files that the command writes."""

    report: str | None
    table: str | None
    model: str | None
    extendable: bool
    title: str | None

    def check(self, inputs: list[str | None], *, as_json: bool) -> None:
        """Refuse, before any work, outputs that could not be written."""
        given.check_streams_out(self.report, self.table, as_json=as_json)
        if self.report is not None:
            check_output(self.report, (".html",), inputs)
        if self.table is not None:
            check_output(self.table, TABLES, inputs)
        if self.model is not None:
            given.check_model(self.model, inputs)
        elif self.extendable:
            raise InputError("--extendable needs --model: name a model file, e.g. fair.model.")

    def write(
        self, curve: Any, chosen: Any, tested: Any, people: TrainingInput, id_column: str | None
    ) -> None:
        """Write all files."""
        if self.model is not None:
            from averagefair.persistence import save

            origin = {"data": people.source, "id": id_column}
            save(chosen.model, self.model, extendable=self.extendable, origin=origin)
        if self.report is not None:
            from averagefair.showing.report import frontier_report

            page = frontier_report(
                curve,
                people.Y,
                measured=tested,
                choice=chosen.value,
                title=self.title or f"Fairness and error: {people.source}",
                settings={"command": command_line(), **given.origin(people.files)},
            )
            write_whole(self.report, page.encode())
        if self.table is not None:
            write_table(self.table, {name: np.array(part) for name, part in flat(curve).items()})

    def facts(self) -> dict[str, Any]:
        """Return the names of the files, for JSON."""
        return {"report": self.report, "table": self.table, "model": self.model}

    def lines(self, chosen: Any) -> list[str]:
        """Return a line for each file."""
        lines = [f"saved: {self.model}, the model of alpha {chosen.value:g}"] if self.model else []
        lines += [f"report: {self.report}"] if self.report else []
        return lines + ([f"table: {self.table}"] if self.table else [])


def _lines(
    curve: Any, chosen: Any, tested: Any, people: TrainingInput, rate: list[str]
) -> list[str]:
    lines = [wrapped(people.size), f"rate: {', '.join(rate)}", str(curve)]
    if tested is not None:
        lines.append(f"\n{_explain(tested)}\n{tested_table(tested)}")
    return [*lines, "", wrapped(f"alpha = {chosen.value:g}: {chosen.statement()}")]


def _explain(tested: Any) -> str:
    """Explain the columns of the held-out table."""
    text = "Held out: error / distance from a common rate that covers 95% of the people"
    fresh = [name for name, corner in tested.corners.items() if not corner.learned_tasks]
    if fresh:
        text += " / that distance if all true rates were equal (noise alone; new tasks only)"
    if tested.people is not None:
        text += (
            ". For new people, these are observed rates on the training tasks. They contain noise, "
            "and say nothing about other tasks (see --new-tasks)"
        )
    return wrapped(f"{text}.")


def _facts(curve: Any, chosen: Any, tested: Any, people: TrainingInput) -> dict[str, Any]:
    free, corners = curve.unconstrained, {} if tested is None else tested.corners
    return {
        "data": people.source,
        "people": people.n,
        "tasks": people.task_names,
        "features": people.feature_names,
        "unconstrained": {"error": free.error, "spread": free.spread},
        "points": [point.to_dict() | {"met": point.certificate.met} for point in curve],
        "held_out": {name: asdict(corner) for name, corner in corners.items()},
        "choice": {"alpha": chosen.value, "statement": chosen.statement()},
    }


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
            "--alphas must be first:last:step, e.g. 0.02:0.22:0.01, or a list such as 0.05,0.1; "
            f"got {text!r}."
        )
    if ":" not in text:
        return parts
    first, last, step = parts
    if not (step > 0 and first <= last <= 0.5):
        raise InputError(
            "--alphas must go up from first to last, 0.5 at most, by a step > 0, e.g. "
            f"0.02:0.22:0.01; got {text!r}."
        )
    if (last - first) / step >= 1000:
        raise InputError(f"--alphas lists more than 1000 values: {text!r}. Use a larger step.")
    count = int((last - first) / step + 1e-9) + 1
    return [round(first + step * number, 10) for number in range(count)]


def _held_out(
    people: TrainingInput,
    test: str | None,
    test_labels: str | None,
    id_column: str | None,
) -> dict[str, Any]:
    """Return the held-out people and tasks, as ``generalisation`` takes them."""
    new = {} if people.Y_new_tasks is None else {"Y_new_tasks": people.Y_new_tasks}
    if test is None:
        return new
    others = read_training_input(
        test,
        labels=test_labels,
        features=people.feature_names,
        tasks=people.task_names,
        new_tasks=people.new_task_names,
        id_column=id_column,
        exact=True,
    )
    _refuse_known(people, others)
    new |= {"X_new": others.X, "Y_new_people": others.Y}
    return new if others.Y_new_tasks is None else new | {"Y_new_both": others.Y_new_tasks}


def _refuse_known(people: TrainingInput, others: TrainingInput) -> None:
    """Refuse held-out people who are also training people."""
    if people.ids is None or others.ids is None:
        return
    known = set(people.ids.tolist())
    again = [person for person in others.ids.tolist() if person in known]
    if again:
        raise InputError(
            f"{others.source}: {len(again):,} held-out people are also in the training table "
            f"({some_of(again)}). Remove them from one of the tables."
        )


def tested_table(tested: Any) -> str:
    """Return the held-out table, a row for each alpha and a column for each corner.

    The corners are new people, new tasks, and both. A cell shows the error and the distance from a
    common rate that covers 95% of the people. On new tasks it also shows the floor: this distance
    if all true rates were equal.
    """
    from averagefair.evaluation.generalisation import CORNERS

    corners = {name: corner for name, corner in tested.corners.items() if name != "training"}
    head = ["alpha", *(CORNERS[name] for name in corners)]
    rows = [
        [
            exactly(alpha),
            *(
                " / ".join(figure(part[k]) for part in _shown(corner))
                for corner in corners.values()
            ),
        ]
        for k, alpha in enumerate(tested.training.value)
    ]
    return table(head, rows)


def _shown(corner: Any) -> tuple[Any, ...]:
    both = corner.error, corner.near
    return both if corner.learned_tasks else (*both, corner.floor)


def flat(curve: Any) -> dict[str, list[Any]]:
    """Return the curve's table, one number in each cell."""
    columns: dict[str, list[Any]] = {}
    for name, values in curve.to_dict().items():
        if isinstance(values[0], tuple):
            for number, part in enumerate(zip(*values, strict=True), 1):
                columns[f"{name}_{number}"] = list(part)
        else:
            columns[name] = values
    return columns
