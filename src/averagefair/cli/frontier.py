"""``averagefair frontier``: the trade-off between error and fairness, and its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
import typer

from averagefair._util.text import exactly, figure, table
from averagefair.cli import options as given
from averagefair.cli.console import (
    ENDED_EARLY,
    NOT_MET,
    WIDTH,
    answer,
    command_line,
    wrapped,
)
from averagefair.cli.encoding import encoded_facts, encoded_lines
from averagefair.cli.joining import check_streams
from averagefair.cli.long_labels import long_columns
from averagefair.cli.progress import cross_progress, progress
from averagefair.cli.promised import (
    LISTS,
    check_against,
    each_pays,
    in_options,
    look_facts,
    pays_table,
    read_against,
    varied,
)
from averagefair.cli.training_input import TrainingInput, read_training_input
from averagefair.errors import InputError, some_of, warn
from averagefair.files.reading import STREAM
from averagefair.files.table import FileTable
from averagefair.files.writing import TABLES, check_output, write_table, write_whole


def frontier(
    data: given.Data,
    tasks: given.Tasks = None,
    output: given.Report = None,
    alphas: Annotated[
        str | None,
        typer.Option(
            help="Alphas of equal rates: first:last:step, or a list such as 0.02,0.05,0.1.",
            show_default="0.02:0.22:0.01",
            rich_help_panel=given.PROMISE,
        ),
    ] = None,
    max_rates: Annotated[
        str | None,
        typer.Option(
            help="Caps, written like --alphas, in place of equal rates: nobody's rate is above the "
            "cap; with --worst-off, their mean rate is not.",
            rich_help_panel=given.PROMISE,
        ),
    ] = None,
    worst_off: given.WorstOff = None,
    prices: Annotated[
        str | None,
        typer.Option(
            help="Prices, written like --alphas, with --worst-off: points of overall error that a "
            "point of the worst-off's mean rate is worth.",
            show_default="0.05,0.1,0.25,0.5,1",
            rich_help_panel=given.PROMISE,
        ),
    ] = None,
    no_harm: given.NoHarm = None,
    against: given.Against = None,
    test: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Table of held-out people, with the same columns.",
            rich_help_panel=given.HELD_OUT,
        ),
    ] = None,
    new_tasks: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS",
            help=f"Held-out tasks: {given.MATCH}. Not used in training; the learned mapping makes "
            "their classifiers.",
            rich_help_panel=given.HELD_OUT,
        ),
    ] = None,
    cross: Annotated[
        bool,
        typer.Option(
            "--cross",
            help="Measure new people and tasks by cross-fitting: 15 more curves (fewer for few "
            "tasks), each learned without a part of the people and tasks.",
            rich_help_panel=given.HELD_OUT,
        ),
    ] = False,
    choice: Annotated[
        float | None,
        typer.Option(
            help="Alpha, cap or price to describe in words. Default: the middle one.",
            rich_help_panel=given.OUTPUT,
        ),
    ] = None,
    labels: given.Labels = None,
    test_labels: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Table of the labels of --test, if --labels is used.",
            rich_help_panel=given.HELD_OUT,
        ),
    ] = None,
    features: given.Features = None,
    ignore: given.Ignore = None,
    id_column: given.Id = None,
    positive: given.Positive = None,
    encode: given.Encode = False,
    long: given.Long = False,
    person: given.Person = None,
    task: given.Task = None,
    label: given.Label = None,
    rate: given.Rates = ["error"],  # noqa: B006 - typer copies it
    beta: given.Beta = 0.0,
    max_influence: given.MaxInfluence = None,
    oracle: given.Oracle = None,
    l2: given.L2 = None,
    feature_map: given.Map = given.MapName.none,
    decisions: given.Decisions = None,
    max_rounds: given.MaxRounds = None,
    time_limit: given.TimeLimit = None,
    seed: given.Seed = 0,
    checkpoint: given.CheckpointFolder = None,
    resume: given.Resume = False,
    checkpoint_every: given.CheckpointEvery = 10.0,
    curve_table: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="FILE",
            help="Table to write: the curve, CSV or Parquet.",
            rich_help_panel=given.OUTPUT,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Model file to write: the model of --choice.",
            rich_help_panel=given.OUTPUT,
        ),
    ] = None,
    extendable: given.Extendable = False,
    title: given.Title = None,
    quiet: given.Quiet = False,
    as_json: given.AsJson = False,
) -> None:
    """Learn at many alphas, caps or prices; show what each costs and who pays, also held out.

    Exit code 1: some promise is not kept. Exit code 4: the run ended early, by --time-limit,
    --max-rounds, Ctrl-C or SIGTERM; the best answers so far are written.

    Example: averagefair frontier people.csv --tasks 'task_*' --id person --test others.csv
    -o report.html
    """
    from averagefair.evaluation.cross_fitting import possible_folds
    from averagefair.frontier import frontier as solve

    promise, grid = varied(
        alphas,
        max_rates,
        prices,
        beta=beta,
        max_influence=max_influence,
        worst_off=worst_off,
        no_harm=no_harm,
    )
    figure_name = promise.parameter
    if choice is not None and not np.isclose(grid, choice, rtol=0.0, atol=1e-9).any():
        raise InputError(
            f"--choice must be one of the {LISTS[figure_name]}, {', '.join(map(str, grid))}; got "
            f"{choice}."
        )
    long_table = long_columns(long, labels, person=person, task=task, label=label)
    id_column = id_column or (None if long_table is None else long_table.person)
    check_against(against, id_column)
    if cross:
        _check_cross(against, test, new_tasks)
    if long and test is not None:
        test_labels = test_labels or labels  # a log may hold everybody's labels
    if test_labels is None and not (test is None or labels is None):
        raise InputError("with --labels, --test needs a table of labels too: add --test-labels.")
    if test_labels is not None and (test is None or labels is None):
        raise InputError("--test-labels needs --test and --labels: add these, or leave it out.")
    outputs = Outputs(output, curve_table, model, extendable, title)
    outputs.check([data, labels, test, test_labels, against], as_json=as_json)
    check_streams(data, labels, test, test_labels, against)
    kept = given.checkpoint(checkpoint, resume, checkpoint_every)
    reading: dict[str, Any] = {"positive": positive, "encode": encode, "long": long_table}
    people = read_training_input(
        data,
        tasks=tasks,
        features=features,
        ignore=ignore,
        id_column=id_column,
        labels=labels,
        new_tasks=new_tasks,
        **reading,
    )
    new = _held_out(people, test, test_labels, id_column, reading)
    folds = possible_folds(people.n, len(people.task_names)) if cross else None
    known_rates, rate_files = read_against(against, people, given.rates(rate))
    columns = given.SolverName.columns
    how = given.solver(columns, max_rounds, time_limit)
    with (
        in_options(**LISTS),
        people.naming_cells(),
        progress(
            not quiet and not as_json,
            grid,
            max_rounds=how.max_rounds,
            time_limit=time_limit,
            promise=promise,
        ) as callback,
    ):
        curve = solve(
            people.X,
            people.Y,
            grid,
            promise=promise,
            rate=given.rates(rate),
            oracle=given.mapped(feature_map, given.oracle(oracle, l2), people.n),
            solver=how,
            decisions=None if decisions is None else decisions.value,
            random_state=given.seed(seed),
            callback=callback,
            ids=people.names,
            against=known_rates,
            checkpoint=kept,
            encode=encode,
        )
    chosen = curve.at(curve.values[len(curve) // 2] if choice is None else choice)
    tested, ended = _measure(curve, new, people, folds, not quiet and not as_json)
    outputs.write(curve, chosen, tested, people, id_column, rate_files)
    early = ended or any(
        given.ended_early(point.certificate, columns, max_rounds) for point in curve
    )
    lines = [*_lines(curve, chosen, tested, people, rate), *outputs.lines(chosen)]
    answer(
        _facts(curve, chosen, tested, people) | outputs.facts() | {"ended_early": early},
        "\n".join([*lines, *given.leave(kept, early)]),
        as_json=as_json,
        aside=STREAM in (output, curve_table),
    )
    if early or not all(point.certificate.met for point in curve):
        raise typer.Exit(ENDED_EARLY if early else NOT_MET)


def _check_cross(against: str | None, test: str | None, new_tasks: list[str] | None) -> None:
    """Refuse what cross-fitting cannot measure."""
    if test is not None and new_tasks:
        raise InputError(
            "--cross measures new people and tasks, and so do --test and --new-tasks together: "
            "leave one of the three out."
        )
    if against is not None:
        raise InputError(
            "--cross compares with nothing asked, not with the rates of --against: leave one out."
        )


def _measure(
    curve: Any,
    new: dict[str, Any],
    people: TrainingInput,
    folds: tuple[int, int] | None,
    shown: bool,
) -> tuple[Any, bool]:
    """Return the curve's figures on new people and tasks, and whether Ctrl-C ended this."""
    from averagefair.evaluation.generalisation import generalisation

    if folds is not None:
        try:
            with (
                people.naming_cells(),
                cross_progress(
                    shown, curve.values, folds[0] * folds[1], curve[0].promise
                ) as callback,
            ):
                crossed = generalisation(
                    curve,
                    **new,
                    cross=(people.X, people.Y),
                    folds=folds,
                    callback=callback,
                )
                return crossed, False
        except KeyboardInterrupt:
            warn("cross-fitting was ended early, so its figures are missing.", UserWarning)
    return generalisation(curve, **new) if new else None, folds is not None


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
        self,
        curve: Any,
        chosen: Any,
        tested: Any,
        people: TrainingInput,
        id_column: str | None,
        others: Sequence[FileTable],
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
                settings={"command": command_line(), **given.origin([*people.files, *others])},
            )
            write_whole(self.report, page.encode())
        if self.table is not None:
            write_table(self.table, {name: np.array(part) for name, part in flat(curve).items()})

    def facts(self) -> dict[str, Any]:
        """Return the names of the files, for JSON."""
        return {"report": self.report, "table": self.table, "model": self.model}

    def lines(self, chosen: Any) -> list[str]:
        """Return a line for each file."""
        which = f"{chosen.promise.parameter.replace('_', ' ')} {chosen.value:g}"
        lines = [f"saved: {self.model}, the model of {which}"] if self.model else []
        lines += [f"report: {self.report}"] if self.report else []
        return lines + ([f"table: {self.table}"] if self.table else [])


