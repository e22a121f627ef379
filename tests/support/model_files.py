"""Fitted models of every kind that can be stored, and the contents of their files."""

import json
from functools import cache
from hashlib import blake2b

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from safetensors import safe_open
from safetensors.numpy import save as packed
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from averagefair import (
    ColumnGeneration,
    ErrorRate,
    FalseNegativeRate,
    FalsePositiveRate,
    LogisticOracle,
    Mixture,
    Portfolio,
    RegressionOracle,
    Sample,
    StumpOracle,
    WeightedOracle,
)
from averagefair.game.per_task_choice import choose_per_task
from averagefair.persistence import load, save
from tests.support.small_fits import (
    FEATURES,
    ORACLES,
    STRANGERS,
    TASKS,
    UNEVEN,
    M,
    N,
    model,
    people,
    rounds,
)

WHO = [f"Zebedee-{i:03}" for i in range(N)]
LATER = [f"later {j}" for j in range(4)]
STRANGE_IDS = [f"stranger {i}" for i in range(len(STRANGERS))]
QUICK = ColumnGeneration(max_rounds=12, patience=4, mapping_rounds=6)
TABLES = {
    "pandas": lambda cells, names, rows: pd.DataFrame(cells, index=rows, columns=names),
    "polars": lambda cells, names, rows: pl.DataFrame(cells, schema=names),
    "pyarrow": lambda cells, names, rows: pa.table(dict(zip(names, cells.T, strict=True))),
}
CASES = {
    f"{oracle}, {solver}, {rate}": {"oracle": ORACLES[oracle], "solver": how, "rate": which}
    for oracle in ("default", "stump")
    for solver, how in (("columns", QUICK), ("gradient", rounds(8)))
    for rate, which in (
        ("error", "error"),
        ("false positives", "false_positive"),
        ("false negatives", FalseNegativeRate()),
        ("both", ["false_positive", "false_negative"]),
    )
} | {
    "list of one rate": {"rate": ["false_negative"]},
    "ridge": {"oracle": RegressionOracle(l2=2.0)},
    "blanks": {"blanks": 0.3},
    "blanks, stump": {"blanks": 0.3, "oracle": StumpOracle(), "solver": QUICK},
    "weights": {"sample_weight": UNEVEN, "task_weight": np.arange(1.0, M + 1)},
    "nobody and nothing": {"sample_weight": np.arange(N) % 3, "task_weight": np.arange(M)},
    "tasks set aside": {"rate": FalsePositiveRate(holdout_tasks=2)},
    "tasks set aside, columns": {"rate": ErrorRate(holdout_tasks=2), "solver": QUICK},
    "outside rho": {"rate": ErrorRate(rho=np.linspace(0.2, 0.9, N))},
    "ids": {"ids": WHO},
    "one dimension": {"flat": True},
    "beta": {"beta": 0.2, "solver": QUICK},
    "influence": {"max_influence": 3.0, "solver": QUICK},
    "batches": {"solver": rounds(3, batch_size=2, replay=False)},
    "default slack": {"alpha": None},
    "a certified optimum": {"solver": None, "oracle": StumpOracle()},
    "constants": {"solver": ColumnGeneration(max_rounds=2), "alpha": 1e-4, "flat": True},
    "tree": {"oracle": DecisionTreeClassifier(max_depth=3, random_state=0)},
    "tree, columns": {"oracle": ORACLES["tree"], "solver": QUICK},
    "boosting": {"oracle": HistGradientBoostingClassifier(max_iter=3), "solver": rounds(2)},
    "forest": {"oracle": RandomForestClassifier(3, max_depth=3), "solver": rounds(2)},
    "words": {
        "oracle": WeightedOracle(LogisticRegression(), classes=("no", "yes")),
        "solver": rounds(2),
    },
    "portfolio": {
        "oracle": Portfolio([StumpOracle(), WeightedOracle(DecisionTreeClassifier(max_depth=2))])
    },
    "portfolio of portfolios": {
        "oracle": Portfolio([Portfolio([StumpOracle(), RegressionOracle()]), LogisticOracle()])
    },
    **{f"{kind} tables": {"table": kind} for kind in TABLES},
    "pandas, one named column": {"table": "pandas", "flat": True},
    "pandas, tasks set aside": {"table": "pandas", "rate": FalsePositiveRate(holdout_tasks=2)},
}
STUMPS_AND_TREES = Portfolio([StumpOracle(), WeightedOracle(DecisionTreeClassifier(max_depth=2))])
FIXED = {
    "fixed": {"solver": QUICK},
    "fixed, gradient": {},
    "fixed, blanks, both rates": {"blanks": 0.3, "rate": ["false_positive", "false_negative"]},
    "fixed, weights": {"sample_weight": UNEVEN, "task_weight": np.arange(M)},
    "fixed, tasks set aside": {"rate": FalsePositiveRate(holdout_tasks=2)},
    "fixed, outside rho": {"rate": ErrorRate(rho=np.linspace(0.2, 0.9, N))},
    "fixed, one dimension": {"flat": True, "oracle": StumpOracle()},
    "fixed, several kinds": {"oracle": STUMPS_AND_TREES},
    "fixed, pandas tables": {"table": "pandas", "solver": QUICK},
    "fixed, extended": {"solver": QUICK, "extended": 2},
    "fixed, several kinds, extended": {"oracle": STUMPS_AND_TREES, "extended": 1},
}
CASES |= {name: {"decisions": "fixed", **case} for name, case in FIXED.items()}


