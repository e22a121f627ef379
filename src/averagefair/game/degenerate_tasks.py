"""Tasks with a single label: they get a constant classifier and a warning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.errors import DegenerateTaskWarning, some_of, warn
from averagefair.game.protocols import Oracle
from averagefair.people.parts import Part
from averagefair.people.sample import Sample


def constant_tasks(sample: Sample) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Find the tasks that show at most one label.

    Returns
    -------
    tasks : integer array, shape (k,)
        Their columns.
    labels : bool array, shape (k,)
        The constant decision of each task: its only label, or 0 if no label is observed.
    """
    has_zero, has_one = np.any(sample.collect(_labels_shown, sample.counts), axis=0)
    tasks = np.flatnonzero(~(has_zero & has_one))
    return tasks, has_one[tasks]


def _labels_shown(part: Part, counts: Any) -> NDArray[np.bool_]:
    """Return which tasks show label 0, and which show label 1, among weighted people; (2, m)."""
    space, xp = part.space, part.space.xp
    shown = np.zeros((2, part.signs.shape[1]), dtype=np.bool_)
    for rows in part.blocks(part.signs.shape[1]):
        signs, present = part.signs[rows, :], counts[rows] > 0
        if not bool(xp.all(present)):
            signs = signs[present]
        if signs.shape[0]:
            shown |= space.to_host(xp.stack([xp.max(signs, axis=0) > 0, xp.min(signs, axis=0) < 0]))
    return shown


def warn_of_constant_tasks(sample: Sample, oracle: Oracle) -> None:
    """Warn of tasks with a single label: our heuristic oracles decide that label for everybody.

    An exact oracle needs no such rule: it answers with the cheapest classifier.
    """
    tasks, _ = constant_tasks(sample)
    if oracle.exact or tasks.size == 0:
        return
    named = some_of([repr(sample.task_names[task]) for task in tasks])
    warn(
        f"{tasks.size} of {sample.m} tasks show a single label (or none) among the {sample.n} "
        f"individuals: {named}. RegressionOracle and WeightedOracle give each of them a constant "
        "classifier: its only label, or 0 if none is observed. To avoid this, leave these tasks "
        "out.",
        DegenerateTaskWarning,
    )
