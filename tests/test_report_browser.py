"""The reports in a real browser: what is shown is what the objects say, for whoever looks how."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from collections import Counter
from itertools import pairwise
from time import perf_counter

import numpy as np
import pandas as pd
import pytest
from browser_pages import (
    READ_COLOURS,
    READ_OUT_OF_SIGHT,
    READ_OVERLAPS,
    READ_TONES,
    REDRAWN,
    Chart,
    all_rows,
    assert_written,
    chromium,
    contrast,
    move_slider,
    natural,
    opened,
    rows,
)

from averagefair import ColumnGeneration, UndefinedRateWarning, audit, frontier
from averagefair.datasets import make_synthetic
from averagefair.generalisation import generalisation
from averagefair.report import audit_report, frontier_report

pytestmark = pytest.mark.browser

QUICK = ColumnGeneration(max_rounds=30, shakes=2, reweightings=3)
ALPHAS = [0.02, 0.05, 0.075, 0.1, 0.3]
CHOICE = 3
BOTH = ["false_positive", "false_negative"]
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    '"><b>',
    "{{7*7}}",
    "one\u2028two",
    "<!--<script>",
    "&lt;i&gt;&amp;",
]
LONG = "x" * 60
CORNER_COLUMNS = ["error", "spread", "near", "floor", "denoised", "sigma"]
CONTROLS = ["#alpha", "#per-task-search", "#people-search", "#tasks-search", ".pager button"]


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def save(tmp_path_factory):
    """A function that writes a page and says where."""
    folder = tmp_path_factory.mktemp("reports")

    def write(name, text):
        path = folder / f"{name}.html"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def population(n=80, m=12, n_new=130, m_new=30, people="person {}", tasks="task {}"):
    """People and tasks with names, in tables."""
    made = make_synthetic(n=n, m=m, d=5, n_holdout=n_new, m_holdout=m_new)
    old = [people.format(place) for place in range(n)]
    new = [people.format(f"new {place}") for place in range(n_new)]
    known = [tasks.format(place) for place in range(m)]
    later = [tasks.format(f"later {place}") for place in range(m_new)]

    def table(cells, index, columns):
        return pd.DataFrame(np.asarray(cells, dtype=float), index=index, columns=columns)

    features = [f"feature {place}" for place in range(5)]
    held_out = {
        "X_new": table(made.X_new, new, features),
        "Y_new_people": table(made.Y_new_people, new, known),
        "Y_new_tasks": table(made.Y_new_tasks, old, later),
        "Y_new_both": table(made.Y_new_both, new, later),
    }
    groups = pd.DataFrame({"group": np.asarray(made.groups_new).astype(str)}, index=new)
    return table(made.X, old, features), table(made.Y, old, known), held_out, groups


@pytest.fixture(scope="module")
def whole(save):
    """A curve with everything on its page."""
    X, Y, held_out, groups = population()
    curve = frontier(X, Y, ALPHAS, solver=QUICK, random_state=0)
    model = curve[CHOICE].model
    found = model.audit(
        held_out["X_new"],
        held_out["Y_new_both"],
        classifiers=model.extend(held_out["Y_new_tasks"]),
        groups=groups,
        beta=0.05,
    )
    text = frontier_report(
        curve,
        Y,
        measured=generalisation(curve, **held_out),
        choice=ALPHAS[CHOICE],
        audit=found,
        settings={"seed": 0},
    )
    return X, Y, held_out, curve, found, save("whole", text)


def judged_by_hand():
    """An audit with blanks, families, two kinds of groups, people without a rate, and flags."""
    rng = np.random.default_rng(3)
    names = [f"Person {place}" for place in rng.permutation(120)]
    names += [
        "Zoë Noll",
        "Émile Blanc",
        "李雷",
        "a.*(b",
        "ANNA",
        "anna b",
        "[x]\\d",
        "100%_'\"",
        "",
    ]
    n, m = len(names), 60
    labels = rng.integers(0, 2, (n, m)).astype(float)
    wrong = rng.random((n, m)) < rng.beta(3, 7, n)[:, None]
    wrong[5:8] = True
    decisions = np.where(wrong, 1 - labels, labels)
    labels[rng.random((n, m)) < 0.15] = np.nan
    labels[20:23] = np.nan
    labels[:, 11] = np.nan
    groups = pd.DataFrame(
        {
            "region": rng.choice(["north", "south", "East & West"], n),
            "age": rng.choice(["old", "young", None], n, p=[0.4, 0.5, 0.1]),
        }
    )
    return audit(
        labels,
        decisions,
        individual_names=names,
        task_names=[f"Task {place}" for place in rng.permutation(m)],
        task_families=[f"family {place // 2}" for place in range(m)],
        groups=groups,
        alpha=0.1,
        beta=0.05,
    )


@pytest.fixture(scope="module")
def audited(save):
    found = judged_by_hand()
    return found, save("audited", audit_report(found, settings={"labels": "people.csv"}))


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The page of the command, and what the command says in numbers."""
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [sys.executable, "-m", "averagefair", "demo", "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout), folder / "averagefair-demo.html"


@pytest.fixture(scope="module")
def awkward(save):
    """Both pages, of people, tasks, groups and settings with a given kind of names."""
    made = {}

    def pages(kind, names):
        if kind not in made:
            made[kind] = write(kind, names)
        return made[kind]

    def write(kind, names):
        rng = np.random.default_rng(1)
        count = len(names)
        X = pd.DataFrame(rng.normal(size=(count, 2)), index=names, columns=names[:2])
        Y = pd.DataFrame(rng.integers(0, 2, (count, count)), index=names, columns=names)
        Y.iloc[0], Y.iloc[1] = 0, 1
        curve = frontier(X, Y, [0.2, 0.3, 0.4], solver=QUICK, random_state=0)
        groups = pd.DataFrame({names[0]: names, names[1]: names[::-1]}, index=names)
        found = audit(Y, 1 - Y, groups=groups, task_families=names, alpha=0.1)
        shown = {"title": names[0], "settings": {names[1]: names[0], names[2]: names[1]}}
        tested = generalisation(curve, X_new=X, Y_new_people=Y)
        text = frontier_report(curve, Y, measured=tested, audit=found, **shown)
        return {
            "frontier": save(f"{kind}-frontier", text),
            "audit": save(f"{kind}-audit", audit_report(found, **shown)),
        }

    return pages


# What the page of a curve shows.


def assert_point(page, curve, place, X, Y):
    """Judge everything that follows the slider against the models alone."""
    point = curve[place]
    assert page.input_value("#alpha") == str(place)
    assert page.text_content("#alpha-value") == f"{point.alpha:g}"
    assert page.get_attribute("#alpha", "aria-valuetext") == f"alpha {point.alpha:g}"
    assert page.text_content("#statement") == point.statement()
    common = np.atleast_1d(point.certificate.common_rate)
    for name, value in point.to_dict().items():
        if name in ("error", "spread", "outside", "coin_flips"):
            shown = page.locator(f"[data-figure={name}]")
            text = shown.text_content()
            if name == "outside":
                assert float(text.removesuffix("%")) == pytest.approx(100 * value, abs=0.05)
            else:
                assert_written(text, value)
            assert float(shown.get_attribute("data-value")) == value
    shown = page.text_content("[data-figure=common_rate]").split(", ")
    for text, value in zip(shown, common, strict=True):
        assert_written(text, value)
    assert page.text_content("[data-figure=columns]") == str(point.certificate.columns)
    certificate = page.locator("#certificate dd").all_text_contents()
    assert "\n".join(certificate) == str(point.certificate)
    current = page.locator("#curve-table tr[aria-current=true]")
    assert current.count() == 1
    assert float(current.locator("th").text_content()) == pytest.approx(point.alpha)
    assert_marker(page, curve, place)
    assert_histogram(page, curve, place)
    assert_worst_off(page, curve, place, list(X.index))
    assert_task_errors(page, curve, place, X, Y)


def assert_marker(page, curve, place):
    """The marks of the curve stand where the axes say; the large one at this alpha."""
    drawn = Chart(page, "#curve-chart")
    across, up = drawn.pixel()
    for tone, value in (("blue", curve[place].error), ("grey", curve[place].coin_flips)):
        ((x, y),) = drawn.circles(tone, 6)
        assert drawn.across(x) == pytest.approx(curve[place].alpha, abs=0.2 * across)
        assert drawn.up(y) == pytest.approx(value, abs=0.2 * up)
    marks = [(drawn.across(x), drawn.up(y)) for x, y in drawn.circles("blue", 3)]
    expected = [(point.alpha, point.error) for point in curve]
    np.testing.assert_allclose(marks, expected, atol=0.2 * max(across, up))
    assert drawn.upright() == [pytest.approx(curve[place].alpha, abs=0.2 * across)]
    assert f"At alpha {curve[place].alpha:g} " in drawn.drawn["name"]


def assert_histogram(page, curve, place, k=0):
    """Bars hold everybody with a rate, each where the axis says, and so does the outline."""
    drawn = Chart(page, "#distribution-chart")
    across, up = drawn.pixel()
    rates = curve[place].model.individual_rates_
    rates = rates.reshape(len(rates), -1)[:, k]
    rates = rates[~np.isnan(rates)]
    free = curve.unconstrained.rates
    free = free.reshape(len(free), -1)[:, k]
    counts = np.array([count for *_, count in drawn.bars()])
    np.testing.assert_allclose(counts, np.round(counts), atol=0.3 * up)
    assert np.round(counts).sum() == rates.size
    # A bar is drawn half a pixel short of its bin on either side, and half a bin is far more.
    for low, high, count in drawn.bars():
        surely = np.count_nonzero((rates > low + across) & (rates < high - across))
        maybe = np.count_nonzero((rates > low - across) & (rates < high + across))
        assert surely <= round(count) <= maybe
    outline = [height for letter, _, height in drawn.line("red") if letter == "V"][:-1]
    assert np.round(outline).sum() == np.count_nonzero(~np.isnan(free))
    common = np.atleast_1d(curve[place].certificate.common_rate)[k]
    assert drawn.upright() == [pytest.approx(common, abs=0.2 * across)]


def assert_worst_off(page, curve, place, names, k=0, most=50):
    rates, free = (
        np.asarray(one).reshape(len(names), -1)[:, k]
        for one in (curve[place].model.individual_rates_, curve.unconstrained.rates)
    )
    rated = np.flatnonzero(~np.isnan(rates))
    shown = rows(page, "#worst-off")
    assert len(shown) == min(most, rated.size)
    places = [names.index(name) for name, *_ in shown]
    assert len(set(places)) == len(places)
    for who, (_, rate, before) in zip(places, shown, strict=True):
        assert_written(rate, rates[who])
        assert_written(before, free[who])
    keys = [(-round(rates[who], 9), -free[who]) for who in places]
    assert keys == sorted(keys)
    others = np.setdiff1d(rated, places)
    assert (rates[others] <= rates[places[-1]] + 1e-9).all()


def assert_task_errors(page, curve, place, X, Y):
    def errors(point):
        chances, labels = point.model.decision_probability(X), Y.to_numpy()
        for task in range(labels.shape[1]):
            seen = [who for who in range(len(labels)) if not np.isnan(labels[who, task])]
            yield np.mean([abs(chances[who, task] - labels[who, task]) for who in seen])

    now, loosest = list(errors(curve[place])), list(errors(curve[-1]))
    shown = {name: cells for name, *cells in all_rows(page, "per-task")}
    assert list(map(str, Y.columns)) == sorted(shown, key=list(map(str, Y.columns)).index)
    for task, name in enumerate(map(str, Y.columns)):
        assert_written(shown[name][0], now[task])
        assert_written(shown[name][1], loosest[task])
        assert float(shown[name][2]) == pytest.approx(now[task] - loosest[task], abs=6e-5)


def test_the_slider_shows_every_point(browser, whole):
    X, Y, _, curve, _, path = whole
    with opened(browser, path) as page:
        assert_point(page, curve, CHOICE, X, Y)
        across = []
        for place in (0, 2, 4, 1):
            move_slider(page, place)
            assert_point(page, curve, place, X, Y)
            across.append(Chart(page, "#curve-chart").circles("blue", 6)[0][0])
        order = [across[0], across[3], across[1], across[2]]
        assert order == sorted(order)
        assert len(set(order)) == 4


def test_the_slider_by_keyboard(browser, whole):
    X, Y, _, curve, _, path = whole
    with opened(browser, path) as page:
        page.focus("#alpha")
        for key, place in (
            ("ArrowLeft", 2),
            ("ArrowDown", 1),
            ("Home", 0),
            ("ArrowLeft", 0),
            ("ArrowRight", 1),
            ("End", 4),
            ("ArrowRight", 4),
        ):
            page.keyboard.press(key)
            assert page.input_value("#alpha") == str(place)
            assert page.text_content("#statement") == curve[place].statement()
            assert_marker(page, curve, place)
        assert_point(page, curve, 4, X, Y)


def test_the_slider_at_the_width_of_a_telephone(browser, whole):
    X, Y, _, curve, _, path = whole
    with opened(browser, path, width=360) as page:
        assert_point(page, curve, CHOICE, X, Y)
        move_slider(page, 0)
        assert_point(page, curve, 0, X, Y)
        page.set_viewport_size({"width": 900, "height": 700})
        page.wait_for_function("document.querySelector('#curve-chart svg').clientWidth > 800")
        assert_point(page, curve, 0, X, Y)


def test_going_back_to_the_page_starts_at_the_choice(browser, whole):
    X, Y, _, curve, _, path = whole
    with opened(browser, path, quiet=False) as page:
        move_slider(page, 0)
        page.reload()
        assert_point(page, curve, CHOICE, X, Y)


def test_the_whole_curve_is_written_out(browser, whole):
    *_, curve, _, path = whole
    with opened(browser, path) as page:
        head = page.locator("#curve-table thead th").all_text_contents()
        shown = rows(page, "#curve-table")
        assert len(shown) == len(curve)
        for row, point in zip(shown, curve, strict=True):
            cells, facts = dict(zip(head, row, strict=True)), point.to_dict()
            assert float(cells["alpha"]) == pytest.approx(point.alpha)
            assert ("gap" in cells) == any(not np.isnan(one.certificate.gap) for one in curve)
            for name in {"error", "spread", "common rate", "gap", "coin flips"} & set(cells):
                assert_written(cells[name], facts[name.replace(" ", "_")])
            assert float(cells["outside"].removesuffix("%")) == pytest.approx(
                100 * facts["outside"], abs=0.05
            )
            assert cells["columns"] == str(facts["columns"])


def assert_held_out(page, test):
    """Judge the table of what carries over, cell by cell."""
    parts = page.locator("#held-out tbody").all()
    corners = [corner for name, corner in test.corners.items() if name != "training"]
    assert len(parts) == len(corners)
    for part, corner in zip(parts, corners, strict=True):
        head, *lines = part.locator("tr").all()
        assert f"({corner.n} people, {corner.m} tasks)" in head.text_content()
        assert len(lines) == len(corner.alpha)
        for place, line in enumerate(lines):
            alpha, *cells = line.locator("th, td").all_text_contents()
            assert float(alpha) == pytest.approx(corner.alpha[place])
            for name, cell in zip(CORNER_COLUMNS, cells, strict=True):
                value, *ends = re.split(r" \(| to |\)", cell.removesuffix(")"))
                assert_written(value, round(getattr(corner, name)[place], 6))
                wanted = ["low", "high"] if f"{name}_low" in vars(corner) else []
                assert len(ends) == len(wanted)
                for end, text in zip(wanted, ends, strict=True):
                    assert_written(text, round(getattr(corner, f"{name}_{end}")[place], 6))


def test_what_carries_over_is_that_of_generalisation(browser, whole):
    _, _, held_out, curve, _, path = whole
    test = generalisation(curve, **held_out)
    with opened(browser, path) as page:
        assert_held_out(page, test)
        drawn = Chart(page, "#curve-chart")
        for tone, corner in (("green", test.people), ("purple", test.tasks), ("red", test.both)):
            line = [(x, y) for _, x, y in drawn.line(tone)]
            expected = np.stack([corner.alpha, corner.error], axis=1)
            np.testing.assert_allclose(line, expected, atol=0.2 * max(drawn.pixel()))
        for name in ("people", "tasks", "both"):
            corner = getattr(test, name)
            drawn = Chart(page, f"[data-corner={name}]")
            for tone, column in (("blue", "near"), ("orange", "floor"), ("green", "denoised")):
                line = [y for _, _, y in drawn.line(tone)]
                known = getattr(corner, column)[~np.isnan(getattr(corner, column))]
                np.testing.assert_allclose(line, known, atol=0.2 * drawn.pixel()[1])


def test_the_page_of_the_demo(browser, demo):
    said, path = demo
    with opened(browser, path) as page:
        shown = rows(page, "#curve-table")
        assert [float(row[0]) for row in shown] == [point["alpha"] for point in said["points"]]
        for place in (8, 0, 20):
            move_slider(page, place)
            point = said["points"][place]
            for name in ("error", "spread", "common_rate", "coin_flips"):
                value = page.get_attribute(f"[data-figure={name}]", "data-value")
                assert float(value) == point[name]
                assert_written(page.text_content(f"[data-figure={name}]"), point[name])
            assert_written(shown[place][1], point["error"])
        assert page.locator("#worst-off tbody tr").count() == 50
        people = said["audit"]["people"]
        listed = {name: float(rate) for name, rate, *_ in all_rows(page, "people")}
        assert listed == {
            str(name): pytest.approx(rate, abs=5.1e-5)
            for name, rate in zip(people["name"], people["rate"], strict=True)
        }
        assert "averagefair demo" in page.text_content("main")


# What the page of an audit shows.


def assert_audit(page, found):
    """Judge statistics, words, tables and drawings against the audit."""
    words = " ".join(page.text_content("main").split())
    for line in found.summary().splitlines()[1:]:
        assert " ".join(line.removeprefix("Note: ").split()) in words
    figures = {
        key: page.text_content(f"[data-audit={key}]")
        for key in ("mean", "range", "p", "sigma", "reliability", "tasks_needed")
    }
    assert_written(figures["mean"], found.mean.value)
    low, high = figures["range"].split(" to ")
    assert_written(low, found.range.low, 2)
    assert_written(high, found.range.high, 2)
    assert figures["p"] == f"p = {found.chance.p:.3g}"
    assert_written(figures["sigma"], found.spread.sigma)
    assert_written(figures["reliability"], found.spread.reliability, 2)
    assert int(figures["tasks_needed"].replace(",", "")) == np.ceil(found.spread.tasks_needed())
    assert_people(page, found)
    assert_tasks(page, found)
    assert_groups(page, found)
    assert_audit_charts(page, found)


def assert_people(page, found):
    people = found.people
    shown = all_rows(page, "people")
    names = list(map(str, people.name))
    assert sorted(name for name, *_ in shown) == sorted(names)
    for name, rate, low, high, tasks, rank, sure in shown:
        who = names.index(name)
        for text, column in ((rate, people.rate), (low, people.low), (high, people.high)):
            assert_written(text, np.round(column[who], 4))
        assert int(tasks) == people.tasks[who]
        assert rank == ("none" if np.isnan(people.rank[who]) else str(int(people.rank[who])))
        assert sure == ("yes" if people.flagged[who] else "no")
    rated = [name for name, rate, *_ in shown if rate != "unknown"]
    assert rated == [row["name"] for row in found.worst_off(found.n)]
    assert [name for name, *_ in shown[: len(rated)]] == rated


def assert_tasks(page, found):
    tasks = found.tasks
    head = page.locator("#tasks thead th").all_text_contents()
    shown = all_rows(page, "tasks")
    assert len(shown) == len(tasks)
    for row in shown:
        cells = dict(zip(head, row, strict=True))
        place = tasks.name.index(cells["task"])
        if tasks.family is not None:
            assert cells["family"] == tasks.family[place]
        assert int(cells["people"].replace(",", "")) == tasks.people[place]
        assert_written(cells["rate"], tasks.rate[place])
        assert_written(cells["influence"], tasks.influence[place], 6)
    rates = [float(row[head.index("rate")]) for row in shown if "unknown" not in row]
    assert rates == sorted(rates, reverse=True)


def assert_groups(page, found):
    shown = page.locator(".group").all()
    assert len(shown) == len(found.groups)
    for place, (box, view) in enumerate(zip(shown, found.groups, strict=True)):
        assert view.statement() in box.text_content()
        assert box.locator("thead th").first.text_content() == view.attribute
        lines = [
            line.locator("th, td").all_text_contents() for line in box.locator("tbody tr").all()
        ]
        assert [line[0] for line in lines] == list(view.name)
        assert [int(line[1].replace(",", "")) for line in lines] == view.people.tolist()
        for k, column in enumerate((view.mean, view.lowest, view.highest, view.sigma)):
            for line, value in zip(lines, column, strict=True):
                assert_written(line[2 + k], value, 3)
        drawn = Chart(page, f"[data-group='{place}']")
        means = [drawn.across(x) for x, _ in drawn.circles("blue", 6)]
        np.testing.assert_allclose(means, view.mean, atol=0.2 * drawn.pixel()[0])


def assert_audit_charts(page, found):
    drawn = Chart(page, "#audit-rates-chart")
    rates = np.sort(found.people.rate[~np.isnan(found.people.rate)])
    line = np.array([(x, y) for _, x, y in drawn.line("blue")])
    across, up = drawn.pixel()
    np.testing.assert_allclose(line[:, 1], rates, atol=0.2 * up)
    np.testing.assert_allclose(line[:, 0], np.arange(1, rates.size + 1), atol=0.2 * across)
    drawn = Chart(page, "#audit-chance-chart")
    assert drawn.upright() == [pytest.approx(found.chance.statistic, abs=0.2 * drawn.pixel()[0])]
    counts = [count for *_, count in drawn.bars()]
    assert round(sum(counts)) == found.chance.flipped.size
    drawn = Chart(page, "#audit-curve-chart")
    for tone, column in (("blue", "alpha"), ("orange", "floor"), ("green", "denoised")):
        values = getattr(found.curve, column)
        line = np.array([(x, y) for _, x, y in drawn.line(tone)])
        expected = np.stack([values, found.curve.beta], axis=1)[~np.isnan(values)]
        np.testing.assert_allclose(line, expected, atol=0.2 * max(drawn.pixel()))


def test_an_audit_as_shown(browser, audited):
    found, path = audited
    assert found.people.flagged.any()
    assert np.isnan(found.people.rate).sum() == 3
    assert np.isnan(found.tasks.rate).sum() == 1
    with opened(browser, path) as page:
        assert_audit(page, found)
        assert page.get_attribute(".verdict", "data-verdict") == found.answer.verdict.value
        assert "people.csv" in page.text_content("main")


def test_the_audit_on_the_page_of_a_curve(browser, whole):
    *_, found, path = whole
    with opened(browser, path) as page:
        assert_audit(page, found)
        move_slider(page, 0)
        assert_audit(page, found)


@pytest.mark.parametrize("table", ["people", "tasks"])
@pytest.mark.parametrize("hand", ["mouse", "keyboard"])
def test_tables_are_sorted_by_each_column_both_ways(browser, audited, table, hand):
    with opened(browser, audited[1]) as page:
        first = all_rows(page, table)
        heads = page.locator(f"#{table} thead th").all()
        for k, head in enumerate(heads):
            number = head.get_attribute("class") == "number"
            ways = [True, False] if number else [False, True]
            for key, down in zip(["Enter", "Space"], ways, strict=True):
                if hand == "mouse":
                    head.locator("button").click()
                else:
                    head.locator("button").focus()
                    page.keyboard.press(key)
                states = [one.get_attribute("aria-sort") for one in heads]
                assert states.pop(k) == ("descending" if down else "ascending")
                assert set(states) == {"none"}
                assert all_rows(page, table) == in_order(first, k, number, down)


def in_order(lines, k, number, down):
    """Return rows by a column; what is not known comes last, equals stay as they were."""

    def key(line):
        words = {"yes": 1, "no": 0}
        if not number:
            return natural(line[k])
        return words[line[k]] if line[k] in words else float(line[k].replace(",", ""))

    known = [line for line in lines if line[k] not in ("unknown", "none")]
    unknown = [line for line in lines if line[k] in ("unknown", "none")]
    return sorted(known, key=key, reverse=down) + unknown


SEARCHES = {
    "zoë": ["Zoë Noll"],
    "ZOË": ["Zoë Noll"],
    "émile": ["Émile Blanc"],
    "李": ["李雷"],
    ".*(": ["a.*(b"],
    "[X]\\": ["[x]\\d"],
    "%_'\"": ["100%_'\""],
    "  anna  ": ["ANNA", "anna b"],
    "<b>": [],
    "nobody of this name": [],
}


def test_search_finds_what_is_typed(browser, audited):
    with opened(browser, audited[1]) as page:
        where = page.locator(".datatable:has(#people) .pager span")
        for typed, wanted in SEARCHES.items():
            page.fill("#people-search", typed)
            assert sorted(name for name, *_ in rows(page, "#people")) == sorted(wanted)
            assert where.is_visible()
            count = len(wanted)
            said = f"1\u2013{count} of {count}" if wanted else "none found"
            assert where.text_content() == f"{said}, searched for \u201c{typed.strip()}\u201d"
        page.fill("#people-search", "")
        assert len(all_rows(page, "people")) == 129


def test_search_finds_accents_however_they_are_encoded(browser, save):
    found = audit([[1, 0], [0, 1]], [[1, 1], [0, 1]], individual_names=["Zoe\u0308", "Bo"])
    with opened(browser, save("accents", audit_report(found))) as page:
        page.fill("#people-search", "Zo\u00eb")
        assert len(rows(page, "#people")) == 1


def test_the_table_of_tasks_stays_sorted_and_searched_as_the_slider_moves(browser, whole):
    with opened(browser, whole[-1]) as page:
        page.locator("#per-task thead button").nth(1).click()
        page.fill("#per-task-search", "TASK 1")
        seen = []
        for place in (0, 4):
            move_slider(page, place)
            shown = rows(page, "#per-task")
            assert sorted(row[0] for row in shown) == ["task 1", "task 10", "task 11"]
            errors = [float(row[1]) for row in shown]
            assert errors == sorted(errors, reverse=True)
            seen.append(errors)
        assert seen[0] != seen[1]


def test_search_sort_and_pages_together(browser, audited):
    found, path = audited
    with opened(browser, path) as page:
        box = page.locator(".datatable:has(#people)")
        back, onward = box.locator(".pager button").all()
        where = box.locator(".pager span")
        page.locator("#people-search").press_sequentially("PERSON 1")
        wanted = [str(name) for name in found.people.name if str(name).startswith("Person 1")]
        page.locator("#people thead button").first.click()
        assert [name for name, *_ in rows(page, "#people")] == sorted(wanted, key=natural)
        page.fill("#people-search", "")
        assert where.text_content() == "1\u201350 of 129"
        assert back.is_disabled()
        onward.click()
        onward.press("Enter")
        assert where.text_content() == "101\u2013129 of 129"
        assert onward.is_disabled()
        assert len(rows(page, "#people")) == 29
        page.fill("#people-search", "person")
        assert where.text_content() == "1\u201350 of 120, searched for \u201cperson\u201d"
        page.fill("#tasks-search", "family 3")
        assert len(rows(page, "#tasks")) == 2


# Nothing is fetched, nothing else runs; and the judges can fail.


def test_a_strange_script_does_not_run_and_is_noticed(browser, whole, save):
    text = whole[-1].read_text("utf-8")
    extra = "<script>document.title = 'other'</script><img src='http://localhost:9/x.png'>"
    path = save("strange", text.replace("</body>", extra + "</body>"))
    with opened(browser, path, quiet=False) as page:
        assert page.title() != "other"
        with pytest.raises(AssertionError):
            page.witness.assert_quiet(page)
        stopped = page.evaluate("window.stopped")
        assert any(line.startswith("script-src") for line in stopped)
        assert any(line.startswith("img-src") for line in stopped)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("figures", lambda data: data["points"][CHOICE].update(error=0.3)),
        ("marker", lambda data: data["points"][1].update(error=0.3)),
        ("marker", lambda data: data["points"][CHOICE].update(alpha=0.2)),
        ("words", lambda data: data["points"][CHOICE].update(statement="It costs nothing.")),
        ("certificate", lambda data: data["points"][CHOICE]["certificate"].pop()),
        ("histogram", lambda data: data["rates"][0]["histograms"][CHOICE].reverse()),
        ("outline", lambda data: data["rates"][0]["unconstrained"][CHOICE].__setitem__(2, 40)),
        ("worst", lambda data: data["rates"][0]["worst_off"][CHOICE]["name"].reverse()),
        ("worst", lambda data: data["rates"][0]["worst_off"][CHOICE]["rate"].__setitem__(3, 0.5)),
        ("tasks", lambda data: data["task_errors"][CHOICE].__setitem__(2, 0.5)),
    ],
)
def test_the_judge_of_a_point_can_fail(browser, whole, save, part, change):
    X, Y, _, curve, _, path = whole
    broken = save(f"broken-{part}", with_data(path, "frontier-data", change))
    with opened(browser, broken) as page, pytest.raises(AssertionError):
        assert_point(page, curve, CHOICE, X, Y)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["people"]["columns"]["rate"].__setitem__(4, 0.5),
        lambda data: data["people"]["columns"]["name"].reverse(),
        lambda data: data["people"]["columns"]["flagged"].__setitem__(100, 1),
        lambda data: data["tasks"]["columns"]["influence"].__setitem__(0, 0.1),
        lambda data: data["groups"][0]["mean"].reverse(),
        lambda data: data["sorted"]["rate"].__setitem__(9, 0.9),
        lambda data: data["chance"].update(statistic=data["chance"]["statistic"] + 0.1),
        lambda data: data["curve"]["floor"].__setitem__(3, 0.01),
    ],
)
def test_the_judge_of_an_audit_can_fail(browser, audited, save, change):
    found, path = audited
    broken = save("broken-audit", with_data(path, "audit-data", change))
    with opened(browser, broken) as page, pytest.raises(AssertionError):
        assert_audit(page, found)


