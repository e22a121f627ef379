"""Figures beyond the paper: solvers compared, other coin biases, more people and tasks."""

from __future__ import annotations

from typing import Any

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair._util.text import figure as written
from averagefair.errors import extra
from averagefair.evaluation.generalisation import CORNERS
from averagefair.experiments.figures import UNCONSTRAINED
from averagefair.experiments.findings import HELD_OUT, MOSTLY_NOISE, interval, valid
from averagefair.experiments.sweeps import PEOPLE, TASKS
from averagefair.experiments.tidy import ResultTable, stack
from averagefair.showing.drawing import BLACK, REQUEST, SERIES, Style, tint
from reproduction.pictures.held_out import by_people, setting_name
from reproduction.pictures.panels import (
    SMALL,
    SOLVER_NAMES,
    SOLVER_STYLES,
    Picture,
    draw_curve,
    draw_intervals,
    finish,
    limit,
    panels,
    solvers,
    title,
)

USUAL_ALPHA = 0.1
SETTING_STYLES = SERIES[2:]
"""The first two styles of SERIES belong to the solvers."""


def compared(table: ResultTable) -> Picture:
    """Draw by how much the authors' setting errs more at equal unfairness.

    Parameters
    ----------
    table : ResultTable
        From :func:`~averagefair.experiments.at_equal_unfairness`.
    """
    table = valid(table)
    whole, counted = table, table.take(~(table["noise_share"] > MOSTLY_NOISE))
    table = counted if len(counted) else table
    settings = _settings(table)
    here = stack([table.where(**setting) for setting in settings.values()])
    figure, axes = panels(3.9, 1, len(HELD_OUT))
    for ax, corner in zip(axes[0], HELD_OUT, strict=True):
        ax.axhline(0.0, color=BLACK, linewidth=0.8, zorder=1)
        for place, (name, setting) in enumerate(settings.items()):
            mine, style = here.where(corner=corner, **setting), SETTING_STYLES[place]
            at = mine["level"] + 0.016 * (place - (len(settings) - 1) / 2)
            ends = mine["gain_low"], mine["gain_high"]
            draw_intervals(ax, at, ends, style, upright=True)
            draw_curve(ax, at, mine["gain"], style, name)
        title(ax, CORNERS[corner])
    for text, side in (("\u2191 better", "bottom"), ("\u2193 worse", "top")):
        beside = {"xycoords": ("axes fraction", "data"), "va": side, "fontsize": SMALL}
        axes[0, -1].annotate(text, (1.02, 0.0), **beside)
    limit(axes[0], upright=True)
    axes[0, 0].set(ylabel="error of the authors' setting\nless that of column generation")
    figure.supxlabel("unfairness, as a share of that without a constraint", fontsize=10)
    finish(figure, ncols=4)
    better, worse = (here["gain_low"] > 0).sum(), (here["gain_high"] < 0).sum()
    left_out = " where there is unfairness to compare at" if len(counted) < len(whole) else ""
    return Picture(
        figure,
        "By how much the authors' setting errs more than column generation at equal "
        "unfairness (chance-corrected on new tasks, as observed for new people), against that "
        "unfairness, for new people, new tasks and both: "
        f"of {len(here)} comparisons{left_out} column generation's interval lies above zero in "
        f"{better} and below it in {worse}.",
    )


def _settings(table: ResultTable) -> dict[str, dict[str, Any]]:
    """Return the settings to draw, by name."""
    if "q" not in table.columns:
        return {setting_name(**setting): setting for setting in by_people(table)}
    # Draw as many biases as there are styles, the largest ones: small biases rarely compare.
    biases = table.distinct("q")[-len(SETTING_STYLES) :]
    return {f"q = {q:g}": {"q": q} for q in biases}


