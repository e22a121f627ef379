"""Chances of each task: mixtures and joined hypotheses decide as loops by hand do."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from averagefair import InputError, Mixture, Sample
from averagefair.game.constant_classifiers import Constant, constants
from averagefair.game.per_task_choice import PerTaskChoice, choose_per_task
from averagefair.game.protocols import Hypothesis
from averagefair.oracles.finite import Choices
from averagefair.oracles.linear import LinearThresholds
from averagefair.oracles.portfolio import cheapest
from averagefair.oracles.stump import Stumps
from averagefair.oracles.weighted import FittedClassifiers
from averagefair.people.backends import to_host

N, D, K, R = 50, 3, 7, 9
X = np.random.default_rng(0).normal(size=(N, D))
LISTED = (lambda x: x[:, 0] > 0, lambda x: x[:, 1] < 0.2, lambda x: np.ones(len(x)))


@dataclass(frozen=True)
class Cuts(Hypothesis):
    """A user's class that cannot be joined: decides 1 above one threshold for each task."""

    above: tuple

    def decide(self, features):
        return features[:, :1] > np.array(self.above)

    def key(self):
        return self.above


def sample(tasks=K):
    labels = np.random.default_rng(1).integers(0, 2, size=(N, tasks))
    return Sample(X, labels, task_names=[f"task {task}" for task in range(tasks)])


def linear(rng, tasks=K):
    return LinearThresholds(rng.normal(size=(D, tasks)), rng.normal(size=tasks))


def stumps(rng, tasks=K):
    up = rng.integers(0, 2, size=tasks).astype(bool)
    return Stumps(rng.integers(0, D, size=tasks), rng.normal(size=tasks), up)


def trees(rng, tasks=K):
    fitted = [
        DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, rng.integers(0, 2, size=N))
        for _ in range(tasks)
    ]
    return FittedClassifiers([True, *fitted[1:]])


def choices(rng, tasks=K):
    return Choices(LISTED, rng.integers(0, len(LISTED), size=tasks))


def cuts(rng, tasks=K):
    return Cuts(tuple(rng.normal(size=tasks).tolist()))


def nested(rng, tasks=K):
    members = [linear(rng, tasks), stumps(rng, tasks), cuts(rng, tasks)]
    return PerTaskChoice(members, rng.integers(0, 3, size=tasks))


def constant(rng, tasks=K):
    return Constant(bool(rng.integers(0, 2)), tasks)


KINDS = {
    "linear": [linear],
    "stumps": [stumps],
    "trees": [trees],
    "finite": [choices],
    "a user's own": [cuts],
    "choices": [nested],
    "constants": [constant],
    "linear, constants": [linear, constant],
    "stumps, constants": [stumps, constant],
    "trees, constants": [trees, constant],
    "finite, constants": [choices, constant],
    "everything": [linear, stumps, trees, choices, cuts, nested, constant],
}


@cache
def some(kind, tasks=K):
    """Return R hypotheses of these kinds."""
    rng = np.random.default_rng(len(kind))
    return [KINDS[kind][place % len(KINDS[kind])](rng, tasks) for place in range(R)]


