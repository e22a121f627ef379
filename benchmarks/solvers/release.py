"""Release 0.1.0 beside this version: its environment, jobs in both, and the file of results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Any

from benchmarks.common import ROOT

RELEASE = "0.1.0"
COMMIT = "21edf13e66602913385b6c13aa8d911c2187053f"
FOLDER = ROOT / "results" / f"release-{RELEASE}"
WORKER = Path(__file__).with_name("worker.py")
# The rooms of the package that decide how a fit goes.
ROOMS = ("game", "oracles", "people", "solvers")
LIBRARIES = ("numpy", "scipy", "scikit-learn", "highspy", "threadpoolctl")
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
OLD, NEW = RELEASE, "now"

Job = dict[str, Any]
Result = dict[str, Any]


def release_python() -> str:
    """Return the interpreter of release 0.1.0; clone and install the release if it is missing.

    The release gets the versions of NumPy, SciPy, scikit-learn and HiGHS that this version has.
    """
    python, installed = FOLDER / ".venv" / "bin" / "python", FOLDER / ".venv" / ".installed"
    if not installed.exists():
        print(f"Installing release {RELEASE} in {FOLDER.relative_to(ROOT)}.", file=sys.stderr)
        if not FOLDER.exists():
            _call("git", "clone", "--quiet", "--no-checkout", str(ROOT), str(FOLDER))
        _call("git", "-C", str(FOLDER), "checkout", "--quiet", COMMIT)
        _call(sys.executable, "-m", "venv", str(FOLDER / ".venv"))
        same = [f"{name}=={version(name)}" for name in LIBRARIES]
        install = (str(python), "-m", "pip", "install", "--quiet", "--quiet")
        _call(*install, "--editable", str(FOLDER), *same)
        installed.touch()
    return str(python)


def _call(*command: str) -> None:
    subprocess.run(command, check=True)


class Runner:
    """Runs jobs in either environment and keeps their results in a file.

    A result is used again if the file has it. For this version, the sources must be the same too.

    Parameters
    ----------
    file : Path
        One JSON object for each line.
    release : str, optional
        The interpreter of release 0.1.0. Default: see :func:`release_python`.
    """

    def __init__(self, file: Path, release: str | None = None) -> None:
        self.file, self._lock = file, Lock()
        self.pythons = {OLD: release or release_python(), NEW: sys.executable}
        self.sources = {OLD: COMMIT, NEW: _digest_of_sources()}
        lines = file.read_text().splitlines() if file.exists() else []
        records = map(json.loads, lines)
        self.known = {self._key(own["source"], own["job"]): own["result"] for own in records}
        self.used_again = 0

    def run(self, which: str, job: Job) -> Result:
        """Return the result of a job, from the file or from a process of its own.

        Parameters
        ----------
        which : str
            ``OLD`` or ``NEW``.
        job : dict
            See ``benchmarks/solvers/worker.py``.
        """
        key = self._key(self.sources[which], job)
        with self._lock:
            if key in self.known:
                self.used_again += 1
                return self.known[key]
        print(f"{which}: {_described(job)}", file=sys.stderr, flush=True)
        done = subprocess.run(
            [self.pythons[which], str(WORKER)],
            input=json.dumps(job),
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD},
            check=True,
            text=True,
        )
        result: Result = json.loads(done.stdout.splitlines()[-1])
        record = {"version": which, "source": self.sources[which], "job": job, "result": result}
        with self._lock:
            self.known[key] = result
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a") as stream:
                stream.write(f"{json.dumps(record)}\n")
        return result

    def run_both(self, jobs: Iterable[Job], processes: int = 1) -> list[tuple[Result, Result]]:
        """Return the results of release 0.1.0 and of this version for each job, in turns.

        Parameters
        ----------
        jobs : iterable of dict
        processes : int, default 1
            How many processes run at once. Leave 1 where time is measured.
        """
        turns = [(which, job) for job in jobs for which in (OLD, NEW)]
        with ThreadPoolExecutor(processes) as pool:
            results = list(pool.map(lambda turn: self.run(*turn), turns))
        pairs = list(zip(results[::2], results[1::2], strict=True))
        for old, new in pairs:
            if old["digest"] != new["digest"]:
                sys.exit("The two versions made different data from the same job.")
        return pairs

    @staticmethod
    def _key(source: str, job: Job) -> str:
        return json.dumps([source, job], sort_keys=True)


def _described(job: Job) -> str:
    data = job["data"]
    kind, sizes = next(iter(data)), data.get("synthetic", data)
    named = [f"{name} {value}" for name, value in sizes.items() if name != "communities"]
    alphas = job.get("alphas") or [job["alpha"]]
    parts = [job["kind"], job["oracle"], kind, *named, f"alpha {', '.join(map(str, alphas))}"]
    return ", ".join(parts)


def _digest_of_sources() -> str:
    digest = sha256()
    for room in ROOMS:
        for path in sorted((ROOT / "src" / "averagefair" / room).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
