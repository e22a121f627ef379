"""The exact minimum over a listed set of classifiers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.errors import InputError
from averagefair.game.costs import TIE, Costs
from averagefair.game.per_task_choice import positions
from averagefair.game.protocols import Hypothesis, Oracle
from averagefair.people.blocks import row_blocks
from averagefair.people.sample import Sample

Classifier = Callable[[FloatArray], Any]


@dataclass(frozen=True, eq=False)
class Choices(Hypothesis):
    """For each of k tasks, the listed classifier that decides it.

    Attributes
    ----------
    classifiers : sequence of callables
    chosen : integer array, shape (k,)
    """

    classifiers: Sequence[Classifier]
    chosen: NDArray[np.intp]

    def decide(self, features: FloatArray) -> NDArray[np.bool_]:
        """Decide for each person and task; shape (n, k)."""
        used, row = np.unique(self.chosen, return_inverse=True)
        return _decisions([self.classifiers[number] for number in used], features)[row].T

    def key(self) -> Hashable:
        """Return which list of classifiers this is, and the choices as bytes."""
        return id(self.classifiers), self.chosen.tobytes()

    @classmethod
    def gather(
        cls, hypotheses: Sequence[Hypothesis], choice: NDArray[np.intp], columns: NDArray[np.intp]
    ) -> Choices | None:
        """Join choices from the same list of classifiers.

        Parameters
        ----------
        hypotheses, choice, columns
            As for ``Hypothesis.gather``.
        """
        found, chosen = None, np.empty(len(choice), dtype=np.intp)
        for position, tasks in positions(choice):
            own = hypotheses[position]
            if not isinstance(own, Choices) or (
                found is not None and own.classifiers is not found.classifiers
            ):
                return None
            found, chosen[tasks] = own, own.chosen[columns[tasks]]
        return None if found is None else cls(found.classifiers, chosen)


@dataclass(frozen=True, eq=False)
class FiniteOracle(Oracle):
    """The exact best of a listed set of classifiers, for each task.

    Parameters
    ----------
    classifiers : sequence
        Each is a callable that takes features (n, d) and returns n decisions 0/1, or an object
        with such a ``predict``. List the two constants as well: the paper assumes them, since they
        make the fair learning problem feasible.

    Examples
    --------
    >>> oracle = FiniteOracle([lambda x: x[:, 0] > 0, lambda x: np.zeros(len(x))])
    >>> sample = Sample([[-1.0], [1.0]], [[0], [1]])
    >>> prices = np.ones(2)
    >>> oracle.bind(sample)(Costs(sample, prices, prices)).chosen
    array([0])
    """

    classifiers: Sequence[Any]
    exact = True

    def __post_init__(self) -> None:
        if not isinstance(self.classifiers, Sequence) or len(self.classifiers) == 0:
            raise InputError(
                "FiniteOracle needs a list of at least one classifier (the two constants among "
                f"them); got {self.classifiers!r}."
            )
        functions = tuple(
            getattr(classifier, "predict", classifier) for classifier in self.classifiers
        )
        for position, function in enumerate(functions):
            if not callable(function):
                raise InputError(
                    "each classifier must be callable on features, or have a predict method; "
                    f"number {position} is {function!r}."
                )
        object.__setattr__(self, "classifiers", functions)

    def bind(self, sample: Sample) -> _BoundFinite:
        """Ask every classifier once about every individual."""
        return _BoundFinite(self.classifiers, _decisions(self.classifiers, sample.features))


@dataclass(frozen=True, eq=False)
class _BoundFinite:
    classifiers: Sequence[Classifier]
    decisions: NDArray[np.bool_]

    def __call__(self, costs: Costs) -> Choices:
        """Return each task's cheapest classifier; the first listed wins a tie."""
        n, k = costs.signs.shape
        total, size = np.zeros((len(self.classifiers), k)), np.zeros(k)
        for rows in row_blocks(n, max(k, len(self.classifiers))):
            gaps = costs.gaps(rows)
            total += self.decisions[:, rows].astype(np.float64) @ gaps
            size += np.abs(gaps).sum(axis=0)
        cheapest = total <= total.min(axis=0) + TIE * size
        return Choices(self.classifiers, cheapest.argmax(axis=0))


def _decisions(classifiers: Sequence[Classifier], features: FloatArray) -> NDArray[np.bool_]:
    out = np.empty((len(classifiers), len(features)), dtype=np.bool_)
    for position, classifier in enumerate(classifiers):
        answer = np.asarray(classifier(features))
        if answer.shape != (len(features),) or not ((answer == 0) | (answer == 1)).all():
            raise InputError(
                f"classifier {position} must return one decision 0 or 1 for each of the "
                f"{len(features)} rows; got shape {answer.shape} and values like {answer.flat[:3]}."
            )
        out[position] = answer
    return out
