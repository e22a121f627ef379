"""Model files whose scikit-learn parts were changed by an attacker who knows scikit-learn.

Every class that a file may hold is in one of the ``MODELS``. ``FORGED`` changes the manifest and
the arrays of a model with fixed decisions and a balance. Every other mutant is such a file with one
change: an attribute that is inconsistent, extra or missing, a false size, another type of array,
the tree of another model, a number of workers. The digest is computed again, so that only the
contents show the change.
"""

import io
import json
import zipfile
from functools import cache

import numpy as np
import sklearn.calibration
import skops.io
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomTreesEmbedding,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectFromModel, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, PolynomialCountSketch, RBFSampler
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.tree._tree import Tree

from averagefair import (
    Checkpoint,
    FeatureMap,
    Mixture,
    Portfolio,
    RegressionOracle,
    Sample,
    StumpOracle,
    WeightedOracle,
)
from averagefair.game.per_task_choice import choose_per_task
from averagefair.persistence import save
from averagefair.persistence.fitted_contents import each_part, short_name, type_name
from tests.support.model_files import contents, encoded
from tests.support.mutants import rewritten
from tests.support.small_fits import model, people, rounds

TREE = DecisionTreeClassifier(max_depth=2)
SEVERAL = [("a", LogisticRegression()), ("b", GaussianNB())]
BINS = KBinsDiscretizer(3, encode="ordinal", quantile_method="averaged_inverted_cdf")
HOT = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
RARE = OneHotEncoder(handle_unknown="infrequent_if_exist", drop="first", max_categories=3)
FIRST = "fitted.classifiers"
CLASSIFIERS = {
    "tree": TREE,
    "random tree": ExtraTreeClassifier(max_depth=2),
    "forest": RandomForestClassifier(2, max_depth=2, oob_score=False),
    "random trees": ExtraTreesClassifier(2, max_depth=2),
    "boosting": GradientBoostingClassifier(n_estimators=2, max_depth=2),
    "boosting from 0": GradientBoostingClassifier(
        loss="exponential", n_estimators=2, max_depth=2, init="zero", subsample=0.8
    ),
    "histograms": HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2),
    "categories": HistGradientBoostingClassifier(
        max_iter=2, min_samples_leaf=1, max_depth=2, categorical_features=[0]
    ),
    "bags": BaggingClassifier(TREE, n_estimators=2, max_features=2),
    "bags of lines": BaggingClassifier(LinearDiscriminantAnalysis(), n_estimators=2),
    "bags of curves": BaggingClassifier(
        QuadraticDiscriminantAnalysis(reg_param=0.5), n_estimators=2
    ),
    "ada": AdaBoostClassifier(TREE, n_estimators=2),
    "logistic": LogisticRegression(),
    "logistic, searched": LogisticRegressionCV(Cs=2, cv=2, l1_ratios=(0.0,), scoring="accuracy"),
    "ridge": RidgeClassifier(),
    "ridge, searched": RidgeClassifierCV(),
    "steps": SGDClassifier(max_iter=20, average=True),
    "perceptron": Perceptron(max_iter=20),
    "margin": LinearSVC(),
    "bayes": GaussianNB(),
    "bayes, yes or no": BernoulliNB(),
    "bayes, counts": make_pipeline(MinMaxScaler(clip=True), MultinomialNB()),
    "bayes, complement": make_pipeline(MinMaxScaler(clip=True), ComplementNB()),
    "bayes, categories": make_pipeline(BINS, CategoricalNB(min_categories=3)),
    "network": MLPClassifier((3,), max_iter=3),
    "network, steps": MLPClassifier((3, 2), max_iter=3, solver="sgd"),
    "guess": DummyClassifier(),
    "calibrated": CalibratedClassifierCV(GaussianNB(), cv=2),
    "calibrated by steps": CalibratedClassifierCV(GaussianNB(), cv=2, method="isotonic"),
    "votes": VotingClassifier(SEVERAL),
    "stack": StackingClassifier(SEVERAL, cv=2),
    "picked": make_pipeline(SelectFromModel(LogisticRegression(), threshold=-1.0), TREE),
}
MAPS = {
    "scaled": make_pipeline(StandardScaler(), RobustScaler(), MaxAbsScaler()),
    "norms": make_union(Normalizer(), Binarizer(), VarianceThreshold()),
    "quantiles": QuantileTransformer(n_quantiles=5),
    "powers": PowerTransformer(),
    "filled in": SimpleImputer(add_indicator=True),
    "one hot": make_column_transformer((HOT, [0]), remainder="passthrough"),
    "one hot, rare": make_column_transformer(
        (RARE, [0]), remainder=OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    ),
    "bins": KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"),
    "a function": FunctionTransformer(np.abs),
    "polynomials": PolynomialFeatures(2),
    "splines": SplineTransformer(n_knots=3),
    "kernel": Nystroem(n_components=4, random_state=0),
    "waves": RBFSampler(n_components=4, random_state=0),
    "sketch": PolynomialCountSketch(n_components=4, random_state=0),
    "components": make_union(PCA(2), TruncatedSVD(2)),
    "projected": GaussianRandomProjection(2, random_state=0),
    "clusters": make_union(KMeans(2, n_init=1), MiniBatchKMeans(2, n_init=1)),
    "leaves": RandomTreesEmbedding(2, max_depth=2, random_state=0),
}
if hasattr(sklearn.calibration, "_TemperatureScaling"):
    CLASSIFIERS["calibrated by temperature"] = CalibratedClassifierCV(
        GaussianNB(), cv=2, method="temperature"
    )
