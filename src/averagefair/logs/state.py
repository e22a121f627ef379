"""A saved log: a folder with an Arrow file of sums for each source, and ``log.json``.

The Arrow files hold a row for each person, task and window: any Arrow library reads them. No event
is stored. ``log.json`` is written last, so a folder is always as before or as wanted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.errors import InputError, extra
from averagefair.files.writing import drafted, write_whole
from averagefair.logs.source import Columns, Source
from averagefair.logs.sums import Sums, smallest

FORMAT, VERSION = "averagefair decision log", 1
_LIST = "log.json"


def save(folder: Any, columns: Columns, sources: Sequence[Source]) -> None:
    """Write what is not there yet, then the list.

    Parameters
    ----------
    folder : path
    columns : Columns
    sources : sequence of Source
    """
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise InputError(f"{place} is a file; a log is saved to a folder.")
    known: dict[str, Any] = {}
    if (place / _LIST).exists():
        there = _read_list(place)
        if there["columns"] != columns._asdict():
            raise InputError(
                f"{place} holds another log, with other columns. Save to another folder."
            )
        known = {own["file"]: own for own in there["sources"]}
    elif place.is_dir() and any(place.iterdir()):
        raise InputError(f"{place} is not empty and holds no log. Save to a folder of its own.")
    made = not place.exists()
    place.mkdir(parents=True, exist_ok=True)
    listed: list[dict[str, Any]] = []
    written: list[Path] = []
    try:
        for source in sources:
            file = f"{_digest(source)[:24]}.arrow"
            if file not in known or not (place / file).exists():
                with drafted(str(place / file)) as draft:
                    _write(draft, source)
                written.append(place / file)
            listed.append(
                {
                    "name": source.name,
                    "file": file,
                    "events": source.events,
                    "unlabelled": source.unlabelled,
                }
            )
        facts = {
            "format": FORMAT,
            "version": VERSION,
            "columns": columns._asdict(),
            "sources": listed,
        }
        write_whole(str(place / _LIST), (json.dumps(facts, indent=1) + "\n").encode())
    except BaseException:  # a full disk, Ctrl-C: leave the folder as it was
        with suppress(OSError):
            for path in written:
                path.unlink(missing_ok=True)
            if made:
                place.rmdir()
        raise
    for file in set(known) - {own["file"] for own in listed}:
        (place / file).unlink(missing_ok=True)


def load(folder: Any) -> tuple[Columns, tuple[Source, ...]]:
    """Return the columns and the sources of a saved log.

    Parameters
    ----------
    folder : path
    """
    place = Path(folder)
    facts = _read_list(place)
    try:
        return _columns(facts), tuple(_read(place, own) for own in facts["sources"])
    except InputError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{place / _LIST} is damaged: {error}. Make the log again.") from None


def saved_columns(folder: Any) -> Columns:
    """Return the columns of a saved log, without its sums.

    Parameters
    ----------
    folder : path
    """
    place = Path(folder)
    try:
        return _columns(_read_list(place))
    except (KeyError, TypeError) as error:
        raise InputError(f"{place / _LIST} is damaged: {error}. Make the log again.") from None


def _columns(facts: dict[str, Any]) -> Columns:
    columns = Columns(**facts["columns"])
    if not all(isinstance(name, str) for name in columns.used()):
        raise TypeError("the name of a column is not text")
    return columns


def _read_list(place: Path) -> dict[str, Any]:
    path = place / _LIST
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{place} holds no log: there is no {_LIST} in it.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from None
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise InputError(f"{path} is not the list of a decision log.")
    if facts.get("version") != VERSION:
        raise InputError(
            f"{path} has version {facts.get('version')!r}; this release reads version {VERSION}. "
            "Update averagefair, or make the log again."
        )
    return facts


def _digest(source: Source) -> str:
    """Return a digest of the sums: the same sums, the same file."""
    found = hashlib.sha256(source.name.encode())
    for window, sums in source.sums.items():
        found.update(str(window).encode())
        for column in (source.people, source.tasks, *sums.columns()):
            found.update(np.ascontiguousarray(column).view(np.uint8).data)
    return found.hexdigest()


def _write(file: Any, source: Source) -> None:
    pa, ipc = extra("pyarrow", "logs"), extra("pyarrow.ipc", "logs")
    people, tasks = (_names(names) for names in (source.people, source.tasks))
    schema = pa.schema(
        [
            ("window", pa.int64()),
            ("person", pa.dictionary(pa.uint32(), people.type)),
            ("task", pa.dictionary(pa.uint32(), tasks.type)),
            ("label", pa.bool_()),
            ("decisions", pa.float64()),
            ("wrong", pa.float64()),
        ]
    )
    options = ipc.IpcWriteOptions(compression="lz4")
    with ipc.new_file(file, schema, options=options) as writer:
        for window, sums in source.sums.items():
            for rows in _slices(len(sums)):
                person, task, label, count, wrong = (part[rows] for part in sums.columns())
                columns = [
                    pa.array(np.full(len(person), window)),
                    pa.DictionaryArray.from_arrays(pa.array(person.astype(np.uint32)), people),
                    pa.DictionaryArray.from_arrays(pa.array(task.astype(np.uint32)), tasks),
                    pa.array(label),
                    pa.array(count.astype(np.float64)),
                    pa.array(wrong.astype(np.float64)),
                ]
                writer.write_batch(pa.record_batch(columns, schema=schema))


def _slices(rows: int, step: int = 1_000_000) -> list[slice]:
    return [slice(start, min(rows, start + step)) for start in range(0, rows, step)]


def _names(names: NDArray[Any]) -> Any:
    pa = extra("pyarrow", "logs")
    if names.dtype.kind == "U":
        return pa.array(names.tolist(), pa.large_string())
    return pa.array(names, pa.int64())


def _read(place: Path, facts: dict[str, Any]) -> Source:
    pa, ipc = extra("pyarrow", "logs"), extra("pyarrow.ipc", "logs")
    path = place / str(facts["file"])
    if path.parent != place:
        raise InputError(f"{place / _LIST} names a file outside its folder: {facts['file']!r}.")
    parts: dict[int, list[list[NDArray[Any]]]] = {}
    names: list[NDArray[Any]] = []
    try:
        with pa.memory_map(str(path)) as file:
            reader = ipc.open_file(file)
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                window = int(batch.column("window")[0].as_py())
                coded = [batch.column(name) for name in ("person", "task")]
                if not names:
                    names = [_from_names(own.dictionary) for own in coded]
                rows = [own.indices.to_numpy() for own in coded]
                rows.append(batch.column("label").to_numpy(zero_copy_only=False))
                rows += [batch.column(name).to_numpy() for name in ("decisions", "wrong")]
                rows = [rows[0].copy(), _narrow(rows[1], len(names[1])), rows[2], *rows[3:]]
                rows[3:] = [smallest(part) for part in rows[3:]]
                parts.setdefault(window, []).append(rows)
    except (pa.ArrowException, OSError, KeyError, IndexError) as error:
        raise InputError(
            f"{path} is missing or damaged: {error}. Make the log again from its events."
        ) from None
    sums = {}
    for window, found in parts.items():
        columns = [np.concatenate(column) for column in zip(*found, strict=True)]
        sums[window] = Sums(*columns[:3], *(smallest(column) for column in columns[3:]))
    _check(path, sums, names)
    return Source(
        str(facts["name"]),
        names[0],
        names[1],
        sums,
        int(facts["events"]),
        int(facts["unlabelled"]),
    )


def _narrow(numbers: NDArray[Any], size: int) -> NDArray[Any]:
    return numbers.astype(smallest(np.array([size])).dtype)


def _from_names(dictionary: Any) -> NDArray[Any]:
    pa = extra("pyarrow", "logs")
    if pa.types.is_integer(dictionary.type):
        return np.asarray(dictionary.to_numpy())
    return np.array(dictionary.to_pylist(), dtype=np.str_)


def _check(path: Path, sums: dict[int, Sums], names: list[NDArray[Any]]) -> None:
    """Refuse sums that no log can have written."""
    for own in sums.values():
        count, wrong = own.count.astype(np.float64), own.wrong.astype(np.float64)
        right = (
            len(names) == 2
            and all((part[1:] > part[:-1]).all() for part in names)
            and bool((own.person[1:] >= own.person[:-1]).all())
            and int(own.person.max(initial=0)) < len(names[0])
            and int(own.task.max(initial=0)) < len(names[1])
            and bool(((count > 0) & (wrong >= 0) & (wrong <= count + 1e-6)).all())
        )
        if not right:
            raise InputError(f"{path} is damaged: its sums are not those of a decision log.")
