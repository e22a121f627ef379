"""Promises that cannot be kept or contradict each other, and rates of other people."""

from __future__ import annotations

import re

import numpy as np
import pytest

from averagefair import (
    AverageFairClassifier,
    Cap,
    ColumnGeneration,
    Equal,
    ExponentiatedGradient,
    InputError,
    Minimax,
    StumpOracle,
    WorstOff,
    frontier,
)
from tests.support.judges import plain_rates, stump_decisions
from tests.support.promise_programs import FullProgram, plain_worst_off
from tests.support.promise_table import EXPECTED
from tests.support.tiny_fits import labelled

BOTH = ["false_positive", "false_negative"]
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::averagefair.errors.{kind.__name__}") for kind in EXPECTED
]
X, Y = labelled(seed=3, n=14, m=5, d=2)


def estimator(**params):
    params = {
        "oracle": StumpOracle(),
        "solver": ColumnGeneration(tol=1e-6, mapping_rounds=3),
        "decisions": "drawn",
    } | params
    return AverageFairClassifier(random_state=0, **params)


class TestWhatIsImpossible:
    @pytest.mark.parametrize("max_rate", [0.001, 0.1, 0.28])
    @pytest.mark.parametrize("share", [None, 0.25])
    def test_the_least_value_is_named_and_can_be_kept(self, max_rate, share):
        program = FullProgram(Y, stump_decisions(X))
        if share is None:
            least = program.least_excess(np.zeros(len(Y)))
        else:
            least = program.least_excess_worst_off(share, 0.0)
        with pytest.raises(InputError, match="is below what is possible") as caught:
            estimator(max_rate=max_rate, worst_off=share).fit(X, Y)
        message = str(caught.value)
        assert f"max_rate={max_rate:g}" in message
        named = float(re.search(r"the least max_rate found is ([\d.]+)\. ", message)[1])
        advised = float(re.search(r"e\.g\. max_rate=([\d.]+),", message)[1])
        assert least - 1e-6 <= named <= least + 1.2e-4
        assert named < advised < named + 0.01
        for value in (named, named + 1e-3, advised):
            model = estimator(max_rate=value, worst_off=share).fit(X, Y)
            rates = plain_rates(Y, model.decision_probability(X), "error")
            worst = rates.max() if share is None else plain_worst_off(rates, np.ones(14), share)
            assert model.certificate_.met
            assert worst <= value + 1e-6

    @pytest.mark.parametrize(
        "promise",
        [
            Equal(0.01, no_harm=0.0),
            Cap(0.29, no_harm=0.0),
            WorstOff(0.25, max_rate=0.29, no_harm=0.0),
        ],
        ids=repr,
    )
    def test_contradictions_with_no_harm_are_named(self, promise):
        with pytest.raises(InputError, match=r"no_harm=0\b") as caught:
            estimator(promise=promise).fit(X, Y)
        message = str(caught.value)
        if isinstance(promise, Equal):
            assert "contradict each other" in message
            enough = float(re.search(r"With no_harm=([\d.]+) one was found", message)[1])
            known = estimator(promise=Equal(0.01, no_harm=enough + 1e-3)).fit(X, Y).certificate_
        else:
            least = float(re.search(r"the least max_rate found is ([\d.]+)\. ", message)[1])
            known = estimator(promise=promise.at(least + 1e-3)).fit(X, Y).certificate_
        assert known.met
        assert known.harm <= 1e-6

    @pytest.mark.parametrize(
        "promise",
        [
            Equal(0.5, no_harm=0.0),
            Cap(1.0, no_harm=0.0),
            Minimax(2, no_harm=0.0),
            WorstOff(0.1, no_harm=0.0),
            WorstOff(0.1, max_rate=1.0, no_harm=0.0),
        ],
        ids=repr,
    )
    def test_rates_that_nobody_can_have(self, promise):
        """Today's rates are all 0, and no class can be that good."""
        with pytest.raises(InputError, match=r"no mixture found keeps .*no_harm=0") as caught:
            estimator(promise=promise).fit(X, Y, against=np.zeros(14))
        least = FullProgram(Y, stump_decisions(X)).least_excess(np.zeros(14))
        named = float(re.search(r"With no_harm=([\d.]+)", str(caught.value))[1])
        assert least - 1e-6 <= named <= least + 1.2e-4

    def test_a_frontier_names_the_value(self):
        with pytest.raises(InputError, match=r"max_rate=0\.1 is below what is possible"):
            frontier(X, Y, [0.1, 0.5], promise=Cap(), oracle=StumpOracle())

    def test_a_run_that_was_cut_short_warns_instead(self):
        solver = ColumnGeneration(max_rounds=1)
        with pytest.warns(UserWarning, match=r"requested no rate above 0\.1: NOT met"):
            model = estimator(max_rate=0.1, solver=solver).fit(X, Y)
        assert not model.certificate_.met


