"""A table of people with names: features, labels, a plain model's decisions, and groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.text import counted
from averagefair.datasets.split import FloatArray, LabelArray

FOLDS = 5
"""People are judged by models that were learned from the other folds."""
RIDGE = 1e-3
"""A small penalty, so that columns that depend on each other do no harm."""


@dataclass(frozen=True, eq=False, repr=False)
class People:
    """People and tasks as DataFrames, ready for ``fit`` and ``audit``.

    The index of every table is the people's names.

    Attributes
    ----------
    X : DataFrame, shape (n, d)
        Features: numbers and words, some of them blank. Pass ``encode=True`` to learn from them.
    Y : DataFrame of 0, 1 and blanks, shape (n, m)
        Labels, a column for each task.
    decisions : DataFrame of 0 and 1, shape (n, m)
        What a plain linear model decided: one for each task, learned by least squares from *other*
        people. So an audit of these decisions sees no task or person that a model was fitted to.
    groups : DataFrame, shape (n, number of attributes)
        Groups for comparison. They need not be features.
    kinds : Series of str, length m
        The kind of each task: ``people.Y.loc[:, people.kinds == "school"]`` has the schools alone.
    source : str
        Where the table comes from, and its licence.
    truth : Series of length n, optional
        Everybody's true error rate, where it is known and was asked for.
    """

    X: Any
    Y: Any
    decisions: Any
    groups: Any
    kinds: Any
    source: str
    truth: Any = None

    def __repr__(self) -> str:
        (n, m), d = self.Y.shape, self.X.shape[1]
        size = f"{counted(n, 'person', 'people')} x {counted(m, 'task')}, {counted(d, 'feature')}"
        return f"{type(self).__name__}({size}; {self.Y.isna().to_numpy().mean():.0%} blank labels)"


def plain_decisions(features: FloatArray, labels: FloatArray, fold: NDArray[Any]) -> LabelArray:
    """Decide each task by least squares, learned from the people of the other folds.

    Parameters
    ----------
    features : float array, shape (n, d)
        No blanks.
    labels : float array of 0, 1 and NaN, shape (n, m)
        A blank has no influence on the sign of a score, if blanks do not depend on labels.
    fold : int array, shape (n,)
        The fold of each person.

    Examples
    --------
    >>> x = np.linspace(-1.0, 1.0, 8)[:, None]
    >>> plain_decisions(x, (x > 0).astype(float), np.arange(8) % 2)[:, 0]
    array([0, 0, 0, 0, 1, 1, 1, 1], dtype=int8)
    """
    centre, scale = features.mean(axis=0), features.std(axis=0)
    scaled = (features - centre) / np.where(scale > 0, scale, 1.0)
    design = np.column_stack([np.ones(len(features)), scaled])
    signs = np.nan_to_num(2.0 * labels - 1.0)
    decided = np.empty(labels.shape, dtype=np.int8)
    for number in np.unique(fold):
        here = fold == number
        learned = design[~here]
        square = learned.T @ learned + RIDGE * len(learned) * np.eye(design.shape[1])
        weights = np.linalg.solve(square, learned.T @ signs[~here])
        decided[here] = design[here] @ weights > 0
    return decided


def folds(n: int, random_state: int) -> NDArray[Any]:
    """Return the fold of each person: folds of nearly equal size, at random."""
    order = np.random.default_rng(random_state).permutation(n)
    return order % FOLDS


def filled(values: FloatArray) -> FloatArray:
    """Put each column's median in place of its blanks."""
    return np.where(np.isnan(values), np.nanmedian(values, axis=0), values)
