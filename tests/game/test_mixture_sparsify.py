"""Sparse mixtures: each task draws r of its classifiers by its own chances."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from averagefair import AverageFairClassifier, InputError, Mixture, Sample, load, theory
from averagefair.datasets import make_synthetic
from averagefair.game.constant_classifiers import Constant, constants
from averagefair.people.draws import count_draws, task_keys, uniform
from tests.game.test_mixture_per_task import KINDS, K, R, X, by_hand, draw, sample, some

SEEDS = range(400)
# A false alarm in one of all comparisons of a test has about this chance.
RARE = 1e-6


def coins(tasks, chance=0.5, names=None):
    """Return a mixture of the two constants; the chance of 1 may differ between tasks."""
    labels = np.zeros((1, tasks))
    q = np.broadcast_to(chance, tasks)
    own = Sample([[0.0]], labels, task_names=names or [f"task {task}" for task in range(tasks)])
    return Mixture(constants(tasks), np.array([1 - q, q]), own)


def shares_of_1(mixture):
    return mixture.decision_probability([[0.0]])[0]


def drawn_by_hand(q, r, seed, names):
    """Count the draws one by one: number l of a task is the first one with enough chances below."""
    counts = np.zeros(q.shape, dtype=int)
    for task, number in itertools.product(range(q.shape[1]), range(r)):
        luck = uniform(seed, np.array([number], np.uint64), task_keys([names[task]]))[0, 0]
        place, below = -1, 0.0
        while below <= luck:
            place += 1
            below += q[place, task]
        counts[place, task] += 1
    return counts


@pytest.mark.parametrize("r", [1, 2, 7, 30])
@pytest.mark.parametrize("kind", KINDS)
def test_each_task_draws_its_own_classifiers(kind, r):
    q = draw(seed=r)
    mixture = Mixture(some(kind), q, sample())
    sparse = mixture.sparsify(r, random_state=3)
    # Equal hypotheses are merged: their chances add up where the first one stands.
    keys = [one.key() for one in some(kind)]
    merged = np.zeros_like(q)
    for place, key in enumerate(keys):
        merged[keys.index(key)] += q[place]
    counts = drawn_by_hand(merged, r, 3, mixture.task_names)
    expected = by_hand(some(kind), counts / r, X)
    np.testing.assert_allclose(sparse.decision_probability(X), expected, atol=1e-12)


@pytest.mark.parametrize("kind", ["linear", "everything"])
def test_tasks_with_the_same_chances_draw_separately(kind):
    q = np.arange(1.0, R + 1)
    q /= q.sum()
    mixture = Mixture(some(kind), q, sample())
    sparse = mixture.sparsify(5)
    wide = Mixture(some(kind), np.repeat(q[:, None], K, axis=1), sample()).sparsify(5)
    assert sparse.probabilities.shape[1] == K
    np.testing.assert_array_equal(sparse.decision_probability(X), wide.decision_probability(X))
    one = mixture.sparsify(1)
    decided = [hypothesis.decide(X) for hypothesis in mixture.hypotheses]
    own = one.decision_probability(X)
    used = {
        next(n for n, table in enumerate(decided) if (table[:, task] == own[:, task]).all())
        for task in range(K)
    }
    assert len(used) > 1


@pytest.mark.parametrize("r", [1, 2, 3, 7, 50])
def test_chances_are_multiples_of_one_in_r(r):
    sparse = Mixture(some("everything"), draw(), sample()).sparsify(r)
    steps = sparse.probabilities * r
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    np.testing.assert_allclose(sparse.probabilities.sum(axis=0), 1.0, atol=1e-12)
    assert (np.count_nonzero(sparse.probabilities, axis=0) <= r).all()
    assert len(sparse.hypotheses) <= r


def test_one_draw_fixes_one_classifier_for_each_task():
    mixture = Mixture(some("everything"), draw(), sample())
    fixed = mixture.sparsify(1, random_state=5)
    assert fixed.is_fixed
    assert not mixture.is_fixed
    assert len(fixed.hypotheses) == 1
    chances = fixed.decision_probability(X)
    assert set(np.unique(chances)) <= {0.0, 1.0}
    for ids in (None, np.arange(len(X))):
        np.testing.assert_array_equal(fixed.predict(X, ids), chances)
    # Only classifiers with a chance in the task are drawn.
    decided = np.array([hypothesis.decide(X) for hypothesis in mixture.hypotheses])
    for task in range(K):
        possible = decided[mixture.probabilities[:, task] > 0, :, task]
        assert (possible == chances[:, task]).all(axis=1).any()


@pytest.mark.parametrize("r", [1, 5, 100])
def test_a_task_without_a_choice_stays_as_it_is(r):
    mixture = coins(4, np.array([0.0, 1.0, 0.5, 1.0]))
    for seed in range(20):
        shares = shares_of_1(mixture.sparsify(r, random_state=seed))
        np.testing.assert_array_equal(shares[[0, 1, 3]], [0.0, 1.0, 1.0])
    fixed = Mixture.fixed(Constant(True, 3), Sample([[0.0]], [[0, 1, 0]]))
    np.testing.assert_array_equal(fixed.sparsify(r).decision_probability([[0.0]]), 1.0)


def test_draws_have_the_chances_of_their_task():
    chances = np.array([0.02, 0.3, 0.5, 0.9])
    r = 10
    heads = r * np.array(
        [shares_of_1(coins(4, chances).sparsify(r, random_state=s)) for s in SEEDS]
    )
    heads = np.round(heads).astype(int)
    for task, chance in enumerate(chances):
        tail = stats.binomtest(int(heads[:, task].sum()), r * len(SEEDS), chance).pvalue
        assert tail > RARE
        # Draws of one task are independent: the counts spread as binomial counts do.
        spread = heads[:, task].var() / (r * chance * (1 - chance))
        assert spread == pytest.approx(1.0, abs=0.4)


def test_tasks_draw_independently():
    tasks = 30
    sides = np.array([shares_of_1(coins(tasks).sparsify(1, random_state=s)) for s in SEEDS])
    correlations = np.corrcoef(sides.T)[np.triu_indices(tasks, 1)]
    assert np.abs(correlations).max() < stats.norm.isf(RARE / tasks**2) / math.sqrt(len(SEEDS))
    # The number of ones among all tasks spreads as for independent coins.
    assert sides.sum(axis=1).var() == pytest.approx(tasks / 4, rel=0.4)


@pytest.mark.parametrize("r", [1, 6])
def test_the_order_of_the_tasks_and_the_other_tasks_do_not_matter(r):
    names = [f"task {task}" for task in range(40)]
    chances = np.linspace(0.1, 0.9, 40)
    all_tasks = shares_of_1(coins(40, chances, names).sparsify(r, random_state=2))
    order = np.random.default_rng(0).permutation(40)
    shuffled = coins(40, chances[order], [names[task] for task in order])
    np.testing.assert_array_equal(
        shares_of_1(shuffled.sparsify(r, random_state=2)), all_tasks[order]
    )
    few = coins(3, chances[37:], names[37:]).sparsify(r, random_state=2)
    np.testing.assert_array_equal(shares_of_1(few), all_tasks[37:])
    renamed = coins(40, chances, [f"other {name}" for name in names])
    assert (shares_of_1(renamed.sparsify(r, random_state=2)) != all_tasks).any()


def test_draws_depend_on_the_seed_alone():
    mixture = coins(40)
    one, same, other = (shares_of_1(mixture.sparsify(3, random_state=seed)) for seed in (7, 7, 8))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    # A seed of NumPy is the same seed.
    np.testing.assert_array_equal(shares_of_1(mixture.sparsify(3, random_state=np.int64(7))), one)


def test_a_larger_r_begins_with_the_draws_of_a_smaller_one():
    q = draw()
    names = [str(task) for task in range(K)]
    counts = [count_draws(q, r, 0, names) for r in range(1, 12)]
    steps = np.diff(counts, axis=0)
    assert (steps >= 0).all()
    assert (steps.sum(axis=1) == 1).all()


def test_many_draws_come_close_to_the_mixture():
    mixture = Mixture(some("everything"), draw(), sample())
    r = 4000
    off = mixture.sparsify(r).decision_probability(X) - mixture.decision_probability(X)
    assert 0 < np.abs(off).max() < math.sqrt(math.log(2 * off.size / RARE) / (2 * r))


def test_chances_that_add_up_by_rounding_draw_nothing_else():
    # Sums may be off by rounding; the last possibility takes the rest, the impossible ones nothing.
    q = np.array([[0.0], [0.1], [0.2], [0.7 - 4e-10], [0.0]])
    counts = count_draws(q, 50_000, 0, ["task"])[:, 0]
    assert counts.sum() == 50_000
    assert counts[0] == counts[4] == 0
    assert stats.chisquare(counts[1:4], 50_000 * np.array([0.1, 0.2, 0.7])).pvalue > RARE


def test_a_sparse_mixture_keeps_names_features_and_seed(tmp_path):
    people = make_synthetic(n=40, m=12, random_state=0)
    model = AverageFairClassifier(alpha=0.1, decisions="drawn", random_state=4)
    mixture = model.fit(people.X, people.Y).classifiers_
    sparse = mixture.sparsify(2)
    for name in ("task_names", "named_tasks", "feature_names", "feature_count", "seed"):
        assert getattr(sparse, name) == getattr(mixture, name)
    before = mixture.decision_probability(people.X)
    sparse.save(tmp_path / "sparse.model")
    mixture.save(tmp_path / "whole.model")
    wanted = sparse.decision_probability(people.X)
    loaded = load(tmp_path / "sparse.model")
    np.testing.assert_array_equal(loaded.decision_probability(people.X), wanted)
    again = load(tmp_path / "whole.model").sparsify(2)
    np.testing.assert_array_equal(again.decision_probability(people.X), wanted)
    np.testing.assert_array_equal(mixture.decision_probability(people.X), before)


def test_later_tasks_can_be_sparse_too():
    people = make_synthetic(n=40, m=12, m_holdout=6, random_state=0)
    model = AverageFairClassifier(alpha=0.1, decisions="drawn", random_state=4)
    later = model.fit(people.X, people.Y).extend(people.Y_new_tasks)
    assert later.probabilities.ndim == 1
    fixed = later.sparsify(1)
    assert fixed.is_fixed
    assert fixed.task_names == later.task_names


@pytest.mark.parametrize("r", [0, -1, 1.5, 2.0, None, True, "3"], ids=str)
def test_r_must_be_a_whole_number(r):
    with pytest.raises(InputError, match="`r` must be a whole number"):
        coins(2).sparsify(r)


@pytest.mark.parametrize("seed", [-1, 1.5, None, "x"], ids=str)
def test_the_seed_must_be_a_whole_number(seed):
    with pytest.raises(InputError, match="`random_state` must be a whole number, 0 or more"):
        coins(2).sparsify(2, random_state=seed)


# --- the theorem ---------------------------------------------------------------------------------


CASES = {
    "error, complete": (np.ones(60), lambda labels, blank: np.ones(labels.shape)),
    "error, blanks": (np.ones(60), lambda labels, blank: 1.0 - blank),
    "false positives": (np.ones(60), lambda labels, blank: 1.0 * (labels == 0)),
    "task weights": (np.r_[np.full(10, 5.0), np.ones(50)], lambda labels, blank: 1.0 - blank),
}


@pytest.mark.parametrize(("weights", "count"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("r", [1, 4])
def test_draws_move_rates_by_as_much_as_the_bound_says(weights, count, r):
    """Coin flips in every task: the bound holds, and no bound much smaller would."""
    n, m, delta, runs = 50, 60, 0.1, 300
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, size=(n, m))
    counted = count(labels, rng.random((n, m)) < 0.4)
    tasks = theory.effective_tasks(counted, task_weights=weights)
    bounds = np.array([theory.draws_deviation(n, own, r, delta) for own in tasks])
    share = counted * weights
    share = share / share.sum(axis=1, keepdims=True)
    mixture = coins(m)
    worst = np.empty(runs)
    for seed in range(runs):
        ones = shares_of_1(mixture.sparsify(r, random_state=seed))
        wrong = np.where(labels == 1, 1.0 - ones, ones)
        worst[seed] = np.max(np.abs((share * wrong).sum(axis=1) - 0.5) / bounds)
    failures = int((worst > 1.0).sum())
    assert stats.binomtest(failures, runs, delta, alternative="greater").pvalue > RARE
    # Qualitatively tight: half of the bound is exceeded in most runs.
    assert (worst > 1 / 2).mean() > 0.5


def test_the_overall_error_moves_with_the_rates():
    n, m, delta, runs = 30, 40, 0.1, 300
    people = make_synthetic(n=n, m=m, random_state=0)
    mixture = coins(m)
    moved, errors = np.empty(runs), np.empty(runs)
    for seed in range(runs):
        ones = shares_of_1(mixture.sparsify(1, random_state=seed))
        change = (people.Y != ones).mean(axis=1) - 0.5
        moved[seed], errors[seed] = np.abs(change).max(), abs(change.mean())
    assert (errors <= moved + 1e-12).all()
    # For the error alone there is no union over people.
    assert (errors > theory.draws_deviation(1, m, 1, delta)).mean() <= delta


def test_only_drawn_cells_move_rates():
    """Where few cells are drawn, the effective number of tasks is far larger than m."""
    n, m, delta, runs = 40, 100, 0.1, 300
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, size=(n, m))
    chance = np.where(np.arange(m) < 10, 0.5, 1.0)
    drawn = np.broadcast_to(chance == 0.5, (n, m))
    tasks = theory.effective_tasks(np.ones((n, m)), drawn=drawn)
    np.testing.assert_allclose(tasks, m**2 / 10)
    bound = theory.draws_deviation(n, tasks.min(), 1, delta)
    assert bound < theory.draws_deviation(n, m, 1, delta) / 3
    mixture = coins(m, chance)
    expected = np.abs(labels - chance).mean(axis=1)
    worst = np.array(
        [
            np.abs((labels != shares_of_1(mixture.sparsify(1, random_state=s))).mean(1) - expected)
            for s in range(runs)
        ]
    ).max(axis=1)
    failures = int((worst > bound).sum())
    assert stats.binomtest(failures, runs, delta, alternative="greater").pvalue > RARE
    assert (worst > bound / 2).mean() > 0.5
