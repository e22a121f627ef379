"""ONNX files decide as the model does: compared with ONNX Runtime, on the same people."""

from __future__ import annotations

import warnings

import numpy as np
import onnx
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import averagefair
from averagefair import FeatureMap, Mixture, RegressionOracle, Sample, StumpOracle, load
from averagefair.game.constant_classifiers import Constant, constants
from averagefair.game.per_task_choice import PerTaskChoice
from averagefair.oracles.linear import LinearThresholds
from averagefair.oracles.stump import Stumps
from averagefair.oracles.weighted import FittedClassifiers
from tests.support.hostile_names import HOSTILE
from tests.support.onnx_runs import facts, run_onnx
from tests.support.small_fits import D, M, model, people

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, Y = people(blanks=0.2)
MANY, MANY_LABELS = people(seed=1, n=400)
OTHERS = np.random.default_rng(5).normal(size=(20_000, D))
LATER = people(seed=3)[1]


def assert_same(mixture, path, people=OTHERS):
    """Check that a file gives the decisions or chances of a mixture, bit by bit."""
    mixture.to_onnx(path)
    found, name = run_onnx(path, people)
    assert name == ("decisions" if mixture.is_fixed else "chances")
    assert found.dtype == (np.int64 if mixture.is_fixed else np.float64)
    np.testing.assert_array_equal(found, mixture.decision_probability(people))
    return found


def fixed(hypothesis, k):
    return Mixture.fixed(hypothesis, Sample(np.zeros((2, D)), [[0] * k, [1] * k]))


