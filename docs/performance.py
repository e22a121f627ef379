"""Put the output of the benchmarks of scale into docs/performance.md, as it was printed.

    python docs/performance.py results/bench

The folder holds scale.txt, weighted_oracle.txt and, from a machine with a GPU, gpu.txt; what is
missing leaves its part of the page as it is. ``make bench-scale`` writes the first two.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "benchmarks"))

from common import write_section  # noqa: E402

PAGE = HERE / "performance.md"
CLUSTER = "\nDask, two processes"


def main() -> None:
    """Put in whatever the folder named on the command line has."""
    folder = Path(sys.argv[1])
    texts = {path.stem: path.read_text() for path in folder.glob("*.txt")}
    if "scale" in texts:
        here, mark, cluster = texts["scale"].partition(CLUSTER)
        put("cpu", here)
        put("dask", (mark + cluster).lstrip())
    for section, name in (("weighted", "weighted_oracle"), ("gpu", "gpu")):
        if name in texts:
            put(section, texts[name])


def put(section: str, text: str) -> None:
    """Replace a section of the page."""
    write_section(PAGE, section, f"```text\n{text.strip()}\n```")


if __name__ == "__main__":
    main()
