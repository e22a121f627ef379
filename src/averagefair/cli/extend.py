"""``averagefair extend``: fair classifiers for new tasks."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from averagefair._util.text import counted
from averagefair.cli import options as given
from averagefair.cli.console import answer, wrapped
from averagefair.errors import InputError
from averagefair.files.reading import read_file
from averagefair.files.table import FileTable


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
        str, typer.Option("--output", "-o", metavar="FILE", help="Model file to write.")
    ],
    tasks: given.SomeTasks = None,
    id_column: given.Id = None,
    trust: given.Trust = None,
    as_json: given.AsJson = False,
) -> None:
    """Make classifiers for new tasks from the training people's labels on them.

    Nothing is solved again: the learned mapping turns any task into its fair classifier. Fit the
    model with --extendable first.

    Example: averagefair extend fair.model new_labels.csv -o new_tasks.model
    """
    from averagefair.game.mixture import Mixture
    from averagefair.people.frames import Table
    from averagefair.persistence import read_model, save

    given.check_model(output, [model, labels])
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
    Y = table.labels(names)[_rows(table, people, model)]
    later = found.model.extend(Table(Y, tuple(names), None))
    save(later, output, origin={**origin, "extended": table.source})
    reached = _reached(found.model, later, Y)
    blank = int(np.isnan(Y).sum())
    text = (
        f"{counted(len(names), 'new task')} for {people.n:,} training people from {table.source} "
        f"({counted(blank, 'label')} blank)\n"
        f"on these people: error {reached['error']:.4f}, spread {reached['spread']:.4f} "
        "(a spread over few tasks is partly noise)\n"
        f"saved: {output}"
    )
    facts = {"tasks": names, "people": people.n, "blank": blank, **reached, "model": output}
    answer(facts, wrapped(text), as_json=as_json)


def _rows(table: FileTable, people: Any, model: str) -> Any:
    """Return each training person's row in the table."""
    if table.ids is None:
        if len(table) != people.n:
            raise InputError(
                f"{table.source} has {counted(len(table), 'row')}; {model} was learned from "
                f"{counted(people.n, 'person', 'people')}. Give one row for each person, "
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


def _reached(model: Any, later: Any, Y: Any) -> dict[str, float]:
    from averagefair.game.measure import Meter
    from averagefair.game.rates import Rates

    sample = model.training_individuals().with_labels(Y, task_names=later.task_names)
    measured = Meter(sample, Rates.of(model.rate)).mix(later.parts())
    return {"error": measured.error, "spread": measured.spread}
