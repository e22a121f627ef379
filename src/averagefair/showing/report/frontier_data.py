"""The data of a trade-off curve's page, as plain numbers, lists and strings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair._util.text import figure, percent, plain
from averagefair.errors import InputError
from averagefair.evaluation.generalisation import BETA, CornerCurve, Generalisation
from averagefair.frontier import Frontier, FrontierPoint
from averagefair.game.certificate import Certificate
from averagefair.game.measure import Meter
from averagefair.game.mixture import Mixture
from averagefair.game.promises import ROUNDING, Cap, Equal
from averagefair.game.rates import ErrorRate, Rates, spoken
from averagefair.people.parts import Part
from averagefair.people.sample import Sample
from averagefair.showing.report.bins import (
    band_edges,
    cap_edges,
    step_band,
    step_edges,
    steps_of,
)
from averagefair.showing.report.promise_words import promise_words, reached_name
from averagefair.showing.strip import ROOM, strip

WORST = 50
"""The page lists this many worst-off people at each point."""
MOST_DOTS = 250
"""A strip of one point draws this many people at most, since a page has a strip for each point."""
# Rates at the same bound of a constraint differ only by rounding: compare this many decimals.
SAME = 9
CORNERS = {
    "training": "Training people, training tasks",
    "people": "New people, training tasks",
    "tasks": "Training people, new tasks",
    "both": "New people, new tasks",
}


def read_training(curve: Frontier, Y: Any) -> Sample:
    """Return the training people with these labels; refuse labels of another training set."""
    point = curve[0]
    model, people = point.model, point.model.training_individuals()
    sample = people.with_labels(Y)
    if not sample.named_tasks and sample.m == len(model.task_names_):
        sample = people.with_labels(Y, task_names=model.task_names_)
    sample.check_tasks(model.task_names_, model.classifiers_.named_tasks, "Y")
    learned = sample.with_task_weights(model.task_weights_)
    aside = set(model.holdout_task_names_)
    kept = [task for task, name in enumerate(model.task_names_) if name not in aside]
    tasks = np.array(kept, dtype=np.intp)

    def decide(features: Any) -> Any:
        space, chances = learned.space, model.classifiers_.chances(features)
        return space.xp.take(chances, space.asarray(tasks), axis=1)

    error = Meter(learned.take_tasks(tasks), ErrorRate())(decide).error
    if not np.isclose(error, point.error, rtol=0.0, atol=ROUNDING, equal_nan=True):
        raise InputError(
            "Y must be the labels that the curve was trained on, with rows in the same order. With "
            f"this Y the error at {promise_words(curve).figure} {point.value:g} is {error:.4f}, "
            f"not {point.error:.4f}."
        )
    return sample


def frontier_data(
    curve: Frontier, sample: Sample, test: Generalisation, start: int
) -> dict[str, Any]:
    """Return the data that the page shows for a curve.

    Parameters
    ----------
    curve : Frontier
    sample : Sample
        The people, tasks and labels that the curve was trained on.
    test : Generalisation
        The held-out results; only the training corner if nothing was held out. A corner combines
        training or new people with training or new tasks.
    start : int
        The index of the point that the page opens at.
    """
    model, words = curve[0].model, promise_words(curve)
    names = [spoken(rate.name) for rate in Rates.of(model.rate)]
    present = model.training_individuals().individual_weights > 0
    free = _columns(curve.unconstrained.rates, present)
    reached = [_columns(point.model.individual_rates_, present) for point in curve]
    common = [np.atleast_1d(point.certificate.common_rate) for point in curve]
    equal = isinstance(curve[0].promise, Equal)
    rates = [
        _rate(
            name,
            free[k],
            [rates[k] for rates in reached],
            [
                (float(rate[k]), point.value) if equal else (point.certificate.reached, None)
                for rate, point in zip(common, curve, strict=True)
            ],
            sample,
        )
        for k, name in enumerate(names)
    ]
    errors = [task_errors(point.model.classifiers_, sample) for point in curve]
    out: dict[str, Any] = plain(
        {
            "start": start,
            "figure": words.figure,
            "meaning": words.meaning,
            "equal": equal,
            "lower_is_fairer": words.lower_is_fairer,
            # The easiest promise: with the largest alpha or cap, or the lowest price.
            "easiest": len(curve) - 1 if words.lower_is_fairer else 0,
            "people": sample.n,
            "tasks": sample.m,
            "features": sample.feature_count,
            "rates": rates,
            "widest_rate": _widest(free),
            "unconstrained": {
                "error": curve.unconstrained.error,
                "spread": curve.unconstrained.spread,
            },
            # Whether decisions are fixed; else they are drawn by the chances found.
            "fixed": curve[0].certificate.decisions == "fixed",
            "points": [
                _point(point) | {"carried": _carried(test, index, equal=equal)}
                for index, point in enumerate(curve)
            ],
            "task_names": list(sample.task_names),
            # Keep more digits than the page shows: rounding twice may round the wrong way.
            "task_errors": [np.round(column, 9) for column in errors],
            "corners": {name: _corner(name, corner) for name, corner in test.corners.items()},
            "beta": BETA,
            "confidence": test.training.confidence,
        }
    )
    return out


def frontier_strips(curve: Frontier) -> list[str]:
    """Return the strip of everybody's rate at each point, all on one axis.

    With several rates, the strips show the one that differs most with nothing asked.
    """
    model = curve[0].model
    names = [spoken(rate.name) for rate in Rates.of(model.rate)]
    present = model.training_individuals().individual_weights > 0
    free = _columns(curve.unconstrained.rates, present)
    widest = _widest(free)
    rates = [_columns(point.model.individual_rates_, present)[widest] for point in curve]
    known = np.concatenate([free[widest], *rates])
    known = known[~np.isnan(known)]
    ends = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    what = f"{names[widest]} rate"
    return [
        strip(own, _band(point, widest), what, ends=ends, most=MOST_DOTS, least_room=ROOM)
        for own, point in zip(rates, curve, strict=True)
    ]


def _band(point: FrontierPoint, rate: int) -> tuple[float, float] | None:
    """Return the rates that a point's promise allows, if it has such a band."""
    if isinstance(point.promise, Equal):
        common = float(np.atleast_1d(point.certificate.common_rate)[rate])
        return None if np.isnan(common) else (common - point.value, common + point.value)
    return (0.0, point.value) if isinstance(point.promise, Cap) else None


