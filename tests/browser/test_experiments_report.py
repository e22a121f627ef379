"""The report of the experiments in a browser: no errors, complete at every width, both modes."""

from __future__ import annotations

import pytest

from averagefair.showing.report import Listing, Section, story_report
from tests.support.browser_pages import (
    READ_COLOURS,
    READ_OUT_OF_SIGHT,
    READ_OVERLAPS,
    contrast,
    opened,
)
from tests.support.experiment_runs import (
    fixture_communities,  # noqa: F401
    fixture_reproduced,  # noqa: F401
    fixture_synthetic,  # noqa: F401
)
from tests.support.report_pages import (
    fixture_browser,  # noqa: F401
    fixture_save,  # noqa: F401
)

pytestmark = pytest.mark.browser

IMAGES = """
() => [...document.images].map((one) => ({
  loaded: one.complete && one.naturalWidth > 0,
  shape: one.naturalWidth / one.naturalHeight,
  box: one.getBoundingClientRect().toJSON(),
  alt: one.alt,
}))
"""


@pytest.fixture(scope="module")
def path(reproduced):
    return reproduced.folder / "report.html"


def assert_fits(page, width):
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    assert page.evaluate(READ_OUT_OF_SIGHT) == []
    assert page.evaluate(READ_OVERLAPS) == []


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_every_width_holds_the_page_and_its_pictures(browser, path, width):
    with opened(browser, path, width=width) as page:
        page.locator("h1").wait_for()
        assert_fits(page, width)
        images = page.evaluate(IMAGES)
        assert len(images) >= 15
        for one in images:
            assert one["loaded"], one["alt"]
            box = one["box"]
            assert box["width"] >= 0.75 * min(width, 1000)
            assert box["width"] / box["height"] == pytest.approx(one["shape"], rel=0.02)


def test_the_judge_of_fits_can_fail(browser, path):
    with opened(browser, path, width=360) as page:
        rule = "figure img { min-width: 500px; }"
        page.evaluate("(text) => document.styleSheets[0].insertRule(text)", rule)
        with pytest.raises(AssertionError):
            assert_fits(page, 360)


def test_wide_tables_scroll_by_themselves_and_by_keyboard(browser, path):
    with opened(browser, path, width=360) as page:
        boxes = page.locator(".scroll").all()
        assert len(boxes) >= 5
        wider = 0
        for box in boxes:
            assert box.get_attribute("tabindex") == "0"
            assert box.get_attribute("aria-label")
            wider += box.evaluate("(one) => one.scrollWidth > one.clientWidth + 1")
        assert wider > 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read_in_both_modes(browser, path, scheme):
    with opened(browser, path, color_scheme=scheme) as page:
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (contrast(ground, "rgb(0, 0, 0)") > 10) == (scheme == "light")
        found = page.evaluate(READ_COLOURS)
        assert len(found) > 100
        assert [one for one in found if contrast(*one[1:]) < 4.5] == []
        # Pictures have a white background of their own, also in dark mode.
        grounds = page.eval_on_selector_all(
            "img", "(all) => all.map((one) => getComputedStyle(one).backgroundColor)"
        )
        assert set(grounds) == {"rgb(255, 255, 255)"}


def test_contents_lead_to_the_sections(browser, path):
    with opened(browser, path) as page:
        links = page.locator(".contents a").all()
        assert len(links) >= 6
        for link in links:
            link.click()
            target = page.locator(link.get_attribute("href"))
            assert target.text_content() == link.text_content()
            assert target.bounding_box()["y"] < page.viewport_size["height"]


def test_without_scripts_it_is_the_same(browser, path):
    with opened(browser, path, scripts=False) as page:
        assert page.locator("h1").is_visible()
        assert page.locator("img").first.is_visible()
        assert page.locator("table").first.is_visible()


def test_nobody_is_told_of_drawings_that_need_scripts(browser, path):
    """Nothing on this page needs scripts."""
    with opened(browser, path, scripts=False) as page:
        assert not page.get_by_text("need JavaScript").is_visible()


def test_on_paper_everything_is_there(browser, path):
    with opened(browser, path, color_scheme="dark") as page:
        page.emulate_media(media="print", color_scheme="dark")
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == "rgb(255, 255, 255)"
        assert min(contrast(*both) for _, *both in page.evaluate(READ_COLOURS)) >= 4.5


def test_hostile_words_do_nothing(browser, save):
    words = ["<script>document.title = 1</script>", "<img src=x onerror='document.title = 2'>"]
    listing = Listing(words[0], words, [words])
    text = story_report(words[0], words[1], [Section(words[1], words, [], [listing])], {}, {})
    with opened(browser, save("hostile-story", text)) as page:
        assert page.title() == page.text_content("h1") == words[0]
        assert page.locator("img").count() == 0
        assert page.locator("td").all_text_contents() == words
