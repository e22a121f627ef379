"""Run ``python -m reproduction`` as a user does, once for all tests that read its results."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import subprocess
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd
import pytest

from tests.support.cli_runs import command, environment, run_alone
from tests.support.experiment_judges import DATA

COMMUNITIES = ("communities", "--quick", "--data", str(DATA), "--jobs", "1", "--json")
SYNTHETIC = ("synthetic", "--quick", "--jobs", "1")
SMALL = "tests.support.small_reproduction"
"""The program that makes the results on the synthetic population."""


@dataclass(frozen=True)
class Reproduced:
    """A results folder, and the output of the command."""

    folder: Path
    out: str
    err: str

    def frame(self, name):
        """Return one of its tables, read by pandas."""
        return pd.read_csv(self.folder / "tables" / f"{name}.csv")

    @property
    def manifest(self):
        return json.loads((self.folder / "manifest.json").read_text("utf-8"))

    @property
    def page(self):
        return (self.folder / "report.html").read_text("utf-8")

    def bytes_under(self, part):
        return {one.name: one.read_bytes() for one in (self.folder / part).iterdir()}


def shared(tmp_path_factory, name, args, program="reproduction"):
    """Run the command once for all test processes of this session, in a folder that they share."""
    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    place, record = root / f"reproduce-{name}", root / f"reproduce-{name}.json"
    with (root / f"reproduce-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # wait for the process that came first
        if not record.exists():
            place.mkdir(exist_ok=True)
            done = run_alone(place, *args, "-o", "results", program=program)
            record.write_text(json.dumps(asdict(done)))
    told = json.loads(record.read_text())
    return Reproduced(place / "results", told["out"], told["err"])


@pytest.fixture(scope="module", name="communities")
def fixture_communities(tmp_path_factory):
    if not DATA.exists():
        pytest.skip("Communities and Crime is not beside the repository (../shared)")
    return shared(tmp_path_factory, "communities", COMMUNITIES)


@pytest.fixture(scope="module", name="synthetic")
def fixture_synthetic(tmp_path_factory):
    return shared(tmp_path_factory, "synthetic", SYNTHETIC, SMALL)


@pytest.fixture(
    scope="module",
    name="reproduced",
    params=[pytest.param("communities", marks=pytest.mark.long), "synthetic"],
)
def fixture_reproduced(request):
    """The results on Communities and Crime, or on the synthetic population."""
    return request.getfixturevalue(request.param)


def at_a_terminal(folder, *args, until=None, program="reproduction"):
    """Run the command with standard error at a terminal: (exit code, output, terminal's text).

    When the text ``until`` appears, the command and its child processes get Ctrl-C.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command(*args, program=program),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment(TERM="xterm", COLUMNS="100"),
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""

    def listen():
        nonlocal shown
        waiting = until is not None
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                return
            if not part:
                return
            shown += part
            if waiting and until in shown:
                waiting = False
                os.killpg(process.pid, signal.SIGINT)

    ear = threading.Thread(target=listen)
    ear.start()
    out, _ = process.communicate()
    ear.join()
    os.close(ours)
    return process.returncode, out.decode(), shown.decode()
