"""Which estimators the weighted oracle can use, checked by fitting scikit-learn by hand."""

import math
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
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
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    StratifiedKFold,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from averagefair import AverageFairClassifier, ColumnGeneration, InputError, Sample, WeightedOracle
from averagefair.errors import DegenerateTaskWarning
from averagefair.game.costs import Costs

LOGISTIC, TREE = LogisticRegression(), DecisionTreeClassifier(max_depth=2, random_state=0)
STRANGERS = np.random.default_rng(9).normal(size=(500, 3)) * 1.5


def people(n=80, m=3, seed=0):
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, 3))
    Y = (X @ draw.normal(size=(3, m)) + draw.normal(size=(n, m)) > 0).astype(float)
    return X, Y, draw.normal(1.0, 0.6, n)


def ask(oracle, X, Y, price, **options):
    sample = Sample(X, Y, **options)
    return oracle.bind(sample)(Costs(sample, price, price))


def by_hand(X, y, price):
    """Return wanted labels and weights (mean 1) of people whose price is not 0."""
    matters = ~np.isnan(y) & (price != 0)
    wanted = np.where(price > 0, y, 1 - y)[matters].astype(int)
    return X[matters], wanted, np.abs(price[matters]) / np.abs(price[matters]).mean()


# --- every kind of estimator ----------------------------------------------------------------------

SCALED_FIRST = ColumnTransformer([("scale", StandardScaler(), [0])], remainder="passthrough")
# How each estimator takes weights by hand; seeds are fixed, so the oracle need not set them.
ESTIMATORS = {
    "histogram boosting": (
        HistGradientBoostingClassifier(max_iter=5, random_state=0),
        "sample_weight",
    ),
    "boosting": (GradientBoostingClassifier(n_estimators=5, random_state=0), "sample_weight"),
    "forest": (RandomForestClassifier(5, max_depth=3, random_state=0), "sample_weight"),
    "extra trees": (ExtraTreesClassifier(5, max_depth=3, random_state=0), "sample_weight"),
    "ada boost": (AdaBoostClassifier(TREE, n_estimators=3, random_state=0), "sample_weight"),
    "bagging": (BaggingClassifier(TREE, n_estimators=3, random_state=0), "sample_weight"),
    "calibrated": (CalibratedClassifierCV(LOGISTIC, cv=3), "sample_weight"),
    "voting": (VotingClassifier([("a", LOGISTIC), ("b", TREE)]), "sample_weight"),
    "stacking": (StackingClassifier([("a", LOGISTIC), ("b", TREE)], cv=3), "sample_weight"),
    "pipeline": (
        make_pipeline(StandardScaler(), LOGISTIC),
        "logisticregression__sample_weight",
    ),
    "pipeline in pipeline": (
        make_pipeline(StandardScaler(), make_pipeline(PolynomialFeatures(), LOGISTIC)),
        "pipeline__logisticregression__sample_weight",
    ),
    "columns": (
        make_pipeline(SCALED_FIRST, TREE),
        "decisiontreeclassifier__sample_weight",
    ),
    "calibrated in a pipeline": (
        make_pipeline(StandardScaler(), CalibratedClassifierCV(LOGISTIC, cv=3)),
        "calibratedclassifiercv__sample_weight",
    ),
    "grid search": (GridSearchCV(LOGISTIC, {"C": [0.01, 1.0]}, cv=3), "sample_weight"),
    "random search": (
        RandomizedSearchCV(LOGISTIC, {"C": [0.01, 1.0]}, n_iter=2, cv=3, random_state=0),
        "sample_weight",
    ),
    "grid search of a pipeline": (
        GridSearchCV(
            make_pipeline(StandardScaler(), LOGISTIC), {"logisticregression__C": [0.01, 1]}, cv=3
        ),
        "logisticregression__sample_weight",
    ),
}