class Case:
    """A fitted model with its training data, in the form they were given.

    Decisions are drawn by default: most tests are about the chances. ``extended`` is how often the
    model is extended to later tasks, which count in its balance.
    """

    def __init__(self, *, blanks=0.0, flat=False, table=None, extended=0, **params):
        options = {
            name: params.pop(name)
            for name in ("sample_weight", "task_weight", "ids")
            if name in params
        }
        self.features, self.labels = people(blanks=blanks)
        _, later = people(seed=5, m=len(LATER), blanks=0.2)
        make = TABLES.get(table, lambda cells, names, rows: cells)
        self.X, self.later = make(self.features, FEATURES, WHO), make(later, LATER, WHO)
        self.Y = make(self.labels, TASKS, WHO)
        if flat:
            self.labels = self.labels[:, :1]
            self.Y = self.labels[:, 0] if table is None else self.Y[TASKS[0]]
        self.strangers = make(STRANGERS, FEATURES, STRANGE_IDS)
        self.table, self.rate = table, params.get("rate", "error")
        params = {"solver": rounds(8), "decisions": "drawn"} | params
        self.model = model(**params).fit(self.X, self.Y, **options)
        for call in range(extended):
            names = [f"task {j} of call {call}" for j in range(2)]
            self.model.extend(people(seed=20 + call, m=2, blanks=0.2)[1], task_names=names)


@cache
def fitted(case):
    return Case(**CASES[case])


def several_chances(count, tasks, seed=0):
    """Draw chances of ``count`` hypotheses in each task, shape (count, tasks); many are 0."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(size=(count, tasks)) * (rng.uniform(size=(count, tasks)) < 0.5)
    q[rng.integers(count, size=tasks), np.arange(tasks)] += 0.5
    return q / q.sum(axis=0)


def by_task(case):
    """Return classifiers with chances for each task, made of a fitted model's hypotheses."""
    known = fitted(case)
    hypotheses = known.model.classifiers_.hypotheses
    tasks = len(known.model.task_names_)
    sample = Sample(known.features, known.labels)
    return Mixture.by_task(hypotheses, several_chances(len(hypotheses), tasks), sample, seed=3)


def joined(case):
    """Return classifiers of a fitted model's tasks and of its later tasks, in one mixture."""
    known = fitted(case)
    first, second = known.model.classifiers_, known.model.extend(known.later)
    tasks = len(first.task_names), len(second.task_names)
    choice, columns = np.repeat([0, 1], tasks), np.concatenate([*map(np.arange, tasks)])
    hypotheses = [
        choose_per_task([one, other], choice, columns)
        for one, other in zip(first.hypotheses, second.hypotheses, strict=False)
    ]
    later = np.where(np.isnan(known.later), 0, known.later)
    sample = Sample(known.features, np.hstack([known.labels, later]))
    return Mixture(hypotheses, several_chances(len(hypotheses), sum(tasks)), sample, seed=4)


def raw_table(cells, rows=None):
    """Return people as a table with words, dates and blanks, made from three columns of numbers."""
    age, income, debt = cells.T
    words = np.array(["low", "middle", "high"], dtype=object)[np.digitize(income, [-0.5, 0.5])]
    words[np.abs(income) > 1.2] = None
    days = np.round(100 * np.clip(debt, -50, 50))
    days = pd.to_datetime("2020-01-01") + pd.to_timedelta(days, unit="D")
    return pd.DataFrame(
        {
            "age": np.where(age > 1.2, np.nan, age),
            "income": words,
            "since": days.strftime("%Y-%m-%d"),
        },
        index=rows,
    )


def encoded(m=M, **params):
    """Return a model that encodes words, dates and blanks."""
    cells, labels = people(m=m)
    table = raw_table(cells, WHO)
    return model(solver=rounds(8), encode=True, **params).fit(table, labels)


def strangers_of(one):
    """Return strangers as a table that a model or its classifiers take."""
    classifiers = getattr(one, "classifiers_", one)
    if classifiers.encoder is not None:
        return raw_table(STRANGERS)
    if classifiers.feature_names is None:
        return STRANGERS
    return pd.DataFrame(STRANGERS, columns=list(classifiers.feature_names))


def there_and_back(one, path, **options):
    save(one, path, **options)
    return load(path)


def assert_decides_the_same(one, other, *tables):
    for X in tables:
        ids = [f"id {i}" for i in range(len(X))]
        for ask in (
            lambda it, X=X: it.decision_probability(X),
            lambda it, X=X: it.predict(X),
            lambda it, X=X, ids=ids: it.predict(X, ids=ids),
        ):
            wanted, found = ask(one), ask(other)
            assert wanted.dtype == found.dtype
            np.testing.assert_array_equal(found, wanted)


def contents(path):
    """Return the arrays and the manifest of a model file."""
    with safe_open(str(path), framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return arrays, json.loads(file.metadata()["manifest"])


def altered(whole, folder, change):
    """Write the file with its arrays and its manifest changed; return the path."""
    path = folder / "altered.model"
    path.write_bytes(whole)
    arrays, head = contents(path)
    change(arrays, head)
    arrays = {name: np.ascontiguousarray(part) for name, part in arrays.items()}
    text = json.dumps(head)
    arrays.pop("digest", None)
    path.write_bytes(packed(arrays | {"digest": seal(arrays, text)}, {"manifest": text}))
    return path


def seal(arrays, text):
    """Return the hash of a manifest and its arrays, so that a changed file has a valid hash."""
    parts = [text.encode()]
    for name, part in sorted(arrays.items()):
        parts += [f"\n{name} {part.dtype.str} {part.shape}\n".encode(), part.tobytes()]
    return np.frombuffer(blake2b(b"".join(parts), digest_size=16).digest(), np.uint8)
