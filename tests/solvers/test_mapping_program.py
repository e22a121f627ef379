"""The mapping's program against all mixtures of whole plays, written out and solved by SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from averagefair import Cap, ColumnGeneration, Equal, InputError, RegressionOracle, WorstOff
from averagefair.solvers.column_generation.central import CentralMaster
from tests.support.judges import optimum, plain_error, rates_of
from tests.support.promise_programs import FullProgram
from tests.support.tiny_fits import ORACLES, RATES, fit, labelled

TOL, INFLUENCE = 1e-6, 4.0
# The central master has the last word on the mapping, and leaves out chances below 1e-4.
NEAR = 2e-4
ORACLE, DECIDE = ORACLES["with constants"]
SOME = settings(deadline=None, max_examples=12, derandomize=True)


class Priced(FullProgram):
    """All mixtures of whole plays, where limits may be left at a price."""

    def capped(self, cap, price):
        """Return the least error + price x everybody's excess over the cap."""
        lines = len(self.lines)
        part = (self.rates, -np.eye(lines), np.full(lines, cap))
        costs = np.append(self.error, np.full(lines, price))
        return self.minimise(costs, [part], [(0, None)] * lines)

    def worst_off(self, share, top, price):
        """Return the least error + price x the excess of the worst-off's mean over ``top``."""
        width = len(self.kinds) + len(self.lines)
        (rows, above, tops), means, bounds = self._worst_off(share, width)
        none = np.zeros((len(rows), 1))
        bound = np.hstack([means, np.full((len(means), 1), -1.0)])
        parts = [(rows, np.hstack([above, none]), tops)]
        parts.append((np.zeros((len(means), self.chances)), bound, np.full(len(means), top)))
        costs = np.concatenate([self.error, np.zeros(width), [price]])
        return self.minimise(costs, parts, [*bounds, (0, None)])


def problem(seed):
    """Draw features and labels; some of the labels are blank."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(3, 9), rng.integers(2, 4)
    X = rng.standard_normal((n, 2)).round(1)
    Y = (rng.random((n, m)) < rng.uniform(0.2, 0.8)).astype(float)
    Y[rng.random(Y.shape) < rng.choice([0.0, 0.2])] = np.nan
    Y[0, :2] = 0, 1
    return X, Y


def of_mapping(X, Y, promise, rate):
    """Return the error and the rates of the mapping on the tasks learned from."""
    solver = ColumnGeneration(tol=TOL, mapping_influence=INFLUENCE)
    model = fit(X, Y, promise=promise, rate=rate, oracle=ORACLE, solver=solver)
    later = model.extend(Y)
    rates = rates_of(later, X, Y, rate)
    return plain_error(Y, later.decision_probability(X)), [own[~np.isnan(own)] for own in rates]


def cost_of_leaving(rates, alpha, price):
    """Return the price of all distances from the best window of width 2 alpha around gamma."""
    gammas = np.clip(np.concatenate([rates - alpha, rates + alpha, [0.0, 1.0]]), 0.0, 1.0)
    off = np.abs(rates[:, np.newaxis] - gammas) - alpha
    return price * np.maximum(off, 0.0).sum(axis=0).min()


@SOME
@given(st.integers(0, 2**31), st.sampled_from(RATES), st.sampled_from([0.01, 0.05, 0.2]))
def test_equal_rates_have_a_price(seed, rate, alpha):
    X, Y = problem(seed)
    error, rates = of_mapping(X, Y, Equal(alpha=alpha), rate)
    prices = np.full(len(Y), INFLUENCE / len(Y))
    best = optimum(Y, DECIDE(X), rate, alpha, constants=True, whole_plays=True, prices=prices)
    paid = sum(cost_of_leaving(own, alpha, prices[0]) for own in rates if own.size)
    assert error + paid == pytest.approx(best, abs=NEAR)


@SOME
@given(st.integers(0, 2**31), st.sampled_from(RATES), st.sampled_from([0.55, 0.7]))
def test_a_cap_has_a_price(seed, rate, cap):
    X, Y = problem(seed)
    try:
        error, rates = of_mapping(X, Y, Cap(max_rate=cap), rate)
    except InputError:
        return  # the learned tasks cannot keep the cap
    price = INFLUENCE / len(Y)
    paid = price * sum(np.maximum(own - cap, 0.0).sum() for own in rates)
    best = Priced(Y, DECIDE(X), rate, whole_plays=True).capped(cap, price)
    assert error + paid == pytest.approx(best, abs=NEAR)


@SOME
@given(st.integers(0, 2**31), st.sampled_from([0.45, 0.6]))
def test_the_worst_off_have_a_price(seed, top):
    X, Y = problem(seed)
    share = 0.4
    try:
        error, [rates] = of_mapping(X, Y, WorstOff(share, max_rate=top), "error")
    except InputError:
        return
    order, left, mean = -np.sort(-rates), share * len(rates), 0.0
    for rate in order:
        mean, left = mean + min(1.0, left) * rate / (share * len(rates)), left - min(1.0, left)
    price = INFLUENCE * share
    best = Priced(Y, DECIDE(X), whole_plays=True).worst_off(share, top, price)
    assert error + price * max(0.0, mean - top) == pytest.approx(best, abs=NEAR)


def test_without_a_price_the_limits_hold():
    X, Y = problem(3)
    solver = ColumnGeneration(tol=TOL, mapping_influence=None)
    later = fit(X, Y, alpha=0.05, oracle=ORACLE, solver=solver).extend(Y)
    best = optimum(Y, DECIDE(X), "error", 0.05, constants=True, whole_plays=True)
    assert plain_error(Y, later.decision_probability(X)) == pytest.approx(best, abs=2e-6)
    assert np.ptp(rates_of(later, X, Y, "error")[0]) <= 0.1 + 1e-6


def test_an_interrupt_in_the_last_solve_keeps_the_mapping(monkeypatch):
    X, Y = labelled(n=24, m=6)
    honest, interrupted = CentralMaster.solve, []

    def solve(self, program, tolerance, *more):
        if self.pool.blocks == 1 and tolerance < 1e-5:
            interrupted.append(tolerance)
            raise KeyboardInterrupt
        return honest(self, program, tolerance, *more)

    monkeypatch.setattr(CentralMaster, "solve", solve)
    model = fit(X, Y, alpha=0.05, oracle=RegressionOracle(), solver=ColumnGeneration())
    assert interrupted
    assert model.mapping_.mixture.sum() + sum(model.mapping_.constants) == pytest.approx(1.0)
    # The mapping that was found is kept, and not the mean chances of the learned tasks.
    marginal = ColumnGeneration(mapping_rounds=0)
    other = fit(X, Y, alpha=0.05, oracle=RegressionOracle(), solver=marginal)
    assert len(model.mapping_.mixture) != len(other.mapping_.mixture)


def test_the_judges_on_a_case_solved_by_hand():
    # Two people, one task, labels 0 and 1. "Always 0" and "always 1" are the class.
    Y, nothing = np.array([[0.0], [1.0]]), np.zeros((0, 2), dtype=bool)
    program = Priced(Y, nothing, whole_plays=True)
    # Either constant errs on one person; coin flips err half the time on both.
    assert program.capped(0.5, 4.0) == pytest.approx(0.5)
    assert program.capped(0.25, 1.0) == pytest.approx(0.5 + 1.0 * 0.5)
    assert program.worst_off(0.5, 0.3, 2.0) == pytest.approx(0.5 + 2.0 * 0.2)
    assert cost_of_leaving(np.array([0.1, 0.5]), 0.1, 3.0) == pytest.approx(3.0 * 0.2)
