"""What the tables say: who errs less at equal unfairness, and how fast fairness carries over.

Curves are compared where their *held-out* unfairness is equal, since what a solver was asked for
in training says little about what new people and tasks meet. A curve is worth its lower envelope:
whoever has two of its models can decide by a coin which of them to use, and whoever has one can mix
in plain coin flips, down to no unfairness at error one half. Mixing makes no two people differ
more than the models mixed do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from averagefair.experiments.figures import COLUMNS, PUBLISHED, SOLVERS, UNCONSTRAINED
from averagefair.experiments.sweeps import PEOPLE, TASKS
from averagefair.experiments.tidy import Table
from averagefair.sample import FloatArray

LEVELS = (0.2, 0.4, 0.6, 0.8, 0.9)
CONFIDENCE = 0.95
HELD_OUT = ("people", "tasks", "both")
GAIN = ("gain", "gain_low", "gain_high", "repeats")


class Envelope(NamedTuple):
    """The least error of mixtures of some models, against their unfairness.

    Attributes
    ----------
    unfairness, error : array, shape (k,)
        The corners of the envelope, by ascending unfairness and descending error.
    """

    unfairness: FloatArray
    error: FloatArray

    def at(self, unfairness: FloatArray) -> FloatArray:
        """Return the least error with no more unfairness than this."""
        return np.asarray(np.interp(unfairness, self.unfairness, self.error))


def envelope(unfairness: ArrayLike, error: ArrayLike) -> Envelope:
    """Return the lower envelope of models, each with its unfairness and error, and coin flips.

    Examples
    --------
    >>> line = envelope([0.1, 0.05, 0.2], [0.3, 0.48, 0.2])
    >>> line.unfairness, line.error
    (array([0. , 0.1, 0.2]), array([0.5, 0.3, 0.2]))
    >>> line.at(np.array([0.05, 0.2, 0.3]))
    array([0.4, 0.2, 0.2])
    """
    points = sorted(zip(np.ravel(unfairness).tolist(), np.ravel(error).tolist(), strict=True))
    kept = [(0.0, 0.5)]
    for x, y in points:
        if y >= kept[-1][1]:
            continue  # more unfair, and no better
        while len(kept) > 1 and _above(kept[-1], kept[-2], (x, y)):
            kept.pop()
        if x <= kept[-1][0]:
            kept[-1] = (kept[-1][0], y)
        else:
            kept.append((x, y))
    return Envelope(*np.array(kept).T)


def _above(
    middle: tuple[float, float], left: tuple[float, float], right: tuple[float, float]
) -> bool:
    """Tell whether a point lies on or above the line through its neighbours."""
    rise = (right[1] - left[1]) * (middle[0] - left[0])
    return (middle[1] - left[1]) * (right[0] - left[0]) >= rise


def at_equal_unfairness(
    measured: Table,
    setting: Sequence[str],
    repeat: str,
    *,
    measure: str = "sigma",
    levels: Sequence[float] = LEVELS,
) -> Table:
    """Compare both solvers on people and tasks held out, where people are equally unequal.

    Parameters
    ----------
    measured : Table
        From ``random_splits`` or ``coin_biases``.
    setting : sequence of str
        The columns that tell settings apart.
    repeat : str
        The column that tells repeated draws of a setting apart; both solvers saw the same draws.
    measure : {"sigma", "denoised"}
        Chance-corrected unfairness: the standard deviation of true rates, or how far all but 5% of
        the people are from a common rate.
    levels : sequence of float
        Where to compare, as shares of the unfairness of the unconstrained models.

    Returns
    -------
    Table
        A row for each setting, corner and level: the mean error of each solver, and by how much
        the published setting errs more (``gain``), with its interval over the draws. Where it is
        not shown in every draw that the unconstrained models treat people differently at all,
        there is nothing to compare, and no row.
    """
    rows = []
    for which in measured.only(*setting):
        here = measured.where(**which)
        for corner in HELD_OUT:
            draws = _draws(here.where(corner=corner), repeat)
            if not all(map(_differ, draws)):
                continue
            errors = np.array([_errors(draw, measure, levels) for draw in draws])
            gains = errors[:, 0] - errors[:, 1]
            for place, level in enumerate(levels):
                gain = interval(gains[:, place])
                means = errors[:, :, place].mean(axis=0)
                rows.append(
                    {
                        **which,
                        "corner": corner,
                        "measure": measure,
                        "level": level,
                        "published_error": means[0],
                        "column_generation_error": means[1],
                        "gain": gain.value,
                        "gain_low": gain.low,
                        "gain_high": gain.high,
                        "repeats": len(gains),
                    }
                )
    errors_of_both = ("published_error", "column_generation_error")
    return Table.of_rows(rows, (*setting, "corner", "measure", "level", *errors_of_both, *GAIN))


def point_by_point(
    measured: Table, setting: Sequence[str], repeat: str, *, measure: str = "sigma"
) -> Table:
    """Hold each model of column generation against the published curve at its own unfairness.

    A curve is as good as its best mixtures, but somebody may ask for one alpha and take what comes.

    Parameters
    ----------
    measured, setting, repeat, measure
        As for :func:`at_equal_unfairness`.

    Returns
    -------
    Table
        A row for each setting, corner and alpha, with the ``gain`` over the published curve.
    """
    rows = []
    for which in measured.only(*setting):
        here = measured.where(**which)
        for corner in HELD_OUT:
            draws = _draws(here.where(corner=corner), repeat)
            if not all(map(_differ, draws)):
                continue
            for alpha in here.where(solver=COLUMNS).distinct("alpha"):
                gains = [_gain(draw, alpha, measure) for draw in draws]
                gain = interval(gains)
                rows.append(
                    {
                        **which,
                        "corner": corner,
                        "measure": measure,
                        "alpha": alpha,
                        "gain": gain.value,
                        "gain_low": gain.low,
                        "gain_high": gain.high,
                        "repeats": len(gains),
                    }
                )
    return Table.of_rows(rows, (*setting, "corner", "measure", "alpha", *GAIN))


def _gain(draw: Table, alpha: float, measure: str) -> float:
    theirs, mine = draw.where(solver=PUBLISHED), draw.where(solver=COLUMNS, alpha=alpha)
    line = envelope(theirs[measure], theirs["error"])
    return float((line.at(mine[measure]) - mine["error"])[0])


def _draws(here: Table, repeat: str) -> list[Table]:
    return [here.where(**{repeat: draw}) for draw in here.distinct(repeat)]


def _differ(draw: Table) -> bool:
    """Tell whether people's true rates are shown to differ without a constraint."""
    return bool(draw.where(solver=PUBLISHED, alpha=UNCONSTRAINED)["sigma_low"][0] > 0)


