"""Put the recorded tables of the paper's experiments into docs/experiments.md.

    python -m tools.experiments            # put docs/experiments/*.csv into the page
    python -m tools.experiments results    # first record the tables and figures of a full run

``results`` holds the results folders ``communities`` and ``synthetic`` of ``make reproduce``. The
text of the page is written by hand. A table goes between ``<!-- table: NAME -->`` and
``<!-- end -->``; a figure is recorded if the page shows it. The page stays as it is if a table has
no marker, a marker has no table, or the text quotes a number that is in no table.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from PIL import Image  # comes with matplotlib

from reproduction.folder import draw, read_manifest, read_tables
from reproduction.pictures import pictures
from reproduction.tables import listings

PAGE = Path(__file__).parents[1] / "docs" / "experiments.md"
RECORD = PAGE.with_suffix("")
POPULATIONS = ("communities", "synthetic")
PLACE = re.compile(
    r"<!-- table: (?P<name>[\w-]+) -->\n(?:(?!<!-- table).)*?<!-- end -->", re.DOTALL
)
BEGIN = re.compile(r"<!-- table: ([\w-]+) -->")
FIGURE = re.compile(r"\]\(experiments/(communities|synthetic)-(\w+)\.png\)")
LINK = re.compile(r"\]\([^)]*\)")
QUOTED = re.compile(r"(?<![\w.])-?\d+(?:\.\d+|(?:\.\d+)?%)")
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?%?")
COLOURS, DPI = 128, 90

Rows = Sequence[Sequence[str]]


class PageError(Exception):
    """The page and the tables do not fit together."""


def main() -> None:
    """Record the results folder, if the command line names one; fill the page."""
    text = PAGE.read_text("utf-8")
    try:
        if sys.argv[1:]:
            record(Path(sys.argv[1]), text)
        filled = fill(text, recorded(RECORD))
    except PageError as error:
        sys.exit(f"{error} Nothing was written into {PAGE.name}.")
    PAGE.write_text(filled, "utf-8")


def recorded(folder: Path) -> dict[str, Rows]:
    """Return the recorded tables by name; the first row of each is its head."""
    found = {}
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            found[path.stem] = list(csv.reader(file))
    return found


def fill(text: str, tables: Mapping[str, Rows]) -> str:
    """Return the page with every table between its markers.

    Parameters
    ----------
    text : str
        The page.
    tables : mapping of str to rows
        The first row of each table is its head.
    """
    begun, places = BEGIN.findall(text), [match["name"] for match in PLACE.finditer(text)]
    if begun != places:
        raise PageError(f"A table's marker lacks its <!-- end -->: {', '.join(begun)}.")
    missing = sorted(tables.keys() - set(places))
    if missing:
        raise PageError(f"The page lacks <!-- table: NAME --> for {', '.join(missing)}.")
    unknown = sorted(name for name in places if name not in tables or places.count(name) > 1)
    if unknown:
        raise PageError(f"These markers have no table of their own: {', '.join(unknown)}.")
    invented = quoted_in_vain(text, tables)
    if invented:
        raise PageError(f"The text quotes numbers that no table has: {', '.join(invented)}.")

    def put(match: re.Match[str]) -> str:
        name = match["name"]
        return f"<!-- table: {name} -->\n\n{markdown(tables[name])}\n\n<!-- end -->"

    return PLACE.sub(put, text)


def markdown(rows: Rows) -> str:
    """Return a table in Markdown."""
    head, *body = rows
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *body])


def quoted_in_vain(text: str, tables: Mapping[str, Rows]) -> list[str]:
    """Return the decimals and percentages in the text that do not round a number of a table."""
    cells = " ".join(cell for rows in tables.values() for row in rows for cell in row)
    known = [number.replace(",", "") for number in NUMBER.findall(cells)]
    prose = LINK.sub("", PLACE.sub("", text))
    return [
        number for number in QUOTED.findall(prose) if not any(_rounds(number, k) for k in known)
    ]


def _rounds(quoted: str, known: str) -> bool:
    """Return whether a quoted number equals a known number, rounded to the quoted digits."""
    if quoted.endswith("%") != known.endswith("%"):
        return False
    digits = len(quoted.rstrip("%").partition(".")[2])
    half = 0.5 * 10.0**-digits + 1e-12
    return abs(float(quoted.rstrip("%")) - float(known.rstrip("%"))) <= half


def record(results: Path, text: str) -> None:
    """Write the tables and figures of full runs beside the page; remove earlier ones.

    Parameters
    ----------
    results : Path
        The folder of the results folders.
    text : str
        The page; only the figures that it shows are recorded.
    """
    tables: dict[str, Rows] = {}
    figures: dict[str, bytes] = {}
    facts = {}
    for population in POPULATIONS:
        folder = str(results / population)
        facts[population] = read_manifest(folder)
        if facts[population]["quick"] or not facts[population].get("large", True):
            raise PageError(f"{folder} holds a quick or a small run; the page shows full ones.")
        found = read_tables(folder)
        for name, listing in listings(found).items():
            tables[f"{population}-{name}"] = [listing.head, *listing.rows]
        drawn = pictures(found)
        for shown, name in FIGURE.findall(text):
            if shown == population:
                if name not in drawn:
                    raise PageError(f"The page shows {shown}-{name}.png, which is not drawn.")
                figures[f"{population}-{name}"] = draw(drawn[name], "png", DPI)
    tables["runs"] = runs(facts)
    for old in (*RECORD.glob("*.csv"), *RECORD.glob("*.png")):
        old.unlink()
    for name, rows in tables.items():
        with (RECORD / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
    for name, content in figures.items():
        small = Image.open(io.BytesIO(content)).convert("RGB").quantize(COLOURS)
        small.save(RECORD / f"{name}.png", optimize=True)


def runs(facts: Mapping[str, Mapping[str, object]]) -> Rows:
    """Return a table of the runs: seconds, versions, data."""
    columns = []
    for known in facts.values():
        versions = known["versions"]
        assert isinstance(versions, dict)
        seconds, digest = float(str(known["seconds"])), str(known["data sha256"])
        columns.append({"seconds": f"{seconds:.0f}", **versions, "data sha256": f"{digest[:16]}…"})
    return [["", *facts], *([name, *(column[name] for column in columns)] for name in columns[0])]


if __name__ == "__main__":
    main()
