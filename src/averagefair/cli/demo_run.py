"""What the demo computes and prints: learning, testing and auditing on synthetic people.

The paper's synthetic population has a majority, whose rule most tasks follow, and a minority. With
no fairness constraint, classifiers err on the minority again and again.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from textwrap import fill

from sklearn.exceptions import ConvergenceWarning

from averagefair._util.text import exactly, table
from averagefair.auditing import Audit
from averagefair.datasets import make_synthetic
from averagefair.datasets.synthetic import SyntheticPopulation
from averagefair.estimator import AverageFairClassifier
from averagefair.evaluation.generalisation import CornerCurve, Generalisation, generalisation
from averagefair.frontier import ALPHAS, Frontier, FrontierPoint, frontier
from averagefair.game.solution import Callback
from averagefair.solvers import ExponentiatedGradient

SHOWN = (0.02, 0.05, 0.10, 0.15, 0.20)
CHOICE = 0.10


@dataclass(frozen=True, eq=False)
class Demo:
    """The demo's results.

    Attributes
    ----------
    split : SyntheticPopulation
    curve : Frontier
        The trade-off curve at the default alphas.
    authors_setting : tuple of float
        The error in the setting of the authors' published runs at each of ``SHOWN``.
    measured : Generalisation
        The curve measured on held-out people and tasks.
    audit : Audit
        The audit of ``CHOICE``, on new people and new tasks.
    """

    split: SyntheticPopulation
    curve: Frontier
    authors_setting: tuple[float, ...]
    measured: Generalisation
    audit: Audit

    def text(self) -> str:
        """Return the results as text of 80 columns: words first, tables last."""
        split, free = self.split, self.curve.unconstrained
        shown = [self.curve.at(alpha) for alpha in SHOWN]
        corners = self.measured.corners.values()
        tested = [
            [
                exactly(point.value),
                *(_figures(corner, self.curve.points.index(point)) for corner in corners),
            ]
            for point in shown
        ]
        return "\n".join(
            [
                "Average individual fairness on the paper's synthetic population:",
                f"{len(split.X)} people, {split.Y.shape[1]} tasks, {split.X.shape[1]} features; "
                f"held out: {len(split.X_new)} people and {split.Y_new_tasks.shape[1]} tasks.",
                f"Without a fairness constraint: error {free.error:.3f}, spread {free.spread:.3f}",
                "(spread: the largest minus the smallest individual error rate).",
                "",
                f"The price of alpha = {CHOICE:.2f}, in words:",
                fill(self.curve.at(CHOICE).statement(), width=79),
                "",
                f"The audit of alpha = {CHOICE:.2f} on people and tasks that are both new:",
                *(
                    fill(line, width=79, initial_indent="- ", subsequent_indent="  ")
                    for line in self.audit.summary().splitlines()
                ),
                "",
                "The same classifiers on people and tasks they have never seen (error / spread):",
                table(OUT_OF_SAMPLE, tested),
                "New tasks get their classifiers from the learned mapping; nothing is solved",
                "again. Part of a spread over few tasks is noise: even equal true rates would",
                "not look equal over 25 tasks.",
                "",
                "Learned so that everybody's error rate is within alpha of a common rate:",
                table(IN_SAMPLE, map(_in_sample, shown, self.authors_setting)),
                "columns: how many classifiers of each task are mixed. authors': the error in the",
                "setting of the authors' published runs, 1000 rounds of exponentiated gradient.",
                "coin flips: the error of mixing the unconstrained model with coin flips down to",
                "the same spread.",
            ]
        )


def run(callback: Callback | None = None) -> Demo:
    """Learn the whole curve and run the authors' setting for comparison; test and audit."""
    split = make_synthetic(n=200, m=50, d=20, q=0.8, n_holdout=200, m_holdout=25)
    curve = frontier(split.X, split.Y, ALPHAS, random_state=0, callback=callback)
    model, later = curve.model(CHOICE), split.Y_new_tasks
    names = [f"new task {task + 1}" for task in range(later.shape[1])]
    return Demo(
        split=split,
        curve=curve,
        authors_setting=tuple(_error_in_authors_setting(alpha, split) for alpha in SHOWN),
        measured=generalisation(
            curve,
            X_new=split.X_new,
            Y_new_people=split.Y_new_people,
            Y_new_tasks=later,
            Y_new_both=split.Y_new_both,
        ),
        audit=model.audit(
            split.X_new,
            split.Y_new_both,
            classifiers=model.extend(later, task_names=names),
            beta=0.05,
            groups=split.groups_new,
        ),
    )


IN_SAMPLE = (
    "alpha",
    "error",
    "spread",
    "common rate",
    "columns",
    "seconds",
    "authors'",
    "coin flips",
)
OUT_OF_SAMPLE = "alpha", "training", "new people", "new tasks", "both new"


def _error_in_authors_setting(alpha: float, split: SyntheticPopulation) -> float:
    model = AverageFairClassifier(alpha=alpha, solver=ExponentiatedGradient.published())
    with warnings.catch_warnings():
        # The setting ends after 1000 rounds, converged or not.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return float(model.fit(split.X, split.Y).error_)


def _in_sample(point: FrontierPoint, authors_setting: float) -> list[str]:
    known = point.certificate
    return [
        f"{point.value:.2f}",
        *(f"{figure:.3f}" for figure in (known.error, known.spread, known.common_rate)),
        str(known.columns),
        f"{known.seconds:.2f}",
        f"{authors_setting:.3f}",
        f"{point.coin_flips:.3f}",
    ]


def _figures(corner: CornerCurve, point: int) -> str:
    return f"{corner.error[point]:.3f} / {corner.spread[point]:.3f}"
