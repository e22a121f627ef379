"""The results folder: tables, figures, a report, and how they came about.

``tables/`` holds what does not depend on the machine's speed, so that the tables of two runs can be
compared byte for byte; ``seconds/`` holds how long each run of each table took.
"""

from __future__ import annotations

import io
import json
import platform
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from averagefair.errors import InputError, extra
from averagefair.experiments.pictures import Picture, pictures
from averagefair.experiments.plan import Tables
from averagefair.experiments.story import Story
from averagefair.experiments.tidy import Column, Table
from averagefair.files import write_table, write_whole
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
    return place


def write_results(
    folder: str, tables: Tables, story: Story, facts: Mapping[str, Any]
) -> dict[str, list[str]]:
    """Write everything into a results folder, the manifest last.

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
    dict
        The files written, by kind.
    """
    place = make_folder(folder)
    written: dict[str, list[str]] = {"tables": [], "seconds": [], "figures": []}

    def write(part: str, name: str, content: Table | bytes) -> None:
        path = str(place / part / name)
        if isinstance(content, Table):
            write_table(path, content.columns)
        else:
            write_whole(path, content)
        written[part].append(f"{part}/{name}")

    for name, table in tables.items():
        for kind in ("csv", "parquet"):
            write("tables", f"{name}.{kind}", table.without("seconds"))
        if "seconds" in table.columns:
            keys = [key for key in RUN_KEYS if key in table.columns]
            write("seconds", f"{name}.csv", table.only(*keys, "seconds"))
    images = {}
    for name, picture in pictures(tables).items():
        drawn = {kind: draw(picture, kind) for kind in ("png", "svg")}
        for kind, content in drawn.items():
            write("figures", f"{name}.{kind}", content)
        images[name] = Image(drawn["png"], picture.alt)
    page = story_report(story.title, story.lead, story.sections, images, _shown(facts))
    write_whole(str(place / REPORT), page.encode())
    manifest = {
        **facts,
        "versions": versions(WRITTEN_BY),
        "platform": platform.platform(),
        "files": {
            name: sha256((place / name).read_bytes()).hexdigest()
            for part in written.values()
            for name in part
        },
    }
    text = json.dumps(plain(manifest), indent=2, allow_nan=False)
    write_whole(str(place / MANIFEST), f"{text}\n".encode())
    return {**written, "report": [REPORT], "manifest": [MANIFEST]}


def read_tables(folder: str) -> Tables:
    """Return the tables of a results folder, with the seconds of each run."""
    parquet, csv = extra("pyarrow.parquet", "files"), extra("pyarrow.csv", "files")
    found = {}
    files = sorted((Path(folder) / "tables").glob("*.parquet"))
    if not files:
        raise InputError(f"{folder} holds no tables; make them with: averagefair reproduce.")
    for file in files:
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
    return {name: value for name, value in facts.items() if isinstance(value, str | int | float)}
