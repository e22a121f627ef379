"""Every form in which tables may come, and everything that must be refused."""

from dataclasses import FrozenInstanceError
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from averagefair import ErrorRate, InputError, audit

NONE = np.nan
PEOPLE, TASKS = list("abcde"), ["t1", "t2", "t3", "t4"]
random = np.random.default_rng(3)
Y = random.integers(0, 2, size=(5, 4))
D = np.array([[1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 0]])
SEEN = random.random((5, 4)) < 0.8


MARKS = [[1, 1, 0], [1, 1, 1], [1, 1, 1], [1, 0, 1]]


def zeros(L):
    """Return labels of 0, so that decisions are losses."""
    return np.zeros(np.shape(L)), L


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_short_floats_are_added_up_as_long_ones(kind):
    L = np.random.default_rng(2).random((50, 8)).astype(kind)
    short, long = audit(*zeros(L)), audit(*zeros(L.astype(float)))
    assert short.chance.statistic == pytest.approx(long.chance.statistic, abs=1e-12)
    assert short.dispersion.sigma2.value == pytest.approx(long.dispersion.sigma2.value, abs=1e-12)


def framed(values, people=PEOPLE, tasks=TASKS):
    return pd.DataFrame(values, index=people, columns=tasks)


def columns(values):
    return dict(zip(TASKS, np.asarray(values).T, strict=True))


FORMS = {
    "list": lambda values: np.asarray(values).tolist(),
    "bool": lambda values: np.asarray(values, dtype=bool),
    "int8": lambda values: np.asarray(values, dtype=np.int8),
    "float32": lambda values: np.asarray(values, dtype=np.float32),
    "object": lambda values: np.asarray(values, dtype=object),
    "masked": np.ma.array,
    "fortran": np.asfortranarray,
    "pandas": framed,
    "nullable": lambda values: framed(values).astype("Int8"),
    "polars": lambda values: pl.DataFrame(columns(values)),
    "pyarrow": lambda values: pa.table(columns(values)),
    "another order": lambda values: framed(values).iloc[::-1, [2, 0, 3, 1]],
}


def assert_same(one, other, *, names=False):
    """Check that two audits are equal in every number."""
    first, second = one.to_dict(), other.to_dict()
    if not names:
        for table in ("people", "tasks"):
            first[table].pop("name"), second[table].pop("name")
        first.pop("notes"), second.pop("notes")
    assert first == second


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_tables(form):
    plain = audit(Y, D, observed=SEEN)
    make = FORMS[form]
    assert_same(audit(Y if form != "another order" else framed(Y), make(D)), audit(Y, D))
    assert_same(audit(framed(Y), make(D), observed=make(SEEN)), plain)
    if form != "another order":
        assert_same(audit(make(Y), make(D), observed=make(SEEN)), plain)


def test_blanks_of_every_kind():
    plain = audit(np.where(SEEN, Y, NONE), D)
    lists = [[int(y) if seen else None for y, seen in zip(*row)] for row in zip(Y, SEEN)]  # noqa: B905
    masked = np.ma.array(Y, mask=~SEEN)
    nullable = framed(Y).astype("Int8").mask(~SEEN)
    for labels in (lists, masked, nullable, pl.DataFrame(lists, schema=TASKS, orient="row")):
        assert_same(audit(labels, D), plain)
    assert_same(audit(lists, np.where(SEEN, D, 9)), plain)


def test_names_come_from_the_tables():
    found = audit(framed(Y), D)
    assert found.people.name.tolist() == PEOPLE
    assert found.tasks.name == tuple(TASKS)
    assert audit(Y, framed(D)).people.name.tolist() == PEOPLE
    assert audit(Y, framed(D)).tasks.name == tuple(TASKS)
    said = audit(framed(Y), D, individual_names=range(5), task_names="wxyz")
    assert (said.people.name.tolist(), said.tasks.name) == ([0, 1, 2, 3, 4], tuple("wxyz"))
    assert audit(pd.DataFrame(Y), pd.DataFrame(D)[[3, 1, 0, 2]]).tasks.name == tuple("0123")
    assert_same(audit(pd.DataFrame(Y), pd.DataFrame(D)[[3, 1, 0, 2]]), audit(Y, D))


