"""Write the golden files of a format version: models and their decisions.

After a version's release its folder is never written again, because later versions of the library
must still read it. Run this for a new version only:

    python -m tests.support.golden_files tests/persistence/golden/v2

While the version is not released yet, ``--again`` writes its folder again, and ``--add`` writes
only what it lacks.
"""

import json
import shutil
import sys
import warnings
from pathlib import Path

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import SplineTransformer
from sklearn.tree import DecisionTreeClassifier

from averagefair import (
    FeatureMap,
    Portfolio,
    RegressionOracle,
    StumpOracle,
    WeightedOracle,
    save,
)
from tests.support.model_files import Case, by_task, encoded, fitted, joined, strangers_of
from tests.support.small_fits import rounds

# Models that cover everything a file can store: classifiers, oracles, rates, names, people.
STORED = {
    "default": ("default, columns, error", False),
    "gradient": ("default, gradient, both", True),
    "stumps": ("a certified optimum", True),
    "constants": ("constants", False),
    "names": ("pandas, tasks set aside", True),
    "flat": ("one dimension", False),
    "weights": ("weights", True),
    "exceptions": ("beta", False),
    "influence": ("influence", False),
    "nested": ("portfolio of portfolios", False),
    "fixed": ("fixed, extended", True),
    "fixed-both-rates": ("fixed, blanks, both rates", True),
    "fixed-names": ("fixed, pandas tables", False),
}
# The same for scikit-learn's classifiers; only a few, because each takes 16 kB.
TREE = DecisionTreeClassifier(max_depth=2)
SMALL = {
    "tree": ({"oracle": TREE, "solver": rounds(1)}, True),
    "boosting": (
        {"oracle": HistGradientBoostingClassifier(max_iter=1), "solver": rounds(1)},
        False,
    ),
    "portfolio": (
        {"oracle": Portfolio([StumpOracle(), WeightedOracle(TREE)]), "solver": rounds(1)},
        False,
    ),
    "splines": (
        {"oracle": FeatureMap(SplineTransformer(3), RegressionOracle()), "solver": rounds(2)},
        True,
    ),
}
# Classifiers with chances for each task, and classifiers of two sets of tasks in one.
PER_TASK = {
    "by-task": lambda: by_task("default, gradient, error"),
    "by-task-stumps": lambda: by_task("stump, gradient, error"),
    "joined": lambda: joined("portfolio of portfolios"),
}
# A model that encodes words, dates and blanks.
ENCODED = {"encoded": lambda: encoded(decisions="drawn")}


def facts(model):
    """Return the answers that must not change: decisions exactly, chances to 1e-12."""
    X = strangers_of(model)
    return {
        "tasks": list(model.task_names_ if hasattr(model, "task_names_") else model.task_names),
        "chances": model.decision_probability(X).ravel().tolist(),
        "draws": model.predict(X, ids=[f"id {one}" for one in range(len(X))]).ravel().tolist(),
        **(facts_of_model(model) if hasattr(model, "certificate_") else {}),
    }


def facts_of_model(model):
    """Return what else must not change of a model: its figures, and the balance it went on with."""
    balance = getattr(model, "balance_", None)
    known = {"certificate": str(model.certificate_), "decisions": model.certificate_.decisions}
    if balance is not None:
        parts = {"wrong": balance.wrong.tolist(), "seen": balance.seen.tolist()}
        known["balance"] = {**parts, "tasks": balance.tasks, "names": list(balance.names)}
    return known


def main(folder, *, again=False, add=False):
    """Write all files into a folder; it must not exist unless files are written again or added."""
    if again and folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=add)
    told = json.loads((folder / "facts.json").read_text()) if add else {}
    for name, (case, extendable) in (STORED | SMALL).items():
        if name in told:
            continue
        known = Case(**case) if name in SMALL else fitted(case)
        save(known.model, folder / f"{name}.model", extendable=extendable)
        told[name] = facts(known.model)
        if extendable:
            later = known.model.extend(known.later)
            save(later, folder / f"{name}-later.model")
            told[name]["later labels"] = [[*row] for row in _cells(known.later)]
            told[f"{name}-later"] = facts(later)
    for name, make in (PER_TASK | ENCODED).items():
        if name in told:
            continue
        made = make()
        save(made, folder / f"{name}.model")
        told[name] = facts(made)
    (folder / "facts.json").write_text(json.dumps(told) + "\n")


def _cells(table):
    cells = table.to_numpy() if hasattr(table, "to_numpy") else table
    return [[None if cell != cell else int(cell) for cell in row] for row in cells.tolist()]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]), again="--again" in sys.argv, add="--add" in sys.argv)
