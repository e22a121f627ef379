"""A few people, short fits on them, and judges of what a fitted model reports."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from averagefair import (
    AverageFairClassifier,
    ExponentiatedGradient,
    FiniteOracle,
    RegressionOracle,
    StumpOracle,
    WeightedOracle,
)
from tests.support.judges import assert_fair_solution, plain_rates

N, M, D = 24, 6, 3
FEATURES = ["age", "income", "debt"]
TASKS = [f"task{j}" for j in range(M)]
LISTED = (
    lambda x: x[:, 0] > 0,
    lambda x: x[:, 1] < 0.3,
    lambda x: x[:, 2] - x[:, 0] > 0.1,
    lambda x: np.zeros(len(x)),
    lambda x: np.ones(len(x)),
)
LOGISTIC = LogisticRegression(solver="newton-cholesky")
ORACLES = {
    "default": None,
    "ridge": RegressionOracle(l2=2.0),
    "stump": StumpOracle(),
    "finite": FiniteOracle(LISTED),
    "logistic": WeightedOracle(LOGISTIC),
    "tree": DecisionTreeClassifier(max_depth=2),
}
# With equal weights, classifiers with equally many mistakes tie; these weights avoid ties.
UNEVEN = np.random.default_rng(7).uniform(0.5, 2.0, N)


def people(seed=0, blanks=0.0, n=N, m=M):
    """Draw features and labels in which everybody has at least one 0 and one 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    Y = (X @ rng.normal(size=(D, m)) + rng.normal(size=(n, m)) > 0).astype(float)
    Y[rng.random(Y.shape) < blanks] = np.nan
    rows = np.arange(n)
    Y[rows, rows % m], Y[rows, (rows + 1) % m] = 0.0, 1.0
    return X, Y


STRANGERS, _ = people(seed=99, n=60)


def rounds(count, **options):
    return ExponentiatedGradient(max_rounds=count, tol=None, **options)


def model(**params):
    return AverageFairClassifier(
        **({"alpha": 0.1, "solver": rounds(10), "random_state": 0} | params)
    )


def assert_reported_as_measured(fitted, X, Y, kind, sample_weight=None, task_weight=None):
    """Check every figure that a model reports, from its hypotheses and the labels."""
    weights = {"sample_weight": sample_weight, "task_weight": task_weight}
    assert_fair_solution(fitted, X, Y, kind, allowed=1.0, **weights)
    # People of weight 0 have no constraint, but they have a rate.
    rates = plain_rates(Y, fitted.decision_probability(X), kind, task_weight)
    np.testing.assert_allclose(fitted.individual_rates_, rates, atol=1e-9)
    certificate = fitted.certificate_
    assert certificate.error == fitted.error_
    assert certificate.common_rate == fitted.common_rate_
    assert certificate.met == (certificate.spread <= 2 * certificate.aim + 1e-6)
    assert certificate.rounds == len(fitted.history_)


def assert_same_answer(one, other, atol=0.0):
    """Compare figures and chances; if ``atol`` is 0, also decisions."""
    for name in ("error_", "common_rate_", "individual_rates_"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=0, atol=atol)
    chances = one.decision_probability(STRANGERS), other.decision_probability(STRANGERS)
    np.testing.assert_allclose(*chances, rtol=0, atol=atol)
    if atol == 0.0:
        np.testing.assert_array_equal(one.predict(STRANGERS), other.predict(STRANGERS))


def differ(one, other):
    """Return whether two models decide differently about strangers."""
    return not np.array_equal(
        one.decision_probability(STRANGERS), other.decision_probability(STRANGERS)
    )
