"""Certificates, frontiers and their figures on held-out data in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from averagefair._util.text import counted, digits, figure, percent
from averagefair.evaluation.generalisation import BETA, CORNERS
from averagefair.game.promises import Equal
from averagefair.showing.headline import Badge
from averagefair.showing.notebook.elements import (
    Line,
    beside,
    box,
    changes,
    chart,
    details,
    finding,
    paragraph,
    spaced,
    table,
    title,
)

if TYPE_CHECKING:
    from averagefair.evaluation.generalisation import CornerCurve, Generalisation
    from averagefair.frontier import Frontier
    from averagefair.game.certificate import Certificate
    from averagefair.game.who_pays import WhoPays


def certificate_html(known: Certificate) -> str:
    """Return whether the promise is kept, who pays, and each line of the certificate."""
    required = known.promise.required or known.promise.no_harm is not None
    badge = (Badge.PASS if known.met else Badge.FAIL) if required else Badge.OBSERVED
    pays = [_pays(own, known, number) for number, own in enumerate(known.each_who_pays, 1)]
    return box(
        finding(
            "Is the promise kept on the training people and tasks?",
            f"{badge.value} {badge.word}",
            f"{known.asked()}.",
            badge.tone,
        ),
        *pays,
        details("the whole certificate", table((), known.lines(), words=True)),
    )


def _pays(pays: WhoPays, known: Certificate, number: int) -> str:
    if not pays.people:
        return ""
    several = len(known.each_who_pays) > 1
    against = "with the given rates" if known.against_given else "with nothing asked"
    parts = {
        "worst-off tenth": pays.worst_off,
        "mean": pays.mean,
        "median": pays.median,
        "best-off tenth": pays.best_off,
    }
    rows = [(name, own.before, own.after) for name, own in parts.items()]
    words = (
        f"{f'Rate {number}. ' if several else ''}Compared {against}, "
        f"{percent(round(pays.better, 3))} of the people are better off and "
        f"{percent(round(pays.worse, 3))} worse off. Rings: {against}. Dots: with this model."
    )
    return paragraph(words) + changes(rows, "rate")


def frontier_html(curve: Frontier) -> str:
    """Return the error and the worst-off tenth's rate at each value, as a chart and a table."""
    equal = isinstance(curve[0].promise, Equal)
    name = curve.parameter.replace("_", " ")
    x = np.array(curve.values)
    drawn = chart(
        x,
        [
            Line("error", np.array([point.error for point in curve])),
            Line("error with nothing asked", np.full(x.size, curve.unconstrained.error)),
            Line("mean rate of the worst-off tenth", np.array([own.worst_off for own in curve])),
        ],
        f"requested {name}",
        "on the training people and tasks",
    )
    rows = []
    for place in spaced(len(curve)):
        point = curve[place]
        own = point.to_dict()
        rows.append(
            [
                digits(point.value),
                figure(point.error),
                figure(point.spread if equal else point.certificate.reached),
                figure(point.worst_off),
                _share(own["better"]),
                _share(own["worse"]),
                "yes" if point.certificate.met else "no",
            ]
        )
    figures = ("spread" if equal else "reached", "worst-off tenth", "better off", "worse off")
    return box(
        title(
            f"What each {name} costs: {counted(len(curve), 'value')}, error "
            f"{figure(curve.unconstrained.error)} with nothing asked"
        ),
        drawn,
        table([name, "error", *figures, "kept"], rows),
        _left_out(len(rows), len(curve), "to_frame() has all."),
    )


def generalisation_html(found: Generalisation) -> str:
    """Return error and distance on training and held-out data, as charts and a table."""
    corners, x = found.corners, found.training.value
    name = found.parameter.replace("_", " ")
    errors = [
        Line(CORNERS[key], own.error, own.error_low, own.error_high) for key, own in corners.items()
    ]
    near = [Line(CORNERS[key], own.near) for key, own in corners.items()]
    distance = f"distance of {percent(1 - BETA)} from a common rate"
    level = percent(found.training.confidence)
    places = spaced(x.size)
    head = [name, *(CORNERS[key] for key in corners)]
    tables = []
    for figure_name in ("error", "near"):
        columns = [getattr(own, figure_name) for own in corners.values()]
        rows = [
            [digits(float(x[place])), *(figure(float(column[place])) for column in columns)]
            for place in places
        ]
        tables.append(table(head, rows))
    return box(
        title("The curve on training data and on held-out data"),
        beside(
            chart(x, errors, f"requested {name}", f"error, {level} CI") + tables[0],
            chart(x, near, f"requested {name}", f"{distance}, as observed") + tables[1],
        ),
        _left_out(len(places), x.size, "The arrays of each corner have all."),
        details("people and tasks", table((), _sizes(corners), words=True)),
        "" if len(corners) > 1 else paragraph("Nothing was held out: these are training figures."),
    )


def _sizes(corners: dict[str, CornerCurve]) -> list[tuple[str, str]]:
    return [(CORNERS[key], own.size) for key, own in corners.items()]


def _share(share: float) -> str:
    return "unknown" if np.isnan(share) else percent(round(share, 3))


def _left_out(shown: int, there: int, where: str) -> str:
    return "" if shown == there else paragraph(f"{shown} of {there:,} values are shown. {where}")
