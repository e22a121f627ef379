"""Tables and a figure from the results: ``python -m benchmarks.promises.report``.

Prints the tables in Markdown, and draws docs/promises.png. ``--page docs/promises.md`` writes the
tables into that page instead, between ``<!-- promises: begin -->`` and ``<!-- promises: end -->``.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.common import DOCS, markdown, write_section
from benchmarks.promises.compare import Comparison, Estimate, estimate
from benchmarks.promises.figure import draw
from benchmarks.promises.fits import CAP, EQUAL, SETTINGS, WIDE, WORST_OFF
from benchmarks.promises.measures import CORNERS
from benchmarks.promises.records import RECORDS, read
from benchmarks.promises.results import Panel, panels

HELD_OUT = ("tasks", "both")
MEASURES = {
    "drawn_worst_off": "by the decisions drawn",
    "worst_off": "by averages over draws",
}
"""How the worst-off tenth's mean rate is measured."""


def main() -> None:
    given = arguments()
    found = panels(read(given.records))
    if not found:
        sys.exit(f"{given.records} has no results yet: run python -m benchmarks.promises first.")
    text = "\n\n".join(sections(found))
    if given.page:
        write_section(given.page, "promises", text)
    else:
        print(text)
    draw(found, given.figure)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Make tables and a figure from the results.")
    add = parser.add_argument
    add("--records", type=Path, default=RECORDS, help="file of results")
    add("--page", type=Path, help="page to write the tables into; default: print them")
    add("--figure", type=Path, default=DOCS / "promises.png", help="picture to draw")
    return parser.parse_args()


def sections(found: Sequence[Panel]) -> Iterator[str]:
    """Yield the parts of the fragment: the tables' sizes, the comparison, each panel's changes."""
    splits = max(len(panel.seeds) for panel in found)
    yield (
        f"Means over random splits (up to {splits}), with 95% intervals (Student's t over splits). "
        "Splits of one table share people, so the intervals are for other splits of the same "
        "table. All rates are as observed. Changes are in points (hundredths), against no promise."
    )
    yield (
        "A mixture's rates, averaged over its draws, scatter less than the decisions that people "
        "meet. So averages make every mixture's worst-off look better than they are. *Drawn* "
        "figures use the decisions themselves, with a mean over ten draws."
    )
    yield "## The tables"
    yield sizes(found)
    yield unconstrained(found)
    yield "## At equal gain for the worst-off tenth"
    yield (
        "The cost is the change of the error. The gain is the fall of the worst-off tenth's mean "
        "rate. Equal rates' cost is read off the mean curve over alpha, at the same gain; in "
        "brackets, the share of bootstrap samples in which equal rates never reach this gain. "
        "*Excess* is the cost minus half of equal rates' cost, with a 95% bootstrap interval over "
        "splits. *Half?* says whether the promise costs at most half as much: yes if the interval "
        "is at most 0, no if it is above 0. *Splits* counts the splits where that holds on the "
        "split's own curves."
    )
    for measure in MEASURES:
        yield from comparisons(found, WORST_OFF, measure)
    for measure in MEASURES:
        yield verdicts(found, measure)
    yield "## All changes"
    for panel in found:
        yield f"**{panel.table}, {panel.oracle}**"
        yield changes(panel)
        yield distribution(panel)
        if note := remarks(panel):
            yield note


def sizes(found: Sequence[Panel]) -> str:
    """Return the size of each table, in Markdown."""
    first = {panel.table: panel.records[0] for panel in found}
    head = [
        "",
        "training people",
        "new people",
        "learned tasks",
        "fresh tasks",
        "features",
        "blank",
    ]
    names = ("people", "new_people", "tasks", "fresh_tasks", "features")
    rows = [
        [table, *(f"{record[name]:,}" for name in names), f"{record['blank']:.1%}"]
        for table, record in first.items()
    ]
    return markdown(head, rows)


def unconstrained(found: Sequence[Panel]) -> str:
    """Return error and worst-off tenth without a promise, in Markdown."""
    rows = []
    for panel in found:
        cells = []
        for corner in CORNERS:
            figures = (panel.unconstrained(corner, name).mean() for name in ("error", "worst_off"))
            cells.append(" / ".join(f"{figure:.1f}" for figure in figures))
        rows.append([f"{panel.table}, {panel.oracle}", *cells])
    head = ["error / worst-off tenth, %, no promise", *CORNERS.values()]
    return markdown(head, rows)


# At equal gain


def comparisons(found: Sequence[Panel], promise: str, measure: str) -> Iterator[str]:
    """Yield a table of comparisons with equal rates for each corner."""
    for corner in HELD_OUT:
        rows = [
            [f"{panel.table}, {panel.oracle}, price {setting:g}", *compared_cells(compared)]
            for panel, setting, compared in compared_panels(found, promise, corner, measure)
        ]
        if rows:
            head = ["", "gain", "cost", "equal rates cost", "ratio", "excess", "half?", "splits"]
            yield f"**{promise.capitalize()}: {CORNERS[corner]}, {MEASURES[measure]}**"
            yield markdown(head, rows)


