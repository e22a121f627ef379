"""AverageFairClassifier: the scikit-learn face. Wiring only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from averagefair.auditing import Audit, audit
from averagefair.certificate import Certificate
from averagefair.distributed import is_dask
from averagefair.errors import InputError, warn
from averagefair.measure import Meter
from averagefair.mixture import Mixture
from averagefair.oracles.feature_map import split_map, with_usual
from averagefair.problem import Problem, Settled
from averagefair.protocols import Rate
from averagefair.rates import ErrorRate, resolve_rates
from averagefair.request import Request
from averagefair.sample import Sample
from averagefair.solvers import ColumnGeneration
from averagefair.solvers.iterate import Callback, StopReason
from averagefair.tables import check_name_types, read_table

DEFAULT_ALPHA = 0.05


class AverageFairClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifiers for many tasks that err about equally often on everybody.

    Learns one (randomised) classifier for each task so that every individual's error rate,
    averaged over the tasks, lies within ``alpha`` of a common rate, at as little error as the
    oracle and the solver find.

    Parameters
    ----------
    alpha : float in [1e-6, 0.5], optional
        The slack: how far an individual's rate may lie from the common rate, so that two people
        differ by at most 2 alpha. Default: 0.05, or the slack the solver was set up for.
    rate : {"error", "false_positive", "false_negative"}, Rate, or list of these, default "error"
        Which mistakes count. With a list, e.g. ``["false_positive", "false_negative"]``, each rate
        is held to alpha around a common rate of its own.
    oracle : Oracle, FeatureMap, or scikit-learn classifier or pipeline, optional
        What learns a task at given costs. A scikit-learn classifier must take ``sample_weight``.
        With transformers in front of it, a :class:`~averagefair.FeatureMap` or a scikit-learn
        pipeline that ends in an oracle, tasks are learned from what these make of X; they are
        fitted and applied once.
        Default: the better of least squares and logistic regression for each task, polished
        (:func:`~averagefair.oracles.default_oracle`); with ``ExponentiatedGradient`` least squares,
        as in the authors' published runs.
    solver : Solver, optional
        Default: :class:`~averagefair.ColumnGeneration`.
    beta : float in [0, 1), default 0
        The share of people who may lie outside alpha: the (alpha, beta) form of the definition.
        Those who would cost most to bring inside are excepted.
    max_influence : float, optional
        c: no person's multiplier may exceed c / n. Whoever would cost more than that to bring
        inside stays outside, everybody else is pulled in; no share is promised, the certificate
        says what came of it. Values of 3 to 10 did better on people not seen in training.
    random_state : int, RandomState or None, default None
        Seeds the draws of ``predict`` and whatever the solver draws. None: a fresh seed for each
        fit, kept in ``seed_``.
    callback : callable, optional
        Called after every round with a :class:`~averagefair.Round`; returning True ends the fit
        with the answer so far.
    dtype : {"float64", "float32", "tf32"}, optional
        What products over features are computed in while learning. With "float32" features
        take half the memory and a round about half the time (docs/performance.md); decisions differ
        where a score is within rounding of zero. "tf32" rounds further, on NVIDIA GPUs alone.
        Default: "float64".
    checkpoint : Checkpoint, optional
        Where to keep what is found on the way, so that a fit that was ended can be resumed; needs
        ``random_state`` to be an int.

    Attributes
    ----------
    error_ : float
        Overall error on the training sample.
    common_rate_ : float, or tuple of float
        gamma: what everybody's rate is close to; one for each rate where ``rate`` is a list.
    individual_rates_ : array, shape (n,), or (n, rates) where ``rate`` is a list
        Everybody's rate on the training tasks; NaN where undefined.
    certificate_ : Certificate
        Requested, reached, proved, and why it stopped. ``print`` it.
    mapping_ : Mapping, or None
        psi: makes the classifiers of any task. None in a model loaded from a file that was saved
        without the training individuals.
    classifiers_ : Mixture
        The classifiers of the training tasks.
    history_ : structured array, shape (rounds,)
        Round, error, spread, gap and the slack kept to, after each round.
    undefined_individuals_ : array
        Names of those who carry no constraint, since none of their labels counts.
    task_names_ : tuple of str
    task_weights_ : array, shape (m,)
        Summing to 1.
    classes_ : array([0, 1])
    holdout_task_names_ : tuple of str
        The tasks that ``rate.holdout_tasks`` set aside.
    seed_ : int
    fingerprint_ : str, or None
        A hash by which to know the training data again: ``Sample(X, Y).fingerprint()``.

    Notes
    -----
    The rates are expectations over the draws of ``predict``: over few tasks, the decisions that
    come out of them scatter around the rates as coin flips do.

    Labels with blanks cannot be stratified: cross-validate with ``cv=KFold(...)``.

    Tasks set aside by ``rate.holdout_tasks`` play no part in the figures above (the promise is
    made on the others), but get their classifiers from the mapping like every task.

    Examples
    --------
    >>> from averagefair.datasets import make_synthetic
    >>> people = make_synthetic(random_state=0)
    >>> model = AverageFairClassifier(alpha=0.1, random_state=0).fit(people.X, people.Y)
    >>> model.certificate_.met
    True
    >>> model.decision_probability(people.X).shape
    (200, 50)
    """

    def __init__(
        self,
        alpha: float | None = None,
        rate: str | Rate | Sequence[str | Rate] = "error",
        oracle: Any = None,
        solver: Any = None,
        beta: float = 0.0,
        max_influence: float | None = None,
        random_state: Any = None,
        callback: Callback | None = None,
        dtype: str | None = None,
        checkpoint: Any = None,
    ) -> None:
        self.alpha = alpha
        self.rate = rate
        self.oracle = oracle
        self.solver = solver
        self.beta = beta
        self.max_influence = max_influence
        self.random_state = random_state
        self.callback = callback
        self.dtype = dtype
        self.checkpoint = checkpoint

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        task_weight: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> AverageFairClassifier:
        """Learn the classifiers of all tasks together.

        Parameters
        ----------
        X : array-like or DataFrame of any library, shape (n, d)
        y : array-like or DataFrame of any library, shape (n, m) or (n,)
            Labels 0/1, a column for each task; NaN, None or missing where unobserved.
        sample_weight : array-like of shape (n,), optional
            How many people each row stands for: 2 is the same as the row twice, 0 as no row. Not
            up to a factor: weights that sum to 1 say that there is one person in all.
        task_weight : array-like of shape (m,), optional
            How often a person meets each task, up to a common factor.
        ids : array-like of shape (n,), optional
            Who each row is: names to report people by, each once and none blank. Default: the
            index of a pandas table (which may name a row twice), else numbers.
        """
        if y is None:
            raise InputError(
                "AverageFairClassifier requires y to be passed, but the target y is None."
            )
        solver = resolve_solver(self.solver)
        request = self._request(solver)
        problem = self._pose(X, y, sample_weight, task_weight, ids, [request])
        with problem.playing() as learner:
            solution = solver.solve(learner, request, callback=self.callback, rng=problem.rng)
        self._adopt(problem, problem.settle(solution), X, y)
        warn_if_missed(self.certificate_)
        return self

    def _request(self, solver: Any) -> Request:
        own = getattr(solver, "slack", None)
        default = DEFAULT_ALPHA if own is None else float(own)
        alpha = default if self.alpha is None else self.alpha
        return Request(alpha, self.beta, self.max_influence)

    def _oracle(self) -> Any:
        usual = getattr(resolve_solver(self.solver), "usual_oracle", None)
        return with_usual(self.oracle, usual)

    def _pose(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        task_weight: ArrayLike | None,
        ids: ArrayLike | None,
        requests: Sequence[Request],
    ) -> Problem:
        """Read and check everything; nothing is solved or kept yet."""
        if self.callback is not None and not callable(self.callback):
            raise InputError(f"`callback` must be callable; got {self.callback!r}.")
        # A dry run, so that names scikit-learn refuses are refused before anything is solved.
        validate_data(BaseEstimator(), _look_at(X), reset=True, skip_check_array=True)
        return Problem(
            X,
            y,
            rate=self.rate,
            oracle=self._oracle(),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            sample_weight=sample_weight,
            task_weight=task_weight,
            ids=ids,
            dtype=self.dtype,
            around=self._recorder(requests),
        )

    def _recorder(self, requests: Sequence[Request]) -> Any:
        """Return what puts a recorder around the oracle, or None."""
        if self.checkpoint is None:
            return None
        if isinstance(self.checkpoint, type) or not hasattr(self.checkpoint, "around"):
            raise InputError(
                f"`checkpoint` must be a Checkpoint, such as Checkpoint('folder'); got "
                f"{self.checkpoint!r}."
            )
        if not isinstance(self.random_state, int | np.integer):
            raise InputError(
                "a fit that can be resumed needs `random_state` to be an int, so that the same "
                f"run can be played again; got {self.random_state!r}."
            )
        return self.checkpoint.around(
            {
                "requests": list(requests),
                "rate": list(resolve_rates(self.rate)),
                "map": split_map(self.oracle)[0],
                "solver": resolve_solver(self.solver),
                "random_state": int(self.random_state),
                "dtype": self.dtype,
            }
        )

    def _adopt(self, problem: Problem, settled: Settled, X: Any, y: Any) -> None:
        """Become the model of a settled. A fit that fails before leaves the model as it was."""
        sample, learner = problem.sample, problem.learner
        validate_data(self, _look_at(X), reset=True, skip_check_array=True)
        self.mapping_, self.classifiers_ = settled.mapping, settled.classifiers
        self.certificate_ = settled.certificate
        self.error_, self.individual_rates_ = settled.reached
        self.common_rate_ = settled.certificate.common_rate
        self.history_ = settled.solution.history
        self.undefined_individuals_ = sample.individual_names[learner.undefined]
        self.task_names_, self.task_weights_ = sample.task_names, sample.task_weights
        self.holdout_task_names_ = tuple(sample.task_names[task] for task in problem.aside)
        self.classes_ = np.array([0, 1])
        self.seed_, self.fingerprint_ = problem.seed, problem.fingerprint
        self._flat = np.ndim(y) == 1

    def decision_probability(self, X: Any) -> Any:
        """Return the chance of deciding 1 for each person and task, shape (n, m).

        It says how often the randomised classifier decides 1; it is not a calibrated
        probability that the label is 1, and cutting it at 0.5 gives up the promise.

        Parameters
        ----------
        X : array-like or DataFrame, shape (n, d)
        """
        chances = self._classifiers(X).decision_probability(X)
        return chances[:, 0] if self._flat else chances

    def predict(self, X: Any, ids: ArrayLike | None = None) -> Any:
        """Draw decisions, shape (n, m): the same person and task always get the same draw.

        Parameters
        ----------
        X : array-like or DataFrame, shape (n, d)
        ids : array-like of shape (n,), optional
            Who each row is; then draws do not change when a person's features do. Default: a row
            is known by its features, so that people with the same features share their draws.
        """
        decisions = self._classifiers(X).predict(X, ids)
        return decisions[:, 0] if self._flat else decisions

    def extend(self, Y: Any, *, task_names: Any = None) -> Mixture:
        """Return fair classifiers for tasks that came later, without playing the game again.

        Parameters
        ----------
        Y : array-like or DataFrame, shape (n, k) or (n,)
            The new tasks' labels on the training individuals, in their order; blanks allowed.
        task_names : sequence of str, optional
            Default: the columns of Y; without such, names made from the labels.

        Returns
        -------
        Mixture
            With ``decision_probability(X)`` and ``predict(X)`` for the k new tasks.
        """
        self.training_individuals()
        return self.mapping_.extend(Y, task_names=task_names)

    def save(self, path: str | Path, *, extendable: bool = False) -> None:
        """Write the model to one file, without pickle; :func:`averagefair.load` reads it.

        Parameters
        ----------
        path, extendable
            As for :func:`averagefair.save`.
        """
        from averagefair.persistence import save

        save(self, path, extendable=extendable)

    def training_individuals(self) -> Sample:
        """Return the people the model was learned from, without their labels.

        Where the oracle has a feature map in front of it, their features are what the map made of
        X: the columns of X themselves are not kept.
        """
        check_is_fitted(self)
        if self.mapping_ is None:
            raise InputError(
                "this model was saved without its training individuals (they are people's data), "
                "and new tasks are learned from their labels on those. Save it with "
                "extendable=True (--extendable) to extend it later."
            )
        return self.mapping_.individuals

    def audit(self, X: Any, Y: Any, *, classifiers: Mixture | None = None, **options: Any) -> Audit:
        """Audit the model on people whose labels are known.

        Chances are audited, not draws: what is found is what the draws come to on average. On the
        tasks the model was learned from the audit shows what was observed on these very tasks and
        estimates nothing for true rates, whether the people are new or not (``learned_tasks`` of
        :func:`averagefair.audit`).

        Parameters
        ----------
        X : array-like or DataFrame, shape (n, d)
        Y : array-like or DataFrame, shape (n, m)
            Labels of these people on the training tasks, in their order; blank where unobserved.
        classifiers : Mixture, optional
            Classifiers of other tasks, from ``extend``; ``Y`` has the labels on those. Fresh tasks
            say what the model's promise is worth on tasks to come.
        **options
            As for :func:`averagefair.audit`. Default: the model's own rate, alpha and beta, and
            ``learned_tasks=True`` for the tasks it was learned from.
        """
        trained = self._classifiers(X)
        used = trained if classifiers is None else classifiers
        if not isinstance(used, Mixture):
            raise InputError(
                "`classifiers` must be what extend returns, a Mixture; got "
                f"{type(classifiers).__name__}."
            )
        sample = Sample(X, Y)
        sample.check_tasks(used.task_names, used.named_tasks, "Y")
        request, rates = self.certificate_.request, resolve_rates(self.rate)
        # Later tasks without names are called after their labels: there may be two of a name.
        distinct = len(set(used.task_names)) == len(used.task_names)
        if len(rates) > 1 and "rate" not in options:
            raise InputError(
                "the model was fitted for several rates; say which one to audit, e.g. "
                f"rate={rates[0].name!r}."
            )
        own: dict[str, Any] = {
            "rate": rates[0],
            "alpha": request.alpha,
            "beta": request.beta,
            # An index may name a row twice. Then the labels' own index names the people.
            "individual_names": sample.individual_names if sample.named_people else None,
            "task_names": used.task_names if distinct else None,
            "learned_tasks": self._learned(used),
        }
        if own["learned_tasks"] and not options.get("learned_tasks", True):
            raise InputError(
                "`learned_tasks` must not be False here: these are tasks the model was learned "
                "from. Leave it out, or pass classifiers=model.extend(...) of other tasks."
            )
        if options.get("alpha", 0.0) is None:
            del own["beta"]
        found = audit(Y, used.decision_probability(X), **(own | options))
        minded = []
        if used is trained and np.ptp(self.task_weights_) > 0:
            minded.append("tasks weigh alike here, though the model was fitted with weights.")
        return replace(found, notes=(*found.notes, *minded))

    def _learned(self, classifiers: Mixture) -> bool:
        """Tell whether some tasks of these classifiers were learned from, as far as names tell."""
        if classifiers is self.classifiers_:
            return True
        known = set(self.task_names_) - set(self.holdout_task_names_)
        named = classifiers.named_tasks and self.classifiers_.named_tasks
        return named and not known.isdisjoint(classifiers.task_names)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return 1 - overall error on these people, in expectation over the draws.

        Parameters
        ----------
        X : array-like or DataFrame, shape (n, d)
        y : array-like or DataFrame, shape (n, m)
            Their labels on the training tasks, in their order; blanks are left out.
        sample_weight : array-like of shape (n,), optional
            How many people each row stands for.
        """
        classifiers = self._classifiers(X)
        sample = Sample(X, y, individual_weights=sample_weight)
        sample.check_tasks(self.task_names_, classifiers.named_tasks, "y")
        sample = classifiers.seen(sample).with_task_weights(self.task_weights_)
        error = Meter(sample, ErrorRate()).mix(classifiers.parts()).error
        if np.isnan(error):
            raise InputError("y must have at least one label to score against; all are blank.")
        return 1.0 - error

    def _classifiers(self, X: Any) -> Mixture:
        check_is_fitted(self)
        validate_data(self, _look_at(X), reset=False, skip_check_array=True)
        return self.classifiers_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        # One task makes one mistake or none: equal rates over it mean chance alone.
        tags.classifier_tags.poor_score = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


def _look_at(X: Any) -> Any:
    """Refuse what is no table; return what scikit-learn may see of it.

    What is on a cluster is looked at there; of a DataFrame its columns are known here.
    """
    if is_dask(X):
        check_name_types(X)
        return X._meta if hasattr(X, "columns") else X
    read_table(X, "X", in_place=True)
    check_name_types(X)
    return X


def resolve_solver(solver: Any) -> Any:
    """Return the solver, or the default one for None."""
    if solver is None:
        return ColumnGeneration()
    if isinstance(solver, type) or not callable(getattr(solver, "solve", None)):
        raise InputError(
            "`solver` must be an object with a method solve, such as ColumnGeneration(); got "
            f"{solver!r}."
        )
    return solver


def warn_if_missed(certificate: Certificate) -> None:
    """Warn of a fit that ended before it converged, or with less than was asked for."""
    reason, ended = certificate.stop_reason, ""
    if certificate.trouble:
        ended = f"the fit ended early ({certificate.trouble})"
    elif reason is StopReason.INTERRUPTED:
        ended = "the fit was interrupted"
    elif reason is StopReason.ROUNDS:
        ended = f"the fit did not converge within its limit of rounds ({certificate.rounds})"
    elif reason is StopReason.TIME:
        ended = "the fit did not converge within its time limit"
    said = [] if certificate.met else [certificate.asked()]
    if ended:
        said.append(
            f"{ended}; the model is the best answer so far (error {certificate.error:.4f}, spread "
            f"{certificate.spread:.6f})"
        )
    if not said:
        return
    if certificate.compared():
        said.append(f"For comparison: {certificate.compared()}")
    if reason.limit:
        said.append("Raise max_rounds or time_limit to go on")
    if not certificate.met:
        said.append("Raise alpha, or use the default solver, which meets every alpha")
    warn(". ".join(said) + ".", ConvergenceWarning)
