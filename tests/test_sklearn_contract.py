"""AverageFairClassifier among scikit-learn's: its own checks, and the habits users bring along."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from averagefair import (
    AverageFairClassifier,
    ErrorRate,
    ExponentiatedGradient,
    FalsePositiveRate,
    RegressionOracle,
    StumpOracle,
)

# Short runs miss the request, and scikit-learn's toy data have tasks with a single label. Both are
# reported by design; tests/test_estimator.py shows when.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::averagefair.DegenerateTaskWarning"),
]

SHORT = ExponentiatedGradient(max_rounds=10)
FEATURES = ["age", "income", "debt"]
TASKS = [f"task{j}" for j in range(5)]


def model(**params):
    return AverageFairClassifier(**({"alpha": 0.3, "solver": SHORT, "random_state": 0} | params))


def people(n=24, seed=0, blanks=0.0):
    """Draw features and labels in which everybody has at least one 0 and one 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(FEATURES)))
    noise = rng.normal(size=(n, len(TASKS)))
    Y = (X @ rng.normal(size=(len(FEATURES), len(TASKS))) + noise > 0).astype(float)
    Y[rng.random(Y.shape) < blanks] = np.nan
    rows = np.arange(n)
    Y[rows, rows % len(TASKS)], Y[rows, (rows + 1) % len(TASKS)] = 0.0, 1.0
    return X, Y


def frames(library, X, Y, features=FEATURES):
    if library == "pandas":
        return pd.DataFrame(X, columns=features), pd.DataFrame(Y, columns=TASKS)
    return pl.DataFrame(X, schema=features), pl.DataFrame(Y, schema=TASKS)


def assert_same_model(one, other, X):
    """Judge by what a user can see: decisions, their chances, and the figures reported."""
    np.testing.assert_array_equal(one.decision_probability(X), other.decision_probability(X))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    np.testing.assert_array_equal(one.individual_rates_, other.individual_rates_)
    assert (one.error_, one.common_rate_) == (other.error_, other.common_rate_)


# --- scikit-learn's own checks -------------------------------------------------------------------

# These checks feed labels such as 1 and 2, or strings. A table of labels has one meaning of 0 and 1
# for all its tasks, so other labels are refused rather than guessed at.
OTHER_LABELS = dict.fromkeys(
    [
        "check_classifier_data_not_an_array",
        "check_classifiers_classes",
        "check_estimators_dtypes",
        "check_fit2d_1feature",
        "check_sample_weights_not_an_array",
        "check_sample_weights_not_overwritten",
        "check_sample_weights_pandas_series",
        "check_sample_weights_shape",
    ],
    "labels other than 0 and 1 are refused by design",
)
# What the library could do better. Each is strict: once mended, its line must go.
TO_MEND = {
    "check_n_features_in_after_fitting": "score names its labels Y, scikit-learn y",
    "check_sample_weight_equivalence_on_dense_data": "fit names its labels Y, scikit-learn y",
    "check_dtype_object": "a dict among the features should be a TypeError too",
    "check_classifiers_multilabel_output_format_predict": "predict gives int8, classes_ int64",
    "check_classifier_not_supporting_multiclass": "should say 'Only binary classification ...'",
    "check_fit2d_predict1d": "predict on one dimension should say 'Reshape your data'",
}


@parametrize_with_checks(
    [model(alpha=None), model(alpha=0.5)],
    expected_failed_checks=lambda _: OTHER_LABELS | TO_MEND,
    xfail_strict=True,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


class AnyTwoLabels(AverageFairClassifier):
    """The estimator with the labels of one task encoded at the door, as a user would do it."""

    def fit(self, X, y, sample_weight=None):
        encoder = LabelEncoder()
        super().fit(X, encoder.fit_transform(np.ravel(np.asarray(y))), sample_weight)
        self.encoder_, self.classes_ = encoder, encoder.classes_
        return self

    def predict(self, X):
        return self.encoder_.inverse_transform(super().predict(X))


def _checks_of_other_labels():
    estimator = AnyTwoLabels(alpha=0.3, solver=SHORT, random_state=0)
    for instance, check in estimator_checks_generator(estimator, mark=None):
        name = check.func.__name__
        if name in OTHER_LABELS:
            yield pytest.param(instance, check, id=name)


@pytest.mark.parametrize(("estimator", "check"), list(_checks_of_other_labels()))
def test_labels_are_the_only_reason_those_checks_fail(estimator, check):
    check(estimator)


# --- parameters ----------------------------------------------------------------------------------

PARAMETERS = {
    "alpha": 0.2,
    "rate": FalsePositiveRate(holdout_tasks=1),
    "oracle": DecisionTreeClassifier(max_depth=1),
    "solver": SHORT,
    "random_state": 3,
    "callback": print,
}


def test_constructor_stores_and_does_nothing_else():
    nonsense = {name: object() for name in PARAMETERS}
    built = AverageFairClassifier(**nonsense)
    assert vars(built) == nonsense


def test_parameters_are_read_and_set_by_name():
    built = AverageFairClassifier(**PARAMETERS)
    read = built.get_params(deep=False)
    assert read.keys() == PARAMETERS.keys()
    assert all(read[name] is value for name, value in PARAMETERS.items())
    assert AverageFairClassifier().set_params(**PARAMETERS).get_params(deep=False) == read
    built.set_params(oracle__max_depth=4)
    assert built.get_params()["oracle__max_depth"] == 4
    with pytest.raises(ValueError, match="Invalid parameter 'beta'"):
        built.set_params(beta=1)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"rate": ErrorRate(rho=np.full(24, 0.8))},
        {"rate": ErrorRate(holdout_tasks=2)},
        {"oracle": StumpOracle()},
        {"oracle": RegressionOracle(l2=1.0)},
        {"oracle": DecisionTreeClassifier(max_depth=1)},
    ],
    ids=str,
)
def test_a_clone_is_unfitted_and_learns_the_same(params):
    X, Y = people()
    fitted = model(**params).fit(X, Y)
    copy = clone(fitted)
    with pytest.raises(NotFittedError):
        copy.predict(X)
    assert_same_model(copy.fit(X, Y), fitted, X)


