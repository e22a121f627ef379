"""Tiny problems, fits by column generation, and oracles that go wrong."""

import warnings

import numpy as np
import pytest

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    DegenerateTaskWarning,
    FiniteOracle,
    RegressionOracle,
    StumpOracle,
    UndefinedRateWarning,
)
from averagefair.game.protocols import Oracle
from tests.support.judges import plain_error, rates_of, spread_of, stump_decisions

BOTH = ["false_positive", "false_negative"]
RATES = ["error", "false_positive", "false_negative", BOTH]
RULES = (lambda x: x[:, 0] > 0, lambda x: x[:, 1] > x[:, 0], lambda x: x.sum(axis=1) > 0.5)
EITHER = [StumpOracle(), RegressionOracle()]
CONSTANTS = (lambda x: np.zeros(len(x)), lambda x: np.ones(len(x)))


def listed(*classifiers):
    return FiniteOracle(classifiers), lambda X: np.array([c(X) for c in classifiers], dtype=bool)


# Each oracle, with all decisions of its class.
ORACLES = {
    "stump": (StumpOracle(), stump_decisions),
    "with constants": listed(*RULES, *CONSTANTS),
    "without constants": listed(*RULES),
    "one rule": listed(RULES[0]),
}
BAD_SETTINGS = {
    "tol": [0, -1, np.inf, np.nan, "a", None, True],
    "max_rounds": [0, 1.5, None, "a", True],
    "time_limit": [0, -1, np.inf, np.nan, "a"],
    "patience": [0, 2.5, "long", None],
    "smoothing": [-0.1, 1, np.nan, "a", None],
    "reweightings": [-1, 0.5],
    "blocks": [0, 2.5, "all"],
    "columns_per_block": [0, 1.5],
    "mapping_rounds": [-1, 0.5, None],
    "mapping_influence": [0, -1, np.nan, "a"],
}
BAD_REQUESTS = {
    "alpha": [0.0, 0.51, np.nan, "a"],
    "beta": [-0.1, 1.0, np.nan, None, "a"],
    "max_influence": [0, -1, np.inf, np.nan, "a"],
    "rate": [[], ["error", "error"], ["error", 3], "errors"],
    "solver": [ColumnGeneration, 3],
}


def instance(seed, most=8):
    """Draw features, labels with blanks, and weights of people and tasks; some weights are 0."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, most + 1), rng.integers(1, 5)
    X = rng.standard_normal((n, 2)).round(1)
    Y = (rng.random((n, m)) < rng.random()).astype(float)
    Y[rng.random(Y.shape) < rng.choice([0.0, 0.3])] = np.nan
    people, tasks = np.ones(n), np.ones(m)
    if rng.random() < 0.5:
        people, tasks = rng.choice([0, 0.5, 1, 3], n), rng.choice([0, 0.5, 1, 2], m)
    people[0] = tasks[0] = 1.0
    Y[0, 0] = np.nan_to_num(Y[0, 0])
    return X, Y, people, tasks


def labelled(seed=0, n=24, m=6, d=3):
    """Draw labels; every person and every task has both a 0 and a 1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = (X @ rng.standard_normal((d, m)) + rng.standard_normal((n, m)) > 0).astype(float)
    rows = np.arange(n)
    Y[rows, rows % m], Y[rows, (rows + 1) % m] = 0.0, 1.0
    return X, Y


def fit(X, Y, people=None, tasks=None, tol=1e-6, **params):
    """Fit by column generation; decisions are drawn, so that the model is what the solver found."""
    params = {
        "solver": ColumnGeneration(tol=tol, mapping_rounds=3),
        "decisions": "drawn",
        "random_state": 0,
    } | params
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedRateWarning)
        warnings.simplefilter("ignore", DegenerateTaskWarning)
        return AverageFairClassifier(**params).fit(X, Y, people, tasks)


def assert_keeps_to_alpha(model, X, Y, alpha, rate="error"):
    assert spread_of(rates_of(model, X, Y, rate)) <= 2 * alpha + 1e-6
    assert model.certificate_.met
    assert model.error_ == pytest.approx(plain_error(Y, model.decision_probability(X)), abs=1e-9)
    assert set(np.unique(model.predict(X))) <= {0, 1}


BROKEN = RuntimeError("the oracle broke")


class Counting(Oracle):
    """An oracle that counts its answers and may fail at one of them."""

    def __init__(self, oracle, at=None, error=BROKEN, for_good=False):
        self.oracle, self.exact = oracle, oracle.exact
        self.asked, self.at, self.error, self.for_good = 0, at, error, for_good

    def bind(self, sample):
        answer = self.oracle.bind(sample)

        def respond(costs):
            self.asked += 1
            if self.asked == self.at or (self.for_good and self.asked > self.at):
                raise self.error
            return answer(costs)

        return respond


class Stubborn(Oracle):
    """An oracle that always gives the same answer."""

    def __init__(self, exact):
        self.exact = exact

    def bind(self, sample):
        answer = StumpOracle().bind(sample)
        first = []

        def respond(costs):
            first.append(answer(costs))
            return first[0]

        return respond


def answers_after_each_round(X, Y, oracle):
    """Return how many answers an oracle has given by the end of each round."""
    counts = []
    fit(
        X,
        Y,
        alpha=0.05,
        oracle=oracle,
        solver=None,
        callback=lambda now: counts.append(oracle.asked),
    )
    return counts
