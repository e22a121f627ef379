"""What the demo computes and prints: learning, testing and auditing on synthetic people.

The paper's synthetic population has a majority, whose rule most tasks follow, and a minority. With
no fairness constraint, classifiers err on the minority again and again.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from textwrap import fill
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from averagefair._util.text import exactly, figure, table
from averagefair.auditing import Audit
from averagefair.datasets import make_synthetic
from averagefair.datasets.synthetic import SyntheticPopulation
from averagefair.errors import LevellingDownWarning
from averagefair.estimator import AverageFairClassifier
from averagefair.evaluation.generalisation import CornerCurve, Generalisation, generalisation
from averagefair.frontier import Frontier, FrontierPoint, frontier
from averagefair.game.mapping import Mapping
from averagefair.game.promises import WorstOff
from averagefair.game.solution import Callback
from averagefair.game.who_pays import WhoPays
from averagefair.showing.headline import audit_headline
from averagefair.solvers import ExponentiatedGradient

SHOWN = (0.05, 0.10, 0.15, 0.20)
"""The alphas of the curve: few, so that the demo takes seconds."""
CHOICE = 0.10
SHARE, DEMO_PRICES, PRICE = 0.1, (0.05, 0.1, 0.25), 0.1
"""The worst-off view: the share, the prices of its curve, and the price shown."""


@dataclass(frozen=True, eq=False)
class Demo:
    """The demo's results.

    Attributes
    ----------
    split : SyntheticPopulation
    curve : Frontier
        The trade-off curve at ``SHOWN``.
    measured : Generalisation
        The curve measured on held-out people and tasks.
    audit : Audit
        The audit of ``CHOICE``, on new people and new tasks.
    worst_off : Frontier
        The curve of the worst-off share at ``DEMO_PRICES``.
    worst_off_measured : Generalisation
        This curve measured on held-out people and tasks.
    """

    split: SyntheticPopulation
    curve: Frontier
    measured: Generalisation
    audit: Audit
    worst_off: Frontier
    worst_off_measured: Generalisation

    def who_pays(self) -> list[dict[str, Any]]:
        """Return the rows of the table "who pays": people and tasks, promise, and figures."""
        curves = (
            (f"equal rates, alpha {CHOICE:.2f}", self.curve, self.measured, CHOICE),
            (f"worst-off, price {PRICE:.2f}", self.worst_off, self.worst_off_measured, PRICE),
        )
        rows: list[dict[str, Any]] = []
        for corner, people in (("training", "training"), ("both", "both new")):
            for number, (name, curve, measured, value) in enumerate(curves):
                place = curve.points.index(curve.at(value))
                pays = measured.corners[corner].who_pays[place]
                assert pays is not None  # the demo has labels for all corners
                if number == 0:
                    rows.append(_before(people, pays))
                rows.append(_after(people, name, pays))
        return rows

    def screen(self) -> str:
        """Return the results as one screen: who pays, and the audit in a sentence."""
        rows: dict[str, list[str]] = {}
        for row in self.who_pays():
            rates = [figure(row[name]) for name in ("error", "worst_off")]
            rows.setdefault(row["promise"], []).extend(rates)
        found = audit_headline(self.audit)
        people, new = (shape_of(Y) for Y in (self.split.Y, self.split.Y_new_both))
        return "\n".join(
            [
                f"Learned on {people} of the paper's synthetic population,",
                f"tested on {new} that training has not seen (new).",
                "",
                table(BRIEF, ([promise, *rates] for promise, rates in rows.items())),
                "worst-off: the mean error rate of the tenth of the people with most mistakes.",
                "",
                "A promise is kept on the training people and tasks. Before you choose one,",
                "compare who pays on new people and tasks.",
                fill(
                    f"Audit of equal rates, new people and tasks: {found.badge.name}. "
                    f"{found.sentence}",
                    width=79,
                ),
                "",
                "Everything in words: --explain. Tables to try commands on: --tables FOLDER.",
            ]
        )

    def text(self) -> str:
        """Return the results as text of 80 columns: words first, tables last."""
        split, free, look = self.split, self.curve.unconstrained, self.curve.first_look
        authors = [_error_in_authors_setting(alpha, split) for alpha in SHOWN]
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
                *([] if look is None else [fill(look.statement(), width=79)]),
                "",
                f"The price of alpha = {CHOICE:.2f}, in words:",
                fill(self.curve.at(CHOICE).statement(), width=79),
                "",
                "Who pays: the error, and the mean rates of the worst-off and best-off tenth:",
                table(WHO_PAYS, map(_pays_cells, self.who_pays())),
                "better, worse: the share of people whose rate changes by more than 0.01.",
                "both new: new people on new tasks, on average over draws (see below).",
                f"Start with the worst-off promise: --worst-off {SHARE:g} --price {PRICE:g}.",
                "Before you choose equal rates, compare who pays on new people and tasks.",
                "",
                f"The audit of alpha = {CHOICE:.2f} on new people and tasks, averaged over draws:",
                *(
                    fill(line, width=79, initial_indent="- ", subsequent_indent="  ")
                    for line in self.audit.summary().splitlines()
                ),
                "",
                "People and tasks that training has never seen (error / spread):",
                table(OUT_OF_SAMPLE, tested),
                "New people on the training tasks get the fixed decisions. New tasks get their",
                "classifiers from the learned mapping, each with a chance; nothing is solved",
                "again. Their figures are averages over draws by these chances. Part of a spread",
                "over few tasks is noise: even equal true rates would not look equal over 25",
                "tasks.",
                "",
                "Learned so that everybody's error rate is within alpha of a common rate:",
                table(IN_SAMPLE, map(_in_sample, shown, authors)),
                "Decisions are fixed: each task has one classifier, and nothing is drawn.",
                "chances: the error if decisions are drawn by the chances that the solver found.",
                "authors': the error in the setting of the authors' published runs, 1000 rounds",
                "of exponentiated gradient, also drawn. coin flips: the error of mixing the",
                "unconstrained model with coin flips down to the same spread.",
            ]
        )


BRIEF = "promised", "error", "worst-off", "error, new", "worst-off, new"


def shape_of(labels: Any) -> str:
    """Return how many people and tasks a table of labels has."""
    return f"{labels.shape[0]} people and {labels.shape[1]} tasks"


def run(callback: Callback | None = None) -> Demo:
    """Learn both curves; test and audit."""
    split = make_synthetic(n=200, m=50, d=20, q=0.8, n_holdout=200, m_holdout=25)
    later = split.Y_new_tasks
    new: dict[str, Any] = {
        "X_new": split.X_new,
        "Y_new_people": split.Y_new_people,
        "Y_new_tasks": later,
        "Y_new_both": split.Y_new_both,
    }
    with warnings.catch_warnings():
        # The table "who pays" says this of each promise.
        warnings.simplefilter("ignore", LevellingDownWarning)
        curve = frontier(split.X, split.Y, SHOWN, random_state=0, callback=callback)
        worst_off = frontier(
            split.X,
            split.Y,
            DEMO_PRICES,
            promise=WorstOff(SHARE),
            random_state=0,
            look_first=False,
        )
        measured, worst_off_measured = (generalisation(own, **new) for own in (curve, worst_off))
    model = curve.model(CHOICE)
    names = [f"new task {task + 1}" for task in range(later.shape[1])]
    return Demo(
        split=split,
        curve=curve,
        measured=measured,
        audit=model.audit(
            split.X_new,
            split.Y_new_both,
            classifiers=_mapping(model).extend(later, task_names=names),
            beta=0.05,
            groups=split.groups_new,
        ),
        worst_off=worst_off,
        worst_off_measured=worst_off_measured,
    )


def _mapping(model: AverageFairClassifier) -> Mapping:
    # Not model.extend: it chooses for the new tasks together, so they would be learned tasks.
    assert model.mapping_ is not None, "a fitted model has its mapping"
    return model.mapping_


IN_SAMPLE = (
    "alpha",
    "error",
    "spread",
    "common rate",
    "chances",
    "seconds",
    "authors'",
    "coin flips",
)
OUT_OF_SAMPLE = "alpha", "training", "new people", "new tasks", "both new"


def _error_in_authors_setting(alpha: float, split: SyntheticPopulation) -> float:
    solver = ExponentiatedGradient.published()
    model = AverageFairClassifier(alpha=alpha, solver=solver, look_first=False)
    with warnings.catch_warnings():
        # The setting ends after 1000 rounds, converged or not.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", LevellingDownWarning)
        return float(model.fit(split.X, split.Y).error_)


def _in_sample(point: FrontierPoint, authors_setting: float) -> list[str]:
    known = point.certificate
    return [
        f"{point.value:.2f}",
        *(f"{value:.3f}" for value in (known.error, known.spread, known.common_rate)),
        "unknown" if known.by_chances is None else figure(known.by_chances.error),
        f"{known.seconds:.2f}",
        f"{authors_setting:.3f}",
        f"{point.coin_flips:.3f}",
    ]


def _figures(corner: CornerCurve, point: int) -> str:
    return f"{corner.error[point]:.3f} / {corner.spread[point]:.3f}"


WHO_PAYS = "", "promised", "error", "worst-off", "best-off", "better", "worse"


def _before(people: str, pays: WhoPays) -> dict[str, Any]:
    return {
        "people": people,
        "promise": "nothing asked",
        "error": pays.mean.before,
        "worst_off": pays.worst_off.before,
        "best_off": pays.best_off.before,
        "better": None,
        "worse": None,
    }


def _after(people: str, promise: str, pays: WhoPays) -> dict[str, Any]:
    return {
        "people": people,
        "promise": promise,
        "error": pays.mean.after,
        "worst_off": pays.worst_off.after,
        "best_off": pays.best_off.after,
        "better": pays.better,
        "worse": pays.worse,
    }


def _pays_cells(row: dict[str, Any]) -> list[str]:
    return [
        row["people"],
        row["promise"],
        *(figure(row[name]) for name in ("error", "worst_off", "best_off")),
        *("-" if row[name] is None else f"{row[name]:.1%}" for name in ("better", "worse")),
    ]
