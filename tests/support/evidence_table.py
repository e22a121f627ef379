"""The table of audits and models whose evidence is tested. To test another kind, add a row."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from averagefair import (
    AverageFairClassifier,
    DecisionLog,
    Equal,
    FalseNegativeRate,
    FalsePositiveRate,
    StumpOracle,
    audit,
    audit_log,
)
from tests.support.audit_tables import BLANKS, RATES, drawn
from tests.support.promise_table import BOTH, ROWS

PEOPLE = [f"Ann-{number:02}" for number in range(16)]
CASES = [f"case {number}" for number in range(12)]
COLUMNS = {"person": "who", "task": "case", "label": "right", "decision": "made"}


def table(seed=0, chances=False):
    """Draw labels and decisions of named people; some are decided wrongly far more often."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, (16, 12))
    wrong = random.random((16, 12)) < np.linspace(0.05, 0.6, 16)[:, None]
    decisions = np.abs(labels - wrong)
    if chances:
        decisions = np.clip(decisions, 0.1, 0.9)
    names = {"index": PEOPLE, "columns": CASES}
    return pd.DataFrame(labels, **names).astype(float), pd.DataFrame(decisions, **names)


def events(seed=0, repeated=True):
    """Draw a log of the same people: not everybody meets every case, some are decided twice."""
    random = np.random.default_rng(seed)
    labels, decisions = (part.to_numpy().ravel() for part in table(seed))
    cells = random.permutation(16 * 12)[:150]
    if repeated:
        cells = np.concatenate([cells, cells[:40]])
    made = np.abs(decisions[cells] - (random.random(cells.size) < 0.1))
    who, case = np.array(PEOPLE)[cells // 12], np.array(CASES)[cells % 12]
    return pd.DataFrame({"who": who, "case": case, "right": labels[cells], "made": made})


def groups():
    return pd.DataFrame(
        {"district": ["A", "B"] * 8, "alone": ["one", *["rest"] * 14, None]}, index=PEOPLE
    )


def _blank():
    labels, decisions = table()
    labels.iloc[0] = np.nan
    labels.iloc[1, 1:] = np.nan
    labels.iloc[2, ::2] = np.nan
    return audit(labels, decisions, alpha=0.1)


def _of_a_log(**options):
    return audit_log(events(), **COLUMNS, **options)


def _weighted_log():
    table = events().assign(weight=lambda own: np.arange(len(own)) % 3 + 0.5)
    return audit_log(table.assign(made=table.made * 0.8 + 0.1), **COLUMNS, weight="weight")


def _in_windows():
    log = DecisionLog(**COLUMNS, time="day")
    days = pd.date_range("2025-01-01", periods=190).astype(str)
    return log.update(events().assign(day=days)).audit(windows=log.windows[1:])


def _with_notes():
    found = audit(*table())
    return replace(found, notes=("a note of another program.", *found.notes))


AUDITS = {
    "plain": lambda: audit(*table()),
    "alpha": lambda: audit(*table(), alpha=0.4, beta=0.1),
    "not met": lambda: audit(
        np.zeros((16, 99)), np.repeat([[0.0], [1.0]], [8, 8], 0) + np.zeros(99), alpha=0.05
    ),
    "groups": lambda: audit(*table(), groups=groups(), alpha=0.2),
    "families": lambda: audit(*table(), task_families=["x", "y", "z"] * 4),
    "learned": lambda: audit(*table(), learned_tasks=True, alpha=0.1, groups=groups()),
    "blank": _blank,
    "chances": lambda: audit(*table(chances=True), confidence=0.8),
    "one person": lambda: audit([[1, 0, 1]], [[1, 1, 1]]),
    "one task": lambda: audit([[1], [0]], [[1], [1]], alpha=0.1),
    "one cell": lambda: audit([[1]], [[0]], alpha=0.5),
    "two tasks": lambda: audit([[1, 0], [0, 0], [1, 1]], [[1, 1], [0, 0], [0, 0]]),
    "all right": lambda: audit(np.eye(5), np.eye(5), alpha=0.1),
    "all wrong": lambda: audit(np.eye(5), 1 - np.eye(5), groups=list("aabbb")),
    "nothing defined": lambda: audit(np.full((3, 4), np.nan), np.ones((3, 4)), alpha=0.1),
    "no false negative": lambda: audit(np.zeros((3, 4)), np.ones((3, 4)), rate="false_negative"),
    "a rate of its own": lambda: audit(*table(), rate=FalsePositiveRate(holdout_tasks=2)),
    "log": _of_a_log,
    "log, false positives": lambda: _of_a_log(rate="false_positive", alpha=0.2),
    "log, false negatives": lambda: _of_a_log(rate=FalseNegativeRate(), groups=groups()),
    "log with weights": _weighted_log,
    "log in windows": _in_windows,
    "notes": _with_notes,
}
DRAWN = {
    f"{rate}, {blanks}, {'chances' if chances else 'decisions'}": (seed, rate, blanks, chances)
    for seed, (rate, blanks, chances) in enumerate(
        (rate, blanks, chances) for rate in RATES for blanks in BLANKS for chances in (False, True)
    )
}


def with_rules():
    """Audit 80 people on 40 tasks, half of them often decided wrongly; return it and features."""
    random = np.random.default_rng(0)
    features = pd.DataFrame({"age": np.arange(80.0)})
    wrong = random.random((80, 40)) < np.where(np.arange(80) < 40, 0.1, 0.5)[:, None]
    return audit(np.zeros((80, 40)), wrong.astype(float)), features


def drawn_audit(name):
    """Audit a small random table with blanks of all kinds."""
    seed, rate, blanks, chances = DRAWN[name]
    labels, decisions, options, _, _ = drawn(seed, rate, blanks, chances)
    return audit(labels, decisions, rate=rate, alpha=[None, 0.2][seed % 2], **options)


@cache
def model_of(name):
    """Fit the model of a row; tests share it."""
    return fitted(**MODELS[name])


def fitted(n=14, m=5, **params):
    """Fit a small model without warnings."""
    random = np.random.default_rng(1)
    X = pd.DataFrame(random.standard_normal((n, 2)).round(1), columns=["x", "y"])
    Y = X.to_numpy() @ random.standard_normal((2, m)) + random.standard_normal((n, m)) > 0
    Y = pd.DataFrame(Y.astype(float), columns=CASES[:m])
    Y.iloc[0] = np.nan
    params = {"oracle": StumpOracle(), "random_state": 0, "look_first": False} | params
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return AverageFairClassifier(**params).fit(X, Y, ids=PEOPLE[:n])


MODELS = {
    **{
        f"{name}, {decisions}": {"promise": row.example, "decisions": decisions}
        for name, row in ROWS.items()
        for decisions in ("fixed", "drawn")
    },
    "heuristic": {"alpha": 0.1, "oracle": None},
    "several rates": {"alpha": 0.3, "rate": BOTH, "decisions": "drawn"},
    "no harm": {"worst_off": 0.25, "no_harm": 0.2},
    "exempt": {"alpha": 0.05, "beta": 0.2},
    "max influence": {"promise": Equal(0.05, max_influence=3.0), "decisions": "drawn"},
    "not met": {"alpha": 0.001},
}
