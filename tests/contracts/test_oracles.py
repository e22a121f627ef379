"""Oracles: the promises of all of them, and each one against brute force or scikit-learn.

A new oracle adds one row to ``ORACLES`` and inherits every test that asks for ``case``.
"""

import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from averagefair import (
    AverageFairClassifier,
    DegenerateTaskWarning,
    FiniteOracle,
    InputError,
    LogisticOracle,
    Polished,
    Portfolio,
    RegressionOracle,
    Sample,
    StumpOracle,
    WeightedOracle,
)
from averagefair.game.costs import Costs
from averagefair.game.protocols import Hypothesis, Oracle
from averagefair.oracles import default_oracle
from tests.support.judges import stump_decisions

LISTED = [
    lambda x: np.zeros(len(x)),
    lambda x: np.ones(len(x), dtype=int),
    lambda x: x[:, 0] > 0,
    lambda x: x[:, 0] <= 0,
    lambda x: x[:, 0] + x[:, 1] > 0.3,
    lambda x: (x[:, 1] < -0.2) | (x[:, 0] > 1),
]

# Changes of the features that leave all decisions of some oracles as they are.
CHANGES: dict[str, Callable] = {
    "a constant column": lambda x: np.column_stack([x, np.full(len(x), 0.1)]),
    "a column twice": lambda x: np.column_stack([x, x[:, 0]]),
    "tiny units": lambda x: x * 1e-12,
    "huge units": lambda x: x * 1e12,
    "a unit for each column": lambda x: x * 10.0 ** np.array([-12, 0, 12]),
    "another zero": lambda x: x + 1e6,
}


@dataclass(frozen=True)
class OracleCase:
    """One row of the table.

    Attributes
    ----------
    make : makes the oracle
    exact : its ``exact``; an oracle that is not exact gives a task with a single label that label
    names_answers : whether equal answers have equal keys when the oracle was bound twice
    unmoved_by : the ``CHANGES`` of the features that leave its decisions as they are
    keeps_no_state : whether earlier questions change nothing; if False, they may change last digits
    sees_all : whether people without a label in a task affect it by their features
    """

    name: str
    make: Callable[[], Oracle]
    exact: bool
    names_answers: bool = True
    unmoved_by: frozenset[str] = frozenset()
    keeps_no_state: bool = True
    sees_all: bool = False


ORACLES = [
    OracleCase("regression", RegressionOracle, exact=False, unmoved_by=frozenset(CHANGES)),
    OracleCase(
        "ridge",
        lambda: RegressionOracle(l2=0.7),
        exact=False,
        unmoved_by=frozenset({"a constant column", "another zero"}),
    ),
    OracleCase(
        "finite",
        lambda: FiniteOracle(LISTED),
        exact=True,
        unmoved_by=frozenset({"a constant column", "a column twice"}),
    ),
    OracleCase("stump", StumpOracle, exact=True, unmoved_by=frozenset(CHANGES)),
    OracleCase(
        "weighted",
        lambda: WeightedOracle(DecisionTreeClassifier(max_depth=2)),
        exact=False,
        names_answers=False,  # fitted models are not compared
    ),
    OracleCase(
        "logistic",
        LogisticOracle,
        exact=False,
        unmoved_by=frozenset(CHANGES) - {"a column twice"},
        keeps_no_state=False,
        sees_all=True,
    ),
    OracleCase(
        "polished",
        lambda: Polished(RegressionOracle()),
        exact=False,
        unmoved_by=frozenset(CHANGES) - {"a column twice"},
        sees_all=True,
    ),
    OracleCase(
        "portfolio",
        lambda: Portfolio([RegressionOracle(), RegressionOracle(l2=5.0)]),
        exact=False,
        unmoved_by=frozenset({"a constant column", "another zero"}),
    ),
    OracleCase(
        "default",
        default_oracle,
        exact=False,
        unmoved_by=frozenset({"a constant column"}),
        keeps_no_state=False,
        sees_all=True,
    ),
]


def oracles(cases):
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


every_oracle = oracles(ORACLES)
exact_oracles = oracles([one for one in ORACLES if one.exact])
heuristic_oracles = oracles([one for one in ORACLES if not one.exact])
with_and_without_blanks = pytest.mark.parametrize("blanks", [0.0, 0.3], ids=["complete", "blanks"])


