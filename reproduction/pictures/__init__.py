"""The experiments as figures, drawn from the tables alone (matplotlib, the extra ``plots``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from averagefair.experiments.tidy import ResultTable
from reproduction.pictures.held_out import corrected, noise, random_splits
from reproduction.pictures.panels import Picture
from reproduction.pictures.paper import convergence, error_spread, generalisation
from reproduction.pictures.sweeps import coin_bias, compared, growth

__all__ = ["Picture", "pictures"]

OF_A_RATE: dict[str, tuple[str, Callable[[ResultTable, str], Picture]]] = {
    "convergence": ("trajectories", convergence),
    "error_spread": ("error_spread", error_spread),
    "generalisation": ("generalisation", generalisation),
    "noise": ("generalisation", noise),
    "corrected": ("generalisation", corrected),
}
"""The figures that are drawn once for each rate: the table, and the function that draws it."""

OF_A_TABLE: dict[str, Callable[[ResultTable], Picture]] = {
    "random_splits": random_splits,
    "random_splits_compared": compared,
    "coin_bias": coin_bias,
    "coin_bias_compared": compared,
}
"""The figures that are drawn once, from the table of that name."""


def pictures(tables: Mapping[str, ResultTable]) -> dict[str, Picture]:
    """Draw everything that can be drawn from these tables.

    Parameters
    ----------
    tables : mapping of str to ResultTable
        From :func:`reproduction.plan.gather`; any of them can be absent or empty.

    Returns
    -------
    dict of str to Picture
        By the name of a file without its ending: "convergence_error", "growth", ...

    Examples
    --------
    >>> from averagefair.datasets import make_synthetic
    >>> from averagefair.experiments import trajectories
    >>> found = trajectories(make_synthetic(n=40, m=10), [0.1], rounds=50)
    >>> drawn = pictures({"trajectories": found})
    >>> list(drawn), len(drawn["convergence_error"].figure.axes)
    (['convergence_error'], 2)
    """
    drawn = {}
    for name, (source, draw) in OF_A_RATE.items():
        if source in tables:
            for rate in tables[source].distinct("rate"):
                drawn[f"{name}_{rate}"] = draw(tables[source], rate)
    for name, draw_table in OF_A_TABLE.items():
        if name in tables and len(tables[name]):
            drawn[name] = draw_table(tables[name])
    if "growth" in tables and "exponents" in tables:
        drawn["growth"] = growth(tables["growth"], tables["exponents"])
    return drawn
