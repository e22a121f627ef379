"""The demo and the README: what they show is what comes out."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from averagefair import AverageFairClassifier, ExponentiatedGradient, frontier
from averagefair.datasets import make_synthetic
from averagefair.demo import ALPHAS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def shown():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "averagefair.demo"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(text, columns):
    lines = [re.sub(r" / ", "/", line).split() for line in text.splitlines()]
    return {
        float(line[0]): line[1:]
        for line in lines
        if len(line) == columns and re.fullmatch(r"0\.\d\d", line[0])
    }


def test_the_demo_has_a_row_for_every_alpha_and_fits_80_columns(shown):
    assert max(map(len, shown.splitlines())) <= 80
    assert tuple(rows(shown, 8)) == tuple(rows(shown, 5)) == ALPHAS


def test_the_demo_shows_what_was_learned(shown):
    people = make_synthetic(n=200, m=50, d=20, q=0.8)
    curve = frontier(people.X, people.Y, ALPHAS, random_state=0)
    solver = ExponentiatedGradient.published()
    published = AverageFairClassifier(alpha=0.15, solver=solver).fit(people.X, people.Y)
    error, spread, common_rate, _, _, method, _ = map(float, rows(shown, 8)[0.15])
    model = curve.model(0.15)
    assert error == pytest.approx(model.error_, abs=5e-4)
    assert spread == pytest.approx(np.ptp(model.individual_rates_), abs=5e-4)
    assert common_rate == pytest.approx(model.common_rate_, abs=5e-4)
    assert method == pytest.approx(published.error_, abs=5e-4)


def test_the_readme_shows_the_demos_output(shown):
    """Word by word; figures to 0.04, since another machine may find other columns.

    The audit's words go by the figures: of them only the first are held against the README.
    """
    (quoted,) = re.findall(r"```text\n(.*?)```", README, flags=re.DOTALL)
    (quoted, audited), (shown, audit) = (part.split("- Individual") for part in (quoted, shown))
    assert audited.split()[:4] == audit.split()[:4] == ["error", "rates", "run", "from"]
    number = r"\d+(?:\.\d+)?"
    assert re.sub(rf"\s*{number}", "", quoted).split() == re.sub(rf"\s*{number}", "", shown).split()
    rates = r"\b0\.\d{3}\b"
    np.testing.assert_allclose(
        [float(rate) for rate in re.findall(rates, quoted)],
        [float(rate) for rate in re.findall(rates, shown)],
        atol=0.04,
    )


def test_the_readmes_python_runs_as_it_stands(capsys):
    run_python_of(README)
    assert "requested alpha 0.1: met" in capsys.readouterr().out


def test_the_audit_pages_python_runs_as_it_stands(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_python_of((ROOT / "docs" / "audit.md").read_text(encoding="utf-8"))
    assert "Audit of individual error rates: 200 people, 50 tasks." in capsys.readouterr().out
    assert (tmp_path / "audit.png").exists()


def run_python_of(page):
    for snippet in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        exec(compile(snippet, "page", "exec"), {})
