"""Generated samples, rates, oracles and solvers, and a decorator that tests a property of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import wraps

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    DegenerateTaskWarning,
    ExponentiatedGradient,
    FiniteOracle,
    LogisticOracle,
    Polished,
    Portfolio,
    RegressionOracle,
    StumpOracle,
    UndefinedRateWarning,
    frontier,
)
from averagefair.oracles import default_oracle
from tests.support.judges import stump_decisions
from tests.support.reliability import TRIED


def holds(share=1.0, **strategies):
    """Make a property a test: its assertions must hold for every generated case.

    Parameters
    ----------
    share : float
        The number of cases as a share of the usual number; slow properties try fewer.
    **strategies
        The strategies that generate the arguments.
    """

    def make(test):
        name = f"{test.__module__}: {test.__name__}"

        @wraps(test)
        def counted(**case):
            TRIED[name] += 0
            test(**case)
            TRIED[name] += 1

        nightly = settings.get_profile("nightly")
        usual = nightly if settings.default is nightly else settings.get_profile("few")
        count = max(3, round(share * usual.max_examples))
        made = settings(usual, max_examples=count)(given(**strategies)(counted))
        made.body, made.strategies = test, strategies
        return pytest.mark.properties(made)

    return make


def try_once(made, **more):
    """Try a property on some cases without counting them; stop at the first that fails."""
    some = settings(
        settings.get_profile("few"), max_examples=80, phases=[Phase.generate], database=None
    )

    @some
    @given(**made.strategies)
    def trial(**case):
        made.body(**case, **more)

    trial()


# --- people, tasks and labels --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class World:
    """Features (n, d), labels (n, m) with blanks, and weights of people and tasks or None."""

    X: np.ndarray
    Y: np.ndarray
    people: np.ndarray | None = None
    tasks: np.ndarray | None = None

    @property
    def a(self):
        return np.ones(len(self.X)) if self.people is None else self.people

    @property
    def b(self):
        return np.ones(self.Y.shape[1]) if self.tasks is None else self.tasks

    @property
    def weights(self):
        """The weights by the names of the judges' parameters."""
        return {"task_weights": self.b, "individual_weights": self.a}

    def but(self, **changes):
        return replace(self, **changes)

    def take_people(self, rows):
        return self.but(X=self.X[rows], Y=self.Y[rows], people=self.a[rows])

    def take_tasks(self, columns):
        return self.but(Y=self.Y[:, columns], tasks=self.b[columns])


FEW_VALUES = st.sampled_from([-1.0, 0.0, 1.0, 2.0])
ANY_VALUE = st.floats(-8, 8, width=16)
LARGE_VALUE = st.floats(-1e6, 1e6).map(lambda value: round(value, 3))


@st.composite
def features(draw, n, most=3):
    """Generate columns: constant ones, equal ones, more columns than people are possible."""
    d = draw(st.integers(1, most))
    kind = draw(st.sampled_from([FEW_VALUES, ANY_VALUE, ANY_VALUE, LARGE_VALUE]))
    X = draw(arrays(float, (n, d), elements=kind))
    odd = draw(st.sampled_from(["", "", "", "constant", "twice"]))
    if odd == "constant":
        X[:, draw(st.integers(0, d - 1))] = draw(kind)
    elif odd == "twice":
        X = np.column_stack([X, X[:, draw(st.integers(0, d - 1))]])
    return X + 0.0


@st.composite
def labels(draw, n, m, blanks=True):
    """Generate 0, 1 and blanks: also tasks with a single label, and blank people and tasks."""
    some = [0.0, 1.0, np.nan] if blanks and draw(st.booleans()) else [0.0, 1.0]
    Y = draw(arrays(float, (n, m), elements=st.sampled_from(some)))
    odd = draw(st.sampled_from(["", "", "", "a single label", "person", "task"]))
    if odd == "a single label":
        column = draw(st.integers(0, m - 1))
        Y[:, column] = np.where(np.isnan(Y[:, column]), np.nan, float(draw(st.booleans())))
    elif odd == "person" and blanks:
        Y[draw(st.integers(0, n - 1))] = np.nan
    elif odd == "task" and blanks:
        Y[:, draw(st.integers(0, m - 1))] = np.nan
    return Y