def coin_bias(table: ResultTable) -> Picture:
    """Draw error and unfairness against the bias of the coin, with and without a constraint.

    Parameters
    ----------
    table : ResultTable
        From :func:`~averagefair.experiments.coin_biases`.
    """
    asked = [alpha for alpha in np.unique(table["alpha"]).tolist() if alpha < UNCONSTRAINED]
    alpha = USUAL_ALPHA if USUAL_ALPHA in asked else asked[len(asked) // 2]
    figure, axes = panels(3.9, 1, 3, share=False)
    quantities = (
        ("training", "error", "overall error in training"),
        ("training", "spread", "spread of individual rates\nin training"),
        ("tasks", "sigma", "chance-corrected unfairness\nto the same people on new tasks"),
    )
    for ax, (corner, what, label) in zip(axes[0], quantities, strict=True):
        here = table.where(corner=corner)
        free = here.where(alpha=UNCONSTRAINED, solver=solvers(here)[0])
        _against_bias(ax, free, what, SERIES[3], "without a constraint")
        for solver, aside in zip(solvers(here), (-0.008, 0.008), strict=False):
            mine, name = here.where(alpha=alpha, solver=solver), SOLVER_NAMES[solver]
            style, name = SOLVER_STYLES[solver], f"{name}, alpha = {alpha:g}"
            _against_bias(ax, mine, what, style, name, aside)
        ax.set(ylabel=label)
        ax.set_xticks(np.unique(here["q"]))
        limit([ax], upright=True)
    for ax in axes[0, 1:]:
        ax.set_ylim(bottom=0.0)
    look = {"color": REQUEST, "linestyle": (0, (8, 2)), "linewidth": 0.9, "zorder": 1}
    axes[0, 1].axhline(2 * alpha, label="allowed: 2 alpha", **look)
    figure.supxlabel("bias q of the coin, from nobody singled out to always the same", fontsize=10)
    finish(figure, ncols=4, share=False)
    return Picture(
        figure,
        "Training error, spread of individual rates in training, and chance-corrected unfairness "
        "on new tasks, against the bias of the coin that decides who is in the minority: with more "
        "bias, models without a constraint err less and are less fair.",
    )


def _against_bias(
    ax: Any, mine: ResultTable, what: str, style: Style, label: str, aside: float = 0.0
) -> None:
    if not len(mine):
        return
    biases = np.unique(mine["q"])
    means, *ends = np.array([interval(mine.where(q=q)[what]) for q in biases]).T
    draw_intervals(ax, biases + aside, ends, style, upright=True)
    draw_curve(ax, biases + aside, means, style, label)


def growth(table: ResultTable, laws: ResultTable) -> Picture:
    """Draw how well fairness carries over as the number of training people, or tasks, grows.

    Parameters
    ----------
    table : ResultTable
        From :func:`~averagefair.experiments.growth`, several sizes and populations.
    laws : ResultTable
        From :func:`~averagefair.experiments.exponents`.
    """
    figure, axes = panels(4.8, 1, 2, share=False)
    quantities = (
        (PEOPLE, "excess", "how much farther new people are\nfrom a common rate than in training"),
        (TASKS, "moved", "how far a person's rate on new tasks\nis from that in training"),
    )
    for ax, (direction, what, label) in zip(axes[0], quantities, strict=True):
        here, fitted = table.where(direction=direction), laws.where(quantity=what)
        ax.set(xscale="log", yscale="log", xlabel=f"{direction} to learn from", ylabel=label)
        if len(here):
            _draw_growth(ax, here, what, fitted)
    return Picture(
        figure,
        "How much farther new people are from a common rate than training people, against people "
        "to learn from, and how far a person's rate on new tasks is from that in training, against "
        "tasks to learn from, on logarithmic axes: power laws fitted to each solver beside the "
        "slopes of the theorems.",
    )


def _draw_growth(ax: Any, here: ResultTable, what: str, laws: ResultTable) -> None:
    """Draw one quantity against size, on logarithmic axes."""
    sizes = np.unique(here["size"]).astype(np.float64)
    fits = {
        law["solver"]: law["fitted_at_smallest"] * (sizes / law["smallest"]) ** law["exponent"]
        for law in laws
    }
    # Values far below all fitted values are scatter around 0; a logarithmic axis cannot show them.
    least = 0.3 * min((fit.min() for fit in fits.values()), default=0.0)
    for solver, aside in zip(solvers(here), (0.92, 1.0, 1.08), strict=False):
        mine, style = here.where(solver=solver), SOLVER_STYLES[solver]
        look = {"linestyle": "", "marker": style.marker, "markeredgewidth": 0}
        light = {"color": tint(style.colour, 0.4), "markersize": 4, "zorder": 1}
        ax.plot(mine["size"] * aside, _shown(mine[what], least), **look, **light)
        means = np.array([mine.where(size=size)[what].mean() for size in sizes.tolist()])
        bold = {"color": style.colour, "markersize": 7, "zorder": 3}
        ax.plot(sizes, _shown(means, least), **look, **bold)
        for law in laws.where(solver=solver):
            name = f"{SOLVER_NAMES[solver]}: {_exponent(law)}"
            fitted = {"color": style.colour, "linestyle": style.dash, "marker": style.marker}
            ax.plot(sizes, fits[solver], label=name, markevery=[], **fitted)
    start = 1.25 * np.abs(here.where(size=int(sizes[0]))[what]).max()
    for slope in laws["predicted"][:1]:
        line = start * (sizes / sizes[0]) ** slope
        ax.plot(sizes, line, ":", color=BLACK, label=f"slope of the theorem: {written(slope, 2)}")
    _note_missing(ax, here[what], least)
    _write_plainly(ax)
    ax.spines[["top", "right"]].set_visible(False)
    small = {"frameon": False, "fontsize": SMALL, "title_fontsize": SMALL, "handlelength": 2.8}
    above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "alignment": "left"}
    ax.legend(title="exponents, with 95% intervals", **small, **above)


def _shown(values: FloatArray, least: float) -> FloatArray:
    """Return the values, with NaN for those that are not drawn."""
    return np.where(values > max(0.0, least), values, np.nan)


def _note_missing(ax: Any, values: FloatArray, least: float) -> None:
    """Write into the panel how many values are not drawn."""
    missing = np.count_nonzero(values <= max(0.0, least))
    if missing:
        note = f"{missing} of {len(values)} values are below 0 or near it:\nfitted, but not drawn"
        ax.annotate(note, (0.03, 0.03), xycoords="axes fraction", fontsize=SMALL)


def _exponent(law: dict[str, Any]) -> str:
    """Return an exponent with its interval, as text."""
    value, low, high = (written(law[f"exponent{end}"], 2) for end in ("", "_low", "_high"))
    return f"{value} ({low} to {high})"


def _write_plainly(ax: Any) -> None:
    """Write plain numbers along both axes."""
    ticker = extra("matplotlib.ticker", "plots")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,g}"))
        axis.set_minor_formatter(ticker.NullFormatter())
    ax.yaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