MODELS = [*CLASSIFIERS, *MAPS, "fixed"]
EXTENDED = (
    "fixed",
    "tree",
    "boosting",
    "categories",
    "bayes, categories",
    "network",
    "votes",
    "picked",
)


def sample(d=3, n=24, seed=0):
    """Draw people; one of their features is a category."""
    X, Y = people(seed=seed, n=n, m=2)
    more = np.random.default_rng(seed).normal(size=(n, max(0, d - 3)))
    X = np.hstack([X, more])[:, :d]
    X[:, 0] = np.abs(np.round(2 * X[:, 0]))
    return X, Y


def learned(kind, d=3):
    """Return a model with the classifier or the map of that name."""
    if kind == "fixed":
        return chosen(d)
    linear = RegressionOracle(l2=0.1)
    oracle = FeatureMap(MAPS[kind], linear) if kind in MAPS else CLASSIFIERS[kind]
    return model(oracle=oracle, solver=rounds(1)).fit(*sample(d))


def chosen(d=3):
    """Return a model with fixed decisions of several kinds, and a balance of later tasks too."""
    X, Y = sample(d)
    oracles = Portfolio([StumpOracle(), WeightedOracle(TREE)])
    one = model(oracle=oracles, solver=rounds(2), decisions="fixed").fit(X, Y)
    stumps, trees = (
        model(oracle=oracle, solver=rounds(1)).fit(X, Y).classifiers_.hypotheses[0]
        for oracle in (StumpOracle(), TREE)
    )
    either = choose_per_task([stumps, trees], [0, 1])
    one.classifiers_ = Mixture.fixed(either, Sample(X, Y), one.seed_)
    one.extend(people(seed=5, n=len(X), m=2)[1], task_names=["later 0", "later 1"])
    return one


def write_models(folder):
    """Write a file of every kind, and donor files of five features to take parts from."""
    for kind in MODELS:
        save(learned(kind), folder / f"{kind}.model", extendable=kind in EXTENDED)
    save(encoded(m=2), folder / "encoded.model")
    for kind in ("tree", "forest", "boosting", "histograms", "logistic", "network", "bags"):
        save(learned(kind, d=5), folder / f"{kind}.donor")
    for kind in ("splines", "kernel", "clusters", "one hot"):
        save(learned(kind, d=5), folder / f"{kind}.donor")


def thing_in(path):
    """Return the scikit-learn objects of a file, unchecked, and the name of their array."""
    arrays, _ = contents(path)
    part = "map" if "map" in arrays else FIRST
    data = arrays[part].tobytes()
    return skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data)), part


def classes_in(path):
    """Return which known classes a file holds, by package and name."""
    parts = each_part(thing_in(path)[0])
    return {short_name(type_name(type(part))) for part in parts} - {""}


# --- what to change ------------------------------------------------------------------------------


