"""``averagefair audit``: how unfair decisions are, to whom, and how certain the finding is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from averagefair.cli import log_input as of_log
from averagefair.cli import options as given
from averagefair.cli.audit_input import read_audit_input
from averagefair.cli.console import answer, bulleted, command_line
from averagefair.cli.evidence import check_evidence_folder, write_evidence
from averagefair.cli.exits import Figure, check_gate, exit_code
from averagefair.cli.face import ending, in_rows, notes_line, short_rules
from averagefair.cli.joining import check_streams
from averagefair.cli.log_input import (
    LogInput,
    LogOptions,
    choose_way,
    event_options,
    log_files,
    person_column,
    read_log,
)
from averagefair.errors import InputError
from averagefair.files.reading import STREAM
from averagefair.files.writing import TABLES, check_output, table_content, write_whole

if TYPE_CHECKING:
    from averagefair.auditing import Audit
    from averagefair.auditing.gate import Gate
    from averagefair.auditing.rules import Rules
    from averagefair.files.table import FileTable
    from averagefair.people.frames import Table

GATES = "Gates, for builds"
Labels = Annotated[
    str | None,
    typer.Argument(
        metavar="LABELS",
        help="Table of true labels: 0, 1 or blank; one column for each task.",
        show_default=False,
    ),
]
Decisions = Annotated[
    str | None,
    typer.Argument(
        metavar="DECISIONS",
        help="Table of decisions: 0, 1, or the chance of deciding 1.",
        show_default=False,
    ),
]
CommonPeople = Annotated[
    bool,
    typer.Option(
        "--common-people",
        help="Leave out people who are in only one table.",
        rich_help_panel=given.DATA,
    ),
]
SkipUndecided = Annotated[
    bool,
    typer.Option(
        "--skip-undecided", help="Leave out cells without a decision.", rich_help_panel=given.DATA
    ),
]
LearnedTasks = Annotated[
    bool,
    typer.Option(
        "--learned-tasks",
        help="Say that the decisions come from a fair model learned from these tasks, even if "
        "the people are new. Observed rates are then shown, and no true rates are estimated.",
        rich_help_panel=given.QUESTION,
    ),
]
AuditSeed = Annotated[
    int,
    typer.Option("--seed", help="Seed of the test's random signs.", rich_help_panel=given.QUESTION),
]


def audit(
    labels: Labels = None,
    decisions: Decisions = None,
    log: of_log.Log = None,
    sums: of_log.Sums = None,
    person: of_log.Person = None,
    task: of_log.Task = None,
    label: of_log.Label = None,
    decision: of_log.Decision = None,
    time: of_log.Time = None,
    every: of_log.Every = None,
    weight: of_log.Weight = None,
    positive: of_log.Positive = None,
    output: given.Report = None,
    id_column: given.Id = None,
    tasks: given.SomeTasks = None,
    ignore: given.Ignore = None,
    rate: given.OneRate = "error",
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Table with the group of each person.",
            rich_help_panel=given.PEOPLE,
        ),
    ] = None,
    group_columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS",
            help="Columns that hold groups, in --groups if given (default: all), else in LABELS; "
            "repeatable.",
            rich_help_panel=given.PEOPLE,
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Table with features of each person, numbers and words. Rules on them say who has "
            "high rates; each rule is confirmed on other people and tasks.",
            rich_help_panel=given.PEOPLE,
        ),
    ] = None,
    features_ignore: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS",
            help=f"Columns of --features to leave out: {given.MATCH}.",
            rich_help_panel=given.PEOPLE,
        ),
    ] = None,
    common_people: CommonPeople = False,
    skip_undecided: SkipUndecided = False,
    alpha: Annotated[
        float | None,
        typer.Option(
            help="Request to check: everybody's rate is within alpha of a common rate. It counts "
            "for the outcome.",
            rich_help_panel=given.QUESTION,
        ),
    ] = None,
    beta: Annotated[
        float | None,
        typer.Option(
            help="Share of people allowed outside alpha. Default: 0.",
            rich_help_panel=given.QUESTION,
        ),
    ] = None,
    learned_tasks: LearnedTasks = False,
    confidence: given.Confidence = 0.95,
    fail_above: Annotated[
        float | None,
        typer.Option(
            metavar="BOUND",
            help="Bound on the figure of --fail-on. Exit code 1: above it; 5: inconclusive.",
            rich_help_panel=GATES,
        ),
    ] = None,
    fail_on: Annotated[
        Figure | None,
        typer.Option(
            metavar="FIGURE",
            help="Figure for --fail-above. About true rates, by their intervals: sigma (standard "
            "deviation), denoised (half-width of the band that holds all but beta (5%) of the true "
            "rates), mean (mean rate). As observed, noise included: near (as denoised), sd "
            "(standard deviation), spread (largest minus smallest rate). With --learned-tasks, "
            "near replaces denoised and sd replaces sigma. Default: sigma.",
            rich_help_panel=GATES,
        ),
    ] = None,
    inconclusive_passes: Annotated[
        bool,
        typer.Option(
            "--inconclusive-passes",
            help="Exit with 0 where the outcome is INCONCLUSIVE.",
            rich_help_panel=GATES,
        ),
    ] = False,
    junit: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="JUnit XML to write: a test case for each part of the outcome.",
            rich_help_panel=GATES,
        ),
    ] = None,
    people: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Table to write: everybody's rate and interval, CSV or Parquet.",
            rich_help_panel=given.OUTPUT,
        ),
    ] = None,
    evidence: given.Evidence = None,
    title: given.Title = None,
    seed: AuditSeed = 0,
    explain: given.Explain = False,
    as_json: given.AsJson = False,
) -> None:
    """Audit decisions: individual rates, their spread, how much is chance, who is worst off.

    The decisions are two tables, or a log of events (--log). With --alpha or --fail-above the
    outcome is PASS (exit code 0), FAIL (1) or INCONCLUSIVE (5).

    Example: averagefair audit labels.csv decisions.csv --id person --alpha 0.1 --beta 0.05
    -o report.html
    """
    from averagefair.auditing.gate import judge
    from averagefair.showing.headline import as_dict, audit_headline

    start = perf_counter()
    columns = {"person": person, "task": task, "label": label, "decision": decision}
    options = event_options(log, sums, positive, every, **columns, time=time, weight=weight)
    from_log = choose_way(
        "audit",
        {"LABELS": labels, "DECISIONS": decisions},
        options,
        {
            "--tasks": tasks,
            "--ignore": ignore,
            "--common-people": common_people,
            "--skip-undecided": skip_undecided,
        },
    )
    given.check_streams_out(output, people, junit, as_json=as_json)
    inputs = [labels, decisions, groups, features, *log_files(options)]
    for path, endings in ((output, (".html",)), (junit, (".xml",)), (people, TABLES)):
        if path is not None:
            check_output(path, endings, inputs)
    check_evidence_folder(evidence, [output, junit, people, sums])
    check_gate(alpha, fail_above, fail_on, inconclusive_passes)
    _check_about(
        from_log, id_column, groups, group_columns, features, features_ignore, learned_tasks
    )
    request: dict[str, Any] = {
        "rate": given.one_rate(rate),
        "alpha": alpha,
        "beta": beta,
        "learned_tasks": learned_tasks,
        "confidence": confidence,
        "random_state": given.seed(seed),
    }
    check_streams(labels, decisions, groups, features)
    _check_request(request)
    table_of_features = None if features is None else _about(features, from_log, id_column, options)
    if from_log:
        table_of_groups = None if groups is None else _about(groups, True, id_column, options)
        read = read_log(options)
        made = _of_log(read, request, table_of_groups, group_columns)
    else:
        made = _of_tables(
            request,
            labels=str(labels),
            decisions=str(decisions),
            id_column=id_column,
            tasks=tasks,
            ignore=ignore,
            groups=groups,
            group_columns=group_columns,
            common_people=common_people,
            skip_undecided=skip_undecided,
            positive=positive,
        )
    found, rules = made.found, None
    if table_of_features is not None:
        from averagefair.cli.about_people import rules_of

        rules = rules_of(found, table_of_features, features_ignore, seed)
        made.settings.update(given.origin([table_of_features]))
    gate = judge(found, alpha, fail_above, fail_on and fail_on.value)
    code = exit_code(gate, inconclusive_passes)
    headline = audit_headline(found, gate)
    facts = _facts(found, gate, rules, fail_above) | {"headline": as_dict(headline)}
    lines = [in_rows(headline.rows), *_words(found, rules, explain)]
    written = {"report": output, "junit": junit, "people": people}
    table = None if people is None else table_content(people, _people(made))
    if output is not None:
        write_whole(output, _page(made, gate, rules, title).encode())
    if junit is not None:
        from averagefair.cli.junit import junit as as_junit

        spent = perf_counter() - start
        write_whole(junit, as_junit(gate, found.summary(), spent, inconclusive_passes))
    if people is not None and table is not None:
        write_whole(people, table)
    own: dict[str, Any] = {"outcome": gate.to_dict(), "rules": rules, "title": title}
    proof = write_evidence(found, evidence, made.settings, **own)
    if from_log:
        read.save()  # last: if anything else fails, the command can be repeated
        written["sums"] = sums if read.files else None
    facts |= {"report": output, "junit": junit, "people_table": people, "sums": sums}
    facts["evidence"] = evidence
    lines += [f"{what}: {path}" for what, path in written.items() if path is not None]
    lines += [*proof, *gate.lines()[:-1]]
    answer(
        facts,
        "\n".join(lines),
        as_json=as_json,
        aside=STREAM in (output, people, junit),
        ending=ending(headline, gate),
    )
    if code:
        raise typer.Exit(code)


@dataclass(frozen=True, eq=False)
class _Audited:
    """An audit, with what is needed to show it.

    Attributes
    ----------
    found : Audit
    id_name : str
        The name of the id column in tables to write.
    groups : Table of words, or None
    source : str
        For the title.
    settings : dict of str to str
    """

    found: Audit
    id_name: str
    groups: Table | None
    source: str
    settings: dict[str, str]


def _check_about(
    from_log: bool,
    id_column: str | None,
    groups: str | None,
    group_columns: list[str] | None,
    features: str | None,
    features_ignore: list[str] | None,
    learned_tasks: bool,
) -> None:
    """Refuse options about tables of people that do not fit together."""
    if features_ignore and features is None:
        raise InputError("--features-ignore needs --features: name the table of features.")
    if features is not None and learned_tasks:
        raise InputError(
            "--features cannot go with --learned-tasks: rules about true rates need fresh tasks. "
            "Leave one of them out."
        )
    if not from_log:
        return
    if group_columns and groups is None:
        raise InputError(
            "--group-columns needs --groups with a log: name the table that holds everybody's "
            "group, e.g. --groups groups.csv."
        )
    if id_column is not None and groups is None and features is None:
        raise InputError(
            "--id names the id column of --groups and --features; a log has --person. Leave --id "
            "out."
        )


def _check_request(request: dict[str, Any]) -> None:
    """Refuse a request before any long work."""
    from averagefair.auditing.audit import check_request

    check_request(**{name: part for name, part in request.items() if name != "learned_tasks"})


def _of_tables(request: dict[str, Any], **options: Any) -> _Audited:
    """Audit two tables."""
    from averagefair.auditing import audit as run_audit

    tables = read_audit_input(options.pop("labels"), options.pop("decisions"), **options)
    found = run_audit(
        tables.labels,
        tables.decisions,
        individual_names=tables.names,
        groups=tables.groups,
        **request,
    )
    return _Audited(
        replace(found, notes=(*tables.notes, *found.notes)),
        tables.id_name,
        tables.groups,
        " and ".join(file.source for file in tables.files[:2]),
        given.origin(tables.files),
    )


def _of_log(
    read: LogInput,
    request: dict[str, Any],
    table_of_groups: FileTable | None,
    group_columns: list[str] | None,
) -> _Audited:
    """Audit a log."""
    found = read.log.audit(**request)
    groups, settings = None, read.settings()
    if table_of_groups is not None:
        from averagefair.cli.about_people import with_groups

        found, groups = with_groups(found, table_of_groups, group_columns)
        settings |= given.origin([table_of_groups])
    found = replace(found, notes=(*read.notes(found.n, found.m), *found.notes))
    return _Audited(found, str(read.log.columns["person"]), groups, read.name, settings)


def _about(path: str, from_log: bool, id_column: str | None, options: LogOptions) -> FileTable:
    """Read a table about the people of an audit."""
    from averagefair.cli.about_people import read_about

    return read_about(path, id_column, person_column(options) if from_log else None)


def _words(found: Audit, rules: Rules | None, explain: bool) -> list[str]:
    """Return what the table does not say: everything in words, or only that there is more."""
    from averagefair.cli.about_people import rule_lines

    if explain:
        return [bulleted(found.summary()), *([] if rules is None else [rule_lines(rules)])]
    return [*([] if rules is None else short_rules(rules)), notes_line(found.notes)]


def _facts(found: Audit, gate: Gate, rules: Rules | None, bound: float | None) -> dict[str, Any]:
    """Return the JSON object."""
    facts = found.to_dict()
    if rules is not None:
        facts["rules"] = rules.to_dict()
    figure = next((part for part in gate.parts if part.name != "alpha"), None)
    return facts | {
        **gate.to_dict(),
        "fail_above": bound,
        "fail_on": figure and figure.name,
        "figure": figure and figure.value,
        "failed": gate.failed,
    }


def _page(made: _Audited, gate: Gate, rules: Rules | None, title: str | None) -> str:
    from averagefair.showing.report import audit_report

    settings = {"command": command_line(), **made.settings}
    if gate.parts:
        settings["outcome"] = gate.lines()[-1]
    title = title or f"Audit: {made.source}"
    return audit_report(made.found, title=title, settings=settings, rules=rules, gate=gate)


def _people(made: _Audited) -> dict[str, Any]:
    """Return the table of people: their ids, their groups, then the audit's figures."""
    columns = made.found.people.to_dict()
    out: dict[str, Any] = {made.id_name: columns.pop("name")}
    if made.groups is not None:
        out |= zip(made.groups.columns or (), made.groups.cells.T, strict=True)
    for name, part in columns.items():
        out[name] = rounded(part)
    return out


def rounded(values: Any) -> Any:
    """Return a column for a table: numbers with six decimals, None where unknown."""
    cells = np.array(values)
    if cells.dtype.kind != "f":
        return cells
    return [None if np.isnan(number) else float(number) for number in np.round(cells, 6)]
