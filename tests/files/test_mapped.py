"""Tables larger than memory: files and arrays give the same answers, and files take less memory."""

import gc
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from threadpoolctl import threadpool_limits

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    ExponentiatedGradient,
    InputError,
    Sample,
    StumpOracle,
)
from averagefair.files import map_parquet
from tests.support.memory import asked_for
from tests.support.small_fits import assert_same_answer, model, people, rounds

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore::averagefair.DegenerateTaskWarning",
    "ignore::averagefair.UndefinedRateWarning",
)

SOLVERS = {"exponentiated gradient": rounds(8), "column generation": ColumnGeneration(max_rounds=6)}
LINUX = sys.platform == "linux"


def on_disk(folder, **arrays):
    """Save arrays and open them as maps."""
    out = []
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
        out.append(np.load(folder / f"{name}.npy", mmap_mode="r"))
        assert isinstance(out[-1], np.memmap)
    return out


def parquet(folder, columns, name="people.parquet", rows=10):
    """Write a Parquet table in groups of a few rows."""
    pq.write_table(pa.table(columns), folder / name, row_group_size=rows)
    return folder / name


def table(X, Y):
    """Return columns of features and tasks."""
    features = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    labels = {f"task_{j}": pa.array(Y[:, j], from_pandas=True) for j in range(Y.shape[1])}
    return features | labels


@pytest.fixture
def out(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


# --- fits on maps --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("blanks", [0.0, 0.3])
@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_a_fit_on_maps_is_the_fit_in_memory(solver, blanks, dtype, tmp_path):
    X, Y = people(blanks=blanks, n=60)
    X, Y = X.astype(dtype), Y.astype("float16" if blanks else "int8")
    fit = {"solver": solver, "dtype": dtype}
    in_memory, mapped = model(**fit).fit(X, Y), model(**fit).fit(*on_disk(tmp_path, X=X, Y=Y))
    assert_same_answer(in_memory, mapped)
    np.testing.assert_array_equal(in_memory.history_["error"], mapped.history_["error"])


def test_many_people_in_pieces_are_learned_from_alike(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 4))
    Y = (X @ rng.normal(size=(4, 90)) + rng.normal(size=(30_000, 90)) > 0).astype(np.int8)
    fits = [model(solver=rounds(2)).fit(*data) for data in ((X, Y), on_disk(tmp_path, X=X, Y=Y))]
    assert fits[0].error_ == fits[1].error_
    np.testing.assert_array_equal(fits[0].individual_rates_, fits[1].individual_rates_)


OTHERWISE = {
    "float32 for a fit in float64": lambda X: X.astype(np.float32),
    "whole numbers": lambda X: np.round(3 * X).astype(np.int16),
    "column after column": np.asfortranarray,
}


@pytest.mark.parametrize("change", OTHERWISE.values(), ids=OTHERWISE)
def test_features_kept_otherwise_are_converted_in_a_file(change, tmp_path):
    X, Y = people(blanks=0.2)
    X = change(X)
    X_on_disk, Y_on_disk = on_disk(tmp_path, X=X, Y=Y)
    assert_same_answer(model().fit(X, Y), model().fit(X_on_disk, Y_on_disk))
    sample = Sample(X_on_disk, Y_on_disk)
    assert sample.features.dtype == np.float64
    assert in_a_file(sample.features)
    np.testing.assert_array_equal(sample.features, X)


def in_a_file(array):
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


def test_some_of_the_tasks_stay_in_a_file(tmp_path):
    X, Y = people(blanks=0.2)
    whole, mapped = Sample(X, Y), Sample(*on_disk(tmp_path, X=X, Y=Y))
    tasks = np.array([4, 1])
    assert in_a_file(mapped.take_tasks(tasks).signs)
    np.testing.assert_array_equal(mapped.take_tasks(tasks).signs, whole.take_tasks(tasks).signs)


def test_everything_else_goes_by_maps_too(tmp_path):
    X, Y = people(blanks=0.2)
    mapped = on_disk(tmp_path, X=X, Y=Y)
    weights = np.arange(len(X)) % 3
    for options in (
        {"oracle": StumpOracle()},
        {"rate": ["false_positive", "false_negative"]},
        {"solver": rounds(3, batch_size=2, replay=False)},
    ):
        fits = [model(**options).fit(*data, sample_weight=weights) for data in ((X, Y), mapped)]
        assert_same_answer(*fits)
    new = fits[0].extend(Y[:, :2]), fits[1].extend(mapped[1][:, :2])
    assert new[0].task_names == new[1].task_names
    np.testing.assert_array_equal(*(one.predict(X) for one in new))


