"""The example of a GitHub Action: its steps are run as shell scripts, as a runner does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from averagefair.datasets import make_synthetic
from tests.support.cli_runs import ROOT, environment, write

WORKFLOW = ROOT / "examples" / "github-action" / "audit.yml"
LONG = pytest.mark.long
CASES = {"0.08": ("PASS", 0), "0.05": ("INCONCLUSIVE", 5), "0.02": ("FAIL", 1)}


def job():
    workflow = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    (found,) = workflow["jobs"].values()
    return workflow, found


def write_demo_tables(folder):
    """Write decisions about the demo's newcomers; least squares learns each task by itself."""
    made = make_synthetic(n=200, m=50, d=20, q=0.8, n_holdout=200, m_holdout=25)
    right = np.hstack([made.Y_new_people, made.Y_new_both]).astype(int)
    known, new = (np.c_[X, np.ones(len(X))] for X in (made.X, made.X_new))
    learned = 2 * np.hstack([made.Y, made.Y_new_tasks]) - 1
    decided = (new @ np.linalg.lstsq(known, learned, rcond=None)[0] > 0).astype(int)
    head = ["person", *(f"task_{task + 1}" for task in range(right.shape[1]))]
    for name, cells in (("labels.csv", right), ("decisions.csv", decided)):
        rows = [[f"q{who + 1:03}", *row] for who, row in enumerate(cells)]
        write(folder / name, head, rows)


def run_steps(folder, steps, **given):
    """Run the steps as a runner does: after a failed step, only those that always run."""
    surroundings = environment(**given, GITHUB_STEP_SUMMARY=str(folder / "summary.md"))
    surroundings["PATH"] = f"{Path(sys.executable).parent}:{surroundings['PATH']}"
    code = 0
    for step in steps:
        if code and step.get("if") != "always()":
            continue
        script = folder / "step.sh"
        script.write_text(step["run"], encoding="utf-8")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=folder,
            env=surroundings,
            capture_output=True,
            text=True,
        )
        assert "Traceback" not in done.stderr, done.stderr
        code = code or done.returncode
        script.unlink()
    return code


def test_the_workflow_has_the_steps_of_an_audit():
    workflow, found = job()
    assert workflow[True] == ["push", "pull_request"]  # YAML reads the key `on` as true
    steps = found["steps"]
    used = [step["uses"].partition("@")[0] for step in steps if "uses" in step]
    assert used == ["actions/checkout", "actions/setup-python", "actions/upload-artifact"]
    assert "[cli]" in next(step["run"] for step in steps if "Install" in step.get("name", ""))
    assert steps[-1]["if"] == "always()"


@pytest.mark.parametrize(
    "bound", ["0.05", *(pytest.param(one, marks=LONG) for one in ("0.08", "0.02"))]
)
def test_its_steps_run_and_end_as_the_audit_does(bound, tmp_path):
    workflow, found = job()
    assert workflow["env"]["BOUND"] in CASES
    write_demo_tables(tmp_path)
    steps = [step for step in found["steps"] if "run" in step and "Install" not in step["name"]]
    outcome, code = CASES[bound]
    assert run_steps(tmp_path, steps, BOUND=bound) == code
    told = json.loads((tmp_path / "audit.json").read_text())
    assert told["outcome"] == outcome
    assert outcome in (tmp_path / "summary.md").read_text()
    suite = ElementTree.parse(tmp_path / "audit.xml").getroot()
    counts = [int(suite.get(name)) for name in ("failures", "errors")]
    assert counts == [int(outcome == "FAIL"), int(outcome == "INCONCLUSIVE")]
    kept = found["steps"][-1]["with"]["path"].split()
    assert all((tmp_path / name).stat().st_size > 100 for name in kept)


def test_a_missing_table_fails_the_build_and_is_said(tmp_path):
    _, found = job()
    steps = [step for step in found["steps"] if "run" in step and "Install" not in step["name"]]
    assert run_steps(tmp_path, steps, BOUND="0.1") == 2
    assert "labels.csv" in (tmp_path / "summary.md").read_text()
