"""The judges of generated cases can fail, and the properties fail on a broken library.

Each judge gets a case worked out by hand, or results that were changed. Each property is tried on
a library with one fault.
"""

from dataclasses import replace
from inspect import signature

import numpy as np
import pytest

import averagefair
from averagefair import Certificate, Mapping, Portfolio, Sample, StumpOracle
from averagefair.game.measure import Measurement, Meter
from tests.properties import test_answer as answer
from tests.properties import test_audit as audits
from tests.properties import test_certificate as certificate
from tests.properties import test_files as files
from tests.properties import test_invariances as invariances
from tests.properties import test_mapping as mapping
from tests.properties import test_oracles as oracles
from tests.support.generated import COLUMNS, World, fit, try_once
from tests.support.property_judges import (
    assert_finite,
    assert_honest,
    assert_same_optimum,
    assert_same_outcome,
    constrained,
    costs_by_hand,
    fair_within,
    least_lagrangian,
    narrowest_by_hand,
    outside_by_hand,
    rates_by_hand,
)

NAN = np.nan
WORLD = World(
    np.array([[-1.0], [0.0], [1.0], [2.0]]),
    np.array([[0, 1, NAN], [1, 0, 0], [1, 1, 1], [NAN, NAN, NAN]]),
    np.array([1.0, 2.0, 1.0, 1.0]),
    np.array([1.0, 1.0, 2.0]),
)


@pytest.fixture
def model():
    return fit(WORLD, alpha=0.1, oracle=StumpOracle(), solver=COLUMNS)


# --- judges --------------------------------------------------------------------------------------


def test_honest_and_finite_models_pass(model):
    assert_honest(model, WORLD, "error")
    assert_finite(model, WORLD, "error", exact=True)


LIES = {
    "error_": lambda model: model.error_ + 1e-6,
    "individual_rates_": lambda model: model.individual_rates_ + 1e-6,
    "common_rate_": lambda model: model.common_rate_ + 1e-6,
    "undefined_individuals_": lambda model: model.undefined_individuals_[:0],
}


@pytest.mark.parametrize("name", LIES)
def test_a_false_claim_is_seen(model, name):
    setattr(model, name, LIES[name](model))
    with pytest.raises(AssertionError):
        assert_honest(model, WORLD, "error")


@pytest.mark.parametrize("name", ["error", "deviation", "spread"])
def test_a_false_certificate_is_seen(model, name):
    wrong = {name: getattr(model.certificate_, name) + 1e-6}
    model.certificate_ = replace(model.certificate_, **wrong)
    with pytest.raises(AssertionError):
        assert_honest(model, WORLD, "error")


@pytest.mark.parametrize("factor", [1.001, -1.0])
def test_chances_off_the_simplex_are_seen(model, factor):
    q = model.classifiers_.probabilities * factor
    object.__setattr__(model.classifiers_, "probabilities", q)
    with pytest.raises(AssertionError, match="probabilit"):
        assert_honest(model, WORLD, "error")


def test_a_number_that_is_none_is_seen(model):
    model.certificate_ = replace(model.certificate_, lower=NAN)
    with pytest.raises(AssertionError, match="lower is no number"):
        assert_finite(model, WORLD, "error", exact=True)
    assert_finite(model, WORLD, "error", exact=False)
    model.individual_rates_ = np.nan_to_num(model.individual_rates_)
    with pytest.raises(AssertionError, match="missing, or made up"):
        assert_finite(model, WORLD, "error", exact=False)


def test_rates_by_hand_on_a_case_worked_out():
    chances = np.array([[0, 1, 1], [1, 0.5, 0.5], [0, 0, 0.5], [1, 1, 1]])
    # Person 1 is right on one task (weight 1), and errs with chance 1/2 on weights 1 and 2.
    np.testing.assert_allclose(rates_by_hand(WORLD, chances, "error"), [0, 1.5 / 4, 0.75, NAN])
    both = rates_by_hand(WORLD, chances, ["false_positive", "false_negative"])
    np.testing.assert_allclose(both, [[0, 0], [0.5, 0], [NAN, 0.75], [NAN, NAN]])
    held = constrained(WORLD, ["false_positive", "false_negative"])
    assert held.tolist() == [[True, True], [True, True], [False, True], [False, False]]
    assert fair_within(WORLD, chances, "error", 0.375)
    assert not fair_within(WORLD, chances, "error", 0.37)
    assert fair_within(WORLD.but(people=np.array([1.0, 1, 0, 1])), chances, "error", 0.2)


