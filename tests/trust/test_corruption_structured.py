"""Files changed by an attacker who knows scikit-learn: refused, or a model that decides.

Inconsistent contents can make compiled code write outside its arrays. So mutants are judged in
separate processes, twice, with different bytes in fresh memory. A crash counts as a fault, and so
does a decision that depends on uninitialised memory (see ``structured_mutants`` and
``structured_jobs``).
"""

import sys

import numpy as np
import pytest
import skops.io
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline
from sklearn.random_projection import SparseRandomProjection
from sklearn.tree import DecisionTreeClassifier

from averagefair import FeatureMap, InputError, RegressionOracle, WeightedOracle
from averagefair.persistence import load, save
from averagefair.persistence.fitted_contents import each_part
from averagefair.persistence.known_classes import ROWS
from tests.support.model_files import altered, contents
from tests.support.reliability import record
from tests.support.small_fits import STRANGERS, model, people, rounds
from tests.support.structured_jobs import Survey, survey
from tests.support.structured_mutants import (
    ATTACKED,
    MODELS,
    RECORDED,
    classes_in,
    write_models,
    write_runs,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::averagefair.UndefinedRateWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="crashes are told by signals")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("models")
    write_models(found)
    write_runs(found)
    return found


def test_every_known_class_stands_in_a_model(folder):
    """A new row of the table needs a model here, and inherits all tests below."""
    found = set().union(*(classes_in(folder / f"{kind}.model") for kind in MODELS))
    # The reader must accept the type of this class's matrix, so it has a test of its own.
    assert {*ROWS} - found == {"random_projection.SparseRandomProjection"}


@LINUX
def test_structured_mutants_are_refused_or_a_model_or_go_on(folder):
    """A few of each: mutants of models, then of checkpoints, judged by the same two processes."""
    count = len(MODELS) + len(RECORDED)
    tally, wrong = survey("both", folder, 1, count)
    assert wrong == []
    assert sum(tally.values()) == count


@LINUX
@pytest.mark.long
def test_every_structured_mutant_is_refused_or_a_model(folder):
    seed, count = 2, 2_500
    tally, wrong = survey("models", folder, seed, count)
    assert wrong == []
    assert sum(tally.values()) == count
    record(
        "corruption-structured",
        what=f"model files of {len(MODELS)} kinds whose scikit-learn parts disagree: shapes, "
        "sizes, kinds, trees, parameters, workers, attributes too many or missing",
        count=count,
        outcome=_told(tally) + "; 0 crashes, 0 foreign errors, the same decisions whatever "
        "unused memory holds",
    )


@LINUX
@pytest.mark.long
def test_every_structured_mutant_of_a_checkpoint_is_refused_or_goes_on(folder):
    seed, count = 4, 500
    tally, wrong = survey("checkpoints", folder, seed, count)
    assert wrong == []
    assert sum(tally.values()) == count
    record(
        "corruption-checkpoints",
        what="checkpoints whose scikit-learn classifiers disagree, resumed",
        count=count,
        outcome=f"{tally.get('refused', 0):,} refused in words, {tally.get('decides', 0):,} go on; "
        "0 crashes, 0 foreign errors",
    )


def _told(tally):
    words = {
        "refused": "refused when loaded",
        "untrusted": "named as untrusted",
        "complains": "refused in words when used",
        "decides": "decide",
    }
    return ", ".join(f"{tally[kind]:,} {words[kind]}" for kind in words if kind in tally)


@LINUX
@pytest.mark.long
def test_what_was_made_on_purpose_does_nothing(folder):
    found = Survey("attacks", folder, 0, len(ATTACKED))
    said = [outcome for outcome, _ in found.finish().values()]
    assert dict(zip(ATTACKED, said, strict=True)) == {
        name: wanted for name, (_, _, wanted) in ATTACKED.items()
    }


CARELESS = """
import sys
from pathlib import Path
import averagefair.persistence.estimators as estimators
estimators.check_contents = lambda *_: []
estimators.check_tree_sizes = lambda *_: None
from tests.support import structured_jobs
structured_jobs.PATIENCE = 3
structured_jobs.main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
"""


@LINUX
@pytest.mark.long
def test_the_judge_notices_a_reader_that_checks_nothing(folder, tmp_path):
    (tmp_path / "careless.py").write_text(CARELESS)
    found = Survey("attacks", folder, 0, 2, program=tmp_path / "careless.py")
    crash, workers = (outcome for outcome, _ in found.finish().values())
    assert crash.startswith("WRONG")
    assert workers.startswith("WRONG: workers")


# --- what the table does not cover ---------------------------------------------------------------


def changed(path, change):
    """Change the classifiers of a file, and compute its digest again; return the path."""
    data = contents(path)[0]["fitted.classifiers"].tobytes()
    thing = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    change(thing[0]["classifiers"][0])
    meant = np.frombuffer(skops.io.dumps(thing), np.uint8)

    def put(arrays, head):
        arrays["fitted.classifiers"] = meant

    return altered(path.read_bytes(), path.parent, put)


