"""Helpers that the benchmarks share: the machine, the paper's data, clocks and tables."""

from __future__ import annotations

import os
import platform
import resource
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import perf_counter

import numpy as np

from averagefair.datasets import (
    Communities,
    Split,
    communities_split,
    load_communities,
    make_synthetic,
)
from averagefair.errors import DatasetError

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SHARED_FILE = ROOT.parent / "shared" / "datasets" / "communities.csv"


def resident(what: str) -> int:
    """Return the resident memory of this process in bytes: VmRSS now, VmHWM at its peak."""
    try:
        status = Path("/proc/self/status").read_text()
        return 1024 * int(status.split(f"{what}:")[1].split()[0])
    except (OSError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else 1024 * peak


def machine() -> str:
    """Return the versions, the machine and its load."""
    return (
        f"Python {platform.python_version()}, NumPy {np.__version__}, {os.cpu_count()} cores, "
        f"{platform.system()} {platform.machine()}\n"
        f"Load of the last minute: {os.getloadavg()[0]:.1f}; on a busy machine times mislead."
    )


def paper_data() -> tuple[Split, str]:
    """Return Communities and Crime if there is a file of it here, else the synthetic population."""
    table = communities()
    if table is None:
        return make_synthetic(n=200, m=50, d=20), "synthetic (no file of Communities)"
    return communities_split(table), "Communities and Crime"


def communities() -> Communities | None:
    """Return the table of Communities and Crime, or None if there is no file of it here."""
    path = communities_path()
    return None if path is None else load_communities(path)


def communities_path() -> str | None:
    """Return the path of a file of Communities and Crime, or None if there is none here."""
    for path in (os.environ.get("AVERAGEFAIR_DATA"), SHARED_FILE):
        if path:
            try:
                load_communities(path)
            except DatasetError:
                continue
            return str(Path(path).resolve())
    return None


def take_turns(functions: Iterable[Callable[[], object]], repeats: int) -> list[list[float]]:
    """Call the functions in turns; return the seconds of each function's calls.

    Each timed call follows an untimed call of the same function. So caches and the allocator are
    in the state they have during a run of many similar rounds.
    """
    functions = list(functions)
    seconds: list[list[float]] = [[] for _ in functions]
    for _ in range(repeats):
        for function, own in zip(functions, seconds, strict=True):
            function()
            start = perf_counter()
            function()
            own.append(perf_counter() - start)
    return seconds


def heading(title: str, detail: str) -> None:
    print(f"\n{title}\n({detail})\n")


def verdict(target: str, met: bool, note: str = "") -> None:
    print(f"Target: {target}. {'PASS' if met else 'MISSED'}{f': {note}' if note else ''}.")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: the first column aligned left, the others aligned right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join([row[0].ljust(widths[0]), *cells[1:]]))


def write_section(page: Path, name: str, text: str) -> None:
    """Replace the text between ``<!-- name: begin -->`` and ``<!-- name: end -->`` in a page."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = page.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        sys.exit(f"{page.name} lacks the lines {begin} and {end}: nothing was written.")
    page.write_text(f"{before}{begin}\n{text.strip()}\n{end}{after}")


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown: the first column aligned left, the others aligned right."""
    lines = [head, [":--", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
