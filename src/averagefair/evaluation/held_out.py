"""Error and rates of a model on held-out people and tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, overload

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from averagefair.errors import InputError
from averagefair.estimator import AverageFairClassifier
from averagefair.frontier import Frontier
from averagefair.game.measure import Measurement, Meter
from averagefair.game.mixture import Mixture
from averagefair.game.rates import Rates
from averagefair.game.who_pays import WhoPays, who_pays
from averagefair.people.sample import Sample, read_features
from averagefair.pose import read_people


@dataclass(frozen=True)
class HeldOut:
    """Error and individual rates on people, tasks, or both, that a model has not seen.

    Attributes
    ----------
    people, tasks, both : Measurement or None
        New people on the training tasks, training people on new tasks, and new people on new tasks;
        None without labels. All figures are as observed, so ``people`` says nothing about rates on
        other tasks. On the training tasks they are those of the model's decisions. On new tasks
        they are averages over draws from the mapping, since fixed decisions that are chosen for
        these tasks together would be fitted to them.
    who_pays : dict
        For each of these names: who is better and worse off than with nothing asked, a
        :class:`~averagefair.WhoPays` (a tuple of them for a list of rates). A loaded model does not
        know the training tasks' classifiers with nothing asked, so "people" is missing there.
    """

    people: Measurement | None = None
    tasks: Measurement | None = None
    both: Measurement | None = None
    who_pays: dict[str, WhoPays | tuple[WhoPays, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Corner:
    """A held-out part: new people on training tasks, training people on new tasks, or both new.

    Attributes
    ----------
    name : {"people", "tasks", "both"}
    people : array-like, or None
        The new people's features, as read; None for training people.
    sample : Sample
        The people, with their labels on these tasks.
    classifiers : Mixture
        The model's classifiers of these tasks.
    unconstrained : Mixture, or None
        The oracle's own classifiers of these tasks, with nothing asked; None if unknown.
    """

    name: str
    people: Any
    sample: Sample
    classifiers: Mixture
    unconstrained: Mixture | None = None

    @property
    def learned_tasks(self) -> bool:
        """Whether the model was trained on these tasks."""
        return self.name == "people"

    def chances(self) -> Any:
        """Return the chance of deciding 1 for each person and task, shape (n, k)."""
        if self.people is None:
            return self.classifiers.chances(self.sample.features)
        return self.classifiers.decision_probability(self.people)

    def measure(self, rates: Rates) -> Measurement:
        """Return the error and everybody's rates.

        Parameters
        ----------
        rates : Rates
        """
        return _measure(self.classifiers, self.sample, rates)

    def measure_unconstrained(self, rates: Rates) -> Measurement | None:
        """Return the error and everybody's rates with nothing asked; None if unknown.

        Parameters
        ----------
        rates : Rates
        """
        if self.unconstrained is None:
            return None
        return _measure(self.unconstrained, self.sample, rates)


def _measure(classifiers: Mixture, sample: Sample, rates: Rates) -> Measurement:
    mapped = classifiers.map_sample(sample)
    return Meter(mapped, rates).mix(classifiers.parts()).on_host()


@overload
def held_out(
    model: AverageFairClassifier,
    *,
    X_new: Any = ...,
    Y_new_people: Any = ...,
    Y_new_tasks: Any = ...,
    Y_new_both: Any = ...,
    sample_weight: ArrayLike | None = ...,
) -> HeldOut: ...


@overload
def held_out(
    model: Frontier,
    *,
    X_new: Any = ...,
    Y_new_people: Any = ...,
    Y_new_tasks: Any = ...,
    Y_new_both: Any = ...,
    sample_weight: ArrayLike | None = ...,
) -> tuple[HeldOut, ...]: ...


def held_out(
    model: AverageFairClassifier | Frontier,
    *,
    X_new: Any = None,
    Y_new_people: Any = None,
    Y_new_tasks: Any = None,
    Y_new_both: Any = None,
    sample_weight: ArrayLike | None = None,
) -> HeldOut | tuple[HeldOut, ...]:
    """Measure a fitted model, or every model of a curve, on held-out people and tasks.

    Parameters
    ----------
    model : AverageFairClassifier or Frontier
        A fitted model or curve. The model's mapping makes the classifiers of new tasks, with a
        chance for each; ``extend`` is not asked. The rate measured is the model's.
    X_new : array-like or DataFrame
        Features of new people; needs ``Y_new_people`` or ``Y_new_both``.
    Y_new_people : array-like or DataFrame
        Labels of the new people on the training tasks, in the order of the training tasks.
    Y_new_tasks : array-like or DataFrame
        Labels of the training people on new tasks, in the order of the training people.
    Y_new_both : array-like or DataFrame
        Labels of the new people on the new tasks; needs ``Y_new_tasks``, from which the new tasks'
        classifiers are made.
    sample_weight : array-like, optional
        How many people each row of ``X_new`` stands for. (Training people keep their training
        weights.)

    Returns
    -------
    HeldOut; for a curve a tuple, in the order of its points

    Examples
    --------
    >>> from averagefair.datasets import make_synthetic
    >>> people = make_synthetic(n=60, m=20, n_holdout=60)
    >>> model = AverageFairClassifier(alpha=0.1, random_state=0).fit(people.X, people.Y)
    >>> test = held_out(model, X_new=people.X_new, Y_new_people=people.Y_new_people)
    >>> test.people.rates.shape
    (60,)
    """
    new = {
        "X_new": X_new,
        "Y_new_people": Y_new_people,
        "Y_new_tasks": Y_new_tasks,
        "Y_new_both": Y_new_both,
        "sample_weight": sample_weight,
    }
    if isinstance(model, Frontier):
        return tuple(held_out(point.model, **new) for point in model)
    if not isinstance(model, AverageFairClassifier):
        raise InputError(
            "held_out measures an AverageFairClassifier or a Frontier; got "
            f"{type(model).__name__}. From a pipeline or a search take the fitted step, e.g. "
            "pipeline[-1] or search.best_estimator_, and pass features as this step gets them."
        )
    check_is_fitted(model)
    rates = Rates.of(model.rate)
    found: dict[str, Any] = {}
    pays = {}
    for corner in corners(model, **new):
        found[corner.name] = corner.measure(rates)
        before = corner.measure_unconstrained(rates)
        if before is not None:
            weights = corner.sample.individual_weights
            pays[corner.name] = who_pays(before.rates, found[corner.name].rates, weights)
    return HeldOut(**found, who_pays=pays)


def corners(
    model: AverageFairClassifier,
    *,
    X_new: Any = None,
    Y_new_people: Any = None,
    Y_new_tasks: Any = None,
    Y_new_both: Any = None,
    sample_weight: ArrayLike | None = None,
) -> Iterator[Corner]:
    """Yield each corner that has labels. The parameters are those of :func:`held_out`."""
    check_parts(X_new, Y_new_people, Y_new_tasks, Y_new_both)
    if sample_weight is not None and X_new is None:
        raise InputError("sample_weight is for the people of X_new: pass X_new too.")
    people = None if X_new is None else read_people(model.classifiers_.encoded(X_new))

    def new_people(Y: Any, classifiers: Mixture) -> Sample:
        read_features(people, classifiers.feature_names, classifiers.feature_count)
        sample = Sample(people, Y, individual_weights=sample_weight)
        sample.check_tasks(classifiers.task_names, classifiers.named_tasks, "labels of new people")
        return sample

    if Y_new_people is not None:
        sample = new_people(Y_new_people, model.classifiers_)
        sample = sample.with_task_weights(model.task_weights_)
        yield Corner("people", people, sample, model.classifiers_, model.unconstrained_)
    if Y_new_tasks is not None:
        training = model.training_individuals().with_labels(Y_new_tasks)
        mapping = model.mapping_
        assert mapping is not None, "training_individuals needs a mapping"
        # Not model.extend: it chooses for these tasks together, so they would be learned tasks.
        later = mapping.extend(Y_new_tasks)
        plain = mapping.unconstrained().classifiers(training)
        yield Corner("tasks", None, training, later, plain)
        if Y_new_both is not None:
            yield Corner("both", people, new_people(Y_new_both, later), later, plain)


def check_parts(X_new: Any, Y_new_people: Any, Y_new_tasks: Any, Y_new_both: Any) -> None:
    """Refuse new people without features or labels, and ``Y_new_both`` without ``Y_new_tasks``."""
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
