"""Words for numbers."""

from __future__ import annotations

import numpy as np

from averagefair.experiments.figures import UNCONSTRAINED
from averagefair.experiments.findings import interval
from averagefair.experiments.tidy import Column, Table
from averagefair.text import exactly, figure


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


def between(values: Column) -> str:
    """Say between which numbers some lie."""
    return f"{figure(float(np.min(values)), 3)} to {figure(float(np.max(values)), 3)}"


def span(values: Column, digits: int = 0) -> str:
    """Say from where to where numbers go; one number where they are the same."""
    low, high = (f"{float(end):,.{digits}f}" for end in (np.min(values), np.max(values)))
    return low if low == high else f"{low} to {high}"


def mean_text(values: Column) -> str:
    """Write a mean with half its interval."""
    found = interval(values)
    half = "" if np.isnan(found.low) else f" ± {found.value - found.low:.4f}"
    return f"{found.value:.4f}{half}"
