"""A made-up town: named people, and the advertisers, schools and lenders that decide about them."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from averagefair._util.checks import whole_number
from averagefair.datasets.people import People, filled, folds, plain_decisions
from averagefair.datasets.split import BoolArray, FloatArray
from averagefair.errors import InputError, extra

_FIRST = """
Ada Amir Ana Ben Bo Carla Chen Dara Dev Ela Emil Fay Finn Gita Hana Hugo Ines Ivo Jana Jun Kofi
Lea Lin Luca Maya Mei Nadia Nils Noor Omar Pia Ravi Rosa Sami Sara Tam Tove Uma Vera Yara
"""
_LAST = """
Abe Adler Banda Berg Bose Castro Cho Costa Dahl Diaz Diop Eze Falk Fuchs Gill Haas Hale Ito Jain
Kaur Khan Klein Kovac Lam Lund Mensah Mora Nagy Novak Okoro Park Petit Quist Reyes Rossi Sato Silva
Tran Vogel Wolf
"""
_NAMES = [f"{first} {last}" for first, last in product(_FIRST.split(), _LAST.split())]
_DISTRICTS = ("Old Town", "Riverside", "Harbour")
_JOBS = ("office", "trade", "care", "student", "between jobs")
_KINDS = ("ad", "school", "lender")
NEWCOMERS = (0.08, 0.12, 0.35)
"""The share of newcomers in each district. A newcomer has lived here for less than two years."""
LESS_KNOWN = 0.3
"""How much of the rule for people who have long lived here holds for newcomers."""
LABEL_NOISE = 0.6
TRUTH_TASKS, AT_ONCE = 1000, 100
# How much each trait counts for a kind of task, on average over its tasks.
_TRAITS = ("income", "savings", "age", "late_bills", "grade", "visits")
_MEANS = {
    "ad": (0.3, 0.0, -0.7, 0.0, 0.1, 0.9),
    "school": (0.2, 0.1, -0.3, -0.1, 1.2, 0.0),
    "lender": (0.8, 0.5, 0.2, -1.0, 0.0, 0.0),
}
_OWN = 0.5
"""How much tasks of a kind differ from each other."""


class _Inhabitants(NamedTuple):
    """What the labels depend on: traits of mean 0 and variance 1, and who is a newcomer."""

    traits: FloatArray
    newcomer: BoolArray


class _Rules(NamedTuple):
    """How labels follow from traits, with a column for each task."""

    usual: FloatArray
    newcomers: FloatArray
    shift: FloatArray


def make_town(
    n: int = 300,
    m: int = 90,
    *,
    random_state: int = 0,
    blanks: float = 0.1,
    truth: bool = False,
) -> People:
    """Make up a town: people with names, and the tasks of advertisers, schools and lenders.

    A label is what would have been right: the person is interested in the ad, passes at the school,
    or repays the lender. Each task has a rule of its own on the people's traits. For newcomers,
    this rule says less. So a plain model for each task, which newcomers share with everybody, is
    wrong about them more often, and at nearly every task.

    Parameters
    ----------
    n, m : int
        Numbers of people and tasks; at least 10 people. Tasks are ads, schools and lenders in turn.
    random_state : int
        Seed, zero or more. The same seed gives the same town.
    blanks : float in [0, 0.9], default 0.1
        The share of labels that are blank at random: the person never met this task. A third of
        this share of incomes and savings is blank too.
    truth : bool, default False
        Whether to compute everybody's true error rate under the plain model: the mean chance of a
        wrong decision over 1,000 further tasks of the same kinds (standard error about 0.01).

    Returns
    -------
    People
        Tables with names: ``X``, ``Y``, ``decisions``, ``groups`` (district, newcomer),
        ``kinds`` (ad, school, lender), and ``truth``. This needs pandas.

    Examples
    --------
    >>> from averagefair import audit
    >>> town = make_town()
    >>> town
    People(300 people x 90 tasks, 9 features; 10% blank labels)
    >>> found = audit(town.Y, town.decisions, groups=town.groups)
    >>> print(f"{found.range.low:.2f} to {found.range.high:.2f}, p = {found.chance.p:.3f}")
    0.04 to 0.48, p = 0.001
    """
    n, m = whole_number("n", n, least=10), whole_number("m", m)
    seed = whole_number("random_state", random_state, least=0)
    if not 0 <= blanks <= 0.9:
        raise InputError(
            f"`blanks` must lie in [0, 0.9]; got {blanks!r}. It is the share of labels that are "
            "blank; 0 leaves none blank."
        )
    pd = extra("pandas", "pandas")
    streams = [np.random.default_rng(one) for one in np.random.SeedSequence(seed).spawn(6)]
    X, design, people = _people(streams[0], n, blanks / 3, pd)
    kinds = np.array(_KINDS)[np.arange(m) % len(_KINDS)]
    tasks = [f"{kind} {place // len(_KINDS) + 1:02d}" for place, kind in enumerate(kinds)]
    chances = _chances(people, _rules(streams[1], kinds))
    labels = (streams[2].random((n, m)) < chances).astype(float)
    labels[streams[3].random((n, m)) < blanks] = np.nan
    fold = folds(n, seed)
    named = {"index": X.index, "columns": tasks}
    known = None
    if truth:
        known = pd.Series(_truth(streams[4:], people, design, fold), X.index, name="true rate")
    groups = X[["district"]].assign(newcomer=np.where(people.newcomer, "yes", "no"))
    return People(
        X=X,
        Y=pd.DataFrame(labels, **named),
        decisions=pd.DataFrame(plain_decisions(design, labels, fold), **named),
        groups=groups,
        kinds=pd.Series(kinds, index=tasks, name="kind"),
        source="Made up by averagefair.datasets.make_town. No person in it is real.",
        truth=known,
    )


def _people(
    rng: np.random.Generator, n: int, blanks: float, pd: Any
) -> tuple[Any, FloatArray, _Inhabitants]:
    """Draw the people: their table, what a plain model sees of it, and what labels depend on."""
    district = rng.choice(3, n, p=[0.4, 0.35, 0.25])
    newcomer = rng.random(n) < np.array(NEWCOMERS)[district]
    age = rng.integers(18, 80, n)
    grade = np.clip(rng.normal(2.8, 0.6, n), 1, 4)
    income = np.exp(rng.normal(3.3, 0.4, n) + 0.15 * (grade - 2.8) - 0.15 * newcomer)
    savings = rng.gamma(1.5, 6, n) * (0.5 + age / 80)
    late = rng.poisson(np.exp(0.6 - 0.25 * (grade - 2.8) - 0.2 * np.log(savings + 1)))
    visits = rng.poisson(6, n)
    traits = np.column_stack([np.log(income), np.sqrt(savings), age, np.sqrt(late), grade, visits])
    job = rng.choice(len(_JOBS), n, p=[0.35, 0.25, 0.2, 0.1, 0.1])
    years = np.where(newcomer, rng.integers(0, 2, n), rng.integers(2, 30, n))
    table = pd.DataFrame(
        {
            "age": age,
            "district": np.array(_DISTRICTS)[district],
            "job": np.array(_JOBS)[job],
            "years_here": years,
            "income": income.round(1),
            "savings": savings.round(1),
            "late_bills": late,
            "school_grade": grade.round(1),
            "site_visits": visits,
        },
        index=pd.Index(_names(rng, n), name="person"),
    )
    for column in ("income", "savings"):
        table.loc[rng.random(n) < blanks, column] = np.nan
    numbers = table.drop(columns=["district", "job"]).to_numpy(dtype=float)
    words = [district[:, None] == np.arange(1, 3), job[:, None] == np.arange(1, len(_JOBS))]
    design = np.hstack([filled(numbers), *words]).astype(float)
    scale = traits.std(axis=0)
    scaled = (traits - traits.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    return table, design, _Inhabitants(scaled, newcomer)


def _names(rng: np.random.Generator, n: int) -> list[str]:
    """Return different names; in a large town, a number follows a name that was used before."""
    rounds = [rng.permutation(len(_NAMES)) for _ in range(-(-n // len(_NAMES)))]
    drawn = [
        _NAMES[place] if number == 0 else f"{_NAMES[place]} {number + 1}"
        for number, places in enumerate(rounds)
        for place in places
    ]
    return drawn[:n]


def _rules(rng: np.random.Generator, kinds: NDArray[Any]) -> _Rules:
    """Draw the rules of tasks of these kinds."""
    d, m = len(_TRAITS), len(kinds)
    means = np.array([_MEANS[str(kind)] for kind in kinds]).T
    usual = means + _OWN * rng.normal(size=(d, m))
    newcomers = LESS_KNOWN * usual + (1 - LESS_KNOWN) * rng.normal(size=(d, m))
    return _Rules(usual, newcomers, 0.4 * rng.normal(size=m))


def _chances(people: _Inhabitants, rules: _Rules) -> FloatArray:
    """Return the chance of label 1, (people, tasks)."""
    usual, newcomers = people.traits @ rules.usual, people.traits @ rules.newcomers
    score = np.where(people.newcomer[:, None], newcomers, usual) + rules.shift
    chances: FloatArray = 1 / (1 + np.exp(-np.clip(score / (LABEL_NOISE / 2), -50, 50)))
    return chances


def _truth(
    streams: list[np.random.Generator],
    people: _Inhabitants,
    design: FloatArray,
    fold: NDArray[Any],
) -> FloatArray:
    """Return everybody's mean chance of a wrong decision over further tasks."""
    wrong = np.zeros(len(design))
    for start in range(0, TRUTH_TASKS, AT_ONCE):
        kinds = np.array(_KINDS)[np.arange(start, start + AT_ONCE) % len(_KINDS)]
        chances = _chances(people, _rules(streams[0], kinds))
        labels = (streams[1].random(chances.shape) < chances).astype(float)
        decided = plain_decisions(design, labels, fold)
        wrong += np.where(decided == 1, 1 - chances, chances).sum(axis=1)
    return wrong / TRUTH_TASKS
