"""Is it more than chance? The sign-flip test over tasks, and what chance alone would show.

With Z_ij = W_ij (L_ij - Ebar) / m_i, a person's rate less the mean is sum_j Z_ij. Take the column
means off: R = Z - zbar. If all true rates are equal, each column of R is a draw from the world that
might as well have come out with the opposite sign, for everybody at once. So flip whole columns:

    U = |R 1|^2 - |R|^2,        U* = |R s|^2 - |R|^2,    s random signs,

and see how often U* reaches U. Similar people may err together on the same task: a column is
flipped as a whole, so that this is no evidence of unequal rates (Cochran's Q takes it for such).
Tasks in families are near-duplicates: their columns are added up first, and flipped together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import nan

import numpy as np

from averagefair.auditing.frozen import Frozen
from averagefair.auditing.losses import Losses
from averagefair.auditing.tally import Tally
from averagefair.sample import FloatArray

FLIPS = 999
FLOOR_DRAWS = 20
# Up to here one Gram matrix, 2 n m^2 operations, is cheaper than 999 products of the table with
# signs, 2 n m 999.
LARGEST_GRAM = 1_000
# With few tasks the floor is the average over all flips, unless they take more numbers than this.
LARGEST_FLOOR = 10_000_000
EPSILON = 1e-12  # of sums over a table: far above rounding, far below any difference that matters


@dataclass(frozen=True)
class ChanceTest(Frozen):
    """The task sign-flip test of "all true rates are equal".

    Attributes
    ----------
    p : float
        The p-value; NaN where nobody has a rate, and for tasks that were learned from.
    statistic : float
        U: the sum of squared deviations of the rates, less what the cells' own noise adds.
    flipped : array, shape (flips,)
        U*: what the statistic would have been under chance. ``print`` shows none of it.
    enumerated : bool
        Whether ``flipped`` is every possible flip (a mirror image counted once) rather than a draw.
    units : int
        How many tasks, or families of tasks, there were to flip.
    """

    p: float
    statistic: float
    flipped: FloatArray = field(repr=False)
    enumerated: bool
    units: int

    @property
    def bins(self) -> int:
        """How many bars show ``flipped`` well."""
        return min(40, max(5, int(np.sqrt(self.flipped.size))))

    @property
    def smallest(self) -> float:
        """The smallest p-value this test could have given; NaN where there was nothing to flip."""
        if not self.units:
            return nan
        return 2.0 ** (1 - self.units) if self.enumerated else 1.0 / (FLIPS + 1)


NOT_TESTED = ChanceTest(nan, nan, np.empty(0), enumerated=True, units=0)
"""Where there is nothing to test: nobody has a rate, or the tasks were learned from."""


@dataclass(frozen=True, eq=False)
class Centered:
    """What the mean's interval, the test and the noise floor need of Z.

    Attributes
    ----------
    task_means : array, shape (units,)
        zbar_j: the mean over people of Z_ij, for the tasks (families) in which anything counts.
    squares : float
        The sum of all Z_ij squared.
    test : ChanceTest
    draws : array, shape (people with a rate, draws)
        R s for some signs s: everybody's deviation from the mean if chance were all.
    """

    task_means: FloatArray
    squares: float
    test: ChanceTest
    draws: FloatArray


def center(losses: Losses, tally: Tally, rng: np.random.Generator) -> Centered:
    """Make Z in one pass over the losses, and of it the test and the draws of chance."""
    live, n = tally.live, int(np.count_nonzero(tally.rated))
    if not n:
        return Centered(np.zeros(0), 0.0, NOT_TESTED, np.empty((0, 1)))
    flips, floor, enumerated = _choose_signs(rng, live.size, n)
    by_gram, drawn = live.size <= LARGEST_GRAM, floor.shape[1]
    signs = floor if by_gram else np.hstack([floor, flips])

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

    # What is left where all losses are alike is rounding, and so is R where all people are.
    rounding = EPSILON**2 * scale
    squares = squares if squares > rounding else 0.0
    means = sums / n
    # |R s|^2 = |Z s|^2 - n (zbar s)^2, and likewise for the sum of squares.
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
    draws -= means @ floor
    return Centered(means, squares, test, draws if tally.rated.all() else draws[tally.rated])


def _test(
    statistic: float, flipped: FloatArray, scale: float, enumerated: bool, units: int
) -> ChanceTest:
    # Equal but for rounding counts as reached: flips that change nothing must not be evidence.
    reached = int(np.count_nonzero(flipped >= statistic - 1e-9 * scale))
    p = reached / flipped.size if enumerated else (1 + reached) / (flipped.size + 1)
    return ChanceTest(p, statistic, flipped, enumerated, units)


def _choose_signs(
    rng: np.random.Generator, units: int, people: int
) -> tuple[FloatArray, FloatArray, bool]:
    """Return the signs of the test, (units, flips), and of the floor, and whether they are all."""
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
    """Return every choice of signs, (units, 2^(units - 1)), of two mirror images one.

    Examples
    --------
    >>> _all_signs(3)
    array([[ 1.,  1.,  1.,  1.], [ 1.,  1., -1., -1.], [ 1., -1.,  1., -1.]])
    """
    count = 2 ** (units - 1)
    bits = np.arange(count) >> np.arange(units)[::-1, None] & 1
    return np.asarray(1.0 - 2.0 * bits)
