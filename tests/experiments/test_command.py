"""``python -m reproduction``: the files it writes, its output, and its errors."""

from __future__ import annotations

import csv
import json
import os
import platform
import re
import struct
import subprocess
import sys
from contextlib import contextmanager
from hashlib import sha256
from importlib import metadata
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from averagefair import InputError
from averagefair.datasets import load_communities, make_synthetic
from averagefair.experiments import ResultTable
from reproduction.folder import make_folder, read_tables, write_results
from reproduction.plan import FULL, QUICK
from reproduction.report import Report
from tests.support.cli_runs import (
    command,
    environment,
    fits_80_columns,
    fixture_forks,  # noqa: F401
    strict,
    without_escapes,
)
from tests.support.experiment_jobs import write_trial
from tests.support.experiment_judges import plain_digest, table_digest
from tests.support.experiment_runs import (
    COMMUNITIES,
    SMALL,
    SYNTHETIC,
    at_a_terminal,
    fixture_communities,  # noqa: F401
    fixture_reproduced,  # noqa: F401
    fixture_synthetic,  # noqa: F401
)
from tests.support.places import python_path

RATES = ("error", "false_positive", "false_negative")
OF_THE_PAPER = ("convergence", "error_spread", "generalisation")
RUNS = {
    "communities": {"trajectories", "error_spread", "generalisation", "random_splits"},
    "synthetic": {"trajectories", "error_spread", "generalisation", "coin_bias"},
}
RUN = ("alpha", "allowed", "reached_spread", "reached_error", "rounds", "columns", "oracle_calls")


def population(reproduced):
    return reproduced.manifest["experiment"]


# The files.


def test_every_figure_of_the_paper_is_there_for_every_rate(reproduced):
    names = {path.name for path in (reproduced.folder / "figures").iterdir()}
    for kind in OF_THE_PAPER:
        for rate in RATES:
            assert {f"{kind}_{rate}.png", f"{kind}_{rate}.svg"} <= names
    more = {"communities": "random_splits", "synthetic": "coin_bias"}[population(reproduced)]
    assert {f"{more}.png", f"{more}.svg"} <= names


def test_figures_are_whole(reproduced):
    for name, content in reproduced.bytes_under("figures").items():
        if name.endswith(".png"):
            assert content.startswith(b"\x89PNG\r\n\x1a\n")
            assert min(struct.unpack(">II", content[16:24])) > 200
            assert content.endswith(b"IEND\xaeB`\x82")
        else:
            assert ElementTree.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"


def test_every_table_is_there_twice_with_the_same_content(reproduced):
    folder = reproduced.folder / "tables"
    names = {path.stem for path in folder.iterdir()}
    assert names >= RUNS[population(reproduced)]
    assert {path.name for path in folder.iterdir()} == {
        f"{name}.{kind}" for name in names for kind in ("csv", "parquet")
    }
    for name in names:
        other = pd.read_parquet(folder / f"{name}.parquet")
        assert len(other) > 0
        with (folder / f"{name}.csv").open(newline="") as file:
            head, *rows = csv.reader(file)
        assert head == list(other.columns)
        for column, cells in zip(head, zip(*rows, strict=True), strict=True):
            number = other[column].dtype.kind == "f"
            written = [float(cell) for cell in cells] if number else list(cells)
            values = other[column].tolist() if number else other[column].astype(str).tolist()
            np.testing.assert_array_equal(written, values)


def test_every_table_of_runs_says_what_was_asked_and_reached(reproduced):
    for name in RUNS[population(reproduced)]:
        table = reproduced.frame(name)
        assert {"rate", "solver", *RUN} <= set(table.columns)
        assert not table[list(RUN)].isna().any(axis=None)
        np.testing.assert_allclose(table["allowed"], 2 * table["alpha"])
        assert set(table["solver"]) == {"authors' setting", "column generation"}
        assert (table["rounds"] >= 1).all()
        assert (table["reached_error"].between(0, 1)).all()
        kept = table[table["solver"] == "column generation"]
        assert (kept["reached_spread"] <= kept["allowed"] + 1e-6).all()


