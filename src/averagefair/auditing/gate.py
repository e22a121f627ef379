"""Gates: what an audit is asked to meet, and whether it does: PASS, FAIL or INCONCLUSIVE.

A request has parts: alpha, and a bound on a figure. A part about true rates fails
only if its interval lies above the bound, passes only if its interval lies within, and is
inconclusive otherwise. A part about observed rates passes or fails. The outcome is FAIL if any part
fails, else INCONCLUSIVE if any part is, else PASS. Without a request there is no outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from math import isnan, nan, sqrt
from typing import TYPE_CHECKING, Any

from averagefair._util.text import percent
from averagefair.auditing.assessment import Assessment, Verdict, assess
from averagefair.auditing.words import USUAL_BETA

if TYPE_CHECKING:
    from averagefair.auditing.result import Audit


class Outcome(Enum):
    """The outcome of a request, or of one of its parts."""

    PASS = "PASS"
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"


FIGURES = ("sigma", "denoised", "mean", "near", "sd", "spread")
"""The figures that a gate can bound; see ``--fail-on`` on the command line."""
OBSERVED = {"denoised": "near", "sigma": "sd"}
"""On learned tasks, observed figures replace figures about true rates."""
_VERDICTS = {
    "met": Outcome.PASS,
    "not met": Outcome.FAIL,
    "inconclusive": Outcome.INCONCLUSIVE,
}
_UNRATED = "no cell counts, so nobody has a rate"


@dataclass(frozen=True)
class Part:
    """A part of a request, and its outcome.

    Attributes
    ----------
    name : str
        "alpha", or the figure that is bounded.
    asked : str
        What was asked, in a few words.
    outcome : Outcome
    words : str
        What was found.
    bound : float
    value, low, high : float
        The figure, and its interval; NaN where there is none.
    """

    name: str
    asked: str
    outcome: Outcome
    words: str
    bound: float
    value: float = nan
    low: float = nan
    high: float = nan

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, the outcome as a word."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return fields | {"outcome": self.outcome.value}

    def __str__(self) -> str:
        return f"{self.outcome.value}: {self.words}"


@dataclass(frozen=True)
class Gate:
    """The outcome of an audit's request.

    Attributes
    ----------
    parts : tuple of Part
        Empty if nothing was asked.
    """

    parts: tuple[Part, ...]

    @property
    def outcome(self) -> Outcome | None:
        """The outcome of all parts together; None if nothing was asked."""
        found = {part.outcome for part in self.parts}
        return next((o for o in (Outcome.FAIL, Outcome.INCONCLUSIVE) if o in found), None) or (
            Outcome.PASS if found else None
        )

    @property
    def failed(self) -> bool:
        """Whether the outcome is FAIL."""
        return self.outcome is Outcome.FAIL

    @property
    def inconclusive(self) -> bool:
        """Whether the outcome is INCONCLUSIVE."""
        return self.outcome is Outcome.INCONCLUSIVE

    def lines(self) -> list[str]:
        """Return a line for each part; those that decide the outcome come last."""
        return [str(part) for part in sorted(self.parts, key=self._decides)]

    def _decides(self, part: Part) -> bool:
        return part.outcome is self.outcome

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome and its parts."""
        return {
            "outcome": self.outcome and self.outcome.value,
            "parts": [part.to_dict() for part in self.parts],
        }

    @classmethod
    def of(cls, outcome: Mapping[str, Any] | None) -> Gate | None:
        """Return the gate that ``to_dict`` wrote; None for None.

        Examples
        --------
        >>> Gate.of(Gate(()).to_dict())
        Gate(parts=())
        """
        if outcome is None:
            return None
        names = ("name", "asked", "words", "bound", "value", "low", "high")
        return cls(
            tuple(
                Part(
                    outcome=Outcome(part["outcome"]),
                    **{"bound": nan}
                    | {name: part[name] for name in names if part.get(name) is not None},
                )
                for part in outcome["parts"]
            )
        )


