"""Model files: arrays in safetensors, everything else in a JSON manifest; no pickle, no code.

What decides is always stored: the classifiers, their chances, the seed, the names of tasks and
features, and the certificate. The training individuals are people's data: they are stored only on
request (``extendable=True``), and then the file can make classifiers for tasks that come later.
"""

from __future__ import annotations

import json
from collections.abc import Mapping as Facts
from dataclasses import dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from averagefair.certificate import Certificate
from averagefair.constants import Constant
from averagefair.costs import CostRule
from averagefair.errors import InputError
from averagefair.estimator import AverageFairClassifier
from averagefair.files import write_whole
from averagefair.mapping import Mapping
from averagefair.mixture import Mixture
from averagefair.oracles import RegressionOracle, StumpOracle
from averagefair.oracles.regression import LinearThresholds
from averagefair.oracles.stump import Stumps
from averagefair.protocols import Hypothesis, Oracle
from averagefair.rates import RATES, resolve_rates
from averagefair.sample import Sample

FORMAT, VERSION = "averagefair model", 1
Arrays = dict[str, NDArray[Any]]
HYPOTHESES: dict[str, type[Any]] = {
    "linear": LinearThresholds,
    "stumps": Stumps,
    "constant": Constant,
}
ORACLES: dict[str, type[Any]] = {"regression": RegressionOracle, "stump": StumpOracle}


@dataclass(frozen=True, eq=False)
class ModelFile:
    """What a file holds.

    Attributes
    ----------
    model : AverageFairClassifier or Mixture
        A fitted model, or the classifiers that one made for later tasks.
    manifest : dict
        All but the arrays, as it stands in the file.
    """

    model: AverageFairClassifier | Mixture
    manifest: dict[str, Any]

    @property
    def classifiers(self) -> Mixture:
        """The classifiers of the file's tasks."""
        return self.model if isinstance(self.model, Mixture) else self.model.classifiers_


def save(
    model: AverageFairClassifier | Mixture,
    path: str | Path,
    *,
    extendable: bool = False,
    origin: Facts[str, Any] | None = None,
) -> None:
    """Write a fitted model, or the classifiers that ``extend`` made, to one file.

    Parameters
    ----------
    model : AverageFairClassifier or Mixture
    path : str or Path
        Appears whole or not at all.
    extendable : bool, default False
        Store the training individuals too (features, names, weights), as ``extend`` needs them.
        Mind that these are people's data.
    origin : mapping, optional
        What to note in the manifest about where the model comes from; plain words and numbers.

    Examples
    --------
    >>> import tempfile
    >>> from averagefair.datasets import make_synthetic
    >>> people = make_synthetic(n=40, m=10)
    >>> model = AverageFairClassifier(alpha=0.1, random_state=0).fit(people.X, people.Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/fair.model")
    ...     same = load(f"{folder}/fair.model")
    >>> bool((same.predict(people.X) == model.predict(people.X)).all())
    True
    """
    from safetensors.numpy import save as packed

    arrays: Arrays = {}
    if isinstance(model, Mixture):
        if extendable:
            raise InputError(
                "classifiers made by extend cannot be stored as extendable: store the model that "
                "made them."
            )
        manifest = {"kind": "classifiers", **_write_mixture(model, arrays)}
    elif isinstance(model, AverageFairClassifier):
        check_is_fitted(model)
        manifest = {"kind": "model", **_write_model(model, arrays)}
        if extendable:
            manifest["mapping"] = _write_mapping(model.mapping_, arrays)
    else:
        raise InputError(
            "only an AverageFairClassifier, or what its extend returns, can be saved; got "
            f"{type(model).__name__}."
        )
    manifest |= {"origin": dict(origin or {}), "made_by": f"averagefair {version('averagefair')}"}
    head = {"format": FORMAT, "version": VERSION, **manifest}
    content = packed(arrays, {"manifest": json.dumps(head, allow_nan=False)})
    write_whole(str(path), content)


def load(path: str | Path) -> AverageFairClassifier | Mixture:
    """Read what :func:`save` wrote: a fitted model, or the classifiers of later tasks."""
    return read_model(path).model


