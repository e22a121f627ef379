"""Open reports in a browser, watch the pages, and read charts and tables back as numbers.

Nothing here depends on how the page is made: charts are read from the pixels of their ticks and
marks, tables from their cells.
"""

from __future__ import annotations

import json
import re
import shutil
import unicodedata
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pytest

OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 180_000
"""A page that takes this many milliseconds hangs; this allows for a busy machine."""
# This runs before the page's own scripts: record what the content security policy blocks.
WITNESS = """
window.stopped = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.stopped.push(`${event.violatedDirective}: ${event.blockedURI}`));
"""
READ_CHART = """
(box) => {
  const root = box.querySelector("svg.drawing");
  const at = (element, x, y) => {
    const point = new DOMPoint(x, y).matrixTransform(element.getScreenCTM());
    return [point.x, point.y];
  };
  const number = (element, name) => Number(element.getAttribute(name));
  const all = (wanted) => [...root.querySelectorAll(wanted)];
  const lines = (wanted) => all(wanted).map((one) => [
    ...at(one, number(one, "x1"), number(one, "y1")),
    ...at(one, number(one, "x2"), number(one, "y2")),
  ]);
  // The corners of a path made of M, L, V and H.
  const corners = (path) => {
    const out = [];
    let x = 0, y = 0;
    for (const [, letter, rest] of path.getAttribute("d").matchAll(/([MLVH])([^MLVHZ]*)/g)) {
      const numbers = rest.trim().split(/[ ,]+/).map(Number);
      if (letter === "V") y = numbers[0];
      else if (letter === "H") x = numbers[0];
      else [x, y] = numbers;
      out.push([letter, ...at(path, x, y)]);
    }
    return out;
  };
  const frame = root.getBoundingClientRect();
  return {
    name: root.getAttribute("aria-label"),
    box: [frame.left, frame.top, frame.right, frame.bottom],
    across: all(".axes text[text-anchor=middle]:not(.title)").map((one) => one.textContent),
    up: all(".axes text[text-anchor=end]").map((one) => one.textContent),
    ticks: lines(".axes line.axis").filter((one) => Math.abs(one[0] - one[2]) < 0.01),
    grid: lines(".axes line.grid"),
    rules: lines("svg line.line"),
    circles: all("circle").map((one) => ({
      at: at(one, number(one, "cx"), number(one, "cy")), r: number(one, "r"),
      style: one.getAttribute("class"),
    })),
    bars: all("rect.bars").map((one) => [
      ...at(one, number(one, "x"), number(one, "y")),
      ...at(one, number(one, "x") + number(one, "width"), number(one, "y") + number(one, "height")),
    ]),
    paths: all("path.line").map((one) => ({ style: one.getAttribute("class"), at: corners(one) })),
    words: all("text").map((one) => {
      const place = one.getBoundingClientRect();
      return [one.textContent, place.left, place.top, place.right, place.bottom];
    }),
  };
}
"""
READ_ROWS = """
(table) => [...table.querySelectorAll("tbody tr")].map(
  (row) => [...row.children].map((cell) => cell.textContent))
"""
READ_PAGES = """
(box) => {
  const read = () => [...box.querySelectorAll("tbody tr")].map(
    (row) => [...row.children].map((cell) => cell.textContent));
  const [back, onward] = box.querySelectorAll(".pager button");
  const turn = (button) => !box.querySelector(".pager").hidden && !button.disabled;
  const out = read();
  while (turn(onward)) { onward.click(); out.push(...read()); }
  while (turn(back)) back.click();
  return out;
}
"""
# Every visible piece of text, with its colour and its background colour.
READ_COLOURS = """
() => {
  const out = [];
  for (const element of document.querySelectorAll("body *")) {
    if (element.closest("script, style, noscript, option, button:disabled")) continue;
    const own = [...element.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
    if (!own || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    let ground = "rgba(0, 0, 0, 0)";
    for (let above = element; above && /, 0\\)$/.test(ground); above = above.parentElement) {
      ground = getComputedStyle(above).backgroundColor;
    }
    const drawn = element instanceof SVGElement;
    out.push([element.textContent.trim().slice(0, 40), drawn ? style.fill : style.color, ground]);
  }
  return out;
}
"""


