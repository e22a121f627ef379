"""The headline of a point of a frontier: whether the promise is kept, its price, and who pays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from averagefair._util.text import figure, percent
from averagefair.game.promises import ROUNDING, Cap, Equal
from averagefair.game.rates import Rates, spoken
from averagefair.showing.headline.badge import Badge, Headline

if TYPE_CHECKING:
    from averagefair.evaluation.generalisation import Generalisation
    from averagefair.frontier import Frontier, FrontierPoint
    from averagefair.game.certificate import Certificate
    from averagefair.game.who_pays import WhoPays

_CORNERS = {
    "people": "new people, training tasks",
    "tasks": "training people, new tasks",
    "both": "new people and tasks",
}


def frontier_headline(
    curve: Frontier,
    point: FrontierPoint,
    measured: Generalisation | None = None,
    next_step: str = "",
) -> Headline:
    """Return the headline of a point of a frontier.

    Parameters
    ----------
    curve : Frontier
    point : FrontierPoint
        A point of the curve.
    measured : Generalisation, optional
        The curve on held-out people and tasks.
    next_step : str, optional
        What the reader may do next. Default: by what was found.

    Examples
    --------
    >>> from averagefair import frontier
    >>> from averagefair.datasets import make_synthetic
    >>> people = make_synthetic(n=60, m=20)
    >>> curve = frontier(people.X, people.Y, [0.05, 0.2], random_state=0)
    >>> headline = frontier_headline(curve, curve.at(0.2))
    >>> headline.badge.name, len(headline.rows)
    ('PASS', 8)
    """
    known = point.certificate
    pays = _hardest(known)
    badge = _badge(known)
    against = "today" if known.against_given else "with nothing asked"
    promised = _promised(point)
    rows = (
        ("promise", f"{_kept(badge)}: {promised}"),
        ("reached", _reached(point)),
        ("error", _from(curve.unconstrained.error, known.error, against)),
        ("worst-off tenth", "unknown" if pays is None else _pair(pays, "worst_off", against)),
        ("who pays", _paid(pays, against)),
        ("held out", _held_out(measured, curve.points.index(point))),
        ("proof", _proof(known)),
        ("next", next_step or _next(badge, known, measured)),
    )
    return Headline(_question(point), badge, _sentence(curve, point, badge), rows)


def _hardest(known: Certificate) -> WhoPays | None:
    """Return who pays; of several rates, the one whose worst-off fare worst."""
    pays = [own for own in known.each_who_pays if own.people]
    return max(pays, key=lambda own: own.worst_off.after) if pays else None


def _badge(known: Certificate) -> Badge:
    if np.isnan(known.reached) and np.isnan(known.spread):
        return Badge.OBSERVED
    if not known.met:
        return Badge.FAIL
    required = known.promise.required or known.promise.no_harm is not None
    return Badge.PASS if required else Badge.OBSERVED


def _kept(badge: Badge) -> str:
    return {Badge.PASS: "kept", Badge.FAIL: "not kept"}.get(badge, "nothing is required")


def _promised(point: FrontierPoint) -> str:
    """Return the promise in a few words."""
    promise, rates = point.promise, _rates(point)
    if isinstance(promise, Equal):
        share = promise.exempt_share
        who = "everybody's" if not share else f"{percent(1 - share)} of the people's"
        words = f"{who} {rates} within \u00b1{point.value:g} of a common rate"
    else:
        words = f"{promise.words()} ({rates})"
    harm = promise.no_harm_words()
    return f"{words}, and {harm}" if harm else words


def _question(point: FrontierPoint) -> str:
    promise, rates = point.promise, _rates(point)
    share, figure_name = promise.exempt_share, promise.figure_words()
    be = "Are" if rates.endswith("s") else "Is"
    if isinstance(promise, Equal):
        who = "everybody's" if not share else f"{percent(1 - share)} of the people's"
        return f"{be} {who} {rates} within \u00b1{point.value:g} of a common rate?"
    if isinstance(promise, Cap):
        who = "everybody's" if not share else f"{percent(1 - share)} of the people's"
        return f"{be} {who} {rates} at most {point.value:g}?"
    if not promise.required:
        return f"How low is the {figure_name}?"
    return f"Is the {figure_name} at most {point.value:g}?"


def _rates(point: FrontierPoint) -> str:
    names = [spoken(rate.name) for rate in Rates.of(point.model.rate)]
    return f"{' and '.join(names)} rate{'s' if len(names) > 1 else ''}"


def _reached(point: FrontierPoint) -> str:
    known = point.certificate
    if not isinstance(point.promise, Equal):
        said = f"{known.promise.figure_words()} {figure(known.reached)}"
        return f"{said}, instead of {figure(known.unconstrained_reached)}"
    said = f"rates {figure(known.spread)} apart, instead of {figure(point.unconstrained.spread)}"
    if known.outside > 0:
        said += f"; {percent(round(known.outside, 3))} of the people outside"
    return said


def _from(before: float, after: float, against: str) -> str:
    if np.isnan(before) or np.isnan(after):
        return figure(after)
    return f"{figure(after)} instead of {figure(before)} {against}"


def _pair(pays: WhoPays, name: str, against: str) -> str:
    change = getattr(pays, name)
    return _from(change.before, change.after, against)


def _paid(pays: WhoPays | None, against: str) -> str:
    if pays is None:
        return "unknown"
    better, worse = (percent(round(share, 3)) for share in (pays.better, pays.worse))
    return f"{better} better off, {worse} worse off than {against}"


def _held_out(measured: Generalisation | None, index: int) -> str:
    corners = [] if measured is None else list(measured.corners.items())
    name, corner = corners[-1] if corners else ("training", None)
    if corner is None or name == "training":
        return "nothing held out"
    interval = ""
    if not np.isnan(corner.error_low[index]):
        ends = f"{figure(corner.error_low[index])}\u2013{figure(corner.error_high[index])}"
        interval = f" ({percent(corner.confidence)} CI {ends})"
    how = ", each left out in turn" if corner.cross_fitted else ""
    return f"error {figure(corner.error[index])}{interval} on {_CORNERS[name]}{how}"


def _proof(known: Certificate) -> str:
    if known.status.name == "CERTIFIED":
        exempt = ", with these people exempt" if known.promise.exempt_share else ""
        what = f"error plus {known.promise.priced}" if known.promise.priced else "the error"
        return f"{what} is at most {figure(known.gap)} above the least possible{exempt}"
    return {
        "HEURISTIC": "none: the oracle is a heuristic, so a lower error may exist",
        "UNPROVED": "none: the oracle failed before a bound was proved",
        "CONTRADICTED": "none: the oracle's bounds contradict each other",
    }.get(known.status.name, known.status.value)


def _next(badge: Badge, known: Certificate, measured: Generalisation | None) -> str:
    if badge is Badge.FAIL:
        return known.promise.remedy[:1].lower() + known.promise.remedy[1:]
    if measured is None or len(measured.corners) < 2:
        return "measure on held-out people and tasks"
    return "compare the points of the curve, then fit this one"


def _sentence(curve: Frontier, point: FrontierPoint, badge: Badge) -> str:
    known = point.certificate
    if np.isnan(known.reached) and np.isnan(known.spread):
        return "Nobody has a rate, so fairness has no cost."
    price = 100 * (known.error - curve.unconstrained.error)
    if abs(price) < 100 * ROUNDING or f"{abs(price):.1f}" == "0.0":
        cost = "the same error as with nothing asked"
    else:
        way = "more" if price > 0 else "fewer"
        cost = f"{abs(price):.1f} {way} wrong decisions in a hundred than with nothing asked"
    if badge is Badge.OBSERVED:
        change = known.unconstrained_reached, known.reached
        said = f"{figure(change[1])} instead of {figure(change[0])} on the training people"
        return f"{said}, with {cost.removesuffix(' than with nothing asked')}."
    said = "Kept" if badge is Badge.PASS else "Not kept"
    return f"{said} on the training people: {cost}."
