"""Column generation: the fair learning problem solved as the linear program it is.

The paper's mixtures give each task chances of its own (p in Delta(H)^m), and rates are sums over
tasks. So the program separates: one simplex for each block of tasks, and a column for each block
and distinct answer. A linear program (the *master*) finds the best chances for the columns so far.
Its duals are the multipliers, and the Learner's answer to them brings the next columns. When no
answer improves the master, its chances are optimal. With an exact oracle this is proved; with a
heuristic oracle it only means that the oracle knows no better answer.

Tasks to come get the *mapping*: one chance for each weight vector, the same for all tasks. It is
the same program with a single block, except that people may leave their limits at a price. The
mapping is solved after the chances of the learned tasks, beginning with the answers found for them.

``docs/solvers.md`` has measurements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from averagefair._util.checks import number_below, positive_number, whole_number
from averagefair.errors import InputError
from averagefair.game.blocks import Blocks
from averagefair.game.learner import Learner
from averagefair.game.promises import ROUNDING, Promise
from averagefair.game.protocols import Solver
from averagefair.game.solution import Callback, Solution, StopReason
from averagefair.people.threads import one_thread
from averagefair.solvers.column_generation.run import ColumnRun, PromiseResult, grace
from averagefair.solvers.column_generation.to_solution import (
    MappingResult,
    marginal_mapping,
    to_solution,
)
from averagefair.solvers.loop import Trace, iterate

# On a path, the patience is divided by this for all promises but the last.
_PATH_SHARE = 2
# The default number of blocks, and the largest for people on a cluster.
_BLOCKS, _BLOCKS_ON_A_CLUSTER = 50, 16
# Columns kept in the mapping's program, which has one block.
_MAPPING_COLUMNS = 100
# The mapping ends after this many rounds gaining less than `tol`, or after this many times the work
# of the learned tasks.
_MAPPING_PATIENCE, _MAPPING_WORK = 5, 1.0
# With a time limit, this share of it is left for the mapping.
_MAPPING_TIME = 0.2


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
    patience : int, default 15
        Number of rounds in which a heuristic oracle must improve the answer by ``tol``. On a path,
        all promises but the last get half of this number.
    blocks : int, optional
        Number of blocks of tasks that have chances of their own. 1: one chance for whole plays.
        Default: a block for each task up to 50 tasks, then 50 blocks; 16 for people on a cluster.
    columns_per_block : int, default 5
        How many columns to keep for each block, beside those in use and the newest.
    mapping_rounds : int, default 100
        Limit of rounds for the mapping, beyond the answers found for the learned tasks. The mapping
        gets at most as much work as the learned tasks took. 0: give each weight vector its mean
        chance over the learned tasks.
    mapping_influence : float, optional
        In the mapping's program, nobody's multiplier is above ``mapping_influence / n``: everybody
        may leave their limit at this price. Rates over the learned tasks are noisy, and keeping a
        limit on each of them to the letter carries over worse. Default: 4. None: the limits hold.
    reweightings : int, default 1
        Largest number of times in a round of the mapping that a heuristic oracle is asked again
        with more weight on the people it misjudged.
    smoothing : float in [0, 1), default 0.85
        Where the Learner is asked between the best dual point so far (near 1) and the duals (0), in
        rounds of the exact linear program.

    Notes
    -----
    The two constant classifiers, "always 0" and "always 1", are always among the columns of every
    block, so every :class:`~averagefair.Equal` without ``no_harm`` can be kept.
    """

    tol: float = 1e-3
    max_rounds: int = 1000
    time_limit: float | None = None
    patience: int = 15
    blocks: int | None = None
    columns_per_block: int = 5
    mapping_rounds: int = 100
    mapping_influence: float | None = 4.0
    reweightings: int = 1
    smoothing: float = 0.85

    def __post_init__(self) -> None:
        positive_number("tol", self.tol)
        for name in ("max_rounds", "patience", "columns_per_block"):
            whole_number(name, getattr(self, name))
        for name in ("mapping_rounds", "reweightings"):
            whole_number(name, getattr(self, name), least=0)
        if self.blocks is not None:
            whole_number("blocks", self.blocks)
        if self.mapping_influence is not None:
            positive_number("mapping_influence", self.mapping_influence)
        number_below("smoothing", self.smoothing, 1.0)
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
            Source of the shakes, which follow rounds without a gain. Default: seed 0.
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
        # Threads that share one product of the linear algebra wait for each other.
        with one_thread(spread=True):
            return self._solve_path(learner, promises, callback, rng)

    def _solve_path(
        self,
        learner: Learner,
        promises: Sequence[Promise],
        callback: Callback | None,
        rng: np.random.Generator | None,
    ) -> list[Solution]:
        start = perf_counter()
        end = np.inf if self.time_limit is None else start + self.time_limit
        order = sorted(range(len(promises)), key=lambda index: promises[index].hardness)
        blocks = self._blocks(learner)
        main_end = end
        if len(blocks) > 1 and self.mapping_rounds and self.time_limit is not None:
            main_end = start + (1.0 - _MAPPING_TIME) * self.time_limit
        run = ColumnRun(
            learner,
            self,
            promises[order[0]],
            blocks,
            keep=self.columns_per_block if len(blocks) > 1 else _MAPPING_COLUMNS,
            reweightings=0 if len(blocks) > 1 else self.reweightings,
            rng=np.random.default_rng(0) if rng is None else rng,
            deadline=main_end,
        )
        results = self._path(run, promises, order, callback)
        mappings = {index: marginal_mapping(run, result) for index, result in results.items()}
        if len(blocks) > 1 and self.mapping_rounds:
            # A run with other limits asks other questions from here on, so they are not recorded.
            learner.oracle.close()
            mappings |= self._map(run, results, order, end)
        seconds = np.inf
        if self.time_limit is not None:
            left = (end - perf_counter()) / len(promises)
            seconds = max(left, grace(self.time_limit))
        return [
            to_solution(run, results[index], mappings[index], seconds)
            for index in range(len(promises))
        ]

    def _path(
        self,
        run: ColumnRun,
        promises: Sequence[Promise],
        order: Sequence[int],
        callback: Callback | None,
    ) -> dict[int, PromiseResult]:
        """Solve the promises one after the other, the easiest first."""
        results: dict[int, PromiseResult] = {}
        ended: Trace | None = None
        for index in order:
            # Later promises add columns for the earlier ones: only the last needs full patience.
            share = 1 if index == order[-1] else _PATH_SHARE
            run.start(promises[index], max(1, self.patience // share))
            trace = ended or iterate(
                run,
                max_rounds=self.max_rounds,
                time_limit=max(0.0, run.deadline - perf_counter()),
                callback=callback,
                has_answer=bool(results),
            )
            again = len(order) > 1 and not run.program.relaxed
            results[index] = run.result(trace, exactly=not again)
            _refuse_impossible(results[index])
            if trace.stop_reason.cut_short:
                ended = trace._replace(history=trace.history[:0], seconds=0.0)
        if len(order) > 1:
            # Begin with the smallest alpha: its exemptions can be chosen for the larger alphas too.
            harder: PromiseResult | None = None
            for index in reversed(order):
                harder = results[index] = run.solve_again(results[index], harder)
        return results

    def _map(
        self,
        run: ColumnRun,
        results: dict[int, PromiseResult],
        order: Sequence[int],
        end: float,
    ) -> dict[int, MappingResult]:
        """Solve the promises with one chance for whole plays and priced limits, for tasks to come.

        A promise whose run was ended early, or whose mapping was, has no mapping of its own.
        """
        mapping = ColumnRun(
            run.learner,
            self,
            results[order[0]].promise,
            Blocks.even(run.learner.sample.m, 1),
            keep=_MAPPING_COLUMNS,
            reweightings=self.reweightings,
            rng=run.pricer.rng,
            deadline=end,
        )
        mapping.pricer.cheaply = False
        mapping.seed(run.own_plays)
        people = float(run.learner.sample.individual_weights.sum())
        mappings: dict[int, MappingResult] = {}
        for number, index in enumerate(order, 1):
            reason = results[index].trace.stop_reason
            if reason.by_user or reason is StopReason.FAILED or perf_counter() >= end:
                break
            mapping.work_limit = _MAPPING_WORK * run.work * number / len(order)
            mapping.exempt = results[index].exempt
            program = None
            if self.mapping_influence is not None:
                program = results[index].program.priced(self.mapping_influence, people)
            patience = min(self.patience, _MAPPING_PATIENCE)
            mapping.start(results[index].promise, patience, program)
            trace = iterate(
                mapping,
                max_rounds=self.mapping_rounds,
                time_limit=max(0.0, end - perf_counter()),
                callback=None,
                has_answer=True,
            )
            found, reason = marginal_mapping(run, results[index]), trace.stop_reason
            if len(trace.history):
                solved = mapping.result if program is None else mapping.central_result
                found = marginal_mapping(mapping, solved(trace))
            ended = reason if reason.by_user or reason is StopReason.FAILED else None
            mappings[index] = replace(
                found,
                seconds=trace.seconds,
                trouble=trace.trouble,
                ended=ended,
                oracle_calls=mapping.learner.calls - mapping.calls_before,
            )
            if reason.cut_short:
                for later in order[number:]:
                    plain = marginal_mapping(run, results[later])
                    mappings[later] = replace(plain, ended=ended, trouble=trace.trouble)
                break
        return mappings

    def _blocks(self, learner: Learner) -> Blocks:
        sample = learner.sample
        on_a_cluster = sample.space.is_numpy and not sample.rows.local
        usual = _BLOCKS_ON_A_CLUSTER if on_a_cluster else _BLOCKS
        return Blocks.even(sample.m, usual if self.blocks is None else self.blocks)


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
