"""Put what the tests of trust tried, and what came of it, into docs/reliability.md.

    python docs/reliability.py results/reliability

The folder holds a JSON file for each line of the table; ``make test-long`` writes them, and calls
this at its end. Lines that were not run again stay in the folder as they were. No number in the
table is written by hand.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "benchmarks"))

from common import write_section  # noqa: E402

PAGE = HERE / "reliability.md"
HEAD = ("what was tried", "how often", "what came of it")


def main() -> None:
    """Put in whatever the folder named on the command line has."""
    files = sorted(Path(sys.argv[1]).glob("*.json"))
    if not files:
        sys.exit(f"{sys.argv[1]} holds no records; make test-long writes them.")
    lines = [json.loads(file.read_text("utf-8")) for file in files]
    rows = [[line["what"], f"{line['count']:,}", line["outcome"]] for line in lines]
    write_section(PAGE, "tried", table(rows))


def table(rows: list[list[str]]) -> str:
    """Return a table in Markdown; words to the left, numbers to the right."""
    lines = [HEAD, (":--", "--:", ":--"), *([safe(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def safe(cell: str) -> str:
    """Return words that stay in their cell."""
    return " ".join(cell.split()).replace("|", "\\|")


if __name__ == "__main__":
    main()
