"""What the tables say, in words: what the paper shows, what comes out here, and why it differs.

Every number is taken from the tables, and so is every judgement ("at 9 of 11 alphas"): on other
data, or with fewer rounds, the same sentences tell another story.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from averagefair.experiments.plan import FULL, SYNTHETIC, Scale, Tables
from averagefair.experiments.story.beyond import (
    coin_bias_section,
    growth_section,
    random_splits_section,
)
from averagefair.experiments.story.paper import paper_sections
from averagefair.report import Section


@dataclass(frozen=True)
class Story:
    """A title, a sentence on what was done, and sections.

    Attributes
    ----------
    title, lead : str
    sections : sequence of Section
    """

    title: str
    lead: str
    sections: Sequence[Section]

    def summary(self) -> str:
        """Return what it all comes to, a paragraph for each section."""
        told = [f"{one.title}. {one.gist}" for one in self.sections if one.gist]
        return "\n\n".join(told)


def communities_story(tables: Tables, *, scale: Scale = FULL) -> Story:
    """Tell what came out on Communities and Crime."""
    lead = (
        "The paper's experiments on Communities and Crime: 200 neighbourhoods, 50 tasks and 20 "
        "features to learn from; 200 other neighbourhoods and 25 other tasks held out. Each figure "
        f"is shown for the authors' setting and for column generation.{_quick(scale)}"
    )
    sections = [*_conventions(scale, synthetic=False), *paper_sections(tables)]
    sections += [random_splits_section(tables)]
    return Story("Average individual fairness on Communities and Crime", lead, sections)


def synthetic_story(tables: Tables, *, scale: Scale = FULL) -> Story:
    """Tell what came out on the synthetic population."""
    lead = (
        f"The paper's experiments on its synthetic population: {SYNTHETIC['n']} people, "
        f"{SYNTHETIC['m']} tasks, {SYNTHETIC['d']} features, coin bias q = {SYNTHETIC['q']:g}; "
        f"{SYNTHETIC['n_holdout']} other people and {SYNTHETIC['m_holdout']} other tasks held out. "
        f"Each figure is shown for the authors' setting and for column generation.{_quick(scale)}"
    )
    sections = [*_conventions(scale, synthetic=True), *paper_sections(tables)]
    sections += [coin_bias_section(tables)]
    sections += [growth_section(tables)] if "growth" in tables else []
    return Story("Average individual fairness on the synthetic population", lead, sections)


def _quick(scale: Scale) -> str:
    if scale.rounds == FULL.rounds:
        return ""
    return (
        f" A quick look: {scale.rounds} rounds at most instead of the authors' {FULL.rounds}, "
        "and fewer alphas and draws; the figures of the paper need the full run."
    )


def _conventions(scale: Scale, *, synthetic: bool) -> list[Section]:
    paragraphs = [
        "alpha is the slack itself, as in the paper's experiments: two people may differ by 2 "
        "alpha. (The paper's theory writes 2 alpha in that place.)",
        "“Authors' setting”: exponentiated gradient with dual bound 1/alpha, first step 100 "
        "alpha, shrinking steps, replay of better earlier answers, all tasks in every round, at "
        f"most {scale.rounds} rounds, least squares on the costs as oracle. It is the setting "
        "of the authors' published runs, as their program is on record. The paper's text has no "
        "replay, no shrinking and no early stop; its theory asks for far more rounds.",
        "The authors published error rates on Communities and Crime at alpha 0.02, 0.04, ..., "
        "0.22. All other figures in their setting are re-runs by this library, among them alpha "
        "0.05 and 0.15, other rates, other splits and the synthetic population.",
        "“Column generation”: the same oracle. Points of a curve share one pool of columns, so a "
        "point's oracle calls and seconds are what it added to those of larger alpha; runs of the "
        "convergence figure stand alone.",
        "Coin flips: what the oracle answers without a constraint, mixed with coin flips until "
        "people are as near to each other; the same for both solvers.",
        "Words: “corners” are the training people and tasks, new people, new tasks, and both; "
        "alpha “none” asks for nothing; “the same” means within 0.0005. For one alpha, column "
        "generation's figures differ a little between tables, with what else is in the pool: its "
        "oracle is a heuristic.",
        "The oracle is a heuristic for both: fairness and error are measured, and nothing is "
        "proved about how much better one could do.",
    ]
    if not synthetic and scale.rounds == FULL.rounds:
        paragraphs.append(
            "With 1,595 people column generation is not asked for alpha 0.02, where a run takes "
            "more than a minute."
        )
    if synthetic:
        paragraphs.append(
            "The paper gives no seed for its synthetic population, so its figures can be compared "
            "in shape only. A tie, sign(0), has label 0 here; the paper does not say."
        )
    return [Section("How to read this", paragraphs)]
