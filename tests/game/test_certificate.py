"""A certificate is true for every oracle, solver and input."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from averagefair import (
    AverageFairClassifier,
    ExponentiatedGradient,
    FiniteOracle,
    InputError,
    RegressionOracle,
    Status,
    StumpOracle,
    audit,
)
from averagefair.datasets import make_synthetic
from averagefair.game.protocols import Oracle
from tests.support.judges import optimum
from tests.support.tiny_fits import BOTH, fit, labelled

RULES = [lambda x: x[:, 0] > 0, lambda x: x[:, 1] > 0]


class Boaster(Oracle):
    """Least squares that calls itself exact."""

    exact = True

    def bind(self, sample):
        return RegressionOracle().bind(sample)


def test_an_oracle_that_is_not_exact_is_found_out():
    people = make_synthetic(n=40, m=8, random_state=0)
    found = [
        AverageFairClassifier(alpha, oracle=Boaster(), decisions="drawn", random_state=0)
        .fit(people.X, people.Y)
        .certificate_
        for alpha in (0.02, 0.05)
    ]
    contradicted = [known for known in found if known.status is Status.CONTRADICTED]
    assert contradicted, "a bound above what was reached shows that the oracle is not exact"
    for known in contradicted:
        assert np.isnan(known.lower)
        assert np.isnan(known.gap)
        assert "contradicted" in str(known)
        assert "OPT" not in str(known)


def test_a_class_without_fair_members_has_the_constants():
    X, Y = labelled(n=10, m=3, d=2)
    solver = ExponentiatedGradient(max_rounds=300)
    model = AverageFairClassifier(alpha=0.05, oracle=FiniteOracle(RULES), solver=solver)
    with pytest.warns(ConvergenceWarning, match="NOT met"):
        model.fit(X, Y)
    decisions = np.array([rule(X) for rule in RULES])
    best = optimum(Y, decisions, "error", 0.05, constants=True)
    assert model.certificate_.lower - 1e-9 <= best <= model.certificate_.upper + 1e-9


def test_a_small_dual_bound_makes_no_false_bound():
    X, Y = labelled(n=20, m=6)
    solver = ExponentiatedGradient(max_rounds=50, dual_bound=0.01)
    model = AverageFairClassifier(alpha=0.02, oracle=StumpOracle(), solver=solver)
    with pytest.warns(ConvergenceWarning):
        loose = model.fit(X, Y).certificate_
    tight = fit(X, Y, tol=1e-6, alpha=0.02, oracle=StumpOracle()).certificate_
    assert loose.lower - 1e-6 <= tight.lower <= tight.upper <= loose.upper + 1e-6


@pytest.mark.parametrize("kind", [np.float32, np.float64, Fraction])
def test_any_kind_of_number_will_do(kind):
    X, Y = labelled(n=12, m=4)
    known = fit(X, Y, alpha=kind(0.125), beta=kind(0.25), oracle=StumpOracle()).certificate_
    same = fit(X, Y, alpha=0.125, beta=0.25, oracle=StumpOracle()).certificate_
    assert known.error == same.error
    assert "alpha 0.125" in str(known)


def test_an_alpha_below_the_precision_of_rates_is_refused():
    with pytest.raises(InputError, match=r"`alpha` must be at least 1e-06.*got 1e-12"):
        fit(*labelled(n=12, m=4), alpha=1e-12)


@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("rate", ["error", BOTH], ids=str)
def test_the_common_rate_is_in_the_middle_of_everybody(alpha, rate):
    X, Y = labelled(n=20, m=6)
    model = fit(X, Y, alpha=alpha, rate=rate, oracle=StumpOracle())
    for rates, common in zip(
        model.individual_rates_.reshape(20, -1).T, np.atleast_1d(model.common_rate_), strict=True
    ):
        assert common == pytest.approx((np.nanmin(rates) + np.nanmax(rates)) / 2, abs=1e-9)
    assert model.certificate_.deviation == pytest.approx(model.certificate_.spread / 2, abs=1e-9)


def test_one_of_a_thing_is_said_in_the_singular():
    one = make_synthetic(n=1, m=1, random_state=0)
    X, Y = np.array([[0.0], [1.0], [2.0]]), np.array([[0], [1], [1]])
    model = AverageFairClassifier(alpha=0.5, oracle=StumpOracle(), random_state=0).fit(X, Y)
    certificate = replace(model.certificate_, rounds=1, oracle_calls=1, columns=1)
    said = [certificate, model.classifiers_, model.mapping_, one]
    said += [audit(Y[:1], Y[:1]), audit(Y, 1 - Y, groups=["a", "b", "b"])]
    for text in map(str, said):
        assert not re.search(
            r"\b1 (people|individuals|hypotheses|families|(?!hypothesis)\w+s)\b", text
        ), text
    assert "1 round, 1 oracle call, 1 column in use" in str(certificate)
    with pytest.raises(InputError, match=r"got 1 row of X and 3 rows of Y"):
        model.fit(X[:1], Y)
