"""Options that several commands share: said once, meant alike.

What learns is imported when it is asked for: ``--help`` and completion need none of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from averagefair.errors import InputError
from averagefair.files.reading import STREAM
from averagefair.files.table import FileTable
from averagefair.files.writing import TABLES, check_output
from averagefair.rates import RATES, meant, spoken

if TYPE_CHECKING:
    from averagefair.certificate import Certificate
    from averagefair.persistence import Checkpoint


class OracleName(str, Enum):  # noqa: UP042 - typer shows the value
    """What learns a task at given costs."""

    polished = "polished"
    regression = "regression"
    logistic = "logistic"
    stump = "stump"


class MapName(str, Enum):  # noqa: UP042
    """What is made of the features before anything is learned from them."""

    none = "none"
    splines = "splines"
    polynomials = "polynomials"
    kernel = "kernel"


class SolverName(str, Enum):  # noqa: UP042
    """How the classifiers are mixed."""

    columns = "columns"
    published = "published"


ROUNDS = 1000
KINDS = [spoken(name) for name in RATES]
MATCH = "a column's name, or a pattern such as 'task_*'; may be repeated"

Data = Annotated[
    str,
    typer.Argument(
        help="A table of people, CSV or Parquet; - is standard input.", show_default=False
    ),
]
Tasks = Annotated[
    list[str],
    typer.Option("--tasks", "-t", metavar="COLUMNS", help=f"Labels, 0/1 or blank: {MATCH}."),
]
SomeTasks = Annotated[
    list[str] | None,
    typer.Option(
        "--tasks", "-t", metavar="COLUMNS", help=f"{MATCH.capitalize()}. Default: all others."
    ),
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        "--features",
        "-f",
        metavar="COLUMNS",
        help=f"Numbers to learn from: {MATCH}. Default: all other columns.",
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="COLUMNS", help=f"Columns that are neither: {MATCH}."),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="The column that says who a row is. Tables are joined, and draws keyed, by it.",
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="The labels, where they stand in a table of their own; joined by --id."
    ),
]
OneRate = Annotated[
    str,
    typer.Option(
        metavar="RATE",
        autocompletion=lambda: KINDS,
        help=f"Which mistakes count: {', '.join(KINDS)}.",
    ),
]
Rates = Annotated[
    list[str],
    typer.Option(
        "--rate",
        metavar="RATE",
        autocompletion=lambda: KINDS,
        help=f"Which mistakes count: {', '.join(KINDS)}. Repeat it to hold several rates to alpha "
        "at once.",
    ),
]
Beta = Annotated[float, typer.Option(help="The share of people who may lie outside alpha.")]
MaxInfluence = Annotated[
    float | None,
    typer.Option(help="c: nobody's multiplier above c/n; those who cost more stay outside."),
]
Oracle = Annotated[
    OracleName | None,
    typer.Option(
        help="What learns one task: least squares on costs (regression), logistic regression on "
        "costs (logistic), the better of both improved by a local search (polished), all of them "
        "heuristics; or the exact best threshold on one feature (stump). Default: polished; with "
        "--solver published, regression.",
        show_default=False,
    ),
]
L2 = Annotated[
    float | None,
    typer.Option(
        "--l2",
        help="Penalty on large coefficients, of --oracle regression (default 0) or logistic "
        "(default 1, on standardised features).",
        show_default=False,
    ),
]
Map = Annotated[
    MapName,
    typer.Option(
        "--map",
        help="What to make of the features first, so that --oracle can learn curves: splines "
        "(smooth curves along each feature), polynomials (squares and products of two), kernel "
        "(likeness to 100 of the people, whose features are then in the model).",
    ),
]
Trust = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TYPE",
        help="A type that the model's feature map may hold beside those known to be harmless; "
        "may be repeated. Accept only what you know.",
    ),
]
Solver = Annotated[
    SolverName,
    typer.Option(help="Column generation, or the setting of the authors' published runs."),
]
MaxRounds = Annotated[
    int | None, typer.Option(help="Stop after so many rounds.", show_default=str(ROUNDS))
]
TimeLimit = Annotated[float | None, typer.Option(help="Stop after so many seconds.")]
Seed = Annotated[int, typer.Option(help="Where draws start from.")]
Report = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="The report to write, one HTML file; - is standard output.",
    ),
]
Extendable = Annotated[
    bool,
    typer.Option(
        "--extendable",
        help="Store the training people in the model, so that `extend` can learn new tasks. Mind "
        "that these are people's data.",
    ),
]
Title = Annotated[str | None, typer.Option(help="The title of the report.")]
Confidence = Annotated[float, typer.Option(help="Of intervals and bounds.")]
CheckpointFolder = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="FOLDER",
        help="Keep what is found on the way there, so that the run can go on if it is ended; "
        "emptied once all is done.",
    ),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on with the run that --checkpoint holds, if it holds one."),
]
CheckpointEvery = Annotated[
    float,
    typer.Option(metavar="SECONDS", help="How often --checkpoint is written at least."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress line.")]


def rates(chosen: list[str]) -> Any:
    """Return one rate's name, or the list of several."""
    names = [one_rate(name) for name in chosen]
    return names[0] if len(names) == 1 else names


