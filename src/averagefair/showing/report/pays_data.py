"""The data of a page's section "Who pays": one curve, or two beside each other."""

from __future__ import annotations

from typing import Any

from averagefair._util.text import figure, percent
from averagefair.evaluation.generalisation import Generalisation
from averagefair.frontier import Frontier
from averagefair.game.rates import Rates, spoken
from averagefair.game.who_pays import WhoPays
from averagefair.showing.report.promise_words import promise_words

HEAD = (
    *("error", "worst-off before", "worst-off after", "best-off before", "best-off after"),
    *("better off", "worse off"),
)


def pays_data(
    curves: list[tuple[Frontier, Generalisation]], corners: dict[str, str]
) -> dict[str, Any]:
    """Return who pays at every point of each curve, by corner.

    With several rates, it is the rate whose worst-off fare worst.

    Parameters
    ----------
    curves : list of (Frontier, Generalisation)
        The page's curve and, if given, the one beside it.
    corners : dict
        The names of the corners: the kinds of people and tasks.
    """
    first = curves[0][0]
    names = [spoken(own.name) for own in Rates.of(first[0].model.rate)]
    series = []
    for curve, measured in curves:
        words = promise_words(curve)
        labels = [f"{point.value:g}" for point in curve]
        known = {name: _corner(measured, name) for name in corners}
        known = {name: rows for name, rows in known.items() if any(rows)}
        series.append(
            {"name": words.series, "figure": words.figure, "labels": labels, "corners": known}
        )
    shown = [name for name in corners if any(name in own["corners"] for own in series)]
    return {
        "rate": names[0] if len(names) == 1 else "individual",
        "several": len(names) > 1,
        "given": first[0].certificate.against_given,
        "corners": {name: corners[name] for name in shown},
        "series": series,
    }


def _corner(measured: Generalisation, name: str) -> list[dict[str, Any] | None]:
    """Return who pays at each point on one corner; None where unknown."""
    corner = measured.corners.get(name)
    if corner is None or not corner.who_pays:
        return []
    both = zip(corner.error.tolist(), corner.who_pays, strict=True)
    return [_row(error, pays) for error, pays in both]


def _row(error: float, pays: WhoPays | None) -> dict[str, Any] | None:
    if pays is None or not pays.people:
        return None
    return {
        "error": error,
        "mean_change": pays.mean.change,
        "worst_before": pays.worst_off.before,
        "worst_after": pays.worst_off.after,
        "worst_change": pays.worst_off.change,
        "best_before": pays.best_off.before,
        "best_after": pays.best_off.after,
        "better": pays.better,
        "worse": pays.worse,
    }


def pays_tables(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the table as text: a group of rows for each corner and each curve."""
    return [
        {
            "name": name,
            "series": series["name"],
            "figure": series["figure"],
            "main": number == 0,
            "rows": [
                [label, *_cells(row)]
                for label, row in zip(series["labels"], series["corners"][key], strict=True)
            ],
        }
        for key, name in data["corners"].items()
        for number, series in enumerate(data["series"])
        if key in series["corners"]
    ]


def _cells(row: dict[str, Any] | None) -> list[str]:
    if row is None:
        return ["unknown"] * len(HEAD)
    numbers = ("error", "worst_before", "worst_after", "best_before", "best_after")
    shares = (percent(round(row[name], 3)) for name in ("better", "worse"))
    return [*("unknown" if row[name] is None else figure(row[name]) for name in numbers), *shares]