def check_weights_arrive(oracle, estimator, name):
    X, Y, price = people()
    Y[::7, 1] = math.nan
    decisions = ask(oracle, X, Y, price).decide(STRANGERS)
    for task in range(3):
        own, wanted, weight = by_hand(X, Y[:, task], price)
        model = clone(estimator).fit(own, wanted, **{name: weight})
        assert (decisions[:, task] == model.predict(STRANGERS)).all()


@pytest.mark.parametrize(("estimator", "name"), ESTIMATORS.values(), ids=ESTIMATORS)
def test_an_answer_is_the_estimator_fitted_by_hand(estimator, name):
    check_weights_arrive(WeightedOracle(estimator), estimator, name)


@pytest.mark.parametrize("kind", ["pipeline", "boosting", "grid search of a pipeline"])
def test_without_weights_it_would_be_another_answer(kind):
    X, Y, price = people()
    estimator, name = ESTIMATORS[kind]
    own, wanted, weight = by_hand(X, Y[:, 0], price)
    decided = [
        clone(estimator).fit(own, wanted, **given).predict(STRANGERS)
        for given in ({name: weight**3}, {name: weight})
    ]
    assert (decided[0] != decided[1]).any()
    with pytest.raises(AssertionError):
        check_weights_arrive(WeightedOracle(LogisticRegression(C=1e-3)), estimator, name)


@pytest.mark.parametrize("kind", ["pipeline", "histogram boosting", "calibrated", "grid search"])
def test_workers_fit_them_alike_and_progress_counts(kind):
    X, Y, price = people()
    said = []
    estimator, _ = ESTIMATORS[kind]
    together = WeightedOracle(estimator, n_jobs=2, progress=lambda *done: said.append(done))
    answers = [ask(one, X, Y, price) for one in (WeightedOracle(estimator), together)]
    assert (answers[0].decide(STRANGERS) == answers[1].decide(STRANGERS)).all()
    assert said == [(1, 3), (2, 3), (3, 3)]


def test_a_pipeline_serves_a_whole_fit_and_new_tasks():
    X, Y, _ = people(m=4)
    fitted = AverageFairClassifier(
        alpha=0.2,
        oracle=make_pipeline(StandardScaler(), LOGISTIC),
        solver=ColumnGeneration(max_rounds=2, patience=1, reweightings=1),
        decisions="drawn",
    ).fit(X, Y[:, :3])
    assert fitted.extend(Y[:, 3:]).decision_probability(STRANGERS).shape == (500, 1)


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), KNeighborsClassifier()),
        GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 2]}),
        VotingClassifier([("a", LOGISTIC), ("b", KNeighborsClassifier())]),
        VotingClassifier([("a", make_pipeline(StandardScaler(), LOGISTIC))]),
        CalibratedClassifierCV(make_pipeline(StandardScaler(), LOGISTIC)),
        CalibratedClassifierCV(KNeighborsClassifier()),
        OneVsRestClassifier(LOGISTIC),
        FixedThresholdClassifier(LOGISTIC),
    ],
    ids=lambda one: type(one).__name__,
)
def test_where_weights_would_be_lost_on_the_way_it_is_refused_with_a_remedy(estimator):
    with pytest.raises(InputError, match=r"sample_weight.*pipeline around.*set_fit_request"):
        WeightedOracle(estimator)


