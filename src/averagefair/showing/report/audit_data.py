"""The data of an audit's page, as plain numbers, lists and strings."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.names import in_html
from averagefair._util.text import figure, percent, plain
from averagefair.auditing import Audit
from averagefair.auditing.chance import ChanceTest
from averagefair.auditing.groups import Groups
from averagefair.auditing.rules import Rules
from averagefair.game.rates import spoken
from averagefair.showing.drawing import thin
from averagefair.showing.strip import strip

MOST_BARS = 300
"""Above this many people, the page draws a band instead of one bar for each."""
MOST_POINTS = 200
MOST_BYTES = 8_000_000
"""The largest size of the table of people; a longer table keeps the worst-off people that fit."""
MOST_GROUPS = 40
MOST_COUNTS = 8
"""Rows of the table of systemic failure."""
NUMBERS = 45  # a person's numbers take at most this many bytes


def audit_data(audit: Audit) -> dict[str, Any]:
    """Return the data that the page draws; long tables are rounded to 3 decimals."""
    rated = audit.people.worst_first()
    unrated = np.flatnonzero(np.isnan(audit.people.rate))
    request = audit.assessment
    out: dict[str, Any] = plain(
        {
            "rate": spoken(audit.rate),
            "confidence": audit.confidence,
            "mean": audit.mean.value,
            "common_rate": audit.common_rate,
            "learned_tasks": audit.learned_tasks,
            "alpha": None if request is None else request.alpha,
            "beta": None if request is None else request.beta,
            "chance": _chance(audit.chance),
            "curve": {name: np.round(column, 9) for name, column in vars(audit.curve).items()},
            "sorted": _sorted(audit, rated[::-1]),
            "people": _people(audit, np.concatenate([rated, unrated])),
            "tasks": _tasks(audit),
            "groups": [_group(view) for view in audit.groups],
        }
    )
    return out


def audit_strip(audit: Audit) -> str:
    """Return the strip of everybody's rate, with the band that was requested."""
    request, band = audit.assessment, None
    if request is not None and not np.isnan(audit.common_rate):
        band = (audit.common_rate - request.alpha, audit.common_rate + request.alpha)
    return strip(audit.people.rate, band, f"{spoken(audit.rate)} rate")


def _chance(test: ChanceTest) -> dict[str, Any]:
    """Return the test, with the flipped statistics as a histogram."""
    flipped = test.flipped
    varies = flipped.size and np.ptp(flipped) > 0
    counts, edges = np.histogram(flipped, test.bins) if varies else (np.zeros(0), np.zeros(0))
    return {
        "p": test.p,
        "statistic": test.statistic,
        "flips": flipped.size,
        "enumerated": test.enumerated,
        "counts": counts.astype(int),
        "edges": edges,
    }


def _sorted(audit: Audit, rows: NDArray[np.intp]) -> dict[str, Any]:
    """Return rates and intervals from best off to worst off, at most a few hundred points.

    With many people, each point has the mean rate and the mean interval of neighbouring people.
    """
    people = audit.people
    columns = {name: getattr(people, name)[rows] for name in ("rate", "low", "high")}
    position = np.arange(1.0, rows.size + 1.0)
    flagged = np.flatnonzero(people.flagged[rows])
    thinned = rows.size > MOST_BARS
    if thinned:
        position, *few = thin(position, *columns.values(), most=MOST_POINTS)
        columns = dict(zip(columns, few, strict=True))
        flagged = np.zeros(0, dtype=np.intp)
    return {
        "place": np.round(position, 1),
        **{name: np.round(column, 4) for name, column in columns.items()},
        "flagged": flagged,
        "thinned": thinned,
        "people": rows.size,
    }