def test_the_judge_of_what_carries_over_can_fail(browser, whole, save):
    _, _, held_out, curve, _, path = whole
    test = generalisation(curve, **held_out)
    written = f"{test.both.sigma_high[2]:.4f})"
    text = path.read_text("utf-8")
    assert written in text
    broken = save("broken-corner", text.replace(written, "0.9876)"))
    with opened(browser, broken) as page, pytest.raises(AssertionError):
        assert_held_out(page, test)


def with_data(path, name, change):
    """Return a page's text with its data changed."""
    text = path.read_text("utf-8")
    head, rest = text.split(f'id="{name}">', 1)
    block, tail = rest.split("</script>", 1)
    data = json.loads(block)
    change(data)
    return f'{head}id="{name}">{json.dumps(data)}</script>{tail}'


# For whoever looks, however they look.


@pytest.mark.parametrize("kind", ["frontier", "audit"])
@pytest.mark.parametrize("names", ["usual", "long"])
def test_every_width_holds_the_page(browser, whole, audited, awkward, kind, names):
    if names == "usual":
        path = whole[-1] if kind == "frontier" else audited[-1]
    else:
        path = awkward("long", [f"{mark}{LONG[1:]}" for mark in "abcdefg"])[kind]
    with opened(browser, path, width=360) as page:
        assert_fits(page, 360)
        for width in (768, 1600, 360):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_function(REDRAWN)
            assert_fits(page, width)


