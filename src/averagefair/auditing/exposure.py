"""Equal exposure: people's rates as if everybody had met the same tasks.

With blanks, people meet different tasks. Somebody who met harder tasks has a higher rate, though
everybody was treated alike on each task. So an audit has two views. *As met* uses the losses L as
they are. *At equal exposure* fits

    L_ij = a_i + b_j        by least squares over the cells that count, the mean of b being 0,

and audits L_ij - b_j: the difficulty of a person's tasks is taken off. The difference between the
two variances of true rates is what the choice of tasks explains.

For false positives and false negatives, as met stays the headline: to meet one's negatives mostly
in hard tasks is part of the harm.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import nan

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair._util.frozen import Frozen
from averagefair._util.text import percent
from averagefair.auditing.chance import ChanceTest, center
from averagefair.auditing.dispersion import Dispersion, difference_of_sigma2, estimate_dispersion
from averagefair.auditing.estimates import Estimate
from averagefair.auditing.losses import Adjustment, Losses
from averagefair.auditing.tally import Tally

# Conjugate gradients end at this share of the first residual, or after this many steps.
_PRECISION, _MOST_STEPS = 1e-10, 500
# With fewer people on the median task, its effect is too noisy to be taken off.
LEAST_PEOPLE = 10


@dataclass(frozen=True)
class EqualExposure(Frozen):
    """The audit's main figures, as if everybody had met the same tasks.

    Attributes
    ----------
    chance : ChanceTest
        Whether differences between people are more than chance, and more than the choice of tasks.
    dispersion : Dispersion
        The variance of true rates, with the difficulty of each person's tasks taken off.
    rates : array, shape (n,)
        Everybody's rate less the difficulty of their tasks; may lie outside [0, 1]. NaN for people
        without a rate.
    task_effects : array, shape (m,)
        b_j: how much more often a task is decided wrongly than the average task.
    explained : Estimate
        The variance of true rates as met, less that at equal exposure: the part that comes from
        which tasks people met.
    """

    chance: ChanceTest
    dispersion: Dispersion
    rates: FloatArray = field(repr=False)
    task_effects: FloatArray = field(repr=False)
    explained: Estimate

    @property
    def matters(self) -> bool:
        """Whether the two views differ by more than sampling noise."""
        return bool(self.explained.low > 0.0 or self.explained.high < 0.0)

    def to_dict(self) -> dict[str, object]:
        """Return the figures as plain numbers."""
        return {
            "p": self.chance.p,
            "sigma": self.dispersion.sigma,
            "sigma2": self.dispersion.sigma2.to_dict(),
            "upper": self.dispersion.upper,
            "explained": self.explained.to_dict(),
            "matters": self.matters,
        }

    def statement(self, as_met: float, confidence: float) -> str:
        """Return in plain words how much of the differences comes from which tasks people met.

        Parameters
        ----------
        as_met : float
            The variance of true rates as met.
        confidence : float
        """
        own, level = self.dispersion, percent(confidence)
        if np.isnan(own.sigma2.value):
            return ""
        if self.chance.p <= 1.0 - confidence:
            rest = (
                f"true rates still differ by more than chance (p = {self.chance.p:.3g}), with a "
                f"standard deviation of about {own.sigma:.3f}"
            )
        else:
            bound = "" if np.isnan(own.upper) else f", at most {own.upper:.3f} ({level} bound)"
            rest = (
                f"differences between people may be chance alone (p = {self.chance.p:.3g}{bound})"
            )
        text = f"People met different tasks. If all had met the same tasks, {rest}."
        if not self.matters:
            return text
        if self.explained.value > 0 and as_met > 0:
            share = min(1.0, self.explained.value / as_met)
            return f"{text} Which tasks people met explains about {share:.0%} of the variance."
        return f"{text} Which tasks people met hides part of the differences."


def equal_exposure(
    losses: Losses,
    tally: Tally,
    as_met: Dispersion,
    confidence: float,
    rng: np.random.Generator,
) -> tuple[EqualExposure | None, str]:
    """Return the view at equal exposure; without it, the reason.

    There is no view, and no reason to give, where everybody met the same tasks.

    Parameters
    ----------
    losses : Losses
    tally : Tally
        Of these losses.
    as_met : Dispersion
        The variance of true rates as met.
    confidence : float
    rng : numpy Generator
        For the chance test.
    """
    if tally.complete or np.isnan(as_met.sigma2.value):
        return None, ""
    people = tally.task_people[tally.task_people > 0]
    if np.median(people) < LEAST_PEOPLE:
        return None, (
            "people met different tasks, and most tasks have fewer than "
            f"{LEAST_PEOPLE} people. So it is unknown whether rates would differ if all had met "
            "the same tasks."
        )
    if not _connected(losses, tally):
        return None, (
            "people met different tasks, and some groups of people share no task with the others. "
            "So it is unknown whether rates would differ if all had met the same tasks."
        )
    effects = task_effects(losses, tally)
    easier, stretch = _along_people(losses, tally, effects)
    own = replace(
        tally,
        wrong=tally.wrong - easier,
        task_wrong=tally.task_wrong - tally.task_counted * effects,
        squares=nan,
    )
    shift = (1.0 - stretch) * np.where(tally.rated, own.rates, 0.0)
    adjusted = replace(losses, adjustment=Adjustment(effects, stretch, shift))
    dispersion = estimate_dispersion(adjusted, own, confidence)
    found = EqualExposure(
        chance=center(adjusted, own, rng, floor=False).test,
        dispersion=dispersion,
        rates=own.rates,
        task_effects=effects,
        explained=difference_of_sigma2(dispersion, as_met, confidence),
    )
    return found, ""


def task_effects(losses: Losses, tally: Tally) -> FloatArray:
    """Return b_j of the fit L_ij = a_i + b_j, shape (m,); the mean over tasks with cells is 0.

    Parameters
    ----------
    losses : Losses
    tally : Tally
        Of these losses.

    Examples
    --------
    >>> from averagefair.auditing.tally import tally
    >>> cells = np.array([[0.1, 0.3, np.nan], [np.nan, 0.4, 0.7]])  # .2 + (-.1, .1), .3 + (.1, .4)
    >>> losses = Losses(cells, np.arange(2), ("x", "y", "z"))
    >>> task_effects(losses, tally(losses)).round(6)
    array([-0.233333, -0.033333,  0.266667])
    """
    # Eliminating a_i leaves (D - G) b = r, where D counts each task's cells, G is `_shared`, and
    # r_j is the sum over people of W_ij (L_ij - E_i).
    met = tally.task_counted > 0
    scale = np.where(met, tally.task_counted, 1.0)
    rates = np.where(tally.rated, tally.rates, 0.0)
    target = tally.task_wrong.copy()
    for rows, counts, _ in losses.blocks(by_task=True):
        target -= rates[rows] @ counts
    effects, residual = np.zeros(losses.m), target
    step = along = residual / scale
    size = first = float(residual @ along)
    for _ in range(_MOST_STEPS):
        if size <= _PRECISION**2 * first or first == 0.0:
            break
        image = tally.task_counted * step - _shared(losses, tally, step)
        length = size / float(step @ image)
        effects = effects + length * step
        residual = residual - length * image
        along = residual / scale
        size, before = float(residual @ along), size
        step = along + (size / before) * step
    return np.where(met, effects - effects[met].mean(), 0.0)


def _along_people(
    losses: Losses, tally: Tally, effects: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the sum of effects over each person's cells, and how much to stretch their residuals.

    The effects are estimates, from residuals of the same cells. With h the variance of an effect
    over that of a cell, a person's rate at equal exposure has 1 + h times the noise that it would
    have with known effects, and the residuals show 1 - h times the noise. So they are stretched by
    sqrt((1 + h) / (1 - h)); h is about one over the number of people on the person's tasks.
    """
    several = np.maximum(0.0, 1.0 - 1.0 / np.maximum(tally.counted, 1.0))
    certain, sums, spans = np.zeros(losses.m), np.empty(losses.n), np.empty(losses.n)
    for rows, counts, _ in losses.blocks(by_task=True):
        certain += several[rows] @ counts
    variance = 1.0 / np.maximum(certain, 1.0)
    for rows, counts, _ in losses.blocks(by_task=True):
        sums[rows], spans[rows] = counts @ effects, counts @ variance
    share = np.minimum(0.9, spans / np.maximum(tally.counted, 1.0))
    return sums, np.sqrt((1.0 + share) / (1.0 - share))


def _shared(losses: Losses, tally: Tally, values: FloatArray) -> FloatArray:
    """Return G values, where G_jk is the sum over people of W_ij W_ik / m_i; shape (m,)."""
    out = np.zeros(losses.m)
    share = 1.0 / np.where(tally.rated, tally.counted, np.inf)
    for rows, counts, _ in losses.blocks(by_task=True):
        out += (share[rows] * (counts @ values)) @ counts
    return out


def _connected(losses: Losses, tally: Tally) -> bool:
    """Return whether all tasks can be compared, directly or through people who met others."""
    met = tally.task_counted > 0
    reached = np.zeros(losses.m)
    reached[np.flatnonzero(met)[:1]] = 1.0
    while True:
        further = np.where(_shared(losses, tally, reached) > 0.0, 1.0, 0.0)
        if (further == reached).all():
            return bool((further[met] > 0).all())
        reached = further
