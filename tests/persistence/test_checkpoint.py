"""Checkpoints: a stopped run goes on, and ends with the result of an uninterrupted run."""

import os
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from averagefair import (
    AverageFairClassifier,
    Checkpoint,
    CheckpointWarning,
    ColumnGeneration,
    FalsePositiveRate,
    FeatureMap,
    InputError,
    LogisticOracle,
    Polished,
    Portfolio,
    RegressionOracle,
    StumpOracle,
    WeightedOracle,
    frontier,
)
from averagefair.experiments import ResultTable
from averagefair.game.protocols import Solver
from reproduction.job_cache import JobCache
from reproduction.plan import Job
from reproduction.work import do
from tests.support.model_files import assert_decides_the_same
from tests.support.small_fits import ORACLES, STRANGERS, UNEVEN, M, model, people, rounds

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::averagefair.UndefinedRateWarning"),
]
X, Y = people(n=40)
QUICK = ColumnGeneration(max_rounds=14, patience=5)
TREE = DecisionTreeClassifier(max_depth=2)
RUNS = {
    "default, columns": {"solver": QUICK},
    "default, gradient": {"solver": rounds(15)},
    "least squares": {"oracle": RegressionOracle(), "solver": QUICK},
    "logistic": {"oracle": LogisticOracle(), "solver": QUICK},
    "logistic, gradient": {"oracle": LogisticOracle(), "solver": rounds(15)},
    "stumps": {"oracle": StumpOracle(), "solver": ColumnGeneration(), "decisions": "drawn"},
    "polished": {"oracle": Polished(LogisticOracle(), lines=2), "solver": QUICK},
    "portfolio": {
        "oracle": Portfolio([StumpOracle(), LogisticOracle(), WeightedOracle(TREE)]),
        "solver": rounds(8),
    },
    "tree": {"oracle": ORACLES["tree"], "solver": ColumnGeneration(max_rounds=4)},
    "boosting": {"oracle": HistGradientBoostingClassifier(max_iter=2), "solver": rounds(3)},
    "map": {"oracle": FeatureMap(StandardScaler(), LogisticOracle()), "solver": rounds(8)},
    "several rates": {"rate": ["false_positive", "false_negative"], "solver": QUICK},
    "tasks set aside": {"rate": FalsePositiveRate(holdout_tasks=2), "solver": QUICK},
    "batches": {"solver": rounds(3, batch_size=2, replay=False)},
    "beta": {"beta": 0.2, "solver": QUICK},
    "influence": {"max_influence": 3.0, "solver": QUICK},
    "drawn": {"decisions": "drawn", "solver": QUICK},
    "fixed, portfolio": {
        "oracle": Portfolio([StumpOracle(), LogisticOracle(), WeightedOracle(TREE)]),
        "decisions": "fixed",
        "solver": rounds(8),
    },
}


def fit(folder=None, *, after=None, **params):
    """Fit, with a checkpoint if a folder is named, and end it after this many rounds."""
    seen = []

    def callback(now):
        seen.append(now)
        return len(seen) == after

    if folder is not None:
        params["checkpoint"] = Checkpoint(folder, resume=True, every=0)
    found = model(callback=callback, **params).fit(X, Y, UNEVEN[:1].repeat(len(X)))
    return found


def assert_same(one, other):
    assert_decides_the_same(one, other, X, STRANGERS)
    np.testing.assert_array_equal(one.individual_rates_, other.individual_rates_)
    np.testing.assert_array_equal(one.history_, other.history_)
    np.testing.assert_array_equal(one.mapping_.weights, other.mapping_.weights)
    assert (one.balance_ is None) == (other.balance_ is None)
    if one.balance_ is not None:
        np.testing.assert_array_equal(one.balance_.wrong, other.balance_.wrong)
        assert one.classifiers_.is_fixed
    pairs = zip(one.classifiers_.hypotheses, other.classifiers_.hypotheses, strict=True)
    for pair in pairs:
        for name in ("coefficients", "intercepts"):
            if hasattr(pair[0], name):
                np.testing.assert_array_equal(*(getattr(each, name) for each in pair))
    told = [it.certificate_.to_dict() for it in (one, other)]
    for facts in told:
        del facts["seconds"]
    np.testing.assert_equal(*told)


