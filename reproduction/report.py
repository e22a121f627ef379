"""The report of a results folder: sections of figures and small tables, with fixed explanations.

``docs/experiments.md`` interprets the recorded results. This report only explains what each figure
and table shows, because its numbers change with the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from averagefair.experiments.figures import RATES
from averagefair.showing.report import Section
from reproduction.pictures import OF_A_RATE
from reproduction.plan import FULL, SYNTHETIC, Scale, Tables
from reproduction.tables import listings


class Report(NamedTuple):
    """A title, a sentence that describes the run, and sections.

    Attributes
    ----------
    title, lead : str
    sections : sequence of Section
    """

    title: str
    lead: str
    sections: Sequence[Section]


def communities_report(tables: Tables, *, scale: Scale = FULL) -> Report:
    """Return the report of the experiments on Communities and Crime."""
    lead = (
        "The paper's experiments on Communities and Crime: 200 neighbourhoods, 50 tasks and 20 "
        "features to learn from; 200 other neighbourhoods and 25 other tasks held out. Each figure "
        f"is shown for the authors' setting and for column generation.{_quick(scale)}"
    )
    return Report("Average individual fairness on Communities and Crime", lead, _sections(tables))


def synthetic_report(tables: Tables, *, scale: Scale = FULL) -> Report:
    """Return the report of the experiments on the synthetic population."""
    lead = (
        f"The paper's experiments on its synthetic population: {SYNTHETIC['n']} people, "
        f"{SYNTHETIC['m']} tasks, {SYNTHETIC['d']} features, coin bias q = {SYNTHETIC['q']:g}; "
        f"{SYNTHETIC['n_holdout']} other people and {SYNTHETIC['m_holdout']} other tasks held out. "
        f"Each figure is shown for the authors' setting and for column generation.{_quick(scale)}"
    )
    return Report(
        "Average individual fairness on the synthetic population", lead, _sections(tables)
    )


def _quick(scale: Scale) -> str:
    if scale.rounds == FULL.rounds:
        return ""
    return (
        f" A quick look: at most {scale.rounds} rounds instead of {FULL.rounds}, and fewer alphas "
        "and draws. The paper's figures need the full run."
    )


HOW_TO_READ = Section(
    "How to read this",
    [
        "alpha is the slack, as in the paper's experiments: two people's rates may differ by 2 "
        "alpha. alpha “none” asks for nothing.",
        "“Authors' setting” is exponentiated gradient as in the authors' published runs. “Column "
        "generation” is this library's solver. Both use least squares on the costs as oracle.",
        "“Coin flips” mixes the oracle's answer without a constraint with coin flips, until "
        "people's rates are as close to each other.",
        "The oracle is a heuristic: error and fairness are measured, and nothing is proved about "
        "the best possible error.",
    ],
)


def _sections(tables: Tables) -> list[Section]:
    found = listings(tables)
    sections = [HOW_TO_READ]
    for title, explained, figures, names in _PARTS:
        shown = [found[name] for name in names if name in found]
        if shown:
            sections.append(Section(title, explained, figures, shown))
    return sections


_OTHER_RATES = [f"{kind}_{rate}" for rate in RATES if rate != "error" for kind in OF_A_RATE]
_COMPARED = (
    "Both solvers learn on the same draws, and their mean curves are compared where held-out "
    "unfairness is equal. A curve counts with the best mixtures of its models with each other and "
    "with coin flips. Intervals are the jackknife's over the draws."
)
_PARTS: tuple[tuple[str, list[str], list[str], list[str]], ...] = (
    (
        "Convergence",
        [
            "Error and spread round by round. Compare oracle calls, not rounds: column generation "
            "asks the oracle many times in a round."
        ],
        ["convergence_error"],
        ["convergence"],
    ),
    (
        "Error spread",
        ["Every person's error rate, at each allowed difference 2 alpha."],
        ["error_spread_error"],
        ["error_spread", "groups"],
    ),
    (
        "Generalisation",
        ["The same models on new people, on new tasks, and on both."],
        ["generalisation_error"],
        ["generalisation", "order"],
    ),
    (
        "How much of the held-out spread is noise",
        [
            "A rate over few tasks is noisy, so the raw spread on new tasks is not comparable with "
            "the 2 alpha of training. The audit estimates the noise on new tasks. On the tasks "
            "learned from, noise cannot be estimated, and figures are as observed."
        ],
        ["noise_error", "corrected_error"],
        ["noise"],
    ),
    (
        "False positives and false negatives",
        ["The same figures for the two other rates, which the paper defines and does not plot."],
        _OTHER_RATES,
        ["false_positive", "false_negative"],
    ),
    (
        "Random splits, and all neighbourhoods",
        [_COMPARED],
        ["random_splits", "random_splits_compared"],
        [
            *("random_splits_tally", "random_splits_corrected", "random_splits_observed"),
            *("random_splits_coin_flips", "random_splits_means"),
        ],
    ),
    (
        "The coin's bias",
        [
            "At q = 0.5 majorities are formed by chance. At q = 1 the same quarter of the "
            "people is the minority in every task.",
            _COMPARED,
        ],
        ["coin_bias", "coin_bias_compared"],
        ["coin_bias", "coin_bias_tally", "coin_bias_corrected", "coin_bias_observed"],
    ),
    (
        "More people, more tasks",
        [
            "How fast fairness comes to carry over, beside the exponents of the theorems. The "
            "theorems assume an exact oracle and fresh batches of tasks, and neither holds here."
        ],
        ["growth"],
        ["exponents", "growth"],
    ),
)
"""Title, explanation, figures and small tables of each section; missing ones are left out."""
