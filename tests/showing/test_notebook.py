"""What a notebook shows: read back from the HTML, and run in a real notebook."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    InputError,
    RegressionOracle,
    WorstOff,
    audit,
    compare,
    drift,
    frontier,
    generalisation,
    load,
)
from averagefair.datasets import make_synthetic
from tests.support.hostile_names import HOSTILE

BRIEF = {
    "oracle": RegressionOracle(),
    "solver": ColumnGeneration(max_rounds=10, mapping_rounds=3),
    "random_state": 0,
}
ALPHAS = [0.05, 0.1, 0.15]


def tables(names=None, seed=0, n=60, m=30):
    """Return labels and decisions; people are wrong more and more often."""
    rng = np.random.default_rng(seed)
    names = [f"person {row}" for row in range(n)] if names is None else names
    labels = rng.integers(0, 2, (n, m))
    wrong = rng.random((n, m)) < np.linspace(0.05, 0.4, n)[:, None]
    return [pd.DataFrame(cells, index=names) for cells in (labels, labels ^ wrong)]


@pytest.fixture(scope="module")
def found():
    """One result of each kind."""
    people = make_synthetic(n=50, m=16, n_holdout=30, m_holdout=8, random_state=0)
    curve = frontier(people.X, people.Y, ALPHAS, **BRIEF)
    held = {"X_new": people.X_new, "Y_new_people": people.Y_new_people}
    new = {"Y_new_tasks": people.Y_new_tasks, "Y_new_both": people.Y_new_both}
    measured = generalisation(curve, **held, **new)
    labels, decisions = tables()
    before = audit(labels, decisions, alpha=0.1)
    return SimpleNamespace(
        people=people,
        curve=curve,
        measured=measured,
        certificate=curve[1].certificate,
        audit=before,
        comparison=compare(before, audit(labels, labels, alpha=0.1)),
        drift=drift(before, [f"month {task // 6}" for task in range(30)]),
    )


KINDS = ("curve", "measured", "certificate", "audit", "comparison", "drift")
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True)
def no_figure_stays():
    yield
    plt.close("all")


# --- a reader of the HTML ------------------------------------------------------------------------

ALLOWED = {
    *("div", "p", "strong", "table", "tr", "th", "td", "details", "summary", "pre"),
    *("svg", "g", "circle", "line", "polyline", "path", "rect", "text", "title"),
}
ATTRIBUTES = set(
    "class style colspan viewBox width height role aria-label x y x1 x2 y1 y2 cx cy r points d "
    "fill fill-opacity stroke stroke-opacity stroke-width stroke-dasharray text-anchor font-size "
    "transform font-weight stroke-linecap dominant-baseline".lower().split()
)
DRAWN = {"circle", "line", "polyline", "path", "rect"}


class Cell(HTMLParser):
    """The elements of a cell of HTML, its rows and its words; what is wrong with it."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.rows, self.words, self.wrong, self.labels = [], [], "", [], []
        self._open = []
        self.feed(html)
        self.close()
        self.wrong += [f"{tag} stays open" for tag in self._open]

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.elements.append((tag, given))
        self._open.append(tag)
        if tag not in ALLOWED:
            self.wrong.append(f"<{tag}>")
        self.wrong += [f"{name}= of <{tag}>" for name in given if name not in ATTRIBUTES]
        if re.search(r"background|url\(|(?<!-)color:", given.get("style") or ""):
            self.wrong.append(f"style of its own: {given['style']}")
        if tag == "text" and given.get("fill") != "currentColor":
            self.wrong.append(f"text in {given.get('fill')}")
        if tag == "svg" and not given.get("aria-label"):
            self.wrong.append("a picture without a description")
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "text":
            self.labels.append((float(given["x"]), float(given["y"]), ""))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self._open.pop()

    def handle_endtag(self, tag):
        if not self._open or self._open.pop() != tag:
            self.wrong.append(f"</{tag}> closes nothing")

    def handle_data(self, data):
        self.words += data
        if "td" in self._open or "th" in self._open:
            self.rows[-1][-1] += data
        if "text" in self._open:
            x, y, text = self.labels.pop()
            self.labels.append((x, y, text + data))

    def handle_comment(self, data):
        self.wrong.append("a comment")

    def all(self, tag):
        return [given for name, given in self.elements if name == tag]


