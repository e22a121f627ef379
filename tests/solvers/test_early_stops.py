"""Fits that a limit ends: never worse than coin flips, and always with a warning."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    ExponentiatedGradient,
    RegressionOracle,
    StumpOracle,
    frontier,
)
from averagefair.datasets import make_synthetic
from averagefair.errors import SolverTimeoutError
from averagefair.solvers import StopReason
from averagefair.solvers.column_generation.master import Master

RATES = ("error", "false_positive", "false_negative")
NOT_CONVERGED = "did not converge"


def population(n=300, m=30, blanks=0.0):
    made = make_synthetic(n=n, m=m, d=8, random_state=3)
    labels = made.Y.astype(float)
    hidden = np.random.default_rng(0).random(labels.shape) < blanks
    return made.X, np.where(hidden, np.nan, labels)


def by_least_squares(X, Y):
    """Decide without any constraint, as plain least squares does for each task."""
    design = np.column_stack([np.ones(len(X)), X])
    decisions = np.zeros(Y.shape)
    # A person's weight is divided between their known labels.
    share = 1.0 / np.maximum(1, (~np.isnan(Y)).sum(axis=1))
    for task, labels in enumerate(Y.T):
        seen = ~np.isnan(labels)
        target = (2.0 * labels[seen] - 1.0) * share[seen]
        decisions[:, task] = design @ np.linalg.lstsq(design[seen], target, rcond=None)[0] > 0
    return decisions


def rates_of(Y, chances, rate):
    counts = {"error": ~np.isnan(Y), "false_positive": Y == 0, "false_negative": Y == 1}[rate]
    wrong = np.abs(chances - np.nan_to_num(Y)) * counts
    return wrong.sum(axis=1) / counts.sum(axis=1)


def by_coin_flips(X, Y, rate, alpha, beta):
    """Return the error of mixing coin flips into least squares, trying every window."""
    decisions = by_least_squares(X, Y)
    rates = np.sort(rates_of(Y, decisions, rate))
    inside = int(np.ceil((1.0 - beta) * len(rates) - 1e-9))
    width = min(rates[i + inside - 1] - rates[i] for i in range(len(rates) - inside + 1))
    kept = min(1.0, 2.0 * alpha / width)
    error = rates_of(Y, decisions, "error").mean()
    return error, kept * error + (1.0 - kept) / 2.0


def quietly(X, Y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        known = {"oracle": RegressionOracle(), "decisions": "drawn", "random_state": 0}
        known["look_first"] = False
        return AverageFairClassifier(**(known | options)).fit(X, Y)


REQUESTS = [(0.05, 0.0), (0.05, 0.1), (0.02, 0.3)]
# Each rate is tried with one request without blanks, and with another with blanks.
EARLY = [
    pytest.param(
        *(blanks, alpha, beta, rate),
        marks=() if (row + column + row_blanks) % 3 == 0 else pytest.mark.long,
        id=f"{blanks}-{alpha}-{beta}-{rate}",
    )
    for row_blanks, blanks in enumerate((0.0, 0.3))
    for row, (alpha, beta) in enumerate(REQUESTS)
    for column, rate in enumerate(RATES)
]


@pytest.mark.parametrize(("blanks", "alpha", "beta", "rate"), EARLY)
def test_no_round_is_too_early_to_beat_coin_flips(blanks, alpha, beta, rate):
    X, Y = population(n=150, m=20, blanks=blanks)
    unconstrained, coin_flips = by_coin_flips(X, Y, rate, alpha, beta)
    for limit in (1, 4, 16):
        solver = ColumnGeneration(max_rounds=limit, mapping_rounds=0)
        model = quietly(X, Y, rate=rate, alpha=alpha, beta=beta, solver=solver)
        known = model.certificate_
        assert known.stop_reason is StopReason.ROUNDS
        assert known.met
        assert known.error <= coin_flips + 1e-6
        assert known.unconstrained_error == pytest.approx(unconstrained, abs=1e-9)
        assert known.coin_flip_error == pytest.approx(coin_flips, abs=1e-9)


def test_a_few_rounds_use_the_share_that_may_stay_outside():
    X, Y = population(n=1000)
    errors = {}
    for beta in (0.0, 0.1):
        solver = ColumnGeneration(max_rounds=10, mapping_rounds=0)
        known = quietly(X, Y, alpha=0.05, beta=beta, solver=solver).certificate_
        errors[beta] = known.error
    assert known.outside > 0.05
    # With coin flips alone, the share gains far less.
    assert errors[0.1] < errors[0.0] - 0.03


@pytest.mark.parametrize("beta", [0.0, 0.2])
@pytest.mark.parametrize("time_limit", [1e-9, 1e-3])
def test_no_time_is_too_short_to_beat_coin_flips(time_limit, beta):
    X, Y = population()
    known = quietly(
        X, Y, alpha=0.03, beta=beta, solver=ColumnGeneration(time_limit=time_limit)
    ).certificate_
    assert known.stop_reason is StopReason.TIME
    assert known.met
    assert known.error <= by_coin_flips(X, Y, "error", 0.03, beta)[1] + 1e-6


@pytest.mark.parametrize("beta", [0.0, 0.2])
@pytest.mark.parametrize(
    "solves", [0, 1, 5, *(pytest.param(solves, marks=pytest.mark.long) for solves in (2, 9))]
)
def test_nor_where_the_linear_program_is_never_solved_again(monkeypatch, solves, beta):
    X, Y = population(n=60, m=12)
    honest, left = Master.solve, [solves]

    def solve(self, *args, **named):
        left[0] -= 1
        if left[0] < 0:
            raise SolverTimeoutError("the time limit was reached inside a linear program.")
        return honest(self, *args, **named)

    monkeypatch.setattr(Master, "solve", solve)
    known = quietly(X, Y, alpha=0.03, beta=beta, solver=ColumnGeneration(time_limit=1e9))
    known = known.certificate_
    assert known.met
    assert known.error <= by_coin_flips(X, Y, "error", 0.03, beta)[1] + 1e-6


@pytest.mark.parametrize("oracle", [RegressionOracle(), StumpOracle()], ids=repr)
def test_a_curve_that_is_cut_short_beats_coin_flips_at_every_point(oracle):
    X, Y = population(n=150)
    alphas = [0.02, 0.05, 0.1, 0.2]
    with pytest.warns(ConvergenceWarning, match=NOT_CONVERGED):
        curve = frontier(
            X,
            Y,
            alphas,
            beta=0.1,
            oracle=oracle,
            solver=ColumnGeneration(time_limit=1e-9),
            decisions="drawn",
        )
    for point in curve:
        assert point.certificate.met
        assert point.certificate.error <= point.certificate.coin_flip_error + 1e-6


LIMITS = {
    "rounds": ColumnGeneration(max_rounds=2),
    "time": ColumnGeneration(time_limit=1e-9),
    "rounds of exponentiated gradient": ExponentiatedGradient(max_rounds=3),
    "time of exponentiated gradient": ExponentiatedGradient(time_limit=1e-9),
}


@pytest.mark.parametrize("name", LIMITS)
def test_every_limit_that_ends_a_fit_is_told(name):
    X, Y = population(n=60, m=12)
    model = AverageFairClassifier(
        alpha=0.05, solver=LIMITS[name], oracle=RegressionOracle(), random_state=0
    )
    with pytest.warns(ConvergenceWarning) as told:
        model.fit(X, Y)
    text = next(str(one.message) for one in told if NOT_CONVERGED in str(one.message))
    known = model.certificate_
    figures = (known.error, known.unconstrained_error, known.coin_flip_error)
    assert all(f"{figure:.4f}" in text for figure in figures)
    assert "Raise max_rounds or time_limit" in text


QUIET = {
    "converged": {"alpha": 0.15, "oracle": RegressionOracle()},
    "nothing binds": {"alpha": 0.5, "oracle": RegressionOracle()},
    "a plan of rounds": {
        "alpha": 0.5,
        "oracle": RegressionOracle(),
        "solver": ExponentiatedGradient(max_rounds=5, tol=None),
    },
}


@pytest.mark.parametrize("name", QUIET)
def test_a_fit_that_no_limit_ended_is_quiet(name):
    X, Y = population(n=60, m=12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AverageFairClassifier(random_state=0, **QUIET[name]).fit(X, Y)
    assert not model.certificate_.stop_reason.limit


def test_exceptions_at_a_price_have_no_coin_flips_to_compare_with():
    X, Y = population(n=60, m=12)
    few = ColumnGeneration(max_rounds=10, mapping_rounds=2)
    known = quietly(X, Y, alpha=0.05, max_influence=3.0, solver=few).certificate_
    assert np.isnan(known.coin_flip_error)
    assert known.to_dict()["coin_flip_error"] is None
    assert known.unconstrained_error < 0.5
    assert "coin flips" not in str(known)
