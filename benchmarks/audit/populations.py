"""Populations whose true rates are known exactly: the truth that an audit is compared with.

Every draw takes new people and new tasks, both at random. A person's true rate is an expectation
over all tasks: P[wrong], or for false positives P[wrong and y = 0] / P[y = 0]. Person i on task j
has label 0 with probability b_i h_j. Given i and j, the label is independent of the mistake. So
b_i cancels:

    error rate = E_j[P_ij],        false-positive rate = E_j[h_j P_ij] / E_j[h_j].

P_ij is the probability of a mistake. h_j grows with the task's difficulty, so tasks with more
negatives also have more mistakes. (:class:`HardNegatives` deliberately does not use b_i h_j.)
"""

# ruff: noqa: D102 (the protocol says what each method does)

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Random = np.random.Generator

ERROR, FALSE_POSITIVE = "error", "false_positive"
COMPLETE, MASKED = "complete", "masked"
# The ranges of b_i and of the share of a masked row that is observed; each person draws both.
# So 30% of the cells of a masked table are missing.
NEGATIVES = (0.5, 0.9)
OBSERVED = (0.5, 0.9)
PHI = (1 + 5**0.5) / 2


class Draw(NamedTuple):
    """The input of an audit, and each person's true rate, shape (n,)."""

    labels: Array
    decisions: Array
    observed: Array | None
    truth: Array


class Population(Protocol):
    """People and tasks to draw from, with their true rates."""

    def people(self, rng: Random, n: int) -> Any:
        """Draw people."""
        ...

    def tasks(self, rng: Random, m: int) -> Any:
        """Draw tasks."""
        ...

    def losses(self, rng: Random, people: Any, tasks: Any) -> Array:
        """Draw mistakes, 0 or 1, (n, m); randomised decisions: their probabilities."""
        ...

    def negatives(self, rng: Random, people: Any, tasks: Any) -> Array:
        """Return the probability of label 0, in a shape that broadcasts to (n, m)."""
        ...

    def rates(self, people: Any, rate: str) -> Array:
        """Return each person's true rate, shape (n,)."""
        ...

    def mean(self, rate: str) -> float:
        """Return the population's mean of the true rates."""
        ...

    def variance(self, rate: str) -> float:
        """Return the population's variance of the true rates."""
        ...


def draw(population: Population, table: str, rate: str, n: int, m: int, rng: Random) -> Draw:
    """Draw n people, m tasks, and the labels and decisions of every person on every task."""
    people, tasks = population.people(rng, n), population.tasks(rng, m)
    wrong = population.losses(rng, people, tasks)
    labels = (rng.random((n, m)) >= population.negatives(rng, people, tasks)).astype(np.int8)
    observed = None
    if table == MASKED:
        observed = rng.random((n, m)) < rng.uniform(*OBSERVED, (n, 1))
    decisions = np.where(labels == 1, 1 - wrong, wrong)
    return Draw(labels, decisions, observed, population.rates(people, rate))


def bernoulli(rng: Random, chances: Array) -> Array:
    return (rng.random(chances.shape) < chances).astype(np.int8)


class Scaled(NamedTuple):
    """The distribution low + width * Beta(a, b); a constant if the width is 0."""

    low: float
    width: float
    a: float = 1.0
    b: float = 1.0

    def draw(self, rng: Random, size: int) -> Array:
        return self.low + self.width * rng.beta(self.a, self.b, size)

    @property
    def mean(self) -> float:
        return self.low + self.width * self.a / (self.a + self.b)

    @property
    def variance(self) -> float:
        a, b = self.a, self.b
        return self.width**2 * a * b / ((a + b) ** 2 * (a + b + 1))


