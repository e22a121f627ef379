"""The demo and the README: what they show is what comes out."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer

from averagefair import AverageFairClassifier, ExponentiatedGradient, frontier
from averagefair.cli.app import app
from averagefair.datasets import make_synthetic
from averagefair.demo import SHOWN

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def words_and_figures(text):
    """Split a text into its words, numbers left out, and its figures of three or four decimals."""
    number = r"\d+(?:[.,:]\d+)*"
    figures = [float(one) for one in re.findall(r"\b0\.\d{3,4}\b", text)]
    return re.sub(rf"\s*{number}", "", text).split(), figures


def assert_same_text(quoted, shown):
    """Word by word; figures to 0.04, since another machine may find other columns."""
    (words, figures), (shown_words, shown_figures) = map(words_and_figures, (quoted, shown))
    assert words == shown_words
    np.testing.assert_allclose(figures, shown_figures, atol=0.04)


def rows(text, columns):
    lines = [re.sub(r" / ", "/", line).split() for line in text.splitlines()]
    return {
        float(line[0]): line[1:]
        for line in lines
        if len(line) == columns and re.fullmatch(r"0\.\d\d", line[0])
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("readme")


@pytest.fixture(scope="module")
def consoles(folder):
    """What the README's terminal sessions say should come out, and what does."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            command, quoted = re.fullmatch(
                r"((?:[^\n]*\\\n)*[^\n]*)\n(.*)", part, flags=re.DOTALL
            ).groups()
            line = shlex.split(command.replace("\\\n", " "))
            assert line[0] == "averagefair"
            run = [sys.executable, "-W", "error", "-m", "averagefair", *line[1:]]
            done = subprocess.run(run, capture_output=True, text=True, cwd=folder)
            assert done.returncode == 0, done.stderr
            found.append((line[1], quoted, done.stdout + done.stderr))
    return found


@pytest.fixture(scope="module")
def shown(consoles):
    command, _, text = consoles[0]
    assert command == "demo"
    return text


def test_the_demo_has_a_row_for_every_alpha_and_fits_80_columns(shown):
    assert max(map(len, shown.splitlines())) <= 80
    assert tuple(rows(shown, 8)) == tuple(rows(shown, 5)) == SHOWN


def test_the_demo_ends_with_its_report(shown, folder):
    kind, path = shown.splitlines()[-1].split(": ")
    assert kind == "report"
    assert "<html" in (folder / path).read_text(encoding="utf-8")[:1000]


def test_the_demo_shows_what_was_learned(shown):
    people = make_synthetic(n=200, m=50, d=20, q=0.8)
    curve = frontier(people.X, people.Y, random_state=0)
    solver = ExponentiatedGradient.published()
    published = AverageFairClassifier(alpha=0.15, solver=solver).fit(people.X, people.Y)
    error, spread, common_rate, _, _, method, _ = map(float, rows(shown, 8)[0.15])
    model = curve.model(0.15)
    assert error == pytest.approx(model.error_, abs=5e-4)
    assert spread == pytest.approx(np.ptp(model.individual_rates_), abs=5e-4)
    assert common_rate == pytest.approx(model.common_rate_, abs=5e-4)
    assert method == pytest.approx(published.error_, abs=5e-4)


def test_the_readme_shows_the_demos_output(shown):
    """All but the audit, whose words go by the figures."""
    (quoted,) = re.findall(r"```text\n(.*?)```", README, flags=re.DOTALL)
    head, rest = shown.split("The audit of alpha")
    assert_same_text(quoted, head + rest[rest.index("The same classifiers") :].split("\ntable:")[0])


def test_the_readmes_commands_print_what_it_says(consoles, folder):
    commands = [command for command, _, _ in consoles]
    assert commands == ["demo", "frontier", "fit", "predict", "extend", "audit"]
    for command, quoted, came in consoles[1:]:
        if command == "audit":  # its words go by the figures: the first and the last are held
            quoted, came = (
                text.split("- Individual")[0] + text[text.index("\ndenoised") :]
                for text in (quoted, came)
            )
        assert_same_text(quoted, came)
    assert {"curve.html", "fair.model", "decisions.csv", "later.model", "audit.html"} <= {
        path.name for path in folder.iterdir()
    }


def test_the_command_line_page_names_every_option():
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        assert f"`{name}" in page
        options = {one for part in command.params for one in part.opts if one.startswith("--")}
        missing = [one for one in options - {"--help"} if f"`{one}`" not in page]
        assert not missing, (name, missing)


def test_the_readmes_python_runs_as_it_stands(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_python_of(README)
    assert "requested alpha 0.1: met" in capsys.readouterr().out


def test_the_audit_pages_python_runs_as_it_stands(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_python_of((ROOT / "docs" / "audit.md").read_text(encoding="utf-8"))
    assert "Audit of individual error rates: 200 people, 50 tasks." in capsys.readouterr().out
    assert (tmp_path / "audit.png").exists()


def test_the_performance_pages_python_runs_as_it_stands(tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="torch is not installed")
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    here, cluster = page.split("## A cluster")
    monkeypatch.chdir(tmp_path)
    run_python_of(here)
    (snippet,) = re.findall(r"```python\n(.*?)```", cluster, flags=re.DOTALL)
    (tmp_path / "on_a_cluster.py").write_text(snippet)
    done = subprocess.run([sys.executable, "on_a_cluster.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "requested alpha 0.1" in done.stdout
    for recipe in re.findall(r"```py\n(.*?)```", cluster, flags=re.DOTALL):
        compile(recipe, "page", "exec")


def run_python_of(page):
    for snippet in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        exec(compile(snippet, "page", "exec"), {})
