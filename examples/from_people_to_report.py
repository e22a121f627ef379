"""
From a table to a report
========================

You have a table: a row for each person, some columns that describe them, and a column for each task
with the right decision. This page goes from there to a report. It shows the trade-off curve and
what carries over to new people and tasks. Then it makes a choice and writes one HTML file to pass
on.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from averagefair import frontier, generalisation
from averagefair.datasets import make_synthetic
from averagefair.showing.plots import FrontierDisplay
from averagefair.showing.report import frontier_report

# %%
# The tables
# ----------
#
# The tables are made up here; yours would come from ``pd.read_csv``. There are two kinds of
# columns: ``x*`` describe people, ``task *`` are labels. A tenth of the labels are unknown, so they
# are blank.

made = make_synthetic(n=300, m=80, n_holdout=300, m_holdout=40)
rng = np.random.default_rng(0)


def to_table(X: np.ndarray, Y: np.ndarray, letter: str) -> pd.DataFrame:
    """Return one table with a row for each person, a tenth of the labels blank."""
    described = pd.DataFrame(X, columns=[f"x{place + 1}" for place in range(X.shape[1])])
    labels = np.where(rng.random(Y.shape) < 0.1, np.nan, Y)
    tasks = pd.DataFrame(labels, columns=[f"task {place + 1}" for place in range(Y.shape[1])])
    names = pd.Index([f"{letter}{number:03d}" for number in range(len(X))], name="person")
    return pd.concat([described, tasks], axis=1).set_index(names)


people = to_table(made.X, made.Y, "p")
newcomers = to_table(made.X_new, made.Y_new_people, "q")
print(people.iloc[:3, 18:24].to_string())

# %%
# To see what carries over, hold out some people (``newcomers``) and some tasks. Held-out tasks need
# labels on both the training people and the newcomers.

X, Y = people.filter(regex="^x"), people.filter(regex="^task")
X_new, Y_new = newcomers.filter(regex="^x"), newcomers.filter(regex="^task")
later = [f"later {place + 1}" for place in range(made.Y_new_tasks.shape[1])]
Y_later = pd.DataFrame(made.Y_new_tasks, index=people.index, columns=later)
Y_later_new = pd.DataFrame(made.Y_new_both, index=newcomers.index, columns=later)

# %%
# What does fairness cost?
# ------------------------
#
# One call learns the whole curve. Each line asks for everybody within ``alpha`` of a common error
# rate; two people then differ by at most twice that.

curve = frontier(X, Y, [0.03, 0.05, 0.08, 0.12, 0.16], random_state=0)
print(curve)

# %%
# What carries over?
# ------------------
#
# :func:`~averagefair.generalisation` measures every model of the curve on three kinds of held-out
# data: new people, new tasks, and both. New tasks get their classifiers from their labels on the
# training people, without a new fit.

measured = generalisation(
    curve, X_new=X_new, Y_new_people=Y_new, Y_new_tasks=Y_later, Y_new_both=Y_later_new
)
NAMES = {"people": "new people", "tasks": "new tasks", "both": "both new"}
print(
    pd.DataFrame(
        {"alpha": measured.training.value, "training": measured.training.error}
        | {name: getattr(measured, corner).error for corner, name in NAMES.items()}
    )
    .round(3)
    .to_string(index=False)
)

# %%
# The table and the first figure show error. The second figure shows fairness: how far all but 5% of
# the people are from a common rate. The newcomers are measured on the training tasks, so these
# values are as observed, including noise.

shown = FrontierDisplay.from_frontier(curve, measured)

figure, ax = plt.subplots(figsize=(5.8, 5.0), layout="constrained")
shown.plot(ax, "error")
figure.suptitle("Overall error at each alpha, in training and held out")
plt.show()

# %%

figure, ax = plt.subplots(figsize=(5.8, 5.0), layout="constrained")
shown.plot(ax, "near", corner="people")
figure.suptitle("How near to a common rate new people are,\nas observed on the tasks learned from")
plt.show()

# %%
# Error on newcomers is higher than in training, and rises with fairness as in training. So the
# curve can be used to choose. Fairness on newcomers follows the request much less: only part of the
# promise to the training people carries over.
#
# Choose, and write the report
# ----------------------------

choice = curve.select(max_spread=0.2)
print(choice.statement())

# %%
# The report is one file that opens offline: a slider along the curve, the price in words, who is
# worst off, and an audit of the chosen model on the newcomers. These are the training tasks, so the
# audit says what was observed on them and nothing about other tasks. The report names people, so be
# careful whom you give it to.

found = choice.model.audit(X_new, Y_new, beta=0.05)
page = frontier_report(
    curve, Y, measured=measured, choice=choice.value, audit=found, title="Our eighty tasks"
)
with TemporaryDirectory() as folder:  # yours would be a folder that stays
    path = Path(folder) / "report.html"
    path.write_text(page, encoding="utf-8")
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")

# %%
# The audit in words, as in the report:

print(found)

# %%
# ``averagefair frontier`` does the same from CSV files, without Python: see :doc:`/command-line`.
