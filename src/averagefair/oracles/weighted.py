"""Any scikit-learn classifier that takes sample weights, fitted once for each task."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from averagefair.costs import Costs
from averagefair.errors import InputError
from averagefair.oracles.degenerate import constant_tasks
from averagefair.sample import FloatArray, Sample


@dataclass(frozen=True, eq=False)
class FittedClassifiers:
    """One fitted classifier, or one constant, for each of k tasks.

    Attributes
    ----------
    classifiers : sequence of length k
        A fitted scikit-learn classifier with classes 0 and 1, or a bool: a constant decision.
    """

    classifiers: Sequence[Any]

    def decide(self, features: FloatArray) -> NDArray[np.bool_]:
        """Decide for each person and task; shape (n, k)."""
        out = np.empty((len(features), len(self.classifiers)), dtype=np.bool_)
        for task, classifier in enumerate(self.classifiers):
            constant = isinstance(classifier, bool)
            out[:, task] = classifier if constant else classifier.predict(features)
        return out

    def key(self) -> Hashable:
        """Return an identity: fitted models are not compared."""
        return id(self)


@dataclass(frozen=True, eq=False)
class WeightedOracle:
    """A scikit-learn classifier as oracle: label = sign of the cost gap, weight = its size.

    Parameters
    ----------
    estimator : scikit-learn classifier
        Its ``fit`` must take ``sample_weight``. Cloned for each task; where it has an unset
        ``random_state``, that is set to 0, so that asking twice gives the same answer twice.
    n_jobs : int, optional
        Tasks fitted side by side, as in joblib.

    Notes
    -----
    A heuristic: training loss is not cost. A task of which only one wanted label is left gets
    that constant.
    """

    estimator: Any
    n_jobs: int | None = None
    exact = False

    def __post_init__(self) -> None:
        estimator = self.estimator
        if isinstance(estimator, type) or not (
            hasattr(estimator, "fit") and is_classifier(estimator)
        ):
            raise InputError(
                "an oracle must be one of averagefair's, an object with `exact` and `bind`, or a "
                f"scikit-learn classifier (an instance); got {self.estimator!r}."
            )
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise InputError(
                f"{type(self.estimator).__name__}.fit takes no sample_weight, which is how costs "
                "reach it. Use a classifier that takes it (for example LogisticRegression, "
                "DecisionTreeClassifier, HistGradientBoostingClassifier) or RegressionOracle()."
            )

    def bind(self, sample: Sample) -> _PerTask:
        """Find the tasks with nothing to learn; everything else waits for the costs."""
        return _PerTask(_with_seed(self.estimator), self.n_jobs, sample)


class _PerTask:
    def __init__(self, estimator: Any, n_jobs: int | None, sample: Sample) -> None:
        self.estimator, self.n_jobs, self.features = estimator, n_jobs, sample.features
        tasks, labels = constant_tasks(sample)
        self.constants = {int(t): bool(label) for t, label in zip(tasks, labels, strict=True)}

    def __call__(self, costs: Costs) -> FittedClassifiers:
        """Fit one classifier for each task."""
        tasks = range(costs.signs.shape[1]) if costs.tasks is None else costs.tasks
        gaps = costs.gaps()
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit)(self.estimator, self.features, gaps[:, column])
            for column, task in enumerate(tasks)
            if task not in self.constants
        )
        answers = iter(fitted)
        return FittedClassifiers(
            [self.constants[t] if t in self.constants else next(answers) for t in tasks]
        )


def _fit(estimator: Any, features: FloatArray, gap: FloatArray) -> Any:
    matters = np.flatnonzero(gap)
    wanted = gap[matters] < 0
    if not wanted.any() or wanted.all():
        return bool(wanted.any())
    return clone(estimator).fit(
        features[matters], wanted.astype(np.int64), sample_weight=np.abs(gap[matters])
    )


def _with_seed(estimator: Any) -> Any:
    seeded = clone(estimator)
    unset = {
        name: 0
        for name, value in seeded.get_params().items()
        if name.split("__")[-1] == "random_state" and value is None
    }
    return seeded.set_params(**unset)