def fitted_parts(thing):
    """List the objects that have attributes, always in the same order."""
    out, left, seen = [], [thing], set()
    while left:
        part = left.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if short_name(type_name(type(part))) and getattr(part, "__dict__", None):
            out.append(part)
        if isinstance(part, dict):
            left += part.values()
        elif isinstance(part, list | tuple):
            left += part
        elif isinstance(part, np.ndarray) and part.dtype == object:
            left += part.ravel().tolist()
        elif hasattr(part, "__dict__") and not isinstance(part, type):
            left += vars(part).values()
    return out


SIZES = [-1, 0, 1, 2, 3, 7, 1000, 10**6, 10**9, 2**31, 2**40, 2**63 - 1, 10**30]
ODD = [
    *(None, True, -1, 0, 0.5, 10**9, 1e300, float("nan"), "", "x", "precomputed", "passthrough"),
    *([], [1], ("a", 1), {}, {"n_jobs": 64}, {"where": False}, np.zeros(0), np.ones((2, 2))),
    *(np.array(["x", None], dtype=object), np.abs, np.add, slice(0, 10**9), 2**70, b"x"),
]
EXTRA = {
    "estimators_features_": 1,
    "_in_fit": True,
    "_n_threads": 10**6,
    "n_jobs": 64,
    "_preprocessor": FunctionTransformer(np.abs),
    "predict": np.abs,
    "transform": np.abs,
    "_validate_params": np.abs,
    "n_features_in_": 2**40,
    "classes_": np.arange(9),
    "n_outputs_": 4,
    "tree_": None,
    "sparse_output_": True,
    "__array__": np.abs,
    "_sklearn_output_config": {"transform": "pandas"},
    "unheard_of": [1, 2],
}


def _pick(rng, options):
    return options[int(rng.integers(len(options)))]


def _attributes(rng, thing, fits):
    """Pick an object and one of its attributes whose value fits."""
    parts = fitted_parts(thing)
    for place in rng.permutation(len(parts)):
        held = vars(parts[place])
        names = sorted(name for name, value in held.items() if fits(value))
        if names:
            return held, _pick(rng, names)
    return None


def _changed(rng, thing, fits, change):
    found = _attributes(rng, thing, fits)
    if found is None:
        return False
    held, name = found
    held[name] = change(held[name])
    return True


def _is_array(value):
    return isinstance(value, np.ndarray) and value.dtype.names is None


def _is_size(value):
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def reshaped(rng, thing):
    """Give an array another shape."""
    ways = [
        lambda a: a[:-1],
        lambda a: np.concatenate([a, a]),
        lambda a: a[:0],
        lambda a: a.T.copy(),
        lambda a: a.ravel(),
        lambda a: a[None],
        lambda a: a[..., None],
        lambda a: np.repeat(a, 8, axis=-1),
        lambda a: a[..., :-1],
        lambda a: a[..., :1],
    ]
    return _changed(rng, thing, lambda v: _is_array(v) and v.ndim, _pick(rng, ways))


def recast(rng, thing):
    """Give an array another kind of cells."""
    kind = _pick(rng, ["float32", "float16", "int8", "int64", "bool", "object", "U5", "complex"])
    return _changed(rng, thing, _is_array, lambda a: a.astype(kind))


def odd_cells(rng, thing):
    """Put odd numbers into an array."""

    def change(array):
        array = array.copy()
        odd = [np.nan, np.inf, -np.inf, -1, -(2**40), 2**40, 1e300, 10**9, 255, 256]
        with np.errstate(all="ignore"):
            array.flat[int(rng.integers(array.size))] = np.array(_pick(rng, odd)).astype(
                array.dtype
            )
        return array

    def fits(value):
        return _is_array(value) and value.size and value.dtype.kind in "fiu"

    return _changed(rng, thing, fits, change)


def out_of_order(rng, thing):
    """Reverse an array or a list."""
    return _changed(rng, thing, lambda v: isinstance(v, list | np.ndarray), lambda v: v[::-1])


def forged_size(rng, thing):
    """Claim another size."""
    odd = _pick(rng, SIZES)
    return _changed(rng, thing, _is_size, lambda v: odd if rng.random() < 0.7 else int(v) + 1)


def extra_attribute(rng, thing):
    """Add an attribute that the class does not set, or sets to another value."""
    part = _pick(rng, fitted_parts(thing))
    name = _pick(rng, [*EXTRA])
    vars(part)[name] = EXTRA[name]
    return True


