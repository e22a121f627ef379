"""Findings from the tables: error at equal unfairness, and how fast fairness generalises.

Curves are compared at equal *held-out* unfairness, since the alpha requested in training says
little about new people and tasks. Each curve is replaced by its lower envelope, because models can
be mixed at random. A model can also be mixed with coin flips, which have no unfairness and an error
of one half. Mixing never moves two people further apart than they are in one of the models.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import OptimizeWarning, curve_fit
from scipy.stats import t as student

from averagefair._util.arrays import FloatArray
from averagefair.errors import InputError
from averagefair.experiments.figures import COLUMNS, PUBLISHED, SOLVERS, UNCONSTRAINED
from averagefair.experiments.sweeps import PEOPLE, TASKS
from averagefair.experiments.tidy import ResultTable

LEVELS = (0.2, 0.4, 0.6, 0.8, 0.9)
CONFIDENCE = 0.95
HELD_OUT = ("people", "tasks", "both")
LEARNED = "people"
"""New people are measured on the training tasks, where the noise cannot be removed."""
MOSTLY_NOISE = 0.8
"""Above this noise share of the variance between people, comparisons say little."""
GAIN = ("gain", "gain_low", "gain_high", "noise_share", "repeats")


class Envelope(NamedTuple):
    """The least error of mixtures of some models, against their unfairness.

    Attributes
    ----------
    unfairness, error : array, shape (k,)
        The vertices of the envelope, by ascending unfairness and descending error.
    """

    unfairness: FloatArray
    error: FloatArray

    def at(self, unfairness: FloatArray) -> FloatArray:
        """Return the least error at this unfairness or less."""
        return np.asarray(np.interp(unfairness, self.unfairness, self.error))


def envelope(unfairness: ArrayLike, error: ArrayLike) -> Envelope:
    """Return the lower envelope of models and coin flips: the least error of their mixtures.

    Parameters
    ----------
    unfairness, error : array-like, shape (k,)
        The unfairness and the error of each model.

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
            continue  # this model is more unfair and has no lower error
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
    """Return whether a point lies on or above the line through its neighbours."""
    rise = (right[1] - left[1]) * (middle[0] - left[0])
    return (middle[1] - left[1]) * (right[0] - left[0]) >= rise


def at_equal_unfairness(
    measured: ResultTable,
    setting: Sequence[str],
    repeat: str,
    *,
    measure: str = "sigma",
    levels: Sequence[float] = LEVELS,
) -> ResultTable:
    """Compare both solvers on held-out people and tasks, at equal unfairness.

    Parameters
    ----------
    measured : ResultTable
        From ``random_splits`` or ``coin_biases``.
    setting : sequence of str
        The columns that identify a setting.
    repeat : str
        The column that numbers the repeated draws of a setting; both solvers saw the same draws.
    measure : {"sigma", "sd"}
        The measure of unfairness. "sigma": the standard deviation of true rates, without the noise
        from few tasks; valid for new tasks only (new people on training tasks are left out). "sd":
        the standard deviation of the observed rates. Both are convex: a mixture's unfairness never
        lies above the line between its models. The width of a window that leaves out 5% of the
        people is not convex.
    levels : sequence of float
        The unfairness to compare at, as shares of the unconstrained models' unfairness.

    Returns
    -------
    ResultTable
        A row for each setting, corner (held-out people, tasks or both) and level. It has the error
        of each solver's mean curve. ``gain`` is the difference of these errors, with its jackknife
        interval over the draws; it is positive if column generation has the lower error.
        ``reaches`` is the least unfairness of column generation's own models, as a share like the
        levels; below it, the curve consists of mixtures with coin flips. ``noise_share`` is the
        noise's share of the variance between people without a constraint. If it is near 1, there is
        hardly any unfairness to compare. It is NaN on training tasks.
    """
    rows = []
    for which, corner, draws in _comparisons(measured, setting, repeat, measure):

        def errors(kept: Indices, draws: Draws = draws) -> FloatArray:
            theirs, ours = draws[PUBLISHED].mean(kept), draws[COLUMNS].mean(kept)
            at = theirs.unfairness[draws[PUBLISHED].free] * np.array(levels)
            return np.array([envelope(*theirs).at(at), envelope(*ours).at(at)])

        def gained(kept: Indices, errors: Callable[[Indices], FloatArray] = errors) -> FloatArray:
            theirs, ours = errors(kept)
            return np.asarray(theirs - ours)

        every = np.arange(draws[PUBLISHED].draws)
        both = errors(every)
        free = draws[PUBLISHED].mean(every).unfairness[draws[PUBLISHED].free]
        least = draws[COLUMNS].mean(every).unfairness.min()
        gains = jackknife(gained, draws[PUBLISHED].draws)
        for index, (level, gain) in enumerate(zip(levels, gains, strict=True)):
            rows.append(
                {
                    **which,
                    "corner": corner,
                    "measure": measure,
                    "level": level,
                    "authors_setting_error": both[0, index],
                    "column_generation_error": both[1, index],
                    "reaches": least / free if free > 0 else np.nan,
                    **_gain_columns(gain, draws),
                }
            )
    names = ("level", "authors_setting_error", "column_generation_error", "reaches")
    return ResultTable.of_rows(rows, (*setting, "corner", "measure", *names, *GAIN))


