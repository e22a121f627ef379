"""``--evidence`` of ``fit`` and ``audit``, and ``averagefair evidence``."""

from __future__ import annotations

import json
from hashlib import sha256

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from averagefair import check_evidence, load, read_evidence
from tests.support.cli_runs import (
    IDS,
    TASKS,
    Y,
    fixture_shop,  # noqa: F401
    run,
    strict,
    write,
)

FIT = ("fit", "people.csv", "-t", "task_*", "--id", "person", "--oracle", "regression")
AUDIT = ("audit", "labels.csv", "decisions.csv", "--id", "person")


@pytest.fixture(scope="module")
def fitted(shop):
    more = ("--worst-off", "0.2", "--max-rounds", "5", "-o", "fair.model", "--json")
    return run(shop, *FIT, *more, "--evidence", "of-model", code=None)


@pytest.fixture(scope="module")
def audited(shop):
    random = np.random.default_rng(0)
    decisions = Y ^ (random.random(Y.shape) < 0.2)
    rows = [[one, *cells] for one, cells in zip(IDS, decisions.astype(int), strict=True)]
    write(shop / "decisions.csv", ["person", *TASKS], [*rows, ["Zoe", *[0] * len(TASKS)]])
    more = ("--common-people", "--fail-above", "0.9", "--evidence", "of-audit", "--title", "Eight")
    more += ("--explain",)
    return run(shop, *AUDIT, *more, code=None)


def facts_of(folder):
    """Return evidence.json, checked by its own schema."""
    facts = json.loads((folder / "evidence.json").read_text("utf-8"))
    Draft202012Validator(json.loads((folder / "schema.json").read_text())).validate(facts)
    assert check_evidence(folder) == ()
    return facts


def test_fit_writes_evidence_of_its_model(shop, fitted):
    told, facts = strict(fitted.out), facts_of(shop / "of-model")
    assert told["evidence"] == "of-model"
    assert facts["kind"] == "certificate"
    figures = {name: facts["figures"][name] for name in told["certificate"]}
    assert figures == told["certificate"]
    assert facts["data"]["fingerprint"] == load(shop / "fair.model").fingerprint_
    assert facts["data"]["people"] == len(IDS)
    assert facts["settings"]["command"].startswith("averagefair fit people.csv -t 'task_*'")
    digest = sha256((shop / "people.csv").read_bytes()).hexdigest()
    assert facts["settings"]["people.csv"] == f"sha256 {digest}"
    assert f"| people.csv | sha256 {digest} |" in (shop / "of-model" / "card.md").read_text()


def test_audit_writes_evidence_without_names(shop, audited):
    facts = facts_of(shop / "of-audit")
    assert facts["kind"] == "audit"
    assert facts["title"] == "Eight"
    assert facts["data"]["people"] == len(IDS)
    assert facts["outcome"]["outcome"] in audited.out.splitlines()[-1]
    assert facts["verdict"].startswith(facts["outcome"]["outcome"])
    assert "evidence: of-audit (names nobody)" in audited.out
    assert {"labels.csv", "decisions.csv", "command"} <= set(facts["settings"])
    assert "people" not in facts["figures"]
    assert "Zoe" in audited.out.replace("\n  ", " ")
    for path in (shop / "of-audit").iterdir():
        assert b"Zoe" not in path.read_bytes(), path.name


def test_the_command_checks_a_folder_and_prints_its_card(shop, fitted, tmp_path):
    done = run(shop, "evidence", "of-model")
    lines = done.out.splitlines()
    assert lines[0] == "# Model card: classifiers for 8 tasks"
    assert "## What this does not prove" in lines
    assert max(len(line) for line in lines if line[:1] not in ("|", "a", "#")) <= 80
    digest = sha256((shop / "of-model" / "evidence.json").read_bytes()).hexdigest()
    assert lines[-2:] == ["Every file agrees with evidence.json. Its SHA-256:", digest]
    told = strict(run(shop, "evidence", "of-model", "--json").out)
    assert (told["agrees"], told["problems"], told["sha256"]) == (True, [], digest)
    assert told["evidence"] == read_evidence(shop / "of-model")


def test_a_changed_folder_exits_with_1(shop, fitted, tmp_path):
    for path in (shop / "of-model").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    with (tmp_path / "card.md").open("a") as card:
        card.write("All is well.\n")
    done = run(tmp_path, "evidence", tmp_path, code=1)
    assert done.out == f"{tmp_path} is not as it was written:\n- card.md was changed.\n"
    assert strict(run(tmp_path, "evidence", tmp_path, "--json", code=1).out)["agrees"] is False


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((*FIT, "-o", "m", "--evidence", "people.csv"), "people.csv is a file"),
        ((*FIT, "-o", "m", "--evidence", "no/where"), "there is no folder"),
        ((*FIT, "-o", "m", "--evidence", "-"), "- is no folder"),
        ((*FIT, "-o", "m", "--evidence", "m"), "m lies in m"),
        ((*FIT, "-o", "of-model/m", "--evidence", "of-model"), "of-model/m lies in of-model"),
        ((*AUDIT, "--evidence", "."), "is the current folder"),
        ((*AUDIT, "-o", "of-model/r.html", "--evidence", "of-model"), "lies in of-model"),
        (("evidence", "nowhere"), "nowhere is no folder"),
        (("evidence", "."), "holds no evidence"),
    ],
)
def test_bad_folders_are_refused_before_any_work(shop, fitted, audited, args, words):
    before = {path.name for path in shop.iterdir()}
    done = run(shop, *args, code=2)
    assert words in done.err
    assert {path.name for path in shop.iterdir()} == before
