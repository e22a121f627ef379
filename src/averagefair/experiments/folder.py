"""The results folder: tables, figures, a report, and how they came about.

``tables/`` holds what does not depend on the machine's speed, so that the tables of two runs can be
compared byte for byte; ``seconds/`` holds how long each run of each table took.
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

from averagefair.errors import InputError, extra
from averagefair.experiments.pictures import Picture, pictures
from averagefair.experiments.plan import Tables
from averagefair.experiments.story import Story
from averagefair.experiments.tidy import Column, Table
from averagefair.files.writing import Draft, beside, check_output, table_content
from averagefair.report import Image, story_report
from averagefair.text import plain
from averagefair.versions import versions

FOLDERS = ("tables", "seconds", "figures")
REPORT, MANIFEST = "report.html", "manifest.json"
WRITTEN_BY = ("narwhals", "matplotlib", "pyarrow", "jinja2")
RUN_KEYS = (
    *("rate", "solver", "alpha", "q", "population", "learned_from", "held_out_tasks", "split"),
    *("direction", "size"),
)
"""The columns that tell runs apart."""
DPI = 110


def make_folder(folder: str) -> Path:
    """Make a results folder and its parts; refuse, before any work, one that cannot be made."""
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
    """Remove what :func:`make_folder` made, where nothing has come into it."""
    for place in (*(Path(folder) / part for part in FOLDERS), Path(folder)):
        with suppress(OSError):
            place.rmdir()


def write_results(folder: str, tables: Tables, story: Story, facts: Mapping[str, Any]) -> list[str]:
    """Write everything into a results folder, in the place of what an earlier run wrote.

    All is written before anything of an earlier run is touched. Then its manifest goes first and
    the new one comes last: a folder that has one holds what it lists.

    Parameters
    ----------
    folder : str
    tables : dict of str to Table
    story : Story
        What the tables say.
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
        for name, content in _contents(tables, story, facts):
            if isinstance(content, Table):
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
    """Return a file of a results folder, finished."""
    draft = Draft(str(path))
    try:
        draft.write(content)
        draft.finish()
    except BaseException:
        draft.discard()
        raise
    return draft


def _contents(
    tables: Tables, story: Story, facts: Mapping[str, Any]
) -> Iterator[tuple[str, Table | bytes]]:
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
    page = story_report(story.title, story.lead, story.sections, images, _shown(facts))
    yield REPORT, page.encode()


def _replace(place: Path, drafts: Sequence[Draft], names: set[str]) -> None:
    """Put files in the place of those that an earlier run lists; others stay."""
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
    """Return the files that an earlier run lists, None where there was none."""
    try:
        return [*map(str, json.loads((place / MANIFEST).read_text("utf-8"))["files"])]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_manifest(folder: str) -> dict[str, Any]:
    """Return what a results folder says of itself."""
    try:
        found: dict[str, Any] = json.loads((Path(folder) / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError):
        raise InputError(
            f"{folder} holds no results; make them with: averagefair reproduce."
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
            raise InputError(f"{file} is not what {MANIFEST} lists; run the experiments again.")
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


def _of_arrow(table: Any) -> Table:
    return Table({name: table[name].to_pylist() for name in table.column_names})


def draw(picture: Picture, kind: str, dpi: int = DPI) -> bytes:
    """Return a picture as a PNG or SVG file; the same picture gives the same bytes."""
    matplotlib, sink = extra("matplotlib", "plots"), io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "averagefair"}):
        # Neither the date nor the version of what drew it.
        nothing = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
        picture.figure.savefig(sink, format=kind, dpi=dpi, metadata=nothing)
    picture.figure.set_layout_engine("none")  # laid out once is enough
    return sink.getvalue()


def _shown(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that fit on a page."""
    shown = {name: value for name, value in facts.items() if isinstance(value, str | int | float)}
    return {name: round(one) if isinstance(one, float) else one for name, one in shown.items()}
