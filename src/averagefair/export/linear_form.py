"""Linear classifiers of any kind as coefficients and intercepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from averagefair.game.constant_classifiers import Constant
from averagefair.game.per_task_choice import PerTaskChoice, positions
from averagefair.game.protocols import Hypothesis
from averagefair.oracles.linear import LinearThresholds
from averagefair.oracles.stump import Stumps
from averagefair.oracles.weighted import FittedClassifiers

_LINEAR = {
    "sklearn.discriminant_analysis": ("LinearDiscriminantAnalysis",),
    "sklearn.linear_model": (
        "LogisticRegression",
        "LogisticRegressionCV",
        "PassiveAggressiveClassifier",
        "Perceptron",
        "RidgeClassifier",
        "RidgeClassifierCV",
        "SGDClassifier",
    ),
    "sklearn.svm": ("LinearSVC",),
}
"""scikit-learn's classifiers that predict their second class where X @ coef_ + intercept_ > 0."""


def linear_form(
    hypothesis: Hypothesis, width: int, k: int
) -> tuple[LinearThresholds, dict[int, str]]:
    """Return coefficients and intercepts of the linear tasks, and the kind of all other tasks.

    A constant has coefficients 0 and an intercept of -1 (decide 1) or 1 (decide 0).

    Parameters
    ----------
    hypothesis : Hypothesis
    width : int
        Number of features.
    k : int
        Number of tasks to look at: the first k of the hypothesis.

    Returns
    -------
    LinearThresholds, dict of int to str
        The other tasks have coefficients 0; the dict names their kind of classifier.

    Examples
    --------
    >>> linear_form(Constant(True, 2), 1, 2)[0].intercepts
    array([-1., -1.])
    """
    if isinstance(hypothesis, LinearThresholds):
        return hypothesis, {}
    if isinstance(hypothesis, Constant):
        return _of_constants(np.full(k, hypothesis.decision), width), {}
    if isinstance(hypothesis, Stumps):
        one_sided = np.isinf(hypothesis.thresholds)
        others = dict.fromkeys(np.flatnonzero(~one_sided).tolist(), "thresholds on one feature")
        return _of_constants((hypothesis.thresholds > 0) != hypothesis.upward, width), others
    if isinstance(hypothesis, FittedClassifiers):
        return _of_fitted(hypothesis, width)
    if isinstance(hypothesis, PerTaskChoice):
        return _of_choice(hypothesis, width)
    others = dict.fromkeys(range(k), type(hypothesis).__name__)
    return _of_constants(np.zeros(k, dtype=bool), width), others


def is_linear(classifier: Any, classes: Sequence[Any]) -> bool:
    """Return whether a fitted scikit-learn classifier decides 1 where a linear score is positive.

    Parameters
    ----------
    classifier : fitted classifier
    classes : pair
        Its labels for deciding 0 and deciding 1.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> is_linear(LogisticRegression().fit([[0.0], [1.0]], [0, 1]), (0, 1))
    True
    """
    kind = type(classifier)
    public = kind.__module__.split("._")[0]
    known = kind.__name__ in _LINEAR.get(public, ())
    # With the labels the other way round, a score of 0 would decide 1.
    if not known or list(classifier.classes_) != list(classes):
        return False
    return bool(np.size(classifier.coef_) == classifier.n_features_in_)


def _of_constants(decisions: Any, width: int) -> LinearThresholds:
    intercepts = np.where(decisions, -1.0, 1.0)
    return LinearThresholds(np.zeros((width, len(intercepts))), intercepts)


def _of_fitted(
    hypothesis: FittedClassifiers, width: int
) -> tuple[LinearThresholds, dict[int, str]]:
    classifiers = hypothesis.classifiers
    out = _of_constants([one is True for one in classifiers], width)
    others = {}
    for task, classifier in enumerate(classifiers):
        if isinstance(classifier, bool):
            continue
        classifier = chosen_by_search(classifier)
        if is_linear(classifier, hypothesis.classes):
            out.coefficients[:, task] = -np.ravel(classifier.coef_)
            out.intercepts[task] = -np.ravel(classifier.intercept_)[0]
        else:
            others[task] = type(classifier).__name__
    return out, others


def chosen_by_search(classifier: Any) -> Any:
    """Return the classifier that a grid or random search has chosen; any other as it is."""
    return getattr(classifier, "best_estimator_", classifier)


def _of_choice(hypothesis: PerTaskChoice, width: int) -> tuple[LinearThresholds, dict[int, str]]:
    out = _of_constants(np.zeros(len(hypothesis.choice), dtype=bool), width)
    others: dict[int, str] = {}
    for position, tasks in positions(hypothesis.choice):
        columns = hypothesis.columns[tasks]
        own, unlike = linear_form(hypothesis.hypotheses[position], width, int(columns.max()) + 1)
        out.coefficients[:, tasks] = own.coefficients[:, columns]
        out.intercepts[tasks] = own.intercepts[columns]
        others |= {
            task: unlike[column]
            for task, column in zip(tasks.tolist(), columns.tolist(), strict=True)
            if column in unlike
        }
    return out, others
