"""Run the command line as a user does: real processes and files, nothing imported from it."""

import atexit
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest

N, M, LATER, D = 40, 8, 3, 4
FEATURES = [f"x{place + 1}" for place in range(D)]
TASKS = [f"task_{place + 1}" for place in range(M)]
NEW_TASKS = [f"new_{place + 1}" for place in range(LATER)]
IDS = [f"{place + 1:03}" for place in range(N)]
COMMANDS = ("demo", "fit", "frontier", "predict", "extend", "export", "audit", "theory")
COMMANDS += ("compare", "drift", "evidence")

_rng = np.random.default_rng(3)
X = _rng.normal(size=(N, D)).round(3)
LABELS = (X @ _rng.normal(size=(D, M + LATER)) + _rng.normal(size=(N, M + LATER)) > 0).astype(int)
Y, Y_LATER = LABELS[:, :M], LABELS[:, M:]
SHUFFLED = _rng.permutation(N)

# With the checkout on the path, `python -m reproduction` runs from any folder.
ROOT = next(place for place in Path(__file__).parents if (place / "pyproject.toml").exists())

# Variables that would change the output's width or colours.
_LOUD = ("COLUMNS", "LINES", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TERMINAL_WIDTH")
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# A run of some seconds prints these; how many depends on how busy the machine is.
_PROGRESS = re.compile(r"^progress: .*\n", flags=re.MULTILINE)


def command(*args, program="averagefair"):
    return [sys.executable, "-m", program, *map(str, args)]


def environment(**more):
    quiet = {name: value for name, value in os.environ.items() if name not in _LOUD}
    quiet["PYTHONPATH"] = os.pathsep.join([*filter(None, [quiet.get("PYTHONPATH")]), str(ROOT)])
    # Commands must not open a window: this backend makes every pyplot figure an error.
    return {**quiet, "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "module://no_screen", **more}


def run(folder, *args, code=0, stdin=b"", **more):
    """Run a command in a folder; check that its output shows no Python internals.

    ``more`` is added to its environment.
    """
    if more:
        return run_alone(folder, *args, code=code, stdin=stdin, **more)
    return _everybodys().run(folder, *args, code=code, stdin=stdin)


def run_alone(folder, *args, code=0, stdin=b"", program="averagefair", **more):
    """Like ``run``, but start a new Python, which takes a second or two longer."""
    done = subprocess.run(
        command(*args, program=program),
        cwd=folder,
        input=stdin,
        capture_output=True,
        env=environment(**more),
    )
    return _checked(args, done.returncode, done.stdout, done.stderr, code)


@dataclass(frozen=True)
class Done:
    """The exit code and the output of a command."""

    returncode: int
    out: str
    err: str


def _checked(args, returncode, out, err, code):
    done = Done(returncode, out.decode(), _PROGRESS.sub("", err.decode()))
    assert "Traceback" not in done.out + done.err, done.err
    assert not _ESCAPE.search(done.out + done.err), "escape codes where there is no terminal"
    if code is not None:
        assert returncode == code, f"{args}: {returncode}\n{done.out}\n{done.err}"
    return done


class Forks:
    """Run many commands with a single start of Python.

    A Python that has imported everything forks a process for each command. The process has its own
    folder, arguments, streams and exit code, as from a shell, without the second for imports.

    Parameters
    ----------
    first : str
        Python code to run before anything is imported.
    """

    _SCRIPT = """
import contextlib, gc, io, json, os, sys
import averagefair.cli.app, averagefair.cli.demo_run, averagefair.estimator
import averagefair.evaluation, averagefair.export, averagefair.oracles, averagefair.persistence
import averagefair.showing.report, averagefair.solvers
import averagefair.cli.about_people, email.parser, importlib.resources.readers
import pyarrow.vendored.version
import jinja2, rich.markdown, sklearn.kernel_approximation, sklearn.metrics
import pyarrow.csv, pyarrow.compute, pyarrow.pandas_compat, pyarrow.parquet, safetensors.numpy
import averagefair.cli, typer.main
from reproduction.command import PROGRAM, make_app

# Read all options once, not again in every process.
averagefair.cli.app.app = typer.main.get_command(averagefair.cli.app.app)
# The first commands import what typer needs to read options; they end at a missing file.
missing = [["none"], ["none", "-o", "out"], ["none"] * 2, ["none", "none", "-o", "out"]]
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    averagefair.cli.app.app(["theory", "--alpha", "0.1", "--n", "9"], standalone_mode=False)
    for name, which in [
        *(("frontier", 0), ("fit", 1), ("export", 1), ("audit", 2), ("predict", 3), ("extend", 3))
    ]:
        with contextlib.suppress(typer.Exit):
            averagefair.cli.app.app([name, *missing[which]], standalone_mode=False)
with averagefair.people.threads.one_thread():  # looks for the libraries with threads, once
    pass
gc.freeze()  # else garbage collection in every child copies all imported objects

jobs, answers = os.fdopen(os.dup(0)), os.dup(1)
for line in jobs:
    job = json.loads(line)
    child = os.fork()
    if child == 0:
        break
    os.write(answers, f"{child}\\n".encode())
    _, status = os.waitpid(child, 0)
    os.write(answers, f"{os.waitstatus_to_exitcode(status)}\\n".encode())
else:
    os._exit(0)
os.chdir(job["folder"])
for number, name in enumerate(job["streams"]):
    flags = os.O_RDONLY if number == 0 else os.O_WRONLY
    os.dup2(os.open(name, flags), number)
sys.argv = [job["program"], *job["args"]]
if job["program"] == "reproduction":
    averagefair.cli.run(make_app, " ".join(PROGRAM))
averagefair.cli.main()
"""

    def __init__(self, first=""):
        self._first = f"{first}\n"

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        self._busy = threading.Lock()
        self._server = subprocess.Popen(
            [sys.executable, "-c", self._first + self._SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        return self

    def __exit__(self, *_):
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait()
        self._folder.cleanup()

    def run(self, folder, *args, code=0, stdin=b"", meanwhile=None, program="averagefair"):
        """Like the function ``run``.

        ``meanwhile`` is called with the process's id once the process has begun.
        """
        with self._busy:
            return self._run(folder, [*map(str, args)], code, stdin, meanwhile, program)

    def _run(self, folder, args, code, stdin, meanwhile, program):
        streams = [Path(self._folder.name) / name for name in ("stdin", "stdout", "stderr")]
        for path, content in zip(streams, (stdin, b"", b""), strict=True):
            path.write_bytes(content)
        job = {
            "program": program,
            "folder": str(folder),
            "args": args,
            "streams": [*map(str, streams)],
        }
        self._server.stdin.write(json.dumps(job) + "\n")
        self._server.stdin.flush()
        process = int(self._server.stdout.readline())
        if meanwhile is not None:
            meanwhile(process)
        returncode = int(self._server.stdout.readline())
        return _checked(args, returncode, streams[1].read_bytes(), streams[2].read_bytes(), code)


@cache
def _everybodys(first=""):
    """Start one Forks for all tests of this process."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(Forks(first))


def together(jobs):
    """Call all functions, two at a time; return their results in order."""
    with ThreadPoolExecutor(2) as pool:
        return [one.result() for one in [pool.submit(job) for job in jobs]]


def strict(text):
    """Read exactly one JSON object, without NaN or infinity."""

    def refuse(name):
        raise ValueError(f"{name} is not JSON")

    found = json.loads(text, parse_constant=refuse)
    assert isinstance(found, dict)
    assert text.count("\n") == 1
    return found


def without_escapes(text):
    return _ESCAPE.sub("", text)


def write(path, head, rows, *, encoding="utf-8", **dialect):
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, **{"lineterminator": "\n", **dialect})
        writer.writerow(head)
        writer.writerows(rows)


def read(text):
    """Read a CSV without converting cells: {column: list of str}."""
    head, *rows = csv.reader(text.splitlines())
    return {name: [row[place] for row in rows] for place, name in enumerate(head)}


def cells(columns, names):
    return np.array([[float(cell) for cell in columns[name]] for name in names]).T


def write_people(folder):
    """Write the population: as one table, and as separate tables."""
    write(
        folder / "people.csv",
        ["person", *FEATURES, *TASKS],
        [[one, *x, *y] for one, x, y in zip(IDS, X, Y, strict=True)],
    )
    write(
        folder / "new_labels.csv",
        ["person", *NEW_TASKS],
        [[one, *y] for one, y in zip(IDS, Y_LATER, strict=True)],
    )
    write(
        folder / "labels.csv",
        ["person", *TASKS],
        [[one, *y] for one, y in zip(IDS, Y, strict=True)],
    )


def fits_80_columns(text):
    return max(map(len, text.splitlines())) <= 80


@pytest.fixture(scope="module", name="shop")
def fixture_shop(tmp_path_factory):
    """A folder with tables of people, and a model fitted on them."""
    folder = tmp_path_factory.mktemp("shop")
    write_people(folder)
    return folder


@pytest.fixture(scope="module", name="forks")
def fixture_forks():
    return _everybodys()


@pytest.fixture(scope="module", name="map_forks")
def fixture_map_forks():
    """Forks that have also imported the modules that read and convert feature maps."""
    return _everybodys("import skops.io, skl2onnx")


HIDE = """
import sys

class Hide:
    hidden = "pandas", "polars", "matplotlib", "onnx", "skl2onnx", "onnxruntime"

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.hidden:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Hide())
"""


@pytest.fixture(scope="module", name="bare_forks")
def fixture_bare_forks():
    """Forks in which optional packages look missing, whether installed or not."""
    return _everybodys(HIDE)


@pytest.fixture(scope="module", name="fitted")
def fixture_fitted(shop):
    """Fit with drawn decisions, which most tests of ``predict`` and ``extend`` are about.

    With 8 tasks, fixed decisions cannot keep this alpha.
    """
    folder, said, told = _fitted_once()
    for name in ("fair.model", "same.model"):
        shutil.copy(Path(folder) / name, shop)
    return said, told


@cache
def _fitted_once():
    """Fit for all tests of this process; return the folder, and what the commands said."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    write_people(Path(folder))
    args = ("fit", "people.csv", "--tasks", "task_*", "--id", "person", "--extendable")
    args += ("--decisions", "drawn")
    said = run(folder, *args, "-o", "fair.model")
    return folder, said, run(folder, *args, "-o", "same.model", "--json")
