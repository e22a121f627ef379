"""Save and load a fitted model, or the classifiers that it made for new tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from averagefair._util.versions import versions
from averagefair.errors import InputError
from averagefair.estimator import AverageFairClassifier
from averagefair.files.reading import STREAM
from averagefair.files.writing import write_whole
from averagefair.game.certificate import Certificate
from averagefair.game.mixture import Mixture
from averagefair.game.rates import RATES, Rates
from averagefair.game.who_pays import WhoPays
from averagefair.oracles.feature_map import FeatureMap, split_map
from averagefair.people.storage import PRECISIONS
from averagefair.persistence.balance import read_balance, write_balance
from averagefair.persistence.classifiers import read_mixture, write_mixture
from averagefair.persistence.container import Arrays, pack, unpack
from averagefair.persistence.contents import MISFITS, Contents
from averagefair.persistence.estimators import UntrustedError
from averagefair.persistence.mapping import ORACLES, read_mapping, write_mapping
from averagefair.persistence.settings import as_named, one_of
from averagefair.pose import DECISIONS, short_form
from averagefair.solvers import ColumnGeneration, ExponentiatedGradient

SOLVERS: dict[str, type[Any]] = {
    "column_generation": ColumnGeneration,
    "exponentiated_gradient": ExponentiatedGradient,
}


@dataclass(frozen=True, eq=False)
class ModelFile:
    """The contents of a model file.

    Attributes
    ----------
    model : AverageFairClassifier or Mixture
        A fitted model, or the classifiers that it made for new tasks.
    manifest : dict
        Everything but the arrays, as the file holds it.
    """

    model: AverageFairClassifier | Mixture
    manifest: dict[str, Any]

    @property
    def id_column(self) -> str | None:
        """The id column, if the model was fitted from a file with one."""
        column = self.manifest["origin"].get("id")
        return column if isinstance(column, str) else None

    @property
    def classifiers(self) -> Mixture:
        """The classifiers of the file's tasks."""
        return self.model if isinstance(self.model, Mixture) else self.model.classifiers_


