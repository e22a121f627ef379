"""Write docs/experiments.md and its figures from the results of ``averagefair reproduce``.

Usage: python docs/experiments.py RESULTS, a folder with the results folders ``communities`` and
``synthetic`` in it. No number on the page is written by hand.
"""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

from PIL import Image  # comes with matplotlib

from averagefair.experiments.figures import PUBLISHED
from averagefair.experiments.folder import draw, read_manifest, read_tables
from averagefair.experiments.pictures import pictures
from averagefair.experiments.plan import Tables
from averagefair.experiments.story import Story, communities_story, synthetic_story
from averagefair.report import Listing

HERE = Path(__file__).parent
FIGURES = HERE / "experiments"
PUBLISHED_RUNS = HERE.parents[1] / "shared" / "reference" / "communities_runs.csv"
STORIES = {"communities": communities_story, "synthetic": synthetic_story}
TITLES = {"communities": "Communities and Crime", "synthetic": "The synthetic population"}
COLOURS, DPI = 128, 90
# Of the rates that the paper does not show, these two figures will do here; the report has all.
LEFT_OUT = tuple(
    f"{kind}_{rate}"
    for kind in ("convergence", "noise", "corrected")
    for rate in ("false_positive", "false_negative")
)


def main(results: str) -> None:
    """Write the page."""
    FIGURES.mkdir(exist_ok=True)
    for old in FIGURES.glob("*.png"):
        old.unlink()
    parts = [
        "# The paper's experiments",
        "What the figures of Kearns, Roth and Sharifi-Malvajerdi (2019) show, what comes out here, "
        "and what goes beyond them. This page is written by `make experiments` from the tables of "
        "`averagefair reproduce communities` and `averagefair reproduce synthetic --large`; every "
        "number and every count on it comes from there. The same commands write a results folder "
        "with all tables (CSV and Parquet), all figures (PNG and SVG) and a report in one file.",
    ]
    for name, tell in STORIES.items():
        folder = str(Path(results) / name)
        facts = read_manifest(folder)
        if facts["quick"] or not facts.get("large", True):
            sys.exit(f"{folder} holds a quick or a small run; this page tells of the full ones.")
        tables = read_tables(folder)
        extra = published_runs(tables) if name == "communities" else []
        parts += part(name, tell(tables), tables, extra)
        parts.append(made(facts))
    (HERE / "experiments.md").write_text("\n\n".join(parts) + "\n", "utf-8")


def part(name: str, story: Story, tables: Tables, extra: list[str]) -> list[str]:
    """Return the paragraphs of one population, its figures drawn."""
    drawn = pictures(tables)
    lines = [f"## {TITLES[name]}"]
    lines += [story.lead, *extra, "In short:"]
    lines.append("\n".join(f"- *{one.title}.* {one.gist}" for one in story.sections if one.gist))
    for section in story.sections:
        lines += [f"### {section.title}", *section.paragraphs]
        for figure in section.figures:
            if figure not in LEFT_OUT:
                file = FIGURES / f"{name}-{figure}.png"
                small = Image.open(io.BytesIO(draw(drawn[figure], "png", DPI)))
                small.convert("RGB").quantize(COLOURS).save(file, optimize=True)
                lines.append(f"![{drawn[figure].alt}](experiments/{file.name})")
        lines += [markdown(listing) for listing in section.listings if listing.rows]
    return lines


def markdown(listing: Listing) -> str:
    """Return a table, its caption above it."""
    rows = [listing.head, ["---"] * len(listing.head), *listing.rows]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"*{listing.caption}:*\n\n{table}"


def published_runs(tables: Tables) -> list[str]:
    """Hold re-runs in the authors' setting against their published rows, where those are."""
    if not PUBLISHED_RUNS.exists():
        return []
    ours = tables["generalisation"].where(rate="error", solver=PUBLISHED, corner="training")
    with PUBLISHED_RUNS.open(encoding="utf-8") as file:
        theirs = list(csv.DictReader(file))
    off = {
        what: max(
            abs(float(row[what]) - ours.where(alpha=float(row["alpha"]))[what][0]) for row in theirs
        )
        for what in ("error", "spread")
    }
    return [
        f"The authors published the results of {len(theirs)} runs of 1000 rounds, to six decimals. "
        f"Re-runs here in the authors' setting are off by at most {off['error']:.7f} in error and "
        f"{off['spread']:.7f} in spread."
    ]


def made(facts: dict[str, object]) -> str:
    """Say how the tables were made."""
    versions = facts["versions"]
    assert isinstance(versions, dict)
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        f"Made by `{facts['command']}` in {float(str(facts['seconds'])):.0f} s ({named}; data "
        f"sha256 {str(facts['data sha256'])[:16]}…)."
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
