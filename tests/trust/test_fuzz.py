"""Odd tables and options: each is answered, or refused with a clear error.

There is never a traceback, exit code 3, or an incomplete file.
"""

import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from averagefair import InputError
from averagefair.cli.app import app
from averagefair.files import map_parquet
from averagefair.files.reading import read_file
from averagefair.people.frames import read_table
from averagefair.persistence import load
from tests.support import fuzzing
from tests.support.cli_runs import command as program
from tests.support.cli_runs import environment
from tests.support.reliability import record

pytestmark = [pytest.mark.filterwarnings("ignore")]  # odd numbers may overflow
ENDS = (0, 1, 2, 4, 5)
"""Exit codes: done; not met; bad input; ended early by a limit; inconclusive."""


# --- readers -------------------------------------------------------------------------------------


def ask(path):
    """Read a table and call all its methods; return "read" or "refused"."""
    try:
        table = read_file(str(path))
    except InputError:
        return "refused"
    names = [*table.columns]
    n = len(table)
    assert n > 0
    assert len({*names}) == len(names)
    few = names[:8]
    for question in (
        lambda: table.by(names[0]).names,
        lambda: table.numbers(few),
        lambda: table.numbers(few, blanks=True),
        lambda: table.labels(few),
        lambda: table.decisions(few),
        lambda: np.array(table.words(names[-1], "--group-columns"), dtype=object),
        lambda: np.arange(n)[: len(table.select(["task_*"], "--tasks"))],
    ):
        try:
            found = question()
        except InputError as error:
            if table.source not in str(error):
                raise AssertionError(f"no file is named: {error}") from error
        else:
            assert len(found) <= n
            if found.dtype == np.float64:
                assert not np.isinf(found).any()
    return "read"


