"""Work in parts: any number of threads gives the same answer, and limits are lifted again."""

from __future__ import annotations

import os
import pickle
import select
import signal
import struct
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from averagefair import Learner, RegressionOracle, Sample
from averagefair.people.parts import Part
from averagefair.people.threads import block_threads, one_thread
from tests.support.judges import plain_rates


def blas():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.fixture(scope="module")
def many():
    """Enough cells for several pieces (two million make four)."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(5500, 7))
    Y = (X @ draw.normal(size=(7, 400)) + draw.normal(size=(5500, 400)) > 0).astype(float)
    Y[draw.uniform(size=Y.shape) < 0.02] = np.nan
    return X, Y


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rate", ["error", "false_positive"])
def test_threads_change_nothing(many, rate, dtype):
    weights = np.random.default_rng(1).normal(scale=1e-3, size=5500)
    plays = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, user_api="blas"):
            learner = Learner(Sample(*many, dtype=dtype), rate, RegressionOracle())
            plays.append(learner.respond(weights))
    for other in plays[1:]:
        assert other.error == plays[0].error
        assert (other.rates == plays[0].rates).all()
        assert other.hypothesis.key() == plays[0].hypothesis.key()


@pytest.mark.parametrize("rate", ["error", "false_negative"])
def test_pieces_are_put_together_in_order(many, rate):
    """Check some people's rates from the decisions alone."""
    X, Y = many
    play = Learner(Sample(X, Y), rate, RegressionOracle()).respond(np.zeros(5500))
    some = np.linspace(0, 5499, 60).astype(int)
    decisions = play.hypothesis.decide(X[some]).astype(float)
    np.testing.assert_allclose(play.rates[some], plain_rates(Y[some], decisions, rate), atol=1e-12)


def test_limits_are_lifted_again():
    before = blas()
    with one_thread():
        assert blas() == {1}
        assert block_threads() == 1
        with one_thread(spread=True):
            assert block_threads() == 1  # the first to ask for one thread gets one
    assert blas() == before
    with threadpool_limits(2, user_api="blas"):
        most = max(blas())
        with one_thread(spread=True):
            assert blas() == {1}
            assert block_threads() == most
            with one_thread():
                assert block_threads() == most
        assert max(blas()) == most


def test_limits_of_two_threads_that_overlap():
    """In either order of leaving, the limit is lifted in the end, and others can set it again."""
    with threadpool_limits(2, user_api="blas"):
        before, inside, leave = blas(), threading.Event(), threading.Event()
        seen = []

        def stay():
            with one_thread(spread=True):
                seen.append(block_threads())
                inside.set()
                leave.wait(600)

        other = threading.Thread(target=stay)
        with one_thread(spread=True):
            assert blas() == {1}
            other.start()
            assert inside.wait(600)
        assert seen == [1]  # the other thread uses all of them
        leave.set()
        other.join()
        assert blas() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the test forks a process with threads
def test_a_forked_process_has_threads_of_its_own(many):
    with threadpool_limits(2, user_api="blas"):
        learner = Learner(Sample(*many), "error", RegressionOracle())
        expected = learner.respond(np.zeros(5500)).error
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, struct.pack("d", learner.respond(np.zeros(5500)).error))
            os._exit(0)
        os.close(writer)
        ready, _, _ = select.select([reader], [], [], 300)
        if not ready:
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert ready, "the child waits for threads that it does not have"
        assert struct.unpack("d", os.read(reader, 8))[0] == expected
        os.close(reader)


def test_a_part_travels_without_its_space():
    part = Part(np.zeros((2, 3)), np.zeros((2, 1), np.int8), "float32")
    assert part.space.is_numpy
    again = pickle.loads(pickle.dumps(part))
    assert again.precision == "float32"
    assert again.space.is_numpy
