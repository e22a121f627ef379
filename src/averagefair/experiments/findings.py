"""What the tables say: who errs less at equal unfairness, and how fast fairness carries over.

Curves are compared where their *held-out* unfairness is equal, since what a solver was asked for
in training says little about what new people and tasks meet. A curve is worth its lower envelope:
whoever has two of its models can decide by a coin which of them to use, and whoever has one can mix
in plain coin flips, down to no unfairness at error one half. Mixing makes no two people differ
more than the models mixed do.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import OptimizeWarning, curve_fit
from scipy.stats import t as student

from averagefair.errors import InputError
from averagefair.experiments.figures import COLUMNS, PUBLISHED, SOLVERS, UNCONSTRAINED
from averagefair.experiments.sweeps import PEOPLE, TASKS
from averagefair.experiments.tidy import Table
from averagefair.sample import FloatArray

LEVELS = (0.2, 0.4, 0.6, 0.8, 0.9)
CONFIDENCE = 0.95
HELD_OUT = ("people", "tasks", "both")
LEARNED = "people"
"""New people are measured on the tasks learned from, where noise cannot be taken off."""
MOSTLY_NOISE = 0.8
"""Where more of the variance between people is noise, there is little unfairness to compare at."""
GAIN = ("gain", "gain_low", "gain_high", "noise_share", "repeats")


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
    """Return the lower envelope of models and coin flips: the least error of their mixtures.

    Parameters
    ----------
    unfairness, error : array-like, shape (k,)
        Of each model.

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
    measure : {"sigma", "sd"}
        Unfairness: the standard deviation of true rates, the noise of few tasks taken off, which
        is valid for new tasks only (new people on the tasks learned from are left out); or of the
        rates as observed. Both are convex, so that mixing models never makes them larger than
        the line between the models says; a window that leaves out 5% of the people is not.
    levels : sequence of float
        Where to compare, as shares of the unfairness of the unconstrained models.

    Returns
    -------
    Table
        A row for each setting, corner and level: the error of each solver's mean curve there, and
        by how much the authors' setting errs more (``gain``), with the jackknife's interval over
        the draws. ``reaches`` is how little unfairness a model of column generation itself shows
        at least, as a share like the levels: below it its curve is mixtures with coin flips.
        ``noise_share`` is how much of the variance between people is noise where nothing
        is asked for: where it is nearly all, there is hardly any unfairness to compare at. NaN on
        the tasks learned from.
    """
    rows = []
    for which, corner, draws in _comparisons(measured, setting, repeat, measure):

        def errors(kept: Places, draws: Draws = draws) -> FloatArray:
            theirs, ours = draws[PUBLISHED].mean(kept), draws[COLUMNS].mean(kept)
            at = theirs.unfairness[draws[PUBLISHED].free] * np.array(levels)
            return np.array([envelope(*theirs).at(at), envelope(*ours).at(at)])

        def gained(kept: Places, errors: Callable[[Places], FloatArray] = errors) -> FloatArray:
            theirs, ours = errors(kept)
            return np.asarray(theirs - ours)

        every = np.arange(draws[PUBLISHED].draws)
        both = errors(every)
        free = draws[PUBLISHED].mean(every).unfairness[draws[PUBLISHED].free]
        least = draws[COLUMNS].mean(every).unfairness.min()
        gains = jackknife(gained, draws[PUBLISHED].draws)
        for place, (level, gain) in enumerate(zip(levels, gains, strict=True)):
            rows.append(
                {
                    **which,
                    "corner": corner,
                    "measure": measure,
                    "level": level,
                    "authors_setting_error": both[0, place],
                    "column_generation_error": both[1, place],
                    "reaches": least / free if free > 0 else np.nan,
                    **_told(gain, draws),
                }
            )
    names = ("level", "authors_setting_error", "column_generation_error", "reaches")
    return Table.of_rows(rows, (*setting, "corner", "measure", *names, *GAIN))


def measure_of(corner: str) -> str:
    """Return the measure of unfairness that is valid in a corner."""
    return "sd" if corner == LEARNED else "sigma"


def valid(table: Table) -> Table:
    """Keep of a table with several measures the one that is valid in each corner."""
    wanted = [measure_of(corner) for corner in table["corner"].tolist()]
    return table.take(table["measure"] == np.array(wanted, dtype=object))


def point_by_point(
    measured: Table, setting: Sequence[str], repeat: str, *, measure: str = "sigma"
) -> Table:
    """Hold each model against coin flips, and column generation's against the authors' setting.

    A curve is as good as its best mixtures, but somebody may ask for one alpha and take what comes.

    Parameters
    ----------
    measured, setting, repeat, measure
        As for :func:`at_equal_unfairness`.

    Returns
    -------
    Table
        A row for each setting, corner, solver and alpha: how much more coin flips into the
        authors' setting without a constraint err at the same unfairness (``coin_flips``), and how
        much more the curve of the authors' setting does (``gain``; NaN for its own models).
    """
    rows = []
    for which, corner, draws in _comparisons(measured, setting, repeat, measure):
        for solver in SOLVERS:

            def saved(kept: Places, draws: Draws = draws, solver: str = solver) -> FloatArray:
                theirs, mine = draws[PUBLISHED].mean(kept), draws[solver].mean(kept)
                free = draws[PUBLISHED].free
                flips = envelope(theirs.unfairness[[free]], theirs.error[[free]])
                lines = flips.at(mine.unfairness), envelope(*theirs).at(mine.unfairness)
                return np.concatenate(lines) - np.tile(mine.error, 2)

            gains = jackknife(saved, draws[solver].draws)
            count = len(draws[solver].alphas)
            for place, alpha in enumerate(draws[solver].alphas):
                flips, gain = gains[place], gains[count + place]
                nothing = Interval(np.nan, np.nan, np.nan)
                rows.append(
                    {
                        **which,
                        "corner": corner,
                        "measure": measure,
                        "solver": solver,
                        "alpha": alpha,
                        "coin_flips": flips.value,
                        "coin_flips_low": flips.low,
                        "coin_flips_high": flips.high,
                        **_told(gain if solver == COLUMNS else nothing, draws),
                    }
                )
    flips_names = ("coin_flips", "coin_flips_low", "coin_flips_high")
    names = (*setting, "corner", "measure", "solver", "alpha", *flips_names, *GAIN)
    return Table.of_rows(rows, names)


Places = NDArray[np.intp]


class _Curves(NamedTuple):
    """The curves of one solver, a row for each draw and a column for each alpha."""

    alphas: list[float]
    unfairness2: FloatArray
    error: FloatArray
    noise_share: FloatArray

    @property
    def draws(self) -> int:
        return len(self.error)

    @property
    def free(self) -> int:
        """Where the model without a constraint stands."""
        if UNCONSTRAINED not in self.alphas:
            raise InputError(
                f"comparisons start from the model without a constraint, alpha {UNCONSTRAINED}; "
                f"the table has {', '.join(map(str, self.alphas))}."
            )
        return self.alphas.index(UNCONSTRAINED)

    def mean(self, kept: Places) -> Envelope:
        """Return the mean curve over some draws; of unfairness, the root mean square."""
        unfairness = np.sqrt(self.unfairness2[kept].mean(axis=0))
        return Envelope(unfairness, self.error[kept].mean(axis=0))


Draws = dict[str, _Curves]


def _comparisons(
    measured: Table, setting: Sequence[str], repeat: str, measure: str
) -> Iterator[tuple[dict[str, Any], str, Draws]]:
    for which in measured.only(*setting):
        here = measured.where(**which)
        for corner in HELD_OUT:
            if corner == LEARNED and measure == "sigma":
                continue
            mine = here.where(corner=corner)
            yield (
                which,
                corner,
                {solver: _curves(mine, solver, repeat, measure) for solver in SOLVERS},
            )


def _curves(here: Table, solver: str, repeat: str, measure: str) -> _Curves:
    mine = here.where(solver=solver)
    draws = [mine.where(**{repeat: draw}) for draw in mine.distinct(repeat)]
    values = {
        name: np.array([draw[name] for draw in draws]) for name in (measure, "error", "noise_share")
    }
    alphas = draws[0]["alpha"].tolist()
    return _Curves(alphas, values[measure] ** 2, values["error"], values["noise_share"])


def _told(gain: Interval, draws: Draws) -> dict[str, Any]:
    theirs = draws[PUBLISHED]
    return {
        "gain": gain.value,
        "gain_low": gain.low,
        "gain_high": gain.high,
        "noise_share": theirs.noise_share[:, theirs.free].mean(),
        "repeats": theirs.draws,
    }


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


def jackknife(
    estimate: Callable[[Places], FloatArray], count: int, confidence: float = CONFIDENCE
) -> list[Interval]:
    """Return estimates from repeated draws, with the jackknife's intervals; none for one draw.

    Parameters
    ----------
    estimate : callable
        Takes the places of the draws to use, and returns an array of estimates.
    count : int
        How many draws there are.

    Examples
    --------
    Of a mean it is Student's interval:

    >>> values = np.array([1.0, 2.0, 3.0])
    >>> [round(part, 3) for part in jackknife(lambda kept: values[kept].mean(keepdims=True), 3)[0]]
    [2.0, -0.484, 4.484]
    """
    every = np.arange(count)
    values = estimate(every)
    if count < 2:
        return [Interval(float(value), np.nan, np.nan) for value in values]
    without = np.array([estimate(np.delete(every, place)) for place in every])
    squares = ((without - without.mean(axis=0)) ** 2).sum(axis=0)
    half = student.ppf(0.5 + confidence / 2, count - 1) * np.sqrt((count - 1) / count * squares)
    ends = zip(values, half, strict=True)
    return [Interval(float(value), float(value - by), float(value + by)) for value, by in ends]


PREDICTED = {(PEOPLE, "excess"): -0.5, (TASKS, "moved"): -0.25}
"""How fast the alpha that theorems promise falls: with n like n^(-1/2), where m, beta and the
class are fixed (Theorem "Generalization over P": n ~ m d / (alpha beta)^2); with m like m^(-1/4),
where nu is fixed (Theorem "Generalization over Q": m ~ log^2 n / (alpha nu)^4)."""


def exponents(grown: Table) -> Table:
    """Fit how fast fairness comes to carry over as people, or tasks, to learn from grow.

    Parameters
    ----------
    grown : Table
        From ``growth``, several sizes and populations.

    Returns
    -------
    Table
        For each direction and solver: a power law through all populations, its value at the
        smallest size (``fitted_at_smallest``) and its exponent with its interval, beside the
        exponent of the theorem; and the means over populations of the smallest and largest size.
    """
    rows = []
    for (direction, quantity), predicted in PREDICTED.items():
        here = grown.where(direction=direction)
        for solver in here.distinct("solver"):
            mine = here.where(solver=solver)
            sizes = mine.distinct("size")
            law = power_law(mine["size"], mine[quantity])
            ends = [mine.where(size=size)[quantity].mean() for size in (min(sizes), max(sizes))]
            rows.append(
                {
                    "direction": direction,
                    "solver": solver,
                    "quantity": quantity,
                    "smallest": min(sizes),
                    "largest": max(sizes),
                    "at_smallest": ends[0],
                    "at_largest": ends[1],
                    "fitted_at_smallest": law.at_smallest,
                    "exponent": law.exponent.value,
                    "exponent_low": law.exponent.low,
                    "exponent_high": law.exponent.high,
                    "predicted": predicted,
                }
            )
    return Table.of_rows(rows)


class PowerLaw(NamedTuple):
    """Something that falls (or grows) with size, as a power of it.

    Attributes
    ----------
    at_smallest : float
        Its value at the smallest size it was fitted to.
    exponent : Interval
    """

    at_smallest: float
    exponent: Interval


def power_law(sizes: ArrayLike, values: ArrayLike, confidence: float = CONFIDENCE) -> PowerLaw:
    """Fit values ~ sizes^exponent by least squares.

    Values are taken to scatter like size^(-1/2), as what is measured on samples does, so that all
    sizes have a say, and values below 0 (nothing but scatter) too.

    Parameters
    ----------
    sizes, values : array-like, shape (k,)
    confidence : float in (0, 1), default 0.95
        Of the exponent's interval.

    Examples
    --------
    >>> law = power_law([1, 10, 100, 1000], [2.0, 0.2, 0.02, 0.002])
    >>> round(law.at_smallest, 6), round(law.exponent.value, 6)
    (2.0, -1.0)
    """
    sizes, values = np.ravel(sizes).astype(float), np.ravel(values).astype(float)
    smallest = sizes.min()
    start = float(values[sizes == smallest].mean())
    if len(set(sizes.tolist())) < 2:
        return PowerLaw(start, Interval(np.nan, np.nan, np.nan))

    def law(size: FloatArray, scale: float, exponent: float) -> FloatArray:
        return np.asarray(scale * (size / smallest) ** exponent)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimizeWarning)  # two points leave nothing to judge by
        (scale, exponent), spread = curve_fit(law, sizes, values, (start, -0.5), sizes**-0.5)
    free = len(sizes) - 2
    half = np.nan
    if free > 0:
        half = float(student.ppf(0.5 + confidence / 2, free) * np.sqrt(spread[1, 1]))
    return PowerLaw(float(scale), Interval(float(exponent), exponent - half, exponent + half))