def test_the_three_figures_hold_all_rates_and_both_solvers(reproduced):
    for name in ("trajectories", "error_spread", "generalisation"):
        table = reproduced.frame(name)
        assert {*zip(table["rate"], table["solver"], strict=True)} == {
            (rate, solver) for rate in RATES for solver in ("authors' setting", "column generation")
        }
    everybody = reproduced.frame("error_spread")
    sizes = everybody.groupby(["rate", "solver", "alpha"]).size()
    assert set(sizes) == {200}
    assert set(reproduced.frame("generalisation")["corner"]) == {
        *("training", "people", "tasks", "both"),
    }


def test_the_manifest_tells_how_it_came_about(reproduced):
    known = reproduced.manifest
    args = {"communities": COMMUNITIES, "synthetic": SYNTHETIC}[known["experiment"]]
    assert known["command"] == " ".join(["python", "-m", "reproduction", *args, "-o", "results"])
    assert known["quick"] is True
    assert known["seeds"]
    assert known["settings"]["rounds"] == max(reproduced.frame("trajectories")["rounds"])
    versions = known["versions"]
    assert versions["Python"] == platform.python_version()
    for package in ("averagefair", "numpy", "scipy", "scikit-learn", "matplotlib"):
        assert versions[package] == metadata.version(package)
    if known["experiment"] == "communities":
        data = load_communities(COMMUNITIES[3])
        assert known["data sha256"] == table_digest(data.values)
        assert known["data as published by UCI"] is True
    else:
        split = make_synthetic(200, 50, 20, 0.8, n_holdout=200, m_holdout=25, random_state=0)
        assert known["data sha256"] == plain_digest(split)
        assert known["large"] is False


def test_the_manifest_knows_every_file_by_its_digest(reproduced):
    folder, files = reproduced.folder, reproduced.manifest["files"]
    for name, digest in files.items():
        assert sha256((folder / name).read_bytes()).hexdigest() == digest
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert there - set(files) == {"manifest.json"}


# Seconds are separate from the other figures.


def test_nothing_in_the_tables_depends_on_the_clock(reproduced):
    for name in RUNS[population(reproduced)]:
        assert "seconds" not in reproduced.frame(name).columns
        clock = pd.read_csv(reproduced.folder / "seconds" / f"{name}.csv")
        assert (clock["seconds"] > 0).all()
        keys = [column for column in clock.columns if column != "seconds"]
        assert not clock.duplicated(keys).any()


def test_tables_are_read_back_with_their_seconds(reproduced):
    found = read_tables(str(reproduced.folder))
    assert {f"{name}.csv" for name in found} == {
        path.name for path in (reproduced.folder / "tables").glob("*.csv")
    }
    for name, table in found.items():
        plain = reproduced.frame(name)
        assert len(table) == len(plain)
        for column in plain.columns:
            one, other = table[column], plain[column].to_numpy()
            if one.dtype.kind == "f":
                np.testing.assert_allclose(one, other, rtol=1e-15, equal_nan=True)
            else:
                assert one.tolist() == other.tolist()
        if name in RUNS[population(reproduced)]:
            clock = pd.read_csv(reproduced.folder / "seconds" / f"{name}.csv")
            keys = [column for column in clock.columns if column != "seconds"]
            joined = plain.merge(clock, on=keys, how="left", validate="many_to_one")
            np.testing.assert_allclose(table["seconds"], joined["seconds"])
        else:
            assert "seconds" not in table.columns


def test_a_folder_without_tables_is_refused(tmp_path):
    with pytest.raises(InputError, match="python -m reproduction"):
        read_tables(str(tmp_path))


def test_written_again_by_another_process_a_folder_has_the_same_bytes(tmp_path):
    """The order of sets must not matter. (make test-long checks the whole command.)"""
    here, there = tmp_path / "here", tmp_path / "there"
    write_trial(str(here))
    program = f"from tests.support.experiment_jobs import write_trial; write_trial({str(there)!r})"
    known = environment(PYTHONHASHSEED="12345", PYTHONPATH=python_path())
    subprocess.run([sys.executable, "-c", program], env=known, check=True)
    names = {str(path.relative_to(here)) for path in here.rglob("*") if path.is_file()}
    assert "figures/convergence_error.svg" in names
    assert "tables/trajectories.parquet" in names
    for name in names:
        if name.startswith(("tables", "figures")):
            assert (here / name).read_bytes() == (there / name).read_bytes(), name


