"""Small tables for people to read, made from the large tables of a results folder.

``docs/experiments.md`` and the report of a results folder show the same small tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from averagefair._util.text import exactly, figure, percent
from averagefair.evaluation.generalisation import CORNERS
from averagefair.experiments.figures import COLUMNS, PUBLISHED, SOLVERS, UNCONSTRAINED
from averagefair.experiments.findings import HELD_OUT, LEARNED, MOSTLY_NOISE, interval, measure_of
from averagefair.experiments.sweeps import PEOPLE
from averagefair.experiments.tidy import Column, ResultTable
from averagefair.showing.report import Listing
from reproduction.plan import Tables

RUN = ("alpha", "allowed", "reached_spread", "reached_error", "rounds", "oracle_calls", "seconds")
MEASURES = {
    "sigma": ("corrected", "chance-corrected (new tasks only)"),
    "sd": ("observed", "as observed"),
}
COMPARED = {
    "random_splits": ("learned_from", "held_out_tasks"),
    "coin_bias": ("q",),
}
"""The columns that identify a setting of a comparison."""


def listings(tables: Tables) -> dict[str, Listing]:
    """Return every small table that can be made from these tables, by name.

    Parameters
    ----------
    tables : dict of str to ResultTable
        From :func:`reproduction.plan.gather`; any of them can be absent.
    """
    return dict(_listings(tables))


def _listings(tables: Tables) -> Iterator[tuple[str, Listing]]:
    if "trajectories" in tables:
        runs = tables["trajectories"].where(rate="error").only("solver", *RUN)
        yield "convergence", _runs("Runs, alone for each alpha", runs)
    if "error_spread" in tables:
        yield from _of_everybody(tables["error_spread"])
    if "generalisation" in tables:
        measured = tables["generalisation"].where(rate="error")
        yield "generalisation", _generalisation(measured)
        yield "order", _order(measured)
        yield "noise", _noise(measured)
    for name, setting in COMPARED.items():
        if name in tables:
            compared = tables[f"{name}_compared"]
            yield f"{name}_tally", _tally(compared, setting)
            for measure, (short, _) in MEASURES.items():
                yield f"{name}_{short}", _comparison(compared, setting, measure)
    if "random_splits" in tables:
        yield "random_splits_coin_flips", _beaten_by_coins(tables["random_splits_points"])
        yield "random_splits_means", _means(tables["random_splits"])
    if "coin_bias" in tables:
        yield "coin_bias", _biases(tables["coin_bias"].where(corner="training"))
    if "growth" in tables:
        yield "exponents", _exponents(tables["exponents"])
        yield "growth", _growth(tables["growth"])


# Figures in cells.


def alpha_or_none(alpha: float) -> str:
    """Return an alpha as text; "none" without a constraint."""
    return "none" if alpha >= UNCONSTRAINED else exactly(alpha)


def asked_for(measured: ResultTable) -> list[float]:
    """Return the alphas that are a constraint, ascending."""
    return [alpha for alpha in sorted(measured.distinct("alpha")) if alpha < UNCONSTRAINED]


def mean_text(values: Column) -> str:
    """Return a mean with half the width of its interval.

    Examples
    --------
    >>> mean_text(np.array([1.0, 2.0, 3.0])), mean_text(np.array([0.25]))
    ('2.0000 ± 2.4841', '0.2500')
    """
    found = interval(values)
    half = "" if np.isnan(found.low) else f" ± {found.value - found.low:.4f}"
    return f"{found.value:.4f}{half}"


def _share(value: float) -> str:
    return "-" if np.isnan(value) else percent(round(float(value), 2))


# The paper's figures.


def _runs(caption: str, runs: ResultTable) -> Listing:
    head = ["solver", "alpha", "allowed", "spread", "error", "rounds", "oracle calls", "seconds"]
    rows = [
        [
            row["solver"],
            alpha_or_none(row["alpha"]),
            f"{row['allowed']:.2f}",
            f"{row['reached_spread']:.4f}",
            f"{row['reached_error']:.4f}",
            str(row["rounds"]),
            f"{row['oracle_calls']:,}",
            f"{row['seconds']:.2f}",
        ]
        for row in runs
    ]
    return Listing(caption, head, rows)


def _of_everybody(everybody: ResultTable) -> Iterator[tuple[str, Listing]]:
    errors = everybody.where(rate="error")
    yield "error_spread", _error_spread(_points(errors))
    if "group" in everybody.columns:
        yield "groups", _groups(errors)
    for rate in ("false_positive", "false_negative"):
        points = _points(everybody.where(rate=rate))
        asked = points.take(points["alpha"] < UNCONSTRAINED)
        if len(asked):
            yield rate, _runs(f"{rate.replace('_', '-').capitalize()} rates", asked)


def _points(everybody: ResultTable) -> ResultTable:
    return everybody.only("solver", *RUN, "columns", "coin_flip_error")


def _error_spread(points: ResultTable) -> Listing:
    head = ["alpha", "allowed"]
    for solver in SOLVERS:
        head += [f"{solver}: spread", "error", "coin flips", "columns"]
    rows = []
    for alpha in points.distinct("alpha"):
        row = [alpha_or_none(alpha), f"{2 * alpha:.2f}" if alpha < UNCONSTRAINED else ""]
        for solver in SOLVERS:
            point = next(iter(points.where(solver=solver, alpha=alpha)))
            row += [f"{point[what]:.4f}" for what in ("reached_spread", "reached_error")]
            row += [f"{point['coin_flip_error']:.4f}", str(point["columns"])]
        rows.append(row)
    caption = (
        "Spread reached, overall error, the error of coin flips to the same spread, and how many "
        "classifiers of each task are mixed"
    )
    return Listing(caption, head, rows)


def _groups(everybody: ResultTable) -> Listing:
    asked = asked_for(everybody)
    middle = 0.1 if 0.1 in asked else asked[len(asked) // 2]
    ours, rows = everybody.where(solver=COLUMNS), []
    for alpha in dict.fromkeys([UNCONSTRAINED, middle, asked[0]]):
        here = ours.where(alpha=alpha)
        means = [np.nanmean(here.where(group=group)["individual_rate"]) for group in (1, 2)]
        rows.append([alpha_or_none(alpha), *(f"{mean:.3f}" for mean in means)])
    return Listing(
        "Mean error of each group, column generation", ["alpha", "group 1", "group 2"], rows
    )


def _generalisation(measured: ResultTable) -> Listing:
    head = ["alpha"]
    for solver in SOLVERS:
        head += [f"{solver}: {CORNERS[corner]}" for corner in ("training", *HELD_OUT)]
    rows = []
    for alpha in measured.distinct("alpha"):
        row = [alpha_or_none(alpha)]
        for solver in SOLVERS:
            for corner in ("training", *HELD_OUT):
                point = next(iter(measured.where(alpha=alpha, solver=solver, corner=corner)))
                row.append(f"{point['error']:.4f} / {point['spread']:.3f}")
        rows.append(row)
    return Listing("Error / spread of individual rates", head, rows)


def _order(measured: ResultTable) -> Listing:
    asked = measured.take(measured["alpha"] < UNCONSTRAINED)
    rows = []
    for what in ("error", "spread"):
        for solver in SOLVERS:
            mine = asked.where(solver=solver)
            training = mine.where(corner="training")[what]
            ranks = [_rank(training, mine.where(corner=corner)[what]) for corner in HELD_OUT]
            rows.append([what, solver, *map(_correlation, ranks)])
    head = ["of", "solver", *(CORNERS[corner] for corner in HELD_OUT)]
    return Listing("Rank correlation of training and held-out figures over alpha", head, rows)


def _rank(training: Column, held_out: Column) -> float:
    """Return Spearman's correlation; NaN if all values of one side are equal."""
    if len(training) < 3 or np.ptp(training) == 0 or np.ptp(held_out) == 0:
        return np.nan
    return float(spearmanr(training, held_out).statistic)


