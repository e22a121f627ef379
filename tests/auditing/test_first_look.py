"""The first look: is there anything to fix before something is promised?"""

from __future__ import annotations

import numpy as np
import pytest

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    FirstLook,
    NothingToFixWarning,
    RegressionOracle,
    frontier,
)


def alike(seed, n=200, m=200, d=5, noise=0.2):
    """People on a sphere, rules in random directions: everybody is equally hard to judge."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1)[:, None]
    return X, ((X @ rng.normal(size=(d, m)) > 0) ^ (rng.random((n, m)) < noise)).astype(float)


def unalike(seed, n=200, m=60):
    """The labels of one person in four are nearly random."""
    rng = np.random.default_rng(seed)
    X, Y = alike(seed, n, m, noise=0.05)
    hard = np.arange(n) % 4 == 0
    return X, np.where(hard[:, None], rng.random((n, m)) < 0.5, Y).astype(float)


def look(X, Y, **options):
    model = AverageFairClassifier(alpha=0.5, oracle=RegressionOracle(), random_state=0, **options)
    return model.fit(X, Y).first_look_


@pytest.mark.filterwarnings("ignore::averagefair.errors.NothingToFixWarning")
@pytest.mark.parametrize(("looks", "most"), [(10, 3), pytest.param(30, 5, marks=pytest.mark.long)])
def test_where_people_are_alike_few_looks_find_differences(looks, most):
    """The test's level is 5%: more than ``most`` differences are found once in 700 times."""
    verdicts = [look(*alike(seed)).verdict for seed in range(looks)]
    assert verdicts.count("differences") <= most
    assert verdicts.count("none") >= looks / 2


def test_where_people_differ_the_look_says_by_how_much():
    X, Y = unalike(0)
    found = look(X, Y)
    assert isinstance(found, FirstLook)
    assert found.verdict == "differences"
    # A quarter of the people err half the time, the others at about 0.1.
    assert found.sigma == pytest.approx(0.4 * np.sqrt(3 / 16), abs=0.05)
    assert (found.people, found.tasks) == Y.shape
    assert "differ by more than chance" in found.statement()
    assert found.to_dict()["verdict"] == "differences"


def test_nothing_to_fix_is_warned_about():
    X, Y = alike(0, m=400)
    with pytest.warns(NothingToFixWarning, match="only costs error"):
        found = look(X, Y)
    assert found.verdict == "none"
    with pytest.warns(NothingToFixWarning, match="no detectable unfairness"):
        curve = frontier(X, Y, [0.3], oracle=RegressionOracle(), random_state=0)
    assert curve.first_look == found


def test_few_tasks_are_inconclusive():
    X, Y = alike(2, n=100, m=12)
    found = look(X, Y)
    assert found.verdict == "inconclusive"
    assert found.sigma_upper > 0.03
    assert "within noise" in found.statement()


@pytest.mark.parametrize("shape", [(40, 20), (60, 9)])
def test_too_few_people_or_tasks_are_not_looked_at(shape):
    X, Y = alike(3, *shape)
    assert look(X, Y) is None


def test_the_look_can_be_left_out_and_changes_no_fit():
    X, Y = unalike(4)
    few = ColumnGeneration(max_rounds=5, mapping_rounds=2)
    model = AverageFairClassifier(0.1, oracle=RegressionOracle(), solver=few, random_state=0)
    seen = model.fit(X, Y).individual_rates_
    model.set_params(look_first=False).fit(X, Y)
    assert model.first_look_ is None
    np.testing.assert_array_equal(model.individual_rates_, seen)
