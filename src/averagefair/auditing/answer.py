"""The answer: whether a requested (alpha, beta) is met, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import sqrt
from typing import Any

from averagefair.auditing.curve import Curve
from averagefair.auditing.intervals import Evidence
from averagefair.auditing.learned import REASON
from averagefair.auditing.spread import Spread
from averagefair.sample import FloatArray
from averagefair.text import percent
from averagefair.windows import ROUNDING, common_rate, fullest, outside_at_least_and_most


class Verdict(Enum):
    """What an audit can say of a request on fresh tasks; true at its confidence.

    Attributes
    ----------
    MET
        By the intervals, all but a share beta of the true rates lie within alpha of a common rate.
    NOT_MET
        By the intervals they do not.
    OPEN
        Neither can be told; more tasks may tell.
    """

    MET = "met"
    NOT_MET = "not met"
    OPEN = "cannot be told"


@dataclass(frozen=True)
class Answer:
    """Whether all but a share beta of the people lie within alpha of a common rate.

    Attributes
    ----------
    alpha, beta : float
        As requested.
    observed_beta : float
        The share outside alpha, as observed.
    observed_alpha : float
        How far all but a share beta are from a common rate, as observed.
    common_rate : float
        The centre of the window of width 2 alpha that holds the most people. People further than
        alpha from it are outside.
    floor : float
        What ``observed_alpha`` would be if all true rates were equal.
    denoised_alpha : float
        A point estimate of alpha(beta) of the true rates; NaN where the noise cannot be told.
    cap : float
        An upper bound on it.
    verdict : Verdict or None
        Of the *true* rates; None for tasks that were learned from, which tell nothing of those.
        By people's intervals it speaks of the people audited, and is
        wrong at most 1 - confidence of the time. By the true spread it speaks of the population
        they are from, and that holds about so often: the interval of sigma2 is an approximation,
        at its weakest where a few people are far worse off than the rest. It takes either end of
        that interval at half of 1 - confidence, ``cap`` one end at the whole.
    reason : str
        Why, in words.
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
        """Whether the observed rates, noise and all, are within the request."""
        return self.observed_beta <= self.beta + ROUNDING

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, the verdict in words."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        verdict = None if self.verdict is None else self.verdict.value
        return fields | {"verdict": verdict, "met_as_observed": self.met_as_observed}

    def statement(self) -> str:
        """Say it in plain words."""
        who = "everybody" if self.beta == 0 else f"all but {percent(self.beta)} of the people"
        where = " on these tasks" if self.verdict is None else ""
        text = (
            f"Requested: {who} within {self.alpha:g} of a common rate. As observed{where} it is "
            f"{'met' if self.met_as_observed else 'not met'}: {percent(self.observed_beta)} are "
            "outside."
        )
        if self.verdict is None:
            return text
        if self.floor > self.alpha and self.verdict is Verdict.OPEN:
            text += (
                " That says little: if all true rates were equal, noise alone would show "
                f"{self.floor:.3f} in place of {self.alpha:g}."
            )
        return f"{text} Of the true rates: {self.verdict.value}; {self.reason}."


def answer(
    alpha: float,
    beta: float,
    rates: FloatArray,
    line: Curve,
    spread: Spread,
    known: Evidence | None,
    delta: float,
) -> Answer:
    """Answer a request.

    Parameters
    ----------
    rates : array, shape (n,), ascending
    line : Curve
        With a row for ``beta``.
    spread : Spread
    known : Evidence or None
        Of everybody's intervals; None for tasks that were learned from: no verdict.
    delta : float
        1 - confidence.
    """
    outside = fullest(rates, 2.0 * alpha)[1]
    at = line.at(beta)
    said, reason = (None, REASON) if known is None else _verdict(alpha, beta, spread, known, delta)
    return Answer(
        alpha=alpha,
        beta=beta,
        observed_beta=outside,
        observed_alpha=at["alpha"],
        common_rate=common_rate(rates, alpha),
        floor=at["floor"],
        denoised_alpha=at["denoised"],
        cap=at["cap"],
        verdict=said,
        reason=reason,
    )


def _verdict(
    alpha: float, beta: float, spread: Spread, known: Evidence, delta: float
) -> tuple[Verdict, str]:
    """Return what can be said of the true rates, and why.

    Either end of sigma2's two-sided interval fails half as often as delta, and so does what is
    said by people's intervals: no verdict is wrong more often than delta, as far as these hold.
    By people's intervals: at delta / (2 n) each, all hold at once; at kappa delta / 2 each, all
    but a share kappa do (Markov's inequality), and kappa is given away. Kappa is half of beta.
    """
    kappa = beta / 2 if beta / 2 * known.wrong.size > 1 else 0.0
    each = known.exact(delta / 2 * (kappa or 1.0 / known.wrong.size))
    least, most = outside_at_least_and_most(*each, alpha)
    least, most = max(0.0, least - kappa), min(1.0, most + kappa)
    if most <= beta + ROUNDING:
        return Verdict.MET, f"{percent(most)} at most are outside, by people's intervals"
    if least > beta + ROUNDING:
        return Verdict.NOT_MET, f"{percent(least)} at least are outside, by people's intervals"
    # Chebyshev: no more than sigma^2 / alpha^2 lie further than alpha from the mean.
    highest, lowest = spread.sigma2.high, spread.sigma2.low
    if 0 < highest <= beta * alpha**2:
        share = highest / alpha**2
        return Verdict.MET, f"{percent(share)} at most are outside, by the estimated true spread"
    # Rates within alpha of gamma but for a share beta, all in [0, 1], vary no more than this.
    if lowest > (1.0 - beta) * alpha**2 + beta:
        return (
            Verdict.NOT_MET,
            f"true rates have a standard deviation of {sqrt(lowest):.3f} or more",
        )
    if beta == 0:
        return Verdict.OPEN, (
            "that nobody at all is outside takes very many tasks to show; allow a small beta"
        )
    return Verdict.OPEN, "more tasks may tell"
