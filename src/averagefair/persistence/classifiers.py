"""Classifiers in a file: each kind of hypothesis as stacked arrays, in the order of the mixture."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from averagefair.constants import Constant
from averagefair.errors import InputError
from averagefair.mixture import Mixture
from averagefair.oracles.linear import LinearThresholds
from averagefair.oracles.stump import Stumps
from averagefair.parts import Part
from averagefair.persistence.container import Arrays
from averagefair.persistence.contents import Contents
from averagefair.persistence.feature_maps import read_map, write_map
from averagefair.protocols import Hypothesis
from averagefair.rows import ArrayRows
from averagefair.sample import Sample


class Stored(NamedTuple):
    """What an array of one hypothesis looks like: its shape ("d" features, "m" tasks), its kind."""

    shape: str
    kind: str = "f"
    finite: bool = True


HYPOTHESES: dict[str, tuple[type[Any], dict[str, Stored]]] = {
    "linear": (LinearThresholds, {"coefficients": Stored("dm"), "intercepts": Stored("m")}),
    "stumps": (
        Stumps,
        {
            "features": Stored("m", "i"),
            "thresholds": Stored("m", finite=False),
            "upward": Stored("m", "b"),
        },
    ),
    "constant": (Constant, {"decision": Stored("", "b"), "tasks": Stored("", "i")}),
}


def write_mixture(mixture: Mixture, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays of a mixture; return what the manifest says of it."""
    known = [kind for kind, _ in HYPOTHESES.values()]
    other = [one for one in mixture.hypotheses if type(one) not in known]
    if other:
        raise InputError(
            f"classifiers of type {type(other[0]).__name__} cannot be saved; only linear ones, "
            "stumps and constants can."
        )
    for name, (kind, parts) in HYPOTHESES.items():
        places = [place for place, one in enumerate(mixture.hypotheses) if type(one) is kind]
        if places:
            arrays[f"{name}.place"] = np.array(places, dtype=np.int64)
            for part in parts:
                stacked = np.stack([getattr(mixture.hypotheses[place], part) for place in places])
                arrays[f"{name}.{part}"] = stacked
    arrays["chances"] = mixture.probabilities
    names = mixture.feature_names
    return {
        "tasks": list(mixture.task_names),
        "named_tasks": mixture.named_tasks,
        "features": None if names is None else list(names),
        "feature_count": mixture.feature_count,
        "seed": mixture.seed,
        **write_map(mixture.feature_map, arrays),
    }


def read_mixture(contents: Contents) -> Mixture:
    """Return the mixture that `write_mixture` wrote."""
    sample = _names_only(contents)
    chances = contents.simplex("chances", len(contents.arrays["chances"]))
    hypotheses: dict[int, Hypothesis] = {}
    for name in HYPOTHESES:
        if f"{name}.place" in contents.arrays:
            hypotheses |= _read_kind(name, contents, sample)
    if sorted(hypotheses) != list(range(len(chances))):
        raise ValueError("chances and classifiers differ in number")
    ordered = [hypotheses[place] for place in range(len(chances))]
    return Mixture(ordered, chances, sample, contents.whole("seed"))


def _read_kind(name: str, contents: Contents, sample: Sample) -> dict[int, Hypothesis]:
    kind, parts = HYPOTHESES[name]
    places = contents.array(f"{name}.place", None, kind="i")
    sizes = {"d": sample.d, "m": sample.m}
    arrays = {
        part: contents.array(
            f"{name}.{part}",
            len(places),
            *(sizes[axis] for axis in look.shape),
            kind=look.kind,
            finite=look.finite,
        )
        for part, look in parts.items()
    }
    if kind is Constant and (arrays["tasks"] != sample.m).any():
        raise ValueError("constant.tasks is not the number of tasks")
    if kind is Stumps and not ((arrays["features"] >= 0) & (arrays["features"] < sample.d)).all():
        raise ValueError("stumps.features are not among the features")
    if kind is Stumps and np.isnan(arrays["thresholds"]).any():
        raise ValueError("stumps.thresholds holds what is no number")
    rows = [
        {part: _scalar(array[row]) for part, array in arrays.items()} for row in range(len(places))
    ]
    found = {int(place): kind(**row) for place, row in zip(places, rows, strict=True)}
    if len(found) < len(places):
        raise ValueError(f"{name}.place names a place twice")
    return found


def _scalar(part: Any) -> Any:
    return part.item() if part.ndim == 0 else part


def _names_only(contents: Contents) -> Sample:
    """Return a sample of nobody that knows the names of features and tasks, and the map."""
    d, named_tasks = contents.whole("feature_count"), contents.flag("named_tasks")
    # Later tasks without names are called after their labels: two of the same labels are alike.
    distinct = named_tasks or contents.manifest["kind"] != "classifiers"
    tasks = contents.words("tasks", distinct=distinct)
    named, feature_map = contents.manifest["features"] is not None, read_map(contents)
    width = d if feature_map is None else feature_map.width
    return Sample._of(
        rows=ArrayRows(Part(np.empty((0, width)), np.empty((0, len(tasks)), dtype=np.int8))),
        individual_weights=np.empty(0),
        task_weights=np.full(len(tasks), 1.0 / max(1, len(tasks))),
        individual_names=np.empty(0, dtype=object),
        task_names=tasks,
        feature_names=contents.words("features", d) if named else None,
        indexed=False,
        named_tasks=named_tasks,
        feature_map=feature_map,
    )


assert all(
    {field.name for field in fields(kind)} == set(parts) for kind, parts in HYPOTHESES.values()
)
