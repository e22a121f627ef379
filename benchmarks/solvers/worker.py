"""One job in one process, in the environment of this version or of an older release.

The program reads one JSON job from the standard input and prints one JSON line. It uses public
names of the library that release 0.1.0 has too.

A job has ``kind``, ``data``, ``oracle`` ("regression" or "default") and, for each kind:

- "fit": ``alpha`` and perhaps ``time_limit``. Fits once. Prints the rounds that keep alpha as
  (seconds since the start of the fit, error), and what the fit reached.
- "carry over": ``alphas``. For each alpha: error and unfairness on the learned sample, on new
  people, on new tasks and on both. On learned tasks, unfairness is the standard deviation of
  people's rates: of their mean rates over draws, and of the rates of drawn decisions. On new tasks
  it is sigma, the standard deviation without the noise from few tasks.

``data`` is one of these:

- ``{"synthetic": {...}}``: the arguments of ``make_synthetic``.
- ``{"communities": PATH}``: the paper's 200 people and 50 tasks.
- ``{"communities": PATH, "people": n, "seed": s}``: n people drawn at random to learn from, and
  tasks drawn at random. All other people are new.
"""

from __future__ import annotations

import inspect
import json
import sys
import warnings
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair import AverageFairClassifier, ColumnGeneration, RegressionOracle
from averagefair.datasets import Split, communities_split, load_communities, make_synthetic

# A slack that differs from alpha by less than this is alpha itself.
_SAME = 1e-12


def main() -> None:
    job = json.load(sys.stdin)
    kinds = {"fit": fit_once, "carry over": carry_over}
    warnings.simplefilter("ignore")  # the figures say what was reached
    # The first fit loads modules, which must not count.
    model(0.2, job["oracle"]).fit(*_labelled(make_synthetic(n=20, m=3, d=4)))
    print(json.dumps(kinds[job["kind"]](load_data(job["data"]), job)))


def load_data(data: dict[str, Any]) -> Split:
    """Return the split that a job describes."""
    if "synthetic" in data:
        return make_synthetic(**data["synthetic"])
    whole = load_communities(data["communities"])
    if "people" not in data:
        return communities_split(whole)
    rows = np.random.default_rng(data["seed"]).permutation(len(whole.values))
    count = data["people"]
    split = communities_split(whole, train_rows=rows[:count], holdout_rows=rows[count:])
    return split.with_tasks_drawn(np.random.default_rng(data["seed"]))


def model(alpha: float, oracle: str, **params: Any) -> AverageFairClassifier:
    """Return the estimator with default settings, without its look at the unconstrained model.

    Release 0.1.0 does not take that look, so its time must not count.
    """
    known = inspect.signature(AverageFairClassifier).parameters
    if "look_first" in known:
        params["look_first"] = False
    if "decisions" in known:
        params["decisions"] = "drawn"  # the chances are compared, as in release 0.1.0
    if oracle == "regression":
        params["oracle"] = RegressionOracle()
    return AverageFairClassifier(alpha=alpha, random_state=0, **params)


def fit_once(data: Split, job: dict[str, Any]) -> dict[str, Any]:
    """Fit once; return the rounds and what the fit reached."""
    alpha, rounds = job["alpha"], []

    def record(now: Any) -> None:
        rounds.append((perf_counter() - start, *now))

    solver = ColumnGeneration(time_limit=job.get("time_limit"))
    fair = model(alpha, job["oracle"], solver=solver, callback=record)
    start = perf_counter()
    fair.fit(*_labelled(data))
    seconds = perf_counter() - start
    reached = fair.certificate_
    # A round is (number, error, spread, gap, slack). Release 0.1.0 approaches alpha from above:
    # its rounds with a larger slack do not keep the promise yet.
    history = [(then, error) for then, _, error, _, _, slack in rounds if slack <= alpha + _SAME]
    return {
        "history": history,
        "rounds": len(rounds),
        "seconds_of_rounds": rounds[-1][0],
        "seconds": seconds,
        "error": reached.error,
        "spread": reached.spread,
        "answers": reached.oracle_calls / data.Y.shape[1],
        "stop_reason": reached.stop_reason.name,
        "digest": data.digest,
    }


def carry_over(data: Split, job: dict[str, Any]) -> dict[str, Any]:
    """Fit at each alpha; return error and unfairness on each corner."""
    points = []
    for alpha in job["alphas"]:
        start = perf_counter()
        fair = model(alpha, job["oracle"]).fit(*_labelled(data))
        seconds = perf_counter() - start
        later = fair.extend(data.Y_new_tasks)
        corners = {
            "learned": (fair, data.X, data.Y, True),
            "new people": (fair, data.X_new, data.Y_new_people, True),
            "new tasks": (later, data.X, data.Y_new_tasks, False),
            "both new": (later, data.X_new, data.Y_new_both, False),
        }
        found: dict[str, Any] = {"alpha": alpha, "seconds": seconds}
        for name, (maker, X, Y, learned) in corners.items():
            losses = np.abs(maker.decision_probability(X) - Y)
            found[name] = (float(losses.mean()), unfairness(losses, learned=learned))
            if name == "new people":
                found["new people, drawn"] = (float(losses.mean()), drawn_deviation(losses))
        points.append(found)
    return {"points": points, "digest": data.digest}


def unfairness(losses: NDArray[np.float64], *, learned: bool) -> float:
    """Return the standard deviation of people's rates; on new tasks without noise, with its sign.

    Parameters
    ----------
    losses : array, shape (n, m)
        The chance of a mistake for each person and task.
    learned : bool
        Whether the tasks were learned from: the noise cannot be estimated there.
    """
    variance = float(losses.mean(axis=1).var(ddof=1)) if learned else denoised_variance(losses)
    return float(np.sign(variance) * np.sqrt(abs(variance)))


def drawn_deviation(losses: NDArray[np.float64]) -> float:
    """Return the standard deviation of people's rates if decisions are drawn, once for each task.

    Parameters
    ----------
    losses : array, shape (n, m)
        The chance of a mistake for each person and task.
    """
    draws = (losses * (1.0 - losses)).sum(axis=1) / losses.shape[1] ** 2
    return float(np.sqrt(losses.mean(axis=1).var(ddof=1) + draws.mean()))


def denoised_variance(losses: NDArray[np.float64]) -> float:
    """Return the variance of people's mean losses, less the noise from few tasks.

    A task's difficulty is the same for everybody and cancels. The result is negative if people
    differ less than by chance: their losses on different tasks then offset each other.
    """
    n, m = losses.shape
    mine = losses.mean(axis=1)
    rest = losses - mine[:, None] - losses.mean(axis=0) + losses.mean()
    return float(mine.var(ddof=1) - (rest**2).sum() / ((n - 1) * (m - 1)) / m)


def _labelled(data: Split) -> tuple[Any, Any]:
    return data.X, data.Y


if __name__ == "__main__":
    main()