# The others take longer, and do not differ in what a checkpoint records.
SHORT = (
    "default, columns",
    "default, gradient",
    "logistic, gradient",
    "stumps",
    "batches",
    "fixed, portfolio",
)


@pytest.mark.parametrize(
    "params",
    [
        pytest.param(params, id=name, marks=() if name in SHORT else pytest.mark.long)
        for name, params in RUNS.items()
    ],
)
def test_a_run_that_was_ended_goes_on_to_the_same_answer(params, tmp_path):
    whole = fit(**params)
    for after in (1, 2, max(2, len(whole.history_) - 1)):
        fit(tmp_path / "kept", after=after, **params)
    assert_same(fit(tmp_path / "kept", **params), whole)
    # Run again: the record now holds every answer.
    assert_same(fit(tmp_path / "kept", **params), whole)


class Counted(RegressionOracle):
    """Least squares that counts its calls."""

    asked = 0

    def bind(self, sample):
        respond = super().bind(sample)

        def count(costs):
            Counted.asked += 1
            return respond(costs)

        return count


def test_what_is_known_is_not_asked_again(tmp_path):
    Counted.asked = 0
    solver = replace(QUICK, mapping_rounds=0)  # the mapping's answers are not recorded
    whole = fit(tmp_path, oracle=Counted(), solver=solver)
    calls, Counted.asked = Counted.asked, 0
    again = fit(tmp_path, oracle=Counted(), solver=solver)
    assert calls > 10
    assert Counted.asked == 0
    assert again.certificate_.oracle_calls == whole.certificate_.oracle_calls


def test_a_longer_run_goes_on_from_a_shorter_one(tmp_path):
    fit(tmp_path, solver=rounds(5))
    Counted.asked = 0
    assert_same(fit(tmp_path, solver=rounds(12)), fit(solver=rounds(12)))


@pytest.mark.long
def test_a_curve_goes_on_too(tmp_path):
    asked = {"values": [0.05, 0.1, 0.2], "random_state": 0, "solver": QUICK}
    whole = frontier(X, Y, **asked)
    rounds_played = []

    def stop(now):
        rounds_played.append(now)
        return len(rounds_played) == 20

    kept = Checkpoint(tmp_path, resume=True, every=0)
    cut = frontier(X, Y, callback=stop, checkpoint=kept, **asked)
    assert cut.to_dict() != whole.to_dict()
    again = frontier(X, Y, checkpoint=kept, **asked)
    one, other = (curve.to_dict() for curve in (whole, again))
    del one["seconds"], other["seconds"]
    np.testing.assert_equal(one, other)
    for alpha in asked["values"]:
        assert_decides_the_same(whole.model(alpha), again.model(alpha), STRANGERS)


class StoppedError(Exception):
    """An error that ends a run from inside."""


class Failing(RegressionOracle):
    """Least squares that fails, or is interrupted, at some answer."""

    def __init__(self, at, error):
        super().__init__()
        object.__setattr__(self, "at", at)
        object.__setattr__(self, "error", error)

    def bind(self, sample):
        respond, asked = super().bind(sample), []

        def fail(costs):
            asked.append(costs)
            if len(asked) == self.at:
                raise self.error
            return respond(costs)

        return fail

    def __repr__(self):
        return "Failing"


@pytest.fixture(scope="module")
def whole():
    return fit(oracle=RegressionOracle(), solver=QUICK)


ERRORS = [KeyboardInterrupt, StoppedError("no more"), MemoryError]
QUICK_FAILURES = [(1, 0), (2, 1), (40, 0)]


