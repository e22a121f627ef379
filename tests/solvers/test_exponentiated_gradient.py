"""The two players and the game between them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from averagefair import (
    AverageFairClassifier,
    Equal,
    ErrorRate,
    ExponentiatedGradient,
    FalsePositiveRate,
    InputError,
    Learner,
    RegressionOracle,
    Sample,
    StopReason,
    StumpOracle,
)
from averagefair.game.auditor import TwoSidedAuditor
from averagefair.game.limits import PersonLimit, Program
from averagefair.game.protocols import Hypothesis, Oracle
from averagefair.game.rates import RATES
from tests.support.judges import optimum, plain_error, plain_rates, stump_decisions


def table(seed, n=30, m=12, d=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = (X @ rng.standard_normal((d, m)) + rng.standard_normal((n, m)) > 0).astype(float)
    Y[:, 0], Y[:, 1] = 0.0, 1.0  # so that every rate of everybody is defined ...
    Y[0, 0], Y[0, 1] = 1.0, 0.0  # ... and no task has a single label
    return X, Y


class TestAuditor:
    @settings(deadline=None)
    @given(st.integers(1, 20), st.floats(0.1, 100), st.integers(0, 2**31))
    def test_multipliers_are_the_softmax_with_one_idle_coordinate(self, n, bound, seed):
        theta = np.random.default_rng(seed).normal(0, 5, (2, n))
        auditor = TwoSidedAuditor(np.ones(n), slack=0.1, dual_bound=bound)
        auditor.theta = theta
        naive = bound * np.exp(theta) / (1 + np.exp(theta).sum())
        np.testing.assert_allclose(auditor.multipliers(), naive, rtol=1e-12)

    @pytest.mark.parametrize("size", [1e4, -1e4, 1e300])
    def test_theta_may_grow_without_end(self, size):
        auditor = TwoSidedAuditor(np.ones(3), slack=0.1, dual_bound=50.0)
        auditor.theta[0, 1] = size
        multipliers = auditor.multipliers()
        assert np.isfinite(multipliers).all()
        assert (multipliers >= 0).all()
        assert multipliers.sum() <= 50.0 * (1 + 1e-12)
        assert multipliers[0, 1] == pytest.approx(50.0 if size > 0 else 0.0)

    def test_update_follows_the_violations(self):
        auditor = TwoSidedAuditor(np.ones(3), slack=0.1, dual_bound=1.0)
        auditor.update(np.array([0.5, 0.0, np.nan]), common_rate=0.25, step=2.0)
        np.testing.assert_allclose(
            auditor.theta, [[2 * 0.15, 2 * -0.35, 0.0], [2 * -0.35, 2 * 0.15, 0.0]]
        )

    def test_weight_two_is_priced_as_two_people_together(self):
        counts = np.ones(3), np.array([1.0, 2.0])
        twice, one = (TwoSidedAuditor(own, slack=0.1, dual_bound=5.0) for own in counts)
        for _ in range(4):
            twice.update(np.array([0.3, 0.6, 0.6]), 0.5, 3.0)
            one.update(np.array([0.3, 0.6]), 0.5, 3.0)
        expected = twice.multipliers()
        together = np.column_stack([expected[:, 0], expected[:, 1] + expected[:, 2]])
        np.testing.assert_allclose(one.multipliers(), together, rtol=1e-12)


def play_value(labels, decisions, kind, weights, gamma):
    """err + sum_i w_i (R_i - gamma), from the labels."""
    rates = plain_rates(labels, decisions, kind)
    return plain_error(labels, decisions) + float(weights @ (rates - gamma))


class TestLearner:
    @settings(deadline=None, max_examples=25)
    @given(st.integers(0, 2**31), st.sampled_from(sorted(RATES)), st.floats(0.1, 20))
    def test_an_exact_oracle_gives_a_best_response(self, seed, kind, size):
        """Brute force: no choice of classifiers and gamma has a lower Lagrangian."""
        rng = np.random.default_rng(seed)
        X, Y = table(seed, n=5, m=2, d=1)
        weights = rng.normal(0, size, len(X))
        learner = Learner(Sample(X, Y), RATES[kind](), StumpOracle())
        play = learner.respond(learner_weights(learner, weights))
        weights = learner.scatter(learner_weights(learner, weights))
        rates = np.zeros(len(X))
        rates[learner.constraints.people] = play.rates
        ours = play.error + weights @ rates - play.common_rates[0] * weights.sum()
        possible = stump_decisions(X)
        best = np.inf
        for chosen in itertools.product(possible, repeat=Y.shape[1]):
            decisions = np.array(chosen).T.astype(float)
            all_rates = np.nan_to_num(plain_rates(Y, decisions, kind))
            value = plain_error(Y, decisions) + weights @ all_rates
            best = min(best, value, value - weights.sum())
        assert ours == pytest.approx(best, abs=1e-9)

    @pytest.mark.parametrize("kind", sorted(RATES))
    def test_plays_report_the_error_and_rates_of_their_hypothesis(self, kind):
        X, Y = table(0)
        learner = Learner(Sample(X, Y), RATES[kind](), RegressionOracle())
        play = learner.respond(np.linspace(-0.2, 0.3, len(X)))
        decisions = play.hypothesis.decide(X).astype(float)
        np.testing.assert_allclose(play.rates, plain_rates(Y, decisions, kind), atol=1e-12)
        assert play.error == pytest.approx(plain_error(Y, decisions), abs=1e-12)
        assert play.common_rates == 1.0
        assert learner.respond(np.full(len(X), -0.1)).common_rates == 0.0
        assert learner.calls == 2 * Y.shape[1]

    @pytest.mark.parametrize("size", [1.0, 1e-15, 1e-300])
    def test_the_common_rate_is_one_where_weights_add_up_to_more_than_zero(self, size):
        """The paper's 1[sum w > 0]: strict, without a tolerance."""
        X, Y = table(0)
        learner = Learner(Sample(X, Y), RATES["error"](), RegressionOracle())
        weights = np.zeros(len(X))
        assert learner.respond(weights).common_rates == 0.0
        weights[:3] = size, -0.5 * size, -0.5 * size
        assert learner.respond(weights).common_rates == 0.0
        weights[0] *= 1.0 + 1e-15
        assert learner.respond(weights).common_rates == 1.0

    @pytest.mark.parametrize(
        ("decide", "words"),
        [
            (lambda x: x[:, :1] @ np.ones((1, 12)), "bool array of shape"),
            (lambda x: np.zeros((len(x), 3), dtype=bool), "shape \\(1, 3\\)"),
        ],
    )
    def test_an_oracle_that_does_not_decide_is_refused(self, decide, words):
        class Answer(Hypothesis):
            def decide(self, features):
                return decide(features)

            def key(self):
                return 0

        class Home(Oracle):
            exact = False

            def bind(self, sample):
                return lambda costs: Answer()

        with pytest.raises(InputError, match=words):
            AverageFairClassifier(oracle=Home()).fit(*table(0))

    def test_an_answer_that_is_no_hypothesis_is_refused(self):
        class Home(Oracle):
            exact = False

            def bind(self, sample):
                return lambda costs: 3

        with pytest.raises(InputError, match=r"methods decide and key; got 3"):
            AverageFairClassifier(oracle=Home()).fit(*table(0))

    def test_sets_no_tasks_aside(self):
        with pytest.raises(InputError, match="sets no tasks aside"):
            Learner(Sample(*table(0)), FalsePositiveRate(holdout_tasks=2), StumpOracle())

    @settings(deadline=None, max_examples=20)
    @given(st.integers(0, 2**31), st.sampled_from(sorted(RATES)), st.floats(0.0, 0.4))
    def test_dual_values_never_exceed_the_optimum(self, seed, kind, slack):
        X, Y = table(seed, n=6, m=3, d=2)
        learner = Learner(Sample(X, Y), RATES[kind](), StumpOracle())
        weights = np.random.default_rng(seed).normal(0, 1, len(learner.constraints))
        best = optimum(Y, stump_decisions(X), kind, slack)
        limit = PersonLimit(learner.constraints, slack, -slack, common=True)
        program = Program(learner.constraints, (limit,))
        assert learner.dual_value(program, weights[np.newaxis]) <= best + 1e-9


