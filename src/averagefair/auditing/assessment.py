"""The assessment: whether a requested (alpha, beta) is met, and how certain that is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import sqrt
from typing import Any

from averagefair._util.arrays import FloatArray
from averagefair._util.text import percent
from averagefair.auditing.curve import Curve
from averagefair.auditing.dispersion import Dispersion
from averagefair.auditing.intervals import Counts
from averagefair.auditing.learned import REASON
from averagefair.game.windows import ROUNDING, common_rate, fullest, outside_at_least_and_most


class Verdict(Enum):
    """What an audit concludes about a request on fresh tasks, at the audit's confidence.

    Attributes
    ----------
    MET
        The intervals show that all but a share beta of the true rates lie within alpha of a common
        rate.
    NOT_MET
        The intervals show that they do not.
    INCONCLUSIVE
        The intervals show neither; more tasks may settle it.
    """

    MET = "met"
    NOT_MET = "not met"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Assessment:
    """Whether all but a share beta of the people lie within alpha of a common rate.

    Attributes
    ----------
    alpha, beta : float
        As requested.
    observed_beta : float
        The share of observed rates outside alpha.
    observed_alpha : float
        The distance within which all but a share beta of the observed rates lie.
    common_rate : float
        The centre of the window of width 2 alpha that holds the most people. People further than
        alpha from it are outside.
    floor : float
        What ``observed_alpha`` would be if all true rates were equal.
    denoised_alpha : float
        A point estimate of alpha(beta) for the true rates; NaN if the noise cannot be estimated.
    cap : float
        An upper bound on alpha(beta) for the true rates.
    verdict : Verdict or None
        The conclusion about the *true* rates; None for learned tasks (the model's training tasks).
        ``reason`` names the source of the verdict. A verdict from individual confidence intervals
        is about the people audited, and is wrong at most 1 - confidence of the time. A verdict from
        the variance of true rates is about the population, and is approximate, like the interval of
        sigma2. It is weakest where a few people are far worse off than the rest. The verdict uses a
        two-sided interval; ``cap`` is a one-sided bound.
    reason : str
        The reason for the verdict, in words.
    """

    alpha: float
    beta: float
    observed_beta: float
    observed_alpha: float
    common_rate: float
    floor: float
    denoised_alpha: float
    cap: float
    verdict: Verdict | None
    reason: str

    @property
    def met_as_observed(self) -> bool:
        """Whether the observed rates, noise included, meet the request."""
        return self.observed_beta <= self.beta + ROUNDING

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, the verdict in words."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        verdict = None if self.verdict is None else self.verdict.value
        return fields | {"verdict": verdict, "met_as_observed": self.met_as_observed}

    def statement(self) -> str:
        """Return the assessment in plain words."""
        who = "everybody" if self.beta == 0 else f"all but {percent(self.beta)} of the people"
        where = "Observed on these tasks" if self.verdict is None else "Observed rates"
        text = (
            f"Requested: {who} within {self.alpha:g} of a common rate. {where}: "
            f"{'met' if self.met_as_observed else 'not met'}, {percent(self.observed_beta)} are "
            "outside."
        )
        if self.verdict is None:
            return text
        if self.floor > self.alpha and self.verdict is Verdict.INCONCLUSIVE:
            text += (
                " The observed share says little: if all true rates were equal, noise alone would "
                f"give a band of \u00b1{self.floor:.3f}."
            )
        return f"{text} True rates: {self.verdict.value}; {self.reason}."


def assess(
    alpha: float,
    beta: float,
    rates: FloatArray,
    line: Curve,
    dispersion: Dispersion,
    counts: Counts | None,
    delta: float,
) -> Assessment:
    """Assess a request.

    Parameters
    ----------
    rates : array, shape (n,), ascending
    line : Curve
        Must have a row for ``beta``.
    dispersion : Dispersion
    counts : Counts or None
        For individual intervals; None for learned tasks, which get no verdict.
    delta : float
        1 - confidence.
    """
    outside = fullest(rates, 2.0 * alpha)[1]
    row = line.at(beta)
    verdict, reason = None, REASON
    if counts is not None:
        verdict, reason = _verdict(alpha, beta, dispersion, counts, delta)
    return Assessment(
        alpha=alpha,
        beta=beta,
        observed_beta=outside,
        observed_alpha=row["alpha"],
        common_rate=common_rate(rates, alpha),
        floor=row["floor"],
        denoised_alpha=row["denoised"],
        cap=row["cap"],
        verdict=verdict,
        reason=reason,
    )


def _verdict(
    alpha: float, beta: float, dispersion: Dispersion, counts: Counts, delta: float
) -> tuple[Verdict, str]:
    """Return the verdict about the true rates, and why.

    Each end of sigma2's two-sided interval fails with probability delta / 2. The individual
    intervals together fail with probability delta / 2 too. If these probabilities are right, a
    verdict is wrong with probability at most delta.

    Individual intervals at level delta / (2 n) all hold at once. At level kappa delta / 2, all but
    a share kappa of them hold (Markov's inequality). The bounds then allow for the share
    kappa = beta / 2.
    """
    kappa = beta / 2 if beta / 2 * counts.wrong.size > 1 else 0.0
    intervals = counts.exact(delta / 2 * (kappa or 1.0 / counts.wrong.size))
    least, most = outside_at_least_and_most(*intervals, alpha)
    least, most = max(0.0, least - kappa), min(1.0, most + kappa)
    if most <= beta + ROUNDING:
        return Verdict.MET, f"at most {percent(most)} are outside (individual confidence intervals)"
    if least > beta + ROUNDING:
        return (
            Verdict.NOT_MET,
            f"at least {percent(least)} are outside (individual confidence intervals)",
        )
    # Chebyshev: at most sigma^2 / alpha^2 of the people lie further than alpha from the mean.
    highest, lowest = dispersion.sigma2.high, dispersion.sigma2.low
    if 0 < highest <= beta * alpha**2:
        share = highest / alpha**2
        return Verdict.MET, f"at most {percent(share)} are outside (variance of true rates)"
    # If all but a share beta lie within alpha of gamma, the variance of rates is at most this.
    if lowest > (1.0 - beta) * alpha**2 + beta:
        return (
            Verdict.NOT_MET,
            f"true rates have a standard deviation of at least {sqrt(lowest):.3f}",
        )
    if beta == 0:
        return Verdict.INCONCLUSIVE, (
            "showing that nobody is outside takes very many tasks; allow a small beta"
        )
    return Verdict.INCONCLUSIVE, "more tasks may settle it"