def test_one_task_as_a_series():
    plain = audit(Y[:, :1], D[:, :1])
    assert_same(audit(Y[:, 0], D[:, 0].tolist()), plain)
    labels, decisions = framed(Y)["t1"], framed(D)["t1"]
    assert_same(audit(labels, decisions[::-1]), plain)
    assert_same(audit(pl.Series("t1", Y[:, 0]), decisions), plain)


def test_people_who_share_a_name():
    twins = ["a", "a", "b", "c", "d"]
    assert_same(audit(framed(Y, twins), framed(D, twins)), audit(Y, D))
    with pytest.raises(InputError, match="some are repeated"):
        audit(framed(Y, twins), framed(D, twins).iloc[::-1])


def test_all_three_tables_are_aligned():
    plain = audit(Y, D, observed=SEEN)
    assert_same(audit(Y, framed(D), observed=framed(SEEN).iloc[::-1]), plain)


GROUPS = ["x", "y", "x", None, "y"]


def views(groups, **options):
    return [view.to_dict() for view in audit(framed(Y), D, groups=groups, **options).groups]


def test_forms_of_groups():
    plain = views(GROUPS)
    assert plain[0]["name"] == ["x", "y"]
    assert (plain[0]["people"], plain[0]["ungrouped"]) == ([2, 2], 1)
    series = pd.Series(GROUPS, index=PEOPLE)
    for form in (np.array(GROUPS, object), tuple(GROUPS), series, series[::-1]):
        assert views(form) == plain
    assert views(pl.Series(GROUPS)) == plain
    assert views(pd.Categorical(GROUPS)) == plain
    table = pd.DataFrame({"sex": series, "age": [1, 2, 1, 1, 2]}, index=PEOPLE)
    both = views(table.iloc[::-1])
    assert [view["attribute"] for view in both] == ["sex", "age"]
    assert both[0] == plain[0] | {"attribute": "sex"}
    assert both[1]["name"] == ["1", "2"]
    assert views(pl.DataFrame({"sex": GROUPS})) == [both[0]]
    assert views(series.rename("sex")) == [both[0]]
    numbers = audit(Y, D, groups=[1.5, NONE, 2, 2, 2]).groups[0]
    assert (numbers.name, numbers.ungrouped) == (("1.5", "2"), 1)


def test_groups_in_columns_without_names():
    assert views(pd.DataFrame({0: GROUPS}, index=PEOPLE))[0]["people"] == [2, 2]


def test_groups_are_aligned_with_the_names_given():
    series = pd.Series(GROUPS, index=PEOPLE)
    plain = audit(Y, D, groups=GROUPS).groups[0].to_dict()
    for order in (series, series[::-1]):
        found = audit(Y, D, individual_names=PEOPLE, groups=order)
        assert found.groups[0].to_dict() == plain


def test_forms_of_families():
    families = ["u", "v", "u", "w"]
    plain = audit(Y, D, task_families=families)
    series = pd.Series(families, index=TASKS)
    for form in (np.array(families), series, series[::-1]):
        assert_same(audit(framed(Y), D, task_families=form), plain)
    assert_same(audit(Y, D, task_names=TASKS, task_families=series[::-1]), plain)
    assert "3 families" in plain.summary()


