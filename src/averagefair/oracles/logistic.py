"""Logistic regression on costs, for all tasks at once.

Task j asks for a label (the sign of its cost gap) with a weight (the gap's size). Logistic
regression is the convex loss nearest to that question that has a smooth minimum, and a far-away
person whose label comes out right pulls no more, as in least squares he does.

The minima are found by a quasi-Newton method for all tasks side by side: the inverse of each task's
Hessian is kept, from step to step and from round to round, and corrected by what the gradients show
(BFGS), until steps with it no longer shrink quickly. A step is two matrix products over all tasks,
as in least squares; a Hessian, which costs some d/2 times as much, is needed once in a while.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.blocks import scratch
from averagefair.checks import positive_number
from averagefair.costs import Costs, gaps
from averagefair.errors import InputError
from averagefair.oracles.linear import (
    MOST_L2,
    LinearThresholds,
    Standard,
    design_blocks,
    design_of,
    gap_sums,
)
from averagefair.parts import Part
from averagefair.sample import FloatArray, Sample
from averagefair.spaces import total_size

# Steps go on until the next would move no coefficient (in standardised units) by more than this
# share of the largest; products in float32 cannot tell less.
_ARRIVED = {"float64": 2e-6, "float32": 1e-4, "tf32": 1e-3}
# While more than this is left to go, float32 is enough, and takes half the time where there are
# more people x tasks than so many.
_ROUGH, _LARGE = 1e-3, 1_000_000
_MOST_STEPS, _MOST_SHARED_STEPS = 40, 12
# A Hessian is made anew for tasks of which a step is longer than this share of the step before.
_SLOW = 0.3
# Overshooting: the slope along a step has turned, and is steeper than this share of what it was.
_STEEP = 0.5
_LEAST_CURVATURE = 1e-9
# No direction's curvature is taken to be less than this share of the largest.
_LEAST_RATIO = 1e-12
# Who wants the other decision than all the rest of a task must have more at stake than this share.
_ONE_SIDED = 1e-12
# Of tasks with less than this at stake in all any decision will do; to scale it up would overflow.
_NOTHING = 1e-290
# Where the tasks' Hessians would have more cells than this together, one stands for all, that of
# equal weights and even chances.
_MOST_CELLS = 20_000_000
# Hessians are added up over so many people at most, evenly chosen.
_PEOPLE = 20_000


@dataclass(frozen=True)
class LogisticOracle:
    """Linear classifiers by logistic regression on costs, all tasks at once. A heuristic.

    Parameters
    ----------
    l2 : float, default 1
        Penalty on the coefficients of standardised features (not on the intercept): 1/C of
        scikit-learn's LogisticRegression. Positive, since a task that a line separates would have
        no minimum without it.

    Notes
    -----
    Task j minimises sum_i w_ij log(1 + exp(-z_ij (a + x_i b))) + l2/2 ||b||^2 over the people
    whose label is observed: x_i standardised features, z_ij the wanted decision as +1 or -1, w_ij
    the size of its cost gap, scaled so that the weights of a task are 1 on average. So l2 means
    the same whatever the prices, and as many people as there are speak against it.

    Every round starts from the coefficients of the last one. Answers are minima but for about
    1e-5 of the largest coefficient (float32: 1e-3), so they hardly depend on that: two answers to
    the same prices may differ by as much.

    Features are standardised over everybody, in tasks that they have no label in too.

    With very many features (tasks x features^2 above 20 million) all tasks share one Hessian, and
    answers may stop short of the minimum.

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
    anywhere = True

    def __post_init__(self) -> None:
        positive_number("l2", self.l2)
        if not 1.0 / MOST_L2 <= self.l2 <= MOST_L2:
            raise InputError(
                f"l2 must lie between {1.0 / MOST_L2:g} and {MOST_L2:g}; got {self.l2!r}."
            )

    def bind(self, sample: Sample) -> _Logistic:
        """Find the features' means and deviations and return the answerer."""
        return _Logistic(sample, self.l2)


