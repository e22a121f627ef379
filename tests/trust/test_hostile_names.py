"""Hostile names: shown as text in pages, tables, terminals and figures, and stored unchanged."""

import csv
import io
import os
import re
import warnings
from collections import Counter
from functools import partial
from html import unescape
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    InputError,
    audit,
    frontier,
    load,
    save,
)
from averagefair.auditing import drift
from averagefair.files.reading import read_file
from averagefair.files.writing import write_table
from averagefair.showing.plots import RatesDisplay, TrajectoryDisplay
from averagefair.showing.report import (
    Image,
    Listing,
    Section,
    audit_report,
    frontier_report,
    story_report,
)
from tests.support.cli_runs import fixture_forks, strict  # noqa: F401
from tests.support.hostile_names import HOSTILE, LONG, MARKUP, Page, as_held, assert_harmless
from tests.support.reliability import record

# The reader takes a user's own apostrophe before a formula for one that the writer added.
SHORT = [name for name in HOSTILE if name not in LONG and not name.startswith(("'=", "''="))]
MILD = [f"name {place}" for place in range(len(HOSTILE))]
PAGES = {"frontier": "a curve", "audit": "an audit", "experiments": "experiments"}
QUICK = ColumnGeneration(max_rounds=5, reweightings=1)
FORMULA_WARNING = "a spreadsheet would take"
guarded = pytest.mark.filterwarnings(f"ignore:.*{FORMULA_WARNING}:UserWarning")


def tables(names):
    """Return tables of people, tasks and features with these names."""
    rng, n = np.random.default_rng(0), len(names)
    X = pd.DataFrame(rng.normal(size=(n, 2)).round(3), index=names, columns=names[:2])
    Y = pd.DataFrame(rng.integers(0, 2, (n, n)), index=names, columns=names)
    return X, Y


# --- pages ---------------------------------------------------------------------------------------


def pages(names):
    """Return every kind of report, with these people, tasks, families, groups and settings."""
    X, Y = tables(names)
    n, few = len(names), names[:12]
    curve = frontier(X, Y, [0.3, 0.4], solver=QUICK, random_state=0)
    groups = pd.DataFrame(
        {
            names[0]: [few[k % 12] for k in range(n)],
            names[-1]: [names[-1 - k % 3] for k in range(n)],
        },
        index=names,
    )
    found = audit(Y, 1 - Y, groups=groups, task_families=names, alpha=0.1)
    settings = dict(pairwise(names))
    story = [
        Section(name, [name], ["f"], [Listing(name, [name], [[name]])], name) for name in names
    ]
    return {
        "frontier": frontier_report(curve, Y, audit=found, title=names[-1], settings=settings),
        "audit": audit_report(found, title=names[0], settings=settings),
        "experiments": story_report(
            names[1], names[2], story, {"f": Image(b"", names[3])}, settings
        ),
    }


@pytest.fixture(scope="module")
def made():
    return pages(HOSTILE), pages(MILD)


@pytest.mark.parametrize("kind", ["frontier", "audit", "experiments"])
def test_names_stay_words_in_a_page(made, kind):
    page, mild = Page(made[0][kind]), Page(made[1][kind])
    page.assert_inert()
    assert_shown(page, mild, kind)
    places = {
        "frontier": "people, tasks, families, settings and the errors of tasks",
        "audit": "people, tasks, families and settings",
        "experiments": "headings, sentences, cells, labels and settings",
    }[kind]
    record(
        f"hostile-pages-{kind}",
        what=f"hostile names in the page of {PAGES[kind]}: {places}",
        count=len(HOSTILE) * len(re.split(", | and ", places)),
        outcome="all are words; no element, attribute or script more than with mild names",
    )


