"""Feature maps: a model with a map equals a model of features mapped by hand, in every use."""

import pickle
import stat
import zipfile

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save as packed
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.feature_selection import SelectKBest
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    PolynomialFeatures,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    ExponentiatedGradient,
    FeatureMap,
    InputError,
    LogisticOracle,
    Polished,
    Portfolio,
    RegressionOracle,
    Sample,
    StumpOracle,
    WeightedOracle,
    frontier,
    generalisation,
    held_out,
    load,
    save,
)
from averagefair.persistence.container import digest
from averagefair.showing.report import frontier_report
from tests.support.cli_runs import (
    fixture_map_forks,  # noqa: F401
    read,
    write,
)
from tests.support.model_files import contents

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::averagefair.UndefinedRateWarning"),
]

N, M, D, LATER = 90, 10, 3, 3
QUICK, LINEAR = ColumnGeneration(max_rounds=4, mapping_rounds=2), RegressionOracle()


def curved(n, seed, blanks=0.0):
    """Draw people, and labels that are not linearly separable."""
    rng, tasks = np.random.default_rng(seed), np.random.default_rng(7)
    X = rng.normal(size=(n, D))
    scores = (np.abs(X) - 0.7) @ tasks.normal(size=(D, M + LATER))
    Y = (scores + 0.3 * rng.normal(size=scores.shape) > 0).astype(float)
    Y[rng.random(Y.shape) < blanks] = np.nan
    return X, Y[:, :M], Y[:, M:]


X, Y, Y_LATER = curved(N, 0, blanks=0.1)
X_NEW, Y_NEW, Y_BOTH = curved(40, 1)
X_NEW = np.clip(X_NEW, X.min(axis=0), X.max(axis=0))

MAPS = {
    "splines": SplineTransformer(),
    "scaled splines": make_pipeline(SplineTransformer(n_knots=4), StandardScaler()),
    "polynomials": PolynomialFeatures(2, include_bias=False),
    "kernel": make_pipeline(StandardScaler(), Nystroem(n_components=20, random_state=0)),
    "random": RBFSampler(n_components=15, random_state=0),
    "components": PCA(2, random_state=0),
    "quantiles": QuantileTransformer(n_quantiles=20, random_state=0),
    "bins, sparse": KBinsDiscretizer(4, random_state=0, quantile_method="averaged_inverted_cdf"),
    "columns": make_column_transformer(
        (SplineTransformer(), [0, 2]), remainder="passthrough", sparse_threshold=0
    ),
    "both": make_union(StandardScaler(), Nystroem(n_components=5, random_state=0)),
    "a function": FunctionTransformer(np.abs),
}


def fair(oracle=LINEAR, **params):
    settings = {"alpha": 0.1, "solver": QUICK, "decisions": "drawn", "random_state": 0}
    settings["oracle"] = oracle
    return AverageFairClassifier(**(settings | params))


def through(transformer):
    return FeatureMap(transformer, LINEAR)


def by_hand(transformer, rows=slice(None), **fit):
    """Return a function that maps people, fitted without this library."""
    fitted = clone(transformer).fit(X[rows], **fit)

    def apply(people):
        out = fitted.transform(people)
        return out.toarray() if hasattr(out, "toarray") else out

    return apply


def assert_same_model(one, other, apply):
    """Compare all figures and decisions of a model with a map and a model of mapped features."""
    assert one.error_ == pytest.approx(other.error_, abs=1e-12)
    np.testing.assert_allclose(one.individual_rates_, other.individual_rates_, atol=1e-12)
    assert one.certificate_.spread == pytest.approx(other.certificate_.spread, abs=1e-12)
    for people in (X, X_NEW):
        ids = np.arange(len(people))
        np.testing.assert_allclose(
            one.decision_probability(people),
            other.decision_probability(apply(people)),
            atol=1e-12,
        )
        assert (one.predict(people, ids) == other.predict(apply(people), ids)).all()