def missing_attribute(rng, thing):
    """Leave out an attribute."""
    held, name = _attributes(rng, thing, lambda v: True)
    del held[name]
    return True


def odd_attribute(rng, thing):
    """Replace an attribute's value by an odd one."""
    odd = _pick(rng, ODD)
    return _changed(rng, thing, lambda v: True, lambda v: odd)


def odd_lists(rng, thing):
    """Change the contents of a list."""
    ways = [
        lambda v: v[:-1],
        lambda v: v + v[:1],
        lambda v: [],
        lambda v: v * 3,
        lambda v: [v],
        lambda v: [None, *v[1:]],
        lambda v: [_pick(rng, ODD), *v[1:]],
        tuple,
    ]
    way = _pick(rng, ways)
    return _changed(rng, thing, lambda v: isinstance(v, list) and v, way)


def exchanged(rng, thing, pool):
    """Replace an attribute by that of another model."""
    found = _attributes(rng, thing, lambda v: True)
    held, name = found
    others = pool.get(name)
    if not others:
        return False
    held[name] = _pick(rng, others)
    return True


def exchanged_part(rng, thing, pool):
    """Replace a fitted object by another fitted object."""
    return _changed(
        rng, thing, lambda v: hasattr(v, "get_params"), lambda v: _pick(rng, pool["an estimator"])
    )


def workers(rng, thing):
    """Ask for many workers, for a folder, or for printing."""
    for part in fitted_parts(thing):
        held = vars(part)
        for name in ("n_jobs", "_n_threads", "n_threads"):
            if name in held:
                held[name] = 100
        for name in ("memory",):
            if name in held:
                held[name] = "a_folder"
        if rng.random() < 0.1:
            held["n_jobs"] = 100
    return True


def _trees(thing):
    return [part for part in each_part(thing) if isinstance(part, Tree)]


def forged_nodes(rng, thing):
    """Change the nodes of a tree."""
    trees = _trees(thing)
    if not trees:
        return _forged_histogram(rng, thing)
    tree = _pick(rng, trees)
    state = tree.__getstate__()
    nodes = state["nodes"] = state["nodes"].copy()
    name = _pick(rng, ["left_child", "right_child", "feature"])
    nodes[name][int(rng.integers(len(nodes)))] = _pick(rng, [-7, -2, -1, 0, 1, 3, 10**6, 2**40])
    tree.__setstate__(state)
    return True


def _forged_histogram(rng, thing):
    rows = [row for part in fitted_parts(thing) for row in getattr(part, "_predictors", [])]
    if not rows:
        return False
    predictor = _pick(rng, rows)[0]
    nodes = predictor.nodes = predictor.nodes.copy()
    for _ in range(int(rng.integers(1, 4))):
        name = _pick(
            rng, ["left", "right", "feature_idx", "is_categorical", "bitset_idx", "is_leaf"]
        )
        value = _pick(rng, [0, 1, 2, 3, 200])
        nodes[name] = value if rng.random() < 0.3 else nodes[name]
        nodes[name][int(rng.integers(len(nodes)))] = value
    if rng.random() < 0.5:
        predictor.raw_left_cat_bitsets = np.zeros((int(rng.integers(3)), 8), np.uint32)
    return True


OBJECTS = [
    *(reshaped, reshaped, recast, odd_cells, odd_cells, out_of_order, forged_size, forged_size),
    *(extra_attribute, missing_attribute, odd_attribute, odd_lists, odd_lists),
    *(workers, forged_nodes, forged_nodes),
]
POOLED = [exchanged, exchanged, exchanged_part]


# --- changes that the objects themselves do not allow --------------------------------------------


def odd_json(rng, schema):
    """Change a number or a word in the schema, such as the size of a tree."""
    places, left = [], [schema]
    while left:
        part = left.pop()
        if isinstance(part, dict) and part.get("__loader__") == "JsonNode":
            places.append(part)
        if isinstance(part, dict | list):
            left += part if isinstance(part, list) else [part[name] for name in sorted(part)]
    numbers = [place for place in places if place["content"].lstrip("-").isdigit()]
    place = _pick(rng, numbers or places)
    odd = SIZES if rng.random() < 0.8 else [None, True, 0.5, "x", [], {}]
    place["content"] = json.dumps(_pick(rng, odd))


