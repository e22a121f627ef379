"""Individual rates and overall error, against plain loops over people and tasks."""

import math
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from averagefair import (
    ErrorRate,
    FalseNegativeRate,
    FalsePositiveRate,
    InputError,
    Learner,
    Sample,
    StumpOracle,
    individual_rates,
)
from averagefair.game.measure import Meter
from averagefair.game.protocols import Rate
from averagefair.game.rates import RATES as KINDS
from tests.support.judges import COUNTS, plain_error, plain_rates

RATES = {name: rate() for name, rate in KINDS.items()}
all_rates = pytest.mark.parametrize("kind", RATES)


def assert_rates(measured, expected):
    assert measured.shape == (len(expected),)
    assert np.allclose(measured, expected, rtol=1e-12, atol=1e-15, equal_nan=True)


def test_the_judge_of_rates_can_fail():
    for measured in ([0.5, 0.2 + 1e-9], [0.5, math.nan], [math.nan, 0.2], [0.5]):
        with pytest.raises(AssertionError):
            assert_rates(np.array(measured), [0.5, 0.2])


def people_and_tasks(seed, n=13, m=7, blanks=0.3):
    """Draw labels, chances and weights; person 0 has no label, 1 only ones, 2 only zeros."""
    draw = np.random.default_rng(seed)
    labels = (draw.uniform(size=(n, m)) < 0.5).astype(float)
    labels[1], labels[2] = 1.0, 0.0
    if blanks:
        labels[draw.uniform(size=(n, m)) < blanks] = math.nan
        labels[0] = math.nan
    chances = draw.uniform(size=(n, m))
    task_weights, individual_weights = draw.uniform(0.1, 3, m), draw.uniform(0, 3, n)
    individual_weights[3], task_weights[2] = 0.0, 0.0
    return labels, chances, task_weights, individual_weights


def meter_of(labels, rate, **weights):
    # The features are the row numbers, by which decisions are looked up below.
    return Meter(Sample(np.arange(float(len(labels)))[:, None], labels, **weights), rate)


def looked_up(table):
    return lambda features: table[features[:, 0].astype(int)]


@all_rates
@pytest.mark.parametrize("weighted", [False, True], ids=["tasks alike", "task weights"])
@pytest.mark.parametrize("chances", [False, True], ids=["decisions", "chances"])
@pytest.mark.parametrize("blanks", [0.0, 0.5], ids=["complete", "blanks"])
def test_rates_are_those_of_a_plain_loop(kind, weighted, chances, blanks):
    labels, table, task_weights, _ = people_and_tasks(1, blanks=blanks)
    table = table if chances else np.round(table)
    options = {"task_weights": task_weights} if weighted else {}
    expected = plain_rates(labels, table, kind, **options)
    public = {"task_weight": task_weights} if weighted else {}
    assert_rates(individual_rates(labels, table, RATES[kind], **public), expected)
    assert_rates(meter_of(labels, RATES[kind], **options)(looked_up(table)).rates, expected)


@all_rates
@given(data=st.data())
@settings(deadline=None)
def test_rates_are_those_of_a_plain_loop_whatever_the_labels(kind, data):
    shape = data.draw(st.tuples(st.integers(1, 6), st.integers(1, 5)))
    labels = data.draw(arrays(float, shape, elements=st.sampled_from([0, 1, math.nan])))
    chances = data.draw(arrays(float, shape, elements=st.floats(0, 1)))
    assert_rates(individual_rates(labels, chances, RATES[kind]), plain_rates(labels, chances, kind))


@all_rates
def test_a_rate_nothing_counts_towards_is_nan(kind):
    labels = [[None, None], [0, 0], [1, None], [0, 1]]
    rates = individual_rates(labels, np.full((4, 2), 0.5), RATES[kind])
    assert np.isnan(rates).tolist() == [not {*COUNTS[kind]} & {*row} for row in labels]


def test_a_person_seen_only_on_tasks_that_weigh_nothing_has_no_rate():
    rates = individual_rates([[0, None], [0, 1]], [[1, 0], [1, 0]], task_weight=[0, 1])
    assert_rates(rates, [math.nan, 1.0])


@all_rates
def test_always_right_is_zero_and_always_wrong_is_one_exactly(kind):
    labels, _, task_weights, _ = people_and_tasks(2)
    defined = ~np.isnan(plain_rates(labels, labels, kind, task_weights))
    for options in ({}, {"task_weights": task_weights}):
        meter = meter_of(labels, RATES[kind], **options)
        right = meter(looked_up(np.nan_to_num(labels)))
        wrong = meter(looked_up(1 - np.nan_to_num(labels)))
        assert set(right.rates[defined]) == {0.0}
        assert wrong.rates[defined] == pytest.approx(1.0, rel=1e-15)
        assert right.error == 0.0
        assert wrong.error == pytest.approx(1.0, rel=1e-15)


