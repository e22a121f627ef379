"""Cross-fitting over people and tasks: how fair a way of learning is on people and tasks to come.

On the tasks that a fair model learned, a person's mistakes offset each other, so nothing follows
for other tasks (auditing/learned.py). Here every decision comes from a model that has seen neither
the person nor the task: people and tasks are cut into folds, and for each pair of folds a model
learns from all others. Its mapping then makes the classifiers of the tasks left out, from the
labels of the people it learned from, and these decide about the people left out.

The people must be left out too. A mapping raises the weight of people who were misjudged on the
tasks it learned, so on the tasks left out, a training person's mistakes depend on those of other
folds: a table joined from such folds shows far too little unfairness (docs/audit.md).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from averagefair._util.arrays import FloatArray
from averagefair._util.checks import whole_number
from averagefair._util.text import counted
from averagefair.auditing import Audit, audit
from averagefair.auditing.audit import check_request
from averagefair.errors import InputError
from averagefair.estimator import AverageFairClassifier
from averagefair.game.mapping import Mapping
from averagefair.game.solution import StopReason
from averagefair.people.backends import take_rows, to_host
from averagefair.people.dask import is_dask
from averagefair.people.frames import Table, read_categories, read_table
from averagefair.people.labels import read_signs
from averagefair.pose import read_people

FOLDS = (3, 5)
"""The default numbers of folds: of people, of tasks."""
UNITS = ("people", "tasks")

Learned = tuple[list[Mapping], Callable[[Any], Any]]
"""Mappings that were learned, and what prepares the features of other people for them."""


def cross_audit(
    estimator: AverageFairClassifier | Pipeline,
    X: Any,
    Y: Any,
    folds: int | tuple[int, int] = FOLDS,
    *,
    rate: Any = None,
    individual_names: Sequence[Any] | NDArray[Any] | None = None,
    task_families: ArrayLike | None = None,
    groups: Any = None,
    alpha: float | None = None,
    beta: float | None = None,
    confidence: float = 0.95,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Audit:
    """Audit a way of learning on people and tasks that it has not seen, by cross-fitting.

    Each decision comes from a model that learned from neither the person nor the task. The figures
    hold for models that learn from somewhat fewer people and tasks than there are. Decisions on new
    tasks are drawn by the chances of the mapping.

    Parameters
    ----------
    estimator : AverageFairClassifier, or Pipeline that ends in one
        It is cloned; the estimator itself is not fitted.
    X : array-like or DataFrame, shape (n, d)
    Y : array-like or DataFrame, shape (n, m)
        Labels 0/1; NaN, None or missing where unobserved.
    folds : int, or pair of int, default (3, 5)
        Numbers of folds of people and of tasks; one number is used for both. A model is fitted for
        each pair of folds: 15 by default.
    rate : str or Rate, optional
        Which mistakes the audit counts. Default: those of the estimator.
    individual_names, groups, alpha, beta, confidence
        As for :func:`averagefair.audit`.
    task_families : sequence of length m, optional
        The family of each task. A family stays in one fold.
    random_state : int, default 0
        Seeds the folds, and the audit's random signs.
    n_jobs : int, optional
        Number of processes, as in scikit-learn. Default: one.

    Examples
    --------
    >>> from averagefair.datasets import make_synthetic
    >>> from averagefair import ColumnGeneration
    >>> people = make_synthetic(n=60, m=20, random_state=0)
    >>> model = AverageFairClassifier(alpha=0.1, solver=ColumnGeneration(max_rounds=5))
    >>> found = cross_audit(model, people.X, people.Y, folds=2)
    >>> found.n, found.m, found.learned_tasks
    (60, 20, False)
    """
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(last, AverageFairClassifier):
        raise InputError(
            "cross_audit takes an AverageFairClassifier, or a Pipeline that ends in one; got "
            f"{type(last).__name__}. Decisions of other models about held-out people are audited "
            "by audit(labels, decisions)."
        )
    if rate is None and isinstance(last.rate, list | tuple):
        raise InputError(
            f"an audit takes one rate, and the estimator has {last.rate!r}. Choose one of them, "
            'e.g. rate="error".'
        )
    kind: Any = last.rate if rate is None else rate
    check_request(kind, alpha, beta, confidence, 0)

    def learn(people: Any, labels: Table) -> Learned:
        model = clone(estimator).fit(people, labels)
        if isinstance(model, Pipeline):
            return [mapping_of(model[-1])], model[:-1].transform
        return [mapping_of(model)], as_it_is

    chances, labels, note = cross_chances(
        learn,
        X if isinstance(estimator, Pipeline) else read_in_memory(X, last.encode),
        Y,
        folds,
        task_families=task_families,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    found = audit(
        labels.cells,
        chances[0],
        rate=kind,
        individual_names=_names(X, labels) if individual_names is None else individual_names,
        task_names=labels.columns,
        task_families=task_families,
        groups=groups,
        alpha=alpha,
        beta=beta,
        confidence=confidence,
        random_state=random_state,
    )
    return replace(found, notes=(note, *found.notes))


class Part(NamedTuple):
    """The people and tasks that a model does not see."""

    people: NDArray[np.bool_]
    tasks: NDArray[np.bool_]


def cross_chances(
    learn: Callable[[Any, Table], Learned],
    X: Any,
    Y: Any,
    folds: int | tuple[int, int],
    *,
    task_families: ArrayLike | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> tuple[list[FloatArray], Table, str]:
    """Return tables of chances of deciding 1, each from mappings that saw neither row nor column.

    Parameters
    ----------
    learn : callable
        Takes the features and labels of some people and tasks; returns mappings.
    X : table of features
        Its rows can be taken by scikit-learn, or it is a Table.
    Y : table of labels
    folds, task_families, random_state, n_jobs
        As for :func:`cross_audit`.

    Returns
    -------
    chances : list of arrays, shape (n, m)
        One for each mapping that ``learn`` returns.
    labels : Table
    note : str
        What was done, for a reader of the audit.
    """
    labels = read_table(Y, "Y", labels=True)
    n, m = labels.cells.shape
    names = labels.columns or tuple(f"task{task}" for task in range(m))
    read_signs(labels.cells, names, 0)  # refuses what is no label
    counts = _fold_counts(folds)
    rng = np.random.default_rng(whole_number("random_state", random_state, least=0))
    people = _cut(rng, np.arange(n), counts[0], UNITS[0])
    families = np.arange(m)
    if task_families is not None:
        _, families = read_categories(task_families, names, m, "task_families")
    tasks = _cut(rng, families, counts[1], UNITS[1] if task_families is None else "families")
    parts = [
        Part(people == row, tasks == column)
        for row in range(counts[0])
        for column in range(counts[1])
    ]
    results = Parallel(n_jobs=n_jobs)(delayed(_decide)(learn, X, labels, part) for part in parts)
    out = [np.full((n, m), np.nan) for _ in results[0]]
    for part, found in zip(parts, results, strict=True):
        for whole, own in zip(out, found, strict=True):
            whole[np.ix_(part.people, part.tasks)] = own
    seen = f"{counts[0] - 1} of {counts[0]} parts of the people"
    note = (
        "each decision comes from a model that learned from neither the person nor the task "
        f"({counted(len(parts), 'model')}, each from {seen} and {counts[1] - 1} of {counts[1]} "
        "parts of the tasks)."
    )
    return out, labels, note


def _decide(
    learn: Callable[[Any, Table], Learned], X: Any, labels: Table, part: Part
) -> list[FloatArray]:
    """Learn without some people and tasks; return the chances there, one table a mapping."""
    known, others = np.flatnonzero(~part.people), np.flatnonzero(part.people)
    with warnings.catch_warnings():
        # A model of a fold is nobody's model: its promises are not what is judged here.
        warnings.simplefilter("ignore")
        mappings, prepare = learn(_take(X, known), _labels(labels, known, ~part.tasks))
        later = _labels(labels, known, part.tasks)
        people = prepare(_take(X, others))
        return [to_host(mapping.extend(later).decision_probability(people)) for mapping in mappings]


def mapping_of(model: AverageFairClassifier) -> Mapping:
    """Return the mapping of a model that was just fitted; Ctrl-C in its fit ends cross-fitting."""
    if model.certificate_.stop_reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    assert model.mapping_ is not None, "a fresh fit has a mapping"
    return model.mapping_


def _names(X: Any, labels: Table) -> Any:
    """Return the people's names: the index of X, else that of the labels; None without either."""
    index = X.row_names if isinstance(X, Table) else getattr(X, "index", None)
    return labels.row_names if index is None or callable(index) else np.asarray(index)


