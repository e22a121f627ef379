"""``averagefair fit``: learn the classifiers of all tasks and save them."""

from __future__ import annotations

from typing import Annotated

import typer

from averagefair.cli import options as given
from averagefair.cli.console import ENDED_EARLY, NOT_MET, answer, wrapped
from averagefair.cli.encoding import encoded_facts, encoded_lines
from averagefair.cli.evidence import check_evidence_folder, write_evidence
from averagefair.cli.joining import check_streams
from averagefair.cli.long_labels import long_columns
from averagefair.cli.progress import progress
from averagefair.cli.promised import (
    changes,
    changes_lines,
    check_against,
    in_options,
    look_facts,
    promised,
    read_against,
)
from averagefair.cli.training_input import read_training_input
from averagefair.errors import InputError, some_of


def fit(
    data: given.Data,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Model file to write.",
            rich_help_panel=given.OUTPUT,
        ),
    ],
    tasks: given.Tasks = None,
    labels: given.Labels = None,
    features: given.Features = None,
    ignore: given.Ignore = None,
    id_column: given.Id = None,
    positive: given.Positive = None,
    encode: given.Encode = False,
    long: given.Long = False,
    person: given.Person = None,
    task: given.Task = None,
    label: given.Label = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            help="Largest distance of anybody's rate from a common rate. Default: 0.05, if nothing "
            "else is promised.",
            rich_help_panel=given.PROMISE,
        ),
    ] = None,
    max_rate: Annotated[
        float | None,
        typer.Option(
            help="Highest rate that anybody may have, in place of equal rates; with --worst-off, "
            "the highest mean rate of the worst-off.",
            rich_help_panel=given.PROMISE,
        ),
    ] = None,
    worst_off: given.WorstOff = None,
    price: Annotated[
        float | None,
        typer.Option(
            help="Points of overall error that a point of the worst-off's mean rate is worth. "
            "Default: 0.1, with --worst-off and without --max-rate.",
            rich_help_panel=given.PROMISE,
        ),
    ] = None,
    minimax: Annotated[
        bool,
        typer.Option(
            "--minimax",
            help="Highest rate as low as possible, in place of equal rates.",
            rich_help_panel=given.PROMISE,
        ),
    ] = False,
    no_harm: given.NoHarm = None,
    against: given.Against = None,
    who: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of people to list, by id: N who gain most and N who lose most. Default: "
            "none.",
            rich_help_panel=given.OUTPUT,
        ),
    ] = None,
    rate: given.Rates = ["error"],  # noqa: B006 - typer copies it
    beta: given.Beta = 0.0,
    max_influence: given.MaxInfluence = None,
    oracle: given.Oracle = None,
    l2: given.L2 = None,
    feature_map: given.Map = given.MapName.none,
    solver: given.Solver = given.SolverName.columns,
    decisions: given.Decisions = None,
    max_rounds: given.MaxRounds = None,
    time_limit: given.TimeLimit = None,
    seed: given.Seed = 0,
    extendable: given.Extendable = False,
    evidence: given.Evidence = None,
    checkpoint: given.CheckpointFolder = None,
    resume: given.Resume = False,
    checkpoint_every: given.CheckpointEvery = 10.0,
    quiet: given.Quiet = False,
    as_json: given.AsJson = False,
) -> None:
    """Learn classifiers for all tasks that keep a promise about everybody's rate.

    Promise one thing: --alpha (everybody within alpha of a common rate), --max-rate (nobody above
    a figure), --worst-off (a low mean rate of the worst-off) or --minimax. Prints the promise, the
    result, who pays, what is proved and why the run stopped; saves the model.
    Exit code 1: the promise is not kept; the best answer is saved. Exit code 4: the run ended
    early, by --time-limit, --max-rounds, Ctrl-C or SIGTERM; the best answer so far is saved.

    Example: averagefair fit people.csv --tasks 'task_*' --id person --worst-off 0.1 -o fair.model
    """
    from averagefair.estimator import AverageFairClassifier
    from averagefair.persistence import save
    from averagefair.pose import short_form

    promise = promised(
        minimax=minimax,
        alpha=alpha,
        beta=beta,
        max_influence=max_influence,
        max_rate=max_rate,
        worst_off=worst_off,
        price=price,
        no_harm=no_harm,
    )
    if who is not None and who < 1:
        raise InputError(f"--who must be a number of people, 1 or more; got {who}.")
    columns = long_columns(long, labels, person=person, task=task, label=label)
    id_column = id_column or (None if columns is None else columns.person)
    check_against(against, id_column)
    given.check_model(output, [data, labels, against])
    check_evidence_folder(evidence, [output])
    check_streams(data, labels, against)
    kept = given.checkpoint(checkpoint, resume, checkpoint_every)
    people = read_training_input(
        data,
        tasks=tasks,
        features=features,
        ignore=ignore,
        id_column=id_column,
        labels=labels,
        positive=positive,
        encode=encode,
        long=columns,
    )
    known_rates, known_files = read_against(against, people, given.rates(rate))
    how = given.solver(solver, max_rounds, time_limit)
    with (
        in_options(),
        people.naming_cells(),
        progress(
            not quiet and not as_json,
            [promise.value],
            max_rounds=how.max_rounds,
            time_limit=time_limit,
            promise=promise,
        ) as callback,
    ):
        model = AverageFairClassifier(
            **short_form(promise),
            rate=given.rates(rate),
            oracle=given.mapped(feature_map, given.oracle(oracle, l2), people.n),
            solver=how,
            decisions=None if decisions is None else decisions.value,
            random_state=given.seed(seed),
            callback=callback,
            checkpoint=kept,
            encode=encode,
        ).fit(people.X, people.Y, ids=people.names, against=known_rates)
    origin = {"data": people.source, "id": id_column}
    save(model, output, extendable=extendable, origin=origin)
    proof = write_evidence(model, evidence, given.origin([*people.files, *known_files]))
    known = model.certificate_
    unconstrained = model.undefined_individuals_.tolist()
    look = model.first_look_
    lines = [] if look is None else [look.statement()]
    lines += [people.size, *encoded_lines(model.encoder_), f"rate: {', '.join(rate)}", str(known)]
    if unconstrained:
        lines.append(
            f"not constrained, since no label of theirs counts: {len(unconstrained):,} of the "
            f"people ({some_of(unconstrained)})"
        )
    early = given.ended_early(known, solver, max_rounds)
    listed = [] if who is None else changes(model, people.names, rate, who)
    tables = changes_lines(listed)
    ending = [f"saved: {output}", *proof, *given.leave(kept, early)]
    facts = {
        "data": people.source,
        "people": people.n,
        "tasks": list(model.task_names_),
        "features": people.feature_names,
        "encoded": encoded_facts(model.encoder_),
        "left_out": list(people.notes),
        "rate": given.rates(rate),
        "promise": promise.to_dict(),
        "first_look": look_facts(look),
        "certificate": known.to_dict(),
        "who": listed,
        "unconstrained": unconstrained,
        "model": output,
        "extendable": extendable,
        "evidence": evidence,
        "ended_early": early,
    }
    text = "\n".join([wrapped("\n".join(lines)), *tables, wrapped("\n".join(ending))])
    answer(facts, text, as_json=as_json)
    if early or not known.met:
        raise typer.Exit(ENDED_EARLY if early else NOT_MET)