def save(
    model: AverageFairClassifier | Mixture,
    path: str | Path,
    *,
    extendable: bool = False,
    origin: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted model, or the classifiers that ``extend`` made, to one file.

    Parameters
    ----------
    model : AverageFairClassifier or Mixture
    path : str or Path
        The file appears whole or not at all.
    extendable : bool, default False
        Also store the training individuals, as ``extend`` needs them: features (mapped, if there is
        a feature map), names and weights, and with fixed decisions everybody's numbers of mistakes
        so far (``balance_``). These are people's data, so only the owner can read a newly written
        file. The same holds for a file with a feature map, with scikit-learn's classifiers or with
        an encoder, since these may keep people's features or words.
    origin : mapping, optional
        A note for the manifest on where the model comes from; plain words and numbers.

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
    if str(path) == STREAM:
        raise InputError("a model is not text: give the name of a file; got '-'.")
    arrays: Arrays = {}
    if isinstance(model, Mixture):
        if extendable:
            raise InputError(
                "classifiers made by extend cannot be stored as extendable: store the model that "
                "made them."
            )
        manifest = {"kind": "classifiers", **write_mixture(model, arrays)}
    elif isinstance(model, AverageFairClassifier):
        check_is_fitted(model)
        manifest = {"kind": "model", **_write_model(model, arrays)}
        if extendable:
            manifest["mapping"] = write_mapping(model.mapping_, arrays)
            manifest["balance"] = write_balance(model.balance_, arrays)
    else:
        raise InputError(
            "only an AverageFairClassifier, or what its extend returns, can be saved; got "
            f"{type(model).__name__}."
        )
    used = versions()
    manifest |= {"origin": _origin(origin), "made_by": f"averagefair {used['averagefair']}"}
    manifest["versions"] = used
    private = extendable or not {"map", "fitted", "encoder"}.isdisjoint(manifest)
    write_whole(str(path), pack(arrays, manifest), private=private)


def load(path: str | Path, *, trusted: Sequence[str] = ()) -> AverageFairClassifier | Mixture:
    """Read what :func:`save` wrote: a fitted model, or the classifiers of new tasks.

    A model comes back with its parameters and all that decisions and audits need. It lacks
    ``individual_rates_``, ``baseline_rates_`` and ``undefined_individuals_``, which are about
    single people, and ``history_``. ``mapping_`` is None unless the model was saved with
    ``extendable=True``. Numbers of workers (``n_jobs``) are None, whatever the file says.

    Parameters
    ----------
    path : str or Path
    trusted : sequence of str
        Types, such as "mymodule.MyTransformer", that a feature map or classifiers in the file may
        hold. Types of NumPy and scikit-learn that are known to be harmless need no mention; their
        contents are checked. Loading any other type runs its module's code, and its contents are
        not checked: accept only types you know.
    """
    return read_model(path, trusted=trusted).model


def read_model(path: str | Path, *, trusted: Sequence[str] = ()) -> ModelFile:
    """Read a model file with its manifest.

    Parameters
    ----------
    path : str or Path
    trusted : sequence of str
        As for :func:`averagefair.load`.
    """
    if isinstance(trusted, str):
        raise InputError(f"`trusted` must be a list of types; got {trusted!r}. Pass [{trusted!r}].")
    arrays, manifest = unpack(path)
    contents = Contents(arrays, manifest, tuple(trusted), str(path))
    try:
        if not isinstance(manifest["origin"], dict):
            raise ValueError("origin is not a mapping")
        model = KINDS[manifest["kind"]](contents)
    except UntrustedError as error:
        raise UntrustedError(f"{path}: {error}") from None
    except MISFITS as error:
        raise InputError(
            f"{path} is damaged: its manifest and its arrays do not fit ({error}). Get the file "
            "again."
        ) from error
    return ModelFile(model, manifest)


def _origin(origin: Mapping[str, Any] | None) -> dict[str, Any]:
    if origin is None:
        return {}
    try:
        if not isinstance(origin, Mapping):
            raise TypeError(f"got {type(origin).__name__}")
        json.dumps(dict(origin), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"`origin` must be names with plain words and numbers; {error}.") from None
    return dict(origin)


def _write_model(model: AverageFairClassifier, arrays: Arrays) -> dict[str, Any]:
    rates = Rates.of(model.rate)
    other = [rate.name for rate in rates if type(rate) is not RATES.get(rate.name)]
    if other:
        raise InputError(f"only the built-in rates can be saved; got {other[0]!r}.")
    arrays["task_weights"] = model.task_weights_
    seeded = isinstance(model.random_state, int | np.integer)
    return {
        **write_mixture(model.classifiers_, arrays),
        "rates": [rate.name for rate in rates],
        "several_rates": rates.listed,
        "set_aside": [rate.holdout_tasks for rate in rates],
        "certificate": model.certificate_.to_dict(),
        "holdout_tasks": list(model.holdout_task_names_),
        "fingerprint": model.fingerprint_,
        "one_dimensional": model._flat,
        "parameters": {
            "oracle": as_named(split_map(model.oracle)[1], ORACLES, arrays),
            "solver": as_named(model.solver, SOLVERS, arrays),
            "random_state": int(model.random_state) if seeded else None,
            "dtype": model.dtype,
        },
    }


def _read_dtype(parameters: Mapping[str, Any]) -> str | None:
    dtype = parameters.get("dtype")
    if dtype not in (None, *PRECISIONS):
        raise ValueError(f"dtype is {dtype!r}")
    return dtype


def _read_model(contents: Contents) -> AverageFairClassifier:
    classifiers = read_mixture(contents)
    tasks = classifiers.task_names
    rate, count = _read_rate(contents)
    certificate = _read_certificate(contents, count)
    promise, parameters = certificate.promise, contents.manifest["parameters"]
    model = AverageFairClassifier(
        rate=rate,
        oracle=_behind_map(one_of(parameters["oracle"], ORACLES, contents), classifiers),
        solver=one_of(parameters["solver"], SOLVERS, contents),
        random_state=parameters["random_state"],
        dtype=_read_dtype(parameters),
        decisions=certificate.decisions,
        encode=False if classifiers.encoder is None else clone(classifiers.encoder),
        **short_form(promise),
    )
    if certificate.decisions == "fixed" and not classifiers.is_fixed:
        raise ValueError("decisions are fixed, but the chances are not")
    model.classifiers_, model.certificate_ = classifiers, certificate
    model.mixture_ = classifiers if certificate.decisions == "drawn" else None
    model.promise_, model.unconstrained_, model.first_look_ = promise, None, None
    model.error_, model.common_rate_ = certificate.error, certificate.common_rate
    model.task_names_, model.seed_ = tasks, classifiers.seed
    model.task_weights_ = contents.simplex("task_weights", len(tasks))
    model.holdout_task_names_ = contents.words("holdout_tasks")
    if not set(model.holdout_task_names_) <= set(tasks):
        raise ValueError("holdout_tasks are not among the tasks")
    model.classes_ = np.array([0, 1])
    model.encoder_ = encoder = classifiers.encoder
    model.n_features_in_ = classifiers.feature_count
    names = classifiers.feature_names
    if encoder is not None:
        model.n_features_in_ = encoder.n_features_in_
        names = getattr(encoder, "feature_names_in_", None)
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    model._flat = contents.flag("one_dimensional")
    model.fingerprint_ = contents.manifest["fingerprint"]
    if not isinstance(model.fingerprint_, str | None):
        raise ValueError("fingerprint is not text")
    if model._flat and len(tasks) != 1:
        raise ValueError("one_dimensional labels of several tasks")
    mapping: Any = read_mapping(contents, classifiers, count)  # None if the file holds no mapping
    model.mapping_ = mapping
    model.balance_ = None if mapping is None else read_balance(contents, mapping, count)
    if certificate.decisions != "fixed" and model.balance_ is not None:
        raise ValueError("a balance of decisions that are drawn")
    return model


def _behind_map(oracle: Any, classifiers: Mixture) -> Any:
    """Return the oracle with an unfitted copy of the classifiers' feature map before it."""
    known = classifiers.feature_map
    return oracle if known is None else FeatureMap(clone(known.transformer), oracle)


def _read_rate(contents: Contents) -> tuple[Any, int]:
    """Return the parameter ``rate``, and the number of rates."""
    names, aside = contents.words("rates"), contents.manifest["set_aside"]
    rates = [
        RATES[name](holdout_tasks=count) if count else name
        for name, count in zip(names, aside, strict=True)
    ]
    several = contents.flag("several_rates")
    Rates.of(rates if several else rates[0])
    if not several and len(rates) > 1:
        raise ValueError("several rates where one was asked for")
    return (rates if several else rates[0]), len(rates)


def _read_certificate(contents: Contents, rates: int) -> Certificate:
    written = contents.manifest["certificate"]
    certificate = Certificate.from_dict(written)
    common = certificate.common_rate
    if certificate.decisions not in DECISIONS:
        raise ValueError("the certificate does not say how decisions are made")
    figures = [*common] if isinstance(common, tuple) else [common]
    if len(figures) != rates:
        raise ValueError("the certificate has another number of rates")
    figures += _of_type(certificate, "float", "int")
    for reach in (certificate.by_decisions, certificate.by_chances):
        figures += [] if reach is None else reach.to_dict().values()
    if not all(map(_is_figure, figures)):
        raise ValueError("the certificate holds a figure that is not a number")
    if certificate.drawn_share < 0.0 or certificate.drawn_share > 1.0:
        raise ValueError("the share of drawn decisions is no share")
    if not all(isinstance(text, str) for text in _of_type(certificate, "str")):
        raise ValueError("the certificate holds words that are not text")
    if not all(isinstance(flag, bool) for flag in _of_type(certificate, "bool")):
        raise ValueError("the certificate holds a flag that is neither true nor false")
    pays, each = certificate.who_pays, certificate.each_who_pays
    if pays is not None and (
        len(each) != rates
        or isinstance(pays, tuple) != isinstance(common, tuple)
        or not all(isinstance(own, WhoPays) for own in each)
    ):
        raise ValueError("the certificate does not say who pays for each rate")
    return certificate


def _of_type(certificate: Certificate, *names: str) -> list[Any]:
    """Return the certificate's values in fields that are annotated with one of these types."""
    return [
        getattr(certificate, field.name) for field in fields(certificate) if field.type in names
    ]


def _is_figure(number: Any) -> bool:
    """Return whether this is a float, or an int that NumPy's functions take."""
    if isinstance(number, bool) or not isinstance(number, Real):
        return False
    return not isinstance(number, int) or abs(number) < 2**63


KINDS: dict[str, Callable[[Contents], AverageFairClassifier | Mixture]] = {
    "classifiers": read_mixture,
    "model": _read_model,
}
