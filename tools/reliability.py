"""Put the records of the long tests into docs/reliability.md.

    python -m tools.reliability results/reliability

The folder holds a JSON file for each line of the table. ``make test-long`` writes these files and
then runs this script. Lines that were not run again keep their earlier file. The table is never
edited by hand.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.common import DOCS, write_section

PAGE = DOCS / "reliability.md"
HEAD = ("what was tried", "how often", "what came of it")


def main() -> None:
    """Put the records in the folder on the command line into the page."""
    files = sorted(Path(sys.argv[1]).glob("*.json"))
    if not files:
        sys.exit(f"{sys.argv[1]} holds no records; make test-long writes them.")
    lines = [json.loads(file.read_text("utf-8")) for file in files]
    rows = [[line["what"], f"{line['count']:,}", line["outcome"]] for line in lines]
    write_section(PAGE, "tried", table(rows))


def table(rows: list[list[str]]) -> str:
    """Return a table in Markdown: words aligned left, numbers aligned right."""
    lines = [HEAD, (":--", "--:", ":--"), *([safe(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def safe(cell: str) -> str:
    """Return text that fits in one cell of a Markdown table."""
    return " ".join(cell.split()).replace("|", "\\|")


if __name__ == "__main__":
    main()
