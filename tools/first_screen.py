"""Draw the pictures of the README and of the docs' first page: ``python -m tools.first_screen``."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

from averagefair import AverageFairClassifier, audit, frontier
from averagefair.datasets import make_synthetic

DOCS = Path(__file__).parents[1] / "docs"
ALPHA = 0.05
BIN, ACROSS = 0.02, 4  # one decision in fifty; this many dots side by side in a bin
BEFORE, AFTER, BAND, TEXT = "#D55E00", "#0072B2", "#FBF3B0", "#222222"
STYLE = {
    "font.size": 12.5,
    "text.color": TEXT,
    "axes.labelcolor": TEXT,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.08,
}
CARD = (4.4, 2.9)  # inches


def main() -> None:
    """Draw all pictures on the population of ``make demo``."""
    with matplotlib.rc_context(STYLE):
        pictures = {
            "before-after": before_after(),
            "card-audit": audit_card(),
            "card-train": train_card(),
            "card-noise": noise_card(),
        }
        for name, figure in pictures.items():
            figure.savefig(DOCS / f"{name}.png", dpi=200, facecolor="white")


def before_after() -> Figure:
    """Draw everybody's error rate without a constraint and with alpha = 0.05."""
    people = make_synthetic()
    before, after = (
        AverageFairClassifier(alpha=alpha, random_state=0).fit(people.X, people.Y)
        for alpha in (0.5, ALPHA)
    )
    return draw(before, after)


def audit_card() -> Figure:
    """Draw an audit of logistic regressions on new people: each rate with its 95% interval."""
    people = make_synthetic(n_holdout=200)
    vendor = MultiOutputClassifier(LogisticRegression()).fit(people.X, people.Y)
    found = audit(people.Y_new_people, vendor.predict(people.X_new))
    order = np.argsort(found.people.rate, kind="stable")
    rates, low, high = (getattr(found.people, name)[order] for name in ("rate", "low", "high"))
    figure, axes = card()
    axes.vlines(np.arange(len(rates)), low, high, color="#9CC3DD", linewidth=1.2)
    axes.plot(rates, color=AFTER, linewidth=2.5)
    axes.text(8, 0.52, "each person's\nerror rate", color=AFTER, weight="bold", va="center")
    axes.text(100, 0.045, "95% interval", color="#4A86AD", ha="left", va="center")
    axes.set(xlabel="people, from best off to worst off", xticks=[], ylim=(0, 0.62))
    axes.set_yticks([0, 0.2, 0.4, 0.6])
    axes.yaxis.set_major_formatter(percent)
    return figure


def train_card() -> Figure:
    """Draw error against spread on the training people: learned together, and by coin flips."""
    people = make_synthetic()
    curve = frontier(people.X, people.Y, [0.02, 0.05, 0.08, 0.11, 0.14, 0.18], random_state=0)
    spread = [point.spread for point in curve]
    figure, axes = card()
    axes.plot(spread, [point.coin_flips for point in curve], color="#777777", linestyle="--")
    axes.plot(spread, [point.error for point in curve], "o-", color=AFTER, linewidth=2.5)
    axes.text(0.12, 0.42, "equal by coin flips", color="#555555")
    axes.text(0.05, 0.115, "learned together", color=AFTER, weight="bold")
    axes.set(xlabel="worst-off minus best-off rate", ylabel="error", ylim=(0, 0.5), xlim=(0, None))
    axes.set_yticks([0, 0.2, 0.4])
    axes.xaxis.set_major_formatter(percent)
    axes.yaxis.set_major_formatter(percent)
    return figure


def noise_card() -> Figure:
    """Draw people who all have a true error rate of 20%, observed over few and many tasks."""
    rng = np.random.default_rng(0)
    figure, axes = card()
    for height, tasks in enumerate((1000, 50, 5)):
        rates = rng.binomial(tasks, 0.2, size=200) / tasks
        up = height + rng.uniform(-0.22, 0.22, size=200)
        axes.scatter(rates, up, s=9, color=BEFORE, alpha=0.6, linewidths=0)
    axes.axvline(0.2, color=TEXT, linewidth=1)
    axes.text(0.22, 2.47, "everybody's true rate: 20%", va="center")
    axes.set(ylim=(-0.5, 2.7), xlim=(-0.02, 0.9), xlabel="observed error rate")
    axes.set_yticks([0, 1, 2], ["1,000 tasks", "50 tasks", "5 tasks"])
    axes.tick_params(left=False)
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_formatter(percent)
    return figure


