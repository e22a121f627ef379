"""``averagefair export``: a model's classifiers for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from averagefair._util.text import counted
from averagefair.cli import options as given
from averagefair.cli.console import answer, wrapped
from averagefair.errors import InputError
from averagefair.files.reading import STREAM
from averagefair.files.writing import check_output, write_table

ENDINGS = (".csv", ".onnx")


def export(
    model: Annotated[str, typer.Argument(help="Model file.", show_default=False)],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write. The ending decides the format: .csv is a table of rules, .onnx a "
            "file that programs run.",
            rich_help_panel=given.OUTPUT,
        ),
    ],
    trust: given.Trust = None,
    as_json: given.AsJson = False,
) -> None:
    """Write a model's classifiers for other programs.

    A .csv file has a row for each task: the coefficients of linear classifiers, or the thresholds
    of --oracle stump. It needs fixed decisions. An .onnx file also holds trees and the chances of
    drawn decisions; it needs pip install 'averagefair[onnx]'.

    Example: averagefair export fair.model -o rules.csv
    """
    from averagefair.export import rule_table, to_onnx
    from averagefair.game.mixture import Mixture
    from averagefair.persistence import read_model

    if output == STREAM:
        raise InputError(
            "the ending decides the format: name a file that ends in "
            f"{' or '.join(ENDINGS)}, e.g. -o rules.csv."
        )
    check_output(output, ENDINGS, [model])
    found = read_model(model, trusted=trust or ())
    classifiers = found.classifiers
    tasks = counted(len(classifiers.task_names), "task")
    if Path(output).suffix.lower() == ".csv":
        columns = rule_table(classifiers)
        write_table(output, columns)
        kind = "thresholds" if "direction" in columns else "coefficients"
        what = f"{kind} of {tasks}"
    else:
        fingerprint = None if isinstance(found.model, Mixture) else found.model.fingerprint_
        to_onnx(classifiers, output, fingerprint=fingerprint)
        kind = "decisions" if classifiers.is_fixed else "chances"
        what = f"ONNX model; output: {kind} for {tasks}"
    facts = {
        "tasks": list(classifiers.task_names),
        "features": classifiers.feature_names,
        "kind": kind,
        "output": output,
    }
    answer(facts, wrapped(f"{what}\nwritten: {output}"), as_json=as_json)
