"""The built pages in a real browser: as wide as a telephone and as a desk, without errors."""

from __future__ import annotations

import pytest
from report_pages import fixture_browser  # noqa: F401
from test_built_pages import BUILT, SITE

pytestmark = [pytest.mark.browser, BUILT]

# All pages but listings of source code.
PAGES = [
    str(path.relative_to(SITE))
    for path in sorted(SITE.rglob("*.html"))
    if "_modules" not in path.parts
]
# What sticks out of the window and cannot be scrolled to within a frame of its own.
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


@pytest.fixture(scope="module", params=[360, 1400])
def page(browser, request):
    """A window of that width, with what its scripts complained of."""
    opened = browser.new_page(viewport={"width": request.param, "height": 900})
    opened.troubles = []
    opened.on("pageerror", lambda error: opened.troubles.append(str(error)))
    yield opened
    opened.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page(page, name):
    page.goto((SITE / name).as_uri())
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    assert page.evaluate(STICKING_OUT) == []
    for picture in page.query_selector_all("main img"):
        picture.scroll_into_view_if_needed()  # some are loaded when they are seen
    page.wait_for_function("[...document.images].every((one) => one.complete)")
    assert page.evaluate(UNDRAWN) == []
    assert page.troubles == []
