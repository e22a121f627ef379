"""What ends the choice of fixed decisions early, and what extend refuses or cannot judge."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    DegenerateTaskWarning,
    InputError,
    RegressionOracle,
    StopReason,
)
from averagefair.choosing import search
from averagefair.datasets import make_synthetic
from tests.support.judges import plain_rates


def fit(people, Y=None, **params):
    params = {
        "oracle": RegressionOracle(),
        # The choice among the answers of few rounds is tested, not the answers.
        "solver": ColumnGeneration(max_rounds=25, mapping_rounds=2),
        "random_state": 0,
        "look_first": False,
        "alpha": 0.05,
    } | params
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return AverageFairClassifier(**params).fit(people.X, people.Y if Y is None else Y)


@pytest.fixture(scope="module")
def people():
    return make_synthetic(n=120, m=24, m_holdout=6, random_state=3)


@pytest.fixture(scope="module")
def fitted(people):
    return fit(people)


@pytest.fixture(scope="module")
def fitted_to_names(people):
    return fit(people, named(people))


def named(people):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(people.Y).add_prefix("job ")


@pytest.mark.parametrize("visits", [0, pytest.param(1, marks=pytest.mark.long), 40])
def test_ctrl_c_keeps_the_best_choice_so_far(people, monkeypatch, visits):
    calls = []

    def interrupted(self, group):
        calls.append(group)
        if len(calls) > visits:
            raise KeyboardInterrupt
        return shares_of(self, group)

    shares_of = search.Search._shares_of
    monkeypatch.setattr(search.Search, "_shares_of", interrupted)
    model = fit(people, solver=ColumnGeneration(mapping_rounds=2))
    assert model.certificate_.stop_reason is StopReason.INTERRUPTED
    assert model.certificate_.decisions == "fixed"
    rates = plain_rates(people.Y, model.predict(people.X), "error")
    np.testing.assert_allclose(model.individual_rates_, rates)
    # The start is already the best of twenty draws.
    drawn = model.mixture_
    spreads = [
        np.ptp(
            plain_rates(people.Y, drawn.sparsify(1, random_state=draw).predict(people.X), "error")
        )
        for draw in range(20)
    ]
    assert np.ptp(rates) < np.median(spreads)


def test_ctrl_c_before_the_search_keeps_the_likeliest_answers(people, monkeypatch):
    def stop(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("averagefair.choosing.fixed.gather_candidates", stop)
    model = fit(people)
    assert model.certificate_.stop_reason is StopReason.INTERRUPTED
    chances = model.mixture_.probabilities
    likeliest = chances.argmax(axis=0)
    decided = np.stack([own.decide(people.X) for own in model.mixture_.hypotheses])
    expected = decided[likeliest, :, np.arange(24)].T
    certain = chances.max(axis=0) > 0.5
    assert (model.predict(people.X) == expected)[:, certain].all()


def test_a_time_limit_holds_for_the_choice_too(people, monkeypatch):
    """The clock jumps when the search begins; it then ends after the start."""
    now = [0.0]
    monkeypatch.setattr(search, "perf_counter", lambda: now[0] + 1e9)
    model = fit(people, solver=ColumnGeneration(time_limit=1e6, max_rounds=20, mapping_rounds=2))
    assert model.certificate_.stop_reason is StopReason.TIME
    assert "fixed" in str(model.certificate_)
    free = fit(people, solver=ColumnGeneration(max_rounds=20, mapping_rounds=2))
    assert free.certificate_.stop_reason is not StopReason.TIME


def test_tasks_without_any_label_get_the_likeliest_classifier(people, fitted):
    model = copy.deepcopy(fitted)
    before = model.balance_
    for options in ({}, {"balance": False}):
        with pytest.warns(DegenerateTaskWarning):
            later = model.extend(np.full((120, 2), np.nan), **options)
        assert len(set(later.task_names)) == 2
        assert later.predict(people.X).shape == (120, 2)
        assert set(np.unique(later.predict(people.X))) <= {0, 1}
    assert model.balance_.tasks == before.tasks


def test_learned_tasks_are_not_counted_again(people, fitted_to_names):
    model = fitted_to_names
    with pytest.raises(InputError, match=r"learned count already: job 0, job 1.*balance=False"):
        model.extend(named(people)[["job 0", "job 1"]])
    assert model.balance_.tasks == 24
    again = model.extend(named(people)[["job 0", "job 1"]], balance=False)
    assert again.task_names == ("job 0", "job 1")


@pytest.mark.parametrize("balance", ["yes", 2, np.array([True, False])])
def test_balance_is_yes_or_no(people, fitted, balance):
    with pytest.raises(InputError, match="`balance` must be True, False or None"):
        fitted.extend(people.Y_new_tasks, balance=balance)


def test_shared_chances_are_no_bound_for_single_tasks(people):
    """With one chance for whole plays, single tasks can be chosen better than the program did."""
    model = fit(people, alpha=0.1, solver=ColumnGeneration(blocks=1))
    certificate = model.certificate_
    assert certificate.met
    assert model.error_ < certificate.by_chances.error


def test_who_is_outside_is_said_where_a_promise_is_not_met():
    people = make_synthetic(n=100, m=8, random_state=0)
    text = str(fit(people, alpha=0.01).certificate_)
    assert "NOT met" in text
    assert "% of the people are outside" in text
