"""Reports to look at in a browser: fixtures for a page of a curve and a page of an audit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from averagefair import ColumnGeneration, audit, compare, drift, frontier
from averagefair.datasets import make_synthetic
from averagefair.evaluation.generalisation import generalisation
from averagefair.showing.report import (
    audit_report,
    comparison_report,
    drift_report,
    frontier_report,
)
from tests.support.browser_pages import chromium

QUICK = ColumnGeneration(max_rounds=30, mapping_rounds=5)
ALPHAS = [0.02, 0.05, 0.075, 0.1, 0.3]
CHOICE = 3


@pytest.fixture(scope="module", name="browser")
def fixture_browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module", name="save")
def fixture_save(tmp_path_factory):
    """A function that writes a page and returns its path."""
    folder = tmp_path_factory.mktemp("reports")

    def write(name, text):
        path = folder / f"{name}.html"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def population(n=80, m=12, n_new=130, m_new=30, people="person {}", tasks="task {}"):
    """Return tables of people and tasks with names."""
    made = make_synthetic(n=n, m=m, d=5, n_holdout=n_new, m_holdout=m_new)
    old = [people.format(place) for place in range(n)]
    new = [people.format(f"new {place}") for place in range(n_new)]
    known = [tasks.format(place) for place in range(m)]
    later = [tasks.format(f"later {place}") for place in range(m_new)]

    def table(cells, index, columns):
        return pd.DataFrame(np.asarray(cells, dtype=float), index=index, columns=columns)

    features = [f"feature {place}" for place in range(5)]
    held_out = {
        "X_new": table(made.X_new, new, features),
        "Y_new_people": table(made.Y_new_people, new, known),
        "Y_new_tasks": table(made.Y_new_tasks, old, later),
        "Y_new_both": table(made.Y_new_both, new, later),
    }
    groups = pd.DataFrame({"group": np.asarray(made.groups_new).astype(str)}, index=new)
    return table(made.X, old, features), table(made.Y, old, known), held_out, groups


@pytest.fixture(scope="module", name="whole")
def fixture_whole(save):
    """A curve with everything on its page."""
    X, Y, held_out, groups = population()
    # 12 tasks are too few for fixed decisions that keep the small alphas.
    curve = frontier(X, Y, ALPHAS, solver=QUICK, random_state=0, decisions="drawn")
    model = curve[CHOICE].model
    found = model.audit(
        held_out["X_new"],
        held_out["Y_new_both"],
        classifiers=model.extend(held_out["Y_new_tasks"]),
        groups=groups,
        beta=0.05,
    )
    text = frontier_report(
        curve,
        Y,
        measured=generalisation(curve, **held_out),
        choice=ALPHAS[CHOICE],
        audit=found,
        settings={"seed": 0},
    )
    return X, Y, held_out, curve, found, save("whole", text)


def judged_by_hand():
    """An audit with blanks, families, two kinds of groups, people without a rate, and flags."""
    rng = np.random.default_rng(3)
    names = [f"Person {place}" for place in rng.permutation(120)]
    names += [
        "Zoë Noll",
        "Émile Blanc",
        "李雷",
        "a.*(b",
        "ANNA",
        "anna b",
        "[x]\\d",
        "100%_'\"",
        "",
    ]
    n, m = len(names), 60
    labels = rng.integers(0, 2, (n, m)).astype(float)
    wrong = rng.random((n, m)) < rng.beta(3, 7, n)[:, None]
    wrong[5:8] = True
    decisions = np.where(wrong, 1 - labels, labels)
    labels[rng.random((n, m)) < 0.15] = np.nan
    labels[20:23] = np.nan
    labels[:, 11] = np.nan
    groups = pd.DataFrame(
        {
            "region": rng.choice(["north", "south", "East & West"], n),
            "age": rng.choice(["old", "young", None], n, p=[0.4, 0.5, 0.1]),
        }
    )
    return audit(
        labels,
        decisions,
        individual_names=names,
        task_names=[f"Task {place}" for place in rng.permutation(m)],
        task_families=[f"family {place // 2}" for place in range(m)],
        groups=groups,
        alpha=0.1,
        beta=0.05,
    )


@pytest.fixture(scope="module", name="audited")
def fixture_audited(save):
    found = judged_by_hand()
    return found, save("audited", audit_report(found, settings={"labels": "people.csv"}))


def changed_by_hand():
    """A drift over nine windows, and a comparison with clear changes; some rates are unknown."""
    rng = np.random.default_rng(4)
    n, m = 70, 90
    labels = rng.integers(0, 2, (n, m)).astype(float)
    chances = np.linspace(0.05, 0.5, n)[:, None] * np.linspace(0.8, 1.2, m)
    before = np.where(rng.random((n, m)) < chances, 1 - labels, labels)
    after = np.where(rng.random((n, m)) < 0.05, 1 - labels, labels)
    labels[3] = np.nan
    labels[rng.random((n, m)) < 0.1] = np.nan
    named = {"individual_names": [f"person {k}" for k in range(n)]}
    found = audit(labels, before, **named)
    months = [f"2026-{1 + task // 10:02}-01" for task in range(m)]
    return drift(found, months), compare(found, audit(labels, after, **named))


@pytest.fixture(scope="module", name="changes")
def fixture_changes(save):
    """A drift and a comparison, each with its page."""
    moved, compared = changed_by_hand()
    notes = ("left out: 3 events without a label.",)
    shown = {"settings": {"log": "events.csv"}, "notes": notes}
    return {
        "drift": (moved, save("drift", drift_report(moved, **shown))),
        "comparison": (compared, save("comparison", comparison_report(compared, **shown))),
    }


@pytest.fixture(scope="module", name="usual")
def fixture_usual(whole, audited, changes):
    """The path of a page of each kind."""
    own = {kind: path for kind, (_, path) in changes.items()}
    return {"frontier": whole[-1], "audit": audited[-1], **own}