def _widest(columns: FloatArray) -> int:
    """Return the rate that differs most between people."""
    known = [column[~np.isnan(column)] for column in columns]
    return int(np.argmax([np.ptp(column) if column.size else -1.0 for column in known]))


def task_errors(classifiers: Mixture, sample: Sample) -> FloatArray:
    """Return the share of wrong decisions in each task, people weighted equally; NaN if unlabelled.

    Parameters
    ----------
    classifiers : Mixture
        The classifiers of the sample's tasks.
    sample : Sample

    Returns
    -------
    array, shape (m,)
    """
    wrong, seen = sample.total(_wrong_and_seen, classifiers=classifiers)
    return np.asarray(wrong / np.where(seen > 0, seen, np.nan))


def _wrong_and_seen(part: Part, *, classifiers: Mixture) -> FloatArray:
    """Return the expected number of wrong decisions and the number of labels, for each task."""
    total = np.zeros((2, part.signs.shape[1]))
    for rows in part.blocks(part.signs.shape[1]):
        signs = part.space.to_host(part.signs[rows, :])
        chances = part.space.to_host(classifiers.chances(part.features[rows, :]))
        total[0] += (np.abs(chances - (signs < 0)) * (signs != 0)).sum(axis=0)
        total[1] += (signs != 0).sum(axis=0)
    return total


def worst_off(rates: FloatArray, free: FloatArray, count: int = WORST) -> NDArray[np.intp]:
    """Return the row numbers of the highest rates, the highest first.

    Among equal rates, a higher unconstrained rate comes first. People with a NaN rate are left out.

    Parameters
    ----------
    rates, free : array, shape (n,)
        Rates at the requested point, and without a constraint.

    Examples
    --------
    >>> worst_off(np.array([0.2, np.nan, 0.3, 0.3]), np.array([0.1, 0.5, 0.2, 0.4]))
    array([3, 2, 0])
    """
    order = np.lexsort((-np.nan_to_num(free, nan=-1.0), -np.round(rates, SAME)))
    return np.asarray(order[: np.count_nonzero(~np.isnan(rates))][:count])