@dataclass(frozen=True)
class World:
    """People, their labels and the prices of mistakes on them; prices may be negative.

    Prices are multiples of 1/64, so that sums are exact and ties stay ties in any order.
    """

    X: np.ndarray
    Y: np.ndarray
    false_positive: np.ndarray
    false_negative: np.ndarray
    weights: np.ndarray

    def ask(self, oracle, tasks=None):
        return self.bind(oracle)(tasks)

    def bind(self, oracle):
        sample = Sample(self.X, self.Y, individual_weights=self.weights)
        answer = oracle.bind(sample)

        def asked(tasks=None):
            tasks = None if tasks is None else np.array(tasks)
            taken = sample if tasks is None else sample.take_tasks(tasks)
            return answer(Costs(taken, self.false_positive, self.false_negative, tasks))

        return asked

    def people(self, which):
        """Return only these people, in this order; a person may come twice."""
        return World(**{name: of_all[which] for name, of_all in vars(self).items()})

    def of(self, **changes):
        return World(**(vars(self) | changes))

    def priced(self, false_positive, false_negative):
        n = len(self.X)
        return self.of(
            false_positive=np.full(n, false_positive), false_negative=np.full(n, false_negative)
        )


def world(seed=0, n=60, d=3, m=5, blanks=0.0, wanted_mistakes=True):
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, d))
    Y = (X @ draw.normal(size=(d, m)) + draw.normal(size=(n, m)) > 0).astype(float)
    Y[draw.uniform(size=(n, m)) < blanks] = math.nan
    low = -32 if wanted_mistakes else 1
    prices = draw.integers(low, 129, (2, n)) / 64
    return World(X, Y, *prices, np.ones(n))


STRANGERS = np.random.default_rng(99).normal(size=(2000, 3)) * 1.5


def assert_same_decisions(one, other, people):
    ours, theirs = one.decide(people), other.decide(people)
    assert ours.shape == theirs.shape
    assert (ours == theirs).all(), f"{(ours != theirs).sum()} of {ours.size} decisions differ"


# The promises of every oracle.


@every_oracle
def test_it_offers_what_the_protocol_asks_and_says_whether_it_is_exact(case):
    oracle = case.make()
    assert isinstance(oracle, Oracle)
    assert isinstance(world().ask(oracle), Hypothesis)
    assert oracle.exact is case.exact


@every_oracle
@with_and_without_blanks
def test_decisions_are_bools_people_by_tasks(case, blanks):
    answer = world(blanks=blanks).ask(case.make())
    for count in (1, 2, 2000):
        decisions = answer.decide(STRANGERS[:count])
        assert decisions.dtype == np.bool_
        assert decisions.shape == (count, 5)


@every_oracle
def test_a_person_is_decided_alike_alone_and_in_company(case):
    answer = world().ask(case.make())
    together = answer.decide(STRANGERS[:50])
    alone = np.vstack([answer.decide(STRANGERS[i : i + 1]) for i in range(50)])
    assert (alone == together).all()


@every_oracle
@with_and_without_blanks
def test_asking_twice_answers_twice_the_same(case, blanks):
    oracle, here = case.make(), world(blanks=blanks)
    bound, fresh = here.bind(oracle), here.bind(oracle)
    first = bound()
    bound([3])
    for other, alike in ((bound(), case.keeps_no_state), (fresh(), case.names_answers)):
        assert_same_decisions(first, other, STRANGERS)
        if case.keeps_no_state:
            assert (first.key() == other.key()) is alike
    assert first.key() == first.key()
    hash(first.key())


@every_oracle
def test_answers_that_decide_differently_have_different_keys(case):
    answers = [world(seed).ask(case.make()) for seed in range(12)]
    for i, one in enumerate(answers):
        for other in answers[:i]:
            alike = (one.decide(STRANGERS) == other.decide(STRANGERS)).all()
            assert alike or one.key() != other.key()


@every_oracle
@pytest.mark.parametrize("tasks", [[0], [4], [1, 3], [4, 0, 2], [3, 2, 1, 0, 4]], ids=str)
def test_asking_for_some_tasks_is_asking_for_all(case, tasks):
    here = world(blanks=0.2)
    here.Y[:, 3] = np.where(np.isnan(here.Y[:, 3]), math.nan, 1.0)
    here.Y[:, 1] = world().Y[:, 1]
    bound = here.bind(case.make())
    some, everything = bound(tasks).decide(STRANGERS), bound().decide(STRANGERS)
    assert (some == everything[:, tasks]).all()


@every_oracle
def test_a_task_asked_for_twice_gets_its_answer_twice(case):
    here = world(3, blanks=0.6)
    decisions = here.ask(case.make(), [2, 2, 1, 2]).decide(STRANGERS)
    assert (decisions == here.ask(case.make()).decide(STRANGERS)[:, [2, 2, 1, 2]]).all()


