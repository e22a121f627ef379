"""What the page of a trade-off curve shows, as plain numbers, lists and words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.certificate import Certificate
from averagefair.errors import InputError
from averagefair.frontier import Frontier, FrontierPoint
from averagefair.generalisation import BETA, Corner, Generalisation
from averagefair.measure import Meter
from averagefair.mixture import Mixture
from averagefair.parts import Part
from averagefair.rates import ErrorRate, resolve_rates, spoken
from averagefair.request import ROUNDING
from averagefair.sample import FloatArray, Sample
from averagefair.text import counted, figure, percent, plain

WORST = 50
"""How many of the worst-off are listed at each alpha."""
LEAST_BINS, MOST_BINS = 20, 60
# Rates that a constraint holds at the same bound differ by rounding.
SAME = 9
CORNERS = {
    "training": "Training people, training tasks",
    "people": "New people, training tasks",
    "tasks": "Training people, new tasks",
    "both": "New people, new tasks",
}


def read_training(curve: Frontier, Y: Any) -> Sample:
    """Return the people a curve was learned from, with these labels; refuse other labels."""
    point = curve[0]
    model, people = point.model, point.model.training_individuals()
    sample = people.with_labels(Y)
    if not sample.named_tasks and sample.m == len(model.task_names_):
        sample = people.with_labels(Y, task_names=model.task_names_)
    sample.check_tasks(model.task_names_, model.classifiers_.named_tasks, "Y")
    learned = sample.with_task_weights(model.task_weights_)
    aside = set(model.holdout_task_names_)
    kept = [place for place, name in enumerate(model.task_names_) if name not in aside]
    places = np.array(kept, dtype=np.intp)

    def decide(features: Any) -> Any:
        space, chances = learned.space, model.classifiers_.chances(features)
        return space.xp.take(chances, space.asarray(places), axis=1)

    error = Meter(learned.take_tasks(places), ErrorRate())(decide).error
    if not np.isclose(error, point.error, rtol=0.0, atol=ROUNDING, equal_nan=True):
        raise InputError(
            "Y must be the labels the curve was learned from, its rows in the same order; with "
            f"these the model of alpha {point.alpha:g} errs on {error:.4f}, not {point.error:.4f}."
        )
    return sample


def frontier_data(
    curve: Frontier, sample: Sample, test: Generalisation, start: int
) -> dict[str, Any]:
    """Return what the page shows of a curve.

    Parameters
    ----------
    curve : Frontier
    sample : Sample
        The people, tasks and labels it was learned from.
    test : Generalisation
        The curve out of sample; with the training corner alone where nothing was held out.
    start : int
        The place of the alpha to start with.
    """
    model = curve[0].model
    names = [spoken(rate.name) for rate in resolve_rates(model.rate)]
    present = model.mapping_.individuals.individual_weights > 0
    free = _columns(curve.unconstrained.rates, present)
    reached = [_columns(point.model.individual_rates_, present) for point in curve]
    common = [np.atleast_1d(point.certificate.common_rate) for point in curve]
    rates = [
        _rate(
            name,
            free[k],
            [rates[k] for rates in reached],
            [(float(one[k]), point.alpha) for one, point in zip(common, curve, strict=True)],
            sample,
        )
        for k, name in enumerate(names)
    ]
    spreads = [np.ptp(one[~np.isnan(one)]) if (~np.isnan(one)).any() else -1.0 for one in free]
    errors = [task_errors(point.model.classifiers_, sample) for point in curve]
    out: dict[str, Any] = plain(
        {
            "start": start,
            "people": sample.n,
            "tasks": sample.m,
            "features": sample.feature_count,
            "rates": rates,
            "widest_rate": int(np.argmax(spreads)),
            "unconstrained": {
                "error": curve.unconstrained.error,
                "spread": curve.unconstrained.spread,
            },
            "points": [
                _point(point) | {"carried": _carried(test, place)}
                for place, point in enumerate(curve)
            ],
            "task_names": list(sample.task_names),
            # More digits than are shown: what is rounded twice may end on the wrong side.
            "task_errors": [np.round(one, 9) for one in errors],
            "corners": {name: _corner(name, corner) for name, corner in test.corners.items()},
            "beta": BETA,
            "confidence": test.training.confidence,
        }
    )
    return out


def task_errors(classifiers: Mixture, sample: Sample) -> FloatArray:
    """Return the share of wrong decisions in each task, everybody alike; NaN without labels.

    Parameters
    ----------
    classifiers : Mixture
        Of the sample's tasks.
    sample : Sample

    Returns
    -------
    array, shape (m,)
    """
    wrong, seen = sample.total(_wrong_and_seen, classifiers=classifiers)
    return np.asarray(wrong / np.where(seen > 0, seen, np.nan))


def _wrong_and_seen(part: Part, *, classifiers: Mixture) -> FloatArray:
    """Return how many decisions on each task are wrong, in expectation, and how many there are."""
    total = np.zeros((2, part.signs.shape[1]))
    for rows in part.blocks(part.signs.shape[1]):
        signs = part.space.to_host(part.signs[rows, :])
        chances = part.space.to_host(classifiers.chances(part.features[rows, :]))
        total[0] += (np.abs(chances - (signs < 0)) * (signs != 0)).sum(axis=0)
        total[1] += (signs != 0).sum(axis=0)
    return total


def worst_off(rates: FloatArray, free: FloatArray, count: int = WORST) -> NDArray[np.intp]:
    """Return the places of the highest rates, the worst first.

    Of equal rates, first whoever is worse off without a constraint. NaN is nobody's rate.

    Parameters
    ----------
    rates, free : array, shape (n,)
        At the alpha asked for, and without a constraint.

    Examples
    --------
    >>> worst_off(np.array([0.2, np.nan, 0.3, 0.3]), np.array([0.1, 0.5, 0.2, 0.4]))
    array([3, 2, 0])
    """
    order = np.lexsort((-np.nan_to_num(free, nan=-1.0), -np.round(rates, SAME)))
    return np.asarray(order[: np.count_nonzero(~np.isnan(rates))][:count])


def band_edges(low: float, high: float, tasks: int, common: float, alpha: float) -> FloatArray:
    """Return the edges of at most 60 bins from the lowest rate to the highest.

    The band of the common rate plus and minus alpha is a whole number of bins, so that nobody
    inside is drawn outside; where it is narrower than a bin, it lies in the middle of one.
    Unconstrained rates are often whole numbers of tasks, and bins narrower than a task would make a
    comb of them: bins are a task wide or more, where that leaves 20.

    Parameters
    ----------
    low, high : float
        The lowest and the highest rate to be shown.
    tasks : int
    common, alpha : float

    Examples
    --------
    >>> band_edges(0.05, 0.4, 10, common=0.2, alpha=0.1).round(3)[:4]
    array([0.045, 0.064, 0.082, 0.1  ])
    """
    reach = max(high - low, 0.01)
    least = max(reach / (MOST_BINS - 2), min(1.0 / tasks, reach / LEAST_BINS))
    inside = int(2.0 * alpha / least + ROUNDING)
    width = 2.0 * alpha / inside if inside else least
    first = common - 0.5 * width * max(1, inside)
    before = int(np.floor((low - first) / width - ROUNDING))
    after = int(np.ceil((high - first) / width + ROUNDING))
    edges: FloatArray = np.asarray(
        first + width * np.arange(before, max(after, before + 1) + 1), dtype=np.float64
    )
    edges = _within(edges, width / 2, (common - alpha, common + alpha))
    # Whoever a constraint holds at the end of the band is inside, but for rounding.
    edges[edges < common] -= ROUNDING
    edges[edges >= common] += ROUNDING
    return np.asarray(edges, dtype=np.float64)


def _within(edges: FloatArray, least: float, band: tuple[float, float]) -> FloatArray:
    """Cut bins to [0, 1], since a rate is a share; what is left of an outer bin joins the next.

    Unless it is at least so wide, or ends where the band ends.
    """
    first, last = max(edges[0], 0.0), min(edges[-1], 1.0)
    inner = edges[(edges > first + ROUNDING) & (edges < last - ROUNDING)]
    if inner.size and inner[0] - first < least and abs(inner[0] - band[0]) > ROUNDING:
        inner = inner[1:]
    if inner.size and last - inner[-1] < least and abs(inner[-1] - band[1]) > ROUNDING:
        inner = inner[:-1]
    return np.concatenate([[first], inner, [last]])


def _columns(rates: FloatArray, present: NDArray[np.bool_]) -> FloatArray:
    """Return a row for each rate, shape (rates, n); people of weight 0 have none."""
    return np.asarray(np.where(present, rates.reshape(len(rates), -1).T, np.nan))


def _rate(
    name: str,
    free: FloatArray,
    reached: list[FloatArray],
    bands: list[tuple[float, float]],
    sample: Sample,
) -> dict[str, Any]:
    """Return how one rate is distributed and who is worst off, at every alpha.

    ``bands`` are the common rate and alpha of every point.
    """
    known = np.concatenate([free, *reached])
    known = known[~np.isnan(known)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    edges = [
        band_edges(low, high, sample.m, 0.5 if np.isnan(common) else common, alpha)
        for common, alpha in bands
    ]
    return {
        "name": name,
        "low": min(float(one[0]) for one in edges),
        "high": max(float(one[-1]) for one in edges),
        "edges": [np.round(one, 7) for one in edges],
        "unconstrained": [_counts(free, one) for one in edges],
        "histograms": [_counts(rates, one) for rates, one in zip(reached, edges, strict=True)],
        "undefined": int(np.count_nonzero(np.isnan(reached[0]))),
        "worst_off": [_worst(rates, free, sample) for rates in reached],
    }


def _counts(rates: FloatArray, edges: FloatArray) -> list[int]:
    counts: list[int] = np.histogram(rates[~np.isnan(rates)], edges)[0].tolist()
    return counts


def _worst(rates: FloatArray, free: FloatArray, sample: Sample) -> dict[str, Any]:
    places = worst_off(rates, free)
    # How many more are as badly off as the last one listed.
    last = rates[places[-1]] if places.size else np.nan
    as_badly = int(np.count_nonzero(rates >= last - 10.0**-SAME))
    return {
        "name": sample.individual_names[places].tolist(),
        "rate": rates[places],
        "unconstrained": free[places],
        "more": max(0, as_badly - places.size),
    }


def _point(point: FrontierPoint) -> dict[str, Any]:
    row = point.to_dict()
    common = row["common_rate"]
    return row | {
        "common_rate": list(common) if isinstance(common, tuple) else [common],
        "label": f"{point.alpha:g}",
        "outside_text": percent(point.certificate.outside),
        "statement": point.statement(),
        "met": point.certificate.met,
        "certificate": certificate_lines(point.certificate),
    }


def _carried(test: Generalisation, place: int) -> str:
    """Say how near people are on the hardest of what was held out."""
    name, corner = list(test.corners.items())[-1]
    if name == "training":
        return ""
    text = (
        f"{CORNERS[name]}: the error is {figure(corner.error[place])}, and all "
        f"but {percent(BETA)} of the people are within {figure(corner.near[place])} of a common "
        "rate as observed"
    )
    if corner.learned_tasks:
        return f"{text} on these tasks. That says nothing of tasks that were not learned from."
    return f"{text}, where noise alone would make it {figure(corner.floor[place])}."


def certificate_lines(known: Certificate) -> list[list[str]]:
    """Return the lines of a certificate, each with what it is about."""
    return [[about, line] for about, text in known.lines() for line in text.splitlines()]


def _corner(name: str, corner: Corner) -> dict[str, Any]:
    columns = {
        column: np.round(getattr(corner, column), 9)
        for column in corner.__dataclass_fields__
        if isinstance(getattr(corner, column), np.ndarray)
    }
    about = {"name": CORNERS[name], "n": corner.n, "m": corner.m}
    return about | {"learned_tasks": corner.learned_tasks, **columns}


def curve_table(data: dict[str, Any]) -> dict[str, Any]:
    """Return the whole curve as written: the head and a row of cells for each alpha."""
    known = [point["gap"] is not None for point in data["points"]]
    rows = [
        [
            point["label"],
            _written(point["error"]),
            _written(point["spread"]),
            "unknown" if point["outside"] is None else percent(point["outside"]),
            " ".join(map(_written, point["common_rate"])),
            *([_written(point["gap"])] if any(known) else []),
            str(point["columns"]),
            _written(point["seconds"], 2),
            _written(point["coin_flips"]),
        ]
        for point in data["points"]
    ]
    gap = ["gap"] if any(known) else []  # nothing is known of it anywhere: no column
    head = ["alpha", "error", "spread", "outside", "common rate", *gap, "columns", "seconds"]
    return {"head": [*head, "coin flips"], "rows": rows}


def worst_table(data: dict[str, Any]) -> list[list[str]]:
    """Return who is worst off at the alpha to start with, as written."""
    worst = data["rates"][data["widest_rate"]]["worst_off"][data["start"]]
    columns = (worst["rate"], worst["unconstrained"])
    written = ([_written(value) for value in column] for column in columns)
    return [list(row) for row in zip(map(str, worst["name"]), *written, strict=True)]


def corner_tables(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what carries over as written, a table for each kind of people and tasks held out."""
    return [
        {
            "key": name,
            "name": corner["name"],
            "size": f"{counted(corner['n'], 'person', 'people')}, {counted(corner['m'], 'task')}"
            + (", as observed" if corner["learned_tasks"] else ""),
            "rows": [
                [
                    point["label"],
                    _with_interval(corner, "error", place),
                    _written(corner["spread"][place]),
                    _written(corner["near"][place]),
                    *_true_rates(corner, place),
                ]
                for place, point in enumerate(data["points"])
            ],
        }
        for name, corner in data["corners"].items()
        if name != "training"
    ]


def _true_rates(corner: dict[str, Any], place: int) -> list[str]:
    """Return the cells about true rates; empty on tasks that were learned from."""
    if corner["learned_tasks"]:
        return ["", "", ""]
    cells = [_written(corner[name][place]) for name in ("floor", "denoised")]
    return [*cells, _with_interval(corner, "sigma", place)]


def _with_interval(corner: dict[str, Any], name: str, place: int) -> str:
    value, low, high = (corner[key][place] for key in (name, f"{name}_low", f"{name}_high"))
    if low is None or high is None:
        return _written(value)
    return f"{_written(value)} ({_written(low)} to {_written(high)})"


def _written(value: float | None, digits: int = 4) -> str:
    return "unknown" if value is None else figure(value, digits)
