"""The paper's experiments, as functions that return data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from averagefair.certificate import Certificate
from averagefair.datasets import Split
from averagefair.estimator import AverageFairClassifier
from averagefair.learner import Learner
from averagefair.measure import Measurement, Meter
from averagefair.oracles import RegressionOracle
from averagefair.rates import ErrorRate
from averagefair.sample import Sample


@dataclass(frozen=True)
class Outcome:
    """One alpha's fit on a split: in sample, and on people and tasks held out.

    Attributes
    ----------
    certificate : Certificate
        Of the fit: requested, reached, gap, rounds, seconds.
    baseline_error : float
        Error of the coin-flip mixture with the same spread in sample.
    training, new_people, new_tasks, new_both : Measurement
        Error and individual error rates on each corner of the split.
    """

    certificate: Certificate
    baseline_error: float
    training: Measurement
    new_people: Measurement
    new_tasks: Measurement
    new_both: Measurement


def unconstrained(split: Split) -> Measurement:
    """Measure the classifiers that pay no heed to fairness: the Learner's answer to w = 0."""
    learner = Learner(Sample(split.X, split.Y), ErrorRate(), RegressionOracle())
    return learner.meter(learner.respond(np.zeros(len(learner.constraints))).hypothesis.decide)


def coin_flip_error(model: Measurement, spread: float) -> float:
    """Return the error of mixing a model with fair coin flips until its spread is this small.

    The paper's baseline: a share t of coin flips shrinks every difference between individuals by
    1 - t, and takes the error a share t of the way to one half.

    Examples
    --------
    >>> coin_flip_error(Measurement(0.1, np.array([0.0, 0.4])), spread=0.1)
    0.4
    """
    kept = min(1.0, spread / model.spread) if model.spread > 0 else 1.0
    return kept * model.error + (1.0 - kept) * 0.5


def evaluate(split: Split, model: AverageFairClassifier, free: Measurement) -> Outcome:
    """Measure a model fitted on a split's training corner on all four of its corners.

    Parameters
    ----------
    split : Split
    model : AverageFairClassifier
        Fitted on ``split.X`` and ``split.Y``.
    free : Measurement
        Of the unconstrained classifiers, for the baseline.
    """

    def score(X: Any, Y: Any, classifiers: Any) -> Measurement:
        return Meter(Sample(X, Y), ErrorRate())(classifiers.decision_probability)

    later = model.extend(split.Y_new_tasks)
    return Outcome(
        certificate=model.certificate_,
        baseline_error=coin_flip_error(free, model.certificate_.spread),
        training=score(split.X, split.Y, model.classifiers_),
        new_people=score(split.X_new, split.Y_new_people, model.classifiers_),
        new_tasks=score(split.X, split.Y_new_tasks, later),
        new_both=score(split.X_new, split.Y_new_both, later),
    )
