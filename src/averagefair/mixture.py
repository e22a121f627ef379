"""The mixture: one randomised classifier for each task (the paper's p-hat in Delta(H)^m)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import InitVar, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from averagefair.blocks import row_blocks
from averagefair.distributed import is_dask, map_people, read_dask
from averagefair.errors import InputError
from averagefair.oracles.feature_map import FittedMap
from averagefair.protocols import Hypothesis
from averagefair.sample import FloatArray, Sample, check_columns, read_features
from averagefair.sampling import id_keys, person_keys, task_keys, uniform
from averagefair.spaces import Space
from averagefair.tables import read_numbers
from averagefair.text import counted


@dataclass(frozen=True, eq=False, repr=False)
class Mixture:
    """Randomised classifiers for k tasks: hypothesis r is used with probability q_r.

    Parameters
    ----------
    hypotheses : sequence of Hypothesis
        Each one decides all k tasks. Those that are the same are merged.
    probabilities : array, shape (r,)
        On the simplex.
    sample : Sample
        The sample they were learned from: names its tasks and the columns features must have.
        Only those names, and its feature map, are kept.
    seed : int
        Where draws start from.

    Attributes
    ----------
    task_names : tuple of str, length k
    named_tasks : bool
        Whether those names were given, so that other tables must have them too.
    feature_names : tuple of str, or None
    feature_count : int
        The columns that X must have.
    feature_map : FittedMap, or None
        What makes of X the features that the hypotheses decide by.
    """

    hypotheses: Sequence[Hypothesis]
    probabilities: FloatArray
    sample: InitVar[Sample]
    seed: int = 0
    task_names: tuple[str, ...] = field(init=False)
    named_tasks: bool = field(init=False)
    feature_names: tuple[str, ...] | None = field(init=False)
    feature_count: int = field(init=False)
    feature_map: FittedMap | None = field(init=False)

    def __post_init__(self, sample: Sample) -> None:
        object.__setattr__(self, "task_names", sample.task_names)
        object.__setattr__(self, "named_tasks", sample.named_tasks)
        object.__setattr__(self, "feature_names", sample.feature_names)
        object.__setattr__(self, "feature_count", sample.feature_count)
        object.__setattr__(self, "feature_map", sample.feature_map)
        q = read_numbers(self.probabilities, "probabilities")
        if q.shape != (len(self.hypotheses),) or not len(q):
            raise InputError(
                f"a mixture needs one probability for each hypothesis and at least one; got "
                f"{q.shape} probabilities for {len(self.hypotheses)} hypotheses."
            )
        if not ((q >= 0).all() and abs(q.sum() - 1.0) <= 1e-9):
            raise InputError(
                f"probabilities must not be negative and must sum to 1; got a least of {q.min()!r} "
                f"and a sum of {q.sum()!r}."
            )
        first, q = merge_equal((h.key() for h in self.hypotheses), q)
        object.__setattr__(self, "hypotheses", tuple(self.hypotheses[one] for one in first))
        object.__setattr__(self, "probabilities", q)

    def decision_probability(self, X: Any) -> Any:
        """Return the chance of deciding 1 for each person and task, shape (n, k).

        It says how often the mixture decides 1, not how likely the label is 1.

        Parameters
        ----------
        X : array-like or DataFrame, shape (n, d)
            Arrays of PyTorch and others are answered where they are; a Dask collection with a
            Dask array that is computed when it is asked for.
        """
        if is_dask(X):
            return self._where_it_is(self.decision_probability, X, None, np.float64)
        return self._map_and_decide(read_features(X, self.feature_names, self.feature_count))

    def _map_and_decide(self, features: Any, first_row: int = 0) -> Any:
        """Return decision probabilities of columns of X that have been read already; (n, k)."""
        if self.feature_map is None:
            return self.chances(features)
        n, k = features.shape[0], len(self.task_names)
        out = np.empty((n, k))
        for rows in row_blocks(n, max(k, self.feature_map.width)):
            out[rows] = self.chances(self.feature_map(features[rows, :], first_row + rows.start))
        return out

    def seen(self, sample: Sample) -> Sample:
        """Return a sample with the features that the hypotheses decide by.

        Parameters
        ----------
        sample : Sample
            With the columns of X as features, or with those made of them already.
        """
        if self.feature_map is None or sample.feature_map is self.feature_map:
            return sample
        return sample.map_features(self.feature_map)

    def chances(self, features: Any) -> Any:
        """Return decision probabilities of features that are read, and mapped, already; (n, k).

        Parameters
        ----------
        features : array, shape (n, d)
            What the hypotheses decide by.
        """
        space = Space.of(features)
        xp = space.xp
        out = space.zeros((features.shape[0], len(self.task_names)))
        for rows in row_blocks(*out.shape):
            block = features[rows, :]
            total = 0.0
            for share, hypothesis in self.parts():
                total = total + share * xp.astype(hypothesis.decide(block), xp.float64)
            # Where all decide 1, the shares add up to 1 but for rounding.
            out[rows, :] = xp.where(total > 1.0 - 1e-12, 1.0, total)
        return out

    def parts(self) -> Iterator[tuple[float, Hypothesis]]:
        """Yield each chance and its hypothesis."""
        return zip(self.probabilities.tolist(), self.hypotheses, strict=True)

    def predict(self, X: Any, ids: ArrayLike | None = None) -> Any:
        """Draw decisions 0/1, shape (n, k): the same person and task always get the same draw.

        Parameters
        ----------
        X : array-like or DataFrame, shape (n, d)
        ids : array-like of shape (n,), optional
            Who each row is. Default: a row is known by its features.
        """
        if is_dask(X):
            return self._where_it_is(self.predict, X, ids, np.int8)
        features = read_features(X, self.feature_names, self.feature_count)
        space = Space.of(features)
        people = person_keys(space.to_host(features)) if ids is None else id_keys(ids)
        if len(people) != features.shape[0]:
            raise InputError(
                f"ids must be one for each of the {features.shape[0]} rows; got {len(people)}."
            )
        tasks = task_keys(self.task_names)
        out = np.empty((features.shape[0], len(self.task_names)), dtype=np.int8)
        for rows in row_blocks(*out.shape):
            chances = space.to_host(self._map_and_decide(features[rows, :], rows.start))
            out[rows] = uniform(self.seed, people[rows], tasks) < chances
        return space.asarray(out)

    def save(self, path: str | Path) -> None:
        """Write the classifiers to one file, without pickle; :func:`averagefair.load` reads it.

        Parameters
        ----------
        path : str or Path
            Appears whole or not at all.
        """
        from averagefair.persistence import save

        save(self, path)

    def _where_it_is(self, work: Any, X: Any, ids: Any | None, dtype: type) -> Any:
        """Answer a Dask collection with a lazy one."""
        table = read_dask(X, "X")
        check_columns(table, self.feature_names, self.feature_count)
        return map_people(work, table, ids, len(self.task_names), dtype)

    def __repr__(self) -> str:
        hypotheses = counted(len(self.hypotheses), "hypothesis", "hypotheses")
        return f"Mixture({hypotheses} for {counted(len(self.task_names), 'task')})"


def merge_equal(
    keys: Iterable[Hashable], chances: FloatArray
) -> tuple[NDArray[np.intp], FloatArray]:
    """Find the distinct keys: where each stands first, and the sum of its chances.

    Examples
    --------
    >>> merge_equal("aba", np.array([0.25, 0.5, 0.25]))
    (array([0, 1]), array([0.5, 0.5]))
    """
    merged: dict[Hashable, int] = {}
    place = [merged.setdefault(key, len(merged)) for key in keys]
    first = np.unique(place, return_index=True)[1]
    return first, np.asarray(np.bincount(place, weights=chances), dtype=np.float64)
