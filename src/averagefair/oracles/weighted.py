"""Any scikit-learn classifier that takes sample weights, fitted once for each task."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.parallel import Parallel, delayed

from averagefair.checks import number_below
from averagefair.costs import Costs
from averagefair.errors import DegenerateTaskWarning, InputError, blaming, some_of, warn
from averagefair.oracles.degenerate import constant_tasks
from averagefair.oracles.fitting import (
    Fitting,
    TooFew,
    refusing_overflow,
    scaled,
    seeded,
    weight_name,
)
from averagefair.oracles.shared import shared
from averagefair.sample import FloatArray, Sample
from averagefair.threads import one_openmp_thread

Progress = Callable[[int, int], object]
"""Takes how many tasks of a round are done, and how many there are."""


@dataclass(frozen=True, eq=False)
class FittedClassifiers:
    """One fitted classifier, or one constant, for each of k tasks.

    Attributes
    ----------
    classifiers : sequence of length k
        A fitted scikit-learn classifier, or a bool: a constant decision.
    classes : pair, default (0, 1)
        What the classifiers call deciding 0, and deciding 1.
    source : str, optional
        The file that they were loaded from, for messages.
    """

    classifiers: Sequence[Any]
    classes: Sequence[Any] = (0, 1)
    source: str | None = None

    def decide(self, features: FloatArray) -> NDArray[np.bool_]:
        """Decide for each person and task; shape (n, k)."""
        out = np.empty((len(features), len(self.classifiers)), dtype=np.bool_)
        # Many people come in blocks from several threads already, and on busy cores threads that
        # wait for each other lose more than they gain. Deciding takes little beside fitting, so the
        # workers leave it to this process.
        with one_openmp_thread():
            for task, classifier in enumerate(self.classifiers):
                constant = isinstance(classifier, bool)
                out[:, task] = classifier if constant else self._ask(classifier, features)
        return out

    def _ask(self, classifier: Any, features: FloatArray) -> NDArray[np.bool_]:
        name = type(classifier).__name__
        with (
            blaming(self.source, f"the classifier ({name})"),
            refusing_overflow(classifier, features),
        ):
            predicted = np.asarray(classifier.predict(features))
            zero, one = (np.asarray(predicted == name) for name in self.classes)
        if predicted.shape != (len(features),) or not (zero | one).all():
            odd = predicted[~(zero | one)][:1].tolist() or f"an array of shape {predicted.shape}"
            where = "" if self.source is None else f"{self.source}: "
            raise InputError(
                f"{where}{name} was fitted with the labels {self.classes[0]!r} and "
                f"{self.classes[1]!r}, and must predict one of them for each of "
                f"{len(features)} people; got {odd}. If it has names of its own for the two "
                "classes, say so: WeightedOracle(..., classes=(name of 0, name of 1))."
            )
        return np.asarray(one)

    def key(self) -> Hashable:
        """Return which classifiers these are: fitted models are not compared."""
        return tuple(_Itself(classifier) for classifier in self.classifiers)


class _Itself:
    """Equal for one and the same object only, which it keeps: a mere id may be given again."""

    def __init__(self, it: Any) -> None:
        self._it = it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self._it is other._it

    def __hash__(self) -> int:
        return id(self._it)


@dataclass(frozen=True, eq=False)
class WeightedOracle:
    """A scikit-learn classifier as oracle: label = sign of the cost gap, weight = its size.

    Parameters
    ----------
    estimator : scikit-learn classifier
        Its ``fit`` must take ``sample_weight``; a pipeline's last step, the classifier that a grid
        or a random search is about, and all that vote or are stacked or calibrated, theirs. Other
        classifiers of classifiers need scikit-learn's metadata routing. Cloned for each task; where
        it has an unset ``random_state``, that is set to 0, so that asking twice gives the same
        answer twice.
    n_jobs : int, optional
        Tasks fitted side by side, as in joblib. Workers are processes unless
        ``joblib.parallel_config`` says otherwise, and are kept from one round to the next.
    progress : callable, optional
        Called with (tasks done, tasks in all) as the tasks of each round are answered, in their
        order.
    classes : pair, default (0, 1)
        The labels the estimator is fitted with for deciding 0 and deciding 1, if its settings
        (``class_weight``, say) call the classes by other names. It must predict one of the two.
    reuse : float in [0, 2), default 0
        Keep a task's classifier as long as its weights have hardly moved since it was fitted: as
        long as the shares of the people in all weights, with the sign of the label wanted, differ
        by at most this in total (2: nothing in common). 0: only where costs are the same.

    Attributes
    ----------
    source : str, or None
        The model file that the oracle was loaded from, for messages.

    Notes
    -----
    A heuristic: training loss is not cost. A task of which only one wanted label is left gets
    that constant.

    Weights are scaled so that a person who matters weighs 1 on average: an estimator's own
    regularisation means what it means without weights. People whose gap is 0, or 1e-12 of the
    largest, are left out of the fit. A ``class_weight`` multiplies the costs, so another problem is
    solved than the one asked for; with "balanced", rare labels weigh more than they cost.

    Where a wanted label has fewer people than the estimator's cross-validation or early stopping
    needs, and it fails for that, the task gets the cheaper constant, and a DegenerateTaskWarning.
    A search fits with the weights but compares by plain accuracy; to weigh that too, turn on
    scikit-learn's metadata routing and ask for it (``set_score_request(sample_weight=True)``).

    With ``reuse`` above 0 an answer depends on what was asked before. So the classifiers of a fit
    and those that its mapping makes for the same labels may differ a little. Besides the
    classifiers, a pair of vectors over the people is kept for each round that some task's
    classifier is from. ``ColumnGeneration`` asks far apart on purpose: a small ``reuse`` may save
    it no fit at all, and a large one may raise the error after as many rounds.

    Worker processes read the features from a file, written once in the directory for temporary
    files and removed with the answerer; features that are a ``np.memmap`` are read where they are.

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
                f"scikit-learn classifier (an instance); got {self.estimator!r}."
            )
        weight_name(estimator)
        _check_classes(self.classes)
        number_below("reuse", self.reuse, 2.0)
        if self.progress is not None and not callable(self.progress):
            raise InputError(
                "progress must be a callable that takes (tasks done, tasks in all), or None; got "
                f"{self.progress!r}."
            )

    def bind(self, sample: Sample) -> _PerTask:
        """Find the tasks with nothing to learn; everything else waits for the costs."""
        fitting = Fitting(
            seeded(self.estimator), np.asarray(self.classes), weight_name(self.estimator)
        )
        return _PerTask(self, fitting, sample)


