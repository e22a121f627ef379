"""One hypothesis made of several: each task is decided by one of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from averagefair.errors import InputError
from averagefair.game.constant_classifiers import Constant
from averagefair.game.protocols import Hypothesis
from averagefair.people.backends import Space

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class PerTaskChoice(Hypothesis):
    """For each of k tasks, the classifier of one of several hypotheses.

    Only what decides is kept. A choice among the hypotheses is replaced by its own members.
    Hypotheses of one class are joined into one, if their class can do so (``Hypothesis.gather``).

    Parameters
    ----------
    hypotheses : sequence of Hypothesis
    choice : integer array, shape (k,)
        The position of the hypothesis that decides each task.
    columns : integer array, shape (k,), optional
        Which of that hypothesis's own tasks decides the task. Default: task j decides task j.

    Examples
    --------
    >>> PerTaskChoice([Constant(False, 3), Constant(True, 3)], [0, 1, 0]).decide(np.zeros((1, 2)))
    array([[False,  True, False]])
    """

    hypotheses: tuple[Hypothesis, ...]
    choice: Indices
    columns: Indices

    def __init__(
        self, hypotheses: Sequence[Hypothesis], choice: ArrayLike, columns: ArrayLike | None = None
    ) -> None:
        pieces = _joined_by_class(_pieces(hypotheses, choice, columns))
        k = sum(len(piece.tasks) for piece in pieces)
        position, column = np.empty(k, dtype=np.intp), np.empty(k, dtype=np.intp)
        for number, piece in enumerate(pieces):
            position[piece.tasks], column[piece.tasks] = number, piece.columns
        object.__setattr__(self, "hypotheses", tuple(piece.hypothesis for piece in pieces))
        object.__setattr__(self, "choice", position)
        object.__setattr__(self, "columns", column)

    @property
    def decides_anywhere(self) -> bool:  # type: ignore[override]
        """Whether all members take arrays of any library and device."""
        return all(hypothesis.decides_anywhere for hypothesis in self.hypotheses)

    def decide(self, features: Any) -> Any:
        """Decide for each person and task, in the features' space; shape (n, k).

        Parameters
        ----------
        features : array, shape (n, d)
        """
        space = Space.of(features)
        order, made = [], []
        for position, tasks in positions(self.choice):
            decisions = self.hypotheses[position].decide(features)
            made.append(space.xp.take(decisions, space.asarray(self.columns[tasks]), axis=1))
            order.append(tasks)
        back = np.argsort(np.concatenate(order))
        return space.xp.take(space.xp.concat(made, axis=1), space.asarray(back), axis=1)

    def key(self) -> Hashable:
        """Return the hypotheses' keys, and the choices and columns as bytes."""
        keys = tuple(hypothesis.key() for hypothesis in self.hypotheses)
        return keys, self.choice.tobytes(), self.columns.tobytes()


def choose_per_task(
    hypotheses: Sequence[Hypothesis], choice: ArrayLike, columns: ArrayLike | None = None
) -> Hypothesis:
    """Return one hypothesis that decides each of k tasks by one of several hypotheses.

    It has the class of these hypotheses if that class can join them (``Hypothesis.gather``); linear
    classifiers and constants are joined into linear classifiers. Otherwise it is a `PerTaskChoice`.

    Parameters
    ----------
    hypotheses : sequence of Hypothesis
    choice : integer array, shape (k,)
        The position of the hypothesis that decides each task.
    columns : integer array, shape (k,), optional
        Which of that hypothesis's own tasks decides the task. Default: task j decides task j, and
        each hypothesis has k tasks.

    Examples
    --------
    >>> choose_per_task([Constant(False, 2), Constant(True, 2)], [1, 1])
    Constant(decision=True, tasks=2)
    """
    used = np.unique(np.asarray(choice, dtype=np.intp))
    if columns is None and len(used) < 2:
        return hypotheses[used[0] if len(used) else 0]
    pieces = _pieces(hypotheses, choice, columns)
    # Try the classes of unused hypotheses too: two constants become one linear hypothesis if a
    # linear hypothesis is given, whose number of features they take.
    kinds: list[type[Hypothesis]] = [Constant, *(type(piece.hypothesis) for piece in pieces)]
    kinds += map(type, hypotheses)
    for kind in dict.fromkeys(kinds):
        joined = _gather(kind, pieces, hypotheses)
        if joined is not None:
            return joined.hypothesis
    return PerTaskChoice(hypotheses, choice, columns)


