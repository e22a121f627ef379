"""The result of an audit."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from averagefair._util.checks import number_below, positive_number, whole_number
from averagefair._util.text import plain
from averagefair.auditing.assessment import Assessment
from averagefair.auditing.bounds import Bounds, bounds
from averagefair.auditing.chance import ChanceTest
from averagefair.auditing.curve import Curve
from averagefair.auditing.dispersion import Dispersion
from averagefair.auditing.estimates import Estimate
from averagefair.auditing.evidence import Evidence
from averagefair.auditing.exchangeability import Exchangeability
from averagefair.auditing.exposure import EqualExposure
from averagefair.auditing.groups import Groups
from averagefair.auditing.learned import REMEDY, WHY
from averagefair.auditing.person_table import PersonTable
from averagefair.auditing.rules import Rules, find_rules
from averagefair.auditing.systemic import Systemic
from averagefair.auditing.task_table import TaskTable
from averagefair.auditing.words import summary
from averagefair.errors import InputError, extra
from averagefair.game.windows import Window, fullest, narrowest

TABLES = ("people", "tasks", "curve", "groups")


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """The result of an audit. ``print`` it, or use its tables.

    Attributes
    ----------
    rate : str
        Which mistakes count.
    n, m : int
        The numbers of people and tasks.
    confidence : float
    mean : Estimate
        The mean individual rate, with an interval over people and tasks. For learned tasks (tasks
        that the model was trained on) the interval is over people alone. It then holds for people
        outside the training data.
    chance : ChanceTest
        Whether differences between people are more than chance.
    dispersion : Dispersion
        The variance of true rates: ``sigma2`` with its interval, ``sigma``, ``upper`` (one-sided
        bound), ``reliability``, ``tasks_needed()``.
    curve : Curve
        alpha(beta), the noise floor, the de-noised curve and Chebyshev's cap.
    assessment : Assessment or None
        Whether the requested alpha and beta are met; None if no alpha was requested.
    people : PersonTable
        Each person's rate, interval, rank and flag.
    tasks : TaskTable
        Each task's rate and influence on ``dispersion.sigma2``.
    groups : tuple of Groups
        One view for each attribute given.
    equal_exposure : EqualExposure or None
        The view with the difficulty of each person's tasks taken off. None where everybody met the
        same tasks, where it cannot be estimated (``notes`` say why), and for learned tasks.
    systemic : Systemic
        How many people were decided wrongly on many of their tasks, or on all.
    exchangeability : Exchangeability
        Cochran's Q, an additional test: equal rates do not imply exchangeability within tasks.
    common_rate : float
        The reference rate of the flags, the summary and the plots. With alpha: the centre of the
        window of width 2 alpha that holds the most people. Without alpha: the mean rate. Either is
        an estimate.
    learned_tasks : bool
        Whether a model was trained on these tasks. If so, all figures are as observed on these
        tasks, and all estimates for true rates are None or NaN.
    notes : tuple of str
        What is undefined and why, and caveats.
    seed : int
        The seed of the random signs.
    evidence : Evidence
        The cells and counts behind these results; ``compare`` and ``drift`` use them.
    """

    rate: str
    n: int
    m: int
    confidence: float
    mean: Estimate
    chance: ChanceTest
    dispersion: Dispersion
    curve: Curve
    assessment: Assessment | None
    people: PersonTable
    tasks: TaskTable
    groups: tuple[Groups, ...]
    equal_exposure: EqualExposure | None
    systemic: Systemic
    exchangeability: Exchangeability
    common_rate: float
    learned_tasks: bool
    notes: tuple[str, ...]
    seed: int
    evidence: Evidence = field(repr=False)

    @property
    def range(self) -> Window:
        """The smallest and the largest observed rate, noise included."""
        return narrowest(self.evidence.sorted_rates, 0.0)

    def window_at(self, beta: float) -> Window:
        """Return the narrowest window that holds all but a share beta of the observed rates.

        Parameters
        ----------
        beta : float in [0, 1)
            The share of the people left out.
        """
        return narrowest(self.evidence.sorted_rates, number_below("beta", beta, 1.0))

    def alpha_at(self, beta: float) -> float:
        """Return alpha(beta) of the observed rates: half the width of ``window_at(beta)``.

        Parameters
        ----------
        beta : float in [0, 1)
            The share of the people left out.
        """
        return 0.5 * self.window_at(beta).width

    def beta_at(self, alpha: float) -> float:
        """Return the share of observed rates outside the fullest window of width 2 alpha.

        Parameters
        ----------
        alpha : float
            Half the width of the window.
        """
        return fullest(self.evidence.sorted_rates, 2.0 * number_below("alpha", alpha, np.inf))[1]

    def worst_off(self, count: int = 5) -> list[dict[str, Any]]:
        """Return the people with the highest rates, the highest first.

        Among equal rates, a higher ``low`` comes first, then more tasks.

        Parameters
        ----------
        count : int, default 5
            How many people.
        """
        count = whole_number("count", count, least=0)
        return self.people.rows(self.people.worst_first()[:count])

    def best_off(self, count: int = 5) -> list[dict[str, Any]]:
        """Return the people with the lowest rates, the lowest first.

        Among equal rates, a lower ``high`` comes first, then more tasks.

        Parameters
        ----------
        count : int, default 5
            How many people.
        """
        count = whole_number("count", count, least=0)
        return self.people.rows(self.people.best_first()[:count])

    def who(self, features: Any, *, random_state: int = 0) -> Rules:
        """Return rules on features that describe people with high rates, each confirmed.

        A rule is found on half of the people and tasks, and confirmed on the others. If features
        say nothing about true rates, a false rule is reported at most 1 - confidence of the time.

        Parameters
        ----------
        features : DataFrame of any library or array, shape (n, d)
            Numbers and words about these people, in the same order; tables are aligned by index.
        random_state : int, default 0
            Seeds the split into halves.
        """
        return find_rules(self, features, random_state)

    def bounds(self, alpha: float | None = None, *, kappa: float = 0.01) -> Bounds:
        """Return bounds on the share of people more than alpha from a common rate.

        The bounds are for the whole population, and need few assumptions.

        Parameters
        ----------
        alpha : float, optional
            Default: the alpha that the audit was called with.
        kappa : float in (0, 1], default 0.01
            The share of people whose interval may miss their true rate.
        """
        if alpha is None and self.assessment is None:
            raise InputError("this audit has no alpha: call bounds(alpha=...).")
        alpha = self.assessment.alpha if alpha is None and self.assessment else alpha
        alpha = number_below("alpha", alpha, np.inf)
        positive_number("kappa", kappa, 1.0)
        if self.learned_tasks:
            raise InputError(f"there are no bounds for learned tasks. {WHY} {REMEDY}")
        if not self.evidence.sorted_rates.size:
            return Bounds(alpha, 0.0, 1.0)
        delta = 1.0 - self.confidence
        intervals = self.evidence.counts().exact(kappa * delta / 2)
        return bounds(alpha, intervals, kappa, delta)

    def plot(self) -> Any:
        """Draw the rates with intervals, the curve with its floor, and the test (matplotlib).

        The figure belongs to pyplot: a notebook shows it, ``pyplot.show()`` opens it, and
        ``pyplot.close()`` frees it.

        Returns
        -------
        Panels
            ``savefig(file)`` writes the figure; ``figure`` and ``axes`` are matplotlib's. To draw
            one panel alone: :func:`~averagefair.showing.plots.audit.draw_rates`, ``draw_curve``,
            ``draw_chance``.
        """
        from averagefair.showing.plots.audit import draw_audit

        return draw_audit(self)

    def to_html(self, path: str | Path, **options: Any) -> Path:
        """Write the report of the audit to one HTML file; return its path (jinja2).

        Parameters
        ----------
        path : str or Path
            The file appears whole or not at all; an older one is replaced.
        **options
            title, settings, rules, gate: as for
            :func:`averagefair.showing.report.audit_report`.
        """
        from averagefair.showing.page_file import write_page
        from averagefair.showing.report import audit_report

        return write_page(path, lambda: audit_report(self, **options))

    def summary(self) -> str:
        """Return the results in plain words."""
        return summary(self)

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from averagefair.showing.notebook import audit_html

        return audit_html(self)

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
        """Return the audit as plain numbers, lists and strings; unknown values are None."""
        test, dispersion = self.chance, self.dispersion
        out: dict[str, Any] = plain(
            {
                "rate": self.rate,
                "n": self.n,
                "m": self.m,
                "confidence": self.confidence,
                "mean": self.mean.to_dict(),
                "range": self.range._asdict(),
                "chance": {"p": test.p, "statistic": test.statistic, "smallest": test.smallest},
                "dispersion": {
                    "sigma2": dispersion.sigma2.to_dict(),
                    "sigma": dispersion.sigma,
                    "sd": dispersion.sd,
                    "upper": dispersion.upper,
                    "reliability": dispersion.reliability,
                    "tasks_needed": dispersion.tasks_needed(),
                },
                "common_rate": self.common_rate,
                "learned_tasks": self.learned_tasks,
                "curve": self.curve.to_dict(),
                "assessment": self.assessment and self.assessment.to_dict(),
                "people": self.people.to_dict(),
                "tasks": self.tasks.to_dict(),
                "groups": [view.to_dict() for view in self.groups],
                "equal_exposure": self.equal_exposure and self.equal_exposure.to_dict(),
                "systemic": self.systemic.to_dict(),
                "exchangeability": asdict(self.exchangeability),
                "notes": list(self.notes),
            }
        )
        return out
