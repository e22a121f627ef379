"""The curve on held-out people and tasks: every figure recomputed, point by point."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from averagefair import (
    ErrorRate,
    FalsePositiveRate,
    InputError,
    StumpOracle,
    audit,
    frontier,
    held_out,
)
from averagefair.evaluation.generalisation import generalisation
from tests.support.judges import plain_error, plain_rates
from tests.support.small_fits import FEATURES, STRANGERS, TASKS, M, N, people

ALPHAS = (0.05, 0.2)
NEW, LATER = 30, 5
BETA = 0.05
CASES = {
    "error": {"rate": "error"},
    "false positives": {"rate": "false_positive"},
    "both": {"rate": ["false_positive", "false_negative"]},
    "all three": {"rate": ["error", "false_negative", "false_positive"]},
    "a list of one": {"rate": ["false_negative"]},
    "blanks": {"rate": "error", "blanks": 0.3},
    "blanks, false positives": {"rate": "false_positive", "blanks": 0.3},
    "blanks, both": {"rate": ["false_positive", "false_negative"], "blanks": 0.3},
}


def learn(X, Y, alphas=ALPHAS, decisions="drawn", **options):
    given = {"oracle": StumpOracle(), "random_state": 0, "decisions": decisions}
    return frontier(X, Y, alphas, **given, **options)


class Case:
    """A curve, and labels of all four kinds.

    Decisions are drawn: its judges compute chances, and the choice would take long.
    """

    def __init__(self, rate, blanks=0.0, decisions="drawn"):
        self.kinds = [rate] if isinstance(rate, str) else rate
        self.X, self.Y = people(blanks=blanks)
        self.X_new, self.new_people = people(seed=1, blanks=blanks, n=NEW)
        _, self.new_tasks = people(seed=2, blanks=blanks, m=LATER)
        _, self.new_both = people(seed=3, blanks=blanks, n=NEW, m=LATER)
        self.new = {
            "X_new": self.X_new,
            "Y_new_people": self.new_people,
            "Y_new_tasks": self.new_tasks,
            "Y_new_both": self.new_both,
        }
        self.curve = learn(self.X, self.Y, rate=rate, decisions=decisions)
        self.found = generalisation(self.curve, **self.new)

    def corner(self, name, point):
        """Return the labels and the chances of a corner at one point of the curve."""
        # Not model.extend, which chooses fixed decisions for these tasks together.
        later = point.model.mapping_.extend(self.new_tasks)
        if name == "people":
            return self.new_people, point.model.decision_probability(self.X_new)
        if name == "tasks":
            return self.new_tasks, later.decision_probability(self.X)
        return self.new_both, later.decision_probability(self.X_new)


FIXED = "fixed decisions"
# With blanks, these rates are tried by default.
LONG = {"false positives", "both"}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=pytest.mark.long if name in LONG else ())
        for name in (*CASES, FIXED)
    ],
)
def case(request):
    if request.param != FIXED:
        return Case(**CASES[request.param])
    with warnings.catch_warnings():
        # 6 tasks are too few for a fixed choice that keeps alpha 0.05.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return Case("error", decisions="fixed")


def half_window(rates, beta):
    """Return half the narrowest window that leaves out at most a share beta, by plain loops."""
    ordered = sorted(rate for rate in rates if not np.isnan(rate))
    needed = int(np.ceil(round((1 - beta) * len(ordered), 9)))
    return min(
        ordered[i + needed - 1] - ordered[i] for i in range(len(ordered) - needed + 1)
    ) / 2  # fmt: skip


@pytest.mark.parametrize("name", ["people", "tasks", "both"])
def test_observed_figures_are_those_counted_by_hand(case, name):
    corner = case.found.corners[name]
    assert (corner.n, corner.m) == {
        "people": (NEW, M),
        "tasks": (N, LATER),
        "both": (NEW, LATER),
    }[name]
    for k, point in enumerate(case.curve):
        labels, chances = case.corner(name, point)
        rates = {kind: plain_rates(labels, chances, kind) for kind in case.kinds}
        near = {kind: half_window(one, BETA) for kind, one in rates.items()}
        widest = rates[max(near, key=near.get)]
        assert corner.value[k] == point.value
        assert corner.error[k] == pytest.approx(plain_error(labels, chances), abs=1e-12)
        assert corner.near[k] == pytest.approx(max(near.values()), abs=1e-12)
        assert corner.spread[k] == pytest.approx(np.nanmax(widest) - np.nanmin(widest), abs=1e-12)


@pytest.mark.parametrize("name", ["people", "tasks", "both"])
def test_intervals_are_those_of_the_audit(case, name):
    corner = case.found.corners[name]
    for k, point in enumerate(case.curve):
        labels, chances = case.corner(name, point)
        learned = {"learned_tasks": name == "people"}
        overall = audit(labels, chances, rate="error", **learned)
        audits = [audit(labels, chances, rate=kind, **learned) for kind in case.kinds]
        widest = max(audits, key=lambda one: one.alpha_at(BETA))
        at = widest.curve.at(BETA)
        wanted = {
            "error": overall.mean.value,
            "error_low": overall.mean.low,
            "error_high": overall.mean.high,
            "spread": widest.range.width,
            "near": at["alpha"],
            "floor": at["floor"],
            "denoised": at["denoised"],
            "sigma": widest.dispersion.sigma,
            "sigma_low": widest.dispersion.sigma2.low**0.5,
            "sigma_high": widest.dispersion.sigma2.high**0.5,
        }
        found = {column: getattr(corner, column)[k] for column in wanted}
        assert found == pytest.approx(wanted, rel=1e-12, nan_ok=True)


def test_errors_are_those_of_held_out(case):
    for k, point in enumerate(case.curve):
        wanted = held_out(point.model, **case.new)
        for name, corner in case.found.corners.items():
            if name != "training":
                one = getattr(wanted, name)
                assert corner.error[k] == pytest.approx(one.error, abs=1e-12)
                rates = one.rates.reshape(corner.n, -1).T
                near = max(half_window(column, BETA) for column in rates)
                assert corner.near[k] == pytest.approx(near, abs=1e-12)


def test_the_training_corner_is_the_curve(case):
    corner = case.found.training
    table = case.curve.to_dict()
    assert (corner.n, corner.m) == (N, M)
    assert corner.value.tolist() == table["alpha"] == list(ALPHAS)
    assert corner.error.tolist() == table["error"]
    assert corner.spread.tolist() == table["spread"]
    for k, point in enumerate(case.curve):
        chances = point.model.decision_probability(case.X)
        near = [half_window(plain_rates(case.Y, chances, kind), BETA) for kind in case.kinds]
        assert corner.near[k] == pytest.approx(max(near), abs=1e-9)
    for name in ("error_low", "error_high", "floor", "denoised", "sigma", "sigma_low"):
        assert np.isnan(getattr(corner, name)).all()


def test_intervals_hold_what_they_are_about(case):
    for name, corner in case.found.corners.items():
        if name != "training":
            assert (corner.error_low <= corner.error).all()
            assert (corner.error <= corner.error_high).all()
            assert (corner.near <= corner.spread / 2 + 1e-12).all()
            known = ~np.isnan(corner.sigma_high)
            assert (corner.sigma_low <= corner.sigma_high)[known].all()


# --- which corners there are ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def plain():
    return Case("error")


PARTS = {
    "nothing": ([], ["training"]),
    "people": (["X_new", "Y_new_people"], ["training", "people"]),
    "tasks": (["Y_new_tasks"], ["training", "tasks"]),
    "people and tasks": (
        ["X_new", "Y_new_people", "Y_new_tasks"],
        ["training", "people", "tasks"],
    ),
    "both": (["X_new", "Y_new_tasks", "Y_new_both"], ["training", "tasks", "both"]),
}


@pytest.mark.parametrize(("given", "wanted"), PARTS.values(), ids=PARTS.keys())
def test_there_is_a_corner_for_all_labels_given_and_no_other(given, wanted, plain):
    found = generalisation(plain.curve, **{name: plain.new[name] for name in given})
    assert list(found.corners) == wanted
    for name in ("people", "tasks", "both"):
        assert (getattr(found, name) is None) == (name not in wanted)
        if name in wanted:
            whole = getattr(plain.found, name)
            np.testing.assert_array_equal(getattr(found, name).error, whole.error)
            np.testing.assert_array_equal(getattr(found, name).sigma, whole.sigma)


BAD = {
    "labels without people": ({"X_new": None}, "features"),
    "people without labels": ({"Y_new_people": None, "Y_new_both": None}, "labels"),
    "new tasks not learned": ({"Y_new_tasks": None}, "pass Y_new_tasks"),
    "people of other tasks": ({"Y_new_people": np.zeros((NEW, M - 1))}, f"must have the {M} tasks"),
    "others of other tasks": ({"Y_new_both": np.zeros((NEW, LATER + 1))}, f"the {LATER} tasks"),
    "fewer labels than people": ({"Y_new_people": np.zeros((NEW - 1, M))}, "one row for each"),
    "other training people": ({"Y_new_tasks": np.zeros((N - 1, LATER))}, "training individuals"),
    "other features": ({"X_new": np.zeros((NEW, 2))}, "2 features"),
    "other labels": ({"Y_new_people": np.full((NEW, M), 2.0)}, "0, 1 or blank"),
    "too sure": ({"confidence": 1.0}, "confidence"),
    "too unsure": ({"confidence": 0.3}, "confidence"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD.keys())
def test_what_does_not_fit_together_is_refused(change, message, plain):
    with pytest.raises(InputError, match=message):
        generalisation(plain.curve, **(plain.new | change))


def test_a_confidence_that_is_none_is_refused_though_nothing_is_held_out(plain):
    with pytest.raises(InputError, match="confidence"):
        generalisation(plain.curve, confidence=3.0)


def test_more_confidence_makes_wider_intervals(plain):
    sure = generalisation(plain.curve, **plain.new, confidence=0.99)
    assert sure.both.confidence == sure.training.confidence == 0.99
    for name in ("people", "both"):
        one, other = getattr(plain.found, name), getattr(sure, name)
        assert (other.error_low < one.error_low).all()
        assert (other.error_high > one.error_high).all()
        np.testing.assert_array_equal(other.error, one.error)


# --- names ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def named():
    """A curve of tables with names, and the same labels with and without names."""
    case = Case("error")
    who = [f"person {i}" for i in range(N)]
    X = pd.DataFrame(case.X, who, FEATURES)
    curve = learn(X, pd.DataFrame(case.Y, who, TASKS))
    later, new = [f"later {j}" for j in range(LATER)], [f"new {i}" for i in range(NEW)]
    tables = {
        "X_new": pd.DataFrame(case.X_new, new, FEATURES),
        "Y_new_people": pd.DataFrame(case.new_people, new, TASKS),
        "Y_new_tasks": pd.DataFrame(case.new_tasks, who, later),
        "Y_new_both": pd.DataFrame(case.new_both, new, later),
    }
    return case, curve, tables


def test_names_change_no_figure(named):
    case, curve, tables = named
    found = generalisation(curve, **tables)
    for name, corner in found.corners.items():
        plain = case.found.corners[name]
        for column in ("error", "spread", "near", "floor", "sigma", "error_high"):
            np.testing.assert_array_equal(getattr(corner, column), getattr(plain, column))


@pytest.mark.parametrize(
    ("part", "axis"),
    [
        ("X_new", 1),
        ("Y_new_people", 1),
        ("Y_new_people", 0),
        ("Y_new_tasks", 0),
        ("Y_new_both", 0),
        ("Y_new_both", 1),
    ],
)
def test_tables_in_another_order_are_refused(part, axis, named):
    _, curve, tables = named
    turned = tables[part].iloc[::-1] if axis == 0 else tables[part].iloc[:, ::-1]
    with pytest.raises(InputError, match=r"order"):
        generalisation(curve, **(tables | {part: turned}))


# --- weights -------------------------------------------------------------------------------------


def test_people_and_tasks_held_out_weigh_alike_whatever_the_curve_was_learned_with(plain):
    weights = {"sample_weight": np.arange(1, N + 1), "task_weight": np.arange(1, M + 1)}
    curve = learn(plain.X, plain.Y, [0.1], **weights)
    found = generalisation(curve, **plain.new)
    model = curve[0].model
    for name in ("people", "tasks", "both"):
        labels, chances = plain.corner(name, curve[0])
        assert found.corners[name].error == pytest.approx([plain_error(labels, chances)])
    assert found.training.error == pytest.approx([model.error_], abs=0)


# --- hard cases ----------------------------------------------------------------------------------


def test_people_without_a_label_change_nothing(plain):
    nobody = np.full((3, M), np.nan)
    more = {
        "X_new": np.vstack([plain.X_new, STRANGERS[:3]]),
        "Y_new_people": np.vstack([plain.new_people, nobody]),
    }
    found = generalisation(plain.curve, **more).people
    assert found.n == NEW + 3
    np.testing.assert_allclose(found.error, plain.found.people.error, atol=1e-12)
    np.testing.assert_allclose(found.near, plain.found.people.near, atol=1e-12)


def test_nothing_is_made_up_where_all_labels_are_blank(plain):
    blank = np.full((NEW, M), np.nan)
    found = generalisation(plain.curve, X_new=plain.X_new, Y_new_people=blank).people
    for column in ("error", "spread", "near", "sigma"):
        assert np.isnan(getattr(found, column)).all()


@pytest.mark.parametrize(
    ("label", "rate"),
    [
        (0.0, ["false_positive", "false_negative"]),
        (1.0, ["false_negative", "false_positive"]),
        (1.0, ["false_positive", "false_negative"]),
    ],
    ids=str,
)
def test_a_rate_that_nobody_has_is_passed_over(label, rate):
    case = Case(rate)
    labels = np.full((NEW, M), label)
    found = generalisation(case.curve, X_new=case.X_new, Y_new_people=labels).people
    for k, point in enumerate(case.curve):
        chances = point.model.decision_probability(case.X_new)
        rates = plain_rates(labels, chances, "error")
        assert found.near[k] == pytest.approx(half_window(rates, BETA), abs=1e-12)


@pytest.mark.parametrize("rate", [ErrorRate(holdout_tasks=2), FalsePositiveRate(holdout_tasks=2)])
@pytest.mark.filterwarnings("ignore::averagefair.UndefinedRateWarning")
def test_a_curve_with_tasks_set_aside_has_a_training_corner(rate):
    X, Y = people()
    curve = learn(X, Y, [0.1], rate=rate)
    found = generalisation(curve)
    np.testing.assert_array_equal(found.training.error, [curve[0].error])