def _errors(draw: Table, measure: str, levels: Sequence[float]) -> list[FloatArray]:
    """Return the error of each solver at shares of the unconstrained unfairness."""
    free = draw.where(solver=PUBLISHED, alpha=UNCONSTRAINED)[measure][0]
    curves = (draw.where(solver=solver) for solver in (PUBLISHED, COLUMNS))
    return [envelope(one[measure], one["error"]).at(free * np.array(levels)) for one in curves]


class Interval(NamedTuple):
    """A mean over repeated draws, with its interval."""

    value: float
    low: float
    high: float


def interval(values: ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """Return the mean of some values with Student's interval; of a single value, no interval.

    Examples
    --------
    >>> [round(float(part), 3) for part in interval([1.0, 2.0, 3.0])]
    [2.0, -0.484, 4.484]
    """
    values = np.ravel(values)
    if values.size < 2:
        return Interval(float(values.mean()), np.nan, np.nan)
    half = student.ppf(0.5 + confidence / 2, values.size - 1) * values.std(ddof=1)
    half = float(half / np.sqrt(values.size))
    return Interval(float(values.mean()), float(values.mean()) - half, float(values.mean()) + half)


PREDICTED = {(PEOPLE, "excess"): -0.5, (TASKS, "moved"): -0.25}
"""What the theorems promise at worst: with n growing, alpha falls like n^(-1/2) (Theorem
"Generalization over P": n ~ m d / (alpha beta)^2); with m growing, like m^(-1/4) (Theorem
"Generalization over Q": m ~ log^2 n / (alpha nu)^4)."""


def exponents(grown: Table) -> Table:
    """Fit how fast fairness comes to carry over as people, or tasks, to learn from grow.

    Parameters
    ----------
    grown : Table
        From ``growth``, several sizes and populations.

    Returns
    -------
    Table
        For each direction and solver: the exponent of a power law through the root mean squares
        over populations, with its interval, beside the exponent of the theorem. (The mean would
        leave out that fairness can be off by chance in either direction, which falls like
        n^(-1/2) too.)
    """
    rows = []
    for (direction, quantity), predicted in PREDICTED.items():
        here = grown.where(direction=direction)
        for solver in SOLVERS if len(here) else ():
            mine = here.where(solver=solver)
            sizes = mine.distinct("size")
            typical = [root_mean_square(mine.where(size=size)[quantity]) for size in sizes]
            fitted = power_law(sizes, typical)
            rows.append(
                {
                    "direction": direction,
                    "solver": solver,
                    "quantity": quantity,
                    "smallest": min(sizes),
                    "largest": max(sizes),
                    "at_smallest": typical[int(np.argmin(sizes))],
                    "at_largest": typical[int(np.argmax(sizes))],
                    "exponent": fitted.value,
                    "exponent_low": fitted.low,
                    "exponent_high": fitted.high,
                    "predicted": predicted,
                }
            )
    return Table.of_rows(rows)


def root_mean_square(values: FloatArray) -> float:
    """Return the root of the mean of squares."""
    return float(np.sqrt((values**2).mean()))


def power_law(sizes: ArrayLike, values: ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """Fit values ~ sizes^exponent by least squares of logarithms; values not above 0 are left out.

    Examples
    --------
    >>> power_law([1, 10, 100], [2.0, 0.2, 0.02]).value
    -1.0
    """
    sizes, values = np.ravel(sizes).astype(float), np.ravel(values).astype(float)
    used = values > 0
    if np.count_nonzero(used) < 2:
        return Interval(np.nan, np.nan, np.nan)
    x, y = np.log(sizes[used]), np.log(values[used])
    x = x - x.mean()
    slope = float(x @ y / (x @ x))
    if x.size < 3:
        return Interval(slope, np.nan, np.nan)
    rest = y - y.mean() - slope * x
    half = student.ppf(0.5 + confidence / 2, x.size - 2)
    half = float(half * np.sqrt(rest @ rest / (x.size - 2) / (x @ x)))
    return Interval(round(slope, 12), slope - half, slope + half)
