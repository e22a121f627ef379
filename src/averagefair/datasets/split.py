"""A split: training people and tasks, and held-out people and tasks."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from averagefair._util.text import counted

FloatArray = NDArray[np.float64]
LabelArray = NDArray[np.int8]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Training people and tasks, and held-out people and tasks.

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
        Labels of the training people on the held-out tasks. A model makes the classifiers of these
        tasks from these labels.
    Y_new_both : int8 array, shape (n_new, m_new)
        Labels of the held-out people on the held-out tasks.
    """

    X: FloatArray
    Y: LabelArray
    X_new: FloatArray
    Y_new_people: LabelArray
    Y_new_tasks: LabelArray
    Y_new_both: LabelArray

    @property
    def digest(self) -> str:
        """The sha256 of features and labels, in the order of the attributes above."""
        parts = (self.X, self.Y, self.X_new, self.Y_new_people, self.Y_new_tasks, self.Y_new_both)
        digest = sha256()
        for part in parts:
            digest.update(np.ascontiguousarray(part, dtype=part.dtype.newbyteorder("<")).data)
        return digest.hexdigest()

    def __repr__(self) -> str:
        (n, d), m, (n_new, m_new) = self.X.shape, self.Y.shape[1], self.Y_new_both.shape
        held_out = f"held out: {counted(n_new, 'person', 'people')}, {counted(m_new, 'task')}"
        size = f"{counted(n, 'person', 'people')} x {counted(m, 'task')}, {counted(d, 'feature')}"
        return f"{type(self).__name__}({size}; {held_out})"

    def with_tasks_drawn(self, rng: np.random.Generator) -> Split:
        """Return the same people with held-out tasks drawn at random from all tasks.

        Parameters
        ----------
        rng : numpy.random.Generator
        """
        order = rng.permutation(self.Y.shape[1] + self.Y_new_tasks.shape[1])
        old, new = np.split(order, [self.Y.shape[1]])
        training = np.hstack([self.Y, self.Y_new_tasks])
        held_out = np.hstack([self.Y_new_people, self.Y_new_both])
        return Split(
            X=self.X,
            Y=training[:, old],
            X_new=self.X_new,
            Y_new_people=held_out[:, old],
            Y_new_tasks=training[:, new],
            Y_new_both=held_out[:, new],
        )
