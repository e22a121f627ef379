"""The headline of an audit."""

from __future__ import annotations

import numpy as np

from averagefair._util.names import in_a_line
from averagefair._util.text import counted, percent
from averagefair.auditing import Audit
from averagefair.auditing.gate import Gate, Outcome, Part, judge
from averagefair.auditing.words import USUAL_BETA
from averagefair.game.rates import spoken
from averagefair.showing.headline.badge import Badge, Headline

WORST = 0.1
"""The share of people who are called worst off."""
USUAL_NAMES = ("group", "groups")
"""Attributes that need not be named."""
_FIGURES = {
    "sigma": "the SD of true rates",
    "mean": "the mean rate",
    "denoised": "the band of true rates",
    "near": "the observed band",
    "sd": "the observed SD",
    "spread": "the observed spread",
}


def audit_headline(found: Audit, gate: Gate | None = None, next_step: str = "") -> Headline:
    """Return the headline of an audit.

    Parameters
    ----------
    found : Audit
    gate : Gate, optional
        What was asked of it. Default: its alpha, if it has one.
    next_step : str, optional
        What the reader may do next. Default: by what was found.

    Examples
    --------
    >>> from averagefair import audit
    >>> found = audit([[1, 0, 1, 0], [0, 1, 1, 0]], [[1, 0, 0, 0], [0, 1, 1, 0]])
    >>> audit_headline(found).badge.name, len(audit_headline(found).rows)
    ('INCONCLUSIVE', 8)
    """
    if gate is None:
        gate = judge(found, None if found.assessment is None else found.assessment.alpha)
    badge = _badge(found, gate)
    rate = spoken(found.rate)
    rows = (
        (f"average {rate}", _mean(found)),
        ("real differences?", _differences(found)),
        (f"{percent(1 - _beta(found))} of people within", _within(found)),
        ("worst-off tenth", _worst_off(found)),
        ("groups", _groups(found)),
        ("people flagged", _flagged(found)),
        ("asked", _asked(gate)),
        ("next", next_step or _next(found, badge)),
    )
    question = f"Is everybody's {rate} rate, averaged over tasks, about the same?"
    return Headline(question, badge, _sentence(found, gate, badge), rows)


def _badge(found: Audit, gate: Gate) -> Badge:
    if gate.outcome is not None:
        return Badge[gate.outcome.name]
    if found.learned_tasks:
        return Badge.OBSERVED
    return Badge.UNEQUAL if _significant(found) else Badge.INCONCLUSIVE


def _significant(found: Audit) -> bool:
    return bool(found.chance.p <= 1.0 - found.confidence)


def _beta(found: Audit) -> float:
    asked = found.assessment
    return USUAL_BETA if asked is None or asked.beta == 0 else asked.beta


def _sentence(found: Audit, gate: Gate, badge: Badge) -> str:
    if gate.outcome is not None:
        deciding = next(part for part in gate.parts if part.outcome is gate.outcome)
        said = _answer(found, deciding)
        return f"{said[:1].upper()}{said[1:]}."
    if badge is Badge.OBSERVED:
        return "As observed on tasks that the model learned; other tasks may differ."
    if badge is Badge.UNEQUAL:
        return "People's rates differ by more than chance."
    if np.isnan(found.chance.p):
        return "There are too few people or tasks to separate chance from real differences."
    return "Differences between people may be chance alone."


def _answer(found: Audit, part: Part) -> str:
    """Return the outcome of a part as a sentence."""
    if part.name != "alpha":
        name, _, rest = part.words.partition(" ")
        return f"{_FIGURES.get(name, name)} {rest}"
    known = found.assessment
    if known is None:
        return part.words
    people = "everybody" if known.beta == 0 else f"{percent(1 - known.beta)} of the people"
    band = f"within \u00b1{known.alpha:g} of a common rate"
    if part.outcome is Outcome.INCONCLUSIVE:
        return f"the data cannot show yet whether {people} {_are(known.beta)} {band}"
    observed = "as observed, " if known.verdict is None else ""
    if part.outcome is Outcome.PASS:
        return f"{observed}{people} {_are(known.beta)} {band}"
    if known.beta == 0:
        return f"{observed}not everybody is {band}"
    return f"{observed}more than {percent(known.beta)} of the people are outside {band[7:]}"


