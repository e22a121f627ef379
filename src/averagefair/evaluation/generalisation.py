"""Generalisation: the trade-off curve on held-out people and tasks, with intervals.

These are the paper's figures of generalisation, with two additions: intervals, and the share of the
variation on new tasks that is noise from few tasks. On the training tasks the noise cannot be
estimated, so the figures are as observed. This holds for training people and for new people (see
auditing/learned.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair._util.checks import number_between
from averagefair._util.frozen import Frozen
from averagefair._util.text import counted
from averagefair.auditing import Audit, audit
from averagefair.errors import InputError, LevellingDownWarning, warn
from averagefair.evaluation.cross_fitting import (
    FOLDS,
    Learned,
    as_it_is,
    cross_chances,
    mapping_of,
    read_in_memory,
)
from averagefair.evaluation.held_out import Corner, check_parts, corners
from averagefair.frontier import Frontier, FrontierPoint, frontier
from averagefair.game.measure import Measurement
from averagefair.game.rates import Rates
from averagefair.game.solution import Round
from averagefair.game.who_pays import WhoPays, who_pays
from averagefair.game.windows import narrowest

CORNERS = {
    "training": "training",
    "people": "new people",
    "tasks": "new tasks",
    "both": "new people and tasks",
}
"""The name of each corner in tables and plots.

