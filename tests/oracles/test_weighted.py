"""The weighted oracle: in workers, from files, with progress, and when it is stopped."""

import gc
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from averagefair import ErrorRate, InputError, Learner, Sample, WeightedOracle
from averagefair.game.costs import Costs

TREE = DecisionTreeClassifier(max_depth=3, max_features=2)
BOOSTING = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=3)


class Witness(ClassifierMixin, BaseEstimator):
    """Records the process in which it was fitted, and the type of the array."""

    def fit(self, X, y, sample_weight):
        self.process_, self.kind_ = os.getpid(), (type(X), X.flags.writeable)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


class Fussy(ClassifierMixin, BaseEstimator):
    """Raises an error in fit if more than half of the wanted labels are 1."""

    def fit(self, X, y, sample_weight):
        if y.mean() > 0.5:
            raise ZeroDivisionError("more ones than zeros")
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


class Complaining(ClassifierMixin, BaseEstimator):
    """Warns when it is fitted."""

    def fit(self, X, y, sample_weight):
        warnings.warn("not quite", RuntimeWarning, stacklevel=1)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """Put the temporary files of this test into a folder of its own."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def people(n=60, m=5, blanks=0.0):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(n, 3))
    Y = (X @ draw.normal(size=(3, m)) + draw.normal(size=(n, m)) > 0).astype(float)
    Y[draw.random(Y.shape) < blanks] = np.nan
    return X, Y


def in_a_file(X, folder, mode="r", offset=0):
    path = folder / "people.bin"
    path.write_bytes(b"-" * offset + X.tobytes())
    return np.memmap(path, dtype=X.dtype, mode=mode, shape=X.shape, offset=offset)


def ask(oracle, X, Y, tasks=None, dtype="float64"):
    sample = Sample(X, Y, dtype=dtype)
    return ask_bound(oracle.bind(sample), sample, tasks)


def ask_bound(bound, sample, tasks=None, seed=1):
    price = np.random.default_rng(seed).normal(1, 0.5, sample.n)
    tasks = None if tasks is None else np.array(tasks)
    taken = sample if tasks is None else sample.take_tasks(tasks)
    return bound(Costs(taken, price, price + 0.1, tasks))


# --- side by side ---------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [TREE, BOOSTING], ids=["tree", "boosting"])
@pytest.mark.parametrize("tasks", [None, [3, 1]], ids=["all tasks", "some tasks"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_workers_answer_as_one_by_one(estimator, tasks, dtype):
    X, Y = people(blanks=0.2)
    alone = ask(WeightedOracle(estimator), X, Y, tasks, dtype)
    together = ask(WeightedOracle(estimator, n_jobs=2), X, Y, tasks, dtype)
    assert (together.decide(X) == alone.decide(X)).all()
    assert 0 < alone.decide(X).mean() < 1


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("mode", ["r", "r+", "c"])
@pytest.mark.parametrize("offset", [0, 24])
def test_features_in_a_file_are_learned_from_as_if_in_memory(n_jobs, mode, offset, tmp_path):
    X, Y = people()
    mapped = in_a_file(X, tmp_path, mode, offset)
    if mode == "c":  # differs from the file
        X[:20] = mapped[:20] = -X[:20]
    answer = ask(WeightedOracle(TREE, n_jobs=n_jobs), mapped, Y)
    assert (answer.decide(mapped) == ask(WeightedOracle(TREE), X, Y).decide(X)).all()


@pytest.mark.parametrize("gone", ["no name", "removed"])
def test_a_file_that_others_cannot_find_is_no_hindrance(gone, tmp_path):
    X, Y = people()
    if gone == "no name":
        with tempfile.TemporaryFile() as file:
            mapped = np.memmap(file, dtype=X.dtype, mode="w+", shape=X.shape)
        mapped[:] = X
    else:
        mapped = in_a_file(X, tmp_path)
        (tmp_path / "people.bin").unlink()
    answer = ask(WeightedOracle(TREE, n_jobs=2), mapped, Y)
    assert (answer.decide(X) == ask(WeightedOracle(TREE), X, Y).decide(X)).all()


def test_workers_are_kept_from_round_to_round():
    sample = Sample(*people(m=8))
    bound = WeightedOracle(Witness(), n_jobs=2).bind(sample)
    rounds = [ask_bound(bound, sample, seed=seed).classifiers for seed in range(3)]
    processes = {one.process_ for answers in rounds for one in answers}
    assert 1 <= len(processes) <= 2
    assert os.getpid() not in processes


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_an_estimator_gets_an_array_of_its_own(n_jobs, tmp_path):
    X, Y = people()
    answer = ask(WeightedOracle(Witness(), n_jobs=n_jobs), in_a_file(X, tmp_path), Y)
    assert {one.kind_ for one in answer.classifiers} == {(np.ndarray, True)}


def test_joblibs_own_settings_are_respected():
    X, Y = people()
    with parallel_config(n_jobs=2):
        answer = ask(WeightedOracle(Witness()), X, Y)
    assert os.getpid() not in {one.process_ for one in answer.classifiers}
    with parallel_config(backend="threading"):
        answer = ask(WeightedOracle(Witness(), n_jobs=2), X, Y)
    assert {one.process_ for one in answer.classifiers} == {os.getpid()}


def test_many_people_are_measured_in_threads_as_in_one_go():
    X, Y = people(n=100_000, m=20)
    sample, stump = Sample(X, Y), DecisionTreeClassifier(max_depth=1, max_features=1)
    play = Learner(sample, ErrorRate(), WeightedOracle(stump)).respond(np.zeros(len(X)))
    wrong = play.hypothesis.decide(X) != (sample.signs < 0)
    assert play.rates == pytest.approx(wrong.mean(axis=1), abs=1e-12)


# --- progress -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_progress_counts_the_tasks_of_every_round(n_jobs):
    X, Y = people()
    Y[:, 2] = 1  # nothing to learn
    said = []
    oracle = WeightedOracle(TREE, n_jobs=n_jobs, progress=lambda *done: said.append(done))
    sample = Sample(X, Y)
    bound = oracle.bind(sample)
    assert said == []
    ask_bound(bound, sample)
    ask_bound(bound, sample, [2, 0])
    assert said == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5), (1, 2), (2, 2)]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_progress_counts_where_there_is_nothing_to_learn_at_all(n_jobs):
    said = []
    oracle = WeightedOracle(TREE, n_jobs, lambda *done: said.append(done))
    answer = ask(oracle, people()[0], np.ones((60, 2)))
    assert said == [(1, 2), (2, 2)]
    assert answer.decide(np.zeros((1, 3))).all()


@pytest.mark.parametrize("progress", [1, "bar", True])
def test_progress_that_cannot_be_called_is_refused(progress):
    with pytest.raises(InputError, match=f"progress.*{progress!r}"):
        WeightedOracle(TREE, progress=progress)


# --- the end of it --------------------------------------------------------------------------------


def test_the_file_of_the_features_is_written_once_and_removed_in_the_end(temporary):
    sample = Sample(*people())
    bound = WeightedOracle(TREE, n_jobs=2).bind(sample)
    assert not list(temporary.iterdir())
    ask_bound(bound, sample)
    written = list(temporary.iterdir())
    assert len(written) == 1
    assert written[0].stat().st_size == sample.features.nbytes
    answer = ask_bound(bound, sample)
    assert list(temporary.iterdir()) == written
    del bound
    gc.collect()
    assert not list(temporary.iterdir())
    answer.decide(sample.features)


def test_no_file_is_written_where_none_is_needed(temporary, tmp_path):
    X, Y = people()
    sample = Sample(X, Y)
    bound = WeightedOracle(TREE).bind(sample)
    ask_bound(bound, sample)
    sample = Sample(in_a_file(X, tmp_path), Y)
    bound = WeightedOracle(TREE, n_jobs=2).bind(sample)
    ask_bound(bound, sample)
    assert not list(temporary.iterdir())


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_error_of_the_estimator_is_the_users_error(n_jobs, temporary):
    X, Y = people()
    Y[:] = X[:, :1] > 1
    Y[:, 3] = X[:, 0] < 1
    with pytest.raises(ZeroDivisionError, match="more ones than zeros") as raised:
        ask(WeightedOracle(Fussy(), n_jobs=n_jobs), X, Y)
    assert "Fussy" in raised.value.__notes__[0]
    assert "'task3'" in raised.value.__notes__[0]
    del raised  # it holds references to everything
    gc.collect()
    assert not list(temporary.iterdir())
    Y[:] = X[:, :1] > 1
    ask(WeightedOracle(Fussy(), n_jobs=n_jobs), X, Y)  # the next round works


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_what_warnings_are_to_do_is_known_to_the_workers(n_jobs):
    with pytest.raises(RuntimeWarning, match="not quite"):
        ask(WeightedOracle(Complaining(), n_jobs=n_jobs), *people())


# After an error the workers start again, as in test_an_error_of_the_estimator_is_the_users_error.
@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.long)])
def test_an_error_of_progress_stops_the_round(n_jobs, temporary):
    def stop(done, tasks):
        if done == 2:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        ask(WeightedOracle(TREE, n_jobs=n_jobs, progress=stop), *people(m=20))
    gc.collect()
    assert not list(temporary.iterdir())


INTERRUPTED = """
import sys
import time
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from averagefair import Sample, WeightedOracle
from averagefair.game.costs import Costs

class Slow(ClassifierMixin, BaseEstimator):
    def fit(self, X, y, sample_weight):
        if X[0, 0] < 100:
            time.sleep(600)
        return self

draw = np.random.default_rng(0)
X, Y, price = draw.normal(size=(50, 2)), draw.integers(0, 2, (50, 9)), np.ones(50)
Y[:, 0] = 0
sample = Sample(X, Y)
oracle = WeightedOracle(Slow(), n_jobs=2, progress=lambda *done: print(*done, flush=True))
try:
    oracle.bind(sample)(Costs(sample, price, price))
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_ctrl_c_leaves_no_worker_and_no_file(temporary):
    env = os.environ | {"TMPDIR": str(temporary), "JOBLIB_TEMP_FOLDER": str(temporary)}
    command = [sys.executable, "-c", INTERRUPTED]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=env, start_new_session=True, **pipes) as run:
        assert run.stdout.readline() == "1 9\n"  # a constant; all others take forever
        assert len(list(temporary.glob("averagefair-*"))) == 1
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does: workers get the signal too
        # Workers hold the other end of stdout, so this waits until the last worker is gone.
        assert run.stdout.read() == "stopped\n"
        assert run.wait() == 0
    assert not list(temporary.iterdir())
