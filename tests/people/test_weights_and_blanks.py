"""Invariances: copies or weights of people, values under a blank, the source of rho.

Each test fits the same people in two equivalent ways and compares the answers.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from averagefair import (
    DegenerateTaskWarning,
    ErrorRate,
    FalsePositiveRate,
    InputError,
    UndefinedRateWarning,
)
from averagefair.game.rates import RATES
from tests.support.judges import COUNTS, plain_error, plain_rates
from tests.support.small_fits import (
    ORACLES,
    TASKS,
    UNEVEN,
    M,
    N,
    assert_reported_as_measured,
    assert_same_answer,
    differ,
    model,
    people,
    rounds,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# --- blanks --------------------------------------------------------------------------------------


def frame(Y):
    return pd.DataFrame(Y, columns=TASKS)


BLANKING = {
    "NaN": lambda Y, blank: np.where(blank, np.nan, Y),
    "None": lambda Y, blank: np.where(blank, None, Y),
    "lists": lambda Y, blank: np.where(blank, None, Y).tolist(),
    "masked": lambda Y, blank: np.ma.masked_array(Y, blank),
    "pandas": lambda Y, blank: frame(Y).mask(blank),
    "pandas NA": lambda Y, blank: frame(Y).astype("boolean").mask(blank, pd.NA),
    "objects NA": lambda Y, blank: np.where(blank, pd.NA, Y.astype(object)),
    "polars": lambda Y, blank: pl.from_pandas(frame(Y).mask(blank)),
}


@pytest.mark.parametrize("how", BLANKING)
@pytest.mark.parametrize("kind", RATES)
def test_a_blank_hides_the_value_it_had(how, kind):
    X, Y = people()
    blank = np.random.default_rng(1).random(Y.shape) < 0.2
    rows = np.arange(N)
    blank[rows, rows % M] = blank[rows, (rows + 1) % M] = False
    flipped = np.where(blank, 1 - Y, Y)
    hidden = [model(rate=kind).fit(X, BLANKING[how](labels, blank)) for labels in (Y, flipped)]
    assert_same_answer(*hidden)
    assert_same_answer(hidden[0], model(rate=kind).fit(X, np.where(blank, np.nan, Y)))
    shown = model(rate=kind).fit(X, Y)
    assert not np.array_equal(shown.individual_rates_, hidden[0].individual_rates_)


@pytest.mark.parametrize("kind", RATES)
def test_a_person_blank_everywhere_is_reported_and_changes_nothing(kind):
    X, Y = people(blanks=0.1)
    Y[5] = np.nan
    with pytest.warns(UndefinedRateWarning, match="1 of 24 individuals .*: 5"):
        fitted = model(rate=kind).fit(X, Y)
    assert list(fitted.undefined_individuals_) == [5]
    assert_reported_as_measured(fitted, X, Y, kind)
    without = model(rate=kind).fit(np.delete(X, 5, axis=0), np.delete(Y, 5, axis=0))
    without.individual_rates_ = np.insert(without.individual_rates_, 5, np.nan)
    assert_same_answer(fitted, without, atol=1e-9)


# --- weights of people ---------------------------------------------------------------------------

COPIES = {
    "one twice": np.where(np.arange(N) == 4, 2, 1),
    "one left out": np.where(np.arange(N) == 4, 0, 1),
    "all twice": np.full(N, 2),
    "anything": np.arange(N) % 4,
}


def assert_weights_are_copies(kind, oracle, X, Y, copies, weight):
    """Check that weight k equals k copies, and weight 0 equals no copy."""
    params = {"rate": kind, "oracle": ORACLES[oracle]}
    weighted = model(**params).fit(X, Y, sample_weight=weight * copies)
    repeated = model(**params).fit(*(np.repeat(each, copies, axis=0) for each in (X, Y, weight)))
    rates = np.repeat(weighted.individual_rates_, copies)
    np.testing.assert_allclose(rates, repeated.individual_rates_, atol=1e-9)
    for name in ("error", "common_rate", "deviation", "spread", "gap"):
        one, other = getattr(weighted.certificate_, name), getattr(repeated.certificate_, name)
        assert one == pytest.approx(other, abs=1e-9)


@pytest.mark.parametrize("copies", COPIES.values(), ids=COPIES.keys())
@pytest.mark.parametrize("blanks", [0.0, 0.2], ids=["complete", "blanks"])
@pytest.mark.parametrize("oracle", ["default", "stump"])
@pytest.mark.parametrize("kind", RATES)
def test_a_weight_is_a_number_of_copies(kind, oracle, blanks, copies):
    X, Y = people(blanks=blanks)
    assert_weights_are_copies(kind, oracle, X, Y, copies, UNEVEN)


@pytest.mark.parametrize("blanks", [0.0, 0.2], ids=["complete", "blanks"])
@pytest.mark.parametrize("kind", RATES)
def test_a_weight_is_a_number_of_copies_to_a_scikit_learn_classifier(kind, blanks):
    X, Y = people(blanks=blanks)
    assert_weights_are_copies(kind, "logistic", X, Y, COPIES["anything"], UNEVEN)


@pytest.mark.parametrize("kind", RATES)
@pytest.mark.parametrize("oracle", ["default", "stump", "finite"])
def test_a_weight_is_a_number_of_copies_where_classifiers_tie(oracle, kind):
    for seed in range(12):
        X, Y = people(seed=seed)
        copies = np.random.default_rng(seed).integers(0, 4, N)
        assert_weights_are_copies(kind, oracle, X, Y, copies, np.ones(N))


def test_the_judge_of_weights_can_fail():
    X, Y = people()
    weighted = model().fit(X, Y, sample_weight=COPIES["anything"])
    assert weighted.error_ != pytest.approx(model().fit(X, Y).error_, abs=1e-3)


def test_somebody_of_weight_zero_gives_no_task_its_second_label():
    X, Y = people()
    Y[:, 2] = 0.0
    Y[4, 2] = 1.0
    with pytest.warns(DegenerateTaskWarning):
        without = model().fit(np.delete(X, 4, axis=0), np.delete(Y, 4, axis=0))
    with pytest.warns(DegenerateTaskWarning):
        weighted = model().fit(X, Y, sample_weight=COPIES["one left out"])
    np.testing.assert_allclose(
        weighted.decision_probability(X), without.decision_probability(X), atol=1e-9
    )


# --- weights of tasks ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", RATES)
@pytest.mark.filterwarnings("ignore::averagefair.UndefinedRateWarning")
def test_a_task_of_weight_zero_has_no_influence(kind):
    X, Y = people(m=7)
    b = np.ones(7)
    b[6] = 0
    with_it, flipped = (
        model(rate=kind).fit(X, np.column_stack([Y[:, :6], last]), task_weight=b)
        for last in (Y[:, 6], 1 - Y[:, 6])
    )
    for other in (flipped, model(rate=kind).fit(X, Y[:, :6])):
        np.testing.assert_allclose(with_it.individual_rates_, other.individual_rates_, atol=1e-9)
        assert with_it.error_ == pytest.approx(other.error_, abs=1e-9)
        chances = (one.decision_probability(X)[:, :6] for one in (with_it, other))
        np.testing.assert_array_equal(*chances)
    assert with_it.predict(X).shape == (N, 7)


@pytest.mark.parametrize("kind", RATES)
def test_task_weights_count_up_to_a_common_factor(kind):
    X, Y = people(blanks=0.2)
    b = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 0.5])
    once, twice = (model(rate=kind).fit(X, Y, task_weight=k * b) for k in (1, 2))
    alike, fourfold = (model(rate=kind).fit(X, Y, task_weight=w) for w in (None, np.full(M, 4.0)))
    assert_same_answer(once, twice)
    assert_same_answer(alike, fourfold)
    assert not np.array_equal(once.individual_rates_, alike.individual_rates_)


@pytest.mark.parametrize("kind", RATES)
def test_a_task_weight_is_a_number_of_copies(kind):
    X, Y = people(blanks=0.2)
    copies = np.array([1, 2, 1, 3, 1, 1])
    weighted = model(rate=kind).fit(X, Y, task_weight=copies)
    repeated = model(rate=kind).fit(X, np.repeat(Y, copies, axis=1))
    for name in ("error_", "common_rate_", "individual_rates_"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), atol=1e-9)


@pytest.mark.filterwarnings("ignore::averagefair.DegenerateTaskWarning")
def test_a_batch_in_which_nothing_is_observed_is_no_reason_to_fail():
    X, Y = people()
    Y[:, 2] = np.nan
    fitted = model(solver=rounds(M, batch_size=1, replay=False)).fit(X, Y)
    assert_reported_as_measured(fitted, X, Y, "error")


def test_tasks_of_weight_zero_make_no_batches():
    X, Y = people()
    b = np.arange(M) != 2
    fitted = model(solver=rounds(M - 1, batch_size=1, replay=False)).fit(X, Y, task_weight=b)
    assert_reported_as_measured(fitted, X, Y, "error", task_weight=b)
    with pytest.raises(InputError, match="need 6 tasks, but there are 5"):
        model(solver=rounds(M, batch_size=1, replay=False)).fit(X, Y, task_weight=b)


# --- outside estimates of rho --------------------------------------------------------------------


@pytest.mark.parametrize("kind", RATES)
def test_outside_rho_is_used_and_the_figures_stay_those_of_the_sample(kind):
    X, Y = people(blanks=0.2)
    without = model(rate=kind).fit(X, Y)
    own = np.isin(Y, COUNTS[kind]).mean(axis=1)
    assert_same_answer(model(rate=RATES[kind](rho=own)).fit(X, Y), without, atol=1e-9)
    other = model(rate=RATES[kind](rho=np.linspace(0.05, 1, N))).fit(X, Y)
    assert_reported_as_measured(other, X, Y, kind)
    assert differ(other, without)


def learned_and_aside(fitted):
    """Return the positions of the tasks learned from and of those set aside."""
    names = fitted.task_names_
    aside = [names.index(name) for name in fitted.holdout_task_names_]
    return [j for j in range(len(names)) if j not in aside], aside


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("kind", RATES)
@pytest.mark.filterwarnings("ignore::averagefair.UndefinedRateWarning")
def test_tasks_set_aside_are_served_by_the_mapping(kind, k):
    X, Y = people(blanks=0.1, m=8)
    names = list("abcdefgh")
    fitted = model(rate=RATES[kind](holdout_tasks=k)).fit(X, pl.DataFrame(Y, schema=names))
    learned, aside = learned_and_aside(fitted)
    assert len(aside) == k
    assert aside == sorted(aside)
    assert fitted.task_names_ == tuple(names)
    chances, decisions = fitted.decision_probability(X), fitted.predict(X)
    assert chances.shape == decisions.shape == (N, 8)
    for tasks in (aside, learned):
        extended = fitted.extend(Y[:, tasks], task_names=[names[j] for j in tasks])
        np.testing.assert_array_equal(extended.decision_probability(X), chances[:, tasks])
        np.testing.assert_array_equal(extended.predict(X), decisions[:, tasks])
    rates = plain_rates(Y[:, learned], chances[:, learned], kind)
    np.testing.assert_allclose(fitted.individual_rates_, rates, atol=1e-9)
    assert fitted.error_ == pytest.approx(plain_error(Y[:, learned], chances[:, learned]))


def test_tasks_set_aside_estimate_rho():
    X, Y = people(m=8)
    Y[np.arange(N), np.random.default_rng(1).integers(0, 8, N)] = np.nan
    fitted = model(rate=ErrorRate(holdout_tasks=3)).fit(X, Y)
    learned, aside = learned_and_aside(fitted)
    shares = (~np.isnan(Y[:, aside])).mean(axis=1)
    assert np.unique(shares).size > 1
    by_hand = model(rate=ErrorRate(rho=shares)).fit(X, Y[:, learned])
    np.testing.assert_allclose(
        fitted.decision_probability(X)[:, learned], by_hand.decision_probability(X), atol=1e-12
    )
    assert differ(model().fit(X, Y[:, learned]), by_hand)


def test_labels_of_tasks_set_aside_move_the_others_through_rho_alone():
    X, Y = people(m=8)
    fitted = model(rate=FalsePositiveRate(holdout_tasks=3)).fit(X, Y)
    learned, aside = learned_and_aside(fitted)
    shuffled = Y.copy()
    shuffled[:, aside] = Y[:, aside[::-1]]
    again = model(rate=FalsePositiveRate(holdout_tasks=3)).fit(X, shuffled)
    np.testing.assert_array_equal(
        again.decision_probability(X)[:, learned], fitted.decision_probability(X)[:, learned]
    )


@pytest.mark.filterwarnings("ignore::averagefair.DegenerateTaskWarning")
def test_shares_that_round_to_more_than_one_are_shares():
    # 3/91 and 88/91 add up to 1 + 2e-16 in floating point.
    X, _ = people()
    Y = np.zeros((N, 92))
    Y[:, :3] = 1
    Y[0, 3] = 1
    model(rate=ErrorRate(holdout_tasks=91)).fit(X, Y)
