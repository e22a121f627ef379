"""Properties of the oracles: true cost against brute force, each other and constants."""

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from averagefair import (
    FiniteOracle,
    LogisticOracle,
    Polished,
    Portfolio,
    RegressionOracle,
    Sample,
    StumpOracle,
)
from averagefair.game.costs import Costs
from averagefair.oracles import default_oracle
from tests.support.generated import CONSTANTS, EXACT, LINEAR, OTHER, RULES, features, holds, labels
from tests.support.judges import stump_decisions
from tests.support.property_judges import costs_by_hand, stake_of

# Prices of either sign, some of them 0, some equal, some far larger than others.
prices = st.one_of(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), st.floats(-2, 2), st.floats(-1e4, 1e4))
linear = st.sampled_from(sorted(LINEAR))
MEMBERS = [RegressionOracle(), RegressionOracle(l2=1.0), LogisticOracle(), StumpOracle()]


@st.composite
def bargains(draw, people=12, tasks=4, columns=4, absent=0):
    """Generate cost-sensitive problems: a sample, and the prices of both mistakes.

    At least ``absent`` people are absent.
    """
    n, m = draw(st.integers(1 + absent, people)), draw(st.integers(1, tasks))
    counts = draw(arrays(float, n, elements=st.sampled_from([0.0, 1.0, 1.0, 2.5])))
    counts[:absent], counts[draw(st.integers(absent, n - 1))] = 0.0, 1.0
    sample = Sample(draw(features(n, columns)), draw(labels(n, m)), individual_weights=counts)
    first = draw(arrays(float, n, elements=prices)) * (counts > 0)
    alike = draw(st.booleans())
    second = first if alike else draw(arrays(float, n, elements=prices)) * (counts > 0)
    return Costs(sample, first, second)


def cost(costs, decisions):
    return costs_by_hand(costs.signs, costs.false_positive, costs.false_negative, decisions)


def rounding(costs):
    return 1e-9 * stake_of(costs.signs, costs.false_positive, costs.false_negative) + 1e-300


def answer(costs, oracle):
    return np.asarray(oracle.bind(costs.sample)(costs).decide(costs.sample.features))


def same_for_all(costs, one):
    """Return one set of decisions (n,) for every task."""
    return np.tile(np.asarray(one, dtype=bool)[:, None], (1, costs.sample.m))


@holds(1.5, costs=bargains())
def test_no_stump_is_cheaper_than_the_oracles(costs):
    own = cost(costs, answer(costs, StumpOracle()))
    rivals = [
        cost(costs, same_for_all(costs, one)) for one in stump_decisions(costs.sample.features)
    ]
    assert (own <= np.min(rivals, axis=0) + rounding(costs)).all()


@holds(costs=bargains(), chosen=st.sets(st.integers(0, 4), min_size=1))
def test_no_listed_classifier_is_cheaper_than_the_oracles(costs, chosen):
    rules = [(*RULES, *CONSTANTS)[place] for place in sorted(chosen)]
    own = cost(costs, answer(costs, FiniteOracle(rules)))
    rivals = [cost(costs, same_for_all(costs, rule(costs.sample.features))) for rule in rules]
    least = np.min(rivals, axis=0)
    assert (np.abs(own - least) <= rounding(costs)).all()


@holds(costs=bargains(), members=st.lists(st.sampled_from(MEMBERS), min_size=1, max_size=3))
def test_a_portfolio_is_never_dearer_than_its_members_or_a_constant(costs, members):
    own = cost(costs, answer(costs, Portfolio(members)))
    rivals = [answer(costs, member) for member in members]
    rivals += [same_for_all(costs, np.full(costs.sample.n, one)) for one in (False, True)]
    for rival in rivals:
        assert (own <= cost(costs, rival) + rounding(costs)).all()


@holds(
    costs=bargains(),
    inner=st.sampled_from(["regression", "ridge", "logistic", "portfolio"]),
    lines=st.sampled_from([None, 0, 1, 4]),
    people=st.sampled_from([1, 3, 4000]),
)
def test_polishing_never_makes_dearer(costs, inner, lines, people):
    before = cost(costs, answer(costs, LINEAR[inner]))
    after = cost(costs, answer(costs, Polished(LINEAR[inner], lines=lines, people=people)))
    assert (after <= before + rounding(costs)).all()


@holds(costs=bargains(columns=1))
def test_polishing_one_feature_is_as_cheap_as_any_threshold_of_its_direction(costs):
    """Only the threshold is moved, to its best position; all positions are tried."""
    first = LINEAR["regression"].bind(costs.sample)(costs)
    own = cost(costs, answer(costs, Polished(LINEAR["regression"], lines=0)))
    x = costs.sample.features
    assume(x.shape[1] == 1)
    x = x[:, 0]
    # The oracles' tests cover values that are too close for the search to distinguish.
    steps = np.diff(np.unique(x))
    assume(not steps.size or steps.min() > 1e-6 * max(1.0, np.abs(x).max()))
    shown = [{*costs.signs[costs.sample.individual_weights > 0, j]} for j in range(costs.sample.m)]
    for j in range(costs.sample.m):
        slope = first.coefficients[0, j]
        if slope == 0 or not {1, -1} <= shown[j]:
            continue
        cuts = [-np.inf, *np.unique(x)]
        rivals = [same_for_all(costs, (x > cut) if slope < 0 else (x <= cut)) for cut in cuts]
        if slope > 0:
            rivals += [same_for_all(costs, x < np.inf)]
        least = min(cost(costs, rival)[j] for rival in rivals)
        assert own[j] <= least + rounding(costs)[j]