@pytest.mark.parametrize("labels", [Y, pd.DataFrame(Y)], ids=["array", "frame"])
def test_families_in_a_series_without_names(labels):
    audit(labels, D, task_families=pd.Series(["u", "v", "u", "w"]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"decisions": np.where(np.eye(5, 4) > 0, 1.5, D)},
            r"in \[0, 1\].*row 0.*task0.*1\.5",
        ),
        ({"decisions": np.where(np.eye(5, 4, 1) > 0, -1, D)}, r"task1.*-1"),
        ({"decisions": np.where(np.eye(5, 4) > 0, NONE, D)}, "blank, but its label is known"),
        ({"decisions": D[:4]}, r"\(4, 4\).*\(5, 4\)"),
        ({"decisions": D[0]}, r"\(4, 1\).*\(5, 4\)"),
        ({"decisions": np.full((5, 4), "yes")}, "decisions must hold numbers.*'yes'"),
        ({"labels": Y + 1}, "labels must be 0, 1 or blank.*holds 2"),
        ({"labels": Y[None]}, r"labels must be a table.*\(1, 5, 4\)"),
        ({"labels": np.empty((0, 4))}, "at least one person"),
        ({"labels": None}, "labels must be a table"),
        ({"observed": SEEN[:3]}, r"observed and labels.*\(3, 4\)"),
        ({"observed": np.full((5, 4), 0.5)}, "observed must be True or False"),
        ({"individual_names": ["a"]}, r"individual_names must have 5 names.*\(1,\)"),
        ({"task_names": ["a"]}, "task_names must give 4 names.*1"),
        ({"task_names": list("aabc")}, "distinct.*'a'"),
        ({"task_families": ["u", "v"]}, "task_families must give 4.*2"),
        ({"task_families": ["u", None, "v", "v"]}, "none for task1"),
        ({"task_families": "uvwx"}, "task_families must be a list of 4"),
        ({"groups": ["x"]}, "groups must give 5.*1"),
        ({"groups": [None] * 5}, "is blank for everybody"),
        ({"groups": 3}, "groups must be a list of 5.*got 3"),
        ({"confidence": 95}, r"`confidence` must lie in \(0, 1\); got 95"),
        ({"confidence": True}, "`confidence`.*True"),
        ({"alpha": 0.7}, r"`alpha` must lie in \(0, 0.5\]; got 0.7"),
        ({"alpha": NONE}, "`alpha`.*nan"),
        ({"alpha": 0.1, "beta": 1}, r"`beta` must lie in \[0, 1\); got 1"),
        ({"beta": 0.1}, "needs an `alpha`"),
        ({"rate": "accuracy"}, "`rate` must be one of.*'accuracy'"),
        ({"rate": ["error", "false_positive"]}, "an audit takes one rate.*false_positive"),
    ],
)
def test_refused(change, words):
    with pytest.raises(InputError, match=f"(?s){words}"):
        audit(**({"labels": Y, "decisions": D} | change))


def test_a_rate_that_weighs_cells_is_refused():
    class Half(ErrorRate):
        name, negatives = "half", 0.5

    with pytest.raises(InputError, match=r"'half' weighs negatives 0\.5"):
        audit(Y, D, rate=Half())


@pytest.mark.parametrize("what", ["decisions", "observed"])
@pytest.mark.parametrize("axis", ["index", "columns"])
def test_mismatches_are_named(what, axis):
    other = framed(D).rename(**{axis: {"b": "stranger", "t2": "stranger"}})
    tables = {"decisions": D} | {what: other}
    with pytest.raises(InputError, match=f"{what} must have .*unknown: stranger; missing: (b|t2)"):
        audit(framed(Y), **tables)
    with pytest.raises(InputError, match="unknown: z; missing: e"):
        audit(framed(Y), D, groups=pd.Series(GROUPS, index=list("abcdz")))


def test_who_is_missing_is_named():
    with pytest.raises(InputError, match="missing: b"):
        audit(framed(Y), framed(D).drop(index="b"))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda found: found.window_at(1), r"`beta` must lie in \[0, 1\); got 1"),
        (lambda found: found.beta_at(-0.1), "`alpha`.*-0.1"),
        (lambda found: found.bounds(), "this audit has no alpha"),
        (lambda found: found.bounds(0.1, kappa=2), "`kappa`.*2"),
        (lambda found: found.curve.at(0.33), "not in the table, which has 0, 0.01"),
        (lambda found: found.worst_off(-1), "`count`.*-1"),
        (lambda found: found.best_off("all"), "`count`.*'all'"),
        (lambda found: found.to_frame("rates"), "`table` must be one of.*'rates'"),
    ],
)
def test_refused_of_an_audit(call, words):
    with pytest.raises(InputError, match=words):
        call(audit(Y, D))


