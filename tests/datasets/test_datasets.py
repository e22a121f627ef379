"""The paper's populations, recomputed independently from weights, or with pandas."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from dataclasses import fields, replace
from importlib.util import find_spec
from itertools import combinations

import numpy as np
import pytest

from averagefair.datasets import (
    Communities,
    communities_split,
    load_communities,
    make_synthetic,
)
from averagefair.datasets.communities import COMMUNITIES_COLUMNS
from averagefair.errors import DatasetError, InputError
from tests.support.places import COMMUNITIES as REAL

needs_data = pytest.mark.skipif(not REAL.is_file(), reason="communities.csv is not on this machine")


# The synthetic population


def label_naively(x, weights, majority):
    """Label one person and task at a time, as the paper's text says."""
    labels = np.zeros(majority.shape, dtype=int)
    for i, j in np.ndindex(majority.shape):
        score = sum(
            a * b for a, b in zip(x[i], weights[j, 0 if majority[i, j] else 1], strict=True)
        )
        labels[i, j] = score > 0
    return labels


@pytest.mark.parametrize("d", [1, 4, 7, 20])
def test_labels_follow_the_weights_and_the_coins(d):
    population = make_synthetic(40, 9, d, random_state=3)
    assert set(np.unique(population.X)) == {-1.0, 1.0}
    assert set(np.unique(population.weights)) == {-1, 1}
    expected = label_naively(population.X, population.weights, population.majority)
    np.testing.assert_array_equal(population.Y, expected)


def test_the_defaults_are_the_papers():
    population = make_synthetic()
    assert population.X.shape == (200, 20)
    assert population.Y.shape == (200, 50)
    assert population.Y.dtype == np.int8
    assert set(np.unique(population.Y)) == {0, 1}
    assert population.groups.tolist() == [1] * 150 + [2] * 50


@pytest.mark.parametrize(
    ("n", "first"), [(1, 1), (2, 2), (3, 3), (4, 3), (5, 4), (6, 5), (7, 6), (8, 6), (100, 75)]
)
def test_person_i_is_in_group_1_below_three_quarters(n, first):
    assert np.sum(make_synthetic(n, 1, 1).groups == 1) == first


@pytest.mark.parametrize("q", [0.5, 0.8, 0.95])
def test_majority_shares_are_q_and_one_minus_q(q):
    population = make_synthetic(4000, 100, 3, q, random_state=1)
    for group, share in ((1, q), (2, 1 - q)):
        cells = population.majority[population.groups == group]
        standard_error = np.sqrt(share * (1 - share) / cells.size)
        assert abs(cells.mean() - share) < 4 * standard_error


def test_people_and_weights_are_fair_coins():
    population = make_synthetic(4000, 1000, 21, random_state=2)
    for signs in (population.X, population.weights):
        assert abs(signs.mean()) < 4 / np.sqrt(signs.size)
    majority, minority = population.weights[:, 0], population.weights[:, 1]
    assert abs(np.mean(majority * minority)) < 4 / np.sqrt(majority.size)


def test_share_of_ties_is_as_documented():
    even, odd = (make_synthetic(2000, 500, d, random_state=0) for d in (20, 21))
    assert even.Y.mean() == pytest.approx((1 - 0.176197) / 2, abs=0.01)
    assert odd.Y.mean() == pytest.approx(0.5, abs=0.01)


def test_at_q_1_group_1_is_the_majority_everywhere():
    population = make_synthetic(40, 7, 5, 1.0, n_holdout=12, m_holdout=4)
    for x, groups, weights, labels in (
        (population.X, population.groups, population.weights, population.Y),
        (population.X_new, population.groups_new, population.weights, population.Y_new_people),
        (population.X, population.groups, population.weights_new, population.Y_new_tasks),
        (population.X_new, population.groups_new, population.weights_new, population.Y_new_both),
    ):
        majority = np.repeat((groups == 1)[:, None], len(weights), axis=1)
        np.testing.assert_array_equal(labels, label_naively(x, weights, majority))
    assert population.majority.sum() == 30 * 7
    assert population.groups_new.tolist() == [1] * 9 + [2] * 3


