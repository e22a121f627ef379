"""The frontier: the error at each value of a promise's figure, and how to choose a point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from averagefair._util.checks import number_below
from averagefair._util.text import counted, digits, exactly, table
from averagefair.auditing.first_look import FirstLook, first_look, warn_if_nothing_to_fix
from averagefair.errors import InputError, extra, some_of, warn
from averagefair.estimator import (
    AverageFairClassifier,
    adopt,
)
from averagefair.game.certificate import (
    Certificate,
    Status,
    warn_if_missed,
    warn_if_worst_off_lose,
)
from averagefair.game.learner import Learner
from averagefair.game.measure import Measurement
from averagefair.game.problem import Fix, Outcome, Problem
from averagefair.game.promises import Cap, Equal, Promise, WorstOff
from averagefair.game.protocols import Rate, Solver
from averagefair.game.rates import Rates
from averagefair.game.solution import Callback, Solution, StopReason
from averagefair.game.who_pays import WhoPays
from averagefair.people.encoder import TableEncoder
from averagefair.people.frames import read_numbers
from averagefair.pose import (
    pose,
    resolve_decisions,
    resolve_promise,
    resolve_solver,
    short_form,
)
from averagefair.solvers import ColumnGeneration, ExponentiatedGradient
from averagefair.solvers.progress import watched

if TYPE_CHECKING:
    from averagefair.evaluation.generalisation import Generalisation

ALPHAS = tuple(round(0.01 * percent, 2) for percent in range(2, 23))
PRICES = (0.05, 0.1, 0.25, 0.5, 1.0)
"""The default values: alphas of equal rates, prices of the worst-off."""


@dataclass(frozen=True, repr=False)
class FrontierPoint:
    """One value of the promise's figure: its model and its error.

    Attributes
    ----------
    value : float
        As requested: an alpha, a max_rate or a price.
    model : AverageFairClassifier
        Fitted.
    unconstrained : Measurement
        Error and rates without a fairness constraint, on the same people and tasks.
    width, unconstrained_width : float
        Width of the narrowest window of rates that leaves out the same share of people as this
        point does: for this model, and without a constraint. If nobody is outside, the width is the
        spread.
    """

    value: float
    model: AverageFairClassifier
    unconstrained: Measurement
    width: float
    unconstrained_width: float

    @property
    def certificate(self) -> Certificate:
        """What was promised, what was reached, who pays, what is proved."""
        return self.model.certificate_

    @property
    def promise(self) -> Promise:
        """What was promised."""
        return self.certificate.promise

    @property
    def who_pays(self) -> WhoPays | tuple[WhoPays, ...] | None:
        """Who is better and worse off on the training people than with nothing asked."""
        return self.certificate.who_pays

    @property
    def error(self) -> float:
        """Overall error."""
        return self.certificate.error

    @property
    def spread(self) -> float:
        """Largest minus smallest individual rate."""
        return self.certificate.spread

    @property
    def worst_off(self) -> float:
        """Mean rate of the worst-off tenth; with several rates, the largest."""
        return max(
            (pays.worst_off.after for pays in self.certificate.each_who_pays), default=np.nan
        )

    @property
    def coin_flips(self) -> float:
        """Error of the unconstrained model with enough coin flips mixed in to reach this width.

        This is the paper's baseline. A share t of coin flips multiplies every difference between
        people by 1 - t, and the error becomes (1 - t) error + t / 2. NaN for promises that do not
        make rates equal.
        """
        if not isinstance(self.promise, Equal):
            return float("nan")
        width = self.unconstrained_width
        kept = min(1.0, self.width / width) if width > 0 else 1.0
        return kept * self.unconstrained.error + (1.0 - kept) * 0.5

    def to_dict(self) -> dict[str, Any]:
        """Return the point's row of the table, as a dict by column name."""
        certificate = self.certificate
        pays = certificate.each_who_pays
        names = ["error", "spread", "outside", "common_rate", "gap", "columns", "seconds"]
        if not isinstance(self.promise, Equal):
            names = ["error", "spread", "reached", "gap", "columns", "seconds"]
        return {
            self.promise.parameter: self.value,
            **{name: getattr(certificate, name) for name in names},
            "coin_flips": self.coin_flips,
            "worst_off": self.worst_off,
            "better": min((own.better for own in pays), default=np.nan),
            "worse": max((own.worse for own in pays), default=np.nan),
        }

    def statement(self) -> str:
        """Say in plain words what the promise costs here, and who pays."""
        free, error = self.unconstrained, self.certificate.error
        if np.isnan(free.spread):
            return f"Nobody has {self._names()}, so fairness has no cost."
        price = error - free.error
        cost = "That costs nothing"
        if price > 0:
            cost = f"That costs {100 * price:.1f} more wrong decisions in a hundred"
        return (
            f"{self._promised()} {cost}: {100 * error:.1f} instead of {100 * free.error:.1f}."
            f"{self._flips()}{self._proof()}{self._caveat()}{self._paid()}"
        )

    def _promised(self) -> str:
        if isinstance(self.promise, Equal):
            return (
                f"{self._who()} {self.width:.3f} apart instead of {self.unconstrained_width:.3f}."
            )
        reached, free = self.certificate.reached, self.certificate.unconstrained_reached
        return (
            f"On the training people and tasks, the {self.promise.figure_words()} "
            f"({self._names()}) is {reached:.3f} instead of {free:.3f}."
        )

    def _flips(self) -> str:
        if np.isnan(self.coin_flips):
            return ""
        return f" Making people as equal by coin flips would take {100 * self.coin_flips:.1f}."

    def _paid(self) -> str:
        pays = self.certificate.each_who_pays
        return "".join(f" {own.statement(self._against())}" for own in pays if own.people)

    def _against(self) -> str:
        return "with today's rates" if self.certificate.against_given else "with nothing asked"

    def _who(self) -> str:
        outside, names = self.certificate.outside, self._names()
        several = Rates.of(self.model.rate).listed
        where = f"within {self.value:g} of {'their' if several else 'a'} common rate"
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
        # With a price the bound is on the error plus a price, not on the error alone.
        if np.isnan(certificate.lower) or self.promise.priced:
            return ""
        exempt = ", with these people exempt," if self.promise.exempt_share else ""
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

    def plot(self, ax: Any = None) -> Any:
        """Draw everybody's rate, here and with nothing asked (matplotlib); returns the axes.

        Parameters
        ----------
        ax : Axes, optional
            Default: the axes of a new pyplot figure, which a notebook shows and
            ``pyplot.close()`` frees.
        """
        from averagefair.showing.plots import RatesDisplay

        return RatesDisplay.from_point(self).plot(ax)

    def __repr__(self) -> str:
        name = self.promise.parameter
        return f"FrontierPoint({name}={self.value:g}, error={self.error:.4f})"

    def _repr_html_(self) -> str:
        return self.certificate._repr_html_()


