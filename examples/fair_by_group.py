"""
Fair by group, unfair to the same people
========================================

fairlearn finds that a model's error rates are the same in both groups. The same decisions, person
by person, show something else: a few people, in both groups, are misjudged again and again.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from fairlearn.metrics import MetricFrame
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import zero_one_loss

from averagefair import AverageFairClassifier, audit

# %%
# There are three hundred people in two regions. In each region, 22 are newcomers, whose labels
# follow another rule.
rng = np.random.default_rng(0)
region = np.repeat(["north", "south"], 150)
newcomer = np.tile(np.arange(150) < 22, 2)
traits = rng.normal(size=(300, 8))
rule, other_rule = rng.normal(size=(2, 8, 100))
deserved = np.where(newcomer[:, None], traits @ other_rule, traits @ rule)
labels = (deserved > 0).astype(int)
X = np.column_stack([traits, region == "south", newcomer])

# %%
# The classifiers could be anybody's: here, a logistic regression for each task. fairlearn takes
# people x tasks as one long column, and finds the two regions alike.
decisions = np.column_stack([LogisticRegression().fit(X, task).predict(X) for task in labels.T])
by_region = MetricFrame(
    metrics=zero_one_loss,
    y_true=labels.ravel(),
    y_pred=decisions.ravel(),
    sensitive_features=pd.Series(np.repeat(region, labels.shape[1]), name="region"),
)
print(by_region.by_group)
print(f"difference between regions: {by_region.difference():.3f}")

# %%
# The audit looks at each person's own rate. Nearly all of the variance lies within regions. (It is
# better to audit held-out tasks: the page on groups and individuals does so.)
found = audit(labels, decisions, groups=pd.Series(region, name="region"))
print(found)

# %%
# Now learn all tasks together, with everybody within 0.1 of a common rate. Newcomers gain, and
# others pay. The page on groups and individuals has a better remedy for this case: a model that can
# follow both rules.
model = AverageFairClassifier(alpha=0.1, random_state=0).fit(X, labels)
figure, axes = plt.subplots(2, 1, sharex=True, sharey=True, layout="constrained")
figure.suptitle("Newcomers' error rates lie far above the others', then nearer")
rates = {"a logistic regression for each task": found.people.rate}
rates["learned together, alpha = 0.1"] = model.individual_rates_
for axis, (name, rate) in zip(axes, rates.items(), strict=True):
    print(f"{name}: newcomers {rate[newcomer].mean():.3f}, others {rate[~newcomer].mean():.3f}")
    bins = np.linspace(0, 0.6, 31)
    axis.hist([rate[~newcomer], rate[newcomer]], bins, stacked=True, color=["#0072B2", "#D55E00"])
    axis.set(title=name, ylabel="people")
axes[0].text(0.42, 12, "newcomers", color="#D55E00", ha="center", fontsize=12)
axes[0].text(0.1, 40, "others", color="#0072B2", fontsize=12)
axes[1].set_xlabel("individual error rate")
plt.show()
