"""
Audit of a scikit-learn model
=============================

Anybody's decisions can be audited: labels and decisions, people x tasks, are enough. Here a random
forest and a logistic regression for each task, both plain scikit-learn, decide about people they
have not seen. The audit says how unequally the models err, on whom, and how much of that is noise.
Then a fair model is compared with the logistic regression, in paired differences.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

from averagefair import AverageFairClassifier, audit, compare
from averagefair.datasets import make_synthetic
from averagefair.showing.plots.audit import draw_curve, draw_rates

people = make_synthetic(n=400, m=100, q=0.9, n_holdout=300, m_holdout=100)
print(people)

# %%
# There are 200 tasks. The audit covers 100 of them. The fair model learns from the other 100,
# because fair models must be audited on tasks other than their training tasks.

past, labels = people.Y_new_tasks, people.Y_new_both  # of training people, of new people

# %%
# Two models, trained as usual
# ----------------------------
#
# A forest can learn all tasks at once; a logistic regression is fitted for each task.

forest = RandomForestClassifier(n_estimators=50, min_samples_leaf=3, random_state=0)
forest.fit(people.X, past)
logistic = MultiOutputClassifier(LogisticRegression()).fit(people.X, past)

# %%
# The audit needs no model of ours. We ask whether all but 5% of the people are within 0.1 of a
# common error rate. ``groups`` are optional.

asked = {"groups": pd.Series(people.groups_new, name="group"), "alpha": 0.1, "beta": 0.05}
of_forest = audit(labels, forest.predict(people.X_new), **asked)
of_logistic = audit(labels, logistic.predict(people.X_new), **asked)
print(of_logistic)

# %%
# The logistic regression has less error than the forest overall, but its errors are spread less
# equally over people.

audits = {"random forest": of_forest, "logistic regression": of_logistic}


def in_short() -> pd.DataFrame:
    """Return a row for each audit."""
    return pd.DataFrame(
        {
            name: {
                "mean error": found.mean.value,
                "all but 5% within": found.alpha_at(0.05),
                "... without the noise": found.curve.at(0.05)["denoised"],
                "group 1": found.groups[0].mean[0],
                "group 2": found.groups[0].mean[1],
            }
            for name, found in audits.items()
        }
    ).T.round(3)


print(in_short().to_string())

# %%
# Who is worse off, and how certain is it? Each person's rate comes with an interval.

figure, ax = plt.subplots(figsize=(5.8, 4.2), layout="constrained")
draw_rates(of_logistic, ax)
ax.set_title("Everybody's error rate under the logistic\nregression, with intervals")
plt.show()

# %%
# Tables hold everything that is drawn. These people are worst off:

print(of_logistic.to_frame().nlargest(5, "rate")[["rate", "low", "high", "tasks"]].round(2))

# %%
# A fair model on the same people
# -------------------------------
#
# The fair model learns from the other 100 tasks. It makes classifiers for the audited tasks from
# the training people's labels, ``past``. We audit the chances of its mapping. The classifiers of
# each task are then made without the other audited tasks.

fair = AverageFairClassifier(alpha=0.05, random_state=0).fit(people.X, people.Y)
of_fair = audit(labels, fair.mapping_.extend(past).decision_probability(people.X_new), **asked)
audits["fair, alpha = 0.05"] = of_fair
print(in_short().to_string())

# %%
# :func:`~averagefair.compare` uses paired differences over people and tasks, so what both models
# share cancels out.

print(compare(of_logistic, of_fair))

# %%
# The fair model errs more often overall, and people's rates are closer together. For nearly all
# single people the comparison is inconclusive, because a hundred tasks are too few. But the overall
# picture is clear.

figure, panels = plt.subplots(2, 1, figsize=(5.8, 8.2), sharex=True, layout="constrained")
for ax, name in zip(panels, ("logistic regression", "fair, alpha = 0.05"), strict=True):
    draw_curve(audits[name], ax).set_title(f"Share of people further off:\n{name}")
plt.show()

# %%
# A line farther left is fairer; the cross marks the request. The light area is what noise alone
# would show. ``found.plot()`` draws all panels of an audit at once, and ``audit_report`` of
# ``averagefair.showing.report`` writes them into a file. :doc:`/audit` explains each figure.
