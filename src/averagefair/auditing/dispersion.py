"""The dispersion: the variance of people's true rates, with the noise from few tasks removed.

L is the table of losses, W is 1 for cells that count and 0 for others, and E_i is person i's
observed rate over m_i cells. Ebar is the mean of E_i over the n people. Then, with
d = W (L - E_i), z~ = d / sqrt(D_i), D_i = m_i (m_i - 1) and C_j = sum_i z~_ij,

    sigma2 = [sum_i (E_i - Ebar)^2 - sum_ij z~_ij^2 + sum_j C_j^2 / n] / (n - 1)

estimates the variance of the true rates. The estimate assumes no distribution for the errors. It is
unbiased on complete tables. With blanks it has a bias of order 1 / m, which comes from the third
term. The second term subtracts all task noise, including noise that all people share. Shared noise
(a hard task) does not move rates apart, so the third term adds it back. On complete tables sigma2
equals (MSR - MSE) / m of the two-way analysis of variance.

The infinitesimal jackknife, over people and over tasks, estimates the variance of sigma2. f_j and
g_i below say how sigma2 changes when task j or person i gets a little more weight. A variance
cannot be negative, so upper bounds are max(0, sigma2) + t sqrt(Var).

All of this treats tasks as independent draws. The training tasks of a fair model ("learned tasks")
are not independent: a person's mistakes on them offset each other. So sigma2 is too small there,
and its bounds fail. For learned tasks :func:`observed_dispersion` gives the observed variance only.

With families of tasks, a family takes the place of a task throughout. W becomes the number c_if of
a person's cells in the family. d becomes the sum of L - E_i over these cells, and D_i becomes
m_i^2 freedom_i (see tally.py). The estimated noise is then correct if the cells of a family are
copies of one draw, or if all families have the same size. Otherwise very unequal sizes
make sigma2 too small. For example, it is up to one seventh too small if half of a family's cells
are independent draws. With one task per family the formula is the one above.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf, nan, sqrt

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair._util.checks import number_between
from averagefair._util.frozen import Frozen
from averagefair.auditing.chance import EPSILON
from averagefair.auditing.estimates import UNKNOWN, Estimate, student, with_interval
from averagefair.auditing.losses import Losses
from averagefair.auditing.tally import Tally


@dataclass(frozen=True)
class Dispersion(Frozen):
    """The variance of people's true rates, its uncertainty, and the observed variance.

    Attributes
    ----------
    sigma2 : Estimate
        The variance of the true rates. The value is signed: an unbiased estimate of a small
        variance may be negative. The interval is cut at 0. If the value is negative, the interval
        runs from 0 to half the uncut width. All fields are NaN for learned tasks.
    raw : float
        The variance of the observed rates.
    upper : float
        sigma_U: a one-sided upper bound on the standard deviation of the true rates. NaN for
        learned tasks, and if the jackknife shows no variation and sigma2 is not positive.
    units : int
        The number of tasks, or of families of tasks.
    people : int
        The number of people with two or more tasks; others are left out. For learned tasks: the
        number of people with a rate.
    person_influence : array, shape (n,)
        g_i: how sigma2 changes with a person's weight; 0 for people left out.
    task_influence : array, shape (units,)
        f_j: how sigma2 changes with the weight of a task (family). Leaving the task out changes
        sigma2 by about -f_j.
    noise : array, shape (n,)
        q_i = sum_j z~_ij^2; 0 for people left out.
    """

    sigma2: Estimate
    raw: float
    upper: float
    units: int
    people: int
    person_influence: FloatArray = field(repr=False)
    task_influence: FloatArray = field(repr=False)
    noise: FloatArray = field(repr=False)

    @property
    def sigma(self) -> float:
        """The standard deviation of the true rates; 0 if sigma2 is negative."""
        return root(self.sigma2.value)

    @property
    def sd(self) -> float:
        """The standard deviation of the observed rates, noise included."""
        return root(self.raw)

    @property
    def below_chance(self) -> bool:
        """Whether the interval shows that rates are closer together than chance makes them."""
        value = self.sigma2.value
        return value < 0.0 and value + self.sigma2.high <= 0.0  # here high is half the width

    @property
    def reliability(self) -> float:
        """The share of the observed variance that is not noise, at least 0; NaN without variance.

        It is also the expected correlation between these rates and the same people's rates on the
        same number of other tasks.
        """
        if np.isnan(self.sigma2.value):
            return nan
        return max(0.0, self.sigma2.value) / self.raw if self.raw > 0 else nan

    def tasks_needed(self, reliability: float = 0.8) -> float:
        """Return how many tasks like these, with as many blanks, would give this reliability.

        The number is infinite if no difference between people was found.
        """
        number_between("reliability", reliability)
        share = self.reliability
        if not share > 0:
            return share if np.isnan(share) else inf
        return self.units * reliability / (1 - reliability) * (1 - share) / share

    def shrink(self, tally: Tally) -> FloatArray:
        """Return deviations from the mean with the noise removed, shape (people,).

        Deviations are scaled by sqrt(sigma2 / (sigma2 + v_i)), where v_i is the noise of person i.
        This is right if noise changes only the scale of the distribution. The array is empty if the
        noise cannot be estimated.
        """
        if np.isnan(self.sigma2.value):
            return np.empty(0)
        rates, counted = tally.rates[tally.estimable], tally.counted[tally.estimable]
        sigma2 = max(0.0, self.sigma2.value)
        noise = (self.raw - self.sigma2.value) / counted / np.mean(1.0 / counted)
        total = sigma2 + noise
        scale = np.sqrt(sigma2 / np.where(total > 0, total, 1.0))
        return np.asarray(scale * (rates - rates.mean()))


def root(variance: float) -> float:
    """Return the square root, 0 for negative numbers; NaN stays NaN."""
    return variance if np.isnan(variance) else sqrt(max(0.0, variance))


def observed_dispersion(losses: Losses, tally: Tally) -> Dispersion:
    """Return the variance of the observed rates, without estimates for true rates."""
    rates = tally.rates[tally.rated]
    raw = float(np.var(rates, ddof=1)) if rates.size > 1 else nan
    unknown, influence = np.full(losses.n, nan), np.full(losses.units, nan)
    return Dispersion(UNKNOWN, raw, nan, tally.live.size, rates.size, unknown, influence, unknown)


def estimate_dispersion(losses: Losses, tally: Tally, confidence: float) -> Dispersion:
    """Estimate the variance of the true rates, in two passes over the losses."""
    estimable, scale = tally.estimable, tally.scale
    n = int(np.count_nonzero(estimable))
    if n < 2:
        nobody = np.zeros(losses.n)
        influence = np.zeros(losses.units)
        return Dispersion(UNKNOWN, nan, nan, tally.live.size, n, nobody, influence, nobody)
    rates = np.where(estimable, tally.rates, 0.0)
    off = np.where(estimable, rates - rates[estimable].mean(), 0.0)
    share = np.where(estimable, 1.0 / np.maximum(tally.counted, 1.0), 0.0)

    noise, uneven = np.zeros((2, losses.n))
    squares, sums, met = np.zeros((3, losses.units))
    for rows, counts, totals in losses.blocks():
        met += estimable[rows] @ counts
        z = totals
        z -= counts * rates[rows, None]
        if losses.clustered:
            # A person's deviations sum to 0, but not when weighted by family sizes.
            uneven[rows] = np.einsum("ij,ij->i", counts, z)
        z *= scale[rows, None]
        sums += z.sum(axis=0)
        np.square(z, out=z)
        noise[rows] = z.sum(axis=1)
        squares += z.sum(axis=0)
    parts = np.array([off @ off, -squares.sum(), sums @ sums / n]) / (n - 1)
    # If everybody has the same losses, sigma2 should be 0; treat values up to `rounding` as 0.
    rounding = EPSILON * float(np.abs(parts).sum() + rates @ rates / n)
    sigma2 = _zero_below(float(parts.sum()), rounding)
    raw = _zero_below(float(parts[0]), EPSILON * rounding)

    along, f = np.empty(losses.n), sums**2 / n - squares
    for rows, counts, totals in losses.blocks():
        reach = counts @ sums
        along[rows] = scale[rows] * (totals @ sums - rates[rows] * reach)
        own = off[rows] + scale[rows] ** 2 * uneven[rows]
        on_totals = share[rows] * (own - scale[rows] * reach / n)
        on_counts = share[rows] * (noise[rows] - along[rows] / n) - rates[rows] * on_totals
        f += on_totals @ totals + on_counts @ counts
    f *= 2.0 / (n - 1)

    a = rates**2 - noise
    b = rates * (rates.sum() - rates) - along + noise
    g = (a - a[estimable].mean()) / n - 2.0 * b / (n * (n - 1)) + 2.0 * b.sum() / (n * n * (n - 1))
    g[~estimable] = 0.0

    units = int(np.count_nonzero(met))
    people = _zero_below(float(g @ g) * n / (n - 1), rounding**2)
    tasks = _zero_below(float(f @ f) * units / (units - 1), rounding**2)
    signed = with_interval(sigma2, people, tasks, units, confidence)
    # A negative estimate comes from noise; it does not justify a smaller upper bound.
    least = max(0.0, sigma2)
    clipped = replace(signed, low=max(0.0, signed.low), high=least + (signed.high - sigma2))
    upper = least + student(confidence, units) * sqrt(people + tasks)
    return Dispersion(
        sigma2=clipped,
        raw=raw,
        upper=sqrt(upper) if upper > rounding else nan,
        units=units,
        people=n,
        person_influence=g,
        task_influence=f,
        noise=noise,
    )


def difference_of_sigma2(old: Dispersion, new: Dispersion, confidence: float) -> Estimate:
    """Return new less old sigma2 of the same people and tasks, with a paired jackknife interval.

    Parameters
    ----------
    old, new : Dispersion
    confidence : float
    """
    n, units = min(old.people, new.people), min(old.units, new.units)
    value = new.sigma2.value - old.sigma2.value
    if np.isnan(value):
        return UNKNOWN
    g = new.person_influence - old.person_influence
    f = new.task_influence - old.task_influence
    people, tasks = float(g @ g) * n / (n - 1), float(f @ f) * units / (units - 1)
    if people + tasks == 0:  # the data show no variation
        return replace(UNKNOWN, value=value)
    return with_interval(value, people, tasks, units, confidence)


def _zero_below(value: float, rounding: float) -> float:
    return value if abs(value) > rounding else 0.0
