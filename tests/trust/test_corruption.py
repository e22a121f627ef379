"""Damaged and malicious model files: each is refused with an error, or is a model; no code runs.

Files of every kind are damaged at random, by accident and by design. A process that is watched and
measured reads them (see ``mutants`` and ``corruption_jobs``).
"""

import io
import json
import os
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer
from sklearn.random_projection import SparseRandomProjection

from averagefair import InputError
from averagefair.persistence import load, save
from tests.support import mutants
from tests.support.mutants import COMMAND, FILES, attacks, function, of_map, of_schema, write_files
from tests.support.places import python_path
from tests.support.reliability import record
from tests.support.small_fits import STRANGERS, people

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::averagefair.UndefinedRateWarning"),
]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("models")
    write_files(found)
    return found


class Alone:
    """Runs code in separate processes, forked from a process that has imported all modules."""

    _SCRIPT = """
import contextlib, json, os, sys, traceback
import skops.io
from tests.support import corruption_jobs, mutants
mutants.compressed(), mutants.zeros()
for line in sys.stdin:
    job = json.loads(line)
    child = os.fork()
    if child == 0:
        try:
            os.chdir(job["folder"])
            sys.argv = ["-c", *job["args"]]
            with open(job["said"], "w") as said, contextlib.redirect_stdout(said):
                exec(job["code"], {})
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""

    def __init__(self, folder):
        self._said = folder / "said"
        known = {"PYTHONPATH": python_path(), "OPENBLAS_NUM_THREADS": "1"}
        self._server = subprocess.Popen(
            [sys.executable, "-c", self._SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **known},
        )

    def run(self, code, *args, folder):
        """Run code in a folder; return its output."""
        job = {"code": code, "args": [*map(str, args)], "folder": str(folder)}
        self._server.stdin.write(json.dumps({**job, "said": str(self._said)}) + "\n")
        self._server.stdin.flush()
        assert self._server.stdout.readline() == "0\n"
        return self._said.read_text()

    def close(self):
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait()


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    found = Alone(tmp_path_factory.mktemp("alone"))
    yield found
    found.close()


SURVEY = """
import json, sys
from pathlib import Path
from tests.support.corruption_jobs import survey
folder, seed, count = sys.argv[1:]
print(json.dumps(survey(Path(folder), int(seed), int(count))))
"""


@LINUX
@pytest.mark.parametrize("count", [20, pytest.param(10_000, marks=pytest.mark.long)])
def test_every_mutant_is_refused_or_a_model_and_nothing_is_obeyed(count, folder, alone):
    found = json.loads(alone.run(SURVEY, folder, 20, count, folder=folder))
    assert found["wrong"] == []
    tally = found["tally"]
    assert sum(tally.values()) == count
    assert {*tally} <= {"refused", "equal", "valid", "undecided"}
    # Each way of damage was tried. The survey itself checks that intact files load.
    assert count < 10_000 or {*found["ways"]} == {
        way.__name__
        for way in (
            *(*mutants.ACCIDENTS, *mutants.HEADS, *mutants.SEALED, *mutants.MAPS),
            *mutants.LARGE,
        )
    }
    assert tally["refused"] > 0
    equal, valid = (
        sum(tally.get(kind, 0) for kind in kinds) for kinds in (["equal"], ["valid", "undecided"])
    )
    record(
        "corruption",
        what=f"model files of {len(FILES)} kinds, damaged at random: bits, lengths, heads, "
        "manifests and arrays with a recomputed digest, parts that name forbidden types",
        count=count,
        outcome=f"{tally['refused']:,} refused, {equal:,} loaded to an equal model, "
        f"{valid:,} (digest recomputed) to another valid one; 0 others; nothing run or written; "
        f"at most {found['seconds']:.2f} s and {found['bytes'] / 2**20:.0f} MB each",
    )


# --- the judge can fail ---------------------------------------------------------------------------

READERS = {
    "takes care": "load",
    "takes anything": "lambda path: originals[0]",
    "raises another error": "lambda path: (_ for _ in ()).throw(KeyError(path))",
    "names no file": "lambda path: (_ for _ in ()).throw(InputError('bad'))",
    "takes memory": "lambda path: bytearray(2**28) and load(path)",
    "takes time": "lambda path: [0 for _ in iter(int, 1)]",
    "runs something": "lambda path: os.system('true') or load(path)",
    "imports something": "lambda path: importlib.import_module('this') and load(path)",
    "runs code": "lambda path: exec('1') or load(path)",
    "writes something": "lambda path: open('other', 'w').close() or load(path)",
    "is obeyed": "lambda path: pathlib.Path('canary').touch() or load(path)",
}
CARELESS = """
import contextlib, importlib, io, json, os, pathlib, sys
from tests.support import corruption_jobs
from averagefair import InputError
from averagefair.persistence import load
folder, readers = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2])
originals = [load(path) for path in sorted(folder.glob("*.model"))]
found = {}
for name, reader in readers.items():
    corruption_jobs.PATIENCE = 1 if name == "takes time" else 50
    with contextlib.redirect_stdout(io.StringIO()):
        found[name] = corruption_jobs.survey(folder, 1, 12, read=eval(reader))["wrong"]