CONTRADICTIONS = [
    ({"alpha": 0.1, "max_rate": 0.3}, r"alpha cannot go with the promise Cap"),
    ({"alpha": 0.1, "worst_off": 0.1}, r"alpha cannot go with the promise WorstOff"),
    ({"alpha": 0.1, "price": 1.0}, r"price cannot go with the promise Equal"),
    ({"price": 1.0}, r"price cannot go with the promise Equal"),
    ({"max_rate": 0.3, "price": 1.0}, r"price cannot go with the promise Cap"),
    ({"max_rate": 0.3, "max_influence": 1.0}, r"max_influence cannot go with the promise Cap"),
    ({"worst_off": 0.1, "beta": 0.1}, r"beta cannot go with the promise WorstOff"),
    ({"worst_off": 0.1, "price": 1.0, "max_rate": 0.3}, r"either price .* or max_rate"),
    ({"promise": Cap(0.3), "alpha": 0.1}, r"either `promise` .* or alpha, not both"),
    ({"promise": Equal(0.1), "beta": 0.1}, r"either `promise` .* or beta, not both"),
    ({"promise": WorstOff(), "no_harm": 0.1}, r"either `promise` .* or no_harm, not both"),
    ({"promise": Minimax(), "worst_off": 0.1}, r"either `promise` .* or worst_off, not both"),
    ({"promise": "cap"}, r"`promise` must be a promise object.*got 'cap'"),
    ({"promise": Cap}, r"`promise` must be a promise object"),
]


@pytest.mark.parametrize(("params", "message"), CONTRADICTIONS, ids=str)
def test_contradictions_are_refused_by_name(params, message):
    with pytest.raises(InputError, match=message):
        estimator(**params).fit(X, Y)


BAD = [
    *((Equal, "alpha", bad) for bad in (0, -0.1, 0.51, np.nan, np.inf, "a", None, True)),
    *((Cap, "max_rate", bad) for bad in (0, -0.1, 1.01, np.nan, np.inf, "a", None, True)),
    *((Minimax, "levels", bad) for bad in (0, -1, 1.5, np.nan, "a", None, True)),
    *((Minimax, "tolerance", bad) for bad in (-0.1, 0.5, np.nan, np.inf, "a", None)),
    *((WorstOff, "share", bad) for bad in (0, 1, -0.1, 1.5, np.nan, np.inf, "a", None, True)),
    *((WorstOff, "price", bad) for bad in (0, -1, np.nan, np.inf, 1e7, "a", True)),
    *((WorstOff, "max_rate", bad) for bad in (0, -0.1, 1.01, np.nan, "a", True)),
    *((kind, "beta", bad) for kind in (Equal, Cap) for bad in (-0.1, 1, 1.5, np.nan, "a", None)),
    *(
        (kind, "no_harm", bad)
        for kind in (Equal, Cap, Minimax, WorstOff)
        for bad in (-0.1, 1, 1.5, np.nan, np.inf, "a", True)
    ),
]


@pytest.mark.parametrize(("kind", "name", "value"), BAD)
def test_bad_figures_are_refused_by_name(kind, name, value):
    with pytest.raises(InputError, match=f"`{name}` must .*got "):
        kind(**{name: value})


@pytest.mark.parametrize(("name", "kind"), [("beta", Minimax), ("beta", WorstOff)])
def test_figures_of_other_promises_are_no_arguments(name, kind):
    with pytest.raises(TypeError, match=name):
        kind(**{name: 0.1})


