"""``averagefair extend``: fair classifiers for new tasks."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from averagefair._util.text import counted as amount
from averagefair.cli import options as given
from averagefair.cli.console import answer, wrapped
from averagefair.errors import InputError
from averagefair.files.positive import check_positive
from averagefair.files.reading import read_file
from averagefair.files.table import FileTable
from averagefair.files.writing import resolved


def extend(
    model: Annotated[
        str, typer.Argument(help="Model file saved with --extendable.", show_default=False)
    ],
    labels: Annotated[
        str,
        typer.Argument(
            help="Table of the training people's labels on the new tasks; blanks allowed.",
            show_default=False,
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Model file to write.",
            rich_help_panel=given.OUTPUT,
        ),
    ],
    tasks: given.SomeTasks = None,
    counted: Annotated[
        str | None,
        typer.Option(
            "--counted",
            metavar="FILE",
            help="Model file to write in which the new tasks count, to extend next; it may be "
            "MODEL. Default: none.",
            rich_help_panel=given.OUTPUT,
        ),
    ] = None,
    balance: Annotated[
        bool | None,
        typer.Option(
            "--balance/--no-balance",
            help="Count what the training people have had so far, so that everybody's running rate "
            "keeps the promise. Default: yes if decisions are fixed.",
            show_default=False,
            rich_help_panel=given.LEARNING,
        ),
    ] = None,
    id_column: given.Id = None,
    positive: given.Positive = None,
    trust: given.Trust = None,
    as_json: given.AsJson = False,
) -> None:
    """Make classifiers for new tasks from the training people's labels on them.

    Nothing is solved again: the learned mapping turns any task into its fair classifiers, and with
    fixed decisions one is chosen for each task. Fit the model with --extendable first.

    Example: averagefair extend fair.model new_labels.csv -o new_tasks.model --counted fair.model
    """
    from averagefair.game.mixture import Mixture
    from averagefair.people.frames import Table
    from averagefair.persistence import read_model, save

    given.check_model(output, [model, labels])
    if counted is not None:
        if balance is False:
            raise InputError(
                "--counted is for tasks that count, and with --no-balance they do not. Leave one "
                "of the two out."
            )
        given.check_model(counted, [labels])
        if resolved(counted) == resolved(output):
            raise InputError(
                f"--counted and --output both name {counted}, and each writes a model of its own. "
                "Name two files."
            )
    found = read_model(model, trusted=trust or ())
    if isinstance(found.model, Mixture):
        raise InputError(
            f"{model} holds classifiers that extend made; these cannot be extended. Extend the "
            "model that fit saved."
        )
    origin = found.manifest["origin"]
    id_column = id_column or found.id_column
    table = read_file(labels).by(id_column)
    names = table.select(tasks, "--tasks") if tasks else table.others([])
    if not names:
        raise InputError(f"{table.source}: no column is left to be a task. Add label columns.")
    people = found.model.training_individuals()
    words = check_positive(positive or (), [table.columns[name] for name in names])
    Y = table.labels(names, words)[_rows(table, people, model)]
    fixed = found.model.certificate_.decisions == "fixed"
    if counted is not None and not fixed:
        raise InputError(
            f"--counted is for fixed decisions, and {model} draws its decisions: nothing is "
            "counted. Leave --counted out."
        )
    later = found.model.extend(Table(Y, tuple(names), None), balance=balance)
    balanced = fixed and balance is not False
    save(later, output, origin={**origin, "extended": table.source})
    if counted is not None:
        save(found.model, counted, extendable=True, origin=origin)
    reached = _reached(found.model, later, Y)
    blank = int(np.isnan(Y).sum())
    text = (
        f"{amount(len(names), 'new task')} for {people.n:,} training people from {table.source} "
        f"({amount(blank, 'label')} blank)\n"
        f"on these people: error {reached['error']:.4f}, spread {reached['spread']:.4f} "
        "(a spread over few tasks is partly noise)\n"
        f"{_how_counted(found.model, model, counted, balanced)}"
        f"saved: {output}"
    )
    facts = {
        "tasks": names,
        "people": people.n,
        "blank": blank,
        **reached,
        "fixed": fixed,
        "running": _running(found.model) if balanced else None,
        "model": output,
        "counted": counted,
    }
    answer(facts, wrapped(text), as_json=as_json)


def _rows(table: FileTable, people: Any, model: str) -> Any:
    """Return each training person's row in the table."""
    if table.ids is None:
        if len(table) != people.n:
            raise InputError(
                f"{table.source} has {amount(len(table), 'row')}; {model} was learned from "
                f"{amount(people.n, 'person', 'people')}. Give one row for each person, "
                "in the same order, or join by --id."
            )
        return np.arange(people.n)
    row_of = {person: row for row, person in enumerate(table.ids.tolist())}
    known = [*map(str, people.individual_names.tolist())]
    missing = [person for person in known if person not in row_of]
    if missing:
        raise InputError(
            f"{table.source} has no row for {table.id_column} {missing[0]} of {model} "
            f"({len(missing):,} missing in all). Give a row for each training person, blank where "
            "the label is unknown."
        )
    wanted = set(known)
    for row, person in enumerate(table.ids.tolist()):
        if person not in wanted:
            table.refuse(
                row,
                str(table.id_column),
                f"{person} is not a training person of {model}. Remove the row",
            )
    return np.array([row_of[person] for person in known], dtype=np.intp)


def _running(model: Any) -> dict[str, float]:
    """Return the number of tasks so far, and the largest and smallest running rates."""
    rates = model.balance_.rates
    return {
        "tasks": model.balance_.tasks,
        "lowest": float(np.nanmin(rates, initial=1.0)),
        "highest": float(np.nanmax(rates, initial=0.0)),
    }


def _how_counted(model: Any, source: str, counted: str | None, balance: bool) -> str:
    """Say how the classifiers were chosen, and where the new tasks count."""
    if model.certificate_.decisions != "fixed":
        return "decisions are drawn by their chances\n"
    if not balance:
        return "one classifier was chosen for each task; what people had before does not count\n"
    so_far = _running(model)
    words = (
        f"one classifier was chosen for each task; over all {so_far['tasks']:g} tasks so far, "
        f"running rates go from {so_far['lowest']:.1%} to {so_far['highest']:.1%}\n"
    )
    if counted is None:
        return f"{words}the new tasks do not count in {source}; --counted {source} counts them\n"
    return f"{words}the new tasks count in {counted}: extend it next\n"


def _reached(model: Any, later: Any, Y: Any) -> dict[str, float]:
    from averagefair.game.measure import Meter
    from averagefair.game.rates import Rates

    sample = model.training_individuals().with_labels(Y, task_names=later.task_names)
    measured = Meter(sample, Rates.of(model.rate)).mix(later.parts())
    return {"error": measured.error, "spread": measured.spread}