print(json.dumps(found))
"""


@LINUX
def test_the_judge_notices_careless_readers(folder, alone, tmp_path):
    for kind in ("constants", "function"):
        (tmp_path / f"{kind}.model").write_bytes(file_of(kind, folder))
    found = json.loads(alone.run(CARELESS, tmp_path, json.dumps(READERS), folder=tmp_path))
    assert [name for name in READERS if not found[name]] == ["takes care"]


# --- files that would run code -------------------------------------------------------------------


def file_of(kind, folder):
    return (folder / f"{[*FILES].index(kind)}.model").read_bytes()


@pytest.mark.parametrize("which", range(len(attacks("posix", "system"))))
def test_no_form_of_a_call_is_accepted(which, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content, path = file_of("function", folder), tmp_path / "fair.model"
    for module, name in mutants.FORBIDDEN:
        attack = attacks(module, name)[which]

        def change(schema, members, attack=attack):
            return {**attack, **{name: schema[name] for name in ("protocol", "_skops_version")}}

        path.write_bytes(of_schema(content, change))
        with pytest.raises(InputError, match=r"fair\.model"):
            load(path)
    assert [one.name for one in tmp_path.iterdir()] == ["fair.model"]


def test_whoever_accepts_a_call_by_name_gets_it(folder, tmp_path, monkeypatch):
    """This shows that the files refused above would run code if they were accepted."""
    monkeypatch.chdir(tmp_path)

    def change(schema, members):
        schema["content"]["content"]["func"] = function("posix", "system")

    path = tmp_path / "fair.model"
    path.write_bytes(of_schema(file_of("function", folder), change))
    with pytest.raises(InputError, match=r"posix\.system"):
        load(path)
    model = load(path, trusted=["posix.system"])
    assert model.classifiers_.feature_map.transformer.func is os.system
    os.system(COMMAND)  # nosec - what such a file would do
    assert (tmp_path / mutants.CANARY).exists()


# --- bombs, and false claims ---------------------------------------------------------------------


BOMBS = """
import sys
from tests.support.corruption_jobs import *
whole, *paths = sys.argv[1:]
assert judge(Path(whole), None, True) == "valid"
meter = Meter()
meter.control(lambda: judge(Path(whole), None, True))
for path in paths:
    print(meter.judge(lambda: judge(Path(path), None, True)))