def assert_fits(page, width):
    """Judge that nothing sticks out, lies over something else, or is too small to touch."""
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    assert page.locator("h1").is_visible()
    assert page.evaluate(READ_OVERLAPS) == []
    assert page.evaluate(READ_OUT_OF_SIGHT) == []
    for drawn in page.locator("svg.drawing").all():
        box = drawn.bounding_box()
        assert box["width"] >= 150
        assert box["x"] + box["width"] <= width
    for slider in page.locator("#alpha").all():
        assert slider.bounding_box()["height"] >= 24
        assert slider.bounding_box()["width"] >= 150


def test_the_judge_of_fits_can_fail(browser, audited):
    with opened(browser, audited[1], width=360) as page:
        for style in ("main { min-width: 400px; }", "dd { margin-top: -1em !important; }"):
            page.reload()
            page.evaluate("(text) => document.styleSheets[0].insertRule(text)", style)
            with pytest.raises(AssertionError):
                assert_fits(page, 360)
        page.witness.asked[:] = page.witness.asked[:1]


@pytest.mark.parametrize("width", [360, 1200])
def test_words_of_a_chart_are_whole_and_apart(browser, whole, audited, width):
    for path in (whole[-1], audited[-1]):
        with opened(browser, path, width=width) as page:
            for box in page.locator(".chart").all():
                box.evaluate("(box) => { box.id ||= `box${Math.random()}`.replace('.', ''); }")
                drawn = Chart(page, f"#{box.get_attribute('id')}").drawn
                left, top, right, bottom = drawn["box"]
                words = drawn["words"]
                for text, *place in words:
                    assert place[0] >= left - 1, text
                    assert place[1] >= top - 1, text
                    assert place[2] <= right + 1, text
                    assert place[3] <= bottom + 1, text
                axis = [one for one in words if one[0] in drawn["across"]]
                for one, other in pairwise(axis):
                    assert one[3] <= other[1] or one[4] <= other[2] or other[4] <= one[2]


