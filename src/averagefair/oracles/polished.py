"""Polishing: a local search that lowers the true cost of linear classifiers.

The cost of the decisions is a step function of the coefficients. Along a straight line of
coefficients it changes only where somebody's score crosses zero. So the best point of a line can be
computed exactly: sort the crossings and add up the gaps. The search moves the threshold first, then
the coefficients. Its lines follow the gradient, in whitened coordinates, of a cost whose decisions
are smoothed near the threshold. docs/oracles.md shows the gains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair._util.checks import whole_number
from averagefair.errors import InputError
from averagefair.game.costs import Costs
from averagefair.game.protocols import (
    BestResponse,
    Oracle,
    StatefulResponse,
    is_oracle,
    memory_of,
    remind,
)
from averagefair.oracles.design import design_of, standardiser_of
from averagefair.oracles.linear import LinearThresholds
from averagefair.oracles.portfolio import Portfolio, cheapest
from averagefair.oracles.regression import RegressionOracle
from averagefair.people.backends import Space, take_rows
from averagefair.people.parts import Part, blocks_in, in_threads
from averagefair.people.sample import Sample

# Default number of lines, given at least this many people for each coefficient.
_LINES, _PEOPLE_PER_COEFFICIENT = 3, 30
# Width of the smoothing around the threshold, as a share of a task's typical score, and the factor
# by which each line narrows it.
_WIDTH, _NARROWER = 1.0, 0.6
# Rounding: treat crossings closer than this share of their size as one, and ignore gains below this
# share of the total gaps.
_SAME_CROSSING, _LEAST_GAIN = 1e-9, 1e-12
# Search this many people x tasks at a time: the sorted arrays then stay in a core's own cache.
_CELLS = 40_000
# A score that changes by less than _STILL along a line never crosses zero: sort it last, at _NEVER.
_STILL, _NEVER = 1e-100, 1e150


@dataclass(frozen=True)
class Polished(Oracle):
    """Lowers the true cost of another oracle's linear answers, and never raises it.

    This heuristic is a local search. It moves each task's threshold, then its coefficients along a
    few lines, each time to the cheapest point.

    Parameters
    ----------
    oracle : Oracle
        An oracle whose answers are linear classifiers: ``RegressionOracle``, ``LogisticOracle``, or
        a ``Portfolio`` of such oracles.
    lines : int, optional
        Number of lines along which to move the coefficients, after the threshold. 0: move the
        threshold only. Default: 3 with at least 30 people for each coefficient, else 0. With fewer
        people, the training gains of more lines are lost on new people (docs/oracles.md).
    people : int, default 4000
        Choose steps on at most this many people, evenly drawn from the sample. Keep a task's steps
        if they lower the cost over everybody. With up to this many people, the best point of a line
        is exact.

    Examples
    --------
    >>> from averagefair.oracles import RegressionOracle
    >>> sample = Sample([[0.0], [1.0], [2.0], [9.0]], [[0], [1], [1], [1]])
    >>> prices = np.ones(4)
    >>> for oracle in (RegressionOracle(), Polished(RegressionOracle())):
    ...     answer = oracle.bind(sample)(Costs(sample, prices, prices))
    ...     print(answer.decide(sample.features).ravel().astype(int))
    [1 1 1 1]
    [0 1 1 1]
    """

    oracle: Oracle
    lines: int | None = None
    people: int = 4000
    exact = False
    effort = 25.0

    def __post_init__(self) -> None:
        if not is_oracle(self.oracle):
            raise InputError(
                f"Polished takes an oracle; got {self.oracle!r}. Pass e.g. "
                "Polished(RegressionOracle())."
            )
        if self.lines is not None:
            whole_number("lines", self.lines, least=0)
        whole_number("people", self.people)

    @property
    def reads_in_parts(self) -> bool:  # type: ignore[override]
        """Whether the polished oracle can work part by part, e.g. on a cluster."""
        return self.oracle.reads_in_parts

    @property
    def cheaper(self) -> Oracle | None:  # type: ignore[override]
        """Least squares, if the polished oracle asks it."""
        inner = self.oracle
        members = inner.oracles if isinstance(inner, Portfolio) else (inner,)
        return next((one for one in members if isinstance(one, RegressionOracle)), None)

    def bind(self, sample: Sample) -> _BoundPolish:
        """Bind the oracle, and choose the people for the search."""
        lines = self.lines
        if lines is None:
            present = np.count_nonzero(sample.individual_weights)
            lines = _LINES if present >= _PEOPLE_PER_COEFFICIENT * (sample.d + 1) else 0
        return _BoundPolish(self.oracle.bind(sample), sample, lines, self.people)


class _BoundPolish(StatefulResponse):
    """The people for the search. Arrays have a column for each person, to sort along rows."""

    def __init__(self, oracle: BestResponse, sample: Sample, lines: int, people: int) -> None:
        self.oracle, self.lines, self.space = oracle, lines, sample.space
        self.standardiser = standardiser_of(sample)
        xp = sample.space.xp
        present = np.flatnonzero(sample.individual_weights)
        kept = np.zeros(sample.n, dtype=np.bool_)
        kept[present[:: -(-len(present) // people)]] = True
        self.kept = None if kept.all() else sample.space.asarray(kept)
        parts = sample.collect(_design_and_signs, self.kept, **self.standardiser.settings)
        self.design, signs = (xp.concat(arrays, axis=1) for arrays in zip(*parts, strict=True))
        self.signs = xp.astype(signs, xp.float64)
        counts = sample.individual_weights[kept]
        self.shares = sample.space.asarray(counts / counts.sum())
        second = (self.design * self.shares) @ xp.matrix_transpose(self.design)
        second = sample.space.to_host(second)
        self.whiten = np.linalg.pinv(second, rcond=1e-12, hermitian=True)

    def memory(self) -> dict[str, NDArray[Any]]:
        """Return the oracle's state; the search itself has none."""
        return memory_of(self.oracle)

    def remember(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state that `memory` returned."""
        remind(self.oracle, memory)

    def __call__(self, costs: Costs) -> LinearThresholds:
        """Ask the oracle, search from its answer, and keep the cheaper of both for each task."""
        first = self.oracle(costs)
        if not isinstance(first, LinearThresholds):
            raise InputError(
                f"Polished needs an oracle with linear answers; got {type(first).__name__}. Use it "
                "with RegressionOracle, LogisticOracle or a Portfolio of these."
            )
        beta = self._search(self.standardiser.to_design(first), costs)
        answers = first, self.standardiser.to_classifiers(beta, costs.tasks)
        best = cheapest(answers, [costs.above_zero(answer) for answer in answers])
        assert isinstance(best, LinearThresholds)
        return best

    def _search(self, beta: FloatArray, costs: Costs) -> FloatArray:
        """Move coefficients on the design, shape (d+1, k), to a lower cost."""
        xp = self.space.xp
        given = [price for price in costs.prices if price is not None]
        most = max(float(xp.max(xp.abs(price))) for price in given) or 1.0
        prices = [(price if self.kept is None else price[self.kept]) / most for price in given]
        tasks = np.arange(self.signs.shape[0]) if costs.tasks is None else costs.tasks

        def search(block: slice) -> FloatArray:
            if costs.tasks is None:
                signs = self.signs[block, :]
            else:
                signs = take_rows(self.signs, tasks[block])
            lines = _LineSearch(self, beta[:, block].T, _gaps_by_task(signs, *prices))
            return lines.search(self.lines)

        if self.space.is_numpy:
            size = max(1, _CELLS // self.signs.shape[1])
            cuts = [slice(start, start + size) for start in range(0, len(tasks), size)]
            moved = in_threads(search, cuts)
        else:
            moved = map(search, blocks_in(self.space, len(tasks), self.signs.shape[1]))
        return np.concatenate(list(moved)).T


class _LineSearch:
    """The search for some tasks: coefficients, scores and gaps, a row for each task.

    A decision is 1 where the score is negative, so a task costs the sum of the gaps there.
    """

    def __init__(self, bound: _BoundPolish, beta: FloatArray, gap: Any) -> None:
        self.bound, self.space, self.gap = bound, bound.space, gap
        # Scale each task's largest coefficient to 1, which changes no decision.
        length = np.abs(beta).max(axis=1, keepdims=True)
        self.beta = self.space.asarray(beta / np.where(length > 0, length, 1.0))
        self.whiten = self.space.asarray(bound.whiten)
        self.score = self.beta @ bound.design
        self.stake = self.space.xp.sum(self.space.xp.abs(gap), axis=1)

    def search(self, lines: int) -> FloatArray:
        """Move the threshold, then along this many lines; return the coefficients, (k, d+1)."""
        xp = self.space.xp
        length = self._best_length(xp.ones_like(self.score))
        self.beta[:, 0] += length
        self.score += length[:, None]
        width = _WIDTH
        for _ in range(lines):
            direction = self._direction(width)
            change = direction @ self.bound.design
            length = self._best_length(change)[:, None]
            self.beta += length * direction
            self.score += length * change
            width *= _NARROWER
        return self.space.to_host(self.beta)

    def _direction(self, width: float) -> Any:
        """Return the whitened gradient of the cost with decisions smoothed near the threshold.

        The smoothing width is ``width`` times the root mean square of a task's scores.
        """
        xp = self.space.xp
        near = self.score * self.score
        typical = width * width * (near @ self.bound.shares)[:, None]
        near /= xp.where(typical > 0, typical, 1.0)
        near += 1.0
        near *= near
        return (self.gap / near) @ xp.matrix_transpose(self.bound.design) @ self.whiten

    def _best_length(self, change: Any) -> Any:
        """Return the cheapest length along a line; (k,). Scores move by ``change`` per length.

        The length is 0 if no other length costs less than staying.
        """
        xp = self.space.xp
        moves = xp.abs(change) > _STILL
        if bool(xp.all(moves)):
            crossing = -self.score / change
        else:
            crossing = xp.where(moves, -self.score / xp.where(moves, change, 1.0), _NEVER)
        order = xp.argsort(crossing, axis=1, stable=False)
        crossing = xp.take_along_axis(crossing, order, axis=1)
        # Beyond the crossing a person's decision changes: to 0 if the score rises there, else to 1.
        difference = xp.take_along_axis(-xp.sign(change) * self.gap, order, axis=1)
        cost = xp.concat([0.0 * crossing[:, :1], xp.cumulative_sum(difference, axis=1)], axis=1)
        stay = xp.sum(xp.astype(crossing < 0, xp.int64), axis=1)
        best = xp.argmin(cost, axis=1)
        before, after = _interval_ends(crossing, best)
        if not bool(xp.all(_apart(before, after))):
            end = 0.0 * crossing[:, :1] + _NEVER
            apart = _apart(xp.concat([-end, crossing], axis=1), xp.concat([crossing, end], axis=1))
            best = xp.argmin(xp.where(apart, cost, xp.inf), axis=1)
            before, after = _interval_ends(crossing, best)
        length = xp.where(
            before <= -_NEVER,
            after - 1.0 - xp.abs(after),
            xp.where(after >= _NEVER, before + 1.0 + xp.abs(before), 0.5 * (before + after)),
        )
        least, now = (xp.take_along_axis(cost, at[:, None], axis=1)[:, 0] for at in (best, stay))
        return xp.where(least < now - _LEAST_GAIN * self.stake, length, 0.0)


def _interval_ends(crossing: Any, which: Any) -> tuple[Any, Any]:
    """Return the ends of one interval between crossings for each task; number 0 is the first."""
    xp, count = Space.of(crossing).xp, crossing.shape[1]
    before, after = (
        xp.take_along_axis(crossing, xp.clip(at, 0, count - 1)[:, None], axis=1)[:, 0]
        for at in (which - 1, which)
    )
    return xp.where(which == 0, -_NEVER, before), xp.where(which == count, _NEVER, after)


def _apart(before: Any, after: Any) -> Any:
    """Return which intervals are longer than rounding errors."""
    xp = Space.of(before).xp
    return after - before > _SAME_CROSSING * (xp.abs(after) + xp.abs(before))


def _design_and_signs(
    part: Part, kept: Any | None, *, mean: FloatArray, inverse: FloatArray
) -> tuple[Any, Any]:
    """Return the design and the signs of the kept people (None: all), a column for each person."""
    space, xp = part.space, part.space.xp
    features, signs = part.features, part.signs
    if kept is not None:
        features, signs = features[kept, :], signs[kept, :]
    standard = space.asarray(mean), space.asarray(inverse)
    design = design_of(xp.astype(features, xp.float64, copy=False), *standard)
    by_column = (space.contiguous(xp.matrix_transpose(array)) for array in (design, signs))
    return tuple(space.copy(array) for array in by_column)


def _gaps_by_task(signs: Any, false_positive: Any, false_negative: Any | None = None) -> Any:
    """Return the cost gaps, a row for each task."""
    if false_negative is None:
        return signs * false_positive
    return signs * Space.of(signs).xp.where(signs > 0, false_positive, false_negative)
