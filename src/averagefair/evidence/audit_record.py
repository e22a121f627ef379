"""The evidence of an audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from averagefair._util.names import in_a_line, unnamed
from averagefair._util.text import counted, figure, percent
from averagefair.auditing.gate import Gate
from averagefair.auditing.groups import Groups
from averagefair.auditing.person_table import PersonTable
from averagefair.auditing.result import Audit
from averagefair.auditing.rules import Rules
from averagefair.auditing.trials import Trials
from averagefair.auditing.words import USUAL_BETA
from averagefair.evidence.fingerprint import audit_fingerprint
from averagefair.evidence.not_proved import not_proved_by_audit
from averagefair.evidence.record import Record, check_settings
from averagefair.game.rates import spoken
from averagefair.showing.report.page import audit_report
from averagefair.showing.report.story import Listing

# The card is one page: it lists the groups and people with the highest rates.
_GROUPS, _PEOPLE = 12, 5
_LONGEST_RULE = 200
# The seed of the signs at the default random_state=0.
_USUAL_SEED = int(np.random.RandomState(0).randint(2**31 - 1))


def audit_record(
    audit: Audit,
    *,
    title: str | None,
    settings: Mapping[str, Any] | None,
    outcome: dict[str, Any] | None,
    rules: Rules | None,
    people: bool,
) -> Record:
    """Return what the evidence of an audit says.

    Parameters
    ----------
    audit : Audit
    title : str, or None
    settings : mapping, or None
        Shown as given, after the audit's own.
    outcome : dict, or None
        The outcome of a gate.
    rules : Rules, or None
        Confirmed rules about the people audited.
    people : bool
        Whether people's names may appear.
    """
    shown = audit if people else without_names(audit)
    given, rates = check_settings(settings), f"individual {spoken(audit.rate)} rates"
    title, heading = title or f"Audit of {rates}", f"Audit card: {title or rates}"
    head, *paragraphs = shown.summary().splitlines()
    paragraphs = [line for line in paragraphs if not line.startswith("Note: ")]
    if rules is not None and not rules.rules:
        paragraphs.append(rules.summary())
    in_tables = {view.statement() for view in audit.groups}
    brief = [line for line in paragraphs if line not in in_tables]
    notes = [str(note) for note in shown.notes]
    return Record(
        kind="audit",
        title=title,
        heading=heading,
        lead=head,
        data={
            "people": audit.n,
            "tasks": audit.m,
            "fingerprint": audit_fingerprint(audit),
            "covers": _covers(audit),
        },
        settings={**_settings(audit), **given},
        given=given,
        figures={**_figures(shown, people), "rules": None if rules is None else rules.to_dict()},
        outcome=outcome,
        verdict=_verdict(audit, outcome),
        words=[head, *paragraphs],
        brief=[line for line in brief if not line.startswith("Worst off: ")],
        not_proved=not_proved_by_audit(audit),
        repeat=_call(audit),
        page=lambda record: audit_report(
            shown, title=record.title, settings=given, rules=rules, gate=Gate.of(outcome)
        ),
        listings=[
            _figure_listing(audit),
            *(_group_listing(view, percent(audit.confidence)) for view in audit.groups),
            *_rule_listing(rules),
            *_people_listing(shown),
        ],
        notes=notes if people else [*notes, _numbered(audit)],
    )


def without_names(audit: Audit) -> Audit:
    """Return the audit with a number in place of each person's name.

    Parameters
    ----------
    audit : Audit
    """
    numbers = np.arange(len(audit.people)) + _first(audit)
    numbered = replace(audit.people, name=numbers)
    return replace(audit, people=numbered, notes=tuple(unnamed(note) for note in audit.notes))


def _first(audit: Audit) -> int:
    """Return the first number; people without names are numbered from 0 already."""
    return 0 if audit.evidence.losses.index is None else 1


def _numbered(audit: Audit) -> str:
    log = isinstance(audit.evidence.losses.cells, Trials)
    how = "in the order of their ids" if log else "by their row in the audited table"
    return f"People are numbered {how}, from {_first(audit)}. No file here names them."


def _figures(audit: Audit, people: bool) -> dict[str, Any]:
    """Return the audit as plain numbers; without the table of people unless asked for."""
    if people:
        return audit.to_dict()
    columns = {name: getattr(audit.people, name)[:0] for name in PersonTable.__dataclass_fields__}
    out = replace(audit, people=PersonTable(**columns)).to_dict()
    del out["people"]
    return out


def _covers(audit: Audit) -> str:
    losses = audit.evidence.losses
    labels = ", of a hash of each task's labels" if losses.fingerprints.size else ""
    if isinstance(losses.cells, Trials):
        cells = "the numbers of decisions and of wrong ones for each person and task"
    else:
        cells = "the cells: which count, and which decisions were wrong"
    return f"SHA-256 of the names of people and tasks{labels}, and of {cells}."


def _settings(audit: Audit) -> dict[str, Any]:
    request = audit.assessment
    return {
        "rate": audit.rate,
        "confidence": audit.confidence,
        "alpha": None if request is None else request.alpha,
        "beta": None if request is None else request.beta,
        "learned_tasks": audit.learned_tasks,
        "task_families": audit.evidence.in_families,
        "seed of the random signs": audit.seed,
    }


def _call(audit: Audit) -> str:
    log, request = isinstance(audit.evidence.losses.cells, Trials), audit.assessment
    parts = [] if log else ["labels", "decisions"]
    parts.append(f"rate={audit.rate!r}")
    if audit.evidence.in_families:
        parts.append("task_families=families")
    parts += ["groups=groups"] if audit.groups else []
    if request is not None:
        parts += [f"alpha={request.alpha!r}", f"beta={request.beta!r}"]
    if audit.learned_tasks:
        parts.append("learned_tasks=True")
    parts.append(f"confidence={audit.confidence!r}")
    parts += [] if audit.seed == _USUAL_SEED else ["random_state=..."]
    return f"{'log.audit' if log else 'averagefair.audit'}({', '.join(parts)})"


def _verdict(audit: Audit, outcome: dict[str, Any] | None) -> str:
    """Return the result in a few words."""
    if outcome is not None:
        word = outcome["outcome"]
        decisive = [part["words"] for part in outcome["parts"] if part["outcome"] == word]
        return f"{word}: {'; '.join(decisive)}."
    request = audit.assessment
    if request is None:
        return "Nothing was asked of the rates, so there is no verdict."
    who = "everybody" if request.beta == 0 else f"all but {percent(request.beta)} of the people"
    asked = f"{who} within {request.alpha:g} of a common rate"
    if request.verdict is None:
        met = "met" if request.met_as_observed else "not met"
        return f"{met.capitalize()} as observed on these tasks: {asked}."
    return f"{request.verdict.value.capitalize()}: {asked}."


def _figure_listing(audit: Audit) -> Listing:
    """Return the figures that most people need, each with its interval."""
    level, mean, spread = percent(audit.confidence), audit.mean, audit.dispersion
    beta = USUAL_BETA
    if audit.assessment is not None and audit.assessment.beta > 0:
        beta = audit.assessment.beta
    band, (low, high) = audit.curve.at(beta), audit.range
    held = f"\u00b1 band that holds all but {percent(beta)}"
    rows = [
        ["mean rate", figure(mean.value), _interval(mean.low, mean.high)],
        ["lowest and highest observed rate", _interval(low, high), ""],
        [f"{held}, observed", figure(band["alpha"]), ""],
    ]
    if audit.learned_tasks:
        rows.append(["standard deviation of observed rates", figure(spread.sd), ""])
    else:
        ends = np.sqrt([spread.sigma2.low, spread.sigma2.high])
        p = "unknown" if np.isnan(audit.chance.p) else f"{audit.chance.p:.3g}"
        rows += [
            [f"{held}, if all true rates were equal", figure(band["floor"]), ""],
            ["standard deviation of true rates", figure(spread.sigma), _interval(*ends)],
            ["share of the variance that is not noise", figure(spread.reliability, 2), ""],
            ["p-value: differences as large by chance alone", p, ""],
        ]
    return Listing("Figures", ["figure", "value", f"{level} CI"], rows)


def _group_listing(view: Groups, level: str) -> Listing:
    order = np.argsort(-np.nan_to_num(view.mean, nan=-1.0), kind="stable")
    rows = [
        [
            in_a_line(view.name[group]),
            f"{view.people[group]:,}",
            figure(view.mean[group]),
            _interval(view.low[group], view.high[group]),
        ]
        for group in order[:_GROUPS]
    ]
    attribute = in_a_line(view.attribute)
    more = len(view.name) - len(rows)
    caption = f"By {attribute}, the highest mean rate first"
    if more:
        caption += f" ({counted(more, 'more group')} in evidence.json)"
    return Listing(caption, [attribute, "people", "mean rate", f"{level} CI"], rows)


def _rule_listing(rules: Rules | None) -> list[Listing]:
    if rules is None or not rules.rules:
        return []
    rows = [
        [
            in_a_line(rule.text, _LONGEST_RULE),
            f"{rule.people:,}",
            figure(rule.rate.value),
            figure(rule.others.value),
            f"{figure(rule.difference.low, 3, '+')} to {figure(rule.difference.high, 3, '+')}",
        ]
        for rule in rules
    ]
    interval = f"difference, {percent(rules.confidence)} CI"
    head = ["people with", "people", "mean rate", "others", interval]
    caption = "Who has high rates: rules on features, confirmed on other people and tasks"
    return [Listing(caption, head, rows)]


def _people_listing(audit: Audit) -> list[Listing]:
    if np.isnan(audit.mean.value):
        return []
    rows = [
        [
            in_a_line(row["name"]),
            figure(row["rate"]),
            _interval(row["all_low"], row["all_high"]),
            f"{row['tasks']:,}",
        ]
        for row in audit.worst_off(_PEOPLE)
    ]
    caption = "Who is worst off: the highest observed rates, noise included"
    head = ["person", "rate", f"{percent(audit.confidence)} CI, for all people at once", "tasks"]
    return [Listing(caption, head, rows)]


def _interval(low: float, high: float) -> str:
    if np.isnan(low) or np.isnan(high):
        return "none"
    return f"{figure(max(0.0, low))} to {figure(min(1.0, high))}"
