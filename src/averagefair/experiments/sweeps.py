"""Experiments beyond the paper: other biases, other splits, more people, more tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from averagefair.auditing import audit
from averagefair.datasets import Communities, communities_split, make_synthetic
from averagefair.datasets.split import Split
from averagefair.errors import InputError
from averagefair.estimator import AverageFairClassifier
from averagefair.evaluation.generalisation import BETA, near
from averagefair.evaluation.held_out import held_out
from averagefair.experiments.figures import (
    ORACLE,
    PUBLISHED,
    ROUNDS,
    SEED,
    SOLVERS,
    UNCONSTRAINED,
    generalise,
    learn,
    make_solver,
    run_columns,
)
from averagefair.experiments.tidy import ResultTable, stack

BIASES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
BIAS_ALPHAS = (0.02, 0.05, 0.1, 0.15, 0.2, UNCONSTRAINED)


def coin_biases(
    biases: Sequence[float] = BIASES,
    populations: Sequence[int] = range(5),
    alphas: Sequence[float] = BIAS_ALPHAS,
    *,
    people: int = 200,
    tasks: int = 50,
    new: tuple[int, int] = (500, 200),
    rounds: int = ROUNDS,
) -> ResultTable:
    """Learn on the paper's synthetic population with other biases q of its coin.

    At q = 0.5 the majority of each task is random; at q = 1 the same people are the minority of
    every task. The paper describes q and shows results for 0.8.

    Parameters
    ----------
    biases : sequence of float in [0.5, 1]
    populations : sequence of int
        The seeds of the populations.
    alphas, rounds
        As for :func:`~averagefair.experiments.learn`.
    people, tasks : int
        Numbers of training people and training tasks.
    new : pair of int
        Numbers of held-out people and tasks: more than in the paper, because a small sample says
        little about unfairness.

    Returns
    -------
    ResultTable
        As for :func:`~averagefair.experiments.generalise`, with ``q`` and ``population``.
    """
    tables = []
    for q in biases:
        for population in populations:
            holdout = dict(zip(("n_holdout", "m_holdout"), new, strict=True))
            split = make_synthetic(people, tasks, q=q, random_state=population, **holdout)
            table = generalise(learn(split, alphas, rounds=rounds), split)
            tables.append(table.with_columns(q=q, population=population))
    return stack(tables)


@dataclass(frozen=True)
class Setting:
    """How Communities and Crime is split.

    Attributes
    ----------
    people, held_out : int
        Numbers of training and held-out neighbourhoods, drawn at random.
    tasks : str
        The held-out tasks: "the paper's", or "drawn" (25 tasks at random from the paper's 75).
    alphas : mapping of str to sequence of float
        The alphas for each solver.
    """

    people: int
    held_out: int
    tasks: str
    alphas: Mapping[str, Sequence[float]]


def random_splits(
    data: Communities, setting: Setting, splits: Sequence[int] = range(10), *, rounds: int = ROUNDS
) -> ResultTable:
    """Learn on random splits of Communities and Crime, both solvers on the same splits.

    Parameters
    ----------
    data : Communities
    setting : Setting
    splits : sequence of int
        The seed of each split.
    rounds : int, default 1000
        Limit of rounds.

    Returns
    -------
    ResultTable
        As for :func:`~averagefair.experiments.generalise`, with ``learned_from``,
        ``held_out_tasks`` and ``split``.
    """
    tables = []
    for number in splits:
        split = draw_split(data, setting, number)
        for solver in SOLVERS:
            curves = learn(split, setting.alphas[solver], solvers=(solver,), rounds=rounds)
            which = {"held_out_tasks": setting.tasks, "split": number}
            table = generalise(curves, split)
            tables.append(table.with_columns(learned_from=setting.people, **which))
    return stack(tables)


def draw_split(data: Communities, setting: Setting, number: int) -> Split:
    """Return the random split with this number."""
    rng = np.random.default_rng([number, setting.people])
    order = rng.permutation(len(data.values))
    train, test = order[: setting.people], order[setting.people :][: setting.held_out]
    split: Split = communities_split(data, train_rows=train, holdout_rows=test)
    return split.with_tasks_drawn(rng) if setting.tasks == "drawn" else split


PEOPLE, TASKS = "people", "tasks"
"""The two directions of the generalisation theorems."""
NO_CONSTRAINT = "no constraint"


def growth(
    direction: str,
    size: int,
    population: int,
    *,
    alpha: float = 0.1,
    other: int = 50,
    new: int = 2000,
    rounds: int = ROUNDS,
) -> ResultTable:
    """Measure how well fairness generalises, for one number of training people or training tasks.

    Parameters
    ----------
    direction : {"people", "tasks"}
        "people" (Theorem "Generalization over P"): train on ``size`` people, and measure new
        people on the training tasks. "tasks" (Theorem "Generalization over Q"): train on ``size``
        tasks, and measure the training people on new tasks.
    size : int
    population : int
        The seed of the synthetic population (q = 0.8).
    alpha : float
    other : int
        Number of training tasks (direction "people") or training people (direction "tasks").
    new : int
        Number of new people, or new tasks.
    rounds : int

    Returns
    -------
    ResultTable
        A row for each solver, and one for a baseline without a constraint (the oracle's answer).
        ``near`` and ``held_out_near`` are the smallest alpha for which all but 5% of the people are
        within alpha of a common rate, in training and held out. ``excess`` is their difference. The
        error columns are defined the same way. ``moved`` (tasks only) is the root mean square
        difference between a person's rates on new tasks and on training tasks, without the noise of
        the new tasks.
    """
    if direction not in (PEOPLE, TASKS):
        raise InputError(f"`direction` must be {PEOPLE!r} or {TASKS!r}; got {direction!r}.")
    n, m = (size, other) if direction == PEOPLE else (other, size)
    holdout = {"n_holdout": new} if direction == PEOPLE else {"m_holdout": new}
    split = make_synthetic(n, m, random_state=population, **holdout)
    rows = []
    runs: dict[str, tuple[float, Any]] = {
        **{solver: (alpha, make_solver(solver, rounds)) for solver in SOLVERS},
        NO_CONSTRAINT: (UNCONSTRAINED, make_solver(PUBLISHED, 1)),
    }
    for name, (slack, solver) in runs.items():
        model = AverageFairClassifier(
            slack, oracle=ORACLE, solver=solver, decisions="drawn", random_state=SEED
        )
        model.fit(split.X, split.Y)
        new_part = _new_people(model, split) if direction == PEOPLE else _new_tasks(model, split)
        training_near = near(model.individual_rates_)
        rows.append(
            {
                "direction": direction,
                "size": size,
                "population": population,
                "rate": "error",
                "solver": name,
                "alpha": slack,
                **run_columns(model.certificate_),
                "near": training_near,
                "held_out_near": new_part.near,
                "excess": new_part.near - training_near,
                "held_out_error": new_part.error,
                "excess_error": new_part.error - model.error_,
                "moved": new_part.moved,
            }
        )
    return ResultTable.of_rows(rows)


class _HeldOutFigures(NamedTuple):
    """Figures of a model on held-out people or tasks."""

    near: float
    error: float
    moved: float = np.nan


def _new_people(model: AverageFairClassifier, split: Split) -> _HeldOutFigures:
    measured = held_out(model, X_new=split.X_new, Y_new_people=split.Y_new_people).people
    assert measured is not None
    # The training tasks are all the tasks of interest here, so the observed rate is the true rate.
    return _HeldOutFigures(near(measured.rates), measured.error)


def _new_tasks(model: AverageFairClassifier, split: Split) -> _HeldOutFigures:
    assert model.mapping_ is not None, "a fitted model has its mapping"
    chances = model.mapping_.extend(split.Y_new_tasks).decision_probability(split.X)
    result = audit(split.Y_new_tasks, chances)
    noise = result.dispersion.raw - result.dispersion.sigma2.value
    moved2 = ((result.people.rate - model.individual_rates_) ** 2).mean() - noise
    near = result.curve.at(BETA)["denoised"]
    return _HeldOutFigures(near, result.mean.value, float(np.sqrt(max(0.0, moved2))))
