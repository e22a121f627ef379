"""Polishing: a local search that lowers the true cost of linear classifiers.

What counts is the cost of the decisions, a step function of the coefficients. Along any straight
line of coefficients it changes only where somebody's score changes its sign, so the best point of
a line is found exactly: sort those places, add up the gaps. First the threshold is moved, then the
coefficients, along lines that promise most: the gradient of the cost as it would be were decisions
smoothed near the threshold, in whitened coordinates. What that gains: docs/oracles.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.checks import whole_number
from averagefair.costs import Costs
from averagefair.errors import InputError
from averagefair.oracles.linear import LinearThresholds, Standard, design_of
from averagefair.oracles.portfolio import cheapest
from averagefair.parts import Part, blocks_in, in_threads
from averagefair.protocols import BestResponse, Oracle, is_oracle, memory_of, remind
from averagefair.sample import FloatArray, Sample
from averagefair.spaces import Space, take_rows

# Along how many lines, where there are so many people for each coefficient.
_LINES, _PEOPLE_FOR_EACH = 3, 30
# How near to the threshold decisions are smoothed at first, as a share of a task's typical score,
# and how much nearer with each line.
_WIDTH, _NARROWER = 1.0, 0.6
# Places nearer to each other than this share of their size are one place, and gains smaller than
# this share of what is at stake are none: rounding.
_ONE_PLACE, _LEAST_GAIN = 1e-9, 1e-12
# So many people x tasks are searched at a time: what is sorted stays in a core's own cache.
_CELLS = 40_000
# Whose score changes by less than this along a line stays put: their place is after all others.
_STILL, _NOWHERE = 1e-100, 1e150


@dataclass(frozen=True)
class Polished:
    """Lowers the true cost of another oracle's linear answers, and never raises it.

    Parameters
    ----------
    oracle : Oracle
        One that answers with linear classifiers, on features of its own sample:
        ``RegressionOracle``, ``LogisticOracle``, or a ``Portfolio`` of such.
    lines : int, optional
        Along how many lines the coefficients are moved, after the threshold. 0: the threshold
        alone. Default: 3 where there are at least 30 people for each coefficient, else 0: with
        fewer, what more lines gain in training is lost on new people (docs/oracles.md).
    people : int, default 4000
        Steps are chosen on so many people at most, evenly drawn from the sample, and kept, task by
        task, if they lower the cost over everybody. Up to that number of people a line's best
        point is exact.

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
    thorough = True

    def __post_init__(self) -> None:
        if not is_oracle(self.oracle):
            raise InputError(
                f"Polished takes an oracle, e.g. Polished(RegressionOracle()); got {self.oracle!r}."
            )
        if self.lines is not None:
            whole_number("lines", self.lines, least=0)
        whole_number("people", self.people)

    @property
    def anywhere(self) -> bool:
        """Whether the polished oracle can be asked wherever people are."""
        return bool(getattr(self.oracle, "anywhere", False))

    def bind(self, sample: Sample) -> _Polish:
        """Bind the oracle, and take the people whom steps are chosen on."""
        lines = self.lines
        if lines is None:
            present = np.count_nonzero(sample.individual_weights)
            lines = _LINES if present >= _PEOPLE_FOR_EACH * (sample.d + 1) else 0
        return _Polish(self.oracle.bind(sample), sample, lines, self.people)


