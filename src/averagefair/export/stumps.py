"""Thresholds on one feature, as a table that people can read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair.export.fixed import column_names, refuse_other_kinds, rules_in_a_table
from averagefair.game.constant_classifiers import Constant
from averagefair.game.mixture import Mixture
from averagefair.game.per_task_choice import PerTaskChoice, positions
from averagefair.game.protocols import Hypothesis
from averagefair.oracles.stump import Stumps

AT_MOST, ABOVE, ALWAYS, NEVER = "at most", "above", "always", "never"


@dataclass(frozen=True, eq=False)
class StumpRules:
    """One threshold for each task: when to decide 1.

    Attributes
    ----------
    task_names : tuple of str, length k
    features : list of length k
        The feature that decides the task; None for a constant.
    directions : list of str, length k
        "at most": decide 1 where the feature is at most the threshold. "above": decide 1 where it
        is above. "always", "never": a constant.
    thresholds : array, shape (k,)
        NaN for a constant.
    """

    task_names: tuple[str, ...]
    features: list[str | None]
    directions: list[str]
    thresholds: FloatArray


def stump_rules(mixture: Mixture) -> StumpRules:
    """Return the thresholds of a mixture that draws nothing.

    Parameters
    ----------
    mixture : Mixture
        Fixed, without a feature map, with stumps and constants only; otherwise an InputError says
        which part cannot be exported.

    Examples
    --------
    >>> from averagefair import Sample
    >>> sample = Sample([[0.0, 1.0], [1.0, 0.0]], [[0, 1], [1, 1]])
    >>> stumps = Stumps(np.array([1, 0]), np.array([0.5, np.inf]), np.array([True, False]))
    >>> rules = stump_rules(Mixture.fixed(stumps, sample))
    >>> [*zip(rules.features, rules.directions, rules.thresholds.tolist())]
    [('x1', 'above', 0.5), (None, 'always', nan)]
    """
    k = len(mixture.task_names)
    stumps, others = stump_form(rules_in_a_table(mixture, "thresholds"), k)
    refuse_other_kinds(
        mixture,
        others,
        "thresholds",
        "thresholds on one feature and constants",
        "Export all classifiers with to_onnx (averagefair export -o model.onnx), or fit with "
        "StumpOracle (--oracle stump).",
    )
    names, constant = column_names(mixture), np.isinf(stumps.thresholds)
    always = (stumps.thresholds > 0) != stumps.upward
    directions = np.where(stumps.upward, ABOVE, AT_MOST)
    directions = np.where(constant, np.where(always, ALWAYS, NEVER), directions)
    return StumpRules(
        mixture.task_names,
        [
            None if plain else names[feature]
            for feature, plain in zip(stumps.features.tolist(), constant.tolist(), strict=True)
        ],
        directions.tolist(),
        np.where(constant, np.nan, stumps.thresholds),
    )


def stump_form(hypothesis: Hypothesis, k: int) -> tuple[Stumps, dict[int, str]]:
    """Return stumps for the first k tasks, and the kind of classifier of tasks without one.

    Parameters
    ----------
    hypothesis : Hypothesis
    k : int
    """
    if isinstance(hypothesis, Stumps):
        return hypothesis, {}
    decision = isinstance(hypothesis, Constant) and hypothesis.decision
    thresholds = np.full(k, np.inf if decision else -np.inf)
    out = Stumps(np.zeros(k, dtype=np.intp), thresholds, np.zeros(k, dtype=np.bool_))
    if isinstance(hypothesis, Constant):
        return out, {}
    if not isinstance(hypothesis, PerTaskChoice):
        return out, dict.fromkeys(range(k), type(hypothesis).__name__)
    others: dict[int, str] = {}
    for position, tasks in positions(hypothesis.choice):
        columns = hypothesis.columns[tasks]
        own, unlike = stump_form(hypothesis.hypotheses[position], int(columns.max()) + 1)
        out.features[tasks], out.upward[tasks] = own.features[columns], own.upward[columns]
        out.thresholds[tasks] = own.thresholds[columns]
        others |= {
            task: unlike[column]
            for task, column in zip(tasks.tolist(), columns.tolist(), strict=True)
            if column in unlike
        }
    return out, others
