"""``averagefair fit``: learn the classifiers of all tasks and save them."""

from __future__ import annotations

from typing import Annotated

import typer

from averagefair.cli import options as given
from averagefair.cli.console import ENDED_EARLY, NOT_MET, answer, wrapped
from averagefair.cli.progress import progress
from averagefair.cli.training_input import read_training_input
from averagefair.errors import some_of


def fit(
    data: given.Data,
    tasks: given.Tasks,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Model file to write.")
    ],
    labels: given.Labels = None,
    features: given.Features = None,
    ignore: given.Ignore = None,
    id_column: given.Id = None,
    alpha: Annotated[
        float, typer.Option(help="Largest distance of anybody's rate from a common rate.")
    ] = 0.05,
    rate: given.Rates = ["error"],  # noqa: B006 - typer copies it
    beta: given.Beta = 0.0,
    max_influence: given.MaxInfluence = None,
    oracle: given.Oracle = None,
    l2: given.L2 = None,
    feature_map: given.Map = given.MapName.none,
    solver: given.Solver = given.SolverName.columns,
    max_rounds: given.MaxRounds = None,
    time_limit: given.TimeLimit = None,
    seed: given.Seed = 0,
    extendable: given.Extendable = False,
    checkpoint: given.CheckpointFolder = None,
    resume: given.Resume = False,
    checkpoint_every: given.CheckpointEvery = 10.0,
    quiet: given.Quiet = False,
    as_json: given.AsJson = False,
) -> None:
    """Learn classifiers for all tasks so that everybody's rate is within alpha of a common rate.

    Prints the request, the result, what is proved and why the run stopped; saves the model.
    Exit code 1: alpha was not reached; the best answer is saved. Exit code 4: the run ended early,
    by --time-limit, --max-rounds, Ctrl-C or SIGTERM; the best answer so far is saved.

    Example: averagefair fit people.csv --tasks 'task_*' --id person --alpha 0.05 -o fair.model
    """
    from averagefair.estimator import AverageFairClassifier
    from averagefair.persistence import save

    given.check_model(output, [data, labels])
    kept = given.checkpoint(checkpoint, resume, checkpoint_every)
    people = read_training_input(
        data, tasks=tasks, features=features, ignore=ignore, id_column=id_column, labels=labels
    )
    how = given.solver(solver, max_rounds, time_limit)
    with progress(
        not quiet and not as_json, [alpha], max_rounds=how.max_rounds, time_limit=time_limit
    ) as callback:
        model = AverageFairClassifier(
            alpha=alpha,
            rate=given.rates(rate),
            oracle=given.mapped(feature_map, given.oracle(oracle, l2), people.n),
            solver=how,
            beta=beta,
            max_influence=max_influence,
            random_state=given.seed(seed),
            callback=callback,
            checkpoint=kept,
        ).fit(people.X, people.Y, ids=people.names)
    origin = {"data": people.source, "id": id_column}
    save(model, output, extendable=extendable, origin=origin)
    known = model.certificate_
    unconstrained = model.undefined_individuals_.tolist()
    lines = [people.size, f"rate: {', '.join(rate)}", str(known)]
    if unconstrained:
        lines.append(
            f"not constrained, since no label of theirs counts: {len(unconstrained):,} of the "
            f"people ({some_of(unconstrained)})"
        )
    early = given.ended_early(known, solver, max_rounds)
    lines += [f"saved: {output}", *given.leave(kept, early)]
    facts = {
        "data": people.source,
        "people": people.n,
        "tasks": list(model.task_names_),
        "features": people.feature_names,
        "rate": given.rates(rate),
        "certificate": known.to_dict(),
        "unconstrained": unconstrained,
        "model": output,
        "extendable": extendable,
        "ended_early": early,
    }
    answer(facts, wrapped("\n".join(lines)), as_json=as_json)
    if early or not known.met:
        raise typer.Exit(ENDED_EARLY if early else NOT_MET)