def odd_tree(rng, schema):
    """Make a tree with other sizes, or without its nodes."""
    trees, left = [], [schema]
    while left:
        part = left.pop()
        if isinstance(part, dict) and "__reduce__" in part:
            trees.append(part)
        if isinstance(part, dict | list):
            left += part if isinstance(part, list) else [part[name] for name in sorted(part)]
    if not trees:
        odd_json(rng, schema)
        return
    tree = _pick(rng, trees)
    held = tree["content"]["content"]
    way = int(rng.integers(4))
    if way == 0:
        held["node_count"]["content"] = json.dumps(_pick(rng, SIZES))
    elif way == 1:
        tree["__reduce__"]["args"]["content"][2]["content"] = json.dumps(_pick(rng, SIZES))
    elif way == 2:
        held["nodes"], held["values"] = held["values"], held["nodes"]
    else:
        tree["content"]["content"] = {}


SCHEMAS = [odd_json, odd_tree]


def _of_schema(data, change):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    schema = json.loads(members["schema.json"])
    change(schema)
    members["schema.json"] = json.dumps(schema).encode()
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as file:
        for name, member in members.items():
            file.writestr(name, member)
    return sink.getvalue()


class Maker:
    """Makes mutants of the files of a folder; equal seeds and numbers give equal mutants."""

    def __init__(self, folder):
        self.folder = folder

    @cache  # noqa: B019 - one maker for a process
    def pool(self):
        """Return all values in the models, by attribute."""
        found = {"an estimator": []}
        donors = sorted(self.folder.glob("*.donor"))
        for path in (*donors, *(self.folder / f"{kind}.model" for kind in MODELS)):
            for part in fitted_parts(thing_in(path)[0]):
                if hasattr(part, "get_params"):
                    found["an estimator"].append(part)
                for name, value in vars(part).items():
                    found.setdefault(name, []).append(value)
        return found

    def __call__(self, seed, place, path):
        """Return the bytes of a mutant and the name of the change."""
        rng = np.random.default_rng([seed, place])
        while True:
            ways = [*OBJECTS, *POOLED, *SCHEMAS]
            way = ways[(place + int(rng.integers(len(ways)))) % len(ways)]
            try:
                data, part = self._mutated(rng, way, path)
            except Exception:  # some changes cannot be saved
                continue
            if data is not None:
                break

        def put(arrays, head):
            arrays[part] = np.frombuffer(data, np.uint8)

        return rewritten(path.read_bytes(), put), way.__name__

    def _mutated(self, rng, way, path):
        if way in SCHEMAS:
            arrays, _ = contents(path)
            part = "map" if "map" in arrays else FIRST
            return _of_schema(arrays[part].tobytes(), lambda schema: way(rng, schema)), part
        thing, part = thing_in(path)
        pool = (self.pool(),) if way in POOLED else ()
        for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
            if not way(rng, thing, *pool):
                return None, part
        return skops.io.dumps(thing), part


# --- checkpoints ---------------------------------------------------------------------------------

RECORDED = ["tree", "boosting", "histograms", "bags", "stack", "bayes, categories"]


def resumed(folder, kind):
    """Return the model of a run that resumes the checkpoint in a folder, or begins one there."""
    keeping = Checkpoint(folder, resume=True, every=0.0)
    one = model(oracle=CLASSIFIERS[kind], solver=rounds(2), checkpoint=keeping)
    return one.fit(*sample())


def write_runs(folder):
    """Write a checkpoint with one answer for a run of each kind."""
    for kind in RECORDED:
        keeping = Checkpoint(folder / f"{kind}.run")
        model(oracle=CLASSIFIERS[kind], solver=rounds(2), checkpoint=keeping).fit(*sample())


# --- attacks made by hand ------------------------------------------------------------------------


def more_trees(cs):
    cs.estimators_ = np.repeat(cs.estimators_[:1], 8, axis=1)


def check_switched_off(cs):
    cs.estimators_features_ = 1
    far = cs.estimators_[1, 0]
    state = far.tree_.__getstate__()
    state["nodes"] = state["nodes"].copy()
    state["nodes"]["feature"][0] = 2**40
    far.tree_ = Tree(2**41, np.array([1]), 1)
    far.tree_.__setstate__(state)
    far.n_features_in_ = 2**41