def test_what_is_wrong_in_a_map_is_named_by_its_row(tmp_path):
    X, Y = np.zeros((300_000, 3)), np.zeros((300_000, 2))
    X[299_998, 1], Y[299_999, 1] = np.inf, 2
    X_on_disk, Y_on_disk = on_disk(tmp_path, X=X, Y=Y)
    with pytest.raises(InputError, match=r"row 299998, column 1 is infinity"):
        Sample(X_on_disk, Y_on_disk)
    with pytest.raises(InputError, match=r"row 299999, task 'task1' holds 2.0"):
        Sample(X_on_disk[:, :1], Y_on_disk)


# --- temporary files -----------------------------------------------------------------------------


def mapped_from(folder):
    """Return the files of a folder, named or not, that are mapped into this process."""
    gc.collect()
    lines = Path("/proc/self/maps").read_text().splitlines()
    return [line for line in lines if f"{folder}/" in line]


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.skipif(not LINUX, reason="reads /proc")
def test_temporary_files_have_no_name_and_go_with_the_model(tmp_path, temporary):
    X, Y = people()
    fitted = model().fit(*on_disk(tmp_path, X=X.astype(np.float32), Y=Y))
    assert not list(temporary.iterdir())
    assert mapped_from(temporary)  # the people, converted: for tasks that come later
    del fitted
    assert not mapped_from(temporary)
    assert not list(temporary.iterdir())


@contextmanager
def small_files(size):
    """Limit the size of files, so that writing fails as on a full disk.

    The limit ends within the test. pytest may write its report to a file that is larger.
    """
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("what", ["X", "Y"])
def test_no_room_for_temporary_files_is_an_error_that_says_so(what, tmp_path, temporary):
    X, Y = people(n=4000)
    X, Y = on_disk(tmp_path, X=X.astype("float32" if what == "X" else "float64"), Y=Y)
    message = r"could not be written .*temporary.* set TMPDIR"
    with small_files(10_000), pytest.raises(InputError, match=message):
        Sample(X, Y)
    assert not list(temporary.iterdir())
    assert not mapped_from(temporary) or not LINUX


# --- memory --------------------------------------------------------------------------------------