A corner combines training or new people with training or new tasks."""
BETA = 0.05
"""The share of people left out of ``near``, the distance to a common rate."""


@dataclass(frozen=True, eq=False, repr=False)
class CornerCurve(Frozen):
    """The curve on one corner (kind of people and tasks); arrays have one entry for each point.

    Held-out people and tasks have equal weights. Training people and tasks have their training
    weights; people of weight 0 are left out. With several rates, the figures are for the rate that
    differs most between people.

    Attributes
    ----------
    n, m : int
        The numbers of people and tasks.
    value : array, shape (k,)
        As requested.
    error, error_low, error_high : array, shape (k,)
        Mean individual error, with its interval over people and tasks. For new people on training
        tasks, the interval is over people only. The training corner has no interval (NaN).
    spread : array, shape (k,)
        Largest minus smallest individual rate.
    spread_floor : array, shape (k,)
        The ``spread`` that noise alone would give if all true rates were equal; NaN on training
        tasks.
    noise_share : array, shape (k,)
        Share of the individual rates' variance that is noise from few tasks; NaN on training tasks.
    sd : array, shape (k,)
        Standard deviation of the individual rates, as observed.
    near : array, shape (k,)
        Distance from a common rate within which all but 5% of the people lie, as observed.
    floor : array, shape (k,)
        The ``near`` that noise alone would give if all true rates were equal; NaN on training
        tasks.
    denoised : array, shape (k,)
        A point estimate of ``near`` without the noise; NaN on training tasks.
    who_pays : tuple of WhoPays, length k
        Who is better and worse off than with nothing asked; None where unknown. (For training
        people: than the rates given to ``against``, if any.) With several rates, the rate whose
        worst-off fare worst.
    sigma, sigma_low, sigma_high : array, shape (k,)
        Standard deviation of the true rates, with its interval; NaN on training tasks.
    learned_tasks : bool
        Whether the tasks are the training tasks. If so, all figures are as observed.
    cross_fitted : bool
        Whether these are the training people and tasks, each left out in turn.
    confidence : float
    """

    n: int
    m: int
    value: FloatArray
    error: FloatArray
    error_low: FloatArray
    error_high: FloatArray
    spread: FloatArray
    spread_floor: FloatArray
    noise_share: FloatArray
    sd: FloatArray
    near: FloatArray
    floor: FloatArray
    denoised: FloatArray
    sigma: FloatArray
    sigma_low: FloatArray
    sigma_high: FloatArray
    who_pays: tuple[WhoPays | None, ...] = ()
    learned_tasks: bool = False
    cross_fitted: bool = False
    confidence: float = 0.95

    @property
    def size(self) -> str:
        """The numbers of people and tasks, in words."""
        text = f"{counted(self.n, 'person', 'people')}, {counted(self.m, 'task')}"
        return f"{text}, each left out in turn" if self.cross_fitted else text


@dataclass(frozen=True)
class Generalisation:
    """The trade-off curve on training data and on held-out data.

    Attributes
    ----------
    training : CornerCurve
        The training people and tasks.
    people, tasks, both : CornerCurve or None
        New people on the training tasks, training people on new tasks, new people on new tasks;
        None without labels.
    parameter : str
        What the curve varies: "alpha", "max_rate" or "price".
    """

    training: CornerCurve
    people: CornerCurve | None = None
    tasks: CornerCurve | None = None
    both: CornerCurve | None = None
    parameter: str = "alpha"

    @property
    def corners(self) -> dict[str, CornerCurve]:
        """The corners that have labels, by name."""
        known = {name: getattr(self, name) for name in CORNERS}
        return {name: curve for name, curve in known.items() if curve is not None}

    def plot(self) -> Any:
        """Draw error and distance on training data and on held-out data (matplotlib).

        The figure belongs to pyplot: a notebook shows it, and ``pyplot.close()`` frees it. The
        figure of :meth:`averagefair.Frontier.plot` has the unconstrained error and coin flips too.

        Returns
        -------
        Panels
            ``savefig(file)`` writes the figure; ``figure`` and ``axes`` are matplotlib's.
        """
        from averagefair.showing.plots import FrontierDisplay

        return FrontierDisplay.from_measured(self).figure()

    def _repr_html_(self) -> str:
        from averagefair.showing.notebook import generalisation_html

        return generalisation_html(self)


def generalisation(
    curve: Frontier,
    *,
    X_new: Any = None,
    Y_new_people: Any = None,
    Y_new_tasks: Any = None,
    Y_new_both: Any = None,
    cross: tuple[Any, Any] | None = None,
    folds: int | tuple[int, int] = FOLDS,
    n_jobs: int | None = None,
    confidence: float = 0.95,
    callback: Callable[[int, Round], object] | None = None,
) -> Generalisation:
    """Measure a curve on held-out people and tasks, with intervals.

    Without held-out data, ``cross`` gives the corner of new people and tasks: for each pair of
    folds, a curve is learned without these people and tasks, and decides there.

    Parameters
    ----------
    curve : Frontier
    X_new, Y_new_people, Y_new_tasks, Y_new_both
        As for :func:`averagefair.held_out`.
    cross : pair of tables, optional
        The features and labels that the curve was learned from, in place of ``Y_new_both``. The
        curve must have been learned without weights and without ``against``.
    folds, n_jobs
        With ``cross``: as for :func:`averagefair.cross_audit`.
    confidence : float, default 0.95
    callback : callable, optional
        With ``cross``: called after every round with the number of the curve that is being learned,
        from 1, and with the round. Not called if several processes learn (``n_jobs``).

    Examples
    --------
    >>> from averagefair import frontier
    >>> from averagefair.datasets import make_synthetic
    >>> people = make_synthetic(n=60, m=20, n_holdout=60)
    >>> curve = frontier(people.X, people.Y, [0.05, 0.1], random_state=0)
    >>> test = generalisation(curve, X_new=people.X_new, Y_new_people=people.Y_new_people)
    >>> bool((test.people.error_low < test.people.error).all())
    True
    """
    check_parts(X_new, Y_new_people, Y_new_tasks, Y_new_both)
    number_between("confidence", confidence)
    if cross is not None:
        _check_cross(curve, Y_new_both)
    new = {
        "X_new": X_new,
        "Y_new_people": Y_new_people,
        "Y_new_tasks": Y_new_tasks,
        "Y_new_both": Y_new_both,
    }
    rows: dict[str, list[dict[str, Any]]] = {}
    before: dict[str, Measurement | None] = {}
    for point in curve:
        for corner in corners(point.model, **new):
            row = _row(point, corner, confidence)
            if corner.name not in before:  # all points have the same unconstrained classifiers
                before[corner.name] = corner.measure_unconstrained(Rates.of(point.model.rate))
            row["who_pays"] = _who_pays(before[corner.name], row.pop("rates"), corner)
            rows.setdefault(corner.name, []).append(row)
    if cross is not None:
        alone = callback if n_jobs in (None, 1) else None
        rows["both"] = _cross_fitted(curve, *cross, folds, n_jobs, confidence, alone)
    for name, own in rows.items():
        _warn_if_worst_off_lose(curve, name, [row["who_pays"] for row in own])
    measured = {
        name: _curve(
            own,
            confidence,
            learned=name == "people",
            cross_fitted=name == "both" and cross is not None,
        )
        for name, own in rows.items()
    }
    training = _curve([_training(point) for point in curve], confidence, learned=True)
    return Generalisation(training, **measured, parameter=curve.parameter)


def _warn_if_worst_off_lose(curve: Frontier, corner: str, pays: Sequence[WhoPays | None]) -> None:
    """Warn if at some point even the worst-off tenth lose clearly on held-out data."""
    losing = [
        (point.value, own.worst_off.change)
        for point, own in zip(curve, pays, strict=True)
        if own is not None and own.hurts_worst_off
    ]
    if losing:
        value, change = max(losing, key=lambda pair: pair[1])
        warn(
            f"even the worst-off tenth lose on {CORNERS[corner]}, at {len(losing)} of "
            f"{counted(len(curve), 'point')}: their mean rate rises by up to {change:.3f}, at "
            f"{curve.parameter} {value:g}. Choose another point, or promise something to the "
            "worst-off: frontier(X, Y, promise=WorstOff(0.1)).",
            LevellingDownWarning,
        )


def same_curve(curve: Frontier, measured: Generalisation | None) -> Generalisation:
    """Return ``measured``, or the training corner if it is None; refuse that of another curve."""
    if measured is None:
        return generalisation(curve)
    if not isinstance(measured, Generalisation) or not np.array_equal(
        measured.training.value, curve.values
    ):
        raise InputError(
            "`measured` must be generalisation(curve, ...) of the same curve, with "
            f"{curve.parameter} {', '.join(map(str, curve.values))}; got {_describe(measured)}."
        )
    return measured


def _describe(measured: Any) -> str:
    if isinstance(measured, Generalisation):
        return f"one with values {', '.join(map(str, measured.training.value.tolist()))}"
    return type(measured).__name__


def _curve(
    rows: list[dict[str, Any]], confidence: float, *, learned: bool, cross_fitted: bool = False
) -> CornerCurve:
    n, m = rows[0].pop("n"), rows[0].pop("m")
    pays = tuple(row.pop("who_pays") for row in rows)
    columns = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in rows[0]}
    return CornerCurve(
        n=n,
        m=m,
        learned_tasks=learned,
        cross_fitted=cross_fitted,
        confidence=confidence,
        who_pays=pays,
        **columns,
    )


def _who_pays(before: Measurement | None, rates: FloatArray, corner: Corner) -> WhoPays | None:
    """Compare with nothing asked; of several rates, the one whose worst-off fare worst."""
    if before is None:
        return None
    pays = who_pays(before.rates, rates, corner.sample.individual_weights)
    return _worst(pays if isinstance(pays, tuple) else (pays,))


def _worst(pays: Sequence[WhoPays]) -> WhoPays | None:
    return max(pays, key=lambda own: np.nan_to_num(own.worst_off.change, nan=-1.0), default=None)


def _training(point: FrontierPoint) -> dict[str, Any]:
    model = point.model
    people = model.training_individuals().individual_weights
    present = people > 0
    rates = model.individual_rates_[present].reshape(int(present.sum()), -1).T
    widest = max(
        ((near(column, people[present]), _deviation(column, people[present])) for column in rates),
        default=(np.nan, np.nan),
    )
    held_out_only = (
        *("error_low", "error_high", "spread_floor", "noise_share"),
        *("floor", "denoised", "sigma", "sigma_low", "sigma_high"),
    )
    unknown = dict.fromkeys(held_out_only, np.nan)
    figures = {
        "value": point.value,
        "error": point.error,
        "spread": point.spread,
        "near": widest[0],
        "sd": widest[1],
    }
    m = len(model.task_names_) - len(model.holdout_task_names_)
    pays = _worst(point.certificate.each_who_pays)
    return {"n": int(present.sum()), "m": m, "who_pays": pays, **figures, **unknown}


def near(rates: FloatArray, people: FloatArray | None = None) -> float:
    """Return half the width of the narrowest window with all but a share BETA of the people.

    Parameters
    ----------
    rates : array, shape (n,)
        NaN where undefined.
    people : array, shape (n,), optional
        How many people each individual stands for. Default: 1.
    """
    people = np.ones(rates.size) if people is None else people
    rated = ~np.isnan(rates)
    order = np.argsort(rates[rated])
    below = np.append(0.0, np.cumsum(people[rated][order]))
    return narrowest(rates[rated][order], BETA, below).width / 2


def _deviation(rates: FloatArray, people: FloatArray) -> float:
    """Return the standard deviation of rates over people."""
    rated = ~np.isnan(rates)
    weights, rates = people[rated], rates[rated]
    if weights.sum() <= 1:
        return np.nan
    off = rates - np.average(rates, weights=weights)
    return float(np.sqrt(weights @ off**2 / (weights.sum() - 1)))


def _row(point: FrontierPoint, corner: Corner, confidence: float) -> dict[str, Any]:
    sample, rates = corner.sample, Rates.of(point.model.rate)
    signs = sample.space.to_host(sample.signs)
    labels = np.where(signs == 0, np.nan, signs < 0)
    figures, _ = _figures(labels, corner.chances(), rates, confidence, learned=corner.learned_tasks)
    return {"value": point.value, **figures, "rates": corner.measure(rates).rates}


def _check_cross(curve: Frontier, Y_new_both: Any) -> None:
    """Refuse what models of the folds would learn differently."""
    if Y_new_both is not None:
        raise InputError("give either `cross` or `Y_new_both`: both are new people and tasks.")
    model = curve[0].model
    weights = (model.training_individuals().individual_weights, model.task_weights_)
    if any(np.ptp(own[own > 0]) > 0 for own in map(np.asarray, weights)):
        raise InputError(
            "cross-fitting learns without weights, and this curve was learned with sample_weight "
            "or task_weight. Hold people and tasks out: Y_new_both."
        )
    if curve[0].certificate.against_given:
        raise InputError(
            "cross-fitting compares with nothing asked, and this curve was learned with `against`. "
            "Hold people and tasks out: Y_new_both."
        )


def _cross_fitted(
    curve: Frontier,
    X: Any,
    Y: Any,
    folds: Any,
    n_jobs: int | None,
    confidence: float,
    callback: Callable[[int, Round], object] | None,
) -> list[dict[str, Any]]:
    """Return a row for each point, for people and tasks that its models did not learn from."""
    model = curve[0].model
    names = ("rate", "oracle", "solver", "dtype", "encode")
    settings = {name: getattr(model, name) for name in names}
    seed = model.random_state if isinstance(model.random_state, int | np.integer) else 0

    numbers = count(1)

    def learn(people: Any, labels: Any) -> Learned:
        number = next(numbers)
        fold = frontier(
            people,
            labels,
            curve.values,
            promise=curve[0].promise,
            random_state=seed,
            look_first=False,
            decisions="drawn",
            callback=None if callback is None else lambda now: callback(number, now),
            **settings,
        )
        mappings = [mapping_of(point.model) for point in fold]
        return [*mappings, mappings[0].unconstrained()], as_it_is

    tables, labels, _ = cross_chances(
        learn,
        read_in_memory(X, model.encode),
        Y,
        folds,
        random_state=int(seed),
        n_jobs=n_jobs,
    )
    rates = Rates.of(model.rate)
    free = _figures(labels.cells, tables.pop(), rates, confidence, learned=False)[1]
    rows = []
    for point, chances in zip(curve, tables, strict=True):
        figures, own = _figures(labels.cells, chances, rates, confidence, learned=False)
        pays = who_pays(free, own)
        worst = _worst(pays if isinstance(pays, tuple) else (pays,))
        rows.append({"value": point.value, **figures, "who_pays": worst})
    return rows


def _figures(
    labels: Any, chances: Any, rates: Rates, confidence: float, *, learned: bool
) -> tuple[dict[str, Any], FloatArray]:
    """Audit decisions; return the figures of a row, and everybody's rates."""

    def audited(rate: Any) -> Audit:
        return audit(labels, chances, rate=rate, confidence=confidence, learned_tasks=learned)

    audits = [audited(rate) for rate in rates]
    overall = next((own for own in audits if own.rate == "error"), None) or audited("error")
    widest = max(audits, key=lambda own: np.nan_to_num(own.curve.at(BETA)["alpha"], nan=-1.0))
    at, dispersion = widest.curve.at(BETA), widest.dispersion
    everybody = np.stack([own.people.rate for own in audits], axis=1)
    figures = {
        "n": overall.n,
        "m": overall.m,
        "error": overall.mean.value,
        "error_low": overall.mean.low,
        "error_high": overall.mean.high,
        "spread": widest.range.width,
        "spread_floor": 2 * widest.curve.at(0.0)["floor"],
        "noise_share": 1.0 - dispersion.reliability,
        "sd": dispersion.sd,
        "near": at["alpha"],
        "floor": at["floor"],
        "denoised": at["denoised"],
        "sigma": dispersion.sigma,
        "sigma_low": np.sqrt(dispersion.sigma2.low),
        "sigma_high": np.sqrt(dispersion.sigma2.high),
    }
    return figures, everybody if len(audits) > 1 else everybody[:, 0]