def _people(audit: Audit, rows: NDArray[np.intp]) -> dict[str, Any]:
    """Return the table of people, worst off first, as many as fit."""
    people = audit.people
    names = plain(people.name[rows].tolist())
    sizes = np.array([size_of_name(name) + NUMBERS for name in names])
    listed = int(np.searchsorted(np.cumsum(sizes), MOST_BYTES, side="right"))
    rows = rows[:listed]
    return {
        "total": len(people),
        "listed": listed,
        "columns": {
            "name": names[:listed],
            "rate": np.round(people.rate[rows], 3),
            "low": np.round(people.low[rows], 3),
            "high": np.round(people.high[rows], 3),
            "tasks": people.tasks[rows],
            "rank": [None if np.isnan(rank) else int(rank) for rank in people.rank[rows]],
            "flagged": people.flagged[rows].astype(int),
        },
    }


def size_of_name(name: Any) -> int:
    """Return the size of a name on the page, in bytes; <, > and & take six bytes each."""
    text = json.dumps(in_html(name) if isinstance(name, str) else name, ensure_ascii=False)
    return len(text.encode()) + 5 * sum(text.count(sign) for sign in "<>&")


def _tasks(audit: Audit) -> dict[str, Any]:
    """Return the table of tasks, the highest error rate first."""
    tasks = audit.tasks
    order = np.argsort(-np.nan_to_num(tasks.rate, nan=-1.0), kind="stable")
    columns: dict[str, Any] = {"name": [tasks.name[task] for task in order]}
    if tasks.family is not None:
        columns["family"] = [tasks.family[task] for task in order]
    return {
        "total": len(tasks),
        "listed": len(tasks),
        "columns": columns
        | {
            "people": tasks.people[order],
            "rate": np.round(tasks.rate[order], 3),
            "influence": np.round(tasks.influence[order], 9),
        },
    }


def _group(view: Groups) -> dict[str, Any]:
    """Return a view by group; with many groups, only the groups with the highest mean rates."""
    listed = np.arange(len(view.name))
    if listed.size > MOST_GROUPS:
        listed = np.argsort(-np.nan_to_num(view.mean, nan=-1.0), kind="stable")[:MOST_GROUPS]
    names, people = [view.name[group] for group in listed], view.people[listed]
    columns = ("mean", "low", "high", "lowest", "highest", "sigma")
    numbers = [getattr(view, name)[listed] for name in columns]
    # For learned tasks (the model's training tasks) the true rates' standard deviation is unknown.
    shown = numbers[:-1] if np.isnan(view.variance).all() else numbers
    rows = zip(
        names,
        (f"{count:,}" for count in people),
        *(map(figure, column) for column in shown),
        strict=True,
    )
    return {
        "attribute": view.attribute,
        "name": names,
        "people": people,
        **dict(zip(columns, np.round(numbers, 4), strict=True)),
        "rows": [list(row) for row in rows],
        "statement": view.statement(),
        "ungrouped": view.ungrouped,
        "total": len(view.name),
    }


def systemic_rows(audit: Audit) -> list[list[str]]:
    """Return a few rows of the table of systemic failure, spread over all its counts.

    The columns are k, the observed share of the people with k or more wrong decisions, its interval
    (not for learned tasks), and the share under independent mistakes.
    """
    found = audit.systemic
    if not found.k.size:
        return []
    few = np.linspace(0, found.k.size - 1, MOST_COUNTS).round().astype(int)
    shown = np.unique([*few, found.many])
    out = []
    for row in shown:
        interval = f"{_share(found.low[row])} to {_share(found.high[row])}"
        cells = [f"{found.k[row]:,}", _share(found.observed[row])]
        cells += [] if audit.learned_tasks else [interval]
        out.append([*cells, _share(found.expected[row])])
    return out


def _share(value: float) -> str:
    return "unknown" if np.isnan(value) else f"{100 * value:.1f}%"


def rule_rows(rules: Rules) -> list[list[str]]:
    """Return the rules as a table: who, people, share, rate, others, difference, its interval."""
    return [
        [
            rule.text,
            f"{rule.people:,}",
            f"{rule.share:.0%}",
            figure(rule.rate.value),
            figure(rule.others.value),
            figure(rule.difference.value, 3, "+"),
            f"{figure(rule.difference.low, 3, '+')} to {figure(rule.difference.high, 3, '+')}",
        ]
        for rule in rules
    ]


