"""Many people and many calls: memory does not grow, and blocks change nothing."""

import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from averagefair import load
from averagefair.cli.app import app
from averagefair.files import streaming
from averagefair.files.streaming import FileBlocks
from averagefair.files.writing import write_table, writing_table
from benchmarks.scale import load as bench
from tests.support.cli_runs import FEATURES, IDS, TASKS, N, X, Y, write, write_people
from tests.support.memory import asked_for, left_behind
from tests.support.reliability import record

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("load")
    write_people(folder)
    args = ["fit", str(folder / "people.csv"), "-t", "task_*", "--id", "person", "--max-rounds"]
    done = CliRunner().invoke(app, [*args, "3", "-o", str(folder / "fair.model")])
    assert done.exit_code in (0, 1, 4), done.output
    columns = {name: X[:, place] for place, name in enumerate(FEATURES)}
    write_table(str(folder / "people.parquet"), {"person": np.array(IDS), **columns})
    return folder


def small_blocks(monkeypatch):
    """Make blocks a few rows long, so that a few people fill many blocks."""
    monkeypatch.setattr(streaming, "BLOCK", 300)
    monkeypatch.setattr(streaming, "_CELLS", 20)
    monkeypatch.setattr(streaming, "_ROWS", 4)


def predict(shop, data, output, *more):
    done = CliRunner().invoke(
        app, ["predict", str(shop / "fair.model"), str(data), "-o", str(output), *more]
    )
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize("more", [(), ("--probabilities",)], ids=["drawn", "chances"])
@pytest.mark.parametrize("read", ["csv", "parquet"])
def test_blocks_change_nothing(read, more, shop, tmp_path, monkeypatch):
    data = shop / f"people.{read}"
    for kind in ("csv", "parquet"):
        whole, parts = tmp_path / f"whole.{kind}", tmp_path / f"parts.{kind}"
        told = predict(shop, data, whole, *more)
        with monkeypatch.context() as patch:
            small_blocks(patch)
            assert len([*FileBlocks(str(data))]) > 3  # else nothing is tested
            again = predict(shop, data, parts, *more)
        assert told[0] == again[0] == 0
        assert again[1].replace("parts", "whole") == told[1]
        if kind == "csv":
            assert parts.read_bytes() == whole.read_bytes()
        else:
            assert pq.read_table(parts) == pq.read_table(whole)


def test_standard_output_gets_the_same(shop, monkeypatch):
    whole = CliRunner().invoke(app, _to_stream(shop)).stdout_bytes
    small_blocks(monkeypatch)
    assert CliRunner().invoke(app, _to_stream(shop)).stdout_bytes == whole


def _to_stream(shop):
    return ["predict", str(shop / "fair.model"), str(shop / "people.csv"), "-o", "-"]


def people_with(change):
    """Return the changed rows of the table, the head first."""
    rows = [[one, *x, *y] for one, x, y in zip(IDS, X.tolist(), Y.tolist(), strict=True)]
    rows = [["person", *FEATURES, *TASKS], *rows]
    change(rows)
    return rows


def cell(row, column, value):
    def change(rows):
        rows[row][rows[0].index(column)] = value

    return change


ODD = {
    "nothing": lambda rows: None,
    "an id twice": cell(N - 2, "person", IDS[1]),
    "an id twice, near": cell(30, "person", IDS[28]),
    "a blank id": cell(33, "person", ""),
    "an empty row": lambda rows: rows.insert(33, [""] * len(rows[0])),
    "empty rows at the end": lambda rows: rows.extend([[""] * len(rows[0])] * 9),
    "no number": cell(35, "x2", "tall"),
    "no finite number": cell(35, "x2", "inf"),
    "a blank feature": cell(35, "x2", ""),
    "a short row": lambda rows: rows[36].pop(),
    "a long row": lambda rows: rows[36].append(1),
    "an empty column": lambda rows: [row.append("") for row in rows],
    "a nameless column": lambda rows: [
        row.append("7" if place == 34 else "") for place, row in enumerate(rows)
    ],
    "no such column": cell(0, "x2", "x9"),
    "two of a name": cell(0, "task_1", "task_2"),
    "a long cell": cell(35, "task_1", "a" * 2000),
    "quoted lines": cell(20, "task_1", "one\ntwo"),
}


@pytest.mark.parametrize("kind", ODD)
def test_what_is_wrong_in_some_block_is_told_as_in_the_whole(kind, shop, tmp_path, monkeypatch):
    data = tmp_path / "people.csv"
    write(data, *_apart(people_with(ODD[kind])))
    whole = predict(shop, data, tmp_path / "out.csv")
    made = (tmp_path / "out.csv").read_bytes() if whole[0] == 0 else None
    (tmp_path / "out.csv").unlink(missing_ok=True)
    small_blocks(monkeypatch)
    parts = predict(shop, data, tmp_path / "out.csv")
    assert parts[0] == whole[0], parts
    assert (parts[0] == 0) == (kind in GOOD), parts
    if made is None:
        assert not (tmp_path / "out.csv").exists()
        # The number of such cells may differ: only the whole table shows it.
        assert parts[2].split(" (1 such")[0] == whole[2].split(" (1 such")[0]
    else:
        assert (tmp_path / "out.csv").read_bytes() == made
    assert {one.name for one in tmp_path.iterdir()} <= {"people.csv", "out.csv"}


