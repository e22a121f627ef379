"""The data of the experiments: digests that identify them, random tasks, versions."""

from __future__ import annotations

import platform
from dataclasses import replace
from importlib import metadata

import numpy as np
import pytest

from averagefair._util.versions import versions
from averagefair.datasets import Communities, load_communities, make_synthetic
from averagefair.datasets.split import Split
from tests.support.experiment_judges import DATA, PARTS, needs_data, plain_digest, table_digest


@pytest.fixture
def split():
    made = make_synthetic(12, 5, 3, n_holdout=7, m_holdout=4)
    return Split(**{name: getattr(made, name) for name in PARTS})


# Digests of a split.


def test_a_digest_is_that_of_the_cells(split):
    assert split.digest == plain_digest(split)
    assert make_synthetic(12, 5, 3, n_holdout=7, m_holdout=4).digest == plain_digest(split)


@pytest.mark.parametrize("name", PARTS)
def test_every_cell_counts(split, name):
    part = getattr(split, name).copy()
    part[-1, -1] = 1 - part[-1, -1]
    assert replace(split, **{name: part}).digest != split.digest


def test_how_arrays_lie_in_memory_does_not_count(split):
    turned = {name: np.asfortranarray(getattr(split, name)) for name in PARTS}
    assert Split(**turned).digest == split.digest
    every_other = np.repeat(split.X, 2, axis=0)[::2]
    big = split.X.astype(">f8")
    assert replace(split, X=every_other).digest == replace(split, X=big).digest == split.digest


# Tasks drawn at random.


def columns_of(*tables):
    return [tuple(column) for table in tables for column in np.asarray(table).T.tolist()]


def test_drawn_tasks_are_the_same_tasks_of_the_same_people():
    made = make_synthetic(60, 20, n_holdout=50, m_holdout=8)
    drawn = made.with_tasks_drawn(np.random.default_rng(0))
    np.testing.assert_array_equal(drawn.X, made.X)
    np.testing.assert_array_equal(drawn.X_new, made.X_new)
    assert drawn.Y.shape == made.Y.shape
    assert drawn.Y_new_tasks.shape == made.Y_new_tasks.shape
    old = columns_of(made.Y, made.Y_new_tasks)
    assert len(set(old)) == 28  # all tasks differ, so that each can be recognised
    new = columns_of(drawn.Y, drawn.Y_new_tasks)
    assert sorted(new) == sorted(old)
    # The held-out people have the same task at the same position.
    there_old = columns_of(made.Y_new_people, made.Y_new_both)
    there_new = columns_of(drawn.Y_new_people, drawn.Y_new_both)
    for place, column in enumerate(new):
        assert there_new[place] == there_old[old.index(column)]


def test_every_task_is_as_likely_to_be_held_out():
    made = make_synthetic(30, 6, n_holdout=3, m_holdout=3)
    names = columns_of(made.Y, made.Y_new_tasks)
    counts = dict.fromkeys(names, 0)
    rng = np.random.default_rng(0)
    for _ in range(600):
        for column in columns_of(made.with_tasks_drawn(rng).Y_new_tasks):
            counts[column] += 1
    # 200 expected of each, with a standard deviation of 11.5.
    assert min(counts.values()) > 150
    assert max(counts.values()) < 250


def test_a_seed_fixes_the_draw():
    made = make_synthetic(30, 10, n_holdout=3, m_holdout=5)
    one, same, other = (made.with_tasks_drawn(np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one.digest == same.digest != other.digest


# Communities and Crime.


def test_the_digest_of_communities_is_that_of_its_cells():
    values = np.random.default_rng(0).random((1994, 123))
    values[3, 5] = values[7, 0] = np.nan
    data = Communities(values)
    assert data.digest == table_digest(values)
    assert not data.is_original
    # The bits of a missing value do not matter.
    other = values.copy()
    other[3, 5] = -np.nan
    other.view(np.uint64)[7, 0] ^= 1
    assert np.isnan(other[7, 0])
    assert Communities(other).digest == data.digest
    other[0, 0] += 1e-9
    assert Communities(other).digest != data.digest


@needs_data
def test_only_ucis_values_are_original():
    data = load_communities(DATA)
    assert data.is_original
    assert data.digest == table_digest(data.values)
    changed = data.values.copy()
    changed[1993, 122] += 0.01
    assert not Communities(changed).is_original


# Versions.


def test_versions_are_those_installed():
    found = versions(["matplotlib", "no-such-package"])
    assert found["Python"] == platform.python_version()
    for package in ("averagefair", "numpy", "scipy", "scikit-learn", "highspy", "matplotlib"):
        assert found[package] == metadata.version(package)
    assert found["no-such-package"] == "unknown"
