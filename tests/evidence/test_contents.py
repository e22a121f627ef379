"""What the files say: names, the card, what is not proved, the fingerprint."""

from __future__ import annotations

import copy
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import averagefair
from averagefair import DecisionLog, StopReason, audit, read_evidence, save_evidence
from averagefair.evidence import audit_fingerprint
from averagefair.files.writing import write_table
from tests.support.evidence_table import (
    AUDITS,
    CASES,
    COLUMNS,
    MODELS,
    PEOPLE,
    events,
    fitted,
    groups,
    model_of,
    table,
)

NAME = re.compile(rb"Ann-\d\d")
MOST_WORDS = 900


def files(result, folder, **options):
    save_evidence(result, folder, **options)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def card(result, folder, **options):
    return files(result, folder, **{"report": False} | options)["card.md"].decode()


def section(text, title):
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


# Names.


@pytest.mark.parametrize("name", ["blank", "learned", "alpha", "log"])
def test_no_file_names_a_person_unless_asked(name, tmp_path):
    found = AUDITS[name]()
    for path, content in files(found, tmp_path / "without").items():
        assert not NAME.search(content), path
    named = files(found, tmp_path / "with", people=True)
    if found.people.name[0] == PEOPLE[0]:
        assert {path for path in named if NAME.search(named[path])} == {
            *("evidence.json", "card.md", "report.html")
        }


def test_a_model_names_people_only_if_asked(tmp_path):
    model = model_of("no harm")
    for path, content in files(model, tmp_path / "without").items():
        assert not NAME.search(content), path
    assert "Who gains most" in card(model, tmp_path / "with", people=True)
    people = read_evidence(tmp_path / "with")["figures"]["people"]
    assert people["name"] == PEOPLE[:14]
    np.testing.assert_allclose(
        np.array(people["rates"]["error"], dtype=float), model.individual_rates_
    )


def test_notes_that_name_people_give_their_number(tmp_path):
    facts_of = {}
    for people in (False, True):
        save_evidence(AUDITS["blank"](), tmp_path / "e", report=False, people=people)
        facts_of[people] = read_evidence(tmp_path / "e")["figures"]["notes"]
    assert "no rate, because none of their cells counts: Ann-00." in facts_of[True]
    assert "no rate, because none of their cells counts: 1 person." in facts_of[False]


@pytest.mark.parametrize("name", ["plain", "log"])
def test_people_are_numbered_by_their_row(name, tmp_path):
    found = AUDITS[name]()
    worst = PEOPLE.index(found.worst_off(1)[0]["name"])
    said = card(found, tmp_path / "e")
    title = "Who is worst off: the highest observed rates, noise included"
    assert section(said, title).splitlines()[3].startswith(f"| {worst + 1} | ")
    order = "in the order of their ids" if name == "log" else "by their row in the audited table"
    assert f"People are numbered {order}, from 1. No file here names them." in said


def test_people_without_names_keep_their_numbers(tmp_path):
    said = card(audit([[1, 0, 1], [1, 1, 1]], [[0, 1, 0], [1, 1, 1]]), tmp_path / "e")
    assert "| 0 | 1.000 | " in said
    assert "by their row in the audited table, from 0" in said


# The card.


@pytest.mark.parametrize("name", [*AUDITS, *MODELS])
def test_a_card_is_one_page_with_the_same_sections(name, tmp_path):
    result = AUDITS[name]() if name in AUDITS else model_of(name)
    said = card(result, tmp_path / "e")
    facts = read_evidence(tmp_path / "e")
    assert len(said.split()) < MOST_WORDS
    for title in ("Result", "What this does not prove", "How to repeat this"):
        assert section(said, title).strip()
    assert said.startswith(
        "# Audit card: individual " if name in AUDITS else "# Model card: classifiers"
    )
    assert f"\n**{facts['verdict']}**\n" in said
    listed = section(said, "What this does not prove").strip().splitlines()
    assert listed == [f"- {line}" for line in facts["not_proved"]]
    assert facts["repeat"] in said
    assert facts["data"]["fingerprint"] in said
    for version in facts["made"]["versions"].values():
        assert version in said
    assert "nan" not in re.findall(r"\w+", said)
    for words in ALWAYS:
        assert words in " ".join(listed)


def test_names_stay_text_in_a_card(tmp_path):
    labels, decisions = table()
    evil = ["a|b", "<b>c</b>", "[d](https://e)", "`f`", "g\nh", "i\x1b[2J", "*j*", "\\k"]
    views = pd.Series(evil * 2, index=PEOPLE, name="| x |")
    settings = {"command": "averagefair audit '```' | rm\n\n# New", "odd": "<i>", "none": None}
    found = audit(labels, decisions, groups=views)
    said = card(found, tmp_path / "e", title="# <h1>\nT", settings=settings)
    assert said.splitlines()[0] == r"# Audit card: # \<h1\>\\nT"
    rows = [line for line in said.splitlines() if line.startswith("|")]
    by_group = section(said, r"By \| x \|, the highest mean rate first").strip().splitlines()
    assert len(by_group) == 2 + len(evil)
    for row in by_group:
        assert len(re.split(r"(?<!\\)\|", row)) == 6
    assert "\x1b" not in said
    assert not re.search(r"(?<!\\)[<>]", "\n".join(rows))
    assert "\n# New" not in said
    assert "````sh\naveragefair audit '```' | rm\\n\\n# New\n````" in said