def test_with_metadata_routing_scikit_learn_hands_weights_on():
    X, Y, price = people()
    own, wanted, weight = by_hand(X, Y[:, 0], price)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = LogisticRegression().set_fit_request(sample_weight=True)
        inner.set_score_request(sample_weight=True)
        for estimator in (
            FixedThresholdClassifier(inner),
            make_pipeline(StandardScaler().set_fit_request(sample_weight=True), inner),
            CalibratedClassifierCV(
                make_pipeline(StandardScaler().set_fit_request(sample_weight=False), inner), cv=3
            ),
            GridSearchCV(inner, {"C": [0.01, 1.0]}, cv=3),
        ):
            model = clone(estimator).fit(own, wanted, sample_weight=weight)
            for n_jobs in (None, 2):
                answer = ask(WeightedOracle(estimator, n_jobs), X, Y[:, :1], price)
                assert (answer.decide(STRANGERS)[:, 0] == model.predict(STRANGERS)).all()
        with pytest.raises(InputError, match="set_fit_request"):
            WeightedOracle(make_pipeline(StandardScaler(), LogisticRegression()))
    with pytest.raises(InputError, match="enable_metadata_routing"):
        WeightedOracle(FixedThresholdClassifier(inner))


def test_folds_without_a_seed_get_one():
    X, Y, price = people()
    folds = StratifiedKFold(3, shuffle=True)
    oracle = WeightedOracle(GridSearchCV(TREE, {"max_depth": [1, 2, 3]}, cv=folds))
    answers = [ask(oracle, X, Y, price).classifiers for _ in range(3)]
    scores = [[one.cv_results_["mean_test_score"].tolist() for one in each] for each in answers]
    assert scores[0] == scores[1] == scores[2]
    assert folds.random_state is None


# --- few people who want one label ----------------------------------------------------------------


def few(of_task, rare, n=80, m=3):
    """People with few labels 1 (or few labels 0) in some tasks: ``rare`` of them."""
    X, Y, _ = people(n, m)
    for task, label in of_task.items():
        Y[:, task] = 1 - label
        Y[:rare, task] = label
    return X, Y


CROSS_VALIDATED = {
    "calibrated": (CalibratedClassifierCV(LOGISTIC, cv=5), 4),
    "calibrated in a pipeline": (
        make_pipeline(StandardScaler(), CalibratedClassifierCV(LOGISTIC, cv=5)),
        4,
    ),
    "early stopping": (HistGradientBoostingClassifier(max_iter=3, early_stopping=True), 1),
    "nested": (
        CalibratedClassifierCV(
            HistGradientBoostingClassifier(max_iter=2, early_stopping=True), cv=2
        ),
        3,
    ),
}


@pytest.mark.parametrize(("estimator", "rare"), CROSS_VALIDATED.values(), ids=CROSS_VALIDATED)
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_where_folds_run_out_of_people_the_cheaper_constant_is_taken(estimator, rare, n_jobs):
    X, Y = few({0: 1, 2: 0}, rare)
    price = np.where(np.arange(80) < rare, 100.0, 1.0)
    with pytest.warns(DegenerateTaskWarning, match="2 of 3 tasks.*'task0', 'task2'.*folds") as said:
        answer = ask(WeightedOracle(estimator, n_jobs=n_jobs), X, Y, price)
    assert len(said) == 1
    decisions = answer.decide(STRANGERS)
    assert decisions[:, 0].all()
    assert not decisions[:, 2].any()
    assert isinstance(answer.classifiers[1], type(estimator))
    with pytest.warns(DegenerateTaskWarning):
        decisions = ask(WeightedOracle(estimator), X, Y, np.ones(80)).decide(STRANGERS)
    assert not decisions[:, 0].any()
    assert decisions[:, 2].all()


def test_a_task_is_told_of_once():
    X, Y = few({0: 1, 2: 0}, 4)
    sample = Sample(X, Y, task_names=["ann", "bo", "cy"])
    bound = WeightedOracle(CalibratedClassifierCV(LOGISTIC, cv=5)).bind(sample)
    said = []
    for price in (np.ones(80), np.full(80, 2.0), np.linspace(1, 2, 80)):
        for tasks in (np.array([0, 1]), np.array([2, 0])):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                bound(Costs(sample.take_tasks(tasks), price, price, tasks))
            said += [str(one.message) for one in caught]
    assert len(said) == 2
    assert "'ann'" in said[0]
    assert "'cy'" in said[1]