def _lines(
    curve: Any, chosen: Any, tested: Any, people: TrainingInput, rate: list[str]
) -> list[str]:
    look = curve.first_look
    lines = [] if look is None else [wrapped(look.statement())]
    size = [people.size, *encoded_lines(chosen.model.encoder_)]
    lines += [wrapped("\n".join(size)), f"rate: {', '.join(rate)}", curve_text(curve)]
    which = f"{curve.parameter.replace('_', ' ')} = {chosen.value:g}"
    if tested is not None:
        lines.append(f"\n{_explain(curve, tested)}\n{tested_table(curve, tested)}")
        rows = _pays(curve, chosen, tested)
        if rows:
            against = "today's rates" if chosen.certificate.against_given else "nothing asked"
            lines.append(f"\nWho pays at {which}, compared with {against}:\n{pays_table(rows)}")
    return [*lines, "", wrapped(f"{which}: {chosen.statement()}")]


def _pays(curve: Any, chosen: Any, tested: Any) -> list[tuple[str, Any]]:
    """Return who pays at the chosen point, by the name of the people and tasks."""
    from averagefair.evaluation.generalisation import CORNERS

    place = curve.points.index(chosen)
    rows = [(CORNERS["training"], chosen.who_pays)]
    for name, corner in tested.corners.items():
        if name != "training" and corner.who_pays:
            rows.append((CORNERS[name], corner.who_pays[place]))
    return [(name, pays) for name, pays in rows if pays is not None]


