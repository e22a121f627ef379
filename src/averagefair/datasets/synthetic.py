"""The paper's synthetic population (section "Additional Experimental Results")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from averagefair._util.checks import whole_number
from averagefair.datasets.split import BoolArray, LabelArray, Split
from averagefair.errors import InputError
from averagefair.people.blocks import row_blocks


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticPopulation(Split):
    """The result of :func:`make_synthetic`: a :class:`Split` with the draws behind it.

    Attributes
    ----------
    groups, groups_new : int8 arrays of 1 and 2, shapes (n,) and (n_new,)
        The group of each training and each held-out person.
    weights, weights_new : int8 arrays of -1 and 1, shapes (m, 2, d) and (m_new, 2, d)
        For each task, the vectors that label its majority (index 0) and its minority (index 1).
    majority : bool array, shape (n, m)
        Whether the person is in the majority of the task; training people and tasks only.
    """

    groups: LabelArray
    groups_new: LabelArray
    weights: LabelArray
    weights_new: LabelArray
    majority: BoolArray


def make_synthetic(
    n: int = 200,
    m: int = 50,
    d: int = 20,
    q: float = 0.8,
    *,
    random_state: int = 0,
    n_holdout: int = 0,
    m_holdout: int = 0,
) -> SyntheticPopulation:
    """Draw the paper's synthetic population, in which group 2 is mostly in the minority.

    People's features are uniform on {-1, 1}^d; the first 75% of the people are group 1, the rest
    group 2. Each task has two weight vectors, uniform on {-1, 1}^d: one for its majority and one
    for its minority. For each person and task a coin decides whether the person belongs to the
    task's majority: with chance q in group 1, and 1 - q in group 2. The label is y_ij = 1 if
    w^T x_i > 0, where w is the vector of the person's side (section "Additional Experimental
    Results").

    Parameters
    ----------
    n, m, d : int
        Numbers of people, tasks and features; at least 1. The defaults are the paper's.
    q : float in [0.5, 1]
        Bias of the coin. At 1 group 1 is the majority of every task; at 0.5 the groups are alike.
    random_state : int
        Seed, zero or more. The same seed gives the same population.
    n_holdout, m_holdout : int
        Numbers of people (75% of them group 1) and tasks to hold out, drawn by the same process.
        They do not change the training part: every part has its own random stream.

    Notes
    -----
    The paper's sign(w^T x) is 0 on ties, which even d allows. **A tie has label 0**, so that each
    label stays a linear threshold of x and no noise is added. With d = 20 a tie has probability
    0.176, so 41% of the labels are 1. With odd d there are no ties, and 50% of the labels are 1.

    Memory holds the result (two bytes per training cell) and a few row blocks.

    Examples
    --------
    >>> population = make_synthetic(n=8, m=3, d=5, q=1.0, n_holdout=4)
    >>> population
    SyntheticPopulation(8 people x 3 tasks, 5 features; held out: 4 people, 0 tasks)
    >>> population.groups
    array([1, 1, 1, 1, 1, 1, 2, 2], dtype=int8)
    >>> population.majority[:, 0]
    array([ True,  True,  True,  True,  True,  True, False, False])
    """
    n, m, d = whole_number("n", n), whole_number("m", m), whole_number("d", d)
    n_new = whole_number("n_holdout", n_holdout, least=0)
    m_new = whole_number("m_holdout", m_holdout, least=0)
    if not 0.5 <= q <= 1:
        raise InputError(
            f"`q` must lie in [0.5, 1]; got {q!r}. It is the chance that a person of group 1 "
            "is in a task's majority; for less than 0.5, swap the groups."
        )
    seeds = np.random.SeedSequence(whole_number("random_state", random_state, least=0)).spawn(8)
    streams = [np.random.default_rng(seed) for seed in seeds]
    people, people_new = _signs(streams[0], n, d), _signs(streams[1], n_new, d)
    weights, weights_new = _signs(streams[2], m, 2, d), _signs(streams[3], m_new, 2, d)
    groups, groups_new = _groups(n), _groups(n_new)
    Y, majority = _label(streams[4], people, groups, weights, q)
    return SyntheticPopulation(
        X=people.astype(np.float64),
        Y=Y,
        X_new=people_new.astype(np.float64),
        Y_new_people=_label(streams[5], people_new, groups_new, weights, q)[0],
        Y_new_tasks=_label(streams[6], people, groups, weights_new, q)[0],
        Y_new_both=_label(streams[7], people_new, groups_new, weights_new, q)[0],
        groups=groups,
        groups_new=groups_new,
        weights=weights,
        weights_new=weights_new,
        majority=majority,
    )


def _signs(rng: np.random.Generator, *shape: int) -> LabelArray:
    return 2 * rng.integers(0, 2, size=shape, dtype=np.int8) - np.int8(1)


def _groups(n: int) -> LabelArray:
    """Put person i, counted from 0, in group 1 if i < 0.75 n, else in group 2."""
    return np.where(4 * np.arange(n) < 3 * n, np.int8(1), np.int8(2))


def _label(
    rng: np.random.Generator, people: LabelArray, groups: LabelArray, weights: LabelArray, q: float
) -> tuple[LabelArray, BoolArray]:
    """Flip the coins and label, in row blocks; return labels and majority, (people, tasks)."""
    shape = len(people), len(weights)
    labels, majority = np.empty(shape, dtype=np.int8), np.empty(shape, dtype=np.bool_)
    chance = np.where(groups == 1, q, 1 - q)
    # Products of signs are small whole numbers: float32 is exact, and fast.
    by_majority, by_minority = weights.astype(np.float32).transpose(1, 2, 0)
    for rows in row_blocks(*shape):
        x = people[rows].astype(np.float32)
        coins = rng.random((len(x), len(weights)), dtype=np.float32)
        majority[rows] = coins < chance[rows, None]
        labels[rows] = np.where(majority[rows], x @ by_majority > 0, x @ by_minority > 0)
    return labels, majority
