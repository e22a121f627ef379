"""Beyond the paper: random splits, other biases, more people and tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from averagefair.experiments.figures import COLUMNS, SOLVERS, UNCONSTRAINED
from averagefair.experiments.findings import HELD_OUT
from averagefair.experiments.plan import Tables
from averagefair.experiments.story.words import (
    alpha_or_none,
    asked_for,
    between,
    mean_text,
    shown_alpha,
)
from averagefair.experiments.sweeps import PEOPLE
from averagefair.experiments.tidy import Table
from averagefair.generalisation import CORNERS
from averagefair.report import Listing, Section
from averagefair.text import figure, percent


def random_splits_section(tables: Tables) -> Section:
    """Tell which solver's curve holds up on random splits of Communities and Crime."""
    measured, compared = tables["random_splits"], tables["random_splits_compared"]
    sizes = "; ".join(
        f"{row['learned_from']:,} people, {_which_tasks(row['held_out_tasks'])}"
        for row in measured.only("learned_from", "held_out_tasks")
    )
    paragraphs = [
        f"Each setting is drawn {len(measured.distinct('split'))} times at random: {sizes}. Both "
        "solvers see the same draws. Their curves are compared where new people (or old people on "
        "new tasks) are equally unequal, chance-corrected; a curve counts as the best mixtures of "
        "its models with each other and with coin flips.",
        f"Held out, {_tally(compared)} “Worse” and “better”: the 95% interval over the draws lies "
        "on one side of zero.",
        *_single_points(tables["random_splits_points"]),
    ]
    listings = [_comparison(compared, ("learned_from", "held_out_tasks"))]
    listings += [_means(measured)]
    return Section(
        "Random splits, and all neighbourhoods",
        paragraphs,
        ["random_splits", *(["random_splits_compared"] if len(compared) else [])],
        listings,
    )


def _single_points(points: Table) -> list[str]:
    """Tell how a model asked for by its alpha may fare, where that is known with intervals."""
    if not (points["gain"] < 0).any() or np.isnan(points["gain_low"]).any():
        return []
    worst = min(points, key=lambda row: row["gain"])
    lost = (
        "That is the curve as a whole. A single point can lose: asked for alpha = "
        f"{worst['alpha']:g} with {worst['learned_from']:,} people, column generation's model on "
        f"{CORNERS[worst['corner']]} ({_which_tasks(worst['held_out_tasks'])}) errs "
        f"{-worst['gain']:.3f} more than the published curve does at the same unfairness "
        f"({-worst['gain_high']:.3f} to {-worst['gain_low']:.3f})."
    )
    drawn = points.where(held_out_tasks="drawn", corner="tasks")
    if not len(drawn):
        return [lost]
    return [
        lost,
        "The paper's new tasks are of another kind than those learned from: mostly housing and "
        "rents, where those are mostly about people and their income. With new tasks drawn at "
        "random from all 75, each of its models on new tasks gains on the published curve by "
        f"{between(drawn['gain'])}. Where new tasks may be of another kind, ask for a larger "
        "alpha, or cap anybody's weight (max_influence).",
    ]


def _which_tasks(held_out: str) -> str:
    return "25 tasks drawn at random held out" if held_out == "drawn" else "the paper's new tasks"


def _tally(compared: Table) -> str:
    if not len(compared):
        return (
            "it is not shown that people are treated differently, so there is nothing to compare."
        )
    better = int((compared["gain_low"] > 0).sum())
    worse = int((compared["gain_high"] < 0).sum())
    least = compared["gain"].min()
    return (
        f"of {len(compared)} comparisons (settings, corners, levels of unfairness, two measures of "
        f"it) column generation is better in {better}, worse in {worse}, and level in "
        f"{len(compared) - better - worse}; its mean error is lower by {between(compared['gain'])}"
        f"{' (below zero: higher)' if least < 0 else ''}."
    )


def _comparison(compared: Table, setting: Sequence[str]) -> Listing:
    shown = compared.where(measure="sigma")
    levels = shown.distinct("level")
    rows = []
    for which in shown.only(*setting, "corner"):
        here = shown.where(**which)
        names = [_setting(name, value) for name, value in which.items() if name != "corner"]
        rows.append([*names, CORNERS[which["corner"]], *map(_gain, here)])
    head = [*(name.replace("_", " ") for name in setting), "where"]
    head += [f"at {percent(level)}" for level in levels]
    caption = (
        "How much more the published setting errs at equal chance-corrected unfairness, in shares "
        "of the unconstrained models' (95% intervals over the draws)"
    )
    return Listing(caption, head, rows)


def _setting(name: str, value: object) -> str:
    return f"{value:,}" if name == "learned_from" else f"{value}"


def _gain(row: dict[str, float]) -> str:
    bounds = f" ({figure(row['gain_low'], 3, '+')} to {figure(row['gain_high'], 3, '+')})"
    return figure(row["gain"], 3, "+") + ("" if np.isnan(row["gain_low"]) else bounds)


def _means(measured: Table) -> Listing:
    """Write out the largest setting in full."""
    most = max(measured.distinct("learned_from"))
    here = measured.where(learned_from=most)
    rows = []
    for which in here.only("solver", "alpha"):
        one = here.where(**which)
        cells = [
            f"{mean_text(one.where(corner=corner)['error'])}"
            + (f" / {mean_text(one.where(corner=corner)['sigma'])}" if corner != "training" else "")
            for corner in ("training", *HELD_OUT)
        ]
        rows.append([which["solver"], alpha_or_none(which["alpha"]), *cells])
    head = ["solver", "alpha", *(CORNERS[corner] for corner in ("training", *HELD_OUT))]
    caption = (
        f"{most:,} people to learn from: error / standard deviation of true rates, means over the "
        "draws with 95% intervals"
    )
    return Listing(caption, head, rows)