def test_the_least_lagrangian_on_a_case_worked_out():
    world = World(np.array([[0.0], [1.0]]), np.array([[0.0], [1.0]]))
    always = np.array([[False, False], [True, True]])
    # Always 0: error 1/2, rates 0 and 1. Always 1: error 1/2, rates 1 and 0. gamma is 0 or 1.
    w = np.array([[0.5], [-0.25]])
    rows = (0.5 - 0.25 - 0.25, 0.5 + 0.5 - 0.25)
    assert least_lagrangian(world, always, "error", w, 0.1) == pytest.approx(min(rows) - 0.075)
    perfect = np.vstack([always, [False, True]])
    assert least_lagrangian(world, perfect, "error", -w, 0.1) == pytest.approx(
        min(0.5 + 0.25 - 0, 0.5 - 0.5, 0.0) - 0.075
    )
    wrong = np.array([[True, False]])
    both = (1 + 0.5 - 0.25 - 0.25, *rows)
    for constants, values in ((False, both[:1]), (True, both)):
        found = least_lagrangian(world, wrong, "error", w, 0.1, constants=constants)
        assert found == pytest.approx(min(values) - 0.075)


def test_costs_by_hand_on_a_case_worked_out():
    signs, price, other = np.array([[1, -1], [1, 0]]), np.array([2.0, 3.0]), np.array([5.0, 7.0])
    ones, none = np.ones((2, 2), bool), np.zeros((2, 2), bool)
    assert costs_by_hand(signs, price, other, ones).tolist() == [5.0, 0.0]
    assert costs_by_hand(signs, price, other, none).tolist() == [0.0, 5.0]


def test_windows_by_hand_on_a_case_worked_out():
    rates = [0.1, 0.2, 0.25, 0.9]
    assert narrowest_by_hand(rates, 0.25) == pytest.approx(0.15)
    assert narrowest_by_hand(rates, 0.0) == pytest.approx(0.8)
    assert narrowest_by_hand(rates, 0.24) == pytest.approx(0.8)
    assert outside_by_hand(rates, 0.15) == 0.25
    assert outside_by_hand(rates, 0.01) == 0.75


def test_other_answers_are_told_apart(model):
    known = model.certificate_
    assert_same_optimum(known, known)
    far = replace(
        known, error=known.error + 0.01, lower=known.lower + 0.01, upper=known.upper + 0.01
    )
    for pair in ((known, far), (far, known)):
        with pytest.raises(AssertionError):
            assert_same_optimum(*pair)
    other = fit(WORLD, alpha=0.02, oracle=StumpOracle(), solver=COLUMNS)
    assert_same_outcome(model, model, 0.0, X=WORLD.X)
    with pytest.raises(AssertionError):
        assert_same_outcome(model, other)


# --- properties ----------------------------------------------------------------------------------


def wrap(owner, name, change):
    """Return a fault: a function that changes the result of another function."""

    def apply(monkeypatch):
        before = getattr(owner, name)
        monkeypatch.setattr(
            owner, name, lambda *args, **kw: change(before(*args, **kw), *args, **kw)
        )

    return apply


def measure_worse(found, *_args, **_kw):
    return Measurement(found.error, found.rates + 0.01)


def keep_the_dearest(monkeypatch):
    from averagefair.oracles import portfolio

    before = portfolio.cheapest
    for module in ("portfolio", "polished"):
        monkeypatch.setattr(
            f"averagefair.oracles.{module}.cheapest",
            lambda answers, costs: before(answers, [-np.asarray(one) for one in costs]),
        )


