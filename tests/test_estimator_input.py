"""AverageFairClassifier refuses bad input with a clear error, before any work."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from averagefair import ErrorRate, ExponentiatedGradient, InputError, StumpOracle, audit, frontier
from averagefair.errors import InputTypeError
from averagefair.game.protocols import Solver
from averagefair.showing.plots import RatesDisplay
from tests.support.small_fits import M, N, model, people, rounds

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::averagefair.DegenerateTaskWarning"),
]

X, Y = people()


def spoilt(table, value):
    """Return the table with another value in row 1, column 1."""
    changed = table.astype(object)
    changed[1, 1] = value
    return changed.astype(float) if isinstance(value, float) else changed


def first(value, count):
    """Return the value followed by ones."""
    return np.r_[value, np.ones(count - 1)]


BAD_FEATURES = {
    "one dimension": (X[0], "X must be a table.*Reshape your data"),
    "a NaN feature": (spoilt(X, np.nan), "finite numbers; row 1, column 1 is NaN"),
    "a missing feature": (spoilt(X, None), "finite numbers; row 1, column 1 is NaN"),
    "an infinite feature": (spoilt(X, -np.inf), "finite numbers; row 1, column 1 is infinity"),
    "a word for a feature": (spoilt(X, "tall"), "must hold numbers; row 1, .*'tall'"),
    "complex features": (X + 0j, "(?i)complex"),
    "sparse features": (scipy.sparse.csr_array(X), "X is a sparse matrix"),
    "two columns of one name": (pd.DataFrame(X, columns=["a", "b", "a"]), "unique.*\n.*'a'"),
}
BAD_DATA = {
    **{name: ({"X": features}, message) for name, (features, message) in BAD_FEATURES.items()},
    "labels 1 and 2": ({"y": Y + 1}, "0, 1 or blank"),
    "a label 0.5": ({"y": spoilt(Y, 0.5)}, "0, 1 or blank.*row 1, task 'task1' holds 0.5"),
    "a word for a label": (
        {"y": spoilt(Y, "yes")},
        "Y must hold 0 and 1.*row 1, column 1 holds 'yes'. Code the labels as 0 and 1 first",
    ),
    "labels in words": (
        {"y": pd.DataFrame(np.where(Y == 1, "yes", "no")).add_prefix("t")},
        r"row 0, column 't0' holds '\w+'. .* Y\['t0'\]\.map\(\{'no': 0, 'yes': 1\}\)",
    ),
    "labels in words of an array": (
        {"y": np.where(Y == 1, "Yes", "No")},
        "column 0 holds '(Yes|No)'. Code the labels first, e.g. 'No' as 0 and 'Yes' as 1",
    ),
    "labels in three dimensions": ({"y": Y[:, :, None]}, "Y must be a table"),
    "sparse labels": ({"y": scipy.sparse.csr_array(Y)}, "Y is a sparse matrix"),
    "no labels": ({"y": None}, "requires y"),
    "labels all blank": ({"y": np.full((N, 2), np.nan)}, "no label is observed"),
    "fewer people than labels": ({"X": X[1:]}, "23 rows of X and 24 rows of Y"),
    "other people than labels": (
        {"X": pd.DataFrame(X), "y": pd.DataFrame(Y).iloc[::-1]},
        "same individuals in the same order",
    ),
    "nobody": ({"X": X[:0], "y": Y[:0]}, "at least one row"),
    "no features": ({"X": X[:, :0]}, "X must have at least one column"),
    "no tasks": ({"y": Y[:, :0]}, "Y must have at least one column"),
    "a negative weight": ({"sample_weight": first(-1, N)}, "must not be negative; position 0"),
    "a NaN weight": ({"sample_weight": first(np.nan, N)}, "must be finite; position 0"),
    "too few weights": ({"sample_weight": np.ones(3)}, r"must have shape \(24,\).*got \(3,\)"),
    "weights all zero": ({"sample_weight": np.zeros(N)}, "must not all be zero"),
    "a negative task weight": ({"task_weight": first(-1, M)}, "must not be negative; position 0"),
    "too many task weights": ({"task_weight": np.ones(M + 1)}, r"must have shape \(6,\)"),
    **{
        f"complex weights, {name}": (
            {"sample_weight": made(np.ones(N) + 1j)},
            "individual weights must be real numbers; got complex",
        )
        for name, made in {
            "an array": np.asarray,
            "a list": list,
            "single precision": lambda one: one.astype(np.complex64),
            "objects": lambda one: one.astype(np.complex64).astype(object),
            "a Series": pd.Series,
        }.items()
    },
    "complex task weights": ({"task_weight": np.ones(M) + 1j}, "must be real numbers; .*complex"),
    "an id twice": ({"ids": [7, *range(N - 1)]}, "ids .* once; '7' names rows 0 and 8"),
    "an id twice, as text": ({"ids": [1, "1", *range(2, N)]}, "'1' names rows 0 and 1"),
    **{
        f"a blank id, {blank!r}": (
            {"ids": ["a", blank, *range(2, N)]},
            "ids .* must not be blank; position 1",
        )
        for blank in (None, np.nan, pd.NA, pd.NaT)
    },
    "a blank date as id": (
        {"ids": np.array(["NaT", *range(1, N)], dtype="M8[D]")},
        "ids .* must not be blank; position 0",
    ),
    "task weights all zero": ({"task_weight": np.zeros(M)}, "must not all be zero"),
}
BAD_PARAMS = {
    **{
        f"alpha {alpha!r}": ({"alpha": alpha}, r"`alpha` must lie in \(0, 0\.5\]; got")
        for alpha in (0, -1, 0.6, np.nan, np.inf, "a", True, [0.1])
    },
    "an unknown rate": ({"rate": "speed"}, "`rate` must be one of .*'error'.*'speed'"),
    "no rate": ({"rate": None}, "`rate` must be .*None"),
    "a number for a rate": ({"rate": 3}, "`rate` must be .*3"),
    "too many tasks set aside": ({"rate": ErrorRate(holdout_tasks=M)}, "at least one of the 6"),
    "rho for other people": ({"rate": ErrorRate(rho=[0.5, 0.5])}, "rho must .*each of the 24"),
    "a word for an oracle": ({"oracle": "tree"}, "oracle must .*got 'tree'"),
    "a class for an oracle": ({"oracle": StumpOracle}, "oracle must .*instance.*StumpOracle"),
    "a classifier's class": ({"oracle": LogisticRegression}, "oracle must .*instance.*Logistic"),
    "an oracle without weights": ({"oracle": KNeighborsClassifier()}, "takes no sample_weight"),
    "a word for a solver": ({"solver": "fast"}, "`solver` must be a Solver.*got 'fast'"),
    "a class for a solver": ({"solver": ExponentiatedGradient}, "`solver` must .*Exponentiated"),
    "too few tasks for the batches": (
        {"solver": rounds(10, batch_size=2, replay=False)},
        "need 20 tasks, but there are 6",
    ),
    "a batch larger than the tasks": (
        {"solver": rounds(10, batch_size=7, resample=True, replay=False)},
        "batch_size must be at most 6.*got 7",
    ),
    **{
        f"the theory's solver at alpha {alpha}": (
            {"solver": ExponentiatedGradient.from_theory(alpha=0.2, nu=0.9, n=N), "alpha": alpha},
            r"slack of 0\.4, twice the theory's alpha.*unset",
        )
        for alpha in (0.2, 0.05, 0.5)
    },
    "a word for a seed": ({"random_state": "lucky"}, "'lucky' cannot be used to seed"),
    "a word for a callback": ({"callback": "print"}, "`callback` must be callable; got 'print'"),
}


class Unsolvable(Solver):
    """A solver that must not be called."""

    def solve(self, *args, **options):
        pytest.fail("began to solve")


def assert_refused(params, data, message, error=ValueError):
    """Check that a fitted model refuses with a clear error, solves nothing and does not change."""
    fitted = model().fit(X, Y)
    decisions = fitted.predict(X)
    fitted.set_params(**({"solver": Unsolvable()} | params))
    before = dict(vars(fitted))
    with pytest.raises(error, match=message):
        fitted.fit(**({"X": X, "y": Y} | data))
    after = dict(vars(fitted))
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    np.testing.assert_array_equal(fitted.predict(X), decisions)


@pytest.mark.parametrize(("data", "message"), BAD_DATA.values(), ids=BAD_DATA.keys())
def test_bad_data_are_refused_and_change_nothing(data, message):
    assert_refused({}, data, message, error=InputError)


# If parameters are bad, a table of other features must leave no trace either.
@pytest.mark.parametrize("features", [X, np.tile(X, 2)], ids=["same columns", "other columns"])
@pytest.mark.parametrize(("params", "message"), BAD_PARAMS.values(), ids=BAD_PARAMS.keys())
def test_bad_parameters_are_refused_and_change_nothing(params, message, features):
    assert_refused(params, {"X": features}, message)


def test_a_class_for_a_rate_is_refused():
    assert_refused({"rate": ErrorRate}, {}, "`rate` must be", error=InputError)


@pytest.mark.parametrize("cell", [{}, [1], 1j, pd.Timestamp(0)], ids=repr)
@pytest.mark.parametrize(("name", "table"), [("X", X), ("y", Y)], ids=["X", "y"])
def test_a_cell_that_is_no_number_at_all_is_a_type_error_too(name, table, cell):
    assert issubclass(InputTypeError, InputError)
    assert issubclass(InputTypeError, TypeError)
    words = "must hold numbers; row 1, column 1 holds"
    assert_refused({}, {name: spoilt(table, cell)}, words, error=InputTypeError)


def test_names_that_cannot_be_kept_are_refused_before_the_work():
    mixed = pd.DataFrame(X, columns=["a", 1, 2])
    words = r"must be strings; got 'a' and 1 \(int\).*X.columns.astype\(str\)"
    assert_refused({}, {"X": mixed}, words, error=InputTypeError)
    fitted = model().fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)
    with pytest.raises(InputTypeError, match=words):
        fitted.predict(mixed)


def test_complex_objects_among_features_are_refused():
    strange = X.astype(object)
    strange[2, 1] = np.complex64(1 + 1j)
    assert_refused({}, {"X": strange}, "row 2, column 1 holds", error=InputTypeError)


def test_the_same_person_may_be_asked_about_twice_but_nobody():
    fitted = model().fit(X, Y)
    twice = fitted.predict(X[[0, 0]], ids=["ann", "ann"])
    np.testing.assert_array_equal(twice[0], twice[1])
    for blank in (None, np.nan):
        with pytest.raises(InputError, match="ids must not be blank; position 1"):
            fitted.predict(X[:2], ids=["ann", blank])


@pytest.mark.parametrize("index", [[0] * N, [np.nan, *range(1, N)]], ids=["repeated", "blank"])
def test_an_index_that_names_nobody_in_particular_is_no_reason_to_fail(index):
    people, labels = pd.DataFrame(X, index=index).add_prefix("x"), pd.DataFrame(Y, index=index)
    fitted = model().fit(people, labels)
    assert fitted.audit(people, Y).n == N
    plain = model().fit(X, Y).decision_probability(X)
    np.testing.assert_array_equal(fitted.decision_probability(people), plain)


@pytest.mark.parametrize("repeat", [[0] * N, [None, *range(1, N)]], ids=["repeated", "blank"])
def test_an_audit_takes_each_name_once(repeat):
    with pytest.raises(
        InputError, match=r"individual_names must (name each row once|not be blank)"
    ):
        audit(Y, Y, individual_names=repeat)


@pytest.mark.parametrize(
    "whole", [np.int64, np.uint64, "Int64", "mixed", "array"], ids=lambda kind: str(kind)
)
def test_features_too_large_for_doubles_are_warned_of(whole):
    large = np.arange(N) + 2**53
    people = pd.DataFrame({"a": large, "b": X[:, 0]})
    if whole == "array":
        people = np.c_[np.arange(N), large]
    elif whole != "mixed":
        people["a"] = people["a"].astype(whole)
    name = "1" if whole == "array" else "'a'"
    with pytest.warns(UserWarning, match=rf"X, column {name}: whole numbers above") as said:
        model().fit(people, Y)
    assert len([one for one in said if "whole numbers" in str(one.message)]) == 1


@pytest.mark.parametrize(
    ("word", "rate"),
    {
        **{"fpr": "false_positive", "FP": "false_positive", "fnr": "false_negative"},
        **{"fn": "false_negative", "accuracy": "error", "recall": "false_negative"},
        **{"false positives": "false_positive", "eror": "error"},
    }.items(),
)
def test_a_rate_by_another_name_is_suggested(word, rate):
    assert_refused({"rate": word}, {}, f"got '{word}'. Did you mean '{rate}'?", error=InputError)


def test_the_judge_of_refusals_can_fail():
    with pytest.raises(pytest.fail.Exception, match="began to solve"):
        assert_refused({}, {}, "anything")
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        assert_refused({"solver": rounds(1)}, {}, "anything")
    with pytest.raises(AssertionError):
        assert_refused({"alpha": 0}, {}, "seven dwarfs")


# --- questions to a fitted model -----------------------------------------------------------------

BAD_QUESTIONS = BAD_FEATURES | {
    "too few features": (X[:, :2], "2 features"),
    "too many features": (np.tile(X, 2), "6 features"),
}


@pytest.mark.parametrize(("features", "message"), BAD_QUESTIONS.values(), ids=BAD_QUESTIONS.keys())
def test_bad_features_are_refused_when_asked_about(features, message):
    fitted = model().fit(X, Y)
    for ask in (fitted.predict, fitted.decision_probability, lambda x: fitted.score(x, Y)):
        with pytest.raises(ValueError, match=message):
            ask(features)


def test_asking_about_nobody_gives_nothing():
    assert model().fit(X, Y).predict(X[:0]).shape == (0, M)


# --- solvers that cannot be made -----------------------------------------------------------------

WHOLE = "`max_rounds` must be a whole number, 1 or more; got"
POSITIVE = "must be finite and positive; got"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"max_rounds": count}, WHOLE) for count in (0, 2.5, None, "ten", np.inf, True)),
        ({"dual_bound": -1.0}, f"`dual_bound` {POSITIVE} -1.0"),
        ({"step": np.nan}, f"`step` {POSITIVE} nan"),
        ({"tol": 0.0}, f"`tol` {POSITIVE} 0.0"),
        ({"batch_size": 2}, "replay compares plays.*Set replay=False"),
        ({"resample": True}, "resample=True needs a batch_size"),
    ],
    ids=str,
)
def test_a_solver_that_cannot_work_is_not_made(options, message):
    with pytest.raises(InputError, match=message):
        ExponentiatedGradient(**options)


# --- other numbers that must be real -------------------------------------------------------------

COMPLEX = {
    "rho": lambda: ErrorRate(rho=np.full(N, 0.5) + 1j),
    "alphas": lambda: frontier(X, Y, np.array([0.1 + 1j])),
    "rates": lambda: RatesDisplay.from_rates(np.ones(3) + 1j, np.ones(3)),
    "a common rate": lambda: RatesDisplay.from_rates(np.ones(3), np.ones(3), common_rate=0.5 + 1j),
    "decisions": lambda: audit(Y, Y + 1j),
    "labels": lambda: audit(Y + 1j, Y),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers_are_refused(name):
    with pytest.raises(InputError, match=r"[Cc]omplex|numbers; got|individual rates"):
        COMPLEX[name]()
