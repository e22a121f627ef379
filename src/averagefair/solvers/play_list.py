"""The plays (answers of the Learner) of a run that mixes whole plays, as rows of growing arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair.game.constraints import Constraints
from averagefair.game.learner import Play
from averagefair.game.protocols import Hypothesis
from averagefair.people.backends import Space


class PlayList:
    """The plays: their errors, rates and common rates, and the weights that they answer.

    Parameters
    ----------
    constraints : Constraints

    Attributes
    ----------
    hypotheses, weights : list
        The classifiers of each play, and the weights that they answer.
    """

    def __init__(self, constraints: Constraints) -> None:
        self.constraints = constraints
        self.hypotheses: list[Hypothesis] = []
        self.weights: list[Any] = []
        self._errors = np.empty(16)
        self._common_rates = np.empty((16, constraints.rate_count))
        self._rates = self._allocate(16)

    def __len__(self) -> int:
        return len(self.hypotheses)

    def __getitem__(self, row: int) -> Play:
        if not 0 <= row < len(self):
            raise IndexError(f"row must lie in [0, {len(self)}); got {row}.")
        return Play(
            float(self._errors[row]),
            self._rates[row, :],
            self._common_rates[row],
            self.weights[row],
            self.hypotheses[row],
        )

    @property
    def errors(self) -> FloatArray:
        """The error of each play, shape (k,)."""
        return self._errors[: len(self)]

    @property
    def common_rates(self) -> FloatArray:
        """The common rates of each play, shape (k, rates)."""
        return self._common_rates[: len(self)]

    @property
    def rates(self) -> Any:
        """Everybody's rates under each play, shape (k, N), in the constraints' space."""
        return self._rates[: len(self), :]

    def costs(self, weights: Any) -> FloatArray:
        """Return err + w . R of each play, shape (k,)."""
        return np.asarray(self.errors + self._space.to_host(self.rates @ weights))

    def add(self, play: Play) -> int:
        """Add a play and return its row."""
        row = len(self)
        if row == len(self._errors):
            for name in ("_errors", "_common_rates"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.empty_like(old)]))
            grown = self._allocate(2 * row)
            grown[:row, :] = self._rates
            self._rates = grown
        self._errors[row] = play.error
        self._common_rates[row] = play.common_rates
        self._rates[row, :] = play.rates
        self.weights.append(play.weights)
        self.hypotheses.append(play.hypothesis)
        return row

    def values(self, weights: Any, common_weights: Any | None) -> FloatArray:
        """Return each play's Lagrangian at these weights, without constant terms; shape (k,).

        ``common_weights`` are the weights that gamma is subtracted at; None without a common rate.
        """
        if common_weights is None:
            return self.costs(weights)
        return self.costs(weights) - self.common_rates @ self.constraints.add_up(common_weights)

    @property
    def _space(self) -> Space:
        return self.constraints.space

    def _allocate(self, rows: int) -> Any:
        size = len(self.constraints)
        with self._space.guarded(f"{rows} plays of {size:,} people", 8 * rows * size):
            return self._space.xp.empty(
                (rows, size), dtype=self._space.xp.float64, device=self._space.device
            )
