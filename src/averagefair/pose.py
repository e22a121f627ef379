"""Pose a problem: make a Problem, with its Learner, from a user's tables and settings.

:class:`~averagefair.AverageFairClassifier` and :func:`~averagefair.frontier` both start here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from averagefair._util.arrays import FloatArray
from averagefair.choosing import fix_decisions
from averagefair.errors import InputError, some_of
from averagefair.game.problem import Fix, Problem, WrapOracle
from averagefair.game.promises import Cap, Equal, Promise, WorstOff
from averagefair.game.protocols import Rate, Solver
from averagefair.game.rates import Rates
from averagefair.oracles import resolve_oracle
from averagefair.people.dask import is_dask
from averagefair.people.encoder import resolve_encoder
from averagefair.people.frames import Table, check_name_types, read_numbers, read_table
from averagefair.people.sample import Sample
from averagefair.solvers import ColumnGeneration

DEFAULT_ALPHA = 0.05
DECISIONS = ("fixed", "drawn")


def pose(
    X: Any,
    Y: Any,
    promises: Sequence[Promise],
    *,
    rate: str | Rate | Sequence[str | Rate],
    oracle: Any,
    solver: Solver,
    random_state: Any,
    callback: Any = None,
    sample_weight: ArrayLike | None = None,
    task_weight: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    against: Any = None,
    dtype: str | None = None,
    checkpoint: Any = None,
    encode: Any = False,
) -> tuple[Problem, dict[str, Any]]:
    """Read and check all input, without solving anything.

    Parameters
    ----------
    X, Y, sample_weight, task_weight, ids, against
        As for ``AverageFairClassifier.fit``.
    promises : sequence of Promise
        The promises to keep. A checkpoint records them.
    rate, oracle, random_state, callback, dtype, checkpoint, encode
        As for ``AverageFairClassifier``.
    solver : Solver
        From :func:`resolve_solver`.

    Returns
    -------
    problem : Problem
    columns : dict
        scikit-learn's ``n_features_in_`` and, for named columns, ``feature_names_in_``.
    """
    if callback is not None and not callable(callback):
        raise InputError(f"`callback` must be callable; got {callback!r}.")
    rates = Rates.of(rate)
    transformer, resolved = resolve_oracle(oracle, solver.default_oracle)
    encoder = resolve_encoder(encode)
    if encoder is not None:
        encoder = clone(encoder).fit(X, sample_weight=sample_weight)
    table = read_people(X) if encoder is None else encoder.table(X)
    # scikit-learn refuses some column names: let it do so before anything is solved.
    columns = vars(check_columns_of(BaseEstimator(), X, reset=True))
    sample = Sample(
        table,
        Y,
        individual_weights=sample_weight,
        task_weights=task_weight,
        individual_names=ids,  # type: ignore[arg-type]
        dtype="float64" if dtype is None else dtype,
    ).encoded_by(encoder)
    problem = Problem(
        sample,
        rates,
        resolved,
        against=None
        if against is None
        else read_against(against, sample, named=ids is not None or sample.named_people),
        seed=int(check_random_state(random_state).randint(2**31 - 1)),
        transformer=transformer,
        wrap_oracle=_recorder(
            checkpoint,
            {
                "promises": list(promises),
                "rate": list(rates),
                "map": transformer,
                "solver": solver,
                "random_state": random_state,
                "dtype": dtype,
            },
        ),
    )
    return problem, columns


def read_against(against: Any, sample: Sample, *, named: bool) -> FloatArray:
    """Read the rates that people have today, in the sample's order.

    Parameters
    ----------
    against : array-like, pandas Series or DataFrame, shape (n,) or (n, rates)
        If both have names, the people must be the same; they may be in another order.
    sample : Sample
    named : bool
        Whether the sample's people have names, as an index or as ``ids``.
    """
    index = getattr(against, "index", None)
    rates = read_numbers(against, "`against`")
    if index is None or not hasattr(index, "__array__") or not named:
        return rates
    rows = {name: row for row, name in enumerate(np.asarray(index).tolist())}
    names = sample.individual_names.tolist()
    missing = [name for name in names if name not in rows]
    if missing or len(rows) != len(names):
        other = missing or [name for name in rows if name not in set(names)]
        raise InputError(
            "`against` must hold the rates of the training people; it is about other people: "
            f"{some_of(other)}. Use the same ids, e.g. against.loc[X.index]."
        )
    return rates[[rows[name] for name in names]]


def read_people(X: Any) -> Any:
    """Read a table of features once; the result can be used in place of X.

    Parameters
    ----------
    X : array-like or DataFrame
        A Dask collection stays on its cluster.
    """
    if isinstance(X, Table) or is_dask(X):
        return X
    return read_table(X, "X", in_place=True)


def check_columns_of(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Let scikit-learn record (``reset``) or compare the number and names of X's columns.

    Parameters
    ----------
    estimator : scikit-learn estimator
        Holds the record, and is returned.
    X : array-like or DataFrame
        As the user gave it.
    reset : bool
        True records the columns, as in ``fit``. False compares them, as in ``predict``.
    """
    if isinstance(X, Table):  # unknown to scikit-learn; the classifiers compare its columns
        if reset:
            estimator.n_features_in_ = X.cells.shape[1]
            if X.columns is not None:
                estimator.feature_names_in_ = np.array(X.columns, dtype=object)
        return estimator
    check_name_types(X)
    shown = X._meta if is_dask(X) and hasattr(X, "columns") else X
    validate_data(estimator, shown, reset=reset, skip_check_array=True)
    return estimator


