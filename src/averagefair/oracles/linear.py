"""Linear classifiers for many tasks: the hypotheses of the linear oracles."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.game.constant_classifiers import Constant
from averagefair.game.per_task_choice import positions
from averagefair.game.protocols import Hypothesis
from averagefair.people.backends import Space
from averagefair.people.blocks import count_true, scratch
from averagefair.people.parts import Part
from averagefair.people.threads import one_thread


@dataclass(frozen=True, eq=False)
class LinearThresholds(Hypothesis):
    """One linear classifier for each of k tasks: decide 1 where the score is negative.

    Attributes
    ----------
    coefficients : array, shape (d, k)
    intercepts : array, shape (k,)
    """

    coefficients: FloatArray
    intercepts: FloatArray

    decides_anywhere = True

    def decide(self, features: Any) -> Any:
        """Decide for each person and task, in the features' space; shape (n, k).

        Parameters
        ----------
        features : array, shape (n, d)
            Everybody's features.
        """
        space = Space.of(features)
        dtype = "float32" if features.dtype == space.xp.float32 else "float64"
        if space.is_numpy:
            coefficients, intercepts = (
                array.astype(dtype, copy=False) for array in self._parameters
            )
            # One thread: NumPy detects overflow only in the calling thread.
            with one_thread(), _overflow_raises():
                try:
                    return np.asarray(features @ coefficients < -intercepts)
                except FloatingPointError:
                    return self._decide_in_units(features)
        coefficients, intercepts = (space.asarray(array, dtype) for array in self._parameters)
        with space.full_precision():
            scores = features @ coefficients
        if not bool(space.xp.all(space.xp.isfinite(scores))):
            return space.asarray(self._decide_in_units(space.to_host(features)))
        return scores < -intercepts

    @property
    def _parameters(self) -> tuple[FloatArray, FloatArray]:
        return self.coefficients, self.intercepts

    def _decide_in_units(self, features: NDArray[Any]) -> NDArray[np.bool_]:
        """Decide where scores overflow, by scaling each row and each task to below 1."""
        features = features.astype(np.float64, copy=False)
        rows = _units(np.abs(features).max(axis=1, initial=1.0))
        tasks = _units(np.abs(np.vstack(self._parameters)).max(axis=0))
        scores = (features * rows[:, None]) @ (self.coefficients * tasks)
        return np.asarray(scores < -rows[:, None] * (self.intercepts * tasks))

    def count_mistakes(self, part: Part, by_label: bool) -> tuple[Any, ...] | None:
        """Count each person's mistakes, holding the scores of one block at a time.

        Parameters
        ----------
        part : Part
            The people, with their features and signs.
        by_label : bool
            Whether to count mistakes on label 0 and on label 1 separately.

        Returns
        -------
        tuple of integer arrays of shape (rows,), or None if no kernel supports the part
            All mistakes; or mistakes on label 0, then mistakes on label 1.
        """
        if part.space.is_numpy:
            return self._count_numpy(part, by_label)
        fused = fused_kernels(part)
        if fused is None:
            return None
        counted = fused.mistakes(
            part.features,
            part.signs,
            part.space.asarray(self.coefficients),
            part.space.asarray(self.intercepts),
            by_label=by_label,
            precision=part.precision,
        )
        return tuple(counted) if by_label else (counted,)

    def _count_numpy(self, part: Part, by_label: bool) -> tuple[NDArray[np.uint32], ...]:
        k, dtype = part.signs.shape[1], part.features.dtype
        coefficients = self.coefficients.astype(dtype, copy=False)
        highest = -self.intercepts.astype(dtype, copy=False)
        out = np.empty((1 + by_label, len(part)), dtype=np.uint32)
        for rows in part.blocks(k):
            signs, size = part.signs[rows], rows.stop - rows.start
            scores, ones, marks = (
                scratch(name, size, k, kind)
                for name, kind in (("scores", dtype), ("ones", np.bool_), ("marks", np.bool_))
            )
            try:
                with _overflow_raises():
                    np.matmul(part.features[rows], coefficients, out=scores)
                np.less(scores, highest, out=ones)
            except FloatingPointError:
                ones[:] = self._decide_in_units(part.features[rows])
            if by_label:
                np.greater(signs, 0, out=marks)
                out[0, rows] = count_true(np.logical_and(marks, ones, out=marks))
                np.less(signs, 0, out=marks)
                out[1, rows] = count_true(np.greater(marks, ones, out=marks))
            else:
                # A mistake: label 0 (sign +1) decided 1, or label 1 (sign -1) decided 0.
                decided = scratch("decided", size, k, np.int8)
                np.subtract(np.multiply(ones.view(np.int8), 2, out=decided), 1, out=decided)
                out[0, rows] = count_true(np.equal(signs, decided, out=marks))
        return tuple(out)

    def key(self) -> Hashable:
        """Return coefficients and intercepts as bytes."""
        return self.coefficients.tobytes(), self.intercepts.tobytes()

    @classmethod
    def gather(
        cls, hypotheses: Sequence[Hypothesis], choice: NDArray[np.intp], columns: NDArray[np.intp]
    ) -> LinearThresholds | None:
        """Join linear classifiers and constants; a constant has coefficients 0.

        Parameters
        ----------
        hypotheses, choice, columns
            As for ``Hypothesis.gather``.
        """
        sizes = [len(one.coefficients) for one in hypotheses if isinstance(one, LinearThresholds)]
        if not sizes:
            return None
        coefficients, intercepts = np.zeros((sizes[0], len(choice))), np.empty(len(choice))
        for position, tasks in positions(choice):
            chosen = hypotheses[position]
            if isinstance(chosen, LinearThresholds):
                coefficients[:, tasks] = chosen.coefficients[:, columns[tasks]]
                intercepts[tasks] = chosen.intercepts[columns[tasks]]
            elif isinstance(chosen, Constant):
                intercepts[tasks] = -1.0 if chosen.decision else 1.0
            else:
                return None
        return cls(coefficients, intercepts)


def _overflow_raises() -> np.errstate:
    """Return a context in which an overflow raises FloatingPointError."""
    return np.errstate(over="raise", invalid="raise")


def _units(sizes: FloatArray) -> FloatArray:
    """Return the powers of two that scale these sizes to below 1."""
    return np.asarray(np.ldexp(1.0, np.clip(-np.frexp(sizes)[1], -1022, 1022)))


def fused_kernels(part: Part) -> Any:
    """Return the GPU kernels if they support this part (float32, Hopper or later), else None."""
    space = part.space
    if part.precision == "float64" or not (space.is_torch and space.is_gpu):
        return None
    try:
        from averagefair.oracles import fused
    except ImportError:  # PyTorch without Triton
        return None
    return fused if fused.supports(space.device) else None
