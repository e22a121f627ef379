"""The pages of a drift and of a comparison in a real browser: words, tables and drawings."""

from __future__ import annotations

import numpy as np
import pytest

from averagefair import audit, compare, drift
from averagefair.showing.report import audit_report, comparison_report, drift_report
from tests.support.browser_pages import (
    Chart,
    all_rows,
    assert_written,
    opened,
    rows,
    with_data,
)
from tests.support.hostile_names import HOSTILE, as_held
from tests.support.report_pages import (
    fixture_browser,  # noqa: F401
    fixture_changes,  # noqa: F401
    fixture_save,  # noqa: F401
)

pytestmark = pytest.mark.browser


def words_of(page):
    return " ".join(page.text_content("main").split())


def assert_line(page, wanted, values):
    """Compare a line over batches with its values; NaN has no mark."""
    drawn = Chart(page, wanted)
    (up,) = drawn.pixel()
    marks = [drawn.up(y) for _, y in drawn.circles("blue", 3)]
    np.testing.assert_allclose(marks, values[~np.isnan(values)], atol=0.2 * up)


def assert_drift(page, found):
    said = words_of(page)
    for line in (found.headline(), *found.statements()):
        assert " ".join(line.split()) in said
    shown = rows(page, "#batches")
    assert [row[0] for row in shown] == list(found.names)
    for row, one in zip(shown, found, strict=True):
        assert [int(cell) for cell in row[1:3]] == [one.n, one.m]
        assert_written(row[3], one.mean.value, 3)
        assert_written(row[5], one.dispersion.sigma, 3)
        low, high = row[6].split(" to ")
        assert_written(low, np.sqrt(one.dispersion.sigma2.low), 3)
        assert_written(high, np.sqrt(one.dispersion.sigma2.high), 3)
        assert_written(row[7], one.chance.p, 3)
    moved = rows(page, "#changes")
    for row, mean, spread in zip(moved, found.mean_changes, found.sigma2_changes, strict=True):
        assert_written(row[1], mean.value, 3)
        assert_written(row[3], spread.value, 5)
    assert_line(page, "#drift-mean-chart", np.array([one.mean.value for one in found]))
    assert_line(page, "#drift-sigma-chart", np.array([one.dispersion.sigma for one in found]))


def assert_comparison(page, found):
    said = words_of(page)
    for line in found.statements():
        assert " ".join(line.split()) in said
    _, figures = found.table()
    assert [row[1:] for row in rows(page, "#figures")] == [row[1:] for row in figures]
    people = found.people
    shown = all_rows(page, "people")
    names = list(map(str, people.name))
    assert sorted(row[0] for row in shown) == sorted(names)
    for name, *numbers, clear in shown:
        who = names.index(name)
        columns = (people.before, people.after, people.difference, people.low, people.high)
        for text, column in zip(numbers, columns, strict=True):
            assert_written(text, np.round(column[who], 3))
        assert clear == ("worse" if people.worse[who] else "better" if people.better[who] else "no")
    drawn = Chart(page, "#comparison-chart")
    for tone, rates in (("orange", people.before), ("blue", people.after)):
        line = np.array([y for _, _, y in drawn.line(tone)])
        np.testing.assert_allclose(
            line, np.sort(rates[~np.isnan(rates)]), atol=0.3 * drawn.pixel()[1]
        )


JUDGES = {"drift": assert_drift, "comparison": assert_comparison}


@pytest.mark.parametrize("kind", JUDGES)
def test_a_page_as_shown(browser, changes, kind):
    found, path = changes[kind]
    with opened(browser, path) as page:
        JUDGES[kind](page, found)
        assert "left out: 3 events without a label." in words_of(page)
        assert "events.csv" in words_of(page)
    with opened(browser, path, scripts=False) as page:
        assert page.locator("tbody tr").count() > 5
        assert page.locator("noscript p").is_visible()


def test_changes_of_the_comparison_are_clear(changes):
    found, _ = changes["comparison"]
    assert found.people.better.any()
    assert np.isnan(found.people.before).sum() == 1


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("drift", lambda data: data["sigma"].__setitem__(2, 0.5)),
        ("drift", lambda data: data["mean"].reverse()),
        ("comparison", lambda data: data["sorted"]["after"].__setitem__(9, 0.9)),
        ("comparison", lambda data: data["people"]["columns"]["clear"].reverse()),
    ],
)
def test_the_judges_can_fail(browser, changes, save, kind, change):
    found, path = changes[kind]
    broken = save(f"broken-{kind}", with_data(path, f"{kind}-data", change))
    with opened(browser, broken) as page, pytest.raises(AssertionError):
        JUDGES[kind](page, found)


@pytest.mark.parametrize("width", [360, 1400])
def test_hostile_names_stay_words(browser, save, width):
    n = len(HOSTILE)
    labels = np.random.default_rng(0).integers(0, 2, (n, n))
    found = audit(labels, 1 - labels, individual_names=HOSTILE, task_names=HOSTILE)
    pages = {
        "drift": drift_report(drift(found, HOSTILE), title=HOSTILE[1]),
        "comparison": comparison_report(
            compare(found, audit(labels, labels, individual_names=HOSTILE, task_names=HOSTILE)),
            title=HOSTILE[1],
        ),
    }
    for kind, text in pages.items():
        with opened(browser, save(f"hostile-{kind}", text), width=width) as page:
            assert page.evaluate("document.scrollingElement.scrollWidth") <= width
            assert page.text_content("h1") == HOSTILE[1]
            shown = rows(page, "#batches") if kind == "drift" else all_rows(page, "people")
            assert sorted(row[0] for row in shown) == sorted(map(as_held, HOSTILE))


def test_windows_that_can_tell_little_are_shown(browser, save):
    """Windows with one task each: no variance of true rates, no interval."""
    found = drift(audit([[1, 0], [0, 1], [1, 1]], [[1, 1], [0, 1], [0, 0]]), ["a", "b"])
    with opened(browser, save("little", drift_report(found)), width=360) as page:
        assert page.locator("svg.drawing").count() == 2
        assert "NaN" not in page.content().split("<script>")[0]
        assert rows(page, "#batches")[0][5] == "unknown"


def test_the_audit_page_has_groups_with_intervals_rules_and_systemic_failure(browser, save):
    rng = np.random.default_rng(0)
    group = np.arange(80) % 2
    wrong = rng.random((80, 60)) < np.where(group, 0.4, 0.1)[:, None]
    found = audit(np.zeros((80, 60)), wrong, groups=list("ab" * 40))
    rules = found.who(np.column_stack([group, rng.normal(size=80)]))
    assert len(rules)
    with opened(browser, save("rules", audit_report(found, rules=rules)), width=360) as page:
        shown = rows(page, "#rules")
        assert [row[0] for row in shown] == [rule.text for rule in rules]
        assert_written(shown[0][5], rules.rules[0].difference.value, 3)
        systemic = {int(row[0]): row[1:] for row in rows(page, "#systemic")}
        table = found.systemic.to_dict()
        assert len(systemic) <= 9
        for k, cells in systemic.items():
            place = table["k"].index(k)
            numbers = [table[name][place] for name in ("observed", "low", "high", "expected")]
            first, interval, last = cells
            for text, number in zip([first, *interval.split(" to "), last], numbers, strict=True):
                assert float(text.rstrip("%")) == pytest.approx(100 * number, abs=0.0501)
        assert found.systemic.statement() in words_of(page)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 360
