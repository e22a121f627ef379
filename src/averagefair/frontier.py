"""The frontier: the error at each alpha, and how to choose a point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from averagefair._util.checks import number_below
from averagefair._util.text import digits, exactly, table
from averagefair.errors import InputError, extra
from averagefair.estimator import AverageFairClassifier, adopt
from averagefair.game.certificate import Certificate, Status, warn_if_missed
from averagefair.game.learner import Learner
from averagefair.game.measure import Measurement
from averagefair.game.protocols import Rate, Solver
from averagefair.game.rates import Rates
from averagefair.game.request import Request
from averagefair.game.solution import Callback, Solution, StopReason
from averagefair.people.frames import read_numbers
from averagefair.pose import pose, resolve_solver
from averagefair.solvers import ColumnGeneration, ExponentiatedGradient

ALPHAS = tuple(round(0.01 * percent, 2) for percent in range(2, 23))


@dataclass(frozen=True, repr=False)
class FrontierPoint:
    """One alpha: its model and its error.

    Attributes
    ----------
    alpha : float
        As requested.
    model : AverageFairClassifier
        Fitted.
    unconstrained : Measurement
        Error and rates without a fairness constraint, on the same people and tasks.
    width, unconstrained_width : float
        Width of the narrowest window of rates that leaves out the same share of people as this
        point does: for this model, and without a constraint. If nobody is outside, the width is the
        spread.
    """

    alpha: float
    model: AverageFairClassifier
    unconstrained: Measurement
    width: float
    unconstrained_width: float

    @property
    def certificate(self) -> Certificate:
        """What was requested, what was reached, what is proved."""
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
        """Error of the unconstrained model with enough coin flips mixed in to reach this width.

        This is the paper's baseline. A share t of coin flips multiplies every difference between
        people by 1 - t, and the error becomes (1 - t) error + t / 2.
        """
        width = self.unconstrained_width
        kept = min(1.0, self.width / width) if width > 0 else 1.0
        return kept * self.unconstrained.error + (1.0 - kept) * 0.5

    def to_dict(self) -> dict[str, Any]:
        """Return the point's row of the table, as a dict by column name."""
        certificate = self.certificate
        names = ("error", "spread", "outside", "common_rate", "gap", "columns", "seconds")
        return {
            "alpha": self.alpha,
            **{name: getattr(certificate, name) for name in names},
            "coin_flips": self.coin_flips,
        }

    def statement(self) -> str:
        """Say in plain words what fairness costs here."""
        free, error = self.unconstrained, self.certificate.error
        if np.isnan(free.spread):
            return f"Nobody has {self._names()}, so fairness has no cost."
        price = error - free.error
        cost = "That costs nothing"
        if price > 0:
            cost = f"That costs {100 * price:.1f} more wrong decisions in a hundred"
        return (
            f"{self._who()} {self.width:.3f} apart instead of {self.unconstrained_width:.3f}. "
            f"{cost}: {100 * error:.1f} instead of {100 * free.error:.1f}. "
            f"Making people as equal by coin flips would take {100 * self.coin_flips:.1f}."
            f"{self._proof()}{self._caveat()}"
        )

    def _who(self) -> str:
        outside, names = self.certificate.outside, self._names()
        several = Rates.of(self.model.rate).listed
        where = f"within {self.alpha:g} of {'their' if several else 'a'} common rate"
        if not outside:
            return (
                f"On the training people and tasks, everybody's {names} lie {where}: the "
                "worst-off and the best-off are"
            )
        each = " (for each rate)" if several else ""
        return (
            f"On the training people and tasks, all but {outside:.1%} of the people{each} have "
            f"{names} {where}: without the same share, the worst-off and the best-off are"
        )

    def _names(self) -> str:
        names = [rate.name.replace("_", "-") for rate in Rates.of(self.model.rate)]
        return f"{' and '.join(names)} rates"

    def _proof(self) -> str:
        certificate = self.certificate
        if certificate.status is Status.HEURISTIC:
            return " The least possible cost is unknown, since the oracle is a heuristic."
        # With max_influence the bound is on the error plus a price, not on the error alone.
        if np.isnan(certificate.lower) or certificate.request.max_influence is not None:
            return ""
        exempt = ", with these people exempt," if certificate.request.beta else ""
        # Round down, so that no more is claimed than is proved.
        least = np.floor(1000 * certificate.lower) / 10
        return (
            f" No mixture of the class's classifiers that is as fair{exempt} could get below "
            f"{least:.1f}."
        )

    def _caveat(self) -> str:
        reason = self.certificate.stop_reason
        if reason.cut_short or reason is StopReason.ROUNDS:
            return f" The search was cut short, so a better answer may exist. {reason.value}"
        return ""

    def __repr__(self) -> str:
        return f"FrontierPoint(alpha={self.alpha:g}, error={self.error:.4f})"