@given(
    content=st.binary(max_size=200)
    | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))
)
@settings(
    max_examples=60,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_bytes_are_read_or_refused(content, tmp_path):
    (tmp_path / "table").write_bytes(content)
    ask(tmp_path / "table")


@given(
    st.lists(
        st.lists(st.sampled_from(fuzzing.CELLS[:-13]), min_size=1, max_size=4),
        min_size=1,
        max_size=5,
    )
)
@settings(max_examples=60, derandomize=True, database=None, deadline=None)
def test_any_table_in_memory_is_read_or_refused(rows):
    """The same cells, passed as lists."""
    for cells in (rows, np.array([row[:1] for row in rows], dtype=object)):
        try:
            found = read_table(cells, "X").cells
        except InputError:
            continue
        assert found.dtype.kind in "fiub"


@pytest.mark.parametrize("count", [30, pytest.param(3000, marks=pytest.mark.long)])
def test_damaged_tables_are_read_or_refused(count, tmp_path):
    tally = Counter()
    for place in range(count):
        rng = np.random.default_rng([1, place])
        path = tmp_path / "table"
        path.write_bytes(fuzzing.table(rng, str(rng.choice([*fuzzing.TABLES]))))
        try:
            tally[ask(path)] += 1
            tally[mapped(path, tmp_path / "folder")] += 1
        except BaseException as error:
            raise AssertionError(f"[1, {place}]: {type(error).__name__}: {error}") from error
    assert min(tally[kind] for kind in ("read", "refused")) > 0
    record(
        "fuzzing-tables",
        what="CSV and Parquet tables, damaged at random or of odd cells, types and encodings",
        count=count,
        outcome=f"{tally['read']:,} read, {tally['refused']:,} refused in words; 0 others",
    )


def mapped(path, folder):
    """Unpack a Parquet table as if larger than memory; check that a failure leaves nothing."""
    if path.read_bytes()[:4] != b"PAR1":
        return "no Parquet"
    folder.mkdir()
    try:
        found = map_parquet(path, tasks="task_*", id="person", folder=folder)
        assert len(found.X) == len(found.Y) == len(found.ids)
        del found
        return "unpacked"
    except InputError:
        assert not list(folder.iterdir())
        return "not unpacked"
    finally:
        shutil.rmtree(folder)


# --- the command line ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Return a folder with tables and a model."""
    folder = tmp_path_factory.mktemp("fuzz")
    for name, text in fuzzing.TABLES.items():
        (folder / name).write_text(text)
    args = [
        "fit",
        "people.csv",
        "-t",
        "task_*",
        "--id",
        "person",
        "--extendable",
        "-o",
        "fair.model",
    ]
    here = Path.cwd()
    os.chdir(folder)
    try:
        done = CliRunner().invoke(app, args)
    finally:
        os.chdir(here)
    assert done.exit_code in (0, 1), done.output
    return folder


def assert_whole(path):
    """Check that a command's file can be read to its end."""
    if path.suffix == ".html":
        assert path.read_text("utf-8").rstrip().endswith("</html>")
    elif path.suffix == ".csv":
        pc.read_csv(path)
    elif path.suffix == ".parquet":
        pq.read_table(path)
    else:
        load(path)


def attempt(args, folder, inputs):
    """Run a command in this process; check how it ends; return its exit code."""
    was = {one.name: one.read_bytes() for one in folder.iterdir()}
    done = CliRunner().invoke(app, args)
    said = done.stdout + done.stderr
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    assert done.exit_code in ENDS, said[-2000:]
    assert "Traceback" not in said
    now = {one.name: one.read_bytes() for one in folder.iterdir()}
    assert {name: now.get(name) for name in inputs} == {name: was[name] for name in inputs}
    if done.exit_code == 2:
        assert now == was, {*now} ^ {*was}
        complaints = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert len(complaints) == 1, done.stderr
    for name in {*now} - {*inputs}:
        assert_whole(folder / name)
    return done.exit_code


@pytest.mark.parametrize("count", [25, pytest.param(3000, marks=pytest.mark.long)])
def test_every_command_ends_in_words(count, shop, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tally = Counter()
    for place in range(count):
        rng = np.random.default_rng([2, place])
        args = fuzzing.command(rng)
        for name in (*fuzzing.TABLES, "fair.model"):
            (tmp_path / name).write_bytes((shop / name).read_bytes())
        if rng.random() < 0.5:
            name = str(rng.choice([*fuzzing.TABLES]))
            (tmp_path / name).write_bytes(fuzzing.table(rng, name))
        inputs = {one.name for one in tmp_path.iterdir()}
        try:
            tally[attempt(args, tmp_path, inputs)] += 1
        except BaseException as error:
            raise AssertionError(f"[2, {place}] {args}: {type(error).__name__}: {error}") from error
        for one in tmp_path.iterdir():
            if one.name not in inputs:
                one.unlink()
    assert min(tally[0], tally[2]) > 0
    record(
        "fuzzing-commands",
        what="commands with odd options, half of them on damaged tables",
        count=count,
        outcome=", ".join(f"{tally[code]:,} with exit code {code}" for code in sorted(tally))
        + "; never a traceback, nothing half-written",
    )


def test_the_judge_notices_a_traceback_and_half_a_file(shop, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.csv").write_bytes((shop / "labels.csv").read_bytes())
    args = ["audit", "labels.csv", "labels.csv", "--id", "person", "-o", "out.html"]

    def half(path, content):
        Path(path).write_bytes(content[: len(content) // 2])

    def fails(*args, **options):
        raise KeyError("inside")

    for name, broken in (("write_whole", half), ("read_audit_input", fails)):
        with monkeypatch.context() as patch:
            patch.setattr(f"averagefair.cli.audit.{name}", broken)
            with pytest.raises(AssertionError):
                attempt(args, tmp_path, {"labels.csv"})
        (tmp_path / "out.html").unlink(missing_ok=True)
    assert attempt(args, tmp_path, {"labels.csv"}) == 0


ODD_BYTES = {
    "no UTF-8 in an option": [b"predict", b"fair.model", b"people.csv", b"-o", b"\xff.csv"],
    "no UTF-8 in a name": [b"audit", b"\xff\xfe.csv", b"labels.csv"],
    "no UTF-8 in a title": [
        *(b"audit", b"labels.csv", b"labels.csv", b"--id", b"person", b"--title", b"\xff"),
        *(b"-o", b"out.html"),
    ],
    "no UTF-8, as JSON": [b"audit", b"\xff.csv", b"labels.csv", b"--json"],
}
ODD_QUICK = ("no UTF-8 in a title",)


@pytest.mark.parametrize(
    "args",
    [
        pytest.param(args, id=name, marks=() if name in ODD_QUICK else pytest.mark.long)
        for name, args in ODD_BYTES.items()
    ],
)
def test_what_a_shell_can_pass_ends_in_words(args, shop, tmp_path):
    for one in shop.iterdir():
        (tmp_path / one.name).write_bytes(one.read_bytes())
    done = subprocess.run(
        [*map(os.fsencode, program()), *args],
        cwd=tmp_path,
        env=environment(PYTHONIOENCODING="utf-8:strict"),
        capture_output=True,
    )
    assert done.returncode in ENDS, done.stderr.decode()
    assert b"Traceback" not in done.stderr