LARGE = [
    pytest.param(200_000, 125, 1000, "float64", False, id="complete", marks=pytest.mark.long),
    pytest.param(200_000, 4, 1000, "float64", True, id="with blanks", marks=pytest.mark.long),
    pytest.param(200_000, 250, 1000, "float32", False, id="short", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("n", "d", "m", "dtype", "blanks"), LARGE)
def test_a_fit_on_400_megabytes_takes_a_fraction_of_them(
    n, d, m, dtype, blanks, tmp_path, temporary
):
    rng = np.random.default_rng(0)
    shapes = {"X": (dtype, (n, d)), "Y": ("float16" if blanks else "int8", (n, m))}
    X, Y = (
        np.lib.format.open_memmap(tmp_path / f"{name}.npy", "w+", kind, shape)
        for name, (kind, shape) in shapes.items()
    )
    size = X.nbytes + Y.nbytes
    assert size >= 400e6
    for start in range(0, n, 5000):
        rows = slice(start, start + 5000)
        X[rows] = rng.standard_normal((5000, d), dtype=np.float32)
        Y[rows] = X[rows, :1] > rng.standard_normal(m, dtype=np.float32)
        if blanks:
            Y[rows][rng.random((5000, m), dtype=np.float32) < 0.1] = np.nan
    del X, Y
    solver = ExponentiatedGradient(max_rounds=1, tol=None)
    one = AverageFairClassifier(alpha=0.1, solver=solver, random_state=0, dtype=dtype)

    def fit(mode):
        X, Y = (np.load(tmp_path / f"{name}.npy", mmap_mode=mode) for name in "XY")
        with threadpool_limits(1):  # every thread needs memory for its own block
            assert 0 < one.fit(X, Y).error_ < 0.5

    # Pages of a mapped file do not count: the system frees them when it needs memory.
    mapped, in_memory = asked_for(lambda: fit("r")), asked_for(lambda: fit(None))
    assert mapped < size / 2, (mapped, in_memory)
    assert mapped < in_memory / 3, (mapped, in_memory)


# --- from Parquet --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("blanks", [0.0, 0.3])
def test_a_parquet_table_is_learned_from_as_its_cells(blanks, dtype, tmp_path, out):
    X, Y = people(blanks=blanks, n=35)
    path = parquet(tmp_path, {"who": [f"p{i}" for i in range(35)]} | table(X, Y), rows=8)
    found = map_parquet(path, tasks="task_*", id="who", folder=out, dtype=dtype)
    assert isinstance(found.X, np.memmap)
    assert isinstance(found.Y, np.memmap)
    assert (found.X.dtype, found.Y.dtype) == (dtype, "float16" if blanks else "int8")
    np.testing.assert_array_equal(found.X, X.astype(dtype))
    np.testing.assert_array_equal(found.Y, Y)
    assert found.feature_names == ("x0", "x1", "x2")
    assert found.task_names == tuple(f"task_{j}" for j in range(6))
    assert found.ids.tolist() == [f"p{i}" for i in range(35)]
    assert sorted(one.name for one in out.iterdir()) == ["X.npy", "Y.npy", "ids.npy"]
    np.testing.assert_array_equal(np.load(out / "ids.npy"), found.ids)
    fit = model(dtype=dtype)
    assert_same_answer(
        fit.fit(found.X, found.Y, ids=found.ids), model(dtype=dtype).fit(X.astype(dtype), Y)
    )
    sample = Sample(found.X, found.Y, task_names=found.task_names, individual_names=found.ids)
    assert sample.task_names == found.task_names


def test_tables_with_more_rows_than_are_read_at_a_time(tmp_path, out):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(9000, 300)), rng.integers(0, 2, (9000, 200)).astype(float)
    Y[8999, 199] = np.nan  # the very last cell
    found = map_parquet(
        parquet(tmp_path, table(X, Y), rows=2500), tasks=["task_*"], folder=str(out)
    )
    np.testing.assert_array_equal(found.X, X)
    np.testing.assert_array_equal(found.Y, Y)
    assert found.ids is None


def test_columns_of_all_kinds(tmp_path, out):
    columns = {
        "a": pa.array([1, 2, 3], pa.int16()),
        'say "b"': pa.array([True, False, True]),
        "größe, cm": pa.array(["1.5", " 2 ", "3"]),
        "a.b": pa.array([4, 5, 6], pa.uint8()).dictionary_encode(),
        "aufgabe_ä": pa.array([1, None, 0], pa.int64()),
        "aufgabe_[1]": pa.array([True, False, None]),
        "aufgabe_3": pa.array(["1", "", "false"]),
        "__index_level_0__": pa.array([7, 8, 9]),
    }
    found = map_parquet(parquet(tmp_path, columns, rows=2), tasks="aufgabe_*", folder=out)
    assert found.feature_names == ("a", 'say "b"', "größe, cm", "a.b")
    assert found.task_names == ("aufgabe_ä", "aufgabe_[1]", "aufgabe_3")
    np.testing.assert_array_equal(found.X, [[1, 1, 1.5, 4], [2, 0, 2, 5], [3, 1, 3, 6]])
    nan = np.nan
    np.testing.assert_array_equal(found.Y, [[1, 1, 1], [nan, 0, nan], [0, nan, 0]])


def test_names_choose_as_patterns_do_and_the_rest_is_left_out(tmp_path, out):
    path = parquet(tmp_path, table(*people()))
    found = map_parquet(path, tasks=["task_[12]", "task_5"], features=["x2", "x0"], folder=out)
    assert found.task_names == ("task_1", "task_2", "task_5")
    assert found.feature_names == ("x0", "x2")


def test_several_files_stand_one_below_the_other(tmp_path, out):
    X, Y = people(n=30)
    folder = tmp_path / "parts"
    folder.mkdir()
    columns = table(X, Y)
    paths = []
    for part in range(3):
        rows = slice(10 * part, 10 * part + 10)
        some = {name: column[rows] for name, column in columns.items()}
        if part == 1:
            some = dict(reversed(some.items()))  # another order: columns are found by name
        paths.append(parquet(folder, some, f"part-{part}.parquet", rows=4))
    (folder / "_SUCCESS").touch()
    (folder / "_part-0.parquet").touch()
    for given in (folder, paths):
        found = map_parquet(given, tasks="task_*", folder=out)
        np.testing.assert_array_equal(found.X, X)
        np.testing.assert_array_equal(found.Y, Y)
        for one in out.iterdir():
            one.unlink()


