"""Chances and drawn decisions in scikit-learn's ``cross_val_predict``."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from averagefair.errors import InputError
from averagefair.estimator import AverageFairClassifier

RETURNS = ("chances", "decisions")


class Decider(BaseEstimator):  # type: ignore[misc]
    """A model whose ``predict`` returns chances, or decisions drawn by the table's index.

    ``cross_val_predict`` accepts four methods only; ``decision_probability`` is not among them, and
    ``predict`` gets no ``ids``. Wrap the model to get them for held-out people.

    Parameters
    ----------
    model : AverageFairClassifier, or Pipeline that ends in one
        It is cloned; the model itself is not fitted.
    returns : {"chances", "decisions"}, default "chances"
        "chances": ``decision_probability``. "decisions": ``predict``; drawn decisions then depend
        on the index of a DataFrame, if X is one, and not on features.

    Attributes
    ----------
    model_ : AverageFairClassifier or Pipeline
        Fitted.

    Examples
    --------
    >>> from sklearn.model_selection import KFold, cross_val_predict
    >>> from averagefair import ColumnGeneration
    >>> from averagefair.datasets import make_synthetic
    >>> people = make_synthetic(n=60, m=20)
    >>> model = AverageFairClassifier(0.1, solver=ColumnGeneration(max_rounds=5))
    >>> cross_val_predict(Decider(model), people.X, people.Y, cv=KFold(2)).shape
    (60, 20)
    """

    model_: Any

    def __init__(self, model: Any, returns: str = "chances") -> None:
        self.model = model
        self.returns = returns

    def fit(self, X: Any, y: Any, **options: Any) -> Decider:
        """Fit a clone of the model.

        Parameters
        ----------
        X, y
            As for :meth:`averagefair.AverageFairClassifier.fit`.
        **options
            Passed on to the model's ``fit``.
        """
        if not isinstance(_last(self.model), AverageFairClassifier):
            raise InputError(
                "`model` must be an AverageFairClassifier, or a Pipeline that ends in one; got "
                f"{type(_last(self.model)).__name__}."
            )
        if self.returns not in RETURNS:
            raise InputError(
                f"`returns` must be one of {', '.join(RETURNS)}; got {self.returns!r}."
            )
        self.model_ = clone(self.model).fit(X, y, **options)
        return self

    def predict(self, X: Any) -> Any:
        """Return chances of deciding 1, or decisions 0/1, shape (n, m).

        Parameters
        ----------
        X : array-like or DataFrame, shape (n, d)
        """
        check_is_fitted(self)
        if self.returns == "chances":
            before = self.model_[:-1] if isinstance(self.model_, Pipeline) else ()
            return _last(self.model_).decision_probability(before.transform(X) if before else X)
        index = getattr(X, "index", None)
        named = index is not None and not callable(index)
        return self.model_.predict(X, ids=np.asarray(index) if named else None)


def _last(model: Any) -> Any:
    return model[-1] if isinstance(model, Pipeline) else model
