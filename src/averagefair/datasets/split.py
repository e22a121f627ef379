"""A split: people and tasks to learn from, people and tasks held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
LabelArray = NDArray[np.int8]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """People and tasks to learn from, and people and tasks held out.

    Attributes
    ----------
    X : float64 array, shape (n, d)
        Features of the training people.
    Y : int8 array of 0 and 1, shape (n, m)
        Their labels on the training tasks.
    X_new : float64 array, shape (n_new, d)
        Features of the held-out people.
    Y_new_people : int8 array, shape (n_new, m)
        Labels of the held-out people on the training tasks.
    Y_new_tasks : int8 array, shape (n, m_new)
        Labels of the training people on the held-out tasks: what a new task is learned from.
    Y_new_both : int8 array, shape (n_new, m_new)
        Labels of the held-out people on the held-out tasks.
    """

    X: FloatArray
    Y: LabelArray
    X_new: FloatArray
    Y_new_people: LabelArray
    Y_new_tasks: LabelArray
    Y_new_both: LabelArray

    def __repr__(self) -> str:
        (n, d), m, (n_new, m_new) = self.X.shape, self.Y.shape[1], self.Y_new_both.shape
        held_out = f"held out: {n_new} people, {m_new} tasks"
        return f"{type(self).__name__}({n} people x {m} tasks, {d} features; {held_out})"