MOST_IMPORTANT = (
    *("error", "spread", "reached", "worst_off", "better", "worse", "coin_flips", "outside"),
    *("common_rate", "gap", "columns", "seconds"),
)


def curve_text(curve: Any) -> str:
    """Return the curve's table with the most important columns, as many as fit 80 columns.

    The JSON and --table have all columns.
    """
    columns = curve.to_dict()
    for name in ("gap", "coin_flips"):
        if np.isnan(columns[name]).all():
            del columns[name]  # unknown at every point
    cells = {name: [_cell(name, part) for part in column] for name, column in columns.items()}
    shown = [curve.parameter]
    for name in MOST_IMPORTANT:
        kept = [own for own in cells if own in {*shown, name}]
        head = [own.replace("_", " ") for own in kept]
        made = table(head, zip(*(cells[own] for own in kept), strict=True))
        if len(made.splitlines()[0]) <= WIDTH:
            shown, text = kept, made
    free = curve.unconstrained
    return f"{text}\nunconstrained: error {free.error:.4f}, spread {free.spread:.4f}"


def _cell(name: str, value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(figure(part, 4) for part in value)
    if name in ("alpha", "max_rate", "price"):
        return exactly(value)
    if name in ("outside", "better", "worse"):
        return f"{value:.1%}"
    return str(value) if name == "columns" else figure(value, 2 if name == "seconds" else 4)


def _explain(curve: Any, tested: Any) -> str:
    """Explain the columns of the held-out table."""
    fresh = [name for name, corner in tested.corners.items() if not corner.learned_tasks]
    averages = ""
    if fresh and curve[0].certificate.decisions == "fixed":
        averages = " On new tasks, figures are averages over draws by the mapping's chances."
    if tested.both is not None and tested.both.cross_fitted:
        averages += f" New people and tasks: {tested.both.size}."
    if curve.parameter != "alpha":
        return wrapped(f"Held out: error / mean rate of the worst-off tenth.{averages}")
    text = "Held out: error / distance from a common rate that covers 95% of the people"
    if fresh:
        text += " / that distance if all true rates were equal (noise alone; new tasks only)"
    if tested.people is not None:
        text += (
            ". For new people, these are observed rates on the training tasks. They contain noise, "
            "and say nothing about other tasks (see --new-tasks)"
        )
    return wrapped(f"{text}.{averages}")


def _facts(curve: Any, chosen: Any, tested: Any, people: TrainingInput) -> dict[str, Any]:
    free, corners = curve.unconstrained, {} if tested is None else tested.corners
    return {
        "data": people.source,
        "people": people.n,
        "tasks": people.task_names,
        "features": people.feature_names,
        "encoded": encoded_facts(chosen.model.encoder_),
        "left_out": list(people.notes),
        "unconstrained": {"error": free.error, "spread": free.spread},
        "promise": chosen.promise.to_dict(),
        "first_look": look_facts(curve.first_look),
        "points": [point.to_dict() | _kept(point.certificate.to_dict()) for point in curve],
        "held_out": {name: asdict(corner) for name, corner in corners.items()},
        "choice": {curve.parameter: chosen.value, "statement": chosen.statement()},
    }


def _kept(certificate: dict[str, Any]) -> dict[str, Any]:
    """Return what a point's certificate adds to its row."""
    names = ("met", "promise", "reached", "who_pays", "decisions", "by_decisions", "by_chances")
    return {name: certificate[name] for name in names}


def _held_out(
    people: TrainingInput,
    test: str | None,
    test_labels: str | None,
    id_column: str | None,
    reading: dict[str, Any],
) -> dict[str, Any]:
    """Return the held-out people and tasks, as ``generalisation`` takes them."""
    new = {} if people.Y_new_tasks is None else {"Y_new_tasks": people.Y_new_tasks}
    if test is None:
        return new
    encoder = None
    if reading["encode"]:
        from averagefair.people.encoder import TableEncoder

        # The encoder of the models, so that errors come before anything is learned.
        with people.naming_cells():
            encoder = TableEncoder().fit(people.X)
    others = read_training_input(
        test,
        labels=test_labels,
        features=people.feature_names,
        tasks=people.task_names,
        new_tasks=people.new_task_names,
        id_column=id_column,
        exact=True,
        **(reading | {"encode": encoder or False}),
    )
    _refuse_known(people, others)
    with others.naming_cells():
        X_new = others.X if encoder is None else encoder.table(others.X)
    new |= {"X_new": X_new, "Y_new_people": others.Y}
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


def tested_table(curve: Any, tested: Any) -> str:
    """Return the held-out table, a row for each value and a column for each corner.

    The corners are new people, new tasks, and both. A cell shows the error. For equal rates it also
    shows the distance from a common rate that covers 95% of the people and, on new tasks, the
    floor: this distance if all true rates were equal. For other promises it shows the mean rate of
    the worst-off tenth.
    """
    from averagefair.evaluation.generalisation import CORNERS

    corners = {name: corner for name, corner in tested.corners.items() if name != "training"}
    equal = curve.parameter == "alpha"
    head = [curve.parameter.replace("_", " "), *(CORNERS[name] for name in corners)]
    rows = [
        [
            exactly(value),
            *(
                " / ".join(map(figure, _shown(corner, place, equal=equal)))
                for corner in corners.values()
            ),
        ]
        for place, value in enumerate(tested.training.value)
    ]
    return table(head, rows)


def _shown(corner: Any, place: int, *, equal: bool) -> list[float]:
    if not equal:
        pays = each_pays(corner.who_pays[place]) if corner.who_pays else ()
        worst = max((own.worst_off.after for own in pays), default=np.nan)
        return [corner.error[place], worst]
    both = [corner.error[place], corner.near[place]]
    return both if corner.learned_tasks else [*both, corner.floor[place]]


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