def resolve_solver(solver: Any) -> Solver:
    """Return the solver, or the default one for None.

    Parameters
    ----------
    solver : Solver or None
    """
    if solver is None:
        return ColumnGeneration()
    if isinstance(solver, type) or not isinstance(solver, Solver):
        raise InputError(
            "`solver` must be a Solver, such as ColumnGeneration(); got "
            f"{solver!r}. Your own solver must subclass averagefair.game.protocols.Solver."
        )
    return solver


def resolve_promise(given: Any, default_alpha: float | None = None) -> Promise:
    """Return the promise that an estimator's parameters, or another object's, ask for.

    Parameters
    ----------
    given : object
        With the attributes alpha, beta, max_influence, max_rate, worst_off, price, no_harm and
        promise, as :class:`AverageFairClassifier` has them.
    default_alpha : float, optional
        The solver's own alpha, used if nothing is asked for.
    """
    names = ("alpha", "max_influence", "max_rate", "worst_off", "price", "no_harm")
    asked = {name: getattr(given, name) for name in names}
    asked = {name: value for name, value in asked.items() if value is not None}
    if given.beta != 0:
        asked["beta"] = given.beta
    if given.promise is not None:
        if not isinstance(given.promise, Promise):
            raise InputError(
                "`promise` must be a promise object, such as WorstOff(0.1) or Equal(0.05); got "
                f"{given.promise!r}."
            )
        if asked:
            raise InputError(
                f"give either `promise` (here {given.promise!r}) or {', '.join(asked)}, not both: "
                "put everything into the promise object."
            )
        return given.promise
    if "worst_off" in asked:
        asked["share"] = asked.pop("worst_off")
        kind: type[Promise] = WorstOff
    elif "max_rate" in asked:
        kind = Cap
    else:
        kind = Equal
        asked.setdefault("alpha", DEFAULT_ALPHA if default_alpha is None else default_alpha)
    takes = {field.name for field in fields(kind)}
    extra = [name for name in asked if name not in takes]
    if extra:
        raise InputError(
            f"{', '.join(extra)} cannot go with the promise {kind.__name__}, which takes "
            f"{', '.join(sorted(takes))}. Promise one thing at a time: alpha (equal rates), "
            "max_rate (a cap), or worst_off with price or max_rate."
        )
    return kind(**asked)


def resolve_decisions(decisions: Any, solver: Solver) -> Fix | None:
    """Return what chooses fixed decisions; None if decisions are drawn.

    Parameters
    ----------
    decisions : {"fixed", "drawn"}, or None
        None: the solver's default.
    solver : Solver
    """
    if decisions is None:
        decisions = solver.default_decisions
    if not isinstance(decisions, str) or decisions not in DECISIONS:
        raise InputError(
            f'`decisions` must be "fixed" or "drawn"; got {decisions!r}. "fixed" chooses one '
            'classifier for each task; "drawn" draws each decision by its chance.'
        )
    return fix_decisions if decisions == "fixed" else None


def short_form(promise: Promise) -> dict[str, Any]:
    """Return the estimator's parameters for a promise: alpha and its like where they say it all.

    Parameters
    ----------
    promise : Promise
    """
    if isinstance(promise, Equal):
        return {field.name: getattr(promise, field.name) for field in fields(promise)}
    return {"promise": promise}


def _recorder(checkpoint: Any, run: dict[str, Any]) -> WrapOracle | None:
    """Return a function that wraps the oracle in a recorder; None without a checkpoint."""
    if checkpoint is None:
        return None
    if isinstance(checkpoint, type) or not hasattr(checkpoint, "wrap_oracle"):
        raise InputError(
            f"`checkpoint` must be a Checkpoint, such as Checkpoint('folder'); got {checkpoint!r}."
        )
    seed = run["random_state"]
    if not isinstance(seed, int | np.integer):
        raise InputError(
            "a checkpoint needs `random_state` to be an int, so that the same run can be played "
            f"again; got {seed!r}. Set e.g. random_state=0."
        )
    wrap: WrapOracle = checkpoint.wrap_oracle(run | {"random_state": int(seed)})
    return wrap