def shown(result):
    return Cell(result._repr_html_())


@pytest.mark.parametrize(
    "html",
    [
        "<script>1</script>",
        '<p onclick="f()">a</p>',
        '<line stroke-dasharray=" stroke-dasharray="6 3""></line>',
        "<p>a",
        '<div style="background:#fff">a</div>',
        '<svg aria-label="a"><text x="1" y="1" fill="black">a</text></svg>',
        "<svg></svg>",
        "<!-- a -->",
    ],
)
def test_the_reader_of_cells_can_fail(html):
    assert Cell(html).wrong
    assert not Cell('<p style="margin:0">a &lt;script&gt;</p>').wrong


@every_kind
def test_a_cell_is_whole_and_takes_the_pages_colours(found, kind):
    cell = shown(getattr(found, kind))
    assert cell.wrong == []
    assert len(cell.all("svg")) in (1, 2)
    assert {tag for tag, _ in cell.elements} & DRAWN
    assert cell.rows


def scale(cell, vertical):
    """Return the line from pixels to numbers of the first chart, from its ticks' labels."""
    ticks = []
    for x, y, text in cell.labels:
        is_up = x < 50
        if re.fullmatch(r"-?[\d.]+", text) and is_up == vertical:
            ticks.append((y - 4 if vertical else x, float(text)))
    assert len(ticks) >= 2
    return np.polyfit(*zip(*ticks, strict=True), 1)


def points(cell, count):
    """Return the first dots of the first chart, read back as numbers."""
    dots = cell.all("circle")[:count]
    x = np.polyval(scale(cell, False), [float(dot["cx"]) for dot in dots])
    y = np.polyval(scale(cell, True), [float(dot["cy"]) for dot in dots])
    return x, y


def test_the_chart_of_a_curve_shows_its_errors(found):
    x, y = points(shown(found.curve), len(ALPHAS))
    np.testing.assert_allclose(x, ALPHAS, atol=0.001)
    np.testing.assert_allclose(y, [point.error for point in found.curve], atol=0.001)


def test_the_chart_of_a_drift_shows_the_deviation_of_each_batch(found):
    spread = [batch.dispersion.sigma for batch in found.drift]
    cell = shown(found.drift)
    dots = cell.all("circle")[: len(spread)]
    y = np.polyval(scale(cell, True), [float(dot["cy"]) for dot in dots])
    np.testing.assert_allclose(y, spread, atol=0.002)
    assert {"month 0", "month 4"} <= {text for *_, text in cell.labels}


def test_the_table_of_a_curve_has_its_figures(found):
    head, *rows = shown(found.curve).rows
    assert head[:3] == ["alpha", "error", "spread"]
    for row, point in zip(rows, found.curve, strict=True):
        figures = [float(cell) for cell in row[:4]]
        expected = [point.value, point.error, point.spread, point.worst_off]
        np.testing.assert_allclose(figures, expected, atol=6e-4)
        assert row[-1] == ("yes" if point.certificate.met else "no")


def test_a_curve_of_prices_shows_what_is_reached(found):
    people = found.people
    curve = frontier(people.X, people.Y, [0.1, 0.5], promise=WorstOff(0.2), **BRIEF)
    cell = shown(curve)
    assert cell.wrong == []
    assert cell.rows[0][:3] == ["price", "error", "reached"]
    assert float(cell.rows[1][2]) == pytest.approx(curve[0].certificate.reached, abs=6e-4)


def test_held_out_figures_are_in_the_tables(found):
    cell, corners = shown(found.measured), found.measured.corners
    heads = [row for row in cell.rows if row[0] == "alpha"]
    assert [len(head) for head in heads] == [1 + len(corners)] * 2
    first = [row for row in cell.rows if row[0] == "0.05"]
    for row, figure in zip(first, ("error", "near"), strict=True):
        own = [getattr(corner, figure)[0] for corner in corners.values()]
        np.testing.assert_allclose([float(text) for text in row[1:]], own, atol=6e-4)


def test_a_certificate_says_whether_the_promise_is_kept(found):
    kept = found.certificate
    assert kept.met
    assert "PASS" in shown(kept).words
    assert "FAIL" in shown(replace(kept, outside=0.5, deviation=0.45, spread=0.9)).words
    unknown = shown(replace(kept, who_pays=None))  # as in a model file of release 0.1.0
    assert unknown.wrong == []
    assert unknown.all("svg") == []


