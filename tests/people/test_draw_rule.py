"""docs/extend/draws.md describes the rule of a draw: another program can follow it."""

from __future__ import annotations

import re
import struct
from hashlib import blake2b

import numpy as np
import pytest

from averagefair import Mixture, Sample
from averagefair.game.constant_classifiers import constants
from averagefair.people.draws import id_keys, person_keys, task_keys, uniform
from tests.support.places import ROOT

PAGE = (ROOT / "docs" / "extend" / "draws.md").read_text(encoding="utf-8")
HEAD = ["seed", "id", "features", "task", "person key", "task key", "draw"]
FULL = 0xFFFFFFFFFFFFFFFF


def vectors(page=PAGE):
    """Return the rows of the page's last table."""
    rows = [
        dict(zip(HEAD, (cell.strip() for cell in line.strip("|").split("|")), strict=True))
        for line in page.partition("## Test vectors")[2].splitlines()
        if line.startswith("|")
    ]
    assert [*rows[0].values()] == HEAD
    return rows[2:]


# The page's description, written again in plain whole numbers.


def mixed(state, value):
    z = (state ^ value) + 0x9E3779B97F4A7C15 & FULL
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & FULL
    z = (z ^ z >> 27) * 0x94D049BB133111EB & FULL
    return z ^ z >> 31


def chained(values):
    key = 0
    for value in values:
        key = mixed(key, value)
    return key


def key_of_task(name):
    digest = blake2b(name.encode(), digest_size=8).digest()
    return sum(byte << 8 * place for place, byte in enumerate(digest))


def key_of_person(id_, features):
    if features is None:
        return chained(ord(character) for character in id_)
    positive = [0.0 if number == 0 else number for number in features]
    return chained(struct.unpack(">Q", struct.pack(">d", number))[0] for number in positive)


def drawn(seed, person, task):
    return (chained([seed % 2**64, person, task]) >> 11) * 2.0**-53


def asked(row):
    features = [float(cell) for cell in row["features"].split(",")] if row["features"] else None
    return int(row["seed"]), row["id"], features, row["task"]


@pytest.mark.parametrize("row", vectors(), ids=lambda row: f"{row['seed']} {row['task']}")
def test_the_table_holds_what_the_description_says(row):
    seed, id_, features, task = asked(row)
    person, key = key_of_person(id_, features), key_of_task(task)
    assert f"{person:016x}" == row["person key"]
    assert f"{key:016x}" == row["task key"]
    assert drawn(seed, person, key) == float(row["draw"])


@pytest.mark.parametrize("row", vectors(), ids=lambda row: f"{row['seed']} {row['task']}")
def test_the_library_draws_what_the_table_holds(row):
    seed, id_, features, task = asked(row)
    person = id_keys([id_]) if features is None else person_keys(np.array([features]))
    assert f"{int(person[0]):016x}" == row["person key"]
    assert f"{int(task_keys([task])[0]):016x}" == row["task key"]
    assert uniform(seed, person, task_keys([task]))[0, 0] == float(row["draw"])


def test_the_code_on_the_page_gives_the_table():
    code = {}
    exec(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1], code)
    for row in vectors():
        seed, id_, features, task = asked(row)
        by_id = features is None
        person = code["key_of_id"](id_) if by_id else code["key_of_features"](features)
        found = code["draw"](seed, person, code["task_key"](task))
        assert found == float(row["draw"])


def test_the_table_has_every_kind_of_row():
    rows = [asked(row) for row in vectors()]
    assert len(rows) >= 8
    assert any(seed > 2**31 for seed, *_ in rows)
    assert any(features is None and not id_.isascii() for _, id_, features, _ in rows)
    assert any(ord(max(id_, default=" ")) > 2**16 for _, id_, _, _ in rows)
    assert any(features and "-0.0" in map(str, features) for _, _, features, _ in rows)
    assert any(not task.isascii() for *_, task in rows)


@pytest.mark.parametrize("ids", [None, [7, 7.0, "7", "ann", "李雷 😀"]])
@pytest.mark.parametrize("seed", [0, 9, 2**32 - 1])
def test_predict_follows_the_rule(seed, ids):
    names = ["loan", "Förderung", "=1+1", "task\n"]
    rng = np.random.default_rng(seed)
    X, chances = rng.normal(size=(5, 2)), rng.random(len(names))
    X[0] = [0.0, -0.0]
    sample = Sample(X, np.zeros((5, len(names))), task_names=names)
    mixture = Mixture(constants(len(names)), [1 - chances, chances], sample, seed)
    words = ["7", "7", "7", "ann", "李雷 😀"]
    expected = [
        [
            drawn(seed, key_of_person(word, None if ids else x), key_of_task(name)) < chance
            for name, chance in zip(names, chances, strict=True)
        ]
        for word, x in zip(words, X.tolist(), strict=True)
    ]
    np.testing.assert_array_equal(mixture.predict(X, ids), expected)


def test_a_wrong_vector_is_noticed():
    (row,) = vectors(PAGE.partition("## Test vectors")[1] + _one_row("0.5"))
    assert drawn(0, key_of_person("ann", None), key_of_task("loan")) != float(row["draw"])


def _one_row(draw):
    head = "|".join(HEAD)
    return f"\n|{head}|\n|{'-|' * len(HEAD)}\n|0|ann||loan|0|0|{draw}|\n"
