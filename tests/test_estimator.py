"""AverageFairClassifier: its figures are recomputed from its decisions and the labels."""

import copy
import warnings
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier

from averagefair import (
    AverageFairClassifier,
    DegenerateTaskWarning,
    ErrorRate,
    ExponentiatedGradient,
    InputError,
    LevellingDownWarning,
    RegressionOracle,
    Round,
    Status,
    StopReason,
    StumpOracle,
    UndefinedRateWarning,
    WeightedOracle,
    frontier,
)
from averagefair.datasets import make_synthetic
from averagefair.game.protocols import Oracle
from averagefair.game.rates import RATES
from tests.support.judges import plain_error, plain_rates
from tests.support.small_fits import (
    LOGISTIC,
    ORACLES,
    TASKS,
    D,
    M,
    N,
    assert_reported_as_measured,
    assert_same_answer,
    differ,
    model,
    people,
    rounds,
)

# Most runs here take a few rounds and miss their request on purpose. Other tests check the warning
# about that.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SAMPLE_WEIGHT = np.arange(N) % 4
TASK_WEIGHT = np.array([3.0, 1.0, 0.0, 0.5, 1.0, 2.0])


# --- the judge -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tamper",
    [
        {"error_": 0.123},
        {"common_rate_": 0.123},
        {"individual_rates_": np.full(N, 0.2)},
        {"certificate_": {"error": 0.123}},
        {"certificate_": {"spread": 0.123}},
        {"certificate_": {"deviation": 0.123}},
        {"certificate_": {"rounds": 3}},
        {"history_": np.zeros(2)},
    ],
    ids=str,
)
def test_the_judge_can_fail(tamper):
    X, Y = people()
    fitted = model().fit(X, Y)
    assert_reported_as_measured(fitted, X, Y, "error")
    forged = copy.copy(fitted)
    for name, value in tamper.items():
        old = getattr(fitted, name)
        setattr(forged, name, replace(old, **value) if isinstance(value, dict) else value)
    for other, kind in [(forged, "error"), (fitted, "false_positive")]:
        with pytest.raises(AssertionError):
            assert_reported_as_measured(other, X, Y, kind)


# --- what is reported ----------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True], ids=["alike", "weighted"])
@pytest.mark.parametrize("blanks", [0.0, 0.3], ids=["complete", "blanks"])
@pytest.mark.parametrize("kind", RATES)
# A person's only counted task may have weight 0.
@pytest.mark.filterwarnings("ignore::averagefair.UndefinedRateWarning")
def test_figures_agree_with_a_recount(kind, blanks, weighted):
    X, Y = people(blanks=blanks)
    weights = {"sample_weight": SAMPLE_WEIGHT, "task_weight": TASK_WEIGHT} if weighted else {}
    fitted = model(rate=kind).fit(X, Y, **weights)
    assert_reported_as_measured(fitted, X, Y, kind, **weights)
    shares = TASK_WEIGHT / TASK_WEIGHT.sum() if weighted else np.full(M, 1 / M)
    np.testing.assert_allclose(fitted.task_weights_, shares, atol=1e-15)


@pytest.mark.parametrize("kind", RATES)
@pytest.mark.parametrize("oracle", ORACLES)
def test_figures_agree_with_a_recount_for_every_oracle(oracle, kind):
    X, Y = people(blanks=0.2)
    assert_reported_as_measured(model(rate=kind, oracle=ORACLES[oracle]).fit(X, Y), X, Y, kind)


def test_fitted_attributes_have_their_shapes():
    X, Y = people()
    fitted = model().fit(X, Y)
    assert isinstance(fitted.error_, float)
    assert isinstance(fitted.common_rate_, float)
    assert fitted.individual_rates_.shape == (N,)
    assert fitted.undefined_individuals_.shape == (0,)
    assert fitted.history_.shape == (10,)
    assert fitted.history_.dtype.names == Round._fields
    assert fitted.task_names_ == tuple(TASKS)
    assert fitted.holdout_task_names_ == ()
    assert list(fitted.classes_) == [0, 1]
    assert fitted.n_features_in_ == D
    assert isinstance(fitted.seed_, int)
    chances, decisions = fitted.decision_probability(X), fitted.predict(X)
    assert chances.shape == decisions.shape == (N, M)
    assert chances.min() >= 0
    assert chances.max() <= 1
    assert set(np.unique(decisions)) == {0, 1}
    assert decisions.dtype == np.int8
    np.testing.assert_array_equal(fitted.classifiers_.decision_probability(X), chances)
    np.testing.assert_array_equal(fitted.classifiers_.predict(X), decisions)


