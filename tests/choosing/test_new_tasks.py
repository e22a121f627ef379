"""Fixed decisions for later tasks, and the balance of what people have had so far."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    InputError,
    RegressionOracle,
    WorstOff,
    load,
)
from averagefair.datasets import make_synthetic
from tests.support.judges import plain_rates


def fit(people, **params):
    params = {
        "oracle": RegressionOracle(),
        "solver": ColumnGeneration(max_rounds=25),
        "random_state": 0,
        "look_first": False,
        "alpha": 0.1,
    } | params
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return AverageFairClassifier(**params).fit(people.X, people.Y)


@pytest.fixture(scope="module")
def people():
    return make_synthetic(n=150, m=30, n_holdout=40, m_holdout=60, random_state=1)


@pytest.fixture(scope="module")
def fitted(people):
    return fit(people)


@pytest.fixture
def model(fitted):
    """A model of its own for each test: ``extend`` changes its balance."""
    return copy.deepcopy(fitted)


def one_by_one(model, people, count, **options):
    """Extend to tasks one after the other; return the decisions about the training people."""
    decided = []
    for task in range(count):
        labels = people.Y_new_tasks[:, [task]]
        later = model.extend(labels, task_names=[f"later {task}"], **options)
        decided.append(later.predict(people.X)[:, 0].astype(float))
    return np.stack(decided, axis=1)


@pytest.mark.parametrize("balance", [True, pytest.param(False, marks=pytest.mark.long)])
def test_the_order_of_new_tasks_does_not_matter(people, fitted, balance):
    names = np.array([f"later {task}" for task in range(60)])
    expected = None
    for seed in range(2):
        order, model = np.random.default_rng(seed).permutation(60), copy.deepcopy(fitted)
        later = model.extend(people.Y_new_tasks[:, order], task_names=names[order], balance=balance)
        made = np.empty((len(people.X_new), 60))
        made[:, order] = later.predict(people.X_new)
        expected = made if expected is None else expected
        np.testing.assert_array_equal(made, expected)


class TestRunningRates:
    @pytest.mark.parametrize("rate", ["error", "false_positive"])
    def test_they_are_those_of_all_decisions_so_far(self, people, rate):
        labels = np.hstack([people.Y, people.Y_new_tasks[:, :4]]).astype(float)
        labels[::7, 2] = labels[3, 31] = labels[5, :] = np.nan
        model = AverageFairClassifier(
            alpha=0.2, oracle=RegressionOracle(), rate=rate, random_state=0, look_first=False
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(people.X, labels[:, :30])
            together = model.extend(labels[:, 30:32], task_names=["a", "b"])
            alone = model.extend(labels[:, 32:], task_names=["c", "d"])
        decided = np.hstack([own.predict(people.X) for own in (model, together, alone)])
        rates = plain_rates(labels, decided.astype(float), rate)
        np.testing.assert_allclose(model.balance_.rates[0], rates, atol=1e-9)
        assert model.balance_.tasks == 34
        assert model.balance_.names == ("a", "b", "c", "d")

    def test_task_weights_count(self, people):
        weights = np.linspace(0.5, 2.0, 30)
        model = AverageFairClassifier(
            alpha=0.2, oracle=RegressionOracle(), random_state=0, look_first=False
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(people.X, people.Y, task_weight=weights)
        rates = plain_rates(people.Y, model.predict(people.X).astype(float), "error", weights)
        np.testing.assert_allclose(model.balance_.rates[0], rates, atol=1e-9)

    def test_with_a_balance_they_stay_nearer(self, people):
        labels = np.hstack([people.Y, people.Y_new_tasks[:, :40]])
        spread, fitted = {}, fit(people, alpha=0.05)
        for balance in (True, False):
            model = copy.deepcopy(fitted)
            learned = model.predict(people.X).astype(float)
            later = one_by_one(model, people, 40, balance=balance)
            spread[balance] = np.ptp(plain_rates(labels, np.hstack([learned, later]), "error"))
        model = fit(people, alpha=0.05, decisions="drawn")
        drawn = model.extend(people.Y_new_tasks[:, :40]).predict(people.X)
        both = np.hstack([model.predict(people.X), drawn]).astype(float)
        assert spread[True] < spread[False]
        assert spread[True] < np.ptp(plain_rates(labels, both, "error"))

    def test_a_single_task_gets_the_best_of_its_answers(self, people, model):
        # With the price of the mapping, the cost is the error plus 16 / n for each unit outside.
        labels, before = people.Y_new_tasks[:, [0]], model.balance_
        answers = [own.decide(people.X) for own in model.mapping_.extend(labels).hypotheses]
        assert len(answers) > 1

        def cost(decided):
            wrong = (decided != labels)[:, 0]
            rates = (before.wrong[0] + wrong) / (before.seen[0] + 1)
            levels = np.concatenate([rates - 0.1, rates + 0.1])
            over = np.maximum(0.0, np.abs(rates - levels[:, None]) - 0.1)
            return wrong.mean() / 31 + 16 * over.mean(axis=1).min()

        chosen = model.extend(labels, task_names=["new"]).predict(people.X)
        assert cost(chosen) <= min(cost(decided) for decided in answers) + 1e-9


class TestBalance:
    def test_the_last_call_can_be_repeated(self, people, model):
        names = ["a", "b", "c"]
        once = model.extend(people.Y_new_tasks[:, :3], task_names=names)
        counted = model.balance_
        again = model.extend(people.Y_new_tasks[:, :3], task_names=names)
        assert (once.predict(people.X_new) == again.predict(people.X_new)).all()
        assert model.balance_.tasks == counted.tasks == 33
        np.testing.assert_array_equal(model.balance_.wrong, counted.wrong)

    def test_an_earlier_task_is_refused(self, people, model):
        model.extend(people.Y_new_tasks[:, :2], task_names=["a", "b"])
        model.extend(people.Y_new_tasks[:, 2:3], task_names=["c"])
        before = model.balance_
        with pytest.raises(InputError, match=r"counted already.*\ba\b.*balance=False"):
            model.extend(people.Y_new_tasks[:, :1], task_names=["a"])
        assert model.balance_ is before

    def test_false_leaves_it_alone(self, people, model):
        before = model.balance_
        later = model.extend(people.Y_new_tasks, balance=False)
        assert model.balance_ is before
        assert later.is_fixed

    def test_measuring_leaves_it_alone(self, people, model):
        from averagefair import held_out

        before = model.balance_
        held_out(
            model, X_new=people.X_new, Y_new_tasks=people.Y_new_tasks, Y_new_both=people.Y_new_both
        )
        assert model.balance_ is before

    def test_a_file_goes_on_where_the_model_was(self, people, model, tmp_path):
        model.extend(people.Y_new_tasks[:, :5], task_names=list("abcde"))
        model.save(tmp_path / "fair.model", extendable=True)
        loaded = load(tmp_path / "fair.model")
        next_tasks = people.Y_new_tasks[:, 5:9]
        here, there = (own.extend(next_tasks, task_names=list("fghi")) for own in (model, loaded))
        assert (here.predict(people.X_new) == there.predict(people.X_new)).all()
        np.testing.assert_array_equal(model.balance_.wrong, loaded.balance_.wrong)
        assert loaded.balance_.names == model.balance_.names
        with pytest.raises(InputError, match="counted already"):
            loaded.extend(people.Y_new_tasks[:, :1], task_names=["a"])

    def test_it_needs_the_training_people(self, people, model, tmp_path):
        model.save(tmp_path / "fair.model")
        loaded = load(tmp_path / "fair.model")
        assert loaded.balance_ is None
        with pytest.raises(InputError, match="saved without its training individuals"):
            loaded.extend(people.Y_new_tasks)

    def test_drawn_decisions_have_none(self, people):
        model = fit(people, decisions="drawn")
        assert model.balance_ is None
        with pytest.raises(InputError, match='decisions="fixed"'):
            model.extend(people.Y_new_tasks, balance=True)
        chances = model.extend(people.Y_new_tasks).decision_probability(people.X)
        assert ((chances > 0) & (chances < 1)).any()

    def test_every_promise_has_one(self, people):
        model = fit(people, alpha=None, promise=WorstOff(0.1, price=0.3))
        later = model.extend(people.Y_new_tasks[:, :5], task_names=list("abcde"))
        assert later.is_fixed
        assert model.balance_.tasks == 35


class TestFrames:
    def test_decisions_on_later_tasks_have_their_names(self, people, model):
        later = model.extend(people.Y_new_tasks[:, :2], task_names=["a", "b"])
        ids = [f"p{row}" for row in range(40)]
        frame = later.predict(people.X_new, ids=ids, as_frame=True)
        assert [*frame.columns] == ["a", "b"]
        assert [*frame.index] == ids
        assert (frame.to_numpy() == later.predict(people.X_new)).all()

    def test_a_dask_collection_has_no_frame(self, people, model):
        da = pytest.importorskip("dask.array")
        with pytest.raises(InputError, match="Leave as_frame out"):
            model.predict(da.from_array(people.X_new), as_frame=True)


class TestUnconstrained:
    def test_where_nothing_binds_the_answer_is_the_refits(self, people):
        """With alpha 0.5 every task keeps the oracle's own answer, learned or extended to."""
        later = people.Y_new_tasks[:, :6]
        model = fit(people, alpha=0.5)
        extended = model.extend(later, balance=False).predict(people.X_new)
        free = model.mapping_.unconstrained().extend(later).predict(people.X_new)
        assert (extended == free).all()

    def test_tasks_chosen_together_are_not_fresh(self, people, model):
        """An audit of a joint choice estimates no true rates; one of the mapping does."""
        later = model.extend(people.Y_new_tasks, balance=False)
        chosen = model.audit(people.X_new, people.Y_new_both, classifiers=later)
        assert chosen.learned_tasks
        mapped = model.mapping_.extend(people.Y_new_tasks)
        fresh = model.audit(people.X_new, people.Y_new_both, classifiers=mapped)
        assert not fresh.learned_tasks