def changed(cells, row, value):
    cells = cells.astype(object).copy()
    cells[row] = value
    return pa.array(cells.tolist())


X, Y = people(n=30)
COLUMNS = {"who": [f"p{i}" for i in range(30)]} | table(X, Y)
WRONG = {
    "a label": (
        {"task_2": changed(Y[:, 2], 17, 3)},
        {},
        r"people.parquet: row 18 \(who p17\), column 'task_2': a label must be 0, 1 .* got 3",
    ),
    "a word for a label": (
        {"task_2": pa.array(["0"] * 29 + ["maybe"])},
        {},
        r"row 30 .*column 'task_2': a label must be .* got 'maybe'.* choose others \(tasks\)",
    ),
    "no id": (
        {"task_2": pa.array(["0"] * 29 + ["maybe"])},
        {"id": None, "features": "x*"},
        r"row 30, column 'task_2': .* pass id='task_2'",
    ),
    "a blank feature": (
        {"x1": changed(X[:, 1], 29, None)},
        {},
        r"people.parquet: row 30 \(who p29\), column 'x1': holds None, but a feature must be a",
    ),
    "infinity": ({"x1": changed(X[:, 1], 3, np.inf)}, {}, r"row 4 .*'x1': holds inf, but"),
    "too large": (
        {"x1": changed(X[:, 1], 3, 1e300)},
        {"dtype": "float32"},
        r"row 4 .*column 'x1': 1e\+300 is too large for float32",
    ),
    "a word": ({"x1": pa.array(["a"] * 30)}, {}, r"row 1 .*'x1': a feature must be a number; got"),
    "a date": (
        {"x1": pa.array([0] * 30, pa.date32())},
        {},
        r"row 1 .*'x1': a feature must be a number",
    ),
    "a blank id": (
        {"who": pa.array(["p"] + [None] * 29)},
        {},
        r"row 2, column 'who': the id is blank",
    ),
    "an id twice": (
        {"who": pa.array([*map(str, range(25)), "7", "25", "3", "27", "28"])},
        {},
        r"row 26, column 'who': the id '7' is already in row 8",
    ),
    "no such task": ({}, {"tasks": ["aufgabe_*"]}, r"no column matches tasks 'aufgabe_\*'"),
    "no such id": ({}, {"id": "woh"}, r"no column matches id 'woh'. Did you mean 'who'"),
    "no such feature": (
        {},
        {"features": "x0,x1"},
        r"no column matches features 'x0,x1'.*To name several, pass a list",
    ),
    "task and feature": ({}, {"features": ["x*", "task_0"]}, r"column 'task_0' is chosen twice"),
    "id and feature": ({}, {"features": ["who", "x0"]}, r"column 'who' is chosen twice"),
    "no features": ({}, {"tasks": ["x*", "task_*"]}, r"no column is left to be a feature"),
    "another precision": ({}, {"dtype": "tf32"}, r"`dtype` must be one of float64, float32; got"),
}


