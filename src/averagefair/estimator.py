"""AverageFairClassifier: the scikit-learn estimator. It only connects the parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from averagefair._util.arrays import FloatArray
from averagefair._util.checks import whole_number
from averagefair.auditing import Audit, audit
from averagefair.auditing.first_look import FirstLook, first_look, warn_if_nothing_to_fix
from averagefair.choosing import DEFAULT_INFLUENCE, Balance, fix_new_tasks
from averagefair.errors import InputError, some_of
from averagefair.game.certificate import Certificate, warn_if_missed
from averagefair.game.mapping import Mapping
from averagefair.game.measure import Meter
from averagefair.game.mixture import Mixture
from averagefair.game.problem import Outcome
from averagefair.game.promises import Equal, Promise
from averagefair.game.protocols import Rate
from averagefair.game.rates import ErrorRate, Rates
from averagefair.game.solution import Callback
from averagefair.game.who_pays import most_changed
from averagefair.people.encoder import TableEncoder
from averagefair.people.sample import Sample
from averagefair.pose import (
    check_columns_of,
    pose,
    read_people,
    resolve_decisions,
    resolve_promise,
    resolve_solver,
)
from averagefair.solvers.progress import watched


class AverageFairClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifiers for many tasks that keep a promise about every person's error rate.

    Learns one classifier for each task. With ``alpha``, every individual's error rate,
    averaged over the tasks, lies within ``alpha`` of a common rate. With ``worst_off``, the mean
    rate of the worst-off people is low. Either way the error is the least that the solver finds.

    Parameters
    ----------
    alpha : float in [1e-6, 0.5], optional
        The slack: how far an individual's rate may lie from the common rate, so that two people
        differ by at most 2 alpha. Default, if nothing else is promised: the solver's own alpha if
        it has one, else 0.05. Short for ``promise=Equal(alpha, beta, max_influence)``.
    rate : {"error", "false_positive", "false_negative"}, Rate, or list of these, default "error"
        Which mistakes count. With a list, e.g. ``["false_positive", "false_negative"]``, each rate
        must lie within alpha of its own common rate.
    oracle : Oracle, FeatureMap, or scikit-learn classifier or pipeline, optional
        Learns a task at given costs. A scikit-learn classifier must take ``sample_weight``. With a
        :class:`~averagefair.FeatureMap`, or a scikit-learn pipeline that ends in an oracle, tasks
        are learned from transformed features; the transformers are fitted and applied once.
        Default: the better of least squares and logistic regression for each task, improved by a
        local search (:func:`~averagefair.oracles.default_oracle`). With ``ExponentiatedGradient``
        the default is least squares, as in the authors' published runs.
    solver : Solver, optional
        Default: :class:`~averagefair.ColumnGeneration`.
    beta : float in [0, 1), default 0
        The share of people who may lie outside alpha, or above max_rate: the (alpha, beta) form of
        the definition. The people who would cost most to bring inside are exempt.
    max_influence : float, optional
        c: no person's multiplier may exceed c / n. A person who would need a larger multiplier to
        come within alpha stays outside. No share of people outside is promised; the certificate
        reports it. Values of 3 to 10 did better on new people.
    max_rate : float in (0, 1], optional
        The highest rate that anybody may have: short for ``promise=Cap(max_rate, beta)``. With
        ``worst_off``: the highest mean rate that the worst-off may have.
    worst_off : float in (0, 1), optional
        The share of the people who count as worst-off, such as 0.1: short for
        ``promise=WorstOff(share, price, max_rate)``.
    price : float, optional
        With ``worst_off``: how many points of overall error a point of the worst-off people's mean
        rate is worth. Default: 0.1, without ``max_rate``.
    no_harm : float in [0, 1), optional
        Beside any of these: nobody's rate may be more than this above their rate with nothing
        asked, or above the rates given to ``fit(against=...)``.
    look_first : bool, default True
        Look at the unconstrained model first, on held-out people: is there anything to fix? This
        takes a few answers of the oracle, for at most 8,000 people.
    decisions : {"fixed", "drawn"}, optional
        How decisions are made. "fixed": one classifier is chosen for each task, so that the
        decisions actually made keep the promise; nothing is drawn. "drawn": each decision is drawn
        by the chances that the solver found, as in the paper; the promise then holds on average
        over draws. Default: "fixed"; with ``ExponentiatedGradient`` "drawn".
    promise : Promise, optional
        Any promise as an object: :class:`~averagefair.Equal`, :class:`~averagefair.Cap`,
        :class:`~averagefair.Minimax` or :class:`~averagefair.WorstOff`, in place of the parameters
        above.
    random_state : int, RandomState or None, default None
        Seeds the solver, the choice of fixed decisions, and the draws of ``predict``. None: a fresh
        seed for each fit, kept in ``seed_``.
    callback : callable, optional
        Called after every round with a :class:`~averagefair.Round`; returning True ends the fit
        with the answer so far.
    dtype : {"float64", "float32", "tf32"}, optional
        Precision of products over features while learning. With "float32", features take half the
        memory and a round takes about half the time (docs/performance.md). Decisions differ where a
        score is within rounding of zero. "tf32" rounds further, on NVIDIA GPUs only. Default:
        "float64".
    checkpoint : Checkpoint, optional
        Where to save progress, so that a fit can be resumed; ``random_state`` must be an int.
    encode : bool or TableEncoder, default False
        Whether X may hold words, dates and blanks. They are encoded as numbers, in the same way for
        everybody who comes later, and the model and its file keep how
        (:class:`~averagefair.TableEncoder`).
    verbose : bool or int, default False
        Whether ``fit`` shows its progress, also in a notebook: with tqdm or rich if one of them is
        installed, else as lines on standard error. It changes no result.

    Attributes
    ----------
    error_ : float
        Overall error on the training sample.
    promise_ : Promise
        What was promised.
    common_rate_ : float, or tuple of float
        gamma: everybody's rate is close to it; one for each rate if ``rate`` is a list. NaN for a
        promise without a common rate.
    individual_rates_ : array, shape (n,), or (n, rates) if ``rate`` is a list
        Everybody's rate on the training tasks; NaN where undefined.
    certificate_ : Certificate
        What was promised, reached and proved, who pays, and why the fit stopped. ``print`` it.
    mapping_ : Mapping, or None
        psi: makes the classifiers of any task. None in a model loaded from a file that was saved
        without the training individuals.
    classifiers_ : Mixture
        The classifiers of the training tasks, which ``predict`` uses. With fixed decisions, one for
        each task.
    mixture_ : Mixture, or None
        The classifiers of the training tasks with the chances that the solver found. With drawn
        decisions the same as ``classifiers_``. None in a loaded model with fixed decisions.
    balance_ : Balance, or None
        What the training people have had so far, on the learned tasks and those extended to:
        ``extend`` chooses so that everybody's running rate keeps the promise. None with drawn
        decisions, and in a file saved without the training individuals.
    unconstrained_ : Mixture, or None
        The oracle's own classifiers of the training tasks, with nothing asked. None in a loaded
        model.
    baseline_rates_ : array, shape (n,), or (n, rates) if ``rate`` is a list
        The rates that ``certificate_.who_pays`` compares with: those with nothing asked, or those
        given as ``against``.
    first_look_ : FirstLook, or None
        Whether there is anything to fix: how far people's rates differ with nothing asked, on
        people who were not learned from. None with ``look_first=False``, with fewer than 50 people
        or 10 tasks, and for people on a cluster.
    history_ : structured array, shape (rounds,)
        Round, error, spread, gap and slack (``alpha``) after each round.
    undefined_individuals_ : array
        Names of people without a constraint, since none of their labels counts.
    task_names_ : tuple of str
    task_weights_ : array, shape (m,)
        Summing to 1.
    classes_ : array([0, 1])
    holdout_task_names_ : tuple of str
        The tasks that ``rate.holdout_tasks`` set aside.
    seed_ : int
    encoder_ : TableEncoder, or None
        With ``encode``: how words, dates and blanks are encoded.
        ``encoder_.get_feature_names_out()`` has the columns that coefficients are about.
    fingerprint_ : str, or None
        A hash that identifies the training data: ``Sample(X, Y).fingerprint()``; with ``encode``,
        of the encoded X.

    Notes
    -----
    With ``decisions="drawn"`` the rates are averages over the draws of ``predict``. Over few tasks,
    the decisions drawn scatter around these rates as coin flips do.

    Labels with blanks cannot be stratified: cross-validate with ``cv=KFold(...)``.

    Tasks set aside by ``rate.holdout_tasks`` do not count in the figures above, and the promise
    does not cover them. The mapping makes their classifiers, as for any task.

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

    mapping_: Mapping | None
    classifiers_: Mixture
    mixture_: Mixture | None
    balance_: Balance | None
    unconstrained_: Mixture | None
    baseline_rates_: Any
    first_look_: FirstLook | None
    certificate_: Certificate
    promise_: Promise
    error_: float
    individual_rates_: Any
    common_rate_: float | tuple[float, ...]
    history_: NDArray[np.void]
    undefined_individuals_: NDArray[Any]
    task_names_: tuple[str, ...]
    task_weights_: FloatArray
    holdout_task_names_: tuple[str, ...]
    classes_: NDArray[np.intp]
    seed_: int
    encoder_: TableEncoder | None
    fingerprint_: str | None
    _flat: bool

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
        max_rate: float | None = None,
        worst_off: float | None = None,
        price: float | None = None,
        no_harm: float | None = None,
        promise: Promise | None = None,
        look_first: bool = True,
        decisions: str | None = None,
        encode: bool | TableEncoder = False,
        verbose: bool | int = False,
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
        self.max_rate = max_rate
        self.worst_off = worst_off
        self.price = price
        self.no_harm = no_harm
        self.promise = promise
        self.look_first = look_first
        self.decisions = decisions
        self.encode = encode
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        task_weight: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        against: Any = None,
    ) -> AverageFairClassifier:
        """Learn the classifiers of all tasks together.

        Parameters
        ----------
        X : array-like or DataFrame of any library, shape (n, d)
        y : array-like or DataFrame of any library, shape (n, m) or (n,)
            Labels 0/1, a column for each task; NaN, None or missing where unobserved.
        sample_weight : array-like of shape (n,), optional
            How many people each row stands for: weight 2 counts like two such rows, weight 0 like
            no row. The scale matters: weights that sum to 1 mean one person in all.
        task_weight : array-like of shape (m,), optional
            How often a person meets each task, up to a common factor.
        ids : array-like of shape (n,), optional
            Names of the people in reports. Each name occurs once, and none is blank. Default: the
            index of a pandas table (which may repeat a name), else numbers.
        against : array-like or pandas Series of shape (n,), or (n, rates), optional
            Rates that these people have today, for example
            :func:`~averagefair.individual_rates` of the model in use; NaN where unknown. Who pays,
            and ``no_harm``, then compare with these rates. Default: with the rates that people
            would have with nothing asked.
        """
        if y is None:
            raise InputError(
                "AverageFairClassifier requires y to be passed, but the target y is None."
            )
        solver = resolve_solver(self.solver)
        fix = resolve_decisions(self.decisions, solver)
        promise = resolve_promise(self, solver.default_alpha)
        problem, columns = pose(
            X,
            y,
            [promise],
            rate=self.rate,
            oracle=self.oracle,
            solver=solver,
            random_state=self.random_state,
            callback=self.callback,
            sample_weight=sample_weight,
            task_weight=task_weight,
            ids=ids,
            against=against,
            dtype=self.dtype,
            checkpoint=self.checkpoint,
            encode=self.encode,
        )
        with watched(self.verbose, self.callback, [promise.value], promise) as watch:
            watch.stage("looking at the model with nothing asked")
            look = first_look(problem) if self.look_first else None
            with problem.playing() as learner:
                solution = solver.solve(learner, promise, callback=watch.callback, rng=problem.rng)
            watch.stage("measuring what was reached" if fix is None else "choosing decisions")
            outcome = problem.settle(solution, fix)
            watch.finish(f"error {outcome.certificate.error:.3f}")
        adopt(self, outcome, columns, look, one_task=np.ndim(y) == 1)
        warn_if_missed(self.certificate_)
        warn_if_nothing_to_fix(look)
        return self

    def decision_probability(self, X: Any) -> Any:
        """Return the chance of deciding 1 for each person and task, shape (n, m).

        With fixed decisions it is 0 or 1. With drawn decisions it is how often 1 is drawn. It is
        not a calibrated probability that the label is 1, and a threshold at 0.5 breaks the promise.

        Parameters
        ----------
        X : array-like or DataFrame, shape (n, d)
        """
        classifiers, table = self._classifiers_for(X)
        chances = classifiers.decision_probability(table)
        return chances[:, 0] if self._flat else chances

    def predict(self, X: Any, ids: ArrayLike | None = None, *, as_frame: bool = False) -> Any:
        """Return decisions 0/1, shape (n, m): the same person and task always get the same.

        Parameters
        ----------
        X : array-like or DataFrame, shape (n, d)
        ids : array-like of shape (n,), optional
            Identifier of each row's person. Only drawn decisions depend on it: draws then stay the
            same when features change. Default: a person is identified by their features, so people
            with the same features share draws.
        as_frame : bool, default False
            Return a DataFrame with the tasks' names: in the library of X, with its index; for other
            tables in pandas, with ``ids`` as the index if they are given.
        """
        classifiers, table = self._classifiers_for(X)
        if as_frame:
            return classifiers.predict(X, ids, as_frame=True)
        decisions = classifiers.predict(table, ids)
        return decisions[:, 0] if self._flat else decisions

    def extend(self, Y: Any, *, task_names: Any = None, balance: bool | None = None) -> Mixture:
        """Return fair classifiers for later tasks, without solving again.

        With fixed decisions, one classifier is chosen for each new task, jointly for all tasks of
        the call. With ``balance``, the choice counts what the training people have had so far, on
        the learned tasks and on those extended to, so that everybody's running rate stays near the
        promise; the new tasks count from then on (``balance_``).

        Parameters
        ----------
        Y : array-like or DataFrame, shape (n, k) or (n,)
            The new tasks' labels on the training individuals, in their order; blanks allowed.
        task_names : sequence of str, optional
            Default: the column names of Y. If Y has none: names made from the labels.
        balance : bool, optional
            Whether to count what people have had so far. Default: True if decisions are fixed. The
            call before can be repeated and counts once; a task of an earlier call is refused.

        Returns
        -------
        Mixture
            With ``predict(X)`` and ``decision_probability(X)`` for the k new tasks.
        """
        mapping = self._mapping()
        if not (balance is None or isinstance(balance, bool | np.bool_)):
            raise InputError(f"`balance` must be True, False or None; got {balance!r}.")
        if self.certificate_.decisions != "fixed":
            if balance:
                raise InputError(
                    "`balance` needs fixed decisions, and this model draws its decisions. Leave "
                    'balance out, or fit with decisions="fixed" (--decisions fixed).'
                )
            return mapping.extend(Y, task_names=task_names)
        own = self.balance_ if balance or balance is None else None
        if balance and own is None:
            raise InputError(
                "`balance` needs what people have had so far, which this model does not hold. "
                "Leave balance out, or fit the model again."
            )
        sample = mapping.sample_of(Y, task_names)
        again = sorted({*sample.task_names} & self._learned_names(sample.named_tasks))
        if own is not None and again:
            raise InputError(
                f"tasks that were learned count already: {some_of(again)}. Pass balance=False "
                "(--no-balance) to choose for them without counting them again, or give new tasks "
                "other task_names."
            )
        solver = resolve_solver(self.solver)
        influence = getattr(solver, "mapping_influence", DEFAULT_INFLUENCE)
        mixture, after = fix_new_tasks(
            mapping, sample, Rates.of(self.rate), self.promise_, own, influence, self.seed_
        )
        if own is not None:
            self.balance_ = after
        return mixture

    def save(self, path: str | Path, *, extendable: bool = False) -> None:
        """Write the model to one file, without pickle; :func:`averagefair.load` reads it.

        Parameters
        ----------
        path, extendable
            As for :func:`averagefair.save`.
        """
        from averagefair.persistence import save

        save(self, path, extendable=extendable)

    def coefficients(self) -> Any:
        """Return linear classifiers as a pandas DataFrame, a row for each task.

        The rule: decide 1 where ``X @ coefficients + intercept`` is above 0. See
        :meth:`averagefair.Mixture.coefficients`, which does the same for later tasks.

        Examples
        --------
        >>> from averagefair.datasets import make_synthetic
        >>> people = make_synthetic(n=40, m=10)
        >>> model = AverageFairClassifier(random_state=0).fit(people.X, people.Y)
        >>> table = model.coefficients()
        >>> scores = people.X @ table.drop(columns="intercept").to_numpy().T
        >>> decisions = scores + table["intercept"].to_numpy() > 0
        >>> bool((decisions == model.predict(people.X)).all())
        True
        """
        check_is_fitted(self)
        return self.classifiers_.coefficients()

    def to_onnx(self, path: str | Path) -> None:
        """Write the training tasks' classifiers to an ONNX file, which runs without Python.

        See :meth:`averagefair.Mixture.to_onnx` for input and output. The metadata also has
        ``fingerprint_``.

        Parameters
        ----------
        path : str or Path
            A failed export leaves no partial file.
        """
        from averagefair.export import to_onnx

        check_is_fitted(self)
        to_onnx(self.classifiers_, path, fingerprint=self.fingerprint_)

    def plot(self, ax: Any = None) -> Any:
        """Draw the training people's rates, before and now (matplotlib); returns the axes.

        Rates before are those with nothing asked, or those given as ``against``.

        Parameters
        ----------
        ax : Axes, optional
            Default: the axes of a new pyplot figure, which a notebook shows and
            ``pyplot.close()`` frees.
        """
        from averagefair.showing.plots.rates import rates_of_model

        check_is_fitted(self)
        return rates_of_model(self).plot(ax)

    def most_changed(
        self, count: int = 5
    ) -> tuple[list[tuple[Any, float, float]], list[tuple[Any, float, float]]]:
        """Return which training people gain most and lose most: (name, rate before, rate after).

        Rates before are those with nothing asked, or those given as ``against``.

        Parameters
        ----------
        count : int, default 5
            How many people to list on each side.
        """
        check_is_fitted(self)
        count = whole_number("count", count)
        before = getattr(self, "baseline_rates_", None)
        if before is None:
            raise InputError(
                "people's rates before are unknown: a loaded model does not hold them. Fit the "
                "model, or compare two tables of rates with who_pays."
            )
        if np.ndim(before) > 1:
            raise InputError(
                "the model was fitted for several rates. Use averagefair.game.who_pays."
                "most_changed(names, before, after) with one column of baseline_rates_ and "
                "individual_rates_."
            )
        names = self.training_individuals().individual_names
        return most_changed(names, before, self.individual_rates_, count)

    def training_individuals(self) -> Sample:
        """Return the training people, without their labels.

        With a feature map, these are the mapped features: the columns of X are not kept.
        """
        return self._mapping().individuals

    def _mapping(self) -> Mapping:
        check_is_fitted(self)
        if self.mapping_ is None:
            raise InputError(
                "this model was saved without its training individuals (they are people's data), "
                "but new tasks need them. Save the model with extendable=True (--extendable) to "
                "extend it later."
            )
        return self.mapping_

    def audit(self, X: Any, Y: Any, *, classifiers: Mixture | None = None, **options: Any) -> Audit:
        """Audit the model on people whose labels are known.

        Fixed decisions are audited as they are. Drawn decisions are audited by their chances, so
        that the figures are averages over draws. On the training
        tasks it shows what was observed and estimates no true rates, for new people and training
        people alike (``learned_tasks`` of :func:`averagefair.audit`).

        Parameters
        ----------
        X : array-like or DataFrame, shape (n, d)
        Y : array-like or DataFrame, shape (n, m)
            Labels of these people on the training tasks, in their order; blank where unobserved.
        classifiers : Mixture, optional
            Classifiers of other tasks, from ``extend``; ``Y`` then has the labels on these tasks.
            Fresh tasks show how well the promise holds on future tasks.
        **options
            As for :func:`averagefair.audit`. Default: the model's own rate, its alpha and beta if
            it promises equal rates, and ``learned_tasks=True`` for the training tasks.
        """
        trained, table = self._classifiers_for(X)
        used = trained if classifiers is None else classifiers
        if not isinstance(used, Mixture):
            raise InputError(
                "`classifiers` must be a Mixture, from model.extend(...); got "
                f"{type(classifiers).__name__}."
            )
        sample = Sample(table, Y)
        sample.check_tasks(used.task_names, used.named_tasks, "Y")
        promise, rates = self.certificate_.promise, Rates.of(self.rate)
        # Unnamed later tasks get names made from their labels, and two names may be equal.
        distinct = len(set(used.task_names)) == len(used.task_names)
        if len(rates) > 1 and "rate" not in options:
            raise InputError(
                "the model was fitted for several rates; say which one to audit, e.g. "
                f"rate={rates[0].name!r}."
            )
        own: dict[str, Any] = {
            "rate": rates[0],
            **(
                {"alpha": promise.alpha, "beta": promise.beta} if isinstance(promise, Equal) else {}
            ),
            # An index may repeat a name. Then the labels' own index names the people.
            "individual_names": sample.individual_names if sample.named_people else None,
            "task_names": used.task_names if distinct else None,
            "learned_tasks": self._learned(used),
        }
        if own["learned_tasks"] and not options.get("learned_tasks", True):
            raise InputError(
                "`learned_tasks` must not be False here: the model was learned from these tasks. "
                "Leave it out, or pass classifiers=model.extend(...) of other tasks."
            )
        if options.get("alpha", 0.0) is None:
            own.pop("beta", None)
        result = audit(Y, used.decision_probability(table), **(own | options))
        notes = list(result.notes)
        if used is trained and np.ptp(self.task_weights_) > 0:
            notes.append("this audit weighs all tasks equally; the model was fitted with weights.")
        return replace(result, notes=tuple(notes))

    def _learned(self, classifiers: Mixture) -> bool:
        """Return whether these classifiers were learned or chosen for some of their own tasks.

        Their tasks then have the name of a training task, or they were chosen together.
        """
        if classifiers is self.classifiers_ or classifiers.chosen_together:
            return True
        known = self._learned_names(classifiers.named_tasks)
        return not known.isdisjoint(classifiers.task_names)

    def _learned_names(self, named: bool) -> set[str]:
        """Return the names of the learned tasks; none without names of their own."""
        if not (named and self.classifiers_.named_tasks):
            return set()
        return set(self.task_names_) - set(self.holdout_task_names_)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return 1 - overall error on these people; for drawn decisions, on average over draws.

        Parameters
        ----------
        X : array-like or DataFrame, shape (n, d)
        y : array-like or DataFrame, shape (n, m)
            Their labels on the training tasks, in their order; blanks do not count.
        sample_weight : array-like of shape (n,), optional
            How many people each row stands for.
        """
        classifiers, table = self._classifiers_for(X)
        sample = Sample(table, y, individual_weights=sample_weight)
        sample.check_tasks(self.task_names_, classifiers.named_tasks, "y")
        sample = classifiers.map_sample(sample).with_task_weights(self.task_weights_)
        error = Meter(sample, ErrorRate()).mix(classifiers.parts()).error
        if np.isnan(error):
            raise InputError("y must have at least one label to score against; all are blank.")
        return 1.0 - error

    def _classifiers_for(self, X: Any) -> tuple[Mixture, Any]:
        """Check the columns of X; return the classifiers and X as read."""
        check_is_fitted(self)
        table = read_people(self.classifiers_.encoded(X))
        check_columns_of(self, X, reset=False)
        return self.classifiers_, table

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        # With one task a rate is 0 or 1, so equal rates mean decisions by chance.
        tags.classifier_tags.poor_score = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