def as_it_is(X: Any) -> Any:
    """Return features as they are: nothing prepares them."""
    return X


def read_in_memory(X: Any, encode: Any = False) -> Any:
    """Read a table of features, unless models encode it; refuse people on a cluster."""
    if is_dask(X):
        raise InputError(
            "cross-fitting takes rows apart, so people on a Dask cluster are not supported. Pass a "
            "table in memory, e.g. X.compute(), or hold tasks and people out by hand: "
            "averagefair.held_out."
        )
    return read_people(X) if encode is False else X


def _take(X: Any, rows: NDArray[np.intp]) -> Any:
    if not isinstance(X, Table):
        return _safe_indexing(X, rows)
    names = None if X.row_names is None else X.row_names[rows]
    return Table(take_rows(X.cells, rows), X.columns, names)


def _labels(labels: Table, rows: NDArray[np.intp], tasks: NDArray[np.bool_]) -> Table:
    columns = labels.columns
    names = None if columns is None else tuple(np.array(columns, dtype=object)[tasks])
    own = None if labels.row_names is None else labels.row_names[rows]
    return Table(labels.cells[rows][:, tasks], names, own)


def _fold_counts(folds: Any) -> tuple[int, int]:
    pair = folds if isinstance(folds, tuple | list) else (folds, folds)
    if len(pair) != 2:
        raise InputError(
            f"`folds` must be one number, or two: of people and of tasks; got {folds!r}."
        )
    people, tasks = (whole_number("folds", count, least=2) for count in pair)
    return people, tasks


def possible_folds(people: int, tasks: int) -> tuple[int, int]:
    """Return the default numbers of folds, or fewer where there are too few people or tasks.

    Examples
    --------
    >>> possible_folds(people=200, tasks=8)
    (3, 4)
    """
    found = [
        min(count, max(2, there // 2)) for there, count in zip((people, tasks), FOLDS, strict=True)
    ]
    for there, count, what in zip((people, tasks), found, UNITS, strict=True):
        _check_fold(there, count, what)
    return found[0], found[1]


def _check_fold(there: int, count: int, what: str) -> None:
    if there < 2 * count:
        raise InputError(
            f"{count} folds of {what} need at least {2 * count} {what}; there are {there}."
            + (" Ask for fewer folds." if count > 2 else "")
        )


def _cut(
    rng: np.random.Generator, units: NDArray[np.intp], count: int, what: str
) -> NDArray[np.intp]:
    """Return the fold of each person or task; those of one unit stay together."""
    distinct = int(units.max(initial=-1)) + 1
    _check_fold(distinct, count, what)
    fold = rng.permutation(distinct) % count
    return np.asarray(fold[units])