@pytest.mark.parametrize("name", MAPS)
def test_a_map_is_the_same_as_features_mapped_by_hand(name):
    apply = by_hand(MAPS[name])
    one, other = fair(through(MAPS[name])).fit(X, Y), fair().fit(apply(X), Y)
    assert_same_model(one, other, apply)
    assert one.score(X_NEW, Y_NEW) == pytest.approx(other.score(apply(X_NEW), Y_NEW), abs=1e-12)
    later, same = one.extend(Y_LATER), other.extend(Y_LATER)
    np.testing.assert_allclose(
        later.decision_probability(X_NEW), same.decision_probability(apply(X_NEW)), atol=1e-12
    )
    labels = {"Y_new_people": Y_NEW, "Y_new_tasks": Y_LATER, "Y_new_both": Y_BOTH}
    here = held_out(one, X_new=X_NEW, **labels)
    there = held_out(other, X_new=apply(X_NEW), **labels)
    for corner in ("people", "tasks", "both"):
        found, wanted = getattr(here, corner), getattr(there, corner)
        assert found.error == pytest.approx(wanted.error, abs=1e-12)
        np.testing.assert_allclose(found.rates, wanted.rates, atol=1e-12)


def test_the_judge_sees_another_map():
    one = fair(through(SplineTransformer())).fit(X, Y)
    other = by_hand(PolynomialFeatures(2))
    with pytest.raises(AssertionError):
        assert_same_model(one, fair().fit(other(X), Y), other)


def test_curves_are_learned_that_lines_cannot_follow():
    lines = fair(alpha=0.5).fit(X, Y)
    curves = fair(through(SplineTransformer()), alpha=0.5).fit(X, Y)
    assert lines.score(X_NEW, Y_NEW) < 0.75 < 0.8 < curves.score(X_NEW, Y_NEW)


@pytest.mark.parametrize(
    "oracle",
    [
        RegressionOracle(l2=1.0),
        LogisticOracle(),
        Polished(Portfolio([RegressionOracle(), LogisticOracle()])),
        StumpOracle(),
        DecisionTreeClassifier(max_depth=2),
    ],
    ids=["ridge", "logistic", "portfolio", "stump", "tree"],
)
def test_a_pipeline_and_any_oracle_behind_it(oracle):
    scaled = make_pipeline(SplineTransformer(), StandardScaler())
    apply = by_hand(scaled)
    labels, few = np.nan_to_num(Y)[:, :4], {"solver": ColumnGeneration(max_rounds=2)}
    wanted = fair(oracle, **few).fit(apply(X), labels)
    spellings = [FeatureMap(scaled, oracle), FeatureMap(scaled[0], FeatureMap(scaled[1], oracle))]
    if not isinstance(oracle, DecisionTreeClassifier):  # those pipelines are classifiers
        spellings += [
            make_pipeline(*scaled, oracle),
            make_pipeline(scaled, oracle),
            make_pipeline(scaled[0], make_pipeline(scaled[1], oracle)),
        ]
    for spelling in spellings:
        assert_same_model(fair(spelling, **few).fit(X, labels), wanted, apply)


def test_the_default_oracle_is_behind_a_map_that_names_none():
    apply, few = by_hand(SplineTransformer()), {"solver": ColumnGeneration(max_rounds=2)}
    labels = np.nan_to_num(Y)[:, :4]
    one = fair(FeatureMap(SplineTransformer()), **few).fit(X, labels)
    assert_same_model(one, fair(None, **few).fit(apply(X), labels), apply)


def test_the_solvers_default_oracle_is_behind_a_map_that_names_none():
    few = {"solver": ExponentiatedGradient.published(3)}
    one = fair(FeatureMap(SplineTransformer()), **few).fit(X, Y)
    assert one.mapping_.oracle == RegressionOracle()


def test_a_pipeline_that_ends_in_a_classifier_is_a_classifier():
    whole = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2))
    one = fair(whole, solver=ColumnGeneration(max_rounds=1)).fit(X, np.nan_to_num(Y)[:, :3])
    assert one.classifiers_.feature_map is None
    assert isinstance(one.mapping_.oracle, WeightedOracle)