def judge(
    found: Audit,
    alpha: float | None = None,
    fail_above: float | None = None,
    fail_on: str | None = None,
) -> Gate:
    """Judge an audit by what was asked of it.

    Parameters
    ----------
    found : Audit
    alpha : float, optional
        The request that the audit was called with.
    fail_above : float, optional
        A bound on the figure ``fail_on``.
    fail_on : str, optional
        One of ``FIGURES``; default sigma.
    """
    parts = [] if alpha is None else [_request(found, alpha)]
    if fail_above is not None:
        parts.append(_bounded(found, fail_on or FIGURES[0], fail_above))
    return Gate(tuple(parts))


def _request(found: Audit, alpha: float) -> Part:
    """Return the part of alpha: the verdict, or on learned tasks what was observed."""
    known = found.assessment
    if known is None:  # an audit in which nobody has a rate
        return Part("alpha", f"within {alpha:g}", Outcome.INCONCLUSIVE, _UNRATED, alpha)
    short = f"{_share(known.beta)} within \u00b1{alpha:g} of a common rate"
    if known.verdict is None:
        outcome = Outcome.PASS if known.met_as_observed else Outcome.FAIL
        why = f"{percent(known.observed_beta)} are outside, as observed"
    else:
        outcome, why = _of(known.verdict), _because(known)
    words = f"{short}: {why}"
    return Part("alpha", _asked(known.beta, alpha), outcome, words, alpha, known.observed_alpha)


def _of(verdict: Verdict) -> Outcome:
    return _VERDICTS[verdict.value]


def _because(known: Assessment) -> str:
    """Return the reason for a verdict, in a few words."""
    if known.verdict is None or _of(known.verdict) is not Outcome.INCONCLUSIVE:
        return known.reason.partition(" (")[0]
    return "more tasks may settle it" if known.beta else "more tasks, or a --beta, may settle it"


def _bounded(found: Audit, figure: str, bound: float) -> Part:
    """Return the part of a bound on a figure."""
    asked, replaced = figure, ""
    if found.learned_tasks:
        figure = OBSERVED.get(figure, figure)
        replaced = f"; replaces {asked}" if asked != figure else ""
    if figure == "sigma":
        return _sigma(found, bound)
    if figure == "mean":
        return _mean(found, bound)
    if figure == "denoised":
        return _denoised(found, bound)
    return _observed(found, figure, bound, replaced)


def _sigma(found: Audit, bound: float) -> Part:
    spread = found.dispersion
    ends = [nan if isnan(end) else sqrt(end) for end in (spread.sigma2.low, spread.sigma2.high)]
    asked, level = f"sigma at most {bound:g}", percent(found.confidence)
    known: dict[str, Any] = {"value": spread.sigma, "low": ends[0], "high": ends[1]}
    if spread.upper <= bound:
        limit = near_to(spread.upper, bound)
        words = f"sigma {_three(spread.sigma)} is at most {limit} ({level} bound), within {bound:g}"
        return Part("sigma", asked, Outcome.PASS, words, bound, **known)
    interval = _interval(known, level, bound)
    if ends[0] > bound:
        words = f"sigma {_three(spread.sigma)}{interval} is above {bound:g}"
        return Part("sigma", asked, Outcome.FAIL, words, bound, **known)
    if isnan(spread.upper):
        words = f"sigma cannot be bounded: {_why_not(found)}"
    else:
        words = f"sigma {_three(spread.sigma)}{interval} may be above or within {bound:g}"
    return Part("sigma", asked, Outcome.INCONCLUSIVE, words, bound, **known)


def _mean(found: Audit, bound: float) -> Part:
    mean, asked = found.mean, f"mean rate at most {bound:g}"
    known: dict[str, Any] = {"value": mean.value, "low": mean.low, "high": mean.high}
    if isnan(mean.low):
        words = f"the mean rate has no interval: {_why_not(found)}"
        return Part("mean", asked, Outcome.INCONCLUSIVE, words, bound, **known)
    words = f"mean {_three(mean.value)}{_interval(known, percent(found.confidence), bound)}"
    if mean.low > bound:
        return Part("mean", asked, Outcome.FAIL, f"{words} is above {bound:g}", bound, **known)
    if mean.high <= bound:
        return Part("mean", asked, Outcome.PASS, f"{words} is within {bound:g}", bound, **known)
    words += f" may be above or within {bound:g}"
    return Part("mean", asked, Outcome.INCONCLUSIVE, words, bound, **known)