def draw(seed=0, count=R, tasks=K):
    """Draw chances of shape (count, tasks): some tasks have one hypothesis, others several."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(size=(count, tasks))
    for task in range(tasks):
        few = rng.permutation(count)[: 1 + task % 4]
        q[np.setdiff1d(np.arange(count), few), task] = 0.0
    return q / q.sum(axis=0)


def by_hand(hypotheses, q, features):
    """Return the chances of deciding 1, cell by cell."""
    decisions = [np.asarray(hypothesis.decide(features)) for hypothesis in hypotheses]
    out = np.zeros((len(features), q.shape[1]))
    for person in range(len(features)):
        for task in range(q.shape[1]):
            for number, decided in enumerate(decisions):
                if decided[person, task]:
                    out[person, task] += q[number, task]
    return out


# --- mixtures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [Mixture, Mixture.by_task], ids=["plain", "by task"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_task_is_mixed_by_its_own_chances(kind, make):
    q = draw()
    mixture = make(some(kind), q, sample(), 5)
    wanted = by_hand(some(kind), q, X)
    np.testing.assert_allclose(mixture.decision_probability(X), wanted, rtol=0, atol=1e-12)
    np.testing.assert_allclose(mixture.chances(X), wanted, rtol=0, atol=1e-12)
    assert mixture.seed == 5
    assert mixture.probabilities.shape == (len(mixture.hypotheses), K)
    assert repr(mixture) == f"Mixture({len(mixture.hypotheses)} hypotheses for {K} tasks)"


@pytest.mark.parametrize("kind", KINDS)
def test_the_loop_by_hand_can_fail(kind):
    q = draw()
    mixture = Mixture.by_task(some(kind), q, sample())
    other = by_hand(some(kind), np.roll(q, 1, axis=0), X)
    assert np.abs(mixture.decision_probability(X) - other).max() > 1e-3


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "constants"])
def test_layers_are_as_many_as_the_classifiers_of_one_task(kind):
    q = draw()
    mixture = Mixture.by_task(some(kind), q, sample())
    assert len(mixture.hypotheses) == max(np.count_nonzero(q, axis=0)) < R
    falling = np.diff(mixture.probabilities, axis=0)
    assert (falling <= 0).all(), "a later layer is more likely"


def test_ties_go_to_the_earlier_hypothesis():
    first, second = some("linear")[:2]
    mixture = Mixture.by_task([first, second], np.full((2, K), 0.5), sample())
    assert [one.key() for one in mixture.hypotheses] == [first.key(), second.key()]
    turned = Mixture.by_task([second, first], np.full((2, K), 0.5), sample())
    assert [one.key() for one in turned.hypotheses] == [second.key(), first.key()]


PACKED = {
    "linear": LinearThresholds,
    "linear, constants": LinearThresholds,
    "stumps": Stumps,
    "stumps, constants": Stumps,
    "trees": FittedClassifiers,
    "trees, constants": FittedClassifiers,
    "finite": Choices,
}


@pytest.mark.parametrize(("kind", "packed"), PACKED.items(), ids=PACKED)
def test_layers_keep_the_class_of_the_hypotheses(kind, packed):
    mixture = Mixture.by_task(some(kind), draw(), sample())
    assert {type(one) for one in mixture.hypotheses} <= {packed, Constant}
    assert packed in {type(one) for one in mixture.hypotheses}


def test_equal_hypotheses_are_merged_task_by_task():
    first, second = some("linear")[:2]
    same = LinearThresholds(first.coefficients.copy(), first.intercepts.copy())
    q = draw(2, 3)
    for make in (Mixture, Mixture.by_task):
        mixture = make([first, second, same], q, sample())
        assert len(mixture.hypotheses) == 2
        wanted = by_hand([first, second, same], q, X)
        np.testing.assert_allclose(mixture.decision_probability(X), wanted, rtol=0, atol=1e-12)
    mixture = Mixture([first, second, same], q, sample())
    np.testing.assert_array_equal(mixture.probabilities, [q[0] + q[2], q[1]])


@pytest.mark.parametrize("q", [[0.25, 0.0, 0.75], np.repeat([[0.25], [0.0], [0.75]], K, axis=1)])
def test_hypotheses_without_a_chance_are_dropped(q):
    first, second, third = some("linear")[:3]
    mixture = Mixture([first, second, third], q, sample())
    assert mixture.hypotheses == (first, third)
    np.testing.assert_array_equal(mixture.probabilities, np.delete(np.asarray(q), 1, axis=0))


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_chances_in_every_task_add_up_as_before(kind):
    """One chance for each hypothesis: the same sum in the same order, to the last bit."""
    q = np.random.default_rng(3).dirichlet(np.ones(R))
    mixture = Mixture(some(kind), q, sample())
    total = 0.0
    for chance, hypothesis in zip(mixture.probabilities.tolist(), mixture.hypotheses, strict=True):
        total = total + chance * hypothesis.decide(X).astype(np.float64)
    wanted = np.where(total > 1.0 - 1e-12, 1.0, total)
    np.testing.assert_array_equal(mixture.decision_probability(X), wanted)
    assert all(isinstance(chance, float) for chance, _ in mixture.parts())
    packed = Mixture.by_task(some(kind), q, sample())
    np.testing.assert_array_equal(packed.decision_probability(X), wanted)


def test_parts_have_the_chances_of_all_tasks():
    mixture = Mixture.by_task(some("everything"), draw(), sample())
    total = sum(chance * hypothesis.decide(X) for chance, hypothesis in mixture.parts())
    np.testing.assert_allclose(total, mixture.decision_probability(X), atol=1e-12)
    assert all(chance.shape == (K,) for chance, _ in mixture.parts())


def test_all_ones_are_certain_whatever_the_rounding():
    ones = [Cuts((-9.0 - number,) * K) for number in range(49)]
    mixture = Mixture(ones, np.full((49, K), 1 / 49), sample())
    assert (mixture.decision_probability(X) == 1.0).all()


def test_certain_decisions_are_drawn():
    """With one classifier for each task, draws are its decisions."""
    which = np.arange(K) % R
    q = (np.arange(R)[:, None] == which).astype(float)
    mixture = Mixture.by_task(some("everything"), q, sample())
    wanted = [some("everything")[number].decide(X)[:, task] for task, number in enumerate(which)]
    np.testing.assert_array_equal(mixture.predict(X), np.stack(wanted, axis=1))
    assert len(mixture.hypotheses) == 1


def test_draws_have_the_chances_of_their_task():
    q = draw()
    seeds = [Mixture.by_task(some("linear"), q, sample(), seed).predict(X) for seed in range(400)]
    wanted = by_hand(some("linear"), q, X)
    assert np.abs(np.mean(seeds, axis=0) - wanted).max() < 5 * np.sqrt(0.25 / 400)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("kind", ["linear", "linear, constants", "constants"])
def test_other_array_libraries_decide_like_numpy(library, kind):
    xp = pytest.importorskip(library, reason=f"{library} is not installed")
    q = draw()
    for make in (Mixture, Mixture.by_task):
        mixture = make(some(kind), q, sample())
        found = mixture.decision_probability(xp.asarray(X))
        assert type(found) is type(xp.asarray(X))
        np.testing.assert_allclose(to_host(found), by_hand(some(kind), q, X), rtol=0, atol=1e-12)
        drawn = to_host(mixture.predict(xp.asarray(X)))
        np.testing.assert_array_equal(drawn, mixture.predict(X))
    # Chances may be in that library too.
    there = Mixture.by_task(some(kind), xp.asarray(q), sample())
    np.testing.assert_array_equal(there.probabilities, mixture.probabilities)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_a_choice_takes_other_array_libraries(library):
    xp = pytest.importorskip(library, reason=f"{library} is not installed")
    choice, columns = np.array([1, 0, 1, 1]), np.array([2, 0, 2, 5])
    chosen = PerTaskChoice([Constant(True, 3), some("linear")[0]], choice, columns)
    assert chosen.decides_anywhere
    found = chosen.decide(xp.asarray(X))
    assert type(found) is type(xp.asarray(X))
    np.testing.assert_array_equal(to_host(found), chosen.decide(X))


def test_dask_decides_lazily():
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    mixture = Mixture.by_task(some("everything"), draw(), sample())
    lazy = da.from_array(X, chunks=(17, D))
    found = mixture.decision_probability(lazy)
    assert isinstance(found, da.Array)
    np.testing.assert_array_equal(found.compute(), mixture.decision_probability(X))
    np.testing.assert_array_equal(mixture.predict(lazy).compute(), mixture.predict(X))


def off(change):
    q = draw(0, 2)
    return change(q)


OFF_SIMPLEX = {
    "one task short": off(lambda q: q * np.where(np.arange(K) == 3, 0.9, 1.0)),
    "short by little": off(lambda q: q * (1 - 1e-8)),
    "tasks that cancel": off(lambda q: q * np.where(np.arange(K) < 2, [[0.5], [0.5]], 1.0)),
    "one negative": off(lambda q: q + np.outer([1, -1], np.arange(K) == 2)),
    "no number": off(lambda q: np.where(np.arange(K) == 1, np.nan, q)),
    "infinite": off(lambda q: np.where(np.arange(K) == 1, np.inf, q)),
    "fewer tasks": off(lambda q: q[:, 1:]),
    "more tasks": off(lambda q: np.hstack([q, q[:, :1]])),
    "fewer hypotheses": off(lambda q: q[:1]),
    "turned round": off(lambda q: q.T),
    "three dimensions": off(lambda q: q[:, :, None]),
    "words": [["half"] * K] * 2,
    "complex": off(lambda q: q + 0j),
}


@pytest.mark.parametrize("chances", OFF_SIMPLEX.values(), ids=OFF_SIMPLEX)
@pytest.mark.parametrize("make", [Mixture, Mixture.by_task], ids=["plain", "by task"])
def test_chances_off_the_simplex_of_a_task_are_refused(make, chances):
    with pytest.raises(InputError, match="probabilities"):
        make(some("linear")[:2], chances, sample())
    make(some("linear")[:2], draw(0, 2), sample())


# --- one hypothesis made of several --------------------------------------------------------------


def chosen_by_hand(hypotheses, choice, columns, features):
    decisions = [hypothesis.decide(features) for hypothesis in hypotheses]
    out = np.empty((len(features), len(choice)), dtype=bool)
    for task, (number, column) in enumerate(zip(choice, columns, strict=True)):
        for person in range(len(features)):
            out[person, task] = decisions[number][person, column]
    return out


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [PerTaskChoice, choose_per_task])
def test_each_task_is_decided_by_its_choice(make, kind):
    rng = np.random.default_rng(4)
    for count in (1, K, 20):
        choice, columns = rng.integers(0, R, count), rng.integers(0, K, count)
        found = make(some(kind), choice, columns)
        wanted = chosen_by_hand(some(kind), choice, columns, X)
        np.testing.assert_array_equal(found.decide(X), wanted)
        again = make([found, *some(kind)], np.zeros(count, int), np.arange(count))
        np.testing.assert_array_equal(again.decide(X), wanted)
        assert make(some(kind), choice.copy(), columns.copy()).key() == found.key()
    choice = rng.integers(0, R, K)
    found = make(some(kind), choice)
    np.testing.assert_array_equal(found.decide(X), chosen_by_hand(some(kind), choice, range(K), X))


def test_the_choice_by_hand_can_fail():
    rng = np.random.default_rng(4)
    choice, columns = rng.integers(0, R, 20), rng.integers(0, K, 20)
    found = choose_per_task(some("everything"), choice, columns).decide(X)
    others = (choice, np.roll(columns, 1)), (np.roll(choice, 1), columns)
    for other in others:
        assert (found != chosen_by_hand(some("everything"), *other, X)).any()


@pytest.mark.parametrize("kind", KINDS)
def test_classifiers_of_two_sets_of_tasks_are_joined(kind):
    choice, columns = np.repeat([0, 1], [K, 4]), [*range(K), *range(4)]
    for one, other in zip(some(kind), some(kind, 4), strict=True):
        found = choose_per_task([one, other], choice, columns)
        both = np.hstack([one.decide(X), other.decide(X)])
        np.testing.assert_array_equal(found.decide(X), both)
        if type(one) is type(other) in (LinearThresholds, Stumps, FittedClassifiers, Choices):
            assert type(found) is type(one)


def test_two_constants_are_linear_beside_a_linear_hypothesis():
    zero, one = constants(K)
    choice = np.arange(K) % 2
    found = choose_per_task([zero, one, some("linear")[0]], choice)
    assert isinstance(found, LinearThresholds)
    np.testing.assert_array_equal(found.coefficients, np.zeros((D, K)))
    np.testing.assert_array_equal(found.intercepts, np.where(choice, -1.0, 1.0))
    np.testing.assert_array_equal(found.decide(X), np.tile(choice == 1, (N, 1)))
    alone = choose_per_task([zero, one], choice)
    np.testing.assert_array_equal(alone.decide(X), np.tile(choice == 1, (N, 1)))


def test_one_hypothesis_for_all_tasks_is_returned_itself():
    for hypothesis in some("everything"):
        assert choose_per_task([some("linear")[0], hypothesis], np.ones(K, int)) is hypothesis


def test_a_choice_holds_only_what_decides():
    inner = some("choices")[0]
    outer = PerTaskChoice([some("trees")[0], inner, cuts(np.random.default_rng(0))], [1] * K)
    assert {type(one) for one in outer.hypotheses} <= {LinearThresholds, Stumps, Cuts}
    assert len(outer.hypotheses) <= 3
    twice = PerTaskChoice([outer, some("constants")[0]], [0] * (K - 1) + [1])
    assert not any(isinstance(one, PerTaskChoice) for one in twice.hypotheses)


class Counted:
    """A classifier that counts how often it is asked."""

    asked = 0

    def predict(self, features):
        Counted.asked += 1
        return np.zeros(len(features), dtype=int)


def test_only_the_chosen_classifiers_are_asked():
    fitted = [FittedClassifiers([Counted() for _ in range(K)]) for _ in range(5)]
    labels = [FittedClassifiers([Counted() for _ in range(K)], (0, 2)) for _ in range(5)]
    rng = np.random.default_rng(0)
    for members in (fitted, [*fitted, *labels], [*fitted, *some("stumps")]):
        choice = rng.integers(0, len(members), K)
        own = np.count_nonzero([isinstance(members[one], FittedClassifiers) for one in choice])
        Counted.asked = 0
        choose_per_task(members, choice).decide(X)
        assert Counted.asked == own
    Counted.asked = 0
    fitted[0].decide(X)
    assert Counted.asked == K  # the count works


def test_a_choice_decides_anywhere_if_all_its_members_do():
    anywhere = [some("linear")[0], Constant(True, K)]
    choice = np.arange(K) % 2
    assert PerTaskChoice(anywhere, choice).decides_anywhere
    assert not PerTaskChoice([anywhere[0], some("stumps")[0]], choice).decides_anywhere
    # A member that decides nothing does not count.
    assert PerTaskChoice([*anywhere, some("stumps")[0]], choice).decides_anywhere


def test_different_choices_have_different_keys():
    members = some("a user's own")[:2]
    options = [
        PerTaskChoice(members, [0, 1, 0]),
        PerTaskChoice(members, [0, 1, 1]),
        PerTaskChoice(members, [0, 1, 0], [0, 1, 1]),
        PerTaskChoice(members[::-1], [0, 1, 0]),
    ]
    assert len({one.key() for one in options}) == 4


BAD_CHOICES = {
    "a position too far": ([0, 2], None),
    "a position before the first": ([0, -1], None),
    "a column before the first": ([0, 1], [0, -1]),
    "fewer columns": ([0, 1], [0]),
    "a table": ([[0, 1]], None),
    "no task": ([], []),
}


@pytest.mark.parametrize(("choice", "columns"), BAD_CHOICES.values(), ids=BAD_CHOICES)
def test_a_choice_of_nothing_is_refused(choice, columns):
    with pytest.raises(InputError, match="choice"):
        PerTaskChoice(some("linear")[:2], choice, columns)


@pytest.mark.parametrize("kind", KINDS)
def test_the_cheapest_answer_is_chosen_for_each_task(kind):
    costs = np.random.default_rng(8).integers(0, 4, size=(R, K)).astype(float)
    found = cheapest(some(kind), costs)
    first = [int(np.flatnonzero(column == column.min())[0]) for column in costs.T]
    np.testing.assert_array_equal(found.decide(X), chosen_by_hand(some(kind), first, range(K), X))