def verdicts(found: Sequence[Panel], measure: str) -> str:
    """Return how often each promise costs at most half as much, over tables, oracles, settings."""
    rows = []
    for promise in (WORST_OFF, WIDE, CAP):
        for corner in HELD_OUT:
            kinds = Counter(
                compared.verdict
                for _, _, compared in compared_panels(found, promise, corner, measure)
            )
            counts = [str(kinds[kind]) for kind in ("yes", "inconclusive", "no", "no gain")]
            rows.append([f"{promise}: {CORNERS[corner]}", *counts])
    head = [f"half the cost of equal rates, {MEASURES[measure]}", "yes", "inconclusive", "no"]
    return markdown([*head, "no gain"], rows)


def compared_panels(
    found: Sequence[Panel], promise: str, corner: str, measure: str
) -> Iterator[tuple[Panel, float, Comparison]]:
    """Yield each panel and setting with its comparison with equal rates."""
    for panel in found:
        for setting in panel.settings(promise):
            compared = panel.against_equal(promise, setting, corner, measure)
            if compared is not None:
                yield panel, setting, compared


def compared_cells(one: Comparison) -> list[str]:
    """Return the cells of a comparison."""
    equal = "never reach it" if np.isinf(one.equal_cost) else f"{one.equal_cost:+.2f}"
    if 0.005 <= one.never < 0.995:
        equal += f" (never: {one.never:.0%})"
    excess = f"{one.excess:+.2f} [{one.low:+.2f}, {one.high:+.2f}]".replace("inf", "∞")
    comparable = one.cost.mean > 0 and 0 < one.equal_cost < np.inf
    ratio = f"{one.cost.mean / one.equal_cost:.2f}" if comparable else ""
    if one.gain.mean <= 0:
        equal = ratio = excess = ""
    return [
        written(one.gain),
        written(one.cost),
        equal,
        ratio,
        excess,
        one.verdict,
        f"{one.splits_met} of {one.gain.splits}",
    ]


# All changes


def changes(panel: Panel) -> str:
    """Return the changes of error and worst-off tenth on every corner, in Markdown."""
    rows = []
    for promise in SETTINGS:
        for setting in panel.settings(promise):
            cells = []
            for corner in CORNERS:
                error, average, drawn = (
                    estimate(panel.changes(promise, setting, corner, name))
                    for name in ("error", "worst_off", "drawn_worst_off")
                )
                cells.append(f"{error.mean:+.2f} / {average.mean:+.2f} / {written(drawn)}")
            rows.append([request(promise, setting), *cells])
    head = "error / worst-off tenth, average / drawn, points"
    return markdown([head, *CORNERS.values()], rows)


def distribution(panel: Panel) -> str:
    """Return who is better and who is worse off, for new people on fresh tasks, in Markdown."""
    rows = []
    for promise in SETTINGS:
        for setting in panel.settings(promise):
            cells = [
                written(estimate(panel.changes(promise, setting, "both", name)))
                for name in ("best_off", "median")
            ]
            shares = (panel.changes(promise, setting, "both", name) for name in ("better", "worse"))
            cells += [f"{share.mean():.0f}%" for share in shares]
            rows.append([request(promise, setting), *cells])
    head = [CORNERS["both"], "best-off tenth", "median", "better off by > 0.01", "worse off"]
    return markdown(head, rows)


def remarks(panel: Panel) -> str:
    """Say which fits the time limit ended, and which caps were impossible."""
    notes = []
    cut = Counter(
        request(record["promise"], record["setting"])
        for record in panel.records
        if record.get("cut_short")
    )
    if cut:
        listed = ", ".join(f"{name} ({count} splits)" for name, count in cut.items())
        notes.append(f"The time limit ended these fits: {listed}.")
    for setting in SETTINGS[CAP]:
        if refused := panel.refused(CAP, setting):
            notes.append(
                f"{request(CAP, setting)} was below the least possible cap in {refused} of "
                f"{len(panel.seeds)} splits."
            )
    return " ".join(notes)


def request(promise: str, setting: float) -> str:
    """Name a promise and its setting."""
    if promise == EQUAL:
        return f"equal, alpha {setting:g}"
    if promise == CAP:
        return f"cap, step {setting:g}"
    return f"{promise}, price {setting:g}"


def written(found: Estimate) -> str:
    """Return a change with its margin."""
    if np.isnan(found.margin):
        return f"{found.mean:+.2f}"
    return f"{found.mean:+.2f} ± {found.margin:.2f}"


if __name__ == "__main__":
    main()