def test_holdout_labels_have_coins_of_their_own():
    """If the two vectors of a task disagree, a label shows which of them the person follows."""
    q = 0.9
    population = make_synthetic(800, 60, 15, q, n_holdout=800, m_holdout=60, random_state=5)
    for x, groups, weights, labels in (
        (population.X_new, population.groups_new, population.weights, population.Y_new_people),
        (population.X, population.groups, population.weights_new, population.Y_new_tasks),
        (population.X_new, population.groups_new, population.weights_new, population.Y_new_both),
    ):
        by_majority, by_minority = (x @ weights[:, k].T > 0 for k in (0, 1))
        told = by_majority != by_minority
        np.testing.assert_array_equal(labels[~told], by_majority[~told])
        in_majority = labels == by_majority
        assert in_majority[groups == 1][told[groups == 1]].mean() == pytest.approx(q, abs=0.02)
        assert in_majority[groups == 2][told[groups == 2]].mean() == pytest.approx(1 - q, abs=0.02)
    assert not np.array_equal(population.X, population.X_new)
    assert not np.array_equal(population.weights, population.weights_new)


def test_no_two_parts_share_their_coins():
    """With fair coins, two parts of equal size agree on half of the cells that show the coin."""
    size = {"n": 400, "m": 100, "n_holdout": 400, "m_holdout": 100}
    population = make_synthetic(d=15, q=0.5, random_state=6, **size)
    sides = [(population.majority, np.ones((400, 100), dtype=bool))]
    for x, weights, labels in (
        (population.X_new, population.weights, population.Y_new_people),
        (population.X, population.weights_new, population.Y_new_tasks),
        (population.X_new, population.weights_new, population.Y_new_both),
    ):
        by_majority, by_minority = (x @ weights[:, k].T > 0 for k in (0, 1))
        sides.append((labels == by_majority, by_majority != by_minority))
    for (one, one_tells), (other, other_tells) in combinations(sides, 2):
        told = one_tells & other_tells
        assert np.mean(one[told] == other[told]) == pytest.approx(0.5, abs=0.03)


def test_asking_for_a_holdout_leaves_every_other_part_alone():
    alone = make_synthetic(30, 8, 6, random_state=4)
    people = make_synthetic(30, 8, 6, random_state=4, n_holdout=11)
    tasks = make_synthetic(30, 8, 6, random_state=4, m_holdout=5)
    both = make_synthetic(30, 8, 6, random_state=4, n_holdout=11, m_holdout=5)
    for name in ("X", "Y", "groups", "weights", "majority"):
        for other in (people, tasks, both):
            np.testing.assert_array_equal(getattr(alone, name), getattr(other, name))
    np.testing.assert_array_equal(people.Y_new_people, both.Y_new_people)
    np.testing.assert_array_equal(tasks.Y_new_tasks, both.Y_new_tasks)
    assert both.Y_new_both.shape == (11, 5)
    assert alone.X_new.shape == (0, 6)
    assert alone.Y_new_people.shape == (0, 8)
    assert alone.Y_new_tasks.shape == (30, 0)
    assert alone.Y_new_both.shape == (0, 0)


def test_a_seed_fixes_everything_and_another_changes_it():
    one, same, other = (
        make_synthetic(50, 5, 6, random_state=seed, n_holdout=20, m_holdout=3) for seed in (7, 7, 8)
    )
    for part in fields(one):
        np.testing.assert_array_equal(getattr(one, part.name), getattr(same, part.name))
    for name in ("X", "Y", "X_new", "weights", "weights_new", "majority"):
        assert not np.array_equal(getattr(one, name), getattr(other, name))