@dataclass(frozen=True)
class Additive:
    """P_ij = a_i + t_j: people differ by a_i on every task, tasks by t_j for every person.

    If a_i is constant, all true rates are equal, and errors are independent given the task.
    """

    person: Scaled
    task: Scaled

    def people(self, rng: Random, n: int) -> Any:
        return self.person.draw(rng, n)

    def tasks(self, rng: Random, m: int) -> Any:
        return self.task.draw(rng, m)

    def losses(self, rng: Random, people: Any, tasks: Any) -> Array:
        return bernoulli(rng, people[:, None] + tasks)

    def negatives(self, rng: Random, people: Any, tasks: Any) -> Array:
        """h_j rises from 0.5 for the easiest possible task to 1 for the hardest."""
        hardness = (tasks - self.task.low) / self.task.width
        return rng.uniform(*NEGATIVES, (people.size, 1)) * (0.5 + 0.5 * hardness)

    def rates(self, people: Any, rate: str) -> Array:
        return people + self._task_mean(rate)

    def mean(self, rate: str) -> float:
        return self.person.mean + self._task_mean(rate)

    def variance(self, rate: str) -> float:
        return self.person.variance

    def _task_mean(self, rate: str) -> float:
        if rate == ERROR:
            return self.task.mean
        # h is linear in t, and E[h t] / E[h] = E[t] + cov(h, t) / E[h].
        slope = 0.5 / self.task.width
        h = 0.5 + slope * (self.task.mean - self.task.low)
        return self.task.mean + slope * self.task.variance / h


@dataclass(frozen=True)
class Directions:
    """Similar people err on the same tasks: those whose axis is near their own direction.

    Person i and task j have directions u_i, v_j in space. v_j is uniform on the sphere, so
    t = |u_i . v_j| is uniform on [0, 1] (Archimedes). Person i is wrong if t > 1 - e_i g_j. The
    task's difficulty g_j lies in [0, 2] and has mean 1, so P[wrong] = e_i for every u_i. People of
    a cluster have similar directions. Randomised decisions are wrong with probability
    3 e_i g_j t^2, which has the same mean.
    """

    # The rate of each cluster, and the largest distance of a person's own rate from it.
    cluster_rates: tuple[float, ...]
    own: float = 0.0
    randomised: bool = False
    # g_j lies in 1 -+ this.
    difficulty: float = 1.0

    # The clusters' centers are the six axes of an icosahedron, far from each other.
    CENTERS = np.array(
        [[0, 1, PHI], [0, -1, PHI], [1, PHI, 0], [-1, PHI, 0], [PHI, 0, 1], [PHI, 0, -1]]
    ) / np.hypot(1, PHI)
    SIZES = np.array([0.30, 0.20, 0.20, 0.15, 0.10, 0.05])
    WITHIN = 0.3

    def people(self, rng: Random, n: int) -> Any:
        cluster = rng.choice(self.SIZES.size, size=n, p=self.SIZES)
        directions = self.CENTERS[cluster] + self.WITHIN * rng.standard_normal((n, 3))
        rates = np.array(self.cluster_rates)[cluster] + rng.uniform(-self.own, self.own, n)
        return rates, directions / np.linalg.norm(directions, axis=1, keepdims=True)

    def tasks(self, rng: Random, m: int) -> Any:
        directions = rng.standard_normal((m, 3))
        difficulty = 1.0 + self.difficulty * (2.0 * rng.beta(2, 2, m) - 1.0)
        return difficulty, directions / np.linalg.norm(directions, axis=1, keepdims=True)

    def losses(self, rng: Random, people: Any, tasks: Any) -> Array:
        chances = people[0][:, None] * tasks[0]
        nearness = np.abs(people[1] @ tasks[1].T)
        if self.randomised:
            return 3.0 * chances * nearness**2
        return (nearness > 1.0 - chances).astype(np.int8)

    def negatives(self, rng: Random, people: Any, tasks: Any) -> Array:
        return rng.uniform(*NEGATIVES, (people[0].size, 1)) * (0.4 + 0.3 * tasks[0])

    def rates(self, people: Any, rate: str) -> Array:
        return people[0] * self._tilt(rate)

    def mean(self, rate: str) -> float:
        return float(self.SIZES @ self.cluster_rates) * self._tilt(rate)

    def variance(self, rate: str) -> float:
        # Subtract the first cluster's rate, so that equal rates have a variance of exactly 0.
        off = np.array(self.cluster_rates) - self.cluster_rates[0]
        between = float(self.SIZES @ off**2 - (self.SIZES @ off) ** 2)
        return (between + self.own**2 / 3.0) * self._tilt(rate) ** 2

    def _tilt(self, rate: str) -> float:
        """Return E[h g] / E[h]; the variance of 2 Beta(2, 2) - 1 is 1/5."""
        return 1.0 if rate == ERROR else (0.4 + 0.3 * (1.0 + self.difficulty**2 / 5.0)) / 0.7