def learner_weights(learner, weights):
    return weights[learner.constraints.people]


def naive_aif_learn(X, Y, kind, alpha, max_rounds):
    """The published setting as a plain loop: one pair of regressions per task and round."""
    n, m = Y.shape
    counts = {"error": Y >= 0, "false_positive": Y == 0, "false_negative": Y == 1}[kind]
    rho = counts.mean(axis=1)
    bound, step = 1 / alpha, 100 * alpha
    theta, plays, multipliers, rounds = np.zeros((2, n)), [], [], []
    best_gap, last_check, last_gap = np.inf, 5, np.inf
    for t in range(max_rounds):
        lam = bound * np.exp(theta) / (1 + np.exp(theta).sum())
        w = lam[0] - lam[1]
        price = {y: 1 / n + np.where(counts, (w / rho)[:, None], 0) * (Y == y) for y in (0, 1)}
        decisions = np.empty((n, m))
        for j in range(m):
            cost_1 = np.where(Y[:, j] == 0, price[0][:, j], 0)
            cost_0 = np.where(Y[:, j] == 1, price[1][:, j], 0)
            first, second = (LinearRegression().fit(X, c).predict(X) for c in (cost_1, cost_0))
            decisions[:, j] = first < second
        rates = ((decisions != Y) & counts).mean(axis=1) / rho
        play = ((decisions != Y).mean(), rates, float(w.sum() > 0))
        value = [e + w @ r - g * w.sum() for e, r, g in [*plays, play]]
        if len(plays) and not value[-1] < min(value[:-1]) - 1e-12:
            play = plays[int(np.argmin(value[:-1]))]
        plays.append(play)
        multipliers.append(lam)
        error, rate, gamma = (np.mean([p[k] for p in plays], axis=0) for k in range(3))
        violation = np.array([rate - gamma - alpha, gamma - rate - alpha])
        level = error + (np.mean(multipliers, axis=0) * violation).sum()
        gap = max(0.0, error + bound * max(0.0, violation.max()) - level)
        rounds.append((error, np.ptp(rate), gap))
        best_gap = min(best_gap, gap)
        if t >= 1 and gap < 1e-3:
            break
        if t >= 1.6 * last_check:
            step *= 0.8 if best_gap > 0.8 * last_gap else 1.0
            last_check, last_gap = t, best_gap
        theta = theta + step * np.array([play[1] - play[2] - alpha, play[2] - play[1] - alpha])
    return error, rate, gamma, rounds


