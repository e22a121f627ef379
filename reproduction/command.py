"""The command line: which experiments to run, where results go, exit codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from averagefair._util.versions import versions
from averagefair.cli import options as given
from averagefair.cli.console import ENDED_EARLY, STOPPED, answer, command_line, complain, wrapped
from averagefair.cli.progress import bar, in_minutes
from averagefair.errors import InputError, extra

if TYPE_CHECKING:
    from reproduction.plan import Job, Tables
    from reproduction.report import Report

PROGRAM = ("python", "-m", "reproduction")


def make_app() -> typer.Typer:
    """Return the application that ``python -m reproduction`` runs."""
    from averagefair.cli.app import Command

    app = typer.Typer(
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.command(cls=Command)(reproduce)
    return app


class Experiment(str, Enum):  # noqa: UP042 - typer shows the value
    """The paper's two populations."""

    communities = "communities"
    synthetic = "synthetic"


def reproduce(
    experiment: Annotated[Experiment, typer.Argument(show_default=False)],
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Results folder.",
            show_default="results/communities or results/synthetic",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Communities and Crime: UCI's communities.data, its zip, or a CSV of it.",
            show_default="the file that AVERAGEFAIR_DATA names, else a download from UCI",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A look at everything in seconds: fewer rounds, draws.")
    ] = False,
    large: Annotated[
        bool,
        typer.Option(
            "--large", help="synthetic: also up to 100,000 people and 1,000 tasks (10 minutes)."
        ),
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Processes to use; results do not depend on it.",
            show_default="one for each processor",
        ),
    ] = None,
    checkpoint: given.CheckpointFolder = None,
    resume: given.Resume = False,
    quiet: given.Quiet = False,
    as_json: given.AsJson = False,
) -> None:
    """Run the paper's experiments; write tables, figures and a report into a folder.

    --checkpoint keeps each finished job in a folder. Exit code 4: stopped early by Ctrl-C or
    SIGTERM; the finished jobs are in that folder.

    Example: python -m reproduction synthetic --quick
    """
    from reproduction.folder import REPORT, make_folder, remove_empty, write_results
    from reproduction.job_cache import JobCache
    from reproduction.plan import gather
    from reproduction.work import cores, do

    given.checkpoint(checkpoint, resume)
    chosen = experiment.value
    if chosen == "synthetic" and data is not None:
        raise InputError("--data goes with `communities`; synthetic data are drawn.")
    if chosen == "communities" and large:
        raise InputError("--large goes with `synthetic`; leave it out.")
    for module, part in (("matplotlib", "plots"), ("pyarrow", "files"), ("jinja2", "report")):
        extra(module, part)  # fail now, not after the experiments
    start = perf_counter()
    made = _communities(data, quick) if chosen == "communities" else _synthetic(quick, large)
    target = output or f"results/{chosen}"
    cache = None
    if checkpoint is not None:
        run = {"experiment": chosen, "quick": quick, **made.facts, "versions": versions()}
        cache = JobCache(checkpoint, run, resume=resume)
    make_folder(target)
    try:
        with _progress(not quiet and not as_json, made.jobs) as done:
            tables = gather(do(made.jobs, processes=jobs or cores(), done=done, cache=cache))
    except KeyboardInterrupt as end:
        remove_empty(target)
        if cache is None:
            complain("stopped; nothing was written.")
            raise typer.Exit(getattr(end, "code", STOPPED)) from None
        cache.close()
        complain(
            f"stopped; finished jobs are kept in {checkpoint}. Go on with: --checkpoint "
            f"{checkpoint} --resume"
        )
        raise typer.Exit(ENDED_EARLY) from None
    report = made.report(tables)
    facts = {
        "command": command_line(*PROGRAM),
        "experiment": chosen,
        "quick": quick,
        **made.facts,
        "seconds": perf_counter() - start,
    }
    files = write_results(target, tables, report, facts)
    if cache is not None:
        cache.clear()
    text = "\n\n".join([report.title, report.lead, f"report: {target}/{REPORT}"])
    answer({**facts, "folder": target, "files": files}, wrapped(text), as_json=as_json)


class _Reproduction(NamedTuple):
    """The jobs, the function that makes a report of their tables, and facts for the manifest."""

    jobs: list[Job]
    report: Callable[[Tables], Report]
    facts: dict[str, Any]


def _communities(data: str | None, quick: bool) -> _Reproduction:
    from averagefair.datasets import load_communities
    from averagefair.experiments.figures import SEED
    from reproduction.plan import FULL, QUICK, communities_jobs
    from reproduction.report import communities_report

    table, scale = load_communities(data), QUICK if quick else FULL
    facts = {
        "data": "Communities and Crime",
        "data sha256": table.digest,
        "data as published by UCI": table.is_original,
        "seeds": {"solvers": SEED, "random splits": list(range(scale.splits))},
        "settings": scale.of("communities"),
    }
    jobs = communities_jobs(table, scale)
    return _Reproduction(jobs, partial(communities_report, scale=scale), facts)


def _synthetic(quick: bool, large: bool) -> _Reproduction:
    from averagefair.datasets import make_synthetic
    from averagefair.experiments.figures import SEED
    from reproduction.plan import FULL, QUICK, SYNTHETIC, synthetic_jobs
    from reproduction.report import synthetic_report

    scale = QUICK if quick else FULL
    facts = {
        "large": large,
        "data": f"make_synthetic({', '.join(f'{k}={v}' for k, v in SYNTHETIC.items())})",
        "data sha256": make_synthetic(**SYNTHETIC).digest,
        "seeds": {
            "solvers": SEED,
            "population": SYNTHETIC["random_state"],
            "populations of the sweeps": "0, 1, 2, ...",
        },
        "settings": scale.of("synthetic", large=large),
    }
    jobs = synthetic_jobs(scale, large=large)
    return _Reproduction(jobs, partial(synthetic_report, scale=scale), facts)


@contextmanager
def _progress(shown: bool, jobs: list[Job]) -> Iterator[Any]:
    """Show the job that finished last, and how long the rest will take."""
    with bar(shown) as line:
        if line is None:
            yield None
            return
        start, total = perf_counter(), sum(job.effort for job in jobs)
        behind = 0.0
        line(f"{len(jobs)} pieces of work", 0.0)

        def done(job: Job) -> None:
            nonlocal behind
            behind += job.effort
            left = (perf_counter() - start) / behind * (total - behind)
            line(f"done: {job.name} ~{in_minutes(left)} left", behind / total)

        yield done
