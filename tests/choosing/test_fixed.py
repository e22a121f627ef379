"""Fixed decisions: one classifier for each task, judged by plain loops and by brute force."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from averagefair import (
    AverageFairClassifier,
    Cap,
    ColumnGeneration,
    Equal,
    ErrorRate,
    ExponentiatedGradient,
    InputError,
    Learner,
    Minimax,
    RegressionOracle,
    Sample,
    StumpOracle,
    WorstOff,
    frontier,
    load,
)
from averagefair.choosing import fix_decisions
from averagefair.datasets import make_synthetic
from tests.support.judges import plain_error, plain_rates
from tests.support.promise_programs import plain_worst_off

RATES = ["error", "false_positive", "false_negative"]
PROMISES = {
    "equal": Equal(0.1),
    "equal, all but some": Equal(0.05, beta=0.1),
    "equal at a price": Equal(0.02, max_influence=3),
    "cap": Cap(0.35),
    "worst-off at a price": WorstOff(0.1, price=0.5),
    "worst-off below a rate": WorstOff(0.2, max_rate=0.35),
}


# A choice among the answers of few rounds is judged as one among many; the mapping is not.
BRIEF = {
    "oracle": RegressionOracle(),
    "solver": ColumnGeneration(max_rounds=12, mapping_rounds=2),
    "random_state": 0,
    "look_first": False,
}


def fit(people, **params):
    params = BRIEF | params
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # many of these promises are hard, or hurt somebody
        return AverageFairClassifier(**params).fit(people.X, people.Y)


def small_world(seed, n=12, m=5):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, 2)), (rng.random((n, m)) < 0.5).astype(float)
    Y[rng.random((n, m)) < 0.1] = np.nan
    Y[0] = 1.0
    return X, Y


@pytest.fixture(scope="module")
def people():
    return make_synthetic(n=120, m=30, n_holdout=50, m_holdout=10, random_state=3)


@pytest.fixture(scope="module")
def fixed(people):
    return fit(people, alpha=0.1)


class TestOneClassifierForEachTask:
    def test_nothing_is_drawn(self, people, fixed):
        chances = fixed.decision_probability(people.X)
        assert set(np.unique(chances)) <= {0.0, 1.0}
        assert (fixed.predict(people.X) == chances).all()
        assert fixed.certificate_.drawn_share == 0.0

    def test_the_same_person_gets_the_same_decision(self, people, fixed):
        once = fixed.predict(people.X_new)
        order = np.random.default_rng(0).permutation(len(people.X_new))
        assert (fixed.predict(people.X_new[order]) == once[order]).all()
        assert (fixed.predict(people.X_new, ids=order) == once).all()
        for row in (0, 7):
            assert (fixed.predict(people.X_new[row : row + 1]) == once[row]).all()

    def test_another_fit_with_the_seed_decides_alike(self, people, fixed):
        assert (fit(people, alpha=0.1).predict(people.X_new) == fixed.predict(people.X_new)).all()

    def test_a_saved_model_decides_alike(self, people, fixed, tmp_path):
        fixed.save(tmp_path / "fair.model")
        again = load(tmp_path / "fair.model")
        assert (again.predict(people.X_new) == fixed.predict(people.X_new)).all()
        assert again.certificate_.to_dict() == fixed.certificate_.to_dict()

    @pytest.mark.parametrize("solver", [ColumnGeneration(blocks=1), ExponentiatedGradient(60)])
    def test_every_solver_can_have_it(self, people, solver):
        model = fit(people, alpha=0.15, solver=solver, decisions="fixed")
        assert model.certificate_.decisions == "fixed"
        assert set(np.unique(model.decision_probability(people.X))) <= {0.0, 1.0}

    def test_tasks_set_aside_are_fixed_too(self, people):
        from averagefair import FalsePositiveRate

        model = fit(people, alpha=0.2, rate=FalsePositiveRate(holdout_tasks=5))
        assert set(np.unique(model.decision_probability(people.X))) <= {0.0, 1.0}


class TestCertificate:
    @pytest.mark.parametrize(
        ("name", "rate"),
        [
            pytest.param(
                *(name, rate),
                # Each promise is tried with one rate, and each rate with two promises.
                marks=() if row % 3 == column else pytest.mark.long,
                id=f"{name}-{rate}",
            )
            for row, name in enumerate(PROMISES)
            for column, rate in enumerate(RATES)
        ],
    )
    def test_it_says_what_the_decisions_reach(self, people, name, rate):
        promise = PROMISES[name]
        model = fit(people, promise=promise, rate=rate)
        known, decided = model.certificate_, model.predict(people.X).astype(float)
        rates = plain_rates(people.Y, decided, rate)
        rates = rates[~np.isnan(rates)]
        assert known.decisions == "fixed"
        assert known.error == pytest.approx(plain_error(people.Y, decided), abs=1e-9)
        assert known.spread == pytest.approx(np.ptp(rates), abs=1e-9)
        assert known.by_decisions.error == known.error
        assert known.met == self.kept(promise, known, rates)

    @staticmethod
    def kept(promise, known, rates):
        """Whether rates keep a promise, by plain arithmetic."""
        if isinstance(promise, Cap):
            return rates.max() <= promise.max_rate + 1e-9
        if isinstance(promise, WorstOff):
            allowed = 1.0 if promise.max_rate is None else promise.max_rate
            return plain_worst_off(rates, np.ones(len(rates)), promise.share) <= allowed + 1e-9
        lowest = np.sort(rates)
        ends = np.searchsorted(rates[np.argsort(rates)], lowest + 2 * promise.alpha + 1e-9, "right")
        outside = 1.0 - (ends - np.arange(len(rates))).max() / len(rates)
        if promise.max_influence is not None:
            assert known.outside == pytest.approx(outside, abs=1e-9)
            return True
        return outside <= promise.beta + 1e-9

    @pytest.mark.parametrize(
        "rate",
        [
            pytest.param(rate, marks=() if rate == "false_positive" else pytest.mark.long)
            for rate in RATES
        ],
    )
    def test_it_says_what_the_chances_reach(self, people, rate):
        model = fit(people, alpha=0.05, rate=rate)
        average = model.mixture_.decision_probability(people.X)
        known = model.certificate_.by_chances
        rates = plain_rates(people.Y, average, rate)
        assert known.error == pytest.approx(plain_error(people.Y, average), abs=1e-9)
        assert known.spread == pytest.approx(np.nanmax(rates) - np.nanmin(rates), abs=1e-9)

    def test_drawn_decisions_are_measured_in_one_draw(self, people):
        model = fit(people, alpha=0.03, decisions="drawn")
        known, decided = model.certificate_, model.predict(people.X).astype(float)
        chances = model.decision_probability(people.X)
        share = ((chances > 0) & (chances < 1)).mean()
        assert share > 0.0
        assert known.drawn_share == pytest.approx(share)
        assert known.by_decisions.error == pytest.approx(plain_error(people.Y, decided))
        assert known.error == pytest.approx(plain_error(people.Y, chances))
        assert "drawn" in str(known)

    def test_a_promise_that_no_choice_keeps_is_not_met(self):
        # Two people with equal features and opposite labels on one task: a choice errs on one.
        X, Y = np.array([[0.0], [0.0], [1.0]]), np.array([[0.0], [1.0], [1.0]])
        with pytest.warns(ConvergenceWarning, match='decisions="drawn", which keeps it'):
            model = AverageFairClassifier(alpha=0.1, random_state=0).fit(X, Y)
        known = model.certificate_
        assert not known.met
        assert known.met_on_average
        assert known.outside == pytest.approx(1 / 3)
        assert "NOT met" in str(known)
        drawn = AverageFairClassifier(alpha=0.1, decisions="drawn", random_state=0).fit(X, Y)
        assert drawn.certificate_.met

    def test_minimax_may_only_come_near(self, people):
        model = fit(people, promise=Minimax())
        decided = model.predict(people.X).astype(float)
        highest = plain_rates(people.Y, decided, "error").max()
        assert model.certificate_.reached == pytest.approx(highest, abs=1e-9)


class TestChoice:
    @pytest.mark.parametrize("alpha", [0.05, 0.1])
    @pytest.mark.parametrize(
        "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3))]
    )
    def test_it_is_no_worse_than_the_best_of_twenty_draws(self, seed, alpha):
        people = make_synthetic(n=80, m=30, random_state=seed)
        model = fit(people, alpha=alpha)
        ours = self.standing(people.Y, model.predict(people.X).astype(float), alpha)
        for draw in range(20):
            one = model.mixture_.sparsify(1, random_state=draw)
            drawn = self.standing(people.Y, one.predict(people.X).astype(float), alpha)
            assert ours <= drawn

    @staticmethod
    def standing(labels, decided, alpha):
        """How far people are outside, on average; then the error."""
        rates = np.sort(plain_rates(labels, decided, "error"))
        levels = np.concatenate([rates - alpha, rates + alpha])
        over = np.abs(rates - levels[:, None]) - alpha
        broken = np.where(over > 1e-9, over, 0.0).mean(axis=1).min()
        return round(float(broken), 9), round(plain_error(labels, decided), 9)

    @pytest.mark.parametrize("seeds", [5, pytest.param(20, marks=pytest.mark.long)])
    def test_it_finds_the_best_choice_of_small_problems(self, seeds):
        best = kept = can_be_kept = problems = 0
        for seed in range(seeds):
            X, Y = small_world(seed)
            learner = Learner(Sample(X, Y), ErrorRate(), StumpOracle())
            promise = Equal((0.15, 0.2, 0.25)[seed % 3])
            solution = ColumnGeneration().solve(learner, promise)
            answers = solution.answers.hypotheses
            found = fix_decisions(learner, solution, 0)[0].decide(X).astype(float)
            least = self.enumerate(Y, [answer.decide(X) for answer in answers], promise.alpha)
            ours = self.standing(Y, found, promise.alpha)
            assert ours >= least
            problems += 1
            best += ours == least
            kept += ours[0] == 0.0
            can_be_kept += least[0] == 0.0
        # A search, not a proof: on 300 such problems it found the best choice of 285.
        assert problems - best <= max(1, 0.1 * problems)
        assert kept >= 0.95 * can_be_kept > 0.5 * problems

    def enumerate(self, labels, answers, alpha):
        """The standing of the best choice, by trying all."""
        columns = [
            [np.array(column) for column in {tuple(own[:, task].tolist()) for own in answers}]
            for task in range(labels.shape[1])
        ]
        total = int(np.prod([len(own) for own in columns]))
        assert total < 60_000
        best = (np.inf, np.inf)
        for choice in itertools.product(*columns):
            decided = np.stack(choice, axis=1).astype(float)
            best = min(best, self.standing(labels, decided, alpha))
        return best

    def test_a_curve_is_monotone(self, people):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alphas = [0.04, 0.06, 0.1, 0.15]
            curve = frontier(people.X, people.Y, alphas, **BRIEF)
        met = [point for point in curve if point.certificate.met]
        assert len(met) >= 2
        for harder, easier in itertools.pairwise(met):
            assert easier.error <= harder.error + 1e-12
        for point in curve:
            decided = point.model.predict(people.X).astype(float)
            assert point.error == pytest.approx(plain_error(people.Y, decided), abs=1e-9)


class TestAsked:
    @pytest.mark.parametrize("wrong", ["random", "Fixed", 1, True, ["fixed"]])
    def test_other_words_are_refused(self, people, wrong):
        with pytest.raises(InputError, match='"fixed" or "drawn"'):
            AverageFairClassifier(decisions=wrong).fit(people.X, people.Y)
        with pytest.raises(InputError, match='"fixed" or "drawn"'):
            frontier(people.X, people.Y, [0.1], decisions=wrong)

    def test_the_papers_algorithm_draws_unless_asked(self, people):
        model = fit(people, alpha=0.2, solver=ExponentiatedGradient(20))
        assert model.certificate_.decisions == "drawn"
        assert model.mixture_ is model.classifiers_

    def test_a_frame_has_names_and_index(self, people, fixed):
        pd = pytest.importorskip("pandas")
        X = pd.DataFrame(people.X_new).add_prefix("x").set_index(np.arange(50) + 1000)
        Y = pd.DataFrame(people.Y).add_prefix("job ")
        model = AverageFairClassifier(alpha=0.2, **BRIEF).fit(
            X.iloc[:0].reindex(range(120)).assign(**dict(zip(X, people.X.T, strict=True))), Y
        )
        frame = model.predict(X, as_frame=True)
        assert [*frame.columns] == [*Y.columns]
        assert [*frame.index] == [*X.index]
        assert (frame.to_numpy() == model.predict(X)).all()
        ids = [f"p{row}" for row in range(50)]
        assert [*fixed.predict(people.X_new, ids=ids, as_frame=True).index] == ids

    def test_polars_in_polars_out(self, people):
        pl = pytest.importorskip("polars")
        names = [f"x{column}" for column in range(people.X.shape[1])]
        model = AverageFairClassifier(alpha=0.2, **BRIEF).fit(
            pl.DataFrame(people.X, schema=names), people.Y
        )
        frame = model.predict(pl.DataFrame(people.X_new, schema=names), as_frame=True)
        assert isinstance(frame, pl.DataFrame)
        assert frame.columns == list(model.task_names_)

    def test_cross_val_predict_and_scorers_work(self, people):
        from sklearn.model_selection import KFold, cross_val_predict, cross_val_score

        model = AverageFairClassifier(alpha=0.2, **BRIEF)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            decided = cross_val_predict(model, people.X, people.Y, cv=KFold(3))
            scores = cross_val_score(model, people.X, people.Y, cv=KFold(3))
        assert decided.shape == people.Y.shape
        assert set(np.unique(decided)) <= {0, 1}
        folds = np.array_split(np.arange(120), 3)
        for fold, score in zip(folds, scores, strict=True):
            wrong = (decided[fold] != people.Y[fold]).mean()
            assert score == pytest.approx(1.0 - wrong)
