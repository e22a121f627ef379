"""AverageFairClassifier as a scikit-learn estimator: scikit-learn's checks, and common usage."""

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

from averagefair import AverageFairClassifier, ErrorRate, FalsePositiveRate, Minimax
from tests.support.small_fits import (
    FEATURES,
    ORACLES,
    STRANGERS,
    TASKS,
    N,
    assert_same_answer,
    model,
    people,
    rounds,
)

# Short runs miss the request, and scikit-learn's toy data have tasks with a single label. Both are
# reported by design; tests/test_estimator.py shows when.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::averagefair.DegenerateTaskWarning"),
]


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
NARROW = {
    "check_classifiers_multilabel_output_format_predict": (
        "decisions are int8 by design: the labels' int64 would take eight times the memory"
    )
}


@parametrize_with_checks(
    [model(alpha=None), model(alpha=0.5)],
    expected_failed_checks=lambda _: OTHER_LABELS | NARROW,
    xfail_strict=True,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


class AnyTwoLabels(AverageFairClassifier):
    """The estimator with the labels of one task encoded first, as a user would do it."""

    def fit(self, X, y, sample_weight=None):
        encoder = LabelEncoder()
        super().fit(X, encoder.fit_transform(np.ravel(np.asarray(y))), sample_weight)
        self.encoder_, self.classes_ = encoder, encoder.classes_
        return self

    def predict(self, X):
        return self.encoder_.inverse_transform(super().predict(X))


class Wide(AverageFairClassifier):
    """The estimator with decisions in scikit-learn's integer type."""

    def predict(self, X):
        return super().predict(X).astype(np.int64)


def _checks(kind, names):
    estimator = kind(solver=rounds(10), random_state=0)
    for instance, check in estimator_checks_generator(estimator, mark=None):
        if check.func.__name__ in names:
            yield pytest.param(instance, check, id=check.func.__name__)


EXPLAINED = [*_checks(AnyTwoLabels, OTHER_LABELS), *_checks(Wide, NARROW)]


@pytest.mark.parametrize(("estimator", "check"), EXPLAINED)
def test_those_are_the_only_reasons_why_checks_fail(estimator, check):
    check(estimator)


def test_every_failing_check_is_explained():
    assert {one.id for one in EXPLAINED} == OTHER_LABELS.keys() | NARROW.keys()


# --- parameters ----------------------------------------------------------------------------------

PARAMETERS = {
    "alpha": 0.2,
    "rate": FalsePositiveRate(holdout_tasks=1),
    "oracle": DecisionTreeClassifier(max_depth=1),
    "solver": rounds(10),
    "beta": 0.1,
    "max_influence": 3.0,
    "random_state": 3,
    "callback": print,
    "dtype": "float32",
    "checkpoint": None,
    "max_rate": 0.3,
    "worst_off": 0.1,
    "price": 0.5,
    "no_harm": 0.02,
    "promise": Minimax(),
    "look_first": False,
    "decisions": "drawn",
    "encode": True,
    "verbose": True,
}


def test_constructor_stores_and_does_nothing_else():
    nonsense = {name: object() for name in PARAMETERS}
    assert vars(AverageFairClassifier(**nonsense)) == nonsense


def test_parameters_are_read_and_set_by_name():
    built = AverageFairClassifier(**PARAMETERS)
    read = built.get_params(deep=False)
    assert read.keys() == PARAMETERS.keys()
    assert all(read[name] is value for name, value in PARAMETERS.items())
    assert AverageFairClassifier().set_params(**PARAMETERS).get_params(deep=False) == read
    built.set_params(oracle__max_depth=4)
    assert built.get_params()["oracle__max_depth"] == 4
    with pytest.raises(ValueError, match="Invalid parameter 'gamma'"):
        built.set_params(gamma=1)


@pytest.mark.parametrize(
    "params",
    [
        {"rate": ErrorRate(rho=np.full(N, 0.8))},
        {"rate": ErrorRate(holdout_tasks=2)},
        *({"oracle": ORACLES[name]} for name in ("default", "ridge", "stump", "tree")),
    ],
    ids=str,
)
def test_a_clone_is_unfitted_and_learns_the_same(params):
    X, Y = people()
    fitted = model(**params).fit(X, Y)
    copy = clone(fitted)
    with pytest.raises(NotFittedError):
        copy.predict(X)
    assert_same_answer(copy.fit(X, Y), fitted)


def test_fit_leaves_the_parameters_and_the_data_alone():
    X, Y = people(blanks=0.2)
    kept = X.copy(), Y.copy()
    fitted = model(oracle=DecisionTreeClassifier(max_depth=1), rate="false_positive")
    before = fitted.get_params(deep=False)
    assert fitted.fit(X, Y) is fitted
    after = fitted.get_params(deep=False)
    assert all(after[name] is before[name] for name in before)
    assert not hasattr(fitted.oracle, "tree_")
    for given, as_it_was in zip((X, Y), kept, strict=True):
        np.testing.assert_array_equal(given, as_it_was)
        assert given.flags.writeable


def test_fit_twice_equals_fit_once():
    X, Y = people()
    twice = model().fit(*people(seed=9, n=40)).fit(X, Y)
    once = model().fit(X, Y)
    assert_same_answer(twice, once)
    assert vars(twice).keys() == vars(once).keys()


@pytest.mark.parametrize("ask", ["predict", "decision_probability", "extend", "score"])
def test_nothing_can_be_asked_before_fit(ask):
    X, Y = people()
    arguments = {"extend": (Y,), "score": (X, Y)}.get(ask, (X,))
    with pytest.raises(NotFittedError):
        getattr(model(), ask)(*arguments)


def test_it_can_be_shown():
    fitted = model(alpha=0.3).fit(*people())
    assert "alpha=0.3" in repr(fitted)
    assert "AverageFairClassifier" in fitted._repr_html_()


# --- among other tools ---------------------------------------------------------------------------


@pytest.mark.parametrize("blanks", [0.0, 0.2])
def test_grid_search_over_alpha(blanks):
    X, Y = people(n=30, blanks=blanks)
    search = GridSearchCV(model(), {"alpha": [0.05, 0.5]}, cv=KFold(3), error_score="raise")
    search.fit(X, Y)
    for alpha, found in zip([0.05, 0.5], search.cv_results_["mean_test_score"], strict=True):
        scores = [
            model(alpha=alpha).fit(X[train], Y[train]).score(X[test], Y[test])
            for train, test in KFold(3).split(X)
        ]
        assert found == pytest.approx(np.mean(scores), abs=1e-12)
    assert_same_answer(search.best_estimator_, model(**search.best_params_).fit(X, Y))


def test_grid_search_reaches_into_the_oracle():
    tree = model(oracle=DecisionTreeClassifier())
    search = GridSearchCV(tree, {"oracle__max_depth": [1, 3]}, cv=KFold(2), error_score="raise")
    assert search.fit(*people()).best_params_["oracle__max_depth"] in (1, 3)


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
    for ids in (None, np.arange(len(X))):
        np.testing.assert_array_equal(pipeline.predict(X, ids=ids), alone.predict(scaled, ids=ids))
    assert pipeline.score(X, Y) == alone.score(scaled, Y)


@pytest.mark.parametrize("oracle", ["default", "stump", "tree"])
def test_pickle_round_trip(oracle):
    X, Y = people(blanks=0.2)
    fitted = model(oracle=ORACLES[oracle]).fit(X, Y)
    back = pickle.loads(pickle.dumps(fitted))
    assert_same_answer(back, fitted)
    later, later_back = (one.extend(Y).predict(STRANGERS) for one in (fitted, back))
    np.testing.assert_array_equal(later, later_back)
    assert_same_answer(clone(back).fit(X, Y), fitted)


# --- tables in -----------------------------------------------------------------------------------

TABLES = {
    "pandas": lambda cells, names: pd.DataFrame(cells, columns=names),
    "polars": lambda cells, names: pl.DataFrame(cells, schema=names),
}
QUESTIONS = ("predict", "decision_probability")
every_library = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())