def read_model(path: str | Path) -> ModelFile:
    """Read a model file with its manifest."""
    arrays, manifest = _unpack(path)
    try:
        if manifest["kind"] == "classifiers":
            return ModelFile(_read_mixture(manifest, arrays), manifest)
        return ModelFile(_read_model(manifest, arrays), manifest)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(
            f"{path} is damaged: its manifest and its arrays do not fit ({error})."
        ) from error


def _unpack(path: str | Path) -> tuple[Arrays, dict[str, Any]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="numpy") as file:
            manifest = json.loads((file.metadata() or {}).get("manifest", "{}"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (SafetensorError, ValueError) as error:
        raise InputError(f"{path} is not a whole model file: {error}.") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"{path} is not a model file of averagefair.")
    if manifest.get("version") != VERSION:
        raise InputError(
            f"{path} has version {manifest.get('version')!r} of the format; this release of "
            f"averagefair reads version {VERSION}. Use the release that wrote it: "
            f"{manifest.get('made_by')}."
        )
    return arrays, manifest


def _write_model(model: AverageFairClassifier, arrays: Arrays) -> dict[str, Any]:
    rates = resolve_rates(model.rate)
    other = [rate.name for rate in rates if type(rate) is not RATES.get(rate.name)]
    if other:
        raise InputError(f"only the built-in rates can be saved; got {other[0]!r}.")
    arrays["task_weights"] = model.task_weights_
    return {
        **_write_mixture(model.classifiers_, arrays),
        "rates": [rate.name for rate in rates],
        "several_rates": isinstance(model.rate, list | tuple),
        "certificate": model.certificate_.to_dict(),
        "holdout_tasks": list(model.holdout_task_names_),
        "one_dimensional": model._flat,
    }


def _read_model(manifest: dict[str, Any], arrays: Arrays) -> AverageFairClassifier:
    certificate = Certificate.from_dict(manifest["certificate"])
    request, rates = certificate.request, list(manifest["rates"])
    model = AverageFairClassifier(
        alpha=request.alpha,
        rate=rates if manifest["several_rates"] else rates[0],
        beta=request.beta,
        max_influence=request.max_influence,
    )
    classifiers = _read_mixture(manifest, arrays)
    model.classifiers_, model.certificate_ = classifiers, certificate
    model.error_, model.common_rate_ = certificate.error, certificate.common_rate
    model.task_names_, model.seed_ = classifiers.task_names, classifiers.seed
    model.task_weights_ = arrays["task_weights"]
    model.holdout_task_names_ = tuple(manifest["holdout_tasks"])
    model.classes_ = np.array([0, 1])
    model.n_features_in_ = classifiers.feature_count
    if classifiers.feature_names is not None:
        model.feature_names_in_ = np.array(classifiers.feature_names, dtype=object)
    model._flat = bool(manifest["one_dimensional"])
    mapping: Any = _read_mapping(manifest, arrays, classifiers)  # None where not stored
    model.mapping_ = mapping
    return model


def _write_mixture(mixture: Mixture, arrays: Arrays) -> dict[str, Any]:
    for kind, known in HYPOTHESES.items():
        places = [place for place, one in enumerate(mixture.hypotheses) if type(one) is known]
        if places:
            arrays[f"{kind}.place"] = np.array(places, dtype=np.int64)
            for field in fields(known):
                parts = [getattr(mixture.hypotheses[place], field.name) for place in places]
                arrays[f"{kind}.{field.name}"] = np.ascontiguousarray(np.stack(parts))
    other = [one for one in mixture.hypotheses if type(one) not in HYPOTHESES.values()]
    if other:
        raise InputError(
            f"classifiers of type {type(other[0]).__name__} cannot be saved yet; only those of "
            "RegressionOracle and StumpOracle can."
        )
    arrays["chances"] = mixture.probabilities
    names = mixture.feature_names
    return {
        "tasks": list(mixture.task_names),
        "named_tasks": mixture.named_tasks,
        "features": None if names is None else list(names),
        "feature_count": mixture.feature_count,
        "seed": mixture.seed,
    }


def _read_mixture(manifest: dict[str, Any], arrays: Arrays) -> Mixture:
    tasks, d = manifest["tasks"], int(manifest["feature_count"])
    hypotheses: list[Hypothesis | None] = [None] * len(arrays["chances"])
    for kind, known in HYPOTHESES.items():
        for row, place in enumerate(arrays.get(f"{kind}.place", ())):
            parts = {field.name: arrays[f"{kind}.{field.name}"][row] for field in fields(known)}
            hypotheses[place] = known(**{name: _scalar(part) for name, part in parts.items()})
    whole = [one for one in hypotheses if one is not None]
    if any(one.decide(np.zeros((1, d))).shape != (1, len(tasks)) for one in whole):
        raise ValueError("classifiers and names of tasks differ in number")
    return Mixture(whole, arrays["chances"], _names_only(manifest), int(manifest["seed"]))


def _scalar(part: NDArray[Any]) -> Any:
    return part.item() if part.ndim == 0 else part


def _names_only(manifest: dict[str, Any]) -> Sample:
    """Return a sample of nobody that knows the names of features and tasks."""
    names, tasks = manifest["features"], tuple(map(str, manifest["tasks"]))
    return Sample._of(
        features=np.empty((0, int(manifest["feature_count"]))),
        signs=np.empty((0, len(tasks)), dtype=np.int8),
        individual_weights=np.empty(0),
        task_weights=np.full(len(tasks), 1.0 / max(1, len(tasks))),
        individual_names=np.empty(0, dtype=object),
        task_names=tasks,
        feature_names=None if names is None else tuple(map(str, names)),
        indexed=False,
        named_tasks=bool(manifest["named_tasks"]),
    )


def _write_mapping(mapping: Mapping, arrays: Arrays) -> dict[str, Any]:
    kinds = [name for name, kind in ORACLES.items() if type(mapping.oracle) is kind]
    if not kinds:
        raise InputError(
            f"a model learned with {type(mapping.oracle).__name__} cannot be stored as extendable; "
            f"only {', '.join(kind.__name__ for kind in ORACLES.values())} can."
        )
    people, rule = mapping.individuals, mapping.cost_rule
    arrays |= {
        "people.features": people.features,
        "people.weights": people.individual_weights,
        "mapping.weights": np.ascontiguousarray(mapping.weights),
        "mapping.chances": np.append(mapping.mixture, mapping.constants),
    }
    arrays |= {f"rule.{field.name}": getattr(rule, field.name) for field in fields(rule)}
    # Names of people can be many: they go with the arrays, as text.
    names = json.dumps(people.individual_names.tolist()).encode()
    arrays["people.names"] = np.frombuffer(names, dtype=np.uint8)
    oracle = {field.name: getattr(mapping.oracle, field.name) for field in fields(mapping.oracle)}  # type: ignore[arg-type]
    return {"oracle": kinds[0], "oracle_settings": oracle, "indexed": people.indexed}


def _read_mapping(manifest: dict[str, Any], arrays: Arrays, classifiers: Mixture) -> Mapping | None:
    known = manifest.get("mapping")
    if known is None:
        return None
    features = arrays["people.features"]
    people = Sample._of(
        features=features,
        signs=np.empty((len(features), 0), dtype=np.int8),
        individual_weights=arrays["people.weights"],
        task_weights=np.empty(0),
        individual_names=np.array(json.loads(arrays["people.names"].tobytes()), dtype=object),
        task_names=(),
        feature_names=classifiers.feature_names,
        indexed=bool(known["indexed"]),
        named_tasks=classifiers.named_tasks,
    )
    *chances, zero, one = arrays["mapping.chances"]
    oracle: Oracle = ORACLES[known["oracle"]](**known["oracle_settings"])
    return Mapping(
        individuals=people,
        oracle=oracle,
        cost_rule=CostRule(
            **{field.name: arrays[f"rule.{field.name}"] for field in fields(CostRule)}
        ),
        weights=arrays["mapping.weights"],
        mixture=np.array(chances),
        seed=classifiers.seed,
        constants=(float(zero), float(one)),
    )
