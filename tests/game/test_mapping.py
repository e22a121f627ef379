"""The mapping psi and the mixtures it makes: any task in, a randomised classifier out."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    DegenerateTaskWarning,
    InputError,
    Mixture,
    Sample,
    theory,
)
from averagefair.datasets import make_synthetic
from averagefair.game.protocols import Hypothesis
from averagefair.game.rates import RATES
from tests.support.judges import COUNTS
from tests.support.small_fits import (
    FEATURES,
    LISTED,
    LOGISTIC,
    ORACLES,
    STRANGERS,
    TASKS,
    UNEVEN,
    M,
    N,
    model,
    people,
    rounds,
)

# Short runs miss the request on purpose: these tests are about the mapping, not the fairness.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fit(X, Y, sample_weight=None, task_weight=None, **params):
    return model(**({"solver": rounds(8)} | params)).fit(X, Y, sample_weight, task_weight)


# --- the tasks learned from ----------------------------------------------------------------------

CASES = {
    "plain": {},
    "blanks": {"blanks": 0.25},
    "weights": {"sample_weight": np.arange(N) % 4, "task_weight": np.arange(M)},
    "rho": {"rho": np.linspace(0.2, 0.9, N)},
    "batches": {"solver": rounds(3, batch_size=2, replay=False)},
    "drawn batches": {"solver": rounds(8, batch_size=4, resample=True, replay=False)},
    "no replay": {"solver": rounds(8, replay=False)},
}


# Each case is tried with each oracle; the rates take turns, and the other rates are long.
TURNS = [
    pytest.param(
        *(oracle, rate, case),
        marks=() if (first + second + third) % len(RATES) == 0 else pytest.mark.long,
        id=f"{oracle}-{rate}-{case}",
    )
    # The tree stands for every scikit-learn classifier: it is the quickest.
    for first, oracle in enumerate(["default", "ridge", "stump", "finite", "tree"])
    for second, rate in enumerate(RATES)
    for third, case in enumerate(CASES)
]


@pytest.mark.parametrize(("oracle", "rate", "case"), TURNS)
def test_training_labels_give_back_the_learned_classifiers_exactly(oracle, rate, case):
    options = dict(CASES[case])
    X, Y = people(blanks=options.pop("blanks", 0.0))
    params = {"oracle": ORACLES[oracle], "rate": RATES[rate](rho=options.pop("rho", None))}
    fitted = fit(X, Y, **params, **options)
    again = fitted.mapping_.extend(Y, task_names=fitted.task_names_)
    chances = fitted.decision_probability(STRANGERS)
    assert chances.min() >= 0
    assert chances.max() <= 1
    np.testing.assert_array_equal(again.decision_probability(STRANGERS), chances)
    np.testing.assert_array_equal(again.decision_probability(X), fitted.decision_probability(X))
    np.testing.assert_array_equal(again.predict(STRANGERS), fitted.predict(STRANGERS))


@pytest.mark.parametrize("oracle", [LOGISTIC, DecisionTreeClassifier(max_depth=1)], ids=str)
def test_training_labels_give_back_the_learned_classifiers_exactly_when_weights_repeat(oracle):
    X, Y = people(seed=26, n=7, m=2)
    pushed = rounds(37, step=1e3, replay=False)
    fitted = fit(X, Y, alpha=0.01, solver=pushed, oracle=oracle)
    assert len(fitted.mapping_.weights) < 37
    again = fitted.extend(Y)
    np.testing.assert_array_equal(again.decision_probability(X), fitted.decision_probability(X))


# --- names and draws -----------------------------------------------------------------------------


def test_tasks_without_names_are_named_after_their_labels():
    X, Y = people(blanks=0.2)
    fitted = fit(X, Y)
    whole = fitted.extend(Y)
    assert all(name.startswith("task-") for name in whole.task_names)
    assert len(set(whole.task_names)) == M
    some = fitted.extend(Y[:, [4, 1]])
    assert some.task_names == (whole.task_names[4], whole.task_names[1])
    np.testing.assert_array_equal(some.predict(STRANGERS), whole.predict(STRANGERS)[:, [4, 1]])
    changed = Y.copy()
    changed[0], changed[1] = np.where(np.isnan(Y[0]), 1.0, np.nan), 1 - Y[1]
    assert not set(fitted.extend(changed).task_names) & set(whole.task_names)


def test_later_tasks_share_their_draws_with_no_others():
    X, Y = people()
    fitted = fit(X, Y)
    later = fitted.extend(Y)
    np.testing.assert_array_equal(
        later.decision_probability(STRANGERS), fitted.decision_probability(STRANGERS)
    )
    assert not np.array_equal(later.predict(STRANGERS), fitted.predict(STRANGERS))


@pytest.mark.parametrize("names", [["a"], ["a", "a"], list("abc")], ids=str)
def test_task_names_must_be_distinct_and_one_each(names):
    X, Y = people()
    with pytest.raises(InputError, match="task_names must"):
        fit(X, Y).extend(Y[:, :2], task_names=names)


# --- new tasks -----------------------------------------------------------------------------------


def psi_by_hand(fitted, Y, labels, kind, answer, sample_weight=None):
    """Return the chances of the paper's mapping, straight from its definition.

    For each round k: price_i = a_i / rho^err_i + e_i w_ki / rho_i, gap_i = price_i s_i, and the
    oracle's answer to those gaps is used with probability q_k.
    """
    observed, counted = np.isin(Y, COUNTS["error"]), np.isin(Y, COUNTS[kind])
    a = np.ones(len(Y)) if sample_weight is None else sample_weight
    a = a / a.sum()
    chance = 0.0
    for q, w in zip(fitted.mapping_.mixture, fitted.mapping_.weights, strict=True):
        any_price, counted_price = a / observed.mean(axis=1), w / counted.mean(axis=1)
        on_zero, on_one = (any_price + counted_price * (y in COUNTS[kind]) for y in (0, 1))
        gaps = np.where(labels == 0, on_zero, 0) - np.where(labels == 1, on_one, 0)
        chance = chance + q * answer(gaps, ~np.isnan(labels))
    return chance


def cheapest_listed(X, _sample_weight):
    def answer(gaps, _observed):
        costs = [gaps @ np.asarray(h(X), float) for h in LISTED]
        return np.asarray(LISTED[int(np.argmin(costs))](STRANGERS), float)

    return answer


def least_squares(X, sample_weight):
    c = np.ones(len(X)) if sample_weight is None else sample_weight
    design, design_new = (np.column_stack([np.ones(len(x)), x]) for x in (X, STRANGERS))

    def answer(gaps, seen):
        root = np.sqrt(c[seen])
        beta, *_ = np.linalg.lstsq(design[seen] * root[:, None], gaps[seen] / root, rcond=None)
        return (design_new @ beta < 0).astype(float)

    return answer


def weighted_logistic(X, sample_weight):
    c = np.ones(len(X)) if sample_weight is None else sample_weight

    def answer(gaps, _observed):
        used = gaps != 0
        weights = np.abs(gaps[used])
        weights *= c[used].sum() / weights.sum()  # the mean weight of the people used is 1
        made = clone(LOGISTIC).fit(X[used], gaps[used] < 0, sample_weight=weights)
        return made.predict(STRANGERS).astype(float)

    return answer


BY_HAND = {
    "finite": ("finite", cheapest_listed, UNEVEN),
    "regression": ("default", least_squares, None),
    "regression, weighted": ("default", least_squares, UNEVEN),
    "logistic": ("logistic", weighted_logistic, None),
    "logistic, weighted": ("logistic", weighted_logistic, UNEVEN),
}


@pytest.mark.parametrize(
    ("oracle", "by_hand", "sample_weight", "rate", "blanks"),
    [
        pytest.param(
            *(*row, rate, blanks),
            # Logistic regression is slow: each rate is tried once, with and without blanks.
            marks=pytest.mark.long
            if "logistic" in name and (first + second + (blanks > 0)) % 3
            else (),
            id=f"{name}-{rate}-{blanks}",
        )
        for first, (name, row) in enumerate(BY_HAND.items())
        for second, rate in enumerate(RATES)
        for blanks in (0.0, 0.25)
    ],
)
def test_new_tasks_get_the_papers_mapping(oracle, by_hand, sample_weight, rate, blanks):
    X, Y = people(blanks=blanks)
    _, later = people(seed=5, blanks=blanks)
    fitted = fit(X, Y, sample_weight, rate=rate, oracle=ORACLES[oracle])
    assert len(fitted.mapping_.weights) > 2
    answer = by_hand(X, sample_weight)
    wanted = [psi_by_hand(fitted, Y, task, rate, answer, sample_weight) for task in later.T]
    chances = fitted.extend(later).decision_probability(STRANGERS)
    np.testing.assert_allclose(chances.T, wanted, atol=1e-12)


def test_the_hand_made_mapping_can_fail():
    X, Y = people()
    _, later = people(seed=5)
    fitted = fit(X, Y, rate="error")
    chances = fitted.extend(later).decision_probability(STRANGERS)[:, 0]
    for task, rate in [(0, "false_positive"), (1, "error")]:
        other = psi_by_hand(fitted, Y, later[:, task], rate, least_squares(X, None))
        assert np.abs(chances - other).max() > 0.05


@pytest.mark.parametrize("blanks", [0.0, 0.25])
@pytest.mark.parametrize("oracle", ORACLES)
def test_a_task_gets_the_same_classifier_alone_and_in_company(oracle, blanks):
    X, Y = people()
    _, later = people(seed=5, blanks=blanks)
    fitted = fit(X, Y, UNEVEN, oracle=ORACLES[oracle])
    together = fitted.extend(later).decision_probability(STRANGERS)
    assert together.shape == (len(STRANGERS), M)
    for j in range(M):
        alone = fitted.extend(later[:, j]).decision_probability(STRANGERS)
        np.testing.assert_allclose(alone, together[:, j : j + 1], atol=1e-12)


def test_a_tie_goes_to_the_first_listed_whatever_the_company():
    X, Y = people()
    mapping = fit(X, Y, oracle=ORACLES["finite"]).mapping_
    unpriced = replace(mapping, weights=np.zeros((1, N)), mixture=np.ones(1))
    later = np.random.default_rng(3).integers(0, 2, (N, 200)).astype(float)
    mistakes = np.array([(h(X)[:, None] != later).sum(axis=0) for h in LISTED])
    wanted = np.array([LISTED[one](STRANGERS) for one in mistakes.argmin(axis=0)]).T
    np.testing.assert_array_equal(unpriced.extend(later).decision_probability(STRANGERS), wanted)


def test_extending_learns_nothing_and_changes_nothing():
    X, Y = people()
    fitted = fit(X, Y)
    before = fitted.decision_probability(STRANGERS), fitted.mapping_.weights.copy()
    fitted.extend(people(seed=5)[1])
    np.testing.assert_array_equal(fitted.decision_probability(STRANGERS), before[0])
    np.testing.assert_array_equal(fitted.mapping_.weights, before[1])


def test_tables_of_any_library_and_any_blank_extend_alike():
    _, later = people(seed=5, blanks=0.3)
    names = [f"later {j}" for j in range(M)]
    fitted = fit(*people())
    plain = fitted.extend(later, task_names=names)
    for table in (
        pd.DataFrame(later, columns=names),
        pd.DataFrame(later, columns=names).astype("Int64"),
        pl.DataFrame(later, schema=names),
        pl.DataFrame(later, schema=names).fill_nan(None).cast(pl.Boolean),
        np.where(np.isnan(later), None, later),
    ):
        named = {} if hasattr(table, "columns") else {"task_names": names}
        mixture = fitted.extend(table, **named)
        assert mixture.task_names == tuple(names)
        np.testing.assert_array_equal(mixture.predict(STRANGERS), plain.predict(STRANGERS))


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_a_new_task_of_one_label_gets_that_label_and_a_warning(label):
    with pytest.warns(DegenerateTaskWarning, match="flat"):
        mixture = fit(*people()).extend(np.full(N, label), task_names=["flat"])
    np.testing.assert_allclose(mixture.decision_probability(STRANGERS), label, atol=1e-12)


BAD_LABELS = {
    "too few people": (np.zeros((N - 1, 2)), f"{N} training individuals"),
    "too many people": (np.zeros(N + 1), f"{N} training individuals"),
    "other labels": (np.full(N, 2.0), "0, 1 or blank"),
    "three dimensions": (np.zeros((N, 1, 1)), "must be a table"),
    "words": (np.full(N, "yes"), "must hold 0 and 1"),
    "no task": (np.zeros((N, 0)), "at least one column"),
}


@pytest.mark.parametrize(("labels", "message"), BAD_LABELS.values(), ids=BAD_LABELS.keys())
def test_what_is_not_labels_of_the_training_people_is_refused(labels, message):
    with pytest.raises(InputError, match=message):
        fit(*people()).extend(labels)


def test_training_people_in_another_order_are_refused():
    X, Y = people()
    names = [f"person {i}" for i in range(N)]
    table = pd.DataFrame(Y, index=names, columns=TASKS)
    fitted = fit(pd.DataFrame(X, index=names, columns=FEATURES), table)
    with pytest.raises(InputError, match="same order"):
        fitted.extend(table.iloc[::-1])


# --- rounds --------------------------------------------------------------------------------------


def test_repeated_rounds_are_merged():
    X, Y = people(blanks=0.2)
    mapping = fit(X, Y).mapping_
    k = len(mapping.weights)
    mapping = replace(mapping, mixture=np.arange(1, k + 1) / (k * (k + 1) / 2))
    doubled = replace(
        mapping,
        weights=np.vstack([mapping.weights, mapping.weights[::-1]]),
        mixture=np.concatenate([mapping.mixture, mapping.mixture[::-1]]) / 2,
    )
    np.testing.assert_array_equal(doubled.weights, mapping.weights)
    np.testing.assert_allclose(doubled.mixture, mapping.mixture, atol=1e-15)
    np.testing.assert_allclose(
        doubled.extend(Y).decision_probability(STRANGERS),
        mapping.extend(Y).decision_probability(STRANGERS),
        atol=1e-12,
    )


@pytest.mark.parametrize("oracle", ORACLES)
def test_rounds_are_mixed_by_their_chances(oracle):
    X, Y = people()
    mapping = fit(X, Y, oracle=ORACLES[oracle]).mapping_
    assert mapping.mixture.min() > 0
    assert mapping.mixture.sum() == pytest.approx(1, abs=1e-12)
    assert mapping.weights.shape == (len(mapping.mixture), N)
    one_round = [replace(mapping, weights=w[None], mixture=np.ones(1)) for w in mapping.weights]
    by_round = [one.extend(Y).decision_probability(STRANGERS) for one in one_round]
    assert all(set(np.unique(chances)) <= {0.0, 1.0} for chances in by_round)
    np.testing.assert_allclose(
        mapping.extend(Y).decision_probability(STRANGERS),
        np.tensordot(mapping.mixture, by_round, axes=1),
        atol=1e-12,
    )


@pytest.mark.parametrize("off", [0.5, 2.0, -1.0], ids=str)
def test_a_mapping_off_the_simplex_makes_no_classifiers(off):
    X, Y = people()
    mapping = fit(X, Y).mapping_
    with pytest.raises(InputError, match="sum to 1"):
        replace(mapping, mixture=off * mapping.mixture).extend(Y)


# --- the sparse mapping --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def learned():
    """Return a mapping of many rounds, and a function that returns chances on its people."""
    X, Y = people(blanks=0.2)
    mapping = fit(X, Y, solver=rounds(200, replay=False)).mapping_
    assert len(mapping.weights) > 50
    return mapping, lambda one: one.extend(Y).decision_probability(X)


@pytest.mark.parametrize("r", [1, 2, 7, 50])
def test_a_sparse_mapping_averages_r_of_the_rounds(learned, r):
    mapping, _ = learned
    sparse = mapping.sparsify(r, random_state=0)
    assert 1 <= len(sparse.weights) <= r
    draws = sparse.mixture * r
    np.testing.assert_allclose(draws, np.round(draws), atol=1e-9)
    assert draws.min() > 0.5
    assert draws.sum() == pytest.approx(r)
    known = {row.tobytes() for row in mapping.weights}
    assert all(row.tobytes() in known for row in sparse.weights)


def test_a_sparse_mapping_depends_on_its_seed_alone(learned):
    mapping, _ = learned
    one, same, other = (mapping.sparsify(20, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.weights, same.weights)
    np.testing.assert_array_equal(one.mixture, same.mixture)
    assert not np.array_equal(one.weights, other.weights)


def test_a_sparse_mapping_keeps_every_chance_within_the_theorems_bound(learned):
    mapping, chances = learned
    alpha, delta = 0.1, 0.05
    r = theory.sparse_support(N, M, alpha, delta)
    sparse = [chances(mapping.sparsify(r, random_state=seed)) for seed in range(10)]
    assert 0 < np.abs(sparse - chances(mapping)).max() <= alpha
    few = chances(mapping.sparsify(3, random_state=0))
    assert np.abs(few - chances(mapping)).max() > alpha, "the judge can fail"


def test_sparse_mappings_are_unbiased_and_come_closer_with_r(learned):
    mapping, chances = learned

    def off(r):
        sparse = [chances(mapping.sparsify(r, random_state=seed)) for seed in range(40)]
        return np.array(sparse) - chances(mapping)

    # Hoeffding's bound over 40 r draws with a union over the cells, at a chance of 1e-6.
    bound = np.sqrt(np.log(2e6 * N * M) / (2 * 40 * 10))
    assert np.abs(off(10).mean(axis=0)).max() < bound
    few, many = (np.sqrt(np.mean(off(r) ** 2)) for r in (4, 64))
    assert many / few == pytest.approx(np.sqrt(4 / 64), rel=0.3)


@pytest.mark.parametrize("r", [0, -1, 2.5, None, True], ids=str)
def test_r_must_be_a_whole_number(learned, r):
    with pytest.raises(InputError, match="`r` must be a whole number"):
        learned[0].sparsify(r)


# --- mixtures ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut(Hypothesis):
    """Decides 1 above one threshold for each of two tasks."""

    low: float
    high: float

    def decide(self, features):
        return features[:, :1] > np.array([self.low, self.high])

    def key(self):
        return self.low, self.high


TWO_TASKS = Sample(np.zeros((3, 1)), np.zeros((3, 2)), task_names=["first", "second"])


def test_chances_add_up_over_hypotheses():
    mixture = Mixture([Cut(0, 1), Cut(2, 0), Cut(1, 3)], np.array([0.5, 0.3, 0.2]), TWO_TASKS)
    chances = mixture.decision_probability([[0.5], [1.5], [2.5], [-9.0], [9.0]])
    wanted = [[0.5, 0.3], [0.7, 0.8], [1.0, 0.8], [0.0, 0.0], [1.0, 1.0]]
    np.testing.assert_allclose(chances, wanted, atol=1e-15)
    assert mixture.task_names == ("first", "second")


def test_equal_hypotheses_are_merged():
    mixture = Mixture([Cut(0, 1), Cut(2, 0), Cut(0, 1)], np.array([0.25, 0.5, 0.25]), TWO_TASKS)
    assert list(mixture.hypotheses) == [Cut(0, 1), Cut(2, 0)]
    np.testing.assert_array_equal(mixture.probabilities, [0.5, 0.5])


@pytest.mark.parametrize("count", [3, 7, 10, 49, 1000])
def test_chances_never_leave_the_unit_interval(count):
    for cuts in ([Cut(-one, -one) for one in range(1, count + 1)], [Cut(-1, -1)] * count):
        mixture = Mixture(cuts, np.full(count, 1 / count), TWO_TASKS)
        chances = mixture.decision_probability([[5.0], [-5000.0]])
        assert chances.max() <= 1
        assert chances[0] == pytest.approx(1)
        assert (chances[1] == 0).all()


OFF_SIMPLEX = {
    "short": [0.5, 0.4],
    "long": [0.5, 0.6],
    "negative": [1.5, -0.5],
    "no number": [np.nan, 0.5],
    "too few": [1.0],
    "too many": [0.5, 0.25, 0.25],
    "a table": [[0.5, 0.5]],
}


@pytest.mark.parametrize("chances", OFF_SIMPLEX.values(), ids=OFF_SIMPLEX.keys())
def test_chances_off_the_simplex_are_refused(chances):
    with pytest.raises(InputError, match="probabilit"):
        Mixture([Cut(0, 1), Cut(1, 0)], np.array(chances), TWO_TASKS)


def test_a_mixture_of_nothing_is_refused():
    with pytest.raises(InputError, match="at least one"):
        Mixture([], np.array([]), TWO_TASKS)


BAD_FEATURES = {
    "too many": (np.zeros((2, 2)), "2 features"),
    "NaN": ([[np.nan]], "finite"),
    "infinite": ([[np.inf]], "finite"),
    "one dimension": ([1.0], "Reshape your data"),
    "words": ([["tall"]], "must hold numbers"),
}


@pytest.mark.parametrize(("features", "message"), BAD_FEATURES.values(), ids=BAD_FEATURES.keys())
def test_a_mixture_refuses_what_are_not_its_features(features, message):
    mixture = Mixture([Cut(0, 1)], np.ones(1), TWO_TASKS)
    for ask in (mixture.predict, mixture.decision_probability):
        with pytest.raises(InputError, match=message):
            ask(features)


def test_both_can_be_shown():
    fitted = fit(*people())
    assert f"{M} tasks" in repr(fitted.classifiers_)
    assert f"{N} individuals" in repr(fitted.mapping_)


def test_a_model_keeps_its_people_but_neither_their_labels_nor_the_callers_array():
    X, Y = people()
    fitted = model().fit(X, Y)
    before = fitted.extend(Y).decision_probability(X.copy())
    kept = X.copy()
    X *= -1
    np.testing.assert_array_equal(fitted.extend(Y).decision_probability(kept), before)
    assert fitted.mapping_.individuals.signs.size == 0


def test_one_draw_for_each_task_is_within_the_bound_of_the_mixture():
    """One draw for each task decides for everybody; the bound over n people holds in 95%."""
    people = make_synthetic(n=60, m=40, random_state=4)
    few = ColumnGeneration(max_rounds=20, mapping_rounds=2)
    model = AverageFairClassifier(alpha=0.01, solver=few, decisions="drawn", random_state=0)
    mix = model.fit(people.X, people.Y).classifiers_
    bound = theory.draws_deviation(60, 40, 1, 0.05)
    far = []
    for seed in range(200):
        fixed = mix.sparsify(1, random_state=seed)
        rates = (fixed.predict(people.X) != people.Y).mean(axis=1)
        far.append(np.abs(rates - model.individual_rates_).max())
    assert np.mean(np.array(far) > bound) <= 0.05
    assert max(far) > 0.1 * bound  # draws do move rates
