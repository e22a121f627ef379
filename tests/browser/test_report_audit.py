"""The report of an audit in a real browser: figures, drawings, and tables to look through."""

from __future__ import annotations

import re

import numpy as np
import pytest

from averagefair import audit
from averagefair.showing.report import audit_report
from tests.support.browser_pages import (
    Chart,
    all_rows,
    assert_written,
    move_slider,
    natural,
    opened,
    rows,
    with_data,
)
from tests.support.report_pages import fixture_audited, fixture_browser, fixture_save, fixture_whole  # noqa: F401

pytestmark = pytest.mark.browser


# The contents of an audit's page.


def assert_audit(page, found):
    """Compare statistics, words, tables and drawings with the audit."""
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
    assert_written(figures["sigma"], found.dispersion.sigma)
    assert_written(figures["reliability"], found.dispersion.reliability, 2)
    assert int(figures["tasks_needed"].replace(",", "")) == np.ceil(found.dispersion.tasks_needed())
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
            assert_written(text, np.round(column[who], 3))
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
        columns = (view.mean, view.low, view.high, view.lowest, view.highest, view.sigma)
        for k, column in enumerate(columns):
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
        assert page.get_attribute(".verdict", "data-verdict") == found.assessment.verdict.value
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
    """Return rows sorted by a column; unknown values come last, and the sort is stable."""

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
            assert where.text_content() == f"{said}, search: \u201c{typed.strip()}\u201d"
        page.fill("#people-search", "")
        assert len(all_rows(page, "people")) == 129


def test_search_finds_accents_however_they_are_encoded(browser, save):
    found = audit([[1, 0], [0, 1]], [[1, 1], [0, 1]], individual_names=["Zoe\u0308", "Bo"])
    with opened(browser, save("accents", audit_report(found))) as page:
        page.fill("#people-search", "Zo\u00eb")
        assert len(rows(page, "#people")) == 1


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
        assert where.text_content() == "1\u201350 of 120, search: \u201cperson\u201d"
        page.fill("#tasks-search", "family 3")
        assert len(rows(page, "#tasks")) == 2


# The judge can fail.


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


# Unusual audits.


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


@pytest.mark.parametrize("asked", [{"alpha": 0.1, "beta": 0.05}, {}])
def test_an_audit_of_learned_tasks_shows_what_was_observed(browser, save, asked):
    rng = np.random.default_rng(1)
    wrong = (rng.random((40, 12)) < np.linspace(0.05, 0.6, 40)[:, None]).astype(float)
    options = {"groups": np.arange(40) % 2, "learned_tasks": True, **asked}
    found = audit(np.zeros((40, 12)), wrong, **options)
    with opened(browser, save("learned", audit_report(found))) as page:
        words = " ".join(page.text_content("main").split())
        assert "true rates are not estimated" in words
        assert not re.search(r"Chance test|Reliability|noise alone|CI of each person", words)
        assert page.locator("[data-audit]").count() == 3
        assert_written(page.text_content("[data-audit=sd]"), found.dispersion.sd)
        names = page.locator("#people thead th").all_text_contents()
        above = ["above"] if asked else []
        assert [name.strip(" ↕") for name in names] == ["person", "rate", "tasks", "rank", *above]
        drawn = Chart(page, "#audit-rates-chart")
        line = [y for _, _, y in drawn.line("blue")]
        np.testing.assert_allclose(line, np.sort(found.people.rate), atol=0.2 * drawn.pixel()[1])
        shown = page.text_content("main")
        assert not re.search(r"NaN|undefined|null|Infinity|unknown", shown)


# Count the elements that a page adds: a measure of the browser's work.
ADDED = """
window.added = 0;
new MutationObserver((changes) => changes.forEach((change) => {
  window.added += [...change.addedNodes].reduce(
    (sum, node) => sum + 1 + (node.querySelectorAll?.("*").length ?? 0), 0);
})).observe(document, { childList: true, subtree: true });
"""


def look_for_somebody(browser, path, who):
    """Sort the people, search for somebody; return the names shown and the elements added."""
    with opened(browser, path) as page:
        page.add_init_script(ADDED)
        page.reload()
        assert page.locator("#people tbody tr").count() == 50
        page.locator("#people thead button").first.click()
        names = [name for name, *_ in rows(page, "#people")][:3]
        page.locator("#people-search").press_sequentially(who)
        names += [name for name, *_ in rows(page, "#people")]
        added = page.evaluate("window.added")
        page.witness.asked.pop()  # opened twice
        return names, added


def test_twenty_thousand_people_are_no_more_work_for_the_browser_than_hundreds(browser, save):
    added = {}
    for people in (200, 20_000):
        rng = np.random.default_rng(0)
        labels, decisions = rng.integers(0, 2, (2, people, 8))
        names = [f"citizen {k}" for k in range(people)]
        path = save("many", audit_report(audit(labels, decisions, individual_names=names)))
        wanted = [name for name in names if name.startswith(f"citizen {people // 10 - 1}")]
        shown, added[people] = look_for_somebody(browser, path, wanted[0])
        assert shown == [*names[:3], *wanted]
    assert 50 < added[20_000] < 3 * added[200]