def test_labels_made_over_many_row_blocks_are_right():
    population = make_synthetic(60_000, 101, 5, random_state=0)
    scores = [population.X @ population.weights[:, k].T for k in (0, 1)]
    np.testing.assert_array_equal(population.Y, np.where(population.majority, *scores) > 0)
    assert population.majority[:45_000].mean(axis=1).std() == pytest.approx(
        0.4 / 101**0.5, rel=0.02
    )


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n": 0}, "`n` must be a whole number, 1 or more; got 0"),
        ({"m": -1}, "`m` must be .* got -1"),
        ({"d": 0}, "`d` must be .* got 0"),
        ({"n": 2.5}, "`n` must be a whole number.* got 2.5"),
        ({"n_holdout": -1}, "`n_holdout` must be a whole number, 0 or more; got -1"),
        ({"m_holdout": "3"}, "`m_holdout` must be .* got '3'"),
        ({"random_state": -1}, "`random_state` must be .* got -1"),
        ({"random_state": None}, "`random_state` must be .* got None"),
        ({"q": 0.4}, r"`q` must lie in \[0.5, 1\]; got 0.4"),
        ({"q": 1.01}, "`q` must lie in .* got 1.01"),
        ({"q": float("nan")}, "`q` must lie in .* got nan"),
    ],
)
def test_bad_arguments_are_named(bad, message):
    with pytest.raises(InputError, match=message):
        make_synthetic(**bad)


# Reading Communities and Crime


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(url, **_):
        raise OSError("no network in tests")

    monkeypatch.delenv("AVERAGEFAIR_DATA", raising=False)
    if find_spec("pooch"):
        monkeypatch.setattr("pooch.retrieve", refuse)


def fake_cells(seed=0):
    """Return a table of the right shape, as text, with blanks."""
    rng = np.random.default_rng(seed)
    cells = np.char.mod("%.2f", rng.integers(0, 101, (1994, 123)) / 100).tolist()
    for i in range(0, 1994, 7):
        cells[i][i % 123] = ""
    return cells


def real_cells():
    lines = REAL.read_text(encoding="utf-8").split("\n")
    return [line.split(",") for line in lines if line][1:]


def write_headed(path, cells, end="\n", header=COMMUNITIES_COLUMNS):
    path.write_bytes(end.join(",".join(row) for row in [header, *cells]).encode())
    return path


def write_raw(path, cells):
    """Write a table in UCI's format: five more columns, no header, ? for missing values."""
    rows = [
        ["8", "?", "?", f"Town{i}city", "1", *(cell or "?" for cell in row)]
        for i, row in enumerate(cells)
    ]
    path.write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


@needs_data
def test_the_real_table_is_read_as_pandas_reads_it():
    pandas = pytest.importorskip("pandas")
    data = load_communities(REAL)
    expected = pandas.read_csv(REAL)
    assert data.is_original
    assert data.values.dtype == np.float64
    assert data.column_names == tuple(expected.columns)
    np.testing.assert_array_equal(data.values, expected.to_numpy())


@needs_data
def test_every_layout_gives_the_same_original_table(tmp_path):
    cells, expected = real_cells(), load_communities(REAL).values
    raw = write_raw(tmp_path / "communities.data", cells)
    zipped = tmp_path / "any name.zip"
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.write(raw, "communities.data")
    five = ("state", "county", "community", "communityname", "fold")
    wide = [["8", "", "", "Town, the", "1", *row] for row in cells]
    quoted = [[f'"{cell}"' for cell in row] for row in wide]
    for file in (
        raw,
        zipped,
        tmp_path,
        write_headed(tmp_path / "a.csv", cells, end="\r\n"),
        write_headed(tmp_path / "b.csv", cells, end="\r\r\n"),
        write_headed(tmp_path / "c.csv", quoted, header=(*five, *COMMUNITIES_COLUMNS)),
    ):
        data = load_communities(str(file))
        assert data.is_original, file
        np.testing.assert_array_equal(data.values, expected)


