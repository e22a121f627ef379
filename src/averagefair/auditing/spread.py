"""The de-noised spread: how far apart people's true rates are, the noise of few tasks taken off.

With d = W (L - E_i), z~ = d / sqrt(D_i), D_i = m_i (m_i - 1) and C_j = sum_i z~_ij,

    sigma2 = [sum_i (E_i - Ebar)^2 - sum_ij z~_ij^2 + sum_j C_j^2 / n] / (n - 1)

estimates the variance of the true rates without bias (with blanks: but for a share of the third
term of order 1 / m), under no model of how errors are distributed. The second term is the noise of
each person's tasks; the third gives back what of it is shared by all (a hard task is hard for
everybody, and moves no two rates apart). On complete data it equals (MSR - MSE) / m of the two-way
analysis of variance.

Its variance is that of the infinitesimal jackknife over people and over tasks: f_j and g_i below
say how sigma2 moves when task j, or person i, gets a little more weight. Bounds from above start
at 0 where sigma2 is negative, since no variance is: max(0, sigma2) + t sqrt(Var).

All of it takes tasks as independent draws. On tasks that a fair model was learned from they are
not: learning makes a person's mistakes on them offset each other, sigma2 comes out too small, and
its bounds fail. There :func:`observed_spread` gives the variance as observed, and nothing else.

With families of tasks, a family takes the place of a task throughout: W becomes the number c_if of
a person's cells in the family, d their sum of L - E_i, and D_i = m_i^2 freedom_i (see tally.py),
which makes the noise right where the cells of a family are copies of one draw, or where families
are of one size; in between, with sizes far apart, sigma2 comes out too small (by up to a seventh
where half of a family's cells are drawn anew). With a family for each task that is the formula
above.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf, nan, sqrt

import numpy as np

from averagefair.auditing.chance import EPSILON
from averagefair.auditing.estimates import UNKNOWN, Estimate, student, with_interval
from averagefair.auditing.frozen import Frozen
from averagefair.auditing.losses import Losses
from averagefair.auditing.tally import Tally
from averagefair.checks import number_between
from averagefair.sample import FloatArray


@dataclass(frozen=True)
class Spread(Frozen):
    """How far apart people's true rates are.

    Attributes
    ----------
    sigma2 : Estimate
        The variance of the true rates: signed, since an unbiased estimate of something small may
        come out below 0. Its interval is cut off at 0, and its upper end counted from 0 where the
        estimate is negative. All NaN for tasks that were learned from.
    raw : float
        The variance of the rates as observed.
    upper : float
        sigma_U: a one-sided bound on the standard deviation of the true rates. NaN where the
        jackknife shows no variation at all and sigma2 is not positive, and for tasks that were
        learned from.
    units : int
        How many tasks, or families of tasks, there are.
    people : int
        How many people have two tasks or more; the others are left out (not where tasks were
        learned from: all with a rate count).
    person_influence : array, shape (n,)
        g_i: how sigma2 moves with a person's weight; 0 for those left out.
    task_influence : array, shape (units,)
        f_j: how sigma2 moves with the weight of a task (family). Leaving it out changes sigma2 by
        about -f_j.
    noise : array, shape (n,)
        q_i = sum_j z~_ij^2; 0 for those left out.
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
        """The standard deviation of the true rates; 0 where sigma2 came out below 0."""
        return root(self.sigma2.value)

    @property
    def sd(self) -> float:
        """The standard deviation of the rates as observed, noise and all."""
        return root(self.raw)

    @property
    def below_chance(self) -> bool:
        """Whether rates are nearer to each other than chance alone makes them, by the interval."""
        value = self.sigma2.value
        return value < 0.0 and value + self.sigma2.high <= 0.0  # high is half of the interval

    @property
    def reliability(self) -> float:
        """The share of the observed variance that is not noise, cut off at 0; NaN if there is none.

        Rates of the same people on as many other tasks of the same kind would correlate this much.
        """
        if np.isnan(self.sigma2.value):
            return nan
        return max(0.0, self.sigma2.value) / self.raw if self.raw > 0 else nan

    def tasks_needed(self, reliability: float = 0.8) -> float:
        """Return how many tasks, as often blank as these, would have this reliability.

        Infinite where no difference between people was found.
        """
        number_between("reliability", reliability)
        share = self.reliability
        if not share > 0:
            return share if np.isnan(share) else inf
        return self.units * reliability / (1 - reliability) * (1 - share) / share

    def shrink(self, tally: Tally) -> FloatArray:
        """Return deviations from the mean with the noise taken off, shape (people,).

        Deviations are scaled by sqrt(sigma2 / (sigma2 + v_i)), v_i the noise of person i: right
        if noise changes the scale of the distribution and not its shape. Empty where the noise
        cannot be told.
        """
        if np.isnan(self.sigma2.value):
            return np.empty(0)
        rates, counted = tally.rates[tally.judged], tally.counted[tally.judged]
        sigma2 = max(0.0, self.sigma2.value)
        noise = (self.raw - self.sigma2.value) / counted / np.mean(1.0 / counted)
        total = sigma2 + noise
        scale = np.sqrt(sigma2 / np.where(total > 0, total, 1.0))
        return np.asarray(scale * (rates - rates.mean()))


