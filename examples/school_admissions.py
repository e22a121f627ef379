"""
School admissions with blanks
=============================

A student applies to a handful of schools, and each school judges whether the student would succeed
there. So most of the table *students x schools* is blank. This page learns from such a table, and
shows what a handful of labels for each person can say, and what they cannot. The students are made
up. So here we know who would have succeeded at schools where they never applied.
"""

from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from averagefair import AverageFairClassifier, audit
from averagefair.showing.plots.audit import draw_rates

rng = np.random.default_rng(7)
STUDENTS, SCHOOLS = 300, 40

# %%
# The students
# ------------
#
# Success depends on ability, which no school sees. Schools see grades, an essay and an interview.
# These say less about students who are the first in their family to go to college.

ability = rng.normal(size=STUDENTS)
first = rng.random(STUDENTS) < 0.3
seen = np.where(first, 0.4, 1.0)
features = pd.DataFrame(
    {
        "grades": ability + rng.normal(scale=np.where(first, 0.8, 0.4)),
        "essay": seen * ability + rng.normal(scale=0.6, size=STUDENTS) - 0.6 * first,
        "interview": seen * ability + rng.normal(scale=0.6, size=STUDENTS) - 0.6 * first,
        "arts": rng.normal(size=STUDENTS),
        "science": rng.normal(size=STUDENTS),
    }
)

# %%
# Schools differ in their demands and in what they teach. A label says whether the student would
# succeed there.

demand = np.linspace(-1.0, 1.2, SCHOOLS)
taste = rng.normal(scale=0.5, size=(2, SCHOOLS))
chances = ability[:, None] - demand + features[["arts", "science"]].to_numpy() @ taste
succeeds = (chances + rng.normal(scale=0.4, size=chances.shape) > 0).astype(float)

# %%
# Students apply to between four and eight schools, most of them near their own level. Where a
# student did not apply the label is NaN.

wish = rng.gumbel(scale=0.4, size=chances.shape) - np.abs(ability[:, None] + 0.2 - demand)
order = (-wish).argsort(axis=1).argsort(axis=1)
applications = rng.integers(4, 9, size=STUDENTS)


def known_labels(times: int) -> pd.DataFrame:
    """Return the labels if students had applied to ``times`` times as many schools."""
    asked = order < times * applications[:, None]
    names = [f"school {number:02d}" for number in range(SCHOOLS)]
    return pd.DataFrame(np.where(asked, succeeds, np.nan), columns=names)


labels = known_labels(1)
print(labels.iloc[:5, 12:18].to_string(na_rep=""))
print(f"\n{labels.isna().to_numpy().mean():.0%} of the cells are blank")

# %%
# What six labels say about a student
# -----------------------------------
#
# First learn a model without a fairness constraint (``alpha=0.5`` asks for nothing), and audit its
# decisions where students applied. The model was learned from these labels, so its mean error looks
# better than it is. Each school was learned separately, so errors at one school do not offset
# errors at another. The audit can therefore treat schools as independent draws.


@cache
def learn(times: int, alpha: float) -> AverageFairClassifier:
    """Learn from the known labels, with this alpha."""
    return AverageFairClassifier(alpha=alpha, random_state=0).fit(features, known_labels(times))


free = learn(times=1, alpha=0.5)
found = audit(labels, free.decision_probability(features), groups=pd.Series(first, name="first"))
print(found)

# %%
# Individual rates vary widely, but they say almost nothing about any one student: an error rate
# over six labels moves in steps of a sixth. The audit says so: noise alone would spread people as
# widely, and each person's interval is wide.

figure, ax = plt.subplots(figsize=(5.8, 4.2), layout="constrained")
draw_rates(found, ax)
ax.set_title("Error rates over four to eight schools,\nwith an interval for each")
plt.show()

# %%
# Learning with blanks
# --------------------
#
# Blanks need no preparation. The fit brings everybody's error rate over *their own* schools within
# ``alpha`` of a common rate.

fair = learn(times=1, alpha=0.1)
print(fair.certificate_)

# %%
# The model keeps the promise on the training labels. What is the promise worth on schools to which
# these students did not apply? We can look, because we made up the students. We can also ask what
# happens with more labels: if each student had applied to three times as many schools, or to all.
# The columns are:
#
# * the mean number of labels for each student, and alpha;
# * error and spread over the students' own schools;
# * error over all schools, and how far all but 5% of the students are from a common rate there.


def furthest(model: AverageFairClassifier) -> float:
    """Return how far from a common rate all but 5% of the students are, over all schools."""
    return audit(succeeds, model.decision_probability(features)).alpha_at(0.05)


rows = []
for times in (1, 3, 10):  # ten times as many covers all schools
    for alpha in (0.5, 0.1):
        model = learn(times, alpha)
        rows.append(
            {
                "labels": known_labels(times).notna().sum(axis=1).mean(),
                "alpha": "none" if alpha == 0.5 else alpha,
                "error, own": model.error_,
                "spread, own": model.certificate_.spread,
                "error, all": 1 - model.score(features, succeeds),
                "within, all": furthest(model),
            }
        )
table = pd.DataFrame(rows)
print(table.round(3).to_string(index=False))

# %%
# With six labels for each student the promise costs error, and over all schools people are about as
# far apart as without it. Six labels cannot distinguish a student who is hard to judge from one who
# was unlucky, so the model equalises luck. With more labels the same request carries over.

figure, ax = plt.subplots(figsize=(5.8, 4.2), layout="constrained")
for asked, colour, marker in (("none", "#d55e00", "s"), (0.1, "#0b4f8a", "o")):
    line = table[table["alpha"] == asked]
    name = "without a constraint" if asked == "none" else "alpha = 0.1"
    x, y = line["labels"], line["within, all"]
    ax.plot(x, y, color=colour, marker=marker, label=name)
ax.axhline(0.1, color="#555555", linestyle="--", label="as requested on the labels known")
ax.set(xlabel="labels known of each student", ylabel="distance of all but 5% from a common rate")
ax.set_ylim(bottom=0)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower left")
ax.set_title("What the promise is worth over all schools:\nthe more labels are known, the more")
plt.show()

# %%
# With few labels, do three things. Gather more tasks for each person (other years, other
# decisions). Ask for less (a larger ``alpha``). Quote the audit's interval rather than the spread.
# More students do not help; :doc:`/audit` says why.