@holds(costs=bargains())
def test_the_default_is_never_dearer_than_least_squares_logistic_or_a_constant(costs):
    own = cost(costs, answer(costs, default_oracle()))
    rivals = [answer(costs, RegressionOracle()), answer(costs, LogisticOracle())]
    rivals += [same_for_all(costs, np.full(costs.sample.n, one)) for one in (False, True)]
    for rival in rivals:
        assert (own <= cost(costs, rival) + rounding(costs)).all()


@holds(costs=bargains(), l2=st.sampled_from([0.0, 0.5, 20.0]))
def test_least_squares_is_numpys(costs, l2):
    """If the minimum is unique: sum c (g / c - x beta)^2 + l2 |beta|^2 over observed cells."""
    sample = costs.sample
    found = answer(costs, RegressionOracle(l2))
    for j in range(sample.m):
        seen = (costs.signs[:, j] != 0) & (sample.individual_weights > 0)
        if not {1, -1} <= {*costs.signs[seen, j]}:
            continue
        design = np.column_stack([np.ones(seen.sum()), sample.features[seen]])
        price = np.where(costs.signs[seen, j] > 0, costs.false_positive[seen], 0)
        price = price - np.where(costs.signs[seen, j] < 0, costs.false_negative[seen], 0)
        count = sample.individual_weights[seen]
        penalty = np.sqrt(l2) * np.eye(design.shape[1])[1:]
        left = np.vstack([np.sqrt(count)[:, None] * design, penalty])
        right = np.append(price / np.sqrt(count), np.zeros(len(penalty)))
        if np.linalg.matrix_rank(left) < left.shape[1] or np.linalg.cond(left) > 1e5:
            continue
        beta = np.linalg.lstsq(left, right, rcond=None)[0]
        score = np.column_stack([np.ones(sample.n), sample.features]) @ beta
        clear = np.abs(score) > 1e-6 * (
            np.abs(beta[0]) + np.abs(sample.features) @ np.abs(beta[1:])
        )
        clear &= np.abs(score) > 1e-9 * np.abs(price).max(initial=0)
        np.testing.assert_array_equal(found[clear, j], score[clear] < 0)


@holds(costs=bargains(), name=linear, power=st.integers(-30, 30))
def test_the_unit_of_prices_does_not_matter(costs, name, power):
    other = Costs(
        costs.sample, *(one * 2.0**power for one in (costs.false_positive, costs.false_negative))
    )
    if costs.false_positive is costs.false_negative:
        other = Costs(costs.sample, other.false_positive, other.false_positive)
    one, two = answer(costs, LINEAR[name]), answer(other, LINEAR[name])
    # Either of two decisions with equal cost is right.
    assert (np.abs(cost(costs, one) - cost(costs, two)) <= rounding(costs)).all()


@holds(
    costs=bargains(),
    oracle=st.sampled_from([EXACT["stump"][0], EXACT["listed"][0], *LINEAR.values()]),
    data=st.data(),
)
def test_tasks_are_answered_one_by_one(costs, oracle, data):
    """A task's answer does not depend on which tasks are asked for with it."""
    m = costs.sample.m
    some = np.array(data.draw(st.lists(st.integers(0, m - 1), min_size=1, max_size=m, unique=True)))
    bound = oracle.bind(costs.sample)
    part = costs.sample.take_tasks(some)
    alone = bound(Costs(part, costs.false_positive, costs.false_negative, some))
    whole = answer(costs, oracle)[:, some]
    np.testing.assert_allclose(
        cost(
            Costs(part, costs.false_positive, costs.false_negative),
            np.asarray(alone.decide(part.features)),
        ),
        cost(Costs(part, costs.false_positive, costs.false_negative), whole),
        rtol=0,
        atol=rounding(costs).max(),
    )


@holds(costs=bargains(), name=st.sampled_from(["regression", "ridge", "logistic"]))
def test_a_task_of_a_single_label_gets_it_for_everybody(costs, name):
    decisions = answer(costs, LINEAR[name])
    present = costs.sample.individual_weights > 0
    for j in range(costs.sample.m):
        shown = {*costs.signs[present, j].tolist()} - {0}
        if len(shown) < 2:
            assert (decisions[:, j] == (shown == {-1})).all()


@holds(
    costs=bargains(absent=1),
    oracle=st.sampled_from([EXACT["stump"][0], *LINEAR.values(), OTHER["mixed portfolio"]]),
    value=st.sampled_from([-1e6, 0.3, 5.0]),
)
def test_whoever_weighs_nothing_has_no_say(costs, oracle, value):
    """Their features and labels do not matter, because their prices are 0."""
    sample = costs.sample
    absent = sample.individual_weights == 0
    X = np.where(absent[:, None], value, sample.features)
    Y = np.where(sample.signs == 0, np.nan, sample.signs < 0)
    Y = np.where(absent[:, None], 1 - Y, Y)
    moved = Sample(X, Y, individual_weights=sample.individual_weights)
    other = Costs(moved, costs.false_positive, costs.false_negative)
    if costs.false_positive is costs.false_negative:
        other = Costs(moved, costs.false_positive, costs.false_positive)
    here, there = answer(costs, oracle), answer(other, oracle)
    np.testing.assert_allclose(
        cost(costs, here),
        cost(costs, np.where(absent[:, None], here, there)),
        rtol=0,
        atol=rounding(costs).max(),
    )
