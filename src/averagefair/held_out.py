"""People and tasks held out: how a model does on those it was not learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from averagefair.errors import InputError
from averagefair.estimator import AverageFairClassifier
from averagefair.measure import Measurement, Meter
from averagefair.mixture import Mixture
from averagefair.rates import resolve_rates
from averagefair.sample import Sample


@dataclass(frozen=True)
class HeldOut:
    """Error and individual rates on people, tasks, or both, that a model has not seen.

    Attributes
    ----------
    people, tasks, both : Measurement or None
        None where no labels were given. Tasks are measured on the training people.
    """

    people: Measurement | None = None
    tasks: Measurement | None = None
    both: Measurement | None = None


def held_out(
    model: AverageFairClassifier,
    *,
    X: Any = None,
    X_new: Any = None,
    Y_new_people: Any = None,
    Y_new_tasks: Any = None,
    Y_new_both: Any = None,
) -> HeldOut:
    """Measure a fitted model on what it was not learned from.

    Parameters
    ----------
    model : AverageFairClassifier
        Fitted. New tasks get their classifiers from its mapping; the rate is the model's own.
    X : array-like or DataFrame, shape (n, d)
        The training people; needed with ``Y_new_tasks``.
    X_new : array-like or DataFrame
        New people; needed with ``Y_new_people`` and ``Y_new_both``.
    Y_new_people : array-like or DataFrame
        Labels of the new people on the training tasks.
    Y_new_tasks : array-like or DataFrame
        Labels of the training people on new tasks.
    Y_new_both : array-like or DataFrame
        Labels of the new people on the new tasks; needs ``Y_new_tasks`` to learn from.
    """
    if (Y_new_people is not None or Y_new_both is not None) and X_new is None:
        raise InputError("labels of new people need their features: pass X_new.")
    if Y_new_both is not None and Y_new_tasks is None:
        raise InputError(
            "new tasks are learned from their labels on the training people: pass Y_new_tasks."
        )
    if Y_new_tasks is not None and X is None:
        raise InputError("new tasks are measured on the training people: pass X.")
    several = isinstance(model.rate, list | tuple)
    rates = resolve_rates(model.rate)

    def measure(X: Any, Y: Any, classifiers: Mixture, task_weights: Any = None) -> Measurement:
        sample = Sample(X, Y, task_weights=task_weights)
        if sample.m != len(classifiers.task_names):
            raise InputError(
                f"labels must have the {len(classifiers.task_names)} tasks of the classifiers, in "
                f"their order; got {sample.m}."
            )
        meter = Meter(sample, rates if several else rates[0])
        return meter(classifiers.decision_probability)

    people = tasks = both = None
    if Y_new_people is not None:
        people = measure(X_new, Y_new_people, model.classifiers_, model.task_weights_)
    if Y_new_tasks is not None:
        later = model.extend(Y_new_tasks)
        tasks = measure(X, Y_new_tasks, later)
        if Y_new_both is not None:
            both = measure(X_new, Y_new_both, later)
    return HeldOut(people, tasks, both)