@pytest.mark.parametrize("kind", ["frontier", "audit"])
def test_hostile_words_stay_words(browser, awkward, kind):
    mild = awkward("mild", [f"name {place}" for place in "abcdefg"])[kind]
    path = awkward("hostile", HOSTILE)[kind]
    tags = "() => [...document.querySelectorAll('*')].map((one) => one.tagName.toLowerCase())"
    with opened(browser, mild) as page:
        usual = Counter(page.evaluate(tags))
    with opened(browser, path) as page:
        assert page.title() == HOSTILE[0]
        assert page.text_content("h1") == HOSTILE[0]
        assert page.locator(".pairs dt").all_text_contents().count(HOSTILE[1]) == 1
        assert page.locator(".pairs dd").all_text_contents().count(HOSTILE[1]) == 1
        assert sorted(name for name, *_ in rows(page, "#people")) == sorted(HOSTILE)
        assert sorted(row[0] for row in rows(page, "#tasks")) == sorted(HOSTILE)
        assert sorted(row[1] for row in rows(page, "#tasks")) == sorted(HOSTILE)
        assert sorted(row[0] for row in rows(page, ".group table")) == sorted(HOSTILE)
        assert page.text_content(".group th") == HOSTILE[0]
        if kind == "frontier":
            assert sorted(name for name, *_ in rows(page, "#worst-off")) == sorted(HOSTILE)
            assert sorted(row[0] for row in rows(page, "#per-task")) == sorted(HOSTILE)
            move_slider(page, 0)
        for name in HOSTILE:
            page.fill("#people-search", name)
            assert [row[0] for row in rows(page, "#people")] == [name]
        page.fill("#people-search", "")
        counted = Counter(page.evaluate(tags))
        # The charts' ticks depend on the numbers, which are the same, and on nothing else.
        assert {tag: counted[tag] for tag in usual | counted if tag not in ("line", "text")} == {
            tag: usual[tag] for tag in usual | counted if tag not in ("line", "text")
        }
        assert page.evaluate(
            "[...document.querySelectorAll('*')].every((one) =>"
            " [...one.attributes].every((a) => !a.name.startsWith('on')))"
        )


