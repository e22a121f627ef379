"""The paper's figures: what it shows, and what comes out here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from scipy.stats import spearmanr

from averagefair.experiments.figures import COLUMNS, PUBLISHED, SOLVERS, UNCONSTRAINED
from averagefair.experiments.findings import HELD_OUT
from averagefair.experiments.plan import Tables
from averagefair.experiments.story.words import alpha_or_none, between, out_of, shown_alpha, span
from averagefair.experiments.tidy import Column, Table
from averagefair.generalisation import CORNERS
from averagefair.rates import spoken
from averagefair.report import Listing, Section
from averagefair.text import figure, percent

RUN = ("alpha", "allowed", "reached_spread", "reached_error", "rounds", "oracle_calls", "seconds")
FIGURES = ("convergence", "error_spread", "generalisation", "noise", "corrected")
"""The figures of each rate."""


def paper_sections(tables: Tables) -> Iterator[Section]:
    """Tell of the paper's figures of error rates, then of the other rates together."""
    paths, everybody = tables["trajectories"], tables["error_spread"]
    yield _convergence(paths.where(rate="error"))
    yield _error_spread(everybody.where(rate="error"))
    yield _generalisation(tables["generalisation"].where(rate="error"))
    yield _noise(tables["generalisation"].where(rate="error"))
    others = [rate for rate in everybody.distinct("rate") if rate != "error"]
    if others:
        yield _other_rates(everybody, others)


def _convergence(paths: Table) -> Section:
    runs = paths.only("solver", *RUN)
    theirs, ours = (runs.where(solver=solver) for solver in SOLVERS)
    over = (theirs["reached_spread"] - theirs["allowed"]).max()
    less = theirs["reached_error"] - ours["reached_error"]
    filled = theirs["reached_spread"] / theirs["allowed"]
    within = "within what is allowed" if over <= 1e-4 else f"up to {over:.4f} above what is allowed"
    return Section(
        "Convergence",
        [
            "The paper: error against unfairness over 1000 rounds, for 2 alpha = 0.1, 0.2, 0.3 and "
            "0.4. Each path ends at a point that “saturates the fairness constraint with the "
            "optimal error”.",
            f"Here: the published setting ends at {percent(round(filled.min(), 3))} to "
            f"{percent(round(filled.max(), 3))} of its allowance, {within}. Its error is not the "
            "least: with the same oracle, column generation ends as fair as is asked for with "
            f"{between(less)} less error, after {span(ours['rounds'])} rounds instead of "
            f"{span(theirs['rounds'])}.",
            "Why: the published answer is the average of all rounds, and the early ones, played "
            "while the multipliers still swing, stay in it. Column generation lets a linear "
            "program weigh the rounds, and asks the oracle at that program's prices.",
        ],
        ["convergence_error"],
        [_runs("Runs, alone for each alpha", runs)],
    )


def _runs(caption: str, runs: Table) -> Listing:
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


def _error_spread(everybody: Table) -> Section:
    points = _points(everybody)
    asked = points.take(points["alpha"] < UNCONSTRAINED)
    theirs, ours = (asked.where(solver=solver) for solver in SOLVERS)
    less = theirs["reached_error"] - ours["reached_error"]
    rises = int((np.diff(theirs["reached_error"]) > 0).sum())
    paragraphs = [
        "The paper: for every allowed difference 2 alpha, everybody's error rate as a row of dots. "
        "The smaller alpha, the narrower the row and the higher the mean; and AIF-Learn “is "
        "considerably outperforming” the simple way to the same equality, mixing the unconstrained "
        "model with coin flips.",
        f"Here: {_against_coins(theirs, 'the published setting')}; "
        f"{_against_coins(ours, 'column generation')}. At {out_of(less >= -1e-9)} alphas column "
        f"generation errs no more than the published setting; the difference is {between(less)}.",
    ]
    if rises:
        paragraphs.append(
            f"The published errors are no smooth curve: at {rises} of {len(theirs) - 1} steps to a "
            "larger alpha the error rises, though more is allowed: the averages have not settled "
            "there. Column generation solves all alphas over one pool of columns, which makes its "
            "curve monotone."
        )
    if "group" in everybody.columns:
        paragraphs.append(_groups(everybody))
    head = ["alpha", "allowed"]
    for name in SOLVERS:
        head += [f"{name}: spread", "error", "coin flips", "columns"]
    rows = []
    for alpha in points.distinct("alpha"):
        row = [alpha_or_none(alpha), f"{2 * alpha:.2f}" if alpha < UNCONSTRAINED else ""]
        for name in SOLVERS:
            one = next(iter(points.where(solver=name, alpha=alpha)))
            row += [f"{one[what]:.4f}" for what in ("reached_spread", "reached_error")]
            row += [f"{one['coin_flip_error']:.4f}", str(one["columns"])]
        rows.append(row)
    note = (
        "Spread reached, overall error, the error of coin flips to the same spread, and how many "
        "classifiers of each task are mixed"
    )
    return Section("Error spread", paragraphs, ["error_spread_error"], [Listing(note, head, rows)])