def test_an_oracle_alone_in_a_pipeline_has_no_map():
    one = fair(make_pipeline(RegressionOracle())).fit(X, Y)
    assert one.classifiers_.feature_map is None
    assert_same_model(one, fair(RegressionOracle()).fit(X, Y), lambda people: people)


@pytest.mark.parametrize("rate", ["false_positive", ["false_positive", "false_negative"]], ids=str)
def test_other_rates(rate):
    apply = by_hand(SplineTransformer())
    one = fair(through(SplineTransformer()), rate=rate).fit(X, Y)
    assert_same_model(one, fair(rate=rate).fit(apply(X), Y), apply)


def test_the_frontier_and_its_report():
    apply, alphas = by_hand(SplineTransformer()), [0.1, 0.2]
    settings = {"solver": QUICK, "decisions": "drawn", "random_state": 0}
    one = frontier(X, Y, alphas, oracle=through(SplineTransformer()), **settings)
    other = frontier(apply(X), Y, alphas, oracle=RegressionOracle(), **settings)
    labels = {"Y_new_people": Y_NEW, "Y_new_tasks": Y_LATER, "Y_new_both": Y_BOTH}
    found = generalisation(one, X_new=X_NEW, **labels)
    wanted = generalisation(other, X_new=apply(X_NEW), **labels)
    for name, corner in wanted.corners.items():
        np.testing.assert_allclose(found.corners[name].error, corner.error, atol=1e-12)
        np.testing.assert_allclose(found.corners[name].spread, corner.spread, atol=1e-12)
    assert held_out(one, X_new=X_NEW, Y_new_people=Y_NEW)[0].people.error == pytest.approx(
        held_out(other, X_new=apply(X_NEW), Y_new_people=Y_NEW)[0].people.error, abs=1e-12
    )
    assert "<html" in frontier_report(one, Y, measured=found)


def test_people_are_known_by_their_own_features_not_by_mapped_ones():
    # Both have the same mapped features, but they are two people with their own draws.
    mirrored = fair(through(FunctionTransformer(np.abs)), alpha=0.02).fit(X, Y)
    twins = np.repeat(np.abs(X_NEW), 2, axis=0)
    twins[1::2] *= -1
    chances = mirrored.decision_probability(twins)
    assert (chances[::2] == chances[1::2]).all()
    assert (mirrored.predict(twins)[::2] != mirrored.predict(twins)[1::2]).any()


def test_tables_keep_the_checks_of_their_columns():
    names = ["age", "income", "debt"]
    one = fair(through(SplineTransformer())).fit(pd.DataFrame(X, columns=names), Y)
    assert one.classifiers_.feature_names == tuple(names)
    assert (one.feature_names_in_ == names).all()
    assert one.predict(pd.DataFrame(X_NEW, columns=names)).shape == (len(X_NEW), M)
    with pytest.raises(ValueError, match=r"[Ff]eature names"):
        one.predict(pd.DataFrame(X, columns=names[::-1]))
    with pytest.raises(ValueError, match="2 features"):
        fair(through(SplineTransformer())).fit(X, Y).predict(X[:, :2])
    assert one.training_individuals().features.shape == (N, 7 * D)


def test_memory_mapped_people_and_single_precision(tmp_path):
    apply = by_hand(SplineTransformer())
    file = np.memmap(tmp_path / "X", dtype=np.float64, mode="w+", shape=X.shape)
    file[:] = X
    one = fair(through(SplineTransformer())).fit(file, Y)
    assert_same_model(one, fair().fit(apply(X), Y), apply)
    assert isinstance(one.training_individuals().features.base, np.memmap)
    single = fair(through(SplineTransformer()), dtype="float32").fit(X, Y)
    assert single.training_individuals().features.dtype == np.float32
    assert single.error_ == pytest.approx(one.error_, abs=0.02)


