"""``averagefair reproduce``: the paper's experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from averagefair.cli import options as given
from averagefair.cli.progress import bar, in_minutes
from averagefair.cli.speech import ENDED_EARLY, STOPPED, answer, command_line, complain, wrapped
from averagefair.errors import InputError, extra
from averagefair.versions import versions

if TYPE_CHECKING:
    from averagefair.experiments.plan import Job, Tables
    from averagefair.experiments.story import Story


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
            show_default="the file AVERAGEFAIR_DATA leads to, else a download from UCI",
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

    With --checkpoint each piece of work is kept once it is done. Exit code 4: ended early, by
    Ctrl-C or SIGTERM, with what was done kept there.

    Example: averagefair reproduce synthetic --quick
    """
    from averagefair.experiments.folder import REPORT, make_folder, remove_empty, write_results
    from averagefair.experiments.kept import KeptJobs
    from averagefair.experiments.plan import gather
    from averagefair.experiments.work import cores, do

    given.checkpoint(checkpoint, resume)
    chosen = experiment.value
    if chosen == "synthetic" and data is not None:
        raise InputError("--data goes with `reproduce communities`; synthetic data are drawn.")
    if chosen == "communities" and large:
        raise InputError("--large goes with `reproduce synthetic`; leave it out.")
    for module, part in (("matplotlib", "plots"), ("pyarrow", "files"), ("jinja2", "report")):
        extra(module, part)  # now, not when it comes to writing
    start = perf_counter()
    made = _communities(data, quick) if chosen == "communities" else _synthetic(quick, large)
    target = output or f"results/{chosen}"
    kept = None
    if checkpoint is not None:
        run = {"experiment": chosen, "quick": quick, **made.facts, "versions": versions()}
        kept = KeptJobs(checkpoint, run, resume=resume)
    make_folder(target)
    try:
        with _progress(not quiet and not as_json, made.jobs) as done:
            tables = gather(do(made.jobs, processes=jobs or cores(), done=done, kept=kept))
    except KeyboardInterrupt as end:
        remove_empty(target)
        if kept is None:
            complain("stopped; nothing was written.")
            raise typer.Exit(getattr(end, "code", STOPPED)) from None
        kept.close()
        complain(
            f"stopped; what was done is kept in {checkpoint}. Go on with: --checkpoint "
            f"{checkpoint} --resume"
        )
        raise typer.Exit(ENDED_EARLY) from None
    story = made.tell(tables)
    facts = {
        "command": command_line(),
        "experiment": chosen,
        "quick": quick,
        **made.facts,
        "seconds": perf_counter() - start,
    }
    files = write_results(target, tables, story, facts)
    if kept is not None:
        kept.clear()
    text = "\n\n".join([story.title, story.lead, story.summary(), f"report: {target}/{REPORT}"])
    answer({**facts, "folder": target, "files": files}, wrapped(text), as_json=as_json)


class _Reproduction(NamedTuple):
    """What to do, how to tell of it, and where it comes from."""

    jobs: list[Job]
    tell: Callable[[Tables], Story]
    facts: dict[str, Any]


def _communities(data: str | None, quick: bool) -> _Reproduction:
    from averagefair.datasets import load_communities
    from averagefair.experiments.figures import SEED
    from averagefair.experiments.plan import FULL, QUICK, communities_jobs
    from averagefair.experiments.story import communities_story

    table, scale = load_communities(data), QUICK if quick else FULL
    facts = {
        "data": "Communities and Crime",
        "data sha256": table.digest,
        "data as published by UCI": table.is_original,
        "seeds": {"solvers": SEED, "random splits": list(range(scale.splits))},
        "settings": scale.of("communities"),
    }
    jobs = communities_jobs(table, scale)
    return _Reproduction(jobs, partial(communities_story, scale=scale), facts)


def _synthetic(quick: bool, large: bool) -> _Reproduction:
    from averagefair.datasets import make_synthetic
    from averagefair.experiments.figures import SEED
    from averagefair.experiments.plan import FULL, QUICK, SYNTHETIC, synthetic_jobs
    from averagefair.experiments.story import synthetic_story

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
    return _Reproduction(jobs, partial(synthetic_story, scale=scale), facts)


@contextmanager
def _progress(shown: bool, jobs: list[Job]) -> Iterator[Any]:
    """Show which job was finished last, and how long the rest will take."""
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