def positions(choice: Indices) -> Iterator[tuple[int, Indices]]:
    """Yield each chosen position with its tasks, in order.

    Examples
    --------
    >>> [(position, tasks.tolist()) for position, tasks in positions(np.array([3, 1, 3]))]
    [(1, [1]), (3, [0, 2])]
    """
    order = np.argsort(choice, kind="stable")
    cuts = np.flatnonzero(np.diff(choice[order])) + 1
    for tasks in np.split(order, cuts):
        if len(tasks):
            yield int(choice[tasks[0]]), tasks


class _Piece(NamedTuple):
    """A hypothesis, the tasks that it decides, and which of its own tasks decide them."""

    hypothesis: Hypothesis
    tasks: Indices
    columns: Indices


def _pieces(
    hypotheses: Sequence[Hypothesis], choice: ArrayLike, columns: ArrayLike | None
) -> list[_Piece]:
    """Return the chosen hypotheses with their tasks; choices are replaced by their members."""
    choice = np.asarray(choice, dtype=np.intp)
    columns = np.arange(len(choice)) if columns is None else np.asarray(columns, dtype=np.intp)
    if choice.ndim != 1 or not len(choice) or columns.shape != choice.shape:
        raise InputError(
            "a choice needs one hypothesis and one column for each of at least one task; got "
            f"arrays of shape {choice.shape} and {columns.shape}."
        )
    if choice.min() < 0 or choice.max() >= len(hypotheses) or columns.min() < 0:
        raise InputError(
            f"a choice must hold positions from 0 to {len(hypotheses) - 1}, and columns must not "
            f"be negative; got positions from {choice.min()} to {choice.max()}, and columns from "
            f"{columns.min()}."
        )
    pieces = []
    for position, tasks in positions(choice):
        hypothesis, own = hypotheses[position], columns[tasks]
        if isinstance(hypothesis, PerTaskChoice):
            inner, inner_columns = hypothesis.choice[own], hypothesis.columns[own]
            pieces += [
                _Piece(hypothesis.hypotheses[member], tasks[some], inner_columns[some])
                for member, some in positions(inner)
            ]
        else:
            pieces.append(_Piece(hypothesis, tasks, own))
    return pieces


def _joined_by_class(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Join the hypotheses of each class; where a class cannot, reduce each to the tasks it decides.

    A hypothesis of a class that cannot even do this stays as it is.
    """
    out: list[_Piece] = []
    for kind in dict.fromkeys(type(piece.hypothesis) for piece in pieces):
        same = [piece for piece in pieces if type(piece.hypothesis) is kind]
        joined = _gather(kind, same)
        out += [joined] if joined is not None else [_gather(kind, [one]) or one for one in same]
    return out


def _gather(
    kind: type[Hypothesis], pieces: Sequence[_Piece], others: Sequence[Hypothesis] = ()
) -> _Piece | None:
    """Return one hypothesis of a class that decides the tasks of all pieces, in their order."""
    tasks = np.sort(np.concatenate([piece.tasks for piece in pieces]))
    choice, columns = np.empty_like(tasks), np.empty_like(tasks)
    for number, piece in enumerate(pieces):
        at = np.searchsorted(tasks, piece.tasks)
        choice[at], columns[at] = number, piece.columns
    joined = kind.gather([*(piece.hypothesis for piece in pieces), *others], choice, columns)
    return None if joined is None else _Piece(joined, tasks, np.arange(len(tasks)))
