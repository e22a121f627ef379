"""What a command shows at first sight: few words, the outcome last, colour only at a terminal."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from typer.testing import CliRunner

from averagefair import audit
from averagefair.cli.app import app
from averagefair.datasets import make_synthetic
from tests.support.cli_runs import (
    fits_80_columns,
    fixture_forks,  # noqa: F401
    strict,
    without_escapes,
    write,
)
from tests.support.decided import decided
from tests.support.places import ROOT
from tests.support.snippets import agree

WORLD = decided(n=40, m=80, chances=(0.05, 0.6))
TABLES = ("audit", "labels.csv", "decisions.csv", "--id", "person")
GROUPED = (*TABLES, "--groups", "groups.csv", "--group-columns", "district")
LONG = "the district " + "north-of-the-river-and-beyond-" * 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("face")
    WORLD.write(place)
    rows = [[name, LONG if k % 2 else "south"] for k, name in enumerate(WORLD.names)]
    write(place / "groups.csv", ["person", "district"], rows)
    rng = np.random.default_rng(0)
    rows = [[name, *rng.integers(0, 5, 8)] for name in WORLD.names]
    for row, name in zip(rows, WORLD.names, strict=True):
        row[1] = int(name[1:]) // 10
    write(place / "about.csv", ["person", *(f"f{k}" for k in range(8))], rows)
    return place


def in_rows(text, names):
    """Return the printed table as {name: value}; values that were wrapped are joined."""
    found, width = {}, max(map(len, names)) + 2
    for line in text.splitlines():
        head, value = line[:width].strip(), line[width:]
        if head in names:
            found[head] = [value]
        elif not head and found:
            found[[*found][-1]].append(value.strip())
        else:
            break
    return {name: " ".join(parts) for name, parts in found.items()}


@pytest.mark.parametrize("asked", [(), ("--fail-above", "0.3"), ("--alpha", "0.1")], ids=str)
def test_an_audit_says_in_eight_rows_and_a_line_what_was_found(forks, folder, asked):
    told = strict(forks.run(folder, *GROUPED, *asked, "--json", code=None).out)
    said = forks.run(folder, *GROUPED, *asked, code=None).out
    assert fits_80_columns(said)
    headline = told["headline"]
    names = headline["rows"]["groups"].split()  # long ones, here
    assert len(said.split()) - len(names) <= 90
    assert len(headline["rows"]) == 8
    shown = in_rows(said, headline["rows"])
    assert [*shown] == [*headline["rows"]]
    for name, value in headline["rows"].items():
        # A word that is too long for a line is broken.
        assert shown[name].replace(" ", "") == value.replace(" ", ""), name
    last = said.splitlines()[-1]
    if asked:
        assert headline["badge"] == told["outcome"]
        assert last == f"{told['outcome']}: {told['parts'][0]['words']}"
    else:
        assert last == f"{headline['badge']}: {headline['sentence']}"


def test_the_command_line_page_shows_what_an_audit_prints(forks, tmp_path):
    people = make_synthetic(n=200, m=50, d=20, q=0.8, n_holdout=200, m_holdout=25)
    vendor = MultiOutputClassifier(LogisticRegression()).fit(people.X, people.Y)
    head = [f"task_{task + 1}" for task in range(50)]
    rows = np.column_stack([people.Y_new_people, people.groups_new]).astype(int)
    write(tmp_path / "labels.csv", [*head, "group"], rows)
    write(tmp_path / "decisions.csv", head, vendor.predict(people.X_new).astype(int))
    args = ("audit", "labels.csv", "decisions.csv", "-t", "task_*", "--group-columns", "group")
    said = forks.run(tmp_path, *args, "--alpha", "0.1", "--beta", "0.05", code=5).out
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    (quoted,) = re.findall(r"```text\n(average error.*?)```", page, flags=re.DOTALL)
    note = "1 note (--explain): no --id was given: the tables were matched row by row"
    assert agree(quoted, said.replace(note, "in words: --explain"), in_part=False)


def test_explain_prints_everything_in_words(forks, folder):
    found = audit(WORLD.labels, WORLD.before, individual_names=WORLD.names)
    said = forks.run(folder, *TABLES, "--explain").out
    assert " ".join(found.summary().split()) in " ".join(said.replace("\n- ", "\n").split())
    short = forks.run(folder, *TABLES).out
    assert set(said.splitlines()) > {*short.splitlines()} - {"in words: --explain"}


def test_a_note_that_warns_is_not_lost(forks, tmp_path):
    rows = [[f"p{k:02}", *[int(k % 8 == task) for task in range(8)]] for k in range(40)]
    head = ["person", *(f"t{task}" for task in range(8))]
    write(tmp_path / "made.csv", head, rows)
    write(tmp_path / "right.csv", head, [[name, *[0] * 8] for name, *_ in rows])
    args = ("audit", "right.csv", "made.csv", "--id", "person")
    notes = strict(forks.run(tmp_path, *args, "--json").out)["notes"]
    assert any(note.startswith("rates are closer together than chance") for note in notes)
    said = forks.run(tmp_path, *args).out
    number = f"{len(notes)} note{'s' if len(notes) > 1 else ''}"
    assert f"\n{number} (--explain): rates are closer together than chance" in said
    assert fits_80_columns(said)


def test_rules_take_three_lines_at_most(forks, folder):
    args = (*TABLES, "--features", "about.csv")
    rules = strict(forks.run(folder, *args, "--json").out)["rules"]["rules"]
    said = [line for line in forks.run(folder, *args).out.splitlines() if "rule" in line]
    assert 1 <= len(said) <= 3
    if rules:
        assert said[0].startswith(f"rule: {rules[0]['text']}: {rules[0]['people']} ")


COLOURS = {"PASS": "32", "FAIL": "31", "INCONCLUSIVE": "33", "UNEQUAL": "31"}


@pytest.mark.parametrize(
    ("asked", "badge"),
    [
        (("--fail-above", "0.9"), "PASS"),
        (("--fail-above", "0.001"), "FAIL"),
        (("--alpha", "0.38"), "INCONCLUSIVE"),
        ((), "UNEQUAL"),
    ],
    ids=["PASS", "FAIL", "INCONCLUSIVE", "UNEQUAL"],
)
def test_a_terminal_shows_the_outcome_in_colour_and_with_an_icon(folder, monkeypatch, asked, badge):
    monkeypatch.chdir(folder)

    def last(**environment):
        for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
            monkeypatch.delenv(name, raising=False)
        done = CliRunner(env=environment).invoke(app, [*TABLES, *asked], color=True)
        lines = done.stdout.splitlines()
        (start,) = (k for k, line in enumerate(lines) if f"{badge}: " in line and k > 7)
        assert "\x1b" not in "\n".join(lines[:start])
        return "\n".join(lines[start:])

    plain = last()
    assert plain.startswith(f"{badge}: ")
    assert "\x1b" not in plain
    shown = last(FORCE_COLOR="1", TERM="xterm")
    assert f"\x1b[{COLOURS[badge]}m" in shown
    words = without_escapes(shown)
    assert re.match(rf"\S {badge}: ", words)
    assert " ".join(words[2:].split()) == plain
    without = last(FORCE_COLOR="1", NO_COLOR="1", TERM="xterm")
    assert without == words


# Errors

WRONG = {
    "no such option": (("fit", "--alpa", "0.1"), "there is no option --alpa. Did you mean --alpha"),
    "no such command": (("fitt",), "there is no command 'fitt'. Did you mean 'fit'?"),
    "no argument": (("fit",), "DATA is missing: table of people"),
    "no option": (("fit", "people.csv"), "--output is missing: model file to write"),
    "no value": (("fit", "people.csv", "-o"), "-o needs a value"),
    "a value too many": (("fit", "people.csv", "--quiet=3"), "--quiet takes no value"),
    "a word": (("audit", "a", "b", "--alpha", "x"), "--alpha must be a number; got 'x'"),
    "a fraction": (("theory", "--n", "1.5"), "--n must be a whole number; got '1.5'"),
    "no choice": (("fit", "a", "--map", "foo"), "--map must be one of none, splines, polynomials,"),
    "too many": (("evidence", "a", "b"), "too many arguments: b."),
    "missing file": (("audit", "a.csv", "b.csv"), "a.csv cannot be read: No such file"),
}


@pytest.mark.parametrize("name", WRONG)
def test_all_errors_have_one_style(forks, tmp_path, name):
    """Also those of usage, which typer finds."""
    args, words = WRONG[name]
    done = forks.run(tmp_path, *args, code=2)
    assert done.out == ""
    assert done.err.startswith(f"error: {words}")
    assert done.err.count("\n") == 1
    if name != "missing file":
        command = f" {args[0]}" if name != "no such command" else ""
        assert done.err.endswith(f" See: averagefair{command} --help\n")
