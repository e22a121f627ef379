"""Running the experiments: equal tables for any number of processes; no tables of a stopped run."""

from __future__ import annotations

import os
from functools import partial

import numpy as np
import pytest

from averagefair import RegressionOracle
from averagefair.datasets import make_synthetic
from averagefair.experiments import (
    SOLVERS,
    coin_biases,
    error_spread,
    generalise,
    growth,
    learn,
    trajectories,
)
from reproduction.plan import Job, synthetic_jobs
from reproduction.work import do
from tests.support.experiment_jobs import TINY, fail, interrupted, number, who_and_how

PUBLISHED, COLUMNS = SOLVERS


# One process or two.


def assert_same(one, other):
    """Check that two jobs' tables are equal except for their seconds."""
    assert one.keys() == other.keys()
    for name, table in one.items():
        assert list(table.columns) == list(other[name].columns)
        for column in table.columns:
            if column != "seconds":
                np.testing.assert_array_equal(table[column], other[name][column])


def some_of_each_kind():
    kinds = ("60 people", "20 tasks", "false-positive rates, auth")
    return [
        next(job for job in synthetic_jobs(TINY, large=True) if kind in job.name) for kind in kinds
    ]


@pytest.fixture(scope="module")
def both_ways():
    """Jobs run by this process, and by two others, with jobs that return the process's id."""
    jobs = some_of_each_kind()
    heard = []
    lengthy = Job("lengthy", partial(number, 0, work=150))
    tellers = [Job(f"teller {place}", who_and_how) for place in range(3)]
    brief = [Job(f"brief {place}", partial(number, place)) for place in range(1, 5)]
    alone = do(jobs)
    with pytest.MonkeyPatch.context() as patch:
        # The other processes would use this many threads by default.
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            patch.setenv(name, "2")
        together = do([lengthy, *jobs, *tellers, *brief], processes=2, done=heard.append)
    return jobs, alone, together, heard


def test_tables_do_not_depend_on_the_number_of_processes(both_ways):
    jobs, alone, together, _ = both_ways
    assert len(alone) == len(jobs) == 3
    for one, other in zip(alone, together[1:4], strict=True):
        assert_same(one, other)
    assert {name for tables in alone for name in tables} == {
        *("growth", "trajectories", "error_spread", "generalisation"),
    }


def test_the_judge_of_sameness_can_fail(both_ways):
    _, alone, _, _ = both_ways
    with pytest.raises(AssertionError):
        assert_same(alone[0], alone[1])


def test_tables_come_in_the_order_of_the_jobs(both_ways):
    _, _, together, _ = both_ways
    numbers = [tables["number"]["value"][0] for tables in together if "number" in tables]
    assert numbers == [0, 1, 2, 3, 4]


def test_others_do_the_work_each_on_one_thread(both_ways):
    _, _, together, _ = both_ways
    told = [tables["who"] for tables in together if "who" in tables]
    assert len(told) == 3
    processes = {int(one["process"][0]) for one in told}
    assert os.getpid() not in processes
    assert len(processes) <= 2
    assert {int(one["threads"][0]) for one in told} == {1}


def test_whoever_waits_hears_of_every_job_once(both_ways):
    *_, heard = both_ways
    assert len(heard) == len({job.name for job in heard}) == 11
    alone = []
    do([Job("one", partial(number, 1)), Job("two", partial(number, 2))], done=alone.append)
    assert [job.name for job in alone] == ["one", "two"]


# Errors are raised.


@pytest.mark.parametrize(
    ("work", "error", "processes"),
    [
        (fail, ValueError, 1),
        (interrupted, KeyboardInterrupt, 1),
        pytest.param(interrupted, KeyboardInterrupt, 2, marks=pytest.mark.long),
    ],
)
def test_a_job_that_goes_wrong_leaves_no_tables(work, error, processes):
    jobs = [Job("fine", partial(number, 1)), Job("not", work), Job("fine too", partial(number, 2))]
    with pytest.raises(error):
        do(jobs, processes=processes)


class Ended:
    """The default oracle, which raises an error at a certain call."""

    def __init__(self, monkeypatch):
        self.at, self.error, self.calls = np.inf, None, 0
        bind = RegressionOracle.bind

        def bound(oracle, sample):
            answer = bind(oracle, sample)

            def respond(costs):
                self.calls += 1
                if self.calls == self.at:
                    raise self.error
                return answer(costs)

            return respond

        monkeypatch.setattr(RegressionOracle, "bind", bound)

    def plan(self, at, error):
        self.at, self.error, self.calls = at, error, 0


def learned_then(measure, solver):
    def work():
        split = make_synthetic(30, 8, n_holdout=10, m_holdout=4)
        return measure(learn(split, [0.05, 0.1, 0.5], solvers=[solver], rounds=5), split)

    return work


EXPERIMENTS = {
    "error spread": lambda solver: learned_then(error_spread, solver),
    "generalisation": lambda solver: learned_then(generalise, solver),
    "trajectories": lambda solver: (
        lambda: trajectories(make_synthetic(30, 8), [0.1, 0.2], solvers=[solver], rounds=5)
    ),
}
WITH_BOTH = {
    "growth": lambda: growth("people", 30, 0, other=8, new=20, rounds=5),
    "coin biases": lambda: coin_biases(
        (0.8,), (0,), (0.1, 0.5), people=30, tasks=8, new=(10, 4), rounds=5
    ),
}
CASES = {
    f"{name}, {solver}": make(solver) for name, make in EXPERIMENTS.items() for solver in SOLVERS
} | WITH_BOTH


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", CASES)
def test_a_run_that_is_cut_short_is_no_experiment(monkeypatch, case):
    """Ctrl-C stays Ctrl-C at any point, and a broken oracle raises its error."""
    oracle = Ended(monkeypatch)
    work = CASES[case]
    work()
    total = oracle.calls
    assert total > 10
    for error in (KeyboardInterrupt(), FloatingPointError("the oracle broke")):
        for at in {1, 4, total // 2, total} if isinstance(error, KeyboardInterrupt) else {4, total}:
            oracle.plan(at, error)
            with pytest.raises(BaseException) as raised:  # noqa: PT011 - looked at below
                work()
            if isinstance(error, KeyboardInterrupt):
                assert raised.type is KeyboardInterrupt, (case, at)
            else:
                assert issubclass(raised.type, Exception), (case, at)
                assert "the oracle broke" in str(raised.value), (case, at)
