"""read_evidence and check_evidence: whether a folder is as it was written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

from averagefair._util.names import in_a_line
from averagefair.errors import InputError
from averagefair.evidence.document import (
    EVIDENCE,
    FILES,
    FORMAT,
    KINDS,
    VERSION,
    digest,
    schema_bytes,
)
from averagefair.files.reading import check_path, check_regular

_MOST_WORDS = 20
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def read_evidence(folder: str | Path) -> dict[str, Any]:
    """Return the contents of evidence.json; refuse a folder that is not as it was written.

    Parameters
    ----------
    folder : str or Path
    """
    facts, problems = examine(folder)
    if problems:
        raise InputError(f"{folder} is not as it was written: {' '.join(problems)}")
    return facts


def check_evidence(folder: str | Path) -> tuple[str, ...]:
    """Return what does not agree in a folder of evidence, a sentence each; empty if all agrees.

    The hashes of all files are computed again. evidence.json must have the fields of its schema,
    each of the right type, and its own digest must agree. This finds damage and careless changes.
    Somebody who changes a file on purpose can also change its hash.

    Parameters
    ----------
    folder : str or Path
    """
    return examine(folder)[1]


def schema_of(kind: str) -> dict[str, Any]:
    """Return the JSON schema of a kind of evidence (draft 2020-12).

    Parameters
    ----------
    kind : {"audit", "certificate"}

    Examples
    --------
    >>> schema_of("audit")["title"]
    'Evidence of an audit'
    """
    found: dict[str, Any] = json.loads(schema_bytes(kind))
    return found


def examine(folder: str | Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the contents of evidence.json, and what does not agree.

    Parameters
    ----------
    folder : str or Path
    """
    place = Path(folder)
    check_path(str(folder))
    facts = _read(place)
    problems = [*_structure(facts, schema_of(facts["kind"]))][:_MOST_WORDS]
    if not problems and facts["digest"] != digest(facts):
        problems.append(f"{EVIDENCE} was changed: its digest does not agree.")
    listed = facts.get("files")
    hashes: Mapping[Any, Any] = listed if isinstance(listed, dict) else {}
    for name in FILES:
        if name in hashes:
            problems += _file(place, name, hashes[name])
    known = {EVIDENCE, *hashes}
    problems += [
        f"{in_a_line(name)} is not listed in {EVIDENCE}."
        for name in sorted(path.name for path in place.iterdir())
        if name not in known
    ]
    return facts, tuple(problems)


def _read(place: Path) -> dict[str, Any]:
    """Return the contents of evidence.json; refuse another kind of file or another version."""
    path = place / EVIDENCE
    if not place.is_dir():
        raise InputError(f"{place} is no folder. Name a folder of evidence.")
    check_regular(path)
    try:
        facts = json.loads(path.read_bytes(), parse_constant=_no_number, parse_float=_finite)
    except FileNotFoundError:
        raise InputError(f"{place} holds no evidence: there is no {EVIDENCE} in it.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not whole: {error}. Get the folder again.") from None
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise InputError(f"{path} is not evidence of averagefair.")
    if facts.get("version") != VERSION:
        raise InputError(
            f"{path} has version {facts.get('version')!r}; this release reads version {VERSION}. "
            "Use the release that wrote it."
        )
    if facts.get("kind") not in KINDS:
        raise InputError(f"{path} is of an unknown kind: {facts.get('kind')!r}.")
    return facts


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _finite(text: str) -> float:
    return float(text) if isfinite(float(text)) else _no_number(text[:20])


def _file(place: Path, name: str, known: Any) -> list[str]:
    path = place / name
    try:
        check_regular(path)
        content = path.read_bytes()
    except FileNotFoundError:
        return [f"{name} is missing."]
    except (InputError, OSError):
        return [f"{name} cannot be read."]
    return [] if sha256(content).hexdigest() == known else [f"{name} was changed."]


def _structure(facts: Any, schema: dict[str, Any]) -> Iterator[str]:
    """Yield what is missing or of the wrong type, by the required fields of the schema."""
    yield from _part(facts, schema, schema["$defs"], "")


def _part(value: Any, schema: Mapping[str, Any], defs: Mapping[str, Any], where: str) -> Any:
    if "$ref" in schema:
        schema = defs[schema["$ref"].removeprefix("#/$defs/")]
    if "anyOf" in schema:
        found = [[*_part(value, choice, defs, where)] for choice in schema["anyOf"]]
        yield from min(found, key=len)
        return
    kinds = schema.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is_a(value, kind) for kind in kinds):
        yield f"{where or EVIDENCE} must be of type {' or '.join(kinds)}."
        return
    if "const" in schema and value != schema["const"]:
        yield f"{where} must be {schema['const']!r}."
    if isinstance(value, str) and value in schema.get("not", {}).get("enum", ()):
        yield f"the fields beside {where} are not those of {value}."
    properties = schema.get("properties", {})
    if isinstance(value, dict):
        yield from (
            f"{EVIDENCE} has no {_below(where, name)}."
            for name in schema.get("required", ())
            if name not in value
        )
        if schema.get("additionalProperties") is False:
            yield from (
                f"{EVIDENCE} has an unknown field {_below(where, name)}."
                for name in value
                if name not in properties
            )
        for name, own in properties.items():
            if name in value:
                yield from _part(value[name], own, defs, _below(where, name))
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            yield from _part(item, schema["items"], defs, f"{where}[{number}]")


def _is_a(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind])


def _below(where: str, name: str) -> str:
    name = in_a_line(name)
    return f"{where}.{name}" if where else name