class _Logistic:
    """The coefficients of the last round (on the design), and the inverse Hessians in use."""

    def __init__(self, sample: Sample, l2: float) -> None:
        self.standard, self.l2 = Standard(sample), l2
        width = sample.d + 1
        self.beta = np.zeros((width, sample.m))
        self.penalty = np.append(0.0, np.full(sample.d, l2))
        self.shared = sample.m * width * width > _MOST_CELLS
        if self.shared:
            second = sample.total(_second_moment, sample.counts, **self.standard.settings)
            self.inverse = _inverse_of((0.25 * second + np.diag(self.penalty))[None], l2)
        else:
            self.inverse = np.zeros((sample.m, width, width))
        self.known = np.full(sample.m, self.shared)
        self.tolerance = _ARRIVED[sample.rows.precision]
        self.complete = sample.complete_tasks

    def memory(self) -> dict[str, NDArray[Any]]:
        """Return where the next round starts from."""
        return {"beta": self.beta, "inverse": self.inverse, "known": self.known}

    def remember(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Start from where another run had come to."""
        for name, own in self.memory().items():
            given = memory[name]
            if given.shape != own.shape or given.dtype != own.dtype:
                raise ValueError(f"{name} is {given.dtype} of shape {given.shape}")
            if not np.isfinite(given).all():
                raise ValueError(f"{name} holds what is no number")
            own[...] = given

    def __call__(self, costs: Costs) -> LinearThresholds:
        """Answer all tasks, starting from where the last round ended."""
        every = np.arange(costs.sample.m) if costs.tasks is None else costs.tasks
        costs = costs.in_reach()
        pull = costs.sample.total(gap_sums, *costs.prices, **self.standard.settings).T
        stakes, people = self._stakes(costs, every)
        # The design's first column is one: there the gaps themselves are added up.
        disputed = (np.abs(pull[0]) < stakes * (1.0 - _ONE_SIDED)) & (stakes > _NOTHING)
        run = _Descent(self, costs, every, people / np.where(stakes > _NOTHING, stakes, 1.0), pull)
        run.descend(np.flatnonzero(disputed))
        self.beta[:, every] = run.beta
        # Where all who matter want the same decision, it is made, whoever it is.
        constant = np.zeros_like(run.beta)
        constant[0] = np.where(pull[0] < 0, -1.0, 1.0)
        return self.standard.plain(np.where(disputed, run.beta, constant), costs.tasks)

    def _stakes(self, costs: Costs, every: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        """Return the sum of the sizes of each task's gaps, and over how many people."""
        sample = costs.sample
        if self.complete[every].all() and costs.prices[1] is None:
            people = float(sample.individual_weights.sum())
            return np.full(sample.m, total_size(costs.false_positive)), np.full(sample.m, people)
        stakes, people = sample.total(_observed_stakes, *costs.prices, sample.counts)
        return stakes, people


class _Descent:
    """Quasi-Newton steps for all tasks of one round side by side.

    The gradient of a task is (A^T (|g| tanh(A b / 2)) - A^T g) / 2 and the penalty's, with g its
    scaled gaps; the second sum does not depend on b. Along a step the slope rises from below zero
    to zero at the best length, since the loss is convex. A step is taken unless the slope at its
    end has turned steep; then it is made anew with a fresh Hessian, and if that does not help, cut
    to where a straight line between both slopes is zero.
    """

    def __init__(
        self,
        bound: _Logistic,
        costs: Costs,
        every: NDArray[np.intp],
        scale: FloatArray,
        pull: FloatArray,
    ) -> None:
        self.bound, self.costs, self.every = bound, costs, every
        self.scale, self.pull = scale, pull
        self.beta = bound.beta[:, every].copy()
        self.rough = self.large = costs.sample.n * len(every) > _LARGE

    def descend(self, tasks: NDArray[np.intp]) -> None:
        """Bring these tasks (positions among those asked for) to their minima."""
        gradient = self._start(tasks)
        self._renew(tasks[~self.bound.known[self.every[tasks]]])
        step = self._newton(tasks, gradient)
        before = np.full(len(tasks), np.inf)
        for _ in range(_MOST_SHARED_STEPS if self.bound.shared else _MOST_STEPS):
            length = np.abs(step).max(axis=0, initial=0.0)
            slow = length > np.maximum(_SLOW * before, _ROUGH if self.rough else 0.0)
            if slow.any():
                self._renew(tasks[slow])
                step[:, slow] = self._newton(tasks[slow], gradient[:, slow])
                length = np.abs(step).max(axis=0)
            # The step after this one would be shorter again, by as much or more.
            rest = length * np.where(np.isinf(before), 1.0, np.minimum(1.0, length / before))
            going = rest > self.bound.tolerance * (1.0 + np.abs(self.beta[:, tasks]).max(axis=0))
            going |= self.rough
            self.beta[:, tasks[~going]] += step[:, ~going]
            tasks, gradient, step = tasks[going], gradient[:, going], step[:, going]
            if not tasks.size:
                return
            self.rough = self.large and bool(rest[going].max() > _ROUGH)
            there, cut = self._walk(tasks, step, gradient)
            self._learn(tasks, step, there - gradient)
            gradient, before = there, np.where(cut, np.inf, length[going])
            step = self._newton(tasks, gradient)

    def _start(self, tasks: NDArray[np.intp]) -> FloatArray:
        """Start where the last round ended, unless zero is the better place; return gradients.

        It is if the way from zero to there leads uphill, at its end at least. (The gradient at
        zero costs nothing.)
        """
        known = self.beta[:, tasks]
        at_zero = -0.5 * self.scale[tasks] * self.pull[:, tasks]
        gradient = self._gradient(tasks, known) if known.any() else at_zero
        first, last = (at_zero * known).sum(axis=0), (gradient * known).sum(axis=0)
        worse = last > _STEEP * np.maximum(-first, 0.0)
        self.beta[:, tasks[worse]] = 0.0
        self.bound.known[self.every[tasks[worse]]] = self.bound.shared
        return np.where(worse, at_zero, gradient)

    def _walk(
        self, tasks: NDArray[np.intp], step: FloatArray, gradient: FloatArray
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Take a step with each task; return the gradients there, and which steps were cut."""
        here = self.beta[:, tasks]
        there = self._gradient(tasks, here + step)
        steep = self._steep(step, gradient, there)
        cut = steep
        if steep.any():
            # Perhaps the Hessian is too old; if it is not, the step is too long.
            some = tasks[steep]
            self._renew(some)
            step[:, steep] = self._newton(some, gradient[:, steep])
            there[:, steep] = self._gradient(some, (here + step)[:, steep])
            cut = steep & self._steep(step, gradient, there)
        if cut.any():
            slope, end = ((one[:, cut] * step[:, cut]).sum(axis=0) for one in (gradient, there))
            step[:, cut] *= slope / (slope - end)
            there[:, cut] = self._gradient(tasks[cut], (here + step)[:, cut])
        self.beta[:, tasks] = here + step
        return there, cut

    @staticmethod
    def _steep(step: FloatArray, start: FloatArray, end: FloatArray) -> NDArray[np.bool_]:
        """Return along which steps the slope has turned, and is nearly as steep as it was."""
        slopes = (end * step).sum(axis=0), (start * step).sum(axis=0)
        return np.asarray(slopes[0] > _STEEP * np.abs(slopes[1]))

    def _newton(self, tasks: NDArray[np.intp], gradient: FloatArray) -> FloatArray:
        if self.bound.shared:
            return np.asarray(-self.bound.inverse[0] @ gradient)
        return np.asarray(-np.matmul(self._inverse(tasks), gradient.T[:, :, None])[:, :, 0].T)

    def _learn(self, tasks: NDArray[np.intp], step: FloatArray, change: FloatArray) -> None:
        """Correct the inverse Hessians by how much the gradients changed along steps (BFGS)."""
        along = (step * change).sum(axis=0)[:, None]
        if self.bound.shared or not (along > 0).all():
            return  # products in float32 may be too rough to show a change
        inverse = self._inverse(tasks)
        seen = np.matmul(inverse, change.T[:, :, None])[:, :, 0]
        factor = (along + (seen * change.T).sum(axis=1, keepdims=True)) / along
        # Two corrections of rank one: each with half of step step^T.
        other = (0.5 * factor * step.T - seen) / along
        inverse += np.matmul(np.stack([other, step.T], axis=2), np.stack([step.T, other], axis=1))
        if inverse.base is None:
            self.bound.inverse[self.every[tasks]] = inverse

    def _inverse(self, tasks: NDArray[np.intp]) -> FloatArray:
        """Return the inverse Hessians of these tasks: a view where those are all, else a copy."""
        if len(tasks) == len(self.bound.inverse):
            return self.bound.inverse[:]
        return self.bound.inverse[self.every[tasks]]

    def _gradient(self, tasks: NDArray[np.intp], beta: FloatArray) -> FloatArray:
        found = self._total(_slopes, tasks, beta).T - self.pull[:, tasks]
        return np.asarray(0.5 * self.scale[tasks] * found + self.bound.penalty[:, None] * beta)

    def _renew(self, tasks: NDArray[np.intp]) -> None:
        """Make the Hessians of these tasks anew, at their present coefficients."""
        if self.bound.shared or not tasks.size:
            return
        every = max(1, self.costs.sample.n // _PEOPLE)
        found = self._total(_curvatures, tasks, self.beta[:, tasks], every=every)
        width = len(self.beta)
        hessian = np.zeros((len(tasks), width, width))
        rows, columns = np.triu_indices(width)
        hessian[:, rows, columns] = hessian[:, columns, rows] = (
            0.25 * every * self.scale[tasks][:, None] * found
        )
        # Where all are sure of their decisions nothing is left of the intercept's curvature.
        hessian += np.diag(np.append(_LEAST_CURVATURE, self.bound.penalty[1:]))
        self.bound.inverse[self.every[tasks]] = _inverse_of(hessian, self.bound.l2)
        self.bound.known[self.every[tasks]] = True

    def _total(
        self, work: Any, tasks: NDArray[np.intp], beta: FloatArray, **settings: Any
    ) -> FloatArray:
        return np.asarray(
            self.costs.sample.total(
                work,
                *self.costs.prices,
                tasks=None if len(tasks) == len(self.every) else tasks,
                complete=bool(self.bound.complete[self.every[tasks]].all()),
                beta=0.5 * beta,
                rough=self.rough,
                **self.bound.standard.settings,
                **settings,
            )
        )


def _inverse_of(hessian: FloatArray, l2: float) -> FloatArray:
    """Return the inverses of Hessians, shape (k, d+1, d+1), whose least curvature is l2.

    Where that is rounding beside the largest (an l2 near to nothing, people of enormous weight),
    it is taken to be as much more as leaves an inverse; then steps are shorter than need be.
    """
    least = _LEAST_RATIO * np.einsum("kaa->ka", hessian).max(axis=1)
    lift = np.where(least > l2, least, 0.0)[:, None, None]
    return np.asarray(np.linalg.inv(hessian + lift * np.eye(hessian.shape[1])))


def _second_moment(part: Part, counts: Any, *, mean: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return the weighted second moment of the design, shape (d+1, d+1)."""
    total = np.zeros((len(mean) + 1,) * 2)
    for _, design, here in design_blocks(part, counts, mean, inverse, len(total)):
        total += _product(part, design * here[:, None], design)
    return total


def _observed_stakes(
    part: Part, false_positive: Any, false_negative: Any | None, counts: Any
) -> FloatArray:
    """Return the sum of the sizes of the gaps, and how many people have one; (2, k)."""
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
    for design, bent, size in _bent(part, *prices, **settings):
        if size.shape[1] == 1:  # the same in every task: rather on the design, which is narrower
            design *= size
        else:
            bent *= size
        total = total + _product(part, bent, design)
    return np.asarray(total)


def _curvatures(part: Part, *prices: Any, every: int, **settings: Any) -> FloatArray:
    """Return sum_i |g_ij| (1 - tanh(a_i b_j)^2) a_i a_i^T, what is on or above the diagonal.

    Shape (k, (d+1)(d+2)/2), over one of so many people (``every``).
    """
    some = Part(part.features[::every, :], part.signs[::every, :], part.precision)
    prices = tuple(None if one is None else one[::every] for one in prices)
    total: Any = 0.0
    for design, bent, size in _bent(some, *prices, **settings):
        bent *= -bent
        bent += 1.0
        bent *= size
        rows = [
            _product(part, bent, design[:, place:] * design[:, place : place + 1])
            for place in range(design.shape[1])
        ]
        total = total + np.concatenate(rows, axis=1)
    return np.asarray(total)


def _product(part: Part, left: Any, right: Any) -> FloatArray:
    with part.space.full_precision():
        found = part.space.xp.matrix_transpose(left) @ right
    return part.space.to_host(found).astype(np.float64, copy=False)


def _bent(
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
    """Yield a block's design, tanh(a_i b_j), and |g_ij|; all may be written to.

    Where a mistake costs the same in every task, the last has one column.
    """
    space, xp = part.space, part.space.xp
    kept = "float64" if part.precision == "float64" else "float32"
    name = "float32" if rough else kept
    here, standard = (
        space.asarray(beta, name),
        [space.asarray(one, kept) for one in (mean, inverse)],
    )
    columns = None if tasks is None else space.asarray(tasks)
    shared = complete and false_negative is None
    for rows in part.blocks(max(beta.shape)):
        design = xp.astype(design_of(part.features[rows, :], *standard), here.dtype, copy=False)
        if space.is_numpy:
            bent = np.matmul(design, here, out=scratch("bent", len(design), here.shape[1], name))
            np.tanh(bent, out=bent)
        else:
            with space.full_precision():
                bent = xp.tanh(design @ here)
        if shared:
            yield design, bent, xp.abs(xp.astype(false_positive[rows], bent.dtype))[:, None]
            continue
        signs = part.signs[rows, :]
        signs = xp.astype(signs if columns is None else xp.take(signs, columns, axis=1), xp.float64)
        other = None if false_negative is None else false_negative[rows]
        yield design, bent, xp.abs(xp.astype(gaps(signs, false_positive[rows], other), bent.dtype))
