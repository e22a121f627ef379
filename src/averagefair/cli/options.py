"""Options that several commands share, each with one name and one meaning.

Oracles and solvers are imported on demand: ``--help`` and completion need none of them.
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
from averagefair.game.rates import RATES, meant, spoken

if TYPE_CHECKING:
    from averagefair.game.certificate import Certificate
    from averagefair.persistence import Checkpoint


class OracleName(str, Enum):  # noqa: UP042 - typer shows the value
    """The learner of one task at given costs."""

    polished = "polished"
    regression = "regression"
    logistic = "logistic"
    stump = "stump"


class MapName(str, Enum):  # noqa: UP042
    """The transformation of the features before learning."""

    none = "none"
    splines = "splines"
    polynomials = "polynomials"
    kernel = "kernel"


class SolverName(str, Enum):  # noqa: UP042
    """The algorithm that mixes the classifiers."""

    columns = "columns"
    published = "published"


class DecisionsName(str, Enum):  # noqa: UP042
    """How decisions are made."""

    fixed = "fixed"
    drawn = "drawn"


DATA, PROMISE, LEARNING = "Data", "Promise", "Learning"
LIMITS, OUTPUT, QUESTION = "Limits and checkpoints", "Output", "Question"
HELD_OUT, PEOPLE = "New people and tasks", "Groups and features of people"
"""The groups of options on help pages."""
ROUNDS = 1000
KINDS = [spoken(name) for name in RATES]
MATCH = "a column name or a pattern such as 'task_*'; repeatable"

Data = Annotated[
    str,
    typer.Argument(
        help="Table of people: CSV, Parquet or Excel (people.xlsx#Sheet); - is standard input.",
        show_default=False,
    ),
]
Tasks = Annotated[
    list[str] | None,
    typer.Option(
        "--tasks",
        "-t",
        metavar="COLUMNS",
        help=f"Label columns (0, 1 or blank): {MATCH}. With --long: tasks; default: all.",
        show_default=False,
        rich_help_panel=DATA,
    ),
]
Positive = Annotated[
    list[str] | None,
    typer.Option(
        "--positive",
        metavar="WORD",
        help="Word that means 1, such as yes; every other word means 0. Repeatable. Default: "
        "labels are 0 and 1.",
        show_default=False,
        rich_help_panel=DATA,
    ),
]
Encode = Annotated[
    bool,
    typer.Option(
        "--encode",
        help="Encode words, dates and blanks among the features as numbers. The model stores how, "
        "so that `predict` reads the same columns.",
        rich_help_panel=DATA,
    ),
]
LONG = "Labels as a long table"
Long = Annotated[
    bool,
    typer.Option(
        "--long",
        help="The table of --labels has a row for each person and task.",
        rich_help_panel=LONG,
    ),
]
Person = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column with the person's id.", rich_help_panel=LONG),
]
Task = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column with the task.", rich_help_panel=LONG),
]
Label = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Column with the label: 0, 1 or blank.", rich_help_panel=LONG
    ),
]
SomeTasks = Annotated[
    list[str] | None,
    typer.Option(
        "--tasks",
        "-t",
        metavar="COLUMNS",
        help=f"Task columns: {MATCH}. Default: all other columns.",
        rich_help_panel=DATA,
    ),
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        "--features",
        "-f",
        metavar="COLUMNS",
        help=f"Feature columns (numbers; any with --encode): {MATCH}. Default: all other columns.",
        rich_help_panel=DATA,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore", metavar="COLUMNS", help=f"Columns to leave out: {MATCH}.", rich_help_panel=DATA
    ),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="Column with each person's id. It joins tables and fixes each person's draws.",
        rich_help_panel=DATA,
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Table of labels, if DATA does not hold them; joined by --id.",
        rich_help_panel=DATA,
    ),
]
OneRate = Annotated[
    str,
    typer.Option(
        metavar="RATE",
        autocompletion=lambda: KINDS,
        help=f"Mistakes that count: {', '.join(KINDS)}.",
        rich_help_panel=QUESTION,
    ),
]
Rates = Annotated[
    list[str],
    typer.Option(
        "--rate",
        metavar="RATE",
        autocompletion=lambda: KINDS,
        help=f"Mistakes that count: {', '.join(KINDS)}. Repeat the option to bound several rates "
        "at once.",
        rich_help_panel=PROMISE,
    ),
]
WorstOff = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Share of the people who count as worst-off, such as 0.1. Their mean rate is lowered, "
        "in place of equal rates.",
        rich_help_panel=PROMISE,
    ),
]
NoHarm = Annotated[
    float | None,
    typer.Option(
        metavar="TOL",
        help="Most that anybody's rate may rise above their rate with nothing asked, or above "
        "--against. Default: no such promise.",
        rich_help_panel=PROMISE,
    ),
]
Against = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Table of the rates that people have today, joined by --id: column 'rate', or a "
        "column named like each --rate. Who pays, and --no-harm, compare with them. Default: the "
        "rates with nothing asked.",
        rich_help_panel=PROMISE,
    ),
]
Beta = Annotated[
    float,
    typer.Option(
        help="Share of people allowed outside alpha or above max-rate.", rich_help_panel=PROMISE
    ),
]
MaxInfluence = Annotated[
    float | None,
    typer.Option(
        help="Bound c: no multiplier exceeds c/n. People who cost more stay outside alpha.",
        rich_help_panel=PROMISE,
    ),
]
Oracle = Annotated[
    OracleName | None,
    typer.Option(
        help="Learner of one task. Heuristic: regression (least squares on costs), logistic "
        "(logistic regression on costs), polished (the better of both, improved by a local "
        "search). Exact: stump (the best threshold on one feature). Default: polished; with "
        "--solver published, regression.",
        show_default=False,
        rich_help_panel=LEARNING,
    ),
]
L2 = Annotated[
    float | None,
    typer.Option(
        "--l2",
        help="Penalty on large coefficients. Default: 0 for --oracle regression; 1, on "
        "standardised features, for --oracle logistic.",
        show_default=False,
        rich_help_panel=LEARNING,
    ),
]
Map = Annotated[
    MapName,
    typer.Option(
        "--map",
        help="Transformation of the features, so that --oracle can learn curves: splines (a smooth "
        "curve along each feature), polynomials (squares, and products of two), kernel "
        "(similarity to 100 training people; the model stores their features).",
        rich_help_panel=LEARNING,
    ),
]
Trust = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TYPE",
        help="Type that the model file may hold beside those known to be harmless; repeatable. "
        "Accept only types you know.",
        rich_help_panel=DATA,
    ),
]
Solver = Annotated[
    SolverName,
    typer.Option(
        help="Algorithm: columns (column generation) or published (the setting of the authors' "
        "published runs).",
        rich_help_panel=LEARNING,
    ),
]
Decisions = Annotated[
    DecisionsName | None,
    typer.Option(
        help="How decisions are made: fixed (one classifier for each task, nothing is drawn) or "
        "drawn (by chance, as in the paper). Default: fixed; with --solver published, drawn.",
        show_default=False,
        rich_help_panel=LEARNING,
    ),
]
MaxRounds = Annotated[
    int | None,
    typer.Option(
        help="Largest number of rounds.", show_default=str(ROUNDS), rich_help_panel=LIMITS
    ),
]
TimeLimit = Annotated[
    float | None, typer.Option(help="Time limit in seconds. Default: none.", rich_help_panel=LIMITS)
]
Seed = Annotated[
    int, typer.Option(help="Seed of the search and of the draws.", rich_help_panel=LEARNING)
]
Report = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Report to write, one HTML file; - is standard output.",
        rich_help_panel=OUTPUT,
    ),
]
Extendable = Annotated[
    bool,
    typer.Option(
        "--extendable",
        help="Store the training people in the model, as `extend` needs them. The file then holds "
        "people's data.",
        rich_help_panel=OUTPUT,
    ),
]
Evidence = Annotated[
    str | None,
    typer.Option(
        "--evidence",
        metavar="FOLDER",
        help="Folder to write for a regulator or a reviewer: figures as JSON, a card of one page, "
        "the report, hashes. It names nobody. `averagefair evidence FOLDER` checks it.",
        rich_help_panel=OUTPUT,
    ),
]
Title = Annotated[str | None, typer.Option(help="Title of the report.", rich_help_panel=OUTPUT)]
Confidence = Annotated[
    float, typer.Option(help="Confidence of intervals and bounds.", rich_help_panel=QUESTION)
]
CheckpointFolder = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="FOLDER",
        help="Folder for intermediate results, so that an interrupted run can be resumed; emptied "
        "when the run is complete.",
        rich_help_panel=LIMITS,
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Resume the run in the --checkpoint folder, if there is one.",
        rich_help_panel=LIMITS,
    ),
]
CheckpointEvery = Annotated[
    float,
    typer.Option(
        metavar="SECONDS", help="Longest time between two checkpoints.", rich_help_panel=LIMITS
    ),
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print the result as one JSON object.", rich_help_panel=OUTPUT),
]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain", help="Print everything that was found, in words.", rich_help_panel=OUTPUT
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show no progress.", rich_help_panel=OUTPUT)
]


def rates(chosen: list[str]) -> Any:
    """Return one rate's name, or the list of several."""
    names = [one_rate(name) for name in chosen]
    return names[0] if len(names) == 1 else names