def forget_people_weights(monkeypatch):
    before = Sample.__init__

    def init(self, X, Y, **options):
        before(self, X, Y, **(options | {"individual_weights": None}))

    monkeypatch.setattr(Sample, "__init__", init)


def by_position(keys, *_args):
    return np.arange(len(keys), dtype=np.uint64)


def first_feature_only(bound, *_args):
    bound.order, bound.sorted = bound.order[:1], bound.sorted[:1]
    bound.barrier = bound.barrier[:1]
    return bound


def turned_round(mixture, *_args, **_kw):
    q = mixture.probabilities[::-1].copy()
    object.__setattr__(mixture, "probabilities", q)
    return mixture


BREAK = {
    "rates measured wrongly": (
        wrap(Meter, "__call__", measure_worse),
        [
            answer.test_figures_are_what_the_classifiers_do,
            certificate.test_a_play_is_measured_as_it_decides,
        ],
    ),
    "a bound that is too good": (
        wrap(averagefair.Learner, "dual_value", lambda value, *_: value + 0.02),
        [
            certificate.test_the_optimum_lies_within_the_bounds_of_column_generation,
            certificate.test_bounds_hold_however_early_a_run_ends,
        ],
    ),
    "half the slack forgotten": (
        wrap(averagefair.Learner, "dual_value", lambda value, *_: value * 1.01),
        [certificate.test_a_best_response_is_the_least_lagrangian_by_trying_all],
    ),
    "always met": (
        lambda monkeypatch: monkeypatch.setattr(Certificate, "met", True),
        [answer.test_met_is_said_where_it_is_so_and_a_miss_is_warned_of],
    ),
    "the dearest answer kept": (
        keep_the_dearest,
        [
            oracles.test_a_portfolio_is_never_dearer_than_its_members_or_a_constant,
            oracles.test_polishing_never_makes_dearer,
        ],
    ),
    "one feature looked at": (
        wrap(StumpOracle, "bind", first_feature_only),
        [oracles.test_no_stump_is_cheaper_than_the_oracles],
    ),
    "weights of people ignored": (
        forget_people_weights,
        [
            invariances.test_a_weight_is_a_number_of_copies,
            invariances.test_whoever_weighs_nothing_is_absent,
        ],
    ),
    "draws by position": (
        lambda monkeypatch: [
            wrap(averagefair.game.mixture, name, by_position)(monkeypatch)
            for name in ("person_keys", "id_keys")
        ],
        [mapping.test_draws_do_not_depend_on_order_batch_or_repetition],
    ),
    "draws that are low too often": (
        wrap(averagefair.game.mixture, "uniform", lambda u, *_: u**2),
        [mapping.test_decisions_come_out_as_often_as_their_chance_says],
    ),
    "chances mixed up by the mapping": (
        wrap(Mapping, "classifiers", turned_round),
        [mapping.test_training_labels_give_back_the_classifiers_of_training],
    ),
    "chances mixed up by files": (
        wrap(averagefair.persistence.model_file, "read_mixture", turned_round),
        [files.test_a_model_decides_alike_after_it_was_saved],
    ),
    "ranks the wrong way": (
        wrap(averagefair.auditing.person_table, "_ranks", lambda ranks, *_: ranks + 1),
        [audits.test_ranks_and_the_worst_off_by_hand],
    ),
    "a portfolio without its members": (
        lambda monkeypatch: monkeypatch.setattr(
            Portfolio, "bind", lambda self, sample: self.oracles[0].bind(sample)
        ),
        [oracles.test_the_default_is_never_dearer_than_least_squares_logistic_or_a_constant],
    ),
}
CASES = [(how, made) for how, (_, properties) in BREAK.items() for made in properties]


@pytest.mark.parametrize(("how", "made"), CASES, ids=[f"{a}: {b.__name__}" for a, b in CASES])
def test_a_property_fails_where_the_library_is_broken(how, made, monkeypatch, tmp_path_factory):
    fixtures = {"tmp_path_factory": tmp_path_factory}
    more = {name: one for name, one in fixtures.items() if name in signature(made.body).parameters}
    BREAK[how][0](monkeypatch)
    with pytest.raises(AssertionError):
        try_once(made, **more)
