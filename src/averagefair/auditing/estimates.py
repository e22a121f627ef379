"""An estimate: a number with its confidence interval."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt
from typing import Any

from scipy.special import stdtrit


@dataclass(frozen=True)
class Estimate:
    """A number, its confidence interval, and the variance behind the interval.

    Attributes
    ----------
    value : float
        NaN if there is no estimate.
    low, high : float
        NaN if there is no interval.
    people_variance, tasks_variance : float
        The parts of the variance due to sampling people and to sampling tasks.
    """

    value: float
    low: float
    high: float
    people_variance: float
    tasks_variance: float

    @property
    def variance(self) -> float:
        """The variance of the estimate, from people and tasks together."""
        return self.people_variance + self.tasks_variance

    def to_dict(self) -> dict[str, Any]:
        """Return the number, its interval and the two parts of its variance."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "people_variance": self.people_variance,
            "tasks_variance": self.tasks_variance,
        }

    def __str__(self) -> str:
        return f"{self.value:.4f} ({self.low:.4f} to {self.high:.4f})"


UNKNOWN = Estimate(nan, nan, nan, nan, nan)


def student(probability: float, units: int) -> float:
    """Return the quantile of Student's t with units - 1 degrees of freedom; NaN for one unit.

    Examples
    --------
    >>> round(student(0.975, 50), 3)
    2.01
    """
    return float(stdtrit(units - 1, probability)) if units >= 2 else nan


def with_interval(
    value: float, people: float, tasks: float, units: int, confidence: float
) -> Estimate:
    """Return value +- t sqrt(people + tasks), where t has units - 1 degrees of freedom."""
    half = student(0.5 + confidence / 2, units) * sqrt(max(0.0, people + tasks))
    return Estimate(value, value - half, value + half, people, tasks)