def test_other_values_are_read_with_a_warning(tmp_path):
    file = write_headed(tmp_path / "mine.csv", fake_cells())
    with pytest.warns(UserWarning, match="other values than UCI's"):
        data = load_communities(file)
    assert not data.is_original
    assert data.values.shape == (1994, 123)
    assert np.isnan(data.values).sum() == 285
    assert data.values[1, 1] == float(fake_cells()[1][1])


def spoil(cells, i, j, cell):
    cells[i][j] = cell
    return cells


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (
            lambda p: write_headed(p, spoil(fake_cells(), 4, 2, "n/a")),
            "row 5, column 'racepctblack' holds 'n/a'; it must be a number",
        ),
        (lambda p: write_raw(p, spoil(fake_cells(), 0, 0, "inf")), "row 1, column 'population'"),
        (lambda p: write_headed(p, fake_cells()[:-1]), "it has 1,993 rows; it must have 1,994"),
        (lambda p: write_raw(p, fake_cells() * 2), "it has 3,988 rows; it must have 1,994"),
        (lambda p: write_headed(p, []), "it has 0 rows"),
        (lambda p: p.write_text(""), "it has 0 rows"),
        (lambda p: p.write_text("1,2,3\n4,5,6\n"), "line 1 has 3 columns"),
        (
            lambda p: write_headed(p, [["8", "?", "?", "T", "1", *row] for row in fake_cells()]),
            r"line 2 has 128 columns \(line 1 has 123\); all must have 128, or 123",
        ),
        (lambda p: write_headed(p, [*fake_cells()[:9], ["1"]]), "line 11 has 1 column"),
        (
            lambda p: write_headed(p, fake_cells(), header=COMMUNITIES_COLUMNS[::-1]),
            "its header has 'ViolentCrimesPerPop' instead of 'population'",
        ),
        (lambda p: p.write_bytes(b"\xff\xfe\x00"), "could not be read"),
        (lambda p: zipfile.ZipFile(p, "w").close(), "could not be read.*communities.data"),
    ],
)
def test_a_wrong_file_is_refused_with_the_reason_and_the_remedy(tmp_path, write, message):
    file = tmp_path / "wrong.csv"
    write(file)
    with pytest.raises(DatasetError, match=message) as caught:
        load_communities(file)
    assert "wrong.csv" in str(caught.value)
    assert "archive.ics.uci.edu/dataset/183" in str(caught.value)


@pytest.mark.parametrize("name", ["absent.csv", "."])
def test_a_path_without_the_file_is_refused_and_nothing_else_is_tried(tmp_path, monkeypatch, name):
    monkeypatch.setenv("AVERAGEFAIR_DATA", str(tmp_path / "unused"))
    with pytest.raises(DatasetError, match=r"There is no file .* communities.csv or") as caught:
        load_communities(tmp_path / name)
    assert "ownload of" not in str(caught.value)


@needs_data
@pytest.mark.parametrize("place", [REAL, REAL.parent])
def test_the_environment_variable_names_a_file_or_a_folder(monkeypatch, place):
    monkeypatch.setenv("AVERAGEFAIR_DATA", str(place))
    assert load_communities().is_original


def test_a_wrong_file_named_by_the_environment_is_not_passed_over(tmp_path, monkeypatch):
    (tmp_path / "communities.csv").write_text("1,2\n")
    monkeypatch.setenv("AVERAGEFAIR_DATA", str(tmp_path))
    with pytest.raises(DatasetError, match="line 1 has 2 columns"):
        load_communities()


