"""Fairness as a score: recomputed in plain loops, in searches, and cross-validated chances."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_validate
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from averagefair import InputError, make_fairness_scorer
from averagefair.evaluation.decider import Decider
from tests.support.judges import plain_error, plain_rates
from tests.support.small_fits import TASKS, model, people

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
FIGURES = ("worst_off", "sd", "near", "spread", "error")
FOLDS = KFold(3)


@pytest.fixture(scope="module")
def fitted():
    X, Y = people(n=40, blanks=0.1)
    return model().fit(X, Y)  # exponentiated gradient: decisions are drawn


def plain_figure(name, rates, share=0.1, beta=0.05):
    """Return a figure of rates, person by person."""
    rates = sorted(rate for rate in rates if not np.isnan(rate))
    n = len(rates)
    if name == "spread":
        return rates[-1] - rates[0]
    if name == "sd":
        mean = sum(rates) / n
        return (sum((rate - mean) ** 2 for rate in rates) / (n - 1)) ** 0.5
    if name == "near":
        inside = int(np.ceil((1 - beta) * n - 1e-9))
        return min(rates[k + inside - 1] - rates[k] for k in range(n - inside + 1)) / 2
    left, total = share * n, 0.0
    for rate in reversed(rates):
        part = min(1.0, left)
        total, left = total + part * rate, left - part
    return total / (share * n)


@pytest.mark.parametrize("kind", ["error", "false_positive"])
@pytest.mark.parametrize("figure", FIGURES)
def test_the_score_is_minus_the_figure_of_these_people(fitted, figure, kind):
    X, Y = people(seed=5, n=33, blanks=0.2)
    chances = fitted.decision_probability(X)
    expected = plain_error(Y, chances)
    if figure != "error":
        expected = plain_figure(figure, plain_rates(Y, chances, kind))
    found = make_fairness_scorer(figure, rate=kind)(fitted, X, Y)
    assert found == pytest.approx(-expected, abs=1e-9)
    assert isinstance(found, float)


def test_the_share_and_beta_are_those_asked_for(fitted):
    X, Y = people(seed=5, n=33)
    rates = plain_rates(Y, fitted.decision_probability(X), "error")
    for share in (0.05, 0.3, 1.0):
        expected = plain_figure("worst_off", rates, share=share)
        found = make_fairness_scorer(share=share)(fitted, X, Y)
        assert found == pytest.approx(-expected, abs=1e-9)
    near = make_fairness_scorer("near", beta=0.3)(fitted, X, Y)
    assert near == pytest.approx(-plain_figure("near", rates, beta=0.3), abs=1e-9)


@pytest.mark.parametrize("figure", FIGURES)
def test_a_weight_of_two_is_the_same_person_twice(fitted, figure):
    X, Y = people(seed=6, n=30)
    weights = np.random.default_rng(1).integers(0, 3, len(X))
    scorer = make_fairness_scorer(figure)
    twice = scorer(fitted, np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0))
    assert scorer(fitted, X, Y, sample_weight=weights) == pytest.approx(twice, abs=1e-9)


def test_tasks_weigh_as_in_the_fit():
    X, Y = people(n=40)
    weights = np.arange(1.0, 7.0)
    fitted = model().fit(X, Y, task_weight=weights)
    rates = plain_rates(Y, fitted.decision_probability(X), "error", weights)
    found = make_fairness_scorer("sd")(fitted, X, Y)
    assert found == pytest.approx(-plain_figure("sd", rates), abs=1e-9)


def test_of_several_rates_the_worst_is_scored():
    X, Y = people(n=40)
    both = ["false_positive", "false_negative"]
    fitted = model(rate=both).fit(X, Y)
    chances = fitted.decision_probability(X)
    worst = max(plain_figure("worst_off", plain_rates(Y, chances, kind)) for kind in both)
    assert make_fairness_scorer()(fitted, X, Y) == pytest.approx(-worst, abs=1e-9)


def test_a_search_by_fairness_picks_what_its_folds_say():
    X, Y = people(n=45)
    names = {name: make_fairness_scorer(name) for name in ("worst_off", "error")}
    search = GridSearchCV(
        model(), {"alpha": [0.02, 0.5]}, scoring=names, refit="worst_off", cv=FOLDS,
        error_score="raise",
    ).fit(X, Y)  # fmt: skip
    means = []
    for alpha in (0.02, 0.5):
        scores = []
        for train, test in FOLDS.split(X):
            chances = model(alpha=alpha).fit(X[train], Y[train]).decision_probability(X[test])
            scores.append(-plain_figure("worst_off", plain_rates(Y[test], chances, "error")))
        means.append(np.mean(scores))
    np.testing.assert_allclose(search.cv_results_["mean_test_worst_off"], means, atol=1e-9)
    assert search.best_params_ == {"alpha": (0.02, 0.5)[int(np.argmax(means))]}


def test_pipelines_and_other_classifiers_are_scored_alike(fitted):
    X, Y = people(n=40)
    scorer = make_fairness_scorer("sd")
    pipeline = make_pipeline(StandardScaler(), model()).fit(X, Y)
    alone = model().fit(StandardScaler().fit_transform(X), Y)
    expected = scorer(alone, StandardScaler().fit_transform(X), Y)
    assert scorer(pipeline, X, Y) == pytest.approx(expected, abs=1e-12)
    other = MultiOutputClassifier(LogisticRegression())
    scores = cross_validate(other, X, Y, scoring=scorer, cv=FOLDS, error_score="raise")
    for (train, test), found in zip(FOLDS.split(X), scores["test_score"], strict=True):
        decided = other.fit(X[train], Y[train]).predict(X[test])
        expected = plain_figure("sd", plain_rates(Y[test], decided, "error"))
        assert found == pytest.approx(-expected, abs=1e-9)
    with pytest.raises(InputError, match="decides 6 tasks, and y has 5"):
        scorer(other, X, Y[:, :5])


def test_a_scorer_can_be_sent_to_other_processes(fitted):
    X, Y = people(seed=5, n=33)
    scorer = make_fairness_scorer("near", beta=0.1)
    again = pickle.loads(pickle.dumps(scorer))
    assert again == scorer
    assert again(fitted, X, Y) == scorer(fitted, X, Y)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"figure": "fairness"}, "must be one of worst_off, sd"),
        ({"figure": "sigma"}, "true rates, which cannot be estimated"),
        ({"figure": None}, "must be one of"),
        ({"share": 0.0}, "share"),
        ({"beta": 1.0}, "beta"),
        ({"rate": "mistakes"}, "rate"),
    ],
)
def test_what_cannot_be_scored_is_refused(wrong, says):
    with pytest.raises(InputError, match=says):
        make_fairness_scorer(**wrong)


def test_people_without_a_rate_and_other_tasks_are_refused(fitted):
    X, Y = people(n=10)
    with pytest.raises(InputError, match="at least one label"):
        make_fairness_scorer("error")(fitted, X, np.full(Y.shape, np.nan))
    with pytest.raises(InputError, match="nobody here has a rate"):
        make_fairness_scorer(rate="false_positive")(fitted, X, np.ones(Y.shape))
    named = model().fit(X, pd.DataFrame(Y, columns=TASKS))
    with pytest.raises(InputError):
        make_fairness_scorer()(named, X, pd.DataFrame(Y, columns=TASKS[::-1]))


# --- cross-validated chances and decisions -------------------------------------------------------


@pytest.mark.parametrize("blanks", [0.0, 0.2])
def test_chances_can_be_cross_validated(blanks):
    X, Y = people(n=30, blanks=blanks)
    found = cross_val_predict(Decider(model()), X, Y, cv=FOLDS)
    assert found.shape == Y.shape
    for train, test in FOLDS.split(X):
        own = model().fit(X[train], Y[train]).decision_probability(X[test])
        np.testing.assert_array_equal(found[test], own)
    assert ((found > 0) & (found < 1)).any()  # decisions are drawn, and these are the chances
    assert cross_val_predict(Decider(model()), X, Y[:, 0] > 0, cv=FOLDS).shape == (30,)


def test_a_pipeline_decides_from_its_own_features():
    X, Y = people(n=30)
    pipeline = make_pipeline(StandardScaler(), model())
    found = Decider(pipeline).fit(X, Y).predict(X)
    fitted = pipeline.fit(X, Y)
    np.testing.assert_array_equal(found, fitted[-1].decision_probability(fitted[0].transform(X)))


def test_cross_validated_draws_follow_the_index():
    X, Y = people(n=40)
    index = [f"ann {row}" for row in range(len(X))]
    same = pd.DataFrame(np.tile(X[:1], (40, 1)), index=index)
    fitted = Decider(model(), returns="decisions").fit(X, Y)
    drawn = pd.DataFrame(fitted.predict(same), index=index)
    assert len(drawn.drop_duplicates()) > 1
    moved = same.sample(frac=1.0, random_state=1)
    np.testing.assert_array_equal(fitted.predict(moved), drawn.loc[moved.index].to_numpy())
    # Without an index features identify people, so people who are alike share draws.
    assert len(np.unique(fitted.predict(same.to_numpy()), axis=0)) == 1
    np.testing.assert_array_equal(fitted.predict(X), fitted.model_.predict(X))
    table = pd.DataFrame(X, index=index)
    found = cross_val_predict(Decider(model(), returns="decisions"), table, Y, cv=FOLDS)
    for train, test in FOLDS.split(X):
        own = model().fit(table.iloc[train], Y[train])
        expected = own.predict(table.iloc[test], ids=table.index[test])
        np.testing.assert_array_equal(found[test], expected)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [({"model": LogisticRegression()}, "LogisticRegression"), ({"returns": "both"}, "chances")],
)
def test_other_models_and_answers_are_refused(wrong, says):
    with pytest.raises(InputError, match=says):
        Decider(**({"model": model()} | wrong)).fit(*people())
    assert clone(Decider(model())).get_params()["returns"] == "chances"