"""


@LINUX
def test_small_files_fill_no_memory_and_take_no_time(folder, alone, tmp_path):
    content = file_of("splines, extendable", folder)
    files = {"compressed": of_map(content, lambda data: mutants.compressed())}
    for name, make in mutants.BOMBS.items():
        for where in ("content", "more"):  # used by the transformer, and unused
            files[f"{name}, {where}"] = of_schema(
                content,
                lambda schema, members, make=make, where=where: {**schema, where: make(members)},
            )
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        assert len(data) < 3_000_000
    (tmp_path / "whole").write_bytes(content)
    said = alone.run(BOMBS, tmp_path / "whole", *map(tmp_path.joinpath, files), folder=tmp_path)
    found = dict(zip(files, said.splitlines(), strict=True))
    # Members that no part of the transformer names are not read.
    assert {name for name, one in found.items() if one != "refused"} <= {
        "claimed, more",
        "deep, more",
    }
    assert {*found.values()} <= {"refused", "valid"}


HOLDERS = {
    "a list": lambda splines: splines,
    "a tuple": tuple,
    "an array": lambda splines: np.array([*splines, None], dtype=object)[:-1],
}


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS.keys())
def test_a_spline_that_says_more_than_it_holds_is_refused(hold, folder, tmp_path):
    """The code that evaluates a spline does not check the number of coefficients."""
    transformer = SplineTransformer(n_knots=3).fit(people()[0])
    for spline in transformer.bsplines_:
        vars(spline).clear()
        vars(spline).update(
            {"_asarray": np.abs, "_t": np.linspace(-3, 3, 999), "_c": np.ones((2, 4)), "k": 3},
            extrapolate=True,
            axis=0,
        )
    transformer.bsplines_ = hold(transformer.bsplines_)
    data = skops.io.dumps(transformer)
    path = tmp_path / "fair.model"
    path.write_bytes(of_map(file_of("splines, extendable", folder), lambda _: data))
    with pytest.raises(InputError, match="spline is not as it was written"):
        load(path)


def test_sparse_parts_are_no_bombs(tmp_path):
    """skops compresses sparse matrices; a transformer's own matrices must not be refused."""
    transformer = make_pipeline(
        SplineTransformer(n_knots=100),
        SparseRandomProjection(n_components=150, density=0.1, random_state=0),
        FunctionTransformer(np.tanh),
    )
    one = mutants.mapped(transformer)
    save(one, tmp_path / "fair.model")
    kinds = ["scipy.sparse._csr.csr_matrix", "scipy.sparse._csr.csr_array"]
    same = load(tmp_path / "fair.model", trusted=kinds)
    assert (same.predict(STRANGERS) == one.predict(STRANGERS)).all()


@pytest.mark.parametrize("header", ["write_array_header_1_0", "write_array_header_2_0"])
def test_an_array_that_claims_more_than_it_holds_is_refused_before_memory_is_taken(
    folder, tmp_path, header
):
    sink = io.BytesIO()
    claim = {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**7)}  # 80 TB
    getattr(np.lib.format, header)(sink, claim)

    def change(data):
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            members = {
                name: sink.getvalue() if name.endswith(".npy") else file.read(name)
                for name in file.namelist()
            }
        return mutants.archive(members)

    path = tmp_path / "fair.model"
    path.write_bytes(of_map(file_of("kernel", folder), change))
    with pytest.raises(InputError, match="claims more than it holds"):
        load(path)


def test_pickles_are_read_nowhere(folder, tmp_path):
    """An array of objects would be a pickle."""

    class Trap:
        def __reduce__(self):
            return os.system, (COMMAND,)

    sink = io.BytesIO()
    head = {"descr": "|O", "fortran_order": False, "shape": (1,)}
    np.lib.format.write_array_header_1_0(sink, head)
    trap = sink.getvalue() + pickle.dumps(Trap())

    def change(data):
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            members = {
                name: trap if name.endswith(".npy") else file.read(name) for name in file.namelist()
            }
        return mutants.archive(members)

    path = tmp_path / "fair.model"
    path.write_bytes(of_map(file_of("kernel", folder), change))
    with pytest.raises(InputError, match="cannot be read"):
        load(path)
