"""The certificate: what share of the population lies outside alpha, under hardly any assumption."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

from averagefair.auditing.intervals import Interval
from averagefair.windows import outside_at_least_and_most


@dataclass(frozen=True)
class Bounds:
    """A certificate: how many of the population lie outside alpha, at least and at most.

    Holds with the audit's confidence for the population that people and tasks were drawn from,
    if those were drawn independently and cells are blank for no reason that has to do with being
    decided wrongly; nothing else is assumed. Nearly vacuous below about a hundred tasks.

    Attributes
    ----------
    alpha : float
    beta_low, beta_high : float
        Bounds on the share outside, cut off at 0 and 1.
    """

    alpha: float
    beta_low: float
    beta_high: float

    @property
    def vacuous(self) -> bool:
        """Whether they say next to nothing."""
        return self.beta_low <= 0.01 and self.beta_high >= 0.99

    def statement(self) -> str:
        """Say it in plain words."""
        if self.vacuous:
            return (
                f"Nothing is certified at alpha {self.alpha:g}: the tasks are too few for bounds "
                "that assume nothing (they need about a hundred or more)."
            )
        return (
            f"Certified at alpha {self.alpha:g}: between {self.beta_low:.3f} and "
            f"{self.beta_high:.3f} of the population lie outside."
        )


def bounds(alpha: float, each: Interval, kappa: float, delta: float) -> Bounds:
    """Return the certificate from intervals of level kappa delta / 2 for each person.

    beta_high = 1 - max_gamma #{CI_i inside [gamma +- alpha]} / n + kappa + 2 eps,
    beta_low  = 1 - max_gamma #{CI_i meets [gamma +- alpha]} / n - kappa - 2 eps,
    eps = sqrt(ln(4 / delta) / (2 n)).
    """
    least, most = outside_at_least_and_most(*each, alpha)
    margin = kappa + 2.0 * sqrt(log(4.0 / delta) / (2 * each[0].size))
    return Bounds(alpha, max(0.0, least - margin), min(1.0, most + margin))
