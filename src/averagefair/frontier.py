"""The frontier: what each degree of fairness costs, and choosing a point on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from averagefair.certificate import Certificate, Status
from averagefair.checks import number_below
from averagefair.errors import InputError, extra
from averagefair.estimator import AverageFairClassifier, resolve_solver, warn_if_missed
from averagefair.held_out import HeldOut, held_out
from averagefair.learner import Learner
from averagefair.measure import Measurement
from averagefair.protocols import Rate
from averagefair.rates import resolve_rates
from averagefair.request import Request
from averagefair.solvers import ExponentiatedGradient
from averagefair.solvers.iterate import Callback, Solution, StopReason
from averagefair.tables import read_numbers
from averagefair.text import digits, exactly, table

ALPHAS = tuple(round(0.01 * percent, 2) for percent in range(2, 23))


@dataclass(frozen=True, repr=False)
class FrontierPoint:
    """One alpha: its model, and what it costs.

    Attributes
    ----------
    alpha : float
        As requested.
    model : AverageFairClassifier
        Fitted.
    unconstrained : Measurement
        What is reached without a fairness constraint, on the same people and tasks.
    width, unconstrained_width : float
        How far apart people's rates are, the furthest off left out as far as this point leaves
        people outside alpha; with nobody outside, the spread. Here, and unconstrained.
    """

    alpha: float
    model: AverageFairClassifier
    unconstrained: Measurement
    width: float
    unconstrained_width: float

    @property
    def certificate(self) -> Certificate:
        """What was asked, what was reached, what is proved."""
        return self.model.certificate_

    @property
    def error(self) -> float:
        """Overall error."""
        return self.certificate.error

    @property
    def spread(self) -> float:
        """Largest minus smallest individual rate."""
        return self.certificate.spread

    @property
    def coin_flips(self) -> float:
        """Error of mixing the unconstrained model with coin flips until people are as near.

        The paper's baseline: a share t of coin flips shrinks every difference between people by
        1 - t, and takes the error a share t of the way to one half.
        """
        apart = self.unconstrained_width
        kept = min(1.0, self.width / apart) if apart > 0 else 1.0
        return kept * self.unconstrained.error + (1.0 - kept) * 0.5

    def to_dict(self) -> dict[str, Any]:
        """Return the row of the table, by column."""
        known = self.certificate
        return {
            "alpha": self.alpha,
            "error": known.error,
            "spread": known.spread,
            "outside": known.outside,
            "common_rate": known.common_rate,
            "gap": known.gap,
            "columns": known.columns,
            "seconds": known.seconds,
            "coin_flips": self.coin_flips,
        }

    def statement(self) -> str:
        """Say in plain words what fairness costs here."""
        free, known = self.unconstrained, self.certificate
        if np.isnan(free.spread):
            return f"Nobody has {self._names()}: nothing is asked for, and nothing is paid."
        price = known.error - free.error
        cost = "That costs nothing"
        if price > 0:
            cost = f"That costs {100 * price:.1f} more wrong decisions in a hundred"
        return (
            f"{self._who()} {self.width:.3f} apart instead of {self.unconstrained_width:.3f}. "
            f"{cost}: {100 * known.error:.1f} instead of {100 * free.error:.1f}. "
            "Mixing in coin flips until people are as equal would make it "
            f"{100 * self.coin_flips:.1f}.{self._proof()}{self._caveat()}"
        )

    def _who(self) -> str:
        known, names = self.certificate, self._names()
        several = isinstance(self.model.rate, list | tuple)
        where = f"within {self.alpha:g} of a common rate{' of their own' if several else ''}"
        if not known.outside:
            return (
                f"On the people and tasks learned from, everybody's {names} lie {where}: the "
                "worst-off and the best-off are"
            )
        each = " (for each rate)" if several else ""
        return (
            f"On the people and tasks learned from, all but {known.outside:.1%} of the people"
            f"{each} have {names} {where}: leaving out as many, the worst-off and the best-off are"
        )

    def _names(self) -> str:
        words = [rate.name.replace("_", "-") for rate in resolve_rates(self.model.rate)]
        return f"{' and '.join(words)} rates"

    def _proof(self) -> str:
        known = self.certificate
        if known.status is Status.HEURISTIC:
            return " Whether it could cost less is not known: the oracle is a heuristic."
        # With bounded influence the bound is on the error plus a price, which is nobody's concern.
        if np.isnan(known.lower) or known.request.max_influence is not None:
            return ""
        exceptions = ", with these exceptions," if known.request.beta else ""
        # Rounded down: not a hair more than is proved.
        least = np.floor(1000 * known.lower) / 10
        return (
            f" No mixture of the class's classifiers that is as fair{exceptions} could get below "
            f"{least:.1f}."
        )

    def _caveat(self) -> str:
        reason = self.certificate.stop_reason
        if reason.cut_short or reason is StopReason.ROUNDS:
            return f" The search was cut short ({reason.value}): a better answer may exist."
        return ""

    def __repr__(self) -> str:
        return f"FrontierPoint(alpha={self.alpha:g}, error={self.error:.4f})"


@dataclass(frozen=True, repr=False)
class Frontier:
    """The trade-off between error and fairness, one point for each alpha. ``print`` it.

    Attributes
    ----------
    points : tuple of FrontierPoint
        By ascending alpha. With column generation a larger alpha never costs more (with
        ``max_influence``: the error plus the price of those outside, ``certificate.upper``, never
        does).
    unconstrained : Measurement
        The other end, with no heed to fairness (alpha 0.5).
    """

    points: tuple[FrontierPoint, ...]
    unconstrained: Measurement

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[FrontierPoint]:
        return iter(self.points)

    def __getitem__(self, place: int) -> FrontierPoint:
        return self.points[place]

    @cached_property
    def alphas(self) -> tuple[float, ...]:
        """The alphas requested, ascending."""
        return tuple(point.alpha for point in self.points)

    def at(self, alpha: float) -> FrontierPoint:
        """Return the point of a requested alpha.

        Parameters
        ----------
        alpha : float
            One of ``alphas``.
        """
        for point in self.points:
            if abs(point.alpha - alpha) <= 1e-9:
                return point
        raise InputError(
            f"alpha={alpha!r} was not requested; there are {', '.join(map(str, self.alphas))}."
        )

    def model(self, alpha: float) -> AverageFairClassifier:
        """Return the fitted model of a requested alpha.

        Parameters
        ----------
        alpha : float
            One of ``alphas``.
        """
        return self.at(alpha).model

    def select(
        self, *, max_spread: float | None = None, max_error: float | None = None
    ) -> FrontierPoint:
        """Return the best point within a bound.

        Parameters
        ----------
        max_spread : float
            How far apart two people's rates may be: the least error that keeps to it.
        max_error : float
            How much overall error is bearable: the smallest spread that keeps to it.
        """
        if (max_spread is None) == (max_error is None):
            raise InputError(
                "select by max_spread or by max_error: give exactly one of them; got "
                f"max_spread={max_spread!r} and max_error={max_error!r}."
            )
        if max_spread is not None:
            name, bound, by = "spread", number_below("max_spread", max_spread, np.inf), "error"
        else:
            name, bound, by = "error", number_below("max_error", max_error, np.inf), "spread"
        within = [point for point in self.points if getattr(point, name) <= bound + 1e-6]
        if not within:
            least = min(getattr(point, name) for point in self.points)
            raise InputError(
                f"no point has {name} {bound:g} or less; the least is {least:.4f}. Raise "
                f"max_{name}, or ask for {'smaller' if name == 'spread' else 'larger'} alphas."
            )
        return min(within, key=lambda point: getattr(point, by))

    def held_out(self, **new: Any) -> tuple[HeldOut, ...]:
        """Measure every point on people, tasks, or both, held out; in the order of the points.

        Parameters
        ----------
        **new
            ``X_new``, ``Y_new_people``, ``Y_new_tasks``, ``Y_new_both``, ``sample_weight``, as for
            :func:`averagefair.held_out`.
        """
        return tuple(held_out(point.model, **new) for point in self.points)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the table, a list for each column."""
        rows = [point.to_dict() for point in self.points]
        return {column: [row[column] for row in rows] for column in rows[0]}

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame (pandas must be installed)."""
        pd = extra("pandas", "pandas")

        return pd.DataFrame(self.to_dict())

    def __str__(self) -> str:
        columns = self.to_dict()
        if np.isnan(columns["gap"]).all():
            del columns["gap"]  # nothing is known of it anywhere
        rows = zip(
            *([_written(name, value) for value in column] for name, column in columns.items()),
            strict=True,
        )
        free = self.unconstrained
        end = f"unconstrained: error {free.error:.4f}, spread {free.spread:.4f}"
        return f"{table([name.replace('_', ' ') for name in columns], rows)}\n{end}"

    __repr__ = __str__


def frontier(
    X: Any,
    Y: Any,
    alphas: ArrayLike = ALPHAS,
    *,
    rate: str | Rate | Sequence[str | Rate] = "error",
    oracle: Any = None,
    solver: Any = None,
    beta: float = 0.0,
    max_influence: float | None = None,
    random_state: Any = None,
    callback: Callback | None = None,
    sample_weight: ArrayLike | None = None,
    task_weight: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    dtype: str | None = None,
    checkpoint: Any = None,
) -> Frontier:
    """Return the whole trade-off curve between error and fairness.

    Parameters
    ----------
    X, Y : array-like or DataFrame
        Features (n, d) and labels (n, m); NaN, None or missing where unobserved.
    alphas : sequence of float in [1e-6, 0.5], default 0.02, 0.03, ..., 0.22
    rate, oracle, beta, max_influence, random_state, callback, checkpoint
        As for :class:`~averagefair.AverageFairClassifier`.
    sample_weight, task_weight, ids, dtype
        As for :class:`~averagefair.AverageFairClassifier` and its ``fit``.
    solver : solver, optional
        Default: ``ColumnGeneration()``, for which one pool of columns serves all alphas (its method
        ``path``). Others solve each alpha anew, the largest first, and the unconstrained end is
        what the oracle answers where fairness has no weight; ended by Ctrl-C or the callback, the
        curve has the alphas reached until then.

    Examples
    --------
    >>> from averagefair.datasets import make_synthetic
    >>> people = make_synthetic(n=100, m=30, random_state=0)
    >>> curve = frontier(people.X, people.Y, [0.05, 0.1, 0.15], random_state=0)
    >>> curve.select(max_spread=0.2).alpha
    0.1
    >>> decisions = curve.model(0.1).predict(people.X)
    """
    solver = resolve_solver(solver)
    grid = _grid(alphas)
    # At 0.5 nothing binds: that is the unconstrained end.
    requests = [Request(alpha, beta, max_influence) for alpha in (*grid, 0.5)]
    template = AverageFairClassifier(
        rate=rate,
        oracle=oracle,
        solver=solver,
        beta=beta,
        max_influence=max_influence,
        random_state=random_state,
        callback=callback,
        dtype=dtype,
        checkpoint=checkpoint,
    )
    problem = template._pose(X, Y, sample_weight, task_weight, ids, requests)
    solve = solver.path if callable(getattr(solver, "path", None)) else partial(_solve_each, solver)
    with problem.playing() as learner:
        *solutions, free = solve(learner, requests, callback=callback, rng=problem.rng)
    unconstrained = learner.present(problem.settle(free).reached)
    points = []
    for solution in solutions:
        alpha = solution.request.alpha
        model = AverageFairClassifier(
            **(template.get_params(deep=False) | {"alpha": alpha, "checkpoint": None})
        )
        model._adopt(problem, problem.settle(solution), X, Y)
        outside = model.certificate_.outside
        widths = (
            learner.constraints.width(learner.gather(rates), outside)
            for rates in (model.individual_rates_, unconstrained.rates)
        )
        points.append(FrontierPoint(alpha, model, unconstrained, *widths))
    # One warning of a kind, not one for each point.
    known = [point.certificate for point in points]
    for one in {(each.trouble, each.stop_reason, each.met): each for each in known}.values():
        warn_if_missed(one)
    return Frontier(tuple(points), unconstrained)


def _solve_each(
    solver: Any,
    learner: Learner,
    requests: Sequence[Request],
    *,
    callback: Callback | None,
    rng: np.random.Generator,
) -> list[Solution]:
    """Solve requests one by one, the largest alpha first.

    The last, the unconstrained end, is one round: what the oracle answers where fairness has no
    weight. Returned in the order of the requests; where somebody ended a run, without those after.
    """
    *asked, end = requests
    free = ExponentiatedGradient(max_rounds=1).solve(learner, Request(end.alpha))
    found: list[Solution] = []
    for request in sorted(asked, key=lambda one: -one.alpha):
        # Each as if it were alone: no point depends on which others were asked for.
        found.insert(0, solver.solve(learner, request, callback=callback, rng=deepcopy(rng)))
        if found[0].stop_reason in (StopReason.INTERRUPTED, StopReason.CALLBACK):
            break
    return [*found, free]


def _grid(alphas: ArrayLike) -> list[float]:
    try:
        given = np.atleast_1d(read_numbers(alphas, "alphas"))
    except InputError:
        given = np.zeros((0, 0))
    if given.ndim != 1 or not given.size:
        raise InputError(f"`alphas` must be a list of numbers; got {alphas!r}.")
    grid, counts = np.unique(given, return_counts=True)
    if grid.size < given.size:
        raise InputError(f"`alphas` must not repeat; {digits(grid[counts > 1][0])} does.")
    return [float(alpha) for alpha in grid]


def _written(name: str, value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(f"{part:.4f}" for part in value)
    if name == "columns":
        return str(value)
    if name == "outside":
        return f"{value:.1%}"
    if isinstance(value, float) and np.isnan(value):
        return "unknown"
    if name == "alpha":
        return exactly(value)
    return f"{value:.2f}" if name == "seconds" else f"{value:.4f}"