def test_fit_leaves_the_parameters_and_the_data_alone():
    X, Y = people(blanks=0.2)
    kept = X.copy(), Y.copy()
    fitted = model(oracle=DecisionTreeClassifier(max_depth=1), rate="false_positive")
    before = fitted.get_params(deep=False)
    fitted.fit(X, Y)
    after = fitted.get_params(deep=False)
    assert all(after[name] is before[name] for name in before)
    assert not hasattr(fitted.oracle, "tree_")
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(Y, kept[1])
    assert X.flags.writeable
    assert Y.flags.writeable


def test_fit_twice_equals_fit_once():
    X, Y = people()
    twice = model().fit(*people(seed=9, n=40)).fit(X, Y)
    once = model().fit(X, Y)
    assert_same_model(twice, once, X)
    assert vars(twice).keys() == vars(once).keys()


def test_fit_returns_the_estimator():
    fitted = model()
    assert fitted.fit(*people()) is fitted


@pytest.mark.parametrize("ask", ["predict", "decision_probability", "extend", "score"])
def test_nothing_can_be_asked_before_fit(ask):
    X, Y = people()
    arguments = {"extend": (Y,), "score": (X, Y)}.get(ask, (X,))
    with pytest.raises(NotFittedError):
        getattr(model(), ask)(*arguments)


def test_it_can_be_shown():
    fitted = model().fit(*people())
    assert "alpha=0.3" in repr(fitted)
    assert "AverageFairClassifier" in fitted._repr_html_()


# --- among other tools ---------------------------------------------------------------------------


@pytest.mark.parametrize("blanks", [0.0, 0.2])
def test_grid_search_over_alpha(blanks):
    X, Y = people(n=30, blanks=blanks)
    search = GridSearchCV(model(), {"alpha": [0.05, 0.5]}, cv=KFold(3), error_score="raise")
    search.fit(X, Y)
    folds = list(KFold(3).split(X))
    for alpha, found in zip([0.05, 0.5], search.cv_results_["mean_test_score"], strict=True):
        scores = [
            model(alpha=alpha).fit(X[train], Y[train]).score(X[test], Y[test])
            for train, test in folds
        ]
        assert found == pytest.approx(np.mean(scores), abs=1e-12)
    best = model(**search.best_params_).fit(X, Y)
    assert_same_model(search.best_estimator_, best, X)


def test_grid_search_reaches_into_the_oracle():
    X, Y = people()
    tree = model(oracle=DecisionTreeClassifier())
    search = GridSearchCV(tree, {"oracle__max_depth": [1, 3]}, cv=KFold(2), error_score="raise")
    assert search.fit(X, Y).best_params_["oracle__max_depth"] in (1, 3)


def test_cross_validation_hands_weights_on():
    X, Y = people()
    weights = np.random.default_rng(1).integers(1, 4, len(X))
    found = cross_validate(
        model(), X, Y, params={"sample_weight": weights}, cv=KFold(2), error_score="raise"
    )
    for (train, test), score in zip(KFold(2).split(X), found["test_score"], strict=True):
        weighted = model().fit(X[train], Y[train], sample_weight=weights[train])
        assert score == pytest.approx(weighted.score(X[test], Y[test]), abs=1e-12)
    assert cross_val_predict(model(), X, Y, cv=KFold(2)).shape == Y.shape


def test_pipeline_with_a_scaler():
    X, Y = people()
    X = X * [1.0, 1000.0, 1e-3] + [5.0, 0.0, 1.0]
    pipeline = make_pipeline(StandardScaler(), model()).fit(X, Y)
    scaled = StandardScaler().fit_transform(X)
    alone = model().fit(scaled, Y)
    np.testing.assert_array_equal(pipeline.predict(X), alone.predict(scaled))
    ids = np.arange(len(X))
    np.testing.assert_array_equal(pipeline.predict(X, ids=ids), alone.predict(scaled, ids=ids))
    assert pipeline.score(X, Y) == alone.score(scaled, Y)


