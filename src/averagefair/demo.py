"""The main job on the paper's synthetic population, as two tables: ``python -m averagefair.demo``.

The population has a majority that most tasks are about and a minority that is judged by the
majority's rule: left alone, classifiers err on the minority again and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from averagefair.datasets import make_synthetic
from averagefair.estimator import AverageFairClassifier
from averagefair.experiments import Outcome, evaluate, unconstrained
from averagefair.measure import Measurement

ALPHAS = (0.02, 0.05, 0.10, 0.15, 0.20)


def main() -> None:
    """Learn at several alphas and print what it costs and what carries over."""
    split = make_synthetic(n=200, m=50, d=20, q=0.8, n_holdout=200, m_holdout=25)
    free = unconstrained(split)
    print(
        "Average individual fairness on the paper's synthetic population:\n"
        f"{len(split.X)} people, {split.Y.shape[1]} tasks, {split.X.shape[1]} features; "
        f"held out: {len(split.X_new)} people and {split.Y_new_tasks.shape[1]} tasks.\n"
        f"Without a fairness constraint: error {free.error:.3f}, spread {free.spread:.3f}\n"
        "(spread: the largest less the smallest individual error rate).\n"
    )
    outcomes = []
    for alpha in ALPHAS:
        model = AverageFairClassifier(alpha=alpha, random_state=0).fit(split.X, split.Y)
        outcomes.append(evaluate(split, model, free))
    print("Learned so that everybody's error rate is within alpha of a common rate:")
    print(_table(IN_SAMPLE, map(_in_sample, outcomes)))
    print(
        "coin flips: the error of mixing the unconstrained model with coin flips down\n"
        "to the same spread. gap: what the Auditor could still gain against the\n"
        "average play; the oracle is a heuristic, so it shows that a run has settled\n"
        "and proves nothing about the optimum.\n"
    )
    print("The same classifiers on people and tasks they have never seen (error / spread):")
    print(_table(OUT_OF_SAMPLE, map(_out_of_sample, outcomes)))
    print(
        "New tasks get their classifiers from the learned mapping; the game is not\n"
        "played again. Part of a spread over few tasks is noise: even equal true rates\n"
        "would not look equal over 25 tasks."
    )


IN_SAMPLE = "alpha", "error", "spread", "common rate", "gap", "rounds", "seconds", "coin flips"
OUT_OF_SAMPLE = "alpha", "training", "new people", "new tasks", "both new"


def _in_sample(outcome: Outcome) -> list[str]:
    c = outcome.certificate
    figures = (c.error, c.spread, c.common_rate, c.gap)
    return [
        f"{c.alpha:.2f}",
        *(f"{figure:.3f}" for figure in figures),
        str(c.rounds),
        f"{c.seconds:.2f}",
        f"{outcome.baseline_error:.3f}",
    ]


def _out_of_sample(outcome: Outcome) -> list[str]:
    corners = (outcome.training, outcome.new_people, outcome.new_tasks, outcome.new_both)
    return [f"{outcome.certificate.alpha:.2f}", *map(_figures, corners)]


def _figures(corner: Measurement) -> str:
    return f"{corner.error:.3f} / {corner.spread:.3f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [list(head), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    ]
    return "\n".join([text[0], "-" * len(text[0]), *text[1:]])


if __name__ == "__main__":
    main()