@pytest.mark.parametrize(("change", "options", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_and_nothing_is_left(change, options, message, tmp_path, out):
    path = parquet(tmp_path, COLUMNS | change, rows=7)
    with pytest.raises(InputError, match=message):
        map_parquet(path, **({"tasks": "task_*", "id": "who", "folder": out} | options))
    assert not list(out.iterdir())


def test_rows_are_counted_within_each_file(tmp_path, out):
    first = parquet(tmp_path, COLUMNS, "a.parquet")
    wrong = {"x0": changed(X[:, 0], 4, np.nan), "who": [f"q{i}" for i in range(30)]}
    second = parquet(tmp_path, COLUMNS | wrong, "b.parquet")
    with pytest.raises(InputError, match=r"b.parquet: row 5 \(who q4\), column 'x0'"):
        map_parquet([first, second], tasks="task_*", id="who", folder=out)
    third = parquet(tmp_path, COLUMNS | {"who": [f"p{i}" for i in range(29, 59)]}, "c.parquet")
    message = r"c.parquet: row 1, column 'who': the id 'p29' is already in row 30 of .*a.parquet"
    with pytest.raises(InputError, match=message):
        map_parquet([first, third], tasks="task_*", id="who", folder=out)
    fewer = {name: column for name, column in COLUMNS.items() if name != "x1"}
    with pytest.raises(InputError, match=r"d.parquet must have the columns .* missing: 'x1'"):
        map_parquet(
            [first, parquet(tmp_path, fewer, "d.parquet")], tasks="task_*", id="who", folder=out
        )
    assert not list(out.iterdir())


def test_files_that_are_none(tmp_path, out):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    whole = parquet(tmp_path, COLUMNS).read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[:-20])
    damaged = bytearray(whole)
    damaged[200:3000] = bytes(2800)
    (tmp_path / "damaged.parquet").write_bytes(damaged)
    parquet(tmp_path, {"x0": pa.array([], pa.float64()), "task_0": []}, "empty.parquet")
    for name, message in {
        "a.csv": "a.csv is not a whole Parquet file",
        "cut.parquet": "cut.parquet is not a whole Parquet file",
        "damaged.parquet": "damaged.parquet (cannot be read|is not a whole Parquet file)",
        "empty.parquet": "there are no rows",
        "none.parquet": "none.parquet cannot be read: No such file",
        "out": "there is no .*parquet file in this folder",
    }.items():
        with pytest.raises(InputError, match=message):
            map_parquet(tmp_path / name, tasks="task_*", features="x*", folder=out)
    with pytest.raises(InputError, match="no Parquet file is given"):
        map_parquet([], tasks="task_*", folder=out)
    assert not list(out.iterdir())


# --- written whole or not at all -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["X.npy", "Y.npy"])
def test_a_file_that_is_there_is_refused_and_left_alone(name, tmp_path, out):
    (out / name).write_text("mine")
    with pytest.raises(InputError, match=f"{name} is there already"):
        map_parquet(parquet(tmp_path, COLUMNS), tasks="task_*", id="who", folder=out)
    assert [one.read_text() for one in out.iterdir()] == ["mine"]


def test_a_file_that_comes_meanwhile_is_left_alone(tmp_path, out, monkeypatch):
    rename = Path.rename

    def renamed(path, target):
        (out / "Y.npy").write_text("theirs")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", renamed)
    with pytest.raises(InputError, match=r"Y\.npy is there already"):
        map_parquet(parquet(tmp_path, COLUMNS), tasks="task_*", id="who", folder=out)
    assert [one.read_text() for one in out.iterdir()] == ["theirs"]


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"X.npy cannot be written: there is no folder"):
        map_parquet(parquet(tmp_path, COLUMNS), tasks="task_*", id="who", folder=tmp_path / "a")


# X takes 16 kB, Y 48 kB, or 96 kB with blanks.
FULL = {
    "at the head": (100, 0.0),
    "amid the features": (8_000, 0.0),
    "amid the labels": (40_000, 0.0),
    "when blanks are marked": (60_000, 0.5),
}


@pytest.mark.parametrize(("size", "blanks"), FULL.values(), ids=FULL)
def test_a_full_disk_leaves_nothing_behind(size, blanks, tmp_path, out):
    X, Y = people(blanks=blanks, n=2000, m=24)
    path = parquet(tmp_path, table(X, Y), rows=300)
    message = r"cannot be written to .*File too large.*Nothing is left"
    with small_files(size), pytest.raises(InputError, match=message):
        map_parquet(path, tasks="task_*", features="x0", folder=out)
    assert not list(out.iterdir())


@pytest.mark.long
def test_a_full_disk_in_a_test_does_not_stop_its_report(tmp_path):
    """The report of the tests above may go to a file that is larger than their limit."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    with (tmp_path / "report.txt").open("w") as report:
        report.write("#" * 100_000)
        report.flush()
        command += ["-k", "a_full_disk_leaves_nothing_behind"]
        ended = subprocess.run(command, stdout=report, stderr=subprocess.STDOUT, check=False)
    assert ended.returncode == 0, (tmp_path / "report.txt").read_text()[100_000:]


def test_an_interrupt_leaves_nothing_behind(tmp_path, out, monkeypatch):
    def interrupted(self, *_, **__):
        yield from [self.read_row_group(0).to_batches()[0]]
        raise KeyboardInterrupt

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", interrupted)
    with pytest.raises(KeyboardInterrupt):
        map_parquet(parquet(tmp_path, COLUMNS), tasks="task_*", id="who", folder=out)
    assert not list(out.iterdir())
