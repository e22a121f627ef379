"""Models that encode words, dates and blanks: saved, loaded, and refused if their entry is odd."""

import json
import os
import stat

import numpy as np
import pandas as pd
import pytest

from averagefair import AverageFairClassifier, InputError, TableEncoder, load
from averagefair.persistence import read_model, save
from tests.support.model_files import (
    WHO,
    altered,
    assert_decides_the_same,
    contents,
    encoded,
    raw_table,
    strangers_of,
)
from tests.support.small_fits import STRANGERS, people
from tests.support.structured_mutants import ENCODINGS


@pytest.fixture(scope="module")
def models():
    return {"fixed": encoded(decisions="fixed"), "drawn": encoded(decisions="drawn")}


@pytest.mark.parametrize("decisions", ["fixed", "drawn"])
def test_a_loaded_model_encodes_and_decides_the_same(decisions, models, tmp_path):
    known, path = models[decisions], tmp_path / "fair.model"
    save(known, path)
    same = load(path)
    assert_decides_the_same(known, same, raw_table(STRANGERS), raw_table(people()[0]))
    assert same.encoder_.encodings_ == known.encoder_.encodings_
    assert list(same.feature_names_in_) == ["age", "income", "since"]
    assert same.n_features_in_ == known.n_features_in_ == 3
    assert isinstance(same.encode, TableEncoder)
    assert not hasattr(same.encode, "encodings_")
    X, Y = raw_table(people()[0], WHO), people()[1]
    assert str(same.audit(X, Y)) == str(known.audit(X, Y))
    # A CSV file of the same people, whose cells are text.
    raw_table(STRANGERS).to_csv(tmp_path / "later.csv", index=False)
    again = pd.read_csv(tmp_path / "later.csv", dtype=str)
    np.testing.assert_array_equal(same.predict(again), known.predict(raw_table(STRANGERS)))
    with pytest.raises(InputError, match="'income': holds numbers"):
        same.predict(raw_table(STRANGERS).assign(income=1.0))
    # Saved again, the file holds the same.
    save(same, tmp_path / "again.model")
    first, second = (contents(tmp_path / f"{name}.model")[1] for name in ("fair", "again"))
    assert first["encoder"] == second["encoder"]


def test_later_tasks_of_a_loaded_model_are_encoded_too(models, tmp_path):
    known = encoded(decisions="fixed")
    save(known, tmp_path / "fair.model", extendable=True)
    same = load(tmp_path / "fair.model")
    labels = people(seed=5, m=2, blanks=0.2)[1]
    later, other = (one.extend(labels, task_names=["later 0", "later 1"]) for one in (known, same))
    assert_decides_the_same(later, other, raw_table(STRANGERS))
    save(later, tmp_path / "later.model")
    assert_decides_the_same(later, load(tmp_path / "later.model"), raw_table(STRANGERS))


def test_arrays_without_names(tmp_path):
    X, Y = people()
    cells = np.array([[None if cell > 1 else cell for cell in row] for row in X], dtype=object)
    known = AverageFairClassifier(alpha=0.3, encode=True, random_state=0).fit(cells, Y)
    save(known, tmp_path / "fair.model")
    same = load(tmp_path / "fair.model")
    assert not hasattr(same, "feature_names_in_")
    np.testing.assert_array_equal(same.predict(X), known.predict(X))


def test_the_file_holds_words_and_medians_and_no_people(models, tmp_path):
    path = tmp_path / "fair.model"
    models["fixed"].save(path)
    entry = read_model(path).manifest["encoder"]
    assert entry["max_categories"] == 20
    assert entry["named"] is True
    table = raw_table(people()[0])
    assert entry["columns"][0] == {
        "name": "age",
        "kind": "number",
        "median": table["age"].median(),
        "words": [],
        "other": False,
        "blank": True,
    }
    assert entry["columns"][1]["words"] == ["high", "low", "middle"]
    assert b"Zebedee" not in path.read_bytes()
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    # Rare words are not in the file.
    names = [*(f"name {row}" for row in range(8)), *["a", "b"] * 8]
    few = AverageFairClassifier(alpha=0.3, encode=TableEncoder(3), random_state=0)
    few.fit(table.assign(name=names), people()[1]).save(path)
    assert b"name 3" not in path.read_bytes()
    again = load(path)
    assert again.encode.max_categories == 3
    assert "name=(other)" in again.encoder_.get_feature_names_out()


def test_exported_rules_are_about_the_encoded_columns(models, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    known = models["fixed"]
    names = list(known.encoder_.get_feature_names_out())
    rules = known.coefficients()
    assert list(rules.columns) == [*names, "intercept"]
    X = known.encoder_.transform(raw_table(STRANGERS))
    scores = X @ rules[names].to_numpy().T + rules["intercept"].to_numpy()
    np.testing.assert_array_equal(scores > 0, known.predict(raw_table(STRANGERS)) == 1)
    known.to_onnx(tmp_path / "fair.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "fair.onnx")
    (made,) = session.run(None, {"features": X})
    np.testing.assert_array_equal(made, known.predict(raw_table(STRANGERS)))
    facts = session.get_modelmeta().custom_metadata_map
    assert json.loads(facts["feature_names"]) == names
    assert [one["name"] for one in json.loads(facts["encoder"])] == ["age", "income", "since"]
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "fair.onnx").stat().st_mode) == 0o600


def test_odd_entries_are_refused(models, tmp_path):
    save(models["fixed"], tmp_path / "fair.model")
    whole = (tmp_path / "fair.model").read_bytes()
    assert load(altered(whole, tmp_path, lambda arrays, head: None)).encoder_ is not None
    for name, change in ENCODINGS.items():
        path = altered(whole, tmp_path, change)
        with pytest.raises(InputError, match=r"altered\.model"):
            pytest.fail(f"{name}: {load(path)}")


def test_an_entry_that_fits_is_read(models, tmp_path):
    """The judge above can fail: some changes give another valid model."""

    def change(arrays, head):
        head["encoder"]["columns"][0]["median"] = 7

    save(models["fixed"], tmp_path / "fair.model")
    other = load(altered((tmp_path / "fair.model").read_bytes(), tmp_path, change))
    blank = strangers_of(other).assign(age=np.nan)
    assert (other.encoder_.transform(blank)[:, 0] == 7).all()
