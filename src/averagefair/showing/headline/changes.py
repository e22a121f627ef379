"""The headlines of a comparison and of a drift, about whether rates became more equal.

Intervals decide: a change counts if its interval leaves out 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from averagefair._util.names import in_a_line
from averagefair._util.text import counted, figure, percent
from averagefair.auditing.estimates import Estimate
from averagefair.auditing.words import USUAL_BETA
from averagefair.game.rates import spoken
from averagefair.showing.headline.badge import Badge, Headline

if TYPE_CHECKING:
    from averagefair.auditing import Audit, Comparison, Drift

MOST_NAMES = 3
"""A headline names this many batches."""


def comparison_headline(found: Comparison, next_step: str = "") -> Headline:
    """Return the headline of a comparison of two audits.

    Parameters
    ----------
    found : Comparison
    next_step : str, optional
        What the reader may do next. Default: by what was found.

    Examples
    --------
    >>> from averagefair import audit, compare
    >>> labels = [[1, 0, 1], [0, 1, 1]]
    >>> found = compare(audit(labels, [[1, 0, 0], [0, 1, 1]]), audit(labels, labels))
    >>> comparison_headline(found).badge.name, len(comparison_headline(found).rows)
    ('INCONCLUSIVE', 8)
    """
    before, after, pays = found.before, found.after, found.who_pays
    rate, badge = spoken(before.rate), _direction([found.sigma2], found.learned_tasks)
    rows = (
        (f"average {rate}", _change(before.mean.value, after.mean.value, found.mean)),
        ("SD of true rates", _spread(before, after, found.learned_tasks)),
        (f"{percent(1 - USUAL_BETA)} of people within", _band(before, after)),
        ("worst-off tenth", _pair(pays.worst_off.before, pays.worst_off.after)),
        ("best-off tenth", _pair(pays.best_off.before, pays.best_off.after)),
        ("clear changes", _clear(found)),
        ("as observed", f"{_share(pays.better)} better off, {_share(pays.worse)} worse off"),
        ("next", next_step or _next(badge)),
    )
    sentence = {
        Badge.MORE_EQUAL: "Yes: true rates are closer to each other than before.",
        Badge.LESS_EQUAL: "No: true rates are further apart than before.",
        Badge.OBSERVED: "As observed on tasks that a model learned; other tasks may differ.",
    }.get(badge, "The data cannot show whether true rates are closer to each other than before.")
    return Headline(f"Did people's {rate} rates become more equal?", badge, sentence, rows)


def drift_headline(found: Drift, next_step: str = "") -> Headline:
    """Return the headline of a drift.

    Parameters
    ----------
    found : Drift
    next_step : str, optional
        What the reader may do next. Default: by what was found.

    Examples
    --------
    >>> from averagefair import audit, drift
    >>> labels = [[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 0, 0]]
    >>> decisions = [[1, 0, 1, 1], [0, 1, 1, 0], [0, 0, 1, 1]]
    >>> found = drift(audit(labels, decisions), ["May", "May", "June", "June"])
    >>> drift_headline(found).badge.name, len(drift_headline(found).rows)
    ('INCONCLUSIVE', 8)
    """
    first, last = found.audits[0], found.audits[-1]
    rate, learned = spoken(first.rate), any(audit.learned_tasks for audit in found.audits)
    badge = _direction(found.sigma2_changes, learned)
    rows = (
        ("batches", f"{len(found):,}, {_from_to(*map(in_a_line, _ends(found)))}"),
        (f"average {rate}", _pair(first.mean.value, last.mean.value)),
        ("average went", _moves(found, found.mean_changes)),
        ("SD of true rates", _spread(first, last, learned)),
        ("SD went", _moves(found, found.sigma2_changes)),
        ("real differences?", _differences(found)),
        ("same people again?", _persistence(found.persistence)),
        ("next", next_step or _next(badge)),
    )
    sentence = {
        Badge.MORE_EQUAL: "Yes: true rates came closer to each other in at least one batch.",
        Badge.LESS_EQUAL: "No: true rates moved further apart in at least one batch.",
        Badge.UP_AND_DOWN: "True rates came closer in some batches and moved apart in others.",
        Badge.OBSERVED: "As observed on tasks that a model learned; other tasks may differ.",
    }.get(badge, "No clear change from batch to batch, corrected for all batches.")
    return Headline(f"Did people's {rate} rates become more equal?", badge, sentence, rows)


def _direction(changes: Iterable[Estimate], learned: bool) -> Badge:
    """Return the badge of changes of the variance of true rates, by their intervals."""
    if learned:
        return Badge.OBSERVED
    changes = tuple(changes)
    up, down = any(own.low > 0 for own in changes), any(own.high < 0 for own in changes)
    if up and down:
        return Badge.UP_AND_DOWN
    if up:
        return Badge.LESS_EQUAL
    return Badge.MORE_EQUAL if down else Badge.INCONCLUSIVE


def _from_to(before: str, after: str) -> str:
    return f"from {before} to {after}"


def _pair(before: float, after: float) -> str:
    return _from_to(figure(before), figure(after))


def _change(before: float, after: float, change: Estimate) -> str:
    if np.isnan(change.low):
        return _pair(before, after)
    ends = f"{figure(change.low, 3, '+')} to {figure(change.high, 3, '+')}"
    return f"{_pair(before, after)} (CI of the change {ends})"


def _spread(before: Audit, after: Audit, learned: bool) -> str:
    if learned:
        return f"not estimated; observed SD {_pair(before.dispersion.sd, after.dispersion.sd)}"
    return _pair(before.dispersion.sigma, after.dispersion.sigma)


def _band(before: Audit, after: Audit) -> str:
    rows = before.curve.at(USUAL_BETA), after.curve.at(USUAL_BETA)
    observed = _from_to(*(f"\u00b1{figure(row['alpha'])}" for row in rows))
    if any(np.isnan(row["denoised"]) for row in rows):
        return f"{observed}, observed"
    return f"{observed}, observed; {_pair(*(row['denoised'] for row in rows))} without noise"


def _clear(found: Comparison) -> str:
    if found.learned_tasks:
        return "nobody is judged on learned tasks"
    better, worse = int(found.people.better.sum()), int(found.people.worse.sum())
    return f"{better:,} of {found.before.n:,} people better off, {worse:,} worse off"


def _share(share: float) -> str:
    return "unknown" if np.isnan(share) else percent(round(share, 3))


def _ends(found: Drift) -> tuple[str, str]:
    return found.names[0], found.names[-1]


def _moves(found: Drift, changes: tuple[Estimate, ...]) -> str:
    """Return the batches in which a figure went up or down."""
    names = found.names[1:]
    up = [name for name, own in zip(names, changes, strict=True) if own.low > 0]
    down = [name for name, own in zip(names, changes, strict=True) if own.high < 0]
    said = [f"{way} in {_some(own)}" for way, own in (("up", up), ("down", down)) if own]
    return "; ".join(said) or "neither clearly up nor down"


def _some(names: list[str]) -> str:
    shown, more = names[:MOST_NAMES], len(names) - MOST_NAMES
    return ", ".join(map(in_a_line, shown)) + (f" and {more:,} more" if more > 0 else "")


def _differences(found: Drift) -> str:
    if np.isnan(found.p_combined):
        return "unknown: too few people or tasks"
    delta = 1.0 - found.audits[0].confidence
    clear = sum(p <= delta for p in found.p_adjusted)
    answer = "yes" if found.p_combined <= delta else "not shown"
    batches = f"alone in {clear} of {counted(len(found), 'batch', 'batches')}"
    return f"{answer} (all batches: p = {found.p_combined:.2g}); {batches}"


def _persistence(share: Estimate) -> str:
    if np.isnan(share.value):
        return "unknown"
    interval = "" if np.isnan(share.low) else f" (CI {share.low:.2f}\u2013{share.high:.2f})"
    return f"correlation of true rates {share.value:.2f}{interval}"


def _next(badge: Badge) -> str:
    if badge is Badge.OBSERVED:
        return "audit held-out tasks"
    if badge is Badge.INCONCLUSIVE:
        return "audit more tasks"
    if badge is Badge.MORE_EQUAL:
        return "check the change on other tasks and people"
    return "look at what changed in the decisions"