def audit_figures(audit: Audit) -> list[dict[str, str]]:
    """Return the statistics in the order of the page: name, value and meaning."""
    mean, dispersion, test = audit.mean, audit.dispersion, audit.chance
    level = percent(audit.confidence)
    low, high = audit.range
    sigma_low, sigma_high = np.sqrt([dispersion.sigma2.low, dispersion.sigma2.high])
    needed = dispersion.tasks_needed()
    unit = "families of tasks" if audit.evidence.in_families else "tasks"
    finite = np.isfinite(needed)
    over = ", over people, on these tasks." if audit.learned_tasks else ""
    always = [
        _figure(
            "mean",
            "Mean rate",
            figure(mean.value),
            f"{_interval(mean.low, mean.high, level, over)} The average share of wrong decisions.",
        ),
        _figure(
            "range",
            "Range of rates",
            "unknown" if np.isnan(low) else f"{figure(low, 2)} to {figure(high, 2)}",
            "The lowest and the highest observed rate, noise included.",
        ),
    ]
    if audit.learned_tasks:
        meaning = "Standard deviation of the rates, as observed on these tasks."
        return [*always, _figure("sd", "Observed SD", figure(dispersion.sd), meaning)]
    equal = audit.equal_exposure
    return [
        *always,
        _figure(
            "p",
            "Chance test",
            _p(test.p),
            "The probability of differences this large if all true rates were equal. Small: more "
            "than chance.",
        ),
        _figure(
            "sigma",
            "SD of true rates",
            figure(dispersion.sigma),
            "Standard deviation of the true rates, with the noise removed. "
            f"{_interval(sigma_low, sigma_high, level)} One-sided {level} bound: at most "
            f"{figure(dispersion.upper)}."
            if not np.isnan(dispersion.upper)
            else "Standard deviation of the true rates, with the noise removed. It has no bound; "
            "the notes say why.",
        ),
        *(
            []
            if equal is None
            else [
                _figure(
                    "equal_exposure",
                    "SD at equal exposure",
                    figure(equal.dispersion.sigma),
                    "The same, if everybody had met the same tasks. Chance test: "
                    f"{_p(equal.chance.p)}.",
                )
            ]
        ),
        _figure(
            "reliability",
            "Reliability",
            figure(dispersion.reliability, 2),
            "The share of the observed variance that is not noise: 1 is all real, 0 is all noise.",
        ),
        _figure(
            "tasks_needed",
            "Tasks needed",
            f"{int(np.ceil(needed)):,}" if finite else ("none found" if needed > 0 else "unknown"),
            f"The number of {unit} for a reliability of 0.8; this audit has {dispersion.units:,}."
            if finite
            else "No difference between people was found, so this number cannot be computed.",
        ),
    ]


def exchangeability_words(audit: Audit) -> str:
    """Return Cochran's Q in words, or why there is none."""
    test = audit.exchangeability
    if test.reason:
        return f"Cochran's Q is not defined: {test.reason}."
    return (
        f"Cochran's Q = {test.q:.1f} on {test.freedom:,} degrees of freedom, {_p(test.p)}. "
        "Q tests whether people are exchangeable within each task. Similar people make the same "
        "mistakes, so a small p does not imply unequal rates."
    )


def _figure(key: str, name: str, value: str, meaning: str) -> dict[str, str]:
    return {"key": key, "name": name, "value": value, "meaning": meaning.strip()}


def _p(value: float) -> str:
    if np.isnan(value):
        return "unknown"
    return f"p = {value:.3g}" if value > 0 else "p below 1e-300"


def _interval(low: float, high: float, level: str, over: str = "") -> str:
    if np.isnan(low) or np.isnan(high):
        return ""
    ends = f"{figure(max(0.0, low))} to {figure(min(1.0, high))}"
    return f"{level} CI {ends}{over or '.'}"