def assert_shown(page, mild, kind):
    """Check that every name is shown in its place, and has no other effect."""
    # The same elements as with mild names, except those that cut long names.
    tags, usual = Counter(page.tags), Counter(mild.tags)
    assert tags.pop("span") >= usual.pop("span", 0)
    assert tags == usual
    pairs = set(pairwise(page.text_of("dt", "dd")))
    for name, value in pairwise(HOSTILE):
        assert (as_held(name), as_held(value)) in pairs
    shown = {"frontier": HOSTILE[-1], "audit": HOSTILE[0], "experiments": HOSTILE[1]}[kind]
    assert page.text_of("h1") == page.text_of("title") == [as_held(shown)]
    wanted = sorted(map(as_held, HOSTILE))
    if kind == "experiments":
        assert (
            page.text_of("h2")[: len(HOSTILE)] == page.text_of("strong") == [*map(as_held, HOSTILE)]
        )
        assert page.text_of("td") == [*map(as_held, HOSTILE)]
        assert {"Contents", *map(as_held, HOSTILE)} == {
            value for tag, name, value in page.attributes if name == "aria-label"
        }
        return
    data = page.data()[-1]
    assert sorted(data["people"]["columns"]["name"]) == wanted
    assert sorted(data["tasks"]["columns"]["name"]) == wanted
    assert sorted(data["tasks"]["columns"]["family"]) == wanted
    assert data["groups"][0]["attribute"] == as_held(HOSTILE[0])
    assert sorted(data["groups"][0]["name"]) == sorted(map(as_held, HOSTILE[:12]))
    heads = page.text_of("th")
    assert set(map(as_held, [*HOSTILE[:12], *HOSTILE[-3:]])) <= set(heads)
    if kind == "frontier":
        curve = page.data()[0]
        assert sorted(curve["task_names"]) == wanted
        worst = curve["rates"][0]["worst_off"][curve["start"]]["name"]
        assert set(worst) <= set(wanted)
        assert set(worst) <= set(heads)


def test_the_judge_of_pages_can_fail(made):
    text = made[0]["audit"]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    for broken in (
        text.replace("<h1>", "<h1>" + unescape("&lt;b onclick=x&gt;.&lt;/b&gt;")),
        text.replace("<h1>", "<h1><a href='javascript:alert(1)'>.</a>"),
        text.replace("<h1>", "<h1><script>alert(1)</script>"),
    ):
        with pytest.raises(AssertionError):
            Page(broken).assert_inert()
    with pytest.raises(AssertionError):
        Page(text.replace("</h1>", "</b>"))


def test_half_of_a_pair_of_surrogates_can_be_reported():
    found = audit([[1, 0], [0, 1]], [[1, 1], [0, 1]], individual_names=["a\ud800", "b\x00c"])
    text = audit_report(found, title="t\udcff", settings={"command": "caf\udce9.csv"})
    page = Page(text.encode().decode())
    assert page.text_of("h1") == ["t\\udcff"]
    assert "caf\\udce9.csv" in page.text_of("dd")
    assert sorted(page.data()[0]["people"]["columns"]["name"]) == ["a\\ud800", "b\\x00c"]


def test_a_thousand_tasks_with_hostile_names():
    rng = np.random.default_rng(1)
    names = [f"{MARKUP[k % len(MARKUP)]}{k}" for k in range(1_000)]
    labels = rng.integers(0, 2, (20, 1_000))
    found = audit(labels, rng.integers(0, 2, (20, 1_000)), task_names=names)
    page = Page(audit_report(found))
    page.assert_inert()
    assert sorted(page.data()[0]["tasks"]["columns"]["name"]) == sorted(names)


# --- words ---------------------------------------------------------------------------------------


def test_what_objects_say_is_harmless():
    _, Y = tables(HOSTILE)
    batches = ["\x1b[2Jone" if k < 20 else "t\nwo" for k in range(len(HOSTILE))]
    groups = pd.DataFrame({"\x1b[2Jg": HOSTILE[:10] * 6}).iloc[: len(HOSTILE)].set_axis(HOSTILE)
    wrong = 1 - Y
    wrong.iloc[3:] = Y.iloc[3:]
    found = audit(Y, wrong, groups=groups, alpha=0.01)
    assert (
        len(found.summary().splitlines())
        == len(audit(Y, wrong, alpha=0.01).summary().splitlines()) + 1
    )
    for text in (str(found), *map(str, found.groups), str(drift(found, batches))):
        assert_harmless(text, longest=1500)
    with pytest.raises(InputError) as refused:
        audit(Y, Y.rename(columns={HOSTILE[0]: "\x1b]0;x\x07"}))
    assert_harmless(str(refused.value))


