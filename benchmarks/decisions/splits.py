"""Random splits: fixed decisions against drawn ones, on new people and new tasks, from one fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from averagefair import individual_rates
from averagefair.datasets import Split
from benchmarks.common import markdown
from benchmarks.decisions.data import Data, available, load
from benchmarks.decisions.fits import fit
from benchmarks.decisions.measures import compare
from benchmarks.decisions.records import Job, Records, Result
from benchmarks.promises.compare import Estimate, estimate
from benchmarks.solvers.against_release import differences_at_equal_unfairness

SPLITS = 10
POPULATIONS = ("synthetic", "communities 400", "communities 1595")
SMALL = "synthetic, small"
ALPHAS = (0.03, 0.05, 0.07, 0.10, 0.15)
"""All are fitted: drawn decisions at several alphas make a curve to compare with."""
LEARNED, PEOPLE = "training people, learned tasks", "new people, learned tasks"
TASKS, BOTH = "training people, new tasks", "new people, new tasks"
TASKS_ALONE, BOTH_ALONE = f"{TASKS}, balance=False", f"{BOTH}, balance=False"
SO_FAR, NEW_SO_FAR = "training people, all tasks so far", "new people, all tasks so far"
CORNERS = (LEARNED, PEOPLE, TASKS, BOTH, TASKS_ALONE, BOTH_ALONE, SO_FAR, NEW_SO_FAR)


def data_of(population: str, seed: int) -> Data:
    """Return the description of one split."""
    if population == SMALL:
        sizes = {"n": 100, "m": 20, "d": 10, "n_holdout": 50, "m_holdout": 10}
        return {"synthetic": sizes | {"random_state": seed}}
    if population == "synthetic":
        sizes = {"n": 2_000, "m": 100, "d": 20, "n_holdout": 1_000, "m_holdout": 100}
        return {"synthetic": sizes | {"random_state": seed}}
    return {"communities": int(population.split()[1]), "seed": seed, "tasks": "drawn"}


def jobs(populations: Sequence[str], oracles: Sequence[str], splits: int = SPLITS) -> list[Job]:
    """Return the jobs of this part, population by population."""
    found = [
        job(population, seed, oracle, alpha)
        for population in populations
        for oracle in oracles
        for seed in range(splits)
        for alpha in ALPHAS
    ]
    return [own for own in found if available(data_of(own["population"], own["seed"]))]


def job(population: str, seed: int, oracle: str, alpha: float) -> Job:
    return {
        "part": "splits",
        "population": population,
        "seed": seed,
        "oracle": oracle,
        "alpha": alpha,
    }


def work(job: Job) -> Result:
    """Fit once; return the figures of both ways to decide, on each corner."""
    data, alpha = load(data_of(job["population"], job["seed"])), job["alpha"]
    model = fit(data, job["oracle"], alpha).model
    new_names = [f"new {number}" for number in range(data.Y_new_tasks.shape[1])]
    drawn_later = model.mapping_.extend(data.Y_new_tasks, task_names=new_names)
    alone = model.extend(data.Y_new_tasks, task_names=new_names, balance=False)
    balanced = model.extend(data.Y_new_tasks, task_names=new_names, balance=True)
    found: Result = {}

    def judge(corner: str, fixed: Any, drawn: Any, X: Any, Y: Any) -> None:
        found[corner] = compare(fixed.predict(X), drawn.decision_probability(X), Y, alpha)

    judge(LEARNED, model, model.mixture_, data.X, data.Y)
    judge(PEOPLE, model, model.mixture_, data.X_new, data.Y_new_people)
    judge(TASKS, balanced, drawn_later, data.X, data.Y_new_tasks)
    judge(BOTH, balanced, drawn_later, data.X_new, data.Y_new_both)
    judge(TASKS_ALONE, alone, drawn_later, data.X, data.Y_new_tasks)
    judge(BOTH_ALONE, alone, drawn_later, data.X_new, data.Y_new_both)
    judge(SO_FAR, Both(model, balanced), Both(model.mixture_, drawn_later), *_so_far(data))
    judge(NEW_SO_FAR, Both(model, balanced), Both(model.mixture_, drawn_later), *_new_so_far(data))
    running = individual_rates(
        np.hstack([data.Y, data.Y_new_tasks]), Both(model, balanced).predict(data.X)
    )
    np.testing.assert_allclose(model.balance_.rates[0], running, atol=1e-9)
    return found


class Both:
    """The classifiers of learned tasks and of later ones, side by side.

    Parameters
    ----------
    learned, later : AverageFairClassifier or Mixture
    """

    def __init__(self, learned: Any, later: Any) -> None:
        self.learned, self.later = learned, later

    def predict(self, X: Any) -> Any:
        """Return decisions for all tasks, shape (n, m + k)."""
        return np.hstack([self.learned.predict(X), self.later.predict(X)])

    def decision_probability(self, X: Any) -> Any:
        """Return chances of deciding 1 for all tasks, shape (n, m + k)."""
        both = (self.learned, self.later)
        return np.hstack([own.decision_probability(X) for own in both])


def _so_far(data: Split) -> tuple[Any, Any]:
    return data.X, np.hstack([data.Y, data.Y_new_tasks])


def _new_so_far(data: Split) -> tuple[Any, Any]:
    return data.X_new, np.hstack([data.Y_new_people, data.Y_new_both])


def shown(population: str) -> Sequence[float]:
    """Return the alphas that the tables show."""
    return (0.05, 0.10, 0.15) if population == "communities 1595" else (0.05, 0.10)


def report(records: Records, populations: Sequence[str], oracles: Sequence[str]) -> list[str]:
    """Return a table for each population and oracle, in Markdown."""
    parts = [
        "Each cell has the figure of drawn decisions, then fixed minus drawn from the same fit, in "
        "points (hundredths), with a 95% interval over splits. Figures of drawn decisions are "
        "means over 20 draws.",
        "- *sd*: the standard deviation of people's rates by the decisions made.\n"
        "- *Worst-off tenth*: the mean of the highest tenth of the rates.\n"
        "- *Outside*: the least share of people outside a window of width 2 `alpha`.\n"
        "- *Error at equal sd*: the fixed decisions' error minus the error of drawn decisions with "
        f"the same sd, interpolated between alphas from {ALPHAS[0]:.2f} to {ALPHAS[-1]:.2f}. In "
        "brackets: the splits that have such a point.\n\n"
        "Noise from few tasks is not removed anywhere: fixed decisions are chosen for all tasks of "
        "a table together, so it could not be estimated.",
    ]
    for population in populations:
        for oracle in oracles:
            counts, rows = _rows(records, population, oracle)
            if rows:
                parts += [f"**{population}, {oracle}** ({counts} splits)", markdown(HEAD, rows)]
    return parts


COLUMNS = {
    "error": "error",
    "sd": "sd",
    "worst": "worst-off tenth",
    "spread": "spread",
    "outside": "outside",
}
HEAD = ["", "alpha", *COLUMNS.values(), "error at equal sd"]


def _rows(records: Records, population: str, oracle: str) -> tuple[int, list[list[str]]]:
    """Return the number of splits with all alphas, and the rows of a table."""
    splits = []
    for seed in range(SPLITS):
        found = {a: records.result(job(population, seed, oracle, a)) for a in ALPHAS}
        if all(found.values()):
            splits.append(found)
    if not splits:
        return 0, []
    rows = []
    for corner in CORNERS:
        for alpha in shown(population):
            own = [found[alpha][corner] for found in splits]
            cells = [
                _points(
                    [both["drawn"][name] for both in own], [both["fixed"][name] for both in own]
                )
                for name in COLUMNS
            ]
            rows.append([corner, f"{alpha:.2f}", *cells, _at_equal(splits, corner, alpha)])
    return len(splits), rows


def _points(drawn: Sequence[float], fixed: Sequence[float]) -> str:
    difference = estimate(np.subtract(fixed, drawn))
    return f"{100 * np.mean(drawn):.2f}, {_margin(difference)}"


def _at_equal(splits: Sequence[dict[float, Result]], corner: str, alpha: float) -> str:
    """Return the difference of the errors at equal sd."""
    differences = []
    for found in splits:
        drawn = [found[own][corner]["drawn"] for own in ALPHAS]
        fixed = found[alpha][corner]["fixed"]
        differences += differences_at_equal_unfairness(
            [(own["error"], own["sd"]) for own in drawn],
            [(fixed["error"], fixed["sd"])],
        )
    finite = [value for value in differences if np.isfinite(value)]
    if not finite:
        return "none (0)"
    return f"{_margin(estimate(finite))} ({len(finite)})"


def _margin(own: Estimate) -> str:
    margin = "" if np.isnan(own.margin) else f" ± {100 * own.margin:.2f}"
    return f"{100 * own.mean:+.2f}{margin}"