def _correlation(value: float) -> str:
    return "-" if np.isnan(value) else figure(value, 2)


def _noise(measured: ResultTable) -> Listing:
    head = ["solver", "alpha", "where", "spread", "noise alone", "noise share", "sd", "true sd"]
    head += ["95%", "within", "de-noised"]
    shown = [alpha for alpha in (0.05, 0.1, 0.2) if alpha in measured.distinct("alpha")]
    shown = sorted({*shown, measured.distinct("alpha")[0], UNCONSTRAINED})
    rows = [
        [
            row["solver"],
            alpha_or_none(row["alpha"]),
            CORNERS[row["corner"]],
            f"{row['spread']:.3f}",
            *_noise_cells(row),
        ]
        for row in measured
        if row["corner"] != "training" and row["alpha"] in shown
    ]
    caption = (
        "Raw spread and what noise alone would show; the standard deviation of rates as observed "
        "and of true rates, with its 95% interval; how far from a common rate all but 5% of the "
        "people are, as observed and de-noised. On the tasks learned from noise cannot be estimated"
    )
    return Listing(caption, head, rows)


def _noise_cells(row: dict[str, Any]) -> list[str]:
    """Return the cells of a row; "-" for true rates on the tasks learned from."""
    sd, near = f"{row['sd']:.3f}", f"{row['near']:.3f}"
    if row["corner"] == LEARNED:
        return ["-", "-", sd, "-", "-", near, "-"]
    return [
        f"{row['spread_floor']:.3f}",
        _share(row["noise_share"]),
        sd,
        f"{row['sigma']:.3f}",
        f"{row['sigma_low']:.3f} to {row['sigma_high']:.3f}",
        near,
        f"{row['denoised']:.3f}",
    ]