def fitted(classifier, labels=(0, 1), tasks=3):
    """Return fitted classifiers of some tasks, with these labels, and one constant."""
    words = np.array(labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [
            clone(classifier).fit(MANY, words[MANY_LABELS[:, task].astype(int)])
            for task in range(tasks)
        ]
    return fixed(FittedClassifiers([*made, True], labels), tasks + 1)


# Models


@pytest.mark.parametrize("decisions", ["fixed", "drawn"])
@pytest.mark.parametrize(
    "oracle",
    [
        None,
        RegressionOracle(),
        StumpOracle(),
        LogisticRegression(),
        DecisionTreeClassifier(max_depth=2),
        pytest.param(RandomForestClassifier(3, max_depth=2), marks=pytest.mark.long),
        FeatureMap(StandardScaler(), RegressionOracle()),
        make_pipeline(StandardScaler(), PolynomialFeatures(include_bias=False), RegressionOracle()),
    ],
    ids=lambda oracle: type(oracle).__name__,
)
def test_a_models_file_decides_as_the_model(oracle, decisions, tmp_path):
    fair = model(oracle=oracle, decisions=decisions, alpha=0.03).fit(X, Y)
    found = assert_same(fair.classifiers_, tmp_path / "fair.onnx")
    assert 0 < found.mean() < 1
    assert fair.classifiers_.is_fixed == (decisions == "fixed")
    fair.to_onnx(tmp_path / "again.onnx")
    np.testing.assert_array_equal(run_onnx(tmp_path / "again.onnx", OTHERS)[0], found)
    fair.save(tmp_path / "fair.model")
    load(tmp_path / "fair.model").to_onnx(tmp_path / "loaded.onnx")
    assert (tmp_path / "loaded.onnx").read_bytes() == (tmp_path / "again.onnx").read_bytes()


@pytest.mark.parametrize("decisions", ["fixed", "drawn"])
def test_later_tasks_have_a_file_too(decisions, tmp_path):
    fair = model(decisions=decisions).fit(X, Y)
    later = fair.extend(LATER, task_names=[f"later {j}" for j in range(M)])
    assert_same(later, tmp_path / "later.onnx")
    assert facts(tmp_path / "later.onnx")["task_names"] == [f"later {j}" for j in range(M)]


def test_the_file_says_what_it_holds(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b,c", "=1+1"])
    fair = model(decisions="fixed").fit(
        frame, pd.DataFrame(Y, columns=[f"t\n{j}" for j in range(M)])
    )
    fair.to_onnx(tmp_path / "fair.onnx")
    assert facts(tmp_path / "fair.onnx") == {
        "task_names": [f"t\n{j}" for j in range(M)],
        "feature_names": ["a", "b,c", "=1+1"],
        "averagefair_version": averagefair.__version__,
        "decisions": "fixed",
        "seed": str(fair.seed_),
        "fingerprint": fair.fingerprint_,
    }
    drawn = model(decisions="drawn").fit(X, Y).classifiers_
    drawn.to_onnx(tmp_path / "drawn.onnx")
    told = facts(tmp_path / "drawn.onnx")
    assert (told["decisions"], told["feature_names"]) == ("drawn", None)
    assert "fingerprint" not in told


def test_hostile_names_come_back(tmp_path):
    names = [*HOSTILE, "\ud800", "nul\x00"]
    sample = Sample(np.zeros((1, D)), [[0] * len(names)], task_names=names)
    mixture = Mixture.fixed(Constant(True, len(names)), sample)
    mixture.to_onnx(tmp_path / "a.onnx")
    assert facts(tmp_path / "a.onnx")["task_names"] == names


# Every kind of classifier


def line(k, seed=0):
    rng = np.random.default_rng(seed)
    return LinearThresholds(rng.normal(size=(D, k)), rng.normal(size=k))


STUMPS = Stumps(
    np.array([2, 0, 1, 1]),
    np.array([0.1, -1.5, np.inf, -np.inf]),
    np.array([True, False, True, True]),
)


@pytest.mark.parametrize(
    "hypothesis",
    [line(4), STUMPS, Constant(True, 4), Constant(False, 4)],
    ids=lambda hypothesis: type(hypothesis).__name__,
)
def test_plain_classifiers(hypothesis, tmp_path):
    assert_same(fixed(hypothesis, 4), tmp_path / "a.onnx")


def test_a_person_on_the_threshold(tmp_path):
    """A stump decides on the threshold itself; so does a score of exactly 0."""
    values = np.array([[0.0, -1.5, 0.1], [0.0, np.nextafter(-1.5, 0), np.nextafter(0.1, 1)]])
    stumps = Stumps(np.array([2, 1]), np.array([0.1, -1.5]), np.array([True, False]))
    found = assert_same(fixed(stumps, 2), tmp_path / "a.onnx", values)
    assert found.tolist() == [[0, 1], [1, 0]]
    tie = LinearThresholds(np.array([[1.0], [0.0], [0.0]]), np.zeros(1))
    found = assert_same(fixed(tie, 1), tmp_path / "b.onnx", np.array([[0.0] * 3, [-1e-300, 0, 0]]))
    assert found.tolist() == [[0], [1]]


def test_a_choice_of_several_kinds(tmp_path):
    tree = DecisionTreeClassifier(max_depth=3).fit(MANY, MANY_LABELS[:, 0])
    ridge = RidgeClassifier().fit(MANY, MANY_LABELS[:, 0])
    pieces = [
        line(6),
        Constant(True, 6),
        FittedClassifiers([False, tree, tree, ridge, False, False]),
        Stumps(np.arange(6) % D, np.linspace(-1, 1, 6), np.arange(6) % 2 == 0),
    ]
    choice = PerTaskChoice(pieces, [3, 0, 2, 2, 1, 3])
    assert_same(fixed(choice, 6), tmp_path / "a.onnx")
    assert_same(fixed(PerTaskChoice([choice, line(6)], [0, 1, 0, 0, 0, 1]), 6), tmp_path / "b.onnx")


def test_chances_are_the_same_to_the_last_bit(tmp_path):
    """Three shares that do not add up to 1 exactly, for all tasks and for each task."""
    sample = Sample(np.zeros((2, D)), [[0] * 4, [1] * 4])
    some = [line(4, 1), STUMPS, *constants(4)]
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    chances = assert_same(Mixture(some, shares, sample), tmp_path / "a.onnx")
    assert {0.1, 0.4, 1.0} & set(np.unique(chances))
    each = np.random.default_rng(0).dirichlet(np.ones(4), size=4).T
    assert_same(Mixture(some, each, sample), tmp_path / "b.onnx")
    alike = Mixture([line(4, 1), STUMPS, Constant(True, 4)], np.full(3, 1 / 3), sample)
    assert (assert_same(alike, tmp_path / "c.onnx") == 1.0).any()


TREE, FOREST = DecisionTreeClassifier(random_state=0), RandomForestClassifier(10, random_state=0)
CLASSIFIERS = [
    TREE,
    FOREST,
    DecisionTreeClassifier(max_depth=4, random_state=0),
    ExtraTreeClassifier(random_state=0),
    RandomForestClassifier(7, max_depth=3, random_state=0),
    ExtraTreesClassifier(5, max_depth=5, random_state=0),
    LogisticRegression(),
    LogisticRegression(fit_intercept=False),
    RidgeClassifier(),
    SGDClassifier(random_state=0),
    Perceptron(),
    LinearSVC(),
    LinearDiscriminantAnalysis(),
    GaussianNB(),
    KNeighborsClassifier(),
    MLPClassifier((5,), max_iter=50, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(MinMaxScaler(), TREE),
    make_pipeline(StandardScaler(), make_pipeline(RandomForestClassifier(3, random_state=0))),
    GridSearchCV(TREE, {"max_depth": [1, 4]}, cv=2),
]


@pytest.mark.parametrize(
    "labels",
    [
        (0, 1),
        ("yes", "no"),
        *(
            pytest.param(labels, marks=pytest.mark.long)
            for labels in ((False, True), ("no", "yes"), (1, -1))
        ),
    ],
)
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda one: type(one).__name__)
def test_scikit_learns_classifiers(classifier, labels, tmp_path):
    found = assert_same(fitted(classifier, labels), tmp_path / "a.onnx", OTHERS[:5000])
    assert (found[:, -1] == 1).all()


def test_a_tree_of_one_leaf_and_a_forest_of_them(tmp_path):
    for leaf in (DecisionTreeClassifier(), RandomForestClassifier(3)):
        for label in (0, 1):
            alone = leaf.fit(MANY, np.full(len(MANY), label))
            found = assert_same(fixed(FittedClassifiers([alone]), 1), tmp_path / "a.onnx")
            assert (found == label).all()


@pytest.mark.parametrize("classifier", [TREE, FOREST])
def test_features_close_to_a_trees_thresholds(classifier, tmp_path):
    """scikit-learn rounds features to single precision before it compares them."""
    mixture = fitted(classifier, tasks=1)
    known = mixture.hypotheses[0].classifiers[0]
    trees = getattr(known, "estimators_", [known])
    cuts = np.concatenate([tree.tree_.threshold[tree.tree_.feature >= 0] for tree in trees])
    rounded = cuts.astype(np.float32).astype(np.float64)
    near = [
        *(cuts, rounded, np.nextafter(cuts, -9), np.nextafter(cuts, 9)),
        *(np.nextafter(rounded, -9), np.nextafter(rounded, 9), cuts * (1 + 1e-8)),
    ]
    values = np.random.default_rng(0).choice(np.concatenate(near), size=(20_000, D))
    assert_same(mixture, tmp_path / "a.onnx", values)
    # In double precision alone some decisions would differ, so this test can fail.
    single = values.astype(np.float32).astype(np.float64)
    assert (single <= np.median(cuts)).sum() > 0
    assert ((values[:, None, 0] <= cuts) != (single[:, None, 0] <= cuts)).any()


# Files


def test_two_exports_are_the_same_file(tmp_path):
    mixture = fitted(KNeighborsClassifier())
    mixture.to_onnx(tmp_path / "a.onnx")
    mixture.to_onnx(tmp_path / "b.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_files_are_understood_since_2023(tmp_path):
    fitted(make_pipeline(StandardScaler(), MLPClassifier((2,)))).to_onnx(tmp_path / "a.onnx")
    made = onnx.load(tmp_path / "a.onnx")
    assert {one.domain: one.version for one in made.opset_import} == {"": 19, "ai.onnx.ml": 3}
    assert made.ir_version <= 9


def test_one_person_and_nobody(tmp_path):
    mixture = fitted(DecisionTreeClassifier())
    assert_same(mixture, tmp_path / "a.onnx", OTHERS[:1])
    assert run_onnx(tmp_path / "a.onnx", OTHERS[:0])[0].shape == (0, 4)


def test_only_the_owner_reads_files_that_may_hold_peoples_features(tmp_path):
    fitted(KNeighborsClassifier()).to_onnx(tmp_path / "a.onnx")
    fixed(line(2), 2).to_onnx(tmp_path / "b.onnx")
    assert (tmp_path / "a.onnx").stat().st_mode & 0o077 == 0