def _check_classes(classes: Any) -> None:
    """Refuse names that are no two labels of one kind."""
    pair = isinstance(classes, Sequence) and len(classes) == 2 and classes[0] != classes[1]
    # NumPy would turn 1 into "1" beside a str.
    if not pair or isinstance(classes, str) or np.asarray(classes).tolist() != list(classes):
        raise InputError(
            "classes must be two different labels of one kind, for deciding 0 and deciding 1, "
            f'such as (0, 1) or ("no", "yes"); got {classes!r}.'
        )


class _PerTask:
    def __init__(self, oracle: WeightedOracle, fitting: Fitting, sample: Sample) -> None:
        self.oracle, self.fitting, self.sample = oracle, fitting, sample
        tasks, labels = constant_tasks(sample)
        self.constants = {int(t): bool(label) for t, label in zip(tasks, labels, strict=True)}
        self.recent = _Memory(oracle.reuse)
        self.told: set[int] = set()

    def memory(self) -> dict[str, NDArray[Any]]:
        """Return nothing: without ``reuse`` an answer depends on the costs alone."""
        if self.oracle.reuse > 0:
            raise InputError(
                f"a run that can be resumed needs WeightedOracle(reuse=0); got "
                f"reuse={self.oracle.reuse:g}: what it answers depends on classifiers from before, "
                "which a checkpoint does not tell apart."
            )
        return {}

    def __call__(self, costs: Costs) -> FittedClassifiers:
        """Fit one classifier for each task, or take the one that is known."""
        tasks = range(self.sample.m) if costs.tasks is None else costs.tasks.tolist()
        asked = _Round.of(costs, self.sample)
        known = self.constants | self.recent.recall(asked, set(tasks) - self.constants.keys())
        answers: list[Any] = []
        failed: dict[int, TooFew] = {}
        source = self.oracle.source
        name = type(self.fitting.estimator).__name__
        with (
            blaming(source, f"the oracle ({name})"),
            self._fitting(asked, [task for task in tasks if task not in known]) as fitted,
        ):
            for task in tasks:
                answer = known[task] if task in known else next(fitted)
                if isinstance(answer, TooFew):
                    failed[task], answer = answer, answer.constant
                answers.append(answer)
                if self.oracle.progress is not None:
                    self.oracle.progress(len(answers), len(tasks))
        self.recent.keep(asked, dict(zip(tasks, answers, strict=True)))
        self._tell(failed)
        return FittedClassifiers(answers, self.oracle.classes, source)

    @contextmanager
    def _fitting(self, asked: _Round, tasks: Sequence[int]) -> Iterator[Iterator[Any]]:
        """Hand out the fitted classifiers in the order of the tasks; stop all work on an error."""
        # Processes, joblib's own choice: boosting grows its trees in Python, so threads wait for
        # each other, and OpenMP's threads for whoever is late. A round of 20 boosted classifiers
        # on 20,000 people with 20 features, two busy cores: in two processes, which joblib keeps
        # to one thread each, 26 s; one by one, 57 to 78 s on two threads and 43 s on one; in two
        # threads, 60 s with OpenMP's own and 43 s without.
        # A gap goes through the pipe (max_nbytes=None): joblib would make a file of a long one.
        n_jobs = self.oracle.n_jobs
        parallel = Parallel(n_jobs=n_jobs, return_as="generator", max_nbytes=None)
        features = self._shared if effective_n_jobs(n_jobs) > 1 else self.sample.features
        fitted = parallel(
            delayed(self.fitting)(features, asked.gap(task), self.sample.task_names[task])
            for task in tasks
        )
        try:
            yield fitted
        except BaseException:
            _abandon(fitted)
            raise
        # Nothing is left, but joblib ends the workers of a generator that is not run to its end.
        next(fitted, None)

    @cached_property
    def _shared(self) -> FloatArray:
        return shared(self.sample.features)

    def _tell(self, failed: dict[int, TooFew]) -> None:
        """Name the tasks in which the estimator failed, each of them once."""
        news = [task for task in failed if task not in self.told]
        if not news:
            return
        self.told.update(news)
        named = some_of([repr(self.sample.task_names[task]) for task in news])
        estimator = type(self.fitting.estimator).__name__
        warn(
            f"in {len(news)} of {self.sample.m} tasks too few people want one of the labels for "
            f"{estimator} to be fitted: {named}. Where that happens, the cheaper constant "
            f"classifier is taken. It failed in the first with {failed[news[0]].reason!r}. Use "
            "fewer folds, or leave such tasks out, if that is not wanted.",
            DegenerateTaskWarning,
        )