@dataclass(frozen=True, repr=False)
class Frontier:
    """The trade-off between error and fairness, one point for each value. ``print`` it.

    Attributes
    ----------
    points : tuple of FrontierPoint
        By ascending value. With column generation the error never grows as the promise gets easier,
        for example with alpha; with fixed decisions, among the points that keep their promise. With
        ``max_influence`` or a price, this holds for ``certificate.upper``: the error plus what
        violations, or the worst-off's rates, cost, on average over draws.
    unconstrained : Measurement
        Error and rates without a fairness constraint (alpha 0.5).
    first_look : FirstLook, or None
        Whether there is anything to fix; see ``first_look_`` of
        :class:`~averagefair.AverageFairClassifier`.
    """

    points: tuple[FrontierPoint, ...]
    unconstrained: Measurement
    first_look: FirstLook | None = None

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[FrontierPoint]:
        return iter(self.points)

    def __getitem__(self, index: int) -> FrontierPoint:
        return self.points[index]

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The values requested, ascending: alphas, caps or prices."""
        return tuple(point.value for point in self.points)

    @property
    def parameter(self) -> str:
        """What the values are: "alpha", "max_rate" or "price"."""
        return self.points[0].promise.parameter

    def at(self, value: float) -> FrontierPoint:
        """Return the point of a requested value.

        Parameters
        ----------
        value : float
            One of ``values``.
        """
        for point in self.points:
            if abs(point.value - value) <= 1e-9:
                return point
        raise InputError(
            f"{self.parameter}={value!r} was not requested; choose one of "
            f"{', '.join(map(str, self.values))}."
        )

    def model(self, value: float) -> AverageFairClassifier:
        """Return the fitted model of a requested value.

        Parameters
        ----------
        value : float
            One of ``values``.
        """
        return self.at(value).model

    def select(
        self,
        *,
        max_spread: float | None = None,
        max_worst_off: float | None = None,
        max_error: float | None = None,
    ) -> FrontierPoint:
        """Return the best point within a bound.

        Parameters
        ----------
        max_spread : float
            Return the point of least error whose spread is at most this.
        max_worst_off : float
            Return the point of least error at which the mean rate of the worst-off tenth is at most
            this.
        max_error : float
            Return the fairest point whose overall error is at most this: for equal rates the one of
            smallest spread, else the one whose worst-off tenth has the lowest mean rate.
        """
        given = {"spread": max_spread, "worst_off": max_worst_off, "error": max_error}
        given = {name: bound for name, bound in given.items() if bound is not None}
        if len(given) != 1:
            raise InputError(
                "select by max_spread, by max_worst_off or by max_error: give exactly one of "
                f"them; got {', '.join(f'max_{name}={bound!r}' for name, bound in given.items())}."
                if given
                else "select by max_spread, by max_worst_off or by max_error: give one of them."
            )
        ((name, asked),) = given.items()
        bound = number_below(f"max_{name}", asked, np.inf)
        within = [point for point in self.points if getattr(point, name) <= bound + 1e-6]
        equal = isinstance(self.points[0].promise, Equal)
        if not within:
            least = min(getattr(point, name) for point in self.points)
            easier = (name == "error") != self.points[0].promise.less_is_easier
            raise InputError(
                f"no point has {name} {bound:g} or less; the least is {least:.4f}. Raise "
                f"max_{name}, or ask for {'larger' if easier else 'smaller'} "
                f"{self.parameter}s."
            )
        by = "error" if name != "error" else "spread" if equal else "worst_off"
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
        for name in ("gap", "coin_flips"):
            if np.isnan(columns[name]).all():
                del columns[name]  # unknown at every point
        rows = zip(
            *([_written(name, value) for value in column] for name, column in columns.items()),
            strict=True,
        )
        free = self.unconstrained
        end = f"unconstrained: error {free.error:.4f}, spread {free.spread:.4f}"
        return f"{table([name.replace('_', ' ') for name in columns], rows)}\n{end}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from averagefair.showing.notebook import frontier_html

        return frontier_html(self)

    def plot(self, measured: Generalisation | None = None) -> Any:
        """Draw the error, and the distance of people from a common rate, at each value.

        The figure belongs to pyplot: a notebook shows it, and ``pyplot.close()`` frees it.

        Parameters
        ----------
        measured : Generalisation, optional
            From ``generalisation(curve, ...)``: held-out people and tasks are drawn too.

        Returns
        -------
        Panels
            ``savefig(file)`` writes the figure; ``figure`` and ``axes`` are matplotlib's.
        """
        from averagefair.showing.plots import FrontierDisplay

        return FrontierDisplay.from_frontier(self, measured).figure()

    def to_html(
        self, path: str | Path, Y: Any, measured: Generalisation | None = None, **options: Any
    ) -> Path:
        """Write the report of the curve to one HTML file; return its path (jinja2).

        Parameters
        ----------
        path : str or Path
            The file appears whole or not at all; an older one is replaced.
        Y : array-like or DataFrame, shape (n, m)
            The labels that the curve was learned from. A curve does not keep them, and the report
            shows groups of tasks and people by them.
        measured : Generalisation, optional
            From ``generalisation(curve, ...)``.
        **options
            choice, audit, beside, title and so on: as for
            :func:`averagefair.showing.report.frontier_report`.
        """
        from averagefair.showing.page_file import write_page
        from averagefair.showing.report import frontier_report

        return write_page(path, lambda: frontier_report(self, Y, measured=measured, **options))


def frontier(
    X: Any,
    Y: Any,
    values: ArrayLike | None = None,
    *,
    promise: Promise | None = None,
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
    against: Any = None,
    dtype: str | None = None,
    checkpoint: Any = None,
    worst_off: float | None = None,
    no_harm: float | None = None,
    look_first: bool = True,
    decisions: str | None = None,
    encode: bool | TableEncoder = False,
    verbose: bool | int = False,
) -> Frontier:
    """Return the whole trade-off curve between error and fairness.

    Parameters
    ----------
    X, Y : array-like or DataFrame
        Features (n, d) and labels (n, m); NaN, None or missing where unobserved.
    values : sequence of float, optional
        The values of the promise's own figure. For equal rates, alphas; default 0.02, 0.03, ...,
        0.22. For :class:`~averagefair.WorstOff`, prices (default 0.05, 0.1, 0.25, 0.5, 1) or, if
        ``max_rate`` is set in ``promise``, limits of the mean rate. For :class:`~averagefair.Cap`,
        caps; there is no default.
    promise : Promise, optional
        The promise to vary, e.g. ``WorstOff(0.1)`` or ``Cap()``; its own value does not matter.
        Default: equal rates.
    rate, oracle, beta, max_influence, worst_off, no_harm, look_first, decisions
        As for :class:`~averagefair.AverageFairClassifier`.
    random_state, callback, checkpoint, encode, verbose
        As for :class:`~averagefair.AverageFairClassifier`. The models of the curve have
        ``verbose=False``.
    sample_weight, task_weight, ids, against, dtype
        As for :class:`~averagefair.AverageFairClassifier` and its ``fit``.
    solver : solver, optional
        Default: ``ColumnGeneration()``. Its method ``path`` uses the answers found for one value
        for all other values too. Other solvers solve each value from scratch, the easiest first.
        Their unconstrained end is the oracle's answer without a constraint. If Ctrl-C or the
        callback ends such a solver, the curve has the values reached so far.

    Examples
    --------
    >>> from averagefair.datasets import make_synthetic
    >>> people = make_synthetic(n=100, m=30, random_state=0)
    >>> curve = frontier(people.X, people.Y, [0.05, 0.1, 0.15], random_state=0)
    >>> curve.select(max_spread=0.2).value
    0.1
    >>> decisions = curve.model(0.1).predict(people.X)
    """
    solver = resolve_solver(solver)
    asked = SimpleNamespace(
        alpha=None,
        beta=beta,
        max_influence=max_influence,
        max_rate=None,
        worst_off=worst_off,
        price=None,
        no_harm=no_harm,
        promise=promise,
    )
    varied = resolve_promise(asked)
    promises = [varied.at(value) for value in _grid(values, varied)]
    settings: dict[str, Any] = {
        "rate": rate,
        "oracle": oracle,
        "solver": solver,
        "random_state": random_state,
        "callback": callback,
        "dtype": dtype,
    }
    fix = resolve_decisions(decisions, solver)
    # At its easiest value a promise asks for nothing: this is the unconstrained end.
    problem, columns = pose(
        X,
        Y,
        [*promises, varied.at(varied.easiest)],
        sample_weight=sample_weight,
        task_weight=task_weight,
        ids=ids,
        against=against,
        checkpoint=checkpoint,
        encode=encode,
        **settings,
    )
    grid = [own.value for own in promises]
    with watched(verbose, callback, grid, varied) as watch:
        watch.stage("looking at the model with nothing asked")
        look = first_look(problem) if look_first else None
        with problem.playing() as learner:
            solutions, free = _solve(solver, learner, promises, watch.callback, problem.rng)
        watch.stage("measuring what was reached" if fix is None else "choosing decisions")
        unconstrained = learner.present(problem.settle(free).reached)
        outcomes = _settle_all(problem, solutions, fix)
        watch.finish(counted(len(outcomes), "value"))
    points = []
    for outcome in sorted(outcomes, key=lambda outcome: outcome.solution.promise.value):
        own = outcome.solution.promise
        model = AverageFairClassifier(
            **short_form(own), **settings, decisions=decisions, encode=encode
        )
        adopt(model, outcome, columns, look, one_task=np.ndim(Y) == 1)
        outside = model.certificate_.outside
        widths = (
            learner.constraints.width(learner.gather(rates), 0.0 if np.isnan(outside) else outside)
            for rates in (model.individual_rates_, unconstrained.rates)
        )
        points.append(FrontierPoint(own.value, model, unconstrained, *widths))
    _warn(points)
    warn_if_nothing_to_fix(look)
    return Frontier(tuple(points), unconstrained, look)


def _solve(
    solver: Solver,
    learner: Learner,
    promises: Sequence[Promise],
    callback: Callback | None,
    rng: np.random.Generator,
) -> tuple[list[Solution], Solution]:
    """Solve the promises; return their solutions and the unconstrained end.

    Column generation solves the unconstrained end together with the promises. With another solver,
    or with no_harm, this end is one round of exponentiated gradient: the oracle's answer without a
    constraint.
    """
    easiest = promises[0].at(promises[0].easiest)
    if isinstance(solver, ColumnGeneration) and easiest.no_harm is None:
        *solutions, free = solver.path(learner, [*promises, easiest], callback=callback, rng=rng)
        return solutions, free
    free = ExponentiatedGradient(max_rounds=1).solve(learner, Equal(0.5))
    return solver.path(learner, promises, callback=callback, rng=rng), free


def _settle_all(problem: Problem, solutions: Sequence[Solution], fix: Fix | None) -> list[Outcome]:
    """Settle the solutions, the hardest promise first.

    Fixed decisions that keep a harder promise keep the easier one too. They replace decisions that
    miss it, or that have a larger error.
    """
    outcomes: list[Outcome] = []
    for solution in sorted(solutions, key=lambda solution: -solution.promise.hardness):
        outcome = problem.settle(solution, fix)
        harder = outcomes[-1] if outcomes else None
        if (
            harder is not None
            and harder.fixed is not None
            and harder.certificate.met
            and solution.promise.required
            and not (
                outcome.certificate.met and outcome.certificate.error <= harder.certificate.error
            )
        ):
            hypothesis = harder.fixed.hypotheses[0]
            outcome = problem.settle(solution, lambda *_, known=hypothesis: (known, None))
        outcomes.append(outcome)
    return outcomes


def _warn(points: Sequence[FrontierPoint]) -> None:
    """Warn once of promises not kept and searches ended early, and once of worst-off who lose.

    The figures are those of the hardest promise concerned; the message names all values concerned.
    """
    by_hardness = sorted(points, key=lambda point: -point.promise.hardness)
    missed = [point for point in by_hardness if not point.certificate.met]
    ended = [point for point in by_hardness if _ended(point.certificate)]
    if len(missed) > 1 or (missed and ended not in ([], missed)):
        _warn_of_missed(missed, ended, points)
    elif missed or ended:
        # Without who pays: one warning for the whole curve follows.
        warn_if_missed(replace((missed or ended)[0].certificate, who_pays=None))
    losing = [
        point
        for point in by_hardness
        # At its easiest value a promise asks for nothing, so it takes nothing from anybody.
        if point.value != point.promise.easiest
        and any(pays.hurts_worst_off for pays in point.certificate.each_who_pays)
    ]
    if losing:
        where = f" ({_at(losing, points)})" if len(points) > 1 else ""
        if len(losing) > 1:
            where = f"{where[:-1]}; the figures are those of {digits(losing[0].value)})"
        warn_if_worst_off_lose(losing[0].certificate.each_who_pays, f"the training people{where}")


def _ended(certificate: Certificate) -> bool:
    reason = certificate.stop_reason
    return bool(certificate.trouble) or reason.limit or reason is StopReason.INTERRUPTED


def _warn_of_missed(
    missed: Sequence[FrontierPoint],
    ended: Sequence[FrontierPoint],
    points: Sequence[FrontierPoint],
) -> None:
    hardest = missed[0].certificate
    verb = "promise is" if len(missed) == 1 else "promises are"
    sentences = [
        f"{len(missed)} of {len(points)} {verb} NOT met: {_at(missed, points)}",
        f"The hardest is missed so: {hardest.asked()}",
    ]
    if hardest.compared():
        sentences.append(f"For comparison: {hardest.compared()}")
    if ended:
        reason, trouble = ended[0].certificate.stop_reason.value, ended[0].certificate.trouble
        known = f" ({trouble})" if trouble else ""
        sentences.append(f"At {_at(ended, points)}: {reason.rstrip('.')}{known}")
    on_average = [point for point in missed if point.certificate.met_on_average]
    if on_average and hardest.decisions == "fixed":
        them = "them" if len(on_average) == len(missed) else "some of them"
        sentences.append(
            f"No choice of one classifier for each task was found that keeps {them}. Promise "
            'less, or use decisions="drawn", which keeps a promise on average over draws'
        )
    else:
        sentences.append(hardest.promise.remedy)
    warn(". ".join(sentences) + ".", ConvergenceWarning)


def _at(some: Sequence[FrontierPoint], points: Sequence[FrontierPoint]) -> str:
    """Name the values of some of the points, ascending; neighbours on the curve as a range."""
    name = points[0].promise.parameter.replace("_", " ")
    places = sorted(points.index(point) for point in some)
    values = [digits(points[place].value) for place in places]
    if len(places) > 2 and places[-1] - places[0] == len(places) - 1:
        return f"{name} {values[0]} to {values[-1]}"
    return f"{name} {some_of(values)}"


def _grid(values: ArrayLike | None, promise: Promise) -> list[float]:
    name = f"{promise.parameter}s" if promise.parameter else "values"
    if not promise.parameter:
        raise InputError(
            f"{type(promise).__name__} has no figure to vary: a frontier needs Equal (alphas), Cap "
            "(caps) or WorstOff (prices)."
        )
    if values is None:
        if isinstance(promise, Cap) or promise.parameter == "max_rate":
            raise InputError(
                "caps depend on the data: pass their values, e.g. frontier(X, Y, [0.25, 0.3], "
                f"promise={promise!r})."
            )
        values = PRICES if isinstance(promise, WorstOff) else ALPHAS
    try:
        given = np.atleast_1d(read_numbers(values, f"`{name}`"))
    except InputError:
        given = np.zeros((0, 0))
    if given.ndim != 1 or not given.size:
        raise InputError(f"`{name}` must be a list of numbers; got {values!r}.")
    grid, counts = np.unique(given, return_counts=True)
    if grid.size < given.size:
        raise InputError(f"`{name}` must not repeat; {digits(grid[counts > 1][0])} does.")
    return [float(value) for value in grid]


def _written(name: str, value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(f"{part:.4f}" for part in value)
    if name == "columns":
        return str(value)
    if name in ("outside", "better", "worse"):
        return f"{value:.1%}"
    if isinstance(value, float) and np.isnan(value):
        return "unknown"
    if name in ("alpha", "max_rate", "price"):
        return exactly(value)
    return f"{value:.2f}" if name == "seconds" else f"{value:.4f}"
