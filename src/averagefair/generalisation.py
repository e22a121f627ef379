"""What carries over: the trade-off curve on people and tasks held out, and how sure that is.

The paper's figures of generalisation, with two things they lack: intervals, and, on new tasks, how
much of what is seen over few tasks is noise. On the tasks learned from there is no such figure, for
training people or new ones: what is shown is what was observed (see auditing/learned.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from averagefair.auditing import Audit, audit
from averagefair.auditing.frozen import Frozen
from averagefair.checks import number_between
from averagefair.errors import InputError
from averagefair.frontier import Frontier, FrontierPoint
from averagefair.held_out import check_parts
from averagefair.mixture import Mixture
from averagefair.rates import resolve_rates
from averagefair.sample import FloatArray, Sample
from averagefair.windows import narrowest

CORNERS = {
    "training": "training",
    "people": "new people",
    "tasks": "new tasks",
    "both": "new people and tasks",
}
"""What each corner is called."""
BETA = 0.05
"""The share of people left out where nearness to a common rate is told."""


@dataclass(frozen=True, eq=False, repr=False)
class Corner(Frozen):
    """The curve on one kind of people and tasks; every array has one entry for each alpha.

    People and tasks held out weigh alike; those learned from as they did there, and people of
    weight 0 are absent. Of several rates, the one that is spread out most.

    Attributes
    ----------
    n, m : int
        People and tasks.
    alpha : array, shape (k,)
        As requested.
    error, error_low, error_high : array, shape (k,)
        Mean individual error, with its interval over people and tasks; on learned tasks over new
        people alone; no interval (NaN) in training.
    spread : array, shape (k,)
        Largest minus smallest individual rate.
    spread_floor : array, shape (k,)
        What ``spread`` would be by noise alone, if all true rates were equal; NaN on learned tasks.
    noise_share : array, shape (k,)
        How much of the variance of the individual rates is noise of few tasks; NaN on learned
        tasks.
    sd : array, shape (k,)
        Standard deviation of the individual rates, as observed.
    near : array, shape (k,)
        How far from a common rate all but 5% of the people are, as observed.
    floor : array, shape (k,)
        What ``near`` would be by noise alone, if all true rates were equal; NaN on learned tasks.
    denoised : array, shape (k,)
        ``near`` with the noise taken off, a point estimate; NaN on learned tasks.
    sigma, sigma_low, sigma_high : array, shape (k,)
        By how much true rates differ (standard deviation), with its interval; NaN on learned
        tasks.
    learned_tasks : bool
        Whether the tasks are those learned from: then everything is as observed on these tasks.
    confidence : float
    """

    n: int
    m: int
    alpha: FloatArray
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
    learned_tasks: bool = False
    confidence: float = 0.95


@dataclass(frozen=True)
class Generalisation:
    """The trade-off curve in and out of sample.

    Attributes
    ----------
    training : Corner
        The people and tasks learned from.
    people, tasks, both : Corner or None
        New people on the training tasks, training people on new tasks, new people on new tasks;
        None where no labels were given.
    """

    training: Corner
    people: Corner | None = None
    tasks: Corner | None = None
    both: Corner | None = None

    @property
    def corners(self) -> dict[str, Corner]:
        """Those there are, by name."""
        return {name: one for name, one in vars(self).items() if one is not None}


def generalisation(
    curve: Frontier,
    *,
    X_new: Any = None,
    Y_new_people: Any = None,
    Y_new_tasks: Any = None,
    Y_new_both: Any = None,
    confidence: float = 0.95,
) -> Generalisation:
    """Measure a curve on people and tasks held out, with intervals.

    Parameters
    ----------
    curve : Frontier
    X_new, Y_new_people, Y_new_tasks, Y_new_both
        As for :func:`averagefair.held_out`.
    confidence : float, default 0.95

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
    parts: dict[str, list[dict[str, Any]]] = {}
    for point in curve:
        model = point.model
        later = None if Y_new_tasks is None else model.extend(Y_new_tasks)
        wanted = {
            "people": (X_new, Y_new_people, model.classifiers_),
            "tasks": (None, Y_new_tasks, later),
            "both": (X_new, Y_new_both, later),
        }
        for name, (X, Y, classifiers) in wanted.items():
            if Y is not None and classifiers is not None:
                row = _row(point, X, Y, classifiers, confidence, learned=name == "people")
                parts.setdefault(name, []).append(row)
    corners = {
        name: _corner(rows, confidence, learned=name == "people") for name, rows in parts.items()
    }
    training = _corner([_training(point) for point in curve], confidence, learned=True)
    return Generalisation(training, **corners)