class TestPublishedPractice:
    @pytest.mark.parametrize(
        ("kind", "alpha"),
        [
            ("error", 0.05),
            ("false_negative", 0.2),
            ("false_positive", 0.05),
            *(
                pytest.param(kind, alpha, marks=pytest.mark.long)
                for kind, alpha in (
                    ("error", 0.2),
                    ("false_negative", 0.05),
                    ("false_positive", 0.2),
                )
            ),
        ],
    )
    def test_equals_the_algorithm_written_down_plainly(self, kind, alpha):
        X, Y = table(7)
        error, rates, gamma, rounds = naive_aif_learn(X, Y, kind, alpha, max_rounds=40)
        learner = Learner(Sample(X, Y), RATES[kind](), RegressionOracle())
        solution = ExponentiatedGradient.published(max_rounds=40).solve(learner, Equal(alpha))
        history = solution.history
        assert len(history) == len(rounds)
        ours = np.column_stack([history["error"], history["spread"], history["gap"]])
        np.testing.assert_allclose(ours, rounds, atol=1e-9)
        assert solution.common_rates == pytest.approx(gamma, abs=1e-12)
        assert history["error"][-1] == pytest.approx(error, abs=1e-12)
        mixed = sum(
            share * plain_rates(Y, h.decide(X).astype(float), kind)
            for share, h in zip(solution.mixture, solution.hypotheses, strict=True)
        )
        np.testing.assert_allclose(mixed, rates, atol=1e-9)

    def test_replay_leaves_fewer_plays_than_rounds_and_the_mixture_counts_them(self):
        X, Y = table(7)
        learner = Learner(Sample(X, Y), ErrorRate(), RegressionOracle())
        solution = ExponentiatedGradient(max_rounds=200, tol=None).solve(learner, Equal(0.1))
        assert len(solution.mixture) < 200
        assert solution.mixture.sum() == pytest.approx(1.0)
        times = solution.mixture * 200
        np.testing.assert_allclose(times, np.round(times), atol=1e-9)


