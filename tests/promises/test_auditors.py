"""Exponentiated gradient on every promise, and its Auditors against brute force."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, linprog, minimize
from sklearn.exceptions import ConvergenceWarning

from averagefair import ExponentiatedGradient, InputError
from averagefair.game.auditor import (
    OneSidedAuditor,
    TwoSidedAuditor,
    WorstOffAuditor,
    capped_softmax,
)
from tests.support.promise_programs import penalised
from tests.support.promise_table import (
    NEAR,
    ROWS,
    draw_against,
    draw_case,
    figures,
    harm_caps,
    objective,
)

PLAYABLE = [name for name, row in ROWS.items() if row.path]


def play(name, harmless, seed, rounds):
    """Draw a problem whose promise can be kept, and play the game; None if it cannot."""
    row = ROWS[name]
    rng = np.random.default_rng([seed, [*ROWS].index(name), int(harmless), 7])
    case = draw_case(rng, most=4, constants=True)
    against = draw_against(rng, case) if harmless else None
    promise = row.draw(rng, case.program, None)
    if harmless:
        promise = replace(promise, no_harm=float(rng.choice([0.02, 0.1, 0.3])))
    harm = harm_caps(case, promise, against)
    verdict = row.judge(case.program, promise, harm, against is not None)
    if verdict.excess > 1e-9:
        return None
    solver = ExponentiatedGradient(max_rounds=rounds, tol=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # averages may miss by a little
        return row, case, promise, harm, verdict, case.fit(promise, against, solver=solver)


def assert_near_the_optimum(row, case, promise, harm, verdict, model):
    known, value, bound = model.certificate_, objective(promise, case, model), promise.dual_bound
    assert known.lower <= verdict.optimum + 1e-7
    # The upper bound needs multipliers of at most B. If the optimum has larger ones, the bound is
    # one on the penalised problem.
    relaxed = penalised(case.program, promise, harm, bound)
    assert known.upper >= relaxed - 1e-7
    if relaxed >= verdict.optimum - 1e-9:
        assert known.upper >= verdict.optimum - 1e-7
    assert value <= verdict.optimum + known.gap + 1e-7
    # The argument of the paper's theorem: what is broken times B is at most 1 (the largest gain of
    # error and price), plus the gap.
    room = (1 + (getattr(promise, "price", None) or 0.0) + known.gap) / bound
    rates, lines = figures(case, model)
    if not promise.less_is_easier:
        assert row.figure(promise, lines) <= promise.value + room + 1e-7
    if harm is not None:
        assert (rates - harm).max(initial=0.0) <= room + 1e-7


@pytest.mark.parametrize("harmless", [False, True], ids=["alone", "no harm"])
@pytest.mark.parametrize("name", PLAYABLE)
def test_the_game_comes_near_the_optimum(name, harmless):
    gaps = []
    for seed in range(3):
        played = play(name, harmless, seed, rounds=250)
        if played is not None:
            assert_near_the_optimum(*played)
            gaps.append(played[-1].certificate_.gap)
    assert np.median(gaps) < 0.05


@pytest.mark.long
@pytest.mark.parametrize("harmless", [False, True], ids=["alone", "no harm"])
@pytest.mark.parametrize("name", PLAYABLE)
def test_long_games_come_nearer(name, harmless):
    gaps, too_small = [], 0
    for seed in range(100, 130):
        played = play(name, harmless, seed, rounds=1500)
        if played is None:
            continue
        row, case, promise, harm, verdict, model = played
        assert_near_the_optimum(*played)
        gaps.append(model.certificate_.gap)
        relaxed = penalised(case.program, promise, harm, promise.dual_bound)
        too_small += relaxed < verdict.optimum - 1e-6
        if model.certificate_.gap < 0.01:
            assert objective(promise, case, model) <= verdict.optimum + 0.01 + NEAR
            _, lines = figures(case, model)
            reached = row.figure(promise, lines)
            assert promise.less_is_easier or reached <= promise.value + 0.01
    print(f"{name}, no_harm {harmless}: median gap {np.median(gaps):.2g}, largest {max(gaps):.2g}")
    print(f"    {too_small} of {len(gaps)} optima have multipliers above B")
    assert np.median(gaps) < 0.02


def test_minimax_is_refused_by_name():
    case = draw_case(np.random.default_rng(0), constants=True)
    with pytest.raises(InputError, match=r"cannot take Minimax.*ColumnGeneration"):
        case.fit(ROWS["minimax"].example, solver=ExponentiatedGradient())


class TestCappedSoftmax:
    @staticmethod
    def by_minimisation(theta, caps):
        """Return the capped distribution of least KL divergence from softmax(theta), by SciPy."""
        n = len(theta)
        found = minimize(
            lambda r: float(r @ (np.log(np.maximum(r, 1e-300)) - theta)),
            caps / caps.sum(),
            jac=lambda r: np.log(np.maximum(r, 1e-300)) - theta + 1.0,
            bounds=[(1e-12, cap) for cap in caps],
            constraints=LinearConstraint(np.ones((1, n)), 1.0, 1.0),
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        return found.x

    @pytest.mark.parametrize("seed", range(60))
    def test_is_the_projection(self, seed):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 7))
        theta = rng.normal(0, rng.choice([0.5, 2.0]), n)
        caps = rng.uniform(0.1, 1.0, n)
        caps *= rng.uniform(1.0, 3.0) / caps.sum()
        ours = capped_softmax(theta, np.log(caps))
        assert ours.sum() == pytest.approx(1.0, abs=1e-12)
        assert (ours >= 0).all()
        assert (ours <= caps * (1 + 1e-9)).all()
        scipys = self.by_minimisation(theta, caps)

        def value(r):
            return float(r @ (np.log(np.maximum(r, 1e-300)) - theta))

        assert value(ours) <= value(scipys) + 1e-9
        np.testing.assert_allclose(ours, scipys, atol=2e-4)

    @pytest.mark.parametrize("scale", [1e2, 1e4, 1e8])
    def test_of_huge_theta_is_the_greedy_choice(self, scale):
        theta, caps = scale * np.array([3.0, 1.0, 2.0, 0.0]), np.full(4, 0.4)
        ours = capped_softmax(theta, np.log(caps))
        np.testing.assert_allclose(ours, [0.4, 0.2, 0.4, 0.0], atol=1e-9)

    def test_of_caps_that_leave_no_room_is_the_caps(self):
        caps = np.array([0.25, 0.25, 0.5])
        for theta in (np.zeros(3), np.array([1e5, 0.0, -1e5])):
            np.testing.assert_allclose(capped_softmax(theta, np.log(caps)), caps, atol=1e-9)

    def test_of_nobody_is_nothing(self):
        assert capped_softmax(np.zeros(0), np.zeros(0)).shape == (0,)


class TestRegret:
    """After T rounds, what an Auditor got is near what the best fixed multipliers would get."""

    ROUNDS = 400

    def regret(self, auditor, payoffs, best, step):
        got = 0.0
        for rates in payoffs:
            got += float((auditor.multipliers() * self.violations(auditor, rates)).sum())
            auditor.update(rates, 0.5, step)
        return (best - got) / len(payoffs)

    @staticmethod
    def violations(auditor, rates):
        if isinstance(auditor, TwoSidedAuditor):
            return np.stack([sign * (rates - 0.5) - auditor.slack for sign in (1, -1)])
        if isinstance(auditor, OneSidedAuditor):
            return rates - auditor.caps
        return rates - (auditor.max_rate or 0.0)

    @staticmethod
    def sequence(rng, rounds, n):
        """Return rates of T rounds: random ones, or some that change sides."""
        if rng.random() < 0.5:
            return rng.random((rounds, n))
        return np.where((np.arange(rounds) // 40 % 2)[:, None], *rng.random((2, n)))

    @staticmethod
    def most(total, counts, share, price):
        """Return the most that fixed multipliers of the worst-off get, by linear programming."""
        caps = counts / (share * counts.sum())
        done = linprog(
            -total, A_eq=np.ones((1, len(total))), b_eq=[1.0], bounds=[(0, cap) for cap in caps]
        )
        assert done.status == 0
        return -price * done.fun

    @pytest.mark.parametrize("seed", range(12))
    def test_of_the_worst_offs_auditor_with_a_price(self, seed):
        rng = np.random.default_rng(seed)
        n, share, price = int(rng.integers(2, 9)), rng.uniform(0.1, 0.9), rng.uniform(0.1, 3)
        counts = rng.choice([0.5, 1.0, 3.0], n)
        payoffs = self.sequence(rng, self.ROUNDS, n)
        best = self.most(payoffs.sum(axis=0), counts, share, price)
        step = np.sqrt(np.log(n / share) / self.ROUNDS)
        auditor = WorstOffAuditor(counts, share, price=price)
        # Exponentiated gradient: price (D / (eta T) + eta / 2), D the divergence from the start.
        divergence = np.log(1 / share)
        allowed = price * (divergence / (step * self.ROUNDS) + step / 2)
        assert self.regret(auditor, payoffs, best, step) <= allowed + 1e-9

    @pytest.mark.parametrize("seed", range(12))
    def test_of_the_worst_offs_auditor_with_a_limit(self, seed):
        rng = np.random.default_rng(seed)
        n, share, bound = int(rng.integers(2, 9)), rng.uniform(0.1, 0.9), rng.uniform(1, 20)
        counts = rng.choice([0.5, 1.0, 3.0], n)
        payoffs, limit = self.sequence(rng, self.ROUNDS, n), rng.uniform(0.2, 0.8)
        total = (payoffs - limit).sum(axis=0)
        best = max(0.0, self.most(total, counts, share, bound))
        step = np.sqrt(np.log(1 + counts.sum() / share) / self.ROUNDS)
        auditor = WorstOffAuditor(counts, share, max_rate=limit, dual_bound=bound)
        # At the start the idle coordinate has the share 1 / (1 + sum of counts).
        divergence = np.log((1 + counts.sum()) / min(1.0, share * counts.sum()))
        allowed = bound * (divergence / (step * self.ROUNDS) + step / 2)
        assert self.regret(auditor, payoffs, best, step) <= allowed + 1e-9

    @pytest.mark.parametrize("seed", range(6))
    @pytest.mark.parametrize("sides", [1, 2])
    def test_of_the_auditors_of_people(self, seed, sides):
        rng = np.random.default_rng(seed)
        n, bound = int(rng.integers(1, 9)), rng.uniform(1, 20)
        payoffs, slack = self.sequence(rng, self.ROUNDS, n), rng.uniform(0.05, 0.4)
        if sides == 1:
            auditor = OneSidedAuditor(np.ones(n), slack, bound)
        else:
            auditor = TwoSidedAuditor(np.ones(n), slack, bound)
        total = sum(self.violations(auditor, rates) for rates in payoffs)
        best = bound * max(0.0, float(total.max()))
        step = np.sqrt(np.log(sides * n + 1) / self.ROUNDS)
        allowed = bound * (np.log(sides * n + 1) / (step * self.ROUNDS) + step / 2)
        assert self.regret(auditor, payoffs, best, step) <= allowed + 1e-9

    def test_can_fail(self):
        """An Auditor who never learns has more regret than is allowed."""
        payoffs = np.tile([1.0, 0.0, 0.0, 0.0], (self.ROUNDS, 1))
        best = self.most(payoffs.sum(axis=0), np.ones(4), 0.25, 1.0)
        idle = WorstOffAuditor(np.ones(4), 0.25, price=1.0)
        step = np.sqrt(np.log(16) / self.ROUNDS)
        allowed = np.log(4) / (step * self.ROUNDS) + step / 2
        assert self.regret(idle, payoffs, best, 1e-9) > allowed