def one_rate(name: str) -> str:
    """Return the library's name of a rate."""
    known = name.replace("-", "_")
    if known not in RATES:
        near = meant(name)
        hint = f" Did you mean {spoken(near)}?" if near else ""
        raise InputError(f"--rate must be one of {', '.join(KINDS)}; got {name!r}.{hint}")
    return known


def oracle(name: OracleName | None, l2: float | None) -> Any:
    """Return the oracle of that name; None for the solver's default."""
    from averagefair.oracles import LogisticOracle, RegressionOracle, StumpOracle, default_oracle

    penalised: dict[OracleName | None, Any] = {
        OracleName.regression: RegressionOracle,
        OracleName.logistic: LogisticOracle,
    }
    if name in penalised:
        return penalised[name]() if l2 is None else penalised[name](l2)
    if l2 is not None:
        raise InputError(
            "--l2 works only with --oracle regression and --oracle logistic. Choose one of them, "
            "or leave --l2 out."
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
    """Return whether a limit or a signal ended the run before its own end.

    The authors' setting always runs all its rounds, so reaching the last round is an early end only
    with --max-rounds.
    """
    from averagefair.solvers import StopReason

    reason = certificate.stop_reason
    own_end = name is SolverName.published and max_rounds is None
    return reason.cut_short or (reason is StopReason.ROUNDS and not own_end)


def checkpoint(folder: str | None, resume: bool, every: float = 10.0) -> Checkpoint | None:
    """Return the requested checkpoint; refuse a folder that cannot be written."""
    if folder is None:
        if resume:
            raise InputError("--resume needs the folder of the run: add --checkpoint FOLDER.")
        return None
    from averagefair.persistence import Checkpoint

    kept = Checkpoint(folder, resume=resume, every=every)
    kept.check()
    return kept


def leave(kept: Checkpoint | None, early: bool) -> list[str]:
    """Empty the checkpoint of a complete run; for an early end, return how to resume it."""
    if kept is None:
        return []
    if early:
        return [f"checkpoint: {kept.folder}; resume with: --checkpoint {kept.folder} --resume"]
    kept.clear()
    return []


def origin(files: Sequence[FileTable]) -> dict[str, str]:
    """Return the names and hashes of the input files, for a report."""
    return {file.source: f"sha256 {file.digest}" for file in files}


def check_model(path: str, inputs: Sequence[str | None]) -> None:
    """Refuse an output that cannot be written, or that has the name of a table or page."""
    if path == STREAM:
        raise InputError("a model is not text: name a file, e.g. -o fair.model.")
    if path.lower().endswith((*TABLES, ".xlsx", ".html", ".json")):
        raise InputError(
            f"{path} is a name for a table or page, but the output is a model. Name it e.g. "
            "fair.model."
        )
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
            "standard output can hold only one result: JSON (--json) or one file named -. Name "
            "files for the others."
        )