def test_blocks_make_no_difference(monkeypatch):
    whole = fair(through(SplineTransformer())).fit(X, Y)
    wanted = whole.decision_probability(X_NEW), whole.predict(X_NEW)
    for module in ("people.storage", "game.mixture"):
        monkeypatch.setattr(
            f"averagefair.{module}.row_blocks",
            lambda n, width, *_: (slice(at, min(at + 7, n)) for at in range(0, n, 7)),
        )
    cut = fair(through(SplineTransformer())).fit(X, Y)
    np.testing.assert_allclose(cut.decision_probability(X_NEW), wanted[0], atol=1e-12)
    assert (cut.predict(X_NEW) == wanted[1]).all()
    assert (whole.predict(X_NEW) == wanted[1]).all()


# Weights


WEIGHTS = np.random.default_rng(2).integers(0, 3, N)


@pytest.mark.parametrize("name", ["splines", "kernel", "quantiles"])
def test_whole_weights_are_that_many_rows_and_zero_is_none(name):
    rows = np.repeat(np.arange(N), WEIGHTS)
    weighted = fair(through(MAPS[name])).fit(X, Y, sample_weight=WEIGHTS)
    repeated = fair(through(MAPS[name])).fit(X[rows], Y[rows])
    found, wanted = (one.classifiers_.feature_map(X_NEW) for one in (weighted, repeated))
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(found, by_hand(MAPS[name], rows)(X_NEW))


def test_nobody_of_weight_zero_is_looked_at():
    weights, strange = np.ones(N), X.copy()
    weights[3], strange[3] = 0.0, 1e6
    kept = np.delete(np.arange(N), 3)
    for given, scale in ((weights, 1.0), (weights * 0.5, 0.5)):
        one = fair(through(StandardScaler())).fit(strange, Y, sample_weight=given)
        wanted = by_hand(StandardScaler(), kept, sample_weight=np.full(N - 1, scale))
        np.testing.assert_allclose(one.classifiers_.feature_map(X_NEW), wanted(X_NEW))


def test_other_weights_reach_the_transformers_that_take_them():
    weights = np.random.default_rng(3).uniform(0.1, 2.0, N)
    wanted = by_hand(StandardScaler(), sample_weight=weights)(X_NEW)
    for transformer in (StandardScaler(), make_pipeline(StandardScaler())):
        one = fair(through(transformer)).fit(X, Y, sample_weight=weights)
        np.testing.assert_array_equal(one.classifiers_.feature_map(X_NEW), wanted)
    deaf = fair(through(PCA(2))).fit(X, Y, sample_weight=weights)
    np.testing.assert_array_equal(
        deaf.classifiers_.feature_map(X_NEW), by_hand(PCA(2, random_state=0))(X_NEW)
    )


def test_many_people_in_a_file_are_fitted_on_evenly(tmp_path):
    n = 250_000
    file = np.memmap(tmp_path / "X", dtype=np.float64, mode="w+", shape=(n, 1))
    file[:, 0] = np.arange(n)
    labels = (np.arange(2 * n).reshape(n, 2) % 3 == 0).astype(int)
    counted = Counting()
    solver = ColumnGeneration(max_rounds=1, reweightings=0)
    one = fair(through(counted), alpha=0.5, solver=solver).fit(file, labels)
    seen = one.classifiers_.feature_map.transformer.seen_
    assert len(seen) == 100_000
    assert seen.min() < 5
    assert seen.max() > n - 5
    assert 2 <= np.diff(seen).min() <= np.diff(seen).max() <= 3


class Counting(TransformerMixin, BaseEstimator):
    """A transformer that leaves features as they are, and records its input."""

    def fit(self, X, y=None):
        self.seen_ = X[:, 0].copy()
        return self

    def transform(self, X):
        return X


# Parameters, copies, searches


