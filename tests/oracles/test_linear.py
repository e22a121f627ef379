"""Logistic regression, polishing, portfolios: against scikit-learn, brute force, plain sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    ExponentiatedGradient,
    InputError,
    LogisticOracle,
    Polished,
    Portfolio,
    RegressionOracle,
    Sample,
    StumpOracle,
    WeightedOracle,
    audit,
)
from averagefair.datasets import make_synthetic
from averagefair.game.costs import Costs
from averagefair.oracles import default_oracle

LS = RegressionOracle()
LINEAR = {
    "logistic": LogisticOracle(),
    "polished": Polished(RegressionOracle()),
    "portfolio": Portfolio([RegressionOracle(), LogisticOracle()]),
    "default": default_oracle(),
}
TASKS = 6


def problem(seed=0, n=80, d=4, *, blanks=0.0, alike=True, weights=False):
    """Draw people with prices of either sign, as in the middle of a game."""
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, d)) * 10.0 ** draw.integers(-3, 4, d) + draw.normal(size=d)
    signal = (X - X.mean(0)) / X.std(0) @ draw.normal(size=(d, TASKS))
    Y = (signal + draw.normal(size=(n, TASKS)) > 0).astype(float)
    Y[draw.uniform(size=Y.shape) < blanks] = np.nan
    counts = draw.integers(0, 3, n) if weights else np.ones(n)
    sample = Sample(X, Y, individual_weights=counts)
    return sample, Costs(sample, *prices(draw, counts, alike))


def prices(draw, counts, alike=True):
    first = counts * (draw.lognormal(size=len(counts)) - 0.3) / len(counts)
    return (first, first) if alike else (first, counts * draw.lognormal(size=len(counts)))


def plain_cost(costs, decisions):
    """Return the cost of decisions above the cheapest, per task, by a double loop."""
    gaps = costs.gaps()
    return np.array(
        [
            sum(
                abs(gap)
                for gap, one in zip(gaps[:, j], decisions[:, j], strict=True)
                if one != (gap < 0) and gap != 0
            )
            for j in range(gaps.shape[1])
        ]
    )


def cost(costs, oracle):
    answer = oracle.bind(costs.sample)(costs)
    return plain_cost(costs, answer.decide(costs.sample.features))


def by_scikit_learn(costs, l2):
    """Return intercepts and coefficients on standardised features, one task at a time."""
    sample, gaps = costs.sample, costs.gaps()
    counts = sample.individual_weights
    mean = np.average(sample.features, axis=0, weights=counts)
    deviation = np.sqrt(np.average((sample.features - mean) ** 2, axis=0, weights=counts))
    found = []
    for task, gap in enumerate(gaps.T):
        seen = (sample.signs[:, task] != 0) & (counts > 0)
        weight = np.abs(gap[seen]) * counts[seen].sum() / np.abs(gap[seen]).sum()
        model = LogisticRegression(C=1 / l2, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
        model.fit(((sample.features - mean) / deviation)[seen], gap[seen] < 0, sample_weight=weight)
        found.append([*model.intercept_, *model.coef_[0]])
    return np.array(found).T, mean, deviation


def standardised(answer, mean, deviation):
    """Return the same for an answer, which decides 1 where its score is *below* zero."""
    coefficients = -answer.coefficients * deviation[:, None]
    return np.vstack([-answer.intercepts - mean @ answer.coefficients, coefficients])


class TestLogistic:
    @pytest.mark.parametrize("l2", [0.1, 1.0, 30.0])
    @pytest.mark.parametrize("weights", [False, True], ids=["", "weights"])
    @pytest.mark.parametrize("alike", [True, False], ids=["", "two prices"])
    @pytest.mark.parametrize("blanks", [0.0, 0.3], ids=["", "blanks"])
    def test_coefficients_are_scikit_learns(self, blanks, alike, weights, l2):
        _, costs = problem(3, blanks=blanks, alike=alike, weights=weights)
        wanted, mean, deviation = by_scikit_learn(costs, l2)
        answer = LogisticOracle(l2).bind(costs.sample)(costs)
        np.testing.assert_allclose(standardised(answer, mean, deviation), wanted, atol=1e-4)

    def test_next_to_nothing_at_stake_is_answered_too(self):
        X, Y = np.arange(4.0)[:, None], np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
        sample, little = Sample(X, Y), np.full(4, 2e-309)
        answer = LogisticOracle().bind(sample)(Costs(sample, little, np.array([-1, -1, 1, 1.0])))
        assert answer.decide(X).shape == Y.shape
        answer = LogisticOracle().bind(sample)(Costs(sample, little, little))
        assert np.isfinite(answer.coefficients).all()

    def test_the_rounds_before_leave_no_trace(self):
        """Prices jump and some are negative; every start leads to the same minimum."""
        sample, costs = problem(5, n=150)
        warm, draw = LogisticOracle().bind(sample), np.random.default_rng(1)
        for _ in range(12):
            warm(Costs(sample, *prices(draw, np.ones(150) * 10.0 ** draw.integers(-6, 6))))
        after, fresh = warm(costs), LogisticOracle().bind(sample)(costs)
        scale = sample.features.std(axis=0)[:, None]
        found, wanted = (one.coefficients * scale for one in (after, fresh))
        np.testing.assert_allclose(found, wanted, atol=1e-4)

    def test_many_people_are_scikit_learns_too(self):
        """Enough people for float32 steps and for Hessians over some of the people."""
        draw = np.random.default_rng(0)
        X = draw.normal(size=(45_000, 3)) + 100.0
        Y = X @ draw.normal(size=(3, 25)) - 100 + 2 * draw.normal(size=(45_000, 25))
        sample = Sample(X, Y > np.median(Y, axis=0))
        costs = Costs(sample, *prices(draw, np.ones(45_000)))
        respond = LogisticOracle().bind(sample)
        respond(Costs(sample, *prices(draw, np.ones(45_000))))
        wanted, mean, deviation = by_scikit_learn(costs, 1.0)
        np.testing.assert_allclose(standardised(respond(costs), mean, deviation), wanted, atol=1e-4)

    def test_a_line_that_separates_and_one_wish_for_all_stay_finite(self):
        X = np.linspace(-1, 1, 20)[:, None]
        sample = Sample(X, np.hstack([X > 0, X > 0]))
        up = np.ones(20)
        separable = LogisticOracle(1e-6).bind(sample)(Costs(sample, up, up))
        assert (separable.decide(sample.features) == (X > 0)).all()
        assert np.isfinite(separable.coefficients).all()
        # A mistake on label 1 pays, so the wanted decision is 0 for everybody.
        wanted = np.where(X[:, 0] > 0, -1.0, 1.0)
        assert not LogisticOracle().bind(sample)(Costs(sample, wanted, wanted)).decide(X).any()

    def test_very_many_features_share_a_hessian(self, monkeypatch):
        monkeypatch.setattr("averagefair.oracles.logistic._MOST_CELLS", 0)
        _, costs = problem(3, n=400, blanks=0.1)
        wanted, mean, deviation = by_scikit_learn(costs, 10.0)
        found = standardised(LogisticOracle(10.0).bind(costs.sample)(costs), mean, deviation)
        np.testing.assert_allclose(found, wanted, atol=0.05)

    @pytest.mark.parametrize("l2", [0, -1.0, np.inf, "much"])
    def test_a_penalty_is_positive(self, l2):
        with pytest.raises(InputError, match="l2"):
            LogisticOracle(l2)


@pytest.mark.parametrize("oracle", LINEAR.values(), ids=LINEAR)
class TestAll:
    def test_none_is_called_exact(self, oracle):
        assert oracle.exact is False

    def test_units_change_no_decision(self, oracle):
        sample, costs = problem(7)
        other = Sample(sample.features * [1e6, 1e-6, 3.0, 1.0] + [0, 0, 50, 0], labels(sample))
        here, there = (
            oracle.bind(one)(Costs(one, *costs.prices[:1] * 2)).decide(one.features)
            for one in (sample, other)
        )
        assert (here == there).all()

    def test_some_of_the_tasks_are_answered_as_all_are(self, oracle):
        sample, costs = problem(9, blanks=0.2)
        some = np.array([4, 1])
        part = Costs(sample.take_tasks(some), *costs.prices[:1] * 2, some)
        all_tasks = oracle.bind(sample)(costs).decide(sample.features)
        assert (oracle.bind(sample)(part).decide(sample.features) == all_tasks[:, some]).all()

    def test_a_weight_of_two_is_the_person_twice_and_of_none_nobody(self, oracle):
        sample, costs = problem(11, weights=True)
        rows = np.repeat(np.arange(sample.n), sample.individual_weights.astype(int))
        twice = Sample(sample.features[rows], labels(sample)[rows])
        price = (costs.false_positive / np.maximum(sample.individual_weights, 1))[rows]
        here = oracle.bind(sample)(costs).decide(sample.features)[rows]
        there = oracle.bind(twice)(Costs(twice, price, price)).decide(twice.features)
        assert (here == there).mean() > 0.97  # sums in another order break ties differently

    @pytest.mark.parametrize("library", ["torch", "array_api_strict"])
    def test_answers_elsewhere_cost_the_same(self, oracle, library):
        xp = pytest.importorskip(library)
        sample, costs = problem(13, blanks=0.1, alike=False)
        there = Sample(xp.asarray(np.array(sample.features)), xp.asarray(labels(sample)))
        moved = [xp.asarray(np.array(price)) for price in costs.prices]
        answer = oracle.bind(there)(Costs(there, *moved))
        found = plain_cost(costs, answer.decide(sample.features))
        np.testing.assert_allclose(found, cost(costs, oracle), rtol=0.02, atol=1e-3)

    def test_a_model_of_it_keeps_alpha_and_extends(self, oracle):
        people = make_synthetic(n=100, m=20, d=5, random_state=1)
        solver = ColumnGeneration(max_rounds=30, blocks=1)
        options = {"solver": solver, "decisions": "drawn", "random_state": 0}
        model = AverageFairClassifier(0.1, oracle=oracle, **options).fit(people.X, people.Y)
        assert model.certificate_.met
        assert "heuristic" in str(model.certificate_)
        # With one chance for all tasks, a task that comes again gets (nearly) what it had.
        again = model.extend(people.Y).decision_probability(people.X)
        assert np.abs(again - model.decision_probability(people.X)).mean() < 0.02


def labels(sample):
    return np.where(sample.signs == 0, np.nan, sample.signs < 0)


COARSE = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0])


@st.composite
def small_problems(draw):
    """Problems of few people with many equal features, labels and prices."""
    n, d, m = draw(st.integers(2, 9)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    X = np.array(draw(st.lists(st.lists(COARSE, min_size=d, max_size=d), min_size=n, max_size=n)))
    cell = st.sampled_from([0.0, 1.0, np.nan])
    Y = np.array(draw(st.lists(st.lists(cell, min_size=m, max_size=m), min_size=n, max_size=n)))
    first, second = (np.array(draw(st.lists(COARSE, min_size=n, max_size=n))) for _ in range(2))
    sample = Sample(X, Y)
    return Costs(sample, first, first if draw(st.booleans()) else second)


class TestPolished:
    @settings(max_examples=80, deadline=None)
    @given(small_problems(), st.integers(0, 4), st.sampled_from([3, 4000]))
    def test_it_never_costs_more(self, costs, lines, people):
        for inner in (RegressionOracle(), LogisticOracle()):
            before, after = cost(costs, inner), cost(costs, Polished(inner, lines, people))
            assert (after <= before + 1e-12 * (1 + before)).all()

    @settings(max_examples=80, deadline=None)
    @given(small_problems())
    def test_no_threshold_along_the_direction_is_cheaper(self, costs):
        answer = RegressionOracle().bind(costs.sample)(costs)
        scores = costs.sample.features @ answer.coefficients
        found = cost(costs, Polished(RegressionOracle(), lines=0))
        for task in range(costs.sample.m):
            if len(set(costs.sample.signs[:, task]) - {0}) < 2:
                continue  # a task of a single label gets that label
            column = np.round(scores[:, task], 9)
            cuts = [-np.inf, *((np.unique(column)[1:] + np.unique(column)[:-1]) / 2), np.inf]
            gap = costs.gaps()[:, task]
            least = min(np.abs(gap[(column < cut) != (gap < 0)]).sum() for cut in cuts)
            assert found[task] <= least + 1e-9

    def test_it_lowers_the_cost_of_real_problems(self):
        ratios = []
        for seed in range(8):
            _, costs = problem(seed, n=200, d=8)
            before = cost(costs, RegressionOracle())
            ratios.append(cost(costs, Polished(RegressionOracle())).sum() / before.sum())
        assert max(ratios) < 1
        assert np.mean(ratios) < 0.9

    @pytest.mark.parametrize(("n", "lines"), [(149, 0), (150, 3)])
    def test_few_people_get_the_threshold_alone(self, n, lines):
        """4 features have 5 coefficients; absent people do not count."""
        sample, costs = problem(4, n=n + 40)
        kept = Sample(sample.features, labels(sample), individual_weights=np.arange(n + 40) < n)
        price = np.where(np.arange(n + 40) < n, costs.false_positive, 0.0)
        asked = Costs(kept, price, price)
        by_itself, told, other = (
            cost(asked, Polished(RegressionOracle(), chosen)) for chosen in (None, lines, 3 - lines)
        )
        assert (by_itself == told).all()
        assert (by_itself != other).any()

    def test_only_linear_answers_are_polished(self):
        _, costs = problem()
        with pytest.raises(InputError, match="linear answers"):
            cost(costs, Polished(StumpOracle()))

    @pytest.mark.parametrize(
        "bad", [{"oracle": None}, {"lines": -1}, {"people": 0}, {"lines": 1.5}], ids=str
    )
    def test_bad_settings_are_refused(self, bad):
        with pytest.raises(InputError, match=r"oracle|lines|people"):
            Polished(**{"oracle": RegressionOracle(), **bad})


MEMBERS = {
    "linear": [RegressionOracle(), LogisticOracle()],
    "kinds": [
        StumpOracle(),
        RegressionOracle(),
        WeightedOracle(DecisionTreeClassifier(max_depth=2)),
    ],
    "one": [RegressionOracle()],
}


class TestPortfolio:
    @pytest.mark.parametrize("members", MEMBERS.values(), ids=MEMBERS)
    @pytest.mark.parametrize("seed", range(4))
    def test_each_task_costs_what_its_cheapest_answer_costs(self, members, seed):
        _, costs = problem(seed, blanks=0.2, alike=seed % 2 == 0)
        choices = [cost(costs, one) for one in members]
        shape = costs.sample.n, TASKS
        choices += [plain_cost(costs, np.full(shape, always)) for always in (False, True)]
        np.testing.assert_allclose(
            cost(costs, Portfolio(members)), np.min(choices, axis=0), atol=1e-12
        )

    def test_answers_of_several_kinds_are_told_apart(self):
        sample, costs = problem(2)
        respond = Portfolio([StumpOracle(), RegressionOracle()]).bind(sample)
        first, same = respond(costs), respond(costs)
        other = respond(Costs(sample, *prices(np.random.default_rng(5), np.ones(80))))
        assert first.key() == same.key()
        assert first.key() != other.key()

    @pytest.mark.parametrize(
        "bad",
        [[], None, [RegressionOracle], [DecisionTreeClassifier()], RegressionOracle()],
        ids=str,
    )
    def test_it_takes_a_list_of_oracles(self, bad):
        with pytest.raises(InputError, match="at least one"):
            Portfolio(bad)


class TestDefault:
    def test_it_is_what_the_estimator_uses_but_for_published_runs(self):
        people = make_synthetic(n=40, m=8, d=3)
        used = {
            str(solver): AverageFairClassifier(
                0.2, solver=solver, decisions="drawn", random_state=0
            )
            .fit(people.X, people.Y)
            .mapping_.oracle
            for solver in (None, ExponentiatedGradient(max_rounds=3, tol=None))
        }
        assert list(used.values()) == [default_oracle(), RegressionOracle()]

    @pytest.mark.long
    def test_what_it_gains_carries_over_to_new_people(self):
        """At a smaller alpha than least squares, the default errs less on new people."""
        errors, unfair = [], []
        for seed in (4, 5, 6):
            people = make_synthetic(n=400, m=30, d=10, n_holdout=2000, random_state=seed)
            theirs = self.on_new_people(people, LS, 0.05)
            ours = self.on_new_people(people, None, 0.02)
            errors.append(ours[0] - theirs[0])
            unfair.append(ours[1] - theirs[1])
        assert np.mean(errors) < -0.005
        assert max(errors) < 0.0
        assert np.mean(unfair) < 0.005

    @staticmethod
    def on_new_people(people, oracle, alpha):
        """Return the error, and the observed deviation of rates: the tasks were learned."""
        options = {"oracle": oracle, "decisions": "drawn", "random_state": 0}
        model = AverageFairClassifier(alpha, **options).fit(people.X, people.Y)
        chances = model.decision_probability(people.X_new)
        found = audit(people.Y_new_people, chances, learned_tasks=True)
        return found.mean.value, found.dispersion.sd
