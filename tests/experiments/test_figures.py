"""The paper's figures as tables: everybody's rates, coin flips, and the path of the rounds."""

from __future__ import annotations

import numpy as np
import pytest

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    ExponentiatedGradient,
    InputError,
    RegressionOracle,
)
from averagefair.datasets import make_synthetic
from averagefair.datasets.split import Split
from averagefair.experiments import SOLVERS, error_spread, generalise, learn, trajectories
from reproduction.pictures.paper import convergence
from reproduction.pictures.paper import error_spread as picture_of_everybody
from tests.support.experiment_judges import PublishedGame, free_of_charge
from tests.support.judges import plain_error, plain_rates

PUBLISHED, COLUMNS = SOLVERS
RATES = ("error", "false_positive", "false_negative")
ALPHAS = (0.05, 0.15, 0.5)
ROUNDS = 25
NEVER, ALWAYS = 3, 7  # one person has only labels 0, the other only labels 1
RUN = {"allowed", "reached_spread", "reached_error", "rounds", "columns", "oracle_calls", "seconds"}

pytestmark = [
    pytest.mark.filterwarnings("ignore::averagefair.UndefinedRateWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.fixture(scope="module")
def split():
    """Forty people; one has no positive label, and one has no negative label."""
    made = make_synthetic(n=40, m=15, d=4, n_holdout=30, m_holdout=8)
    labels = made.Y.copy()
    labels[NEVER], labels[ALWAYS] = 0, 1
    return Split(made.X, labels, made.X_new, made.Y_new_people, made.Y_new_tasks, made.Y_new_both)


@pytest.fixture(scope="module")
def curves(split):
    return learn(split, ALPHAS, rates=RATES, rounds=ROUNDS)


@pytest.fixture(scope="module")
def everybody(curves, split):
    return error_spread(curves, split)


def points(everybody):
    return everybody.only("rate", "solver", "alpha")


# Everybody's rates.


def test_there_is_a_row_for_everybody_at_every_point(everybody):
    which = [(row["rate"], row["solver"], row["alpha"]) for row in points(everybody)]
    assert sorted(which) == sorted((r, s, a) for r in RATES for s in SOLVERS for a in ALPHAS)
    assert set(everybody.columns) >= RUN
    for one in points(everybody):
        here = everybody.where(**one)
        assert here["person"].tolist() == list(range(40))
    assert "group" not in everybody.columns


def test_people_of_the_synthetic_population_have_their_group():
    people = make_synthetic(n=12, m=4)
    found = error_spread(learn(people, [0.2, 0.5], rounds=3), people)
    for alpha in (0.2, 0.5):
        here = found.where(alpha=alpha, solver=PUBLISHED)
        assert here["group"].tolist() == [1] * 9 + [2] * 3


def test_individual_rates_are_counted_from_the_decisions(everybody, curves, split):
    for one in points(everybody):
        here = everybody.where(**one)
        point = curves[one["rate"], one["solver"]].at(one["alpha"])
        chances = point.model.decision_probability(split.X)
        rates = plain_rates(split.Y, chances, one["rate"])
        np.testing.assert_allclose(here["individual_rate"], rates, atol=1e-9)
        assert here["mean_rate"] == pytest.approx(np.nanmean(rates))
        assert here["reached_spread"] == pytest.approx(np.nanmax(rates) - np.nanmin(rates))
        assert here["reached_error"] == pytest.approx(plain_error(split.Y, chances))
        assert set(here["allowed"]) == {2 * one["alpha"]}


def test_published_rates_are_those_of_a_second_program(everybody, split):
    for alpha in ALPHAS:
        game = PublishedGame(split.X, split.Y, alpha, rounds=ROUNDS)
        here = everybody.where(rate="error", solver=PUBLISHED, alpha=alpha)
        np.testing.assert_allclose(here["individual_rate"], game.rates, atol=1e-9)
        assert here["common_rate"] == pytest.approx(game.common_rate)
        assert set(here["rounds"]) == {len(game.path)}


@pytest.mark.parametrize("rate", RATES)
def test_whoever_has_no_rate_has_none_in_the_table(everybody, split, rate):
    here = everybody.where(rate=rate)
    nobody = {
        "error": [],
        "false_positive": np.flatnonzero(split.Y.all(axis=1)).tolist(),
        "false_negative": np.flatnonzero(~split.Y.any(axis=1)).tolist(),
    }[rate]
    assert bool(nobody) == (rate != "error")
    for column in ("individual_rate", "coin_flip_rate"):
        assert set(here["person"][np.isnan(here[column])].tolist()) == set(nobody)
    for column in ("mean_rate", "coin_flip_mean", "coin_flip_error", "reached_spread"):
        assert np.isfinite(here[column]).all()


# Coin flips.


def assert_coins_make_people_as_near(here, chances, labels, rate):
    """Check the rows of a point by mixing coin flips into these chances; return their share.

    The paper's baseline: mix until the spread of rates is the model's.
    """
    rates = plain_rates(labels, chances, rate)
    apart = np.nanmax(rates) - np.nanmin(rates)
    share = 1 - min(1.0, here["reached_spread"][0] / apart)
    flipped = (1 - share) * chances + share / 2
    wanted = plain_rates(labels, flipped, rate)
    np.testing.assert_allclose(here["coin_flip_rate"], wanted, atol=1e-9)
    assert here["coin_flip_mean"] == pytest.approx(np.nanmean(wanted))
    assert here["coin_flip_error"] == pytest.approx(plain_error(labels, flipped))
    known = here["coin_flip_rate"][~np.isnan(here["coin_flip_rate"])]
    assert np.ptp(known) == pytest.approx(min(here["reached_spread"][0], apart))
    return share


def test_coin_flips_are_mixed_in_until_people_are_as_near(everybody, split):
    """Coin flips are mixed into least squares for either solver, also if alpha was missed."""
    chances, shares, missed = free_of_charge(split.X, split.Y), [], 0
    for one in points(everybody):
        here = everybody.where(**one)
        shares.append(assert_coins_make_people_as_near(here, chances, split.Y, one["rate"]))
        missed += here["reached_spread"][0] > here["allowed"][0] + 1e-6
    # Else the test shows nothing about mixtures, or about runs that missed.
    assert sum(0 < share < 1 for share in shares) >= 9
    assert missed > 0


def test_where_everybody_fares_alike_no_coin_is_needed():
    """The tasks can be learned without a mistake."""
    X = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], dtype=float)
    labels = (X > 0).astype(np.int8)
    split = Split(X, labels, X, labels, labels, labels)
    found = error_spread(learn(split, [0.1, 0.5], rounds=10), split)
    assert (found["individual_rate"] == 0).all()
    assert (found["coin_flip_rate"] == 0).all()
    assert (found["coin_flip_error"] == 0).all()


