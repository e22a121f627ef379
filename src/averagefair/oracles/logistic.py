"""Logistic regression on costs, for all tasks at once.

Task j wants a label for each person (the sign of the cost gap), with a weight (the gap's size). The
logistic loss is a smooth convex substitute for the cost of wrong labels. Unlike in least squares, a
person far on the right side of the threshold hardly affects the coefficients.

A quasi-Newton method finds the minima of all tasks in parallel. It keeps the inverse of each task's
Hessian from step to step and from round to round, and corrects it by the change of the gradients
(BFGS). It computes a new Hessian when steps no longer shrink quickly. A step takes two matrix
products over all tasks, as in least squares. A Hessian costs about d/2 times as much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair._util.checks import positive_number
from averagefair.errors import InputError
from averagefair.game.costs import Costs, gaps
from averagefair.game.protocols import Oracle, StatefulResponse
from averagefair.oracles.design import (
    MOST_L2,
    design_blocks,
    design_of,
    design_times_gaps,
    standardiser_of,
)
from averagefair.oracles.linear import LinearThresholds
from averagefair.people.backends import total_size
from averagefair.people.blocks import scratch
from averagefair.people.parts import Part
from averagefair.people.sample import Sample

# Stop when the next step would move every coefficient (in standardised units) by less than this
# share of the largest. Products in float32 cannot resolve smaller steps.
_TOLERANCE = {"float64": 2e-6, "float32": 1e-4, "tf32": 1e-3}
# Compute in float32 while the next step is expected to exceed _ROUGH and people x tasks exceed
# _LARGE: this takes half the time.
_ROUGH, _LARGE = 1e-3, 1_000_000
_MOST_STEPS, _MOST_SHARED_STEPS = 40, 12
# Compute a new Hessian for tasks whose step is longer than this share of the step before.
_SLOW = 0.3
# A step overshoots if the slope changes sign along it and the last slope is steeper than this share
# of the first slope.
_STEEP = 0.5
_LEAST_CURVATURE = 1e-9
# Assume at least this share of the largest curvature in every direction.
_LEAST_RATIO = 1e-12
# Ignore people who disagree with the rest of a task if their share of its stakes is at most this.
_ONE_SIDED = 1e-12
# Skip tasks whose total stakes are at most this: any decision will do, and scaling would overflow.
_NOTHING = 1e-290
# If all Hessians together have more cells than this, all tasks share one Hessian: that of equal
# weights and even chances.
_MOST_CELLS = 20_000_000
# Sum Hessians over at most about this many people, evenly spaced.
_PEOPLE = 20_000


@dataclass(frozen=True)
class LogisticOracle(Oracle):
    """Linear classifiers by logistic regression on costs, all tasks at once. A heuristic.

    Each task's cost gaps become labels (their signs) and weights (their sizes).

    Parameters
    ----------
    l2 : float, default 1
        Penalty on the coefficients of standardised features (not on the intercept): 1/C of
        scikit-learn's LogisticRegression. Must be positive: without a penalty, a linearly separable
        task has no minimum.

    Notes
    -----
    Task j minimises sum_i w_ij log(1 + exp(-z_ij (a + x_i b))) + l2/2 ||b||^2 over the people
    whose label is observed. Here x_i are standardised features, z_ij is the wanted decision as +1
    or -1, and w_ij is the size of the cost gap. Weights are scaled to 1 on average in each task. So
    l2 means the same for all prices, and its effect shrinks with the number of people.

    Every round starts from the coefficients of the last one. Coefficients are within about 1e-5 of
    the largest coefficient of the minimum (float32: 1e-3). So answers hardly depend on the start:
    two answers to the same prices may differ by about this much.

    In every task, features are standardised over everybody, including people without a label in it.

    With very many features (tasks x features^2 above 20 million) all tasks share one Hessian.
    Steps may then stop short of the minimum.

    Examples
    --------
    >>> sample = Sample([[-2.0], [-1.0], [1.0], [2.0]], [[0], [0], [1], [1]])
    >>> prices = np.ones(4)
    >>> answer = LogisticOracle().bind(sample)(Costs(sample, prices, prices))
    >>> answer.decide(np.array([[-0.5], [0.5]])).ravel()
    array([False,  True])
    """

    l2: float = 1.0
    exact = False
    reads_in_parts = True

    def __post_init__(self) -> None:
        positive_number("l2", self.l2)
        if not 1.0 / MOST_L2 <= self.l2 <= MOST_L2:
            raise InputError(
                f"l2 must lie between {1.0 / MOST_L2:g} and {MOST_L2:g}; got {self.l2!r}."
            )

    def bind(self, sample: Sample) -> _BoundLogistic:
        """Compute the features' means and deviations."""
        return _BoundLogistic(sample, self.l2)