def test_an_audit_names_the_worst_off(found):
    rows = shown(found.audit).rows
    worst = found.audit.worst_off(1)[0]
    assert [worst["name"], f"{worst['rate']:.3f}"] in [row[:2] for row in rows]


# --- names from strangers, and many of everything ------------------------------------------------


@pytest.fixture(scope="module")
def strangers():
    """Results that name people, groups and batches as strangers did."""
    names = [*dict.fromkeys(HOSTILE)]
    labels, decisions = tables([*names, *(f"p{row}" for row in range(40))], n=len(names) + 40)
    groups = pd.Series((names[:20] * 9)[: len(labels)], index=labels.index, name=names[0])
    before = audit(labels, decisions, groups=groups, task_names=None)
    over = drift(before, [names[task % 5] for task in range(30)])
    return before, over, compare(before, audit(labels, labels, groups=groups))


def test_names_from_strangers_stay_names(strangers):
    for result in strangers:
        html = result._repr_html_()
        cell = Cell(html)
        assert cell.wrong == []
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", html)


def test_a_long_name_is_cut():
    names = ["x" * 100_000, *(f"p{row}" for row in range(59))]
    labels, _ = tables(names)
    before = audit(labels, labels ^ 1)
    assert len(before._repr_html_()) < 60_000
    assert len(drift(before, ["y" * 100_000] * 15 + ["z"] * 15)._repr_html_()) < 60_000


def test_a_cell_is_small_however_much_there_is(found):
    points = [replace(found.curve[0], value=0.0002 * (1 + place)) for place in range(1000)]
    long = replace(found.curve, points=tuple(points))
    cell = shown(long)
    assert len(cell.rows) <= 26
    assert "1,000 values" in cell.words
    values = [float(row[0]) for row in cell.rows[1:]]
    assert [values[0], values[-1]] == [0.0002, 0.2]  # both ends stay
    assert max(np.diff(values)) < 0.01  # and the places between are evenly spaced
    assert len(long._repr_html_()) < 40_000

    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, (5_000, 6))
    many = audit(labels, labels ^ (rng.random(labels.shape) < 0.2))
    assert len(many._repr_html_()) < 400_000
    assert len(compare(many, many)._repr_html_()) < 60_000

    labels, decisions = tables(n=12, m=120)
    batches = drift(audit(labels, decisions), [f"day {task // 2}" for task in range(120)])
    cell = shown(batches)
    assert len(cell.rows) < 50
    assert "36 more batches" in cell.words


def test_unknown_figures_are_no_trouble():
    blank = audit(np.full((3, 4), np.nan), np.zeros((3, 4)))
    one = audit([[1, 0]], [[1, 1]])
    learned = audit([[1, 0], [0, 1]], [[1, 1], [0, 1]], learned_tasks=True)
    for result in (blank, one, learned, compare(one, one), compare(learned, learned)):
        assert shown(result).wrong == []
    few = drift(audit(*tables(n=3, m=4)), ["a", "a", "b", "b"])
    assert shown(few).wrong == []


def test_a_curve_of_one_point(found):
    cell = shown(replace(found.curve, points=found.curve.points[:1]))
    assert cell.wrong == []
    assert len(cell.rows) == 2


def test_several_rates(found):
    people = found.people
    model = AverageFairClassifier(0.2, rate=["false_positive", "false_negative"], **BRIEF)
    cell = shown(model.fit(people.X, people.Y).certificate_)
    assert cell.wrong == []
    assert len(cell.all("svg")) == 2
    assert "Rate 2." in cell.words


# --- plots ---------------------------------------------------------------------------------------


def test_every_plot_is_one_figure_of_pyplot(found):
    model = found.curve[1].model
    plots = [
        *(getattr(found, kind).plot for kind in KINDS if kind != "certificate"),
        *(model.plot, found.curve[0].plot, lambda: found.curve.plot(found.measured)),
    ]
    for number, draw in enumerate(plots, 1):
        drawn = draw()
        assert len(plt.get_fignums()) == number
        assert hasattr(drawn, "savefig") or hasattr(drawn, "get_xlabel")


