"""Stable draws: one number for each seed, person and task, whatever the other rows and columns."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from averagefair import InputError, Mixture, Sample
from averagefair.game.protocols import Hypothesis
from averagefair.people.draws import id_keys, person_keys, task_keys, uniform

MANY = 100_000
UNLIKELY = 1e-4
"""With sound draws a test fails with this probability; seeds are fixed, so it never flickers."""


def draws(ids, tasks=("loan",), seed=0):
    return uniform(seed, id_keys(ids), task_keys(tasks))


@dataclass(frozen=True)
class Everybody(Hypothesis):
    """Makes the same decision for everybody in each of k tasks."""

    answers: tuple[bool, ...]

    def decide(self, features):
        return np.tile(np.array(self.answers), (len(features), 1))

    def key(self):
        return self.answers


def coins(chances, seed=0, task_names=None):
    """Return a mixture that decides 1 with these chances, one for each task."""
    edges = np.unique([0.0, *chances, 1.0])
    hypotheses = [Everybody(tuple(chance > low for chance in chances)) for low in edges[:-1]]
    sample = Sample(np.zeros((2, 1)), np.zeros((2, len(chances))), task_names=task_names)
    return Mixture(hypotheses, np.diff(edges), sample, seed)


# --- what a draw depends on ----------------------------------------------------------------------

IDS = ["ann", "bo", "cy", "di", "eve", "ünsal", "李", ""]
TASKS = ["loan", "rent", "job"]


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**64 - 1])
def test_draws_do_not_depend_on_order_company_or_repetition(seed):
    whole = draws(IDS, TASKS, seed)
    assert whole.shape == (len(IDS), len(TASKS))
    order, columns = [3, 0, 7, 6, 1, 5, 2, 4], [2, 0, 1]
    shuffled = draws([IDS[i] for i in order], [TASKS[j] for j in columns], seed)
    np.testing.assert_array_equal(shuffled, whole[np.ix_(order, columns)])
    np.testing.assert_array_equal(draws(IDS, TASKS, seed), whole)
    np.testing.assert_array_equal(draws(IDS[2:5], TASKS, seed), whole[2:5])
    np.testing.assert_array_equal(draws(IDS, TASKS[1:2], seed), whole[:, 1:2])
    np.testing.assert_array_equal(draws([*IDS, "x" * 500], TASKS, seed)[:-1], whole)
    one_by_one = np.array([[draws([i], [j], seed)[0, 0] for j in TASKS] for i in IDS])
    np.testing.assert_array_equal(one_by_one, whole)


def test_draws_change_with_seed_person_and_task():
    names = [f"{letter}{number}" for letter in "abcdefgh" for number in range(30)]
    everything = np.stack([draws(names, names[:20], seed) for seed in range(20)])
    assert np.unique(everything).size == everything.size


NUMBERS = [10, 7, 123456789012]
TEXTS = ["10", "7", "123456789012"]


def container(ids):
    return f"{type(ids).__module__}-{getattr(ids, 'dtype', '')}"


@pytest.mark.parametrize(
    "same",
    [
        NUMBERS,
        tuple(TEXTS),
        [10.0, "7", np.int64(123456789012)],
        np.array(NUMBERS),
        np.array(NUMBERS, dtype=np.uint64),
        np.array(NUMBERS, dtype=float),
        np.array(TEXTS, dtype=object),
        np.array(NUMBERS, dtype=object),
        pd.Series(NUMBERS),
        pd.Series(NUMBERS, dtype=float),
        pd.Series(NUMBERS, dtype="Int64"),
        pd.Series(TEXTS),
        pd.Index(TEXTS),
        pl.Series(NUMBERS),
        pl.Series(TEXTS),
    ],
    ids=container,
)
def test_an_id_is_its_text_whatever_holds_it(same):
    np.testing.assert_array_equal(id_keys(same), id_keys(TEXTS))


@pytest.mark.parametrize("width", [np.int8, np.int16, np.int64, np.uint8, np.float32])
def test_whole_numbers_of_any_width_are_the_same_person(width):
    np.testing.assert_array_equal(id_keys(np.arange(100, dtype=width)), id_keys(range(100)))


def test_ids_that_look_alike_are_different_people():
    alike = ["1", "01", "1.5", "11", "111", "-1", " 1", "1 ", "a", "A", "aa", "ab", "ba", "", "0"]
    assert np.unique(id_keys(alike)).size == len(alike)


@pytest.mark.parametrize("company", [2.5, 2.0**60, 2**70, "ann"], ids=repr)
def test_the_ids_of_others_do_not_change_a_persons_draw(company):
    np.testing.assert_array_equal(id_keys([1, company])[:1], id_keys([1]))
    np.testing.assert_array_equal(id_keys((company, 1))[1:], id_keys([1]))


@pytest.mark.parametrize(
    "ids",
    [
        ["ann", None],
        ("ann", np.nan),
        [1, np.nan],
        [1, pd.NA],
        np.array([1.0, np.nan]),
        pd.Series([1, None]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series(["ann", None]),
        pl.Series([1, None]),
        pl.Series(["ann", None]),
    ],
    ids=container,
)
def test_a_missing_id_is_refused(ids):
    with pytest.raises(InputError, match="ids must not be blank; position 1"):
        id_keys(ids)


@pytest.mark.parametrize("ids", [[[1, 2]], np.zeros((2, 2)), 5], ids=str)
def test_ids_must_be_a_list(ids):
    with pytest.raises(InputError, match="ids must be a list with one id for each person"):
        id_keys(ids)


def test_nobody_gets_no_draws():
    assert draws([], TASKS).shape == (0, len(TASKS))


# --- people known by their features --------------------------------------------------------------


def test_people_are_known_by_what_their_row_holds():
    X = np.random.default_rng(0).normal(size=(50, 4))
    keys = person_keys(X)
    order = np.random.default_rng(1).permutation(50)
    assert np.unique(keys).size == 50
    np.testing.assert_array_equal(person_keys(X[order]), keys[order])
    np.testing.assert_array_equal(person_keys(X[7:8]), keys[7:8])
    np.testing.assert_array_equal(person_keys(np.asfortranarray(X)), keys)
    np.testing.assert_array_equal(person_keys(X[::2]), keys[::2])


def test_minus_zero_is_zero():
    np.testing.assert_array_equal(person_keys(np.array([[-0.0, 1.0]])), person_keys([[0.0, 1.0]]))
    mixture = coins([0.5] * 64)
    np.testing.assert_array_equal(mixture.predict([[-0.0]]), mixture.predict([[0.0]]))


def test_every_value_and_its_place_matter():
    grid = np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0, 2.0]] * 4), axis=-1).reshape(-1, 4)
    assert np.unique(person_keys(grid)).size == len(grid)
    nudged = np.nextafter(1.0, 2.0)
    assert person_keys([[1.0, 0.0]]) != person_keys([[nudged, 0.0]])


# --- how draws are spread ------------------------------------------------------------------------


def assert_uniform(sample):
    assert sample.min() >= 0
    assert sample.max() < 1
    assert stats.kstest(sample, "uniform").pvalue > UNLIKELY
    counts = np.bincount((sample * 256).astype(int), minlength=256)
    assert stats.chisquare(counts).pvalue > UNLIKELY
    fine = np.bincount(((sample * 2**30) % 256).astype(int), minlength=256)
    assert stats.chisquare(fine).pvalue > UNLIKELY


def assert_independent(one, other):
    correlation = np.corrcoef(one, other)[0, 1]
    assert abs(correlation) < stats.norm.isf(UNLIKELY / 2) / np.sqrt(len(one))
    table, *_ = np.histogram2d(one, other, bins=16, range=[[0, 1], [0, 1]])
    assert stats.chisquare(table.ravel()).pvalue > UNLIKELY


def test_the_judges_can_fail():
    honest = np.random.default_rng(0).random((2, MANY))
    assert_uniform(honest[0])
    assert_independent(*honest)
    with pytest.raises(AssertionError):
        assert_uniform(honest[0] ** 1.02)
    with pytest.raises(AssertionError):
        assert_uniform(np.floor(honest[0] * 1024) / 1024)
    with pytest.raises(AssertionError):
        assert_independent(honest[0], (honest[0] + 0.02 * honest[1]) % 1)
    with pytest.raises(AssertionError):
        assert_independent(honest[0], np.abs(2 * honest[0] - 1))


@pytest.mark.parametrize("seed", [0, 1, 12345])
@pytest.mark.parametrize("task", ["task0", "loan"])
def test_draws_are_uniform_over_people(seed, task):
    assert_uniform(draws(np.arange(MANY), [task], seed)[:, 0])


def test_draws_are_uniform_over_tasks_and_over_seeds():
    assert_uniform(draws([1], [f"task{j}" for j in range(MANY)])[0])
    ann, loan = id_keys(["ann"]), task_keys(["loan"])
    assert_uniform(np.array([uniform(seed, ann, loan)[0, 0] for seed in range(MANY // 10)]))


def test_draws_are_uniform_over_people_known_by_features():
    rng = np.random.default_rng(0)
    signs = 2.0 * rng.integers(0, 2, (MANY, 40)) - 1
    for features in (signs, rng.normal(size=(MANY, 2)), np.arange(MANY, dtype=float)[:, None]):
        assert_uniform(uniform(0, person_keys(features), task_keys(["loan"]))[:, 0])


def test_neighbours_tasks_and_seeds_are_independent():
    table = draws(np.arange(MANY), ["task0", "task1", "task10"])
    assert_independent(table[:-1, 0], table[1:, 0])
    for one, other in [(0, 1), (0, 2), (1, 2)]:
        assert_independent(table[:, one], table[:, other])
    assert_independent(table[:-1, 0], table[1:, 1])
    for seed in (1, 2, 2**20):
        assert_independent(table[:, 0], draws(np.arange(MANY), ["task0"], seed)[:, 0])


def test_one_changed_feature_makes_an_independent_draw():
    X = np.random.default_rng(0).normal(size=(MANY, 3))
    moved = X + np.array([0.0, 0.0, 1e-9])
    loan = task_keys(["loan"])
    assert_independent(
        uniform(0, person_keys(X), loan)[:, 0], uniform(0, person_keys(moved), loan)[:, 0]
    )


# --- decisions -----------------------------------------------------------------------------------

CHANCES = [0.0, 0.001, 0.1, 0.3, 0.5, 0.9, 1.0]


@pytest.mark.parametrize("known_by", ["ids", "features"])
def test_decisions_are_as_frequent_as_their_chances(known_by):
    mixture = coins(CHANCES, seed=3)
    X = np.arange(MANY, dtype=float)[:, None]
    np.testing.assert_allclose(mixture.decision_probability(X[:2]), [CHANCES] * 2, atol=1e-12)
    decisions = mixture.predict(X, ids=np.arange(MANY) if known_by == "ids" else None)
    assert set(np.unique(decisions)) == {0, 1}
    for wanted, column in zip(CHANCES, decisions.T, strict=True):
        if wanted in (0.0, 1.0):
            assert (column == wanted).all()
        else:
            assert stats.binomtest(int(column.sum()), MANY, wanted).pvalue > UNLIKELY


def test_decisions_stay_with_the_person_whatever_the_table():
    mixture = coins([0.5] * 5, task_names=list("abcde"))
    X = np.random.default_rng(0).normal(size=(40, 1))
    ids = [f"person {i}" for i in range(40)]
    whole = mixture.predict(X, ids=ids)
    order = np.random.default_rng(1).permutation(40)
    shuffled = mixture.predict(X[order], ids=[ids[i] for i in order])
    np.testing.assert_array_equal(shuffled, whole[order])
    np.testing.assert_array_equal(mixture.predict(X[:7], ids=ids[:7]), whole[:7])
    np.testing.assert_array_equal(mixture.predict(X + 1, ids=ids), whole)
    np.testing.assert_array_equal(mixture.predict(X, ids=pd.Series(ids)), whole)
    np.testing.assert_array_equal(mixture.predict(X, ids=pl.Series(ids)), whole)
    fewer = coins([0.5] * 2, task_names=["d", "b"])
    np.testing.assert_array_equal(fewer.predict(X, ids=ids), whole[:, [3, 1]])


def test_decisions_change_with_seed_id_and_task_name():
    X, ids = np.zeros((200, 1)), np.arange(200)
    base = coins([0.5], task_names=["a"]).predict(X, ids=ids)
    others = [
        coins([0.5], seed=1, task_names=["a"]).predict(X, ids=ids),
        coins([0.5], task_names=["b"]).predict(X, ids=ids),
        coins([0.5], task_names=["a"]).predict(X, ids=ids + 200),
    ]
    for other in others:
        assert 50 < (base != other).sum() < 150


def test_people_with_the_same_features_share_a_draw_unless_they_have_ids():
    mixture = coins([0.5])
    X = np.zeros((200, 1))
    assert np.unique(mixture.predict(X)).size == 1
    assert np.unique(mixture.predict(X, ids=range(200))).size == 2


def test_a_raised_chance_never_takes_a_decision_back():
    X, ids = np.zeros((1000, 1)), np.arange(1000)
    low, high = (coins([chance]).predict(X, ids=ids) for chance in (0.3, 0.6))
    assert (low <= high).all()
    assert (low < high).any()


@pytest.mark.parametrize("ids", [[1], [1, 2, 3], []], ids=str)
def test_ids_must_be_as_many_as_people(ids):
    with pytest.raises(InputError, match="ids must have one entry for each of the 2 rows"):
        coins([0.5]).predict(np.zeros((2, 1)), ids=ids)
