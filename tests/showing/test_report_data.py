"""The reports' data: the page holds the objects' figures, and names stay text."""

from __future__ import annotations

import json
import re
import sys
import warnings
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from averagefair import (
    AverageFairClassifier,
    Cap,
    ColumnGeneration,
    Equal,
    InputError,
    RegressionOracle,
    Sample,
    UndefinedRateWarning,
    WorstOff,
    audit,
    frontier,
)
from averagefair.datasets import make_synthetic
from averagefair.evaluation.generalisation import generalisation
from averagefair.showing.report import audit_data, audit_report, frontier_report, page
from averagefair.showing.report.bins import band_edges, cap_edges, step_band, step_edges, steps_of
from averagefair.showing.report.frontier_data import WORST, task_errors

QUICK = ColumnGeneration(max_rounds=10, mapping_rounds=3)
ALPHAS = [0.02, 0.05, 0.1, 0.3]
BOTH = ["false_positive", "false_negative"]
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "'\"&\u2028{{ 7 }}",
]
LARGEST = 15_000_000


class Page(HTMLParser):
    """A parsed page: elements, the text of scripts, all other text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.text, self._script = [], [], "", None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self._script = (dict(attrs), [])

    def handle_data(self, data):
        if self._script is None:
            self.text += data
        else:
            self._script[1].append(data)

    def handle_endtag(self, tag):
        if tag == "script":
            self.scripts.append((self._script[0], "".join(self._script[1])))
            self._script = None

    def data(self, name):
        return json.loads(
            next(text for attributes, text in self.scripts if attributes.get("id") == name)
        )

    def find(self, **wanted):
        named = {key.replace("_", "-"): value for key, value in wanted.items()}
        return [found for _, found in self.tags if named.items() <= found.items()]


def learned(rate="error", blanks=0.0, **options):
    people = make_synthetic(n=80, m=12, d=5, n_holdout=40, m_holdout=6)
    Y = people.Y.astype(float)
    Y[np.random.default_rng(0).random(Y.shape) < blanks] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedRateWarning)
        # 12 tasks are too few for fixed decisions that keep the small alphas.
        known = {"oracle": RegressionOracle(), "solver": QUICK, "random_state": 0}
        options = known | {"decisions": "drawn"} | options
        curve = frontier(people.X, Y, ALPHAS, rate=rate, **options)
    return people, Y, curve


def held_out_parts(people):
    return {
        name: getattr(people, name)
        for name in ("X_new", "Y_new_people", "Y_new_tasks", "Y_new_both")
    }


@pytest.fixture(scope="module")
def whole():
    """A curve with everything on its page."""
    people, Y, curve = learned()
    model = curve.model(0.1)
    found = model.audit(
        people.X_new,
        people.Y_new_both,
        classifiers=model.extend(people.Y_new_tasks),
        groups=people.groups_new,
        beta=0.05,
    )
    text = frontier_report(
        curve,
        Y,
        measured=generalisation(curve, **held_out_parts(people)),
        choice=0.1,
        audit=found,
        settings={"seed": 0},
    )
    return people, curve, found, text


def test_points_are_those_of_the_curve(whole):
    _, curve, _, text = whole
    data = Page(text).data("frontier-data")
    assert [point["value"] for point in data["points"]] == list(curve.values)
    assert data["start"] == 2
    for shown, point in zip(data["points"], curve, strict=True):
        row = point.to_dict()
        for name in ("error", "spread", "outside", "columns", "coin_flips"):
            assert shown[name] == row[name]
        assert shown["common_rate"] == [row["common_rate"]]
        assert shown["gap"] is None
        assert shown["statement"] == point.statement()
        assert "\n".join(line for _, line in shown["certificate"]) == str(point.certificate)
    assert data["unconstrained"]["error"] == curve.unconstrained.error
    assert data["unconstrained"]["spread"] == curve.unconstrained.spread


def test_the_page_opens_at_the_choice(whole):
    _, curve, _, text = whole
    page_, point = Page(text), curve.at(0.1)
    assert page_.find(id="value")[0]["value"] == "2"
    for name in ("error", "spread", "outside", "coin_flips", "common_rate"):
        shown = page_.find(data_figure=name)[0]
        assert float(shown["data-value"]) == point.to_dict()[name]
        assert f"{point.to_dict()[name]:.3f}" in page_.text
    assert point.statement() in page_.text


@pytest.mark.parametrize(
    ("rate", "blanks", "options"),
    [
        ("error", 0.0, {}),
        ("error", 0.5, {"max_influence": 2.0}),
        ("false_positive", 0.8, {}),
        (BOTH, 0.6, {"beta": 0.1}),
        (["error"], 0.2, {}),
    ],
)
def test_rates_and_worst_off_are_those_of_the_models(rate, blanks, options):
    _, Y, curve = learned(rate, blanks, **options)
    data = Page(frontier_report(curve, Y)).data("frontier-data")
    free = curve.unconstrained.rates.reshape(80, -1)
    assert len(data["rates"]) == free.shape[1]
    spreads = np.nanmax(free, axis=0) - np.nanmin(free, axis=0)
    assert data["widest_rate"] == int(np.argmax(spreads))
    for k, shown in enumerate(data["rates"]):
        for place, point in enumerate(curve):
            rates = point.model.individual_rates_.reshape(80, -1)[:, k]
            defined = rates[~np.isnan(rates)]
            assert shown["undefined"] == 80 - defined.size
            assert sum(shown["histograms"][place]) == defined.size
            assert sum(shown["unconstrained"][place]) == np.count_nonzero(~np.isnan(free[:, k]))
            worst = shown["worst_off"][place]
            np.testing.assert_allclose(worst["rate"], np.sort(defined)[::-1][:WORST], atol=1e-9)
            np.testing.assert_array_equal(worst["rate"], rates[worst["name"]])
            np.testing.assert_array_equal(
                np.array(worst["unconstrained"], dtype=float), free[worst["name"], k]
            )
            ties = np.count_nonzero(defined >= worst["rate"][-1] - 1e-9) - len(worst["rate"])
            assert worst["more"] == ties


def test_nobody_inside_the_band_is_drawn_outside(whole):
    _, curve, _, text = whole
    shown = Page(text).data("frontier-data")["rates"][0]
    for place, point in enumerate(curve):
        edges, common = np.array(shown["edges"][place]), point.certificate.common_rate
        outside = (edges[:-1] < common - point.value - 1e-5) | (
            edges[1:] > common + point.value + 1e-5
        )
        assert not np.array(shown["histograms"][place])[outside].any()


@pytest.mark.parametrize("tasks", [1, 3, 50, 5000])
@pytest.mark.parametrize("alpha", [1e-6, 0.005, 0.1, 0.5])
@pytest.mark.parametrize("ends", [(0.0, 1.0), (0.2, 0.2), (0.1, 0.35)])
def test_bins_hold_everybody_and_are_few(tasks, alpha, ends):
    edges = band_edges(*ends, tasks, common=0.2, alpha=alpha)
    assert edges[0] <= ends[0] <= ends[1] <= edges[-1]
    assert (np.diff(edges) > 0).all()
    assert 1 <= edges.size - 1 <= 61


def test_task_errors_by_brute_force():
    people, Y, curve = learned(blanks=0.4)
    data = Page(frontier_report(curve, Y)).data("frontier-data")
    for place, point in enumerate(curve):
        chances = point.model.decision_probability(people.X)
        for task in range(12):
            seen = [i for i in range(80) if not np.isnan(Y[i, task])]
            expected = np.mean([abs(chances[i, task] - Y[i, task]) for i in seen])
            assert data["task_errors"][place][task] == pytest.approx(expected, abs=1e-6)
    assert data["task_names"] == list(curve[0].model.task_names_)


def test_a_task_without_labels_has_no_error(whole):
    people, curve, *_ = whole
    sample = Sample(people.X, np.where(np.arange(12) == 3, np.nan, people.Y))
    assert np.flatnonzero(np.isnan(task_errors(curve[0].model.classifiers_, sample))) == [3]


@pytest.mark.parametrize("tasks", [1, 7, 50, 400])
@pytest.mark.parametrize("band", [None, (0.2, 0.4), (0.31, 0.47), (-0.1, 2.0), (0.301, 0.302)])
def test_every_bin_holds_equally_many_possible_rates(tasks, band):
    possible = np.arange(tasks + 1) / tasks
    low, high = possible[tasks // 5], possible[-1]
    edges = step_edges(low, high, tasks, band)
    assert edges[0] < low < high < edges[-1]
    assert 1 <= edges.size - 1 <= 61
    beyond = np.arange(-tasks, 2 * tasks + 1) / tasks
    counts = np.histogram(beyond, edges)[0]
    assert len(set(counts.tolist())) == 1
    assert counts[0] >= 1
    assert np.abs(edges[:, None] - beyond).min() > 0.4 / tasks  # nobody is at an edge


def test_the_band_of_steps_holds_whole_bars():
    assert steps_of(np.array([0.1, 0.3]), 10) == 10
    assert steps_of(np.array([0.1, 0.3]), 8) == 0
    assert steps_of(np.array([]), 8) == 0
    low, high = step_band((0.17, 0.45), 10)
    assert (low, high) == (pytest.approx(0.15), pytest.approx(0.45))
    edges = step_edges(0.0, 0.9, 10, (0.17, 0.45))
    assert np.abs(edges - low).min() < 1e-9
    assert np.abs(edges - high).min() < 1e-9


def test_fixed_decisions_have_no_bin_that_is_empty_by_construction(fixed):
    """With 12 tasks everybody's rate is a multiple of 1/12: every bin holds one multiple."""
    _, _, curve, text = fixed
    (shown,) = Page(text).data("frontier-data")["rates"]
    assert shown["step"] == pytest.approx(1 / 12)
    for place, point in enumerate(curve):
        edges = np.array(shown["edges"][place])
        np.testing.assert_allclose(np.diff(edges), 1 / 12, atol=1e-6)
        np.testing.assert_allclose((12 * edges) % 1.0, 0.5, atol=1e-5)
        low, high = shown["bands"][place]
        common = point.certificate.common_rate
        inside = np.abs(point.model.individual_rates_ - common) <= point.value + 1e-6
        middles = (edges[:-1] + edges[1:]) / 2
        drawn = np.array(shown["histograms"][place])[(middles > low) & (middles < high)]
        assert drawn.sum() == inside.sum()