def no_categories(cs):
    cs._bin_mapper.is_categorical_ = np.zeros(0, np.uint8)
    for (predictor,) in cs._predictors:
        predictor.nodes["is_categorical"][predictor.nodes["is_leaf"] == 0] = 1
        predictor.nodes["bitset_idx"] = 0
        predictor.raw_left_cat_bitsets = np.zeros((1, 8), np.uint32)
        predictor.binned_left_cat_bitsets = np.zeros((1, 8), np.uint32)


def fewer_columns(cs):
    few = make_column_transformer((StandardScaler(), [0]))
    cs._preprocessor = few.fit(sample()[0])


def before_histograms(cs):
    cs.is_categorical_ = cs._is_categorical_remapped = np.array([True, False, False])
    fewer_columns(cs)


def narrow_centers(union):
    clusters = union.transformer_list[0][1]
    clusters.cluster_centers_ = clusters.cluster_centers_[:, :1].copy()


def many_threads(union):
    union.transformer_list[0][1]._n_threads = 10**6


def many_workers(union):
    union.n_jobs = 100


def large_sketch(sketch):
    sketch.n_components = sketch._n_features_out = 10**9


def high_degree(polynomials):
    polynomials.degree = polynomials._max_degree = 10**7


def wide_splines(splines):
    splines.n_features_out_ = 10**12


def many_classes(forest):
    forest.n_classes_ = 10**9


def neighbours(cs):
    X, Y = sample()
    found = KNeighborsClassifier(3).fit(X, Y[:, 0])
    found._y = found._y + 7
    return found


def without_parameter(tree):
    del tree.max_depth


def a_folder(pipeline):
    pipeline.memory = "a_folder"


def categories_out_of_order(columns):
    hot = columns.transformers_[0][1]
    hot.categories_ = [hot.categories_[0][::-1].copy()]


def left_out_before(columns):
    columns.transformers_[0][1]._drop_idx_after_grouping = np.array([-5], dtype=object)


def uninitialised(function):
    function.kw_args = {"where": False}


def shadowed(tree):
    tree.predict_proba = np.abs


def within_fit(cs):
    cs._in_fit = True


def other_method(stack):
    stack.stack_method_ = ["fit", "fit"]


def more_nodes(schema):
    _first_tree(schema)["content"]["content"]["node_count"]["content"] = "1000000"


def more_outputs(schema):
    _first_tree(schema)["__reduce__"]["args"]["content"][2]["content"] = "100000000000"


def _first_tree(schema):
    left = [schema]
    while left:
        part = left.pop()
        if isinstance(part, dict) and "__reduce__" in part:
            return part
        if isinstance(part, dict | list):
            left += part if isinstance(part, list) else part.values()
    raise LookupError


def _array_of(name, change):
    return lambda arrays, head: arrays.update({name: change(arrays[name])})


def _without_array(name):
    def change(arrays, head):
        del arrays[name]

    return change


def _entry(*place, value):
    """Return a change of one entry of the manifest; ``value`` may be a function of the old."""

    def change(arrays, head):
        *above, last = place
        for key in above:
            head = head[key]
        head[last] = value(head[last]) if callable(value) else value

    return change


def _reach(name, **more):
    return _entry("certificate", name, value=lambda old: old | more)


def _nan_in(array):
    array = array.copy()
    array[0, 0] = np.nan
    return array


def _more_wrong(arrays, head):
    arrays["balance.wrong"] = arrays["balance.seen"] + 1.0


def _less_seen(arrays, head):
    arrays["balance.seen"] = -arrays["balance.seen"]
    arrays["balance.wrong"] = 2.0 * arrays["balance.seen"]


def _without_figure(name):
    def change(arrays, head):
        del head["certificate"][name]["spread"]

    return change