def test_the_judge_of_words_can_fail():
    for name in ("\x1b[2J", "\r", "\x07", "\u202e", "\x9b", "x" * 5_000):
        with pytest.raises(AssertionError):
            assert_harmless(f"worst off: {name}")


# --- tables --------------------------------------------------------------------------------------


def taken_for_formulas(text):
    """Return the cells that a spreadsheet would compute, for every possible separator.

    Cells are read as CSV with commas, and also split at semicolons, tabs and line ends.
    """
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    torn = [part for cell in cells for part in re.split(r"[;\t\r\n]", cell)]
    return [cell for cell in [*cells, *torn] if _is_formula(cell)]


def _is_formula(cell):
    try:
        float(cell)
    except ValueError:
        begin = re.sub(r"^[\s\x00-\x20\u200b-\u200f\ufeff]+", "", cell)[:1]
        return begin != "" and begin in "=+-@\uff1d\uff0b\uff0d\uff20"
    return False


def test_the_judge_of_formulas_can_fail():
    for name in ("=1+1", "\t=1+1", " +x", "-2+3", "@a", "a;=1", "b\n-x", "\uff1dx"):
        file = io.StringIO(newline="")
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["who"], [name]])
        assert taken_for_formulas(file.getvalue())
    assert not taken_for_formulas('"who","y"\n"\'=1+1",-5\n"-5",1\n')


@guarded
def test_no_name_in_a_csv_is_taken_for_a_formula(tmp_path):
    path = tmp_path / "t.csv"
    columns = {name: np.arange(len(HOSTILE)) for name in HOSTILE}
    write_table(str(path), {"=who": HOSTILE, **columns})
    text = path.read_text("utf-8")
    assert not taken_for_formulas(text)
    back = read_file(str(path)).by("=who")
    assert back.ids.tolist() == HOSTILE
    assert list(back.columns) == ["=who", *HOSTILE]
    record(
        "hostile-tables",
        what="hostile names of people and columns written to CSV and read back",
        count=2 * len(HOSTILE),
        outcome="none begins as a formula does, all come back as they were",
    )


def test_a_warning_says_how_many_and_what_to_do(tmp_path):
    with pytest.warns(UserWarning, match=r"take 3 of the names.*join tables.*Parquet") as said:
        write_table(str(tmp_path / "t.csv"), {"@who": ["=1", "b", "-5", "-x"], "y": [-1, 1, 0, 1]})
    assert len(said) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_table(str(tmp_path / "t.parquet"), {"@who": ["=1"], "y": [1]})
        write_table(str(tmp_path / "t.csv"), {"who": ["-5", "+3", "-1e-3", "a-b"], "y": [-1.5] * 4})
    assert pq.read_table(tmp_path / "t.parquet").to_pydict() == {"@who": ["=1"], "y": [1]}
    assert (tmp_path / "t.csv").read_text().splitlines()[1] == '"-5",-1.5'


ODD = st.text(
    st.sampled_from([*"=+-@'\t\r\n; ,\"5ae.\ufeff\u200b\uff1d\x1b\x00"]), min_size=1, max_size=7
)


