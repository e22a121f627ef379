"""Changes from one audit to a later one: of the mean rate, and of the variance of true rates.

People may come and go, and tasks may return. A change is a difference of two sums of influences:
g_i of person i and f_j of task j, 0 in an audit where they are missing. So its variance is

    sum_i (g'_i - g_i)^2 + sum_j (f'_j - f_j)^2 - the noise of single cells,

which both sums contain. A person in both audits counts once, and so does a task that returned.
The covariance of people's true rates between the audits leaves out what the same cells share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.auditing.estimates import UNKNOWN, Estimate, with_interval
from averagefair.auditing.evidence import Evidence
from averagefair.auditing.losses import Losses
from averagefair.people.blocks import row_blocks

if TYPE_CHECKING:
    from averagefair.auditing.result import Audit

Places = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Where the common people, or tasks, are in the first audit and in the second."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two audits, and whom and what they have in common.

    Attributes
    ----------
    old, new : Audit
    """

    old: Audit
    new: Audit

    @cached_property
    def people(self) -> Places:
        """The people of both audits, by name; without names, the same people in the same order."""
        first, second = self.old.evidence.losses, self.new.evidence.losses
        if first.index is None and second.index is None and first.n == second.n:
            return np.arange(first.n), np.arange(second.n)
        return _common(first.individual_names, second.individual_names)

    @cached_property
    def units(self) -> Places:
        """The tasks (families) of both audits, by name; none if they have no names."""
        first, second = self.old.evidence.losses, self.new.evidence.losses
        if not (first.named_tasks and second.named_tasks):
            return _common(np.empty(0), np.empty(0))
        return _common(np.array(_unit_names(first)), np.array(_unit_names(second)))

    def change_of_mean(self, confidence: float) -> Estimate:
        """Return the change of the mean rate, with an interval over people and tasks.

        Parameters
        ----------
        confidence : float
        """
        old, new = (_mean_parts(audit) for audit in (self.old, self.new))
        if old is None or new is None:
            return UNKNOWN
        cells = old.noise + new.noise
        if self.people[0].size and self.units[0].size:
            noise, _ = _shared_noise(
                self.old.evidence, self.new.evidence, *self._estimable, self.units
            )
            cells -= 2.0 * float(noise.sum()) / (old.count * new.count)
        people = _squares(old.people, new.people, self.people)
        tasks = _squares(old.units, new.units, self.units) - cells
        if people + tasks <= 0:
            people, tasks = 0.0, max(0.0, cells)
        value = self.new.mean.value - self.old.mean.value
        if people + tasks == 0:  # the data show no variation
            return replace(UNKNOWN, value=value)
        return with_interval(value, people, tasks, self._unit_count, confidence)

    def change_of_sigma2(self, confidence: float) -> Estimate:
        """Return the change of sigma2, with a jackknife interval of the difference.

        Parameters
        ----------
        confidence : float
        """
        first, second = self.old.dispersion, self.new.dispersion
        value = second.sigma2.value - first.sigma2.value
        if np.isnan(value):
            return UNKNOWN
        scaled = [
            (
                own.person_influence * np.sqrt(own.people / (own.people - 1)),
                own.task_influence * np.sqrt(own.units / (own.units - 1)),
            )
            for own in (first, second)
        ]
        people = _squares(scaled[0][0], scaled[1][0], self.people)
        tasks = _squares(scaled[0][1], scaled[1][1], self.units)
        if people + tasks == 0:  # the data show no variation
            return replace(UNKNOWN, value=value)
        return with_interval(value, people, tasks, self._unit_count, confidence)

    @property
    def _unit_count(self) -> int:
        return min(self.old.dispersion.units, self.new.dispersion.units)

    @cached_property
    def _estimable(self) -> Places:
        """The common people with two or more tasks in both audits."""
        here, there = self.people
        both = self.old.evidence.tally.estimable[here] & self.new.evidence.tally.estimable[there]
        return here[both], there[both]


def _common(first: NDArray[np.generic], second: NDArray[np.generic]) -> Places:
    _, here, there = np.intersect1d(first, second, assume_unique=True, return_indices=True)
    order = np.argsort(here)
    return here[order], there[order]


def _unit_names(losses: Losses) -> tuple[str, ...]:
    return losses.task_names if losses.families is None else losses.family_names


def _squares(old: FloatArray, new: FloatArray, common: Places) -> float:
    """Return the sum of squared differences; what is missing on one side is 0 there."""
    return float(old @ old + new @ new - 2.0 * (old[common[0]] @ new[common[1]]))


@dataclass(frozen=True, eq=False)
class _MeanParts:
    """The influences of people and tasks (families) on the mean rate, and the noise of cells."""

    people: FloatArray
    units: FloatArray
    noise: float
    count: int


def _mean_parts(audit: Audit) -> _MeanParts | None:
    tally, n = audit.evidence.tally, int(np.count_nonzero(audit.evidence.tally.rated))
    if n < 2 or tally.live.size < 2:
        return None
    off = np.where(tally.rated, tally.rates - tally.mean, 0.0) / n
    units = np.zeros(audit.evidence.losses.units)
    units[tally.live] = audit.evidence.task_means * np.sqrt(tally.task_factor)
    noise = float(audit.dispersion.noise.sum()) / n**2
    return _MeanParts(off * np.sqrt(n / (n - 1)), units, noise, n)


def covariance(old: Audit, new: Audit, people: Places) -> float:
    """Return the covariance of people's true rates in two audits.

    Parameters
    ----------
    old, new : Audit
    people : pair of integer arrays
        Where the people are in each audit; all of them have two or more tasks in both.
    """
    here, there = people
    n = here.size
    noise, shared = _shared_noise(old.evidence, new.evidence, here, there, Pair(old, new).units)
    total = float(np.cov(old.people.rate[here], new.people.rate[there])[0, 1]) * (n - 1)
    return (total - float(noise.sum()) + shared) / (n - 1)


def _shared_noise(
    first: Evidence,
    second: Evidence,
    here: NDArray[np.intp],
    there: NDArray[np.intp],
    units: Places,
) -> tuple[FloatArray, float]:
    """Return what each person's two rates share because of the same tasks, and all of it in common.

    With d_ij = W (L_ij - E_i) and z_ij = d_ij sqrt(s_i), where s_i makes sum_j z_ij z'_ij an
    unbiased estimate of the covariance of the noise, these are that sum over the common tasks, and
    sum_j C_j C'_j / n with C_j the sum of z_ij over people: see auditing/dispersion.py.
    """
    n = here.size
    if not n or not units[0].size:
        return np.zeros(n), 0.0
    sums, out = np.zeros((2, units[0].size)), np.empty(n)
    for rows in row_blocks(n, max(first.losses.units, second.losses.units)):
        parts, met = [], []
        for evidence, places, own in zip((first, second), (here, there), units, strict=True):
            counts, totals = evidence.losses.of_some(places[rows])
            rates = evidence.tally.rates[places[rows], None]
            parts.append((totals - counts * rates)[:, own])
            met.append(counts[:, own])
        m, later = first.tally.counted[here[rows]], second.tally.counted[there[rows]]
        both = np.einsum("ij,ij->i", *met) / (m * later)
        share = 1.0 / (m * later * np.maximum(1.0 - 1.0 / m - 1.0 / later + both, 0.5 / m))
        out[rows] = share * np.einsum("ij,ij->i", *parts)
        for total, part in zip(sums, parts, strict=True):
            total += np.sqrt(share) @ part
    return out, float(sums[0] @ sums[1]) / n
