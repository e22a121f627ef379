"""Files of every released version of the format still load."""

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn

from averagefair import Equal, InputError, Mixture, load, save
from averagefair.persistence.container import MODEL
from tests.support.model_files import WHO, assert_decides_the_same, contents, strangers_of
from tests.support.small_fits import STRANGERS

GOLDEN = Path(__file__).parent / "golden"
VERSIONS = sorted(GOLDEN.glob("v*"))
FILES = [path for version in VERSIONS for path in sorted(version.glob("*.model"))]


def facts_of(path):
    return json.loads((path.parent / "facts.json").read_text())[path.stem]


def read(path):
    """Load a file; another release of scikit-learn may refuse its own parts with a clear error."""
    made = re.search(r"scikit-learn [\d.]+", json.dumps(contents(path)[1]))
    if made is None or made.group() == f"scikit-learn {sklearn.__version__}":
        return load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return load(path)
        except InputError as error:
            told = str(error)
    if made.group() not in told:
        pytest.fail(told)
    pytest.skip(told)


def in_order(some, others):
    """Return whether some items are among others, in the same order."""
    left = iter(others)
    return all(one in left for one in some)


def assert_balance(balance, told):
    assert (balance is None) == (told is None)
    if told is not None:
        for name in ("wrong", "seen", "tasks", "names"):
            np.testing.assert_array_equal(getattr(balance, name), told[name])


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file_decides_as_it_did(path):
    found, told = read(path), facts_of(path)
    ids = [f"id {one}" for one in range(len(STRANGERS))]
    names = found.task_names if isinstance(found, Mixture) else found.task_names_
    assert list(names) == told["tasks"]
    X = strangers_of(found)
    chances = found.decision_probability(X).ravel()
    np.testing.assert_allclose(chances, told["chances"], atol=1e-12)
    assert found.predict(X, ids=ids).ravel().tolist() == told["draws"]
    if "certificate" in told:
        # The figures must be there, in order. A release may add others, and words may improve.
        figures = [
            re.findall(r"\d+\.?\d*", one) for one in (str(found.certificate_), told["certificate"])
        ]
        assert in_order(figures[1], figures[0])
        # Files of version 1, and older ones of version 2, do not say how decisions are made.
        decisions = told.get("decisions", "drawn")
        assert found.certificate_.decisions == found.decisions == decisions
        assert (found.mixture_ is None) == (decisions == "fixed")
        assert_balance(found.balance_, told.get("balance") if found.mapping_ else None)
    assert re.fullmatch(r"v\d+", path.parent.name)
    assert contents(path)[1]["version"] == int(path.parent.name[1:])


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file_that_is_read_can_be_saved_again(path, tmp_path):
    """The new file has today's version, decides the same and keeps the balance."""
    found = read(path)
    extendable = getattr(found, "mapping_", None) is not None
    save(found, tmp_path / "again.model", extendable=extendable)
    same = load(tmp_path / "again.model")
    X = strangers_of(found)
    assert_decides_the_same(found, same, X)
    assert contents(tmp_path / "again.model")[1]["version"] == MODEL.version
    if not isinstance(found, Mixture):
        assert same.certificate_.decisions == found.certificate_.decisions
        assert (same.mapping_ is None) == (found.mapping_ is None)
        assert_balance(same.balance_, None if found.balance_ is None else vars(found.balance_))


MODELS = [path for path in FILES if "certificate" in facts_of(path)]


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file_of_equal_rates_is_read_as_that_promise(path):
    model, written = read(path), contents(path)[1]["certificate"]
    known = model.certificate_
    if "requested_alpha" not in written:
        pytest.skip("written after release 0.1.0")
    asked = [written[f"requested_{name}"] for name in ("alpha", "beta", "max_influence")]
    assert model.promise_ == known.promise == Equal(*asked)
    assert [model.alpha, model.beta, model.max_influence] == asked
    # The file has the spread, which is twice what was reached if nobody is exempt.
    np.testing.assert_equal(known.reached, np.nan if asked[1] else known.spread / 2)
    assert known.who_pays is None
    assert known.met == written["met"]


EXTENDABLE = [path for path in FILES if "later labels" in facts_of(path)]


@pytest.mark.parametrize("path", EXTENDABLE, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file_extends_as_it_did(path):
    model, told = read(path), facts_of(path)
    labels = np.array(told["later labels"], dtype=float)
    if model.mapping_.individuals.indexed:
        labels = pd.DataFrame(labels, index=WHO)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        later = model.extend(labels)
    known = json.loads((path.parent / "facts.json").read_text())[f"{path.stem}-later"]
    # Learned again: another release may round differently, or search better.
    if model.certificate_.decisions == "drawn":
        chances = later.decision_probability(STRANGERS).ravel()
        assert np.abs(chances - known["chances"]).mean() < 0.05
        return
    # Other classifiers may be chosen that are as good: compare errors, and count the mistakes.
    before = read(path.with_name(f"{path.stem}-later.model"))
    wrong = [mistakes(it, model.mapping_.individuals.features, labels) for it in (later, before)]
    assert abs(wrong[0].sum() - wrong[1].sum()) < 0.05 * np.count_nonzero(~np.isnan(labels))
    told_before, balance = told["balance"], model.balance_
    assert balance.tasks == told_before["tasks"] + labels.shape[1]
    assert balance.names == (*told_before["names"], *later.task_names)
    gained = (balance.wrong - told_before["wrong"]).sum(axis=0)
    np.testing.assert_allclose(gained, wrong[0].sum(axis=1), atol=1e-9)


def mistakes(classifiers, X, labels):
    return ~np.isnan(labels) & (classifiers.predict(X) != labels)


def test_the_version_written_now_has_its_files():
    assert f"v{MODEL.version}" in {version.name for version in VERSIONS}
    kinds = set()
    for path in FILES:
        kinds |= {name.split(".")[0] for name in contents(path)[0]}
    every = {"linear", "stumps", "constant", "fitted", "chosen", "people", "mapping", "rule"}
    every |= {"balance"}
    assert every <= kinds
