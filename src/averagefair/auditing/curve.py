"""The (alpha, beta) curve: how close to one rate all but a share beta of the people are.

alpha(beta) is half the width of the narrowest window that holds all but a share beta of the
individual rates. Each beta has its own window. The middle of a window need not be the audit's
common rate (see :func:`averagefair.game.windows.common_rate`).

With few tasks most of alpha(beta) is noise, so the table has three more columns. The noise floor is
alpha(beta) if all true rates were equal. The de-noised curve removes the noise, assuming that noise
only scales the distribution. Chebyshev's cap is an upper bound for the population of people and
tasks. For learned tasks (the model's training tasks) the three columns are unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan, sqrt

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair._util.frozen import Frozen
from averagefair._util.text import figure, table
from averagefair.auditing.dispersion import Dispersion
from averagefair.errors import InputError
from averagefair.game.windows import ROUNDING, narrowest

BETAS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, eq=False, repr=False)
class Curve(Frozen):
    """alpha(beta) at some betas, with its noise floor, estimate and bound. ``print`` it.

    Attributes
    ----------
    beta : array, shape (k,), ascending
        The share of people left out.
    alpha : array, shape (k,)
        Half the width of the narrowest window that holds the other observed rates.
    middle : array, shape (k,)
        The middle of that window.
    floor : array, shape (k,)
        alpha(beta) if all true rates were equal; NaN for learned tasks.
    denoised : array, shape (k,)
        A point estimate of alpha(beta) for the true rates; NaN if the noise cannot be estimated.
    cap : array, shape (k,)
        An upper bound on alpha(beta) for the true rates; infinite at beta 0, NaN if unknown.
    """

    beta: FloatArray
    alpha: FloatArray
    middle: FloatArray
    floor: FloatArray
    denoised: FloatArray
    cap: FloatArray

    def to_dict(self) -> dict[str, list[float]]:
        """Return the table, a list for each column."""
        return {name: getattr(self, name).tolist() for name in self.__dataclass_fields__}

    def at(self, beta: float) -> dict[str, float]:
        """Return the row for a beta in the table."""
        row = int(np.argmin(np.abs(self.beta - beta)))
        if abs(self.beta[row] - beta) > ROUNDING:
            raise InputError(
                f"beta={beta!r} is not in the table, which has "
                f"{', '.join(f'{known:g}' for known in self.beta)}. Call audit(..., beta=...)."
            )
        return {name: float(getattr(self, name)[row]) for name in self.__dataclass_fields__}

    def __str__(self) -> str:
        columns = self.to_dict()
        rows = zip(
            *([figure(value, 4) for value in column] for column in columns.values()), strict=True
        )
        return table([name.replace("_", " ") for name in columns], rows)

    __repr__ = __str__


def curve(
    rates: FloatArray,
    draws: FloatArray | None,
    shrunk: FloatArray,
    dispersion: Dispersion,
    betas: FloatArray,
) -> Curve:
    """Return the curve at these betas.

    Parameters
    ----------
    rates : array, shape (n,)
        Individual rates.
    draws : array, shape (n, draws), or None
        Deviations from the mean under chance alone; None for learned tasks.
    shrunk : array, shape (k,)
        Deviations with the noise removed; empty if the noise cannot be estimated.
    """
    ordered = np.sort(rates)
    windows = [narrowest(ordered, beta) for beta in betas]
    return Curve(
        beta=np.array(betas, dtype=np.float64),
        alpha=np.array([window.width / 2 for window in windows]),
        middle=np.array([window.middle for window in windows]),
        floor=np.full(len(betas), nan)
        if draws is None
        else _half_widths(draws.T, betas).mean(axis=0),
        denoised=_half_widths(shrunk[None, :], betas)[0],
        cap=np.array([_cap(dispersion.upper, beta) for beta in betas]),
    )


def _cap(upper: float, beta: float) -> float:
    """Return Chebyshev's bound sigma_U / sqrt(beta); infinite at beta 0."""
    if np.isnan(upper):
        return nan
    return upper / sqrt(beta) if beta > 0 else inf


def _half_widths(samples: FloatArray, betas: FloatArray) -> FloatArray:
    """Return alpha(beta) of each sample, shape (samples, betas)."""
    ordered = (np.sort(sample) for sample in samples)
    widths = [[abs(narrowest(rates, beta).width) for beta in betas] for rates in ordered]
    return np.array(widths) / 2
