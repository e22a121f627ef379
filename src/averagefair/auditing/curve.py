"""The (alpha, beta) curve: how near to one common rate all but a share beta of the people are.

alpha(beta) is half the width of the narrowest window that holds all but a share beta of the
individual rates. Each beta has a window of its own, whose middle is not the audit's common rate
(see :func:`averagefair.windows.common_rate`). With few tasks most of alpha(beta) is noise, so
beside it stand the noise floor (what would be seen if all true rates were equal), the de-noised
curve (the noise taken off, if the shape of the distribution merely scales) and Chebyshev's cap
(what is shown to hold, for people drawn from the same population on tasks drawn likewise). On
tasks that were learned from there are none of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan, sqrt

import numpy as np

from averagefair.auditing.frozen import Frozen
from averagefair.auditing.spread import Spread
from averagefair.errors import InputError
from averagefair.sample import FloatArray
from averagefair.text import figure, table
from averagefair.windows import ROUNDING, narrowest

BETAS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, eq=False, repr=False)
class Curve(Frozen):
    """alpha(beta) at some betas, and what to hold against it. ``print`` it.

    Attributes
    ----------
    beta : array, shape (k,), ascending
        The share of people left out.
    alpha : array, shape (k,)
        Half the width of the narrowest window that holds the others, as observed.
    middle : array, shape (k,)
        The middle of that window.
    floor : array, shape (k,)
        What would be seen if all true rates were equal; NaN for tasks that were learned from.
    denoised : array, shape (k,)
        A point estimate for the true rates; NaN where the noise cannot be told.
    cap : array, shape (k,)
        An upper bound for the true rates; infinite at beta 0, NaN where it cannot be told.
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
        """Return the row of a beta that is in the table."""
        place = int(np.argmin(np.abs(self.beta - beta)))
        if abs(self.beta[place] - beta) > ROUNDING:
            raise InputError(
                f"beta={beta!r} is not in the table; there are "
                f"{', '.join(f'{one:g}' for one in self.beta)}. Ask the audit for it (beta=...)."
            )
        return {name: float(getattr(self, name)[place]) for name in self.__dataclass_fields__}

    def __str__(self) -> str:
        columns = self.to_dict()
        rows = zip(
            *([figure(value, 4) for value in part] for part in columns.values()), strict=True
        )
        return table([name.replace("_", " ") for name in columns], rows)

    __repr__ = __str__


def curve(
    rates: FloatArray,
    draws: FloatArray | None,
    shrunk: FloatArray,
    spread: Spread,
    betas: FloatArray,
) -> Curve:
    """Return the curve at these betas.

    Parameters
    ----------
    rates : array, shape (n,)
        Individual rates.
    draws : array, shape (n, draws), or None
        Deviations from the mean if chance were all; None for tasks that were learned from.
    shrunk : array, shape (k,)
        Deviations with the noise taken off; empty where it cannot be told.
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
        cap=np.array([_cap(spread.upper, beta) for beta in betas]),
    )


def _cap(upper: float, beta: float) -> float:
    """Return Chebyshev's bound sigma_U / sqrt(beta); none where nobody may be left out."""
    if np.isnan(upper):
        return nan
    return upper / sqrt(beta) if beta > 0 else inf


def _half_widths(samples: FloatArray, betas: FloatArray) -> FloatArray:
    """Return alpha(beta) of each sample, shape (samples, betas)."""
    ordered = (np.sort(sample) for sample in samples)
    return np.array([[abs(narrowest(one, beta).width) / 2 for beta in betas] for one in ordered])
