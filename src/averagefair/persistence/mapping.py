"""The mapping in a file, with the training individuals that it needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from averagefair.errors import InputError
from averagefair.game.costs import CostRule
from averagefair.game.mapping import Mapping
from averagefair.game.mixture import Mixture
from averagefair.oracles import (
    LogisticOracle,
    Polished,
    Portfolio,
    RegressionOracle,
    StumpOracle,
    WeightedOracle,
)
from averagefair.people.backends import to_host
from averagefair.people.parts import Part
from averagefair.people.sample import Sample
from averagefair.people.storage import ArrayRows
from averagefair.persistence.container import Arrays
from averagefair.persistence.contents import Contents, as_text, from_text
from averagefair.persistence.settings import as_named, one_of

ORACLES: dict[str, type[Any]] = {
    "regression": RegressionOracle,
    "logistic": LogisticOracle,
    "stump": StumpOracle,
    "polished": Polished,
    "portfolio": Portfolio,
    "weighted": WeightedOracle,
}


def write_mapping(mapping: Mapping | None, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays of a mapping and its people; return its entry in the manifest."""
    if mapping is None:
        raise InputError(
            "this model was loaded from a file without its training individuals, so it cannot be "
            "stored as extendable. Save it without extendable=True, or fit it again."
        )
    oracle = as_named(mapping.oracle, ORACLES, arrays)
    if oracle is None:
        raise InputError(
            f"a model learned with {type(mapping.oracle).__name__} cannot be stored as extendable; "
            f"only {', '.join(kind.__name__ for kind in ORACLES.values())} can."
        )
    people, rule = mapping.individuals, mapping.cost_rule
    names = people.individual_names
    odd = [
        name
        for name in names.tolist()
        if not (name is None or isinstance(name, str | bool | int | float))
    ]
    if odd:
        raise InputError(
            f"people's names must be words or numbers to be stored; got {odd[0]!r}. Convert them, "
            "e.g. by X.index = X.index.map(str)."
        )
    arrays |= {
        "people.features": to_host(people.features),
        "people.weights": people.individual_weights,
        "people.names": as_text(names),
        "mapping.weights": to_host(mapping.weights),
        "mapping.chances": np.append(mapping.mixture, mapping.constants),
    }
    arrays |= {
        "rule.objective": to_host(rule.objective),
        "rule.leverage": np.array([to_host(leverage) for leverage in rule.leverage]),
        "rule.negatives": rule.negatives,
        "rule.positives": rule.positives,
    }
    return {"oracle": oracle, "indexed": people.indexed, "seed": mapping.seed}


def read_mapping(contents: Contents, classifiers: Mixture, rates: int) -> Mapping | None:
    """Return the mapping that `write_mapping` wrote, or None.

    The mapping has its own rounds, chances and seed; ``classifiers`` only has the same features.
    """
    known = contents.manifest.get("mapping")
    if known is None:
        return None
    feature_map = classifiers.feature_map
    width = classifiers.feature_count if feature_map is None else feature_map.width
    features = contents.array("people.features", None, width)
    n = len(features)
    weights = contents.array("people.weights", n)
    if (weights < 0).any() or not 0.0 < weights.sum() < np.inf:
        raise ValueError("people.weights are not weights")
    people = Sample._of(
        rows=ArrayRows(Part(features, np.empty((n, 0), dtype=np.int8), str(features.dtype))),
        individual_weights=weights,
        task_weights=np.empty(0),
        individual_names=from_text(contents.array("people.names", None, kind="u"), n),
        task_names=(),
        feature_names=classifiers.feature_names,
        indexed=Contents({}, known).flag("indexed"),
        named_tasks=classifiers.named_tasks,
        feature_map=feature_map,
        encoder=classifiers.encoder,
    )
    oracle = one_of(known["oracle"], ORACLES, contents)
    if type(oracle) not in ORACLES.values():
        raise ValueError("mapping has no oracle")
    rounds = contents.array("mapping.weights", None, rates * n)
    *chances, zero, one = contents.simplex("mapping.chances", len(rounds) + 2)
    return Mapping(
        individuals=people,
        oracle=oracle,
        cost_rule=CostRule(
            objective=contents.array("rule.objective", n),
            leverage=[*contents.array("rule.leverage", rates, n)],
            negatives=contents.array("rule.negatives", rates),
            positives=contents.array("rule.positives", rates),
        ),
        weights=rounds,
        mixture=np.array(chances),
        # In files of version 1 the mapping has the seed of the classifiers.
        seed=Contents({}, {"seed": classifiers.seed, **known}).whole("seed"),
        constants=(float(zero), float(one)),
    )
