"""Model files with scikit-learn's classifiers: they load again, and wrong contents are refused."""

import warnings
from functools import cache

import numpy as np
import pytest
import skops.io as skops
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from averagefair import InputError, WeightedOracle, load, save
from averagefair.persistence import UntrustedError
from tests.support.model_files import altered, assert_decides_the_same, contents, there_and_back
from tests.support.small_fits import STRANGERS, model, people, rounds

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
TREE = DecisionTreeClassifier(max_depth=3)
SEVERAL = [("a", LogisticRegression()), ("b", GaussianNB())]
CLASSIFIERS = {
    "tree": TREE,
    "forest": RandomForestClassifier(3),
    "extra trees": ExtraTreesClassifier(3),
    "boosting": GradientBoostingClassifier(n_estimators=3),
    "histograms": HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2),
    "bags": BaggingClassifier(TREE, n_estimators=3, max_features=2),
    "ada": AdaBoostClassifier(TREE, n_estimators=3),
    "logistic": LogisticRegression(),
    "ridge": RidgeClassifier(),
    "steps": SGDClassifier(max_iter=20),
    "bayes": GaussianNB(),
    "network": MLPClassifier((3,), max_iter=3),
    "calibrated": CalibratedClassifierCV(GaussianNB(), cv=2),
    "votes": VotingClassifier(SEVERAL),
    "stack": StackingClassifier(SEVERAL, cv=2),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
}


def fitted(classifier):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model(oracle=classifier, solver=rounds(2)).fit(*people())


@cache
def by_name(kind):
    """Fit once for all tests that only read the model."""
    return fitted(CLASSIFIERS[kind])


# Others made of several classifiers stand for these.
SLOW = ("stack", "calibrated", "extra trees")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.long] * (kind in SLOW)) for kind in CLASSIFIERS]
)
def test_classifiers_come_back_the_same_to_the_last_bit(kind, tmp_path):
    one, classifier = by_name(kind), CLASSIFIERS[kind]
    same = there_and_back(one, tmp_path / "fair.model", extendable=True)
    assert_decides_the_same(one, same, people()[0], STRANGERS)
    assert str(same.oracle) == str(classifier)
    later = people(seed=5)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_decides_the_same(one.extend(later), same.extend(later), STRANGERS)


def test_settings_of_the_oracle_come_back(tmp_path):
    oracle = WeightedOracle(TREE, n_jobs=1, classes=("no", "yes"), reuse=0.1, progress=print)
    save(fitted(oracle), tmp_path / "fair.model")
    same = load(tmp_path / "fair.model").oracle
    assert (same.classes, same.reuse, same.progress) == (("no", "yes"), 0.1, None)
    assert same.n_jobs is None  # the reader chooses
    assert str(same.estimator) == str(TREE)


def test_such_a_file_is_its_owners_alone(tmp_path):
    save(fitted(TREE), tmp_path / "fair.model")
    assert (tmp_path / "fair.model").stat().st_mode & 0o777 == 0o600


# Contents that compiled code uses without a check.


def test_what_cannot_be_looked_through_must_be_accepted_by_name(tmp_path):
    one = fitted(SVC())
    save(one, tmp_path / "fair.model")
    with pytest.raises(UntrustedError, match=r"sklearn\.svm\._classes\.SVC.*trusted="):
        load(tmp_path / "fair.model")
    same = load(tmp_path / "fair.model", trusted=["sklearn.svm._classes.SVC"])
    assert_decides_the_same(one, same, STRANGERS)


def nodes(tree, change):
    """Replace the nodes of a tree."""
    state = tree.__getstate__()
    state["nodes"] = state["nodes"].copy()
    change(state["nodes"])
    tree.__setstate__(state)


def set_in_first_inner(name, value):
    def change(found):
        inner = np.flatnonzero(found["left_child"] != -1)[0]
        found[name][inner] = value

    return lambda listed: nodes(listed[0]["classifiers"][0].tree_, change)


def of_histogram(name, value):
    def change(listed):
        found = listed[0]["classifiers"][0]._predictors[0][0].nodes
        found[name][np.flatnonzero(found["is_leaf"] == 0)[0]] = value

    return change


def of_forest(change):
    return lambda listed: nodes(listed[0]["classifiers"][0].estimators_[1].tree_, change)


def astray(found):
    found["right_child"][0] = 10**6


def of_first(**attributes):
    return lambda listed: vars(listed[0]["classifiers"][0]).update(attributes)


ASTRAY = {
    "a child far away": ("tree", set_in_first_inner("left_child", 10**9)),
    "a child before": ("tree", set_in_first_inner("right_child", -5)),
    "a circle": ("tree", set_in_first_inner("left_child", 0)),
    "a feature far away": ("tree", set_in_first_inner("feature", 10**6)),
    "a feature before": ("tree", set_in_first_inner("feature", -7)),
    "other features": ("tree", of_first(n_features_in_=7)),
    "a tree of a forest": ("forest", of_forest(astray)),
    "a tree of boosting": (
        "boosting",
        lambda listed: nodes(listed[0]["classifiers"][0].estimators_[0, 0].tree_, astray),
    ),
    "a histogram's child": ("histograms", of_histogram("left", 10**6)),
    "a histogram's circle": ("histograms", of_histogram("right", 0)),
    "a histogram's feature": ("histograms", of_histogram("feature_idx", 999)),
    "a forest of other features": ("forest", of_first(n_features_in_=5)),
    "no classifiers": ("tree", lambda listed: listed.clear()),
    "one classifier less": ("tree", lambda listed: listed[0]["classifiers"].pop()),
    "a number for a classifier": (
        "tree",
        lambda listed: listed[0]["classifiers"].__setitem__(0, 3.5),
    ),
    "one class": ("tree", lambda listed: listed[0]["classes"].pop()),
}


@pytest.mark.parametrize(("kind", "change"), ASTRAY.values(), ids=ASTRAY.keys())
def test_classifiers_that_were_led_astray_are_refused(kind, change, tmp_path):
    path = tmp_path / "fair.model"
    save(by_name(kind), path)
    arrays, _ = contents(path)
    data = arrays["fitted.classifiers"].tobytes()
    listed = skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    change(listed)
    meant = np.frombuffer(skops.dumps(listed), np.uint8)

    def put(arrays, head):
        arrays["fitted.classifiers"] = meant

    with pytest.raises(InputError, match="damaged"):
        load(altered(path.read_bytes(), tmp_path, put))