@every_oracle
@pytest.mark.parametrize("cells", [1, 50, 700])
@with_and_without_blanks
def test_cutting_the_work_into_blocks_changes_nothing(monkeypatch, case, cells, blanks):
    here = world(blanks=blanks)
    whole = here.ask(case.make())
    monkeypatch.setattr("averagefair.people.blocks.CELLS_PER_BLOCK", cells)
    monkeypatch.setattr("averagefair.oracles.stump.CELLS_PER_BLOCK", cells)
    assert_same_decisions(here.ask(case.make()), whole, STRANGERS)


# Checks that take an oracle, so that tests can show that a broken oracle fails.


def check_a_blank_is_as_if_the_person_had_never_met_the_task(oracle):
    for seed in range(5):
        here = world(seed, blanks=0.4)
        here.Y[:, 1] = world(seed).Y[:, 1]  # one task without blanks
        everybody = np.vstack([STRANGERS, here.X])
        together = here.ask(oracle).decide(everybody)
        for task in range(5):
            met = ~np.isnan(here.Y[:, task])
            alone = here.of(Y=here.Y[:, [task]]).people(met).ask(oracle)
            assert (together[:, [task]] == alone.decide(everybody)).all()


def check_a_weight_is_a_number_of_copies(oracle):
    for seed, blanks in ((0, 0.0), (1, 0.0), (2, 0.3), (3, 0.3)):
        here = world(seed, blanks=blanks)
        counts = np.random.default_rng(seed).integers(0, 4, 60)
        listed = here.people(np.repeat(np.arange(60), counts))
        weighted = here.of(weights=counts.astype(float)).priced(
            here.false_positive * counts, here.false_negative * counts
        )
        everybody = np.vstack([STRANGERS, here.X])
        assert_same_decisions(weighted.ask(oracle), listed.ask(oracle), everybody)


@oracles([one for one in ORACLES if not one.sees_all])
def test_a_blank_is_as_if_the_person_had_never_met_the_task(case):
    check_a_blank_is_as_if_the_person_had_never_met_the_task(case.make())


@every_oracle
def test_a_weight_is_a_number_of_copies(case):
    check_a_weight_is_a_number_of_copies(case.make())


def zero_for_a_blank(sample):
    """Regress on everybody, with gap 0 for a blank label."""
    return RegressionOracle().bind(Sample(sample.features, sample.signs < 0))


def next_task(sample):
    """Give each task the answer of the next task."""
    order, answer = np.roll(np.arange(sample.m), -1), StumpOracle().bind(sample)
    return lambda costs: answer(
        Costs(costs.sample.take_tasks(order), costs.false_positive, costs.false_negative)
    )


def blind_to_weights(sample):
    """Regress without the individual weights."""
    labels = np.where(sample.signs, sample.signs < 0, math.nan)
    return RegressionOracle().bind(Sample(sample.features, labels))


@pytest.mark.parametrize(
    ("check", "bind"),
    [
        (check_a_blank_is_as_if_the_person_had_never_met_the_task, zero_for_a_blank),
        (check_a_blank_is_as_if_the_person_had_never_met_the_task, next_task),
        (check_a_weight_is_a_number_of_copies, blind_to_weights),
    ],
)
def test_the_checks_can_fail(check, bind):
    with pytest.raises(AssertionError):
        check(SimpleNamespace(bind=bind))


@every_oracle
def test_a_label_only_a_person_of_no_weight_has_is_no_label(case):
    here = world(4, m=1)
    here = here.of(false_positive=np.round(64 * here.X[:, 0]) / 64)
    here.Y[:] = 0.0
    absent = here.people(np.arange(1, 60)).ask(case.make())
    here.Y[0], here.weights[0] = 1.0, 0.0
    here.false_positive[0] = here.false_negative[0] = 0.0
    assert_same_decisions(here.ask(case.make()), absent, here.X[1:])


# Hard cases, for every oracle.

CASES = {
    "one person": lambda: world(0, n=1),
    "two people": lambda: world(0, n=2),
    "one task": lambda: world(0, m=1),
    "one feature": lambda: world(0, d=1).of(X=np.repeat(world(0, d=1).X, 2, axis=1)),
    "constant features": lambda: world(0).of(X=np.full((60, 3), 0.1)),
    "one constant feature": lambda: world(0).of(X=world(0).X * [1, 0, 1] + [0, 1e6 + 0.1, 0]),
    "a feature twice": lambda: world(0).of(X=world(0).X[:, [0, 1, 0]]),
    "more features than people": lambda: world(0, n=6, d=15),
    "everybody alike": lambda: world(0).of(X=np.ones((60, 1)) * [0.3, -0.1, 7]),
    "nothing observed": lambda: world(0).of(Y=np.full((60, 5), math.nan)),
    "hardly anything observed": lambda: world(0, blanks=0.95),
    "all prices zero": lambda: world(0).priced(0.0, 0.0),
    "every mistake wanted": lambda: world(0).priced(-1.0, -1.0),
    "prices near overflow": lambda: world(0).priced(1e300, 1e-300),
    "enormous features": lambda: world(0).of(X=world(0).X * 1e30),
    "minute features": lambda: world(0).of(X=world(0).X * 1e-30),
}


