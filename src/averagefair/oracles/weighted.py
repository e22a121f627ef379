"""Any scikit-learn classifier that takes sample weights, fitted once for each task."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.parallel import Parallel, delayed

from averagefair._util.arrays import FloatArray
from averagefair._util.checks import number_below
from averagefair._util.seeding import seeded
from averagefair.errors import DegenerateTaskWarning, InputError, blaming, some_of, warn
from averagefair.game.constant_classifiers import Constant
from averagefair.game.costs import Costs
from averagefair.game.degenerate_tasks import constant_tasks
from averagefair.game.per_task_choice import positions
from averagefair.game.protocols import Hypothesis, Oracle, StatefulResponse
from averagefair.oracles.fitting import (
    TaskFitter,
    TooFewPeople,
    refuse_overflow,
    scale_gaps,
    weight_name,
)
from averagefair.oracles.shared_features import share_features
from averagefair.people.sample import Sample
from averagefair.people.threads import one_openmp_thread

Progress = Callable[[int, int], object]
"""Takes the number of tasks done in a round, and the number of all tasks."""


@dataclass(frozen=True, eq=False)
class FittedClassifiers(Hypothesis):
    """One fitted classifier, or one constant, for each of k tasks.

    Attributes
    ----------
    classifiers : sequence of length k
        A fitted scikit-learn classifier, or a bool: a constant decision.
    classes : pair, default (0, 1)
        The classifiers' labels for deciding 0 and deciding 1.
    source : str, optional
        The file that the classifiers were loaded from, for messages.
    """

    classifiers: Sequence[Any]
    classes: Sequence[Any] = (0, 1)
    source: str | None = None

    def decide(self, features: FloatArray) -> NDArray[np.bool_]:
        """Decide for each person and task; shape (n, k)."""
        out = np.empty((len(features), len(self.classifiers)), dtype=np.bool_)
        # Use one OpenMP thread: several threads may already call this, each with a block of people.
        # Threads that wait for each other lose time on busy cores. Deciding is much cheaper than
        # fitting, so this process does it without the workers.
        with one_openmp_thread():
            for task, classifier in enumerate(self.classifiers):
                constant = isinstance(classifier, bool)
                out[:, task] = classifier if constant else self._predict(classifier, features)
        return out

    def _predict(self, classifier: Any, features: FloatArray) -> NDArray[np.bool_]:
        name = type(classifier).__name__
        with (
            blaming(self.source, f"the classifier ({name})"),
            refuse_overflow(classifier, features),
        ):
            predicted = np.asarray(classifier.predict(features))
            zero, one = (np.asarray(predicted == label) for label in self.classes)
        if predicted.shape != (len(features),) or not (zero | one).all():
            odd = predicted[~(zero | one)][:1].tolist() or f"an array of shape {predicted.shape}"
            where = "" if self.source is None else f"{self.source}: "
            raise InputError(
                f"{where}{name} was fitted with the labels {self.classes[0]!r} and "
                f"{self.classes[1]!r}, and must predict one of them for each of "
                f"{len(features)} people; got {odd}. If it has its own labels for the two "
                "classes, pass them: WeightedOracle(..., classes=(label of 0, label of 1))."
            )
        return np.asarray(one)

    def key(self) -> Hashable:
        """Return a key by the classifiers' identity: fitted models are not compared."""
        return tuple(_SameObject(classifier) for classifier in self.classifiers)

    @classmethod
    def gather(
        cls, hypotheses: Sequence[Hypothesis], choice: NDArray[np.intp], columns: NDArray[np.intp]
    ) -> FittedClassifiers | None:
        """Join fitted classifiers with the same labels, from the same file, and constants.

        Parameters
        ----------
        hypotheses, choice, columns
            As for ``Hypothesis.gather``.
        """
        chosen = [(hypotheses[position], tasks) for position, tasks in positions(choice)]
        fitted = [one for one, _ in chosen if isinstance(one, FittedClassifiers)]
        constant = sum(isinstance(one, Constant) for one, _ in chosen)
        alike = {(tuple(one.classes), one.source) for one in fitted}
        if len(alike) != 1 or len(fitted) + constant < len(chosen):
            return None
        classifiers: list[Any] = [None] * len(choice)
        for one, tasks in chosen:
            for task in tasks:
                if isinstance(one, FittedClassifiers):
                    classifiers[task] = one.classifiers[columns[task]]
                elif isinstance(one, Constant):
                    classifiers[task] = bool(one.decision)
        return cls(classifiers, fitted[0].classes, fitted[0].source)