FORGED = {
    "fewer than no mistakes": _array_of("balance.wrong", lambda wrong: -wrong - 1.0),
    "more mistakes than decisions": _more_wrong,
    "fewer than no decisions": _less_seen,
    "endless decisions": _array_of("balance.seen", lambda seen: seen * np.inf),
    "more decisions than can be counted": _array_of("balance.seen", lambda seen: seen + 1e300),
    "mistakes that are no numbers": _array_of("balance.wrong", _nan_in),
    "decisions that are no numbers": _array_of("balance.seen", _nan_in),
    "mistakes of fewer people": _array_of("balance.wrong", lambda wrong: wrong[:, 1:]),
    "decisions of no rate": _array_of("balance.seen", lambda seen: seen[:0]),
    "decisions of two rates": _array_of("balance.seen", lambda seen: np.vstack([seen, seen])),
    "mistakes in a row": _array_of("balance.wrong", np.ravel),
    "whole mistakes": _array_of("balance.wrong", lambda wrong: wrong.astype(np.int64)),
    "no mistakes": _without_array("balance.wrong"),
    "no decisions": _without_array("balance.seen"),
    **{
        f"a balance over {tasks!r} tasks": _entry("balance", "tasks", value=tasks)
        for tasks in (np.nan, np.inf, -1, True, None, "4", [4], 2**53, 10**400)
    },
    **{
        f"a balance with {names!r} for names": _entry("balance", "names", value=names)
        for names in (None, "later", [1], [None], [["later"]], {"later": 1}, 3)
    },
    **{
        f"{balance!r} for a balance": _entry("balance", value=balance)
        for balance in ([], {}, "balance", 4, True, False, {"tasks": 4}, {"names": []})
    },
    "a balance of drawn decisions": _entry("certificate", "decisions", value="drawn"),
    **{
        f"decisions that are {decisions!r}": _entry("certificate", "decisions", value=decisions)
        for decisions in ("chosen", "", None, True, 1, ["fixed"], {"fixed": 1})
    },
    **{
        f"chosen together: {flag!r}": _entry("chosen_together", value=flag)
        for flag in (None, 1, 0.0, "yes", [], [True])
    },
    **{
        f"a share that is {share!r}": _entry("certificate", "drawn_share", value=share)
        for share in ("none", True, [0.0], {}, 2**64, -0.5, 1.5, 1e300)
    },
    **{
        f"{name}: {reach!r}": _entry("certificate", name, value=reach)
        for name in ("by_decisions", "by_chances")
        for reach in ("well", True, False, 0, 0.5, [], [1.0] * 6, {}, {"error": 0.1})
    },
    **{
        f"{name} with {figure!r} for an error": _reach(name, error=figure)
        for name in ("by_decisions", "by_chances")
        for figure in ("low", True, [0.1], {}, 2**64)
    },
    "decisions of one figure less": _without_figure("by_decisions"),
    "chances of one figure less": _without_figure("by_chances"),
    "decisions of one figure more": _reach("by_decisions", luck=0.1),
    "chances of one figure more": _reach("by_chances", decisions="drawn"),
}
"""Changes of the arrays and the manifest of the model ``chosen``; each must be refused."""


def _column(place, **changes):
    """Change the entry of one encoded column."""

    def change(arrays, head):
        entry = head["encoder"]["columns"][place]
        for key, own in changes.items():
            entry[key] = own(entry[key]) if callable(own) else own

    return change


def _encoder(**changes):
    return lambda arrays, head: head["encoder"].update(changes)


def _without_entry(name):
    def change(arrays, head):
        del head["encoder"]["columns"][1][name]

    return change


def _swapped_columns(arrays, head):
    head["encoder"]["columns"].reverse()


def _other_words(arrays, head):
    """Exchange two words, in the encoder and in the names of the features."""
    head["encoder"]["columns"][1]["words"].reverse()
    names = head["features"]
    first = names.index("income=high")
    names[first], names[first + 2] = names[first + 2], names[first]