def test_clones_copies_and_searches():
    oracle = make_pipeline(SplineTransformer(), StandardScaler(), RegressionOracle())
    for spelling in (oracle, FeatureMap(oracle[:-1], RegressionOracle())):
        one = fair(spelling)
        assert repr(clone(one)) == repr(one)
        fitted = clone(one).fit(X, Y)
        copy = pickle.loads(pickle.dumps(fitted))
        assert (copy.predict(X_NEW) == fitted.predict(X_NEW)).all()
        test = held_out(copy, X_new=X_NEW, Y_new_people=Y_NEW, Y_new_tasks=Y_LATER)
        assert test.people.error == pytest.approx(1.0 - copy.score(X_NEW, Y_NEW))
    grid = {"alpha": [0.3, 0.5], "oracle__splinetransformer__n_knots": [3, 4]}
    search = GridSearchCV(fair(oracle), grid, cv=KFold(2), n_jobs=1).fit(X, Y)
    assert search.best_params_["oracle__splinetransformer__n_knots"] in (3, 4)
    assert not hasattr(oracle[0], "bsplines_")  # the given object is unchanged


def test_fit_twice_is_fit_once_without_a_seed():
    one = fair(through(Nystroem(n_components=10)))
    first = one.fit(X, Y).decision_probability(X_NEW)
    assert (one.fit(X, Y).decision_probability(X_NEW) == first).all()


# Files


@pytest.mark.parametrize("name", MAPS)
def test_a_model_comes_back_the_same_to_the_last_bit(name, tmp_path):
    path = tmp_path / "fair.model"
    one = fair(FeatureMap(MAPS[name], RegressionOracle(l2=1e-3))).fit(X, Y)
    save(one, path, extendable=True)
    same = load(path)
    for ask in (
        lambda it: it.decision_probability(X_NEW),
        lambda it: it.predict(X_NEW),
        lambda it: it.extend(Y_LATER).predict(X_NEW),
        lambda it: it.score(X_NEW, Y_NEW),
        lambda it: held_out(it, Y_new_tasks=Y_LATER).tasks.rates,
    ):
        np.testing.assert_array_equal(ask(same), ask(one))
    save(one.extend(Y_LATER), path)
    assert (load(path).predict(X_NEW) == one.extend(Y_LATER).predict(X_NEW)).all()
    assert same.oracle.oracle == RegressionOracle(l2=1e-3)
    again = same.fit(X, Y)  # its parameters have come back too
    np.testing.assert_array_equal(again.predict(X_NEW), one.predict(X_NEW))


def test_files_with_a_map_are_their_owners(tmp_path):
    path = tmp_path / "fair.model"
    save(fair(through(SplineTransformer())).fit(X, Y), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    save(fair().fit(X, Y), tmp_path / "plain.model")
    arrays, manifest = contents(tmp_path / "plain.model")
    assert "map" not in arrays
    assert "map" not in manifest


class Doubling(TransformerMixin, BaseEstimator):
    """A transformer that no reader knows."""

    def fit(self, X, y=None):
        self.factor_ = 2.0
        return self

    def transform(self, X):
        return X * self.factor_


def test_types_that_nobody_has_accepted_are_refused_by_name(tmp_path, map_forks):
    forks = map_forks
    path, mine = tmp_path / "fair.model", f"{__name__}.Doubling"
    one = fair(through(Doubling())).fit(X, Y)
    save(one, path)
    with pytest.raises(InputError, match=rf"fair\.model.*{mine}.*trusted=.*--trust") as caught:
        load(path)
    assert "damaged" not in str(caught.value)
    assert (load(path, trusted=[mine]).predict(X_NEW) == one.predict(X_NEW)).all()
    with pytest.raises(InputError, match="must be a list"):
        load(path, trusted=mine)
    write(tmp_path / "new.csv", ["a", "b", "c"], X_NEW.tolist())
    args = ("predict", "fair.model", "new.csv", "-o", "out.csv")
    assert mine in forks.run(tmp_path, *args, code=2).err.replace("\n", "").replace(" ", "")
    forks.run(tmp_path, *args, "--trust", "another.type", code=2)
    trees = fair(through(RandomTreesEmbedding(3))).fit(X, Y)
    save(trees, path)
    assert (load(path).predict(X_NEW) == trees.predict(X_NEW)).all()


def test_what_cannot_be_stored_is_told_while_saving(tmp_path):
    one = fair(through(FunctionTransformer(lambda people: people**2))).fit(X, Y)
    with pytest.raises(InputError, match=r"FunctionTransformer.* cannot be stored.*by name"):
        save(one, tmp_path / "fair.model")
    assert not (tmp_path / "fair.model").exists()


def damaged(path, change):
    """Change the arrays and manifest of a file, and write it with a valid digest."""
    import json

    arrays, manifest = contents(path)
    arrays.pop("digest")
    change(arrays, manifest)
    text = json.dumps(manifest)
    path.write_bytes(packed({**arrays, "digest": digest(arrays, text)}, {"manifest": text}))


def bomb(arrays, manifest):
    import io

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b" " * 10_000_000)
    arrays["map"] = np.frombuffer(file.getvalue(), dtype=np.uint8)