@pytest.fixture(scope="module")
def fixed():
    """A curve with fixed decisions, and its page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the small alphas are not kept
        people, Y, curve = learned(decisions="fixed")
    text = frontier_report(curve, Y, measured=generalisation(curve, **held_out_parts(people)))
    return people, Y, curve, text


def test_a_page_of_fixed_decisions_shows_what_is_decided(fixed):
    people, Y, curve, text = fixed
    data = Page(text).data("frontier-data")
    for place, point in enumerate(curve):
        decisions = point.model.predict(people.X)
        rates = np.abs(Y - decisions).mean(axis=1)
        assert data["points"][place]["error"] == pytest.approx(rates.mean(), abs=1e-9)
        assert data["points"][place]["spread"] == pytest.approx(np.ptp(rates), abs=1e-9)
        worst = data["rates"][0]["worst_off"][place]
        np.testing.assert_allclose(worst["rate"], np.sort(rates)[::-1][:WORST], atol=1e-9)
        per_task = (Y != decisions).mean(axis=0)
        np.testing.assert_allclose(data["task_errors"][place], per_task, atol=1e-6)


def test_beside_it_stands_what_the_chances_reach(fixed, whole):
    """The chances are those of the same curve with drawn decisions."""
    *_, text = fixed
    _, drawn, *_ = whole
    page_ = Page(text)
    data = page_.data("frontier-data")
    start = data["start"]
    assert data["fixed"] is True
    for shown, point in zip(data["points"], drawn, strict=True):
        for name in ("error", "spread"):
            wanted = point.to_dict()[name]
            assert shown["by_chances"][name] == pytest.approx(wanted, abs=1e-9)
            assert float(shown["shown"][f"chance_{name}"][1]) == pytest.approx(wanted, abs=1e-9)
            assert f"{wanted:.3f}" in page_.text  # in the table of the curve
    for name in ("error", "spread"):
        (figure,) = page_.find(data_figure=f"chance_{name}")
        assert float(figure["data-value"]) == data["points"][start]["by_chances"][name]
        assert f"{name} by chances" in page_.text


def test_words_about_draws_are_those_of_the_decisions(fixed, whole):
    pages = {"fixed": Page(fixed[3]), "drawn": Page(whole[3])}
    words = {
        "Fixed: each task has one classifier, and nothing is drawn.": "fixed",
        "One is chosen for each task, for everybody.": "fixed",
        "on average over draws": "fixed",
        "On new tasks, the figures are averages over draws": "fixed",
        "each decision draws one of them": "drawn",
        "the rate is the average over draws": "drawn",
    }
    for said, kind in words.items():
        other = "drawn" if kind == "fixed" else "fixed"
        assert said in pages[kind].text
        if said != "on average over draws":
            assert said not in pages[other].text
    assert not pages["drawn"].find(data_figure="chance_error")


def test_held_out_curves_are_those_of_generalisation(whole):
    people, curve, _, text = whole
    corners = Page(text).data("frontier-data")["corners"]
    test = generalisation(curve, **held_out_parts(people))
    assert list(corners) == ["training", "people", "tasks", "both"]
    for name, corner in test.corners.items():
        assert (corners[name]["n"], corners[name]["m"]) == (corner.n, corner.m)
        for column in ("error", "error_low", "near", "floor", "denoised", "sigma", "sigma_high"):
            np.testing.assert_allclose(
                np.array(corners[name][column], dtype=float), getattr(corner, column), atol=1e-6
            )
    assert f"{test.both.near[2]:.3f}" in Page(text).text


def curve_of(promise, values, people, **options):
    made = {"oracle": RegressionOracle(), "solver": QUICK, "random_state": 0, "decisions": "drawn"}
    return frontier(people.X, people.Y, values, promise=promise, **(made | options))


PROMISES = {
    "price": (WorstOff(0.2), [0.1, 0.5], "price", "a low mean of the error rate"),
    "limit": (WorstOff(0.2, max_rate=0.5), [0.4, 0.6], "max rate", "at most max rate"),
    "cap": (Cap(beta=0.1), [0.5, 0.7], "max rate", "nobody&#39;s error rate above max rate"),
    "harm": (Equal(no_harm=0.4), [0.1, 0.3], "alpha", "nobody&#39;s rate more than 0.4 above"),
}


@pytest.mark.parametrize("name", PROMISES)
def test_every_promise_has_a_page(name, whole):
    people = whole[0]
    promise, values, figure, words = PROMISES[name]
    curve = curve_of(promise, values, people)
    test = generalisation(curve, **held_out_parts(people))
    text = frontier_report(curve, people.Y, measured=test, choice=values[0])
    found = Page(text)
    data = found.data("frontier-data")
    assert (data["figure"], data["start"]) == (figure, 0)
    assert data["equal"] == isinstance(promise, Equal)
    assert data["easiest"] == (0 if name == "price" else 1)
    assert words in text
    assert f"At this {figure}" in text
    for place, (shown, point) in enumerate(zip(data["points"], curve, strict=True)):
        assert shown["value"] == point.value
        assert shown["reached"] == point.certificate.reached
        assert shown["statement"] == point.statement()
        for rate in data["rates"]:
            assert sum(rate["histograms"][place]) == len(people.Y)
    (series,) = data["pays"]["series"]
    for corner, curves in test.corners.items():
        for row, pays in zip(series["corners"][corner], curves.who_pays, strict=True):
            assert row["worst_before"] == pays.worst_off.before
            assert row["worst_change"] == pytest.approx(pays.worst_off.change)
            assert (row["better"], row["worse"]) == (pays.better, pays.worse)
    worst = test.both.who_pays[0].worst_off
    assert f"mean rate goes from {worst}" in data["points"][0]["carried"]
    assert ("common rate" in data["points"][0]["carried"]) == data["equal"]
    assert len(found.find(data_pays="training")) == len(found.find(data_pays="both")) == 1


def test_two_curves_are_shown_beside_each_other(whole):
    people, curve, *_ = whole
    other = curve_of(WorstOff(0.1), [0.25], people)
    data = Page(frontier_report(curve, people.Y, beside=other)).data("frontier-data")["pays"]
    assert [own["name"] for own in data["series"]] == ["equal rates", "worst-off 10%"]
    assert list(data["corners"]) == ["training"]
    (row,) = data["series"][1]["corners"]["training"]
    assert row["worst_after"] == other[0].worst_off
    assert row["error"] == other[0].error


def test_a_first_look_is_shown(whole):
    people, curve, _, text = whole
    assert curve.first_look is not None
    assert curve.first_look.statement().split("(")[0][:40] in text
    bare = frontier(people.X, people.Y, [0.3], solver=QUICK, random_state=0, look_first=False)
    assert "With nothing asked, on" not in frontier_report(bare, people.Y)


@pytest.mark.parametrize("tasks", [1, 12, 5000])
@pytest.mark.parametrize("cap", [0.1, 0.35, 0.5, np.nan])
def test_nobody_at_the_cap_is_drawn_above_it(tasks, cap):
    rates = np.sort(np.append(np.random.default_rng(0).random(300) * 0.5, [0.0, 0.5]))
    rates = np.append(rates, [] if np.isnan(cap) else [cap] * 5)
    edges = cap_edges(0.0, 0.5, tasks, cap)
    assert len(edges) <= 62
    assert np.histogram(rates, edges)[0].sum() == rates.size
    if not np.isnan(cap):
        above = edges[:-1] > cap + 1e-9
        assert np.histogram(rates, edges)[0][above].sum() <= np.count_nonzero(rates > cap)


def test_the_audit_of_a_frontier_page_is_the_audit_page(whole):
    _, _, found, text = whole
    alone = Page(audit_report(found))
    assert alone.data("audit-data") == Page(text).data("audit-data")
    for line in found.summary().splitlines():
        assert line.removeprefix("Note: ") in alone.text


def test_audit_data(whole):
    _, _, found, text = whole
    data = Page(text).data("audit-data")
    columns = data["people"]["columns"]
    order = [row["name"] for row in found.worst_off(found.n)]
    assert columns["name"] == order
    for name in ("rate", "low", "high"):
        np.testing.assert_allclose(columns[name], getattr(found.people, name)[order], atol=5.1e-4)
    assert columns["rank"] == found.people.rank[order].tolist()
    assert sum(data["chance"]["counts"]) == found.chance.flipped.size
    np.testing.assert_allclose(data["curve"]["alpha"], found.curve.alpha, atol=1e-6)
    assert data["curve"]["cap"][0] is None
    assert sorted(data["tasks"]["columns"]["name"]) == sorted(found.tasks.name)
    assert data["groups"][0]["statement"] == found.groups[0].statement()


def test_an_audit_with_blanks_families_and_people_without_a_rate():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, (400, 8)).astype(float)
    labels[rng.random(labels.shape) < 0.7] = np.nan
    labels[:3] = np.nan
    found = audit(
        labels, rng.random((400, 8)), rate="false_negative", task_families=list("aabbccdd")
    )
    data = Page(audit_report(found)).data("audit-data")
    none = int(np.isnan(found.people.rate).sum())
    assert none >= 3
    columns = data["people"]["columns"]
    assert columns["rate"][-none:] == [None] * none == columns["rank"][-none:]
    assert len(columns["name"]) == 400
    assert data["sorted"]["thinned"] == (400 - none > 300)
    assert set(data["tasks"]["columns"]["family"]) == set("abcd")


@pytest.mark.parametrize(
    ("labels", "decisions"),
    [
        ([[1]], [[0]]),
        ([[1, 0], [0, 1]], [[1, 0], [0, 1]]),
        ([[np.nan, np.nan]] * 3, [[0, 1]] * 3),
        ([[1], [0], [1]], [[1], [1], [0]]),
    ],
)
def test_audits_that_can_tell_little_have_a_page(labels, decisions):
    found = audit(labels, decisions, alpha=0.1)
    text = audit_report(found)
    assert Page(text).data("audit-data")["people"]["total"] == len(labels)
    assert "nan" not in Page(text).text.split()


def test_hostile_names_stay_words():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(3, 2)), index=HOSTILE, columns=HOSTILE[:2])
    Y = pd.DataFrame([[0, 1, 1], [1, 0, 0], [0, 0, 1]], index=HOSTILE, columns=HOSTILE)
    curve = frontier(X, Y, [0.2, 0.4], solver=QUICK, random_state=0)
    found = audit(Y, 1 - Y, groups=pd.DataFrame({HOSTILE[0]: HOSTILE}, index=HOSTILE), alpha=0.1)
    settings = {HOSTILE[1]: HOSTILE[0]}
    whole = frontier_report(curve, Y, audit=found, title=HOSTILE[0], settings=settings)
    for text in (whole, audit_report(found, title=HOSTILE[1], settings=settings)):
        shown = Page(text)
        assert "img" not in [tag for tag, _ in shown.tags]
        assert not any(key.startswith("on") for _, found in shown.tags for key in found)
        scripts = [found.get("type") for found, _ in shown.scripts]
        assert scripts.count(None) == 1
        assert text.count("alert(1)</script>") == 0
        assert HOSTILE[0] in shown.text
        assert HOSTILE[1] in shown.text
        columns = shown.data("audit-data")["people"]["columns"]
        assert sorted(columns["name"]) == sorted(HOSTILE)
        assert "\u2028" not in "".join(code for _, code in shown.scripts)
    assert Page(whole).data("frontier-data")["task_names"] == HOSTILE


def test_one_script_named_by_its_hash_and_nothing_fetched(whole):
    _, _, found, text = whole
    for one in (text, audit_report(found)):
        shown = Page(one)
        code = next(code for attributes, code in shown.scripts if not attributes)
        policy = shown.find(http_equiv="Content-Security-Policy")[0]["content"]
        digest = b64encode(sha256(code.encode()).digest()).decode()
        assert f"script-src 'sha256-{digest}'" in policy
        assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; ")
        assert "http://" not in one
        assert "https://" not in one
        assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|innerHTML|\beval\(", one)
        for tag, attributes in shown.tags:
            assert tag not in ("link", "img", "iframe", "object", "embed", "base")
            assert "src" not in attributes
            assert attributes.get("href", "#").startswith("#")
        assert ("html", {"lang": "en"}) in shown.tags


def test_settings_and_versions_are_shown(whole):
    _, _, found, _ = whole
    text = Page(audit_report(found, settings={"labels": "people.csv", "alpha": 0.1})).text
    for word in ("people.csv", "0.1", np.__version__, "scikit-learn", "highspy"):
        assert word in text


def test_a_curve_of_many_people_is_a_small_file():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 2))
    Y = X @ rng.normal(size=(2, 3)) + rng.normal(size=(30_000, 3)) > 0
    few = ColumnGeneration(max_rounds=3, mapping_rounds=3)
    curve = frontier(X, Y, [0.1, 0.3], solver=few, random_state=0, decisions="drawn")
    # Less than one figure for each person.
    assert len(frontier_report(curve, Y).encode()) < 150_000


def test_an_audit_of_many_people_lists_them_all_or_says_how_many():
    rng = np.random.default_rng(0)
    labels, decisions = rng.integers(0, 2, (2, 100_000, 5))
    text = audit_report(audit(labels, decisions))
    assert len(text.encode()) < LARGEST
    assert Page(text).data("audit-data")["people"]["listed"] == 100_000
    long = [f"{place} {'x' * 100}" for place in range(100_000)]
    found = audit(labels, decisions, individual_names=long)
    text = audit_report(found)
    assert len(text.encode()) < LARGEST
    people = Page(text).data("audit-data")["people"]
    assert people["total"] == 100_000
    assert 10_000 < people["listed"] == len(people["columns"]["name"]) < 100_000
    assert len(json.dumps(people["columns"])) < 1.1 * audit_data.MOST_BYTES
    assert people["columns"]["rate"][0] == found.range.high


def test_people_of_weight_zero_are_left_out():
    people = make_synthetic(n=30, m=6, d=3)
    weights = np.ones(30)
    weights[:4] = 0
    curve = frontier(
        people.X, people.Y, [0.1, 0.3], solver=QUICK, random_state=0, sample_weight=weights
    )
    data = Page(frontier_report(curve, people.Y)).data("frontier-data")
    shown = data["rates"][0]
    assert shown["undefined"] == 4
    assert sum(shown["histograms"][0]) == 26
    assert not set(shown["worst_off"][0]["name"]) & {0, 1, 2, 3}


def test_wrong_input_is_refused(whole):
    people, curve, found, _ = whole
    Y = people.Y
    with pytest.raises(InputError, match="80 training individuals; got 79"):
        frontier_report(curve, Y[1:])
    with pytest.raises(InputError, match="12 tasks that the model learned"):
        frontier_report(curve, Y[:, 1:])
    with pytest.raises(InputError, match="rows in the same order"):
        frontier_report(curve, Y[::-1])
    with pytest.raises(InputError, match="was not requested"):
        frontier_report(curve, Y, choice=0.07)
    with pytest.raises(InputError, match=r"must be generalisation\(curve, ...\) of the same curve"):
        frontier_report(curve, Y, measured=people.X_new)
    with pytest.raises(InputError, match="`curve` must be a result of frontier"):
        frontier_report(AverageFairClassifier(), Y)
    with pytest.raises(InputError, match="`beside` must be a result of frontier"):
        frontier_report(curve, Y, beside=found)
    with pytest.raises(InputError, match="`beside_measured` needs `beside`"):
        frontier_report(curve, Y, beside_measured=generalisation(curve))
    fewer = frontier(people.X[1:], Y[1:], [0.3], solver=QUICK, random_state=0)
    with pytest.raises(InputError, match="79 training individuals; got 80"):
        frontier_report(curve, Y, beside=fewer)
    with pytest.raises(InputError, match=r"must be generalisation\(curve, ...\) of the same curve"):
        frontier_report(curve, Y, beside=curve, beside_measured=generalisation(fewer))
    with pytest.raises(InputError, match="`audit` must be a result of audit"):
        frontier_report(curve, Y, audit=3)
    with pytest.raises(InputError, match="`audit` must be a result of audit"):
        audit_report(None)
    with pytest.raises(InputError, match="`gate` must be a Gate"):
        audit_report(found, gate="PASS")
    with pytest.raises(InputError, match="`settings` must map names to values"):
        audit_report(found, settings=["seed"])


def test_without_jinja_the_remedy_is_said(whole, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    page._templates.cache_clear()
    with pytest.raises(ImportError, match=r"pip install 'averagefair\[report\]'"):
        audit_report(whole[2])
