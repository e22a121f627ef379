"""The cost of importing the package, and how other modules see its names."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from pickle import dumps, loads

import numpy as np
import pytest

import averagefair
from tests.support.places import ROOT


def python(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def needed(extra):
    """Return the packages of an extra, including those of extras that it names."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = settings["project"]["optional-dependencies"][extra]
    found = set()
    for one in asked:
        inner = re.fullmatch(r"averagefair\[(.*)\]", one)
        if inner:
            found |= {package for name in inner[1].split(",") for package in needed(name)}
        else:
            found.add(re.match(r"[\w-]+", one)[0])
    return found


def test_it_loads_few_modules():
    """The cost of an import is the modules it loads; NumPy alone loads more than a hundred."""
    count = "import sys; before = len(sys.modules); import {}; print(len(sys.modules) - before)"
    ours, numpy = (int(python(count.format(name))) for name in ("averagefair", "numpy"))
    assert ours < numpy / 2


def test_it_loads_none_of_the_extras_and_nothing_heavy():
    loaded = set(python("import averagefair, sys; print(*sys.modules)").split())
    extras = {one.replace("-", "_") for one in needed("all") | needed("test")}
    assert {"pyarrow", "typer", "dask", "matplotlib", "safetensors"} <= extras
    heavy = {"numpy", "scipy", "sklearn", "torch", "pandas", "highspy"}
    assert "averagefair" in loaded
    assert not (extras | heavy) & loaded


def test_nothing_but_the_data_set_reaches_for_the_network():
    names = "aiohttp|ftplib|http|httpx|pooch|requests|smtplib|socket|ssl|urllib"
    reaching = re.compile(rf"^\s*(?:import|from) (?:{names})\b", flags=re.MULTILINE)
    package = Path(averagefair.__file__).parent
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if reaching.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"datasets/communities.py"}


def test_learning_and_auditing_need_no_extra():
    extras = sorted(one.replace("-", "_") for one in needed("all") | {"pandas", "torch"})
    code = f"""
import sys
class Missing:  # as if they were not installed
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {extras}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Missing())
import numpy as np
from averagefair import AverageFairClassifier, audit
X, Y = np.eye(6), np.tile([[0, 1], [1, 0]], (3, 1))
model = AverageFairClassifier(alpha=0.2, random_state=0).fit(X, Y)
found = audit(Y, model.decision_probability(X))
print(found.mean.value)
try:
    found.to_frame()
except ModuleNotFoundError as error:
    print(error)
"""
    rate, remedy = python(code).splitlines()
    assert 0 <= float(rate) <= 0.5
    assert "pip install 'averagefair[pandas]'" in remedy


@pytest.mark.parametrize("name", averagefair.__all__)
def test_every_name_is_there_and_says_what_it_is(name):
    assert name in dir(averagefair)
    assert getattr(averagefair, name).__doc__.strip()


def test_a_function_is_not_hidden_by_the_module_it_lives_in():
    code = "import averagefair.frontier, averagefair; print(callable(averagefair.frontier))"
    assert python(code) == "True\n"


NOTEBOOK = """
import averagefair as af
from joblib import Parallel, delayed

def work(seed):  # of __main__, as in a notebook: sent by value, with the module it uses
    people = af.datasets.make_synthetic(n=20, m=4, random_state=seed)
    return af.frontier.__name__, af.individual_rates(people.Y, people.Y).max()
"""
WORKED = ("frontier", 0.0)


def test_a_notebooks_function_reaches_another_process(tmp_path):
    sent = tmp_path / "work.pickle"
    python(
        f"{NOTEBOOK}\nimport averagefair.datasets, cloudpickle, pathlib"
        f"\npathlib.Path({str(sent)!r}).write_bytes(cloudpickle.dumps(work))"
    )
    said = python(
        f"import pathlib, pickle; print(pickle.loads(pathlib.Path({str(sent)!r}).read_bytes())(1))"
    )
    assert eval(said, {"np": np}) == WORKED


@pytest.mark.long  # the test above sends the same function to one other process
def test_a_notebooks_function_reaches_the_workers_of_joblib():
    said = python(
        f"{NOTEBOOK}\nimport averagefair.datasets"
        "\nprint(Parallel(n_jobs=2, backend='loky')(delayed(work)(seed) for seed in (1, 2)))"
    )
    assert eval(said, {"np": np}) == [WORKED, WORKED]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: loads(dumps(x))])
def test_the_package_is_copied_by_its_name(copied):
    assert copied(averagefair) is averagefair


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="fronteer"):
        averagefair.fronteer  # noqa: B018


def test_one_version_everywhere():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    version = averagefair.__version__
    assert metadata.version("averagefair") == version
    assert re.search(r"^## (\S+)", changes, re.MULTILINE)[1] == version
    assert re.search(r"^version: (\S+)$", citation, re.MULTILINE)[1] == version
