"""The evidence: the cells that an audit read, and their counts, kept for comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair.auditing.intervals import Counts
from averagefair.auditing.losses import Losses
from averagefair.auditing.tally import Tally


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """The data from which an audit computed its results.

    Attributes
    ----------
    losses : Losses
        The cells, people x tasks.
    tally : Tally
        The counts by person and by task.
    task_means : array, shape (units,)
        zbar_j of :class:`~averagefair.auditing.chance.Centered`; empty for learned tasks (the
        model's training tasks).
    """

    losses: Losses
    tally: Tally
    task_means: FloatArray

    @property
    def in_families(self) -> bool:
        """Whether tasks were given in families."""
        return self.losses.families is not None

    @cached_property
    def sorted_rates(self) -> FloatArray:
        """All defined rates, ascending."""
        return np.sort(self.tally.rates[self.tally.rated])

    def counts(self) -> Counts:
        """Return the counts that intervals are computed from, for the people who have a rate."""
        tally, rated = self.tally, self.tally.rated
        wrong, counted = tally.wrong[rated], tally.counted[rated]
        if (tally.largest <= 1).all():
            return Counts(wrong, counted, self.losses.binary)
        shared = tally.largest[rated], tally.shared[rated]
        return Counts(wrong, counted, self.losses.binary, *shared)
