"""The experiments of a reproduction, cut into independent jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from averagefair.datasets import Communities, communities_split, make_synthetic
from averagefair.datasets.split import Split
from averagefair.experiments.figures import (
    COLUMNS,
    GRID,
    PUBLISHED,
    RATES,
    ROUNDS,
    SOLVERS,
    TRAJECTORY_ALPHAS,
    UNCONSTRAINED,
    error_spread,
    generalise,
    learn,
    trajectories,
)
from averagefair.experiments.findings import (
    at_equal_unfairness,
    exponents,
    point_by_point,
    valid,
)
from averagefair.experiments.sweeps import (
    BIAS_ALPHAS,
    BIASES,
    PEOPLE,
    TASKS,
    Setting,
    coin_biases,
    growth,
    random_splits,
)
from averagefair.experiments.tidy import ResultTable, stack
from averagefair.game.rates import spoken

Tables = dict[str, ResultTable]
SYNTHETIC: dict[str, Any] = {
    **{"n": 200, "m": 50, "d": 20, "q": 0.8},
    **{"n_holdout": 200, "m_holdout": 25, "random_state": 0},
}
"""The paper's synthetic population, held-out sizes as for Communities, and our seed."""
THE_PAPERS, DRAWN = "the paper's", "drawn"


@dataclass(frozen=True)
class Job:
    """A piece of work that does not depend on other jobs.

    Attributes
    ----------
    name : str
        Shown in the progress line.
    work : callable
        Returns tables by name.
    effort : float
        Roughly how long it takes, relative to the other jobs.
    """

    name: str
    work: Callable[[], Tables] = field(repr=False)
    effort: float = 1.0


@dataclass(frozen=True)
class Scale:
    """How much to run.

    Attributes
    ----------
    alphas, trajectory_alphas : sequence of float
    rounds : int
        At most this many, with either solver.
    splits : int
        Random splits of Communities and Crime in each of ``settings``.
    settings : sequence of Setting
    biases, bias_alphas : sequence of float
    populations : int
        Synthetic populations for each bias.
    people, tasks : mapping of int to int
        The training sizes of the growth sweeps, with the number of populations of each size.
    new_people, new_tasks : int
        How many new people and tasks the growth sweeps measure fairness on.
    """

    alphas: Sequence[float] = GRID
    trajectory_alphas: Sequence[float] = TRAJECTORY_ALPHAS
    rounds: int = ROUNDS
    splits: int = 10
    settings: Sequence[Setting] = (
        Setting(200, 200, THE_PAPERS, dict.fromkeys(SOLVERS, GRID)),
        Setting(200, 200, DRAWN, dict.fromkeys(SOLVERS, GRID)),
        Setting(
            1595,
            399,
            THE_PAPERS,
            {PUBLISHED: BIAS_ALPHAS, COLUMNS: (0.05, 0.1, 0.15, 0.2, UNCONSTRAINED)},
        ),
    )
    biases: Sequence[float] = BIASES
    bias_alphas: Sequence[float] = BIAS_ALPHAS
    populations: int = 5
    people: dict[int, int] = field(
        default_factory=lambda: {
            **{100: 5, 300: 5, 1000: 5, 3000: 5},
            **{10_000: 4, 30_000: 3, 100_000: 2},
        }
    )
    tasks: dict[int, int] = field(
        default_factory=lambda: {10: 5, 30: 5, 100: 5, 300: 5, 1000: 5},
    )
    new_people: int = 100_000
    new_tasks: int = 5_000

    def of(self, experiment: str, *, large: bool = False) -> dict[str, Any]:
        """Return the settings that an experiment uses."""
        names = ["alphas", "trajectory_alphas", "rounds"]
        names += {
            "communities": ["splits", "settings"],
            "synthetic": ["biases", "bias_alphas", "populations"],
        }[experiment]
        names += ["people", "tasks", "new_people", "new_tasks"] if large else []
        every = asdict(self)
        return {name: every[name] for name in names}


FULL = Scale()
_FEW = (0.05, 0.1, 0.2, UNCONSTRAINED)
QUICK = Scale(
    alphas=_FEW,
    trajectory_alphas=(0.05, 0.1),
    rounds=100,
    splits=2,
    settings=(Setting(200, 200, THE_PAPERS, dict.fromkeys(SOLVERS, _FEW)),),
    biases=(0.5, 0.8, 1.0),
    bias_alphas=(0.05, 0.1, UNCONSTRAINED),
    populations=2,
    people={100: 2, 300: 2, 1000: 2},
    tasks={10: 2, 30: 2, 100: 2},
    new_people=1000,
    new_tasks=500,
)
"""Every experiment in seconds, with fewer rounds, alphas and draws."""


