"""Every promise against its full linear program, on thousands of small problems.

The first problems of each promise run in ``make test``, all of them with the marker ``long``.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from averagefair import Cap, Equal, InputError
from tests.support.judges import plain_rates
from tests.support.promise_programs import FullProgram, plain_worst_off
from tests.support.promise_table import (
    ROWS,
    Verdict,
    assert_fixed,
    assert_kept,
    assert_optimal,
    draw_against,
    draw_case,
    figures,
    harm_caps,
    objective,
)

FEW, MANY = 10, 3200
# The choice of fixed decisions takes longer than the solution of so small a problem.
FEW_FIXED = 4
# Within this of what is possible, a promise may be kept or refused.
BORDER = 1e-5


def draw_problem(row, name, harmless, seed):
    """Draw a problem and a promise; return them with the rates to compare with, and the verdict."""
    rng = np.random.default_rng([seed, [*ROWS].index(name), int(harmless)])
    case = draw_case(rng)
    against = draw_against(rng, case) if harmless else None
    promise = row.draw(rng, case.program, None)
    if harmless:
        promise = replace(promise, no_harm=float(rng.choice([0.0, 0.02, 0.1, 0.3])))
    harm = harm_caps(case, promise, against)
    return case, promise, against, harm, row.judge(case.program, promise, harm, against is not None)


def judge(name, harmless, seeds):
    """Solve problems and judge the answers; return counts, and the largest distance from OPT."""
    row, counts, distance = ROWS[name], Counter(), 0.0
    for seed in seeds:
        case, promise, against, harm, verdict = draw_problem(row, name, harmless, seed)
        model, refusal = fit_or_refusal(case, promise, against)
        if refusal:
            assert verdict.excess > 1e-7, (seed, promise, refusal)
            assert_says_the_least(promise, verdict, refusal)
            counts["impossible"] += 1
            continue
        assert verdict.excess <= BORDER, (seed, promise, verdict)
        if verdict.excess > 1e-7:
            counts["at the border"] += 1
            continue
        try:
            distance = max(distance, assert_good(row, promise, case, model, harm, verdict))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, {promise}: {error}") from error
        counts["solved"] += 1
    return counts, distance


def assert_good(row, promise, case, model, harm, verdict):
    """Check everything about an answer; return its distance from the optimum."""
    assert_kept(row, promise, case, model, harm)
    return assert_optimal(promise, case, model, verdict)


def fit_or_refusal(case, promise, against):
    """Return the model, or the message that refuses the promise."""
    try:
        return case.fit(promise, against), ""
    except InputError as error:
        return None, str(error)


def assert_says_the_least(promise, verdict, message):
    """The message names a value that can be kept, and hardly a larger one."""
    if "With no_harm=" in message:
        found, least = re.search(r"With no_harm=([\d.]+)", message), promise.no_harm
    else:
        found, least = re.search(r"found is ([\d.]+)\. Ask", message), promise.value
    named = float(found[1])
    # Four digits, rounded up.
    assert -1e-6 <= named - (least + verdict.excess) <= 1.2e-4, (promise, verdict, message)


@pytest.mark.parametrize("harmless", [False, True], ids=["alone", "no harm"])
@pytest.mark.parametrize("name", ROWS)
def test_the_optimum_is_found_and_certified(name, harmless):
    few = FEW // 2 if name == "minimax" else FEW  # minimax solves several programs for each
    counts, _ = judge(name, harmless, range(few))
    assert counts["solved"] > 0.6 * few
    if counts["impossible"] == 0 and (harmless or ROWS[name].impossible):
        # The draws must try what cannot be kept.
        counts, _ = judge(name, harmless, [next(impossible_seeds(name, harmless, FEW))])
        assert counts["impossible"] == 1


def impossible_seeds(name, harmless, first):
    """Yield the seeds from ``first`` on whose promise cannot be kept."""
    for seed in itertools.count(first):
        if draw_problem(ROWS[name], name, harmless, seed)[-1].excess > BORDER:
            yield seed


@pytest.mark.parametrize("harmless", [False, True], ids=["alone", "no harm"])
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fixed_decisions_say_whether_they_keep_the_promise(name, harmless):
    kept = []
    for seed in range(FEW, FEW + FEW_FIXED):
        case, promise, against, harm, verdict = draw_problem(ROWS[name], name, harmless, seed)
        if verdict.excess > 0.0:
            continue
        model = case.fit(promise, against, decisions="fixed")
        kept.append(assert_fixed(ROWS[name], promise, case, model, harm))
        if kept[-1] and ROWS[name].path:
            # Fixed decisions are chances too, so they are no better than the best chances.
            assert objective(promise, case, model) >= verdict.optimum - 1e-5, seed
    assert sum(kept) > 0.3 * len(kept) > 0


def test_a_new_row_that_a_warm_start_breaks():
    # The interior-point method stalled there, and a broken limit passed for an optimum.
    counts, _ = judge("equal", False, [1719])
    assert counts["solved"] == 1


def test_caps_that_some_columns_cannot_keep():
    # Over the columns in use, the last program of several levels had no solution.
    counts, _ = judge("minimax", False, [1826])
    assert counts["solved"] == 1


@pytest.mark.long
@pytest.mark.parametrize("harmless", [False, True], ids=["alone", "no harm"])
@pytest.mark.parametrize("name", ROWS)
def test_the_optimum_of_many_problems(name, harmless):
    counts, distance = judge(name, harmless, range(FEW, MANY))
    print(f"{name}, no_harm {harmless}: {dict(counts)}, largest distance {distance:.2g}")
    assert counts["solved"] > 0.6 * (MANY - FEW)


class TestExemptions:
    """A heuristic chooses whom to exempt: the choice must be valid, and cannot beat the best."""

    @staticmethod
    def best(promise, case, harm):
        """Return the least error over all choices of exempt people."""
        program, lines = case.program, len(case.program.lines)
        allowed = promise.beta * program.counts.sum() + 1e-9
        subsets = itertools.chain.from_iterable(
            itertools.combinations(range(lines), size) for size in range(lines + 1)
        )
        within = [set(own) for own in subsets if program.counts[list(own)].sum() <= allowed]
        # Exempting more people never hurts: only the largest choices matter.
        largest = [own for own in within if not any(own < other for other in within)]

        def least(exempt):
            if isinstance(promise, Equal):
                return program.least_error_equal(promise.alpha, harm, exempt)
            caps = np.full(lines, promise.max_rate)
            caps[[*exempt]] = np.inf
            return program.least_error(caps if harm is None else np.minimum(caps, harm))

        return min(map(least, largest))

    def judge(self, kind, most, seeds):
        counts = Counter()
        for seed in seeds:
            rng = np.random.default_rng([seed, kind is Cap])
            case = draw_case(rng, most, ["error", "false_positive", "false_negative"])
            beta = float(rng.choice([0.15, 0.25, 0.34, 0.5, 0.75]))
            harmless = 0.1 if rng.random() < 0.2 else None
            row = ROWS["equal" if kind is Equal else "cap"]
            promise = replace(row.draw(rng, case.program, None), beta=beta, no_harm=harmless)
            harm = harm_caps(case, promise, None)
            best = self.best(promise, case, harm)
            try:
                model = case.fit(promise)
            except InputError:
                counts["refused, although possible" if np.isfinite(best) else "impossible"] += 1
                continue
            rates, ((own, weights),) = figures(case, model)
            known = model.certificate_
            outside = self.share_outside(promise, own, weights)
            assert known.met, (seed, promise)
            assert outside <= beta + 1e-9, (seed, promise, outside)
            assert known.outside == pytest.approx(outside, abs=1e-9)
            assert harm is None or (rates <= harm + 1e-6).all()
            assert model.error_ >= best - 1e-6, (seed, promise, model.error_, best)
            counts["best" if model.error_ <= best + 1e-5 else "worse than the best"] += 1
        return counts

    @staticmethod
    def share_outside(promise, rates, weights):
        if isinstance(promise, Cap):
            return weights[rates > promise.max_rate + 1e-6].sum() / max(weights.sum(), 1e-9)
        inside = [
            weights[(rates >= low) & (rates <= low + 2 * promise.alpha + 1e-6)].sum()
            for low in rates
        ]
        return 1 - max(inside) / weights.sum() if len(rates) else 0.0

    @pytest.mark.parametrize("kind", [Equal, Cap])
    def test_are_valid_and_mostly_the_best(self, kind):
        counts = self.judge(kind, 5, range(25))
        assert counts["best"] > 0.8 * 25

    @pytest.mark.long
    @pytest.mark.parametrize("kind", [Equal, Cap])
    def test_of_many_problems(self, kind):
        counts = self.judge(kind, 8, range(1000, 4000))
        print(f"{kind.__name__} with beta: {dict(counts)}")
        assert counts["best"] > 0.8 * 3000


class TestTheJudge:
    def test_chances_for_each_task_are_mixtures_of_whole_plays(self):
        """All programs have the same optimum over the h^m plays as over chances of each task."""
        for seed in range(12):
            rng = np.random.default_rng(seed)
            case = draw_case(rng, most=4)
            decisions = case.program.decisions[:4]
            terms = case.Y[:, :3], decisions, case.rate, case.people, case.tasks[:3]
            if np.isnan(terms[0][0]).all():
                continue
            each, plays = (FullProgram(*terms, whole_plays=whole) for whole in (False, True))
            lines = len(each.lines)
            harm = rng.uniform(0.5, 1.0, lines)
            for solve, *figures_ in (
                (FullProgram.least_error,),
                (FullProgram.least_error_equal, 0.05),
                (FullProgram.least_error_equal, 0.1, harm),
                (FullProgram.least_excess, np.zeros(lines)),
                (FullProgram.least_caps, 2),
                (FullProgram.least_priced, 0.3, 2.0),
                (FullProgram.least_error_worst_off, 0.3, 0.45),
                (FullProgram.least_excess_worst_off, 0.3, 0.1, None, harm),
            ):
                optimum = solve(plays, *figures_)
                assert solve(each, *figures_) == pytest.approx(optimum, abs=1e-6), seed

    def test_on_cases_solved_by_hand(self):
        # Two people, one task, labels 0 and 1, and a rule that is wrong about both.
        labels, wrong = np.array([[0.0], [1.0]]), np.array([[True, False]])
        program = FullProgram(labels, wrong)
        # Constants make rates (p, 1 - p): no cap below a half, and error a half.
        assert program.least_excess(np.zeros(2)) == pytest.approx(0.5)
        assert program.least_error(np.array([0.2, 1.0])) == pytest.approx(0.5)
        assert program.least_priced(0.5, 1.0) == pytest.approx(0.5 + 0.5)
        heavy = FullProgram(labels, wrong, people=[1.0, 3.0])
        # Always 1: person 0 errs. The worst-off quarter is person 0, the worst-off half both.
        assert heavy.least_priced(0.25, 0.1) == pytest.approx(0.25 + 0.1)
        assert heavy.least_priced(0.5, 0.1) == pytest.approx(0.25 + 0.1 * 0.5)
        assert heavy.least_error_equal(0.1) == pytest.approx(0.45)
        assert heavy.least_error_worst_off(0.25, 0.7) == pytest.approx(0.25 + 0.3 * 0.5)
        # Levels: person 0 is always wrong on task 0, the others have a perfect rule.
        rules = np.array([[True, True, True], [False, False, False]])
        levels = FullProgram(np.array([[0.0], [1.0], [1.0]]), rules)
        np.testing.assert_allclose(levels.least_caps(1), 0.5, atol=1e-6)

    def test_the_worst_off_mean_is_the_textbook_form(self):
        rng = np.random.default_rng(0)
        for _ in range(50):
            n, share = int(rng.integers(1, 8)), rng.uniform(0.05, 0.95)
            rates, counts = rng.random(n).round(1), rng.choice([0.5, 1.0, 3.0], n)
            levels = [*rates, 0.0]
            means = [t + counts @ np.maximum(0, rates - t) / (share * counts.sum()) for t in levels]
            assert plain_worst_off(rates, counts, share) == pytest.approx(min(means))

    @pytest.mark.parametrize("harmless", [False, True], ids=["alone", "no harm"])
    @pytest.mark.parametrize("name", ROWS)
    def test_rejects_the_unconstrained_model(self, name, harmless):
        """Where a promise costs something, the model with nothing asked fails a check."""
        row, rejected = ROWS[name], 0
        for seed in range(150):
            if rejected == 1:
                break
            case, promise, against, harm, verdict = draw_problem(row, name, harmless, seed)
            free = case.fit(Equal(0.5))
            chances = free.decision_probability(case.X).reshape(case.Y.shape)
            rates = case.program.per_line(case.rates(chances))
            if verdict.excess > 1e-7 or free.error_ > verdict.optimum - 1e-3:
                continue  # it is impossible, or nothing has to change
            if name == "worst-off, priced" and objective(promise, case, free) < (
                verdict.optimum + 1e-3
            ):
                continue
            # Give the free model the certificate of the honest one.
            honest = case.fit(promise, against)
            free.certificate_ = honest.certificate_
            with pytest.raises(AssertionError):
                assert_good(row, promise, case, free, harm, verdict)
            if harmless and (rates > harm + 1e-3).any():
                with pytest.raises(AssertionError):
                    assert_kept(row, promise, case, free, harm)
            rejected += 1
        assert rejected == 1

    @pytest.mark.parametrize("name", ROWS)
    @pytest.mark.parametrize("lie", ["lower", "upper", "reached", "error"])
    def test_rejects_a_false_certificate(self, name, lie):
        row = ROWS[name]
        case, promise, _, harm, verdict = next(
            found
            for found in (draw_problem(row, name, False, seed) for seed in range(50))
            if found[-1].excess == 0 and found[-1].highest > 0.05
        )
        model = case.fit(promise)
        assert_good(row, promise, case, model, harm, verdict)
        known, wrong = model.certificate_, {"lower": 1e-3, "upper": -1e-3, "reached": 1e-3}
        if lie == "error":
            model.error_ += 1e-3
        else:
            value = getattr(known, lie) + wrong[lie]
            model.certificate_ = replace(known, **{lie: value})
        with pytest.raises(AssertionError):
            assert_good(row, promise, case, model, harm, verdict)

    @pytest.mark.parametrize("name", ROWS)
    def test_rejects_a_worse_optimum(self, name):
        case, promise, _, _, verdict = draw_problem(ROWS[name], name, False, 3)
        model = case.fit(promise)
        assert_optimal(promise, case, model, verdict)
        for other in (verdict.optimum - 1e-3, verdict.highest + 1e-3):
            with pytest.raises(AssertionError):
                assert_optimal(promise, case, model, Verdict(0.0, other, other))

    @pytest.mark.parametrize("name", ROWS)
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_rejects_false_words_about_fixed_decisions(self, name, monkeypatch):
        row = ROWS[name]
        case, promise, _, harm, _ = next(
            found
            for found in (draw_problem(row, name, False, seed) for seed in range(50))
            if found[-1].excess == 0 and found[-1].highest > 0.05
        )
        model = case.fit(promise, decisions="fixed")
        kept = assert_fixed(row, promise, case, model, harm)
        known, error = model.certificate_, model.error_
        lies = [replace(known, reached=known.reached + 1e-3)]
        if hasattr(promise, "beta"):
            # Everybody is outside, or nobody is.
            lies.append(replace(known, outside=float(kept)))
        for lie in lies:
            model.certificate_ = lie
            with pytest.raises(AssertionError):
                assert_fixed(row, promise, case, model, harm)
        model.certificate_, model.error_ = known, error + 1e-3
        with pytest.raises(AssertionError):
            assert_fixed(row, promise, case, model, harm)
        model.error_ = error
        monkeypatch.setattr(model, "decision_probability", lambda X: np.full(case.Y.shape, 0.5))
        with pytest.raises(AssertionError, match="drawn"):
            assert_fixed(row, promise, case, model, harm)


@pytest.mark.parametrize("name", ROWS)
def test_who_pays_is_what_a_plain_loop_says(name):
    for seed in range(4):
        case, promise, against, _, verdict = draw_problem(ROWS[name], name, True, seed)
        if verdict.excess > 1e-7:
            continue
        model = case.fit(promise, against)
        pays = model.certificate_.each_who_pays
        chances = model.decision_probability(case.X).reshape(case.Y.shape)
        before = case.unconstrained_rates() if against is None else against
        n, kinds = len(case.Y), case.program.kinds
        before = np.reshape(before, (n, -1))
        for k, (kind, own) in enumerate(zip(kinds, pays, strict=True)):
            after = plain_rates(case.Y, chances, kind, case.tasks)
            people = [
                i
                for i in range(n)
                if case.people[i] > 0 and not np.isnan(before[i, k]) and not np.isnan(after[i])
            ]
            assert own.people == len(people)
            if not people:
                continue
            weights = case.people[people]
            change = after[people] - before[people, k]
            total = weights.sum()
            assert own.better == pytest.approx(weights[change < -0.01 - 1e-9].sum() / total)
            assert own.worse == pytest.approx(weights[change > 0.01 + 1e-9].sum() / total)
            for rates, figure in ((before[people, k], "before"), (after[people], "after")):
                top = plain_worst_off(rates, weights, 0.1)
                best = 1 - plain_worst_off(1 - rates, weights, 0.1)
                assert getattr(own.worst_off, figure) == pytest.approx(top, abs=6e-5)  # rounded
                assert getattr(own.best_off, figure) == pytest.approx(best, abs=6e-5)
                mean = np.average(rates, weights=weights)
                assert getattr(own.mean, figure) == pytest.approx(mean, abs=6e-5)