def test_a_folder_used_again_holds_the_tables_of_the_last_run_alone(tmp_path):
    """As after `synthetic --large`, and then `synthetic` without --large."""
    report, target = Report("Trial", "A trial.", []), str(tmp_path / "results")
    some = ResultTable({"size": [1, 2]})
    write_results(target, {"some": some, "growth": some}, report, {})
    mine = tmp_path / "results" / "tables" / "notes.csv"
    mine.write_text("mine")
    write_results(target, {"some": some}, report, {})
    assert set(read_tables(target)) == {"some"}
    assert {path.name for path in mine.parent.iterdir()} == {
        *("some.csv", "some.parquet", "notes.csv"),
    }


def test_a_table_that_was_changed_is_not_taken_for_the_one_written(tmp_path):
    report, target = Report("Trial", "A trial.", []), str(tmp_path / "results")
    write_results(target, {"some": ResultTable({"size": [1, 2]})}, report, {})
    for other in (pd.DataFrame({"size": [1, 3]}), None):
        path = tmp_path / "results" / "tables" / "some.parquet"
        path.unlink() if other is None else other.to_parquet(path)
        with pytest.raises(InputError, match=r"some\.parquet"):
            read_tables(target)


# A second run, with two processes and at a terminal.


@pytest.fixture(scope="module")
def again(tmp_path_factory):
    folder = tmp_path_factory.mktemp("again")
    args = ("synthetic", "--quick", "--jobs", "2", "-o", "twice")
    code, out, shown = at_a_terminal(folder, *args, program=SMALL)
    assert code == 0, shown
    return folder / "twice", out, shown


@pytest.mark.long
@pytest.mark.parametrize("part", ["tables", "figures"])
def test_a_second_run_gives_the_same_bytes(synthetic, again, part):
    first = synthetic.bytes_under(part)
    second = {path.name: path.read_bytes() for path in (again[0] / part).iterdir()}
    assert first.keys() == second.keys()
    assert [name for name, content in second.items() if first[name] != content] == []


@pytest.mark.long
def test_progress_is_shown_at_a_terminal_and_what_came_out_on_standard_output(again, synthetic):
    _, out, shown = again
    said = without_escapes(shown)
    assert "done: " in said
    assert "left" in said
    assert "Traceback" not in said
    assert fits_80_columns(out)
    # The same words; the last line names the folder.
    assert out.splitlines()[:-1] == synthetic.out.splitlines()[:-1]
    assert synthetic.err == ""


def work_of(scale):
    """The sum over all fits of people times the largest number of rounds."""
    splits = [
        scale.splits * one.people * len(alphas)
        for one in scale.settings
        for alphas in one.alphas.values()
    ]
    figures = 200 * len(RATES) * 2 * (len(scale.alphas) + len(scale.trajectory_alphas))
    return scale.rounds * (sum(splits) + figures)


@pytest.mark.long
def test_a_quick_look_is_a_small_part_of_the_whole(communities):
    assert work_of(QUICK) < work_of(FULL) / 50
    for name in ("random_splits", "error_spread", "trajectories"):
        assert communities.frame(name)["rounds"].max() <= QUICK.rounds


@pytest.mark.long
def test_json_names_the_files(communities):
    told = strict(communities.out)
    assert told["folder"] == "results"
    listed = told["files"]
    there = {str(path.relative_to(communities.folder)) for path in communities.folder.rglob("*.*")}
    assert set(listed) == there
    assert len(listed) == len(set(listed))
    for name, value in communities.manifest.items():
        if name not in ("versions", "platform", "files"):
            assert told[name] == value
    assert told["warnings"] == []
    assert communities.err == ""


# Ctrl-C.


def test_interrupted_it_ends_and_claims_nothing(tmp_path):
    args = ("synthetic", "--quick", "--large", "--jobs", "1", "-o", "results")
    code, out, shown = at_a_terminal(tmp_path, *args, until=b"done: ", program=SMALL)
    assert code == 130
    assert out == ""
    assert "Traceback" not in shown
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    (pieces,) = set(re.findall(r"(\d+) pieces of work", without_escapes(shown)))
    # Three rates and two solvers; two biases and two populations; 2 x 3 sizes, two of each.
    assert int(pieces) == 6 + 4 + 12


