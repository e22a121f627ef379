"""The reports in a real browser, for all readers: every width, on paper, by keyboard alone."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from averagefair import audit, compare, drift, frontier
from averagefair.evaluation.generalisation import generalisation
from averagefair.showing.report import (
    audit_report,
    comparison_report,
    drift_report,
    frontier_report,
)
from tests.support.browser_pages import (
    LARGE_ENOUGH,
    READ_COLOURS,
    READ_OUT_OF_SIGHT,
    READ_OVERLAPS,
    READ_TONES,
    REDRAWN,
    Chart,
    assert_written,
    contrast,
    move_slider,
    opened,
    resize,
    rows,
)
from tests.support.report_pages import (
    CHOICE,
    QUICK,
    fixture_audited,  # noqa: F401
    fixture_browser,  # noqa: F401
    fixture_changes,  # noqa: F401
    fixture_save,  # noqa: F401
    fixture_usual,  # noqa: F401
    fixture_whole,  # noqa: F401
)

pytestmark = pytest.mark.browser

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
KINDS = ["frontier", "audit", "drift", "comparison"]
CONTROLS = ["#value", "#per-task-search", "#people-search", "#tasks-search", ".pager button"]


@pytest.fixture(scope="module")
def awkward(save):
    """Both pages, with people, tasks, groups and settings of given names."""
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
        plain = audit(Y, 1 - Y)
        moved = drift(plain, names)
        compared = compare(plain, audit(Y, Y))
        noted = {**shown, "notes": (names[2],)}
        tested = generalisation(curve, X_new=X, Y_new_people=Y)
        text = frontier_report(curve, Y, measured=tested, audit=found, **shown)
        return {
            "frontier": save(f"{kind}-frontier", text),
            "audit": save(f"{kind}-audit", audit_report(found, **shown)),
            "drift": save(f"{kind}-drift", drift_report(moved, **noted)),
            "comparison": save(f"{kind}-comparison", comparison_report(compared, **noted)),
        }

    return pages


# Nothing is fetched, nothing else runs.


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


# Widths, paper, colours and keyboard.


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("names", ["usual", "long"])
def test_every_width_holds_the_page(browser, usual, awkward, kind, names):
    if names == "usual":
        path = usual[kind]
    else:
        path = awkward("long", [f"{mark}{LONG[1:]}" for mark in "abcdefg"])[kind]
    with opened(browser, path, width=360) as page:
        assert_fits(page, 360)
        for width in (768, 1600, 360):
            resize(page, width)
            assert_fits(page, width)


def assert_fits(page, width):
    """Check that nothing sticks out, overlaps, or is too small to touch."""
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    assert page.locator("h1").is_visible()
    assert page.evaluate(READ_OVERLAPS) == []
    assert page.evaluate(READ_OUT_OF_SIGHT) == []
    for drawn in page.locator("svg.drawing").all():
        box = drawn.bounding_box()
        assert box["width"] >= 150
        assert box["x"] + box["width"] <= width
    for slider in page.locator("#value").all():
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
def test_words_of_a_chart_are_whole_and_apart(browser, usual, width):
    for path in usual.values():
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
        if kind == "frontier":
            move_slider(page, 0)  # as below, because bars depend on the point shown
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
        # Ticks of the charts may differ, so lines and texts are not compared.
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


@pytest.mark.parametrize("kind", KINDS)
def test_words_can_be_read_in_both_modes(browser, usual, kind):
    with opened(browser, usual[kind]) as page:
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
@pytest.mark.parametrize("kind", KINDS)
def test_on_paper(browser, usual, kind, scheme):
    with opened(browser, usual[kind], color_scheme=scheme) as page:
        page.emulate_media(media="print", color_scheme=scheme)
        for wanted in CONTROLS:
            assert not any(one.is_visible() for one in page.locator(wanted).all())
        # Drawings are drawn again for the width of the paper.
        page.wait_for_function(LARGE_ENOUGH)
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == "rgb(255, 255, 255)"
        assert min(contrast(one, other) for _, one, other in page.evaluate(READ_COLOURS)) >= 4.5
        assert page.locator("h1").is_visible()
        paper = page.pdf()
        assert len(paper) > 20_000
        assert sheets(paper) > 1
        page.emulate_media(media="screen", color_scheme=scheme)
        # After printing, the page is as before, once it knows its width again.
        page.wait_for_function(REDRAWN)


def test_on_paper_a_long_table_has_its_first_rows_and_says_so(browser, audited):
    with opened(browser, audited[1]) as page:
        everybody = [name for name, *_ in rows(page, "#people")]
        page.emulate_media(media="print")
        seen = page.locator("#people tbody tr:visible th").all_text_contents()
        assert seen == everybody[:10]
        assert "1\u201310 of 129" in page.inner_text(".datatable:has(#people)")
        assert "50" not in page.inner_text(".datatable:has(#people) .cut")


@pytest.mark.parametrize(("kind", "most"), [("audit", 6), ("drift", 6), ("comparison", 6)])
def test_few_sheets_of_paper_are_enough(browser, usual, kind, most):
    with opened(browser, usual[kind]) as page:
        assert sheets(page.pdf(format="A4")) <= most


def test_a_curve_needs_few_sheets_of_paper(browser, whole, save):
    _, Y, held_out, curve, *_ = whole
    text = frontier_report(curve, Y, measured=generalisation(curve, **held_out))
    with opened(browser, save("paper", text)) as page:
        assert sheets(page.pdf(format="A4")) <= 6
        page.add_style_tag(content="tr { display: table-row !important; height: 40px; }")
        assert sheets(page.pdf(format="A4")) > 6  # the judge can fail


def sheets(paper):
    """Count the pages of a PDF."""
    return len(re.findall(rb"/Type\s*/Page\b", paper))


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
            *(["value", "per-task-search", "per-task change"] * (kind == "frontier")),
        ]
        assert set(wanted) <= set(reached)
        page.focus(".skip")
        assert page.locator(".skip").bounding_box()["x"] >= 0
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        where = "document.activeElement.id || document.activeElement.hash"
        assert page.evaluate(where) == ("value" if kind == "frontier" else "#audit-short")


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
        assert_written(page.inner_text("[data-audit=sigma]"), found.dispersion.sigma)
        text = page.inner_text("main")
        for line in found.summary().splitlines()[1:]:
            assert line.removeprefix("Note: ") in text
        assert page.locator(".group tbody tr").count() == sum(len(g.name) for g in found.groups)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_screen_reader_needs(browser, usual, kind):
    with opened(browser, usual[kind]) as page:
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
        for one in page.locator("svg.drawing, svg.strip").all():
            assert one.get_attribute("role") == "img"
            assert len(one.get_attribute("aria-label")) > 20
        # Every other drawing is decoration.
        plain = "svg:not(.drawing):not(.strip):not(.drawing svg):not([aria-hidden=true])"
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
            assert page.get_attribute("[data-headline=sentence]", "aria-live") == "polite"
