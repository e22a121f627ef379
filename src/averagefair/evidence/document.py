"""evidence.json: what it holds, and its digest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Any

from averagefair._util.text import plain
from averagefair._util.versions import versions
from averagefair.errors import InputError
from averagefair.evidence.record import Record

FORMAT, VERSION = "averagefair evidence", 1
EVIDENCE, REPORT, CARD, SCHEMA = "evidence.json", "report.html", "card.md", "schema.json"
FILES = (EVIDENCE, REPORT, CARD, SCHEMA)
KINDS = ("audit", "certificate")


def document(record: Record, files: Mapping[str, bytes], made: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contents of evidence.json.

    Parameters
    ----------
    record : Record
    files : mapping of str to bytes
        The other files of the folder.
    made : mapping
        When and with which versions: :func:`made_now`.
    """
    facts = {
        "format": FORMAT,
        "version": VERSION,
        "kind": record.kind,
        "title": record.title,
        "made": dict(made),
        "settings": record.settings,
        "repeat": record.repeat,
        "data": record.data,
        "verdict": record.verdict,
        "words": record.words,
        "outcome": record.outcome,
        "figures": record.figures,
        "not_proved": record.not_proved,
        "files": {name: sha256(content).hexdigest() for name, content in files.items()},
    }
    facts = plain(facts)
    return {**facts, "digest": digest(facts)}


def made_now() -> dict[str, Any]:
    """Return the time, as UTC to the second, and the versions of the software."""
    return {"time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "versions": versions()}


def digest(facts: Mapping[str, Any]) -> str:
    """Return a SHA-256 of everything in evidence.json but the digest itself.

    It is taken of the JSON with sorted keys, without spaces, in ASCII.

    Parameters
    ----------
    facts : mapping
    """
    own = {name: value for name, value in facts.items() if name != "digest"}
    text = json.dumps(own, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return sha256(text.encode()).hexdigest()


def to_json(facts: Mapping[str, Any]) -> bytes:
    """Return the bytes of evidence.json, readable by people where UTF-8 can hold the names."""
    try:
        return (json.dumps(facts, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()
    except UnicodeEncodeError:  # half of a surrogate pair, in the name of a file or a person
        return (json.dumps(facts, indent=1, allow_nan=False) + "\n").encode()


@cache
def schema_bytes(kind: str) -> bytes:
    """Return the file of the schema of a kind of evidence.

    Parameters
    ----------
    kind : {"audit", "certificate"}
    """
    if kind not in KINDS:
        raise InputError(f"the kind of evidence must be one of {', '.join(KINDS)}; got {kind!r}.")
    folder = resources.files("averagefair.evidence").joinpath("schemas")
    return folder.joinpath(f"{kind}-{VERSION}.json").read_bytes()