@dataclass(frozen=True, repr=False)
class Frontier:
    """The trade-off between error and fairness, one point for each alpha. ``print`` it.

    Attributes
    ----------
    points : tuple of FrontierPoint
        By ascending alpha. With column generation the error never grows with alpha. With
        ``max_influence``, this holds for ``certificate.upper``: the error plus the price of
        violations.
    unconstrained : Measurement
        Error and rates without a fairness constraint (alpha 0.5).
    """

    points: tuple[FrontierPoint, ...]
    unconstrained: Measurement

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[FrontierPoint]:
        return iter(self.points)

    def __getitem__(self, index: int) -> FrontierPoint:
        return self.points[index]

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
            f"alpha={alpha!r} was not requested; choose one of {', '.join(map(str, self.alphas))}."
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
            Return the point of least error whose spread is at most this.
        max_error : float
            Return the point of smallest spread whose overall error is at most this.
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

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the table as a dict with a list for each column."""
        rows = [point.to_dict() for point in self.points]
        return {column: [row[column] for row in rows] for column in rows[0]}

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame (pandas must be installed)."""
        pd = extra("pandas", "pandas")

        return pd.DataFrame(self.to_dict())

    def __str__(self) -> str:
        columns = self.to_dict()
        if np.isnan(columns["gap"]).all():
            del columns["gap"]  # unknown at every point
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
        Default: ``ColumnGeneration()``. Its method ``path`` uses the answers found for one alpha
        for all other alphas too. Other solvers solve each alpha from scratch, the largest first.
        Their unconstrained end is the oracle's answer without a constraint. If Ctrl-C or the
        callback ends such a solver, the curve has the alphas reached so far.

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
    # At alpha 0.5 no constraint binds: this request is the unconstrained end.
    requests = [Request(alpha, beta, max_influence) for alpha in (*grid, 0.5)]
    settings: dict[str, Any] = {
        "rate": rate,
        "oracle": oracle,
        "solver": solver,
        "random_state": random_state,
        "callback": callback,
        "dtype": dtype,
    }
    problem, columns = pose(
        X,
        Y,
        requests,
        sample_weight=sample_weight,
        task_weight=task_weight,
        ids=ids,
        checkpoint=checkpoint,
        **settings,
    )
    with problem.playing() as learner:
        *solutions, free = _solve(solver, learner, requests, callback, problem.rng)
    unconstrained = learner.present(problem.settle(free).reached)
    points = []
    for solution in solutions:
        alpha = solution.request.alpha
        model = AverageFairClassifier(
            alpha=alpha, beta=beta, max_influence=max_influence, **settings
        )
        adopt(model, problem.settle(solution), columns, one_task=np.ndim(Y) == 1)
        outside = model.certificate_.outside
        widths = (
            learner.constraints.width(learner.gather(rates), outside)
            for rates in (model.individual_rates_, unconstrained.rates)
        )
        points.append(FrontierPoint(alpha, model, unconstrained, *widths))
    # Warn once for each kind, not once for each point.
    kinds = {}
    for certificate in (point.certificate for point in points):
        kinds[certificate.trouble, certificate.stop_reason, certificate.met] = certificate
    for certificate in kinds.values():
        warn_if_missed(certificate)
    return Frontier(tuple(points), unconstrained)


def _solve(
    solver: Solver,
    learner: Learner,
    requests: Sequence[Request],
    callback: Callback | None,
    rng: np.random.Generator,
) -> list[Solution]:
    """Solve the requests; the last solution is the unconstrained end (the last request).

    Column generation solves the unconstrained end together with the other requests. With another
    solver, this end is one round of exponentiated gradient: the oracle's answer without a
    constraint.
    """
    if isinstance(solver, ColumnGeneration):
        return solver.path(learner, requests, callback=callback, rng=rng)
    *asked, end = requests
    free = ExponentiatedGradient(max_rounds=1).solve(learner, Request(end.alpha))
    return [*solver.path(learner, asked, callback=callback, rng=rng), free]


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
