"""Any scikit-learn classifier that takes sample weights, fitted once for each task."""

from __future__ import annotations

import os
import tempfile
import warnings
import weakref
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from averagefair.costs import Costs
from averagefair.errors import InputError
from averagefair.oracles.degenerate import constant_tasks
from averagefair.sample import FloatArray, Sample
from averagefair.spaces import mapped
from averagefair.threads import one_openmp_thread

Progress = Callable[[int, int], object]
"""Takes how many tasks of a round are done, and how many there are."""


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
        # Many people come in blocks from several threads already, and on busy cores threads that
        # wait for each other lose more than they gain: a boosted classifier on 20,000 people took
        # nine times as long on two threads as on one (medians, in turns), and at quieter times
        # about as long. On one it is 0.1 s a task, beside 1.05 s of fits in two processes: at most
        # 5% of a round would be saved if the workers predicted too, so they do not.
        with one_openmp_thread():
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
        Tasks fitted side by side, as in joblib. Workers are processes unless
        ``joblib.parallel_config`` says otherwise, and are kept from one round to the next.
    progress : callable, optional
        Called with (tasks done, tasks in all) as the tasks of each round are answered, in their
        order.

    Notes
    -----
    A heuristic: training loss is not cost. A task of which only one wanted label is left gets
    that constant.

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
            steps = " Transformers go in front of it: FeatureMap(pipeline[:-1], pipeline[-1])."
            raise InputError(
                f"{type(self.estimator).__name__}.fit takes no sample_weight, which is how costs "
                "reach it. Use a classifier that takes it (for example LogisticRegression, "
                "DecisionTreeClassifier, HistGradientBoostingClassifier) or RegressionOracle()."
                f"{steps if hasattr(self.estimator, 'steps') else ''}"
            )
        if self.progress is not None and not callable(self.progress):
            raise InputError(
                "progress must be a callable that takes (tasks done, tasks in all), or None; got "
                f"{self.progress!r}."
            )

    def bind(self, sample: Sample) -> _PerTask:
        """Find the tasks with nothing to learn; everything else waits for the costs."""
        return _PerTask(with_seed(self.estimator), self.n_jobs, self.progress, sample)


class _PerTask:
    def __init__(
        self, estimator: Any, n_jobs: int | None, progress: Progress | None, sample: Sample
    ) -> None:
        self.estimator, self.n_jobs, self.progress = estimator, n_jobs, progress
        self.features = sample.features
        tasks, labels = constant_tasks(sample)
        self.constants = {int(t): bool(label) for t, label in zip(tasks, labels, strict=True)}

    def __call__(self, costs: Costs) -> FittedClassifiers:
        """Fit one classifier for each task."""
        tasks = range(costs.signs.shape[1]) if costs.tasks is None else costs.tasks.tolist()
        answers = []
        with self._fitting(costs, tasks) as fitted:
            for task in tasks:
                answers.append(self.constants[task] if task in self.constants else next(fitted))
                if self.progress is not None:
                    self.progress(len(answers), len(tasks))
        return FittedClassifiers(answers)

    @contextmanager
    def _fitting(self, costs: Costs, tasks: Sequence[int]) -> Iterator[Iterator[Any]]:
        """Hand out the fitted classifiers in the order of the tasks; stop all work on an error."""
        # Processes, joblib's own choice: boosting grows its trees in Python, so threads wait for
        # each other, and OpenMP's threads for whoever is late. A round of 20 boosted classifiers
        # on 20,000 people with 20 features, two busy cores: in two processes, which joblib keeps
        # to one thread each, 26 s; one by one, 57 to 78 s on two threads and 43 s on one; in two
        # threads, 60 s with OpenMP's own and 43 s without.
        # A gap goes through the pipe (max_nbytes=None): joblib would make a file of a long one.
        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator", max_nbytes=None)
        features = self._shared if effective_n_jobs(self.n_jobs) > 1 else self.features
        fitted = parallel(
            delayed(_fit)(self.estimator, features, costs.gaps(columns=slice(at, at + 1))[:, 0])
            for at, task in enumerate(tasks)
            if task not in self.constants
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
        """The features in a file, which costs other processes only its name."""
        return self.features if _has_file(self.features) else _in_file(self.features)


def _abandon(fitted: Generator[Any, None, None]) -> None:
    """End the workers of a round that will not be finished."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # joblib tells of results that nobody took
        fitted.close()


def _has_file(features: FloatArray) -> bool:
    """Return whether other processes find the same features in a file that has a name."""
    file: Any = mapped(features)
    if file is None or file.filename is None:
        return False
    # What is written to a copy-on-write map ("c") is not in its file.
    return bool(file.mode != "c" and os.path.exists(file.filename))


def _in_file(features: FloatArray) -> FloatArray:
    """Return the same features in a file that goes when they do, or when Python ends."""
    handle, path = tempfile.mkstemp(prefix="averagefair-", suffix=".features")
    try:
        with os.fdopen(handle, "wb") as file:
            features.tofile(file)
        kept = np.memmap(path, dtype=features.dtype, mode="r", shape=features.shape)
    except BaseException:
        _remove(path)
        raise
    weakref.finalize(kept, _remove, path)
    return kept


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _fit(estimator: Any, features: FloatArray, gap: FloatArray) -> Any:
    matters = np.flatnonzero(gap)
    wanted = gap[matters] < 0
    if not wanted.any() or wanted.all():
        return bool(wanted.any())
    # A copy of its own, in memory: not every estimator can do with an array that is read-only.
    return clone(estimator).fit(
        features[matters], wanted.astype(np.int64), sample_weight=np.abs(gap[matters])
    )


def with_seed(estimator: Any) -> Any:
    """Return a clone with every unset ``random_state`` set to 0."""
    seeded = clone(estimator)
    unset = {
        name: 0
        for name, value in seeded.get_params().items()
        if name.split("__")[-1] == "random_state" and value is None
    }
    return seeded.set_params(**unset)
