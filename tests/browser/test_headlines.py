"""The headline of each page in a real browser: what somebody sees within ten seconds."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from averagefair import Cap, Equal, WorstOff, audit, frontier
from averagefair.auditing.gate import judge
from averagefair.evaluation.generalisation import generalisation
from averagefair.showing.headline import (
    audit_headline,
    comparison_headline,
    drift_headline,
    frontier_headline,
)
from averagefair.showing.report import audit_report, frontier_report
from tests.support.browser_pages import (
    READ_COLOURS,
    READ_OUT_OF_SIGHT,
    READ_OVERLAPS,
    contrast,
    move_slider,
    opened,
)
from tests.support.report_pages import (
    QUICK,
    fixture_audited,  # noqa: F401
    fixture_browser,  # noqa: F401
    fixture_changes,  # noqa: F401
    fixture_save,  # noqa: F401
    fixture_usual,  # noqa: F401
    fixture_whole,  # noqa: F401
    population,
)

pytestmark = pytest.mark.browser

MOST_WORDS, MOST_NUMBERS = 60, 15
# The visible text above the first picture of the page.
READ_ABOVE = """
() => {
  const picture = document.querySelector("svg.strip, svg.drawing");
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const out = [];
  while (walk.nextNode()) {
    const node = walk.currentNode, box = node.parentElement;
    const after = Node.DOCUMENT_POSITION_FOLLOWING;
    if (!(node.compareDocumentPosition(picture) & after)) break;
    if (box.closest("script, style, noscript, .skip") || !box.getClientRects().length) continue;
    out.push(node.data);
  }
  return out.join(" ");
}
"""
# Colours aside, what a badge looks like.
READ_SHAPE = """
(badge) => {
  const style = getComputedStyle(badge);
  return [style.borderTopStyle, style.borderTopLeftRadius, style.clipPath, badge.innerText.trim()];
}
"""
# The dots of the visible strip, with the ends of the band, in the drawing's own units.
READ_STRIP = """
() => {
  const box = [...document.querySelectorAll(".headline svg.strip")]
    .find((one) => one.getClientRects().length);
  const number = (one, name) => Number(one.getAttribute(name));
  const dots = [...box.querySelectorAll("circle")].map((one) => [
    number(one, "cx"), number(one, "cy"), getComputedStyle(one).fill !== "none"]);
  const ticks = [...box.querySelectorAll("text[text-anchor=middle]")].slice(0, -1)
    .map((one) => [number(one, "x"), Number(one.textContent)]);
  const band = box.querySelector("rect");
  const ends = band && [number(band, "x"), number(band, "x") + number(band, "width")];
  return { dots, ticks, ends, said: box.getAttribute("aria-label"), text: box.textContent };
}
"""


# Whether a heading is in the window, and nothing covers it.
READ_ON_TOP = """
(heading) => {
  const { left, top, height } = heading.getBoundingClientRect();
  return document.elementFromPoint(left + 4, top + height / 2) === heading;
}
"""


def audited_rates(low, high, tasks, **options):
    """An audit of 60 people whose rates rise evenly from low to high."""
    rates = np.linspace(low, high, 60)[:, None]
    wrong = np.random.default_rng(2).random((60, tasks)) < rates
    return audit(np.zeros((60, tasks)), wrong.astype(float), **options)


ASKED = {"alpha": 0.1, "beta": 0.05}
VERDICTS = {
    "PASS": lambda: audited_rates(0.2, 0.2, 400, **ASKED),
    "FAIL": lambda: audited_rates(0.0, 0.9, 150, **ASKED),
    "INCONCLUSIVE": lambda: audited_rates(0.12, 0.35, 30, **ASKED),
    "UNEQUAL": lambda: audited_rates(0.0, 0.9, 50),
}
ICONS = {"PASS": "\u2713", "FAIL": "\u2717", "INCONCLUSIVE": "?", "UNEQUAL": "\u2260"}


@pytest.fixture(scope="module")
def verdicts(save):
    """An audit and its page for each outcome."""
    made = {name: found() for name, found in VERDICTS.items()}
    return {
        name: (found, save(f"verdict-{name}", audit_report(found, title="Audit: a.csv and b.csv")))
        for name, found in made.items()
    }


@pytest.mark.parametrize("name", VERDICTS)
def test_the_badge_and_its_words_are_those_of_the_outcome(browser, verdicts, name):
    found, path = verdicts[name]
    head = audit_headline(found)
    for scripts in (True, False):
        with opened(browser, path, scripts=scripts) as page:
            badge = page.locator(".badge")
            assert badge.count() == 1
            assert badge.get_attribute("data-badge") == name
            assert badge.inner_text().split() == [ICONS[name], name]
            assert_headline(page, head)
            assert page.locator(".question").inner_text() == head.question


def assert_headline(page, head, within=".headline"):
    """Compare the headline's sentence and rows with Python's."""
    assert page.locator(f"{within} .sentence").inner_text() == head.sentence
    assert page.locator(f"{within} .word").inner_text() == head.badge.word
    lines = page.locator(f"{within} .facts tbody tr").all()
    shown = [tuple(line.locator("th, td").all_text_contents()) for line in lines]
    assert shown == list(head.rows)
    assert len(shown) == 8


def test_badges_differ_without_their_colours(browser, verdicts):
    shapes = {}
    for name, (_, path) in verdicts.items():
        with opened(browser, path) as page:
            shapes[name] = page.eval_on_selector(".badge", READ_SHAPE)
    for part in (slice(0, 3), slice(3, 4)):  # by shape alone, and by words alone
        assert len({tuple(shape[part]) for shape in shapes.values()}) == len(VERDICTS)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", VERDICTS)
def test_the_headline_can_be_read_in_both_modes(browser, verdicts, name, scheme):
    with opened(browser, verdicts[name][1], color_scheme=scheme) as page:
        texts = page.evaluate(READ_COLOURS)
        assert any(name in text for text, *_ in texts)
        assert [one for one in texts if contrast(*one[1:]) < 4.5] == []
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        ink = page.eval_on_selector("svg.strip", "(one) => getComputedStyle(one).color")
        assert contrast(ground, ink) > 7


def test_colours_of_badges_differ(browser, verdicts):
    for scheme in ("light", "dark"):
        seen = set()
        for _, path in verdicts.values():
            with opened(browser, path, color_scheme=scheme) as page:
                look = "(one) => [getComputedStyle(one).backgroundColor, "
                look += "getComputedStyle(one).borderTopColor].join()"
                seen.add(page.eval_on_selector(".badge", look))
        assert len(seen) == len(VERDICTS)


# The strip of dots.


def assert_strip(page, rates, band):
    """Check that there is a dot for each rate, and that the band holds the people it says."""
    drawn = page.evaluate(READ_STRIP)
    rates = np.sort(rates[~np.isnan(rates)])
    dots = sorted(drawn["dots"])
    at, value = np.array(drawn["ticks"]).T
    axis = np.polynomial.Polynomial.fit(at, value, 1)
    pixel = abs(axis.deriv()(0.0))
    assert len(dots) == rates.size
    np.testing.assert_allclose([axis(x) for x, *_ in dots], rates, atol=0.2 * pixel)
    assert len({(x, y) for x, y, _ in dots}) == len(dots)  # nobody hides anybody
    inside = np.count_nonzero(np.abs(rates - np.mean(band)) <= np.ptp(band) / 2 + 1e-6)
    assert sum(full for *_, full in dots) == inside
    for x, _, full in dots:
        assert full == (drawn["ends"][0] - 0.2 <= x <= drawn["ends"][1] + 0.2)
    for words in (drawn["said"], drawn["text"]):
        assert f"{inside} of {rates.size} people are in the band" in words
    np.testing.assert_allclose(axis(np.array(drawn["ends"])), band, atol=0.2 * pixel)


@pytest.mark.parametrize("name", ["FAIL", "INCONCLUSIVE"])
def test_the_band_holds_the_people_it_says(browser, verdicts, name):
    found, path = verdicts[name]
    band = (found.common_rate - 0.1, found.common_rate + 0.1)
    with opened(browser, path) as page:
        assert_strip(page, found.people.rate, band)
        with pytest.raises(AssertionError):
            assert_strip(page, found.people.rate, (band[0], band[1] + 0.02))
        with pytest.raises(AssertionError):
            assert_strip(page, found.people.rate + 0.01, band)


def test_the_strip_follows_the_slider(browser, whole):
    *_, curve, _, path = whole
    with opened(browser, path) as page:
        for place in (0, 4, 2):
            move_slider(page, place)
            point = curve[place]
            common = point.certificate.common_rate
            rates = np.asarray(point.model.individual_rates_)
            assert_strip(page, rates, (max(0, common - point.value), common + point.value))
            assert page.locator(".ruled svg.strip:visible").count() == 1


# Ten seconds.


@pytest.mark.parametrize("kind", ["frontier", "audit", "drift", "comparison", *VERDICTS])
def test_few_words_stand_above_the_first_picture(browser, usual, verdicts, kind):
    path = usual[kind] if kind in usual else verdicts[kind][1]
    with opened(browser, path) as page:
        assert_short(page)
        page.evaluate("document.querySelector('h1').textContent = 'word 1 '.repeat(31)")
        with pytest.raises(AssertionError):
            assert_short(page)


LONGEST_PROMISES = {
    "price": (WorstOff(0.1), [0.25, 0.5], "error"),
    "limit": (WorstOff(0.2, max_rate=0.5), [0.4, 0.6], "error"),
    "cap": (Cap(beta=0.1), [0.5, 0.7], ["false_positive", "false_negative"]),
    "equal": (Equal(beta=0.1), [0.05, 0.3], ["false_positive", "false_negative"]),
    "harm": (Equal(no_harm=0.4), [0.1, 0.3], "error"),
}


@pytest.mark.parametrize("name", LONGEST_PROMISES)
def test_few_words_stand_above_the_first_picture_of_every_promise(browser, save, name):
    promise, values, rate = LONGEST_PROMISES[name]
    X, Y, *_ = population(n=60, m=10)
    options = {"solver": QUICK, "random_state": 0, "decisions": "drawn", "rate": rate}
    curve = frontier(X, Y, values, promise=promise, **options)
    with opened(browser, save(f"promise-{name}", frontier_report(curve, Y))) as page:
        for place in (0, 1):
            move_slider(page, place)
            assert_short(page)
            assert_headline(page, frontier_headline(curve, curve[place]))


def assert_short(page):
    """Count the words and the numbers above the first picture."""
    above = page.evaluate(READ_ABOVE)
    assert len(above.split()) <= MOST_WORDS, above
    assert len(re.findall(r"\d[\d,]*(?:\.\d+)?", above)) <= MOST_NUMBERS, above


@pytest.mark.parametrize("name", ["PASS", "FAIL", "INCONCLUSIVE"])
def test_the_badge_the_sentence_and_the_dots_are_seen_without_scrolling(browser, verdicts, name):
    for width, height in ((360, 740), (1200, 700)):
        with opened(browser, verdicts[name][1], width=width, height=height) as page:
            for wanted in (".badge", ".sentence", "svg.strip"):
                box = page.locator(wanted).first.bounding_box()
                assert box["y"] + box["height"] <= height


@pytest.mark.parametrize("width", [360, 480, 768, 1200, 1600])
def test_headlines_fit_every_width(browser, verdicts, width):
    for _, path in verdicts.values():
        with opened(browser, path, width=width) as page:
            assert page.evaluate("document.scrollingElement.scrollWidth") <= width
            assert page.evaluate(READ_OVERLAPS) == []
            assert page.evaluate(READ_OUT_OF_SIGHT) == []
            sizes = page.eval_on_selector_all(
                "svg.strip text",
                "(all) => all.map((one) => one.getBoundingClientRect())"
                ".map((box) => [box.height, box.left, box.right])",
            )
            assert min(height for height, *_ in sizes) >= 10
            assert min(left for _, left, _ in sizes) >= 0
            assert max(right for *_, right in sizes) <= width


def test_an_audit_is_printed_on_few_sheets(browser, verdicts):
    for _, path in verdicts.values():
        with opened(browser, path) as page:
            page.emulate_media(media="print")
            assert page.locator(".badge").is_visible()
            assert page.locator("svg.strip").is_visible()
            paper = page.pdf(format="A4")
            assert 1 < len(re.findall(rb"/Type\s*/Page\b", paper)) <= 6


@pytest.mark.parametrize("kind", ["frontier", "audit", "drift", "comparison"])
def test_everything_else_is_under_details_with_links(browser, usual, kind):
    with opened(browser, usual[kind]) as page:
        links = page.locator(".contents a").all()
        assert 5 <= len(links) <= 15
        titles = [link.inner_text() for link in links]
        for link, title in zip(links, titles, strict=True):
            link.focus()
            page.keyboard.press("Enter")
            wanted = page.evaluate("location.hash").removeprefix("#")
            heading = page.locator(f"[id='{wanted}']")
            assert heading.inner_text().startswith(title)
            assert heading.evaluate(READ_ON_TOP)
        heads = page.locator("main h2").all_text_contents()
        after = ["The audit of alpha 0.1"] if kind == "frontier" else []
        assert heads[1:] == ["Details", *after]


# What was asked by a figure, and the other pages.


def test_a_bound_on_a_figure_is_shown(browser, save):
    found = audited_rates(0.0, 0.9, 50)
    gate = judge(found, None, 0.05, "sigma")
    with opened(browser, save("gate", audit_report(found, gate=gate))) as page:
        assert page.locator(".badge").inner_text().split() == ["\u2717", "FAIL"]
        assert_headline(page, audit_headline(found, gate))
        assert "above 0.05" in page.locator(".sentence").inner_text()
    with opened(browser, save("no-gate", audit_report(found))) as page:
        assert page.locator(".badge").get_attribute("data-badge") == "UNEQUAL"


def test_the_headline_and_the_bar_follow_the_slider(browser, whole):
    _, _, held_out, curve, _, path = whole
    measured = generalisation(curve, **held_out)
    with opened(browser, path) as page:
        for place in (3, 0, 4):
            move_slider(page, place)
            point = curve[place]
            head = frontier_headline(curve, point, measured)
            assert_headline(page, head, ".ruled .headline")
            badge = page.locator(".ruled .badge").get_attribute("data-badge")
            assert badge == ("PASS" if point.certificate.met else "FAIL")
            live = {
                name: page.text_content(f"[data-live={name}]")
                for name in ("error", "spread", "better", "worse")
            }
            assert float(live["error"]) == pytest.approx(point.error, abs=5.1e-4)
            assert float(live["spread"]) == pytest.approx(point.spread, abs=5.1e-4)
            pays = point.who_pays
            for name, share in (("better", pays.better), ("worse", pays.worse)):
                assert float(live[name].removesuffix("%")) == pytest.approx(100 * share, abs=0.051)
        # The bar stays in sight.
        page.evaluate("document.getElementById('cost').scrollIntoView()")
        box = page.locator(".bar").bounding_box()
        assert -1 <= box["y"] < 10
        assert page.locator("[data-live=worse]").is_visible()


def test_a_promise_that_is_not_kept_is_a_fail(browser, save):
    X, Y, *_ = population()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 12 tasks are too few
        curve = frontier(X, Y, [0.02, 0.3], solver=QUICK, random_state=0)
    assert [point.certificate.met for point in curve] == [False, True]
    with opened(browser, save("missed", frontier_report(curve, Y))) as page:
        for place, badge in ((0, "FAIL"), (1, "PASS")):
            move_slider(page, place)
            assert_headline(page, frontier_headline(curve, curve[place]))
            assert page.locator(".badge").get_attribute("data-badge") == badge
            said = page.locator(".sentence").inner_text()
            assert said.startswith("Not kept") == (badge == "FAIL")


def test_comparisons_and_drifts_have_their_headlines(browser, changes):
    makers = {"comparison": comparison_headline, "drift": drift_headline}
    for kind, (found, path) in changes.items():
        with opened(browser, path) as page:
            assert_headline(page, makers[kind](found))
            assert page.locator("svg.strip").count() == (2 if kind == "comparison" else 0)
            if kind == "drift":
                assert page.locator(".headline svg.drawing").count() == 1
