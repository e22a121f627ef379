"""What the page of an audit shows, as plain numbers, lists and words."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.auditing import Audit
from averagefair.auditing.chance import ChanceTest
from averagefair.auditing.groups import Groups
from averagefair.drawing import thin
from averagefair.names import in_html
from averagefair.rates import spoken
from averagefair.text import figure, percent, plain

MOST_BARS = 300
"""Above this many people a band takes the place of a bar for each."""
MOST_POINTS = 200
MOST_BYTES = 8_000_000
"""What the table of people may take; of more, the worst-off that fit are listed."""
MOST_GROUPS = 40
NUMBERS = 45  # bytes that a person's numbers take, at most


def audit_data(audit: Audit) -> dict[str, Any]:
    """Return what the page draws of an audit; numbers of long tables to 4 decimals."""
    rated = audit._by_rate()[::-1]
    unrated = np.flatnonzero(np.isnan(audit.people.rate))
    asked = audit.answer
    out: dict[str, Any] = plain(
        {
            "rate": spoken(audit.rate),
            "confidence": audit.confidence,
            "mean": audit.mean.value,
            "common_rate": audit.common_rate,
            "learned_tasks": audit.learned_tasks,
            "alpha": None if asked is None else asked.alpha,
            "beta": None if asked is None else asked.beta,
            "chance": _chance(audit.chance),
            "curve": {name: np.round(part, 9) for name, part in vars(audit.curve).items()},
            "sorted": _sorted(audit, rated[::-1]),
            "people": _people(audit, np.concatenate([rated, unrated])),
            "tasks": _tasks(audit),
            "groups": [_group(view) for view in audit.groups],
        }
    )
    return out


def _chance(test: ChanceTest) -> dict[str, Any]:
    """Return the test, what chance would show as a histogram."""
    flipped = test.flipped
    spread = flipped.size and np.ptp(flipped) > 0
    counts, edges = np.histogram(flipped, test.bins) if spread else (np.zeros(0), np.zeros(0))
    return {
        "p": test.p,
        "statistic": test.statistic,
        "flips": flipped.size,
        "enumerated": test.enumerated,
        "counts": counts.astype(int),
        "edges": edges,
    }


def _sorted(audit: Audit, places: NDArray[np.intp]) -> dict[str, Any]:
    """Return rates and intervals from best off to worst off; of many people, a few hundred points.

    Points stand for neighbours of about the same rate: their mean rate and the mean ends of their
    intervals.
    """
    people = audit.people
    columns = {name: getattr(people, name)[places] for name in ("rate", "low", "high")}
    place = np.arange(1.0, places.size + 1.0)
    flagged = np.flatnonzero(people.flagged[places])
    thinned = places.size > MOST_BARS
    if thinned:
        place, *few = thin(place, *columns.values(), most=MOST_POINTS)
        columns = dict(zip(columns, few, strict=True))
        flagged = np.zeros(0, dtype=np.intp)
    return {
        "place": np.round(place, 1),
        **{name: np.round(column, 4) for name, column in columns.items()},
        "flagged": flagged,
        "thinned": thinned,
        "people": places.size,
    }


def _people(audit: Audit, places: NDArray[np.intp]) -> dict[str, Any]:
    """Return the table of people, the worst off first; as many as fit."""
    people = audit.people
    names = plain(people.name[places].tolist())
    sizes = np.array([_size(name) + NUMBERS for name in names])
    listed = int(np.searchsorted(np.cumsum(sizes), MOST_BYTES, side="right"))
    places = places[:listed]
    return {
        "total": len(people),
        "listed": listed,
        "columns": {
            "name": names[:listed],
            "rate": np.round(people.rate[places], 4),
            "low": np.round(people.low[places], 4),
            "high": np.round(people.high[places], 4),
            "tasks": people.tasks[places],
            "rank": [None if np.isnan(rank) else int(rank) for rank in people.rank[places]],
            "flagged": people.flagged[places].astype(int),
        },
    }


def _size(name: Any) -> int:
    """Return how many bytes a name takes on the page, where some signs take six each."""
    text = json.dumps(in_html(name) if isinstance(name, str) else name, ensure_ascii=False)
    return len(text.encode()) + 5 * sum(text.count(sign) for sign in "<>&")


def _tasks(audit: Audit) -> dict[str, Any]:
    """Return the table of tasks, the one that goes wrong most first."""
    tasks = audit.tasks
    order = np.argsort(-np.nan_to_num(tasks.rate, nan=-1.0), kind="stable")
    columns: dict[str, Any] = {"name": [tasks.name[place] for place in order]}
    if tasks.family is not None:
        columns["family"] = [tasks.family[place] for place in order]
    return {
        "total": len(tasks),
        "listed": len(tasks),
        "columns": columns
        | {
            "people": tasks.people[order],
            "rate": np.round(tasks.rate[order], 4),
            "influence": np.round(tasks.influence[order], 9),
        },
    }


def _group(view: Groups) -> dict[str, Any]:
    """Return a view by group; of very many groups, those with the highest mean rates."""
    places = np.arange(len(view.name))
    if places.size > MOST_GROUPS:
        places = np.argsort(-np.nan_to_num(view.mean, nan=-1.0), kind="stable")[:MOST_GROUPS]
    names, people = [view.name[place] for place in places], view.people[places]
    numbers = [getattr(view, name)[places] for name in ("mean", "lowest", "highest", "sigma")]
    # Of tasks that were learned from there is no sd of true rates.
    shown = numbers[:-1] if np.isnan(view.variance).all() else numbers
    rows = zip(
        names,
        (f"{count:,}" for count in people),
        *(map(figure, one) for one in shown),
        strict=True,
    )
    return {
        "attribute": view.attribute,
        "name": names,
        "people": people,
        **dict(zip(("mean", "lowest", "highest", "sigma"), np.round(numbers, 4), strict=True)),
        "rows": [list(row) for row in rows],
        "statement": view.statement(),
        "ungrouped": view.ungrouped,
        "total": len(view.name),
    }


def audit_figures(audit: Audit) -> list[dict[str, str]]:
    """Return the statistics in the order of the page: name, value and what it means, in words."""
    mean, apart, test, level = audit.mean, audit.spread, audit.chance, percent(audit.confidence)
    low, high = audit.range
    needed = apart.tasks_needed()
    unit = "tasks" if audit._losses.families is None else "families of tasks"
    finite = np.isfinite(needed)
    over = " over people, on these tasks." if audit.learned_tasks else ""
    always = [
        _figure(
            "mean",
            "Mean rate",
            figure(mean.value, 4),
            f"{_interval(mean.low, mean.high, level, over)} How often decisions go wrong, on "
            "average.",
        ),
        _figure(
            "range",
            "Range of rates",
            "unknown" if np.isnan(low) else f"{figure(low, 2)} to {figure(high, 2)}",
            "From the best off to the worst off, as observed, noise and all.",
        ),
    ]
    if audit.learned_tasks:
        meaning = "By how much rates differ (standard deviation), as observed on these tasks."
        return [*always, _figure("sd", "Differences", figure(apart.sd, 4), meaning)]
    return [
        *always,
        _figure(
            "p",
            "Chance test",
            _p(test.p),
            "How often differences as large as these would appear if everybody's true rate were "
            "the same. Small: more than chance.",
        ),
        _figure(
            "sigma",
            "True differences",
            figure(apart.sigma, 4),
            "By how much true rates differ (standard deviation), the noise taken off. "
            f"{_interval(np.sqrt(apart.sigma2.low), np.sqrt(apart.sigma2.high), level)} Asked only "
            f"how large it can be: {figure(apart.upper, 4)} at most, with {level} confidence."
            if not np.isnan(apart.upper)
            else "By how much true rates differ (standard deviation), the noise taken off. There "
            "is no bound on it; the notes say why.",
        ),
        _figure(
            "reliability",
            "Reliability",
            figure(apart.reliability, 2),
            "The share of the differences seen that is not noise: 1 is all real, 0 all noise.",
        ),
        _figure(
            "tasks_needed",
            "Tasks needed",
            f"{int(np.ceil(needed)):,}" if finite else ("none found" if needed > 0 else "unknown"),
            f"How many {unit} it takes to tell people apart with a reliability of 0.8; there are "
            f"{apart.units:,}."
            if finite
            else "No difference between people was found that more tasks would make clear.",
        ),
    ]


def exchangeability_words(audit: Audit) -> str:
    """Say what Cochran's Q says, or why there is none."""
    known = audit.exchangeability
    if known.reason:
        return f"Cochran's Q: none, since {known.reason}."
    return (
        f"Cochran's Q = {known.q:.1f} on {known.freedom:,} degrees of freedom, {_p(known.p)}. "
        "It asks whether people are exchangeable within each task, which is more than equal "
        "rates: similar people err together, so a small p here need not mean unequal rates."
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
    ends = f"{figure(max(0.0, low), 4)} to {figure(min(1.0, high), 4)}"
    return f"{level} interval {ends}{over or '.'}"
