"""The report of the experiments as a file: self-contained, with the numbers of the tables."""

from __future__ import annotations

import re
from base64 import b64decode
from html.parser import HTMLParser

import numpy as np
import pytest

from averagefair import InputError
from averagefair.experiments import ResultTable, exponents
from averagefair.showing.report import Image, Listing, Section, story_report
from reproduction.folder import read_tables
from reproduction.plan import gather
from reproduction.tables import listings
from tests.support.experiment_runs import (
    fixture_communities,  # noqa: F401
    fixture_reproduced,  # noqa: F401
    fixture_synthetic,  # noqa: F401
)
from tools import experiments as pages

SOLVERS = ("authors' setting", "column generation")
CORNERS = ("training", "people", "tasks", "both")
HOSTILE = [
    "<script>alert(1)</script>",
    "</p><img src=x onerror=alert(1)>",
    '"><b>bold</b>',
    "{{ 7 * 7 }}",
    "&lt;i&gt;&amp;",
    "' onload='x",
]


class Page(HTMLParser):
    """The contents of a page: tags with attributes, words, and tables by caption."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.tables = [], [], {}
        self._open, self._rows, self._caption = [], [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._open.append(tag)
        if tag == "table":
            self._rows, self._caption = [], ""
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass
        if tag == "table":
            self.tables.setdefault(self._caption, []).append(self._rows)

    def handle_data(self, text):
        where = self._open[-1] if self._open else ""
        if where in ("td", "th"):
            self._rows[-1][-1] += text
        elif "caption" in self._open:
            self._caption += text
        if where not in ("style", "script"):
            self.words.append(text)

    def all(self, tag):
        return [attributes for one, attributes in self.tags if one == tag]

    def table(self, words):
        """Return the rows, head first, of the only table with these words in its caption."""
        ((found,),) = [rows for caption, rows in self.tables.items() if words in caption]
        return found


@pytest.fixture(scope="module")
def page(reproduced):
    return Page(reproduced.page)


# Self-contained.


def test_nothing_is_fetched(page, reproduced):
    for tag, attributes in page.tags:
        for name in ("src", "href", "srcset", "data", "action", "poster", "xlink:href"):
            value = attributes.get(name)
            if value is not None:
                assert value.startswith(("data:image/png;base64,", "#")), (tag, value[:80])
    assert not page.all("link")
    assert not page.all("iframe")
    (style,) = re.findall(r"<style>(.*?)</style>", reproduced.page.split("<noscript>")[0], re.S)
    assert "url(" not in style
    assert "@import" not in style


def test_the_policy_lets_nothing_in(page):
    (policy,) = [
        one["content"]
        for one in page.all("meta")
        if one.get("http-equiv", "").lower() == "content-security-policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";") if rule.strip())
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    assert "unsafe-inline" not in rules["script-src"]
    assert "http" not in policy


def test_images_are_the_figures_and_say_what_they_show(page, reproduced):
    figures = reproduced.bytes_under("figures")
    drawn = {name for name in figures if name.endswith(".png")}
    by_content = {figures[name]: name for name in drawn}
    shown = []
    for one in page.all("img"):
        shown.append(by_content[b64decode(one["src"].split(",", 1)[1])])
        assert len(one["alt"]) > 40
    assert sorted(shown) == sorted(drawn)
    assert len({one["alt"] for one in page.all("img")}) == len(shown)


def test_headings_and_names_are_in_order(page):
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert max(np.diff(levels)) <= 1
    names = [one["id"] for _, one in page.tags if "id" in one]
    assert len(names) == len(set(names))
    for one in page.all("a"):
        assert one["href"][1:] in names
    for one in page.all("section"):
        assert one["aria-labelledby"] in names
    assert ("html", {"lang": "en"}) in page.tags
    assert all("scope" in one for one in page.all("th"))


def test_it_says_how_it_was_made(page, reproduced):
    text = " ".join(page.words)
    known = reproduced.manifest
    assert known["command"] in text
    assert known["data sha256"] in text
    assert known["versions"]["numpy"] in text


def test_nothing_on_it_is_not_a_number_or_left_out(page):
    text = " ".join(page.words)
    assert not re.search(r"\b(nan|None|inf|NaN|null|undefined)\b", text)
    assert "{{" not in text


# Numbers.


def test_convergence_is_that_of_the_table(page, reproduced):
    table = reproduced.frame("trajectories").query("rate == 'error'")
    head, *rows = page.table("Runs, alone")
    runs = table.groupby(["solver", "alpha"]).last()
    assert len(rows) == len(runs)
    for row in rows:
        told = dict(zip(head, row, strict=True))
        run = runs.loc[told["solver"], float(told["alpha"])]
        assert float(told["allowed"]) == pytest.approx(run["allowed"], abs=0.005)
        assert float(told["spread"]) == pytest.approx(run["spread"], abs=5.1e-5)
        assert float(told["error"]) == pytest.approx(run["error"], abs=5.1e-5)
        assert int(told["rounds"]) == run["round"]
        assert int(told["oracle calls"].replace(",", "")) == run["oracle_calls"]


def test_error_spread_is_that_of_the_table(page, reproduced):
    table = reproduced.frame("error_spread").query("rate == 'error'")
    _, *rows = page.table("the error of coin flips")
    alphas = sorted(table["alpha"].unique())
    assert len(rows) == len(alphas)
    for alpha, (name, allowed, *cells) in zip(alphas, rows, strict=True):
        assert (name == "none") == (alpha == 0.5)
        assert name == "none" or float(name) == alpha
        assert allowed == "" or float(allowed) == pytest.approx(2 * alpha, abs=0.005)
        for place, solver in enumerate(SOLVERS):
            here = table[(table["solver"] == solver) & (table["alpha"] == alpha)]
            spread, error, coins, columns = map(float, cells[4 * place : 4 * place + 4])
            rates = here["individual_rate"]
            assert spread == pytest.approx(rates.max() - rates.min(), abs=5.1e-5)
            assert error == pytest.approx(rates.mean(), abs=5.1e-5)
            flipped = here["coin_flip_rate"]
            assert coins == pytest.approx(flipped.mean(), abs=5.1e-5)
            assert columns == here["columns"].iloc[0]


def test_generalisation_is_that_of_the_table(page, reproduced):
    table = reproduced.frame("generalisation").query("rate == 'error'")
    table = table.set_index(["solver", "corner", "alpha"])
    head, *rows = page.table("Error / spread of individual rates")
    assert len(head) == 1 + 2 * 4
    for name, *cells in rows:
        alpha = 0.5 if name == "none" else float(name)
        for place, cell in enumerate(cells):
            row = table.loc[SOLVERS[place // 4], CORNERS[place % 4], alpha]
            error, spread = map(float, cell.split(" / "))
            assert error == pytest.approx(row["error"], abs=5.1e-5)
            assert spread == pytest.approx(row["spread"], abs=5.1e-4)


def test_noise_is_that_of_the_table(page, reproduced):
    table = reproduced.frame("generalisation").query("rate == 'error'")
    head, *rows = page.table("what noise alone would show")
    names = {"new people": "people", "new tasks": "tasks", "new people and tasks": "both"}
    assert len(rows) >= 2 * 3 * 2
    for row in rows:
        told = dict(zip(head, row, strict=True))
        alpha = 0.5 if told["alpha"] == "none" else float(told["alpha"])
        (here,) = table[
            (table["solver"] == told["solver"])
            & (table["corner"] == names[told["where"]])
            & (table["alpha"] == alpha)
        ].to_dict("records")
        assert float(told["spread"]) == pytest.approx(here["spread"], abs=5.1e-4)
        assert float(told["sd"]) == pytest.approx(here["sd"], abs=5.1e-4)
        if told["where"] == "new people":  # on the tasks learned from: only observed figures
            unknown = ("noise alone", "noise share", "true sd", "95%", "de-noised")
            assert {told[name] for name in unknown} == {"-"}
            continue
        assert float(told["noise alone"]) == pytest.approx(here["spread_floor"], abs=5.1e-4)
        assert float(told["noise share"].rstrip("%")) == pytest.approx(
            100 * here["noise_share"], abs=0.51
        )
        assert float(told["true sd"]) == pytest.approx(here["sigma"], abs=5.1e-4)
        low, high = map(float, told["95%"].split(" to "))
        assert (low, high) == pytest.approx((here["sigma_low"], here["sigma_high"]), abs=5.1e-4)


def test_comparisons_are_those_of_the_table(page, reproduced):
    name = {"communities": "random_splits", "synthetic": "coin_bias"}
    name = name[reproduced.manifest["experiment"]]
    table = reproduced.frame(f"{name}_compared")
    for measure, words in (("sigma", "chance-corrected"), ("sd", "as observed")):
        _, *rows = page.table(f"errs at equal held-out unfairness, {words}")
        cells = [cell for row in rows for cell in row if re.match(r"[+-]\d", cell)]
        here = table[table["measure"] == measure]
        assert len(cells) == len(here) > 0
        for cell, (_, row) in zip(cells, here.iterrows(), strict=True):
            gain, low, high = map(float, re.findall(r"[+-]?\d+\.\d+", cell))
            wanted = row["gain"], row["gain_low"], row["gain_high"]
            assert (gain, low, high) == pytest.approx(wanted, abs=5.1e-4)


def test_the_order_of_models_is_that_of_the_table(page, reproduced):
    table = reproduced.frame("generalisation").query("rate == 'error' and alpha < 0.5")
    head, *rows = page.table("Rank correlation")
    assert head == ["of", "solver", "new people", "new tasks", "new people and tasks"]
    assert [row[:2] for row in rows] == [
        [what, solver] for what in ("error", "spread") for solver in SOLVERS
    ]
    for what, solver, *told in rows:
        wide = table[table["solver"] == solver].pivot(index="alpha", columns="corner", values=what)
        ranks = wide.corr(method="spearman")["training"]
        assert told == [f"{ranks[corner] + 0.0:.2f}" for corner in CORNERS[1:]]


def test_groups_are_those_of_the_table(synthetic):
    _, *rows = Page(synthetic.page).table("each group")
    table = synthetic.frame("error_spread").query("rate == 'error' and solver == @SOLVERS[1]")
    means = table.groupby(["alpha", "group"])["individual_rate"].mean()
    assert rows == [
        [name, f"{means[alpha, 1]:.3f}", f"{means[alpha, 2]:.3f}"]
        for alpha, name in ((0.5, "none"), (0.1, "0.10"), (0.05, "0.05"))
    ]


CELLS = {
    "communities": ("random_splits", ["learned_from", "held_out_tasks", "corner"]),
    "synthetic": ("coin_bias", ["q", "corner"]),
}


def counted(frame, keys, measure):
    """Count settings and corners: better at some level only, worse only, both, neither."""
    found = dict.fromkeys([(True, False), (False, True), (True, True), (False, False)], 0)
    for _, cell in frame[frame["measure"] == measure].groupby(keys):
        found[bool((cell["gain_low"] > 0).any()), bool((cell["gain_high"] < 0).any())] += 1
    return [sum(found.values()), *found.values()]


def test_comparisons_are_counted(page, reproduced):
    name, keys = CELLS[reproduced.manifest["experiment"]]
    compared = reproduced.frame(f"{name}_compared")
    little = compared["noise_share"] > 0.8
    _, *rows = page.table("errs less (better)")
    told = {words: [*map(int, counts)] for words, *counts in rows}
    wanted = {
        "chance-corrected (new tasks only)": counted(compared[~little], keys, "sigma"),
        "as observed": counted(compared[~little], keys, "sd"),
    }
    if (little & (compared["measure"] == "sigma")).any():
        rest = counted(compared[little], keys, "sigma")
        wanted["mostly noise, chance-corrected"] = rest
    assert told == wanted


@pytest.mark.long
def test_models_that_coin_flips_beat_are_those_of_the_table(communities):
    points = communities.frame("random_splits_points").query("alpha < 0.5")
    _, *rows = Page(communities.page).table("Alphas at which coin flips err less")
    names = dict(zip(("new people", "new tasks", "new people and tasks"), CORNERS[1:], strict=True))
    assert len(rows) == 6
    for solver, where, told in rows:
        here = points[(points["solver"] == solver) & (points["corner"] == names[where])]
        lost = sorted(set(here[here["coin_flips_high"] < 0]["alpha"]))
        assert told == (", ".join(f"{alpha:.2f}" for alpha in lost) or "-")


def test_the_price_of_fairness_by_bias_is_that_of_the_table(synthetic):
    head, *rows = Page(synthetic.page).table("Training, means over populations")
    table = synthetic.frame("coin_bias").query("corner == 'training'")
    means = table.groupby(["solver", "alpha", "q"])[["error", "spread"]].mean()
    assert len(rows) == len(set(table["q"]))
    for q, error, spread, *cells in rows:
        free = means.loc[SOLVERS[0], 0.5, float(q)]
        assert float(error.split(" ")[0]) == pytest.approx(free["error"], abs=5.1e-5)
        assert float(spread.split(" ")[0]) == pytest.approx(free["spread"], abs=5.1e-5)
        for name, cell in zip(head[3:], cells, strict=True):
            solver, alpha = re.fullmatch(r"(.*): error at (.*)", name).groups()
            wanted = means["error"][solver, float(alpha), float(q)]
            assert float(cell.split(" ")[0]) == pytest.approx(wanted, abs=5.1e-5)


def growth_tables(sizes):
    rows = [
        {
            "direction": direction,
            "size": size,
            "population": population,
            "solver": solver,
            "alpha": 0.1,
            "reached_error": 0.3,
            "held_out_error": 0.31,
            "near": 0.1,
            "held_out_near": 0.1 + size**-0.5,
            "excess": size**-0.5 * (1 + 0.1 * population),
            "moved": np.nan if direction == "people" else size**-0.5 * (1 + 0.1 * population),
        }
        for direction in ("people", "tasks")
        for size in sizes
        for population in range(2)
        for solver in (*SOLVERS, "no constraint")
    ]
    grown = ResultTable.of_rows(rows)
    return {"growth": grown, "exponents": exponents(grown)}


@pytest.mark.parametrize("sizes", [(100, 1000, 10_000), (100, 1000), (100,)], ids=len)
def test_growth_is_told_with_its_exponents(sizes):
    found = listings(growth_tables(sizes))
    assert set(found) == {"exponents", "growth"}
    assert len(found["growth"].rows) == 2 * len(sizes) * 3
    assert len(found["exponents"].rows) == 2 * 3
    mean = f"{1.05 * sizes[0] ** -0.5:.4f}"
    for row in found["exponents"].rows:
        told = dict(zip(found["exponents"].head, row, strict=True))
        assert told["exponent"] == ("-0.50" if len(sizes) > 1 else "-")
        assert told["theorem"] == {"people": "-0.5", "tasks": "-0.25"}[told["growing"]]
        assert told["at the smallest"] == mean
        assert "nan" not in row


def test_where_nothing_binds_no_order_is_told(reproduced):
    """All alphas give the same model in training."""
    tables = read_tables(str(reproduced.folder))
    columns = dict(tables["generalisation"].columns)
    training = columns["corner"] == "training"
    for what in ("error", "spread"):
        columns[what] = np.where(training, 0.2, columns[what])
    found = listings({"generalisation": ResultTable(columns)})
    assert {cell for row in found["order"].rows for cell in row[2:]} == {"-"}


def one_draw_alone(tables):
    """The tables of one draw, and the tables computed from them."""
    kept = {}
    for name, table in tables.items():
        for repeat in ("split", "population"):
            if repeat in table.columns:
                kept[name] = table.take(table[repeat] == 0)
                break
        else:
            if not name.endswith(("_compared", "_points")) and name != "exponents":
                kept[name] = table
    return gather([kept])


def test_one_draw_tells_nothing_apart(reproduced):
    tables = one_draw_alone(read_tables(str(reproduced.folder)))
    name, _ = CELLS[reproduced.manifest["experiment"]]
    for _, total, *counts, tied in listings(tables)[f"{name}_tally"].rows:
        assert set(counts) == {"0"}
        assert tied == total
    for listing in listings(tables).values():
        for row in listing.rows:
            assert not re.search(r"\b(nan|None|inf)\b", " ".join(row))


# The page of the documentation.


def test_the_page_holds_the_recorded_tables():
    text = pages.PAGE.read_text("utf-8")
    assert pages.fill(text, pages.recorded(pages.RECORD)) == text
    for population, name in pages.FIGURE.findall(text):
        assert (pages.RECORD / f"{population}-{name}.png").exists()
    prose = re.sub(r"!\[.*?\]\(.*?\)|^\|.*$|^:::.*$", "", pages.PLACE.sub("", text), flags=re.M)
    assert len(re.findall(r"\w\S*", prose)) <= 1500, "the page is for reading; tables hold the rest"


TABLES = {"one": [["alpha", "error"], ["0.10", "0.2345"]], "two": [["share"], ["43%"]]}
PLACES = "At 0.1 it is 0.23.\n\n<!-- table: one -->\nold\n<!-- end -->\n\n"
BOTH = f"{PLACES}And 43%.\n\n<!-- table: two -->\n<!-- end -->\n"
WRONG_PAGES = {
    "no place": (PLACES, "lacks.*two"),
    "no end": (BOTH.replace("old\n<!-- end -->", "old"), "lacks its <!-- end -->"),
    "an unknown place": (BOTH + "\n<!-- table: three -->\n<!-- end -->\n", "three"),
    "a place twice": (BOTH + "\n<!-- table: two -->\n<!-- end -->\n", "two"),
    "a figure that no table has": (BOTH.replace("0.23", "0.24"), "0.24"),
    "a share that no table has": (BOTH.replace("And 43%", "And 44%"), "44%"),
}


def test_tables_are_put_into_their_places():
    text = pages.fill(BOTH, TABLES)
    assert "| alpha | error |\n| --- | --- |\n| 0.10 | 0.2345 |" in text
    assert "old" not in text
    assert pages.fill(text, TABLES) == text


@pytest.mark.parametrize(("text", "message"), WRONG_PAGES.values(), ids=WRONG_PAGES.keys())
def test_a_page_that_does_not_fit_its_tables_is_refused(text, message):
    with pytest.raises(pages.PageError, match=message):
        pages.fill(text, TABLES)


def test_a_quick_run_is_not_recorded(synthetic, tmp_path):
    (tmp_path / "communities").symlink_to(synthetic.folder)
    with pytest.raises(pages.PageError, match="quick"):
        pages.record(tmp_path, "")


# Other people's words.


def test_words_stay_words():
    png = b"\x89PNG\r\n\x1a\n"
    title, lead, *_ = HOSTILE
    listing = Listing(HOSTILE[2], HOSTILE, [HOSTILE, HOSTILE[::-1]])
    section = Section(HOSTILE[1], HOSTILE, [HOSTILE[2]], [listing])
    images = {HOSTILE[2]: Image(png, HOSTILE[5])}
    text = story_report(title, lead, [section], images, dict(zip(HOSTILE, HOSTILE, strict=True)))
    found = Page(text)
    mild = Page(
        story_report(
            "title",
            "lead",
            [Section("a", ["b"] * 6, ["c"], [Listing("d", ["e"] * 6, [["f"] * 6] * 2)])],
            {"c": Image(png, "g")},
            {str(place): place for place in range(6)},
        )
    )
    assert [tag for tag, _ in found.tags] == [tag for tag, _ in mild.tags]
    assert not any(name.startswith("on") for _, one in found.tags for name in one)
    words = [one.strip() for one in found.words]
    for word in HOSTILE:
        assert word in words
        assert word in found.tables[HOSTILE[2]][0][0]
    assert found.all("img") == [
        {"src": "data:image/png;base64,iVBORw0KGgo=", "alt": HOSTILE[5]},
    ]


def test_a_figure_that_is_not_there_is_refused_by_name():
    with pytest.raises(InputError, match="unheard-of"):
        story_report("title", "lead", [Section("a", figures=["unheard-of"])], {})