def test_the_command_and_the_settings_are_shown(tmp_path):
    settings = {"command": "averagefair audit a.csv b.csv", "a.csv": "sha256 12", "seed": 3}
    said = card(AUDITS["plain"](), tmp_path / "e", settings=settings)
    assert "```sh\naveragefair audit a.csv b.csv\n```" in said
    assert "| a.csv | sha256 12 |" in said
    facts = read_evidence(tmp_path / "e")
    assert facts["settings"]["seed"] == 3
    assert facts["settings"]["confidence"] == 0.95


@pytest.mark.parametrize("name", ["families", "learned", "alpha", "groups", "log"])
def test_the_call_makes_the_audit_again(name, tmp_path):
    """The card's Python is run with the objects that it names."""
    found = AUDITS[name]()
    save_evidence(found, tmp_path / "e", report=False)
    call = read_evidence(tmp_path / "e")["repeat"]
    labels, decisions = table()
    names = {
        "averagefair": averagefair,
        "labels": labels,
        "decisions": decisions,
        "groups": groups(),
        "families": ["x", "y", "z"] * 4,
        "log": DecisionLog(**COLUMNS).update(events()),
    }
    again = eval(call, names)
    assert again.to_dict() == found.to_dict()


def test_the_call_of_a_model_names_its_settings(tmp_path):
    save_evidence(fitted(alpha=0.3, beta=0.1), tmp_path / "e", report=False)
    assert read_evidence(tmp_path / "e")["repeat"] == (
        "averagefair.AverageFairClassifier(alpha=0.3, beta=0.1, look_first=False, "
        "oracle=StumpOracle(), random_state=0).fit(X, Y)"
    )


def test_the_outcome_of_a_gate_is_the_verdict(tmp_path):
    part = {"name": "sigma", "asked": "sigma at most 0.1", "bound": 0.1, "value": 0.2}
    ends = {"low": 0.15, "high": np.nan}
    parts = [
        {**part, **ends, "outcome": "FAIL", "words": "sigma 0.2 is above 0.1"},
        {**part, **ends, "outcome": "PASS", "words": "the mean is within 0.5"},
    ]
    outcome = {"outcome": "FAIL", "parts": parts}
    said = card(AUDITS["plain"](), tmp_path / "e", outcome=outcome)
    assert "\n**FAIL: sigma 0.2 is above 0.1.**\n" in said
    kept = read_evidence(tmp_path / "e")["outcome"]
    assert kept["outcome"] == "FAIL"
    assert kept["parts"][0]["high"] is None


def test_half_of_a_surrogate_pair_is_written(tmp_path):
    found = audit([[1, 0]] * 2, [[1, 1]] * 2, groups=["a\udc80", "b"])
    save_evidence(found, tmp_path / "e")
    assert read_evidence(tmp_path / "e")["figures"]["groups"][0]["name"] == ["a\udc80", "b"]


# What is not proved.

ALWAYS = ("labels are right", "other tasks", "caused", "Local Law 144", "selection rates by group")


def not_proved(result, folder):
    save_evidence(result, folder, report=False)
    return " ".join(read_evidence(folder)["not_proved"])


@pytest.mark.parametrize(
    ("words", "there", "elsewhere"),
    [
        ("Anything about other tasks", {"learned"}, {"plain", "log"}),
        ("beyond the stated intervals", {"plain", "log", "blank", "families"}, {"one task"}),
        ("There are no intervals", {"one person", "one task", "nothing defined"}, {"plain"}),
        ("A test that finds no difference", {"one person", "all right"}, {"plain", "learned"}),
        ("The intervals allow both", {"blank", "one task"}, {"not met", "one cell", "learned"}),
        ("Only false-positive decisions", {"a rate of its own"}, {"plain"}),
        ("the log is complete", {"log", "log in windows"}, {"blank"}),
        ("blank cells would look the same. 15.1%", {"blank"}, {"plain", "log"}),
        ("within a group", {"groups", "learned", "all wrong"}, {"plain"}),
        ("No cell counts", {"nothing defined", "no false negative"}, {"plain", "blank"}),
    ],
)
def test_other_sentences_say_what_the_audit_is(words, there, elsewhere, tmp_path):
    for name in there | elsewhere:
        assert (words in not_proved(AUDITS[name](), tmp_path / "e")) == (name in there), name