def card() -> tuple[Figure, Axes]:
    """Return a figure for a card and its axes."""
    figure = Figure(figsize=CARD, layout="constrained")
    return figure, figure.subplots()


def percent(share: float, _: object) -> str:
    """Return a share as the label of a tick."""
    return f"{share:.0%}"


def draw(before: AverageFairClassifier, after: AverageFairClassifier) -> Figure:
    """Draw a dot for each person in two panels, one above the other, on the same axes."""
    figure = Figure(figsize=(8, 4.4), layout="constrained")
    panels = figure.subplots(2, 1, sharex=True, sharey=True)
    worst = int(np.argmax(before.individual_rates_))
    low = after.common_rate_ - ALPHA
    titles = ("Each task learned by itself", "All tasks learned together")
    words = ("the worst-off person:", "the same person:")
    for axes, model, color, title, who in zip(
        panels, (before, after), (BEFORE, AFTER), titles, words, strict=True
    ):
        rates = model.individual_rates_
        across, up = dots(rates, first=worst, low=low)
        axes.scatter(across, up, s=28, color=color, linewidths=0)
        axes.scatter(across[worst], up[worst], s=75, color=TEXT, linewidths=0, zorder=3)
        axes.spines["left"].set_visible(False)
        axes.text(0.275, 13.5, title, color=color, weight="bold", size=14.5)
        axes.text(0.275, 11, f"{model.error_:.1%} of all decisions are wrong")
        axes.text(0.275, 9, f"individual rates: {rates.min():.0%} to {rates.max():.0%}")
        mark(axes, f"{who} {rates[worst]:.0%}", (across[worst], up[worst]))
    edges = low - BIN / 2, low + 2 * ALPHA + BIN / 2  # dots are around their rate
    panels[1].axvspan(*edges, color=BAND, linewidth=0, zorder=0)
    panels[1].text(
        edges[0] - 0.006, 12, "asked for: everybody\nin this band", ha="right", va="center"
    )
    panels[1].set(xlim=(-0.01, 0.46), ylim=(-0.7, 16), yticks=[])
    panels[1].set_xticks(np.arange(0, 0.41, 0.1))
    panels[1].xaxis.set_major_formatter(percent)
    panels[1].set_xlabel(
        "individual error rate: the share of a person's 50 decisions that is wrong"
    )
    figure.supylabel("200 people, a dot each", size=12.5)
    return figure


def dots(
    rates: NDArray[np.float64], first: int, low: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the coordinates of each person's dot: `ACROSS` dots around a rate fill a row.

    The rates are `low` and steps of `BIN` from there. The person `first` gets the right end of the
    lowest row.
    """
    bins = np.round((rates - low) / BIN)
    across, up = np.empty(len(rates)), np.empty(len(rates))
    for number in np.unique(bins):
        people = np.flatnonzero(bins == number)
        people = np.concatenate([people[people == first], people[people != first]])
        row, column = np.divmod(np.arange(len(people)), ACROSS)
        in_row = np.minimum(ACROSS, len(people) - row * ACROSS)  # centre a short row
        across[people] = low + BIN * (number + ((in_row - 1) / 2 - column) / ACROSS)
        up[people] = row
    return across, up


def mark(axes: Axes, words: str, dot: tuple[float, float]) -> None:
    """Write words at the right, above the axis, with an arrow to a dot."""
    axes.annotate(
        words,
        dot,
        (0.275, 4.5),
        weight="bold",
        arrowprops={"arrowstyle": "->", "color": TEXT, "shrinkB": 5, "relpos": (0.5, 0)},
    )


if __name__ == "__main__":
    main()
