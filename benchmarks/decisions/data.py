"""The populations of the benchmark, each named by a short description that a record can hold.

- ``{"communities": "paper"}``: the paper's 200 people and 50 tasks.
- ``{"communities": n, "seed": s}``: n people drawn at random to learn from, all others new, and the
  paper's tasks. With ``"tasks": "drawn"``, tasks drawn at random.
- ``{"synthetic": {...}}``: the arguments of ``make_synthetic``.
- ``{"columns": n, "seed": s, "later": k}``: n people of Communities, 50 tasks to learn from and k
  later ones. Every task is a random column that is not a feature, cut at a random quantile.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from averagefair.datasets import Communities, Split, communities_split, make_synthetic
from benchmarks.common import communities

Data = dict[str, Any]
# Columns with a larger share of blanks make no tasks, and quantiles lie between these two.
MOST_BLANK, QUANTILES = 0.1, (0.25, 0.75)
FEATURES = slice(50, 70)


def load(data: Data) -> Split:
    """Return the split that a description stands for.

    Parameters
    ----------
    data : dict
    """
    if "synthetic" in data:
        return make_synthetic(**data["synthetic"])
    if data.get("communities") == "paper":
        return communities_split(whole())
    rng = np.random.default_rng(data["seed"])
    rows = rng.permutation(len(whole().values))
    if "columns" in data:
        return _from_columns(rows, data["columns"], data["later"], rng)
    count = data["communities"]
    split = communities_split(whole(), train_rows=rows[:count], holdout_rows=rows[count:])
    if data.get("tasks") != "drawn":
        return split
    return split.with_tasks_drawn(np.random.default_rng(data["seed"]))


def available(data: Data) -> bool:
    """Return whether the data are here: Communities needs its file."""
    return "synthetic" in data or _table() is not None


def whole() -> Communities:
    """Return the table of Communities and Crime."""
    table = _table()
    assert table is not None, "there is no file of Communities here"
    return table


_table = cache(communities)


def _from_columns(rows: Any, count: int, later: int, rng: np.random.Generator) -> Split:
    """Make tasks from columns and cuts at random, all alike: the first 50 are learned."""
    values = whole().values
    usable = np.isnan(values).mean(axis=0) <= MOST_BLANK
    usable[FEATURES] = False
    columns = rng.choice(np.flatnonzero(usable), 50 + later)
    quantiles = rng.uniform(*QUANTILES, 50 + later)
    known = np.nan_to_num(values)
    cuts = [np.quantile(known[:, c], q) for c, q in zip(columns, quantiles, strict=True)]
    labels = (known[:, columns] > np.array(cuts)).astype(np.int8)
    features = known[:, FEATURES] - known[:, FEATURES].mean(axis=0)
    train, new = rows[:count], rows[count:]
    return Split(
        X=features[train],
        Y=labels[train, :50],
        X_new=features[new],
        Y_new_people=labels[new, :50],
        Y_new_tasks=labels[train, 50:],
        Y_new_both=labels[new, 50:],
    )