def one_rate(name: str) -> str:
    """Return the name of a rate as the library has it."""
    known = name.replace("-", "_")
    if known not in RATES:
        near = meant(name)
        hint = f" Did you mean {spoken(near)}?" if near else ""
        raise InputError(f"--rate must be one of {', '.join(KINDS)}; got {name!r}.{hint}")
    return known


def oracle(name: OracleName | None, l2: float | None) -> Any:
    """Return the oracle of that name; None is the solver's usual one."""
    from averagefair.oracles import LogisticOracle, RegressionOracle, StumpOracle, default_oracle

    penalised: dict[OracleName | None, Any] = {
        OracleName.regression: RegressionOracle,
        OracleName.logistic: LogisticOracle,
    }
    if name in penalised:
        return penalised[name]() if l2 is None else penalised[name](l2)
    if l2 is not None:
        raise InputError(
            "--l2 is a penalty of --oracle regression and --oracle logistic; leave it out with "
            "others."
        )
    others = {OracleName.polished: default_oracle, OracleName.stump: StumpOracle}
    return None if name is None else others[name]()


def mapped(name: MapName, oracle: Any, people: int) -> Any:
    """Return the oracle behind the feature map of that name."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler

    from averagefair.oracles import FeatureMap

    made = {
        MapName.splines: SplineTransformer(),
        MapName.polynomials: make_pipeline(
            StandardScaler(), PolynomialFeatures(include_bias=False)
        ),
        MapName.kernel: make_pipeline(
            StandardScaler(), Nystroem(n_components=min(100, max(1, people)))
        ),
    }
    return oracle if name is MapName.none else FeatureMap(made[name], oracle)


def solver(name: SolverName, max_rounds: int | None, time_limit: float | None) -> Any:
    """Return the solver of that name."""
    from averagefair.solvers import ColumnGeneration, ExponentiatedGradient

    kind = ColumnGeneration if name is SolverName.columns else ExponentiatedGradient
    return kind(max_rounds=ROUNDS if max_rounds is None else max_rounds, time_limit=time_limit)


def ended_early(certificate: Certificate, name: SolverName, max_rounds: int | None) -> bool:
    """Return whether a run was ended by a limit or from outside, before its own end.

    To play all rounds is the own end of the authors' setting, unless it was told how many.
    """
    from averagefair.solvers import StopReason

    reason = certificate.stop_reason
    own_end = name is SolverName.published and max_rounds is None
    return reason.cut_short or (reason is StopReason.ROUNDS and not own_end)


def checkpoint(folder: str | None, resume: bool, every: float = 10.0) -> Checkpoint | None:
    """Return the checkpoint asked for; refuse one that could not be written."""
    if folder is None:
        if resume:
            raise InputError("--resume goes on with the run in a folder: name it by --checkpoint.")
        return None
    from averagefair.persistence import Checkpoint

    kept = Checkpoint(folder, resume=resume, every=every)
    kept.check()
    return kept


def leave(kept: Checkpoint | None, early: bool) -> list[str]:
    """Empty a checkpoint that is needed no more; else say how to go on from it."""
    if kept is None:
        return []
    if early:
        return [f"checkpoint: {kept.folder}; go on with: --checkpoint {kept.folder} --resume"]
    kept.clear()
    return []


def origin(tables: Sequence[FileTable]) -> dict[str, str]:
    """Return what a report tells of the files it was made from: names and hashes."""
    return {table.source: f"sha256 {table.digest}" for table in tables}


def check_model(path: str, inputs: Sequence[str | None]) -> None:
    """Refuse a name that no model file should have, or that cannot be written."""
    if path == STREAM:
        raise InputError("a model is not text: give -o a file name.")
    if path.lower().endswith((*TABLES, ".html", ".json")):
        raise InputError(f"{path} is to hold a model, no table or page; name it e.g. fair.model.")
    check_output(path, inputs=inputs)


def seed(number: int) -> int:
    """Return a seed that NumPy takes."""
    if not 0 <= number < 2**32:
        raise InputError(f"--seed must be a whole number from 0 to {2**32 - 1}; got {number}.")
    return number


def check_streams_out(*paths: str | None, as_json: bool) -> None:
    """Refuse to write two things to standard output."""
    if sum(path == STREAM for path in paths) + as_json > 1:
        raise InputError(
            "standard output holds one thing: JSON (--json) or one file named -; give file names "
            "for the others."
        )
