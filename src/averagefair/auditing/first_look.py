"""A first look at the unconstrained model: whether there is anything to fix.

With nothing asked, each task is learned by itself. So its mistakes on *held-out people* are what a
fresh task would show. If people's rates differ by no more than chance, any promise only costs
error.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.text import counted, plain
from averagefair.auditing.audit import audit
from averagefair.auditing.result import Audit
from averagefair.errors import NothingToFixWarning, warn
from averagefair.game.learner import Learner
from averagefair.game.problem import Problem
from averagefair.game.protocols import Oracle
from averagefair.game.rates import ErrorRate, spoken
from averagefair.people.sample import Sample
from averagefair.people.storage import ArrayRows

_LEAST_PEOPLE, _LEAST_TASKS = 50, 10
# Up to this many people: cross-fit over all. More: learn from some of them, look at others.
_MOST_PEOPLE, _FOLDS = 8_000, 4
_LEVEL = 0.05
SMALL = 0.03
"""A standard deviation of true rates that hardly matters: three decisions in a hundred."""


@dataclass(frozen=True)
class FirstLook:
    """How far people's rates differ with nothing asked, on people who were not learned from.

    Attributes
    ----------
    rate : str
        The rate looked at; of several rates, the one whose differences are clearest.
    error : float
        Mean rate.
    sigma : float
        Standard deviation of people's true rates, with the noise from few tasks removed.
    sigma_upper : float
        Its one-sided 95% upper bound.
    p : float
        The p-value of the chance test: are the differences more than noise?
    people, tasks : int
        How many people and tasks were looked at.
    """

    rate: str
    error: float
    sigma: float
    sigma_upper: float
    p: float
    people: int
    tasks: int

    @property
    def verdict(self) -> str:
        """One of "differences", "none" and "inconclusive".

        "none" means that the chance test finds no differences (p above 0.05), and that the standard
        deviation of the true rates is at most 0.03 (with 95% confidence).
        """
        if self.p <= _LEVEL:
            return "differences"
        return "none" if self.sigma_upper <= SMALL else "inconclusive"

    def statement(self) -> str:
        """Say it in plain words."""
        about = (
            f"With nothing asked, on {counted(self.people, 'held-out person', 'held-out people')} "
            f"and {counted(self.tasks, 'task')}"
        )
        if self.verdict == "differences":
            return (
                f"{about}: people's {spoken(self.rate)} rates differ by more than chance "
                f"(p = {self.p:.3f}). Their true rates have a standard deviation of about "
                f"{self.sigma:.3f}."
            )
        bound = f"at most {self.sigma_upper:.3f} (95%)"
        if self.verdict == "none":
            return (
                f"{about}: no detectable unfairness (p = {self.p:.3f}). The standard deviation of "
                f"people's true {spoken(self.rate)} rates is {bound}. Any constraint only costs "
                "error."
            )
        return (
            f"{about}: inconclusive. The differences between people's {spoken(self.rate)} rates "
            f"are within noise (p = {self.p:.3f}), but over so few tasks their true standard "
            f"deviation is only known to be {bound}."
        )

    def __str__(self) -> str:
        return self.statement()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and strings."""
        facts: dict[str, Any] = plain({**asdict(self), "verdict": self.verdict})
        return facts


def first_look(problem: Problem) -> FirstLook | None:
    """Learn without a constraint from some people, and audit the decisions about others.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    FirstLook, or None
        None if there are too few people or tasks, or if people are on a cluster.
    """
    sample = problem.learned
    present = np.flatnonzero(sample.individual_weights > 0)
    if len(present) < _LEAST_PEOPLE or sample.m < _LEAST_TASKS:
        return None
    if not isinstance(sample.rows, ArrayRows):
        return None
    # The audit takes rates that count a mistake or not. For others, look at the error rate.
    own = [rate for rate in problem.learner.rates if {rate.negatives, rate.positives} <= {0, 1}]
    rates = own or [ErrorRate()]
    rng = np.random.default_rng(problem.seed)
    labels, decisions = [], []
    with warnings.catch_warnings():
        # Folds may have constant tasks and undefined rates; the fit itself says so for everybody.
        warnings.simplefilter("ignore")
        for learned, looked_at in _folds(rng.permutation(present)):
            others = sample.take_people(looked_at)
            decisions.append(_decide(sample.take_people(learned), problem.oracle, others))
            signs = others.signs
            labels.append(np.where(signs == 0, np.nan, signs < 0))
        found = [
            audit(np.vstack(labels), np.vstack(decisions), rate=rate, random_state=0)
            for rate in rates
        ]
    clearest = min(found, key=lambda own: (np.nan_to_num(own.chance.p, nan=1.0), -_sigma(own)))
    if np.isnan(clearest.chance.p):
        return None
    return FirstLook(
        rate=clearest.rate,
        error=clearest.mean.value,
        sigma=_sigma(clearest),
        sigma_upper=clearest.dispersion.upper,
        p=min(1.0, len(found) * clearest.chance.p),
        people=clearest.n,
        tasks=sample.m,
    )


def _sigma(found: Audit) -> float:
    return float(np.nan_to_num(found.dispersion.sigma))


def _folds(people: NDArray[np.intp]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield whom to learn from and whom to look at."""
    parts = np.array_split(people[:_MOST_PEOPLE], _FOLDS)
    for fold, looked_at in enumerate(parts):
        learned = np.concatenate([part for other, part in enumerate(parts) if other != fold])
        yield learned, looked_at
        if len(people) > _MOST_PEOPLE:
            return


def _decide(sample: Sample, oracle: Oracle, others: Sample) -> Any:
    """Return the oracle's decisions about other people, with nothing asked, shape (k, m)."""
    hypothesis = Learner(sample, ErrorRate(), oracle).unconstrained().hypothesis
    return np.asarray(hypothesis.decide(others.features))


def warn_if_nothing_to_fix(look: FirstLook | None) -> None:
    """Warn if the unconstrained model shows no detectable unfairness."""
    if look is not None and look.verdict == "none":
        warn(look.statement(), NothingToFixWarning)