@pytest.mark.parametrize(
    ("at", "error"),
    [
        pytest.param(
            at,
            error,
            marks=() if (at, place) in QUICK_FAILURES else pytest.mark.long,
            id=f"{at}-{['interrupt', 'error', 'no memory'][place]}",
        )
        for at in (1, 2, 40)
        for place, error in enumerate(ERRORS)
    ],
)
def test_what_was_found_before_a_failure_is_kept(at, error, whole, tmp_path):

    def run(at):
        # Another oracle with the same settings: the same run.
        kept = Checkpoint(tmp_path, resume=True, every=1000)
        return model(oracle=Failing(at, error), solver=QUICK, checkpoint=kept).fit(
            X, Y, UNEVEN[:1].repeat(len(X))
        )

    try:
        run(at)
    except (KeyboardInterrupt, StoppedError, MemoryError):
        assert at < 40
    same = run(-1)
    np.testing.assert_array_equal(same.individual_rates_, whole.individual_rates_)


# --- which run it is -----------------------------------------------------------------------------

OTHERS = {
    "alpha": {"alpha": 0.2},
    "beta": {"beta": 0.1, "solver": QUICK},
    "rate": {"rate": "false_positive"},
    "oracle": {"oracle": RegressionOracle(l2=1.0)},
    "kind of oracle": {"oracle": StumpOracle()},
    "solver": {"solver": ColumnGeneration(max_rounds=14, patience=6)},
    "kind of solver": {"solver": rounds(15)},
    "seed": {"random_state": 1},
    "precision": {"dtype": "float32"},
    "map": {"oracle": FeatureMap(StandardScaler(), RegressionOracle())},
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS.keys())
def test_another_run_is_told_apart(other, tmp_path):
    usual = {"oracle": RegressionOracle(), "solver": QUICK}
    fit(tmp_path, after=2, **usual)
    with pytest.raises(InputError, match=r"another run: its .* was .*, and is .*another folder"):
        fit(tmp_path, **(usual | other))


def test_other_data_are_told_apart(tmp_path):
    kept = Checkpoint(tmp_path, resume=True, every=0)
    model(checkpoint=kept).fit(X, Y)
    other = Y.copy()
    other[5, 3] = 1 - other[5, 3]
    for features, labels in ((X + 1e-12, Y), (X, other)):
        with pytest.raises(InputError, match="another run: its data differ"):
            model(checkpoint=kept).fit(features, labels)


def test_a_record_is_not_taken_for_a_fresh_folder(tmp_path):
    fit(tmp_path, after=2)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(InputError, match=r"earlier run.*--resume"):
        model(checkpoint=Checkpoint(tmp_path)).fit(X, Y)
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir()}


def test_one_run_at_a_time(tmp_path):
    refused = []

    def meddle(now):
        try:
            model(checkpoint=Checkpoint(tmp_path, resume=True)).fit(X, Y)
        except InputError as error:
            refused.append(str(error))
        return True

    model(checkpoint=Checkpoint(tmp_path), callback=meddle).fit(X, Y)
    assert len(refused) == 1
    assert "in use by another run" in refused[0]


def test_a_seed_is_needed(tmp_path):
    for seed in (None, np.random.RandomState(0)):
        with pytest.raises(InputError, match=r"random_state.*int"):
            model(checkpoint=Checkpoint(tmp_path / "new"), random_state=seed).fit(X, Y)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("given", ["folder", Path("folder"), Checkpoint])
def test_a_folder_alone_is_refused_with_the_remedy(given):
    with pytest.raises(InputError, match=r"Checkpoint\('folder'\)"):
        model(checkpoint=given).fit(X, Y)


def test_an_oracle_that_remembers_classifiers_is_refused(tmp_path):
    oracle = WeightedOracle(TREE, reuse=0.1)
    with pytest.raises(InputError, match=r"needs WeightedOracle\(reuse=0\)"):
        model(oracle=oracle, checkpoint=Checkpoint(tmp_path)).fit(X, Y)


def test_answers_that_cannot_be_stored_are_refused(tmp_path):
    with pytest.raises(InputError, match="Choices cannot be kept in a checkpoint"):
        model(oracle=ORACLES["finite"], checkpoint=Checkpoint(tmp_path)).fit(X, Y)