# Blocks that overlap, and neither contains the other.
READ_OVERLAPS = """
() => {
  const wanted = "header > *, section > *, .figures > div, .panels > *, .tools > *, .bar > *, " +
    ".legend > li, .pager > *, dt, dd, figure > *";
  const blocks = [...document.querySelectorAll(wanted)]
    .map((one) => [one, one.getBoundingClientRect()])
    .filter(([, box]) => box.width > 0 && box.height > 0);
  const out = [];
  blocks.forEach(([one, box], place) => {
    for (const [other, beside] of blocks.slice(0, place)) {
      if (one.contains(other) || other.contains(one)) continue;
      const across = Math.min(box.right, beside.right) - Math.max(box.left, beside.left);
      const up = Math.min(box.bottom, beside.bottom) - Math.max(box.top, beside.top);
      if (across > 1 && up > 1) out.push([other, one].map((each) => each.outerHTML.slice(0, 60)));
    }
  });
  return out;
}
"""
# Elements that stick out of the window, except those that can be scrolled to.
READ_OUT_OF_SIGHT = """
() => [...document.querySelectorAll("body *")]
  .filter((one) => !one.closest(".scroll > *, svg, .skip, script") &&
    one.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
  .map((one) => one.outerHTML.slice(0, 80))
"""
# The colours that distinguish lines, bars and marks, by name.
READ_TONES = """
() => Object.fromEntries(
  ["blue", "orange", "green", "red", "purple", "grey", "ink", "focus"].map((name) => {
    const one = document.createElement("i");
    document.body.append(one);
    one.style.color = `var(--${name})`;
    const colour = getComputedStyle(one).color;
    one.remove();
    return [name, colour];
  }))
"""
# Whether every chart is as wide as its box.
REDRAWN = """
() => [...document.querySelectorAll(".chart")].every((box) =>
  Math.abs(box.querySelector("svg").viewBox.baseVal.width - box.clientWidth) < 1)
"""


LARGE_ENOUGH = """
() => {
  const drawings = [...document.querySelectorAll("svg.drawing")];
  const sizes = drawings.map((one) => one.getBoundingClientRect());
  return sizes.length > 0 && sizes.every((one) => Math.min(one.width, one.height) > 50);
}
"""


@contextmanager
def chromium():
    """Start a browser; skip the test if there is none."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium on this machine")
    with driver.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=OPTIONS)
        yield browser
        browser.close()


@dataclass
class Witness:
    """Records what a page did that a report must not do."""

    address: str
    said: list = field(default_factory=list)
    asked: list = field(default_factory=list)

    def watch(self, page):
        page.on("console", lambda one: self.said.append(f"{one.type}: {one.text}"))
        page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("dialog", self._refuse)

    def _refuse(self, dialog):
        self.said.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def assert_quiet(self, page):
        assert self.said == []
        assert self.asked == [self.address]
        assert page.evaluate("window.stopped") == []


@contextmanager
def opened(browser, path, *, width=1200, height=900, quiet=True, scripts=True, **options):
    """Open a report from the disk, offline; at the end, check that it did nothing forbidden."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        offline=True,
        java_script_enabled=scripts,
        **options,
    )
    try:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.add_init_script(WITNESS)
        witness = Witness(path.as_uri())
        witness.watch(page)
        page.goto(witness.address)
        page.witness = witness
        yield page
        if quiet and scripts:
            witness.assert_quiet(page)
    finally:
        context.close()


def resize(page, width):
    """Set the window's width, and wait until the page and its charts have adapted."""
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_function("(width) => innerWidth === width", arg=width)
    page.wait_for_function(REDRAWN)