def _are(beta: float) -> str:
    return "is" if beta == 0 else "are"


def _mean(found: Audit) -> str:
    if np.isnan(found.mean.value):
        return "unknown: no cell counts"
    interval = _interval(found.mean.low, found.mean.high, found.confidence)
    return f"{found.mean.value:.3f}{interval}"


def _interval(low: float, high: float, confidence: float) -> str:
    if np.isnan(low):
        return ""
    return f" ({percent(confidence)} CI {max(0.0, low):.3f}\u2013{min(1.0, high):.3f})"


def _differences(found: Audit) -> str:
    if found.learned_tasks:
        return f"not estimated on learned tasks; observed SD {found.dispersion.sd:.3f}"
    if np.isnan(found.chance.p):
        return "unknown: too few people or tasks"
    p = f"p = {found.chance.p:.2g}"
    if _significant(found):
        return f"yes ({p}); SD of true rates {found.dispersion.sigma:.3f}"
    upper = found.dispersion.upper
    return f"not shown ({p})" + (
        "" if np.isnan(upper) else f"; SD of true rates \u2264 {upper:.3f}"
    )


def _within(found: Audit) -> str:
    row = found.curve.at(_beta(found))
    parts = [] if np.isnan(row["alpha"]) else [f"\u00b1{row['alpha']:.3f} observed"]
    if not found.learned_tasks and not np.isnan(row["denoised"]):
        parts.append(f"\u00b1{row['denoised']:.3f} without noise")
    if found.assessment is not None:
        whom = "" if found.assessment.beta else " of all"
        parts.append(f"\u00b1{found.assessment.alpha:g} asked{whom}")
    return ", ".join(parts) or "unknown"


def _worst_off(found: Audit) -> str:
    rates = found.evidence.sorted_rates
    if not rates.size:
        return "unknown"
    worst = rates[-max(1, round(WORST * rates.size)) :].mean()
    return f"{worst:.3f} on average, as observed"


def _groups(found: Audit) -> str:
    known = [view for view in found.groups if not np.isnan(view.gap)]
    if not known:
        return "none given"
    view = max(known, key=lambda own: own.gap)
    ends = [int(np.nanargmax(view.mean)), int(np.nanargmin(view.mean))]
    said = [
        f"{in_a_line(view.name[end])}: {view.mean[end]:.3f}"
        + (
            ""
            if np.isnan(view.low[end])
            else f" (CI {max(0.0, view.low[end]):.3f}\u2013{min(1.0, view.high[end]):.3f})"
        )
        for end in dict.fromkeys(ends)
    ]
    more, name = len(known) - 1, in_a_line(view.attribute)
    numbered = view.name[ends[0]][:1].isdigit()
    by = "" if name in USUAL_NAMES and not numbered else f"{name} "
    return by + ", ".join(said) + (f"; {counted(more, 'more grouping')}" if more else "")


def _flagged(found: Audit) -> str:
    if found.learned_tasks and found.assessment is None:
        return "nobody is judged on learned tasks"
    limit = found.common_rate + (found.assessment.alpha if found.assessment else 0.0)
    clearly = "" if found.learned_tasks else "clearly "
    if np.isnan(limit):
        return "nobody has a rate"
    return f"{int(found.people.flagged.sum()):,} of {found.n:,} {clearly}above {limit:.3f}"


def _asked(gate: Gate) -> str:
    if gate.outcome is None:
        return "nothing (--alpha, --fail-above)"
    parts = [f"{part.outcome.value}: {part.asked}" for part in gate.parts]
    return "; ".join(parts)


def _next(found: Audit, badge: Badge) -> str:
    if found.learned_tasks:
        return "audit held-out tasks"
    if badge in (Badge.INCONCLUSIVE, Badge.OBSERVED):
        return "audit more tasks"
    if badge is Badge.PASS:
        return "audit again when tasks or people change"
    return "look at the worst-off people and the groups"
