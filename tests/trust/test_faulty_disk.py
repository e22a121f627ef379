"""Disks that are full, locked or failing: a clear error, old files intact, nothing left behind.

There are three ways, so that some work on every machine: faults in each step of writing; a limit on
the size of files; and, if a process may mount for itself, a disk that is full or locked.
"""

import errno
import json
import os
import resource
import shutil
import stat
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from averagefair import Checkpoint, CheckpointWarning, InputError
from averagefair.cli.app import app
from averagefair.experiments.tidy import ResultTable
from averagefair.files import map_parquet
from averagefair.files.writing import write_table
from averagefair.persistence import save
from reproduction.folder import write_results
from reproduction.report import Report
from tests.support.cli_runs import FEATURES, IDS, TASKS, Forks, X, Y, write_people
from tests.support.places import python_path
from tests.support.reliability import record
from tests.support.small_fits import model, people, rounds

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="folders are synchronised on POSIX alone"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::averagefair.UndefinedRateWarning"),
]
SHORT = ("--max-rounds", "1", "--oracle", "regression")
CURVE = ("frontier", "people.csv", "-t", "task_*", "--id", "person", "--alphas", "0.1", *SHORT)
CURVE += ("--decisions", "drawn")
# Commands that write, and their files; a new command that writes adds one row.
COMMANDS = {
    "fit": (("fit", "people.csv", "-t", "task_*", "--id", "person", *SHORT), "-o", "out.model"),
    "predict, CSV": (("predict", "fair.model", "people.csv"), "-o", "out.csv"),
    "predict, Parquet": (("predict", "fair.model", "people.csv"), "-o", "out.parquet"),
    "extend": (("extend", "fair.model", "new_labels.csv"), "-o", "out.model"),
    "export, CSV": (("export", "fair.model"), "-o", "rules.csv"),
    "export, ONNX": (("export", "fair.model"), "-o", "fair.onnx"),
    "frontier, report": (CURVE, "-o", "out.html"),
    "frontier, table": (CURVE, "--table", "out.csv"),
    "frontier, model": (CURVE, "--model", "out.model"),
    "audit, report": (("audit", "labels.csv", "labels.csv", "--id", "person"), "-o", "out.html"),
    "audit, people": (("audit", "labels.csv", "labels.csv", "--id", "person"), "--people", "o.csv"),
}
MODEL = model(solver=rounds(2), alpha=0.5).fit(*people())
REPORT, ROWS = (
    Report("Trial", "A trial.", []),
    ResultTable({"size": [1, 2], "seconds": [0.5, 0.25]}),
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Return a folder with people, an extendable model of them, and one that draws."""
    folder = tmp_path_factory.mktemp("shop")
    write_people(folder)
    for file, options in (("fair", ["--extendable"]), ("drawn", ["--decisions", "drawn"])):
        args = [*_inside(folder, COMMANDS["fit"][0]), *options, "-o", str(folder / f"{file}.model")]
        done = CliRunner().invoke(app, args)
        assert done.exit_code in (0, 1, 4), done.output
    return folder


def _inside(folder, args):
    """Return a command that reads from a folder."""
    known = ("people.csv", "labels.csv", "new_labels.csv", "fair.model")
    return [str(folder / one) if one in known else one for one in args]


def by_command(name):
    args, option, file = COMMANDS[name]

    def act(shop, folder):
        done = CliRunner().invoke(app, [*_inside(shop, args), option, str(folder / file)])
        return done.exit_code, done.stderr

    return act, file


def by_call(act, file):
    """Return the same for a function: an InputError becomes exit code 2."""

    def call(shop, folder):
        try:
            act(folder)
        except InputError as error:
            return 2, f"error: {error}\n"
        return 0, ""

    return call, file


WRITERS = {name: by_command(name) for name in COMMANDS} | {
    "save": by_call(lambda folder: save(MODEL, folder / "a.model"), "a.model"),
    "save, extendable": by_call(
        lambda folder: save(MODEL, folder / "a.model", extendable=True), "a.model"
    ),
    "table": by_call(lambda folder: write_table(str(folder / "a.csv"), {"a": [1, 2]}), "a.csv"),
    "reproduce": by_call(
        lambda folder: write_results(str(folder), {"some": ROWS}, REPORT, {}), "manifest.json"
    ),
}


# --- faults in each step -------------------------------------------------------------------------


class Broken:
    """A file that refuses writes after a number of bytes."""

    def __init__(self, file, error, room=4):
        self._file, self._error, self._room = file, error, room

    def write(self, content):
        if len(content) > self._room:
            self._file.write(bytes(memoryview(content).cast("B")[: self._room]))
            raise self._error
        self._room -= len(content)
        return self._file.write(content)

    def __getattr__(self, name):
        return getattr(self._file, name)


@contextmanager
def fault(step, number, folder, monkeypatch, times=None):
    """Let one step of writing into a folder fail, always or only the first ``times``."""
    error = OSError(number, os.strerror(number))
    left, happened = [times], []

    def failing(real, applies):
        def call(*args, **options):
            if applies(*args) and left[0] != 0:
                left[0] = None if left[0] is None else left[0] - 1
                happened.append(step)
                raise error
            return real(*args, **options)

        return call

    def here(path, *_):
        return isinstance(path, str | os.PathLike) and folder in Path(path).absolute().parents

    def creating(path, flags=0, *_):
        return here(path) and bool(flags & os.O_CREAT)

    fdopen = os.fdopen

    def broken(handle, *args, **options):
        happened.append(step)
        return Broken(fdopen(handle, *args, **options), error)

    with monkeypatch.context() as patch:
        if step == "make":
            patch.setattr(os, "open", failing(os.open, creating))
        elif step == "write":
            patch.setattr(os, "fdopen", broken)
        elif step == "sync":
            whole = failing(os.fsync, lambda handle: stat.S_ISREG(os.fstat(handle).st_mode))
            patch.setattr(os, "fsync", whole)
        elif step == "rights":
            patch.setattr(os, "chmod", failing(os.chmod, here))
        elif step == "rename":
            for name in ("replace", "rename"):
                patch.setattr(os, name, failing(getattr(os, name), here))
        yield happened


def everything(folder):
    """Return all files below a folder and their contents."""
    return {
        str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()
    }


def assert_told(code, said, number, file):
    assert code == 2, said
    assert "Traceback" not in said
    lines = [line for line in said.splitlines() if not line.startswith("warning:")]
    assert sum(line.startswith("error:") for line in lines) == 1, said
    flat = " ".join(said.split())
    assert file in flat
    assert os.strerror(number) in flat


STEPS = {
    "make": errno.EROFS,
    "write": errno.ENOSPC,
    "sync": errno.EIO,
    "rights": errno.EPERM,
    "rename": errno.EACCES,
}


@pytest.mark.parametrize("step", ["make", "write", "sync", "rename"])
def test_a_checkpoint_that_cannot_be_written_ends_no_run(step, tmp_path, monkeypatch):
    """A fault that shows before any work is an error; later it is a warning."""
    folder, number = tmp_path / "kept", STEPS[step]
    kept = Checkpoint(folder, resume=True, every=0)
    model(solver=rounds(2), checkpoint=kept).fit(*people())
    was = everything(folder)
    whole = model(solver=rounds(6)).fit(*people())
    fit = model(solver=rounds(6), checkpoint=kept).fit
    with fault(step, number, folder, monkeypatch) as happened:
        if step == "make":
            with pytest.raises(InputError, match=rf"kept.*{os.strerror(number)}"):
                fit(*people())
        else:
            with pytest.warns(CheckpointWarning, match=os.strerror(number)):
                found = fit(*people())
            np.testing.assert_array_equal(found.individual_rates_, whole.individual_rates_)
    assert happened
    assert everything(folder) == was
    np.testing.assert_array_equal(fit(*people()).individual_rates_, whole.individual_rates_)


# These resemble others and are slower, so only the long tests run them.
SLOW = ("frontier, model", "frontier, table", "extend", "predict, CSV")


def fail_in_each_step(writer, steps, shop, tmp_path, monkeypatch):
    """Let each step fail, with and without an old file; return how many steps were checked."""
    act, file = WRITERS[writer]
    judged = 0
    for before in ("nothing", "old file"):
        folder = tmp_path / before
        folder.mkdir(parents=True)
        if before == "old file":
            assert act(shop, folder)[0] in (0, 1, 4)
            if writer != "reproduce":
                (folder / file).write_bytes(b"what was there before")
        was = everything(folder)
        for step, number in steps:
            if step == "rights" and before == "nothing":
                continue  # a new file gets its rights when it is made
            with fault(step, number, folder, monkeypatch) as happened:
                code, said = act(shop, folder)
            assert happened, step  # else nothing was tested
            # For a results folder, the error names the first file that fails.
            assert_told(code, said, number, folder.name if writer == "reproduce" else file)
            assert everything(folder) == was, step
            judged += 1
    assert act(shop, tmp_path / "old file")[0] in (0, 1, 4)  # it works again without the fault
    assert everything(tmp_path / "old file") != was or writer == "reproduce"
    return judged


@pytest.mark.parametrize("writer", [name for name in WRITERS if name not in SLOW])
def test_a_failing_step_leaves_all_as_it_was(writer, shop, tmp_path, monkeypatch):
    assert fail_in_each_step(writer, STEPS.items(), shop, tmp_path, monkeypatch) == 9


@pytest.mark.long
def test_every_step_may_fail_for_every_reason(shop, tmp_path, monkeypatch):
    reasons = (errno.ENOSPC, errno.EROFS, errno.EIO, errno.EACCES, errno.EDQUOT)
    steps = [(step, number) for step in STEPS for number in reasons]
    count = sum(
        fail_in_each_step(writer, steps, shop, tmp_path / str(place), monkeypatch)
        for place, writer in enumerate(WRITERS)
    )
    record(
        "faulty-disk",
        what=f"{len(WRITERS)} ways to write files, each step (making, writing, synchronising, "
        "rights, renaming) failing for each reason (no room, locked, input/output error, no "
        "right, quota), over an old file and without one",
        count=count,
        outcome=f"{count} told in words with file and reason (exit code 2), old files intact byte "
        "for byte, no temporary file left; 0 others",
    )


@pytest.mark.long
def test_a_folder_that_vanishes_is_told(shop, tmp_path, monkeypatch):
    for name, (act, file) in WRITERS.items():
        folder = tmp_path / name.replace(" ", "_")
        folder.mkdir()
        fsync, replace = os.fsync, os.replace

        def gone(*args, folder=folder, replace=replace):
            shutil.rmtree(folder, ignore_errors=True)
            return replace(*args)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", gone)
            patch.setattr(os, "rename", gone)
            code, said = act(shop, folder)
        assert os.fsync is fsync
        assert_told(code, said, errno.ENOENT, folder.name if name == "reproduce" else file)
        assert not folder.exists()


def test_the_judge_notices_what_is_left_or_lost(tmp_path, monkeypatch):
    """A careless writer writes directly into the file, and does not report errors."""

    def careless(folder):
        file = os.fdopen(os.open(folder / "a.model", os.O_WRONLY | os.O_CREAT, 0o666), "wb")
        try:
            file.write(bytes(1000))
        finally:
            file.close()

    (tmp_path / "a.model").write_bytes(b"before")
    was = everything(tmp_path)
    with fault("write", errno.ENOSPC, tmp_path, monkeypatch), pytest.raises(OSError, match="space"):
        careless(tmp_path)
    assert everything(tmp_path) != was
    with pytest.raises(AssertionError):
        assert_told(2, "error: something went wrong\n", errno.ENOSPC, "a.model")
    with pytest.raises(AssertionError):
        assert_told(3, f"error: a.model: {os.strerror(errno.ENOSPC)}\n", errno.ENOSPC, "a.model")


# --- on the disk, name and all -------------------------------------------------------------------


@pytest.mark.parametrize("writer", ["save", "table", "predict, Parquet", "reproduce"])
def test_a_renaming_is_brought_onto_the_disk(writer, shop, tmp_path, monkeypatch):
    act, file = WRITERS[writer]
    events, fsync, replace = [], os.fsync, os.replace

    def syncing(handle):
        kept = os.fstat(handle)
        events.append(("folder" if stat.S_ISDIR(kept.st_mode) else "file", kept.st_ino))
        return fsync(handle)

    def replacing(old, new):
        events.append(("rename", os.stat(old).st_ino))
        return replace(old, new)

    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(os, "replace", replacing)
    assert act(shop, tmp_path)[0] == 0
    number = (tmp_path / file).stat().st_ino
    place = events.index(("rename", number))
    assert ("file", number) in events[:place]
    assert ("folder", tmp_path.stat().st_ino) in events[place:]


def test_a_folder_that_cannot_be_synchronised_is_no_failure(shop, tmp_path, monkeypatch):
    fsync, tried = os.fsync, []

    def failing(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            tried.append(handle)
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return fsync(handle)

    monkeypatch.setattr(os, "fsync", failing)
    act, file = WRITERS["save"]
    assert act(shop, tmp_path) == (0, "")
    assert tried
    assert (tmp_path / file).exists()
    before = open_files()
    act(shop, tmp_path)
    assert open_files() == before  # the folder was closed again


def open_files():
    """Return how many files this process has open, if the system tells."""
    listed = Path("/proc/self/fd")
    return len([*listed.iterdir()]) if listed.exists() else 0


def test_links_that_lead_in_a_circle_are_told(shop, tmp_path):
    (tmp_path / "a.model").symlink_to(tmp_path / "b.model")
    (tmp_path / "b.model").symlink_to(tmp_path / "a.model")
    code, said = WRITERS["save"][0](shop, tmp_path)
    assert_told(code, said, errno.ELOOP, "a.model")
    act, _ = by_command("fit")
    (tmp_path / "out.model").symlink_to(tmp_path / "a.model")
    assert_told(*act(shop, tmp_path), errno.ELOOP, "out.model")
    assert {one.name for one in tmp_path.iterdir()} == {"a.model", "b.model", "out.model"}


# --- real limits ---------------------------------------------------------------------------------

# What a command says goes to a file too, so the limit leaves room for its warnings.
LIMIT = 1200


class Limited(Forks):
    """Processes that may not write files longer than ``LIMIT`` bytes."""

    _SCRIPT = Forks._SCRIPT.replace(
        "os.chdir(job",
        f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({LIMIT}, {LIMIT}))\n"
        "os.chdir(job",
    )


@pytest.mark.long
def test_files_that_grow_too_large_are_told(shop, tmp_path):
    with Limited() as forks:
        for name, (args, option, file) in COMMANDS.items():
            more = ["--probabilities"] if name == "predict, CSV" else []
            if name in ("predict, CSV", "export, ONNX"):  # chances take more room than decisions
                args = [arg.replace("fair.model", "drawn.model") for arg in args]
            target = tmp_path / file
            if name in ("export, CSV", "frontier, table", "frontier, model", "audit, people"):
                continue  # shorter than the limit, or like others
            target.write_bytes(b"before")
            done = forks.run(shop, *args, *more, option, target, code=2)
            assert_told(2, done.err, errno.EFBIG, file)
            assert everything(tmp_path) == {file: b"before"}, name
            target.unlink()


MOUNTED = """
import json, os, subprocess, sys
from pathlib import Path
from tests.trust.test_faulty_disk import COMMANDS, everything
from tests.support.cli_runs import Forks

shop, place = map(Path, sys.argv[1:])
found = []
for kind in ("full", "locked"):
    folder = place / kind
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], check=True)
    for _, _, file in COMMANDS.values():
        (folder / file).write_bytes(b"before")
    if kind == "full":
        with (folder / "filler").open("wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass
    else:
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
with Forks() as forks:
    for folder in (place / "full", place / "locked"):
        was = everything(folder)
        for name, (args, option, file) in COMMANDS.items():
            done = forks.run(shop, *args, option, folder / file, code=None)
            same = everything(folder) == was
            found.append([folder.name, name, file, done.returncode, done.err, same])
print(json.dumps(found))
"""


@pytest.mark.long
def test_a_disk_that_is_full_or_locked_is_told(shop, tmp_path):
    # Mount for this process alone, until it ends. Root may do that; on many systems everybody may.
    alone = ["unshare", "--mount", "--map-root-user"]
    trial = tmp_path / "trial"
    trial.mkdir()
    try:
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(trial)]
        subprocess.run([*alone, *mount], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"this process may not mount for itself ({error}); see the tests above")
    done = subprocess.run(
        [*alone, sys.executable, "-c", MOUNTED, str(shop), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": python_path()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) == 2 * len(COMMANDS)
    for kind, name, file, code, said, same in found:
        number = {"full": errno.ENOSPC, "locked": errno.EROFS}[kind]
        assert_told(code, said, number, file)
        assert same, (kind, name)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_device_that_is_full_is_told(shop, tmp_path):
    (tmp_path / "out.csv").symlink_to("/dev/full")
    act, file = by_command("predict, CSV")
    assert_told(*act(shop, tmp_path), errno.ENOSPC, file)
    with pytest.raises(InputError, match="full cannot be written: No space left"):
        save(MODEL, "/dev/full")


@pytest.mark.parametrize("step", ["write", "rename"])
def test_people_larger_than_memory_leave_nothing_behind(step, tmp_path, monkeypatch):
    columns = {name: X[:, place] for place, name in enumerate(FEATURES)}
    columns |= {name: Y[:, place] for place, name in enumerate(TASKS)}
    write_table(str(tmp_path / "people.parquet"), {"person": np.array(IDS), **columns})
    folder = tmp_path / "unpacked"
    folder.mkdir()
    options = {"tasks": "task_*", "id": "person", "folder": folder}
    if step == "write":
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        try:
            with pytest.raises(InputError, match=os.strerror(errno.EFBIG)):
                map_parquet(tmp_path / "people.parquet", **options)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    else:
        with (
            fault("rename", errno.EIO, folder, monkeypatch),
            pytest.raises(InputError, match=os.strerror(errno.EIO)),
        ):
            map_parquet(tmp_path / "people.parquet", **options)
    assert not list(folder.iterdir())