def measure_of(corner: str) -> str:
    """Return the measure of unfairness that is valid in a corner."""
    return "sd" if corner == LEARNED else "sigma"


def valid(table: ResultTable) -> ResultTable:
    """Return the rows of a table whose measure is the valid one in their corner."""
    wanted = [measure_of(corner) for corner in table["corner"].tolist()]
    return table.take(table["measure"] == np.array(wanted, dtype=object))


def point_by_point(
    measured: ResultTable, setting: Sequence[str], repeat: str, *, measure: str = "sigma"
) -> ResultTable:
    """Compare each model with coin flips, and column generation with the authors' setting.

    Unlike an envelope, this shows the single model that a user gets for one alpha.

    Parameters
    ----------
    measured, setting, repeat, measure
        As for :func:`at_equal_unfairness`.

    Returns
    -------
    ResultTable
        A row for each setting, corner, solver and alpha. ``coin_flips`` is the extra error of a
        baseline with the same unfairness: coin flips mixed into the authors' setting without a
        constraint. ``gain`` is the extra error of the authors' curve at the same unfairness; it is
        NaN for the models of the authors' setting.
    """
    rows = []
    for which, corner, draws in _comparisons(measured, setting, repeat, measure):
        for solver in SOLVERS:

            def saved(kept: Indices, draws: Draws = draws, solver: str = solver) -> FloatArray:
                theirs, own = draws[PUBLISHED].mean(kept), draws[solver].mean(kept)
                free = draws[PUBLISHED].free
                flips = envelope(theirs.unfairness[[free]], theirs.error[[free]])
                lines = flips.at(own.unfairness), envelope(*theirs).at(own.unfairness)
                return np.concatenate(lines) - np.tile(own.error, 2)

            gains = jackknife(saved, draws[solver].draws)
            count = len(draws[solver].alphas)
            for index, alpha in enumerate(draws[solver].alphas):
                flips, gain = gains[index], gains[count + index]
                unknown = Interval(np.nan, np.nan, np.nan)
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
                        **_gain_columns(gain if solver == COLUMNS else unknown, draws),
                    }
                )
    flips_names = ("coin_flips", "coin_flips_low", "coin_flips_high")
    names = (*setting, "corner", "measure", "solver", "alpha", *flips_names, *GAIN)
    return ResultTable.of_rows(rows, names)


Indices = NDArray[np.intp]


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
        """The index of the model without a constraint."""
        if UNCONSTRAINED not in self.alphas:
            raise InputError(
                f"comparisons need the model without a constraint, alpha {UNCONSTRAINED}; "
                f"the table has alphas {', '.join(map(str, self.alphas))}."
            )
        return self.alphas.index(UNCONSTRAINED)

    def mean(self, kept: Indices) -> Envelope:
        """Return the mean error and the root mean square unfairness over some draws."""
        unfairness = np.sqrt(self.unfairness2[kept].mean(axis=0))
        return Envelope(unfairness, self.error[kept].mean(axis=0))


Draws = dict[str, _Curves]


def _comparisons(
    measured: ResultTable, setting: Sequence[str], repeat: str, measure: str
) -> Iterator[tuple[dict[str, Any], str, Draws]]:
    for which in measured.only(*setting):
        here = measured.where(**which)
        for corner in HELD_OUT:
            if corner == LEARNED and measure == "sigma":
                continue
            rows = here.where(corner=corner)
            yield (
                which,
                corner,
                {solver: _curves(rows, solver, repeat, measure) for solver in SOLVERS},
            )