class _SameObject:
    """Compares by identity. It keeps its object alive, so that Python cannot reuse the id."""

    def __init__(self, kept: Any) -> None:
        self._kept = kept

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameObject) and self._kept is other._kept

    def __hash__(self) -> int:
        return id(self._kept)


@dataclass(frozen=True, eq=False)
class WeightedOracle(Oracle):
    """A scikit-learn classifier as oracle: label = sign of the cost gap, weight = its size.

    A heuristic: the estimator minimises its weighted training loss, which is not the cost.

    Parameters
    ----------
    estimator : scikit-learn classifier
        Its ``fit`` must take ``sample_weight``. The same holds for the last step of a pipeline, the
        classifier inside a grid or random search, and all members of a voting, stacking or
        calibrated classifier. Other meta-estimators need scikit-learn's metadata routing. The
        estimator is cloned for each task; an unset ``random_state`` becomes 0, so that the same
        question gets the same answer.
    n_jobs : int, optional
        Number of tasks fitted in parallel, as in joblib. Workers are processes unless
        ``joblib.parallel_config`` says otherwise. They stay alive between rounds.
    progress : callable, optional
        Called with (tasks done, tasks in all) after each task of a round, in order.
    classes : pair, default (0, 1)
        The labels in ``fit`` for deciding 0 and deciding 1, if the estimator's settings (such as
        ``class_weight``) use other labels. The estimator must predict one of the two.
    reuse : float in [0, 2), default 0
        Keep a task's classifier while the task's weights have moved by at most this much since the
        fit. The distance is the l1 distance between people's signed shares of the total weight (2:
        nothing in common). 0: keep a classifier only for the same costs.

    Attributes
    ----------
    source : str, or None
        The model file that the oracle was loaded from, for messages.

    Notes
    -----
    A task with a single wanted label gets that constant.

    Weights are scaled so that a person with a gap weighs 1 on average: an estimator's own
    regularisation then means the same as without weights. People whose gap is at most 1e-12 of
    the largest are left out of the fit. A ``class_weight`` multiplies the costs and so changes the
    problem; with "balanced", rare labels weigh more than they cost.

    An estimator's cross-validation or early stopping may fail if too few people want one of the
    labels. Then the task gets the cheaper constant, with a DegenerateTaskWarning. A search fits
    with the weights but compares by plain accuracy. To weight the comparison too, turn on
    scikit-learn's metadata routing and call ``set_score_request(sample_weight=True)``.

    With ``reuse`` above 0 an answer depends on earlier questions. So the classifiers of a fit and
    those of its mapping may differ a little for the same labels. The oracle keeps a pair of vectors
    over the people for each round whose classifiers are in use. The questions of
    ``ColumnGeneration`` are far apart: a small ``reuse`` may save no fit at all, and a large one
    may raise the error after the same number of rounds.

    Worker processes read the features from a temporary file, written once and removed with the
    bound oracle. Features in a ``np.memmap`` are read from its file.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> sample = Sample([[-2.0], [-1.0], [1.0], [2.0]], [[0, 1], [0, 1], [1, 0], [1, 0]])
    >>> oracle = WeightedOracle(DecisionTreeClassifier(), progress=lambda *done: print(*done))
    >>> answer = oracle.bind(sample)(Costs(sample, np.ones(4), np.ones(4)))
    1 2
    2 2
    >>> answer.decide(np.array([[-0.5], [0.5]]))
    array([[False,  True],
           [ True, False]])
    """

    estimator: Any
    n_jobs: int | None = None
    progress: Progress | None = field(default=None, repr=False)
    classes: Sequence[Any] = (0, 1)
    reuse: float = 0.0
    source: str | None = field(default=None, init=False, repr=False, compare=False)
    exact = False

    def __post_init__(self) -> None:
        estimator = self.estimator
        if isinstance(estimator, type) or not (
            hasattr(estimator, "fit") and is_classifier(estimator)
        ):
            raise InputError(
                "an oracle must be one of averagefair's, an object with `exact` and `bind`, or a "
                "scikit-learn classifier (an instance), e.g. DecisionTreeClassifier(); got "
                f"{self.estimator!r}."
            )
        weight_name(estimator)
        _check_classes(self.classes)
        number_below("reuse", self.reuse, 2.0)
        if self.progress is not None and not callable(self.progress):
            raise InputError(
                "progress must be a callable that takes (tasks done, tasks in all), or None; got "
                f"{self.progress!r}."
            )

    def bind(self, sample: Sample) -> _BoundWeighted:
        """Find the tasks with a single label. Nothing is fitted before the costs are known."""
        fitter = TaskFitter(
            seeded(self.estimator), np.asarray(self.classes), weight_name(self.estimator)
        )
        return _BoundWeighted(self, fitter, sample)