def communities_jobs(data: Communities, scale: Scale = FULL) -> list[Job]:
    """Return the jobs on Communities and Crime, the longest first."""
    jobs = [
        Job(
            f"{setting.people:,} people, tasks {setting.tasks}, random split {split + 1}",
            partial(_random_split, data, setting, split, scale.rounds),
            effort=setting.people / 200,
        )
        for setting in sorted(scale.settings, key=lambda one: -one.people)
        for split in range(scale.splits)
    ]
    return [*jobs, *_figure_jobs(communities_split(data), scale)]


def synthetic_jobs(scale: Scale = FULL, *, large: bool = False) -> list[Job]:
    """Return the jobs on the synthetic population, the longest first."""
    jobs = _growth_jobs(scale) if large else []
    jobs += [
        Job(
            f"coin bias q = {q:g}, population {population + 1}",
            partial(_coin_bias, q, population, scale.bias_alphas, scale.rounds),
        )
        for q in scale.biases
        for population in range(scale.populations)
    ]
    return [*jobs, *_figure_jobs(make_synthetic(**SYNTHETIC), scale)]


def _figure_jobs(split: Split, scale: Scale) -> list[Job]:
    return [
        Job(
            f"the paper's figures, {spoken(rate)} rates, {solver}",
            partial(_figures, split, scale, rate, solver),
        )
        for rate in RATES
        for solver in SOLVERS
    ]


def _growth_jobs(scale: Scale) -> list[Job]:
    """Return the jobs of the large sweep: alpha 0.1 as people grow, the harder 0.05 for tasks."""
    rounds = scale.rounds
    how = {
        PEOPLE: {"alpha": 0.1, "other": 50, "new": scale.new_people, "rounds": rounds},
        TASKS: {"alpha": 0.05, "other": 300, "new": scale.new_tasks, "rounds": rounds},
    }
    sizes = ((PEOPLE, scale.people), (TASKS, scale.tasks))
    jobs = [
        Job(
            f"{size:,} {direction} to learn from, population {population + 1}",
            partial(_growth, direction, size, population, how[direction]),
            effort=1.0 + size / (700 if direction == PEOPLE else 500),
        )
        for direction, populations in sizes
        for size, count in populations.items()
        for population in range(count)
    ]
    return sorted(jobs, key=lambda job: -job.effort)


def _figures(split: Split, scale: Scale, rate: str, solver: str) -> Tables:
    how: dict[str, Any] = {"rates": (rate,), "solvers": (solver,), "rounds": scale.rounds}
    curves = learn(split, scale.alphas, **how)
    return {
        "trajectories": trajectories(split, scale.trajectory_alphas, **how),
        "error_spread": error_spread(curves, split),
        "generalisation": generalise(curves, split),
    }


def _random_split(data: Communities, setting: Setting, split: int, rounds: int) -> Tables:
    return {"random_splits": random_splits(data, setting, (split,), rounds=rounds)}


def _coin_bias(q: float, population: int, alphas: Sequence[float], rounds: int) -> Tables:
    return {"coin_bias": coin_biases((q,), (population,), alphas, rounds=rounds)}


def _growth(direction: str, size: int, population: int, how: dict[str, Any]) -> Tables:
    return {"growth": growth(direction, size, population, **how)}


def gather(parts: Sequence[Tables]) -> Tables:
    """Join the tables of all jobs, and add the tables computed from them."""
    names = dict.fromkeys(name for part in parts for name in part)
    tables = {name: stack([part[name] for part in parts if name in part]) for name in names}
    return {**tables, **dict(_derived(tables))}


def _derived(tables: Tables) -> Iterator[tuple[str, ResultTable]]:
    sources = {
        "random_splits": (("learned_from", "held_out_tasks"), "split"),
        "coin_bias": (("q",), "population"),
    }
    for name, (setting, repeat) in sources.items():
        if name in tables:
            both = [
                at_equal_unfairness(tables[name], setting, repeat, measure=measure)
                for measure in ("sigma", "sd")
            ]
            yield f"{name}_compared", stack(both)
            points = [
                point_by_point(tables[name], setting, repeat, measure=measure)
                for measure in ("sigma", "sd")
            ]
            yield f"{name}_points", valid(stack(points))
    if "growth" in tables:
        yield "exponents", exponents(tables["growth"])