@dataclass(frozen=True)
class Turns:
    """Five clusters. Each task is hard for one of them, chosen uniformly: all rates are equal."""

    hard: float
    easy: float

    SIZES = np.array([0.4, 0.3, 0.15, 0.1, 0.05])

    def people(self, rng: Random, n: int) -> Any:
        return rng.choice(self.SIZES.size, size=n, p=self.SIZES)

    def tasks(self, rng: Random, m: int) -> Any:
        return rng.integers(self.SIZES.size, size=m)

    def losses(self, rng: Random, people: Any, tasks: Any) -> Array:
        return bernoulli(rng, np.where(people[:, None] == tasks, self.hard, self.easy))

    def negatives(self, rng: Random, people: Any, tasks: Any) -> Array:
        return rng.uniform(*NEGATIVES, (people.size, 1)) * rng.uniform(0.5, 1.0, tasks.size)

    def rates(self, people: Any, rate: str) -> Array:
        return np.full(people.size, self.mean(rate))

    def mean(self, rate: str) -> float:
        turns = self.SIZES.size
        return (self.hard + (turns - 1) * self.easy) / turns

    def variance(self, rate: str) -> float:
        return 0.0


@dataclass(frozen=True)
class HardNegatives:
    """On a task everybody errs equally often, but one camp's negatives are mostly in hard tasks.

    Error rates are equal; false-positive rates are not. The probability of label 0 in a task of
    difficulty t is 0.2 + 0.6 t for the camp and 0.8 - 0.6 t for the others.
    """

    task: Scaled
    camp: float

    LINES = np.array([[0.8, -0.6], [0.2, 0.6]])

    def people(self, rng: Random, n: int) -> Any:
        return bernoulli(rng, np.full(n, self.camp))

    def tasks(self, rng: Random, m: int) -> Any:
        return self.task.draw(rng, m)

    def losses(self, rng: Random, people: Any, tasks: Any) -> Array:
        return bernoulli(rng, np.tile(tasks, (people.size, 1)))

    def negatives(self, rng: Random, people: Any, tasks: Any) -> Array:
        level, slope = self.LINES[people].T
        return level[:, None] + slope[:, None] * tasks

    def rates(self, people: Any, rate: str) -> Array:
        return self._camp_rates(rate)[people]

    def mean(self, rate: str) -> float:
        others, camp = self._camp_rates(rate)
        return float((1 - self.camp) * others + self.camp * camp)

    def variance(self, rate: str) -> float:
        others, camp = self._camp_rates(rate)
        return float(self.camp * (1 - self.camp) * (camp - others) ** 2)

    def _camp_rates(self, rate: str) -> Array:
        """Return E[(level + slope t) t] / E[level + slope t]: the others' and the camp's."""
        level, slope = self.LINES.T
        first, second = self.task.mean, self.task.variance + self.task.mean**2
        if rate == ERROR:
            return np.full(2, first)
        return (level * first + slope * second) / (level + slope * first)


EQUAL = Scaled(0.0, 0.0)
UNEVEN_CLUSTERS = (0.20, 0.15, 0.30, 0.35, 0.25, 0.45)

POPULATIONS: dict[str, Population] = {
    "equal, tasks very unlike": Additive(EQUAL, Scaled(0.0, 1.0, 0.6, 1.4)),
    "equal, like people err together": Directions((0.3,) * 6),
    "equal, clusters take turns": Turns(hard=0.8, easy=0.2),
    "equal, randomised": Directions((0.2,) * 6, randomised=True, difficulty=0.5),
    "equal at 5%, tasks very unlike": Additive(EQUAL, Scaled(0.0, 0.25, 0.25, 1.0)),
    "equal at 5%, like people err together": Directions((0.05,) * 6),
    "unequal, tasks very unlike": Additive(Scaled(0.0, 0.3, 1.0, 2.0), Scaled(0.0, 0.6, 0.6, 1.4)),
    "unequal, like people err together": Directions(UNEVEN_CLUSTERS, own=0.05),
    "unequal, randomised": Directions(
        (0.12, 0.08, 0.16, 0.20, 0.10, 0.18), own=0.02, randomised=True, difficulty=0.5
    ),
    "unequal at 5%, tasks very unlike": Additive(
        Scaled(0.01, 0.12, 1.0, 3.0), Scaled(0.0, 0.04, 0.6, 1.4)
    ),
    "unequal at 5%, like people err together": Directions(
        (0.03, 0.06, 0.04, 0.08, 0.06, 0.10), own=0.02
    ),
    "one camp's negatives are hard": HardNegatives(Scaled(0.0, 1.0, 0.9, 2.1), camp=0.4),
}