class Chart:
    """A chart as drawn; its ticks turn pixels into numbers on its axes."""

    def __init__(self, page, wanted):
        self.drawn = page.eval_on_selector(wanted, READ_CHART)
        ticks = [line[0] for line in self.drawn["ticks"]]
        self._across = self._axis(ticks, self.drawn["across"])
        self._up = self._axis([line[1] for line in self.drawn["grid"]], self.drawn["up"])

    @staticmethod
    def _axis(pixels, labels):
        if len(pixels) < 2:
            return None
        try:
            values = [float(label.replace(",", "")) for label in labels]
        except ValueError:  # names, such as months
            return None
        fitted = np.polynomial.Polynomial.fit(pixels, values, 1)
        np.testing.assert_allclose(fitted(np.array(pixels)), values, atol=1e-6)
        return fitted

    def pixel(self):
        """The width and height of a pixel in units of the axes."""
        return tuple(abs(axis.deriv()(0.0)) for axis in (self._across, self._up) if axis)

    def across(self, pixel):
        return float(self._across(pixel))

    def up(self, pixel):
        return float(self._up(pixel))

    def circles(self, tone, radius):
        """The positions of the marks of a colour and size: [(x pixel, y pixel)]."""
        return [
            one["at"]
            for one in self.drawn["circles"]
            if f"fill-{tone}" in one["style"].split() and one["r"] == radius
        ]

    def bars(self):
        """The bars [(low, high, count)] in units of the axes."""
        return [
            (self.across(left), self.across(right), self.up(top) - self.up(bottom))
            for left, top, right, bottom in self.drawn["bars"]
        ]

    def line(self, tone):
        """The corners of the line of a colour: [(letter, x, y)] in units of the axes."""
        found = [one for one in self.drawn["paths"] if f"stroke-{tone}" in one["style"].split()]
        assert len(found) == 1
        return [(letter, self.across(x), self.up(y)) for letter, x, y in found[0]["at"]]

    def upright(self):
        """The x of the lines from the bottom to the top, in units of the axis."""
        return [self.across(x) for x, y, to, _ in self.drawn["rules"] if abs(to - x) < 0.01]


def assert_written(text, value, digits=3):
    """Check a number as written on the page; "unknown" means NaN."""
    if value is None or np.isnan(value):
        assert text == "unknown"
        return
    assert re.fullmatch(rf"[+-]?[\d,]+\.\d{{{digits}}}", text), text
    assert abs(float(text.replace(",", "")) - value) <= 0.5 * 10.0**-digits + 1e-9, (text, value)


def rows(page, wanted):
    return page.eval_on_selector(wanted, READ_ROWS)


def all_rows(page, table):
    """Return the rows of all pages of a table; end at the first page again."""
    return page.eval_on_selector(f".datatable:has(#{table})", READ_PAGES)


def move_slider(page, place):
    """Move the slider and send its input event."""
    page.eval_on_selector(
        "#value",
        "(slider, place) => { slider.value = place;"
        " slider.dispatchEvent(new Event('input', { bubbles: true })); }",
        place,
    )


def with_data(path, name, change):
    """Return a page's text with its data changed."""
    text = path.read_text("utf-8")
    head, rest = text.split(f'id="{name}">', 1)
    block, tail = rest.split("</script>", 1)
    data = json.loads(block)
    change(data)
    return f'{head}id="{name}">{json.dumps(data)}</script>{tail}'


def natural(name):
    """A key for natural order: marks, numbers by size, letters without accent or case."""
    plain = unicodedata.normalize("NFD", str(name)).casefold()
    parts = re.findall(r"\d+|.", "".join(one for one in plain if not unicodedata.combining(one)))
    return [
        (1, int(part), "") if part.isdigit() else (2 if part.isalpha() else 0, 0, part)
        for part in parts
    ]


def contrast(one, other):
    """Return the WCAG contrast ratio of two colours in a browser's notation."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour):
    parts = [float(part) for part in re.findall(r"[\d.]+", colour)]
    assert parts[3:] in ([], [1.0]), colour
    channels = np.array(parts[:3]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
