"""Properties of the audit: rates and windows by hand, and invariances."""

import json

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from averagefair import Verdict, audit, compare, individual_rates
from tests.support.generated import (
    alphas,
    chances,
    fit,
    holds,
    oracles,
    single_rates,
    solvers,
    worlds,
)
from tests.support.judges import COUNTS, plain_rates
from tests.support.property_judges import narrowest_by_hand, outside_by_hand

SWAP = {"error": "error", "false_positive": "false_negative", "false_negative": "false_positive"}
betas = st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.8])


@st.composite
def ledgers(draw, most=8, *, whole=None):
    """Generate labels with blanks, and decisions: 0 and 1, or chances."""
    shape = draw(st.tuples(st.integers(1, most), st.integers(1, most)))
    some = draw(st.sampled_from([[0.0, 1.0], [0.0, 1.0, np.nan]]))
    Y = draw(arrays(float, shape, elements=st.sampled_from(some)))
    whole = draw(st.booleans()) if whole is None else whole
    cells = st.sampled_from([0.0, 1.0]) if whole else st.floats(0, 1, width=32)
    return Y, draw(arrays(float, shape, elements=cells))


def rated(found):
    return found.people.rate[~np.isnan(found.people.rate)]


def same(one, other, atol=1e-9):
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=atol)


def figures(found):
    """Return the figures of an audit that do not depend on its random numbers."""
    mean, apart = found.mean, found.dispersion
    return [
        *(mean.value, mean.low, mean.high, *found.range, *found.curve.alpha),
        *(apart.sigma2.value, apart.sigma2.low, apart.sigma2.high, apart.upper, apart.reliability),
        *(found.exchangeability.q, found.exchangeability.p),
    ]


@holds(1.5, ledger=ledgers(), kind=single_rates)
def test_individual_rates_are_those_of_a_plain_loop(ledger, kind):
    Y, D = ledger
    by_hand = plain_rates(Y, D, kind)
    same(individual_rates(Y, D, kind), by_hand)
    found = audit(Y, D, rate=kind)
    same(found.people.rate, by_hand)
    counted = [sum(y in COUNTS[kind] for y in row) for row in Y]
    assert found.people.tasks.tolist() == counted
    if rated(found).size:
        assert abs(found.mean.value - rated(found).mean()) <= 1e-9
        same([*found.range], [rated(found).min(), rated(found).max()])
    else:
        assert np.isnan(found.mean.value)


@holds(ledger=ledgers(), kind=single_rates, beta=betas, alpha=st.floats(0, 0.6))
def test_windows_are_the_narrowest_and_the_fullest_by_trying_all(ledger, kind, beta, alpha):
    found = audit(*ledger, rate=kind)
    mine = rated(found)
    assume(mine.size)
    width = narrowest_by_hand(mine, beta)
    assert abs(2 * found.alpha_at(beta) - width) <= 1e-9
    window = found.window_at(beta)
    assert np.mean((mine >= window.low) & (mine <= window.high)) >= 1 - beta - 1e-9
    assert abs(found.beta_at(alpha) - outside_by_hand(mine, 2 * alpha)) <= 1e-9
    # The two functions are inverse to each other.
    assert found.beta_at(found.alpha_at(beta)) <= beta + 1e-9
    assert found.alpha_at(found.beta_at(alpha)) <= alpha + 1e-9


@holds(ledger=ledgers(), kind=single_rates, alpha=st.floats(0.01, 0.5), beta=betas)
def test_an_answer_says_what_is_observed_and_what_is_told_it_apart(ledger, kind, alpha, beta):
    found = audit(*ledger, rate=kind, alpha=alpha, beta=beta)
    mine = rated(found)
    if not mine.size:
        assert found.assessment is None
        return
    told = found.assessment
    assert abs(told.observed_beta - outside_by_hand(mine, 2 * alpha)) <= 1e-9
    assert abs(2 * told.observed_alpha - narrowest_by_hand(mine, beta)) <= 1e-9
    assert told.met_as_observed == (told.observed_beta <= beta + 1e-9)
    assert told.verdict in Verdict
    bounds = found.bounds()
    assert 0 <= bounds.beta_low <= bounds.beta_high <= 1


@holds(ledger=ledgers(), kind=single_rates, data=st.data())
def test_the_order_of_people_and_tasks_does_not_matter(ledger, kind, data):
    Y, D = ledger
    rows = np.array(data.draw(st.permutations(range(len(Y)))))
    columns = np.array(data.draw(st.permutations(range(Y.shape[1]))))
    one = audit(Y, D, rate=kind)
    other = audit(Y[np.ix_(rows, columns)], D[np.ix_(rows, columns)], rate=kind)
    for name in ("rate", "low", "high", "all_low", "all_high", "rank", "tasks"):
        same(getattr(other.people, name), getattr(one.people, name)[rows])
    same(figures(other), figures(one), 1e-7)
    same(other.tasks.rate, one.tasks.rate[columns])
    same(other.tasks.influence, one.tasks.influence[columns], 1e-7)


