"""``averagefair predict``: decisions of a saved model, always the same for the same person."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from numpy.typing import NDArray

from averagefair._util.text import counted
from averagefair.cli import options as given
from averagefair.cli.console import answer
from averagefair.cli.encoding import encoder_columns
from averagefair.cli.training_input import naming_cells, raw_table
from averagefair.files.reading import STREAM
from averagefair.files.streaming import FileBlocks
from averagefair.files.writing import TABLES, check_output, writing_table


def predict(
    model: Annotated[str, typer.Argument(help="Model file.", show_default=False)],
    data: given.Data,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Table of decisions to write, CSV or Parquet; - is standard output.",
            rich_help_panel=given.OUTPUT,
        ),
    ],
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="Write the chance of deciding 1 instead of the decision.",
            rich_help_panel=given.OUTPUT,
        ),
    ] = False,
    id_column: given.Id = None,
    trust: given.Trust = None,
    as_json: given.AsJson = False,
) -> None:
    """Decide for each person and task.

    The same person always gets the same decisions. If the model was fitted with --decisions drawn,
    a draw depends only on the model's seed, the person's id and the task's name. The id column
    is the one the model was fitted with, or --id; without one, draws depend on the features.

    Example: averagefair predict fair.model people.csv -o decisions.parquet
    """
    from averagefair.people.frames import Table
    from averagefair.persistence import read_model

    check_output(output, TABLES, [model, data])
    given.check_streams_out(output, as_json=as_json)
    found = read_model(model, trusted=trust or ())
    classifiers = found.classifiers
    id_column = id_column or found.id_column
    encoder, people, ones = classifiers.encoder, 0, 0.0
    names = classifiers.feature_names if encoder is None else encoder_columns(encoder)
    with writing_table(output) as write:
        for part in FileBlocks(data).by(id_column):
            if names is None:  # the model was fitted on an array: take features in their order
                names = tuple(part.others([*classifiers.task_names]))
            part.require(names, "the model's feature")
            if encoder is None:
                X = Table(part.numbers(names), tuple(names), None)
            else:
                with naming_cells(part):
                    X = encoder.table(raw_table(part, names, encoder))
            cells: NDArray[Any] = (
                classifiers.decision_probability(X)
                if probabilities
                else classifiers.predict(X, part.ids)
            )
            columns = {} if id_column is None else {id_column: part.columns[id_column]}
            columns |= {name: cells[:, task] for task, name in enumerate(classifiers.task_names)}
            write(columns)
            people, ones = people + len(part), ones + float(cells.sum(dtype=float))
    what = "chances of deciding 1" if probabilities else "decisions"
    key = f"by column {id_column!r}" if id_column else "by their features (no --id)"
    how = "one classifier for each task" if classifiers.is_fixed else f"drawn for each person {key}"
    text = (
        f"{counted(people, 'person', 'people')} x "
        f"{counted(len(classifiers.task_names), 'task')}: {what}"
        f"{'' if probabilities else f', {how}'}\n"
        f"written: {output}"
    )
    facts = {
        "people": people,
        "tasks": list(classifiers.task_names),
        "kind": "probabilities" if probabilities else "decisions",
        "fixed": classifiers.is_fixed,
        "id": id_column,
        "share_of_ones": ones / (people * len(classifiers.task_names)),
        "output": output,
    }
    answer(facts, text, as_json=as_json, aside=output == STREAM)
