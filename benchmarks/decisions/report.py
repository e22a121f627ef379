"""Tables and the figure from the results: ``python -m benchmarks.decisions.report``.

Prints the tables in Markdown and draws docs/balance.png. ``--page docs/decisions.md`` writes each
part's tables into that page instead, between its two markers.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.common import DOCS, write_section
from benchmarks.decisions import choice_time, paper, splits, stream
from benchmarks.decisions.figure import draw
from benchmarks.decisions.fits import ORACLES
from benchmarks.decisions.records import RECORDS, Records


def main() -> None:
    given = arguments()
    records = Records(given.records)
    if not records.known:
        sys.exit(f"{given.records} has no results yet: run python -m benchmarks.decisions first.")
    parts = {
        "paper": paper.report(records),
        "splits": splits.report(records, splits.POPULATIONS, ORACLES),
        "stream": stream.report(records),
        "time": choice_time.report(records),
    }
    for name, texts in parts.items():
        text = "\n\n".join(texts)
        if given.page:
            write_section(given.page, f"decisions-{name}", text)
        else:
            print(f"{text}\n")
    if found := stream.by_population(records):
        draw(found, given.figure)
    if others := records.others(record["job"] for record in records.known.values()):
        print(f"{others} results are of other sources than the present ones.", file=sys.stderr)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Make tables and a figure from the results.")
    add = parser.add_argument
    add("--records", type=Path, default=RECORDS, help="file of results")
    add("--page", type=Path, help="page to write the tables into; default: print them")
    add("--figure", type=Path, default=DOCS / "balance.png", help="picture to draw")
    return parser.parse_args()


if __name__ == "__main__":
    main()