def _curves(here: ResultTable, solver: str, repeat: str, measure: str) -> _Curves:
    rows = here.where(solver=solver)
    draws = [rows.where(**{repeat: draw}) for draw in rows.distinct(repeat)]
    values = {
        name: np.array([draw[name] for draw in draws]) for name in (measure, "error", "noise_share")
    }
    alphas = draws[0]["alpha"].tolist()
    return _Curves(alphas, values[measure] ** 2, values["error"], values["noise_share"])


def _gain_columns(gain: Interval, draws: Draws) -> dict[str, Any]:
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
    """Return the mean of some values with Student's interval; NaN ends for a single value.

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
    estimate: Callable[[Indices], FloatArray], count: int, confidence: float = CONFIDENCE
) -> list[Interval]:
    """Return estimates from repeated draws, with jackknife intervals; NaN ends for one draw.

    Parameters
    ----------
    estimate : callable
        Takes the indices of the draws to use, and returns an array of estimates.
    count : int
        The number of draws.

    Examples
    --------
    For a mean this is Student's interval:

    >>> values = np.array([1.0, 2.0, 3.0])
    >>> [round(part, 3) for part in jackknife(lambda kept: values[kept].mean(keepdims=True), 3)[0]]
    [2.0, -0.484, 4.484]
    """
    every = np.arange(count)
    values = estimate(every)
    if count < 2:
        return [Interval(float(value), np.nan, np.nan) for value in values]
    without = np.array([estimate(np.delete(every, index)) for index in every])
    squares = ((without - without.mean(axis=0)) ** 2).sum(axis=0)
    half = student.ppf(0.5 + confidence / 2, count - 1) * np.sqrt((count - 1) / count * squares)
    ends = zip(values, half, strict=True)
    return [Interval(float(value), float(value - by), float(value + by)) for value, by in ends]


PREDICTED = {(PEOPLE, "excess"): -0.5, (TASKS, "moved"): -0.25}
"""The exponents of the theorems' alpha. Over people: n^(-1/2), with m, beta and the class fixed
(Theorem "Generalization over P": n ~ m d / (alpha beta)^2). Over tasks: m^(-1/4), with nu fixed
(Theorem "Generalization over Q": m ~ log^2 n / (alpha nu)^4)."""


def exponents(grown: ResultTable) -> ResultTable:
    """Fit how fast generalisation improves with the number of training people or tasks.

    Parameters
    ----------
    grown : ResultTable
        From ``growth``, with several sizes and populations.

    Returns
    -------
    ResultTable
        For each direction and solver a power law through all populations: its value at the
        smallest size (``fitted_at_smallest``), its exponent with its interval, and the theorem's
        exponent. Also the means over populations at the smallest and the largest size.
    """
    rows = []
    for (direction, quantity), predicted in PREDICTED.items():
        here = grown.where(direction=direction)
        for solver in here.distinct("solver"):
            runs = here.where(solver=solver)
            sizes = runs.distinct("size")
            law = power_law(runs["size"], runs[quantity])
            ends = [runs.where(size=size)[quantity].mean() for size in (min(sizes), max(sizes))]
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
    return ResultTable.of_rows(rows)


class PowerLaw(NamedTuple):
    """A quantity that is proportional to a power of size.

    Attributes
    ----------
    at_smallest : float
        The fitted value at the smallest size.
    exponent : Interval
    """

    at_smallest: float
    exponent: Interval


def power_law(sizes: ArrayLike, values: ArrayLike, confidence: float = CONFIDENCE) -> PowerLaw:
    """Fit values ~ sizes^exponent by least squares.

    The fit assumes that the standard deviation of values falls like size^(-1/2), as for averages
    over samples. So every size influences the fit. Values below 0, which are pure noise, do too.

    Parameters
    ----------
    sizes, values : array-like, shape (k,)
    confidence : float in (0, 1), default 0.95
        The confidence of the exponent's interval.

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
        warnings.simplefilter("ignore", OptimizeWarning)  # two points leave no residual
        (scale, exponent), covariance = curve_fit(law, sizes, values, (start, -0.5), sizes**-0.5)
    free = len(sizes) - 2
    half = np.nan
    if free > 0:
        half = float(student.ppf(0.5 + confidence / 2, free) * np.sqrt(covariance[1, 1]))
    return PowerLaw(float(scale), Interval(float(exponent), exponent - half, exponent + half))