def learnable(seed, n, m, d, blanks):
    """Draw features and labels; the features predict some of the labels, as in real data."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).round(int(rng.integers(0, 4)))
    noise = rng.choice([0.1, 1.0, 10.0])
    Y = X @ rng.standard_normal((d, m)) + noise * rng.standard_normal((n, m)) > rng.normal()
    return X + 0.0, np.where(rng.random((n, m)) < blanks * rng.choice([0, 0.3]), np.nan, Y)


@st.composite
def worlds(draw, people=6, tasks=4, columns=3, *, least=1, blanks=True, weights=True):
    """A few people and tasks; at least one label has a person and a task of positive weight.

    Cells are drawn one by one; or a seed draws up to twice the people and half as many tasks more.
    """
    if draw(st.booleans()):
        n, m = draw(st.integers(least, people)), draw(st.integers(1, tasks))
        X, Y = draw(features(n, columns)), draw(labels(n, m, blanks))
    else:
        n, m = draw(st.integers(least, 2 * people)), draw(st.integers(1, tasks + tasks // 2))
        seed, d = draw(st.integers(0, 2**32 - 1)), draw(st.integers(1, columns))
        X, Y = learnable(seed, n, m, d, blanks)
    a = b = None
    if weights and draw(st.booleans()):
        a = draw(arrays(float, n, elements=st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0])))
    if weights and draw(st.booleans()):
        b = draw(arrays(float, m, elements=st.sampled_from([0.0, 0.5, 1.0, 3.0])))
    row, column = draw(st.integers(0, n - 1)), draw(st.integers(0, m - 1))
    if np.isnan(Y[row, column]):
        Y[row, column] = float(draw(st.booleans()))
    for known, place in ((a, row), (b, column)):
        if known is not None and known[place] == 0:
            known[place] = 1.0
    return World(X, Y, a, b)


# --- rates, alphas, oracles and solvers ----------------------------------------------------------

BOTH = ["false_positive", "false_negative"]
RATES = ["error", "false_positive", "false_negative", BOTH, ["error", "false_negative"]]
rates = st.sampled_from(RATES)
single_rates = st.sampled_from(RATES[:3])
alphas = st.one_of(st.sampled_from([0.01, 0.05, 0.1, 0.25, 0.5]), st.floats(0.001, 0.5))

CONSTANTS = (lambda x: np.zeros(len(x)), lambda x: np.ones(len(x)))
RULES = (
    lambda x: x[:, 0] > 0,
    lambda x: x[:, -1] <= 0.5,
    lambda x: x.sum(axis=1) > 0.5,
)


def listed(*rules):
    return FiniteOracle(rules), lambda X: np.array([rule(X) for rule in rules], dtype=bool)


# Each oracle, with a function that returns all decisions of its class on some people, (h, n).
EXACT = {
    "stump": (StumpOracle(), stump_decisions),
    "listed": listed(*RULES, *CONSTANTS),
    "one rule": listed(RULES[0]),
}
LINEAR = {
    "regression": RegressionOracle(),
    "ridge": RegressionOracle(l2=0.5),
    "logistic": LogisticOracle(),
    "portfolio": Portfolio([RegressionOracle(), LogisticOracle()]),
    "polished": Polished(RegressionOracle()),
    "polished along lines": Polished(RegressionOracle(), lines=3),
    "default": default_oracle(),
}
OTHER = {
    "tree": DecisionTreeClassifier(max_depth=2, random_state=0),
    "mixed portfolio": Portfolio([RegressionOracle(), StumpOracle()]),
}
exact = st.sampled_from(sorted(EXACT))
oracles = st.sampled_from(
    [EXACT["stump"][0], EXACT["listed"][0], EXACT["one rule"][0], *LINEAR.values(), *OTHER.values()]
)
SOLVERS = {
    "columns": ColumnGeneration(tol=1e-5, mapping_rounds=5),
    "few columns": ColumnGeneration(max_rounds=3, mapping_rounds=3),
    "gradient": ExponentiatedGradient(max_rounds=25, tol=None),
    "plain gradient": ExponentiatedGradient(max_rounds=9, tol=None, replay=False, shrink=False),
}
solvers = st.sampled_from(["few columns", "gradient", "plain gradient"]).map(SOLVERS.get)
# COLUMNS is for exact oracles, where a run ends with a proof; FEW_COLUMNS is for heuristic ones.
COLUMNS, FEW_COLUMNS = SOLVERS["columns"], SOLVERS["few columns"]
GRADIENT = SOLVERS["gradient"]
# Solvers whose rounds do not depend on the order of the people, except for rounding. Replay and
# shrinking are off: they compare plays or gaps that may be nearly equal.
STEADY = [
    SOLVERS["plain gradient"],
    ExponentiatedGradient(max_rounds=25, tol=None, replay=False, shrink=False),
]


def quietly(work, *args, **options):
    """Do some work; ignore the warnings about odd cases and short runs."""
    with warnings.catch_warnings():
        for kind in (UndefinedRateWarning, DegenerateTaskWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", kind)
        return work(*args, **options)


def fit(world, X=None, Y=None, *, ids=None, **params):
    """Fit a world; ``X`` and ``Y`` are its own data in another form. Decisions are drawn."""
    known = {"random_state": 0, "solver": COLUMNS, "decisions": "drawn"}
    model = AverageFairClassifier(**(known | params))
    return refit(model, world, X, Y, ids)


def refit(model, world, X=None, Y=None, ids=None):
    X, Y = world.X if X is None else X, world.Y if Y is None else Y
    return quietly(model.fit, X, Y, world.people, world.tasks, ids)


def curve_of(world, grid, **params):
    """Return the curve of a world. Decisions are drawn."""
    known = {"random_state": 0, "solver": COLUMNS, "decisions": "drawn"}
    weights = {"sample_weight": world.people, "task_weight": world.tasks}
    return quietly(frontier, world.X, world.Y, grid, **(known | params), **weights)


def chances(model, world):
    return model.decision_probability(world.X).reshape(world.Y.shape)


def kinds_of(rate):
    return [rate] if isinstance(rate, str) else rate