def test_a_class_that_is_accepted_by_name_is_taken_as_it_is(tmp_path):
    path, name = tmp_path / "fair.model", "sklearn.tree._classes.DecisionTreeClassifier"
    save(model(oracle=DecisionTreeClassifier(max_depth=2), solver=rounds(1)).fit(*people()), path)
    other = changed(path, lambda tree: vars(tree).update(remark="ours"))
    with pytest.raises(InputError, match="an attribute that its class does not set, 'remark'"):
        load(other)
    assert load(other, trusted=[name]).predict(STRANGERS).shape == (60, 6)


def test_places_of_a_sparse_matrix_are_checked(tmp_path):
    transformer = make_pipeline(SparseRandomProjection(2, density=0.9, random_state=0))
    oracle = FeatureMap(transformer, RegressionOracle(l2=0.1))
    path = tmp_path / "fair.model"
    save(model(oracle=oracle, solver=rounds(1)).fit(*people()), path)
    kinds = ["scipy.sparse._csr.csr_matrix", "scipy.sparse._csr.csr_array"]
    data = contents(path)[0]["map"].tobytes()
    thing = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    thing.steps[0][1].components_.indices[0] = 10**6
    meant = np.frombuffer(skops.io.dumps(thing), np.uint8)
    load(path, trusted=kinds)
    other = altered(path.read_bytes(), tmp_path, lambda arrays, head: arrays.update(map=meant))
    with pytest.raises(InputError, match="damaged"):
        load(other, trusted=kinds)


@pytest.mark.parametrize("count", [4, np.int64(4), 4.0, "4"])  # joblib takes all of these
def test_no_number_of_workers_is_taken_from_a_file(tmp_path, count):
    path = tmp_path / "fair.model"
    forest = make_pipeline(DecisionTreeClassifier(max_depth=2))
    save(
        model(oracle=WeightedOracle(forest, n_jobs=1), solver=rounds(1)).fit(*people()),
        path,
        extendable=True,
    )
    same = load(path)
    assert same.oracle.n_jobs is None
    assert same.mapping_.oracle.n_jobs is None

    mine = f"{__name__}.Busy"
    oracle = FeatureMap(Busy(n_jobs=3, inside={"n_jobs": count}), RegressionOracle(l2=0.1))
    save(model(oracle=oracle, solver=rounds(1)).fit(*people()), path)
    found = load(path, trusted=[mine]).classifiers_.feature_map.transformer
    assert (found.n_jobs, found.inside, found.factor_) == (None, {"n_jobs": None}, 2.0)
    assert not [part for part in each_part(found) if getattr(part, "n_jobs", None)]


class Busy(TransformerMixin, BaseEstimator):
    """An unknown transformer with workers that raises an error for some people."""

    def __init__(self, n_jobs=None, inside=None, error=None):
        self.n_jobs, self.inside, self.error = n_jobs, inside, error

    def fit(self, X, y=None):
        self.factor_ = 2.0
        return self

    def transform(self, X):
        if self.error and (X > 100).any():
            raise ERRORS[self.error]("it broke")
        return X * self.factor_


ERRORS = {
    one.__name__: one
    for one in (ZeroDivisionError, OverflowError, AssertionError, KeyError, MemoryError)
}


@pytest.mark.parametrize("error", ERRORS)
def test_an_exception_of_a_loaded_part_names_its_file(error, tmp_path):
    path = tmp_path / "fair.model"
    oracle = FeatureMap(Busy(error=error), RegressionOracle(l2=0.1))
    save(model(oracle=oracle, solver=rounds(1)).fit(*people()), path)
    same = load(path, trusted=[f"{__name__}.Busy"])
    same.predict(STRANGERS)
    large = STRANGERS + 1000
    if error == "MemoryError":  # perhaps too many people at once, so the type stays
        with pytest.raises(MemoryError) as caught:
            same.predict(large)
        assert str(path) in caught.value.__notes__[0]
        return
    for ask in (
        lambda: same.predict(large),
        lambda: same.decision_probability(large),
        lambda: same.audit(large, np.arange(360).reshape(60, 6) % 2),
    ):
        with pytest.raises(InputError, match=rf"fair\.model.*Busy.*{error}.*broke.*Get the file"):
            ask()
    if error != "KeyError":  # without a file, the error is raised unchanged
        with pytest.raises(ERRORS[error]):
            model(oracle=oracle, solver=rounds(1)).fit(*people()).predict(large)


def test_an_oracle_from_a_file_that_fails_in_extend_names_it(tmp_path):
    path = tmp_path / "fair.model"
    tree = DecisionTreeClassifier(max_depth=2)
    save(model(oracle=tree, solver=rounds(1)).fit(*people()), path, extendable=True)
    same = load(path)
    same.mapping_.oracle.estimator.set_params(max_depth="deep")  # as a file might have it
    with pytest.raises(InputError, match=r"fair\.model.*DecisionTreeClassifier.*max_depth"):
        same.extend(people(seed=5)[1])