# Beyond the paper.


def _tally(compared: ResultTable, setting: Sequence[str]) -> Listing:
    """Count the settings and corners where column generation errs less, or more, at some level."""
    mostly_noise = compared["noise_share"] > MOSTLY_NOISE
    parts = [
        (words, compared.take(~mostly_noise).where(measure=measure))
        for measure, (_, words) in MEASURES.items()
    ]
    rest = compared.take(mostly_noise).where(measure="sigma")
    parts += [("mostly noise, chance-corrected", rest)] if len(rest) else []
    head = ["unfairness", "comparisons", "better", "worse", "better and worse", "tied"]
    rows = []
    for words, here in parts:
        cells = [here.where(**cell) for cell in here.only(*setting, "corner")]
        kinds = [
            (bool((cell["gain_low"] > 0).any()), bool((cell["gain_high"] < 0).any()))
            for cell in cells
        ]
        order = ((True, False), (False, True), (True, True), (False, False))
        rows.append([words, str(len(cells)), *(str(kinds.count(kind)) for kind in order)])
    caption = (
        "Settings and corners in which column generation errs less (better) or more (worse) at "
        "some level of unfairness, by 95% intervals; settings with mostly noise are a separate row"
    )
    return Listing(caption, head, rows)


def _comparison(compared: ResultTable, setting: Sequence[str], measure: str) -> Listing:
    shown = compared.where(measure=measure)
    rows: list[list[str]] = []
    for cell in shown.only(*setting, "corner"):
        here = shown.where(**cell)
        names = [_setting(name, cell[name]) for name in setting]
        shares = (_share(here[what][0]) for what in ("noise_share", "reaches"))
        rows.append([*names, CORNERS[cell["corner"]], *shares, *map(_gain, here)])
    head = [*(name.replace("_", " ") for name in setting), "where", "noise share", "reaches"]
    head += [f"at {percent(level)}" for level in shown.distinct("level")]
    caption = (
        "How much more the authors' setting errs at equal held-out unfairness, "
        f"{MEASURES[measure][1]}, as shares of the unconstrained models' (95% intervals, not "
        "corrected for multiple comparisons). Noise share: the share of noise in the variance "
        "between people without a constraint. Reaches: the least unfairness of a model of column "
        "generation; below it, its curve is mixtures with coin flips"
    )
    return Listing(caption, head, rows)


def _setting(name: str, value: object) -> str:
    return f"{value:,}" if name == "learned_from" else f"{value}"


def _gain(row: dict[str, float]) -> str:
    bounds = f" ({figure(row['gain_low'], 4, '+')} to {figure(row['gain_high'], 4, '+')})"
    return figure(row["gain"], 4, "+") + ("" if np.isnan(row["gain_low"]) else bounds)


