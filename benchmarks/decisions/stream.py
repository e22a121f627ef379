"""Tasks that arrive one by one: how far running rates come apart, with and without the balance.

A running rate is a person's share of wrong decisions over all tasks so far: 50 learned ones, then
later ones. Its deviation is half the spread of all running rates: the least alpha that they keep.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.common import markdown
from benchmarks.decisions.data import Data, available, load
from benchmarks.decisions.fits import LEAST_SQUARES, fit
from benchmarks.decisions.records import Job, Records, Result
from benchmarks.promises.compare import estimate

WITH, WITHOUT, DRAWN = "fixed, with balance", "fixed, balance=False", "drawn"
WAYS = (WITH, WITHOUT, DRAWN)
BATCHES = (1, 10)
POPULATIONS = ("synthetic", "communities")
SMALL = "synthetic, small"
ALPHA, SEEDS, LEARNED, LATER, PEOPLE = 0.05, 5, 50, 200, 300
DECIMALS = 5


def data_of(population: str, seed: int) -> Data:
    """Return the description of one population."""
    if population == SMALL:
        sizes = {"n": 60, "m": 20, "d": 10, "n_holdout": 30, "m_holdout": 20}
        return {"synthetic": sizes | {"random_state": seed}}
    if population == "synthetic":
        sizes = {"n": PEOPLE, "m": LEARNED, "d": 20, "n_holdout": 1_000, "m_holdout": LATER}
        return {"synthetic": sizes | {"random_state": seed}}
    return {"columns": PEOPLE, "seed": seed, "later": LATER}


def jobs(small: bool = False, oracle: str = LEAST_SQUARES) -> list[Job]:
    """Return the jobs of this part."""
    populations, seeds = ((SMALL,), 2) if small else (POPULATIONS, SEEDS)
    found = [
        {"part": "stream", "population": name, "seed": seed, "oracle": oracle, "alpha": ALPHA}
        for seed in range(seeds)
        for name in populations
    ]
    return [own for own in found if available(data_of(own["population"], own["seed"]))]


def work(job: Job) -> Result:
    """Fit the learned tasks, then extend batch by batch; return the deviations on the way."""
    data = load(data_of(job["population"], job["seed"]))
    model = fit(data, job["oracle"], job["alpha"]).model
    start, found = model.balance_, {}
    for batch in BATCHES:
        model.balance_ = start
        runs = {way: _Running(data, model.mixture_ if way == DRAWN else model) for way in WAYS}
        for first in range(0, data.Y_new_tasks.shape[1], batch):
            columns = slice(first, first + batch)
            labels = data.Y_new_tasks[:, columns]
            names = [f"later {first + number}" for number in range(labels.shape[1])]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                later = {
                    WITH: model.extend(labels, task_names=names, balance=True),
                    WITHOUT: model.extend(labels, task_names=names, balance=False),
                    DRAWN: model.mapping_.extend(labels, task_names=names),
                }
            for way, classifiers in later.items():
                runs[way].add(classifiers, columns)
        np.testing.assert_allclose(model.balance_.rates[0], runs[WITH].rates(), atol=1e-9)
        found[str(batch)] = {way: run.history for way, run in runs.items()}
    return found


class _Running:
    """Everybody's wrong decisions so far, and what they came to after each batch.

    Parameters
    ----------
    data : Split
    learned : AverageFairClassifier or Mixture
        Decides the learned tasks.
    """

    def __init__(self, data: Any, learned: Any) -> None:
        self.data = data
        self.wrong = (learned.predict(data.X) != data.Y).sum(axis=1)
        self.wrong_new = (learned.predict(data.X_new) != data.Y_new_people).sum(axis=1)
        self.tasks = data.Y.shape[1]
        self.history: dict[str, list[float]] = {
            "tasks": [],
            "error": [],
            "deviation": [],
            "sd": [],
            "sd_new": [],
            "error_new": [],
        }
        self._note()

    def add(self, classifiers: Any, columns: slice) -> None:
        """Count the decisions on a batch of later tasks."""
        right, right_new = self.data.Y_new_tasks[:, columns], self.data.Y_new_both[:, columns]
        self.wrong = self.wrong + (classifiers.predict(self.data.X) != right).sum(axis=1)
        self.wrong_new = self.wrong_new + (classifiers.predict(self.data.X_new) != right_new).sum(
            axis=1
        )
        self.tasks += right.shape[1]
        self._note()

    def rates(self) -> Any:
        """Return the training people's running rates, shape (n,)."""
        return self.wrong / self.tasks

    def _note(self) -> None:
        rates, new = self.rates(), self.wrong_new / self.tasks
        now = {
            "tasks": self.tasks,
            "error": rates.mean(),
            "deviation": np.ptp(rates) / 2.0,
            "sd": rates.std(ddof=1),
            "sd_new": new.std(ddof=1),
            "error_new": new.mean(),
        }
        for name, value in now.items():
            self.history[name].append(round(float(value), DECIMALS))


AFTER = (0, 50, 100, 200)


def report(records: Records, small: bool = False) -> list[str]:
    """Return a table of the deviations on the way, in Markdown."""
    rows = []
    for population, results in by_population(records, small).items():
        for batch in map(str, BATCHES):
            for way in WAYS:
                runs = [result[batch][way] for result in results]
                later = np.array(runs[0]["tasks"]) - runs[0]["tasks"][0]
                at = [int(np.searchsorted(later, min(number, later[-1]))) for number in AFTER]
                deviations = 100 * np.array([run["deviation"] for run in runs])
                largest = deviations.max(axis=1)
                ends = {
                    name: 100 * np.array([run[name][-1] for run in runs])
                    for name in ("error", "sd", "error_new", "sd_new")
                }
                rows.append(
                    [
                        f"{population}, {batch} at once, {way}",
                        *(f"{deviations[:, place].mean():.2f}" for place in at),
                        _with_margin(largest),
                        *(f"{values.mean():.2f}" for values in ends.values()),
                    ]
                )
    head = [
        "",
        *(f"after {number}" for number in AFTER),
        "largest on the way",
        "error at the end",
        "sd of running rates",
        "new people: error at the end",
        "sd of running rates",
    ]
    return [
        f"Half the spread of the training people's running rates, in points, after {LEARNED} "
        f"learned tasks and as many later ones as the column says; `alpha` is "
        f"{100 * ALPHA:g} points. Means over {SEEDS} populations of {PEOPLE} training people, "
        "least squares; 95% intervals over populations.",
        markdown(head, rows),
    ]


def by_population(records: Records, small: bool = False) -> dict[str, list[Result]]:
    """Return the results that are done, for each population."""
    found: dict[str, list[Result]] = {}
    for own in sorted(jobs(small), key=lambda own: own["population"], reverse=True):
        if result := records.result(own):
            found.setdefault(own["population"], []).append(result)
    return found


def _with_margin(values: Any) -> str:
    own = estimate(values)
    return f"{own.mean:.2f}" + ("" if np.isnan(own.margin) else f" ± {own.margin:.2f}")