@holds(ledger=ledgers(), kind=single_rates)
def test_labels_and_decisions_turned_round_are_audited_alike(ledger, kind):
    Y, D = ledger
    one, other = audit(Y, D, rate=kind), audit(1 - Y, 1 - D, rate=SWAP[kind])
    same(other.people.rate, one.people.rate)
    same(figures(other), figures(one), 1e-6)


@holds(ledger=ledgers(), kind=single_rates, value=st.sampled_from([0.0, 1.0, 0.37, np.nan]))
def test_decisions_under_a_blank_label_never_matter(ledger, kind, value):
    Y, D = ledger
    other = np.where(np.isnan(Y), value, D)
    whole = set(np.unique(D)) <= {0, 1}
    # A single chance among the decisions, in any cell, makes all of them chances.
    assume(not whole or value != 0.37)
    one, two = audit(Y, D, rate=kind).to_dict(), audit(Y, other, rate=kind).to_dict()
    assert json.dumps(one) == json.dumps(two)


@holds(ledger=ledgers(), kind=single_rates, confidence=st.sampled_from([0.5, 0.9, 0.99]))
def test_intervals_hold_their_rate_and_those_for_all_are_wider(ledger, kind, confidence):
    people = audit(*ledger, rate=kind, confidence=confidence).people
    some = ~np.isnan(people.rate)
    for low, high in ((people.low, people.high), (people.all_low, people.all_high)):
        assert (np.isnan(low) == ~some).all()
        assert (low[some] >= -1e-9).all()
        assert (high[some] <= 1 + 1e-9).all()
        assert (low[some] <= people.rate[some] + 1e-9).all()
        assert (people.rate[some] <= high[some] + 1e-9).all()
    surer = audit(*ledger, rate=kind, confidence=(1 + confidence) / 2).people
    assert (surer.all_low[some] <= people.all_low[some] + 1e-9).all()
    assert (surer.all_high[some] >= people.all_high[some] - 1e-9).all()


@holds(ledger=ledgers(), kind=single_rates, count=st.integers(0, 10))
def test_ranks_and_the_worst_off_by_hand(ledger, kind, count):
    found = audit(*ledger, rate=kind)
    for one, rank in zip(found.people.rate, found.people.rank, strict=True):
        assert np.isnan(rank) if np.isnan(one) else rank == 1 + sum(rated(found) > one)
    worst = [row["rate"] for row in found.worst_off(count)]
    assert worst == sorted(rated(found), reverse=True)[:count]
    assert [row["rate"] for row in found.best_off(count)] == sorted(rated(found))[:count]


@holds(world=worlds(), kind=single_rates, alpha=alphas, oracle=oracles, solver=solvers)
def test_a_model_audits_itself_as_it_was_measured(world, kind, alpha, oracle, solver):
    world = world.but(tasks=None)
    assume((~np.isnan(world.Y[world.a > 0])).any())
    model = fit(world, rate=kind, alpha=alpha, oracle=oracle, solver=solver)
    found = model.audit(world.X, world.Y)
    same(found.people.rate, model.individual_rates_)
    asked = {"rate": kind, "alpha": alpha, "beta": 0.0, "learned_tasks": True}
    plain = audit(world.Y, chances(model, world), **asked)
    assert json.dumps(plain.to_dict()["people"]) == json.dumps(found.to_dict()["people"])
    if found.assessment is not None and world.people is None:
        inside = found.assessment.observed_beta <= 1e-9
        assert inside == (model.certificate_.spread <= 2 * alpha + 1e-9)


@holds(ledger=ledgers(whole=True), kind=single_rates, data=st.data())
def test_a_comparison_is_the_difference_of_two_audits(ledger, kind, data):
    Y, D = ledger
    flips = data.draw(arrays(bool, D.shape))
    one, other = audit(Y, D, rate=kind), audit(Y, np.where(flips, 1 - D, D), rate=kind)
    assume(rated(one).size)
    there, back, none = compare(one, other), compare(other, one), compare(one, one)
    same(there.people.difference, other.people.rate - one.people.rate)
    same(there.mean.value, other.mean.value - one.mean.value)
    same(back.people.difference, -there.people.difference)
    same(back.mean.value, -there.mean.value)
    assert (there.people.better == back.people.worse).all()
    assert not none.people.better.any()
    assert not none.people.worse.any()
    assert none.mean.value == 0


@holds(ledger=ledgers(), kind=single_rates)
def test_what_an_audit_says_is_plain_json_with_blanks_for_what_is_unknown(ledger, kind):
    found = audit(*ledger, rate=kind, alpha=0.1)
    written = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    missing = [rate is None for rate in written["people"]["rate"]]
    assert missing == np.isnan(found.people.rate).tolist()
    assert str(found)
    assert 0 < found.chance.p <= 1 or np.isnan(found.chance.p)