def test_mistakes_on_hundreds_of_tasks_are_all_counted():
    measured = meter_of(np.ones((2, 300)), ErrorRate())(looked_up(np.zeros((2, 300), dtype=bool)))
    assert_rates(measured.rates, [1.0, 1.0])


@all_rates
@pytest.mark.parametrize("weighted", [False, True], ids=["tasks alike", "task weights"])
@pytest.mark.parametrize("dtype", [float, np.float32, int, np.int8, np.uint8])
def test_bool_decisions_and_decisions_as_numbers_measure_alike(kind, weighted, dtype):
    labels, chances, task_weights, weights = people_and_tasks(3)
    options = {"task_weights": task_weights} if weighted else {}
    meter = meter_of(labels, RATES[kind], individual_weights=weights, **options)
    decisions = chances > 0.5
    as_bools, as_numbers = meter(looked_up(decisions)), meter(looked_up(decisions.astype(dtype)))
    assert_rates(as_numbers.rates, as_bools.rates)
    assert as_numbers.error == pytest.approx(as_bools.error, rel=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_overall_error_is_the_weighted_mean_over_those_who_have_a_label(seed):
    labels, chances, task_weights, weights = people_and_tasks(seed)
    meter = meter_of(labels, ErrorRate(), task_weights=task_weights, individual_weights=weights)
    expected = plain_error(labels, chances, task_weights, weights)
    assert meter(looked_up(chances)).error == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_as_many_mistakes_are_the_very_same_error_whoever_they_are_made_on(weighted):
    """Equal to the last bit, because solvers compare errors, and rounding must not break a tie."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, (60, 7)).astype(float)
    weights = np.repeat([1.0, 3.0], 30) if weighted else None
    meter = Meter(Sample(np.zeros((60, 1)), labels, individual_weights=weights), RATES["error"])
    errors = set()
    for _ in range(50):
        wrong = np.zeros((60, 7), dtype=bool)
        for half in (wrong[:30], wrong[30:]):
            half.flat[rng.choice(half.size, 43, replace=False)] = True
        errors.add(meter(lambda _, wrong=wrong: (labels == 1) ^ wrong).error)
    assert errors == {86 / 420}


def test_overall_error_is_the_same_whatever_the_rate():
    labels, chances, task_weights, weights = people_and_tasks(4)
    options = {"task_weights": task_weights, "individual_weights": weights}
    meters = [meter_of(labels, rate, **options) for rate in RATES.values()]
    assert len({meter(looked_up(chances)).error for meter in meters}) == 1


def test_a_person_of_weight_two_is_that_person_twice_and_of_weight_zero_nobody():
    labels, chances, _, _ = people_and_tasks(5)
    counts = np.array([1, 2, 0, 1, 3, 1, 0, 2, 1, 1, 1, 2, 1])
    weighted = meter_of(labels, ErrorRate(), individual_weights=counts)(looked_up(chances))
    listed = meter_of(np.repeat(labels, counts, axis=0), ErrorRate())(
        looked_up(np.repeat(chances, counts, axis=0))
    )
    assert weighted.error == pytest.approx(listed.error, rel=1e-13)
    assert_rates(np.repeat(weighted.rates, counts), list(listed.rates))


@all_rates
@pytest.mark.parametrize("cells", [1, 7, 20, 91, 10**6])
@pytest.mark.parametrize("weighted", [False, True], ids=["tasks alike", "task weights"])
def test_rows_cut_into_blocks_give_the_same_numbers(monkeypatch, kind, cells, weighted):
    labels, chances, task_weights, weights = people_and_tasks(6)
    options = {"task_weights": task_weights} if weighted else {}
    monkeypatch.setattr("averagefair.people.blocks.CELLS_PER_BLOCK", cells)
    asked = []

    def decide(features):
        asked.extend(features[:, 0].astype(int))
        return looked_up(chances)(features)

    measured = meter_of(labels, RATES[kind], individual_weights=weights, **options)(decide)
    assert asked == list(range(len(labels)))
    assert_rates(measured.rates, plain_rates(labels, chances, kind, **options))
    expected = plain_error(labels, chances, individual_weights=weights, **options)
    assert measured.error == pytest.approx(expected, rel=1e-13)


@all_rates
def test_what_counts_of_each_person_is_the_share_of_their_tasks(kind):
    labels, _, task_weights, weights = people_and_tasks(7)
    meter = meter_of(labels, RATES[kind], task_weights=task_weights, individual_weights=weights)
    total = sum(task_weights)
    for which, share in ((COUNTS[kind], meter.rho), ((0, 1), meter.error_rho)):
        expected = [
            sum(w for w, label in zip(task_weights, row, strict=True) if label in which) / total
            for row in labels
        ]
        assert share == pytest.approx(expected, rel=1e-13, abs=1e-15)
    assert meter.shares.sum() == pytest.approx(1.0)
    assert ((meter.shares > 0) == ((weights > 0) & (meter.error_rho > 0))).all()


def test_spread_is_the_largest_rate_minus_the_smallest():
    labels, chances, _, _ = people_and_tasks(8)
    rates = plain_rates(labels, chances, "error")
    measured = meter_of(labels, ErrorRate())(looked_up(chances))
    assert measured.spread == pytest.approx(np.nanmax(rates) - np.nanmin(rates), rel=1e-12)


def test_spread_where_nobody_has_a_rate_is_nan_without_a_warning():
    measured = meter_of([[1], [1]], FalsePositiveRate())(looked_up(np.ones((2, 1))))
    assert math.isnan(measured.spread)


def test_rates_of_any_library_are_alike():
    labels = {"ads": [0, 1, None], "loans": [1, None, 0]}
    decisions = {"ads": [0.5, 1.0, 0.0], "loans": [1.0, 0.0, 0.25]}
    for make in (pd.DataFrame, pl.DataFrame):
        assert_rates(individual_rates(make(labels), make(decisions)), [0.25, 0.0, 0.25])


BAD = {
    "chance above one": ([[0, 1]], [[0, 1.5]], "decisions.*1.5"),
    "chance below zero": ([[0, 1]], [[-0.1, 1]], "decisions.*-0.1"),
    "more decisions than tasks": ([[0, 1]], [[0, 1, 1]], r"\(1, 3\).*\(1, 2\)"),
    "fewer decisions than tasks": ([[0, 1]], [[0]], r"\(1, 1\).*\(1, 2\)"),
    "other people": ([[0, 1]], [[0, 1], [0, 1]], r"decisions.*\(2, 2\).*\(1, 2\)"),
    "a label 2": ([[0, 2]], [[0, 1]], "0, 1 or blank"),
    "a blank decision": ([[0, 1]], [[0, None]], "decisions.*without blanks"),
}


@pytest.mark.parametrize(("labels", "decisions", "said"), BAD.values(), ids=BAD)
def test_bad_labels_and_decisions_are_refused(labels, decisions, said):
    with pytest.raises(InputError, match=said):
        individual_rates(labels, decisions)


def test_decisions_are_aligned_by_name_and_other_tasks_are_refused():
    labels = pd.DataFrame({"ads": [0, 0], "loans": [1, 1]})
    assert individual_rates(labels, labels[["loans", "ads"]]).tolist() == [0.0, 0.0]
    with pytest.raises(InputError, match=r"decisions.*unknown: homes; missing: loans"):
        individual_rates(labels, labels.rename(columns={"loans": "homes"}))


def test_a_single_task_may_have_one_dimension():
    assert individual_rates([0, 1], [1, 1]).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("shape", [(3, 1), (1, 2)], ids=["one column", "one row"])
def test_decisions_of_another_shape_are_refused_not_stretched(shape):
    meter = meter_of([[1, 0], [1, 0], [0, 0]], ErrorRate())
    with pytest.raises(InputError, match=re.escape(f"(3, 2); got {shape}")):
        meter(lambda features: np.ones(shape))


@pytest.mark.parametrize("labels", [[[None, None], [None, None]], [[None, None], [0, 1]]])
def test_where_nothing_counts_the_error_is_nan_and_there_is_nothing_to_learn(labels):
    meter = meter_of(labels, ErrorRate(), individual_weights=[1.0, 0.0])
    assert math.isnan(meter(looked_up(np.ones((2, 2)))).error)
    with pytest.raises(InputError, match="no label is observed"):
        Learner(meter.sample, ErrorRate(), StumpOracle())


@all_rates
def test_each_rate_offers_what_the_protocol_asks_and_is_named(kind):
    rate = RATES[kind]
    assert isinstance(rate, Rate)
    assert rate.name == kind
    assert (rate.negatives, rate.positives) == (0 in COUNTS[kind], 1 in COUNTS[kind])


def test_outside_estimates_are_kept_apart_from_the_callers_array():
    estimates = np.array([0.5, 1.0, 0.25])
    rate = FalsePositiveRate(rho=estimates)
    estimates[:] = 0.9
    assert rate.rho.tolist() == [0.5, 1.0, 0.25]
    with pytest.raises(ValueError, match="read-only"):
        rate.rho[0] = 1.0


def test_with_rho_replaces_the_hold_out_and_leaves_the_rate_it_came_from():
    before = FalseNegativeRate(holdout_tasks=3)
    after = before.with_rho([0.5, 0.5])
    assert isinstance(after, FalseNegativeRate)
    assert after.rho.tolist() == [0.5, 0.5]
    assert after.holdout_tasks == 0
    assert (before.rho, before.holdout_tasks) == (None, 3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"rho": [0.5, 0.0]}, r"\(0, 1\]"),
        ({"rho": [0.5, 1.5]}, r"\(0, 1\].*1.5"),
        ({"rho": [0.5, -0.5]}, r"\(0, 1\].*-0.5"),
        ({"rho": [0.5, math.nan]}, r"\(0, 1\]"),
        ({"rho": ["half", 0.5]}, "one number.*half"),
        ({"rho": 0.5}, "one number.*for each individual"),
        ({"rho": [[0.5]]}, "one number.*for each individual"),
        ({"rho": [0.5], "holdout_tasks": 1}, "not both"),
        ({"holdout_tasks": -1}, "whole number.*-1"),
        ({"holdout_tasks": 2.5}, "whole number.*2.5"),
        ({"holdout_tasks": math.nan}, "whole number.*nan"),
        ({"holdout_tasks": math.inf}, "whole number.*inf"),
        ({"holdout_tasks": None}, "whole number.*None"),
        ({"holdout_tasks": "three"}, "whole number.*three"),
    ],
)
def test_bad_estimates_are_refused(arguments, said):
    with pytest.raises(InputError, match=said):
        FalsePositiveRate(**arguments)


def test_outside_estimates_do_not_change_what_is_measured():
    labels, chances, _, _ = people_and_tasks(9)
    plain = meter_of(labels, FalsePositiveRate())(looked_up(chances))
    estimated = meter_of(labels, FalsePositiveRate(rho=np.full(13, 0.3)))(looked_up(chances))
    assert_rates(estimated.rates, list(plain.rates))
    assert estimated.error == plain.error


def test_people_are_aligned_by_name_and_others_are_refused():
    labels = pd.DataFrame({"a": [0, 1]}, index=["x", "y"])
    decisions = pd.DataFrame({"a": [1, 0]}, index=["y", "x"])
    assert individual_rates(labels, decisions).tolist() == [0.0, 0.0]
    with pytest.raises(InputError, match="rows that labels has; unknown: z; missing: x"):
        individual_rates(labels, decisions.rename(index={"x": "z"}))


@all_rates
def test_a_rate_may_be_given_by_name(kind):
    labels, chances = [[0, 1], [1, 0]], [[0.25, 0.5], [1.0, 0.75]]
    assert_rates(
        individual_rates(labels, chances, kind), individual_rates(labels, chances, RATES[kind])
    )
    with pytest.raises(InputError, match="one of"):
        individual_rates(labels, chances, "accuracy")


def leaning(negatives, positives):
    """A user's own rate."""
    weights = {"negatives": negatives, "positives": positives, "name": "leaning"}
    return type("Leaning", (ErrorRate,), weights)()


def test_a_rate_of_ones_own_weighs_mistakes_by_the_label():
    labels, chances = np.array([[0, 1, 0], [1, 1, 0]]), np.array([[0.25, 0.5, 1.0], [0, 0, 0.5]])
    wrong, weight = np.abs(labels - chances), np.where(labels == 0, 1.0, 0.5)
    expected = (weight * wrong).sum(axis=1) / weight.sum(axis=1)
    assert_rates(individual_rates(labels, chances, leaning(1.0, 0.5)), expected.tolist())


@pytest.mark.parametrize(
    "weights", [(2.0, 1.0), (1.0, -1.0), (0.0, 0.0), (math.nan, 1.0), (1.0, math.inf)]
)
def test_a_rate_whose_weights_make_no_shares_is_refused(weights):
    said = f"in [0, 1], not both 0; 'leaning' weighs them {weights[0]!r} and {weights[1]!r}."
    with pytest.raises(InputError, match=re.escape(said)):
        individual_rates([[0, 1]], [[0, 1]], leaning(*weights))


def test_a_rate_without_a_docstring_documents_its_parameters():
    class Bare(FalsePositiveRate):
        name = "bare"

    assert Bare.__doc__.startswith("Bare\n\nParameters")