@dataclass(frozen=True, eq=False)
class _Round:
    """The problems of one round, all tasks', in arrays of its own."""

    costs: Costs

    @classmethod
    def of(cls, costs: Costs, sample: Sample) -> _Round:
        false_positive = false_negative = np.array(costs.false_positive)
        if costs.false_negative is not costs.false_positive:
            false_negative = np.array(costs.false_negative)
        return cls(Costs(sample, false_positive, false_negative))

    def gap(self, task: int) -> FloatArray:
        """Return the scaled cost gaps of a task, shape (n,)."""
        gap = self.costs.gaps(columns=slice(task, task + 1))[:, 0]
        return scaled(gap, self.costs.sample.individual_weights)

    def distance(self, other: _Round, task: int) -> float:
        """Return how far a task's weights are from another round's: sums to 1, so in [0, 2]."""
        return float(np.abs(_shares(self.gap(task)) - _shares(other.gap(task))).sum())


def _shares(gap: FloatArray) -> FloatArray:
    return gap / (np.abs(gap).sum() or 1.0)


class _Memory:
    """Of each task the last classifier fitted, and the round it was fitted in."""

    def __init__(self, reuse: float) -> None:
        self.reuse = reuse
        self.fits: dict[int, tuple[_Round, Any]] = {}

    def recall(self, asked: _Round, tasks: set[int]) -> dict[int, Any]:
        """Return the classifiers of those tasks whose weights have hardly moved since."""
        found = {
            task: classifier
            for task, (fitted_in, classifier) in self.fits.items()
            if task in tasks and asked.distance(fitted_in, task) <= self.reuse
        }
        if self.reuse == 0 and not found:
            self.fits.clear()  # other costs now: of many rounds with some tasks each, keep one
        return found

    def keep(self, asked: _Round, answers: dict[int, Any]) -> None:
        """Remember what is new among a round's answers."""
        for task, answer in answers.items():
            known = self.fits.get(task)
            if not isinstance(answer, bool) and (known is None or known[1] is not answer):
                self.fits[task] = asked, answer


def _abandon(fitted: Generator[Any, None, None]) -> None:
    """End the workers of a round that will not be finished."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # joblib tells of results that nobody took
        fitted.close()