class TestBatches:
    @staticmethod
    def spied(X, Y):
        seen = []
        learner = Learner(Sample(X, Y), ErrorRate(), RegressionOracle())
        respond = learner.respond
        learner.respond = lambda weights, tasks=None: (seen.append(tasks), respond(weights, tasks))[
            1
        ]
        return learner, seen

    def test_a_partition_shows_every_task_once(self):
        learner, seen = self.spied(*table(3))
        solver = ExponentiatedGradient(max_rounds=4, batch_size=3, replay=False, tol=None)
        solver.solve(learner, Equal(0.2))
        assert [len(batch) for batch in seen] == [3, 3, 3, 3]
        assert sorted(np.concatenate(seen)) == list(range(12))
        assert learner.calls == 12

    def test_partitions_are_drawn_at_random_but_repeatable(self):
        def order(seed):
            learner, seen = self.spied(*table(3))
            solver = ExponentiatedGradient(max_rounds=4, batch_size=3, replay=False)
            solver.solve(learner, Equal(0.2), rng=np.random.default_rng(seed))
            return np.concatenate(seen).tolist()

        assert order(1) == order(1)
        assert order(1) != order(2)

    def test_too_few_tasks_for_a_partition_is_explained(self):
        learner, _ = self.spied(*table(3))
        solver = ExponentiatedGradient(max_rounds=5, batch_size=3, replay=False)
        with pytest.raises(InputError, match=r"15 tasks, but there are 12.*resample"):
            solver.solve(learner, Equal(0.2))

    def test_resampling_draws_as_long_as_asked(self):
        learner, seen = self.spied(*table(3))
        solver = ExponentiatedGradient(
            max_rounds=30, batch_size=5, replay=False, resample=True, tol=None
        )
        solver.solve(learner, Equal(0.2))
        assert len(seen) == 30
        assert all(len(set(batch)) == 5 for batch in seen)

    def test_batches_of_all_tasks_are_the_algorithm_without_batches(self):
        X, Y = table(3)
        whole = ExponentiatedGradient(max_rounds=20, replay=False, tol=None)
        batched = ExponentiatedGradient(
            max_rounds=20, replay=False, tol=None, batch_size=12, resample=True
        )
        ours, theirs = (
            AverageFairClassifier(alpha=0.2, solver=solver, random_state=0).fit(X, Y)
            for solver in (whole, batched)
        )
        assert theirs.error_ == pytest.approx(ours.error_, abs=1e-12)
        np.testing.assert_allclose(theirs.individual_rates_, ours.individual_rates_, atol=1e-12)

    @pytest.mark.parametrize("kind", sorted(RATES))
    def test_somebody_whom_a_batch_says_nothing_about_is_left_alone(self, kind):
        X, Y = table(3)
        Y[4] = np.nan
        Y[4, :2] = 0, 1
        solver = ExponentiatedGradient(max_rounds=6, batch_size=2, replay=False, tol=None)
        model = AverageFairClassifier(alpha=0.5, rate=kind, solver=solver, random_state=0)
        model.fit(X, Y)
        assert np.isfinite(model.individual_rates_).all()
        assert np.isfinite(model.history_["gap"]).all()
        np.testing.assert_allclose(
            model.individual_rates_, plain_rates(Y, model.decision_probability(X), kind), atol=1e-9
        )


