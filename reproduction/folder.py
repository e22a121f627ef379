"""The results folder: tables, figures, a report, and a manifest of how they were made.

``tables/`` does not depend on the machine's speed, so the tables of two runs can be compared byte
for byte. ``seconds/`` holds how long each run of each table took.
"""

from __future__ import annotations

import io
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from averagefair._util.text import plain
from averagefair._util.versions import versions
from averagefair.errors import InputError, extra
from averagefair.experiments.tidy import Column, ResultTable
from averagefair.files.writing import Draft, beside, check_output, table_content
from averagefair.showing.report import Image, story_report
from reproduction.pictures import Picture, pictures
from reproduction.plan import Tables
from reproduction.report import Report

FOLDERS = ("tables", "seconds", "figures")
REPORT, MANIFEST = "report.html", "manifest.json"
WRITTEN_BY = ("narwhals", "matplotlib", "pyarrow", "jinja2")
RUN_KEYS = (
    *("rate", "solver", "alpha", "q", "population", "learned_from", "held_out_tasks", "split"),
    *("direction", "size"),
)
"""The columns that identify a run."""
DPI = 110


def make_folder(folder: str) -> Path:
    """Make a results folder and its parts; raise InputError if they cannot be made."""
    place = Path(folder)
    try:
        for part in FOLDERS:
            (place / part).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made a results folder: {error.strerror}.") from None
    for part in (MANIFEST, *(f"{part}/{MANIFEST}" for part in FOLDERS)):
        check_output(str(place / part))
    return place


def remove_empty(folder: str) -> None:
    """Remove the folders that :func:`make_folder` made, if they are empty."""
    for place in (*(Path(folder) / part for part in FOLDERS), Path(folder)):
        with suppress(OSError):
            place.rmdir()


def write_results(
    folder: str, tables: Tables, report: Report, facts: Mapping[str, Any]
) -> list[str]:
    """Write everything into a results folder, replacing the files of an earlier run.

    All new files are written before any file of an earlier run is touched. Then the old manifest is
    removed first, and the new one is added last. So a manifest always lists what the folder holds.

    Parameters
    ----------
    folder : str
    tables : dict of str to ResultTable
    report : Report
    facts : mapping
        For the manifest: command, seeds, data, settings.

    Returns
    -------
    list of str
        The names of the files, the manifest last.
    """
    place = make_folder(folder)
    digests, drafts = {}, []
    try:
        for name, content in _contents(tables, report, facts):
            if isinstance(content, ResultTable):
                content = table_content(name, content.columns)
            digests[name] = sha256(content).hexdigest()
            drafts.append(_draft(place / name, content))
        manifest = {
            **facts,
            "versions": versions(WRITTEN_BY),
            "platform": platform.platform(),
            "files": digests,
        }
        text = json.dumps(plain(manifest), indent=2, allow_nan=False)
        last = _draft(place / MANIFEST, f"{text}\n".encode())
        drafts.append(last)
        _replace(place, drafts[:-1], {*digests})
        last.publish()
    finally:
        for draft in drafts:
            draft.discard()
    return [*digests, MANIFEST]


def _draft(path: Path, content: bytes) -> Draft:
    """Write a file of a results folder under a temporary name; return the draft."""
    draft = Draft(str(path))
    try:
        draft.write(content)
        draft.finish()
    except BaseException:
        draft.discard()
        raise
    return draft


def _contents(
    tables: Tables, report: Report, facts: Mapping[str, Any]
) -> Iterator[tuple[str, ResultTable | bytes]]:
    """Yield the files of a results folder, each with its name and content."""
    for name, table in tables.items():
        for kind in ("csv", "parquet"):
            yield f"tables/{name}.{kind}", table.without("seconds")
        if "seconds" in table.columns:
            keys = [key for key in RUN_KEYS if key in table.columns]
            yield f"seconds/{name}.csv", table.only(*keys, "seconds")
    images = {}
    for name, picture in pictures(tables).items():
        drawn = {kind: draw(picture, kind) for kind in ("png", "svg")}
        yield from ((f"figures/{name}.{kind}", content) for kind, content in drawn.items())
        images[name] = Image(drawn["png"], picture.alt)
    page = story_report(*report, images, _shown(facts))
    yield REPORT, page.encode()


def _replace(place: Path, drafts: Sequence[Draft], names: set[str]) -> None:
    """Replace the files that an earlier run's manifest lists; other files stay."""
    listed = _listed(place)
    aside = beside(place / MANIFEST)
    touched = False
    try:
        if listed is not None:
            (place / MANIFEST).rename(aside)
        for draft in drafts:
            draft.publish()
            touched = True
        for name in {*(listed or [])} - names:
            parts = Path(name).parts
            if name == REPORT or (len(parts) == 2 and parts[0] in FOLDERS):
                (place / name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{place} cannot be written: {error.strerror or error}.") from None
    finally:
        with suppress(OSError):
            if touched:
                aside.unlink(missing_ok=True)
            elif aside.exists():
                aside.rename(place / MANIFEST)


def _listed(place: Path) -> list[str] | None:
    """Return the files that an earlier run's manifest lists, or None without a manifest."""
    try:
        return [*map(str, json.loads((place / MANIFEST).read_text("utf-8"))["files"])]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_manifest(folder: str) -> dict[str, Any]:
    """Return the manifest of a results folder."""
    try:
        found: dict[str, Any] = json.loads((Path(folder) / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError):
        raise InputError(
            f"{folder} holds no results; make them with: python -m reproduction."
        ) from None
    return found


def read_tables(folder: str) -> Tables:
    """Return the tables of a results folder, with the seconds of each run."""
    parquet, csv = extra("pyarrow.parquet", "files"), extra("pyarrow.csv", "files")
    found = {}
    for name, digest in read_manifest(folder)["files"].items():
        file = Path(folder) / name
        if file.suffix != ".parquet":
            continue
        if not file.exists() or sha256(file.read_bytes()).hexdigest() != digest:
            raise InputError(f"{file} differs from {MANIFEST}; run the experiments again.")
        table = _of_arrow(parquet.read_table(file))
        clock = Path(folder) / "seconds" / f"{file.stem}.csv"
        if clock.exists():
            runs = _of_arrow(csv.read_csv(clock)).columns
            seconds = runs.pop("seconds")
            known = dict(zip(_keys(runs), seconds.tolist(), strict=True))
            here = _keys({name: table[name] for name in runs})
            table = table.with_columns(seconds=[known[key] for key in here])
        found[file.stem] = table
    return found


def _keys(columns: Mapping[str, Column]) -> list[tuple[Any, ...]]:
    return list(zip(*(values.tolist() for values in columns.values()), strict=True))


def _of_arrow(table: Any) -> ResultTable:
    return ResultTable({name: table[name].to_pylist() for name in table.column_names})


def draw(picture: Picture, kind: str, dpi: int = DPI) -> bytes:
    """Return a picture as a PNG or SVG file; the same picture gives the same bytes."""
    matplotlib, sink = extra("matplotlib", "plots"), io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "averagefair"}):
        # Leave out the date and matplotlib's version, so that the bytes do not change.
        nothing = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
        picture.figure.savefig(sink, format=kind, dpi=dpi, metadata=nothing)
    picture.figure.set_layout_engine("none")  # the layout is done; keep it for the next format
    return sink.getvalue()


def _shown(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that are a string or a number, for the report."""
    shown = {name: value for name, value in facts.items() if isinstance(value, str | int | float)}
    return {
        name: round(value) if isinstance(value, float) else value for name, value in shown.items()
    }