# The columns of the encoded model are "age" (a number), "income" (words) and "since" (a date).
ENCODINGS = {
    **{
        f"an encoder that is {what!r}": _entry("encoder", value=what)
        for what in ([], {}, "words", 3, True, {"columns": []})
    },
    **{
        f"encoded columns that are {what!r}": _encoder(columns=what)
        for what in (None, [], {}, "age", [[]], [None], [{}], [{"name": "age"}])
    },
    **{
        f"at most {most!r} words": _encoder(max_categories=most)
        for most in (None, 1, 2, -1, 2.5, "20", True)
    },
    **{f"named: {flag!r}": _encoder(named=flag) for flag in (None, 0, "yes", False)},
    "an entry more": _encoder(unheard_of=1),
    "columns in another order": _swapped_columns,
    **{
        f"a column called {name!r}": _column(0, name=name)
        for name in (None, 1, "", "income", "Age", ["age"])
    },
    **{
        f"a kind that is {kind!r}": _column(0, kind=kind)
        for kind in (None, "", "words", "Number", 1, ["number"], {})
    },
    "words that are a number": _column(1, kind="number"),
    **{
        f"a median of {median!r}": _column(0, median=median)
        for median in (None, "1", True, [1.0], 10**400, 1e309, -1e309, float("nan"))
    },
    **{
        f"words that are {words!r}": _column(1, words=words)
        for words in (None, [], "low", [1, 2, 3], ["low"] * 3, ["", "a", "b"], [" a", "b", "c"])
    },
    "a word more": _column(1, words=lambda words: [*words, "other"]),
    "a word less": _column(1, words=lambda words: words[1:]),
    "words out of order": _other_words,
    "words of a number": _column(0, words=["a"]),
    "other words of a number": _column(0, other=True),
    **{f"other: {flag!r}": _column(1, other=flag) for flag in (None, 0, "no", True)},
    **{f"blank: {flag!r}": _column(1, blank=flag) for flag in (None, 1, "no", False)},
    **{f"no {name}": _without_entry(name) for name in ("name", "kind", "median", "words", "blank")},
}
"""Changes of the entry of an encoder in the manifest; each must be refused."""


def a_distant_class(classifier):
    """A voter knows a class of a huge number; counting votes takes memory up to it."""
    voter = classifier.estimators_[-1]
    voter.classes_ = np.array([0, 2**40])


ATTACKED = {
    "more trees in a round than scores": ("boosting", more_trees, "refused"),
    "a hundred workers": ("norms", many_workers, "decides"),
    "a check switched off": ("boosting", check_switched_off, "refused"),
    "categories of no feature": ("histograms", no_categories, "refused"),
    "fewer columns than features": ("categories", fewer_columns, "refused"),
    "something before histograms": ("histograms", before_histograms, "refused"),
    "inside a fit": ("histograms", within_fit, "refused"),
    "narrow centers": ("clusters", narrow_centers, "refused"),
    "a million threads": ("clusters", many_threads, "decides"),
    "a large sketch": ("sketch", large_sketch, "refused"),
    "a high degree": ("polynomials", high_degree, "refused"),
    "wide splines": ("splines", wide_splines, "refused"),
    "many classes": ("forest", many_classes, "refused"),
    "neighbours": ("tree", neighbours, "untrusted"),
    "a parameter less": ("tree", without_parameter, "decides"),
    "a folder to write to": ("picked", a_folder, "decides"),
    "categories out of order": ("one hot", categories_out_of_order, "refused"),
    "a place before the first": ("one hot, rare", left_out_before, "refused"),
    "memory as it was found": ("a function", uninitialised, "untrusted"),
    "another method": ("tree", shadowed, "refused"),
    "another way to ask": ("stack", other_method, "refused"),
    "a vote for a distant class": ("votes", a_distant_class, "refused"),
    "more nodes than there are": ("tree", more_nodes, "decides"),  # scikit-learn counts again
    "more outputs than there are": ("tree", more_outputs, "refused"),
    **{name: ("fixed", change, "refused") for name, change in FORGED.items()},
    **{name: ("encoded", change, "refused") for name, change in ENCODINGS.items()},
}
"""Each attack's model, its change, and the outcome that it must have."""


def attack(folder, name):
    """Return the bytes of a file with this attack."""
    kind, change, _ = ATTACKED[name]
    path = folder / f"{kind}.model"
    if name in FORGED or name in ENCODINGS:
        return rewritten(path.read_bytes(), change)
    thing, part = thing_in(path)
    if change in (more_nodes, more_outputs):
        data = _of_schema(contents(path)[0][part].tobytes(), change)
    else:
        held = [thing] if part == "map" else thing[0]["classifiers"]
        for place, one in enumerate(held):
            held[place] = change(one) or one
        data = skops.io.dumps(thing)
    return rewritten(
        path.read_bytes(), lambda arrays, head: arrays.update({part: np.frombuffer(data, np.uint8)})
    )
