"""Which oracle: what answers cost, what fits reach, what carries over, and how long it takes.

Run by ``make bench-oracles``, which records it and writes docs/oracles.md.

* ``costs``: the same cost problems, drawn from real fits, put to every linear oracle.
* ``communities``: the paper's setting, training error at each alpha.
* ``held-out``: the default against least squares on new people and new tasks, at equal unfairness.
* ``few-people``: how far to polish where there are 200 people.
* ``speed``: logistic regressions of all tasks at once, beside scikit-learn's one by one.
* ``exact``: which oracles may claim a proof.
* ``comparison``: every oracle on every population.

``python benchmarks/oracles.py costs speed`` runs some of these; ``--splits 4 --limit 30`` takes
fewer splits and shorter fits in ``held-out``; ``--record results/bench`` writes what each part
prints, and its figures, to files.
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

from common import heading, machine, table, verdict
from oracle_comparison import report_comparison
from oracle_costs import posed, report_costs
from oracle_curves import SPLITS, report_held_out
from oracle_few_people import report_few_people
from oracle_fits import LIMIT, report_communities
from oracle_speed import report_speed
from oracle_tables import ORACLES, SYNTHETIC, WRITTEN, populations


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
    """A stream that prints, and keeps a copy in a file."""

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
    """Have whatever is printed written to a file of the folder too."""
    if folder is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"oracles-{part}.txt").open("w") as file:
        both: Any = Both(sys.stdout, file)
        with redirect_stdout(both):
            yield


def report_exact() -> dict[str, Any]:
    """Print which oracles say that their answers are true minima; return the figures."""
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