@every_library
def test_tables_of_any_library_give_the_same_model(table):
    X, Y = people(blanks=0.2)
    features, labels = table(X, FEATURES), table(Y, TASKS)
    plain, named = model().fit(X, Y), model().fit(features, labels)
    assert list(named.feature_names_in_) == FEATURES
    assert named.n_features_in_ == plain.n_features_in_ == len(FEATURES)
    assert named.task_names_ == tuple(TASKS)
    new = table(STRANGERS, FEATURES)
    np.testing.assert_array_equal(named.predict(new), plain.predict(STRANGERS))
    np.testing.assert_array_equal(
        named.decision_probability(new), plain.decision_probability(STRANGERS)
    )
    np.testing.assert_array_equal(named.individual_rates_, plain.individual_rates_)
    assert named.score(features, labels) == plain.score(X, Y)


def test_lists_other_number_types_and_numbered_columns_give_the_same_model():
    X, Y = people()
    X = np.round(X * 8)
    plain = model().fit(X, Y)
    for features, labels in [
        (X.tolist(), Y.tolist()),
        (X.astype(np.float32), Y.astype(np.int8)),
        (X.astype(np.int64), Y.astype(bool)),
        (np.asfortranarray(X), np.asfortranarray(Y)),
        (pd.DataFrame(X), pd.DataFrame(Y, columns=TASKS)),
    ]:
        assert_same_answer(model().fit(features, labels), plain)