@pytest.mark.parametrize("value", [None, "", "no-such-folder"])
def test_when_all_fails_the_error_says_what_was_tried_and_what_to_do(monkeypatch, value):
    pytest.importorskip("pooch")
    if value is not None:
        monkeypatch.setenv("AVERAGEFAIR_DATA", value)
    with pytest.raises(DatasetError) as caught:
        load_communities()
    message = str(caught.value)
    started = "AVERAGEFAIR_DATA: There is no file no-such-folder" if value else "is not set"
    for part in (
        started,
        "communities+and+crime.zip failed: no network in tests",
        "communities/communities.data failed: no network in tests",
        "load_communities(path) in Python, --data path on the command line",
        "set the environment variable AVERAGEFAIR_DATA",
    ):
        assert part in message


def test_without_pooch_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DatasetError, match=r"pip install 'averagefair\[datasets\]'"):
        load_communities()


def serve(monkeypatch, folder, **sites):
    """Make pooch return files; zip= and data= are functions that write them."""
    pytest.importorskip("pooch")

    def retrieve(url, known_hash, fname, path):
        write = sites.get(url.rpartition(".")[2])
        if write is None:
            raise OSError("404")
        file = folder / fname
        write(file)
        return str(file)

    monkeypatch.setattr("pooch.retrieve", retrieve)


def write_zip(path, cells):
    raw = write_raw(path.with_suffix(".tmp"), cells)
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(raw, "communities.data")


@needs_data
@pytest.mark.parametrize(
    "sites",
    [
        {"zip": lambda p: write_zip(p, real_cells())},
        {"data": lambda p: write_raw(p, real_cells())},
        {
            "zip": lambda p: p.write_text("<html>sorry</html>"),
            "data": lambda p: write_raw(p, real_cells()),
        },
    ],
)
def test_a_download_gives_the_original(monkeypatch, tmp_path, sites):
    serve(monkeypatch, tmp_path, **sites)
    data = load_communities()
    assert data.is_original
    np.testing.assert_array_equal(data.values, load_communities(REAL).values)


def test_a_bad_download_is_refused_and_not_kept(monkeypatch, tmp_path):
    serve(
        monkeypatch,
        tmp_path,
        zip=lambda p: p.write_text("<html>sorry</html>"),
        data=lambda p: write_raw(p, fake_cells()),
    )
    with pytest.raises(DatasetError, match=r"line 1 has 1 column.*do not match the pinned digest"):
        load_communities()
    assert list(tmp_path.iterdir()) == []


@needs_data
def test_one_changed_cell_is_noticed(tmp_path):
    cells = real_cells()
    cells[1000][60] = "0.123"
    file = write_raw(tmp_path / "communities.data", cells)
    with pytest.warns(UserWarning, match="other values"):
        assert not load_communities(file).is_original


# The split


@needs_data
def test_the_papers_split_equals_a_naive_one_with_pandas():
    pandas = pytest.importorskip("pandas")
    table = pandas.read_csv(REAL).fillna(0)
    table.iloc[:, :122] -= table.iloc[:, :122].mean()

    def labels(rows, columns):
        part = table.iloc[rows, columns]
        assert (part.nunique() > 2).all()  # the paper makes labels of all these columns
        return (part > part.mean()).astype("int8").to_numpy()

    train, test = slice(0, 200), slice(200, 400)
    tasks, features, new_tasks = slice(0, 50), slice(50, 70), slice(70, 95)
    split = communities_split(load_communities(REAL))
    np.testing.assert_allclose(split.X, table.iloc[train, features], rtol=0, atol=1e-14)
    np.testing.assert_allclose(split.X_new, table.iloc[test, features], rtol=0, atol=1e-14)
    np.testing.assert_array_equal(split.Y, labels(train, tasks))
    np.testing.assert_array_equal(split.Y_new_people, labels(test, tasks))
    np.testing.assert_array_equal(split.Y_new_tasks, labels(train, new_tasks))
    np.testing.assert_array_equal(split.Y_new_both, labels(test, new_tasks))
    assert split.Y.dtype == np.int8
    assert split.feature_names == tuple(table.columns[features])
    assert split.task_names == tuple(table.columns[tasks])
    assert split.new_task_names == tuple(table.columns[new_tasks])


