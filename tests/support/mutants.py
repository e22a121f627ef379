"""Model files of every kind, and ways to damage them: by accident, and by an expert attacker.

Each way takes a generator and the bytes of a file and returns other bytes. The ways in ``SEALED``
compute the digest again, so that the file looks intact.
"""

import io
import json
import struct
import zipfile
from functools import cache

import numpy as np
from safetensors.numpy import save as packed
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from averagefair import (
    FeatureMap,
    Portfolio,
    RegressionOracle,
    StumpOracle,
    WeightedOracle,
)
from averagefair.persistence import save
from tests.support.model_files import LATER, by_task, contents, encoded, fitted, joined, seal
from tests.support.small_fits import model, people, rounds


def mapped(transformer):
    """Return a model with a transformer of features."""
    oracle = FeatureMap(transformer, RegressionOracle(l2=0.1))
    return model(solver=rounds(4), oracle=oracle).fit(*people())


def later(case):
    """Return a model's classifiers for later tasks."""
    return fitted(case).model.extend(people(seed=5, m=len(LATER), blanks=0.2)[1])


# A new kind of file adds one row: a function that makes the object, and the options of ``save``.
FILES = {
    "linear, two rates, extendable": (
        lambda: fitted("default, gradient, both").model,
        {"extendable": True},
    ),
    "linear, named": (lambda: fitted("pandas tables").model, {"origin": {"data": "people.csv"}}),
    "stumps, extendable": (lambda: fitted("blanks, stump").model, {"extendable": True}),
    "constants": (lambda: fitted("constants").model, {}),
    "later tasks": (lambda: later("ridge"), {}),
    "chances by task": (lambda: by_task("default, gradient, error"), {}),
    "joined tasks": (lambda: joined("portfolio"), {}),
    "tasks set aside": (lambda: fitted("pandas, tasks set aside").model, {"extendable": True}),
    "fixed, extended": (
        lambda: fitted("fixed, several kinds, extended").model,
        {"extendable": True},
    ),
    "encoded, extendable": (lambda: encoded(decisions="fixed"), {"extendable": True}),
    "splines, extendable": (lambda: mapped(SplineTransformer(n_knots=3)), {"extendable": True}),
    "kernel": (
        lambda: mapped(make_pipeline(StandardScaler(), Nystroem(n_components=5, random_state=0))),
        {},
    ),
    "function": (lambda: mapped(FunctionTransformer(np.abs)), {}),
    "tree, extendable": (
        lambda: learned(DecisionTreeClassifier(max_depth=2)),
        {"extendable": True},
    ),
    "boosting": (
        lambda: learned(HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=2)),
        {},
    ),
    "portfolio": (
        lambda: learned(Portfolio([StumpOracle(), WeightedOracle(LogisticRegression())])),
        {},
    ),
}


def learned(oracle):
    """Return a model of one round with scikit-learn's classifiers."""
    return model(oracle=oracle, solver=rounds(1)).fit(*people())


def write_files(folder):
    """Write a file of every kind; return {kind: path}."""
    paths = {kind: folder / f"{place}.model" for place, kind in enumerate(FILES)}
    for (make, options), path in zip(FILES.values(), paths.values(), strict=True):
        save(make(), path, **options)
    return paths


# --- by accident ---------------------------------------------------------------------------------


def flip(rng, content):
    out = bytearray(content)
    for _ in range(int(rng.choice([1, 1, 2, 8, 100, 2000]))):
        out[rng.integers(len(out))] ^= 1 << rng.integers(8)
    return bytes(out)


def flip_in_head(rng, content):
    out, (size,) = bytearray(content), struct.unpack("<Q", content[:8])
    for _ in range(int(rng.integers(1, 4))):
        out[rng.integers(8 + size)] ^= 1 << rng.integers(8)
    return bytes(out)


def cut(rng, content):
    return content[: rng.integers(len(content))]


def cut_out(rng, content):
    start = rng.integers(len(content))
    return content[:start] + content[start + rng.integers(1, 64) :]


def put_in(rng, content):
    start = rng.integers(len(content) + 1)
    return content[:start] + rng.bytes(int(rng.integers(1, 64))) + content[start:]


def overwrite(rng, content):
    start, count = rng.integers(len(content)), int(rng.integers(1, 600))
    with_what = [bytes(count), b"\xff" * count, rng.bytes(count)][rng.integers(3)]
    return content[:start] + with_what + content[start + count :]