@pytest.mark.parametrize("kind", RATES)
def test_a_rate_is_the_same_by_name_and_as_object_and_unlike_the_others(kind):
    X, Y = people(blanks=0.2)
    fitted = model(rate=kind).fit(X, Y)
    assert_same_answer(fitted, model(rate=RATES[kind]()).fit(X, Y))
    assert all(differ(fitted, model(rate=one).fit(X, Y)) for one in RATES if one != kind)


def test_a_request_that_can_be_met_is_met():
    population = make_synthetic(n=60, m=24, d=10, random_state=0)
    X, Y = population.X, population.Y.astype(float)
    loose, fair = (AverageFairClassifier(alpha=alpha).fit(X, Y) for alpha in (0.5, 0.1))
    assert_reported_as_measured(fair, X, Y, "error")
    assert np.ptp(plain_rates(Y, fair.decision_probability(X), "error")) <= 0.2 + 1e-6
    assert np.ptp(plain_rates(Y, loose.decision_probability(X), "error")) > 0.3
    assert max(loose.error_, fair.error_) < 0.5


def test_the_certificate_says_what_was_asked_and_reached():
    certificate = model(alpha=0.07).fit(*people()).certificate_
    text = str(certificate)
    assert certificate.promise.alpha == 0.07
    for number in (certificate.deviation, certificate.error, certificate.gap, certificate.spread):
        assert f"{number:.4f}" in text
    assert "0.07" in text
    assert StopReason.PLAN.value in text
    assert certificate.oracle_calls >= 10 * M


HARD = {
    "one person, one task": ([[1.0]], [[1.0]]),
    "one person": ([[1.0, 2.0]], [[1.0, 0.0, 1.0]]),
    "one task": (people()[0], people()[1][:, :1]),
    "constant features": (np.ones((N, 2)), people()[1]),
    "the same people again": (np.repeat(people()[0][:3], 8, axis=0), people()[1]),
    "dependent features": (np.tile(people()[0], 3), people()[1]),
    "more features than people": (np.random.default_rng(0).normal(size=(N, 60)), people()[1]),
    "huge features": (people()[0] * 1e30, people()[1]),
    "labels of one kind": (people()[0], np.ones((N, 3))),
}


@pytest.mark.parametrize("oracle", ["default", "stump", "tree"])
@pytest.mark.parametrize(("X", "Y"), HARD.values(), ids=HARD.keys())
@pytest.mark.filterwarnings("ignore::averagefair.DegenerateTaskWarning")
def test_hard_cases_are_answered(X, Y, oracle):
    X, Y = np.array(X), np.array(Y)
    fitted = model(alpha=1e-6, oracle=ORACLES[oracle], solver=rounds(30)).fit(X, Y)
    assert_reported_as_measured(fitted, X, Y, "error")


# --- oracles -------------------------------------------------------------------------------------


@pytest.mark.parametrize("classifier", [LOGISTIC, DecisionTreeClassifier(max_depth=2)], ids=str)
def test_a_scikit_learn_classifier_is_an_oracle(classifier):
    X, Y = people(blanks=0.2)
    plain = model(oracle=classifier).fit(X, Y)
    assert_same_answer(plain, model(oracle=WeightedOracle(classifier)).fit(X, Y))
    assert not hasattr(classifier, "classes_")
    assert differ(plain, model().fit(X, Y))


def test_the_default_oracle_is_least_squares():
    X, Y = people()
    default = model().fit(X, Y)
    assert_same_answer(default, model(oracle=RegressionOracle()).fit(X, Y))
    assert differ(default, model(oracle=RegressionOracle(l2=50.0)).fit(X, Y))


