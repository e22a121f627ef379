"""
School admissions with blanks
=============================

A student applies to a handful of schools, and each school judges whether the student would succeed
there. So most of the table *students x schools* is blank. This page promises low error rates to the
students who are misjudged most, compares that with equal rates, and shows who pays. The students
are made up. So here we know who would have succeeded at schools where they never applied.
"""

from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from averagefair import AverageFairClassifier, Equal, WorstOff, audit, individual_rates, who_pays

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
# Three models
# ------------
#
# Blanks need no preparation: a student's rate is over *their own* schools. The first model asks for
# nothing. The second promises a low mean rate to the worst-off tenth of the students. The third
# brings everybody's rate within 0.1 of a common rate.

PROMISES = {
    "nothing asked": Equal(0.5),
    "worst-off tenth": WorstOff(0.1, price=0.25),
    "equal rates": Equal(0.1),
}


@cache
def learn(times: int, name: str) -> AverageFairClassifier:
    """Learn from the known labels, with this promise."""
    model = AverageFairClassifier(promise=PROMISES[name], random_state=0)
    return model.fit(features, known_labels(times))


print(learn(1, "worst-off tenth").certificate_)

# %%
# Over their own schools, the worst-off gain a lot. But six labels cannot distinguish a student who
# is hard to judge from one who was unlucky. An audit of the model that asks for nothing says how
# much of the differences is noise. (The model was learned from these labels, so its mean error
# looks better than it is.)

found = audit(labels, learn(1, "nothing asked").decision_probability(features))
print(f"rates from {found.range.low:.2f} to {found.range.high:.2f}")
print(f"standard deviation of true rates, estimated: {found.dispersion.sigma:.3f}")

# %%
# What it is worth over all schools
# ---------------------------------
#
# What is a promise worth at schools to which these students did not apply? We can look, because we
# made up the students. We can also ask what happens with more labels: if each student had applied
# to three times as many schools, or to all. The columns are:
#
# * the mean number of labels for each student;
# * the error, and the mean rate of the worst-off tenth, over the students' own schools;
# * the same over all schools;
# * the shares of students who are better and worse off over all schools than with nothing asked.


def over_all(times: int, name: str) -> np.ndarray:
    """Return the students' rates over all schools."""
    return individual_rates(succeeds, learn(times, name).decision_probability(features))


rows = []
for times in (1, 3, 10):  # ten times as many covers all schools
    for name in PROMISES:
        model = learn(times, name)
        own = who_pays(learn(times, "nothing asked").individual_rates_, model.individual_rates_)
        all_schools = who_pays(over_all(times, "nothing asked"), over_all(times, name))
        rows.append(
            {
                "labels": known_labels(times).notna().sum(axis=1).mean(),
                "promise": name,
                "error, own": own.mean.after,
                "worst-off, own": own.worst_off.after,
                "error, all": all_schools.mean.after,
                "worst-off, all": all_schools.worst_off.after,
                "better": all_schools.better,
                "worse": all_schools.worse,
            }
        )
table = pd.DataFrame(rows)
print(table.round(3).to_string(index=False))

# %%
# With six labels for each student nothing helps the worst-off over all schools. Both models help
# students who were unlucky, and raise the mean rate of the worst-off slightly. With all labels
# known, the worst-off promise helps more than equal rates, at about a sixth of the cost. These are
# the students learned from; new students may gain less.

figure, ax = plt.subplots(figsize=(5.8, 4.2), layout="constrained")
LOOKS = {
    "nothing asked": ("#555555", "s"),
    "worst-off tenth": ("#0b4f8a", "o"),
    "equal rates": ("#d55e00", "^"),
}
for name, (colour, marker) in LOOKS.items():
    line = table[table["promise"] == name]
    ax.plot(line["labels"], line["worst-off, all"], color=colour, marker=marker, label=name)
ax.set(xlabel="labels known of each student", ylabel="mean rate of the worst-off tenth")
ax.set_ylim(0.2, 0.36)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower left")
ax.set_title(
    "The worst-off tenth over all schools:\nthe more labels are known, the more a promise helps"
)
plt.show()

# %%
# Who pays
# --------
#
# Each dot is a student, with three times as many labels known. A dot below the line is a student
# who is better off over all schools than with nothing asked.

figure, panels = plt.subplots(1, 2, figsize=(7.2, 4.0), sharey=True, layout="constrained")
before = over_all(3, "nothing asked")
for ax, name in zip(panels, ("worst-off tenth", "equal rates"), strict=True):
    after = over_all(3, name)
    for who, mask, colour in (("others", ~first, "#0b4f8a"), ("first in family", first, "#d55e00")):
        ax.plot(before[mask], after[mask], "o", color=colour, markersize=3, alpha=0.6, label=who)
    ax.plot([0, 0.5], [0, 0.5], color="black", linewidth=1)
    pays = who_pays(before, after)
    ax.set_title(f"{name}:\n{pays.better:.0%} better off, {pays.worse:.0%} worse off")
    ax.set_xlabel("rate with nothing asked")
    ax.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("rate with this promise")
panels[0].legend(frameon=False, loc="upper left")
plt.show()

# %%
# Equal rates raise the rates of nearly all students at the left, to bring them closer to others.
# The promise to the worst-off raises fewer rates, and by less.
#
# With few labels, do three things. Gather more tasks for each person (other years, other
# decisions). Ask for less (a lower price, a larger ``alpha``). Quote the audit's interval rather
# than the rates. :doc:`/guides/choosing-a-promise` compares all promises.