def test_the_judge_of_colours_can_fail(browser, audited):
    assert contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)") == pytest.approx(21)
    assert contrast("rgb(119, 119, 119)", "rgb(255, 255, 255)") == pytest.approx(4.48, abs=0.01)
    with opened(browser, audited[1]) as page:
        page.evaluate("document.documentElement.style.setProperty('--soft', '#999999')")
        weak = [text for text, *both in page.evaluate(READ_COLOURS) if contrast(*both) < 4.5]
        assert "Mean rate" in weak
        assert "error rate" not in weak


@pytest.mark.parametrize("kind", ["frontier", "audit"])
def test_words_can_be_read_in_both_modes(browser, whole, audited, kind):
    path = whole[-1] if kind == "frontier" else audited[-1]
    with opened(browser, path) as page:
        page.focus(".skip")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (contrast(ground, "rgb(0, 0, 0)") > 10) == (scheme == "light")
            found = page.evaluate(READ_COLOURS)
            assert len(found) > 100
            assert any("Skip" in text for text, *_ in found)
            assert [one for one in found if contrast(*one[1:]) < 4.5] == []


@pytest.mark.parametrize(
    "scheme",
    [
        "light",
        "dark",
    ],
)
def test_lines_can_be_seen_in_both_modes(browser, audited, scheme):
    with opened(browser, audited[1], color_scheme=scheme) as page:
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        faint = {
            name
            for name, colour in page.evaluate(READ_TONES).items()
            if contrast(colour, ground) < 3
        }
        assert faint == set()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["frontier", "audit"])
