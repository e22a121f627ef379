"""Column generation against the full linear program and plain loops, and its failures."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace
from functools import cache

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    Equal,
    ExponentiatedGradient,
    FalsePositiveRate,
    FiniteOracle,
    InputError,
    RegressionOracle,
    StopReason,
    StumpOracle,
    WorstOff,
)
from averagefair.errors import SolverError
from averagefair.game.constraints import Constraints
from averagefair.solvers.column_generation.master import Master
from tests.support.clocks import count_looks, end_linear_programs
from tests.support.judges import (
    optimum,
    plain_error,
    rates_of,
    share_outside,
    spread_of,
    stump_decisions,
)
from tests.support.tiny_fits import (
    BAD_REQUESTS,
    BAD_SETTINGS,
    BOTH,
    EITHER,
    ORACLES,
    RATES,
    Counting,
    Stubborn,
    answers_after_each_round,
    assert_keeps_to_alpha,
    fit,
    instance,
    labelled,
)

ALPHAS = [0.01, 0.03, 0.1, 0.2, 0.5]
SEEDS, NAMES = st.integers(0, 2**31), st.sampled_from(sorted(ORACLES))
SOME_RATE = st.sampled_from(RATES)
SOME = settings(deadline=None, max_examples=40, derandomize=True)


class TestTheOptimum:
    @SOME
    @given(SEEDS, NAMES, SOME_RATE, st.sampled_from(ALPHAS), st.sampled_from([1e-6, 1e-4]))
    def test_lies_in_the_certified_interval(self, seed, name, rate, alpha, tol):
        (oracle, decide), (X, Y, people, tasks) = ORACLES[name], instance(seed)
        model = fit(X, Y, people, tasks, tol, alpha=alpha, rate=rate, oracle=oracle)
        best = optimum(Y, decide(X), rate, alpha, tasks, people, constants=True)
        known, rates = model.certificate_, rates_of(model, X, Y, rate, people, tasks)
        assert known.lower - 1e-6 <= best <= known.upper + 1e-6
        assert known.lower - 1e-6 <= model.error_ <= known.upper + 1e-9
        assert known.gap <= tol
        assert model.error_ <= best + tol + 1e-6
        error = plain_error(Y, model.decision_probability(X), tasks, people)
        assert model.error_ == pytest.approx(error, abs=1e-9)
        assert spread_of(rates) <= 2 * alpha + 1e-6
        assert known.spread == pytest.approx(spread_of(rates), abs=1e-9)
        assert known.met

    @pytest.mark.parametrize(
        ("seed", "rate", "alpha"),
        [(1594, "false_negative", 0.01), (1647, BOTH, 0.1), (2151, BOTH, 0.01)],
    )
    def test_degenerate_rounds_are_no_end(self, seed, rate, alpha):
        """Columns enter and the duals move while the value stays: this is not yet the optimum."""
        rng = np.random.default_rng(seed)
        n, m = (10, 4) if seed < 2000 else (20, 5)
        X, Y = rng.normal(size=(n, 2)).round(1), (rng.random((n, m)) < 0.5).astype(float)
        if seed % 2:
            Y[rng.random(Y.shape) < 0.2] = np.nan
            Y[0, 0] = 0
        model = fit(X, Y, tol=1e-4, alpha=alpha, rate=rate, oracle=StumpOracle())
        best = optimum(Y, stump_decisions(X), rate, alpha)
        assert best - 1e-6 <= model.error_ <= best + 1e-4 + 1e-6
        assert model.certificate_.gap <= 1e-4

    @pytest.mark.parametrize("smoothing", [0.0, 0.5, 0.97])
    def test_is_found_with_any_smoothing(self, smoothing):
        for seed in (*range(5), 324, 801, 2620):
            X, Y, people, tasks = instance(seed)
            solver = ColumnGeneration(tol=1e-4, smoothing=smoothing)
            model = fit(X, Y, people, tasks, alpha=0.03, oracle=StumpOracle(), solver=solver)
            best = optimum(Y, stump_decisions(X), "error", 0.03, tasks, people)
            assert model.error_ == pytest.approx(best, abs=2e-4), seed
            assert model.certificate_.gap <= 1e-4, seed

    @pytest.mark.parametrize("rate", RATES)
    @pytest.mark.parametrize("name", ["stump", "with constants"])
    def test_exponentiated_gradient_agrees(self, name, rate):
        X, Y = labelled(n=8, m=4, d=2)
        options = {"alpha": 0.15, "rate": rate, "oracle": ORACLES[name][0]}
        exact = fit(X, Y, **options).certificate_
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            solver = ExponentiatedGradient(max_rounds=500, tol=None)
            game = fit(X, Y, solver=solver, **options).certificate_
        assert game.gap < 0.2
        assert game.lower - 1e-9 <= exact.error <= game.upper + exact.gap + 1e-9
        assert game.error <= exact.error + game.gap + 1e-9
        assert exact.lower <= game.upper + 1e-9

    def test_the_judge_on_cases_solved_by_hand(self):
        # Two people, one task, labels 0 and 1, one rule that is wrong about both, and constants.
        labels, wrong = np.array([[0.0], [1.0]]), np.array([[True, False]])
        assert optimum(labels, wrong, "error", 0.1) == pytest.approx(1)
        assert optimum(labels, wrong, "error", 0.1, constants=True) == pytest.approx(0.5)
        heavy = {"individual_weights": [1, 3], "constants": True}
        assert optimum(labels, wrong, "error", 0.1, **heavy) == pytest.approx(0.45)
        assert optimum(labels, wrong, "error", 0.1, excused=[0], **heavy) == pytest.approx(0.25)
        # Always 1: both rates are 0.5 from one half, 0.4 too far.
        paid = optimum(labels, wrong, "error", 0.1, prices=[0.1, 0.1], **heavy)
        assert paid == pytest.approx(0.25 + 0.1 * 0.8)

    def test_outside_estimates_change_the_search_and_not_the_problem(self):
        X, Y = labelled(n=8, m=4, d=2)
        rho = np.clip((Y == 0).mean(axis=1) * np.linspace(0.8, 1.2, 8), 0.05, 1)
        model = fit(X, Y, alpha=0.1, rate=FalsePositiveRate(rho=rho), oracle=StumpOracle())
        best = optimum(Y, stump_decisions(X), "false_positive", 0.1)
        assert model.certificate_.lower - 1e-6 <= best <= model.certificate_.upper + 1e-6
        assert_keeps_to_alpha(model, X, Y, 0.1, "false_positive")


class TestExceptions:
    @settings(SOME, max_examples=30)
    @given(SEEDS, NAMES, SOME_RATE, st.sampled_from([0.01, 0.05, 0.2]), st.floats(0.05, 20))
    def test_influence_is_the_penalised_program(self, seed, name, rate, alpha, c):
        (oracle, decide), (X, Y, people, tasks) = ORACLES[name], instance(seed)
        model = fit(X, Y, people, tasks, alpha=alpha, rate=rate, oracle=oracle, max_influence=c)
        prices = c * people / people.sum()
        best = optimum(Y, decide(X), rate, alpha, tasks, people, constants=True, prices=prices)
        known = model.certificate_
        assert known.lower - 1e-6 <= best <= known.upper + 1e-6
        assert known.gap <= 1e-6
        assert known.met
        common = known.common_rate if isinstance(known.common_rate, tuple) else [known.common_rate]
        paid = model.error_
        for rates, gamma in zip(rates_of(model, X, Y, rate, people, tasks), common, strict=True):
            off = np.nan_to_num(np.maximum(0, np.abs(rates - gamma) - alpha))
            paid += prices @ off
        assert known.upper == pytest.approx(paid, abs=1e-9)

    @settings(SOME, max_examples=30)
    @given(SEEDS, NAMES, SOME_RATE, st.sampled_from([0.01, 0.05, 0.2]))
    def test_beta_leaves_out_a_share(self, seed, name, rate, alpha):
        (oracle, decide), (X, Y, people, tasks) = ORACLES[name], instance(seed, most=5)
        beta = float(np.random.default_rng(seed).choice([0.1, 0.2, 0.3, 0.4, 0.6, 0.75]))
        options = {"alpha": alpha, "rate": rate, "oracle": oracle}
        model = fit(X, Y, people, tasks, beta=beta, **options)
        known = model.certificate_
        assert known.met
        strict = fit(X, Y, people, tasks, **options)
        assert model.error_ <= strict.error_ + 1e-6
        found = rates_of(model, X, Y, rate, people, tasks)
        shares = [share_outside(rates, people, 2 * alpha + 1e-6) for rates in found]
        assert known.outside == pytest.approx(max(shares), abs=1e-9)
        if isinstance(rate, list):
            return
        # No choice of exempt people has less error; the bound is for the chosen people.
        present = np.flatnonzero(~np.isnan(found[0]))
        off = np.abs(found[0] - known.common_rate) > alpha + 1e-6
        every = itertools.chain.from_iterable(
            itertools.combinations(present, size) for size in range(len(present) + 1)
        )
        allowed = beta * people[present].sum() + 1e-9
        choices = [some for some in every if people[list(some)].sum() <= allowed]
        terms = (Y, decide(X), rate, alpha, tasks, people)
        least = min(optimum(*terms, constants=True, excused=some) for some in choices)
        assert model.error_ >= least - 1e-6
        assert known.lower <= optimum(*terms, constants=True, excused=np.flatnonzero(off)) + 1e-6

    @pytest.mark.parametrize("seed", [115, 158])
    def test_a_gap_said_to_be_below_the_tolerance_is(self, seed):
        X, Y = labelled(seed, n=8, m=3, d=2)
        known = fit(X, Y, tol=1e-4, alpha=0.05, beta=0.3, oracle=StumpOracle()).certificate_
        assert known.gap <= 1e-4 or known.stop_reason is not StopReason.TOLERANCE

    def test_a_share_of_whole_people_is_met_where_it_is_used_up(self):
        certificate = fit(*labelled(n=4, m=2), alpha=0.1, oracle=StumpOracle()).certificate_
        for k, n in [(a, b) for a in range(1, 21) for b in range(2 * a, 41)]:
            everybody = Constraints(np.arange(n), np.zeros(n, int), np.ones(n))
            share = everybody.share_outside(np.where(np.arange(n) < k, 1.0, 0.25), 0.1)
            assert share == pytest.approx(k / n)
            assert replace(certificate, promise=Equal(0.1, k / n), outside=share).met, (n, k)

    @pytest.mark.parametrize(("n", "k"), [(5, 1), (10, 3), (20, 4), (20, 6)])
    def test_people_alike_are_excepted_together(self, n, k):
        # All people have equal features; most want 1, and k want 0.
        X, Y = np.zeros((n, 1)), np.ones((n, 2))
        Y[:k] = 0
        model = fit(X, Y, alpha=0.01, beta=k / n, oracle=StumpOracle())
        assert model.certificate_.met
        assert model.error_ == pytest.approx(k / n, abs=1e-6)

    @pytest.mark.parametrize("scale", [1e-8, 1e-6, 1e6])
    def test_beta_is_a_share_whatever_the_weights_add_up_to(self, scale):
        X, Y = labelled(n=10, m=4)
        model = fit(X, Y, np.full(10, scale), alpha=0.02, beta=0.15, oracle=StumpOracle())
        plain = fit(X, Y, alpha=0.02, beta=0.15, oracle=StumpOracle())
        assert model.certificate_.outside <= 0.15
        assert model.error_ == pytest.approx(plain.error_, abs=1e-6)

    def test_a_large_influence_is_everybody_and_a_small_one_nobody(self):
        X, Y = labelled(n=8, m=4, d=2)
        options = {"alpha": 0.02, "oracle": StumpOracle()}
        strict = fit(X, Y, **options)
        tight = fit(X, Y, max_influence=1e4, **options)
        assert tight.error_ == pytest.approx(strict.error_, abs=2e-6)
        loose = fit(X, Y, max_influence=1e-6, **options)
        free = fit(X, Y, alpha=0.5, oracle=StumpOracle())
        assert loose.error_ == pytest.approx(free.error_, abs=2e-6)


class TestMapping:
    @pytest.mark.parametrize("name", ["stump", "without constants", "one rule", "regression"])
    @pytest.mark.parametrize("rate", ["error", BOTH])
    def test_is_sparse_and_makes_the_classifiers_again(self, name, rate):
        X, Y = labelled(n=12, m=4, d=2)
        oracle = Counting(RegressionOracle() if name == "regression" else ORACLES[name][0])
        solver = ColumnGeneration(max_rounds=30, tol=1e-4, blocks=1)
        model = fit(X, Y, alpha=0.03, rate=rate, oracle=oracle, solver=solver)
        mapping = model.mapping_
        assert (mapping.mixture > 0).all()
        assert len(mapping.mixture) == len(mapping.weights)
        assert mapping.mixture.sum() + sum(mapping.constants) == pytest.approx(1.0)
        # A basic solution has at most one play per row: each constraint, and two sums.
        assert len(mapping.weights) <= 12 * np.size(rate) + 2
        oracle.asked = 0
        again = model.extend(Y)
        assert oracle.asked == len(mapping.weights)
        np.testing.assert_allclose(
            again.decision_probability(X), model.decision_probability(X), atol=1e-12
        )
        few = mapping.sparsify(5)
        assert few.mixture.sum() + sum(few.constants) == pytest.approx(1.0)
        assert len(few.weights) <= min(5, len(mapping.weights))
        draws = [mapping.sparsify(3, random_state=k).extend(Y) for k in range(60)]
        average = np.mean([draw.decision_probability(X) for draw in draws], axis=0)
        # 180 draws: a mean of chances is within 5 standard deviations, 5 / (2 sqrt 180).
        assert np.abs(average - model.decision_probability(X)).max() < 0.19

    def test_coin_flips_alone_extend_and_sparsify(self):
        # The only rule is always wrong, so only coin flips are fair.
        X = np.linspace(-1, 1, 6)[:, None]
        Y = np.tile((X < 0).astype(float), (1, 3))
        model = fit(X, Y, alpha=0.1, oracle=FiniteOracle([lambda x: x[:, 0] > 0]))
        assert len(model.mapping_.weights) == 0
        later = model.extend(np.array([[0, 1, 0, 1, 0, 1]]).T)
        assert later.decision_probability(X) == pytest.approx(model.mapping_.constants[1])
        assert model.mapping_.sparsify(7).extend(Y).predict(X).shape == (6, 3)


@cache
def uninterrupted(name):
    """Return how many answers an oracle of ``EITHER`` has given by the end of each round."""
    oracle = next(one for one in EITHER if repr(one) == name)
    return answers_after_each_round(*labelled(), Counting(oracle))


class TestTrouble:
    def test_an_oracle_with_one_answer_ends_the_run(self):
        X, Y = labelled()
        model = fit(X, Y, alpha=0.05, oracle=Stubborn(exact=False))
        assert model.certificate_.stop_reason is StopReason.NO_BETTER
        assert np.isnan(model.certificate_.lower)
        assert_keeps_to_alpha(model, X, Y, 0.05)

    def test_an_oracle_that_fails_at_once_passes_its_error_on(self):
        X, Y = labelled()
        model = AverageFairClassifier(oracle=Counting(StumpOracle(), at=1))
        with pytest.raises(RuntimeError, match="the oracle broke"):
            model.fit(X, Y)
        with pytest.raises(NotFittedError):
            model.predict(X)

    @pytest.mark.parametrize("at", [2, 3, 5, 7])
    @pytest.mark.parametrize("beta", [0.0, 0.2])
    @pytest.mark.parametrize("for_good", [False, True])
    def test_an_oracle_that_fails_later_leaves_the_best_answer(self, at, beta, for_good):
        X, Y = labelled()
        oracle = Counting(StumpOracle(), at, for_good=for_good)
        with pytest.warns(ConvergenceWarning, match="RuntimeError: the oracle broke"):
            model = fit(X, Y, alpha=0.05, beta=beta, oracle=oracle)
        known = model.certificate_
        assert known.stop_reason is StopReason.FAILED
        assert "the oracle broke" in known.trouble
        assert known.met
        assert known.rounds == at - 1
        if not beta:
            best = optimum(Y, stump_decisions(X), "error", 0.05)
            assert best <= known.upper + 1e-6
            assert known.lower - 1e-6 <= best or (for_good and np.isnan(known.lower))
            assert_keeps_to_alpha(model, X, Y, 0.05)

    @pytest.mark.parametrize("oracle", EITHER, ids=repr)
    @pytest.mark.parametrize("at", [1, 2, 4, 7, 30, 60, 100])
    def test_an_oracle_that_is_interrupted(self, oracle, at):
        X, Y = labelled()
        counts = uninterrupted(repr(oracle))
        oracle = Counting(oracle, at, KeyboardInterrupt())
        model = AverageFairClassifier(alpha=0.05, oracle=oracle, decisions="drawn", random_state=0)
        if at <= counts[0]:
            with pytest.raises(KeyboardInterrupt):
                model.fit(X, Y)
        elif at <= counts[-1]:
            with pytest.warns(ConvergenceWarning, match="interrupted"):
                model.fit(X, Y)
            assert model.certificate_.stop_reason is StopReason.INTERRUPTED
            assert_keeps_to_alpha(model, X, Y, 0.05)

    @pytest.mark.parametrize("oracle", EITHER, ids=repr)
    @pytest.mark.parametrize("beta", [0.0, 0.2])
    @pytest.mark.parametrize("once", [True, False])
    def test_a_linear_program_that_fails_at_any_solve(self, monkeypatch, oracle, beta, once):
        """After the first round there is an answer to keep, unless the program always fails."""
        X, Y = labelled(seed=1, n=12, m=4)
        run, solved, failing = Master._run, [], [0]
        solver = ColumnGeneration(max_rounds=40, mapping_rounds=0)
        options = {"alpha": 0.05, "beta": beta, "oracle": oracle, "solver": solver}

        def instead(master):
            solved.append(master)
            if len(solved) == failing[0] or (len(solved) > failing[0] > 0 and not once):
                raise SolverError("HiGHS says no.")
            return run(master)

        monkeypatch.setattr(Master, "_run", instead)
        ends = []
        fit(X, Y, callback=lambda now: ends.append(len(solved)), **options)
        lost = []
        for at in range(1, len(solved) + 1):
            solved.clear()
            failing[0] = at
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                try:
                    model = fit(X, Y, **options)
                except SolverError:
                    lost.append(at)
                    continue
            assert model.certificate_.met, at
        assert solved
        assert max(lost, default=0) <= ends[0], f"no answer where solve {lost} of {ends} failed"

    def test_a_status_that_is_not_optimal_is_told(self, monkeypatch):
        unknown = highspy.HighsModelStatus.kUnknown
        monkeypatch.setattr(highspy.Highs, "getModelStatus", lambda self: unknown)
        with pytest.warns(ConvergenceWarning, match="HiGHS says"):
            fit(*labelled(), oracle=StumpOracle(), promise=WorstOff(max_rate=0.4))

    def test_without_the_exact_program_the_central_one_answers(self, monkeypatch):
        unknown = highspy.HighsModelStatus.kUnknown
        monkeypatch.setattr(highspy.Highs, "getModelStatus", lambda self: unknown)
        X, Y = labelled(n=30, m=8)
        model = fit(X, Y, alpha=0.05, oracle=RegressionOracle())
        assert_keeps_to_alpha(model, X, Y, 0.05)
        monkeypatch.undo()
        again = fit(X, Y, alpha=0.05, oracle=RegressionOracle())
        assert model.error_ <= again.error_ + 2e-3

    @pytest.mark.parametrize("oracle", EITHER, ids=repr)
    def test_any_number_of_rounds_makes_an_answer(self, oracle):
        X, Y = labelled(n=12, m=4)
        rules = {"reweightings": 1, "patience": 2}
        whole = fit(X, Y, alpha=0.05, oracle=oracle, solver=ColumnGeneration(**rules))
        assert 3 < len(whole.history_) < 80
        for rounds in range(1, len(whole.history_) + 1):
            solver = ColumnGeneration(max_rounds=rounds, **rules)
            model = fit(X, Y, alpha=0.05, oracle=oracle, solver=solver)
            assert len(model.history_) == rounds
            assert_keeps_to_alpha(model, X, Y, 0.05)

    @pytest.mark.parametrize("oracle", EITHER, ids=repr)
    @pytest.mark.parametrize("looks", [0.5, 5, 13, 34])
    @pytest.mark.parametrize("beta", [0.0, 0.1])
    def test_time_that_runs_out(self, oracle, looks, beta, monkeypatch):
        count_looks(monkeypatch)
        self.assert_ends_by_time(ColumnGeneration(time_limit=looks, tol=1e-9), oracle, beta)

    @pytest.mark.parametrize(
        ("beta", "programs", "oracle"),
        [
            pytest.param(
                *(beta, programs, oracle),
                # Of any two choices, every pair is tried.
                marks=pytest.mark.long if (first + second + third) % 2 else (),
                id=f"{beta}-{programs}-{oracle!r}",
            )
            for first, beta in enumerate([0.0, 0.1])
            for second, programs in enumerate([0, 8])
            for third, oracle in enumerate(EITHER)
        ],
    )
    def test_time_that_runs_out_within_a_linear_program(self, oracle, programs, beta, monkeypatch):
        end_linear_programs(monkeypatch, after=programs)
        solver = ColumnGeneration(time_limit=1e9, tol=1e-9, mapping_rounds=3)
        # A heuristic oracle's linear program comes last, after the run has converged.
        self.assert_ends_by_time(
            *(solver, oracle, beta),
            size=(60, 15) if oracle.exact else (30, 8),
            told=oracle.exact and programs < 2 and not beta,
        )

    @staticmethod
    def assert_ends_by_time(solver, oracle, beta, *, size=(60, 15), told=True):
        n, m = size
        X, Y = labelled(n=n, m=m)
        model = fit(X, Y, alpha=0.02, beta=beta, oracle=oracle, solver=solver)
        assert model.certificate_.stop_reason is StopReason.TIME or not told
        assert model.certificate_.met
        (rates,) = rates_of(model, X, Y, "error")
        assert share_outside(rates, np.ones(n), 2 * 0.02 + 1e-6) <= beta + 1e-9

    @pytest.mark.parametrize("oracle", EITHER, ids=repr)
    def test_a_callback_ends_it_at_once(self, oracle):
        X, Y = labelled()
        model = fit(X, Y, alpha=0.05, oracle=oracle, callback=lambda now: True)
        assert model.certificate_.stop_reason is StopReason.CALLBACK
        assert model.certificate_.rounds == 1
        assert_keeps_to_alpha(model, X, Y, 0.05)


class TestRules:
    @pytest.mark.parametrize(
        ("name", "value"), [(k, v) for k in BAD_SETTINGS for v in BAD_SETTINGS[k]]
    )
    def test_bad_settings_are_refused_by_name(self, name, value):
        with pytest.raises(InputError, match=name):
            ColumnGeneration(**{name: value})

    @pytest.mark.parametrize(
        ("name", "value"), [(k, v) for k in BAD_REQUESTS for v in BAD_REQUESTS[k]]
    )
    def test_bad_requests_are_refused_by_name(self, name, value):
        with pytest.raises(InputError, match=name):
            AverageFairClassifier(**{name: value}).fit(*labelled())

    def test_contradictions_are_refused_by_name(self):
        with pytest.raises(InputError, match=r"beta .* or max_influence"):
            AverageFairClassifier(beta=0.1, max_influence=1.0).fit(*labelled())
        for exception in ({"beta": 0.1}, {"max_influence": 2.0}):
            model = AverageFairClassifier(solver=ExponentiatedGradient(), **exception)
            with pytest.raises(InputError, match=next(iter(exception))):
                model.fit(*labelled())


EXCEPTIONS = [{}, {"beta": 0.3}, {"max_influence": 2.0}]


class TestLittleToLearn:
    @pytest.mark.parametrize("rate", RATES)
    @pytest.mark.parametrize(
        ("X", "Y", "most"),
        [
            pytest.param([[0.5]], [[1.0]], 0, id="one person, one task"),
            pytest.param([[0.5]], [[1.0, 0.0]], 0, id="one person"),
            pytest.param([[0.0], [1.0], [2.0]], [[0.0], [1.0], [1.0]], 0, id="one task"),
            pytest.param([[3.0]] * 5, [[1.0, 0.0, 0.0]] * 5, 0, id="everybody identical"),
            pytest.param([[0.0], [1.0], [2.0]], [[1.0] * 3] * 3, 0, id="all labels equal"),
            pytest.param([[1.0]] * 2, [[0.0], [1.0]], 0.5, id="nothing tells two people apart"),
        ],
    )
    def test_is_learned(self, X, Y, most, rate):
        X, Y = np.array(X), np.array(Y)
        for oracle, exceptions in itertools.product(EITHER, EXCEPTIONS):
            model = fit(X, Y, alpha=0.1, rate=rate, oracle=oracle, **exceptions)
            assert model.error_ <= most + 1e-6
            assert model.error_ == pytest.approx(plain_error(Y, model.decision_probability(X)))
            assert spread_of(rates_of(model, X, Y, rate)) <= 0.2 + 1e-6 or exceptions
            assert model.certificate_.met

    @pytest.mark.parametrize("rate", RATES)
    def test_the_largest_alpha_asks_for_nothing(self, rate):
        X, Y = labelled(n=10, m=4)
        mistakes = (stump_decisions(X)[:, :, None] != Y).mean(axis=1)
        for exceptions in EXCEPTIONS:
            model = fit(X, Y, alpha=0.5, rate=rate, oracle=StumpOracle(), **exceptions)
            assert model.error_ == pytest.approx(mistakes.min(axis=0).mean(), abs=1e-6)