class _Polish:
    """The people whom steps are chosen on: a row for each feature or task, to be sorted along."""

    def __init__(self, oracle: BestResponse, sample: Sample, lines: int, people: int) -> None:
        self.oracle, self.lines, self.space = oracle, lines, sample.space
        self.standard = Standard(sample)
        xp = sample.space.xp
        present = np.flatnonzero(sample.individual_weights)
        kept = np.zeros(sample.n, dtype=np.bool_)
        kept[present[:: -(-len(present) // people)]] = True
        self.kept = None if kept.all() else sample.space.asarray(kept)
        found = sample.collect(_some, self.kept, **self.standard.settings)
        self.design, signs = (xp.concat(parts, axis=1) for parts in zip(*found, strict=True))
        self.signs = xp.astype(signs, xp.float64)
        counts = sample.individual_weights[kept]
        self.shares = sample.space.asarray(counts / counts.sum())
        second = (self.design * self.shares) @ xp.matrix_transpose(self.design)
        second = sample.space.to_host(second)
        self.whiten = np.linalg.pinv(second, rcond=1e-12, hermitian=True)

    def memory(self) -> dict[str, NDArray[Any]]:
        """Return what the oracle remembers; the search itself remembers nothing."""
        return memory_of(self.oracle)

    def remember(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Take up what `memory` returned."""
        remind(self.oracle, memory)

    def __call__(self, costs: Costs) -> LinearThresholds:
        """Ask the oracle and search on from its answer."""
        first = self.oracle(costs)
        if not isinstance(first, LinearThresholds):
            raise InputError(
                f"Polished needs an oracle with linear answers; got {type(first).__name__}. Use it "
                "with RegressionOracle, LogisticOracle or a Portfolio of these."
            )
        beta = self._search(self.standard.on_design(first), costs)
        answers = first, self.standard.plain(beta, costs.tasks)
        found = cheapest(answers, [costs.above_zero(answer) for answer in answers])
        assert isinstance(found, LinearThresholds)
        return found

    def _search(self, beta: FloatArray, costs: Costs) -> FloatArray:
        """Move coefficients on the design, shape (d+1, k), to where they cost less."""
        xp = self.space.xp
        given = [one for one in costs.prices if one is not None]
        most = max(float(xp.max(xp.abs(one))) for one in given) or 1.0
        prices = [(one if self.kept is None else one[self.kept]) / most for one in given]
        tasks = np.arange(self.signs.shape[0]) if costs.tasks is None else costs.tasks

        def search(some: slice) -> FloatArray:
            if costs.tasks is None:
                signs = self.signs[some, :]
            else:
                signs = take_rows(self.signs, tasks[some])
            line = _Line(self, beta[:, some].T, _gaps_by_task(signs, *prices))
            return line.search(self.lines)

        if self.space.is_numpy:
            size = max(1, _CELLS // self.signs.shape[1])
            cuts = [slice(start, start + size) for start in range(0, len(tasks), size)]
            moved = in_threads(search, cuts)
        else:
            moved = map(search, blocks_in(self.space, len(tasks), self.signs.shape[1]))
        return np.concatenate(list(moved)).T


class _Line:
    """Some tasks on their way: coefficients, scores and gaps, a row for each task.

    A decision is 1 where the score is below zero, so a task costs the sum of the gaps there.
    """

    def __init__(self, bound: _Polish, beta: FloatArray, gap: Any) -> None:
        self.bound, self.space, self.gap = bound, bound.space, gap
        # Neither the length of a task's coefficients nor the unit of prices matters to decisions.
        length = np.abs(beta).max(axis=1, keepdims=True)
        self.beta = self.space.asarray(beta / np.where(length > 0, length, 1.0))
        self.whiten = self.space.asarray(bound.whiten)
        self.score = self.beta @ bound.design
        self.stake = self.space.xp.sum(self.space.xp.abs(gap), axis=1)

    def search(self, lines: int) -> FloatArray:
        """Move the threshold, then along so many lines; return the coefficients, (k, d+1)."""
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
        """Return the whitened gradient of the cost, were decisions smoothed near the threshold.

        By how much is a matter of a task's scores: their root mean square times ``width``.
        """
        xp = self.space.xp
        near = self.score * self.score
        typical = width * width * (near @ self.bound.shares)[:, None]
        near /= xp.where(typical > 0, typical, 1.0)
        near += 1.0
        near *= near
        return (self.gap / near) @ xp.matrix_transpose(self.bound.design) @ self.whiten

    def _best_length(self, change: Any) -> Any:
        """Return how far to go where scores change so much for each unit of length; (k,).

        0 where no length costs less than staying.
        """
        xp = self.space.xp
        moves = xp.abs(change) > _STILL
        if bool(xp.all(moves)):
            place = -self.score / change
        else:
            place = xp.where(moves, -self.score / xp.where(moves, change, 1.0), _NOWHERE)
        order = xp.argsort(place, axis=1, stable=False)
        place = xp.take_along_axis(place, order, axis=1)
        # Beyond their place a person's decision is the other one: 0 if the score rises there.
        passed = xp.take_along_axis(-xp.sign(change) * self.gap, order, axis=1)
        cost = xp.concat([0.0 * place[:, :1], xp.cumulative_sum(passed, axis=1)], axis=1)
        stay = xp.sum(xp.astype(place < 0, xp.int64), axis=1)
        best = xp.argmin(cost, axis=1)
        before, after = _stretches(place, best)
        if not bool(xp.all(_apart(before, after))):
            edge = 0.0 * place[:, :1] + _NOWHERE
            apart = _apart(xp.concat([-edge, place], axis=1), xp.concat([place, edge], axis=1))
            best = xp.argmin(xp.where(apart, cost, xp.inf), axis=1)
            before, after = _stretches(place, best)
        length = xp.where(
            before <= -_NOWHERE,
            after - 1.0 - xp.abs(after),
            xp.where(after >= _NOWHERE, before + 1.0 + xp.abs(before), 0.5 * (before + after)),
        )
        least, now = (xp.take_along_axis(cost, at[:, None], axis=1)[:, 0] for at in (best, stay))
        return xp.where(least < now - _LEAST_GAIN * self.stake, length, 0.0)


def _stretches(place: Any, which: Any) -> tuple[Any, Any]:
    """Return between which places a stretch of each task lies: the first is before all places."""
    xp, count = Space.of(place).xp, place.shape[1]
    near = (
        xp.take_along_axis(place, xp.clip(at, 0, count - 1)[:, None], axis=1)[:, 0]
        for at in (which - 1, which)
    )
    before, after = near
    return xp.where(which == 0, -_NOWHERE, before), xp.where(which == count, _NOWHERE, after)


def _apart(before: Any, after: Any) -> Any:
    """Return which stretches are more than rounding."""
    xp = Space.of(before).xp
    return after - before > _ONE_PLACE * (xp.abs(after) + xp.abs(before))


def _some(
    part: Part, kept: Any | None, *, mean: FloatArray, inverse: FloatArray
) -> tuple[Any, Any]:
    """Return the design and the signs of those kept (None: of all), a column for each of them."""
    space, xp = part.space, part.space.xp
    features, signs = (one if kept is None else one[kept, :] for one in (part.features, part.signs))
    standard = space.asarray(mean), space.asarray(inverse)
    design = design_of(xp.astype(features, xp.float64, copy=False), *standard)
    return tuple(space.copy(space.contiguous(xp.matrix_transpose(one))) for one in (design, signs))


def _gaps_by_task(signs: Any, false_positive: Any, false_negative: Any | None = None) -> Any:
    """Return the cost gaps, a row for each task."""
    if false_negative is None:
        return signs * false_positive
    return signs * Space.of(signs).xp.where(signs > 0, false_positive, false_negative)