DAMAGE = {
    "cut": lambda arrays, manifest: arrays.update(map=arrays["map"][:500]),
    "noise": lambda arrays, manifest: arrays.update(map=arrays["map"][::-1].copy()),
    "empty": lambda arrays, manifest: arrays.update(map=arrays["map"][:0]),
    "numbers": lambda arrays, manifest: arrays.update(map=np.zeros(9)),
    "gone": lambda arrays, manifest: arrays.pop("map"),
    "no words": lambda arrays, manifest: manifest.update(map="splines"),
    "no width": lambda arrays, manifest: manifest.update(map={"features": 0}),
    "other width": lambda arrays, manifest: manifest["map"].update(features=5),
    "bomb": bomb,
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_maps_are_refused(kind, tmp_path):
    path = tmp_path / "fair.model"
    save(fair(through(SplineTransformer())).fit(X, Y), path)
    damaged(path, DAMAGE[kind])
    with pytest.raises(InputError, match="damaged"):
        load(path)


def test_splines_whose_knots_do_not_fit_are_refused(tmp_path):
    path, one = tmp_path / "fair.model", fair(through(SplineTransformer())).fit(X, Y)
    vars(one.classifiers_.feature_map.transformer.bsplines_[0])["k"] = 50
    with pytest.raises(InputError, match="cannot be stored"):
        save(one, path)


# The command line


def test_the_command_line(tmp_path, map_forks):
    forks = map_forks
    names, tasks = ["a", "b", "c"], [f"task_{j}" for j in range(M)]
    later = [f"later_{j}" for j in range(LATER)]
    whole = np.nan_to_num(Y), np.nan_to_num(Y_LATER)
    write(tmp_path / "people.csv", [*names, *tasks], np.hstack([X, whole[0]]).tolist())
    write(tmp_path / "new.csv", names, X_NEW.tolist())
    write(tmp_path / "later.csv", later, whole[1].tolist())
    settings = ("--extendable", "--alpha", "0.2", "--max-rounds", "1", "-q")
    fit = ("fit", "people.csv", "-t", "task_*", "--oracle", "regression", *settings)
    by_name = {
        "splines": SplineTransformer(),
        "polynomials": make_pipeline(StandardScaler(), PolynomialFeatures(include_bias=False)),
        "kernel": make_pipeline(StandardScaler(), Nystroem(n_components=N, random_state=0)),
    }
    for name, transformer in by_name.items():
        forks.run(tmp_path, *fit, "--map", name, "-o", "fair.model", code=4)
        forks.run(tmp_path, "predict", "fair.model", "new.csv", "-o", "out.csv")
        apply = by_hand(transformer)
        model = fair(alpha=0.2, solver=ColumnGeneration(max_rounds=1), decisions="fixed")
        frame = pd.DataFrame(whole[0], columns=tasks)
        wanted = model.fit(apply(X), frame).decision_probability(apply(X_NEW))
        loaded = load(tmp_path / "fair.model")
        table = pd.DataFrame(X_NEW, columns=names)
        np.testing.assert_allclose(loaded.decision_probability(table), wanted, atol=1e-12)
        out = read((tmp_path / "out.csv").read_text())
        written = np.array([[int(one) for one in out[task]] for task in tasks]).T
        assert (written == loaded.predict(table)).all()
    forks.run(tmp_path, "extend", "fair.model", "later.csv", "-o", "later.model")
    forks.run(tmp_path, "predict", "later.model", "new.csv", "-o", "later_out.csv")
    assert set(read((tmp_path / "later_out.csv").read_text())) == set(later)
    curve = (
        "frontier",
        "people.csv",
        "-t",
        "task_*",
        "--map",
        "splines",
        "-q",
        "--oracle",
        "regression",
    )
    # With ten tasks, fixed decisions have rates in steps of 0.1: not every alpha can be kept.
    forks.run(tmp_path, *curve, "--alphas", "0.3", "-o", "r.html")
    forks.run(tmp_path, *fit, "--map", "stars", "-o", "no.model", code=2)


def undefined_at_minus_one(people):
    return np.where(people == -1.0, np.nan, people)


# What is refused


class Odd(TransformerMixin, BaseEstimator):
    """A transformer that returns a given output."""

    def __init__(self, make=None):
        self.make = make

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return self.make(X)


@pytest.mark.parametrize(
    ("transformer", "words"),
    [
        (SelectKBest(k=1), ["SelectKBest, could not be fitted", "requires y", "need no labels"]),
        (make_pipeline(StandardScaler(), SelectKBest(k=1)), ["Pipeline, could", "need no labels"]),
        (make_column_transformer((StandardScaler(), ["a"])), ["columns by position, not by name"]),
        (PCA(50), ["PCA, could not be fitted", "n_components=50"]),
        (FunctionTransformer(undefined_at_minus_one), ["for row 60 of X it made nan", "column 1"]),
        (Odd(lambda people: people[:, :0]), ["left no features"]),
        (Odd(lambda people: people[:1]), ["numbers for each of", "(1, 3)"]),
        (Odd(lambda people: people - people.mean(axis=0)), ["by their own features", "one by one"]),
        (Odd(lambda people: people.astype(str) + "x"), ["must make numbers"]),
        (Odd(lambda people: people * 1e200), ["made inf", "float32"]),
    ],
)
def test_maps_that_cannot_be(transformer, words):
    people = X.copy()
    people[60, 1] = -1.0
    with pytest.raises(InputError) as caught:
        fair(through(transformer), dtype="float32").fit(people, Y)
    for part in words:
        assert part in str(caught.value)


def test_new_people_whom_a_map_cannot_take():
    narrow = fair(through(SplineTransformer(extrapolation="error"))).fit(X, Y)
    with pytest.raises(InputError, match="SplineTransformer, could not map rows 0 to 1 of X"):
        narrow.predict(np.full((2, D), 1e3))


@pytest.mark.parametrize("thing", [StandardScaler, "splines", None, LogisticRegression(), np.abs])
def test_what_is_no_transformer(thing):
    with pytest.raises(InputError, match=r"must be a scikit-learn transformer.*got"):
        FeatureMap(thing)


def test_pipelines_without_an_oracle():
    with pytest.raises(InputError, match="an oracle must be"):
        fair(make_pipeline(StandardScaler(), SplineTransformer())).fit(X, Y)
    with pytest.raises(InputError, match="must be a scikit-learn transformer"):
        fair(make_pipeline(LogisticRegression(), RegressionOracle())).fit(X, Y)


def test_other_array_libraries_are_refused_with_the_remedy():
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    elsewhere, labels = strict.asarray(X), strict.asarray(np.nan_to_num(Y))
    one = FeatureMap(SplineTransformer())
    with pytest.raises(InputError, match=r"needs NumPy arrays.* X is array_api_strict.*transform"):
        fair(one).fit(elsewhere, labels)
    with pytest.raises(InputError, match=r"needs NumPy arrays, .* X is array_api_strict"):
        fair(one).fit(X, Y).predict(elsewhere)


def test_a_sample_is_mapped_once():
    one = fair(through(SplineTransformer())).fit(X, Y).classifiers_
    mapped = one.map_sample(Sample(X, Y))
    assert one.map_sample(mapped) is mapped
    with pytest.raises(InputError, match="was applied to this sample before"):
        mapped.map_features(one.feature_map)
