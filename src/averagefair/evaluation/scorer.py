"""Fairness as a score for scikit-learn's searches and cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from averagefair._util.arrays import FloatArray
from averagefair._util.checks import number_below, positive_number
from averagefair.errors import InputError
from averagefair.estimator import AverageFairClassifier
from averagefair.game.measure import Measurement, Meter
from averagefair.game.protocols import Rate
from averagefair.game.rates import ErrorRate, Rates
from averagefair.game.windows import narrowest
from averagefair.game.worst_off import worst_off_mean
from averagefair.people.backends import to_host
from averagefair.people.sample import Sample

FIGURES = ("worst_off", "sd", "near", "spread", "error")
_TRUE_RATES = ("sigma", "denoised", "p")


@dataclass(frozen=True)
class FairnessScorer:
    """A score of held-out people's rates: minus a figure, so that larger is better.

    Made by :func:`~averagefair.make_fairness_scorer`; call it with a fitted estimator, X and y.

    Attributes
    ----------
    figure : str
    share, beta : float
    rate : str, Rate, list of these, or None
    """

    figure: str
    share: float
    beta: float
    rate: Any = None

    def __call__(
        self, estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the score of a fitted estimator on these people.

        Parameters
        ----------
        estimator : AverageFairClassifier, Pipeline that ends in one, or classifier of many tasks
        X : array-like or DataFrame, shape (n, d)
        y : array-like or DataFrame, shape (n, m)
            Their labels on the learned tasks; blanks do not count.
        sample_weight : array-like of shape (n,), optional
            How many people each row stands for.
        """
        measured, people = _measure(estimator, X, y, self._rates(estimator), sample_weight)
        if np.isnan(measured.error):
            raise InputError("y must have at least one label to score against; all are blank.")
        if self.figure == "error":
            return -float(measured.error)
        rates = np.asarray(measured.rates, dtype=np.float64).reshape(people.size, -1).T
        figures = [self._figure(column, people) for column in rates]
        if np.isnan(figures).all():
            raise InputError(
                "nobody here has a rate to score: no label counts towards it. Use larger folds, or "
                'rate="error".'
            )
        return -float(np.nanmax(figures))

    def _rates(self, estimator: Any) -> Any:
        if self.figure == "error":
            return ErrorRate()
        if self.rate is not None:
            return self.rate
        last = _last(estimator)
        return last.rate if isinstance(last, AverageFairClassifier) else ErrorRate()

    def _figure(self, rates: FloatArray, people: FloatArray) -> float:
        rated = ~np.isnan(rates) & (people > 0)
        rates, people = rates[rated], people[rated]
        if not rates.size:
            return float("nan")
        if self.figure == "worst_off":
            return worst_off_mean(rates, people, self.share)
        if self.figure == "spread":
            return float(np.ptp(rates))
        if self.figure == "near":
            order = np.argsort(rates)
            below = np.append(0.0, np.cumsum(people[order]))
            return 0.5 * narrowest(rates[order], self.beta, below).width
        if people.sum() <= 1:
            return float("nan")
        off = rates - np.average(rates, weights=people)
        return float(np.sqrt(people @ np.square(off) / (people.sum() - 1)))


def make_fairness_scorer(
    figure: str = "worst_off",
    *,
    share: float = 0.1,
    beta: float = 0.05,
    rate: str | Rate | Sequence[str | Rate] | None = None,
) -> FairnessScorer:
    """Return a scorer for ``GridSearchCV``, ``cross_val_score`` and the like.

    The scorer measures rates of held-out people, as observed on the tasks that were learned. So it
    compares settings on people to come. It says nothing about tasks to come, and estimates no true
    rates: with few tasks, part of every figure is noise, about the same for all settings. For new
    tasks use :func:`~averagefair.cross_audit`.

    Parameters
    ----------
    figure : {"worst_off", "sd", "near", "spread", "error"}, default "worst_off"
        The score is minus this figure. "worst_off": the mean rate of the worst-off share. "sd": the
        standard deviation of the rates. "near": alpha(beta), the distance from a common rate within
        which all but a share beta of the people lie. "spread": largest minus smallest rate.
        "error": the overall error. Only "worst_off" and "error" punish high rates; the others are
        best if everybody's rate is equally high.
    share : float in (0, 1], default 0.1
        For "worst_off": the share of the people who count as worst-off.
    beta : float in [0, 1), default 0.05
        For "near": the share of the people left out.
    rate : str, Rate, or list of these, optional
        Which mistakes count. Of several rates, the one with the largest figure is scored. Default:
        those of the estimator; for other classifiers "error".

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV, KFold
    >>> from averagefair import AverageFairClassifier, ColumnGeneration
    >>> from averagefair.datasets import make_synthetic
    >>> people = make_synthetic(n=60, m=20)
    >>> model = AverageFairClassifier(worst_off=0.1, solver=ColumnGeneration(max_rounds=5))
    >>> scorer = make_fairness_scorer("worst_off")
    >>> search = GridSearchCV(model, {"price": [0.05, 0.5]}, scoring=scorer, cv=KFold(2))
    >>> bool(-1 <= search.fit(people.X, people.Y).best_score_ <= 0)
    True
    """
    if not isinstance(figure, str) or figure not in FIGURES:
        why = (
            f" {figure!r} is about true rates, which cannot be estimated on learned tasks: use "
            '"sd" or "near", or cross_audit for new tasks.'
            if figure in _TRUE_RATES
            else ""
        )
        raise InputError(f"`figure` must be one of {', '.join(FIGURES)}; got {figure!r}.{why}")
    if rate is not None:
        Rates.of(rate)  # refuses what is no rate
    return FairnessScorer(
        figure, positive_number("share", share, 1.0), number_below("beta", beta, 1.0), rate
    )


def _last(estimator: Any) -> Any:
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def _measure(
    estimator: Any, X: Any, y: Any, rates: Any, sample_weight: ArrayLike | None
) -> tuple[Measurement, FloatArray]:
    """Return the error and everybody's rates, and how many people each row stands for."""
    last = _last(estimator)
    if isinstance(last, AverageFairClassifier):
        if isinstance(estimator, Pipeline) and len(estimator) > 1:
            X = estimator[:-1].transform(X)
        classifiers, table = last._classifiers_for(X)
        sample = Sample(table, y, individual_weights=sample_weight)
        sample.check_tasks(last.task_names_, classifiers.named_tasks, "y")
        sample = classifiers.map_sample(sample).with_task_weights(last.task_weights_)
        measured = Meter(sample, rates).mix(classifiers.parts()).on_host()
    else:
        decisions = np.asarray(estimator.predict(X), dtype=np.float64)
        decisions = decisions.reshape(len(decisions), -1)
        sample = Sample(decisions, y, individual_weights=sample_weight)
        if decisions.shape[1] != sample.m:
            raise InputError(
                f"the estimator decides {decisions.shape[1]} tasks, and y has {sample.m}."
            )
        measured = Meter(sample, rates)(lambda block: block)
    return measured, np.asarray(to_host(sample.individual_weights), dtype=np.float64)