# The path of the rounds.


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_path_is_what_a_callback_hears_and_ends_with_the_model(split, rate, solver):
    heard = []
    how = {
        PUBLISHED: ExponentiatedGradient.published(ROUNDS),
        COLUMNS: ColumnGeneration(max_rounds=ROUNDS),
    }[solver]
    options = {"rate": rate, "solver": how, "random_state": 0, "callback": heard.append}
    model = AverageFairClassifier(0.1, oracle=RegressionOracle(), decisions="drawn", **options)
    model.fit(split.X, split.Y)
    found = trajectories(split, [0.1], rates=[rate], solvers=[solver], rounds=ROUNDS)
    assert set(found.columns) >= RUN
    last = list(found)[-1]
    chances = model.decision_probability(split.X)
    rates = plain_rates(split.Y, chances, rate)
    assert last["error"] == last["reached_error"] == pytest.approx(plain_error(split.Y, chances))
    assert last["spread"] == last["reached_spread"]
    assert last["spread"] == pytest.approx(np.nanmax(rates) - np.nanmin(rates))
    assert last["aim"] == 0.1
    assert last["round"] == last["rounds"] == heard[-1].round
    for row in list(found)[:-1]:
        now = heard[row["round"] - 1]
        assert (row["error"], row["spread"], row["aim"]) == (now.error, now.spread, now.value)
    assert found["round"].tolist()[: len(heard)] == [now.round for now in heard]