def swap_halves(rng, content):
    start = rng.integers(1, len(content))
    return content[start:] + content[:start]


def twice(rng, content):
    return content + content


def noise(rng, content):
    return rng.bytes(int(rng.integers(0, 400)))


# --- the head of safetensors ---------------------------------------------------------------------


def _apart(content):
    (size,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def _together(text, body):
    head = text.encode()
    return struct.pack("<Q", len(head)) + head + body


ODD_SIZES = [-1, 0, 1, 2**15, 10**15, 2**63 - 1, 2**63, 2**64, 10**30, 0.5, "3", None, [1]]
KINDS = ["F64", "F32", "F16", "BF16", "I64", "I8", "U8", "U64", "BOOL", "F8_E4M3", "C64", "X", 7]


def _one(rng, head):
    return head[str(rng.choice([name for name in head if name != "__metadata__"]))]


def odd_shape(rng, content):
    head, body = _apart(content)
    shape = _one(rng, head)["shape"]
    odd = ODD_SIZES[rng.integers(len(ODD_SIZES))]
    if shape and rng.random() < 0.5:
        shape[rng.integers(len(shape))] = odd
    else:
        shape.insert(int(rng.integers(len(shape) + 1)), odd)
    return _together(json.dumps(head), body)


def odd_kind(rng, content):
    head, body = _apart(content)
    _one(rng, head)["dtype"] = KINDS[rng.integers(len(KINDS))]
    return _together(json.dumps(head), body)


def odd_offsets(rng, content):
    head, body = _apart(content)
    offsets = _one(rng, head)["data_offsets"]
    if rng.random() < 0.5:
        offsets[rng.integers(2)] += int(rng.choice([-8, -1, 1, 8, 2**40]))
    else:
        offsets[rng.integers(2)] = ODD_SIZES[rng.integers(len(ODD_SIZES))]
    return _together(json.dumps(head), body)


def overlapping(rng, content):
    head, body = _apart(content)
    one, other = _one(rng, head), _one(rng, head)
    one["data_offsets"] = other["data_offsets"]
    return _together(json.dumps(head), body)


def same_name_twice(rng, content):
    head, body = _apart(content)
    first, second = (json.dumps(_one(rng, head)) for _ in range(2))
    name = json.dumps(str(rng.choice([*head])))
    text = json.dumps(head)[:-1] + f", {name}: {first}, {name}: {second}}}"
    return _together(text, body)


def renamed(rng, content):
    head, body = _apart(content)
    name = str(rng.choice([*head]))
    new = str(rng.choice([*head, "", "x", "\x00", "é" * 50]))
    head[new] = head.pop(name)
    return _together(json.dumps(head), body)


def missing_key(rng, content):
    head, body = _apart(content)
    inner = _one(rng, head)
    inner.pop(str(rng.choice([*inner])))
    return _together(json.dumps(head), body)


def long_head(rng, content):
    size = int(rng.choice([0, 1, 2**20, 2**31, 2**32, 10**8, 10**8 + 1, 2**62]))
    return struct.pack("<Q", [size, 2**63, 2**64 - 1][rng.integers(3)]) + content[8:]


def deep_head(rng, content):
    head, body = _apart(content)
    deep = int(rng.choice([100, 1000, 200_000]))
    text = json.dumps(head)[:-1] + ', "deep": ' + "[" * deep + "]" * deep + "}"
    return _together(text, body)


def many_names(rng, content):
    head, body = _apart(content)
    nothing = {"dtype": "F64", "shape": [0], "data_offsets": [len(body)] * 2}
    head |= {f"array {place}": nothing for place in range(int(rng.choice([10, 20_000])))}
    return _together(json.dumps(head), body)


def spaced_head(rng, content):
    """Write the same head with other spacing."""
    head, body = _apart(content)
    text = json.dumps(dict(rng.permutation([*head.items()]).tolist()), indent=int(rng.integers(4)))
    return _together(text, body)


# --- by an expert: the digest is computed again --------------------------------------------------


def rewritten(content, change):
    """Return the file with its arrays and its manifest changed, and sealed."""
    path = _scratch() / "whole.model"
    path.write_bytes(content)
    arrays, head = contents(path)
    arrays.pop("digest")
    text = change(arrays, head)
    arrays = {name: np.ascontiguousarray(part) for name, part in arrays.items()}
    text = json.dumps(head) if text is None else text
    return packed(arrays | {"digest": seal(arrays, text)}, {"manifest": text})


@cache
def _folder():
    import tempfile

    return tempfile.TemporaryDirectory()


def _scratch():
    from pathlib import Path

    return Path(_folder().name)


ODD_VALUES = [
    *(None, True, False, -1, 0, 1, 2, 7, 10**6, 10**15, 2**63, 2**64, 10**300, 0.5, -0.5, 1e-300),
    *(1e308, float("nan"), float("inf"), "", "x", "task0", "nan", "\x00", "\ud800", "A" * 100_000),
    *([], [1], ["x"], [[]], {}, {"x": 1}, {"kind": "stump", "settings": {}}),
    *({"kind": "regression", "settings": {"l2": 1e300}}, {"kind": "portfolio", "settings": {}}),
    {"kind": "polished", "settings": {"oracle": {"kind": "polished", "settings": {}}}},
    {"kind": "column_generation", "settings": {"max_rounds": 10**18}},
]


def _places(thing, at=()):
    """Return the paths of all values in a tree of JSON."""
    inside = thing.items() if isinstance(thing, dict) else enumerate(thing)
    out = []
    for key, one in inside:
        out.append((*at, key))
        if isinstance(one, dict | list):
            out += _places(one, (*at, key))
    return out


def _at(tree, place):
    for key in place:
        tree = tree[key]
    return tree


def odd_manifest(rng, content):
    def change(arrays, head):
        for _ in range(int(rng.integers(1, 3))):
            places = _places(head)
            *above, last = places[rng.integers(len(places))]
            _at(head, above)[last] = ODD_VALUES[rng.integers(len(ODD_VALUES))]

    return rewritten(content, change)


def less_manifest(rng, content):
    def change(arrays, head):
        places = _places(head)
        *above, last = places[rng.integers(len(places))]
        del _at(head, above)[last]

    return rewritten(content, change)


def mixed_manifest(rng, content):
    """Copy a value of the manifest to another place in it."""

    def change(arrays, head):
        places = _places(head)
        one, (*above, last) = (places[rng.integers(len(places))] for _ in range(2))
        _at(head, above)[last] = json.loads(json.dumps(_at(head, one)))

    return rewritten(content, change)


def deep_manifest(rng, content):
    deep = int(rng.choice([50, 500, 2000, 100_000]))

    def change(arrays, head):
        text = json.dumps(head)
        name = json.dumps(str(rng.choice([*head])))
        if rng.random() < 0.3:
            nested = '{"kind": "polished", "settings": {"oracle": ' * deep + "null" + "}}" * deep
            return text[:-1] + f', "parameters": {{"oracle": {nested}, "solver": null}}}}'
        opening, closing = ('{"a":', "}") if rng.random() < 0.5 else ("[", "]")
        return text[:-1] + f", {name}: {opening * deep}1{closing * deep}}}"

    return rewritten(content, change)


def odd_text(rng, content):
    def change(arrays, head):
        text = json.dumps(head)
        return [text + " ", text[:-1], f"[{text}]", text.replace("0", "9" * 5000, 1), "", "null"][
            rng.integers(6)
        ]

    return rewritten(content, change)


def long_names(rng, content):
    def change(arrays, head):
        name = str(rng.choice([key for key in ("tasks", "features") if head.get(key)] or ["tasks"]))
        head[name] = [f"{place} {'n' * int(rng.choice([10, 20_000]))}" for place in range(200)]

    return rewritten(content, change)


def swapped(rng, content):
    def change(arrays, head):
        one, other = rng.choice([*arrays], 2)
        arrays[one], arrays[other] = arrays[other], arrays[one]

    return rewritten(content, change)


def recast(rng, content):
    def change(arrays, head):
        name = str(rng.choice([*arrays]))
        part, kind = arrays[name], rng.choice(["f4", "f2", "i8", "i1", "u1", "u8", "?", "f8"])
        with np.errstate(all="ignore"):
            arrays[name] = part.astype(str(kind))

    return rewritten(content, change)


def reshaped(rng, content):
    def change(arrays, head):
        name = str(rng.choice([*arrays]))
        part = arrays[name]
        ways = [
            lambda: part[:0],
            lambda: part[1:],
            lambda: part[..., None],
            lambda: part[None],
            lambda: part.ravel(),
            lambda: part.T,
            lambda: np.concatenate([part, part]),
            lambda: np.zeros((10**15, 0), part.dtype),
            lambda: np.zeros((0, 10**15), part.dtype),
            lambda: part.reshape(*part.shape, *(1,) * 20),
            lambda: np.zeros((), part.dtype),
        ]
        arrays[name] = ways[rng.integers(len(ways))]() if part.ndim else part[None]

    return rewritten(content, change)


ODD_NUMBERS = [
    np.nan,
    np.inf,
    -np.inf,
    -1.0,
    0.0,
    1.0,
    2.0,
    1e300,
    -1e300,
    5e-324,
    2.0**62,
    -(2.0**62),
]


def odd_numbers(rng, content):
    def change(arrays, head):
        name = str(rng.choice([*arrays]))
        part = arrays[name].copy()
        where = rng.random(part.shape) < rng.choice([0.02, 0.5, 1.0])
        if part.size and not where.any():
            where.flat[rng.integers(part.size)] = True
        with np.errstate(all="ignore"):
            part[where] = np.array(rng.choice(ODD_NUMBERS)).astype(part.dtype)
        arrays[name] = part

    return rewritten(content, change)


def nudged(rng, content):
    """Change one number a little; the model is often still valid."""

    def change(arrays, head):
        name = str(rng.choice([name for name in arrays if arrays[name].size]))
        part = arrays[name].copy()
        raw = part.reshape(-1).view(np.uint8)
        raw[rng.integers(len(raw))] ^= 1 << rng.integers(8)
        arrays[name] = part

    return rewritten(content, change)


def less_arrays(rng, content):
    def change(arrays, head):
        del arrays[str(rng.choice([*arrays]))]

    return rewritten(content, change)


def more_arrays(rng, content):
    def change(arrays, head):
        new = rng.choice(["x", "map", "constant.place", "stumps.place", "linear.place", "people"])
        arrays[str(new)] = arrays[str(rng.choice([*arrays]))]

    return rewritten(content, change)


# --- the part that skops wrote -------------------------------------------------------------------


def has_map(content):
    return b'"map"' in content[:200_000] and b"schema.json" in content


def archive(members, compression=zipfile.ZIP_STORED):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", compression, compresslevel=1) as file:
        for name, part in members.items():
            file.writestr(name, part)
    return sink.getvalue()


def of_map(content, change):
    """Return the file with the archive of its map changed by a function of bytes."""

    def rewrite(arrays, head):
        arrays["map"] = np.frombuffer(change(arrays["map"].tobytes()), np.uint8)

    return rewritten(content, rewrite)


def of_schema(content, change):
    """Return the file with the schema of its map changed in place, or replaced."""

    def rewrite(data):
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            members = {name: file.read(name) for name in file.namelist()}
        schema = json.loads(members["schema.json"])
        other = change(schema, members)
        members["schema.json"] = json.dumps(schema if other is None else other)
        return archive(members)

    return of_map(content, rewrite)


def damaged_map(rng, content):
    ways = [flip, cut, cut_out, put_in, overwrite]
    return of_map(content, lambda data: ways[rng.integers(len(ways))](rng, data))


def damaged_member(rng, content):
    def change(schema, members):
        name = str(rng.choice([*members]))
        members[name] = [flip, cut, put_in, overwrite][rng.integers(4)](rng, members[name])

    try:
        return of_schema(content, change)
    except ValueError:  # the schema itself is not JSON any more
        return damaged_map(rng, content)


def odd_schema(rng, content):
    def change(schema, members):
        for _ in range(int(rng.integers(1, 3))):
            places = _places(schema)
            one, (*above, last) = (places[rng.integers(len(places))] for _ in range(2))
            new = ODD_VALUES[rng.integers(len(ODD_VALUES))]
            if rng.random() < 0.5:
                new = json.loads(json.dumps(_at(schema, one)))
            _at(schema, above)[last] = new

    return of_schema(content, change)


CANARY = "canary"
"""A file that appears in the current folder if the code in a model file is run."""


def node(module, name, loader="TypeNode", **more):
    return {"__module__": module, "__class__": name, "__loader__": loader, **more}


def plain(value):
    return node("builtins", type(value).__name__, "JsonNode", content=json.dumps(value))


def listed(*parts, kind="list"):
    return node("builtins", kind, f"{kind.capitalize()}Node", content=[*parts])


def table(**parts):
    types = listed(*(node("builtins", "str") for _ in parts))
    return node("builtins", "dict", "DictNode", content=parts, key_types=types)


def function(module, name):
    content = {"module_path": module, "function": name}
    return node(module, name, "FunctionNode", content=content)


FORBIDDEN = [
    *(("posix", "system"), ("os", "system"), ("builtins", "eval"), ("builtins", "exec")),
    *(("subprocess", "Popen"), ("subprocess", "check_output"), ("builtins", "__import__")),
    *(("builtins", "open"), ("builtins", "getattr"), ("pickle", "loads"), ("shutil", "rmtree")),
    *(("numpy", "load"), ("numpy", "save"), ("numpy", "fromfile"), ("numpy", "memmap")),
    *(("joblib", "load"), ("importlib", "import_module"), ("antigravity", "fly"), ("this", "s")),
    *(("sklearn.externals.joblib", "load"), ("ctypes", "CDLL"), ("socket", "socket")),
    *(("averagefair.files", "write_whole"), ("os.path", "os.system"), ("sklearn", "os.system")),
    *(("scipy.special", "os.system"), ("numpy", "os.system"), ("numpy.f2py", "compile")),
]
COMMAND = f"touch {CANARY}"


def attacks(module, name):
    """Return schemas that call this function when they are loaded without checks."""
    call, words = function(module, name), listed(plain(COMMAND), kind="tuple")
    reduced = {"args": words, "constructor": node(module, name)}
    transformer = node(
        "sklearn.preprocessing._function_transformer",
        "FunctionTransformer",
        "ObjectNode",
        content=table(func=call, inverse_func=plain(None), validate=plain(False)),
    )
    return [
        call,
        node(module, name),
        node(module, name, "ObjectNode", content=table()),
        node(module, name, "ObjectNode", content=words),
        node(module, name, "ObjectNode", __reduce__=reduced, content=table()),
        node(module, name, "TreeNode", __reduce__=reduced, content=table()),
        node(module, name, "LossNode", __reduce__=reduced, content=table()),
        node(module, name, "ConstructorFromReduceNode", __reduce__=reduced, content=words),
        node(module, name, "NdArrayNode", type="json", content=[plain(COMMAND)], shape=words),
        node(module, name, "RandomStateNode", content=words),
        node(module, name, "SetNode", content=[plain(COMMAND)]),
        node(module, name, "ListNode", content=[plain(COMMAND)]),
        node(module, name, "BytesNode", file="schema.json"),
        node(
            "functools",
            "partial",
            "PartialNode",
            content={"func": call, "args": words, "kwds": table(), "namespace": table()},
        ),
        node(
            "operator",
            "methodcaller",
            "OperatorFuncNode",
            attrs=listed(plain("transform"), plain(COMMAND), kind="tuple"),
        ),
        node("operator", "call", "OperatorFuncNode", attrs=listed(call, plain(COMMAND))),
        node(
            "builtins",
            "method",
            "MethodNode",
            content={"func": name, "obj": node(module, name)},
        ),
        node("numpy.random._generator", "Generator", "RandomGeneratorNode", content=_seeds(name)),
        node(
            "collections", "defaultdict", "DefaultDictNode", default_factory=call, content=table()
        ),
        transformer,
    ]


def _seeds(name):
    return {"bit_generator": table(bit_generator=plain(name)), "seed_seq": table()}


def malicious(rng, content):
    """Replace a part of the transformer by a call of something forbidden."""
    module, name = FORBIDDEN[rng.integers(len(FORBIDDEN))]
    forms = attacks(module, name)
    attack = forms[rng.integers(len(forms))]
    loader = str(rng.choice(["", "", "TypeNode", "FunctionNode", "ObjectNode", "JsonNode"]))
    if loader:
        attack = {**attack, "__loader__": loader}

    def change(schema, members):
        around = {name: schema[name] for name in ("protocol", "_skops_version")}
        around["protocol"] = int(rng.integers(3))  # old protocols have their own rules
        places = [place for place in _places(schema) if place[-1] in ("content", "__class__")]
        if rng.random() < 0.4 or not places:
            return {**attack, **around}
        *above, last = places[rng.integers(len(places))]
        if last == "__class__":
            inner = _at(schema, above)
            inner["__module__"], inner["__class__"] = module, name
        else:
            _at(schema, above)[last] = attack
        schema.update(around)
        return None

    return of_schema(content, change)


def of_size(rng, content):
    """Put in something that is small in the file and huge, or endless, in memory."""

    def change(schema, members):
        around = {name: schema[name] for name in ("protocol", "_skops_version")}
        bomb = BOMBS[str(rng.choice([*BOMBS]))](members)
        if rng.random() < 0.5:
            return {**bomb, **around}
        return {**schema, "more": bomb, "content": bomb}

    if rng.random() < 0.3:
        return of_map(content, lambda data: compressed())
    return of_schema(content, change)


@cache
def compressed():
    """A schema of blanks: 200 MB in all."""
    return archive({"schema.json": b" " * 200_000_000}, zipfile.ZIP_DEFLATED)


def laughs(members, depth=64):
    """Lists of lists that refer to each other: 2 to the power of ``depth`` in all."""
    one = listed() | {"__id__": 1}
    for number in range(2, depth):
        again = listed() | {"__id__": number - 1}
        one = listed(one, again) | {"__id__": number}
    return one


def copies(members, times=2000):
    """One array of a megabyte, loaded many times."""
    members["a.npy"] = _array((125_000,), bytes(1_000_000))
    return listed(*(_from_file("a.npy", number) for number in range(1, times)))


def claimed(members):
    """An array that claims a huge size."""
    members["a.npy"] = _array((10**13,), b"")
    return _from_file("a.npy", 1)


def shrunk(members):
    """A sparse matrix of zeros, which skops compresses."""
    members["any"] = zeros()
    return node("scipy.sparse._matrix", "spmatrix", "SparseMatrixNode", type="scipy", file="any")


@cache
def zeros():
    """A sparse matrix as SciPy writes it: 200 MB in all."""
    parts = {"data": _array((25_000_000,), b""), "indices": _array((1,), bytes(8))}
    parts["data"] += bytes(200_000_000)
    parts |= {"indptr": _array((2,), bytes(16)), "shape": _array((2,), bytes(16))}
    parts["format"] = _array((), b"csr", "|S3")
    inside = {f"{name}.npy": part for name, part in parts.items()}
    return archive(inside, zipfile.ZIP_DEFLATED)


def deep(members, depth=300):
    """Lists in lists, deep enough to exceed Python's recursion limit when read."""
    one = listed()
    for _ in range(depth):
        one = listed(one)
    return one


BOMBS = {"laughs": laughs, "copies": copies, "claimed": claimed, "shrunk": shrunk, "deep": deep}


def _array(shape, cells, kind="<f8"):
    sink = io.BytesIO()
    head = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(sink, head)
    return sink.getvalue() + cells


def _from_file(name, number):
    return node("numpy", "ndarray", "NdArrayNode", type="numpy", file=name, __id__=number)


ACCIDENTS = [flip, flip, flip_in_head, cut, cut_out, put_in, overwrite, swap_halves, twice, noise]
HEADS = [
    *(odd_shape, odd_kind, odd_offsets, overlapping, same_name_twice, renamed, missing_key),
    *(long_head, deep_head, many_names, spaced_head),
]
SEALED = [
    *(odd_manifest, odd_manifest, odd_manifest, less_manifest, mixed_manifest, mixed_manifest),
    *(deep_manifest, odd_text, long_names, swapped, recast, reshaped, reshaped, odd_numbers),
    *(odd_numbers, nudged, nudged, less_arrays, more_arrays),
]
MAPS = [damaged_map, damaged_member, odd_schema, odd_schema, malicious, malicious, malicious]
LARGE = [of_size]


def mutate(rng, content):
    """Return a file damaged in some way, the way's name, and whether the digest is valid again."""
    ways = [*ACCIDENTS, *HEADS, *SEALED, *(([*MAPS] * 2 + LARGE) if has_map(content) else [])]
    way = ways[rng.integers(len(ways))]
    return way(rng, content), way.__name__, way not in (*ACCIDENTS, *HEADS)