def test_on_paper(browser, whole, audited, kind, scheme):
    path = whole[-1] if kind == "frontier" else audited[-1]
    with opened(browser, path, color_scheme=scheme) as page:
        page.emulate_media(media="print", color_scheme=scheme)
        for wanted in CONTROLS:
            assert not any(one.is_visible() for one in page.locator(wanted).all())
        for box in page.locator("svg.drawing").all():
            size = box.bounding_box()
            assert min(size["width"], size["height"]) > 50
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == "rgb(255, 255, 255)"
        assert min(contrast(one, other) for _, one, other in page.evaluate(READ_COLOURS)) >= 4.5
        assert page.locator("h1").is_visible()
        paper = page.pdf()
        assert len(paper) > 20_000
        assert len(re.findall(rb"/Type\s*/Page\b", paper)) > 1
        page.emulate_media(media="screen", color_scheme=scheme)
        # Printing leaves the page as it was.
        wide = page.evaluate("document.querySelector('.chart').clientWidth")
        view = page.get_attribute("svg.drawing", "viewBox")
        assert float(view.split()[2]) == pytest.approx(wide, abs=1)


def test_on_paper_it_is_said_how_many_are_listed(browser, audited):
    with opened(browser, audited[1]) as page:
        page.emulate_media(media="print")
        assert "50 of 129" in page.inner_text(".datatable:has(#people)")


