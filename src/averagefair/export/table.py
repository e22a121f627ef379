"""The rules of fixed decisions as columns of a table: coefficients, or thresholds."""

from __future__ import annotations

from typing import Any

from averagefair.export.fixed import refuse_name, rules_in_a_table
from averagefair.export.linear import INTERCEPT, linear_rules
from averagefair.export.linear_form import linear_form
from averagefair.export.stumps import stump_form, stump_rules
from averagefair.game.mixture import Mixture

TASK = "task"


def rule_table(mixture: Mixture) -> dict[str, Any]:
    """Return the columns of a table with a row for each task.

    For linear classifiers: task, the features' coefficients, intercept. For thresholds: task,
    feature, direction, threshold.

    Parameters
    ----------
    mixture : Mixture
        Fixed, without a feature map, and either linear in every task or with a threshold in every
        task; otherwise an InputError says which part cannot be exported.

    Examples
    --------
    >>> from averagefair import Sample
    >>> from averagefair.game.constant_classifiers import Constant
    >>> sample = Sample([[0.0], [1.0]], [[0, 1], [1, 0]])
    >>> rule_table(Mixture.fixed(Constant(True, 2), sample))
    {'task': ('task0', 'task1'), 'x0': array([0., 0.]), 'intercept': array([1., 1.])}
    """
    hypothesis, k = rules_in_a_table(mixture, "rules"), len(mixture.task_names)
    not_linear = linear_form(hypothesis, mixture.feature_count, k)[1]
    if not_linear and not stump_form(hypothesis, k)[1]:
        found = stump_rules(mixture)
        return {
            TASK: found.task_names,
            "feature": found.features,
            "direction": found.directions,
            "threshold": [None if value != value else value for value in found.thresholds.tolist()],
        }
    rules = linear_rules(mixture)
    refuse_name(mixture, [TASK], "coefficients")
    columns = zip(rules.feature_names, rules.coefficients.T, strict=True)
    return {TASK: rules.task_names, **dict(columns), INTERCEPT: rules.intercepts}
