"""Put the printed output of the benchmarks of scale into docs/performance.md.

    python -m tools.performance results/bench

``make bench-scale`` writes scale.txt, weighted_oracle.txt and, on a machine with a GPU, gpu.txt
into the folder. Sections without a file stay as they are.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.common import DOCS, write_section

PAGE = DOCS / "performance.md"
CLUSTER = "\nDask, two processes"


def main() -> None:
    """Put the files in the folder on the command line into the page."""
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
