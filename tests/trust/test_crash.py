"""Runs killed at any moment: files on disk are complete, and a resumed run loses nothing."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

from averagefair import load
from averagefair.cli.app import app
from averagefair.datasets import make_synthetic
from tests.support.cli_runs import command, environment, fixture_forks, write  # noqa: F401
from tests.support.clocks import count_looks
from tests.support.model_files import contents
from tests.support.reliability import record

PEOPLE = make_synthetic(n=60, m=10, d=8, random_state=0)
COLUMNS = [f"x{place}" for place in range(8)]
TASKS = [f"task_{place}" for place in range(10)]
COMMON = ("people.csv", "--tasks", "task_*", "--quiet", "--seed", "3")
RUNS = {
    "fit": ("fit", *COMMON, "--alpha", "0.05", "-o", "fair.model"),
    "gradient": (
        *("fit", *COMMON, "--alpha", "0.05", "-o", "fair.model"),
        *("--solver", "published", "--oracle", "logistic", "--max-rounds", "60"),
    ),
    "curve": (
        *("frontier", *COMMON, "--alphas", "0.05,0.1", "--oracle", "regression"),
        *("--model", "fair.model", "--extendable"),
    ),
}
KEPT = ("--checkpoint", "kept", "--checkpoint-every", "0.05", "--resume")
PATIENCE = 600
"""A run that takes this many seconds hangs; on a busy machine it is only slow."""


@dataclass
class Tally:
    """Counts of what happened to killed runs."""

    killed: int = 0
    resumed: int = 0
    finished: int = 0
    models: int = 0


def put_people(folder):
    folder.mkdir(exist_ok=True)
    rows = np.hstack([PEOPLE.X, PEOPLE.Y.astype(int)]).tolist()
    rows = [[*row[:8], *map(int, row[8:])] for row in rows]
    write(folder / "people.csv", [*COLUMNS, *TASKS], rows)


def decisive(path):
    """Return the contents of a model file, except its seconds."""
    arrays, manifest = contents(path)
    del arrays["digest"], manifest["certificate"]["seconds"]
    return arrays, manifest


def assert_same_model(one, other):
    (arrays, manifest), (others, other_manifest) = decisive(one), decisive(other)
    assert manifest == other_manifest
    assert arrays.keys() == others.keys()
    for name, part in arrays.items():
        np.testing.assert_array_equal(part, others[name], err_msg=name)


def signal_once_there(number, path, seconds=0.0, count=1):
    """Send a signal ``seconds`` after ``count`` files of that name are there."""

    def send(process):
        end = time.monotonic() + PATIENCE
        while len([*path.parent.glob(path.name)]) < count and alive(process):
            assert time.monotonic() < end, f"{path} never came"
            time.sleep(0.001)
        time.sleep(seconds)
        with suppress(ProcessLookupError):  # the process has already ended
            os.kill(process, number)

    return send


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def timed(forks, folder, *args, meanwhile=None):
    """Run a command; return its exit code and the seconds it took."""
    start = time.perf_counter()
    code = forks.run(folder, *args, code=None, meanwhile=meanwhile).returncode
    return code, time.perf_counter() - start


@pytest.mark.parametrize(
    "count", [pytest.param(1, id="few"), pytest.param(34, id="many", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("kind", ["fit", "gradient", pytest.param("curve", marks=pytest.mark.long)])
def test_a_killed_run_goes_on_as_if_nothing_had_happened(kind, count, forks, tmp_path):
    args, rng, tally = RUNS[kind], np.random.default_rng(len(kind)), Tally()
    put_people(tmp_path / "whole")
    ended, takes = timed(forks, tmp_path / "whole", *args)
    assert ended in (0, 1, 4)  # 1: fixed decisions of ten tasks miss the promise
    attempt = 0
    while tally.killed < count:
        folder = tmp_path / f"attempt-{attempt}"
        attempt += 1
        put_people(folder)
        code = None
        while code is None:
            kill, kept = None, KEPT
            if tally.killed == 0:  # make sure that at least one killed run is resumed
                kill = signal_once_there(signal.SIGKILL, folder / "kept" / "answers*", count=3)
                kept = (*KEPT, "--checkpoint-every", "0")
            elif tally.killed < count:
                moment = rng.uniform(0.0, 1.2 * takes)
                kill = signal_once_there(signal.SIGKILL, folder / "people.csv", moment)
            code, took = timed(forks, folder, *args, *kept, meanwhile=kill)
            model = folder / "fair.model"
            if model.exists():
                load(model)  # it must be complete
                tally.models += 1
            if code == -signal.SIGKILL:
                tally.killed += 1
                tally.resumed += any(folder.glob("kept/answers*"))
                code = None
            else:
                takes = took  # how fast the machine is now
        assert code == ended
        assert_same_model(model, tmp_path / "whole" / "fair.model")
        assert not list(folder.glob(".*")) or tally.killed, "half a file that nobody was killed in"
        tally.finished += 1
    assert tally.resumed > 0
    record(
        f"crash-{kind}",
        what=f"runs ({kind}) killed by SIGKILL at random moments, then resumed",
        count=tally.killed,
        outcome=f"{tally.finished} runs came to the uninterrupted result, all the same bits; "
        f"{tally.models} model files found on the way, all whole; 0 losses",
    )


@pytest.mark.parametrize(
    "count", [pytest.param(3, id="few"), pytest.param(100, id="many", marks=pytest.mark.long)]
)
def test_a_model_is_the_old_one_or_the_new_one(count, forks, tmp_path):
    """A process saves one model over the other forever, and is killed."""
    put_people(tmp_path)
    models = {}
    for alpha in ("0.05", "0.2"):
        args = ("fit", *COMMON, "--alpha", alpha, "--oracle", "regression", "--extendable")
        done = forks.run(tmp_path, *args, "-o", f"{alpha}.model", code=None)
        assert done.returncode in (0, 1)  # 1: fixed decisions of ten tasks miss the promise
        assert load(tmp_path / f"{alpha}.model").balance_ is not None
        models[alpha] = (tmp_path / f"{alpha}.model").read_bytes()
    rng, found = np.random.default_rng(0), dict.fromkeys(models, 0)
    target = tmp_path / "fair.model"
    with subprocess.Popen(
        [sys.executable, "-c", SAVERS, *(f"{alpha}.model" for alpha in models), "fair.model"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as savers:
        for _ in range(count):
            savers.stdin.write("\n")
            savers.stdin.flush()
            process = int(savers.stdout.readline())
            signal_once_there(signal.SIGKILL, target, rng.uniform(0.0, 0.1))(process)
            assert int(savers.stdout.readline()) == -signal.SIGKILL
            load(target)
            certificate = contents(target)[1]["certificate"]
            found[str(certificate["promise"]["alpha"])] += 1
        savers.stdin.close()
    assert sum(found.values()) == count
    record(
        "crash-save",
        what="processes that save one model over another, killed by SIGKILL",
        count=count,
        outcome=f"{found['0.05']} times the one, {found['0.2']} times the other; 0 losses",
    )


SAVERS = """
import os, sys
from averagefair import load, save