@every_oracle
@pytest.mark.parametrize("make", CASES.values(), ids=CASES)
def test_hard_cases_are_answered_with_decisions(case, make):
    here = make()
    decisions = here.ask(case.make()).decide(here.X)
    assert decisions.shape == here.Y.shape
    assert decisions.dtype == np.bool_


@pytest.mark.parametrize(
    ("case", "change"),
    [
        pytest.param(case, change, id=f"{case.name}, {change}")
        for case in ORACLES
        for change in sorted(case.unmoved_by)
    ],
)
@with_and_without_blanks
def test_some_changes_of_the_features_change_no_decision(case, change, blanks):
    here, other = world(5, blanks=blanks), CHANGES[change]
    before = here.ask(case.make())
    after = here.of(X=other(here.X)).ask(case.make())
    assert (after.decide(other(STRANGERS)) == before.decide(STRANGERS)).all()


@heuristic_oracles
@pytest.mark.parametrize(
    ("label", "decision"),
    [(1.0, True), (0.0, False), (math.nan, False)],
    ids=["only ones", "only zeros", "no labels"],
)
@with_and_without_blanks
def test_a_task_with_a_single_label_gets_it_whatever_the_prices(case, label, decision, blanks):
    here = world(6, blanks=blanks)
    here.Y[:, 2] = np.where(np.isnan(here.Y[:, 2]), math.nan, label)
    others = [0, 1, 3, 4]
    answer = here.ask(case.make()).decide(STRANGERS)
    rest = here.of(Y=here.Y[:, others]).ask(case.make()).decide(STRANGERS)
    assert (answer[:, 2] == decision).all()
    assert (answer[:, others] == rest).all()