GOOD = ("nothing", "empty rows at the end", "an empty column", "a long cell", "quoted lines")


def _apart(rows):
    return rows[0], rows[1:]


@pytest.mark.parametrize("line", [1, 30])
def test_letters_that_are_none_are_told_by_their_line(line, shop, tmp_path, monkeypatch):
    lines = (shop / "people.csv").read_bytes().split(b"\n")
    lines[line - 1] = lines[line - 1].replace(b",", b"\xff,", 1)
    (tmp_path / "people.csv").write_bytes(b"\n".join(lines))
    small_blocks(monkeypatch)
    code, _, said = predict(shop, tmp_path / "people.csv", tmp_path / "out.csv")
    assert (code, f"line {line} is not UTF-8" in said) == (2, True), said


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_table_that_fails_in_the_middle_is_not_there(kind, tmp_path):
    path = tmp_path / f"a.{kind}"
    path.write_bytes(b"before")

    def some(write):
        write({"a": [1, 2]})
        raise KeyError("later")

    with pytest.raises(KeyError), writing_table(str(path)) as rows:
        some(rows)
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == {path.name: b"before"}


# --- memory --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fair(tmp_path_factory):
    """Return a folder with the model of the benchmark."""
    folder = tmp_path_factory.mktemp("many")
    bench.make_model(folder)
    return folder


@pytest.mark.parametrize(("read", "written"), [("csv", "parquet"), ("parquet", "csv")])
def test_memory_does_not_grow_with_the_people(read, written, fair, monkeypatch):
    few, many = 2_500, 10_000
    model, output = str(fair / "fair.model"), str(fair / f"out.{written}")

    def decide(people):
        table = str(bench.make_table(fair, people, read))
        done = CliRunner().invoke(app, ["predict", model, table, "-o", output])
        assert done.exit_code == 0, done.output

    decide(100)  # load the modules that are imported on first use
    for people in (few, many):
        bench.make_table(fair, people, read)
    with monkeypatch.context() as patch:
        # With small blocks, reading ahead takes far less than these tables.
        patch.setattr(streaming, "BLOCK", 2**14)
        patch.setattr(streaming, "_CELLS", 7_500)
        parts = [asked_for(lambda people=people: decide(people)) for people in (few, many)]
    monkeypatch.setattr(streaming, "BLOCK", 2**40)
    whole = [asked_for(lambda people=people: decide(people)) for people in (few, many)]
    assert parts[1] < whole[1] / 3, (parts, whole)
    assert parts[1] - parts[0] < (whole[1] - whole[0]) / 3, (parts, whole)


@LINUX
@pytest.mark.long
def test_a_million_people_take_a_fraction_of_their_memory_read_whole(fair):
    people, said = 1_000_000, []
    found = bench.alone("by_api", fair, people, True)
    assert found["megabytes"] < found["whole"] / 3
    said.append(f"Python API {bench.said(found)}")
    for read in ("csv", "parquet"):
        for count in (100, people):
            path = bench.make_table(fair, count, read)
        for written in ("csv", "parquet"):
            found = bench.alone("by_command", fair, people, read, written, True)
            assert found["megabytes"] < found["whole"] / 3
            said.append(f"{read} to {written} {bench.said(found)}")
        path.unlink()
    record(
        "load",
        what=f"deciding for 1,000,000 people x {bench.TASKS} tasks in blocks, "
        f"{bench.FEATURES} features",
        count=people,
        outcome=f"{'; '.join(said)}; each less than a third of what all at once takes",
    )


@pytest.mark.parametrize("times", [40, pytest.param(1000, marks=pytest.mark.long)])
def test_extending_again_and_again_takes_no_memory(times, fair):
    model, rng, kept = load(fair / "fair.model"), np.random.default_rng(2), []

    def extend():
        labels = (rng.random((bench.TRAINED, 3)) < 0.5).astype(float)
        extended = model.extend(labels)
        extended.predict(bench.draw(rng, 5), ids=list("abcde"))
        return labels, extended

    for _ in range(10):  # first make what is made only once
        extend()
    more, objects = left_behind(extend, times)
    # For comparison, keep all inputs and outputs.
    held, held_objects = left_behind(lambda: kept.append(extend()), times)
    assert more < held / 4
    assert objects < held_objects / 4
    record(
        "extend",
        what="extending a loaded model by three new tasks, again and again",
        count=times,
        outcome=f"{more / 2**20:+.2f} MB and {objects:+d} Python objects; "
        f"a copy of everything would be {held / 2**20:.1f} MB and {held_objects:,} objects",
    )
