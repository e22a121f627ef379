"""Bounds on the share of the population outside alpha, with few assumptions.

People are outside alpha if their rate is more than alpha from the common rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

from averagefair.auditing.intervals import Interval
from averagefair.game.windows import outside_at_least_and_most


@dataclass(frozen=True)
class Bounds:
    """Lower and upper bounds on the share of the population outside alpha.

    The bounds hold with the audit's confidence for the population of people and tasks. They assume
    that people and tasks were drawn independently, and that blanks are unrelated to mistakes. With
    fewer than about a hundred tasks, the bounds say almost nothing.

    Attributes
    ----------
    alpha : float
    beta_low, beta_high : float
        Bounds on the share of people outside alpha, clipped to [0, 1].
    """

    alpha: float
    beta_low: float
    beta_high: float

    @property
    def vacuous(self) -> bool:
        """Whether the bounds say almost nothing."""
        return self.beta_low <= 0.01 and self.beta_high >= 0.99

    def statement(self) -> str:
        """Return the bounds in plain words."""
        if self.vacuous:
            return (
                f"No bounds at alpha {self.alpha:g}: bounds with so few assumptions need "
                "about a hundred tasks or more."
            )
        return (
            f"Certified at alpha {self.alpha:g}: between {self.beta_low:.3f} and "
            f"{self.beta_high:.3f} of the population is more than alpha from a common rate."
        )


def bounds(alpha: float, intervals: Interval, kappa: float, delta: float) -> Bounds:
    """Return the bounds from individual intervals at level kappa delta / 2.

    beta_high = 1 - max_gamma #{CI_i inside [gamma +- alpha]} / n + kappa + 2 eps,
    beta_low  = 1 - max_gamma #{CI_i meets [gamma +- alpha]} / n - kappa - 2 eps,
    eps = sqrt(ln(4 / delta) / (2 n)).
    """
    least, most = outside_at_least_and_most(*intervals, alpha)
    margin = kappa + 2.0 * sqrt(log(4.0 / delta) / (2 * intervals[0].size))
    return Bounds(alpha, max(0.0, least - margin), min(1.0, most + margin))
