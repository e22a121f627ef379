"""Reports and built pages under axe-core: nothing serious and nothing critical, in both modes."""

from __future__ import annotations

import pytest

from tests.docs.test_built_pages import BUILT, SITE
from tests.support.axe import violations
from tests.support.browser_pages import PATIENCE, opened
from tests.support.report_pages import (
    fixture_audited,  # noqa: F401
    fixture_browser,  # noqa: F401
    fixture_changes,  # noqa: F401
    fixture_save,  # noqa: F401
    fixture_usual,  # noqa: F401
    fixture_whole,  # noqa: F401
)

pytestmark = pytest.mark.browser

SCHEMES = ["light", "dark"]
# One page of each kind, and the pages that most readers open.
MAIN_PAGES = [
    "index.html",
    "search.html",
    "genindex.html",
    "start/index.html",
    "start/promises.html",
    "start/when.html",
    "guides/index.html",
    "guides/first-table.html",
    "guides/auditing.html",
    "guides/twenty-thousand.html",
    "gallery/index.html",
    "gallery/ad_delivery.html",
    "reference/index.html",
    "reference/names/averagefair.audit.html",
    "reference/names/averagefair.AverageFairClassifier.html",
    "extend/architecture.html",
    "theory/index.html",
    "command-line.html",
    "measured.html",
    "changes.html",
]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", ["audit", "frontier", "drift", "comparison"])
def test_a_report(browser, usual, kind, scheme):
    with opened(browser, usual[kind], color_scheme=scheme) as page:
        page.locator("h1").wait_for()
        assert violations(page) == []


@pytest.fixture(scope="module", params=SCHEMES)
def page(request, browser):
    opened = browser.new_page(color_scheme=request.param)
    opened.set_default_timeout(PATIENCE)
    yield opened
    opened.close()


@BUILT
@pytest.mark.parametrize("name", MAIN_PAGES)
def test_a_built_page(page, name):
    page.goto((SITE / name).as_uri())
    assert violations(page) == []


SOUND = """<!doctype html><html lang="en"><title>A page</title>
<body style="color: #111; background: #fff"><main><h1>A page</h1>{}</main></body></html>"""


@pytest.mark.parametrize(
    ("part", "rule"),
    [
        ("<p>Words</p>", None),
        ('<p style="color: #aaa">Pale words</p>', "color-contrast"),
        ('<a href="x.html"><i></i></a>', "link-name"),
        ("<button></button>", "button-name"),
        ('<img src="x.png">', "image-alt"),
        ("<select><option>a</option></select>", "select-name"),
    ],
)
def test_the_judge_can_fail(page, part, rule):
    page.set_content(SOUND.format(part))
    found = violations(page)
    assert [one.split()[1] for one in found] == ([rule] if rule else [])
