"""Tasks with a single label: nothing to learn, so a constant classifier, and a word about it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from averagefair.errors import DegenerateTaskWarning, some_of, warn
from averagefair.protocols import Oracle
from averagefair.sample import Sample


def constant_tasks(sample: Sample) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Find the tasks that show at most one label.

    Returns
    -------
    tasks : integer array, shape (k,)
        Their columns.
    labels : bool array, shape (k,)
        The constant each should decide: its only label, or 0 where no label is observed.
    """
    present = sample.individual_weights > 0
    signs = sample.signs if present.all() else sample.signs[present]
    has_zero, has_one = signs.max(axis=0) > 0, signs.min(axis=0) < 0
    tasks = np.flatnonzero(~(has_zero & has_one))
    return tasks, has_one[tasks]


def warn_of_constant_tasks(sample: Sample, oracle: Oracle) -> None:
    """Name the tasks with a single label, which our heuristic oracles give that constant.

    An exact oracle needs no such rule: it gives them whatever is cheapest.
    """
    tasks, _ = constant_tasks(sample)
    if oracle.exact or tasks.size == 0:
        return
    named = some_of([repr(sample.task_names[task]) for task in tasks])
    warn(
        f"{tasks.size} of {sample.m} tasks show a single label (or none) among the {sample.n} "
        f"individuals: {named}. There is nothing to learn in them: RegressionOracle and "
        "WeightedOracle give each a constant classifier, its only label (0 where none is "
        "observed). Leave them out if that is not wanted.",
        DegenerateTaskWarning,
    )