def test_the_plot_of_a_drift_has_its_figures(found):
    mean, sigma = found.drift.plot().axes
    for ax, values in (
        (mean, [batch.mean.value for batch in found.drift]),
        (sigma, [batch.dispersion.sigma for batch in found.drift]),
    ):
        (line,) = ax.lines
        np.testing.assert_array_equal(line.get_ydata(), values)
        assert [tick.get_text() for tick in ax.get_xticklabels()] == list(found.drift.names)


def test_the_plot_of_held_out_figures_has_no_baselines(found):
    names = found.measured.plot().axes[0].get_legend_handles_labels()[1]
    assert "new people" in names
    assert not {"coin flips", "without a constraint"} & set(names)
    beside = found.curve.plot(found.measured).axes[0].get_legend_handles_labels()[1]
    assert {"coin flips", "without a constraint", *names} == set(beside)


def test_a_loaded_model_says_why_it_has_no_plot(found, tmp_path):
    model = found.curve[1].model
    model.save(tmp_path / "fair.model")
    loaded = load(tmp_path / "fair.model")
    with pytest.raises(InputError, match="Fit the model"):
        loaded.plot()
    assert shown(loaded.certificate_).wrong == []


# --- pages ---------------------------------------------------------------------------------------


def test_every_report_can_be_written(found, tmp_path):
    Y = found.people.Y
    written = [
        found.audit.to_html(tmp_path / "audit.html", title="Sixty people"),
        found.curve.to_html(str(tmp_path / "curve.html"), Y, found.measured, choice=0.1),
        found.comparison.to_html(tmp_path / "comparison.html"),
        found.drift.to_html(tmp_path / "drift.htm"),
    ]
    assert sorted(tmp_path.iterdir()) == sorted(written)
    assert "<h1>Sixty people</h1>" in written[0].read_text("utf-8")
    for path in written:
        assert path.read_text("utf-8").rstrip().endswith("</html>")


def test_a_report_that_fails_leaves_the_old_file(found, tmp_path):
    path = tmp_path / "curve.html"
    path.write_text("old")
    with pytest.raises(InputError, match="labels that the curve was trained on"):
        found.curve.to_html(path, 1 - found.people.Y)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize(
    ("name", "says"), [("a.txt", r"\.html"), ("-", "Name a file"), ("no/a.html", "no folder")]
)
def test_a_page_needs_a_place(found, tmp_path, name, says):
    path = name if name == "-" else tmp_path / name
    with pytest.raises(InputError, match=says):
        found.audit.to_html(path)
    assert list(tmp_path.iterdir()) == []


# --- a real notebook -----------------------------------------------------------------------------