class TestAgainst:
    """Rates that people have today."""

    today = np.linspace(0.1, 0.9, 14)

    @pytest.mark.parametrize(
        ("against", "rate", "message"),
        [
            (today[:-1], "error", r"shape \(14,\); got \(13,\)"),
            (np.append(today, 0.1), "error", r"shape \(14,\); got \(15,\)"),
            (np.stack([today] * 2, axis=1), "error", r"shape \(14,\); got \(14, 2\)"),
            (today, BOTH, r"shape \(14, 2\); got \(14,\)"),
            (np.stack([today] * 3, axis=1), BOTH, r"shape \(14, 2\); got \(14, 3\)"),
            (today[:, None], ["error"], None),
            (today - 0.2, "error", r"between 0 and 1; got values from -0\.1 to"),
            (today * 100, "error", r"between 0 and 1; got values from 10 to 90"),
            (np.where(today > 0.5, np.inf, today), "error", r"against"),
            (np.full(14, np.nan), "error", r"between 0 and 1; got blanks only"),
            (["low"] * 14, "error", r"against"),
            (0.3, "error", r"against"),
        ],
        ids=[
            "too short",
            "too long",
            "two rates",
            "one rate of two",
            "three rates of two",
            "a list of one rate",
            "negative",
            "percent",
            "infinite",
            "blank",
            "words",
            "a number",
        ],
    )
    def test_must_be_rates_of_these_people(self, against, rate, message):
        model = estimator(alpha=0.4, rate=rate)
        if message is None:
            assert model.fit(X, Y, against=against).certificate_.against_given
            return
        with pytest.raises(InputError, match=message):
            model.fit(X, Y, against=against)

    def test_blanks_are_unknown_rates(self):
        rates = np.where(np.arange(14) % 2, np.nan, 0.9)
        model = estimator(alpha=0.2, no_harm=0.0).fit(X, Y, against=rates)
        (pays,) = model.certificate_.each_who_pays
        assert pays.people == 7
        assert model.certificate_.met

    def test_the_order_of_a_series_does_not_matter(self):
        pd = pytest.importorskip("pandas")
        names = [f"person {i}" for i in range(14)]
        features = pd.DataFrame(X, index=names, columns=["a", "b"])
        # With nothing asked, person 2 errs on 0.4 of the tasks, and nobody else has a limit.
        today = pd.Series(np.where(np.arange(14) == 2, 0.3, 1.0), index=names)
        order, promise = np.random.default_rng(0).permutation(14), Cap(1.0, no_harm=0.0)

        def rates(features, against, **names):
            model = estimator(promise=promise).fit(features, Y, against=against, **names)
            assert model.certificate_.met
            return model.individual_rates_

        aligned = rates(X, today.to_numpy())
        assert (aligned <= today.to_numpy() + 1e-6).all()
        # The same rates in another order are other people's rates.
        assert np.abs(rates(X, today.to_numpy()[order]) - aligned).max() > 0.05
        np.testing.assert_array_equal(rates(features, today), aligned)
        np.testing.assert_array_equal(rates(features, today.iloc[order]), aligned)
        both = pd.DataFrame({"fp": today, "fn": today}).iloc[order]
        two = estimator(promise=Equal(0.3), rate=BOTH).fit(features, Y, against=both)
        assert len(two.certificate_.who_pays) == 2

    def test_ids_name_the_people_of_a_series(self):
        pd = pytest.importorskip("pandas")
        names = [f"person {i}" for i in range(14)]
        today = pd.Series(np.where(np.arange(14) == 2, 0.3, 1.0), index=names)
        model = estimator(max_rate=1.0, no_harm=0.0)
        aligned = model.fit(X, Y, ids=names, against=today).individual_rates_
        shuffled = model.fit(X, Y, ids=names, against=today.iloc[::-1]).individual_rates_
        np.testing.assert_array_equal(shuffled, aligned)

    @pytest.mark.parametrize("change", ["other ids", "one other id", "too few", "a repeated id"])
    def test_a_series_about_other_people_is_refused(self, change):
        pd = pytest.importorskip("pandas")
        names = [f"person {i}" for i in range(14)]
        features = pd.DataFrame(X, index=names, columns=["a", "b"])
        today = pd.Series(self.today, index=names)
        if change == "other ids":
            today.index = [f"stranger {i}" for i in range(14)]
        elif change == "one other id":
            today.index = [*names[:-1], "stranger"]
        elif change == "too few":
            today = today.iloc[:-1]
        else:
            today.index = [*names[:-1], names[0]]
        with pytest.raises(InputError, match=r"`against`"):
            estimator(alpha=0.2).fit(features, Y, against=today)


FAILURES = {
    "an impossible cap": ({"max_rate": 0.01}, {}),
    "an impossible mean": ({"worst_off": 0.2, "max_rate": 0.01}, {}),
    "a contradiction": ({"alpha": 0.01, "no_harm": 0.0}, {}),
    "two promises": ({"alpha": 0.1, "max_rate": 0.3}, {}),
    "other people": ({"alpha": 0.2}, {"against": np.zeros(3)}),
    "a solver that cannot": ({"promise": Minimax(), "solver": ExponentiatedGradient()}, {}),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_fit_leaves_the_estimator_unchanged(failure):
    params, arguments = FAILURES[failure]
    model = estimator(alpha=0.3).fit(X, Y)
    before = dict(vars(model))
    model.set_params(alpha=None)
    model.set_params(**params)
    asked = model.get_params()
    with pytest.raises(InputError):
        model.fit(X, Y, **arguments)
    assert model.get_params() == asked
    fitted = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert fitted
    assert all(before[name] is value for name, value in fitted.items())
    assert {name for name in before if name.endswith("_")} == set(fitted)
    fresh = estimator(**params)
    with pytest.raises(InputError):
        fresh.fit(X, Y, **arguments)
    assert not [name for name in vars(fresh) if name.endswith("_")]


@pytest.mark.parametrize(
    ("promise", "given"),
    [
        (Cap(0.4, beta=0.2), "beta=0.2"),
        (Equal(0.1, beta=0.2), "beta=0.2"),
        (Equal(0.1, max_influence=2.0), "max_influence=2"),
        (Minimax(), "Minimax"),
    ],
    ids=repr,
)
def test_exponentiated_gradient_says_what_it_cannot_take(promise, given):
    solver = ExponentiatedGradient(max_rounds=5)
    with pytest.raises(InputError, match=f"cannot take {given}.*ColumnGeneration"):
        estimator(promise=promise, solver=solver).fit(X, Y)


def test_a_solver_from_theory_takes_the_papers_promise_alone():
    solver = ExponentiatedGradient.from_theory(0.1, 0.5, n=14)
    with pytest.raises(InputError, match=r"keeps the paper's promise alone"):
        estimator(promise=Cap(0.5), solver=solver).fit(X, Y)