def coin_bias_section(tables: Tables) -> Section:
    """Tell what the bias of the synthetic population's coin does."""
    measured, compared = tables["coin_bias"], tables["coin_bias_compared"]
    training = measured.where(corner="training")
    middle = shown_alpha(training)

    def mean(q: float, solver: str, alpha: float, what: str) -> float:
        return float(training.where(q=q, solver=solver, alpha=alpha)[what].mean())

    biases = training.distinct("q")
    price = {
        q: mean(q, COLUMNS, middle, "error") - mean(q, COLUMNS, UNCONSTRAINED, "error")
        for q in biases
    }
    spreads = {q: mean(q, COLUMNS, UNCONSTRAINED, "spread") for q in biases}
    low, high = min(biases), max(biases)
    head = ["q", "unconstrained: error", "spread"]
    head += [f"{name}: error at {alpha:g}" for name in SOLVERS for alpha in asked_for(training)]
    rows = []
    for q in biases:
        free = training.where(q=q, solver=COLUMNS, alpha=UNCONSTRAINED)
        cells = [
            mean_text(training.where(q=q, solver=name, alpha=alpha)["error"])
            for name in SOLVERS
            for alpha in asked_for(training)
        ]
        rows.append([f"{q:g}", mean_text(free["error"]), mean_text(free["spread"]), *cells])
    draws = len(measured.distinct("population"))
    return Section(
        "The coin's bias",
        [
            "The paper describes the bias q of the coin that puts people into a task's majority, "
            f"and shows q = 0.8. Here it runs from {low:g}, where majorities are formed by chance, "
            f"to {high:g}, where the same quarter of the people is the minority in every task; "
            f"{draws} populations for each.",
            f"Without a constraint, error rates are {spreads[low]:.2f} apart at q = {low:g} "
            f"and {spreads[high]:.2f} at q = {high:g}. Fairness at alpha = {middle:g} costs "
            + ", ".join(f"{price[q]:.3f} at q = {q:g}" for q in biases)
            + " in training error with column generation.",
            f"Held out, {_tally(compared)}{_nothing_to_compare(measured, compared)}",
        ],
        ["coin_bias", *(["coin_bias_compared"] if len(compared) else [])],
        [
            Listing("Training, means over populations with 95% intervals", head, rows),
            _comparison(compared, ("q",)),
        ],
    )


def _nothing_to_compare(measured: Table, compared: Table) -> str:
    """Say where people were not shown to be treated differently in the first place."""
    known = set(zip(compared["q"].tolist(), compared["corner"].tolist(), strict=True))
    absent = [
        f"{CORNERS[corner]} at q = {q:g}"
        for q in measured.distinct("q")
        for corner in HELD_OUT
        if (q, corner) not in known
    ]
    if not absent or not known:
        return ""
    return (
        f" (Left out: {', '.join(absent)}, where not every population shows that people differ at "
        "all without a constraint.)"
    )


def growth_section(tables: Tables) -> Section:
    """Tell how fast fairness comes to carry over, beside what the theorems promise."""
    grown, fitted = tables["growth"], tables["exponents"]
    words = {
        "excess": "how much further from a common rate all but 5% of new people are than of the "
        "people learned from (root mean square over populations)",
        "moved": "how far a person's rate on new tasks lies from the one on the training tasks "
        "(root mean square, noise taken off)",
    }
    paragraphs = [
        "The paper's two theorems: with n people to learn from, fairness carries over to new "
        "people up to an alpha that falls like n to the power -1/2; with m tasks, to new tasks up "
        "to an alpha that falls like m to the power -1/4. Its own experiments are too small to "
        "show either.",
    ]
    for direction in fitted.distinct("direction"):
        here, sizes = fitted.where(direction=direction), grown.where(direction=direction)
        quantity = here["quantity"][0]
        runs = "; ".join(
            f"{row['solver']} {row['exponent']:.2f} ({row['exponent_low']:.2f} to "
            f"{row['exponent_high']:.2f}), from {row['at_smallest']:.4f} down to "
            f"{row['at_largest']:.4f}"
            for row in here
        )
        other = "tasks" if direction == PEOPLE else "people"
        paragraphs.append(
            f"From {min(sizes['size']):,} to {max(sizes['size']):,} {direction} (alpha = "
            f"{sizes['alpha'][0]:g}, {other} fixed), {words[quantity]}: fitted exponents, beside "
            f"the theorem's {here['predicted'][0]:g}: {runs}."
        )
    paragraphs.append(
        "The theorems are upper bounds for the worst case: a steeper fall than predicted does not "
        "contradict them. (The -1/4 comes from the way the Auditor's rounds share the tasks; for "
        "one fixed set of classifiers the law of large numbers would give -1/2.)"
    )
    head = ["growing", "to learn from", "solver", "training error", "held-out error"]
    head += ["training alpha", "held-out alpha", "excess or moved", "populations"]
    rows = []
    for which in grown.only("direction", "size", "solver"):
        here = grown.where(**which)
        quantity = "excess" if which["direction"] == PEOPLE else "moved"
        rows.append(
            [
                which["direction"],
                f"{which['size']:,}",
                which["solver"],
                *(
                    f"{here[what].mean():.4f}"
                    for what in ("reached_error", "held_out_error", "near", "held_out_near")
                ),
                f"{here[quantity].mean():.4f}",
                str(len(here)),
            ]
        )
    rows.sort(key=lambda row: (row[0], int(row[1].replace(",", ""))))
    caption = (
        "Means over populations; alpha: how far all but 5% of the people are from a common rate "
        "(of new tasks de-noised)"
    )
    return Section(
        "More people, more tasks", paragraphs, ["growth"], [Listing(caption, head, rows)]
    )