@pytest.mark.parametrize("reliability", [1.0, 80, -1])
def test_reliability_is_a_share(reliability):
    with pytest.raises(InputError, match="`reliability`"):
        audit(Y, D).dispersion.tasks_needed(reliability)


@pytest.mark.parametrize("form", FORMS)
def test_inputs_are_left_alone_and_results_repeat(form):
    make = FORMS[form]
    tables = (framed(Y), make(D.copy()), make(SEEN.copy()))
    kept = (framed(Y), make(D.copy()), make(SEEN.copy()))
    many = random.random((5, 12))
    first = audit(tables[0], tables[1], observed=tables[2], alpha=0.1, groups=GROUPS)
    again = audit(tables[0], tables[1], observed=tables[2], alpha=0.1, groups=GROUPS)
    assert_same(first, again, names=True)
    assert str(first) == str(again)
    for table, copy in zip(tables, kept, strict=True):
        np.testing.assert_array_equal(np.asarray(table), np.asarray(copy))
    one, other = (audit(*zeros(many), random_state=np.random.RandomState(4)) for _ in range(2))
    assert_same(one, other, names=True)


def test_an_audit_is_frozen():
    found = audit(Y, D, alpha=0.1, groups=GROUPS)
    parts = (found, found.mean, found.chance, found.dispersion, found.curve, found.people)
    for part in (*parts, found.tasks, found.groups[0], found.exchangeability, found.assessment):
        with pytest.raises(FrozenInstanceError):
            setattr(part, next(iter(part.__dataclass_fields__)), 0)


def test_worst_and_best_off():
    found = audit(Y, D, individual_names=PEOPLE)
    worst, best = found.worst_off(5), found.best_off(5)
    assert all(a["rate"] >= b["rate"] for a, b in pairwise(worst))
    assert all(a["rate"] <= b["rate"] for a, b in pairwise(best))
    assert {row["name"] for row in worst} == {row["name"] for row in best} == set(PEOPLE)
    rows = dict(zip(PEOPLE, np.mean(Y != D, axis=1), strict=True))
    assert all(row["rate"] == pytest.approx(rows[row["name"]]) for row in worst)
    assert len(found.worst_off(2)) == 2
    ties = audit(*zeros([[1, 1, NONE], [1, 1, 1], [0, 0, 0], [0, NONE, 0]]), observed=MARKS)
    assert [row["name"] for row in ties.worst_off(2)] == [1, 0]
    assert [row["name"] for row in ties.best_off(2)] == [2, 3]
    assert found.range == (min(rows.values()), max(rows.values()))


def test_a_default_index_in_another_order_is_aligned():
    labels = pd.DataFrame(Y, index=[4, 3, 2, 1, 0], columns=[3, 2, 1, 0])
    decisions = pd.DataFrame(D, index=labels.index, columns=labels.columns)
    groups, families = pd.Series(["x", "x", "y", "y", "z"]), pd.Series(["u", "v", "v", "w"])
    found = audit(labels, decisions, groups=groups, task_families=families)
    plain = audit(Y, D, groups=list("zyyxx"), task_families=list("wvvu"))
    np.testing.assert_array_equal(found.groups[0].mean, plain.groups[0].mean)
    np.testing.assert_array_equal(found.groups[0].people, [2, 2, 1])
    assert found.tasks.family == plain.tasks.family


def test_where_random_signs_come_from():
    wide = np.tile(D, (1, 5)), np.tile(Y, (1, 5))
    draw = [audit(*wide, random_state=np.random.default_rng(seed)).seed for seed in (3, 3, 4)]
    assert draw[0] == draw[1] != draw[2]
    with pytest.raises(InputError, match=r"random_state.*-1"):
        audit(Y, D, random_state=-1)