@guarded
@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.long)])
def test_a_round_trip_is_the_identity(count, tmp_path):
    path = str(tmp_path / "trip.csv")

    @settings(max_examples=count, deadline=None, database=None)
    @given(names=st.lists(ODD, min_size=2, max_size=4), words=st.lists(ODD, min_size=1, max_size=4))
    @example(names=["'=", "="], words=["''=x", "'=x", "=x", "'-5", "-5"])
    @example(names=["\t", "'\t"], words=["'", "''", "';'=", ";=;="])
    @example(names=["5", ";;"], words=[";;"])
    def goes_round(names, words):
        names = [f"{name}{place}" for place, name in enumerate(names)]
        write_table(path, dict.fromkeys(names, words))
        table = read_file(path)
        assert list(table.columns) == names
        for name in names:
            assert table.values(name, "") == words

    goes_round()
    record(
        "hostile-round-trips",
        what="tables of random formulas, apostrophes, separators and control characters written to "
        "CSV and read back",
        count=count,
        outcome="all came back as they were",
    )


def test_apostrophes_of_others_stay(tmp_path):
    """Only apostrophes that the writer added are removed."""
    (tmp_path / "t.csv").write_text("who,x\n'n Abend,'5\n'-5,1\nd'=x,2\n", encoding="utf-8")
    table = read_file(str(tmp_path / "t.csv"))
    assert table.values("who", "") == ["'n Abend", "'-5", "d'=x"]
    with pytest.raises(InputError, match="'5"):
        table.numbers(["x"])


def test_what_cannot_be_written_or_told_apart_is_refused(tmp_path):
    path = str(tmp_path / "t.csv")
    with pytest.raises(InputError, match=r"half of a surrogate pair; got '\\ud800' in a\\ud800"):
        write_table(path, {"who": ["a\ud800"], "y": [1]})
    write_table(path, {"who": ["a", "a\x00"], "y": [1, 0]})
    with pytest.raises(InputError, match=r"row 2, column 'who': an id must not hold the character"):
        read_file(path).by("who")
    model = AverageFairClassifier(alpha=0.4, solver=QUICK).fit([[0.0], [1.0]], [[0, 1], [1, 0]])
    for ids in (["a", "a\x00"], np.array(["a\x00b", "ab"])):
        with pytest.raises(InputError, match="must not hold the character NUL"):
            model.predict([[0.0], [1.0]], ids=ids)
    for name in ("a\x1b[2J.csv", "a\nb.csv", "a\x00.csv"):
        with pytest.raises(InputError, match="holds control characters; rename"):
            read_file(name)
        with pytest.raises(InputError, match="holds control characters; rename"):
            write_table(name, {"a": [1]})
        with pytest.raises(InputError, match="holds control characters; rename"):
            load(name)


def test_models_keep_every_name(tmp_path):
    X, Y = tables(HOSTILE)
    model = AverageFairClassifier(alpha=0.4, solver=QUICK, random_state=0).fit(X, Y)
    save(model, tmp_path / "m.model", extendable=True)
    same = load(tmp_path / "m.model")
    assert same.task_names_ == tuple(HOSTILE)
    assert same.feature_names_in_.tolist() == HOSTILE[:2]
    assert same.training_individuals().individual_names.tolist() == HOSTILE
    np.testing.assert_array_equal(same.predict(X), model.predict(X))
    odd = AverageFairClassifier(alpha=0.4, solver=QUICK, random_state=0)
    odd.fit(
        X, Y.set_axis(pd.Index([f"{k}\udc80" for k in range(len(HOSTILE))], dtype=object), axis=1)
    )
    save(odd, tmp_path / "odd.model")
    np.testing.assert_array_equal(load(tmp_path / "odd.model").predict(X), odd.predict(X))


# --- the terminal --------------------------------------------------------------------------------

WHO = "=who\x1b[31m"