CODE = [
    """
import numpy as np
from averagefair import (AverageFairClassifier, ColumnGeneration, RegressionOracle, audit, compare,
                         drift, frontier, generalisation)
from averagefair.datasets import make_synthetic
people = make_synthetic(n=50, m=16, n_holdout=30, m_holdout=8, random_state=0)
brief = dict(oracle=RegressionOracle(), solver=ColumnGeneration(max_rounds=10, mapping_rounds=3))
""",
    "model = AverageFairClassifier(0.1, verbose=True, random_state=0, **brief)\n"
    "model.fit(people.X, people.Y)\nmodel.certificate_",
    "curve = frontier(people.X, people.Y, [0.05, 0.1], verbose=True, random_state=0, **brief)\n"
    "curve",
    "measured = generalisation(curve, X_new=people.X_new, Y_new_people=people.Y_new_people)\n"
    "measured",
    "found = audit(people.Y_new_people, model.predict(people.X_new), alpha=0.1)\nfound",
    "compare(found, audit(people.Y_new_people, people.Y_new_people, alpha=0.1))",
    "drift(found, np.arange(16) // 4)",
    "found.plot()",
    "measured.plot()",
    "found.to_html('audit.html')",
]
CELLS = range(1, 7)
RUN = """
import json, sys
import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter
book = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(book, timeout=300, kernel_name="python3").execute()
nbformat.write(book, sys.argv[1])
page, _ = HTMLExporter().from_notebook_node(book)
open(sys.argv[1] + ".html", "w", encoding="utf-8").write(page)
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A notebook that a kernel has run, and the folder in which it ran."""
    folder = tmp_path_factory.mktemp("book")
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in CODE])
    nbformat.write(made, folder / "book.ipynb")
    own = {name: str(folder / "own") for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")}
    own |= {name: str(folder / "own") for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}
    given = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    subprocess.run(
        [sys.executable, "-c", RUN, "book.ipynb"],
        cwd=folder,
        env=given | own,
        check=True,
        timeout=600,
    )
    return nbformat.read(folder / "book.ipynb", as_version=4), folder


def outputs(book, number, kind):
    return [
        output["data"][kind]
        for output in book[0].cells[number].outputs
        if kind in output.get("data", {})
    ]


@pytest.mark.parametrize("number", CELLS)
def test_a_real_notebook_shows_tables_and_charts(book, number):
    *_, html = outputs(book, number, "text/html")
    cell = Cell(html)
    assert cell.wrong == []
    assert cell.all("svg")
    assert cell.rows
    assert outputs(book, number, "text/plain")  # what a terminal shows is there too


def test_a_real_notebook_shows_each_figure_once(book):
    for number in (7, 8):
        assert len(outputs(book, number, "image/png")) == 1


@pytest.mark.parametrize(("number", "end"), [(1, "done: error"), (2, "2/2 values, done")])
def test_a_real_notebook_shows_progress_in_one_output(book, number, end):
    """A line is replaced in place; nothing is left on standard error, which notebooks show red."""
    if outputs(book, number, "application/vnd.jupyter.widget-view+json"):
        pytest.skip("this machine has widgets, and their state is not in the file")
    streams = [one.text for one in book[0].cells[number].outputs if one.output_type == "stream"]
    assert not any("averagefair: " in text for text in streams)
    line, _result = outputs(book, number, "text/plain")
    assert end in line


def test_a_real_notebook_writes_the_report_beside_it(book):
    page = (book[1] / "audit.html").read_text("utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert "audit.html" in outputs(book, 9, "text/plain")[0]


def test_the_page_of_a_notebook_holds_all_cells(book):
    page = (book[1] / "book.ipynb.html").read_text("utf-8")
    assert page.count('<div class="averagefair"') == len(CELLS)
    assert json.dumps(book[0].metadata)  # nothing that a file cannot hold


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read_on_light_and_dark_pages(book, theme, tmp_path):
    """The words of cells and charts differ from the page as the page's own words do."""
    pytest.importorskip("playwright.sync_api", reason="needs a browser: pip install '.[browser]'")
    from tests.support.browser_pages import chromium, contrast

    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "html", "--theme", theme, "book.ipynb"],
        cwd=book[1],
        check=True,
        timeout=600,
    )
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 900, "height": 900})
        page.goto((book[1] / "book.html").as_uri())
        colours = page.evaluate(
            """() => [...document.querySelectorAll(
                 '.averagefair p, .averagefair td, .averagefair div, .averagefair text')]
                 .map((one) => getComputedStyle(one)[one.tagName == 'text' ? 'fill' : 'color'])"""
        )
        behind = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        wide = page.evaluate("() => document.documentElement.scrollWidth")
    assert len(colours) > 100
    assert wide <= 900
    assert min(contrast(mixed(colour, behind), behind) for colour in set(colours)) >= 4.5


@pytest.mark.browser
def test_a_cell_is_no_wider_than_its_page(found, strangers, tmp_path):
    from tests.support.browser_pages import chromium

    cells = [getattr(found, kind) for kind in KINDS] + [*strangers]
    page = "".join(result._repr_html_() for result in cells).replace("<details>", "<details open>")
    (tmp_path / "cells.html").write_text(f"<!doctype html><meta charset=utf-8>{page}", "utf-8")
    with chromium() as browser:
        shown = browser.new_page(viewport={"width": 480, "height": 900})
        shown.goto((tmp_path / "cells.html").as_uri())
        assert shown.evaluate("() => document.documentElement.scrollWidth") <= 480


def mixed(colour, behind):
    """Return the colour that is seen where a colour lets some of the page through."""
    red, green, blue, *left = (float(part) for part in re.findall(r"[\d.]+", colour))
    share = left[0] if left else 1.0
    page = [float(part) for part in re.findall(r"[\d.]+", behind)]
    seen = [
        share * own + (1 - share) * other
        for own, other in zip((red, green, blue), page, strict=True)
    ]
    return f"rgb({', '.join(f'{part:.1f}' for part in seen)})"
