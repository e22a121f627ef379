"""
Ad delivery at scale
====================

A platform decides which advertisements to show to whom. It has a classifier for each campaign, and
the people are always the same. This page learns two thousand campaigns together for two thousand
people, so that nobody is shown the wrong advertisements much more often than others. Then new
campaigns start, and get their classifiers without another fit. The times below were measured when
this page was built.
"""

import warnings
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    RegressionOracle,
    audit,
    individual_rates,
)
from averagefair.showing.plots import RatesDisplay

rng = np.random.default_rng(3)
PEOPLE, FEATURES = 2000, 10

# %%
# People and campaigns
# --------------------
#
# The platform's features come from what people have looked at. It knows less about newcomers, a
# quarter of the people, and their interests partly follow another rule. A label says whether the
# advertisement would have been welcome.

newcomer = rng.random(PEOPLE) < 0.25
interests = rng.normal(size=(PEOPLE, FEATURES))
blur = np.where(newcomer, 1.0, 0.4)[:, None]
features = interests + blur * rng.normal(size=interests.shape)


def make_campaigns(count: int) -> np.ndarray:
    """Return whether each advertisement is welcome to each person, shape (people, count)."""
    usual = rng.normal(size=(FEATURES, count))
    other = 0.5 * usual + 0.9 * rng.normal(size=(FEATURES, count))
    appeal = np.where(newcomer[:, None], interests @ other, interests @ usual)
    return (appeal + rng.normal(size=appeal.shape) > 1.0).astype(np.int8)


labels = make_campaigns(2000)
print(f"{labels.size:,} labels, {labels.mean():.0%} of them welcome")

# %%
# Two models
# ----------
#
# One model has no constraint (``alpha=0.5`` asks for nothing). The other keeps everybody within 0.1
# of a common error rate. Least squares as oracle and float32 make the fit quick: two matrix
# products answer all campaigns. We allow at most forty rounds; a few more would lower the error
# slightly. A limit that ends a fit gives a warning, which we expect here.

warnings.simplefilter("ignore", ConvergenceWarning)


def learn(alpha: float) -> AverageFairClassifier:
    """Learn all campaigns together."""
    return AverageFairClassifier(
        alpha=alpha,
        oracle=RegressionOracle(),
        solver=ColumnGeneration(max_rounds=40),
        dtype="float32",
        decisions="drawn",  # many small shows, each drawn by its chance
        random_state=0,
    ).fit(features, labels)


start = perf_counter()
free = learn(0.5)
between = perf_counter()
fair = learn(0.1)
end = perf_counter()
print(fair.certificate_)

# %%
# New campaigns
# -------------
#
# Four hundred campaigns start later. :meth:`~averagefair.AverageFairClassifier.extend` takes their
# labels on the training people and returns their classifiers. The fit learned a mapping for them:
# sets of prices over the training people. Extending takes one oracle answer for each set of prices,
# and no new fit.

later = make_campaigns(400)
before_extend = perf_counter()
later_fair = fair.extend(later)
after_extend = perf_counter()
later_free = free.extend(later)
print(
    pd.Series(
        {
            "without a constraint": between - start,
            "alpha = 0.1": end - between,
            "400 new campaigns": after_extend - before_extend,
        },
        name="seconds",
    )
    .round(2)
    .to_string()
)

# %%
# Does fairness carry over to held-out campaigns? With two thousand training tasks, it largely does.
# With four hundred tasks to measure on, the results have little noise. The table shows error over
# old and new campaigns for all people, newcomers and others. It also shows the spread (the largest
# minus the smallest rate) and the standard deviation of individual rates:

chances = {
    ("without a constraint", "old"): (labels, free.decision_probability(features)),
    ("alpha = 0.1", "old"): (labels, fair.decision_probability(features)),
    ("without a constraint", "new"): (later, later_free.decision_probability(features)),
    ("alpha = 0.1", "new"): (later, later_fair.decision_probability(features)),
}
rates = {key: individual_rates(*given) for key, given in chances.items()}
print(
    pd.DataFrame(
        {
            f"{model}, {campaigns}": {
                "error": everybody.mean(),
                "newcomers": everybody[newcomer].mean(),
                "others": everybody[~newcomer].mean(),
                "spread": np.ptp(everybody),
                "deviation": everybody.std(),
            }
            for (model, campaigns), everybody in rates.items()
        }
    )
    .T.round(3)
    .to_string()
)

# %%
# The difference between newcomers and the others shrinks, mostly because the others now get more
# wrong decisions. That is the price. To lower the newcomers' own rate, the platform would have to
# know more about them.

figure, ax = plt.subplots(figsize=(5.8, 4.6), layout="constrained")
RatesDisplay.from_rates(
    rates["without a constraint", "new"],
    rates["alpha = 0.1", "new"],
    names=("without a constraint", "alpha = 0.1"),
    alpha=0.1,
    rate_names=["error"],
).plot(ax)
figure.suptitle(
    "Individual error rates over campaigns that started\nlater, with and without a constraint"
)
plt.show()

# %%
# Each dot below is a person. People who are often misjudged in the old campaigns are often
# misjudged in the new ones. So the differences belong to people and are not chance. That is why a
# promise on old tasks can hold on similar new ones.

figure, ax = plt.subplots(figsize=(5.8, 5.0), layout="constrained")
for model, colour, marker in (
    ("without a constraint", "#d55e00", "s"),
    ("alpha = 0.1", "#0b4f8a", "o"),
):
    look = {"color": colour, "marker": marker, "linestyle": "", "markersize": 2.5, "alpha": 0.35}
    ax.plot(rates[model, "old"], rates[model, "new"], label=model, **look)
ax.axline((0.2, 0.2), slope=1, color="#555555", linestyle="--", label="the same rate")
ax.set(xlabel="error rate over the old campaigns", ylabel="error rate over the new campaigns")
ax.legend(frameon=False, markerscale=3)
ax.spines[["top", "right"]].set_visible(False)
ax.set_title("Everybody's error rate in old and in new campaigns:\npeople's rates carry over")
plt.show()

# %%
# The audit says the same in words, with intervals.

print(audit(*chances["alpha = 0.1", "new"], alpha=0.1, beta=0.05))

# %%
# For a million people and a graphics card see :doc:`/performance`.
