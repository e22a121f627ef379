"""Hostile names in a real browser: they are shown as text, and the page's layout holds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from averagefair import ColumnGeneration, audit, frontier
from averagefair.showing.report import Listing, Section, audit_report, frontier_report, story_report
from tests.support.browser_pages import (
    READ_OUT_OF_SIGHT,
    READ_OVERLAPS,
    all_rows,
    move_slider,
    opened,
    resize,
    rows,
)
from tests.support.hostile_names import HOSTILE, LONG, as_held
from tests.support.reliability import record
from tests.support.report_pages import fixture_browser, fixture_save  # noqa: F401

pytestmark = pytest.mark.browser

QUICK = ColumnGeneration(max_rounds=3, reweightings=1)
WIDTHS = (360, 1400)
# How far the first number beside a name lies outside its scrolling box.
SEEN = """
() => [...document.querySelectorAll(".scroll table")].map((table) => {
  const cell = table.querySelector("tbody td.number"), box = table.closest(".scroll");
  if (!cell) return 0;
  return cell.getBoundingClientRect().right - box.getBoundingClientRect().right;
})
"""
TALLEST = """
() => Math.max(...[...document.querySelectorAll("h1, tbody tr, .pairs > *")]
  .map((one) => one.getBoundingClientRect().height))
"""


@pytest.fixture(scope="module")
def paths(save):
    """A page of each kind with hostile names only."""
    rng, n, few = np.random.default_rng(0), len(HOSTILE), [*HOSTILE[:9], *LONG]
    X = pd.DataFrame(rng.normal(size=(n, 2)), index=HOSTILE, columns=HOSTILE[:2])
    Y = pd.DataFrame(rng.integers(0, 2, (n, n)), index=HOSTILE, columns=HOSTILE)
    curve = frontier(X, Y, [0.3, 0.4], solver=QUICK, random_state=0)
    groups = {HOSTILE[0]: [few[k % 12] for k in range(n)], LONG[0]: [few[k % 11] for k in range(n)]}
    found = audit(
        Y, 1 - Y, groups=pd.DataFrame(groups, index=HOSTILE), task_families=HOSTILE, alpha=0.1
    )
    shown = {"title": LONG[0], "settings": dict(zip(HOSTILE, HOSTILE[::-1], strict=True))}
    parts = [Section(name, [name], listings=[Listing(name, [name], [[name]])]) for name in few]
    return {
        "frontier": save("frontier", frontier_report(curve, Y, audit=found, **shown)),
        "audit": save("audit", audit_report(found, **shown)),
        "experiments": save("experiments", story_report(HOSTILE[1], LONG[1], parts, {})),
    }


def assert_holds(page, width):
    """Check that nothing sticks out, names take a few lines, and numbers stay beside them."""
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    assert page.evaluate(READ_OUT_OF_SIGHT) == []
    assert page.evaluate(READ_OVERLAPS) == []
    assert page.evaluate(TALLEST) < 250
    assert max(page.evaluate(SEEN)) <= 0


@pytest.mark.parametrize("kind", ["frontier", "audit"])
def test_the_page_holds_hostile_names(browser, paths, kind):
    wanted = sorted(map(as_held, HOSTILE))
    with opened(browser, paths[kind], width=WIDTHS[0]) as page:
        for width in WIDTHS:
            resize(page, width)
            assert_holds(page, width)
        assert page.title() == page.text_content("h1") == LONG[0]
        for table in ("people", "tasks"):
            assert sorted(row[0] for row in all_rows(page, table)) == wanted
        assert sorted(row[1] for row in all_rows(page, "tasks")) == wanted
        assert {row[0] for row in rows(page, ".group table")} == {*HOSTILE[:9], *LONG}
        whole = page.locator(".long").evaluate_all("all => all.map((one) => one.title)")
        assert {*LONG} <= {*whole}
        settings = page.locator(".pairs dt, .pairs dd").all_text_contents()
        assert {*wanted} <= {*settings}
        if kind == "frontier":
            assert sorted(row[0] for row in all_rows(page, "per-task")) == wanted
            for place in (0, 1):
                move_slider(page, place)
                assert {row[0] for row in rows(page, "#worst-off")} <= {*wanted}
                assert_holds(page, WIDTHS[-1])
        for name in (HOSTILE[1], HOSTILE[2], HOSTILE[7]):
            page.fill("#people-search", name)
            assert [row[0] for row in rows(page, "#people")] == [name]
    # Leaving the block checks: no dialog, no error, nothing fetched, nothing blocked.
    record(
        f"hostile-browser-{kind}",
        what=f"hostile names of people, tasks, families and settings in the page of "
        f"{'a curve' if kind == 'frontier' else 'an audit'}, in a browser",
        count=4 * len(HOSTILE),
        outcome="seen as words; no dialog, no error, no request; no sideways scrolling at 360 and "
        "1,400 pixels",
    )


def test_the_page_of_experiments_holds_hostile_names(browser, paths):
    with opened(browser, paths["experiments"], width=WIDTHS[0]) as page:
        for width in WIDTHS:
            resize(page, width)
            assert page.evaluate("document.scrollingElement.scrollWidth") <= width
            assert page.evaluate(READ_OUT_OF_SIGHT) == []
        assert page.text_content("h1") == HOSTILE[1]
        assert page.locator("td").all_text_contents() == [*map(as_held, [*HOSTILE[:9], *LONG])]


@pytest.mark.parametrize(
    "style", [".long { -webkit-line-clamp: none !important; }", ".long { min-width: 90rem; }"]
)
def test_the_judge_of_pages_can_fail(browser, paths, style):
    with opened(browser, paths["audit"], width=360) as page:
        assert_holds(page, 360)
        page.evaluate("(text) => document.styleSheets[0].insertRule(text)", style)
        with pytest.raises(AssertionError):
            assert_holds(page, 360)