def _columns(rates: FloatArray, present: NDArray[np.bool_]) -> FloatArray:
    """Return a row for each rate, shape (rates, n); NaN for people of weight 0."""
    return np.asarray(np.where(present, rates.reshape(len(rates), -1).T, np.nan))


def _rate(
    name: str,
    free: FloatArray,
    reached: list[FloatArray],
    bands: list[tuple[float, float | None]],
    sample: Sample,
) -> dict[str, Any]:
    """Return the distribution of one rate and the worst-off people, at every point.

    ``bands`` holds the common rate and alpha of every point; without a common rate, the figure
    reached and None.
    """
    known = np.concatenate([free, *reached])
    known = known[~np.isnan(known)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    limits = [_limits(*band) for band in bands]
    steps = steps_of(known, sample.m)
    if steps:
        edges = [step_edges(low, high, steps, limit) for limit in limits]
        limits = [limit and step_band(limit, steps) for limit in limits]
    else:
        edges = [
            cap_edges(low, high, sample.m, common)
            if alpha is None
            else band_edges(low, high, sample.m, 0.5 if np.isnan(common) else common, alpha)
            for common, alpha in bands
        ]
    return {
        "name": name,
        "low": min(float(bins[0]) for bins in edges),
        "high": max(float(bins[-1]) for bins in edges),
        "edges": [np.round(bins, 7) for bins in edges],
        # If all rates are multiples of a step, bars are centred on them, and so is the band.
        "step": 1.0 / steps if steps else None,
        "bands": limits,
        "unconstrained": [_counts(free, bins) for bins in edges],
        "histograms": [_counts(rates, bins) for rates, bins in zip(reached, edges, strict=True)],
        "undefined": int(np.count_nonzero(np.isnan(reached[0]))),
        "worst_off": [_worst(rates, free, sample) for rates in reached],
    }


def _limits(common: float, alpha: float | None) -> tuple[float, float] | None:
    """Return the lowest and the highest rate inside, if the promise has a band."""
    if alpha is None or np.isnan(common):
        return None
    return common - alpha, common + alpha


def _counts(rates: FloatArray, edges: FloatArray) -> list[int]:
    counts: list[int] = np.histogram(rates[~np.isnan(rates)], edges)[0].tolist()
    return counts


def _worst(rates: FloatArray, free: FloatArray, sample: Sample) -> dict[str, Any]:
    rows = worst_off(rates, free)
    # Count the people with the same rate as the last person listed.
    last = rates[rows[-1]] if rows.size else np.nan
    as_badly = int(np.count_nonzero(rates >= last - 10.0**-SAME))
    return {
        "name": sample.individual_names[rows].tolist(),
        "rate": rates[rows],
        "unconstrained": free[rows],
        "more": max(0, as_badly - rows.size),
    }


def _point(point: FrontierPoint) -> dict[str, Any]:
    known = point.certificate
    common = np.atleast_1d(known.common_rate)
    return point.to_dict() | {
        "value": point.value,
        "reached": known.reached,
        "outside": known.outside,
        "common_rate": common.tolist(),
        "label": f"{point.value:g}",
        "statement": point.statement(),
        "met": known.met,
        "by_chances": None if known.by_chances is None else known.by_chances.to_dict(),
        "certificate": certificate_lines(known),
        "shown": _figures(point),
        "live": _live(point),
    }


def _live(point: FrontierPoint) -> list[dict[str, str]]:
    """Return the figures beside the slider: error, spread or figure reached, and who pays."""
    known, pays = point.certificate, point.to_dict()
    figures = {"error": ("error", figure(known.error))}
    if isinstance(point.promise, Equal):
        figures["spread"] = ("spread", figure(known.spread))
    else:
        figures["reached"] = (reached_name(point.promise).lower(), figure(known.reached))
    for name in ("better", "worse"):
        figures[name] = (f"{name} off", _share(pays[name]))
    return [{"key": key, "name": name, "value": value} for key, (name, value) in figures.items()]


def _share(share: float) -> str:
    return "unknown" if np.isnan(share) else percent(round(share, 3))


def figure_names(curve: Frontier) -> list[dict[str, str]]:
    """Return the figures of a point in the order of the page: key, name and meaning."""
    free, several = curve.unconstrained, len(Rates.of(curve[0].model.rate)) > 1
    promise, known = curve[0].promise, curve[0].certificate
    names = ", ".join(spoken(rate.name) for rate in Rates.of(curve[0].model.rate))
    before = _written(known.unconstrained_reached)
    listed = [
        (
            "error",
            "Error",
            f"Share of wrong decisions; {_written(free.error)} without a constraint.",
        ),
        (
            "spread",
            "Spread",
            f"Highest minus lowest individual rate; {_written(free.spread)} without a constraint.",
        ),
    ]
    if isinstance(promise, Equal):
        listed += [
            (
                "common_rate",
                "Common rates" if several else "Common rate",
                f"The rate that everybody should be close to{f' ({names})' if several else ''}.",
            ),
            ("outside", "Outside", "Share of people further than alpha from the common rate."),
            (
                "coin_flips",
                "Coin flips",
                "Error if coin flips were mixed in to reach the same fairness.",
            ),
        ]
    else:
        exempt = f" of all but {percent(promise.exempt_share)}" if promise.exempt_share else ""
        words = f"{promise.figure_words()}{exempt}"
        listed.append(
            (
                "reached",
                reached_name(promise),
                f"The {words}; {before} with nothing asked.",
            )
        )
        if promise.exempt_share:
            listed.append(("outside", "Outside", "Share of people above the cap."))
    if known.decisions == "fixed":
        averages = "if decisions are drawn by the chances found, on average over draws."
        if known.by_chances is not None:
            listed.append(("chance_error", "Error by chances", f"Error {averages}"))
            listed.append(("chance_spread", "Spread by chances", f"Spread {averages}"))
        columns = "Number of classifiers in the solver's mixture; one is chosen for each task."
    else:
        columns = "Number of classifiers mixed for each task."
    listed.append(("columns", "Columns", columns))
    return [dict(zip(("key", "name", "meaning"), own, strict=True)) for own in listed]


def _figures(point: FrontierPoint) -> dict[str, list[str]]:
    """Return the figures of a point by key: as text, and as the exact value."""
    known, equal = point.certificate, isinstance(point.promise, Equal)
    common = np.atleast_1d(known.common_rate).tolist()
    numbers = {"error": known.error, "spread": known.spread, "reached": known.reached}
    if equal:
        numbers["coin_flips"] = point.coin_flips
    if known.by_chances is not None:
        numbers["chance_error"] = known.by_chances.error
        numbers["chance_spread"] = known.by_chances.spread
    outside = "unknown" if np.isnan(known.outside) else percent(known.outside)
    return {
        **{name: [_written(value), _exact(value)] for name, value in numbers.items()},
        "outside": [outside, _exact(known.outside)],
        "common_rate": [", ".join(map(_written, common)), ",".join(map(_exact, common))],
        "columns": [str(known.columns), str(known.columns)],
    }


def _exact(value: float) -> str:
    return "" if np.isnan(value) else repr(float(value))


def _carried(test: Generalisation, index: int, *, equal: bool) -> str:
    """Return the held-out result in words, for the hardest corner that was held out."""
    name, corner = list(test.corners.items())[-1]
    if name == "training":
        return ""
    how = " (each left out in turn)" if corner.cross_fitted else ""
    text = f"{CORNERS[name]}{how}: the error is {figure(corner.error[index])}."
    pays = corner.who_pays[index] if corner.who_pays else None
    if pays is not None and pays.people:
        text += f" The worst-off tenth's mean rate goes from {pays.worst_off}."
    if equal:
        text += (
            f" All but {percent(BETA)} of the observed rates are within "
            f"{figure(corner.near[index])} of a common rate."
        )
        if not corner.learned_tasks:
            text += f" Noise alone would give {figure(corner.floor[index])}."
    if corner.learned_tasks:
        text += " This describes the training tasks only, not new tasks."
    return text


def certificate_lines(known: Certificate) -> list[list[str]]:
    """Return the lines of a certificate, each with its topic."""
    return [[about, line] for about, text in known.lines() for line in text.splitlines()]


def _corner(name: str, corner: CornerCurve) -> dict[str, Any]:
    columns = {
        column: np.round(getattr(corner, column), 9)
        for column in corner.__dataclass_fields__
        if isinstance(getattr(corner, column), np.ndarray)
    }
    about = {"name": CORNERS[name], "n": corner.n, "m": corner.m, "size": corner.size}
    kind = {"learned_tasks": corner.learned_tasks, "cross_fitted": corner.cross_fitted}
    return about | kind | columns


def curve_table(data: dict[str, Any]) -> dict[str, Any]:
    """Return the curve as text: the head and a row of cells for each point."""
    columns: dict[str, Any] = {
        data["figure"]: lambda point: point["label"],
        "error": lambda point: _written(point["error"]),
        "spread": lambda point: _written(point["spread"]),
    }
    if data["equal"]:
        columns["outside"] = lambda point: (
            "unknown" if point["outside"] is None else percent(point["outside"])
        )
        columns["common rate"] = lambda point: " ".join(map(_written, point["common_rate"]))
    else:
        columns["reached"] = lambda point: _written(point["reached"])
    if any(point["gap"] is not None for point in data["points"]):  # else no gap is known
        columns["gap"] = lambda point: _written(point["gap"])
    if data["fixed"] and all(point["by_chances"] for point in data["points"]):
        for name in ("error", "spread"):
            columns[f"{name} by chances"] = lambda point, name=name: _written(
                point["by_chances"][name]
            )
    columns["columns"] = lambda point: str(point["columns"])
    columns["seconds"] = lambda point: _written(point["seconds"], 2)
    if data["equal"]:
        columns["coin flips"] = lambda point: _written(point["coin_flips"])
    rows = [[write(point) for write in columns.values()] for point in data["points"]]
    return {"head": list(columns), "rows": rows}


def worst_table(data: dict[str, Any]) -> list[list[str]]:
    """Return the worst-off people at the point that the page opens at, as text."""
    worst = data["rates"][data["widest_rate"]]["worst_off"][data["start"]]
    columns = (worst["rate"], worst["unconstrained"])
    written = ([_written(value) for value in column] for column in columns)
    return [list(row) for row in zip(map(str, worst["name"]), *written, strict=True)]


def corner_tables(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the held-out results as text, one table for each corner."""
    return [
        {
            "key": name,
            "name": corner["name"],
            "size": corner["size"] + (", as observed" if corner["learned_tasks"] else ""),
            "rows": [
                [
                    point["label"],
                    _with_interval(corner, "error", index),
                    _written(corner["spread"][index]),
                    _written(corner["near"][index]),
                    *_true_rates(corner, index),
                ]
                for index, point in enumerate(data["points"])
            ],
        }
        for name, corner in data["corners"].items()
        if name != "training"
    ]


def _true_rates(corner: dict[str, Any], index: int) -> list[str]:
    """Return the cells about true rates; empty for learned tasks (the training tasks)."""
    if corner["learned_tasks"]:
        return ["", "", ""]
    cells = [_written(corner[name][index]) for name in ("floor", "denoised")]
    return [*cells, _with_interval(corner, "sigma", index)]


def _with_interval(corner: dict[str, Any], name: str, index: int) -> str:
    value, low, high = (corner[key][index] for key in (name, f"{name}_low", f"{name}_high"))
    if low is None or high is None:
        return _written(value)
    return f"{_written(value)} ({_written(low)} to {_written(high)})"


def _written(value: float | None, digits: int = 3) -> str:
    return "unknown" if value is None else figure(value, digits)