# --- what may happen to the folder ---------------------------------------------------------------


def files(folder):
    return sorted(folder.glob("*.checkpoint"))


def test_damage_is_told(tmp_path):
    fit(tmp_path, after=5, oracle=LogisticOracle())
    for path in files(tmp_path):
        content = path.read_bytes()
        for damaged in (content[:-1], b"", content[:300] + b"?" + content[301:]):
            path.write_bytes(damaged)
            with pytest.raises(InputError, match=path.name):
                fit(tmp_path, oracle=LogisticOracle())
        path.write_bytes(content)
    assert_same(fit(tmp_path, oracle=LogisticOracle()), fit(oracle=LogisticOracle()))


@pytest.mark.parametrize("lost", ["last answers", "memory", "first answers", "all but memory"])
@pytest.mark.parametrize(
    "oracle", [LogisticOracle(), RegressionOracle()], ids=["logistic", "plain"]
)
def test_whatever_is_missing_is_found_anew(lost, oracle, tmp_path):
    fit(tmp_path, after=8, oracle=oracle)
    answers = [path for path in files(tmp_path) if path.name.startswith("answers")]
    memory = [path for path in files(tmp_path) if path.name.startswith("memory")]
    assert bool(memory) == isinstance(oracle, LogisticOracle)
    gone = {
        "last answers": answers[-1:],
        "memory": memory,
        "first answers": answers[:1],
        "all but memory": answers,
    }[lost]
    for path in gone:
        path.unlink()
    assert_same(fit(tmp_path, oracle=oracle), fit(oracle=oracle))


def test_a_run_ended_before_it_asks_anything_forgets_nothing(tmp_path):
    """A run killed between writing answers and memory, then stopped while it reads the record."""
    oracle, memory = LogisticOracle(), tmp_path / "memory.checkpoint"
    fit(tmp_path, after=4, oracle=oracle)
    older = memory.read_bytes()
    fit(tmp_path, after=8, oracle=oracle)
    memory.write_bytes(older)
    fit(tmp_path, after=1, oracle=oracle)
    assert memory.read_bytes() == older
    assert_same(fit(tmp_path, oracle=oracle), fit(oracle=oracle))


def test_half_a_file_of_a_killed_run_is_cleared_away(tmp_path):
    fit(tmp_path, after=2)
    (tmp_path / ".0123456789abcdef.part").write_bytes(b"half")
    fit(tmp_path)
    assert not list(tmp_path.glob(".*"))


def test_a_full_disk_ends_no_run(tmp_path, monkeypatch):
    whole = fit()
    folder = tmp_path / "kept"

    def fill(now):
        shutil.rmtree(folder, ignore_errors=True)
        folder.write_bytes(b"in the way")

    kept = Checkpoint(folder, every=0)
    with pytest.warns(CheckpointWarning, match="could not be written.*goes on without") as told:
        found = model(callback=fill, checkpoint=kept).fit(X, Y, UNEVEN[:1].repeat(len(X)))
    assert len(told) == 1
    assert_same(found, whole)


def test_a_run_that_parts_from_its_record_says_so_and_goes_on(tmp_path):
    """A solver with the same settings asks other questions, as one of another release might."""
    kept = Checkpoint(tmp_path, resume=True, every=0)

    class Another(Solver):
        def __init__(self, step):
            self.step = step

        def solve(self, learner, promise, **options):
            return rounds(10, step=self.step).solve(learner, promise, **options)

    def run(step):
        fair = model(solver=Another(step), checkpoint=kept)
        return fair.fit(X, Y, UNEVEN[:1].repeat(len(X)))

    run(5.0)
    with pytest.warns(CheckpointWarning, match=r"departs from .* after \d+ answers?"):
        found = run(50.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CheckpointWarning)
        again = run(50.0)  # the record now belongs to the new run
    assert_same(found, again)


