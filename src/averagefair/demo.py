"""The main job on the paper's synthetic population, as two tables: ``python -m averagefair.demo``.

The population has a majority that most tasks are about and a minority that is judged by the
majority's rule: left alone, classifiers err on the minority again and again.
"""

from __future__ import annotations

from textwrap import fill

from averagefair.datasets import make_synthetic
from averagefair.estimator import AverageFairClassifier
from averagefair.frontier import FrontierPoint, frontier
from averagefair.held_out import HeldOut
from averagefair.measure import Measurement
from averagefair.solvers import ExponentiatedGradient
from averagefair.text import table

ALPHAS = (0.02, 0.05, 0.10, 0.15, 0.20)
CHOICE = 0.10


def main() -> None:
    """Learn at several alphas and print what it costs and what carries over."""
    split = make_synthetic(n=200, m=50, d=20, q=0.8, n_holdout=200, m_holdout=25)
    curve = frontier(split.X, split.Y, ALPHAS, random_state=0)
    free = curve.unconstrained
    print(
        "Average individual fairness on the paper's synthetic population:\n"
        f"{len(split.X)} people, {split.Y.shape[1]} tasks, {split.X.shape[1]} features; "
        f"held out: {len(split.X_new)} people and {split.Y_new_tasks.shape[1]} tasks.\n"
        f"Without a fairness constraint: error {free.error:.3f}, spread {free.spread:.3f}\n"
        "(spread: the largest less the smallest individual error rate).\n"
    )
    print("Learned so that everybody's error rate is within alpha of a common rate:")
    published = [_published_error(alpha, split.X, split.Y) for alpha in ALPHAS]
    print(table(IN_SAMPLE, map(_in_sample, curve, published)))
    print(
        "columns: how many classifiers of each task are mixed. published: the error of\n"
        "the paper's own method, 1000 rounds of exponentiated gradient. coin flips: the\n"
        "error of mixing the unconstrained model with coin flips down to the same spread.\n"
    )
    print("The same classifiers on people and tasks they have never seen (error / spread):")
    tests = curve.held_out(
        X_new=split.X_new,
        Y_new_people=split.Y_new_people,
        Y_new_tasks=split.Y_new_tasks,
        Y_new_both=split.Y_new_both,
    )
    print(table(OUT_OF_SAMPLE, map(_out_of_sample, curve, tests)))
    print(
        "New tasks get their classifiers from the learned mapping; nothing is solved\n"
        "again. Part of a spread over few tasks is noise: even equal true rates would\n"
        "not look equal over 25 tasks.\n"
    )
    print(f"The price of alpha = {CHOICE:.2f}, in words:")
    print(fill(curve.at(CHOICE).statement(), width=79))
    model = curve.model(CHOICE)
    found = model.audit(
        split.X_new,
        split.Y_new_both,
        classifiers=model.extend(split.Y_new_tasks),
        beta=0.05,
        groups=split.groups_new,
    )
    print(f"\nThe audit of alpha = {CHOICE:.2f} on people and tasks that are both new:")
    for line in found.summary().splitlines():
        print(fill(line, width=79, initial_indent="- ", subsequent_indent="  "))


IN_SAMPLE = (
    "alpha",
    "error",
    "spread",
    "common rate",
    "columns",
    "seconds",
    "published",
    "coin flips",
)
OUT_OF_SAMPLE = "alpha", "training", "new people", "new tasks", "both new"


def _published_error(alpha: float, X: object, Y: object) -> float:
    solver = ExponentiatedGradient.published()
    return float(AverageFairClassifier(alpha=alpha, solver=solver).fit(X, Y).error_)


def _in_sample(point: FrontierPoint, published: float) -> list[str]:
    known = point.certificate
    return [
        f"{point.alpha:.2f}",
        *(f"{figure:.3f}" for figure in (known.error, known.spread, known.common_rate)),
        str(known.columns),
        f"{known.seconds:.2f}",
        f"{published:.3f}",
        f"{point.coin_flips:.3f}",
    ]


def _out_of_sample(point: FrontierPoint, test: HeldOut) -> list[str]:
    training = Measurement(point.error, point.model.individual_rates_)
    corners = (training, test.people, test.tasks, test.both)
    return [f"{point.alpha:.2f}", *(_figures(corner) for corner in corners if corner)]


def _figures(corner: Measurement) -> str:
    return f"{corner.error:.3f} / {corner.spread:.3f}"


if __name__ == "__main__":
    main()