class _BoundLogistic(StatefulResponse):
    """The coefficients of the last round (on the design), and the inverse Hessians in use."""

    def __init__(self, sample: Sample, l2: float) -> None:
        self.standardiser, self.l2 = standardiser_of(sample), l2
        width = sample.d + 1
        self.beta = np.zeros((width, sample.m))
        self.penalty = np.append(0.0, np.full(sample.d, l2))
        self.shared = sample.m * width * width > _MOST_CELLS
        if self.shared:
            second = sample.total(_second_moment, sample.counts, **self.standardiser.settings)
            self.inverse = _inverse_of((0.25 * second + np.diag(self.penalty))[None], l2)
        else:
            self.inverse = np.zeros((sample.m, width, width))
        self.known = np.full(sample.m, self.shared)
        self.tolerance = _TOLERANCE[sample.rows.precision]
        self.complete = sample.complete_tasks

    def memory(self) -> dict[str, NDArray[Any]]:
        """Return the state that the next round starts from."""
        return {"beta": self.beta, "inverse": self.inverse, "known": self.known}

    def remember(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state that `memory` returned."""
        for name, array in self.memory().items():
            given = memory[name]
            if given.shape != array.shape or given.dtype != array.dtype:
                raise ValueError(f"{name} is {given.dtype} of shape {given.shape}")
            if not np.isfinite(given).all():
                raise ValueError(f"{name} must be finite")
            array[...] = given

    def __call__(self, costs: Costs) -> LinearThresholds:
        """Answer all tasks, starting from the coefficients of the last round."""
        asked = np.arange(costs.sample.m) if costs.tasks is None else costs.tasks
        costs = costs.in_reach()
        gap_sums = design_times_gaps(costs, self.standardiser)
        stakes, people = self._stakes(costs, asked)
        scale = people / np.where(stakes > _NOTHING, stakes, 1.0)
        # The design's first column is one, so gap_sums[0] is the sum of the gaps. A task is
        # disputed unless all gaps have one sign.
        disputed = (np.abs(gap_sums[0]) < stakes * (1.0 - _ONE_SIDED)) & (stakes > _NOTHING)
        run = _Descent(self, costs, asked, scale, gap_sums)
        run.descend(np.flatnonzero(disputed))
        self.beta[:, asked] = run.beta
        # All gaps of an undisputed task want the same decision: make it for everybody.
        constant = np.zeros_like(run.beta)
        constant[0] = np.where(gap_sums[0] < 0, -1.0, 1.0)
        beta = np.where(disputed, run.beta, constant)
        return self.standardiser.to_classifiers(beta, costs.tasks)

    def _stakes(self, costs: Costs, asked: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        """Return the sum of the sizes of each task's gaps, and the number of people."""
        sample = costs.sample
        if self.complete[asked].all() and costs.prices[1] is None:
            people = float(sample.individual_weights.sum())
            return np.full(sample.m, total_size(costs.false_positive)), np.full(sample.m, people)
        stakes, people = sample.total(_observed_stakes, *costs.prices, sample.counts)
        return stakes, people


class _Descent:
    """Quasi-Newton steps for all tasks of one round in parallel.

    The gradient of a task is (A^T (|g| tanh(A b / 2)) - A^T g) / 2 plus the penalty's gradient.
    Here g are the task's scaled gaps; the second sum does not depend on b. Along a step the slope
    rises from below zero to zero at the best length, since the loss is convex. If the slope at the
    end of a step is steep and positive, the step overshoots. It is then computed again with a new
    Hessian. If it still overshoots, it is cut to where a straight line between both slopes is zero.
    """

    def __init__(
        self,
        bound: _BoundLogistic,
        costs: Costs,
        asked: NDArray[np.intp],
        scale: FloatArray,
        gap_sums: FloatArray,
    ) -> None:
        self.bound, self.costs, self.asked = bound, costs, asked
        self.scale, self.gap_sums = scale, gap_sums
        self.beta = bound.beta[:, asked].copy()
        self.rough = self.large = costs.sample.n * len(asked) > _LARGE

    def descend(self, tasks: NDArray[np.intp]) -> None:
        """Bring these tasks (positions in ``asked``) to their minima."""
        gradient = self._choose_start(tasks)
        self._compute_hessians(tasks[~self.bound.known[self.asked[tasks]]])
        step = self._newton(tasks, gradient)
        before = np.full(len(tasks), np.inf)
        for _ in range(_MOST_SHARED_STEPS if self.bound.shared else _MOST_STEPS):
            length = np.abs(step).max(axis=0, initial=0.0)
            slow = length > np.maximum(_SLOW * before, _ROUGH if self.rough else 0.0)
            if slow.any():
                self._compute_hessians(tasks[slow])
                step[:, slow] = self._newton(tasks[slow], gradient[:, slow])
                length = np.abs(step).max(axis=0)
            # Expect the next step to shrink at least as much as this one did.
            rest = length * np.where(np.isinf(before), 1.0, np.minimum(1.0, length / before))
            going = rest > self.bound.tolerance * (1.0 + np.abs(self.beta[:, tasks]).max(axis=0))
            going |= self.rough
            self.beta[:, tasks[~going]] += step[:, ~going]
            tasks, gradient, step = tasks[going], gradient[:, going], step[:, going]
            if not tasks.size:
                return
            self.rough = self.large and bool(rest[going].max() > _ROUGH)
            new_gradient, cut = self._take_step(tasks, step, gradient)
            self._update_inverse(tasks, step, new_gradient - gradient)
            gradient, before = new_gradient, np.where(cut, np.inf, length[going])
            step = self._newton(tasks, gradient)

    def _choose_start(self, tasks: NDArray[np.intp]) -> FloatArray:
        """Start from the last round's coefficients, or from zero if better; return gradients.

        Zero is better if the loss rises steeply at the end of the line from zero to the last
        coefficients. (The gradient at zero costs nothing.)
        """
        last = self.beta[:, tasks]
        at_zero = -0.5 * self.scale[tasks] * self.gap_sums[:, tasks]
        gradient = self._gradient(tasks, last) if last.any() else at_zero
        first_slope, last_slope = (at_zero * last).sum(axis=0), (gradient * last).sum(axis=0)
        worse = last_slope > _STEEP * np.maximum(-first_slope, 0.0)
        self.beta[:, tasks[worse]] = 0.0
        self.bound.known[self.asked[tasks[worse]]] = self.bound.shared
        return np.where(worse, at_zero, gradient)

    def _take_step(
        self, tasks: NDArray[np.intp], step: FloatArray, gradient: FloatArray
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Take a step in each task; return the gradients at its end, and which steps were cut."""
        start = self.beta[:, tasks]
        end = self._gradient(tasks, start + step)
        steep = self._overshoots(step, gradient, end)
        cut = steep
        if steep.any():
            # Try a new Hessian first: the old one may be out of date.
            retried = tasks[steep]
            self._compute_hessians(retried)
            step[:, steep] = self._newton(retried, gradient[:, steep])
            end[:, steep] = self._gradient(retried, (start + step)[:, steep])
            cut = steep & self._overshoots(step, gradient, end)
        if cut.any():
            first_slope = (gradient[:, cut] * step[:, cut]).sum(axis=0)
            last_slope = (end[:, cut] * step[:, cut]).sum(axis=0)
            step[:, cut] *= first_slope / (first_slope - last_slope)
            end[:, cut] = self._gradient(tasks[cut], (start + step)[:, cut])
        self.beta[:, tasks] = start + step
        return end, cut

    @staticmethod
    def _overshoots(step: FloatArray, start: FloatArray, end: FloatArray) -> NDArray[np.bool_]:
        """Return which steps end on a steep rise, given the gradients at both ends."""
        first_slope, last_slope = (start * step).sum(axis=0), (end * step).sum(axis=0)
        return np.asarray(last_slope > _STEEP * np.abs(first_slope))

    def _newton(self, tasks: NDArray[np.intp], gradient: FloatArray) -> FloatArray:
        if self.bound.shared:
            return np.asarray(-self.bound.inverse[0] @ gradient)
        return np.asarray(-np.matmul(self._inverse(tasks), gradient.T[:, :, None])[:, :, 0].T)

    def _update_inverse(
        self, tasks: NDArray[np.intp], step: FloatArray, change: FloatArray
    ) -> None:
        """Correct the inverse Hessians by the change of the gradients along steps (BFGS)."""
        along = (step * change).sum(axis=0)[:, None]
        if self.bound.shared or not (along > 0).all():
            return  # products in float32 may be too rough to show a change
        inverse = self._inverse(tasks)
        product = np.matmul(inverse, change.T[:, :, None])[:, :, 0]
        factor = (along + (product * change.T).sum(axis=1, keepdims=True)) / along
        # Add two matrices of rank one, each with half of step step^T.
        other = (0.5 * factor * step.T - product) / along
        inverse += np.matmul(np.stack([other, step.T], axis=2), np.stack([step.T, other], axis=1))
        if inverse.base is None:
            self.bound.inverse[self.asked[tasks]] = inverse

    def _inverse(self, tasks: NDArray[np.intp]) -> FloatArray:
        """Return the inverse Hessians of these tasks: a view if all are asked for, else a copy."""
        if len(tasks) == len(self.bound.inverse):
            return self.bound.inverse[:]
        return self.bound.inverse[self.asked[tasks]]

    def _gradient(self, tasks: NDArray[np.intp], beta: FloatArray) -> FloatArray:
        sums = self._total(_slopes, tasks, beta).T - self.gap_sums[:, tasks]
        return np.asarray(0.5 * self.scale[tasks] * sums + self.bound.penalty[:, None] * beta)

    def _compute_hessians(self, tasks: NDArray[np.intp]) -> None:
        """Compute the inverse Hessians of these tasks at their present coefficients."""
        if self.bound.shared or not tasks.size:
            return
        stride = max(1, self.costs.sample.n // _PEOPLE)
        upper = self._total(_curvatures, tasks, self.beta[:, tasks], stride=stride)
        width = len(self.beta)
        hessian = np.zeros((len(tasks), width, width))
        rows, columns = np.triu_indices(width)
        hessian[:, rows, columns] = hessian[:, columns, rows] = (
            0.25 * stride * self.scale[tasks][:, None] * upper
        )
        # Add a little to the intercept's curvature, which vanishes if all scores are far from zero.
        hessian += np.diag(np.append(_LEAST_CURVATURE, self.bound.penalty[1:]))
        self.bound.inverse[self.asked[tasks]] = _inverse_of(hessian, self.bound.l2)
        self.bound.known[self.asked[tasks]] = True

    def _total(
        self, function: Any, tasks: NDArray[np.intp], beta: FloatArray, **settings: Any
    ) -> FloatArray:
        return np.asarray(
            self.costs.sample.total(
                function,
                *self.costs.prices,
                tasks=None if len(tasks) == len(self.asked) else tasks,
                complete=bool(self.bound.complete[self.asked[tasks]].all()),
                beta=0.5 * beta,
                rough=self.rough,
                **self.bound.standardiser.settings,
                **settings,
            )
        )


def _inverse_of(hessian: FloatArray, l2: float) -> FloatArray:
    """Return the inverses of Hessians, shape (k, d+1, d+1), whose least curvature is l2.

    If l2 is lost in rounding beside the largest curvature (a tiny l2, people of enormous weight),
    the diagonal is raised until an inverse exists. Steps are then shorter than necessary.
    """
    least = _LEAST_RATIO * np.einsum("kaa->ka", hessian).max(axis=1)
    lift = np.where(least > l2, least, 0.0)[:, None, None]
    return np.asarray(np.linalg.inv(hessian + lift * np.eye(hessian.shape[1])))


def _second_moment(part: Part, counts: Any, *, mean: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return the weighted second moment of the design, shape (d+1, d+1)."""
    total = np.zeros((len(mean) + 1,) * 2)
    for _, design, weights in design_blocks(part, counts, mean, inverse, len(total)):
        total += _product(part, design * weights[:, None], design)
    return total


def _observed_stakes(
    part: Part, false_positive: Any, false_negative: Any | None, counts: Any
) -> FloatArray:
    """Return the sum of the sizes of the gaps, and the number of observed people; (2, k)."""
    space, xp = part.space, part.space.xp
    total = np.zeros((2, part.signs.shape[1]))
    for rows in part.blocks(part.signs.shape[1]):
        signs = xp.astype(part.signs[rows, :], xp.float64)
        other = None if false_negative is None else false_negative[rows]
        size = xp.abs(gaps(signs, false_positive[rows], other))
        total[0] += space.to_host(xp.sum(size, axis=0))
        total[1] += space.to_host(counts[rows] @ xp.abs(signs))
    return total


def _slopes(part: Part, *prices: Any, **settings: Any) -> FloatArray:
    """Return sum_i |g_ij| tanh(a_i b_j) a_i, shape (k, d+1)."""
    total: Any = 0.0
    for design, tanh, size in _tanh_blocks(part, *prices, **settings):
        if size.shape[1] == 1:  # the same in every task: scale the design, which is narrower
            design *= size
        else:
            tanh *= size
        total = total + _product(part, tanh, design)
    return np.asarray(total)


def _curvatures(part: Part, *prices: Any, stride: int, **settings: Any) -> FloatArray:
    """Return sum_i |g_ij| (1 - tanh(a_i b_j)^2) a_i a_i^T, on and above the diagonal.

    Shape (k, (d+1)(d+2)/2). The sum takes every ``stride``-th person.
    """
    sampled = Part(part.features[::stride, :], part.signs[::stride, :], part.precision)
    prices = tuple(None if price is None else price[::stride] for price in prices)
    total: Any = 0.0
    for design, tanh, size in _tanh_blocks(sampled, *prices, **settings):
        tanh *= -tanh
        tanh += 1.0
        tanh *= size
        rows = [
            _product(part, tanh, design[:, row:] * design[:, row : row + 1])
            for row in range(design.shape[1])
        ]
        total = total + np.concatenate(rows, axis=1)
    return np.asarray(total)


def _product(part: Part, left: Any, right: Any) -> FloatArray:
    with part.space.full_precision():
        product = part.space.xp.matrix_transpose(left) @ right
    return part.space.to_host(product).astype(np.float64, copy=False)


def _tanh_blocks(
    part: Part,
    false_positive: Any,
    false_negative: Any | None,
    *,
    tasks: NDArray[np.intp] | None,
    complete: bool,
    beta: FloatArray,
    rough: bool,
    mean: FloatArray,
    inverse: FloatArray,
) -> Iterator[tuple[Any, Any, Any]]:
    """Yield a block's design, tanh(a_i b_j), and |g_ij|; the caller may write to all three.

    |g_ij| has a single column if a mistake costs the same in every task.
    """
    space, xp = part.space, part.space.xp
    stored = "float64" if part.precision == "float64" else "float32"
    name = "float32" if rough else stored
    coefficients = space.asarray(beta, name)
    standard = space.asarray(mean, stored), space.asarray(inverse, stored)
    columns = None if tasks is None else space.asarray(tasks)
    shared = complete and false_negative is None
    for rows in part.blocks(max(beta.shape)):
        design = design_of(part.features[rows, :], *standard)
        design = xp.astype(design, coefficients.dtype, copy=False)
        if space.is_numpy:
            tanh = scratch("tanh", len(design), coefficients.shape[1], name)
            np.tanh(np.matmul(design, coefficients, out=tanh), out=tanh)
        else:
            with space.full_precision():
                tanh = xp.tanh(design @ coefficients)
        if shared:
            yield design, tanh, xp.abs(xp.astype(false_positive[rows], tanh.dtype))[:, None]
            continue
        signs = part.signs[rows, :]
        signs = xp.astype(signs if columns is None else xp.take(signs, columns, axis=1), xp.float64)
        other = None if false_negative is None else false_negative[rows]
        yield design, tanh, xp.abs(xp.astype(gaps(signs, false_positive[rows], other), tanh.dtype))
