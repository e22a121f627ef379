"""The folder appears whole or not at all, replaces only evidence, and shows what was changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from averagefair import (
    AverageFairClassifier,
    InputError,
    audit,
    check_evidence,
    load,
    read_evidence,
    save_evidence,
)
from averagefair.evidence.document import digest, to_json
from averagefair.files import folders
from tests.support.evidence_table import AUDITS, PEOPLE, model_of

FILES = {"evidence.json", "report.html", "card.md", "schema.json"}
SMALL = audit([[1, 0, 1], [0, 1, 1]], [[1, 0, 0], [0, 1, 1]])


@pytest.fixture
def folder(tmp_path):
    save_evidence(SMALL, tmp_path / "evidence")
    return tmp_path / "evidence"


def names(folder):
    return {path.name for path in folder.iterdir()}


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_folder_has_four_files_that_agree(folder):
    assert names(folder) == FILES
    assert check_evidence(folder) == ()
    facts = read_evidence(str(folder))
    assert facts["figures"]["mean"]["value"] == SMALL.mean.value
    assert set(facts["files"]) == FILES - {"evidence.json"}
    assert names(folder.parent) == {"evidence"}


def test_without_the_report(tmp_path):
    save_evidence(SMALL, tmp_path / "evidence", report=False)
    assert names(tmp_path / "evidence") == FILES - {"report.html"}
    assert check_evidence(tmp_path / "evidence") == ()


def test_the_report_alone_needs_an_extra(tmp_path):
    code = f"""
import sys
class Missing:  # as if they were not installed
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("jinja2", "markupsafe", "jsonschema", "pandas", "pyarrow"):
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Missing())
from averagefair import audit, check_evidence, save_evidence
found = audit([[1, 0]], [[1, 1]])
save_evidence(found, {str(tmp_path / "one")!r}, report=False)
print(check_evidence({str(tmp_path / "one")!r}))
try:
    save_evidence(found, {str(tmp_path / "two")!r})
except ModuleNotFoundError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert done[0] == "()"
    assert "pip install 'averagefair[report]'" in done[1]
    assert names(tmp_path) == {"one"}


def test_older_evidence_is_replaced_as_a_whole(folder):
    save_evidence(AUDITS["plain"](), folder, report=False)
    assert names(folder) == FILES - {"report.html"}
    assert check_evidence(folder) == ()
    assert read_evidence(folder)["data"]["people"] == len(PEOPLE)
    assert names(folder.parent) == {"evidence"}


def test_an_empty_folder_is_filled_and_keeps_its_mode(tmp_path):
    place = tmp_path / "mine"
    place.mkdir(mode=0o700)
    save_evidence(SMALL, place)
    assert check_evidence(place) == ()
    assert place.stat().st_mode & 0o777 == 0o700


def not_ours(place):
    place.mkdir()
    (place / "notes.txt").write_text("mine")


def not_evidence(place):
    place.mkdir()
    (place / "evidence.json").write_text('{"format": "another"}')


def more_than_evidence(place):
    save_evidence(SMALL, place)
    (place / "letter.md").write_text("mine")


def without_the_list(place):
    save_evidence(SMALL, place)
    (place / "evidence.json").unlink()


def a_file(place):
    place.write_text("mine")


@pytest.mark.parametrize(
    "made", [not_ours, not_evidence, more_than_evidence, without_the_list, a_file]
)
def test_another_folder_is_refused_and_left_alone(made, tmp_path):
    place = tmp_path / "place"
    made(place)
    before = content(place) if place.is_dir() else place.read_bytes()
    with pytest.raises(InputError, match=r"Name a new folder|is a file"):
        save_evidence(SMALL, place)
    assert (content(place) if place.is_dir() else place.read_bytes()) == before
    assert names(tmp_path) == {"place"}


@pytest.mark.parametrize("name", ["", "-", "no/such/folder/evidence", "a\nb", "."])
def test_other_names_are_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError):
        save_evidence(SMALL, name)
    assert names(tmp_path) == set()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"settings": ["a"]}, "`settings` must map"),
        ({"outcome": "PASS"}, "PASS, FAIL or INCONCLUSIVE"),
        ({"outcome": {"outcome": "PASS", "parts": []}}, "PASS, FAIL or INCONCLUSIVE"),
        ({"outcome": {"outcome": "PASS", "parts": [{"outcome": "PASS"}]}}, "bound"),
        ({"outcome": {"outcome": "MAYBE", "parts": [{"outcome": "PASS"}]}}, "MAYBE"),
    ],
)
def test_bad_arguments_write_nothing(wrong, words, tmp_path):
    with pytest.raises(InputError, match=words):
        save_evidence(SMALL, tmp_path / "evidence", **wrong)
    assert names(tmp_path) == set()


def test_only_audits_and_fitted_models_have_evidence(tmp_path):
    with pytest.raises(InputError, match="Audit or an AverageFairClassifier; got dict"):
        save_evidence({}, tmp_path / "evidence")
    with pytest.raises(ValueError, match="not fitted"):
        save_evidence(AverageFairClassifier(), tmp_path / "evidence")
    with pytest.raises(InputError, match=r"result of audit\.who"):
        save_evidence(SMALL, tmp_path / "evidence", rules=["age > 50"])
    outcome = {"outcome": "PASS", "parts": [dict.fromkeys(_PART, "PASS")]}
    with pytest.raises(InputError, match="belong to an audit"):
        save_evidence(model_of("exempt"), tmp_path / "evidence", outcome=outcome)
    assert names(tmp_path) == set()