def test_a_record_is_its_owners_alone_and_holds_no_people(tmp_path):
    names = [f"Zebedee-{row:03}" for row in range(len(X))]
    kept = Checkpoint(tmp_path / "kept", every=0)
    uneven = np.random.default_rng(7).uniform(0.5, 2.0, len(X))
    found = model(checkpoint=kept, solver=QUICK).fit(X, Y, uneven, uneven[:M], ids=names)
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700
    for path in (tmp_path / "kept").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
        content = path.read_bytes()
        assert not any(name.encode() in content for name in names)
        for people_s in (X.ravel(), uneven, found.individual_rates_):
            assert not any(np.float64(one).tobytes() in content for one in people_s)
        assert not any(column.astype(np.int8).tobytes() in content for column in (1 - 2 * Y).T)


def test_clear_leaves_nothing_of_its_own_and_all_else(tmp_path):
    fit(tmp_path / "kept", after=2)
    (tmp_path / "kept" / "mine.txt").write_text("mine")
    Checkpoint(tmp_path / "kept").clear()
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["mine.txt"]
    (tmp_path / "kept" / "mine.txt").unlink()
    Checkpoint(tmp_path / "kept").clear()
    assert not (tmp_path / "kept").exists()
    Checkpoint(tmp_path / "kept").clear()  # an empty folder is no error


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_refused_before_any_work(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be"):
        model(checkpoint=Checkpoint(tmp_path / "kept")).fit(X, Y)


def test_a_file_in_the_way_is_refused_before_any_work(tmp_path):
    (tmp_path / "kept").write_text("mine")
    with pytest.raises(InputError, match="cannot be made a folder for checkpoints"):
        model(checkpoint=Checkpoint(tmp_path / "kept")).fit(X, Y)
    assert (tmp_path / "kept").read_text() == "mine"


def test_a_checkpoint_is_a_parameter_like_others():
    one = AverageFairClassifier(checkpoint=Checkpoint("somewhere", every=3))
    assert one.get_params()["checkpoint"] == Checkpoint("somewhere", every=3)
    with pytest.raises(InputError, match="every"):
        Checkpoint("somewhere", every=-1)


# --- reproductions -------------------------------------------------------------------------------

TABLES = {
    "one": ResultTable({"alpha": [0.1, np.nan], "solver": ["a", "größer"], "rounds": [3, 4]}),
    "other": ResultTable({"met": [True], "error": [1 / 3]}),
    "none": ResultTable({"alpha": []}),
}


def jobs(done):
    def work(name):
        def it():
            done.append(name)
            if name == done[0] == "stop":
                raise KeyboardInterrupt
            return TABLES

        return it

    return lambda *names: [Job(name, work(name)) for name in names]


def test_jobs_that_are_done_are_not_done_again(tmp_path):
    done, run = [], {"experiment": "synthetic", "alphas": (0.1, 0.2)}
    some = jobs(done)("a", "b", "c")
    cache = JobCache(tmp_path, run, resume=True)
    first = do(some[:2], cache=cache)
    cache.close()
    cache, told = JobCache(tmp_path, run, resume=True), []
    found = do(some, cache=cache, done=lambda job: told.append(job.name))
    assert done == ["a", "b", "c"]
    assert told == ["a", "b", "c"]
    for tables in (*found, *first):
        assert tables.keys() == TABLES.keys()
        for name, table in tables.items():
            assert list(table.columns) == list(TABLES[name].columns)
            for column, values in table.columns.items():
                assert values.dtype == TABLES[name][column].dtype
                np.testing.assert_array_equal(values, TABLES[name][column])
    cache.clear()
    assert not tmp_path.exists()


def test_jobs_of_another_reproduction_are_refused(tmp_path):
    some = jobs([])("a")
    cache = JobCache(tmp_path, {"quick": True}, resume=False)
    do(some, cache=cache)
    cache.close()
    with pytest.raises(InputError, match="earlier run"):
        JobCache(tmp_path, {"quick": True}, resume=False)
    cache = JobCache(tmp_path, {"quick": False}, resume=True)
    with pytest.raises(InputError, match="its quick was True, and is False"):
        do(some, cache=cache)
    cache.close()
