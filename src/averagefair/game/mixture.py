"""The mixture: one randomised classifier for each task (the paper's p-hat in Delta(H)^m)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import InitVar, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from averagefair._util.arrays import FloatArray
from averagefair._util.text import counted
from averagefair.errors import InputError
from averagefair.game.protocols import Hypothesis
from averagefair.people.backends import Space
from averagefair.people.blocks import row_blocks
from averagefair.people.dask import is_dask, map_people, read_dask
from averagefair.people.draws import id_keys, person_keys, task_keys, uniform
from averagefair.people.feature_map import FittedMap
from averagefair.people.frames import read_numbers
from averagefair.people.sample import Sample, check_columns, read_features


@dataclass(frozen=True, eq=False, repr=False)
class Mixture:
    """Randomised classifiers for k tasks: hypothesis r is used with probability q_r.

    Parameters
    ----------
    hypotheses : sequence of Hypothesis
        Each decides all k tasks. Equal hypotheses are merged.
    probabilities : array, shape (r,)
        Not negative; they sum to 1.
    sample : Sample
        The training sample. The mixture keeps only the names of its tasks, the names and number of
        its features, and its feature map.
    seed : int
        Seed of the draws.

    Attributes
    ----------
    task_names : tuple of str, length k
    named_tasks : bool
        Whether the user gave these names, so that other tables must have them too.
    feature_names : tuple of str, or None
    feature_count : int
        Number of columns that X must have.
    feature_map : FittedMap, or None
        Turns X into the features that the hypotheses use.
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
                "a mixture needs at least one hypothesis, and one probability for each; got "
                f"probabilities of shape {q.shape} for {len(self.hypotheses)} hypotheses."
            )
        if not ((q >= 0).all() and abs(q.sum() - 1.0) <= 1e-9):
            raise InputError(
                f"probabilities must not be negative and must sum to 1; got a minimum of "
                f"{q.min()!r} and a sum of {q.sum()!r}."
            )
        first, q = merge_equal((h.key() for h in self.hypotheses), q)
        object.__setattr__(self, "hypotheses", tuple(self.hypotheses[index] for index in first))
        object.__setattr__(self, "probabilities", q)

    def decision_probability(self, X: Any) -> Any:
        """Return the chance of deciding 1 for each person and task, shape (n, k).

        This is how often the mixture decides 1, not how likely the label is 1.

        Parameters
        ----------
        X : array-like or DataFrame, shape (n, d)
            The result is in the array library and on the device of X; for a Dask collection it is a
            lazy Dask array.
        """
        if is_dask(X):
            return self._lazily(self.decision_probability, X, None, np.float64)
        return self._map_and_decide(read_features(X, self.feature_names, self.feature_count))

    def _map_and_decide(self, features: Any, first_row: int = 0) -> Any:
        """Return decision probabilities for columns of X that have been read; shape (n, k)."""
        if self.feature_map is None:
            return self.chances(features)
        n, k = features.shape[0], len(self.task_names)
        out = np.empty((n, k))
        for rows in row_blocks(n, max(k, self.feature_map.width)):
            out[rows] = self.chances(self.feature_map(features[rows, :], first_row + rows.start))
        return out

    def map_sample(self, sample: Sample) -> Sample:
        """Return a sample with the features that the hypotheses use.

        Parameters
        ----------
        sample : Sample
            Its features are the columns of X, or are mapped already.
        """
        if self.feature_map is None or sample.feature_map is self.feature_map:
            return sample
        return sample.map_features(self.feature_map)

    def chances(self, features: Any) -> Any:
        """Return decision probabilities for features that have been read and mapped; shape (n, k).

        Parameters
        ----------
        features : array, shape (n, d)
            The features that the hypotheses use.
        """
        space = Space.of(features)
        xp = space.xp
        out = space.zeros((features.shape[0], len(self.task_names)))
        for rows in row_blocks(*out.shape):
            block = features[rows, :]
            total = 0.0
            for share, hypothesis in self.parts():
                total = total + share * xp.astype(hypothesis.decide(block), xp.float64)
            # If all hypotheses decide 1, the shares add up to 1 only up to rounding.
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
            Identifier of each row's person. Default: a person is identified by their features.
        """
        if is_dask(X):
            return self._lazily(self.predict, X, ids, np.int8)
        features = read_features(X, self.feature_names, self.feature_count)
        space = Space.of(features)
        people = person_keys(space.to_host(features)) if ids is None else id_keys(ids)
        if len(people) != features.shape[0]:
            raise InputError(
                f"ids must have one entry for each of the {features.shape[0]} rows; got "
                f"{len(people)}."
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
            A failed save leaves no partial file.
        """
        from averagefair.persistence import save

        save(self, path)

    def _lazily(self, work: Any, X: Any, ids: Any | None, dtype: type) -> Any:
        """Return a lazy Dask array for a Dask collection."""
        table = read_dask(X, "X")
        check_columns(table, self.feature_names, self.feature_count)
        return map_people(work, table, ids, len(self.task_names), dtype)

    def __repr__(self) -> str:
        hypotheses = counted(len(self.hypotheses), "hypothesis", "hypotheses")
        return f"Mixture({hypotheses} for {counted(len(self.task_names), 'task')})"


def merge_equal(
    keys: Iterable[Hashable], chances: FloatArray
) -> tuple[NDArray[np.intp], FloatArray]:
    """Find the distinct keys: the first index of each, and the sum of its chances.

    Examples
    --------
    >>> merge_equal("aba", np.array([0.25, 0.5, 0.25]))
    (array([0, 1]), array([0.5, 0.5]))
    """
    numbers: dict[Hashable, int] = {}
    labels = [numbers.setdefault(key, len(numbers)) for key in keys]
    first = np.unique(labels, return_index=True)[1]
    return first, np.asarray(np.bincount(labels, weights=chances), dtype=np.float64)