_PART = ("name", "asked", "outcome", "words", "bound", "value", "low", "high")


def test_a_loaded_model_has_evidence_without_people(tmp_path):
    model = model_of("exempt")
    model.save(tmp_path / "fair.model")
    again = load(tmp_path / "fair.model")
    save_evidence(again, tmp_path / "evidence")
    facts = read_evidence(tmp_path / "evidence")
    assert facts["data"]["people"] is None
    assert facts["data"]["fingerprint"] == model.fingerprint_
    with pytest.raises(InputError, match="a loaded model does not hold"):
        save_evidence(again, tmp_path / "evidence", people=True)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("old", [False, True])
def test_anything_may_fail(old, error, tmp_path, monkeypatch):
    """After an error or Ctrl-C at any step, the folder is the old one, the new one, or none."""
    new, place, step, failed = AUDITS["plain"](), tmp_path / "evidence", 0, True
    while failed:
        if old:
            save_evidence(SMALL, place, report=False)
        before = content(place) if old else None
        steps = iter(range(100))

        def failing(call, at=step, steps=steps):
            def called(*args, **more):
                if next(steps) == at:
                    raise error
                return call(*args, **more)

            return called

        with monkeypatch.context() as patch:
            patch.setattr(folders, "sync_folder", failing(lambda folder: None))
            patch.setattr(folders.os, "fsync", failing(os.fsync))
            for name in ("rename", "mkdir", "chmod"):
                patch.setattr(Path, name, failing(getattr(Path, name)))
            try:
                save_evidence(new, place, report=False)
                failed = False
            except (InputError, KeyboardInterrupt):
                step += 1
        assert names(tmp_path) <= {"evidence"}
        if place.exists() and content(place) != before:
            assert read_evidence(place)["data"]["people"] == len(PEOPLE)
            assert not failed or step > 5
            shutil.rmtree(place)
        else:
            assert failed
            assert place.exists() == old
    assert step > 6


# What was changed.


def rewrite(folder, change):
    """Change evidence.json; return the new contents."""
    facts = json.loads((folder / "evidence.json").read_text())
    change(facts)
    (folder / "evidence.json").write_bytes(to_json(facts))
    return facts


def test_a_changed_figure_is_found(folder):
    rewrite(folder, lambda facts: facts["figures"]["mean"].update(value=0.01))
    assert check_evidence(folder) == ("evidence.json was changed: its digest does not agree.",)
    with pytest.raises(InputError, match=r"not as it was written: evidence\.json was changed"):
        read_evidence(folder)


@pytest.mark.parametrize("name", sorted(FILES - {"evidence.json"}))
def test_a_changed_or_missing_file_is_found(folder, name):
    (folder / name).write_bytes((folder / name).read_bytes() + b" ")
    assert check_evidence(folder) == (f"{name} was changed.",)
    (folder / name).unlink()
    assert check_evidence(folder) == (f"{name} is missing.",)
    (folder / name).mkdir()
    assert check_evidence(folder) == (f"{name} cannot be read.",)


def test_a_file_more_is_found(folder):
    (folder / "letter.md").write_text("trust me")
    assert check_evidence(folder) == ("letter.md is not listed in evidence.json.",)


def test_a_file_outside_the_folder_is_not_read(folder):
    """A path in the list is an unknown field; it is never opened."""

    def add(facts):
        facts["files"]["../secret"] = "0" * 64
        facts["digest"] = digest(facts)

    rewrite(folder, add)
    assert check_evidence(folder) == ("evidence.json has an unknown field files.../secret.",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "is not whole"),
        (b"{", "is not whole"),
        (b"\xff\xfe", "is not whole"),
        (b"[" * 100_000, "is not whole"),
        (b"[]", "is not evidence of averagefair"),
        (b'{"format": "averagefair evidence"}', "version None; this release reads version 1"),
        (b'{"format": "averagefair evidence", "version": 2}', "version 2; this release"),
        (b'{"format": "averagefair evidence", "version": 1, "kind": "x"}', "unknown kind: 'x'"),
        (b'{"x": NaN}', "NaN is not a number"),
        (b'{"x": 1e999}', "1e999 is not a number"),
    ],
)
def test_what_is_no_evidence_is_refused(folder, text, words):
    (folder / "evidence.json").write_bytes(text)
    for read in (check_evidence, read_evidence):
        with pytest.raises(InputError, match=words):
            read(folder)


def test_a_folder_that_is_missing_or_holds_no_evidence(tmp_path):
    with pytest.raises(InputError, match="is no folder"):
        check_evidence(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"there is no evidence\.json in it"):
        check_evidence(tmp_path)


def test_damage_never_ends_in_another_error(folder):
    """Flip, cut and repeat bytes of evidence.json: it is found, and nothing else is raised."""
    whole, random = (folder / "evidence.json").read_bytes(), np.random.default_rng(0)
    for _ in range(80):
        damaged = bytearray(whole)
        for _ in range(random.integers(1, 4)):
            place = int(random.integers(len(damaged)))
            damaged[place] ^= 1 << int(random.integers(8))
        if random.random() < 0.2:
            del damaged[int(random.integers(len(damaged))) :]
        (folder / "evidence.json").write_bytes(damaged)
        try:
            same = json.loads(bytes(damaged)) == json.loads(whole)
        except ValueError:
            same = False
        try:
            assert bool(check_evidence(folder)) != same
        except InputError:
            assert not same
