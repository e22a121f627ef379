"""Fit one promise at several values on one split, and measure each model on every corner.

All changes are against the plain answer of the same oracle, with nothing asked. Its classifiers of
fresh tasks are made by its own mapping, like those of every other model.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from averagefair import (
    AverageFairClassifier,
    Cap,
    Equal,
    ExponentiatedGradient,
    RegressionOracle,
    WorstOff,
    frontier,
)
from averagefair.datasets import Split
from averagefair.errors import InputError, LevellingDownWarning
from averagefair.evaluation.held_out import corners
from averagefair.game.rates import Rates
from averagefair.oracles import default_oracle
from averagefair.people.sample import Sample
from benchmarks.oracles.tables import stop_after
from benchmarks.promises.measures import Measured, change, drawn_worst_off, summary
from benchmarks.promises.tables import split

ORACLES: dict[str, Callable[[], Any]] = {
    "least squares": RegressionOracle,
    "default": default_oracle,
}
EQUAL, WORST_OFF, WIDE, CAP = "equal", "worst off", "worst off, wide", "cap"
UNCONSTRAINED = 0.5
SETTINGS: dict[str, tuple[float, ...]] = {
    EQUAL: (0.05, 0.10, 0.125, 0.15, 0.175, 0.20),
    WORST_OFF: (0.1, 0.25, 0.5, 1.0),
    WIDE: (0.1, 0.25, 0.5, 1.0),
    CAP: (0.25, 0.5),
}
"""Each promise's settings. Equal: alpha. Worst off: the price of the worst-off tenth, or (wide) of
the worst-off three tenths. Cap: how far the cap goes down from the highest unconstrained training
rate to the 90% quantile."""


class Job(NamedTuple):
    """One promise at all its settings, on one split, with one oracle."""

    table: str
    seed: int
    oracle: str
    promise: str


def run(job: Job, limit: float) -> list[dict[str, Any]]:
    """Fit a promise at all its settings; return one record for each setting.

    Parameters
    ----------
    job : Job
    limit : float
        Seconds of processor time for the path of all settings. A path that takes longer ends
        there, and its models are measured as they are.
    """
    data = split(job.table, job.seed)
    settings = {
        "oracle": ORACLES[job.oracle](),
        "random_state": job.seed,
        "decisions": "drawn",
    }
    # At alpha 0.5 no constraint binds: one round is the oracle's plain answer.
    plain = {"alpha": UNCONSTRAINED, "solver": ExponentiatedGradient(max_rounds=1)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        free = AverageFairClassifier(**plain, **settings).fit(data.X, data.Y)
    before = measure(free, data)
    values = {setting: value(job.promise, setting, free) for setting in SETTINGS[job.promise]}
    start = process_time()
    models, refusals = fit(job.promise, [*values.values()], data, limit, settings)
    seconds = process_time() - start
    records = []
    for setting, asked in values.items():
        record = {
            **job._asdict(),
            "setting": setting,
            "value": asked,
            "people": len(data.X),
            "tasks": data.Y.shape[1],
            "features": data.X.shape[1],
            "new_people": len(data.X_new),
            "fresh_tasks": data.Y_new_tasks.shape[1],
            "blank": blank_share(data),
            "path_seconds": seconds,
            "unconstrained": {name: summary(*found) for name, found in before.items()},
        }
        if asked in refusals:
            records.append({**record, "refused": refusals[asked]})
            continue
        model = models[asked]
        after = measure(model, data)
        record["stop_reason"] = model.certificate_.stop_reason.name.lower()
        record["cut_short"] = model.certificate_.stop_reason.cut_short
        record["change"] = {name: change(after[name], before[name]) for name in before}
        records.append(record)
    return records


def value(promise: str, setting: float, free: AverageFairClassifier) -> float:
    """Return the number to ask for: the setting itself, or for a cap a rate."""
    if promise != CAP:
        return setting
    highest, ninth = np.nanquantile(free.individual_rates_, [1.0, 0.9])
    return float(highest - setting * (highest - ninth))


def fit(
    promise: str, values: Sequence[float], data: Split, limit: float, settings: dict[str, Any]
) -> tuple[dict[float, AverageFairClassifier], dict[float, str]]:
    """Return the model of each value, and for impossible caps the message of the refusal."""
    values, refusals = sorted(values), {}
    while values:
        try:
            with warnings.catch_warnings():
                # The records say both.
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.simplefilter("ignore", LevellingDownWarning)
                curve = frontier(
                    data.X,
                    data.Y,
                    values,
                    **promised(promise),
                    callback=stop_after(limit),
                    **settings,
                )
        except InputError as error:
            if promise != CAP:
                raise
            refusals[values.pop(0)] = str(error)  # the lowest cap is the hardest
        else:
            return {point.value: point.model for point in curve}, refusals
    return {}, refusals


def promised(promise: str) -> dict[str, Any]:
    """Return the argument that asks for a promise."""
    promises = {EQUAL: Equal(), WORST_OFF: WorstOff(0.1), WIDE: WorstOff(0.3), CAP: Cap()}
    return {"promise": promises[promise]}


def measure(model: AverageFairClassifier, data: Split) -> dict[str, Measured]:
    """Return error and rates on the four corners."""
    rates = Rates.of(model.rate)
    training = Sample(data.X, data.Y)
    found = {"training": measured(model.classifiers_.chances(training.features), training)}
    for corner in corners(
        model,
        X_new=data.X_new,
        Y_new_people=data.Y_new_people,
        Y_new_tasks=data.Y_new_tasks,
        Y_new_both=data.Y_new_both,
    ):
        found[corner.name] = measured(corner.chances(), corner.sample)
        judge = corner.measure(rates)  # the library's own figures
        np.testing.assert_allclose(found[corner.name].rates, judge.rates, atol=1e-9)
    return found


def measured(chances: Any, sample: Sample) -> Measured:
    """Return error, rates and the worst-off by drawn decisions, from chances of deciding 1."""
    observed, ones = sample.signs != 0, sample.signs < 0
    wrong = np.abs(chances - ones)
    counts = np.where(observed.any(axis=1), observed.sum(axis=1), np.nan)
    rates = np.where(observed, wrong, 0.0).sum(axis=1) / counts
    return Measured(float(np.nanmean(rates)), rates, drawn_worst_off(wrong, observed, seed=0))


def blank_share(data: Split) -> float:
    """Return the share of blank labels, over everybody and all tasks."""
    parts = (data.Y, data.Y_new_people, data.Y_new_tasks, data.Y_new_both)
    return float(sum(np.isnan(part).sum() for part in parts) / sum(part.size for part in parts))