def test_an_error_where_there_are_enough_people_is_raised_and_names_the_task():
    X, Y, price = people()
    with pytest.raises(ValueError, match="solver") as raised:
        ask(WeightedOracle(LogisticRegression(solver="nosuch")), X, Y, price)
    assert "'task0'" in raised.value.__notes__[0]


# --- names of classes -----------------------------------------------------------------------------


class Renaming(ClassifierMixin, BaseEstimator):
    """A stump on the first feature that reports its classes in unusual ways."""

    def __init__(self, say=None):
        self.say = say

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        side = (X[:, 0] > 0).astype(int)
        return self.classes_[side] if self.say is None else np.asarray(self.say)[side]


@pytest.mark.parametrize("say", [(False, True), (0.0, 1.0), (np.int8(0), np.int8(1))], ids=str)
def test_what_equals_0_or_1_is_understood(say):
    X, Y, price = people()
    decisions = ask(WeightedOracle(Renaming(say)), X, Y, price).decide(STRANGERS)
    assert (decisions == (STRANGERS[:, :1] > 0)).all()


@pytest.mark.parametrize(
    "say",
    [("no", "yes"), ("0", "1"), ("", "x"), (-1, 1), (0, 2), (0.2, 0.9), (0, math.nan), ([0], [1])],
    ids=str,
)
def test_what_is_neither_class_is_refused(say):
    X, Y, price = people()
    answer = ask(WeightedOracle(Renaming(say)), X, Y, price)
    with pytest.raises(InputError, match=r"Renaming.*labels 0 and 1.*got.*classes="):
        answer.decide(STRANGERS)


@pytest.mark.parametrize("classes", [("no", "yes"), ("yes", "no"), (False, True), (1, 0), (7, -3)])
def test_classes_by_other_names_give_the_same_decisions(classes):
    X, Y, price = people()
    for estimator in (LOGISTIC, TREE, HistGradientBoostingClassifier(max_iter=5)):
        decisions = ask(WeightedOracle(estimator, classes=classes), X, Y, price).decide(STRANGERS)
        assert (decisions == ask(WeightedOracle(estimator), X, Y, price).decide(STRANGERS)).all()


def test_the_weights_of_classes_go_by_their_names():
    X, Y, price = people()
    heavy = LogisticRegression(class_weight={"no": 1.0, "yes": 20.0})
    answer = ask(WeightedOracle(heavy, classes=("no", "yes")), X, Y, price)
    own, wanted, weight = by_hand(X, Y[:, 0], price)
    model = LogisticRegression().fit(own, wanted, sample_weight=weight * np.where(wanted, 20, 1))
    assert (answer.decide(STRANGERS)[:, 0] == model.predict(STRANGERS)).all()
    assert answer.decide(STRANGERS)[:, 0].mean() > 0.6


@pytest.mark.parametrize("classes", ["01", (0, 0), (0, 1, 2), (0,), None, ("no", 1), 2, {0, 1}])
def test_classes_that_are_no_two_labels_are_refused(classes):
    with pytest.raises(InputError, match="classes must be two different"):
        WeightedOracle(LOGISTIC, classes=classes)


# --- weights --------------------------------------------------------------------------------------


class Spy(ClassifierMixin, BaseEstimator):
    """A classifier that keeps its training data."""

    def fit(self, X, y, sample_weight):
        self.seen_ = X.copy(), y.copy(), sample_weight.copy()
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


@pytest.mark.parametrize("scale", [2.0**-1000, 2.0**-40, 2.0**-6, 2.0**1000])
def test_the_scale_of_costs_is_nothing_to_the_estimator(scale):
    X, Y, price = people()
    fussy = DecisionTreeClassifier(max_depth=3, min_impurity_decrease=0.01)
    for estimator in (LogisticRegression(C=0.1), fussy, HistGradientBoostingClassifier(max_iter=3)):
        plain = ask(WeightedOracle(estimator), X, Y, price).decide(STRANGERS)
        far = ask(WeightedOracle(estimator), X, Y, price * scale).decide(STRANGERS)
        assert (far == plain).all()
    for spy in ask(WeightedOracle(Spy()), X, Y, price * scale).classifiers:
        assert spy.seen_[2].mean() == pytest.approx(1.0)