@pytest.fixture(scope="module")
def shop(tmp_path_factory, forks):
    """A folder with tables of hostile names, a model and its decisions."""
    folder = tmp_path_factory.mktemp("hostile")
    X, Y = tables(SHORT)
    features = [f"feature {name}" for name in X]
    _write(folder / "people.csv", [WHO, *features, *Y], [[k, *X.loc[k], *Y.loc[k]] for k in SHORT])
    _write(folder / "labels.csv", [WHO, *Y], [[k, *Y.loc[k]] for k in SHORT])
    _write(
        folder / "groups.csv", [WHO, "g\x1b[2J"], [[k, SHORT[p % 9]] for p, k in enumerate(SHORT)]
    )
    chosen = [part for name in features for part in ("--features", name)]
    tasks = [part for name in Y for part in ("--tasks", name)]
    fitted = forks.run(
        *(folder, "fit", "people.csv", *tasks, "--id", WHO, *chosen, "--alpha", "0.4"),
        *("--max-rounds", "3", "--extendable", "-o", "fair.model"),
        code=4,
    )
    assert_harmless(fitted.out + fitted.err)
    return folder


def _write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([head, *rows])


def test_decisions_go_round_by_id(shop, forks):
    said = forks.run(shop, "predict", "fair.model", "people.csv", "-o", "decisions.csv")
    assert_harmless(said.out + said.err)
    assert FORMULA_WARNING in " ".join(said.err.split())
    assert not taken_for_formulas((shop / "decisions.csv").read_text("utf-8"))
    told = strict(
        forks.run(shop, "predict", "fair.model", "people.csv", "-o", "d.parquet", "--json").out
    )
    assert told["tasks"] == SHORT
    assert told["id"] == WHO
    assert told["warnings"] == []
    ours, theirs = read_file(str(shop / "decisions.csv")), pq.read_table(shop / "d.parquet")
    assert list(ours.columns) == theirs.column_names == [WHO, *SHORT]
    assert ours.values(WHO, "") == theirs[WHO].to_pylist() == SHORT
    flow = (shop / "decisions.csv").read_bytes()
    for decisions, stdin in (("decisions.csv", b""), ("d.parquet", b""), ("-", flow)):
        found = forks.run(
            *(shop, "audit", "labels.csv", decisions, "--id", WHO, "--groups", "groups.csv"),
            *("--group-columns", "g\x1b[2J", "--json", "--people", "everybody.csv"),
            stdin=stdin,
        )
        told = strict(found.out)
        assert sorted(row for row in told["people"]["name"]) == sorted(SHORT)
        assert_harmless(found.err)
    assert not taken_for_formulas((shop / "everybody.csv").read_text("utf-8"))
    assert sorted(read_file(str(shop / "everybody.csv")).by(WHO).ids.tolist()) == sorted(SHORT)
    forks.run(shop, "extend", "fair.model", "labels.csv", "-o", "later.model", "--no-balance")


def test_commands_say_names_harmlessly(shop, forks):
    forks.run(shop, "predict", "fair.model", "people.csv", "-o", "said.parquet")
    one = partial(forks.run, shop, code=None)
    tasks = [part for name in SHORT[:20] for part in ("--tasks", name)]
    join = ["--id", WHO, "--groups", "groups.csv", "--group-columns", "g\x1b[2J"]
    long = "y" * 3_000
    runs = [
        one("audit", "labels.csv", "said.parquet", *join, "-o", "a.html", "--title", "\x1b[2J"),
        one("extend", "fair.model", "labels.csv", "-o", "more.model", "--no-balance"),
        one(
            "frontier", "people.csv", *tasks, "--ignore", "[!f]*", "--id", WHO, "--max-rounds", "2"
        ),
        one("audit", "labels.csv", "people.csv", "--id", WHO),
        one("audit", "labels.csv", "groups.csv", "--id", WHO),
        one("audit", "labels.csv", "said.parquet", "--id", f"\x1b[2J{long}"),
        one("audit", "labels.csv", "no\x1b[2Jsuch.csv"),
        one("audit", "labels.csv", "no\nerror: such.csv"),
        one("audit", "labels.csv", "no\udce9.csv"),
        one("audit", "labels.csv", long),
        one("audit", "labels.csv", "said.parquet", "--\x1b[2Jz"),
        one("audit", "labels.csv", "said.parquet", "--fail-on", "\x1b[2Jz"),
        one("\x1b[2Jz"),
        one("predict", "no\x1b.model", "people.csv", "-o", "x.csv"),
    ]
    for done in runs:
        assert done.returncode in (0, 1, 2, 4)
        assert_harmless(done.out + done.err)
        assert len(done.out + done.err) < 8_000
    assert [done.returncode for done in runs[:2]] == [0, 0]
    assert "\\x1b[2Jsuch.csv' holds control characters" in runs[6].err
    assert "\\nerror: such.csv' holds control characters" in runs[7].err
    assert runs[8].err == "error: no\\udce9.csv cannot be read: No such file or directory.\n"
    assert "y… (3,000 characters) cannot be read" in runs[9].err
    record(
        "hostile-terminal",
        what="commands run on tables with hostile names alone, and with hostile options and file "
        "names",
        count=len(runs),
        outcome="nothing but plain text printed; JSON has every name as it is",
    )