@pytest.mark.parametrize("kind", ["frontier", "audit"])
def test_the_keyboard_reaches_everything(browser, whole, audited, kind):
    path = whole[-1] if kind == "frontier" else audited[-1]
    reached, widths = [], []
    with opened(browser, path) as page:
        for _ in range(80):
            page.keyboard.press("Tab")
            where = page.evaluate(
                "() => { const one = document.activeElement, style = getComputedStyle(one);"
                " const head = one.closest('table') && one.closest('th');"
                " return [one.id || one.className ||"
                "   (head ? `${one.closest('table').id} ${one.textContent}` : one.textContent),"
                "   one.tagName, style.outlineStyle, parseFloat(style.outlineWidth)]; }"
            )
            if where[1] == "BODY":
                break
            reached.append(where[0])
            widths.append((where[0], where[2] != "none" and where[3] >= 2))
        assert [name for name, seen in widths if not seen] == []
        assert reached[0] == "skip"
        wanted = [
            "people-search",
            "tasks-search",
            "people rate",
            "people person",
            "tasks influence",
        ]
        wanted += [
            "Next",
            *(["alpha", "per-task-search", "per-task change"] * (kind == "frontier")),
        ]
        assert set(wanted) <= set(reached)
        page.focus(".skip")
        assert page.locator(".skip").bounding_box()["x"] >= 0
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        first = "alpha" if kind == "frontier" else "scroll"
        assert (
            page.evaluate("document.activeElement.id || document.activeElement.className") == first
        )


def test_without_scripts_the_words_are_there(browser, whole, audited):
    *_, curve, found, path = whole
    with opened(browser, path, scripts=False) as page:
        assert page.locator("h1").is_visible()
        assert page.locator("noscript p").is_visible()
        assert page.inner_text("#statement") == curve[CHOICE].statement()
        lines = page.locator("#curve-table tbody tr").all()
        assert len(lines) == len(curve)
        for line, point in zip(lines, curve, strict=True):
            assert_written(line.locator("td").first.inner_text(), point.error)
        assert_written(page.inner_text("[data-figure=error]"), curve[CHOICE].error)
        assert page.locator("#held-out tbody").count() == 3
        assert_written(page.inner_text("[data-audit=mean]"), found.mean.value)
    found, path = audited
    with opened(browser, path, scripts=False) as page:
        assert_written(page.inner_text("[data-audit=mean]"), found.mean.value)
        assert_written(page.inner_text("[data-audit=sigma]"), found.spread.sigma)
        text = page.inner_text("main")
        for line in found.summary().splitlines()[1:]:
            assert line.removeprefix("Note: ") in text
        assert page.locator(".group tbody tr").count() == sum(len(g.name) for g in found.groups)