@pytest.mark.parametrize("oracle", ["default", "ridge", "logistic", "tree"])
def test_a_heuristic_oracle_proves_nothing_and_says_so(oracle):
    certificate = model(oracle=ORACLES[oracle]).fit(*people()).certificate_
    assert certificate.status is Status.HEURISTIC
    assert np.isnan(certificate.lower)
    text = str(certificate).lower()
    assert "heuristic" in text
    assert not any(word in text for word in ("guarantee", "certified", "lower bound", "optimal"))


@pytest.mark.parametrize("oracle", ["stump", "finite"])
def test_an_exact_oracle_is_certified(oracle):
    certificate = model(oracle=ORACLES[oracle]).fit(*people()).certificate_
    assert certificate.status is Status.CERTIFIED
    assert "certified" in str(certificate)
    assert "heuristic" not in str(certificate)
    assert max(certificate.lower, certificate.error) <= certificate.upper
    assert certificate.gap == pytest.approx(certificate.upper - certificate.lower)


# --- rounds, callbacks, interruption -------------------------------------------------------------


@pytest.mark.parametrize("oracle", ["default", "stump", "tree"])
def test_the_callback_hears_of_every_round(oracle):
    X, Y = people()
    heard = []
    fitted = model(oracle=ORACLES[oracle], callback=heard.append).fit(X, Y)
    assert [now.round for now in heard] == list(range(1, 11))
    assert [tuple(now) for now in heard] == [tuple(row) for row in fitted.history_.tolist()]
    for k in (1, 4, 10):
        cut = model(oracle=ORACLES[oracle], solver=rounds(k)).fit(X, Y)
        assert heard[k - 1].error == pytest.approx(cut.error_, abs=1e-9)
        assert heard[k - 1].spread == pytest.approx(cut.certificate_.spread, abs=1e-9)
        assert heard[k - 1].gap >= 0


@pytest.mark.parametrize("yes", [True, np.True_], ids=repr)
@pytest.mark.parametrize("k", [1, 4])
def test_a_callback_can_stop_the_run(k, yes):
    X, Y = people()
    stopped = model(callback=lambda now: yes if now.round == k else None).fit(X, Y)
    assert stopped.certificate_.stop_reason is StopReason.CALLBACK
    assert stopped.certificate_.rounds == k
    assert_same_answer(stopped, model(solver=rounds(k)).fit(X, Y))
    assert_reported_as_measured(stopped, X, Y, "error")


@pytest.mark.parametrize("answer", [None, False, np.False_, 1, "go on"], ids=repr)
def test_a_callback_that_does_not_ask_to_stop_is_only_a_listener(answer):
    X, Y = people()
    listened = model(callback=lambda now: answer).fit(X, Y)
    assert listened.certificate_.stop_reason is StopReason.PLAN
    assert_same_answer(listened, model().fit(X, Y))


@dataclass
class Interrupting(Oracle):
    """An oracle that raises KeyboardInterrupt at a given call."""

    at: int
    calls: list = field(default_factory=list)
    exact = False

    def bind(self, sample):
        inner = StumpOracle().bind(sample)

        def respond(costs):
            self.calls.append(costs)
            if len(self.calls) == self.at:
                raise KeyboardInterrupt
            return inner(costs)

        return respond


@pytest.mark.parametrize("k", [1, 4])
def test_an_interrupted_run_keeps_the_rounds_before(k):
    X, Y = people()

    def interrupt(now):
        if now.round == k:
            raise KeyboardInterrupt

    between = model(callback=interrupt, oracle=StumpOracle()).fit(X, Y)
    within = model(oracle=Interrupting(at=k + 1)).fit(X, Y)
    wanted = model(solver=rounds(k), oracle=StumpOracle()).fit(X, Y)
    for cut in (between, within):
        assert cut.certificate_.stop_reason is StopReason.INTERRUPTED
        assert cut.certificate_.rounds == k
        assert_same_answer(cut, wanted)
        assert_reported_as_measured(cut, X, Y, "error")