*paths, target = sys.argv[1:]
models = [load(path) for path in paths]
for _ in sys.stdin:
    child = os.fork()
    if child == 0:
        while True:
            for one in models:
                save(one, target, extendable=True)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


# --- stopped by signals and by limits ------------------------------------------------------------

# Chances keep the promise after a single round; fixed decisions of ten tasks cannot at this alpha.
DRAWN = ("--decisions", "drawn")
LONG = ("fit", *COMMON, *DRAWN, "--alpha", "0.02", "-o", "fair.model")


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        pytest.param("fit", signal.SIGINT, id="fit, Ctrl-C"),
        pytest.param("fit", signal.SIGTERM, id="fit, SIGTERM", marks=pytest.mark.long),
        pytest.param("curve", signal.SIGINT, id="curve, Ctrl-C", marks=pytest.mark.long),
        pytest.param("curve", signal.SIGTERM, id="curve, SIGTERM"),
    ],
)
def test_a_signal_ends_a_run_with_the_best_answer_so_far(number, kind, forks, tmp_path):
    put_people(tmp_path)
    args = LONG if kind == "fit" else (*RUNS["curve"], *DRAWN)
    # There is an answer after the first round; every question has a file of its own.
    forks.run(tmp_path, *args, "--max-rounds", "1", code=4)
    asked = load(tmp_path / "fair.model").certificate_.oracle_calls
    (tmp_path / "fair.model").unlink()
    kept = tmp_path / "kept" / "answers*"
    done = forks.run(
        tmp_path,
        *(*args, *KEPT, "--checkpoint-every", "0"),
        code=4,
        meanwhile=signal_once_there(number, kept, count=asked // len(TASKS) + 2),
    )
    assert "resume with: --checkpoint kept --resume" in done.out
    assert "interrupted" in (done.out + done.err).replace("\n", " ")
    found = load(tmp_path / "fair.model")
    assert found.certificate_.stop_reason.name == "INTERRUPTED"
    assert found.certificate_.met
    forks.run(tmp_path, *args, *KEPT)
    assert load(tmp_path / "fair.model").certificate_.stop_reason.name != "INTERRUPTED"
    assert not (tmp_path / "kept").exists()


LIMITS = {"time": ("--time-limit", "40"), "rounds": ("--max-rounds", "3")}


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS.keys())
def test_a_limit_ends_a_run_with_the_best_answer_so_far(limit, tmp_path, monkeypatch):
    put_people(tmp_path)
    monkeypatch.chdir(tmp_path)
    count_looks(monkeypatch)
    done = CliRunner().invoke(app, [*LONG, *limit])
    assert done.exit_code == 4, done.output
    assert "saved: fair.model" in done.stdout
    certificate = load(tmp_path / "fair.model").certificate_
    assert certificate.met
    assert certificate.stop_reason.name == ("TIME" if "40" in limit else "ROUNDS")
    curve = ("frontier", *COMMON, *DRAWN, "--alphas", "0.02,0.1", "--table", "curve.csv")
    done = CliRunner().invoke(app, [*curve, *limit])
    assert done.exit_code == 4, done.output
    assert (tmp_path / "curve.csv").exists()