def adopt(
    model: AverageFairClassifier,
    outcome: Outcome,
    columns: dict[str, Any],
    look: FirstLook | None,
    *,
    one_task: bool,
) -> None:
    """Copy an outcome's fitted attributes onto a model.

    Parameters
    ----------
    model : AverageFairClassifier
        Changed only here, so a fit that fails earlier leaves the model unchanged.
    outcome : Outcome
    columns : dict
        scikit-learn's attributes of the columns of X.
    look : FirstLook, or None
    one_task : bool
        Whether labels, and so decisions, have shape (n,).
    """
    problem, sample = outcome.problem, outcome.problem.sample
    for name in ("n_features_in_", "feature_names_in_"):
        model.__dict__.pop(name, None)
    model.__dict__.update(columns)
    model.mapping_, model.classifiers_ = outcome.mapping, outcome.classifiers
    model.mixture_, model.balance_ = outcome.mixture, None
    if outcome.fixed is not None:
        model.balance_ = Balance.of(problem.learner.meter, outcome.reached)
    model.unconstrained_, model.first_look_ = outcome.unconstrained, look
    model.baseline_rates_ = None if outcome.unconstrained is None else problem.baseline_rates()
    model.certificate_, model.promise_ = outcome.certificate, outcome.certificate.promise
    model.error_, model.individual_rates_ = outcome.reached
    model.common_rate_ = outcome.certificate.common_rate
    model.history_ = outcome.solution.history
    model.undefined_individuals_ = sample.individual_names[problem.learner.undefined]
    model.task_names_, model.task_weights_ = sample.task_names, sample.task_weights
    model.holdout_task_names_ = tuple(sample.task_names[task] for task in problem.aside)
    model.classes_ = np.array([0, 1])
    model.seed_, model.fingerprint_ = problem.seed, problem.fingerprint
    model.encoder_ = sample.encoder
    model._flat = one_task
