"""The records of one table and oracle, arranged by promise, setting and split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.promises.compare import Comparison, compare
from benchmarks.promises.fits import EQUAL, ORACLES, SETTINGS
from benchmarks.promises.tables import TABLES

FloatArray = NDArray[np.float64]
WEAKEST_FIRST = {
    promise: sorted(own, reverse=promise == EQUAL) for promise, own in SETTINGS.items()
}
"""Each promise's settings, from the one that asks for least. A smaller alpha asks for more."""


class Panel:
    """The results on one table with one oracle.

    Parameters
    ----------
    table, oracle : str
    records : sequence of dict
        Of this table and oracle.
    """

    def __init__(self, table: str, oracle: str, records: Sequence[dict[str, Any]]) -> None:
        self.table, self.oracle, self.records = table, oracle, records
        self._found = {
            (record["promise"], record["setting"], record["seed"]): record for record in records
        }
        self.seeds = sorted({record["seed"] for record in records})

    def settings(self, promise: str) -> list[float]:
        """Return the settings that have been fitted on at least one split, weakest first."""
        return [setting for setting in WEAKEST_FIRST[promise] if self.splits(promise, setting)]

    def splits(self, promise: str, setting: float) -> list[int]:
        """Return the seeds of the splits where this request was fitted."""
        keys = ((promise, setting, seed) for seed in self.seeds)
        return [key[2] for key in keys if "change" in self._found.get(key, {})]

    def refused(self, promise: str, setting: float) -> int:
        """Return in how many splits the request was impossible."""
        keys = ((promise, setting, seed) for seed in self.seeds)
        return sum("refused" in self._found.get(key, {}) for key in keys)

    def changes(
        self, promise: str, setting: float, corner: str, name: str, seeds: Sequence[int] = ()
    ) -> FloatArray:
        """Return a change in each split, in points; by default in all splits of the request."""
        seeds = seeds or self.splits(promise, setting)
        found = (self._found[promise, setting, seed]["change"] for seed in seeds)
        return np.array([100 * change[corner][name] for change in found])

    def unconstrained(self, corner: str, name: str) -> FloatArray:
        """Return a figure without a promise in each split, in percent."""
        first = {record["seed"]: record["unconstrained"] for record in self.records}
        return np.array([100 * first[seed][corner][name] for seed in self.seeds])

    def against_equal(
        self, promise: str, setting: float, corner: str, measure: str
    ) -> Comparison | None:
        """Compare a request with equal rates at equal gain; None without a common split.

        ``measure`` is the gain's: "drawn_worst_off" or "worst_off".
        """
        equal = self.settings(EQUAL)
        common = set(self.splits(promise, setting))
        for alpha in equal:
            common &= set(self.splits(EQUAL, alpha))
        seeds = sorted(common)
        if not equal or not seeds:
            return None

        def cost_and_gain(promise: str, setting: float) -> list[FloatArray]:
            cost, rise = (
                self.changes(promise, setting, corner, name, seeds) for name in ("error", measure)
            )
            return [cost, -rise]

        costs, gains = zip(*(cost_and_gain(EQUAL, alpha) for alpha in equal), strict=True)
        own = cost_and_gain(promise, setting)
        return compare(*own, np.column_stack(costs), np.column_stack(gains))


def panels(records: Sequence[dict[str, Any]]) -> list[Panel]:
    """Return a panel for each table and oracle that has records, in the order of the tables."""
    found = []
    for table in TABLES:
        for oracle in ORACLES:
            own = [one for one in records if (one["table"], one["oracle"]) == (table, oracle)]
            if own:
                found.append(Panel(table, oracle, own))
    return found