def _points(everybody: Table) -> Table:
    return everybody.only("solver", *RUN, "columns", "coin_flip_error")


def _against_coins(points: Table, who: str) -> str:
    saved = points["coin_flip_error"] - points["reached_error"]
    more = f"coin flips err {between(saved)} more"
    return f"{who} errs less than coin flips at {out_of(saved > 0)} alphas ({more})"


def _groups(everybody: Table) -> str:
    """Tell how the groups of the synthetic population fare, as the paper expects."""

    def means(alpha: float, solver: str) -> list[str]:
        here = everybody.where(alpha=alpha, solver=solver)
        return [f"{np.nanmean(here.where(group=group)['individual_rate']):.3f}" for group in (1, 2)]

    middle = shown_alpha(everybody)
    free, fair = means(UNCONSTRAINED, COLUMNS), means(middle, COLUMNS)
    return (
        "The paper expects that without a constraint the models err more on group 2, which is "
        f"mostly in the minority. So it is: {free[0]} of the decisions on group 1 are wrong and "
        f"{free[1]} of those on group 2; at alpha = {middle:g} it is {fair[0]} and {fair[1]}."
    )


def _generalisation(measured: Table) -> Section:
    asked = measured.take(measured["alpha"] < UNCONSTRAINED)
    agree = []
    for name in SOLVERS:
        mine = asked.where(solver=name)
        training = mine.where(corner="training")["error"]
        by_corner = [_rank(training, mine.where(corner=corner)["error"]) for corner in HELD_OUT]
        agree.append(f"{name} {', '.join(figure(value, 2) for value in by_corner)}")
    higher = {
        name: np.concatenate(
            [
                asked.where(solver=name, corner=corner)["error"]
                - asked.where(solver=name, corner="training")["error"]
                for corner in HELD_OUT
            ]
        )
        for name in SOLVERS
    }
    head = ["alpha"]
    for name in SOLVERS:
        head += [f"{name}: {CORNERS[corner]}" for corner in ("training", *HELD_OUT)]
    rows = []
    for alpha in measured.distinct("alpha"):
        row = [alpha_or_none(alpha)]
        for name in SOLVERS:
            for corner in ("training", *HELD_OUT):
                one = next(iter(measured.where(alpha=alpha, solver=name, corner=corner)))
                row.append(f"{one['error']:.4f} / {one['spread']:.3f}")
        rows.append(row)
    return Section(
        "Generalisation",
        [
            "The paper: the curves on people held out, on tasks held out, and on both, follow the "
            "training curve “with higher error and unfairness”, and the order of the models is the "
            "same in testing as in training, so that the training curve can be used to choose.",
            "Here: held out, the error is higher than in training by "
            f"{between(higher[PUBLISHED])} (published) and {between(higher[COLUMNS])} (column "
            "generation). Order: the rank correlation of training and held-out errors over the "
            "alphas is, for new people, new tasks and both: "
            f"{'; '.join(agree)} (1: the same order).",
        ],
        ["generalisation_error"],
        [Listing("Error / spread of individual rates", head, rows)],
    )


def _rank(one: Column, other: Column) -> float:
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return np.nan
    return float(spearmanr(one, other).statistic)