def test_columns_named_by_numbers_name_tasks_too():
    X, Y = people()
    features, labels = pd.DataFrame(X), pd.DataFrame(Y)
    fitted = model().fit(features, labels)
    assert fitted.task_names_ == ("0", "1", "2", "3", "4", "5")
    np.testing.assert_array_equal(
        fitted.decision_probability(features), model().fit(X, Y).decision_probability(X)
    )


WRONG_COLUMNS = {
    "unknown": ["age", "income", "shoe size"],
    "missing": FEATURES[:2],
    "one too many": [*FEATURES, "height"],
    "reordered": FEATURES[::-1],
}


@every_library
@pytest.mark.parametrize("columns", WRONG_COLUMNS.values(), ids=WRONG_COLUMNS.keys())
def test_other_columns_at_predict_are_refused(table, columns):
    X, Y = people()
    labels = table(Y, TASKS)
    fitted = model().fit(table(X, FEATURES), labels)
    other = table(np.zeros((len(X), len(columns))), columns)
    asked = [getattr(one, ask) for one in (fitted, fitted.extend(labels)) for ask in QUESTIONS]
    for ask in (*asked, lambda features: fitted.score(features, labels)):
        with pytest.raises(ValueError, match=r"(?i)feature|column"):
            ask(other)


@every_library
def test_a_table_may_be_scored_by_a_model_learned_from_plain_arrays(table):
    X, Y = people()
    fitted = model().fit(X, Y)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        decisions = fitted.predict(table(X, FEATURES))
    np.testing.assert_array_equal(decisions, fitted.predict(X))


@pytest.mark.parametrize(
    "wrap",
    [np.asarray, list, pl.Series, pd.Series, lambda y: pd.Series(y, name="y")],
    ids=["array", "list", "polars", "pandas", "pandas with a name"],
)
def test_one_dimension_of_labels_gives_one_dimension_of_decisions(wrap):
    X, Y = people()
    flat = model().fit(X, wrap(Y[:, 0]))
    table = model().fit(X, pl.DataFrame({flat.task_names_[0]: Y[:, 0]}))
    for ask in QUESTIONS:
        one, other = getattr(flat, ask)(X), getattr(table, ask)(X)
        assert other.shape == (len(X), 1)
        np.testing.assert_array_equal(one, other[:, 0], strict=True)
    assert flat.score(X, Y[:, 0]) == table.score(X, Y[:, :1])