@pytest.mark.parametrize(
    ("words", "there", "elsewhere"),
    [
        ("single draws keep the promise", {"cap, drawn", "max influence"}, {"cap, fixed"}),
        ("The oracle is a heuristic", {"heuristic"}, {"equal, fixed"}),
        ("no other kind of classifier errs less", {"equal, drawn"}, {"heuristic"}),
        ("That the promise is kept. It is not", {"not met"}, {"equal, fixed"}),
        ("The promise has a price", {"worst-off, priced, fixed"}, {"worst-off, limited, fixed"}),
        ("people outside are treated acceptably", {"exempt"}, {"equal, fixed"}),
        ("nothing is promised about this share", {"max influence"}, {"exempt"}),
        ("1 training person without a rate", {"equal, drawn", "heuristic"}, set()),
    ],
)
def test_other_sentences_say_what_the_model_is(words, there, elsewhere, tmp_path):
    for name in there | elsewhere:
        assert (words in not_proved(model_of(name), tmp_path / "e")) == (name in there), name


def test_a_run_that_ended_early_says_so(tmp_path):
    model = copy.copy(model_of("equal, fixed"))
    model.certificate_ = replace(model.certificate_, stop_reason=StopReason.TIME)
    assert "The run ended before it converged" in not_proved(model, tmp_path / "e")


# The fingerprint.


def test_the_same_data_have_the_same_fingerprint():
    labels, decisions = table()
    one = audit_fingerprint(audit(labels, decisions))
    same = [
        audit(labels.astype(int), decisions.astype(bool), alpha=0.1, random_state=5),
        audit(labels, decisions.iloc[::-1, ::-1], groups=["a"] * 16),
        audit(labels.to_numpy(), decisions.to_numpy(), individual_names=PEOPLE, task_names=CASES),
    ]
    assert {audit_fingerprint(found) for found in same} == {one}


def test_any_change_of_the_data_changes_the_fingerprint():
    labels, decisions = (part.astype(float) for part in table())
    both = labels.copy(), decisions.copy()
    for part in both:  # the same mistake, by another label
        part.iloc[3, 3] = 1 - part.iloc[3, 3]
    wrong = decisions.copy()
    wrong.iloc[3, 3] = 1 - wrong.iloc[3, 3]
    blank = labels.copy()
    blank.iloc[0, 0] = np.nan
    chance = decisions.copy()
    chance.iloc[0, 0] = 0.5
    less = chance.copy()
    less.iloc[0, 0] = 0.4
    found = [
        audit(labels, decisions),
        audit(*both),
        audit(labels, wrong),
        audit(blank, decisions),
        audit(labels, chance),
        audit(labels, less),
        audit(labels, decisions, rate="false_positive"),
        audit(labels, decisions, task_families=[0, 1, 2] * 4),
        audit(labels, decisions, task_families=[0, 2, 1] * 4),
        audit(
            labels.rename(columns={"case 0": "other"}),
            decisions.rename(columns={"case 0": "other"}),
        ),
        audit(labels.rename({"Ann-00": "Bo"}), decisions.rename({"Ann-00": "Bo"})),
        audit(labels.iloc[:, :11], decisions.iloc[:, :11]),
        audit(labels.iloc[:15], decisions.iloc[:15]),
        audit(labels.iloc[::-1], decisions),
        audit(labels.to_numpy(), decisions.to_numpy()),
    ]
    assert len({audit_fingerprint(each) for each in found}) == len(found)


def test_names_do_not_run_together():
    first, second = (
        audit([[1, 0], [0, 1]], [[1, 1], [0, 1]], individual_names=names)
        for names in (["ab", "c"], ["a", "bc"])
    )
    assert audit_fingerprint(first) != audit_fingerprint(second)


def test_the_fingerprint_of_a_log_does_not_depend_on_how_it_was_made(tmp_path):
    log = events(repeated=False)
    whole = DecisionLog(**COLUMNS).update(log).audit()
    parts = DecisionLog(**COLUMNS)
    for part in (log.iloc[100:], log.iloc[:30], log.iloc[30:100]):
        parts.update(part)
    write_table(str(tmp_path / "log.csv"), {name: log[name].to_numpy() for name in log})
    of_file = DecisionLog(**COLUMNS).update(str(tmp_path / "log.csv"))
    same = {audit_fingerprint(each) for each in (whole, parts.audit(), of_file.audit())}
    assert len(same) == 1
    fewer = DecisionLog(**COLUMNS).update(log.iloc[1:]).audit()
    twice = DecisionLog(**COLUMNS).update(pd.concat([log, log.iloc[:1]])).audit()
    assert audit_fingerprint(fewer) not in same
    assert audit_fingerprint(twice) not in same
    assert audit_fingerprint(parts.audit(rate="false_positive")) not in same