@needs_data
def test_rounding_decides_no_label_in_random_splits():
    """Compare with integer arithmetic: the data are hundredths."""
    data = load_communities(REAL)
    hundredths = np.rint(np.nan_to_num(data.values) * 100).astype(int)
    ties = 0
    for seed in range(10):
        rows = np.random.default_rng(seed).permutation(1994)
        train, test = rows[:1595], rows[1595:]
        split = communities_split(data, train_rows=train, holdout_rows=test.tolist())
        for chosen, columns, labels in (
            (train, slice(0, 50), split.Y),
            (test, slice(0, 50), split.Y_new_people),
            (train, slice(70, 95), split.Y_new_tasks),
            (test, slice(70, 95), split.Y_new_both),
        ):
            part = hundredths[chosen, columns]
            np.testing.assert_array_equal(labels, len(part) * part > part.sum(axis=0))
            ties += np.sum(len(part) * part == part.sum(axis=0))
    assert ties > 0  # else this test shows nothing


def toy(values=None):
    table = np.random.default_rng(0).random((1994, 123)) if values is None else values
    return Communities(table)


def test_columns_with_two_values_or_one_and_missing_values():
    table = toy().values.copy()
    table[:, 0] = np.arange(1994) % 5 == 0
    table[:, 1] = np.where(np.arange(1994) < 199, 0.7, 0.3)
    table[:, 2] = 0.1
    table[:, 3] = np.nan
    table[0, 50] = np.nan
    split = communities_split(toy(table))
    np.testing.assert_array_equal(split.Y[:, 0], table[:200, 0])
    np.testing.assert_array_equal(split.Y[:, 1], np.arange(200) < 199)
    for labels in (split.Y_new_people[:, 1], split.Y[:, 2], split.Y[:, 3]):
        assert not labels.any()
    assert split.X[0, 0] == pytest.approx(-np.nan_to_num(table[:, 50]).mean())
    assert np.isnan(table[:, 3]).all()  # the data are unchanged


def test_rows_are_taken_in_the_order_given():
    split, turned = (communities_split(toy(), train_rows=rows) for rows in ([5, 9], [9, 5]))
    np.testing.assert_array_equal(split.X[::-1], turned.X)
    np.testing.assert_array_equal(split.Y[::-1], turned.Y)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"train_rows": []}, "`train_rows` must be .* at least one; got"),
        ({"train_rows": 7}, "`train_rows` must be a list .* got 7"),
        ({"train_rows": [0.5]}, "`train_rows` must be a list"),
        ({"train_rows": np.ones(1994, dtype=bool)}, "`train_rows` must be a list"),
        ({"holdout_rows": [1, 1994]}, "`holdout_rows` .* 0 to 1993, at least one; got 1994"),
        ({"holdout_rows": [-1]}, "`holdout_rows` .* got -1"),
        ({"holdout_rows": [300, 301, 300]}, "`holdout_rows` .* got 300 more than once"),
        ({"holdout_rows": range(199, 300)}, "must not overlap; both have row 199"),
    ],
)
def test_bad_rows_are_named(bad, message):
    with pytest.raises(InputError, match=message):
        communities_split(toy(), **bad)


def test_the_split_loads_the_data_where_none_are_given():
    with pytest.raises(DatasetError, match="AVERAGEFAIR_DATA"):
        communities_split()


def test_results_are_frozen_and_print_briefly():
    for result in (make_synthetic(5, 2, 3), communities_split(toy()), toy()):
        assert len(repr(result)) < 700
        with pytest.raises(AttributeError):
            result.X = None
    assert replace(make_synthetic(5, 2, 3), X=np.zeros((5, 3))).X.sum() == 0


def test_importing_the_module_does_not_import_pooch():
    program = "import sys, averagefair.datasets; print(*{'pooch'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""