@pytest.mark.parametrize(
    "oracle", [None, StumpOracle(), DecisionTreeClassifier(max_depth=2)], ids=str
)
def test_pickle_round_trip(oracle):
    X, Y = people(blanks=0.2)
    fitted = model(oracle=oracle).fit(X, Y)
    back = pickle.loads(pickle.dumps(fitted))
    X_new, _ = people(seed=1)
    assert_same_model(back, fitted, X_new)
    np.testing.assert_array_equal(back.extend(Y).predict(X_new), fitted.extend(Y).predict(X_new))
    assert_same_model(clone(back).fit(X, Y), fitted, X_new)


# --- tables in -----------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_of_any_library_give_the_same_model(library):
    X, Y = people(blanks=0.2)
    X_new, _ = people(seed=1)
    features, labels = frames(library, X, Y)
    features_new, _ = frames(library, X_new, Y)
    plain = model().fit(X, Y)
    named = model().fit(features, labels)
    assert list(named.feature_names_in_) == FEATURES
    assert named.n_features_in_ == plain.n_features_in_ == len(FEATURES)
    assert named.task_names_ == tuple(TASKS)
    np.testing.assert_array_equal(named.predict(features_new), plain.predict(X_new))
    np.testing.assert_array_equal(
        named.decision_probability(features_new), plain.decision_probability(X_new)
    )
    np.testing.assert_array_equal(named.individual_rates_, plain.individual_rates_)
    assert named.score(features, labels) == plain.score(X, Y)


def test_lists_and_other_number_types_give_the_same_model():
    X, Y = people()
    X = np.round(X * 8)
    plain = model().fit(X, Y)
    for features, labels in [
        (X.tolist(), Y.tolist()),
        (X.astype(np.float32), Y.astype(np.int8)),
        (X.astype(np.int64), Y.astype(bool)),
        (np.asfortranarray(X), np.asfortranarray(Y)),
    ]:
        assert_same_model(model().fit(features, labels), plain, X)


def test_a_pandas_table_with_numbered_columns_is_a_table_like_any_other():
    X, Y = people()
    features = pd.DataFrame(X)
    fitted = model().fit(features, pd.DataFrame(Y))
    np.testing.assert_array_equal(
        fitted.decision_probability(features), model().fit(X, Y).decision_probability(X)
    )


def test_a_series_without_a_name_is_a_task():
    X, Y = people()
    series, array = model().fit(X, pd.Series(Y[:, 0])), model().fit(X, Y[:, 0])
    np.testing.assert_array_equal(series.decision_probability(X), array.decision_probability(X))


WRONG_COLUMNS = {
    "unknown": ["age", "income", "shoe size"],
    "missing": FEATURES[:2],
    "one too many": [*FEATURES, "height"],
    "reordered": FEATURES[::-1],
}


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("columns", WRONG_COLUMNS.values(), ids=WRONG_COLUMNS.keys())
def test_other_columns_at_predict_are_refused(library, columns):
    X, Y = people()
    fitted = model().fit(*frames(library, X, Y))
    values = np.zeros((len(X), len(columns)))
    other, labels = frames(library, values, Y, columns)
    classifiers = fitted.extend(labels)
    for ask in (
        fitted.predict,
        fitted.decision_probability,
        classifiers.predict,
        classifiers.decision_probability,
    ):
        with pytest.raises(ValueError, match=r"(?i)feature|column"):
            ask(other)
    with pytest.raises(ValueError, match=r"(?i)feature|column"):
        fitted.score(other, labels)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_table_may_be_scored_by_a_model_learned_from_plain_arrays(library):
    X, Y = people()
    fitted = model().fit(X, Y)
    table, _ = frames(library, X, Y)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        decisions = fitted.predict(table)
    np.testing.assert_array_equal(decisions, fitted.predict(X))


# --- one task ------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [np.asarray, list, pl.Series, lambda y: pd.Series(y, name="y")])
def test_one_dimension_of_labels_gives_one_dimension_of_decisions(wrap):
    X, Y = people()
    flat = model().fit(X, wrap(Y[:, 0]))
    table = model().fit(X, pl.DataFrame({flat.task_names_[0]: Y[:, 0]}))
    assert flat.predict(X).shape == flat.decision_probability(X).shape == (len(X),)
    assert table.predict(X).shape == table.decision_probability(X).shape == (len(X), 1)
    np.testing.assert_array_equal(flat.predict(X), table.predict(X)[:, 0])
    assert flat.score(X, Y[:, 0]) == table.score(X, Y[:, :1])


def test_decisions_are_the_classes():
    X, Y = people()
    fitted = model().fit(X, Y)
    np.testing.assert_array_equal(fitted.classes_, [0, 1])
    assert set(np.unique(fitted.predict(X))) <= {0, 1}
    assert fitted.predict(X).shape == fitted.decision_probability(X).shape == Y.shape