def same_curve(curve: Frontier, measured: Generalisation | None) -> Generalisation:
    """Return what was measured of a curve, or its training corner alone; refuse another curve's."""
    if measured is None:
        return generalisation(curve)
    if not isinstance(measured, Generalisation) or not np.array_equal(
        measured.training.alpha, curve.alphas
    ):
        raise InputError(
            "`measured` must be what generalisation(curve, ...) makes of this very curve, with its "
            f"alphas {', '.join(map(str, curve.alphas))}; got {_of_what(measured)}."
        )
    return measured


def _of_what(measured: Any) -> str:
    if isinstance(measured, Generalisation):
        return f"one with {', '.join(map(str, measured.training.alpha.tolist()))}"
    return type(measured).__name__


def _corner(rows: list[dict[str, Any]], confidence: float, *, learned: bool) -> Corner:
    n, m = rows[0].pop("n"), rows[0].pop("m")
    columns = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in rows[0]}
    return Corner(n=n, m=m, learned_tasks=learned, confidence=confidence, **columns)


def _training(point: FrontierPoint) -> dict[str, Any]:
    model = point.model
    people = model.training_individuals().individual_weights
    present = people > 0
    rates = model.individual_rates_[present].reshape(int(present.sum()), -1).T
    widest = max(
        ((near(column, people[present]), _deviation(column, people[present])) for column in rates),
        default=(np.nan, np.nan),
    )
    known_of_test = (
        *("error_low", "error_high", "spread_floor", "noise_share"),
        *("floor", "denoised", "sigma", "sigma_low", "sigma_high"),
    )
    unknown = dict.fromkeys(known_of_test, np.nan)
    figures = {
        "alpha": point.alpha,
        "error": point.error,
        "spread": point.spread,
        "near": widest[0],
        "sd": widest[1],
    }
    m = len(model.task_names_) - len(model.holdout_task_names_)
    return {"n": int(present.sum()), "m": m, **figures, **unknown}


def near(rates: FloatArray, people: FloatArray | None = None) -> float:
    """Return half the width of the narrowest window that holds all but a share BETA of people.

    Parameters
    ----------
    rates : array, shape (n,)
        NaN where undefined.
    people : array, shape (n,), optional
        How many people each stands for. Default: one.
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


def _row(
    point: FrontierPoint,
    X: Any,
    Y: Any,
    classifiers: Mixture,
    confidence: float,
    *,
    learned: bool,
) -> dict[str, Any]:
    # Training people's features have been read, and mapped, already.
    trained = X is None
    X = point.model.training_individuals().features if trained else X
    sample = Sample(X, Y)
    sample.check_tasks(classifiers.task_names, classifiers.named_tasks, "labels of new people")
    decide = classifiers.chances if trained else classifiers.decision_probability
    chances = decide(sample.features if trained else X)
    signs = sample.space.to_host(sample.signs)
    labels = np.where(signs == 0, np.nan, signs < 0)

    def judged(rate: Any) -> Audit:
        return audit(labels, chances, rate=rate, confidence=confidence, learned_tasks=learned)

    found = [judged(rate) for rate in resolve_rates(point.model.rate)]
    overall = next((one for one in found if one.rate == "error"), None) or judged("error")
    widest = max(found, key=lambda one: np.nan_to_num(one.curve.at(BETA)["alpha"], nan=-1.0))
    at, apart = widest.curve.at(BETA), widest.spread
    return {
        "n": sample.n,
        "m": sample.m,
        "alpha": point.alpha,
        "error": overall.mean.value,
        "error_low": overall.mean.low,
        "error_high": overall.mean.high,
        "spread": widest.range.width,
        "spread_floor": 2 * widest.curve.at(0.0)["floor"],
        "noise_share": 1.0 - apart.reliability,
        "sd": apart.sd,
        "near": at["alpha"],
        "floor": at["floor"],
        "denoised": at["denoised"],
        "sigma": apart.sigma,
        "sigma_low": np.sqrt(apart.sigma2.low),
        "sigma_high": np.sqrt(apart.sigma2.high),
    }
