"""Classifiers in a file: stacked arrays for each kind, with each hypothesis's position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from averagefair._util.text import plain
from averagefair.errors import InputError
from averagefair.game.constant_classifiers import Constant
from averagefair.game.mixture import Mixture
from averagefair.game.protocols import Hypothesis
from averagefair.oracles.linear import LinearThresholds
from averagefair.oracles.portfolio import PerTaskChoice
from averagefair.oracles.stump import Stumps
from averagefair.oracles.weighted import FittedClassifiers
from averagefair.people.parts import Part
from averagefair.people.sample import Sample
from averagefair.people.storage import ArrayRows
from averagefair.persistence.container import Arrays
from averagefair.persistence.contents import Contents
from averagefair.persistence.estimators import from_bytes, made_with, to_bytes
from averagefair.persistence.feature_maps import read_map, write_map


class Stored(NamedTuple):
    """The shape ("d" features, "m" tasks) and dtype kind of an array of one hypothesis."""

    shape: str
    kind: str = "f"
    finite: bool = True


class Sizes(NamedTuple):
    """The numbers of features and tasks of the hypotheses."""

    d: int
    m: int


PLAIN: dict[str, tuple[type[Any], dict[str, Stored]]] = {
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
"""Hypotheses made of arrays alone. The others are lists of scikit-learn's classifiers ("fitted"),
and choices among hypotheses further down the list ("chosen")."""
KNOWN = (*(kind for kind, _ in PLAIN.values()), FittedClassifiers, PerTaskChoice)


def storable(hypothesis: Hypothesis) -> bool:
    """Return whether a file can hold this hypothesis."""
    inside = hypothesis.hypotheses if isinstance(hypothesis, PerTaskChoice) else ()
    return type(hypothesis) in KNOWN and all(storable(member) for member in inside)


def write_hypotheses(hypotheses: Sequence[Hypothesis], arrays: Arrays) -> dict[str, Any]:
    """Add the arrays of a list of hypotheses; return their entries in the manifest."""
    other = [hypothesis for hypothesis in hypotheses if not storable(hypothesis)]
    if other:
        raise InputError(
            f"classifiers of type {type(other[0]).__name__} cannot be saved; only linear ones, "
            "stumps, constants, scikit-learn's own and choices among these can."
        )
    listed: list[Any] = list(hypotheses)
    members: list[list[int]] = []
    for hypothesis in listed:  # the list grows during the loop
        if isinstance(hypothesis, PerTaskChoice):
            members.append([*range(len(listed), len(listed) + len(hypothesis.hypotheses))])
            listed += hypothesis.hypotheses
    where = {
        kind: [place for place, hypothesis in enumerate(listed) if type(hypothesis) is kind]
        for kind in KNOWN
    }
    for name, (kind, parts) in PLAIN.items():
        if where[kind]:
            arrays[f"{name}.place"] = np.array(where[kind], dtype=np.int64)
            for part in parts:
                stacked = np.stack([getattr(listed[place], part) for place in where[kind]])
                arrays[f"{name}.{part}"] = stacked
    if members:
        arrays["chosen.place"] = np.array(where[PerTaskChoice], dtype=np.int64)
        arrays["chosen.choice"] = np.stack([listed[place].choice for place in where[PerTaskChoice]])
        arrays["chosen.members"] = np.concatenate(members)
        arrays["chosen.count"] = np.array([len(chosen) for chosen in members], dtype=np.int64)
    if not where[FittedClassifiers]:
        return {}
    found = [listed[place] for place in where[FittedClassifiers]]
    arrays["fitted.place"] = np.array(where[FittedClassifiers], dtype=np.int64)
    arrays["fitted.classifiers"] = to_bytes(
        [
            {
                "classifiers": list(fitted.classifiers),
                "classes": [plain(name) for name in fitted.classes],
            }
            for fitted in found
        ],
        "the classifiers",
    )
    return {"fitted": {"made_with": made_with()}}


def read_hypotheses(contents: Contents, count: int, sizes: Sizes) -> list[Hypothesis]:
    """Return the ``count`` hypotheses that `write_hypotheses` wrote."""
    found: dict[int, Hypothesis] = {}
    for name in PLAIN:
        if f"{name}.place" in contents.arrays:
            _put(found, name, contents, _read_plain(name, contents, sizes))
    if "fitted.place" in contents.arrays:
        _put(found, "fitted", contents, _read_fitted(contents, sizes))
    if "chosen.place" in contents.arrays:
        _read_chosen(found, contents, sizes)
    if sorted(found) != list(range(len(found))) or len(found) < count:
        raise ValueError("chances and classifiers differ in number")
    chosen = [hypothesis for hypothesis in found.values() if isinstance(hypothesis, PerTaskChoice)]
    inside = sum(len(hypothesis.hypotheses) for hypothesis in chosen)
    if len(found) != count + inside:
        raise ValueError("chances and classifiers differ in number")
    return [found[place] for place in range(count)]


def _put(
    found: dict[int, Hypothesis], name: str, contents: Contents, some: Sequence[Hypothesis]
) -> None:
    """Put the hypotheses of one kind in their positions."""
    places = contents.array(f"{name}.place", len(some), kind="i").tolist()
    if len({*places, *found}) < len(places) + len(found):
        raise ValueError(f"{name}.place names a place twice")
    found |= zip(places, some, strict=True)


def _read_plain(name: str, contents: Contents, sizes: Sizes) -> list[Hypothesis]:
    kind, parts = PLAIN[name]
    count = len(contents.array(f"{name}.place", None, kind="i"))
    arrays = {
        part: contents.array(
            f"{name}.{part}",
            count,
            *(getattr(sizes, axis) for axis in look.shape),
            kind=look.kind,
            finite=look.finite,
        )
        for part, look in parts.items()
    }
    if kind is Constant and (arrays["tasks"] != sizes.m).any():
        raise ValueError("constant.tasks is not the number of tasks")
    if kind is Stumps and not ((arrays["features"] >= 0) & (arrays["features"] < sizes.d)).all():
        raise ValueError("stumps.features are not among the features")
    if kind is Stumps and np.isnan(arrays["thresholds"]).any():
        raise ValueError("stumps.thresholds holds a cell that is not a number")
    return [
        kind(**{part: _scalar(array[row]) for part, array in arrays.items()})
        for row in range(count)
    ]


def _scalar(part: Any) -> Any:
    return part.item() if part.ndim == 0 else part


def _read_fitted(contents: Contents, sizes: Sizes) -> list[FittedClassifiers]:
    written = contents.manifest.get("fitted") or {}
    data = contents.array("fitted.classifiers", None, kind="u")
    listed = from_bytes(data, contents.trusted, "the classifiers", written.get("made_with"))
    found = []
    for fitted in listed:
        classifiers, classes = fitted["classifiers"], fitted["classes"]
        if type(classifiers) is not list or type(classes) is not list:
            raise ValueError("fitted.classifiers are not lists")
        words = all(isinstance(name, bool | int | float | str) for name in classes)
        if len(classifiers) != sizes.m or len(classes) != 2 or not words:
            raise ValueError("fitted.classifiers are not one for each task")
        for task in classifiers:
            takes = getattr(task, "n_features_in_", sizes.d)
            if type(task) is not bool and (not hasattr(task, "predict") or takes != sizes.d):
                raise ValueError("fitted.classifiers do not take the features")
        found.append(FittedClassifiers(classifiers, tuple(classes), contents.source))
    return found


def _read_chosen(found: dict[int, Hypothesis], contents: Contents, sizes: Sizes) -> None:
    places = contents.array("chosen.place", None, kind="i")
    choice = contents.array("chosen.choice", len(places), sizes.m, kind="i")
    counts = contents.array("chosen.count", len(places), kind="i")
    members = contents.array("chosen.members", None, kind="i").tolist()
    if (counts < 1).any() or (counts > len(members)).any() or counts.sum() != len(members):
        raise ValueError("chosen.members differ in number")
    if ((choice < 0) | (choice >= counts[:, None])).any():
        raise ValueError("chosen.choice is not among the members")
    if len(set(members)) < len(members):
        raise ValueError("chosen.members names a place twice")
    ends = np.cumsum(counts).tolist()
    # Start from the end: members are further down, and may be choices themselves.
    for row in reversed(range(len(places))):
        inside = members[ends[row] - counts[row] : ends[row]]
        place = int(places[row])
        if place in found or min(inside) <= place or not found.keys() >= set(inside):
            raise ValueError("chosen.members are not further down")
        found[place] = PerTaskChoice([found[member] for member in inside], choice[row])


def write_mixture(mixture: Mixture, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays of a mixture; return its entries in the manifest."""
    written = write_hypotheses(mixture.hypotheses, arrays)
    arrays["chances"] = mixture.probabilities
    names = mixture.feature_names
    return {
        "tasks": list(mixture.task_names),
        "named_tasks": mixture.named_tasks,
        "features": None if names is None else list(names),
        "feature_count": mixture.feature_count,
        "seed": mixture.seed,
        **written,
        **write_map(mixture.feature_map, arrays),
    }


def read_mixture(contents: Contents) -> Mixture:
    """Return the mixture that `write_mixture` wrote."""
    sample = _names_only(contents)
    chances = contents.simplex("chances", len(contents.arrays["chances"]))
    hypotheses = read_hypotheses(contents, len(chances), Sizes(sample.d, sample.m))
    return Mixture(hypotheses, chances, sample, contents.whole("seed"))


def _names_only(contents: Contents) -> Sample:
    """Return a sample without people that holds the names of features and tasks, and the map."""
    d, named_tasks = contents.whole("feature_count"), contents.flag("named_tasks")
    # New tasks without names are named after their labels: equal labels give equal names.
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


assert all({field.name for field in fields(kind)} == set(parts) for kind, parts in PLAIN.values())
