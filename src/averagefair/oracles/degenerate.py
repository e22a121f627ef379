"""Tasks with a single label: nothing to learn, so a constant classifier and one warning."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from averagefair.errors import DegenerateTaskWarning
from averagefair.sample import Sample


def constant_tasks(sample: Sample) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Find the tasks that show at most one label, and warn once, naming them.

    Returns
    -------
    tasks : integer array, shape (k,)
        Their columns.
    labels : bool array, shape (k,)
        The constant each should decide: its only label, or 0 where no label is observed.
    """
    has_zero, has_one = sample.signs.max(axis=0) > 0, sample.signs.min(axis=0) < 0
    tasks = np.flatnonzero(~(has_zero & has_one))
    if tasks.size:
        named = ", ".join(repr(sample.task_names[task]) for task in tasks[:5])
        more = f" and {tasks.size - 5} more" if tasks.size > 5 else ""
        warnings.warn(
            f"{tasks.size} of {sample.m} tasks show a single label (or none) among the "
            f"{sample.n} individuals: {named}{more}. Each gets a constant classifier: its only "
            "label (0 where no label is observed). Leave them out if that is not wanted.",
            DegenerateTaskWarning,
            stacklevel=2,
        )
    return tasks, has_one[tasks]
