"""Small and odd tables: a sentence explains every unknown figure, and no NaN is printed."""

import json
import re

import numpy as np
import pytest

from averagefair import audit, compare

NONE = np.nan
random = np.random.default_rng(3)
D = np.array([[1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 0]])
FAIR = np.eye(4, dtype=int)


def zeros(L):
    """Return labels of 0, so that decisions are losses."""
    return np.zeros(np.shape(L)), L


# name: labels, decisions, and a word of the sentence that explains the unknown figures.
ODD = {
    "one person": ([[0, 1, 1]], [[0, 0, 1]], "one person"),
    "one cell": ([[0]], [[1]], "one person"),
    "two people": (*zeros([[0, 0, 1, 1], [1, 1, 1, 0]]), ""),
    "two tasks": (*zeros([[0, 1], [1, 1], [0, 0]]), "smallest possible p-value is 0.5"),
    "one task": (*zeros([[0], [1], [1], [0]]), "with one task"),
    "somebody without labels": ([[NONE] * 3, [0, 1, 0], [1, 1, 0]], D[:3, :3], "counts: person 0"),
    "somebody with one label": ([[NONE, 0, NONE], [0, 1, 0], [1, 1, 0]], D[:3, :3], "left out"),
    "a task nobody has": ([[NONE, 1, 0], [NONE, 1, 0]], [[0, 1, 1], [0, 1, 0]], "task0"),
    "all right": (FAIR, FAIR, "was right"),
    "all wrong": (FAIR, 1 - FAIR, "was wrong"),
    "equal columns": (*zeros(np.tile([1, 0, 0, 1], (8, 1))), ""),
    "all alike": (*zeros(np.full((4, 4), 0.5)), "all losses are equal"),
    "everything blank": (np.full((3, 3), NONE), np.zeros((3, 3)), "Nobody's"),
    "no negatives": (np.ones((3, 4)), D[:3], ""),
    "one label each": (np.where(FAIR, 0, NONE), [[0, 1, 1, 1]] * 4, "fewer than two people"),
    "identity": (*zeros(FAIR), "closer together than chance"),
}
SETTINGS = (
    {},
    {"alpha": 0.1},
    {"alpha": 0.05, "beta": 0.2, "groups": True, "confidence": 0.5},
    {"rate": "false_positive"},
    {"rate": "false_negative", "alpha": 0.3},
    {"task_families": True, "groups": True},
)


def odd_audit(name, setting):
    labels, decisions, _ = ODD[name]
    options = dict(setting)
    n, m = np.shape(labels)
    if "groups" in options:
        options["groups"] = (["x", "y", None] * n)[:n]
    if "task_families" in options:
        options["task_families"] = [f"f{j // 2}" for j in range(m)]
    return audit(labels, decisions, **options)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("name", ODD)
def test_odd_tables_are_said_in_words(name, setting):
    with np.errstate(all="raise"):
        found = odd_audit(name, setting)
        text = found.summary()
        shown = [
            text,
            str(found.curve),
            *map(str, found.groups),
            found.bounds(0.1).statement(),
        ]
        assert not re.search(r"\b(nan|inf)\b", " ".join(shown), re.IGNORECASE)
        assert repr(found) == str(found) == text
        plain = found.to_dict()
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain
        assert len(found.to_frame()) == found.n
        assert len(found.to_frame("tasks")) == found.m
        assert len(found.to_frame("curve")) == found.curve.beta.size
        assert len(found.to_frame("groups")) == sum(len(view.name) for view in found.groups)
        itself = compare(found, found)
        assert not re.search(r"\b(nan|inf)\b", str(itself), re.IGNORECASE)
    if setting == {"rate": "false_positive"} and name == "no negatives":
        assert "Nobody's false-positive rate is defined" in text
    if not setting:
        assert ODD[name][2] in text
    assert_told(found, text)


def assert_told(found, text):
    """Check that a sentence explains each NaN."""
    rated = ~np.isnan(found.people.rate)
    for value, words in (
        (found.mean.value, "Nobody's"),
        (found.mean.low, "no interval for the mean|mean's interval|Nobody's"),
        (found.dispersion.sigma2.value, "one person|one (task|family)|noise cannot be|Nobody's"),
        (
            found.dispersion.upper,
            "no bound|one person|one (task|family)|noise cannot be|Nobody's",
        ),
    ):
        assert not np.isnan(value) or re.search(words, text), words
    for name in found.people.name[~rated][:5]:
        assert re.search(rf"no rate, .*person {name}\b", text)
        assert not re.search(rf"with only one .*person {name}\b", text)
    for task in np.flatnonzero(found.tasks.people == 0)[:5]:
        assert re.search(rf"tasks left out, .*: .*{found.tasks.name[task]}\b", text)
    assert (found.people.rank[rated] >= 1).all()
    low, rate, high = found.people.low[rated], found.people.rate[rated], found.people.high[rated]
    assert (low <= rate + 1e-12).all()
    assert (rate <= high + 1e-12).all()
    assert (found.people.all_low[rated] <= low + 1e-12).all()
    assert (found.people.all_high[rated] >= high - 1e-12).all()
    assert 0 < found.chance.p <= 1 or not rated.any()


@pytest.mark.parametrize("name", list(ODD)[::3])
def test_odd_tables_are_drawn(name, tmp_path):
    figure = odd_audit(name, SETTINGS[2]).plot()
    figure.savefig(tmp_path / "audit.png", dpi=30)
    assert (tmp_path / "audit.png").stat().st_size > 1000


def test_many_people_are_drawn(tmp_path):
    found = audit(*zeros(random.random((150, 12)) ** 3), alpha=0.05)
    found.plot().savefig(tmp_path / "audit.svg")
    assert (tmp_path / "audit.svg").stat().st_size > 1000


EQUAL = [
    np.tile([1.0, 0, 0, 1, 0, 0], (7, 1)),
    np.tile(np.arange(49) < 7, (300, 1)).astype(float),
    np.tile([1.0, *[0.0] * 9], (3, 1)),
    np.tile(np.random.default_rng(1).random(50), (300, 1)),
    np.full((6, 7), 0.1),
]


@pytest.mark.parametrize("L", EQUAL, ids=["7x6", "300x49", "3x10", "300x50", "6x7"])
def test_who_is_decided_alike_is_no_evidence(L):
    """Everybody has the same losses on every task: R is zero except for rounding."""
    found = audit(*zeros(L))
    assert found.chance.p == 1
    assert np.isnan(found.dispersion.reliability)
    assert np.isnan(found.dispersion.upper)
    assert "no bound" in found.summary()
    assert "may be chance alone" in found.summary()
    assert "closer together" not in found.summary()


def test_equal_losses_with_blanks():
    seen = np.random.default_rng(0).random((6, 7)) < 0.6
    found = audit(*zeros(np.full((6, 7), 0.1)), observed=seen)
    assert np.isnan(found.mean.low)
    assert np.isnan(found.dispersion.reliability)


def test_the_lowest_of_windows_as_narrow():
    found = audit(*zeros(np.tri(3, 10)))
    assert found.window_at(1 / 3).middle == pytest.approx(0.15)


def test_no_p_value_is_above_one():
    assert odd_audit("everything blank", {}).to_dict()["chance"]["smallest"] in (None, 1.0)


def test_whatever_is_unknown_is_told():
    found = odd_audit("identity", {})
    assert np.isnan(found.dispersion.reliability)
    assert "reliability" in found.summary()
    alone = odd_audit("one person", {}).exchangeability
    assert np.isnan(alone.q)
    assert "no task distinguishes people" in alone.reason
