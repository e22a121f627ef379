"""``averagefair reproduce``: the paper's experiments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import Enum
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from averagefair.cli import options as given
from averagefair.cli.progress import bar, in_minutes
from averagefair.cli.speech import answer, command_line, wrapped
from averagefair.errors import InputError, extra

if TYPE_CHECKING:
    from averagefair.experiments.plan import Job


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
    quiet: given.Quiet = False,
    as_json: given.AsJson = False,
) -> None:
    """Run the paper's experiments; write tables, figures and a report into a folder.

    Example: averagefair reproduce synthetic --quick
    """
    from averagefair.experiments import folder as results
    from averagefair.experiments.plan import FULL, QUICK, gather
    from averagefair.experiments.work import cores, do

    chosen = experiment.value
    if chosen == "synthetic" and data is not None:
        raise InputError("--data goes with `reproduce communities`; synthetic data are drawn.")
    if chosen == "communities" and large:
        raise InputError("--large goes with `reproduce synthetic`; leave it out.")
    extra("matplotlib", "plots")  # not only when it comes to drawing
    scale = QUICK if quick else FULL
    start = perf_counter()
    if chosen == "communities":
        plan, tell, facts = _communities(data, scale)
    else:
        plan, tell, facts = _synthetic(scale, large)
    target = output or f"results/{chosen}"
    results.make_folder(target)
    with _progress(not quiet and not as_json, plan) as done:
        tables = gather(do(plan, processes=jobs or cores(), done=done))
    story = tell(tables, scale)
    facts = {
        "command": command_line(),
        "experiment": chosen,
        "quick": quick,
        **facts,
        "settings": asdict(scale),
        "seconds": perf_counter() - start,
    }
    written = results.write_results(target, tables, story, facts)
    files = {kind: len(names) for kind, names in written.items()}
    listed = (
        f"{target}: {files['tables']} tables, {files['figures']} figures, {results.REPORT}, "
        f"{results.MANIFEST}"
    )
    told = [f"{section.title}. {section.paragraphs[1]}" for section in story.sections[:4]]
    text = "\n\n".join([story.title, *told, listed])
    answer({**facts, "folder": target, "files": written}, wrapped(text), as_json=as_json)


def _communities(data: str | None, scale: Any) -> tuple[list[Job], Any, dict[str, Any]]:
    from averagefair.datasets import load_communities
    from averagefair.experiments.plan import communities_jobs
    from averagefair.experiments.story import communities_story

    table = load_communities(data)
    facts = {
        "data": "Communities and Crime",
        "data sha256": table.digest,
        "data as published by UCI": table.is_original,
        "seeds": "solvers 0; random split k: [k, people]",
    }
    return communities_jobs(table, scale), communities_story, facts


def _synthetic(scale: Any, large: bool) -> tuple[list[Job], Any, dict[str, Any]]:
    from averagefair.datasets import make_synthetic
    from averagefair.experiments.plan import SYNTHETIC, synthetic_jobs
    from averagefair.experiments.story import synthetic_story

    facts = {
        "data": f"make_synthetic({', '.join(f'{k}={v}' for k, v in SYNTHETIC.items())})",
        "data sha256": make_synthetic(**SYNTHETIC).digest,
        "seeds": "solvers 0; population k: k",
        "large": large,
    }
    return synthetic_jobs(scale, large=large), synthetic_story, facts


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