def _denoised(found: Audit, bound: float) -> Part:
    """Return the verdict on the request alpha = bound, at the audit's beta."""
    beta = _beta(found)
    asked = _asked(beta, bound)
    if not found.evidence.sorted_rates.size:
        return Part("denoised", asked, Outcome.INCONCLUSIVE, _UNRATED, bound)
    known = assess(
        bound,
        beta,
        found.evidence.sorted_rates,
        found.curve,
        found.dispersion,
        found.evidence.counts(),
        1.0 - found.confidence,
    )
    assert known.verdict is not None
    value, outcome = known.denoised_alpha, _of(known.verdict)
    words = "denoised" if isnan(value) else f"denoised {_three(value)}"
    words += f" ({_share(beta)})"
    if outcome is Outcome.INCONCLUSIVE:
        words += f" may be above or within {bound:g}"
    else:
        side = "above" if outcome is Outcome.FAIL else "within"
        words += f", {side} {bound:g}: {_because(known)}"
    return Part("denoised", asked, outcome, words, bound, value)


def _observed(found: Audit, figure: str, bound: float, replaced: str) -> Part:
    beta = _beta(found)
    value = {
        "spread": lambda: found.range.width,
        "near": lambda: found.curve.at(beta)["alpha"],
        "sd": lambda: found.dispersion.sd,
    }[figure]()
    asked = f"{figure} at most {bound:g}"
    if isnan(value):
        words = f"{figure} is unknown: {_why_not(found)}"
        return Part(figure, asked, Outcome.INCONCLUSIVE, words, bound)
    share = f"{_share(beta)}, " if figure == "near" else ""
    above = value > bound
    words = (
        f"{figure} {near_to(value, bound)} ({share}as observed{replaced}) is "
        f"{'above' if above else 'within'} {bound:g}"
    )
    outcome = Outcome.FAIL if above else Outcome.PASS
    return Part(figure, asked, outcome, words, bound, value)


def _beta(found: Audit) -> float:
    return USUAL_BETA if found.assessment is None else found.assessment.beta


def _share(beta: float) -> str:
    return "everybody" if beta == 0 else f"all but {percent(beta)}"


def _asked(beta: float, alpha: float) -> str:
    people = " of the people" if beta else ""
    return f"{_share(beta)}{people} within {alpha:g} of a common rate"


def _why_not(found: Audit) -> str:
    """Return why a figure or its interval is unknown, from the audit's notes."""
    if not found.evidence.sorted_rates.size:
        return _UNRATED
    begins = ("with one ", "every decision", "all losses", "there is no bound", "fewer than two")
    why = (note.partition(". ")[0].rstrip(".") for note in found.notes if note.startswith(begins))
    return next(why, "there are too few people or tasks")


def _interval(known: dict[str, Any], level: str, bound: float) -> str:
    ends = (near_to(max(0.0, end), bound) for end in (known["low"], min(1.0, known["high"])))
    return f" ({level} CI {' to '.join(ends)})"


def _three(value: float) -> str:
    return f"{value:.3f}"


def near_to(value: float, bound: float) -> str:
    """Write a number with three decimals, or as many as show on which side of a bound it lies.

    Examples
    --------
    >>> near_to(0.07123, 0.05), near_to(0.05004, 0.05), near_to(0.05, 0.05)
    ('0.071', '0.05004', '0.050')
    """
    for digits in range(3, 12):
        text = f"{value:.{digits}f}"
        if (float(text) > bound) == (value > bound) and (float(text) < bound) == (value < bound):
            return text
    return f"{value:.3f}"
