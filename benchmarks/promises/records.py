"""The file of results: one JSON object per line, one line per table, split, oracle and request."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT

RECORDS = ROOT / "results" / "bench" / "promises.jsonl"
Record = dict[str, Any]


def read(file: Path) -> list[Record]:
    """Return all records; none if there is no file yet.

    Parameters
    ----------
    file : Path
    """
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def append(records: Iterable[Record], file: Path) -> None:
    """Write records at once, so that a run that is stopped later loses none of them.

    Parameters
    ----------
    records : iterable of dict
    file : Path
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as stream:
        stream.write("".join(f"{json.dumps(record)}\n" for record in records))