def _check_classes(classes: Any) -> None:
    """Refuse anything but two different labels of one type."""
    pair = isinstance(classes, Sequence) and len(classes) == 2 and classes[0] != classes[1]
    # NumPy turns (1, "yes") into two strings.
    if not pair or isinstance(classes, str) or np.asarray(classes).tolist() != list(classes):
        raise InputError(
            "classes must be two different labels of one type, for deciding 0 and deciding 1, "
            f'such as (0, 1) or ("no", "yes"); got {classes!r}.'
        )


class _BoundWeighted(StatefulResponse):
    def __init__(self, oracle: WeightedOracle, fitter: TaskFitter, sample: Sample) -> None:
        self.oracle, self.fitter, self.sample = oracle, fitter, sample
        tasks, labels = constant_tasks(sample)
        self.constants = {int(t): bool(label) for t, label in zip(tasks, labels, strict=True)}
        self.cache = _FitCache(oracle.reuse)
        self.warned: set[int] = set()

    def memory(self) -> dict[str, NDArray[Any]]:
        """Return nothing: without ``reuse`` an answer depends on the costs alone."""
        if self.oracle.reuse > 0:
            raise InputError(
                f"a run that can be resumed needs WeightedOracle(reuse=0); got "
                f"reuse={self.oracle.reuse:g}: its answers depend on earlier classifiers, which a "
                "checkpoint does not hold."
            )
        return {}

    def remember(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Refuse any state: ``memory`` never returns one."""
        if memory:
            raise ValueError("a WeightedOracle has no state to restore")

    def __call__(self, costs: Costs) -> FittedClassifiers:
        """Fit one classifier for each task, or take a known one."""
        tasks = range(self.sample.m) if costs.tasks is None else costs.tasks.tolist()
        asked = _RoundCosts.copied_from(costs, self.sample)
        known = self.constants | self.cache.recall(asked, set(tasks) - self.constants.keys())
        answers: list[Any] = []
        failed: dict[int, TooFewPeople] = {}
        source = self.oracle.source
        name = type(self.fitter.estimator).__name__
        with (
            blaming(source, f"the oracle ({name})"),
            self._fit_in_order(asked, [task for task in tasks if task not in known]) as fitted,
        ):
            for task in tasks:
                answer = known[task] if task in known else next(fitted)
                if isinstance(answer, TooFewPeople):
                    failed[task], answer = answer, answer.constant
                answers.append(answer)
                if self.oracle.progress is not None:
                    self.oracle.progress(len(answers), len(tasks))
        self.cache.keep(asked, dict(zip(tasks, answers, strict=True)))
        self._warn_of_failures(failed)
        return FittedClassifiers(answers, self.oracle.classes, source)

    @contextmanager
    def _fit_in_order(self, asked: _RoundCosts, tasks: Sequence[int]) -> Iterator[Iterator[Any]]:
        """Yield the fitted classifiers in the order of the tasks; stop the workers on an error."""
        # Use processes, joblib's default. Boosting grows its trees in Python, so threads wait for
        # each other, and OpenMP's threads wait for the slowest. Seconds for a round of 20 boosted
        # classifiers on 20,000 people with 20 features, two busy cores:
        #   two processes, one thread each (joblib's limit)       26
        #   one by one, on two threads / on one thread            57 to 78 / 43
        #   two threads, with / without OpenMP's own threads      60 / 43
        # Send gaps through the pipe (max_nbytes=None): joblib would write long ones to files.
        n_jobs = self.oracle.n_jobs
        parallel = Parallel(n_jobs=n_jobs, return_as="generator", max_nbytes=None)
        features = self._shared_features if effective_n_jobs(n_jobs) > 1 else self.sample.features
        fitted = parallel(
            delayed(self.fitter)(features, asked.gap(task), self.sample.task_names[task])
            for task in tasks
        )
        try:
            yield fitted
        except BaseException:
            _stop_workers(fitted)
            raise
        # Exhaust the generator, although nothing is left: otherwise joblib ends the workers.
        next(fitted, None)

    @cached_property
    def _shared_features(self) -> FloatArray:
        return share_features(self.sample.features)

    def _warn_of_failures(self, failed: dict[int, TooFewPeople]) -> None:
        """Warn about the tasks in which the estimator failed, once for each task."""
        new = [task for task in failed if task not in self.warned]
        if not new:
            return
        self.warned.update(new)
        named = some_of([repr(self.sample.task_names[task]) for task in new])
        estimator = type(self.fitter.estimator).__name__
        warn(
            f"in {len(new)} of {self.sample.m} tasks too few people want one of the labels for "
            f"{estimator} to be fitted: {named}. These tasks get the cheaper constant classifier. "
            f"The first fit failed with {failed[new[0]].reason!r}. To avoid this, use fewer folds, "
            "or leave such tasks out.",
            DegenerateTaskWarning,
        )


@dataclass(frozen=True, eq=False)
class _RoundCosts:
    """The costs of all tasks in one round."""

    costs: Costs

    @classmethod
    def copied_from(cls, costs: Costs, sample: Sample) -> _RoundCosts:
        """Return a copy of the costs, in new arrays."""
        false_positive = false_negative = np.array(costs.false_positive)
        if costs.false_negative is not costs.false_positive:
            false_negative = np.array(costs.false_negative)
        return cls(Costs(sample, false_positive, false_negative))

    def gap(self, task: int) -> FloatArray:
        """Return the scaled cost gaps of a task, shape (n,)."""
        gap = self.costs.gaps(columns=slice(task, task + 1))[:, 0]
        return scale_gaps(gap, self.costs.sample.individual_weights)

    def distance(self, other: _RoundCosts, task: int) -> float:
        """Return the l1 distance of a task's weight shares from another round's, in [0, 2]."""
        return float(np.abs(_shares(self.gap(task)) - _shares(other.gap(task))).sum())


def _shares(gap: FloatArray) -> FloatArray:
    return gap / (np.abs(gap).sum() or 1.0)


class _FitCache:
    """The last classifier of each task, and the costs it was fitted to."""

    def __init__(self, reuse: float) -> None:
        self.reuse = reuse
        self.fits: dict[int, tuple[_RoundCosts, Any]] = {}

    def recall(self, asked: _RoundCosts, tasks: set[int]) -> dict[int, Any]:
        """Return classifiers of tasks whose weights moved by at most ``reuse`` since the fit."""
        near = {
            task: classifier
            for task, (fitted_in, classifier) in self.fits.items()
            if task in tasks and asked.distance(fitted_in, task) <= self.reuse
        }
        if self.reuse == 0 and not near:
            self.fits.clear()  # the costs changed: keep the classifiers of one round only
        return near

    def keep(self, asked: _RoundCosts, answers: dict[int, Any]) -> None:
        """Store the new classifiers of a round."""
        for task, answer in answers.items():
            known = self.fits.get(task)
            if not isinstance(answer, bool) and (known is None or known[1] is not answer):
                self.fits[task] = asked, answer


def _stop_workers(fitted: Generator[Any, None, None]) -> None:
    """Stop the workers of a round that failed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # joblib warns about unused results
        fitted.close()