# The eleventh call is the first after ten rounds: it asks for the tasks set aside.
@pytest.mark.parametrize("at", [1, 11, 12])
def test_an_interruption_without_a_whole_answer_passes_through_and_changes_nothing(at):
    X, Y = people()
    fitted = model(rate=ErrorRate(holdout_tasks=2)).fit(X, Y)
    before = dict(vars(fitted))
    fitted.set_params(oracle=Interrupting(at=at))
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(X, Y)
    after = dict(vars(fitted))
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before if name != "oracle")


def test_an_error_in_a_callback_is_not_swallowed():
    def broken(now):
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        model(callback=broken).fit(*people())


# --- what was asked for --------------------------------------------------------------------------

THEORY = ExponentiatedGradient.from_theory(alpha=0.2, nu=0.9, n=N, tol=1.8)


def test_the_theorys_solver_brings_its_own_slack():
    X, Y = people()
    unset = model(alpha=None, solver=THEORY, oracle=StumpOracle()).fit(X, Y)
    assert unset.certificate_.promise.value == pytest.approx(0.4)
    spelt_out = model(alpha=0.4, solver=THEORY, oracle=StumpOracle()).fit(X, Y)
    assert_same_answer(unset, spelt_out)
    assert_reported_as_measured(unset, X, Y, "error")
    assert unset.certificate_.deviation <= 3 * 0.2


def test_alpha_is_a_twentieth_unless_asked_otherwise():
    assert model(alpha=None).fit(*people()).certificate_.promise.value == 0.05


@pytest.mark.parametrize(
    ("oracle", "alpha", "solver", "missed"),
    [
        ("default", 0.001, rounds(3), True),
        ("stump", 0.05, rounds(3), True),
        ("default", 0.2, rounds(10), False),
        ("stump", 0.2, rounds(10), False),
        ("default", 0.05, rounds(300), False),
        ("default", 0.5, rounds(300), False),
        ("stump", None, THEORY, False),
    ],
    ids=lambda value: str(getattr(value, "max_rounds", value)),
)
def test_a_missed_request_is_warned_about_and_a_met_one_is_not(oracle, alpha, solver, missed):
    X, Y = people()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = model(alpha=alpha, solver=solver, oracle=ORACLES[oracle]).fit(X, Y)
    aim = 3 * 0.2 if solver is THEORY else alpha
    rates = plain_rates(Y, fitted.decision_probability(X), "error")
    # The request is met if all rates are within the aim of *some* common rate.
    assert missed == (np.ptp(rates) > 2 * aim)
    assert missed != fitted.certificate_.met
    assert [w.category for w in caught] == [ConvergenceWarning] * int(missed)
    if missed:
        text = str(caught[0].message)
        assert f"{aim:g}" in text
        assert f"{np.ptp(rates):.6f}" in text
        assert caught[0].filename == __file__