def _beaten_by_coins(points: ResultTable) -> Listing:
    asked = points.take(points["alpha"] < UNCONSTRAINED)
    rows = []
    for solver in SOLVERS:
        for corner in HELD_OUT:
            here = asked.where(solver=solver, corner=corner)
            beaten = sorted(here.take(here["coin_flips_high"] < 0).distinct("alpha"))
            rows.append([solver, CORNERS[corner], ", ".join(map(alpha_or_none, beaten)) or "-"])
    caption = (
        "Alphas at which coin flips err less than the model, by 95% intervals. Coin flips are "
        "mixed into the unconstrained model until people's rates differ as little"
    )
    return Listing(caption, ["solver", "where", "beaten at alpha"], rows)


def _means(measured: ResultTable) -> Listing:
    """List the setting with the most people in full."""
    most = max(measured.distinct("learned_from"))
    here = measured.where(learned_from=most)
    rows = []
    for which in here.only("solver", "alpha"):
        point = here.where(**which)
        cells = [
            mean_text(point.where(corner=corner)["error"])
            + (
                f" / {mean_text(point.where(corner=corner)[measure_of(corner)])}"
                if corner != "training"
                else ""
            )
            for corner in ("training", *HELD_OUT)
        ]
        rows.append([which["solver"], alpha_or_none(which["alpha"]), *cells])
    head = ["solver", "alpha", *(CORNERS[corner] for corner in ("training", *HELD_OUT))]
    caption = (
        f"{most:,} training people: error / standard deviation of true rates, means over the draws "
        "with 95% intervals. For new people on the tasks learned from: of rates as observed"
    )
    return Listing(caption, head, rows)


def _biases(training: ResultTable) -> Listing:
    head = ["q", "no constraint: error", "spread"]
    head += [f"{name}: error at {alpha:g}" for name in SOLVERS for alpha in asked_for(training)]
    rows = []
    for q in training.distinct("q"):
        free = training.where(q=q, solver=PUBLISHED, alpha=UNCONSTRAINED)
        cells = [
            mean_text(training.where(q=q, solver=name, alpha=alpha)["error"])
            for name in SOLVERS
            for alpha in asked_for(training)
        ]
        rows.append([f"{q:g}", mean_text(free["error"]), mean_text(free["spread"]), *cells])
    return Listing("Training, means over populations with 95% intervals", head, rows)


def _exponents(fitted: ResultTable) -> Listing:
    head = ["growing", "solver", "exponent", "95%", "theorem", "at the smallest", "at the largest"]
    rows = [
        [
            row["direction"],
            row["solver"],
            _correlation(row["exponent"]),
            "-"
            if np.isnan(row["exponent_low"])
            else f"{figure(row['exponent_low'], 2)} to {figure(row['exponent_high'], 2)}",
            f"{row['predicted']:g}",
            figure(row["at_smallest"], 4),
            figure(row["at_largest"], 4),
        ]
        for row in fitted
    ]
    caption = (
        "Exponents of power laws through all populations, and means at the smallest and the "
        "largest size. People: how much further from a common rate all but 5% of new people are "
        "than of the people learned from. Tasks: how far a person's rate on new tasks lies from "
        "the one in training (root mean square, de-noised)"
    )
    return Listing(caption, head, rows)


def _growth(grown: ResultTable) -> Listing:
    head = ["growing", "to learn from", "solver", "training error", "held-out error"]
    head += ["training alpha", "held-out alpha", "excess or moved", "populations"]
    rows = []
    order = np.lexsort((grown["size"], grown["direction"]))
    for which in grown.take(order).only("direction", "size", "solver"):
        here = grown.where(**which)
        quantity = "excess" if which["direction"] == PEOPLE else "moved"
        means = ("reached_error", "held_out_error", "near", "held_out_near", quantity)
        rows.append(
            [
                which["direction"],
                f"{which['size']:,}",
                which["solver"],
                *(figure(float(here[what].mean()), 4) for what in means),
                str(len(here)),
            ]
        )
    caption = (
        "Means over populations; alpha: how far all but 5% of the people are from a common rate "
        "(of new tasks de-noised)"
    )
    return Listing(caption, head, rows)
