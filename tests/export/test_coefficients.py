"""The table of coefficients decides as the model does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from averagefair import (
    AverageFairClassifier,
    DegenerateTaskWarning,
    FeatureMap,
    InputError,
    Mixture,
    RegressionOracle,
    Sample,
    StumpOracle,
    load,
)
from averagefair.export import rule_table, stump_rules
from averagefair.game.constant_classifiers import Constant
from averagefair.game.per_task_choice import PerTaskChoice
from averagefair.game.protocols import Hypothesis
from averagefair.oracles.linear import LinearThresholds
from averagefair.oracles.stump import Stumps
from averagefair.oracles.weighted import FittedClassifiers
from tests.support import small_fits
from tests.support.hostile_names import HOSTILE
from tests.support.small_fits import D, M, people

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, Y = people(blanks=0.2)
OTHERS = np.random.default_rng(5).normal(size=(5000, D))
LATER = people(seed=3)[1]


def model(**params):
    return small_fits.model(**({"decisions": "fixed"} | params))


def decided_by(table, X):
    """Apply the documented rule to a table of coefficients."""
    line = table.drop(columns="intercept").to_numpy()
    return (X @ line.T + table["intercept"].to_numpy() > 0).astype(np.int8)


def fixed(hypothesis, k=2, features=None):
    names = None if features is None else features
    frame = np.zeros((2, D)) if names is None else pd.DataFrame(np.zeros((2, D)), columns=names)
    return Mixture.fixed(hypothesis, Sample(frame, [[0] * k, [1] * k]))


def line(k=2, seed=0):
    rng = np.random.default_rng(seed)
    return LinearThresholds(rng.normal(size=(D, k)), rng.normal(size=k))


@pytest.mark.parametrize("oracle", [None, RegressionOracle(l2=1.0), LogisticRegression()])
def test_the_rule_decides_as_predict_does(oracle):
    fair = model(oracle=oracle).fit(X, Y)
    table = fair.coefficients()
    assert table.shape == (M, D + 1)
    np.testing.assert_array_equal(decided_by(table, OTHERS), fair.predict(OTHERS))


def test_names_are_those_of_the_tables(tmp_path):
    features, tasks = ["age in years", "a,b", "=1+1"], [f"task, {j}\n" for j in range(M)]
    fair = model().fit(pd.DataFrame(X, columns=features), pd.DataFrame(Y, columns=tasks))
    table = fair.coefficients()
    assert list(table.columns) == [*features, "intercept"]
    assert list(table.index) == tasks
    assert table.index.name == "task"
    fair.save(tmp_path / "fair.model")
    pd.testing.assert_frame_equal(load(tmp_path / "fair.model").coefficients(), table)
    unnamed = model().fit(X, Y).coefficients()
    assert list(unnamed.columns) == ["x0", "x1", "x2", "intercept"]
    np.testing.assert_array_equal(unnamed.to_numpy(), table.to_numpy())


def test_the_numbers_are_those_of_the_classifiers_with_the_other_sign():
    own = line()
    table = fixed(own).coefficients()
    np.testing.assert_array_equal(table.to_numpy()[:, :D], -own.coefficients.T)
    np.testing.assert_array_equal(table["intercept"], -own.intercepts)


def test_a_score_of_zero_decides_0():
    tie = LinearThresholds(np.ones((D, 1)), np.array([-3.0]))
    mixture = fixed(tie, k=1)
    X = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 0.5], [1.0, 1.0, 1.5]])
    assert mixture.predict(X)[:, 0].tolist() == [0, 1, 0]
    assert decided_by(mixture.coefficients(), X)[:, 0].tolist() == [0, 1, 0]


def test_tasks_with_one_label_have_coefficients_0():
    single = Y.copy()
    single[:, 1], single[:, 4] = 1.0, 0.0
    with pytest.warns(DegenerateTaskWarning):
        fair = model(oracle=RegressionOracle()).fit(X, single)
    table = fair.coefficients()
    constant = [1, 4]
    assert (table.iloc[constant, :D] == 0).all(axis=None)
    assert (np.sign(table["intercept"].iloc[constant]) == [1, -1]).all()
    assert not np.signbit(table.to_numpy()[constant, :D]).any()
    np.testing.assert_array_equal(decided_by(table, OTHERS), fair.predict(OTHERS))


def test_pieces_of_several_kinds_are_one_table_if_all_are_linear():
    fitted = RidgeClassifier().fit(X, X[:, 0] > 0)
    pieces = [
        line(5),
        Constant(True, 5),
        FittedClassifiers([True, fitted, False, fitted, fitted], (False, True)),
        Stumps(np.zeros(5, dtype=int), np.full(5, -np.inf), np.ones(5, dtype=bool)),
    ]
    mixture = fixed(PerTaskChoice(pieces, [2, 2, 0, 3, 1]), k=5)
    table = mixture.coefficients()
    np.testing.assert_array_equal(decided_by(table, OTHERS), mixture.predict(OTHERS))
    assert table["intercept"].iloc[[0, 3, 4]].tolist() == [1.0, 1.0, 1.0]


def test_chances_of_0_and_1_in_each_task_are_fixed():
    sample = Sample(np.zeros((2, D)), [[0, 1], [1, 0]])
    mixture = Mixture([line(seed=1), line(seed=2)], [[1.0, 0.0], [0.0, 1.0]], sample)
    np.testing.assert_array_equal(
        decided_by(mixture.coefficients(), OTHERS), mixture.predict(OTHERS)
    )


def test_later_tasks_have_a_table_too():
    fair = model().fit(X, Y)
    later = fair.extend(LATER, task_names=[f"later {j}" for j in range(M)])
    np.testing.assert_array_equal(decided_by(later.coefficients(), OTHERS), later.predict(OTHERS))


def test_stumps_have_a_table_that_people_can_read():
    stumps = Stumps(
        np.array([2, 0, 1, 1]),
        np.array([0.1, -3.5, np.inf, np.inf]),
        np.array([True, False, False, True]),
    )
    mixture = fixed(stumps, k=4, features=["a", "b", "c"])
    assert rule_table(mixture) == {
        "task": ("task0", "task1", "task2", "task3"),
        "feature": ["c", "a", None, None],
        "direction": ["above", "at most", "always", "never"],
        "threshold": [0.1, -3.5, None, None],
    }


def test_thresholds_decide_as_predict_does():
    fair = model(oracle=StumpOracle()).fit(X, Y)
    rules = stump_rules(fair.classifiers_)
    decisions = {
        "at most": lambda x, cut: x <= cut,
        "above": lambda x, cut: x > cut,
        "always": lambda x, cut: np.ones(len(OTHERS), dtype=bool),
        "never": lambda x, cut: np.zeros(len(OTHERS), dtype=bool),
    }
    made = [
        decisions[direction](None if name is None else OTHERS[:, int(name[1:])], cut)
        for name, direction, cut in zip(
            rules.features, rules.directions, rules.thresholds, strict=True
        )
    ]
    np.testing.assert_array_equal(np.transpose(made), fair.predict(OTHERS))


class Odd(Hypothesis):
    def decide(self, features):
        return features[:, :2] > 0

    def key(self):
        return "odd"


TREE = DecisionTreeClassifier(max_depth=2).fit(X, X[:, 0] > 0)
REFUSED = {
    "stumps": (
        lambda: fixed(Stumps(np.array([0, 1]), np.array([0.5, np.inf]), np.ones(2, dtype=bool))),
        ("thresholds on one feature (task task0)", "to_onnx", "linear oracle"),
    ),
    "a tree among lines": (
        lambda: fixed(PerTaskChoice([line(), FittedClassifiers([False, TREE])], [0, 1])),
        ("DecisionTreeClassifier (task task1)", "to_onnx"),
    ),
    "an unknown class": (lambda: fixed(Odd()), ("Odd (tasks task0, task1)", "to_onnx")),
    "labels the other way round": (
        lambda: fixed(
            FittedClassifiers([RidgeClassifier().fit(X, X[:, 0] > 0), False], (True, False))
        ),
        ("RidgeClassifier (task task0)", "to_onnx"),
    ),
    "a feature named intercept": (
        lambda: fixed(line(), features=["a", "intercept", "b"]),
        ("'intercept'", "Rename", "to_onnx"),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_coefficients_is_named(case):
    make, words = REFUSED[case]
    with pytest.raises(InputError) as refused:
        make().coefficients()
    for word in words:
        assert word in str(refused.value)


def test_drawn_decisions_have_no_coefficients():
    drawn = model(decisions="drawn", alpha=0.02).fit(X, Y)
    for refuse in (drawn.coefficients, lambda: rule_table(drawn.classifiers_)):
        with pytest.raises(InputError, match=r'decisions="fixed".*to_onnx'):
            refuse()


def test_features_of_a_map_are_not_the_users():
    mapped = model(oracle=FeatureMap(StandardScaler(), RegressionOracle())).fit(X, Y)
    with pytest.raises(InputError, match=r"StandardScaler makes of them.*to_onnx"):
        mapped.coefficients()


def test_an_unfitted_model_has_no_coefficients(tmp_path):
    for refuse in (
        AverageFairClassifier().coefficients,
        lambda: AverageFairClassifier().to_onnx(tmp_path / "a.onnx"),
    ):
        with pytest.raises(Exception, match="not fitted"):
            refuse()
    assert not [*tmp_path.iterdir()]


def test_a_table_with_hostile_names_keeps_them():
    names = [name for name in HOSTILE if len(name) < 1000]
    frame = pd.DataFrame(np.zeros((2, len(names))), columns=names)
    sample = Sample(frame, [[0] * len(names), [1] * len(names)], task_names=names)
    lines = LinearThresholds(np.eye(len(names)), np.zeros(len(names)))
    table = Mixture.fixed(lines, sample).coefficients()
    assert list(table.columns) == [*names, "intercept"]
    assert list(table.index) == names