def test_there_is_a_path_for_each_rate_solver_and_alpha(split):
    found = trajectories(split, [0.1, 0.2], rates=RATES[:2], rounds=5)
    runs = found.only("rate", "solver", "alpha")
    assert len(runs) == 2 * 2 * 2
    for one in runs:
        assert found.where(**one)["round"].max() <= 5


# Held-out curves.


def test_each_corner_of_a_curve_is_told_once(curves, split):
    some = {pair: curves[pair] for pair in (("error", COLUMNS), ("false_positive", PUBLISHED))}
    found = generalise(some, split)
    assert set(found.columns) >= RUN
    assert found.distinct("rate") == ["error", "false_positive"]
    sizes = {"training": (40, 15), "people": (30, 15), "tasks": (40, 8), "both": (30, 8)}
    assert len(found) == len(some) * len(ALPHAS) * len(sizes)
    assert len(found.only("rate", "solver", "alpha", "corner")) == len(found)
    for row in found:
        assert (row["people"], row["tasks"]) == sizes[row["corner"]]
        point = curves[row["rate"], row["solver"]].at(row["alpha"])
        if row["corner"] == "people":
            chances = point.model.decision_probability(split.X_new)
            assert row["error"] == pytest.approx(plain_error(split.Y_new_people, chances))
        if row["corner"] in ("tasks", "both"):
            later = point.model.extend(split.Y_new_tasks)
            people = split.X if row["corner"] == "tasks" else split.X_new
            labels = split.Y_new_tasks if row["corner"] == "tasks" else split.Y_new_both
            chances = later.decision_probability(people)
            assert row["error"] == pytest.approx(plain_error(labels, chances))
            rates = plain_rates(labels, chances, row["rate"])
            assert row["spread"] == pytest.approx(np.nanmax(rates) - np.nanmin(rates))


def test_an_unknown_solver_is_refused_with_the_names_there_are(split):
    with pytest.raises(InputError, match=r"authors' setting.*column generation"):
        learn(split, [0.1], solvers=["columns"])


# The paper's figures, with the paper's axes.


def drawn(picture):
    """The panel of each solver."""
    return dict(zip(SOLVERS, picture.figure.axes, strict=True))


def test_convergence_has_error_along_x_and_unfairness_along_y(split):
    """Figure 1(a): "error (x axis) versus its fairness violation (y axis)", dashed at 2 alpha."""
    table = trajectories(split, [0.1, 0.2], rounds=20)
    for solver, ax in drawn(convergence(table, "error")).items():
        ends = {line.get_label(): line.get_xydata() for line in ax.lines}
        for alpha in (0.1, 0.2):
            run = table.where(solver=solver, alpha=alpha)
            last = [[run["error"][-1], run["spread"][-1]]]
            np.testing.assert_allclose(ends[f"end, alpha = {alpha:g}"], last)
        dashed = [line.get_ydata() for line in ax.lines if line.get_linestyle() == "--"]
        levels = sorted(set(np.concatenate(dashed)))
        assert levels == pytest.approx([0.2, 0.4])
        assert ax.get_xlabel() == "overall error"
        assert ax.get_ylim()[0] == 0
    assert drawn(convergence(table, "error"))[PUBLISHED].get_ylabel().startswith("unfairness")


def test_error_spread_has_a_row_for_each_allowed_spread(everybody):
    """Figure 1(b): "the y axis measures the allowed fairness violation", 2 alpha."""
    panels = drawn(picture_of_everybody(everybody, "error"))
    for solver, ax in panels.items():
        rows = [label.get_text() for label in ax.get_yticklabels()]
        assert rows == (["0.1", "0.3", "none"] if solver == PUBLISHED else rows)
        here = everybody.where(rate="error", solver=solver).only("alpha", "mean_rate")
        (mean,) = (line.get_xdata() for line in ax.lines if line.get_label() == "mean")
        np.testing.assert_allclose(mean, here["mean_rate"])
        assert ax.get_xlabel() == "individual error rate"
    assert panels[PUBLISHED].get_ylabel() == "allowed spread: 2 alpha"