@pytest.mark.parametrize("dust", [0.0, 1e-300, 1e-13])
def test_dust_is_as_good_as_nothing(dust):
    X, Y, price = people()
    price[::3] = dust
    price[1] = -dust
    kept = price != 0 if dust == 0 else np.abs(price) > 1e-9
    answer = ask(WeightedOracle(Spy()), X, Y, price)
    assert 40 < kept.sum() < 80
    for task, spy in enumerate(answer.classifiers):
        seen, labels, weight = spy.seen_
        own, wanted, by_weight = by_hand(X[kept], Y[kept, task], price[kept])
        assert (seen == own).all()
        assert (labels == wanted).all()
        assert weight == pytest.approx(by_weight)


def test_a_small_weight_that_is_no_dust_is_kept():
    X, Y, price = people()
    price[::3] = 1e-9
    answer = ask(WeightedOracle(Spy()), X, Y, price)
    assert all(len(spy.seen_[0]) == 80 for spy in answer.classifiers)


def test_a_row_that_stands_for_many_is_regularised_as_that_many():
    X, Y, price = people()
    counts = np.random.default_rng(3).integers(0, 6, 80)
    listed = np.repeat(np.arange(80), counts)
    strict = WeightedOracle(LogisticRegression(C=1e-3, tol=1e-10))
    weighted = ask(strict, X, Y, price * counts, individual_weights=counts)
    copied = ask(strict, X[listed], Y[listed], price[listed])
    for one, other in zip(weighted.classifiers, copied.classifiers, strict=True):
        np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6)


# --- classifiers that are kept --------------------------------------------------------------------


def moved(price, by):
    """Move this share of all prices from the first half of the people to the second."""
    size = np.abs(price).sum()
    out = np.abs(price)
    out[:40] -= by / 2 * size * out[:40] / out[:40].sum()
    out[40:] += by / 2 * size * out[40:] / out[40:].sum()
    return out * np.sign(price)


class Kept:
    """A bound oracle that records which tasks were fitted again."""

    def __init__(self, reuse, Y=None, estimator=TREE, **options):
        X, labels, self.price = people()
        self.sample = Sample(X, labels if Y is None else Y)
        self.bound = WeightedOracle(estimator, reuse=reuse, **options).bind(self.sample)
        self.before = {}

    def fresh(self, price, false_negative=None, tasks=None):
        taken = self.sample if tasks is None else self.sample.take_tasks(np.array(tasks))
        given = None if tasks is None else np.array(tasks)
        other = price if false_negative is None else false_negative
        answer = self.bound(Costs(taken, price, other, given))
        asked = range(3) if tasks is None else tasks
        new = [
            task
            for task, one in zip(asked, answer.classifiers, strict=True)
            if self.before.get(task) is not one
        ]
        self.before |= dict(zip(asked, answer.classifiers, strict=True))
        return new


def test_only_the_same_costs_are_recognised_by_default():
    here = Kept(0)
    assert here.fresh(here.price) == [0, 1, 2]
    assert here.fresh(here.price.copy()) == []
    assert here.fresh(moved(here.price, 1e-9)) == [0, 1, 2]


# What is kept is decided before workers are asked.
@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.long)])
def test_a_classifier_is_kept_until_the_weights_have_moved_far_enough(n_jobs):
    here = Kept(0.1, n_jobs=n_jobs)
    assert here.fresh(here.price) == [0, 1, 2]
    assert here.fresh(moved(here.price, 0.09)) == []
    assert here.fresh(7 * moved(here.price, 0.09)) == []  # the scale does not matter
    assert here.fresh(moved(here.price, 0.11)) == [0, 1, 2]
    assert here.fresh(here.price) == [0, 1, 2]


