"""Put the output of the benchmark of oracles into docs/oracles.md, and draw docs/oracles.png.

    python -m tools.oracles results/bench

``make bench-oracles`` writes oracles-PART.txt and oracles-PART.json into the folder for each part
that it runs. Parts without a file keep their section of the page. These sections are never edited
by hand.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import DOCS, markdown, write_section
from benchmarks.oracles.comparison import HEAD, cells
from benchmarks.oracles.tables import DEFAULT, LEAST_SQUARES, WRITTEN

PAGE, PICTURE = DOCS / "oracles.md", DOCS / "oracles.png"
AS_PRINTED = ("costs", "communities", "held-out", "few-people", "speed", "exact")
COLOURS = {LEAST_SQUARES: "#888888", DEFAULT: "#0b6e99"}
DPI = 110


def main() -> None:
    """Put the parts in the folder on the command line into the page."""
    folder = Path(sys.argv[1])
    for part in AS_PRINTED:
        file = folder / f"oracles-{part}.txt"
        if file.exists():
            write_section(PAGE, part, f"```text\n{file.read_text().strip()}\n```")
    comparison, curves = (read(folder, part) for part in ("comparison", "held-out"))
    if comparison:
        write_section(PAGE, "comparison", compared(comparison))
    if curves:
        draw(curves)


def read(folder: Path, part: str) -> dict[str, Any]:
    """Return the figures of a part; empty if it was not run."""
    file = folder / f"oracles-{part}.json"
    return json.loads(file.read_text()) if file.exists() else {}


def compared(figures: dict[str, Any]) -> str:
    """Return a table for each population, in Markdown."""
    parts = []
    for name, rows in figures["rows"].items():
        lines = [[oracle, *cells(row)] for oracle, row in rows.items()]
        parts.append(f"**{name}**: {figures['sizes'][name]}\n\n{markdown(['', *HEAD], lines)}")
    shown = {oracle for rows in figures["rows"].values() for oracle in rows}
    named = [[oracle, f"`{code}`"] for oracle, code in WRITTEN.items() if oracle in shown]
    listed = "\n".join(
        f"| {' | '.join(line)} |" for line in [["", "in Python"], [":--", ":--"], *named]
    )
    star = f"\\* This fit, or one of the curve, was ended after {figures['limit']:.0f} seconds."
    return "\n\n".join([*parts, star, listed])


def draw(figures: dict[str, Any]) -> None:
    """Draw error against unfairness on new people, and the difference of the two curves."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.8), width_ratios=(1.35, 1))
    for oracle, runs in figures["fits"].items():
        draw_curve(left, oracle, runs)
    left.set_xlabel("how much people's error rates differ\n(standard deviation, chance taken off)")
    left.set_ylabel("error")
    left.set_title(f"New people: means of {figures['splits']} random splits", fontsize=10)
    left.legend(frameon=False, fontsize=9)
    draw_difference(right, figures)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=DPI)
    plt.close(figure)


def draw_curve(axes: Any, oracle: str, runs: list[list[dict[str, Any]]]) -> None:
    """Draw an oracle's mean curve, with bars of one standard error over the splits."""
    error, sigma = (
        np.array([[one["people"][what] for one in run] for run in runs])
        for what in ("error", "sigma")
    )
    doubt = {what: standard_error(own) for what, own in (("yerr", error), ("xerr", sigma))}
    axes.errorbar(
        np.sqrt((sigma**2).mean(axis=0)),
        error.mean(axis=0),
        **doubt,
        color=COLOURS[oracle],
        marker="o",
        markersize=4,
        linewidth=1.4,
        capsize=2,
        label=f"{oracle} (bars: one standard error)",
    )


def standard_error(values: Any) -> Any:
    """Return the standard error of the means over the splits (rows); None for a single split."""
    return values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else None


def draw_difference(axes: Any, figures: dict[str, Any]) -> None:
    """Draw the default's error minus least squares' at equal unfairness, with intervals."""
    found = figures["differences"]["people"]
    values, low, high = (np.array([one[key] for one in found]) for key in ("value", "low", "high"))
    shares = 100 * np.array(figures["levels"])
    bars = None if np.isnan(low).any() else np.array([values - low, high - values])
    axes.axhline(0, color=COLOURS[LEAST_SQUARES], linewidth=1)
    axes.errorbar(
        shares, values, yerr=bars, color=COLOURS[DEFAULT], marker="o", markersize=4, capsize=3
    )
    axes.set_xlabel("unfairness, in % of least squares'\nwithout a constraint")
    axes.set_ylabel(f"error of the {DEFAULT}\nless that of {LEAST_SQUARES}")
    axes.set_title("At equal unfairness (95% intervals)", fontsize=10)


if __name__ == "__main__":
    main()
