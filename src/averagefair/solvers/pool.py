"""The pool: every distinct play found so far, as the rows of growing arrays."""

from __future__ import annotations

import numpy as np

from averagefair.constraints import Constraints
from averagefair.learner import Play
from averagefair.protocols import Hypothesis
from averagefair.sample import FloatArray


class Pool:
    """Plays as columns of the game: error, rates, common rates and the weights they answered.

    Parameters
    ----------
    constraints : Constraints

    Attributes
    ----------
    hypotheses, weights : list
        Of each play: its classifiers, and the weights they answered.
    """

    def __init__(self, constraints: Constraints) -> None:
        self.constraints, size = constraints, len(constraints)
        self.hypotheses: list[Hypothesis] = []
        self.weights: list[FloatArray] = []
        self._errors = np.empty(16)
        self._common_rates = np.empty((16, constraints.rate_count))
        self._rates = np.empty((16, size))

    def __len__(self) -> int:
        return len(self.hypotheses)

    def __getitem__(self, row: int) -> Play:
        if not 0 <= row < len(self):
            raise IndexError(f"row must lie in [0, {len(self)}); got {row}.")
        return Play(
            float(self._errors[row]),
            self._rates[row],
            self._common_rates[row],
            self.weights[row],
            self.hypotheses[row],
        )

    @property
    def errors(self) -> FloatArray:
        """Shape (k,)."""
        return self._errors[: len(self)]

    @property
    def common_rates(self) -> FloatArray:
        """Shape (k, rates)."""
        return self._common_rates[: len(self)]

    @property
    def rates(self) -> FloatArray:
        """Shape (k, N)."""
        return self._rates[: len(self)]

    def add(self, play: Play) -> int:
        """Take a play in and return its row."""
        row = len(self)
        if row == len(self._errors):
            for name in ("_errors", "_common_rates", "_rates"):
                old = getattr(self, name)
                grown = np.empty((2 * row, *old.shape[1:]))
                grown[:row] = old
                setattr(self, name, grown)
        self._errors[row] = play.error
        self._common_rates[row] = play.common_rates
        self._rates[row] = play.rates
        self.weights.append(play.weights)
        self.hypotheses.append(play.hypothesis)
        return row

    def values(self, weights: FloatArray) -> FloatArray:
        """Return each play's Lagrangian at these weights, less the constant slack term; (k,)."""
        values = self.errors + self.rates @ weights
        return np.asarray(values - self.common_rates @ self.constraints.add_up(weights))