# Help.


def test_help_has_an_example_and_fits_a_terminal(forks, tmp_path):
    page = forks.run(tmp_path, "--help", program="reproduction").out
    assert fits_80_columns(page)
    (example,) = re.findall(r"Example: python -m reproduction (.*?)\n\s*\n", page, re.S)
    assert example.split() == [*SYNTHETIC[:2]]
    for option in ("--output", "--data", "--large", "--jobs", "--checkpoint", "--resume"):
        assert option in page


def test_the_library_has_no_such_command(forks, tmp_path):
    assert "reproduce" in forks.run(tmp_path, "reproduce", "synthetic", code=2).err


# Errors.

REFUSED = {
    "data that are drawn": (["synthetic", "--data", "people.csv"], "--data.*communities"),
    "more of real people": (["communities", "--large"], "--large.*synthetic"),
    "no process": (["synthetic", "--jobs", "0"], "jobs"),
    "half a process": (["synthetic", "--jobs", "1.5"], "jobs"),
    "a file": (["synthetic", "-o", "taken"], "taken.*results folder"),
    "below a file": (["synthetic", "-o", "taken/results"], "taken/results.*results folder"),
    "nowhere": (["synthetic", "-o", "/proc/results"], "/proc/results.*results folder"),
    "another population": (["adults"], "communities.*synthetic.*adults"),
    "another table": (
        ["communities", "--data", "taken"],
        "taken.*Communities and Crime.*communities.data.*--data",
    ),
    "none": ([], "communities.*synthetic"),
    "no such file": (
        ["communities", "--data", "gone.csv"],
        "no file gone.csv.*archive.ics.uci.edu",
    ),
}


@pytest.mark.parametrize(("args", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_done_is_refused_before_any_work(forks, tmp_path, args, message):
    (tmp_path / "taken").write_text("mine")
    done = forks.run(tmp_path, *args, "--quick", code=2, program="reproduction")
    told = forks.run(tmp_path, *args, "--quick", "--json", code=2, program="reproduction")
    for text in (done.err, strict(told.out)["error"]):
        # In a box of its own, or not.
        plain = " ".join(text.replace("│", " ").split())
        assert pd.Series([plain]).str.contains(message).all(), plain
    assert done.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    assert (tmp_path / "taken").read_text() == "mine"


@contextmanager
def nobody_special():
    """Drop the rights of root for the duration of the block."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.fixture
def locked(tmp_path):
    """A folder that can be read but not written to."""
    for place in tmp_path, *tmp_path.parents[:3]:
        if place.stat().st_uid == os.geteuid() and place != place.parent:
            place.chmod(place.stat().st_mode | 0o055)
    folder = tmp_path / "locked"
    folder.mkdir()
    yield folder
    folder.chmod(0o755)


def test_a_folder_that_cannot_be_made_is_refused(locked):
    locked.chmod(0o555)
    with nobody_special(), pytest.raises(InputError, match="Permission denied"):
        make_folder(str(locked / "results"))


def test_a_folder_that_cannot_be_written_to_is_refused_before_any_work(locked):
    for part in ("tables", "seconds", "figures"):
        (locked / part).mkdir()
        (locked / part).chmod(0o555)
    locked.chmod(0o555)
    with nobody_special(), pytest.raises(InputError):
        make_folder(str(locked))


# No data, no network.


def test_without_data_or_network_it_says_where_to_get_them(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "here").mkdir()
    nowhere = "http://127.0.0.1:9"  # nobody listens there
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), nowhere)
    known = environment(HOME=str(tmp_path / "home"), **proxies)
    for name in ("AVERAGEFAIR_DATA", "XDG_CACHE_HOME", "no_proxy", "NO_PROXY"):
        known.pop(name, None)
    done = subprocess.run(
        command("communities", "--quick", "--json", program="reproduction"),
        cwd=tmp_path / "here",
        env=known,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 2
    for text in (done.stderr, json.loads(done.stdout)["error"]):
        assert "https://archive.ics.uci.edu/dataset/183/communities+and+crime" in text
        assert "--data" in text
        assert "AVERAGEFAIR_DATA" in text
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "here").iterdir()) == []
    cached = [path for path in (tmp_path / "home").rglob("*communit*") if path.is_file()]
    assert cached == []
