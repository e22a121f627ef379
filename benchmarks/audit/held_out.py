"""Audit how much of the requested alpha carries over: the worked example of docs/audit.md.

1. Communities and Crime, the paper's split. Models at several alphas are audited on 200 people and
   25 tasks that the models have never seen.
2. The synthetic population. Models that learned from 25 to 400 tasks are audited on 400 new tasks.

``python -m benchmarks.audit.held_out`` prints both tables and the audit's text. ``--docs`` also
writes them, and the figure, into docs/.
"""

from __future__ import annotations

import sys
from textwrap import fill

from averagefair import Audit, audit, compare, frontier
from averagefair.datasets import Split, communities_split, make_synthetic
from benchmarks.common import DOCS, communities, heading, machine, markdown, table, write_section

ALPHAS = (0.02, 0.05, 0.10, 0.15, 0.5)
NEAR = 0.05  # the beta of alpha(beta)
HEAD = [
    "alpha learned",
    "mean error",
    "largest - smallest",
    "noise alone",
    "alpha(5%) observed",
    "noise floor",
    "without noise",
    "true sd",
    "chance p",
    "change of variance",
]
GROWTH_HEAD = [
    "tasks learned from",
    "true sd, unconstrained",
    "true sd, alpha 0.05",
    "alpha(5%) without noise",
    "observed",
    "noise floor",
]


def main() -> None:
    print(machine())
    split = communities()
    if split is None:
        print("Communities and Crime was left out: there is no file of it here.")
    else:
        show_communities(communities_split(split))
    show_growth()


def show_communities(split: Split) -> None:
    heading("Communities and Crime", "200 people and 25 tasks that the models have never seen")
    audits = on_both_new(split)
    free = audits[-1][1]
    rows = [row(alpha, found, free) for alpha, found in reversed(audits)]
    table(HEAD, rows)
    fair = dict(audits)[0.05]
    words = f"{fair.summary()}\n\n{compare(free, fair)}"
    print(f"\n{words}")
    if "--docs" in sys.argv:
        write_section(DOCS / "audit.md", "communities", markdown(HEAD, rows))
        said = "\n".join(
            fill(line, 100, subsequent_indent="  ") for line in fair.summary().split("\n")
        )
        write_section(DOCS / "audit.md", "words", f"```text\n{said}\n```")
        write_section(DOCS / "audit.md", "comparison", f"```text\n{compare(free, fair)}\n```")
        fair.plot().savefig(DOCS / "audit.png", dpi=90)


def on_both_new(split: Split) -> list[tuple[float, Audit]]:
    """Fit a model at each alpha; audit each model on new people and new tasks."""
    curve = frontier(split.X, split.Y, ALPHAS, decisions="drawn", random_state=0)
    return [
        (
            point.value,
            point.model.audit(
                split.X_new,
                split.Y_new_both,
                classifiers=point.model.extend(split.Y_new_tasks),
                alpha=0.1,
                beta=NEAR,
            ),
        )
        for point in curve
    ]


def row(alpha: float, found: Audit, free: Audit) -> list[str]:
    at, change = found.curve.at(NEAR), compare(free, found).sigma2
    return [
        "unconstrained" if alpha == 0.5 else f"{alpha:.2f}",
        f"{found.mean.value:.3f}",
        f"{found.range.width:.2f}",
        f"{2 * found.curve.at(0)['floor']:.2f}",
        f"{at['alpha']:.3f}",
        f"{at['floor']:.3f}",
        f"{at['denoised']:.3f}",
        f"{found.dispersion.sigma:.3f}",
        f"{found.chance.p:.3f}",
        "" if found is free else f"{change.value:+.4f} ({change.low:+.4f} to {change.high:+.4f})",
    ]


def show_growth() -> None:
    heading("The synthetic population", "new tasks for 400 training people; 400 of them, fresh")
    rows = [growth(m) for m in (25, 50, 100, 200, 400)]
    table(GROWTH_HEAD, rows)
    if "--docs" in sys.argv:
        write_section(DOCS / "audit.md", "growth", markdown(GROWTH_HEAD, rows))


def growth(m: int) -> list[str]:
    """Learn from m tasks; audit on 400 other tasks."""
    split = make_synthetic(n=400, m=m, m_holdout=400)
    curve = frontier(split.X, split.Y, (0.05, 0.5), decisions="drawn", random_state=0)
    fair, free = (
        audit(
            split.Y_new_tasks, point.model.extend(split.Y_new_tasks).decision_probability(split.X)
        )
        for point in curve
    )
    at = fair.curve.at(NEAR)
    figures = free.dispersion.sigma, fair.dispersion.sigma, at["denoised"], at["alpha"], at["floor"]
    return [str(m), *(f"{figure:.3f}" for figure in figures)]


if __name__ == "__main__":
    main()
