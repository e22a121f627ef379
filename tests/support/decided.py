"""Decisions about people on tasks, as two tables and as a log of events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.support.cli_runs import write

COLUMNS = ("--person", "id", "--task", "school", "--label", "hired", "--decision", "offer")


@dataclass(frozen=True)
class Decided:
    """Labels and two sets of decisions of the same people on the same tasks.

    ``chances`` are everybody's chances of a wrong decision before.
    """

    names: list[str]
    tasks: list[str]
    labels: np.ndarray
    before: np.ndarray
    after: np.ndarray

    def write(self, folder):
        """Write labels.csv, decisions.csv, new_decisions.csv and months.csv."""
        tables = {"labels": self.labels, "decisions": self.before, "new_decisions": self.after}
        for name, cells in tables.items():
            rows = [[who, *written(row)] for who, row in zip(self.names, cells, strict=True)]
            write(folder / f"{name}.csv", ["person", *self.tasks], rows)
        write(
            folder / "months.csv",
            ["batch", "task"],
            [[month_of(place, len(self.tasks)), name] for place, name in enumerate(self.tasks)],
        )

    def events(self, shuffled=None):
        """Return a row for each decision: id, school, hired, offer, new_offer, date."""
        rows = []
        for person, name in enumerate(self.names):
            for task, school in enumerate(self.tasks):
                right = self.labels[person, task]
                day = f"{month_of(task, len(self.tasks))}-{1 + (person + task) % 28:02}"
                made = int(self.before[person, task]), int(self.after[person, task])
                rows.append([name, school, *written([right]), *made, day])
        if shuffled is not None:
            shuffled.shuffle(rows)
        return rows


HEAD = ["id", "school", "hired", "offer", "new_offer", "date"]


def month_of(task, tasks):
    """Return the month of a task, out of four."""
    return f"2026-{1 + 4 * task // tasks:02}"


def written(cells):
    return ["" if np.isnan(cell) else int(cell) for cell in cells]


def decided(n=60, m=40, chances=(0.1, 0.4), blank=0.0, seed=0):
    """Return decisions whose chances of a mistake run from the first to the last."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, (n, m)).astype(float)
    wrong = np.linspace(*chances, n)[:, None]
    before = np.where(rng.random((n, m)) < wrong, 1 - labels, labels)
    after = np.where(rng.random((n, m)) < 0.2, 1 - labels, labels)
    labels[rng.random((n, m)) < blank] = np.nan
    names = [f"p{place:03}" for place in rng.permutation(n)]
    return Decided(names, [f"s{place:02}" for place in range(m)], labels, before, after)