def root(variance: float) -> float:
    """Return the square root, 0 for what lies below 0; NaN stays NaN."""
    return variance if np.isnan(variance) else sqrt(max(0.0, variance))


def observed_spread(losses: Losses, tally: Tally) -> Spread:
    """Return the variance of the rates as observed, and no estimate for true rates."""
    rates = tally.rates[tally.rated]
    raw = float(np.var(rates, ddof=1)) if rates.size > 1 else nan
    unknown, influence = np.full(losses.n, nan), np.full(losses.units, nan)
    return Spread(UNKNOWN, raw, nan, tally.live.size, rates.size, unknown, influence, unknown)


def spread(losses: Losses, tally: Tally, confidence: float) -> Spread:
    """Estimate the variance of the true rates, in two passes over the losses."""
    judged, scale = tally.judged, tally.scale
    n = int(np.count_nonzero(judged))
    if n < 2:
        nobody = np.zeros(losses.n)
        influence = np.zeros(losses.units)
        return Spread(UNKNOWN, nan, nan, tally.live.size, n, nobody, influence, nobody)
    rates = np.where(judged, tally.rates, 0.0)
    off = np.where(judged, rates - rates[judged].mean(), 0.0)
    share = np.where(judged, 1.0 / np.maximum(tally.counted, 1.0), 0.0)

    noise, uneven = np.zeros((2, losses.n))
    squares, sums, met = np.zeros((3, losses.units))
    for rows, counts, totals in losses.blocks():
        met += judged[rows] @ counts
        z = totals
        z -= counts * rates[rows, None]
        if losses.families is not None:
            # A person's deviations add up to 0, but not weighted by the sizes of families.
            uneven[rows] = np.einsum("ij,ij->i", counts, z)
        z *= scale[rows, None]
        sums += z.sum(axis=0)
        np.square(z, out=z)
        noise[rows] = z.sum(axis=1)
        squares += z.sum(axis=0)
    parts = np.array([off @ off, -squares.sum(), sums @ sums / n]) / (n - 1)
    # What is left where everybody has the same losses is rounding.
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
    g = (a - a[judged].mean()) / n - 2.0 * b / (n * (n - 1)) + 2.0 * b.sum() / (n * n * (n - 1))
    g[~judged] = 0.0

    units = int(np.count_nonzero(met))
    people = _zero_below(float(g @ g) * n / (n - 1), rounding**2)
    tasks = _zero_below(float(f @ f) * units / (units - 1), rounding**2)
    signed = with_interval(sigma2, people, tasks, units, confidence)
    # No variance is below 0: an estimate that is tells of bad luck, not of a smaller bound.
    least = max(0.0, sigma2)
    cut = replace(signed, low=max(0.0, signed.low), high=least + (signed.high - sigma2))
    upper = least + student(confidence, units) * sqrt(people + tasks)
    return Spread(
        sigma2=cut,
        raw=raw,
        upper=sqrt(upper) if upper > rounding else nan,
        units=units,
        people=n,
        person_influence=g,
        task_influence=f,
        noise=noise,
    )


def _zero_below(value: float, rounding: float) -> float:
    return value if abs(value) > rounding else 0.0
