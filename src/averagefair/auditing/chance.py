"""The chance test: do people differ by more than chance? Also the noise floor: chance alone.

With Z_ij = W_ij (L_ij - Ebar) / m_i, a person's rate minus the mean is sum_j Z_ij (W and L are
those of losses.py). Subtract each task's mean over people, zbar_j: R = Z - zbar. If all true rates
are equal, a task's column of R could equally well have the opposite sign, for everybody at once.
So the test flips whole columns at random:

    U = |R 1|^2 - |R|^2,        U* = |R s|^2 - |R|^2,    s random signs,

and counts how often U* reaches U. Similar people may make the same mistakes on a task. The test
flips a column as a whole, so shared mistakes do not look like unequal rates. (In Cochran's Q they
do.)
Tasks in one family are near-duplicates: their columns are summed first and flipped together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import nan

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair._util.frozen import Frozen
from averagefair.auditing.losses import Losses
from averagefair.auditing.tally import Tally

FLIPS = 999
FLOOR_DRAWS = 20
# Up to this many tasks, one Gram matrix (2 n m^2 operations) is cheaper than 999 products of the
# table with signs (2 n m 999).
LARGEST_GRAM = 1_000
# With few tasks the floor averages over all flips, unless that takes more numbers than this.
LARGEST_FLOOR = 10_000_000
EPSILON = 1e-12  # relative to sums over a table: above rounding error, below any real difference


@dataclass(frozen=True)
class ChanceTest(Frozen):
    """The sign-flip test, over tasks, of the hypothesis that all true rates are equal.

    Attributes
    ----------
    p : float
        The p-value; NaN if nobody has a rate, and for learned tasks (the model's training tasks).
    statistic : float
        U: the sum of squared deviations of the rates, minus the noise of single cells.
    flipped : array, shape (flips,)
        U*: the statistic under random flips. ``print`` does not show it.
    enumerated : bool
        Whether ``flipped`` has all possible flips (one of each mirror pair) rather than a sample.
    units : int
        The number of tasks, or families of tasks, that were flipped.
    """

    p: float
    statistic: float
    flipped: FloatArray = field(repr=False)
    enumerated: bool
    units: int

    @property
    def bins(self) -> int:
        """A good number of histogram bars for ``flipped``."""
        return min(40, max(5, int(np.sqrt(self.flipped.size))))

    @property
    def smallest(self) -> float:
        """The smallest p-value this test can give; NaN if there was nothing to flip."""
        if not self.units:
            return nan
        return 2.0 ** (1 - self.units) if self.enumerated else 1.0 / (FLIPS + 1)


NOT_TESTED = ChanceTest(nan, nan, np.empty(0), enumerated=True, units=0)
"""No test: nobody has a rate, or the tasks are learned tasks."""


@dataclass(frozen=True, eq=False)
class Centered:
    """The parts of Z that the mean's interval, the test and the noise floor use.

    Attributes
    ----------
    task_means : array, shape (units,)
        zbar_j: the mean over people of Z_ij, for tasks (families) with a cell that counts.
    squares : float
        The sum of all Z_ij squared.
    test : ChanceTest
    draws : array, shape (people with a rate, draws)
        R s for some signs s: each person's deviation from the mean under chance alone.
    """

    task_means: FloatArray
    squares: float
    test: ChanceTest
    draws: FloatArray


def center(
    losses: Losses, tally: Tally, rng: np.random.Generator, *, floor: bool = True
) -> Centered:
    """Compute Z in one pass over the losses; return the test and the draws under chance.

    Parameters
    ----------
    losses : Losses
    tally : Tally
        Of these losses.
    rng : numpy Generator
        For the random signs.
    floor : bool, default True
        Whether the draws are needed; they take 20 numbers for each person.
    """
    live, n = tally.live, int(np.count_nonzero(tally.rated))
    if not n:
        return Centered(np.zeros(0), 0.0, NOT_TESTED, np.empty((0, 1)))
    flips, floor_signs, enumerated = _choose_signs(rng, live.size, n)
    if not floor:
        floor_signs = floor_signs[:, :0]
    by_gram, drawn = live.size <= LARGEST_GRAM, floor_signs.shape[1]
    signs = floor_signs if by_gram else np.hstack([floor_signs, flips])

    share = 1.0 / np.where(tally.rated, tally.counted, np.inf)
    sums, squares, scale, lengths = np.zeros(live.size), 0.0, 0.0, np.zeros(signs.shape[1])
    gram = np.zeros((live.size, live.size)) if by_gram else None
    draws = np.empty((losses.n, drawn))
    for rows, counts, totals in losses.blocks():
        z = totals
        z -= tally.mean * counts
        z *= share[rows, None]
        if live.size < losses.units:
            z = z[:, live]
        sums += z.sum(axis=0)
        squares += float(np.vdot(z, z))
        scale += float(np.square(share[rows]) @ np.square(counts).sum(axis=1))
        shown = z @ signs
        draws[rows] = shown[:, :drawn]
        if gram is not None:
            gram += z.T @ z
        else:
            lengths += np.einsum("is,is->s", shown, shown)

    # If all losses are equal, or everybody has the same losses, the remainder is rounding error.
    rounding = EPSILON**2 * scale
    squares = squares if squares > rounding else 0.0
    means = sums / n
    # |R s|^2 = |Z s|^2 - n (zbar s)^2, and likewise |R|^2 = |Z|^2 - n |zbar|^2.
    own = squares - n * float(means @ means)
    if own <= max(rounding, EPSILON * squares):
        flipped = np.zeros(flips.shape[1])
        test = ChanceTest(1.0, 0.0, flipped, enumerated=enumerated, units=live.size)
    elif gram is not None:
        gram -= n * np.outer(means, means)
        flipped = np.einsum("us,us->s", flips, gram @ flips) - own
        test = _test(float(gram.sum()) - own, flipped, own, enumerated, live.size)
    else:
        off = tally.rates[tally.rated] - tally.mean
        flipped = (lengths - n * np.square(means @ signs))[drawn:] - own
        test = _test(float(off @ off) - own, flipped, own, enumerated, live.size)
    draws -= means @ floor_signs
    return Centered(means, squares, test, draws if tally.rated.all() else draws[tally.rated])


def _test(
    statistic: float, flipped: FloatArray, scale: float, enumerated: bool, units: int
) -> ChanceTest:
    # A flip that equals the statistic, up to rounding, reaches it: flips without effect are no
    # evidence.
    reached = int(np.count_nonzero(flipped >= statistic - 1e-9 * scale))
    p = reached / flipped.size if enumerated else (1 + reached) / (flipped.size + 1)
    return ChanceTest(p, statistic, flipped, enumerated, units)


def _choose_signs(
    rng: np.random.Generator, units: int, people: int
) -> tuple[FloatArray, FloatArray, bool]:
    """Return the test's signs, (units, flips), the floor's signs, and if the test has all signs."""
    if 2**units > FLIPS + 1:
        flips, floor = (_random_signs(rng, units, count) for count in (FLIPS, FLOOR_DRAWS))
        return flips, floor, False
    flips = _all_signs(units)
    if people * flips.shape[1] <= LARGEST_FLOOR:
        return flips, flips, True
    return flips, flips[:, rng.integers(0, flips.shape[1], size=FLOOR_DRAWS)], True


def _random_signs(rng: np.random.Generator, units: int, count: int) -> FloatArray:
    return np.asarray(2.0 * rng.integers(0, 2, size=(units, count)) - 1.0)


def _all_signs(units: int) -> FloatArray:
    """Return all choices of signs, (units, 2^(units - 1)), one of each pair of mirror images.

    Examples
    --------
    >>> _all_signs(3)
    array([[ 1.,  1.,  1.,  1.], [ 1.,  1., -1., -1.], [ 1., -1.,  1., -1.]])
    """
    count = 2 ** (units - 1)
    bits = np.arange(count) >> np.arange(units)[::-1, None] & 1
    return np.asarray(1.0 - 2.0 * bits)
