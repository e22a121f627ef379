"""Larger and harder than the paper: other biases, other splits, more people, more tasks."""

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
from averagefair.experiments.tidy import Table, stack
from averagefair.generalisation import BETA, near
from averagefair.held_out import held_out

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
) -> Table:
    """Learn on the paper's synthetic population with other biases q of its coin.

    At q = 0.5 majorities are formed by chance and nobody is singled out; at q = 1 the same people
    are the minority of every task. The paper describes q and shows 0.8.

    Parameters
    ----------
    biases : sequence of float in [0.5, 1]
    populations : sequence of int
        A population is drawn with each of these seeds.
    alphas, rounds
        As for :func:`~averagefair.experiments.learn`.
    people, tasks : int
        To learn from.
    new : pair of int
        People and tasks held out; more than the paper's, for unfairness is hard to tell on few.

    Returns
    -------
    Table
        As of :func:`~averagefair.experiments.generalise`, with ``q`` and ``population``.
    """
    tables = []
    for q in biases:
        for population in populations:
            holdout = dict(zip(("n_holdout", "m_holdout"), new, strict=True))
            split = make_synthetic(people, tasks, q=q, random_state=population, **holdout)
            found = generalise(learn(split, alphas, rounds=rounds), split)
            tables.append(found.with_columns(q=q, population=population))
    return stack(tables)


@dataclass(frozen=True)
class Setting:
    """How Communities and Crime is split.

    Attributes
    ----------
    people, held_out : int
        How many neighbourhoods to learn from and to hold out, drawn at random.
    tasks : str
        Which tasks are held out: "the paper's", or 25 "drawn" at random from its 75.
    alphas : mapping of str to sequence of float
        What each solver is asked for.
    """

    people: int
    held_out: int
    tasks: str
    alphas: Mapping[str, Sequence[float]]


def random_splits(
    data: Communities, setting: Setting, splits: Sequence[int] = range(10), *, rounds: int = ROUNDS
) -> Table:
    """Learn on random splits of Communities and Crime, both solvers on the same ones.

    Parameters
    ----------
    data : Communities
    setting : Setting
    splits : sequence of int
        The seed of each split.
    rounds : int, default 1000
        At most.

    Returns
    -------
    Table
        As of :func:`~averagefair.experiments.generalise`, with ``learned_from``, ``held_out_tasks``
        and ``split``.
    """
    tables = []
    for number in splits:
        split = draw_split(data, setting, number)
        for solver in SOLVERS:
            curves = learn(split, setting.alphas[solver], solvers=(solver,), rounds=rounds)
            which = {"held_out_tasks": setting.tasks, "split": number}
            found = generalise(curves, split)
            tables.append(found.with_columns(learned_from=setting.people, **which))
    return stack(tables)


def draw_split(data: Communities, setting: Setting, number: int) -> Split:
    """Return one of the random splits."""
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
) -> Table:
    """Tell how far fairness carries over, for one number of people or tasks to learn from.

    Parameters
    ----------
    direction : {"people", "tasks"}
        Theorem "Generalization over P": new people on the training tasks, ``size`` people learned
        from; or Theorem "Generalization over Q": the training people on new tasks, ``size`` tasks
        learned from.
    size : int
    population : int
        The seed of the synthetic population (q = 0.8).
    alpha : float
    other : int
        How many tasks (or people) there are in the direction that does not grow.
    new : int
        How many new people, or new tasks, fairness is measured on.
    rounds : int

    Returns
    -------
    Table
        A row for each solver, and one for no constraint at all (what the oracle answers where
        fairness has no weight), to see what any model would show. ``near`` and ``held_out_near``:
        the smallest alpha for which all but 5% of the people are within alpha of a common rate, in
        training and held out, and ``excess`` the difference; the same of the error. ``moved``
        (tasks only): the root mean square of how far a person's rate on new tasks lies from the
        one on the training tasks, the noise of the new tasks taken off.
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
    for name, (asked, solver) in runs.items():
        model = AverageFairClassifier(asked, oracle=ORACLE, solver=solver, random_state=SEED)
        model.fit(split.X, split.Y)
        there = _new_people(model, split) if direction == PEOPLE else _new_tasks(model, split)
        here = near(model.individual_rates_)
        rows.append(
            {
                "direction": direction,
                "size": size,
                "population": population,
                "rate": "error",
                "solver": name,
                "alpha": asked,
                **run_columns(model.certificate_),
                "near": here,
                "held_out_near": there.near,
                "excess": there.near - here,
                "held_out_error": there.error,
                "excess_error": there.error - model.error_,
                "moved": there.moved,
            }
        )
    return Table.of_rows(rows)


class _There(NamedTuple):
    """What a model does on people or tasks held out."""

    near: float
    error: float
    moved: float = np.nan


def _new_people(model: AverageFairClassifier, split: Split) -> _There:
    found = held_out(model, X_new=split.X_new, Y_new_people=split.Y_new_people).people
    assert found is not None
    # The tasks are those of training: a person's rate on them has no noise to take off.
    return _There(near(found.rates), found.error)


def _new_tasks(model: AverageFairClassifier, split: Split) -> _There:
    chances = model.extend(split.Y_new_tasks).decision_probability(split.X)
    found = audit(split.Y_new_tasks, chances)
    noise = found.spread.raw - found.spread.sigma2.value
    moved2 = ((found.people.rate - model.individual_rates_) ** 2).mean() - noise
    near = found.curve.at(BETA)["denoised"]
    return _There(near, found.mean.value, float(np.sqrt(max(0.0, moved2))))
