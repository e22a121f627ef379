"""What an audit found."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.auditing.answer import Answer
from averagefair.auditing.bounds import Bounds, bounds
from averagefair.auditing.chance import ChanceTest
from averagefair.auditing.curve import Curve
from averagefair.auditing.estimates import Estimate
from averagefair.auditing.exchangeability import Exchangeability
from averagefair.auditing.groups import Groups
from averagefair.auditing.learned import REMEDY, WHY
from averagefair.auditing.losses import Losses
from averagefair.auditing.people import People, evidence
from averagefair.auditing.spread import Spread
from averagefair.auditing.tally import Tally
from averagefair.auditing.tasks import Tasks
from averagefair.auditing.words import summary
from averagefair.checks import number_below, positive_number, whole_number
from averagefair.errors import InputError, extra
from averagefair.sample import FloatArray
from averagefair.text import plain
from averagefair.windows import Window, fullest, narrowest

TABLES = ("people", "tasks", "curve", "groups")


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """What an audit found. ``print`` it, or take the tables.

    Attributes
    ----------
    rate : str
        Which mistakes count.
    n, m : int
        People and tasks in the tables given.
    confidence : float
    mean : Estimate
        The mean individual rate, with an interval over people and tasks; over people alone for
        tasks that were learned from, where it holds for people who were not learned from.
    chance : ChanceTest
        Whether differences between people are more than chance.
    spread : Spread
        How far apart true rates are: ``sigma2`` with its interval, ``sigma``, ``upper`` (one-sided
        bound), ``reliability``, ``tasks_needed()``.
    curve : Curve
        alpha(beta), the noise floor, the de-noised curve and Chebyshev's cap.
    answer : Answer or None
        Whether the requested alpha and beta are met; None where no alpha was requested.
    people : People
        Everybody's rate, interval, rank and flag.
    tasks : Tasks
        Every task's rate and influence on the spread.
    groups : tuple of Groups
        A view by each attribute given.
    exchangeability : Exchangeability
        Cochran's Q, an extra: exchangeability within tasks is not equality of rates.
    common_rate : float
        What flags, sentences and pictures measure from: the centre of the window of width 2 alpha
        that holds the most people; the mean rate where no alpha was requested. An estimate.
    learned_tasks : bool
        Whether the tasks were learned from. Then everything is as observed on these tasks, and
        what would speak of true rates is absent: None or NaN.
    notes : tuple of str
        What could not be told and why, and what to mind.
    seed : int
        Where the random signs came from.
    """

    rate: str
    n: int
    m: int
    confidence: float
    mean: Estimate
    chance: ChanceTest
    spread: Spread
    curve: Curve
    answer: Answer | None
    people: People
    tasks: Tasks
    groups: tuple[Groups, ...]
    exchangeability: Exchangeability
    common_rate: float
    learned_tasks: bool
    notes: tuple[str, ...]
    seed: int
    _losses: Losses = field(repr=False)
    _tally: Tally = field(repr=False)
    _task_means: FloatArray = field(repr=False)

    @cached_property
    def _ordered(self) -> FloatArray:
        """The rates of those who have one, ascending."""
        return np.sort(self._tally.rates[self._tally.rated])

    @property
    def range(self) -> Window:
        """The smallest and the largest individual rate, noise and all."""
        return narrowest(self._ordered, 0.0)

    def window_at(self, beta: float) -> Window:
        """Return the narrowest window that holds all but a share beta of the rates observed.

        Parameters
        ----------
        beta : float in [0, 1)
            The share of the people left out.
        """
        return narrowest(self._ordered, number_below("beta", beta, 1.0))

    def alpha_at(self, beta: float) -> float:
        """Return alpha(beta) as observed: half the width of ``window_at(beta)``.

        Parameters
        ----------
        beta : float in [0, 1)
            The share of the people left out.
        """
        return 0.5 * self.window_at(beta).width

    def beta_at(self, alpha: float) -> float:
        """Return the share of the rates observed outside the fullest window of width 2 alpha.

        Parameters
        ----------
        alpha : float
            Half the width of the window.
        """
        return fullest(self._ordered, 2.0 * number_below("alpha", alpha, np.inf))[1]

    def worst_off(self, count: int = 5) -> list[dict[str, Any]]:
        """Return the rows of those with the highest rates, the worst first.

        Of equal rates, first the one that more tasks stand behind.

        Parameters
        ----------
        count : int, default 5
            How many people.
        """
        count = whole_number("count", count, least=0)
        return self.people.rows(self._by_rate()[::-1][:count])

    def best_off(self, count: int = 5) -> list[dict[str, Any]]:
        """Return the rows of those with the lowest rates, the best first.

        Of equal rates, first the one that more tasks stand behind.

        Parameters
        ----------
        count : int, default 5
            How many people.
        """
        count = whole_number("count", count, least=0)
        people = self.people
        order = np.lexsort((-people.tasks, people.high, people.rate))
        return people.rows(order[: self._ordered.size][:count])

    def _by_rate(self) -> NDArray[np.intp]:
        """Return who has a rate, from best off to worst off."""
        order = np.lexsort((self.people.tasks, self.people.low, self.people.rate))
        return order[: self._ordered.size]

    def certificate(self, alpha: float | None = None, *, kappa: float = 0.01) -> Bounds:
        """Return bounds on the share of the population outside alpha that assume next to nothing.

        Parameters
        ----------
        alpha : float, optional
            Default: the alpha requested of the audit.
        kappa : float in (0, 1], default 0.01
            The share of people whose interval may miss.
        """
        if alpha is None and self.answer is None:
            raise InputError("no alpha was requested of this audit: give certificate(alpha=...).")
        alpha = self.answer.alpha if alpha is None and self.answer else alpha
        alpha = number_below("alpha", alpha, np.inf)
        positive_number("kappa", kappa, 1.0)
        if self.learned_tasks:
            raise InputError(f"there is no certificate on these tasks. {WHY} {REMEDY}")
        if not self._ordered.size:
            return Bounds(alpha, 0.0, 1.0)
        delta = 1.0 - self.confidence
        each = evidence(self._losses, self._tally).exact(kappa * delta / 2)
        return bounds(alpha, each, kappa, delta)

    def plot(self) -> Any:
        """Draw the audit: rates with intervals, the curve with its floor, the test (matplotlib).

        The figure is pyplot's: a notebook shows it, ``pyplot.show()`` opens it, and
        ``pyplot.close()`` frees it.

        Returns
        -------
        Panels
            ``savefig(file)`` writes the figure; ``figure`` and ``axes`` are matplotlib's. To draw
            one panel alone: :func:`~averagefair.auditing.figures.draw_rates`, ``draw_curve``,
            ``draw_chance``.
        """
        from averagefair.auditing.figures import draw_audit

        return draw_audit(self)

    def summary(self) -> str:
        """Return what was found in plain words."""
        return summary(self)

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__

    def to_frame(self, table: str = "people") -> Any:
        """Return a table as a pandas DataFrame (pandas must be installed).

        Parameters
        ----------
        table : {"people", "tasks", "curve", "groups"}, default "people"
            People and tasks are indexed by name.
        """
        pd = extra("pandas", "pandas")

        if table not in TABLES:
            raise InputError(f"`table` must be one of {', '.join(TABLES)}; got {table!r}.")
        if table == "curve":
            return pd.DataFrame(self.curve.to_dict())
        if table != "groups":
            return pd.DataFrame(getattr(self, table).to_dict()).set_index("name")
        parts = [pd.DataFrame(view.to_dict()) for view in self.groups]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain numbers, lists and words; what is unknown is None."""
        test, apart = self.chance, self.spread
        out: dict[str, Any] = plain(
            {
                "rate": self.rate,
                "n": self.n,
                "m": self.m,
                "confidence": self.confidence,
                "mean": self.mean.to_dict(),
                "range": self.range._asdict(),
                "chance": {"p": test.p, "statistic": test.statistic, "smallest": test.smallest},
                "spread": {
                    "sigma2": apart.sigma2.to_dict(),
                    "sigma": apart.sigma,
                    "sd": apart.sd,
                    "upper": apart.upper,
                    "reliability": apart.reliability,
                    "tasks_needed": apart.tasks_needed(),
                },
                "common_rate": self.common_rate,
                "learned_tasks": self.learned_tasks,
                "curve": self.curve.to_dict(),
                "answer": self.answer and self.answer.to_dict(),
                "people": self.people.to_dict(),
                "tasks": self.tasks.to_dict(),
                "groups": [view.to_dict() for view in self.groups],
                "exchangeability": asdict(self.exchangeability),
                "notes": list(self.notes),
            }
        )
        return out
