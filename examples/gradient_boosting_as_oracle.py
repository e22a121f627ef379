"""
Gradient boosting as oracle
===========================

The default oracle learns linear thresholds, quickly. If labels depend on the interaction of two
features, a line is not enough. Any scikit-learn classifier that takes sample weights can be the
oracle instead. Here boosted trees learn which of eight medicines help which patients. Then we save
the model to a file, without pickle, and load it again.
"""

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    RegressionOracle,
    WeightedOracle,
    load,
)

rng = np.random.default_rng(5)
NAMES = ["other illness", "age", "kidneys", "liver", "weight"]
MEDICINES = 8

# %%
# Patients and medicines
# ----------------------
#
# Whether a medicine helps depends on two measurements at once: it helps if both are high or both
# are low. For patients with much other illness, outcomes are harder to predict.

pairs = [rng.choice(len(NAMES), size=2, replace=False) for _ in range(MEDICINES)]
alone = rng.normal(scale=0.13, size=(len(NAMES), MEDICINES))


def make_patients(count: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return measurements, and which medicines help."""
    measured = rng.normal(size=(count, len(NAMES)))
    together = np.column_stack(
        [measured[:, first] * measured[:, second] for first, second in pairs]
    )
    luck = np.where(measured[:, :1] > 0.5, 1.2, 0.2) * rng.normal(size=together.shape)
    helps = 1.3 * together + measured @ alone + luck > 0
    return pd.DataFrame(measured, columns=NAMES), helps.astype(int)


patients, helps = make_patients(300)
new_patients, new_helps = make_patients(600)

# %%
# Three oracles
# -------------
#
# Boosting fits one classifier for each task and answer, so we ask it less often than the default:
# at most twelve rounds, fewer without a gain, and none for new tasks (``mapping_rounds=0``).
# ``max_bins=16`` makes small fits quick. A pipeline that ends in an oracle is an oracle too: with
# products of features as input, least squares can use the products. That is the best choice if you
# know that products matter. Boosting finds the products itself.

small_trees = HistGradientBoostingClassifier(
    max_iter=6,
    max_leaf_nodes=5,
    learning_rate=0.4,
    min_samples_leaf=8,
    max_bins=16,
    early_stopping=False,
)
ORACLES = {
    "default, linear": None,
    "products, least squares": make_pipeline(PolynomialFeatures(2), RegressionOracle()),
    "boosted trees": WeightedOracle(small_trees),
}
# A limit that ends a fit gives a warning, which we expect here.
warnings.simplefilter("ignore", ConvergenceWarning)
FEW_ANSWERS = ColumnGeneration(max_rounds=12, patience=3, mapping_rounds=0)

models, rows = {}, []
for name, oracle in ORACLES.items():
    solver = FEW_ANSWERS if name == "boosted trees" else None
    for alpha in (0.5, 0.1):
        start = perf_counter()
        model = AverageFairClassifier(alpha, oracle=oracle, solver=solver, random_state=0)
        models[name, alpha] = model.fit(patients, helps)
        rows.append(
            {
                "oracle": name,
                "alpha": "none" if alpha == 0.5 else f"{alpha:g}",
                "error": model.error_,
                "spread": model.certificate_.spread,
                "error, new": 1 - model.score(new_patients, new_helps),
                "seconds": perf_counter() - start,
            }
        )
table = pd.DataFrame(rows)
print(table.round(3).to_string(index=False))

# %%
# All three meet ``alpha`` on the training patients, at different costs. Lines do little better than
# a coin on new patients. Trees fit the training patients better than new ones: three hundred
# patients are few for them. Eight tasks are few too: a person's rate is then mostly luck, and
# equalising it costs much.

figure, ax = plt.subplots(figsize=(5.8, 4.4), layout="constrained")
for alpha, marker, colour in (("none", "s", "#d55e00"), ("0.1", "o", "#0b4f8a")):
    mine, shift = table[table["alpha"] == alpha], 0.12 if alpha == "none" else -0.12
    asked = "no constraint" if alpha == "none" else f"alpha = {alpha}"
    y = np.arange(len(mine)) + shift
    ax.hlines(y, mine["error"], mine["error, new"], color=colour, linewidth=1.5)
    ax.plot(mine["error"], y, marker, color=colour, label=f"{asked}, learned from")
    look = {"markerfacecolor": "white", "markeredgewidth": 1.5}
    ax.plot(mine["error, new"], y, marker, color=colour, label=f"{asked}, new patients", **look)
ax.set_yticks(range(len(ORACLES)), list(ORACLES))
ax.set(xlabel="overall error", xlim=(0, 0.5), ylim=(-0.5, len(ORACLES) - 0.5))
ax.spines[["top", "right"]].set_visible(False)
figure.legend(frameon=False, ncols=2, loc="outside lower center")
figure.suptitle("Error by oracle, on patients learned from\nand on new ones")
plt.show()

# %%
# The certificate of the boosted model says what was requested and reached. It also says that with
# such an oracle nothing is proved about the best possible error.

fair = models["boosted trees", 0.1]
print(fair.certificate_)

# %%
# Into a file and back
# --------------------
#
# A model file holds the trees and no code. It holds training patients only with
# ``extendable=True``.

with TemporaryDirectory() as folder:
    path = Path(folder) / "medicines.model"
    fair.save(path)
    size = path.stat().st_size
    loaded = load(path)

same = np.array_equal(loaded.predict(new_patients), fair.predict(new_patients))
print(f"{size / 1e6:.1f} MB; the same decisions for new patients: {same}")

# %%
# :doc:`/oracles` has more oracles, and what each of them is good for.
