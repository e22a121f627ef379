"""Words for numbers."""

from __future__ import annotations

import numpy as np

from averagefair.experiments.figures import UNCONSTRAINED
from averagefair.experiments.findings import interval
from averagefair.experiments.tidy import Column, Table
from averagefair.text import exactly, percent

SAME = 5e-4


def alpha_or_none(alpha: float) -> str:
    """Write an alpha; "none" where nothing was asked for."""
    return "none" if alpha >= UNCONSTRAINED else exactly(alpha)


def asked_for(measured: Table) -> list[float]:
    """Return the alphas that ask for something, ascending."""
    return [alpha for alpha in sorted(measured.distinct("alpha")) if alpha < UNCONSTRAINED]


def shown_alpha(measured: Table) -> float:
    """Return 0.1 where that was asked for, else the middle alpha."""
    asked = asked_for(measured)
    return 0.1 if 0.1 in asked else asked[len(asked) // 2]


def out_of(true: Column) -> str:
    """Say how many of some are true."""
    return f"{int(np.count_nonzero(true))} of {len(true)}"


def differences(lower: Column) -> str:
    """Say where something is lower, where higher, and by how much.

    Parameters
    ----------
    lower : array
        By how much it is lower; below 0 where it is higher.

    Examples
    --------
    >>> differences(np.array([0.1, 0.02, -0.01, 0.0]))
    'lower at 2 of 4 (by 0.020 to 0.100), higher at 1 (by 0.010), the same at 1'
    >>> differences(np.array([0.5, 0.5]))
    'lower at 2 of 2 (by 0.500)'
    """
    count = [f" of {len(lower)}"]

    def told(word: str, here: Column, by: Column) -> list[str]:
        if not here.any():
            return []
        total = count.pop() if count else ""
        amount = f" (by {span(by[here], 3)})" if by.size else ""
        return [f"{word} at {np.count_nonzero(here)}{total}{amount}"]

    # Less than what is written out is no difference.
    below, above = lower > SAME, lower < -SAME
    parts = [*told("lower", below, lower), *told("higher", above, -lower)]
    parts += told("the same", ~(below | above), np.empty(0))
    return ", ".join(parts)


def span(values: Column, digits: int = 0) -> str:
    """Say from where to where numbers go; one number where they are the same."""
    low, high = (f"{float(end) + 0.0:,.{digits}f}" for end in (np.min(values), np.max(values)))
    return low if low == high else f"{low} to {high}"


def share_span(values: Column) -> str:
    """Say from where to where shares go, in a hundred."""
    low, high = (percent(round(float(end), 2)) for end in (np.min(values), np.max(values)))
    return low if low == high else f"{low} to {high}"


def mean_text(values: Column) -> str:
    """Write a mean with half its interval."""
    found = interval(values)
    half = "" if np.isnan(found.low) else f" ± {found.value - found.low:.4f}"
    return f"{found.value:.4f}{half}"
