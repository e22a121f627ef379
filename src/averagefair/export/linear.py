"""The coefficients of linear classifiers, as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from averagefair._util.arrays import FloatArray
from averagefair.errors import extra
from averagefair.export.fixed import (
    column_names,
    refuse_name,
    refuse_other_kinds,
    rules_in_a_table,
)
from averagefair.export.linear_form import linear_form
from averagefair.game.mixture import Mixture

INTERCEPT = "intercept"


@dataclass(frozen=True, eq=False)
class LinearRules:
    """Linear classifiers in the user's units: decide 1 where the score is above 0.

    The score of a person is ``features @ coefficients[task] + intercepts[task]``. A score of
    exactly 0 decides 0.

    Attributes
    ----------
    task_names : tuple of str, length k
    feature_names : list of str, length d
        x0, x1, ... if X had no column names.
    coefficients : array, shape (k, d)
    intercepts : array, shape (k,)
    """

    task_names: tuple[str, ...]
    feature_names: list[str]
    coefficients: FloatArray
    intercepts: FloatArray


def linear_rules(mixture: Mixture) -> LinearRules:
    """Return the linear classifiers of a mixture that draws nothing.

    Parameters
    ----------
    mixture : Mixture
        Fixed, without a feature map, and linear in every task; otherwise an InputError says which
        part cannot be exported.

    Examples
    --------
    >>> import numpy as np
    >>> from averagefair import Sample
    >>> from averagefair.oracles.linear import LinearThresholds
    >>> sample = Sample([[0.0, 1.0], [1.0, 0.0]], [[0], [1]])
    >>> line = LinearThresholds(np.array([[-2.0], [0.0]]), np.array([1.0]))
    >>> rules = linear_rules(Mixture.fixed(line, sample))
    >>> rules.coefficients, rules.intercepts
    (array([[2., 0.]]), array([-1.]))
    """
    hypothesis = rules_in_a_table(mixture, "coefficients")
    refuse_name(mixture, [INTERCEPT], "coefficients")
    linear, others = linear_form(hypothesis, mixture.feature_count, len(mixture.task_names))
    refuse_other_kinds(
        mixture,
        others,
        "coefficients",
        "linear classifiers and constants",
        "Export all classifiers with to_onnx (averagefair export -o model.onnx), or fit with a "
        "linear oracle, such as the default. A table of stumps: averagefair export -o rules.csv.",
    )
    # Our classifiers decide 1 where the score is negative. A sign is exact, so turning it changes
    # no decision. Adding 0 turns -0.0 into 0.0.
    return LinearRules(
        mixture.task_names,
        column_names(mixture),
        -linear.coefficients.T + 0.0,
        -linear.intercepts + 0.0,
    )


def coefficients(mixture: Mixture) -> Any:
    """Return the linear classifiers as a DataFrame; see :meth:`averagefair.Mixture.coefficients`.

    Parameters
    ----------
    mixture : Mixture
    """
    rules = linear_rules(mixture)
    pandas = extra("pandas", "pandas")
    tasks = pandas.Index(rules.task_names, name="task", dtype=object)
    columns = pandas.Index([*rules.feature_names, INTERCEPT], dtype=object)
    table = pandas.DataFrame(rules.coefficients, index=tasks, columns=columns[:-1])
    table[INTERCEPT] = rules.intercepts
    return table