def _noise(measured: Table) -> Section:
    parts = []
    for corner in HELD_OUT:
        here = measured.where(solver=PUBLISHED, corner=corner)
        here = here.take(here["alpha"] < UNCONSTRAINED)
        tasks = here["tasks"][0]
        share = here["spread_floor"] / here["spread"]
        parts.append(
            f"{CORNERS[corner]} ({tasks} tasks): spread {span(here['spread'], 2)}, by noise alone "
            f"{span(here['spread_floor'], 2)}, which is {percent(round(share.min(), 2))} to "
            f"{percent(round(share.max(), 2))} of it; of the variance of people's rates "
            f"{percent(round(here['noise_share'].min(), 2))} to "
            f"{percent(round(here['noise_share'].max(), 2))} is noise"
        )
    head = ["solver", "alpha", "where", "spread", "noise alone", "noise share", "true sd", "95%"]
    head += ["within, de-noised"]
    shown = [alpha for alpha in (0.05, 0.1, 0.2) if alpha in measured.distinct("alpha")]
    shown = sorted({*shown, measured.distinct("alpha")[0], UNCONSTRAINED})
    rows = [
        [
            row["solver"],
            alpha_or_none(row["alpha"]),
            CORNERS[row["corner"]],
            f"{row['spread']:.3f}",
            f"{row['spread_floor']:.3f}",
            percent(round(row["noise_share"], 2)),
            f"{row['sigma']:.3f}",
            f"{row['sigma_low']:.3f} to {row['sigma_high']:.3f}",
            f"{row['denoised']:.3f}",
        ]
        for row in measured
        if row["corner"] != "training" and row["alpha"] in shown
    ]
    caption = (
        "Raw spread, what noise alone would show, and what is left: the standard deviation of true "
        "rates with its interval, and how far from a common rate all but 5% of the people are"
    )
    return Section(
        "How much of the held-out spread is noise",
        [
            "The paper judges unfairness on held-out tasks by raw spread, the largest less the "
            "smallest individual rate. Over few tasks that is mostly chance: a rate over 25 tasks "
            "moves in steps of 0.04, and among 200 people somebody is lucky and somebody is not. "
            "The audit tells what spread there would be if everybody's true rate were the same.",
            f"Of the published models: {'; '.join(parts)}.",
            "So raw held-out spreads must not be compared with the 2 alpha asked for in training, "
            "nor two methods by them. From here on unfairness is chance-corrected: the standard "
            "deviation of people's true rates, with the noise of few tasks taken off.",
        ],
        ["noise_error", "corrected_error"],
        [Listing(caption, head, rows)],
    )


def _other_rates(everybody: Table, rates: Iterable[str]) -> Section:
    paragraphs = [
        "The paper defines fairness of false-positive and false-negative rates (its appendix on "
        "FPAIF) and shows no experiment with them. These are the same figures for them; the "
        "Learner uses the sample's own share of negative (positive) labels for each person."
    ]
    listings, figures = [], []
    for rate in rates:
        points = _points(everybody.where(rate=rate))
        asked = points.take(points["alpha"] < UNCONSTRAINED)
        theirs, ours = (asked.where(solver=solver) for solver in SOLVERS)
        less = theirs["reached_error"] - ours["reached_error"]
        over = theirs["reached_spread"] - theirs["allowed"]
        paragraphs.append(
            f"{spoken(rate).capitalize()} rates: the published setting, tuned for error rates, "
            f"ends above its allowance at {out_of(over > 1e-4)} alphas (by at most "
            f"{max(0.0, over.max()):.3f}); {_against_coins(theirs, 'it')}. Column generation keeps "
            f"to the allowance at {out_of(ours['reached_spread'] <= ours['allowed'] + 1e-6)}, and "
            f"{_against_coins(ours, 'it')}. Its error differs from the published by "
            f"{between(-less)}."
        )
        figures += [f"{kind}_{rate}" for kind in FIGURES]
        listings.append(_runs(f"{spoken(rate).capitalize()} rates", asked))
    return Section("False positives and false negatives", paragraphs, figures, listings)
