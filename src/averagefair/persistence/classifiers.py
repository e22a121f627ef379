"""Classifiers in a file: joined arrays for each kind, with each hypothesis's position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from averagefair._util.text import plain
from averagefair.errors import InputError
from averagefair.game.constant_classifiers import Constant
from averagefair.game.mixture import Mixture
from averagefair.game.per_task_choice import PerTaskChoice
from averagefair.game.protocols import Hypothesis
from averagefair.oracles.linear import LinearThresholds
from averagefair.oracles.stump import Stumps
from averagefair.oracles.weighted import FittedClassifiers
from averagefair.people.parts import Part
from averagefair.people.sample import Sample
from averagefair.people.storage import ArrayRows
from averagefair.persistence.container import Arrays
from averagefair.persistence.contents import Contents
from averagefair.persistence.encoder import read_encoder, write_encoder
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


def _task_count(hypothesis: Hypothesis) -> int:
    """Return how many tasks a hypothesis of a known kind decides."""
    if isinstance(hypothesis, LinearThresholds):
        return len(hypothesis.intercepts)
    if isinstance(hypothesis, Stumps):
        return len(hypothesis.features)
    if isinstance(hypothesis, FittedClassifiers):
        return len(hypothesis.classifiers)
    if isinstance(hypothesis, PerTaskChoice):
        return len(hypothesis.choice)
    assert isinstance(hypothesis, Constant)
    return hypothesis.tasks


def write_hypotheses(hypotheses: Sequence[Hypothesis], arrays: Arrays) -> dict[str, Any]:
    """Add the arrays of a list of hypotheses; return their entries in the manifest.

    The arrays of a kind are joined along the tasks; "tasks" says how many tasks are whose.
    """
    other = [hypothesis for hypothesis in hypotheses if not storable(hypothesis)]
    if other:
        raise InputError(
            f"classifiers of type {type(other[0]).__name__} cannot be saved; only linear ones, "
            "stumps, constants, scikit-learn's own and choices among these can."
        )
    chosen = [hypothesis for hypothesis in hypotheses if isinstance(hypothesis, PerTaskChoice)]
    listed: list[Any] = [*hypotheses, *(member for one in chosen for member in one.hypotheses)]
    where = {
        kind: [place for place, hypothesis in enumerate(listed) if type(hypothesis) is kind]
        for kind in KNOWN
    }
    for name, (kind, parts) in PLAIN.items():
        if not where[kind]:
            continue
        found = [listed[place] for place in where[kind]]
        arrays[f"{name}.place"] = np.array(where[kind], dtype=np.int64)
        arrays[f"{name}.tasks"] = np.array([_task_count(one) for one in found], dtype=np.int64)
        for part, look in parts.items():
            values = [getattr(one, part) for one in found]
            joined = np.concatenate(values, axis=-1) if "m" in look.shape else np.array(values)
            arrays[f"{name}.{part}"] = joined
    if chosen:
        arrays["chosen.place"] = np.array(where[PerTaskChoice], dtype=np.int64)
        arrays["chosen.choice"] = np.stack([one.choice for one in chosen])
        arrays["chosen.columns"] = np.stack([one.columns for one in chosen])
        arrays["chosen.members"] = np.arange(len(hypotheses), len(listed))
        arrays["chosen.count"] = np.array([len(one.hypotheses) for one in chosen], dtype=np.int64)
    if not where[FittedClassifiers]:
        return {}
    fitted = [listed[place] for place in where[FittedClassifiers]]
    arrays["fitted.place"] = np.array(where[FittedClassifiers], dtype=np.int64)
    arrays["fitted.classifiers"] = to_bytes(
        [
            {
                "classifiers": list(one.classifiers),
                "classes": [plain(name) for name in one.classes],
            }
            for one in fitted
        ],
        "the classifiers",
    )
    return {"fitted": {"made_with": made_with()}}


def read_hypotheses(contents: Contents, count: int, sizes: Sizes) -> list[Hypothesis]:
    """Return the ``count`` hypotheses that `write_hypotheses` wrote; each decides all tasks."""
    listed: dict[int, Hypothesis] = {}
    for name in PLAIN:
        if f"{name}.place" in contents.arrays:
            _put(listed, name, contents, _read_plain(name, contents, sizes))
    if "fitted.place" in contents.arrays:
        _put(listed, "fitted", contents, _read_fitted(contents, sizes))
    chosen = _Chosen(contents, sizes.m) if "chosen.place" in contents.arrays else None
    inside = chosen.members if chosen else []
    places = sorted([*listed, *(chosen.places if chosen else ())])
    if places != list(range(count + len(inside))) or sorted(inside) != places[count:]:
        raise ValueError("chances and classifiers differ in number")
    if chosen:
        chosen.put(listed, count)
    found = [listed[place] for place in range(count)]
    if any(_task_count(hypothesis) != sizes.m for hypothesis in found):
        raise ValueError("a classifier does not decide each task")
    return found


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
    # In files of version 1 every hypothesis decides all tasks, and arrays are stacked.
    joined = f"{name}.tasks" in contents.arrays
    tasks = np.full(count, sizes.m)
    if joined:
        tasks = contents.array(f"{name}.tasks", count, kind="i")
    if ((tasks < 0) | (tasks > sizes.m)).any():
        raise ValueError(f"{name}.tasks is not a number of tasks")
    rows: dict[str, list[Any]] = {}
    for part, look in parts.items():
        shape = [getattr(sizes, axis) for axis in look.shape]
        if joined and shape:
            shape[-1] = int(tasks.sum())
        else:
            shape.insert(0, count)
        whole = contents.array(f"{name}.{part}", *shape, kind=look.kind, finite=look.finite)
        if (kind, part) == (Stumps, "features") and ((whole < 0) | (whole >= sizes.d)).any():
            raise ValueError("stumps.features are not among the features")
        if (kind, part) == (Stumps, "thresholds") and np.isnan(whole).any():
            raise ValueError("stumps.thresholds holds a cell that is not a number")
        if joined and look.shape:
            split = np.split(whole, np.cumsum(tasks)[:-1], axis=-1)
            rows[part] = [np.ascontiguousarray(some) for some in split]
        else:
            rows[part] = [_scalar(some) for some in whole]
    return [kind(**{part: rows[part][row] for part in parts}) for row in range(count)]


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
        if len(classifiers) > sizes.m or len(classes) != 2 or not words:
            raise ValueError("fitted.classifiers are not one for each task")
        for task in classifiers:
            takes = getattr(task, "n_features_in_", sizes.d)
            if type(task) is not bool and (not hasattr(task, "predict") or takes != sizes.d):
                raise ValueError("fitted.classifiers do not take the features")
        found.append(FittedClassifiers(classifiers, tuple(classes), contents.source))
    return found


class _Chosen:
    """The choices among hypotheses in a file.

    Attributes
    ----------
    places : list of int
        The positions of the choices in the list of hypotheses.
    members : list of int
        The positions of their members.
    """

    def __init__(self, contents: Contents, m: int) -> None:
        self.places = contents.array("chosen.place", None, kind="i").tolist()
        shape = len(self.places), m
        self.choice = contents.array("chosen.choice", *shape, kind="i")
        counts = contents.array("chosen.count", len(self.places), kind="i")
        self.members = contents.array("chosen.members", None, kind="i").tolist()
        # Files of version 1 have no columns: task j of a member decides task j.
        self.columns = np.broadcast_to(np.arange(m), shape)
        if "chosen.columns" in contents.arrays:
            self.columns = contents.array("chosen.columns", *shape, kind="i")
        total = len(self.members)
        if ((counts < 1) | (counts > total)).any() or counts.sum() != total:
            raise ValueError("chosen.members differ in number")
        if ((self.choice < 0) | (self.choice >= counts[:, None])).any():
            raise ValueError("chosen.choice is not among the members")
        if ((self.columns < 0) | (self.columns >= m)).any():
            raise ValueError("chosen.columns are not among the tasks")
        self.inside = np.split(np.array(self.members, dtype=np.int64), np.cumsum(counts)[:-1])

    def put(self, listed: dict[int, Hypothesis], count: int) -> None:
        """Add the choices among the first ``count`` hypotheses; the others are their members."""
        choices: dict[int, tuple[Any, Any]] = {}
        # Start from the end: members are further down, and in version 1 may be choices themselves.
        for row in sorted(range(len(self.places)), key=self.places.__getitem__, reverse=True):
            place, inside = self.places[row], self.inside[row]
            if inside.min() <= place:
                raise ValueError("chosen.members are not further down")
            chosen, columns = inside[self.choice[row]], self.columns[row]
            members, own = chosen.copy(), columns.copy()
            for member in choices.keys() & set(inside.tolist()):
                its_members, its_columns = choices.pop(member)
                at = chosen == member
                members[at], own[at] = its_members[columns[at]], its_columns[columns[at]]
            if place >= count:
                choices[place] = members, own
            else:
                listed[place] = _choice_of(listed, members, own)


def _choice_of(listed: dict[int, Hypothesis], members: Any, columns: Any) -> PerTaskChoice:
    """Return the choice of these members' tasks; each task of a member may occur once.

    Otherwise a small file could name a long column many times, and fill the memory.
    """
    used, choice = np.unique(members, return_inverse=True)
    hypotheses = [listed[place] for place in used.tolist()]
    tasks = np.array([_task_count(hypothesis) for hypothesis in hypotheses])
    if (columns >= tasks[choice]).any():
        raise ValueError("chosen.columns are not among the tasks of the members")
    if len(np.unique(np.stack([choice, columns]), axis=1).T) < len(choice):
        raise ValueError("chosen.columns names a task of a member twice")
    return PerTaskChoice(hypotheses, choice, columns)


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
        "chosen_together": mixture.chosen_together,
        **written,
        **write_map(mixture.feature_map, arrays),
        **write_encoder(mixture.encoder),
    }


def read_mixture(contents: Contents) -> Mixture:
    """Return the mixture that `write_mixture` wrote."""
    sample = _names_only(contents)
    chances = contents.chances("chances", sample.m)
    hypotheses = read_hypotheses(contents, len(chances), Sizes(sample.d, sample.m))
    together = "chosen_together" in contents.manifest and contents.flag("chosen_together")
    return Mixture(hypotheses, chances, sample, contents.whole("seed"), together)


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
        encoder=read_encoder(contents),
    )


assert all({field.name for field in fields(kind)} == set(parts) for kind, parts in PLAIN.values())
