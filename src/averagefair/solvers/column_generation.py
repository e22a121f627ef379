"""Column generation: the fair learning problem solved as the linear program it is.

Plays are columns, individuals are rows. A small linear program (the *master*) mixes the plays found
so far as well as can be; its duals are the multipliers; the Learner's answer to them is the next
play. Where no answer improves the master, its mixture is optimal: proved with an exact oracle, "no
better answer known to this oracle" with a heuristic one.

Three things make it fast (``docs/solvers.md`` has what was tried, with figures):

* The duals of a small master jump about. The Learner is asked at a point between them and the
  best point found so far (Wentges' smoothing); each round without a gain moves it towards the
  duals themselves, so that nothing is missed.
* A heuristic oracle's answer is often no best response. Those the answer is wrong about are made
  heavier, where a mistake on them costs, and the oracle is asked again, as in boosting, as long as
  that lowers the true cost; then a few times more with weights shaken a little. All answers are
  candidates for the pool, whatever they were asked for.
* With a heuristic oracle alpha is approached from above: the columns of an easier problem are a
  good start for a harder one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from averagefair.checks import number_below, positive_number, whole_number
from averagefair.errors import InputError
from averagefair.learner import Learner
from averagefair.request import Request
from averagefair.solvers.column_run import ColumnRun, Effort, Point
from averagefair.solvers.iterate import Callback, Solution, Trace, iterate

# On a path each request but the last has one part in so many of the patience.
_PATH_SHARE = 3
# Of a thorough oracle fewer answers do (docs/solvers.md).
_USUAL = Effort(patience=25, reweightings=16, shakes=8)
_THOROUGH = Effort(patience=12, reweightings=3, shakes=2)


@dataclass(frozen=True)
class ColumnGeneration:
    """The certified optimum over the oracle's class, or the best answer the oracle knows.

    Parameters
    ----------
    tol : float, default 0.001
        With an exact oracle: stop once the gap, upper less lower bound on the optimum, is at most
        this. With a heuristic one: stop once ``patience`` rounds have gained less than this.
    max_rounds : int, default 1000
        On a path, for each request.
    time_limit : float, optional
        Stop after so many seconds; on a path, all requests together.
    patience : int, optional
        How many rounds a heuristic oracle gets to improve the answer by ``tol``; on a path a
        third of it for each request but the last. Default: 25; 12 for an oracle that is
        ``thorough``, as :class:`~averagefair.Polished` is, whose answers leave less to be found.
    smoothing : float in [0, 1), default 0.85
        How near to the best dual point found so far, away from the linear program's duals, the
        Learner is asked.
    reweightings : int, optional
        How often at most a heuristic oracle is asked again in a round, with those it misjudged made
        heavier. Default: 16; 3 for a thorough one.
    shakes : int, optional
        How often a heuristic oracle is asked again in a round with everybody's weight changed a
        little at random; more often, and by more, after rounds that gained nothing. Default: 8; 2
        for a thorough one.
    approach : float in [0, 1), default 0.85
        With a heuristic oracle alpha is approached from above, from where the constraint begins to
        bind, in steps of this ratio: the columns of an easier problem are a good start. 0: alpha
        itself at once.
    columns_per_round : int, default 4
        How many answers of a round may enter the linear program, the most promising first.

    Notes
    -----
    The two constant classifiers, "always 0" and "always 1" in all tasks at once, always take part,
    so every request can be met.
    """

    tol: float = 1e-3
    max_rounds: int = 1000
    time_limit: float | None = None
    patience: int | None = None
    smoothing: float = 0.85
    reweightings: int | None = None
    shakes: int | None = None
    approach: float = 0.85
    columns_per_round: int = 4

    def __post_init__(self) -> None:
        positive_number("tol", self.tol)
        for name in ("max_rounds", "columns_per_round"):
            whole_number(name, getattr(self, name))
        for name, least in (("patience", 1), ("reweightings", 0), ("shakes", 0)):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), least=least)
        for name in ("smoothing", "approach"):
            number_below(name, getattr(self, name), 1.0)
        if self.time_limit is not None:
            positive_number("time_limit", self.time_limit)

    def solve(
        self,
        learner: Learner,
        request: Request,
        *,
        callback: Callback | None = None,
        rng: np.random.Generator | None = None,
    ) -> Solution:
        """Return the best mixture of the Learner's plays that keeps to the request.

        Parameters
        ----------
        learner : Learner
        request : Request
        callback : callable, optional
            Called with a Round after each round; returning True ends the run.
        rng : numpy Generator, optional
            Where shakes are drawn from. Default: seed 0.
        """
        return self.path(learner, [request], callback=callback, rng=rng)[0]

    def path(
        self,
        learner: Learner,
        requests: Sequence[Request],
        *,
        callback: Callback | None = None,
        rng: np.random.Generator | None = None,
    ) -> list[Solution]:
        """Solve several requests with one pool of columns; solutions in the order of requests.

        The largest alpha comes first, since it is the easiest; each next one starts from all that
        was found before. In the end all are solved once more over the whole pool, which makes the
        curve monotone: what keeps to a smaller alpha keeps to a larger one.

        Parameters
        ----------
        learner : Learner
        requests : sequence of Request
            Differing in alpha alone.
        callback : callable, optional
            Called with a Round after each round; returning True ends the run. Requests not
            reached yet are answered with what is in the pool.
        rng : numpy Generator, optional
            As for ``solve``.
        """
        _check_alike(requests)
        rng = np.random.default_rng(0) if rng is None else rng
        effort = self._effort(learner)
        run = ColumnRun(learner, self, effort, requests[0], rng)
        order = sorted(range(len(requests)), key=lambda place: -requests[place].alpha)
        found: dict[int, Point] = {}
        cut: Trace | None = None
        for place in order:
            # Neighbours on the curve share their columns: only the last needs all of its own.
            share = 1 if place == order[-1] else _PATH_SHARE
            run.aim_at(requests[place], max(1, effort.patience // share))
            trace = cut or iterate(
                run,
                max_rounds=self.max_rounds,
                time_limit=max(0.0, run.deadline - perf_counter()),
                callback=callback,
                has_answer=bool(found),
            )
            found[place] = run.point(trace)
            if trace.stop_reason.cut_short:
                cut = trace._replace(history=trace.history[:0], seconds=0.0)
        if len(order) > 1:
            # Smallest alpha first: whom it excuses is a choice for the larger ones too.
            for place, smaller in zip(order[::-1], [None, *order[:0:-1]], strict=True):
                also = None if smaller is None else found[smaller]
                found[place] = run.solve_again(found[place], also)
        return [run.solution(found[place]) for place in range(len(requests))]

    def _effort(self, learner: Learner) -> Effort:
        """Return what is left open as suits the Learner's oracle."""
        usual = _THOROUGH if getattr(learner.oracle, "thorough", False) else _USUAL
        given = {name: getattr(self, name) for name in Effort._fields}
        return usual._replace(**{name: one for name, one in given.items() if one is not None})


def _check_alike(requests: Sequence[Request]) -> None:
    kinds = {(request.beta, request.max_influence) for request in requests}
    if len(kinds) != 1:
        raise InputError(
            "a path needs at least one request, and they may differ in alpha alone; got "
            f"(beta, max_influence) of {sorted(kinds, key=str)}."
        )