def test_where_warnings_are_errors_the_answer_is_kept():
    X, Y = people()
    wanted = model(alpha=0.001, solver=rounds(3)).fit(X, Y)
    fitted = model(alpha=0.001, solver=rounds(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises(ConvergenceWarning, match=r"alpha 0\.001: NOT met"):
            fitted.fit(X, Y)
    assert vars(fitted).keys() == vars(wanted).keys()
    assert_same_answer(fitted, wanted)


def worst_off_tenth(rates):
    """Return the mean of the highest tenth of 40 rates."""
    return np.sort(rates)[-4:].mean()


@pytest.mark.parametrize("learn", ["a fit", "a curve"])
@pytest.mark.parametrize("alpha", [0.01, 0.5])
def test_levelling_down_is_warned_about(alpha, learn):
    """Twins with opposite labels: no rate can then be far from a half. At 0.5 nothing is asked."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, D))
    Y = (X @ rng.normal(size=(D, M)) > 0).astype(float)
    X[1], Y[1] = X[0], 1 - Y[0]
    options = {"oracle": RegressionOracle(), "random_state": 0}
    before = AverageFairClassifier(alpha=0.5, solver=rounds(1), **options).fit(X, Y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if learn == "a fit":
            after = AverageFairClassifier(alpha=alpha, **options).fit(X, Y)
        else:
            after = frontier(X, Y, [alpha], **options).model(alpha)
    told = [warning for warning in caught if warning.category is LevellingDownWarning]
    low, high = (
        worst_off_tenth(plain_rates(Y, fitted.decision_probability(X), "error"))
        for fitted in (before, after)
    )
    change = after.certificate_.who_pays.worst_off
    near = {"abs": 1e-4}  # who pays is rounded
    assert (change.before, change.after) == (
        pytest.approx(low, **near),
        pytest.approx(high, **near),
    )
    assert high > low + 1e-3 or alpha == 0.5
    assert len(told) == (alpha < 0.5)
    for warning in told:
        assert f"{low:.3f} to {high:.3f}" in str(warning.message)
        assert warning.filename == __file__


# --- individuals without a rate, tasks without two labels ----------------------------------------


def only_message(caught, category):
    (message,) = [str(warning.message) for warning in caught if warning.category is category]
    return message


def test_individuals_without_a_rate_are_listed_by_name():
    X, Y = people()
    Y[3], Y[7] = 1.0, np.where(Y[7] == 0, np.nan, Y[7])
    table = pd.DataFrame(Y, index=[f"person {i}" for i in range(N)], columns=TASKS)
    with pytest.warns(UndefinedRateWarning) as caught:
        fitted = model(rate="false_positive").fit(X, table)
    message = only_message(caught, UndefinedRateWarning)
    assert "2 of 24" in message
    assert "person 3, person 7" in message
    assert list(fitted.undefined_individuals_) == ["person 3", "person 7"]
    assert list(np.flatnonzero(np.isnan(fitted.individual_rates_))) == [3, 7]
    assert_reported_as_measured(fitted, X, Y, "false_positive")
    assert len(model(rate="error").fit(X, table).undefined_individuals_) == 0


def test_somebody_of_weight_zero_is_not_missed():
    X, Y = people()
    Y[4] = 1.0
    fitted = model(rate="false_positive").fit(X, Y, sample_weight=np.arange(N) != 4)
    assert len(fitted.undefined_individuals_) == 0


def test_nobody_may_have_a_rate():
    X, Y = people()
    Y[:, :] = 1.0
    with pytest.warns(UndefinedRateWarning), pytest.warns(DegenerateTaskWarning):
        fitted = model(rate="false_positive").fit(X, Y)
    assert len(fitted.undefined_individuals_) == N
    assert (fitted.predict(X) == 1).all()
    assert fitted.error_ == 0


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"solver": rounds(3, batch_size=2, replay=False)},
        {"rate": ErrorRate(holdout_tasks=1), "random_state": 1},
    ],
    ids=["plain", "batches", "tasks set aside"],
)
def test_tasks_of_one_label_are_warned_about_once_by_name(params):
    X, Y = people()
    Y[:, 2] = 1.0
    with pytest.warns(DegenerateTaskWarning) as caught:
        fitted = model(**params).fit(X, pd.DataFrame(Y, columns=list("abcdef")))
    message = only_message(caught, DegenerateTaskWarning)
    assert "1 of 6 tasks" in message
    assert "'c'" in message
    np.testing.assert_allclose(fitted.decision_probability(X)[:, 2], 1, atol=1e-12)


# --- score ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", RATES)
@pytest.mark.parametrize("weight", [None, SAMPLE_WEIGHT], ids=["alike", "weighted"])
def test_score_is_one_minus_the_error(kind, weight):
    X, Y = people(blanks=0.2)
    fitted = model(rate=kind).fit(X, Y, sample_weight=weight)
    assert fitted.score(X, Y, sample_weight=weight) == pytest.approx(1 - fitted.error_, abs=1e-12)
    X_new, Y_new = people(seed=8, blanks=0.3)
    error = plain_error(Y_new, fitted.decision_probability(X_new), individual_weights=weight)
    assert fitted.score(X_new, Y_new, sample_weight=weight) == pytest.approx(1 - error, abs=1e-12)


def test_score_weighs_tasks_as_fit_did():
    X, Y = people()
    fitted = model().fit(X, Y, task_weight=TASK_WEIGHT)
    assert fitted.score(X, Y) == pytest.approx(1 - fitted.error_, abs=1e-12)


@pytest.mark.parametrize(("learned", "asked"), [(1, 3), (3, 1), (3, 2)])
def test_score_refuses_labels_of_another_number_of_tasks(learned, asked):
    X, Y = people()
    fitted = model().fit(X, Y[:, :learned])
    with pytest.raises(
        InputError, match=rf"the {learned} tasks? that the model learned.*got {asked}"
    ):
        fitted.score(X, Y[:, :asked])


def test_score_refuses_tasks_in_another_order():
    X, Y = people()
    table = pd.DataFrame(Y, columns=TASKS)
    with pytest.raises(InputError, match="in their order; got 6: task5, task4"):
        model().fit(X, table).score(X, table[TASKS[::-1]])


@pytest.mark.parametrize("columns", [None, list("abcdef")], ids=["numbered", "named"])
def test_a_model_learned_without_task_names_scores_any_table(columns):
    X, Y = people()
    fitted = model().fit(X, Y)
    assert fitted.score(X, pd.DataFrame(Y, columns=columns)) == fitted.score(X, Y)


def test_score_without_labels_is_refused():
    X, Y = people()
    with pytest.raises(InputError, match=r"y must have at least one label.*all are blank"):
        model().fit(X, Y).score(X, np.full(Y.shape, np.nan))


# --- seeds ---------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_decisions_again():
    X, Y = people()
    one, same, other = (model(random_state=seed).fit(X, Y) for seed in (5, 5, 6))
    assert one.seed_ == same.seed_ != other.seed_
    assert_same_answer(one, same)
    assert not np.array_equal(one.predict(X), other.predict(X))
    assert not differ(one, other)


@pytest.mark.parametrize("source", [None, np.random.RandomState(0)], ids=["none", "moving on"])
def test_every_fit_without_a_fixed_seed_has_its_own_and_keeps_it(source):
    X, Y = people()
    one, other = (model(random_state=source).fit(X, Y) for _ in range(2))
    assert one.seed_ != other.seed_
    np.testing.assert_array_equal(one.predict(X), one.predict(X))


def test_the_seed_reaches_the_batches():
    X, Y = people()
    solver = rounds(3, batch_size=2, replay=False)
    one, same, other = (model(random_state=seed, solver=solver).fit(X, Y) for seed in (1, 1, 2))
    assert_same_answer(one, same)
    assert differ(one, other)


class CountedReads:
    """A table that counts how often its cells are read."""

    def __init__(self, cells):
        self.cells, self.reads = cells, 0
        self.shape, self.dtype, self.ndim = cells.shape, cells.dtype, cells.ndim

    def __len__(self):
        return len(self.cells)

    def __array__(self, dtype=None, copy=None):
        self.reads += 1
        return self.cells if dtype is None else self.cells.astype(dtype)


@pytest.mark.parametrize("names", [False, True], ids=["array", "frame"])
def test_features_are_read_once(names, monkeypatch):
    X, Y = people()
    if names:
        reads, honest = [], pd.Series.to_numpy
        monkeypatch.setattr(
            pd.Series, "to_numpy", lambda self, *a, **k: reads.append(self.name) or honest(self)
        )
        table = pd.DataFrame(X, columns=[f"x{place}" for place in range(X.shape[1])])

        def count():
            most = max((reads.count(name) for name in table.columns), default=0)
            reads.clear()
            return most
    else:
        table = CountedReads(X)

        def count():
            most, table.reads = table.reads, 0
            return most

    made = model().fit(table, Y)
    assert count() == 1
    for use in (made.predict, made.decision_probability, lambda it: made.score(it, Y)):
        use(table)
        assert count() == 1
    made.audit(table, Y)
    assert count() == 1
    frontier(table, Y, [0.1, 0.2], random_state=0)
    assert count() == 1
