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
from averagefair.game.promises import ROUNDING, Promise
from averagefair.game.protocols import Solver
from averagefair.game.solution import Callback, Solution
from averagefair.solvers.column_generation.run import ColumnRun, Effort, PromiseResult
from averagefair.solvers.loop import Trace, iterate

# On a path, the patience is divided by this for all promises but the last.
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
        Limit of rounds; on a path, for each promise.
    time_limit : float, optional
        Limit in seconds; on a path, for all promises together.
    patience : int, optional
        Number of rounds in which a heuristic oracle must improve the answer by ``tol``. On a path,
        all promises but the last get a third of this number. Default: 25; 12 for an oracle that
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
        A heuristic oracle approaches alpha (or max_rate) from above. It starts where the promise
        begins to bind, and each step multiplies the figure by this ratio: the columns of an easier
        problem are a good start. 0: solve at alpha directly.
    columns_per_round : int, default 4
        Largest number of answers of a round that enter the linear program, the best first.

    Notes
    -----
    The two constant classifiers, "always 0" and "always 1" in all tasks at once, are always among
    the columns, so every :class:`~averagefair.Equal` without ``no_harm`` can be kept.
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
        promise: Promise,
        *,
        callback: Callback | None = None,
        rng: np.random.Generator | None = None,
    ) -> Solution:
        """Return the best mixture of the Learner's plays that keeps the promise.

        Raises InputError if no mixture found keeps it.

        Parameters
        ----------
        learner : Learner
        promise : Promise
        callback : callable, optional
            Called with a Round after each round; returning True ends the run.
        rng : numpy Generator, optional
            Source of the shakes. Default: seed 0.
        """
        return self.path(learner, [promise], callback=callback, rng=rng)[0]

    def path(
        self,
        learner: Learner,
        promises: Sequence[Promise],
        *,
        callback: Callback | None = None,
        rng: np.random.Generator | None = None,
    ) -> list[Solution]:
        """Solve several promises with one pool of columns; solutions in the order of promises.

        The easiest comes first, for example the largest alpha. Each next promise starts with all
        columns found before. At the end every promise is solved once more over the whole pool. This
        makes the curve monotone: a mixture that keeps a smaller alpha keeps a larger one too.

        Parameters
        ----------
        learner : Learner
        promises : sequence of Promise
            They may differ only in the promise's own figure, such as alpha.
        callback : callable, optional
            Called with a Round after each round; returning True ends the run. Promises not
            reached yet are solved over the pool as it is.
        rng : numpy Generator, optional
            As for ``solve``.
        """
        _check_alike(promises)
        rng = np.random.default_rng(0) if rng is None else rng
        effort = self._effort(learner)
        order = sorted(range(len(promises)), key=lambda index: promises[index].hardness)
        run = ColumnRun(learner, self, effort, promises[order[0]], rng)
        results: dict[int, PromiseResult] = {}
        ended: Trace | None = None
        for index in order:
            # Later promises add columns for the earlier ones: only the last needs full patience.
            share = 1 if index == order[-1] else _PATH_SHARE
            run.start(promises[index], max(1, effort.patience // share))
            trace = ended or iterate(
                run,
                max_rounds=self.max_rounds,
                time_limit=max(0.0, run.deadline - perf_counter()),
                callback=callback,
                has_answer=bool(results),
            )
            results[index] = run.result(trace)
            _refuse_impossible(results[index])
            if trace.stop_reason.cut_short:
                ended = trace._replace(history=trace.history[:0], seconds=0.0)
        if len(order) > 1:
            # Begin with the smallest alpha: its exemptions can be chosen for the larger alphas too.
            harder: PromiseResult | None = None
            for index in reversed(order):
                harder = results[index] = run.solve_again(results[index], harder)
        return [run.to_solution(results[index]) for index in range(len(promises))]

    def _effort(self, learner: Learner) -> Effort:
        """Return the settings given, with defaults that suit the Learner's oracle."""
        usual = _REFINING if learner.oracle.refines_answers else _USUAL
        given = {name: getattr(self, name) for name in Effort._fields}
        return usual._replace(**{name: value for name, value in given.items() if value is not None})


def _check_alike(promises: Sequence[Promise]) -> None:
    if not promises or not all(promises[0].alike(promise) for promise in promises):
        raise InputError(
            "a path needs at least one promise, and promises may differ in their own figure alone "
            f"(alpha, max_rate or price); got {', '.join(map(repr, promises)) or 'none'}."
        )


def _refuse_impossible(result: PromiseResult) -> None:
    """Refuse a promise that the search did not manage to keep, unless it was ended early."""
    reason, excess = result.trace.stop_reason, result.master.excess
    if excess > ROUNDING and not (reason.limit or reason.cut_short):
        raise InputError(result.promise.impossible(result.program, excess))