def test_all_rounds_of_the_published_setting_are_no_limit(forks, tmp_path):
    put_people(tmp_path)
    args = ("fit", *COMMON, "--alpha", "0.2", "--solver", "published", "-o", "fair.model")
    forks.run(tmp_path, *args)
    forks.run(tmp_path, *args, "--max-rounds", "20", code=4)


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, id="Ctrl-C"),
        pytest.param(signal.SIGTERM, id="SIGTERM", marks=pytest.mark.long),
    ],
)
def test_with_nothing_found_yet_nothing_is_written(number, tmp_path):
    put_people(tmp_path)
    process = subprocess.Popen(
        command("fit", "-", "--tasks", "task_*", "-o", "fair.model"),
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    process.stdin.write((tmp_path / "people.csv").read_bytes()[:100])
    process.stdin.flush()
    # When the process waits for the rest of the table, its signal handler is installed.
    while not reads(process.pid):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate()
    assert process.returncode == (130 if number == signal.SIGINT else 143)
    assert out == b""
    assert b"stopped; nothing was written" in err
    assert b"Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def reads(process):
    """Return whether a process waits for something to read."""
    try:
        with open(f"/proc/{process}/syscall") as file:
            return file.read().split()[:2] == ["0", "0x0"]
    except OSError:
        pytest.skip("this system does not tell what a process waits for")


def test_resume_needs_a_checkpoint(forks, tmp_path):
    put_people(tmp_path)
    for name in ("fit", "curve"):
        done = forks.run(tmp_path, *RUNS[name], "--resume", code=2)
        assert "--checkpoint" in done.err
    done = forks.run(tmp_path, "synthetic", "--resume", code=2, program="reproduction")
    assert "--checkpoint" in done.err


@pytest.mark.long
def test_a_reproduction_that_was_ended_goes_on(forks, tmp_path):
    args = ("synthetic", "--quick", "--jobs", "1")
    reproduce = partial(forks.run, program="reproduction")
    reproduce(tmp_path, *args, "-o", "whole")
    kept = ("-o", "again", "--checkpoint", "kept")
    done = reproduce(
        tmp_path,
        *(*args, *kept),
        code=4,
        meanwhile=signal_once_there(signal.SIGTERM, tmp_path / "kept" / "job-*"),
    )
    assert "finished jobs are kept in kept" in done.err
    assert not (tmp_path / "again").exists()
    assert "earlier run" in reproduce(tmp_path, *args, *kept, code=2).err
    reproduce(tmp_path, *args, *kept, "--resume")
    tables = {path.name: path.read_bytes() for path in (tmp_path / "whole/tables").iterdir()}
    assert tables == {
        path.name: path.read_bytes() for path in (tmp_path / "again/tables").iterdir()
    }
    assert not (tmp_path / "kept").exists()