class TestTheory:
    def test_reports_what_the_theory_asks_for(self):
        solver = ExponentiatedGradient.from_theory(0.1, 0.2, n=50, delta=0.1)
        bound = 1.4 / 0.1
        assert solver.default_alpha == pytest.approx(0.2)
        assert solver.dual_bound == pytest.approx(bound)
        assert solver.step == pytest.approx(0.2 / (4 * 1.2**2 * bound))
        rounds = int(np.ceil(16 * bound**2 * 1.2**2 * np.log(101) / 0.04))
        assert solver.max_rounds == rounds
        per_round = int(np.ceil(2 * bound**2 * np.log(2 * 50 * rounds / 0.1) / 0.04))
        assert solver.plan.tasks_per_round == per_round
        assert solver.plan.tasks_needed == per_round * rounds

    def test_a_plan_for_fewer_people_is_refused(self):
        X, Y = table(0)
        solver = ExponentiatedGradient.from_theory(0.25, 0.9, n=len(X) - 1, tol=0.9)
        with pytest.raises(InputError, match=r"given n=29, but .* need n=30"):
            AverageFairClassifier(oracle=StumpOracle(), solver=solver).fit(X, Y)

    @pytest.mark.parametrize(
        ("weights", "needed"),
        [
            # log(2n + 1) stands for the logarithm of the Auditor's smallest starting share.
            (np.full(30, 2.0), 60),
            (np.append(np.ones(29), 0.5), 60),
        ],
    )
    def test_a_plan_must_cover_the_weights(self, weights, needed):
        X, Y = table(0)

        def fit(n):
            solver = ExponentiatedGradient.from_theory(0.25, 0.9, n=n, tol=0.9)
            model = AverageFairClassifier(oracle=StumpOracle(), solver=solver)
            return model.fit(X, Y, sample_weight=weights)

        share = weights.min() / (1 + 2 * weights.sum())
        inverse = max(1 / share, 1 + 2 * weights.sum())
        assert needed == int(np.ceil((inverse - 1) / 2))
        with pytest.raises(InputError, match=f"need n={needed}"):
            fit(needed - 1)
        assert fit(needed).certificate_.met

    def test_fresh_batches_need_as_many_tasks_as_the_theory_says(self):
        X, Y = table(0)
        solver = ExponentiatedGradient.from_theory(0.25, 0.9, n=len(X), batch_size=1)
        with pytest.raises(InputError, match="a partition uses every task once"):
            AverageFairClassifier(solver=solver).fit(X, Y)


class TestRules:
    @pytest.mark.parametrize(
        ("parameters", "words"),
        [
            ({"max_rounds": 0}, "max_rounds"),
            ({"max_rounds": 1.5}, "max_rounds"),
            ({"batch_size": 0, "replay": False}, "batch_size"),
            ({"dual_bound": -1.0}, "dual_bound"),
            ({"dual_bound": float("inf")}, "dual_bound"),
            ({"step": float("nan")}, "step"),
            ({"tol": 0.0}, "tol"),
            ({"batch_size": 2}, "replay"),
            ({"resample": True}, "batch_size"),
        ],
    )
    def test_bad_parameters_are_refused(self, parameters, words):
        with pytest.raises(InputError, match=words):
            ExponentiatedGradient(**parameters)

    def test_a_generous_alpha_is_reached_at_once(self):
        X, Y = table(1)
        learner = Learner(Sample(X, Y), ErrorRate(), StumpOracle())
        solution = ExponentiatedGradient(tol=0.2).solve(learner, Equal(0.5))
        assert solution.stop_reason is StopReason.TOLERANCE
        assert len(solution.history) < 1000

    def test_the_gap_of_an_exact_oracle_bounds_the_distance_to_the_optimum(self):
        X, Y = table(2, n=8, m=4, d=2)
        learner = Learner(Sample(X, Y), ErrorRate(), StumpOracle())
        solution = ExponentiatedGradient(max_rounds=300, tol=None).solve(learner, Equal(0.15))
        best = optimum(Y, stump_decisions(X), "error", 0.15)
        history = solution.history
        assert (history["error"] <= best + history["gap"] + 1e-9).all()
        assert history["gap"][-1] < history["gap"][0]
