"""What an ONNX file cannot hold is refused: which part, why, what works instead."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    VotingClassifier,
)
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from averagefair import FeatureMap, FiniteOracle, InputError, Mixture, RegressionOracle, Sample
from averagefair.game.constant_classifiers import Constant
from averagefair.oracles.weighted import FittedClassifiers
from tests.support.small_fits import LISTED, D, model, people

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, Y = people(n=120)


class OwnTree(DecisionTreeClassifier):
    """May predict in any way, so its tree must not be exported in its place."""

    def predict(self, X):
        return 1 - super().predict(X)


SINGLE, OTHER = ("single precision",), ("no exact conversion to ONNX",)
CLASSIFIERS = {
    "SVC": (SVC(), SINGLE),
    "GradientBoostingClassifier": (GradientBoostingClassifier(n_estimators=3), ()),
    "HistGradientBoostingClassifier": (HistGradientBoostingClassifier(max_iter=3), OTHER),
    "AdaBoostClassifier": (AdaBoostClassifier(n_estimators=3), ()),
    "VotingClassifier": (VotingClassifier([("a", LogisticRegression())]), OTHER),
    "OwnTree": (OwnTree(), OTHER),
    "Pipeline": (make_pipeline(SplineTransformer(), LogisticRegression()), OTHER),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_that_would_decide_otherwise(name, tmp_path):
    classifier, words = CLASSIFIERS[name]
    classifier.fit(X, Y[:, 0].astype(int))
    sample = Sample(np.zeros((2, D)), [[0, 0], [1, 1]], task_names=["loan\n", "school"])
    mixture = Mixture.fixed(FittedClassifiers([classifier, False]), sample)
    with pytest.raises(InputError) as refused:
        mixture.to_onnx(tmp_path / "a.onnx")
    said = str(refused.value)
    for word in (repr(r"loan\n"), name, "averagefair predict", "StumpOracle", *words):
        assert word in said
    assert not [*tmp_path.iterdir()]


MAPS = {
    "SplineTransformer": SplineTransformer(),
    "Pipeline": make_pipeline(StandardScaler(), Nystroem(n_components=5, random_state=0)),
    "FunctionTransformer": FunctionTransformer(np.cbrt),
}


@pytest.mark.parametrize("name", MAPS)
def test_a_feature_map_that_skl2onnx_does_not_know(name, tmp_path):
    fair = model(oracle=FeatureMap(MAPS[name], RegressionOracle())).fit(X, Y)
    with pytest.raises(InputError, match=f"the feature map, {name}.*averagefair predict"):
        fair.to_onnx(tmp_path / "a.onnx")
    assert not [*tmp_path.iterdir()]


def test_classifiers_of_an_unknown_class(tmp_path):
    fair = model(oracle=FiniteOracle(LISTED)).fit(X, pd.DataFrame(Y, columns=list("abcdef")))
    with pytest.raises(InputError, match=r"type Choices.*task 'a'.*predict"):
        fair.to_onnx(tmp_path / "a.onnx")


CONSTANT = Mixture.fixed(Constant(True, 2), Sample(np.zeros((2, D)), [[0, 0], [1, 1]]))


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="not text"):
        CONSTANT.to_onnx("-")
    with pytest.raises(InputError, match="cannot be written"):
        CONSTANT.to_onnx(tmp_path / "none" / "a.onnx")


def test_an_old_file_stays_if_the_export_fails(tmp_path):
    path = tmp_path / "a.onnx"
    CONSTANT.to_onnx(path)
    before = path.read_bytes()
    with pytest.raises(InputError):
        model(oracle=FiniteOracle(LISTED)).fit(X, Y).to_onnx(path)
    assert path.read_bytes() == before
    model().fit(X, Y).to_onnx(path)
    assert path.read_bytes() != before
    assert [one.name for one in tmp_path.iterdir()] == ["a.onnx"]


class Missing:
    """Finds no module of some packages, as if they were not installed."""

    def __init__(self, *packages):
        self.packages = packages

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.packages:
            raise ModuleNotFoundError(name, name=name)


@pytest.fixture
def without(monkeypatch):
    def without(*packages):
        for name in [one for one in sys.modules if one.partition(".")[0] in packages]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(sys, "meta_path", [Missing(*packages), *sys.meta_path])

    return without


def test_without_onnx_the_error_says_how_to_install_it(without, tmp_path):
    without("onnx", "skl2onnx")
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'averagefair\[onnx\]'"):
        CONSTANT.to_onnx(tmp_path / "a.onnx")
    assert not [*tmp_path.iterdir()]


def test_skl2onnx_is_needed_for_its_own_part_alone(without, tmp_path):
    mapped = model(oracle=FeatureMap(StandardScaler(), RegressionOracle())).fit(X, Y)
    without("skl2onnx")
    CONSTANT.to_onnx(tmp_path / "a.onnx")
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'averagefair\[onnx\]'"):
        mapped.to_onnx(tmp_path / "b.onnx")


def test_without_pandas_the_error_says_how_to_install_it(without):
    without("pandas")
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'averagefair\[pandas\]'"):
        CONSTANT.coefficients()
