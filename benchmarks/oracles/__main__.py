"""Which oracle to use: compare the cost of answers, training and held-out error, and time.

``make bench-oracles`` runs all parts, records them and writes docs/oracles.md.

* ``costs``: every linear oracle on the same cost problems, drawn from real fits.
* ``communities``: the paper's setting, training error at each alpha.
* ``held-out``: the default against least squares on new people and new tasks, at equal unfairness.
* ``few-people``: how far to polish when there are 200 people.
* ``speed``: logistic regressions of all tasks at once, against scikit-learn's one at a time.
* ``exact``: which oracles claim to be exact.
* ``comparison``: every oracle on every population.

``python -m benchmarks.oracles costs speed`` runs some of these; ``--splits 4 --limit 30`` takes
fewer splits and shorter fits in ``held-out``; ``--record results/bench`` also writes the output and
the figures of each part to files.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from time import perf_counter
from typing import Any, TextIO

from benchmarks.common import heading, machine, table, verdict
from benchmarks.oracles.comparison import report_comparison
from benchmarks.oracles.costs import posed, report_costs
from benchmarks.oracles.curves import SPLITS, report_held_out
from benchmarks.oracles.few_people import report_few_people
from benchmarks.oracles.fits import LIMIT, report_communities
from benchmarks.oracles.speed import report_speed
from benchmarks.oracles.tables import ORACLES, SYNTHETIC, WRITTEN, populations


def main() -> None:
    given = arguments()
    names = populations()
    reports: dict[str, Callable[[], dict[str, Any]]] = {
        "costs": lambda: report_costs(names),
        "communities": lambda: report_communities(names),
        "held-out": lambda: report_held_out(names, given.splits, given.limit),
        "few-people": lambda: report_few_people(names),
        "speed": report_speed,
        "exact": report_exact,
        "comparison": lambda: report_comparison(names),
    }
    unknown = set(given.parts) - set(reports)
    if unknown:
        sys.exit(f"There is no part {', '.join(sorted(unknown))}; parts: {', '.join(reports)}.")
    for part in given.parts or reports:
        with recorded(given.record, part):
            print(machine())
            start = perf_counter()
            figures = reports[part]()
            print(f"\n{part}: {perf_counter() - start:.0f} s in all")
        if given.record is not None:
            (given.record / f"oracles-{part}.json").write_text(json.dumps(figures, indent=1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare oracles.")
    parser.add_argument("parts", nargs="*", help="which parts; default: all")
    parser.add_argument("--splits", type=int, default=SPLITS, help="random splits of held-out")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of its fits, each")
    parser.add_argument("--record", type=Path, help="folder to write output and figures to")
    return parser.parse_args()


class Both:
    """A stream that prints, and writes a copy to a file."""

    def __init__(self, screen: TextIO, file: TextIO) -> None:
        self.screen, self.file = screen, file

    def write(self, text: str) -> int:
        """Write to both."""
        self.file.write(text)
        return self.screen.write(text)

    def flush(self) -> None:
        """Flush both."""
        self.file.flush()
        self.screen.flush()


@contextmanager
def recorded(folder: Path | None, part: str) -> Iterator[None]:
    """Also write everything that is printed to a file of the folder."""
    if folder is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"oracles-{part}.txt").open("w") as file:
        both: Any = Both(sys.stdout, file)
        with redirect_stdout(both):
            yield


def report_exact() -> dict[str, Any]:
    """Print which oracles claim that their answers are true minima; return the figures."""
    heading("Who claims to be exact", "exact: every answer is a true minimum over the class")
    found = {name: posed(name, SYNTHETIC).oracle for name in ORACLES}
    table(
        ["", "class", "exact"],
        [[name, type(one).__name__, str(bool(one.exact))] for name, one in found.items()],
    )
    for name in found:
        print(f"{name}: {WRITTEN[name]}")
    claiming = [name for name, one in found.items() if one.exact]
    verdict(
        "no heuristic says exact; the stumps, which search their whole class, do",
        claiming == ["stumps (exact)"],
        f"exact: {', '.join(claiming) or 'none'}",
    )
    return {name: {"class": type(o).__name__, "exact": bool(o.exact)} for name, o in found.items()}


if __name__ == "__main__":
    main()