@pytest.mark.parametrize("kind", ["frontier", "audit"])
def test_what_a_screen_reader_needs(browser, whole, audited, kind):
    path = whole[-1] if kind == "frontier" else audited[-1]
    with opened(browser, path) as page:
        assert page.get_attribute("html", "lang") == "en"
        assert page.title() == page.text_content("h1")
        assert page.locator("h1").count() == 1
        assert page.locator("main").count() == 1
        levels = page.evaluate(
            "[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map((one) => +one.tagName[1])"
        )
        assert levels[0] == 1
        assert max(np.diff(levels)) <= 1
        for one in page.locator("input, select").all():
            assert one.evaluate(
                "(one) => [...one.labels].map((l) => l.textContent.trim()).join('')"
            )
        for one in page.locator("button").all():
            assert one.text_content().strip()
        for one in page.locator("svg.drawing").all():
            assert one.get_attribute("role") == "img"
            assert len(one.get_attribute("aria-label")) > 20
        # Every other drawing is decoration.
        plain = "svg:not(.drawing):not(.drawing svg):not([aria-hidden=true])"
        assert page.locator(plain).count() == 0
        assert page.locator("table th:not([scope])").count() == 0
        for one in page.locator("table").all():
            assert one.locator("thead th[scope=col]").count() > 1
            lines = one.locator("tbody tr").count()
            assert one.locator("tbody th[scope]").count() == lines > 0
        for one in page.locator("[role=region], section").all():
            label = one.get_attribute("aria-label")
            name = one.get_attribute("aria-labelledby")
            assert label or page.locator(f"[id='{name}']").count() == 1
        names = page.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
        assert len(names) == len(set(names))
        if kind == "frontier":
            assert page.get_attribute("#statement", "aria-live") == "polite"


# Unusual pages.


def learned(rate, blanks, alphas, **options):
    X, Y, *_ = population()
    Y = Y.mask(np.random.default_rng(0).random(Y.shape) < blanks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedRateWarning)
        return X, Y, frontier(X, Y, alphas, rate=rate, solver=QUICK, random_state=0, **options)


def test_a_curve_of_one_alpha(browser, save):
    X, Y, curve = learned("error", 0.0, [0.1])
    with opened(browser, save("one", frontier_report(curve, Y))) as page:
        assert_point(page, curve, 0, X, Y)
        page.focus("#alpha")
        page.keyboard.press("ArrowRight")
        assert_point(page, curve, 0, X, Y)
        assert page.locator("#held-out").count() == 0


def test_people_without_a_rate_are_left_out_and_counted(browser, save):
    X, Y, curve = learned("false_positive", 0.8, ALPHAS)
    unrated = int(np.isnan(curve[0].model.individual_rates_).sum())
    assert unrated > 0
    with opened(browser, save("undefined", frontier_report(curve, Y))) as page:
        for place in (2, 0):
            move_slider(page, place)
            assert_point(page, curve, place, X, Y)
            assert f"{unrated} of 80 people have no false-positive rate" in page.text_content(
                "#undefined"
            )
            assert f"of {80 - unrated} people" in page.text_content("#worst-note")


def test_several_rates(browser, save):
    X, Y, curve = learned(BOTH, 0.6, [0.05, 0.1, 0.3], beta=0.1)
    with opened(browser, save("several", frontier_report(curve, Y, choice=0.05))) as page:
        page.focus("#rate")
        for k, name in enumerate(("false-positive", "false-negative")):
            page.select_option("#rate", str(k))
            for place in (0, 2):
                move_slider(page, place)
                assert_histogram(page, curve, place, k)
                assert_worst_off(page, curve, place, list(X.index), k)
                assert name in page.text_content("#worst-note")
                shown = page.text_content("[data-figure=common_rate]").split(", ")
                for text, value in zip(shown, curve[place].certificate.common_rate, strict=True):
                    assert_written(text, value)
                assert page.text_content("#statement") == curve[place].statement()


@pytest.mark.parametrize(
    ("labels", "decisions"),
    [
        ([[1]], [[0]]),
        ([[1, 0], [0, 1]], [[1, 0], [0, 1]]),
        ([[np.nan, np.nan]] * 3, [[0, 1]] * 3),
        ([[1], [0], [1]], [[1], [1], [0]]),
    ],
)
def test_audits_that_can_tell_little_are_shown(browser, save, labels, decisions):
    found = audit(labels, decisions, alpha=0.1)
    with opened(browser, save("little", audit_report(found)), width=360) as page:
        assert len(rows(page, "#people")) == len(labels)
        assert page.locator("svg.drawing").count() == 3
        for box in page.locator(".chart, .datatable, .figures").all():
            shown = box.evaluate("(box) => box.outerHTML")
            assert not re.search(r"NaN|undefined|null|Infinity", shown)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 360


def test_twenty_thousand_people_in_three_seconds(browser, save):
    rng = np.random.default_rng(0)
    labels, decisions = rng.integers(0, 2, (2, 20_000, 8))
    found = audit(labels, decisions, individual_names=[f"citizen {k}" for k in range(20_000)])
    path = save("many", audit_report(found))
    start = perf_counter()
    with opened(browser, path) as page:
        assert page.locator("#people tbody tr").count() == 50
        page.locator("#people thead button").first.click()
        assert [name for name, *_ in rows(page, "#people")][:3] == [
            f"citizen {k}" for k in range(3)
        ]
        page.locator("#people-search").press_sequentially("citizen 1999")
        wanted = [f"citizen {k}" for k in (1999, *range(19990, 20000))]
        assert [name for name, *_ in rows(page, "#people")] == wanted
        assert perf_counter() - start < 3