def test_a_file_name_that_is_no_utf8_is_used_and_shown(shop, forks):
    name = os.fsdecode(b"caf\xe9.csv")
    (shop / name).write_bytes((shop / "labels.csv").read_bytes())
    forks.run(shop, "predict", "fair.model", "people.csv", "-o", "again.parquet")
    said = forks.run(shop, "audit", name, "again.parquet", "--id", WHO, "-o", "caf.html", code=None)
    assert said.returncode == 0
    assert_harmless(said.out + said.err)
    assert "Audit: caf\\udce9.csv and again.parquet" in (shop / "caf.html").read_text("utf-8")


@guarded
@pytest.mark.parametrize("terminal", [True, False])
def test_a_table_at_a_terminal_is_plain_text(monkeypatch, terminal):
    class Screen(io.BytesIO):
        def isatty(self):
            return terminal

    class Output:
        buffer = Screen()

    monkeypatch.setattr("sys.stdout", Output)
    write_table("-", {"who": HOSTILE})
    text = Output.buffer.getvalue().decode()
    if terminal:
        assert_harmless(text, longest=20_000)
    else:
        with pytest.raises(AssertionError):
            assert_harmless(text, longest=20_000)


# --- figures -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings(
    "ignore:Glyph:UserWarning", "ignore:Matplotlib currently does not:UserWarning"
)
@pytest.mark.parametrize("names", [HOSTILE[k : k + 2] for k in range(0, len(HOSTILE) - 1, 2)])
def test_names_are_drawn_letter_by_letter(names):
    matplotlib = pytest.importorskip("matplotlib")
    shown = RatesDisplay.from_rates(
        np.full((3, 2), 0.1), np.full((3, 2), 0.2), names, alpha=0.1, rate_names=names
    )
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        sink = io.StringIO()
        figure = shown.plot().figure
        figure.savefig(sink, format="svg")
    drawn = {
        unescape(text).strip() for text in re.findall(r"<text[^>]*>([^<]*)</text>", sink.getvalue())
    }
    for name in names:
        wanted = _in_a_figure(name).strip()
        assert wanted in drawn, (wanted, drawn)
        legend = [one.get_text() for one in figure.axes[0].get_legend().get_texts()]
        assert len(legend) == 3


def _in_a_figure(name):
    """Return a name as one line of letters, cut after twenty-eight."""
    hidden = "[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
    line = re.sub(hidden, lambda one: one[0].encode("unicode_escape").decode(), name)
    return line if len(line) <= 28 else f"{line[: 13 if line[0] == '漢' else 27]}…"


def test_runs_with_hostile_names_are_drawn():
    X, Y = tables(MILD[:20])
    model = AverageFairClassifier(alpha=0.4, solver=QUICK, random_state=0).fit(X, Y)
    pytest.importorskip("matplotlib")
    shown = TrajectoryDisplay.from_models([model, model], ["$\\frac", "a\x1b$b$"]).plot()
    shown.figure.savefig(io.BytesIO(), format="png")
    legend = [one.get_text() for one in shown.get_legend().get_texts()]
    assert legend[-2:] == ["end, \\$\\frac", "end, a\\x1b\\$b\\$"]
