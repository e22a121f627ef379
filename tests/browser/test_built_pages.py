"""The built pages in a real browser, at the widths of a phone and a desktop, without errors."""

from __future__ import annotations

import pytest

from tests.docs.test_built_pages import BUILT, SITE
from tests.support.browser_pages import PATIENCE, resize
from tests.support.report_pages import fixture_browser  # noqa: F401

pytestmark = [pytest.mark.browser, BUILT]

# All pages except listings of source code; of the pages of names, which are made alike, each fifth.
FOUND = [
    path.relative_to(SITE) for path in sorted(SITE.rglob("*.html")) if "_modules" not in path.parts
]
NAMES = [path for path in FOUND if "names" in path.parts]
PAGES = [str(path) for path in FOUND if path not in NAMES or NAMES.index(path) % 5 == 0]
# Elements that stick out of the window and are not inside a scrolling frame.
STICKING_OUT = """
() => {
  const framed = (one) => {
    for (let at = one; at; at = at.parentElement)
      if (["auto", "scroll", "hidden"].includes(getComputedStyle(at).overflowX)) return true;
    return false;
  };
  return [...document.querySelectorAll("main *")]
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !framed(one))
    .map((one) => one.outerHTML.slice(0, 80));
}
"""
UNDRAWN = "() => [...document.images].filter((one) => !one.naturalWidth).map((one) => one.src)"


WIDTHS = (360, 1400)


@pytest.fixture(scope="module")
def page(browser):
    """A window, with the errors of its scripts."""
    opened = browser.new_page()
    opened.set_default_timeout(PATIENCE)
    opened.troubles = []
    opened.on("pageerror", lambda error: opened.troubles.append(str(error)))
    yield opened
    opened.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page(page, name):
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    page.goto((SITE / name).as_uri())
    for width in WIDTHS:
        resize(page, width)
        assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth"), width
        assert page.evaluate(STICKING_OUT) == [], width
    for picture in page.query_selector_all("main img"):
        picture.scroll_into_view_if_needed()  # some are loaded only when visible
    page.wait_for_function("[...document.images].every((one) => one.complete)")
    assert page.evaluate(UNDRAWN) == []
    assert page.troubles == []
