"""The demo and the pages that show it; ``make test-readme`` runs the pages' commands."""

from __future__ import annotations

import re

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from averagefair import AverageFairClassifier, ExponentiatedGradient
from averagefair.cli.app import app
from averagefair.cli.demo_run import SHOWN, run
from averagefair.datasets import make_synthetic
from tests.support.cli_runs import cells, fits_80_columns, read, strict
from tests.support.places import ROOT
from tests.support.snippets import agree

TABLES = ("people.csv", "newcomers.csv", "new_tasks.csv", "groups.csv")


def rows(text, columns):
    lines = [re.sub(r" / ", "/", line).split() for line in text.splitlines()]
    return {
        float(line[0]): line[1:]
        for line in lines
        if len(line) == columns and re.fullmatch(r"0\.\d\d", line[0])
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def demo():
    return run()


@pytest.fixture(scope="module")
def curve(demo):
    return demo.curve


def run_demo(folder, demo, *args):
    """Run the command with these results, so that they are learned once; return what it prints.

    ``make demo`` runs the whole command.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("averagefair.cli.demo_run.run", lambda callback: demo)
        done = CliRunner().invoke(app, ["demo", *args])
    assert done.exit_code == 0, done.output
    assert "--json" in args or done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def shown(folder, demo):
    return run_demo(folder, demo, "--explain")


@pytest.fixture(scope="module")
def told(folder, demo):
    return strict(run_demo(folder, demo, "--tables", "tables", "-o", "again.html", "--json"))


def test_it_has_a_row_for_every_alpha_and_fits_80_columns(shown):
    assert fits_80_columns(shown)
    assert tuple(rows(shown, 8)) == tuple(rows(shown, 5)) == SHOWN


def test_it_prints_one_screen_that_ends_with_its_report(folder, demo, told):
    screen = run_demo(folder, demo, "-o", "screen.html")
    assert fits_80_columns(screen)
    assert len(screen.splitlines()) <= 24
    assert len(screen.split()) <= 150
    for row in told["who_pays"]:
        (line,) = (line for line in screen.splitlines() if line.lstrip().startswith(row["promise"]))
        assert f" {row['error']:.3f} " in line
        assert f" {row['worst_off']:.3f}" in line
    assert f"{told['headline']['badge']}. {told['headline']['sentence']}" in " ".join(
        screen.split()
    )
    for text, name in ((screen, "screen.html"), (run_demo(folder, demo), "averagefair-demo.html")):
        assert text.splitlines()[-1] == f"report, to open in a browser: {name}"
        assert "<html" in (folder / name).read_text(encoding="utf-8")[:1000]


def test_a_browser_is_opened_only_if_asked(folder, demo, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    run_demo(folder, demo)
    assert opened == []
    run_demo(folder, demo, "--open", "-o", "a page.html")
    assert opened == [(folder / "a page.html").resolve().as_uri()]


def test_it_tells_other_programs_the_same(shown, told):
    errors = {f"{point['alpha']:.2f}": f"{point['error']:.3f}" for point in told["points"]}
    for alpha, (error, *_) in rows(shown, 8).items():
        assert errors[f"{alpha:.2f}"] == error


def test_it_says_who_pays_in_training_and_on_new_people_and_tasks(shown, told, curve):
    lines = [line for line in shown.splitlines() if line.startswith(("training ", "both new "))]
    assert len(lines) == len(told["who_pays"]) == 6
    for line, row in zip(lines, told["who_pays"], strict=True):
        assert line.startswith(row["people"])
        assert row["promise"] in line
        for name in ("error", "worst_off", "best_off"):
            assert f" {row[name]:.3f} " in line
        for name in ("better", "worse"):
            assert (row[name] is None) == (row["promise"] == "nothing asked")
            assert row[name] is None or f"{row[name]:.1%}" in line
    pays = curve.at(0.1).who_pays
    assert told["who_pays"][0]["worst_off"] == pays.worst_off.before
    assert told["who_pays"][1]["worst_off"] == pays.worst_off.after
    assert [point["price"] for point in told["worst_off"]] == [0.05, 0.1, 0.25]
    assert "--worst-off 0.1 --price 0.1" in shown


def test_it_shows_what_was_learned(shown, curve):
    people = make_synthetic(n=200, m=50, d=20, q=0.8)
    solver = ExponentiatedGradient.published()
    published = AverageFairClassifier(alpha=0.15, solver=solver).fit(people.X, people.Y)
    error, spread, common_rate, _, _, method, _ = map(float, rows(shown, 8)[0.15])
    model = curve.model(0.15)
    assert error == pytest.approx(model.error_, abs=5.1e-4)
    assert spread == pytest.approx(np.ptp(model.individual_rates_), abs=5.1e-4)
    assert common_rate == pytest.approx(model.common_rate_, abs=5.1e-4)
    assert method == pytest.approx(published.error_, abs=5.1e-4)


def test_it_says_what_the_chances_would_reach(shown, curve):
    people = make_synthetic(n=200, m=50, d=20, q=0.8)
    for alpha, (error, _, _, chances, *_) in rows(shown, 8).items():
        drawn = curve.model(alpha).mixture_.decision_probability(people.X)
        assert float(chances) == pytest.approx(np.abs(drawn - people.Y).mean(), abs=5.1e-4)
        decisions = curve.model(alpha).predict(people.X)
        assert float(error) == pytest.approx((decisions != people.Y).mean(), abs=5.1e-4)
    assert "each task has one classifier, and nothing is drawn" in " ".join(shown.split())


def test_its_tables_hold_the_population(told, folder):
    split = make_synthetic(n=200, m=50, d=20, q=0.8, n_holdout=200, m_holdout=25)
    paths = sorted((folder / path for path in told["tables"]), key=lambda p: TABLES.index(p.name))
    people, newcomers, new_tasks, groups = (read(path.read_text()) for path in paths)
    np.testing.assert_array_equal(cells(people, [f"x{j + 1}" for j in range(20)]), split.X)
    np.testing.assert_array_equal(cells(people, [f"task_{j + 1}" for j in range(50)]), split.Y)
    np.testing.assert_array_equal(
        cells(newcomers, [f"task_{j + 1}" for j in range(50)]), split.Y_new_people
    )
    np.testing.assert_array_equal(
        cells(new_tasks, [f"new_{j + 1}" for j in range(25)]), split.Y_new_tasks
    )
    assert people["person"] == new_tasks["person"]
    assert newcomers["person"] == groups["person"]


def test_the_command_line_page_shows_what_it_prints(shown, folder, demo):
    """All but the audit, whose words depend on the figures."""
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    (quoted,) = re.findall(r"```text\n(Average individual.*?)```", page, flags=re.DOTALL)
    head, rest = shown.split("The audit of alpha")
    came = head + rest[rest.index("People and tasks that training") :].split("\nreport,")[0]
    assert agree(quoted, came, in_part=False)
    (quoted,) = re.findall(r"```text\n(Learned on .*?)```", page, flags=re.DOTALL)
    assert agree(quoted, run_demo(folder, demo), in_part=False)


def test_the_command_line_page_names_every_option():
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        assert f"`{name}" in page
        options = {one for part in command.params for one in part.opts if one.startswith("--")}
        missing = [one for one in options - {"--help"} if f"`{one}`" not in page]
        assert not missing, (name, missing)
