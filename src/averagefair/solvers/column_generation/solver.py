"""Column generation: the fair learning problem solved as the linear program it is.

Plays (answers of the Learner) are columns, individuals are rows. A small linear program (the
*master*) finds the best mixture of the plays so far. Its duals are the multipliers, and the
Learner's answer to them is the next play. When no answer improves the master, its mixture is
optimal. With an exact oracle this is proved; with a heuristic oracle it only means that the oracle
knows no better answer.

Three things make it fast (``docs/solvers.md`` has measurements):

* Smoothing (Wentges). The duals of a small master are unstable. The Learner is asked at a point
  between them and the *center*, the best dual point so far. Each round without a gain moves this
  point towards the duals, so that no improving column is missed.
* More answers. A heuristic oracle's answer is often not a best response. The oracle is asked again
  with more weight on the people it misjudged, as in boosting, while that lowers the true cost. Then
  it is asked at *shaken* weights, with a little random noise. All answers may become columns.
* Approach. A heuristic oracle approaches alpha from above: the columns of an easier problem are a
  good start for a harder one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from averagefair._util.checks import number_below, positive_number, whole_number
from averagefair.errors import InputError
from averagefair.game.learner import Learner
from averagefair.game.protocols import Solver
from averagefair.game.request import Request
from averagefair.game.solution import Callback, Solution
from averagefair.solvers.column_generation.run import ColumnRun, Effort, RequestResult
from averagefair.solvers.loop import Trace, iterate

# On a path, the patience is divided by this for all requests but the last.
_PATH_SHARE = 3
# An oracle that refines its answers is asked less often (docs/solvers.md).
_USUAL = Effort(patience=25, reweightings=16, shakes=8)
_REFINING = Effort(patience=12, reweightings=3, shakes=2)


@dataclass(frozen=True)
class ColumnGeneration(Solver):
    """Finds the certified optimum over the oracle's class, or the best answer the oracle knows.

    Parameters
    ----------
    tol : float, default 0.001
        With an exact oracle: stop once the gap between the upper and the lower bound on the optimum
        is at most this. With a heuristic oracle: stop once ``patience`` rounds gain less than this.
    max_rounds : int, default 1000
        Limit of rounds; on a path, for each request.
    time_limit : float, optional
        Limit in seconds; on a path, for all requests together.
    patience : int, optional
        Number of rounds in which a heuristic oracle must improve the answer by ``tol``. On a path,
        all requests but the last get a third of this number. Default: 25; 12 for an oracle that
        refines its own answers, such as :class:`~averagefair.Polished`.
    smoothing : float in [0, 1), default 0.85
        Where the Learner is asked. 0: at the linear program's duals. Near 1: near the best dual
        point so far.
    reweightings : int, optional
        Largest number of times in a round that a heuristic oracle is asked again with more weight
        on the people it misjudged. Default: 16; 3 for an oracle that refines its answers.
    shakes : int, optional
        Number of times in a round that a heuristic oracle is asked again with everybody's weight
        changed a little at random. After a round without a gain there are more and larger shakes.
        Default: 8; 2 for an oracle that refines its answers.
    approach : float in [0, 1), default 0.85
        A heuristic oracle approaches alpha from above. It starts where the constraint begins to
        bind, and each step multiplies the slack by this ratio: the columns of an easier problem are
        a good start. 0: solve at alpha directly.
    columns_per_round : int, default 4
        Largest number of answers of a round that enter the linear program, the best first.

    Notes
    -----
    The two constant classifiers, "always 0" and "always 1" in all tasks at once, are always among
    the columns, so every request can be met.
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
        """Return the best mixture of the Learner's plays that meets the request.

        Parameters
        ----------
        learner : Learner
        request : Request
        callback : callable, optional
            Called with a Round after each round; returning True ends the run.
        rng : numpy Generator, optional
            Source of the shakes. Default: seed 0.
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

        The largest alpha comes first, since it is the easiest. Each next request starts with all
        columns found before. At the end every request is solved once more over the whole pool. This
        makes the curve monotone: a mixture that meets a smaller alpha meets a larger one too.

        Parameters
        ----------
        learner : Learner
        requests : sequence of Request
            They may differ only in alpha.
        callback : callable, optional
            Called with a Round after each round; returning True ends the run. Requests not
            reached yet are solved over the pool as it is.
        rng : numpy Generator, optional
            As for ``solve``.
        """
        _check_alike(requests)
        rng = np.random.default_rng(0) if rng is None else rng
        effort = self._effort(learner)
        run = ColumnRun(learner, self, effort, requests[0], rng)
        order = sorted(range(len(requests)), key=lambda index: -requests[index].alpha)
        results: dict[int, RequestResult] = {}
        ended: Trace | None = None
        for index in order:
            # Later requests add columns for the earlier ones: only the last needs full patience.
            share = 1 if index == order[-1] else _PATH_SHARE
            run.start(requests[index], max(1, effort.patience // share))
            trace = ended or iterate(
                run,
                max_rounds=self.max_rounds,
                time_limit=max(0.0, run.deadline - perf_counter()),
                callback=callback,
                has_answer=bool(results),
            )
            results[index] = run.result(trace)
            if trace.stop_reason.cut_short:
                ended = trace._replace(history=trace.history[:0], seconds=0.0)
        if len(order) > 1:
            # Begin with the smallest alpha: its exemptions can be chosen for the larger alphas too.
            smaller: RequestResult | None = None
            for index in reversed(order):
                smaller = results[index] = run.solve_again(results[index], smaller)
        return [run.to_solution(results[index]) for index in range(len(requests))]

    def _effort(self, learner: Learner) -> Effort:
        """Return the settings given, with defaults that suit the Learner's oracle."""
        usual = _REFINING if learner.oracle.refines_answers else _USUAL
        given = {name: getattr(self, name) for name in Effort._fields}
        return usual._replace(**{name: value for name, value in given.items() if value is not None})


def _check_alike(requests: Sequence[Request]) -> None:
    kinds = {(request.beta, request.max_influence) for request in requests}
    if len(kinds) != 1:
        raise InputError(
            "a path needs at least one request, and requests may differ in alpha alone; got "
            f"(beta, max_influence) = {sorted(kinds, key=str)}."
        )
