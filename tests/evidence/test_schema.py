"""evidence.json follows its published schema, for every kind of audit and certificate."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from math import nan

import pytest
from jsonschema import Draft202012Validator

from averagefair import check_evidence, read_evidence, save_evidence
from averagefair.evidence import schema_of
from averagefair.evidence.card import safe
from averagefair.evidence.document import digest, to_json
from tests.support.evidence_table import AUDITS, DRAWN, MODELS, drawn_audit, model_of, with_rules

KINDS = ("audit", "certificate")
VALIDATORS = {kind: Draft202012Validator(schema_of(kind)) for kind in KINDS}
OUTCOME = {
    "outcome": "FAIL",
    "parts": [
        {
            "name": "sigma",
            "asked": "sigma at most 0.05",
            "outcome": "FAIL",
            "words": "sigma 0.071 is above 0.05",
            "bound": 0.05,
            "value": 0.071,
            "low": 0.06,
            "high": nan,
        }
    ],
}


def saved(result, folder, **options):
    """Save evidence without its page; return evidence.json as a foreign program reads it."""
    save_evidence(result, folder, **{"report": False} | options)
    assert check_evidence(folder) == ()
    return json.loads((folder / "evidence.json").read_text("utf-8"))


def complaints(facts):
    return [error.message for error in VALIDATORS[facts["kind"]].iter_errors(facts)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_is_a_schema(kind):
    Draft202012Validator.check_schema(schema_of(kind))


def parts(schema):
    """Yield every part of a schema that describes a value."""
    if isinstance(schema, dict):
        yield schema
        for part in schema.values():
            yield from parts(part)
    if isinstance(schema, list):
        for part in schema:
            yield from parts(part)


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_described_and_other_fields_are_refused(kind):
    objects = [part for part in parts(schema_of(kind)) if "properties" in part]
    assert len(objects) >= 8
    for part in objects:
        for name, field in part["properties"].items():
            assert field.get("description", "").endswith("."), name
        if "not" not in json.dumps(part["properties"].get("kind", {})):
            assert "additionalProperties" in part
            assert set(part["required"]) <= set(part["properties"])


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("name", AUDITS)
def test_audits(name, people, tmp_path):
    found = AUDITS[name]()
    facts = saved(found, tmp_path / "evidence", people=people, outcome=OUTCOME if people else None)
    assert complaints(facts) == []
    assert facts["kind"] == "audit"
    assert ("people" in facts["figures"]) == people
    expected = found.to_dict()
    assert facts["figures"].pop("rules") is None
    for left_out in ("people", "notes"):  # notes may name people
        del expected[left_out]
        facts["figures"].pop(left_out, None)
    assert facts["figures"] == expected


@pytest.mark.parametrize("name", DRAWN)
def test_random_audits(name, tmp_path):
    assert complaints(saved(drawn_audit(name), tmp_path / "evidence")) == []


@pytest.mark.parametrize("people", [False, True])
def test_certificates(people, tmp_path):
    models = {name: model_of(name) for name in MODELS}
    for number, (name, model) in enumerate(models.items()):
        facts = saved(model, tmp_path / str(number), people=people)
        assert complaints(facts) == [], name
        assert facts["kind"] == "certificate"
        figures = facts["figures"]
        assert ("people" in figures) == people
        assert figures["promise"]["kind"] == type(model.promise_).__name__
        known = {name: figures[name] for name in model.certificate_.to_dict()}
        assert known == model.certificate_.to_dict()
    assert {model.certificate_.met for model in models.values()} == {True, False}
    assert {model.certificate_.status.name for model in models.values()} > {"CERTIFIED"}


def paths(value, at=()):
    """Yield the place of every value."""
    yield at
    if isinstance(value, dict):
        for name, part in value.items():
            yield from paths(part, (*at, name))
    if isinstance(value, list) and value:
        yield from paths(value[0], (*at, 0))


def changed(facts, path, change):
    """Return a copy in which one value is changed."""
    out = copy.deepcopy(facts)
    place = out
    for step in path[:-1]:
        place = place[step]
    change(place, path[-1])
    out["digest"] = digest(out)
    return out


def remove(place, name):
    del place[name]


def spoil(place, name):
    place[name] = {"nothing": "of the kind"}


def add(place, name):
    place[name]["unknown"] = 1


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    found = saved(AUDITS["groups"](), folder / "audit", people=True, outcome=OUTCOME)
    return found, saved(model_of("heuristic"), folder / "model", people=True)


# Fields with names of any kind, and fields that test_folder.py spoils.
FREE = {
    *(("settings",), ("made", "versions"), ("format",), ("version",), ("kind",), ("digest",)),
    *(("figures", "people", "rates"), ("figures", "people", "rates_before")),
}
OPTIONAL = {("figures", "people"), ("figures", "tasks", "family")}


def spoiled(example):
    """Yield the example with each field in turn removed, of a wrong type, or with one more."""
    for path in [*paths(example)][1:]:
        if any(path[: len(free)] == free for free in FREE):
            continue
        yield path, changed(example, path, spoil)
        if isinstance(path[-1], str) and path not in OPTIONAL:
            yield path, changed(example, path, remove)
        value = example
        for step in path:
            value = value[step]
        if isinstance(value, dict):
            yield path, changed(example, path, add)


def test_rules(tmp_path):
    found, features = with_rules()
    rules = found.who(features)
    facts = saved(found, tmp_path / "evidence", rules=rules)
    assert complaints(facts) == []
    assert facts["figures"]["rules"] == rules.to_dict()
    rule, *_ = facts["figures"]["rules"]["rules"]
    said = (tmp_path / "evidence" / "card.md").read_text("utf-8")
    assert f"| {safe(rule['text'])} | {rule['people']} | " in said
    none = replace(rules, rules=())
    assert saved(found, tmp_path / "evidence", rules=none)["figures"]["rules"]["rules"] == []
    assert "No rule on features is confirmed" in (tmp_path / "evidence" / "card.md").read_text()
    del facts["figures"]["rules"]["rules"][0]["text"]
    assert complaints(facts)


def test_the_validation_can_fail_for_every_field(examples, tmp_path):
    """The schema finds each change, and our own check each of a third of them."""
    tried = 0
    for number, example in enumerate(examples):
        folder = tmp_path / str(number)
        saved([AUDITS["plain"](), model_of("exempt")][number], folder)
        for path, facts in spoiled(example):
            assert not VALIDATORS[facts["kind"]].is_valid(facts), path
            tried += 1
            if tried % 3 == number:
                (folder / "evidence.json").write_bytes(to_json(facts))
                found = " ".join(check_evidence(folder))
                assert "must be" in found or "has no" in found or "unknown" in found, path
    assert tried > 300


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("figures", "confidence"), 1.5),
        (("figures", "n"), 0),
        (("figures", "assessment", "verdict"), "perhaps"),
        (("data", "fingerprint"), "not a hash"),
        (("made", "time"), "yesterday"),
        (("outcome", "outcome"), "MAYBE"),
        (("not_proved",), []),
    ],
)
def test_values_are_checked_too(examples, path, value):
    facts = changed(examples[0], path, lambda place, name: place.__setitem__(name, value))
    assert complaints(facts)


def test_a_promise_must_have_its_own_fields(examples):
    facts = changed(examples[1], ("figures", "promise", "alpha"), remove)
    assert complaints(facts)


def test_the_copy_in_the_folder_is_the_published_schema(tmp_path):
    save_evidence(AUDITS["plain"](), tmp_path / "evidence", report=False)
    assert json.loads((tmp_path / "evidence" / "schema.json").read_text()) == schema_of("audit")
    assert read_evidence(tmp_path / "evidence")["format"] == "averagefair evidence"