def warnings_of(call, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore", ConvergenceWarning)  # one round is seldom enough
        warnings.simplefilter("always", DegenerateTaskWarning)
        call(*arguments)
    return [str(one.message) for one in caught]


def one_round(oracle):
    return AverageFairClassifier(
        alpha=0.5, oracle=oracle, random_state=0, callback=lambda progress: True
    )


@every_oracle
@pytest.mark.parametrize(
    "label", [0.0, 1.0, math.nan], ids=["only zeros", "only ones", "no labels"]
)
def test_a_forced_constant_is_told_of_in_one_warning_that_names_the_task(case, label):
    here, model = world(6, m=3), one_round(case.make())
    labels = pd.DataFrame(here.Y, columns=["ads", "loans", "schools"])
    later = labels.assign(loans=label)
    assert warnings_of(model.fit, here.X, labels) == []
    extend = partial(model.extend, balance=False)
    for told in (warnings_of(extend, later), warnings_of(model.fit, here.X, later)):
        assert len(told) == (not case.exact)
        for message in told:
            assert "'loans'" in message
            assert "ads" not in message
            assert "schools" not in message


@heuristic_oracles
def test_many_tasks_with_a_single_label_get_one_warning(case):
    here = world(6, m=30)
    here.Y[:, 10:] = np.arange(20) % 2
    model = one_round(case.make())
    (told,) = warnings_of(model.fit, here.X, here.Y)
    assert "20 of 30" in told
    assert (model.decision_probability(STRANGERS)[:, 10:] == np.arange(20) % 2).all()


@exact_oracles
def test_an_exact_oracle_answers_a_single_label_by_its_cost(case):
    here = world(7)
    here.Y[:, 0], here.Y[:, 1] = 0.0, 1.0
    decisions = here.priced(-1.0, -1.0).ask(case.make()).decide(here.X)
    assert decisions[:, 0].all()
    assert not decisions[:, 1].any()


# Least squares on cost gaps.


def fit_by_scikit_learn(here, l2=0.0):
    """The paper's heuristic, task by task: (coefficients (d, m), intercepts (m,)) of the gap.

    Two regressions: of the cost of deciding 1 and of the cost of deciding 0.
    """
    coefficients, intercepts = [], []
    for task in range(here.Y.shape[1]):
        met = here.people(~np.isnan(here.Y[:, task]) & (here.weights > 0))
        deciding_one = np.where(met.Y[:, task] == 0, met.false_positive, 0.0)
        deciding_zero = np.where(met.Y[:, task] == 1, met.false_negative, 0.0)
        costs = np.column_stack([deciding_one, deciding_zero]) / met.weights[:, None]
        model = Ridge(alpha=l2) if l2 else LinearRegression()
        model.fit(met.X, costs, sample_weight=met.weights)
        coefficients.append(model.coef_[0] - model.coef_[1])
        intercepts.append(model.intercept_[0] - model.intercept_[1])
    return np.column_stack(coefficients), np.array(intercepts)


def assert_linear_fit(answer, coefficients, intercepts, *people):
    """Check that scores agree to 1e-8, and decisions wherever scores are further from 0."""
    size = np.abs(coefficients).sum(axis=0) + np.abs(intercepts)
    assert (np.abs(answer.coefficients - coefficients) <= 1e-8 * size).all()
    assert (np.abs(answer.intercepts - intercepts) <= 1e-8 * size).all()
    for some in people:
        scores = some @ coefficients + intercepts
        clear = np.abs(scores) > 1e-6 * size
        assert clear.mean() > 0.99
        assert (answer.decide(some)[clear] == (scores < 0)[clear]).all()


PRICES = {
    "one price": lambda draw, n: np.repeat(draw.uniform(0.1, 2, (1, n)), 2, axis=0),
    "a price for each mistake": lambda draw, n: draw.uniform(0.1, 2, (2, n)),
    "wanted mistakes": lambda draw, n: draw.normal(size=(2, n)),
    "some for nothing": lambda draw, n: draw.normal(size=(2, n)) * (draw.uniform(size=n) < 0.6),
}


@pytest.mark.parametrize("price", PRICES.values(), ids=PRICES)
@with_and_without_blanks
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
@pytest.mark.parametrize("l2", [0.0, 0.01, 5.0, 1e4])
def test_regression_is_scikit_learns(price, blanks, weighted, l2):
    draw = np.random.default_rng(8)
    n = 70
    here = world(8, n=n, blanks=blanks)
    false_positive, false_negative = price(draw, n)
    weights = draw.uniform(0.2, 3, n) * (draw.uniform(size=n) < 0.9) if weighted else np.ones(n)
    here = here.of(X=here.X * [1, 30, 0.02] + [0, 5, -1], weights=weights)
    here = here.priced(false_positive * weights, false_negative * weights)
    strangers = STRANGERS * [1, 30, 0.02] + [0, 5, -1]
    expected = fit_by_scikit_learn(here, l2)
    assert_linear_fit(here.ask(RegressionOracle(l2=l2)), *expected, here.X, strangers)


def test_the_judge_of_linear_fits_can_fail():
    here = world(8, blanks=0.3)
    answer = here.ask(RegressionOracle())
    coefficients, intercepts = fit_by_scikit_learn(here)
    assert_linear_fit(answer, coefficients, intercepts, here.X, STRANGERS)
    for wrong in (
        (coefficients * (1 + 1e-6), intercepts),
        (coefficients, intercepts + 1e-6),
        fit_by_scikit_learn(here, l2=1e-3),
        fit_by_scikit_learn(here.of(Y=np.nan_to_num(here.Y))),
        fit_by_scikit_learn(here.of(false_negative=here.false_positive)),
    ):
        with pytest.raises(AssertionError):
            assert_linear_fit(answer, *wrong, here.X, STRANGERS)


@pytest.mark.parametrize("change", ["tiny units", "huge units", "another zero", "a column twice"])
@with_and_without_blanks
def test_regression_scores_do_not_depend_on_the_units(change, blanks):
    here, other = world(9, blanks=blanks), CHANGES[change]
    coefficients, intercepts = fit_by_scikit_learn(here)
    answer = here.of(X=other(here.X)).ask(RegressionOracle())
    scores = other(STRANGERS) @ answer.coefficients + answer.intercepts
    # A mean 1e6 deviations from zero costs six digits, and the tie rule another six.
    digits = 1e-4 if change == "another zero" else 1e-8
    expected = STRANGERS @ coefficients + intercepts
    assert np.allclose(scores, expected, rtol=0, atol=digits * np.abs(expected).max())


@pytest.mark.parametrize("constant", [1.0, 0.1, 1e6 + 0.1, -1e-5 / 3])
@pytest.mark.parametrize("n", [30, 500, 100_000])
def test_a_constant_column_changes_no_score_however_many_people(n, constant):
    here = world(10, n=n, m=2)
    with_constant = here.of(X=np.column_stack([here.X, np.full(n, constant)]))
    plain, answer = here.ask(RegressionOracle()), with_constant.ask(RegressionOracle())
    scores = with_constant.X @ answer.coefficients + answer.intercepts
    expected = here.X @ plain.coefficients + plain.intercepts
    assert np.allclose(scores, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@with_and_without_blanks
def test_with_more_features_than_people_every_observed_label_is_met(blanks):
    here = world(12, n=12, d=20, blanks=blanks, wanted_mistakes=False)
    decisions = here.ask(RegressionOracle()).decide(here.X)
    seen = ~np.isnan(here.Y)
    assert (decisions == (here.Y == 1))[seen].all()


@pytest.mark.xfail(
    strict=True,
    reason="a limit: of many equally good coefficients, those taken depend on everybody's features",
)
def test_with_more_features_than_people_a_blank_still_has_no_say():
    here = world(13, n=8, d=20, m=1, wanted_mistakes=False)
    here.Y[:, 0] = [0, 0, 0, 0, 1, 1, 1, math.nan]
    without = here.people(np.arange(7)).ask(RegressionOracle())
    strangers = np.random.default_rng(13).normal(size=(500, 20))
    assert_same_decisions(here.ask(RegressionOracle()), without, strangers)


too_far = pytest.mark.xfail(
    strict=True,
    reason="a limit of precision: next to a person 1e7 times as far away, all others are one point",
)


@pytest.mark.parametrize(
    "far",
    [1e3, 1e6, pytest.param(1e7, marks=too_far), pytest.param(1e9, marks=too_far)],
)
def test_a_blank_of_a_person_far_away_has_no_say(far):
    here = world(14, m=2)
    here.X[0, 0], here.Y[0, 1] = far, math.nan
    without = here.people(np.arange(1, 60)).ask(RegressionOracle())
    answer = here.ask(RegressionOracle())
    assert (answer.decide(STRANGERS)[:, 1] == without.decide(STRANGERS)[:, 1]).all()


@pytest.mark.parametrize("far", [1e5, 1e9, 1e15])
def test_a_person_of_no_weight_far_away_has_no_say(far):
    here = world(14, blanks=0.2)
    here.X[0], here.weights[0] = far, 0.0
    here.false_positive[0] = here.false_negative[0] = 0.0
    without = here.people(np.arange(1, 60)).ask(RegressionOracle())
    assert_same_decisions(here.ask(RegressionOracle()), without, STRANGERS)


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_a_tie_decides_zero(seed, flip):
    # Everybody has a mirror image with the opposite label, so the middle is a tie.
    half = np.random.default_rng(seed).normal(size=(30, 3))
    labels = ((half[:, :1] > 0) != flip).astype(float)
    here = World(np.vstack([half, -half]), np.vstack([labels, 1 - labels]), *np.ones((3, 60)))
    assert not here.ask(RegressionOracle()).decide(np.zeros((1, 3))).any()
    assert not here.priced(0.0, 0.0).ask(RegressionOracle()).decide(here.X).any()


@pytest.mark.parametrize("l2", [1e8, 1e16, 1e24, 1e32])
def test_a_huge_penalty_leaves_the_intercept(l2):
    here = world(15)
    gaps = np.where(here.Y == 1, -here.false_negative[:, None], here.false_positive[:, None])
    answer = here.ask(RegressionOracle(l2=l2))
    assert answer.intercepts == pytest.approx(gaps.mean(axis=0), rel=1e-5)


@pytest.mark.parametrize("l2", [-1e-9, math.nan, math.inf])
def test_a_penalty_that_makes_no_sense_is_refused(l2):
    with pytest.raises(InputError, match="l2"):
        RegressionOracle(l2=l2)


# The exact oracles, against every classifier of their class.


@st.composite
def small_worlds(draw, values):
    """Problems with few people, many ties, blanks, and prices of both signs."""
    n, d, m = draw(st.integers(1, 7)), draw(st.integers(1, 3)), draw(st.integers(1, 3))

    def table(cells, *shape):
        flat = draw(st.lists(cells, min_size=math.prod(shape), max_size=math.prod(shape)))
        return np.array(flat, dtype=float).reshape(shape)

    price = st.one_of(st.integers(-3, 5).map(float), st.floats(-2, 2))
    return World(
        table(values, n, d),
        table(st.sampled_from([0.0, 1.0, 1.0, 0.0, math.nan]), n, m),
        table(price, n),
        table(price, n),
        np.ones(n),
    )


def cost_by_hand(here, decisions, task):
    """Return the total cost of these decisions (n,) on one task, by a plain loop."""
    total = 0.0
    for i in range(len(here.Y)):
        if here.Y[i, task] == 0 and decisions[i]:
            total += here.false_positive[i]
        if here.Y[i, task] == 1 and not decisions[i]:
            total += here.false_negative[i]
    return total


def assert_cheapest(here, decisions, rivals):
    """Check that the decisions (n, m) on each task are a cheapest one of the rivals (h, n)."""
    scale = 1 + np.abs(here.false_positive).sum() + np.abs(here.false_negative).sum()
    for task in range(here.Y.shape[1]):
        assert (decisions[:, task] == rivals).all(axis=1).any()
        paid = cost_by_hand(here, decisions[:, task], task)
        best = min(cost_by_hand(here, rival, task) for rival in rivals)
        assert abs(paid - best) <= 1e-12 * scale


few_values = st.sampled_from([-1.0, 0.0, 0.5, 2.0])
any_value = st.one_of(few_values, st.floats(allow_nan=False, allow_infinity=False))


@settings(deadline=None, max_examples=300)
@given(st.one_of(small_worlds(few_values), small_worlds(any_value)))
def test_no_stump_is_cheaper_than_the_stump_oracles(here):
    assert_cheapest(here, here.ask(StumpOracle()).decide(here.X), stump_decisions(here.X))


@with_and_without_blanks
@pytest.mark.parametrize("seed", range(3))
def test_no_stump_is_cheaper_among_many_people(seed, blanks):
    here = world(seed, n=40, blanks=blanks)
    here = here.of(X=np.round(here.X, 1))
    assert_cheapest(here, here.ask(StumpOracle()).decide(here.X), stump_decisions(here.X))


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (-1.7e308, 1.7e308),
        (1.6e308, 1.7e308),
        (1.0, np.nextafter(1.0, 2.0)),
        (np.nextafter(1.0, 0.0), 1.0),
        (0.0, 5e-324),
        (5e-324, 1e-323),
        (-5e-324, 0.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("labels", [[0, 1], [1, 0]], ids=["up", "down"])
def test_a_stump_tells_apart_any_two_numbers_that_differ(low, high, labels):
    X = np.array([[low], [high]])
    here = World(X, np.array(labels, float)[:, None], *np.ones((3, 2)))
    assert here.ask(StumpOracle()).decide(X).ravel().tolist() == labels


def test_a_stump_cuts_halfway_between_two_people():
    here = World(np.array([[1.0], [4.0]]), np.array([[0.0], [1.0]]), *np.ones((3, 2)))
    answer = here.ask(StumpOracle())
    assert answer.decide(np.array([[2.4], [2.6]])).ravel().tolist() == [False, True]


@settings(deadline=None, max_examples=200)
@given(small_worlds(few_values), st.data())
def test_no_listed_classifier_is_cheaper_than_the_finite_oracles(here, data):
    n = len(here.X)
    row = st.lists(st.booleans(), min_size=n, max_size=n)
    table = np.array(data.draw(st.lists(row, min_size=1, max_size=6)))
    here = here.of(X=np.arange(float(n))[:, None])
    # Each classifier looks its decisions up by the row number, which is the only feature.
    listed = [lambda x, row=row: row[x[:, 0].astype(int)] for row in table]
    assert_cheapest(here, here.ask(FiniteOracle(listed)).decide(here.X), table)


def test_the_judge_of_exact_answers_can_fail():
    here = world(0, n=20, m=1)
    best, rivals = here.ask(StumpOracle()).decide(here.X), stump_decisions(here.X)
    assert_cheapest(here, best, rivals)
    right = here.Y[:, 0] == 1
    for decisions, others in (
        (~best, rivals),
        (right[:, None], rivals),
        (best, [*rivals, right]),
    ):
        with pytest.raises(AssertionError):
            assert_cheapest(here, decisions, others)


def test_a_listed_classifier_may_be_an_object_that_predicts():
    here = world(0, wanted_mistakes=False)
    model = LogisticRegression().fit(here.X, here.Y[:, 0])
    answer = here.of(Y=here.Y[:, :1]).ask(FiniteOracle([model, lambda x: np.zeros(len(x))]))
    assert (answer.decide(STRANGERS)[:, 0] == model.predict(STRANGERS)).all()


def test_of_two_listed_classifiers_that_cost_the_same_the_first_is_taken():
    zeros, ones = (lambda x: np.zeros(len(x))), (lambda x: np.ones(len(x)))
    here = world(0).priced(0.0, 0.0)
    assert not here.ask(FiniteOracle([zeros, ones])).decide(STRANGERS).any()
    assert here.ask(FiniteOracle([ones, zeros])).decide(STRANGERS).all()


@pytest.mark.parametrize(
    ("classifiers", "said"),
    [
        ([], "at least one"),
        ([np.zeros_like, 3], "number 1"),
        ([lambda x: np.zeros((len(x), 1))], r"\(60, 1\)"),
        ([lambda x: np.zeros(3)], r"\(3,\)"),
        ([lambda x: np.zeros(len(x)), lambda x: np.full(len(x), 0.5)], "classifier 1.*0 or 1"),
        ([lambda x: np.full(len(x), math.nan)], "classifier 0.*0 or 1"),
    ],
)
def test_classifiers_that_do_not_classify_are_refused(classifiers, said):
    with pytest.raises(InputError, match=said):
        world().ask(FiniteOracle(classifiers))


# Any scikit-learn classifier.


class Spy(ClassifierMixin, BaseEstimator):
    """A classifier that keeps its training data, and decides at random by its seed."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        self.seen_ = X.copy(), y.copy(), sample_weight.copy()
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.random.default_rng(self.random_state).integers(0, 2, len(X))


def wanted_by_hand(here, task):
    """Return the (features, label, weight) that one task's classifier must be fitted with.

    People with a cost gap weigh 1 on average.
    """
    rows = []
    for i, label in enumerate(here.Y[:, task]):
        price = here.false_negative[i] if label == 1 else here.false_positive[i]
        # A price of 0 leaves the person out; a negative price asks for the other label.
        if price != 0 and not math.isnan(label):
            rows.append((here.X[i], label if price > 0 else 1 - label, abs(price)))
    X, label, weight = (np.array(column) for column in zip(*rows, strict=True))
    return X, label, weight / weight.mean()


@with_and_without_blanks
def test_label_is_the_sign_of_the_gap_and_weight_its_size(blanks):
    here = world(16, blanks=blanks)
    here.false_positive[:5] = here.false_negative[5:9] = 0.0
    answer = here.ask(WeightedOracle(Spy()))
    for task, fitted in enumerate(answer.classifiers):
        expected = wanted_by_hand(here, task)
        assert len(expected[0]) < 60
        for seen, wanted in zip(fitted.seen_, expected, strict=True):
            np.testing.assert_allclose(seen, wanted, rtol=1e-14)


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(), DecisionTreeClassifier(max_depth=2, random_state=3)]
)
def test_weighted_is_one_plain_fit_for_each_task(estimator):
    here = world(17, blanks=0.2)
    decisions = here.ask(WeightedOracle(estimator)).decide(STRANGERS)
    for task in range(5):
        X, label, weight = wanted_by_hand(here, task)
        model = clone(estimator).fit(X, label, sample_weight=weight)
        assert (decisions[:, task] == model.predict(STRANGERS)).all()


@pytest.mark.parametrize(
    ("price", "wanted"), [(1.0, [False, True]), (-1.0, [True, False]), (0.0, [False, False])]
)
def test_where_one_wanted_label_is_left_the_answer_is_that_constant(price, wanted):
    # Mistakes on one of the labels cost nothing, so only one wanted label is left, or none.
    here = world(18)
    for prices, constant in zip(((price, 0.0), (0.0, price)), wanted, strict=True):
        answer = here.priced(*prices).ask(WeightedOracle(Spy()))
        assert (answer.decide(STRANGERS) == constant).all()


# Workers take seconds to start; tests/oracles/test_weighted.py uses the same ones many times.
@pytest.mark.long
def test_tasks_fitted_side_by_side_are_fitted_alike():
    here = world(19, n=40, m=3)
    tree = DecisionTreeClassifier(max_features=1)
    one_by_one = here.ask(WeightedOracle(tree))
    assert_same_decisions(here.ask(WeightedOracle(tree, n_jobs=2)), one_by_one, STRANGERS)


def test_an_unset_seed_is_set_and_a_set_one_kept():
    here, estimator = world(20), Spy()
    fitted = here.ask(WeightedOracle(estimator)).classifiers
    assert all(isinstance(one.random_state, int) for one in fitted)
    assert estimator.random_state is None
    assert not hasattr(estimator, "seen_")
    assert {one.random_state for one in here.ask(WeightedOracle(Spy(7))).classifiers} == {7}


def test_a_classifier_without_sample_weight_is_refused_with_the_remedy():
    with pytest.raises(InputError, match="sample_weight") as refusal:
        WeightedOracle(KNeighborsClassifier())
    assert "KNeighborsClassifier" in str(refusal.value)
    assert "LogisticRegression" in str(refusal.value)


@pytest.mark.parametrize(
    "estimator",
    [None, "logistic", len, LinearRegression(), LogisticRegression],
    ids=["None", "str", "function", "regressor", "class"],
)
def test_what_is_no_classifier_is_refused(estimator):
    with pytest.raises(InputError, match=f"scikit-learn classifier.*{re.escape(repr(estimator))}"):
        WeightedOracle(estimator)
