"""``averagefair reproduce``: the paper's experiments."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from averagefair.cli import options as given
from averagefair.errors import InputError


class Experiment(str, Enum):  # noqa: UP042 - typer shows the value
    """The paper's two populations."""

    communities = "communities"
    synthetic = "synthetic"


def reproduce(
    experiment: Annotated[Experiment, typer.Argument(show_default=False)],
    as_json: given.AsJson = False,
) -> None:
    """Run the paper's experiments. Not in this version yet.

    Example: averagefair reproduce synthetic
    """
    raise InputError(
        f"the experiments on the {experiment.value} population are not in this version. What it "
        "has: `averagefair demo` for the synthetic population, and "
        "`averagefair.datasets.communities_split()` in Python for the paper's data."
    )
