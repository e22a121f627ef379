"""People and tasks held out: how a model does on those it was not learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from averagefair.errors import InputError
from averagefair.estimator import AverageFairClassifier
from averagefair.measure import Measurement, Meter
from averagefair.mixture import Mixture
from averagefair.rates import resolve_rates
from averagefair.sample import Sample, read_features


@dataclass(frozen=True)
class HeldOut:
    """Error and individual rates on people, tasks, or both, that a model has not seen.

    Attributes
    ----------
    people, tasks, both : Measurement or None
        None where no labels were given. Tasks are measured on the training people. All as
        observed: of new people it is what they meet on the tasks learned from, and says nothing of
        their rates on other tasks.
    """

    people: Measurement | None = None
    tasks: Measurement | None = None
    both: Measurement | None = None


def held_out(
    model: AverageFairClassifier,
    *,
    X_new: Any = None,
    Y_new_people: Any = None,
    Y_new_tasks: Any = None,
    Y_new_both: Any = None,
    sample_weight: ArrayLike | None = None,
) -> HeldOut:
    """Measure a fitted model on what it was not learned from.

    Parameters
    ----------
    model : AverageFairClassifier
        Fitted. New tasks get their classifiers from its mapping; the rate is the model's own.
    X_new : array-like or DataFrame
        New people; goes with ``Y_new_people`` or ``Y_new_both``.
    Y_new_people : array-like or DataFrame
        Labels of the new people on the training tasks, in their order.
    Y_new_tasks : array-like or DataFrame
        Labels of the training people, in their order, on new tasks.
    Y_new_both : array-like or DataFrame
        Labels of the new people on the new tasks; needs ``Y_new_tasks`` to learn from.
    sample_weight : array-like, optional
        How many people each row of ``X_new`` stands for. (Training people have the weights they
        were learned with.)

    Examples
    --------
    >>> from averagefair.datasets import make_synthetic
    >>> people = make_synthetic(n=60, m=20, n_holdout=60)
    >>> model = AverageFairClassifier(alpha=0.1, random_state=0).fit(people.X, people.Y)
    >>> test = held_out(model, X_new=people.X_new, Y_new_people=people.Y_new_people)
    >>> test.people.rates.shape
    (60,)
    """
    if not isinstance(model, AverageFairClassifier):
        raise InputError(
            "held_out measures an AverageFairClassifier; got "
            f"{type(model).__name__}. Of a pipeline or a search take the fitted step, e.g. "
            "pipeline[-1] or search.best_estimator_, and features as that step gets them."
        )
    check_is_fitted(model)
    check_parts(X_new, Y_new_people, Y_new_tasks, Y_new_both)
    if sample_weight is not None and X_new is None:
        raise InputError("sample_weight weighs the people of X_new: pass X_new too.")
    rates = resolve_rates(model.rate)

    def measure(sample: Sample, classifiers: Mixture) -> Measurement:
        meter = Meter(sample, rates if isinstance(model.rate, list | tuple) else rates[0])
        return meter.mix(classifiers.parts()).on_host()

    def new_people(Y: Any, classifiers: Mixture) -> Sample:
        read_features(X_new, classifiers.feature_names, classifiers.feature_count)
        sample = Sample(X_new, Y, individual_weights=sample_weight)
        sample.check_tasks(classifiers.task_names, classifiers.named_tasks, "labels of new people")
        return classifiers.seen(sample)

    people = tasks = both = None
    if Y_new_people is not None:
        sample = new_people(Y_new_people, model.classifiers_)
        people = measure(sample.with_task_weights(model.task_weights_), model.classifiers_)
    if Y_new_tasks is not None:
        later = model.extend(Y_new_tasks)
        training = model.mapping_.individuals.with_labels(Y_new_tasks)
        tasks = measure(training, later)
        if Y_new_both is not None:
            both = measure(new_people(Y_new_both, later), later)
    return HeldOut(people, tasks, both)


def check_parts(X_new: Any, Y_new_people: Any, Y_new_tasks: Any, Y_new_both: Any) -> None:
    """Refuse new people without features or labels, and new tasks with nothing to learn from."""
    people_are_new = Y_new_people is not None or Y_new_both is not None
    if people_are_new != (X_new is not None):
        raise InputError(
            "new people need their features (X_new) and their labels (Y_new_people or "
            "Y_new_both): pass both or neither."
        )
    if Y_new_both is not None and Y_new_tasks is None:
        raise InputError(
            "new tasks are learned from their labels on the training people: pass Y_new_tasks."
        )