def test_small_steps_add_up():
    here = Kept(0.1)
    new = [here.fresh(moved(here.price, by)) for by in np.arange(0.0, 0.5, 0.04)]
    assert [len(tasks) for tasks in new] == [3, 0, 0] * 4 + [3]


def test_a_sign_that_turns_is_a_move_by_twice_the_weight():
    here = Kept(0.1)
    here.fresh(here.price)
    turned = here.price.copy()
    turned[np.abs(turned).argsort()[-8:]] *= -1
    assert np.abs(turned)[np.abs(turned).argsort()[-8:]].sum() > 0.05 * np.abs(turned).sum()
    assert here.fresh(turned) == [0, 1, 2]


def test_each_task_has_its_own_distance():
    _, Y, _ = people()
    Y[:40, 1] = np.nan  # these prices do not concern task 1
    here = Kept(0.05, Y)
    here.fresh(here.price)
    changed = here.price.copy()
    changed[:40] *= 3
    assert here.fresh(changed) == [0, 2]
    assert here.fresh(here.price, tasks=[2, 1]) == [2]
    assert here.fresh(here.price, tasks=[1, 0]) == [0]


def test_the_price_of_either_mistake_counts():
    here = Kept(0.05)
    here.fresh(here.price)
    assert here.fresh(here.price, here.price * 1.01) == []
    assert here.fresh(here.price, here.price * 1.5) == [0, 1, 2]


def test_prices_changed_in_place_are_noticed():
    here = Kept(0)
    price = here.price.copy()
    here.fresh(price)
    price *= np.linspace(1, 2, 80)
    assert here.fresh(price) == [0, 1, 2]


def test_what_is_kept_is_what_was_fitted():
    here = Kept(0.3)
    answers = []
    for by in (0.0, 0.2, 0.5):
        price = moved(here.price, by)
        answers.append(here.bound(Costs(here.sample, price, price)))
    for answer, price in zip(answers, (0.0, 0.0, 0.5), strict=True):
        X, Y, plain = people()
        expected = ask(WeightedOracle(TREE), X, Y, moved(plain, price))
        assert (answer.decide(STRANGERS) == expected.decide(STRANGERS)).all()
    assert answers[0].key() == answers[1].key() != answers[2].key()
    assert hash(answers[0].key()) == hash(answers[1].key())


def test_a_key_outlives_its_answer():
    X, Y, _ = people(m=1)
    bound = WeightedOracle(TREE).bind(sample := Sample(X, Y))
    keys = []
    for seed in range(30):  # new classifiers often get the address of a deleted one
        price = np.random.default_rng(seed).uniform(0.1, 1, 80)
        keys.append(bound(Costs(sample, price, price)).key())
    assert len(set(keys)) == 30


@pytest.mark.parametrize("reuse", [-0.1, 2.0, math.nan, "little", True, None])
def test_a_distance_that_is_none_is_refused(reuse):
    with pytest.raises(InputError, match=r"`reuse` must lie in \[0, 2\)"):
        WeightedOracle(TREE, reuse=reuse)


def test_a_fit_that_keeps_classifiers_reports_what_it_measures():
    X, Y, _ = people()
    fitted = AverageFairClassifier(
        alpha=0.1,
        oracle=WeightedOracle(TREE, reuse=0.2),
        solver=ColumnGeneration(max_rounds=5, patience=2),
        decisions="drawn",
        random_state=0,
    ).fit(X, Y)
    chances = fitted.decision_probability(X)
    rates = np.where(Y == 1, 1 - chances, chances).mean(axis=1)
    assert fitted.error_ == pytest.approx(rates.mean())
    assert fitted.individual_rates_ == pytest.approx(rates)
