"""
Audit of a scikit-learn model
=============================

Anybody's decisions can be audited: labels and decisions, people x tasks, are enough. Here a random
forest and a logistic regression for each task, both plain scikit-learn, decide about people they
have not seen. The audit says how unequally they err, on whom, and how much of that is noise. Then a
fair model is held against the better of the two, pair by pair.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

from averagefair import AverageFairClassifier, audit, compare
from averagefair.auditing.figures import draw_curve, draw_rates
from averagefair.datasets import make_synthetic

people = make_synthetic(n=400, m=100, q=0.9, n_holdout=300, m_holdout=100)
print(people)

# %%
# There are 200 tasks. The audit is over 100 of them; the other 100 are for the fair model to learn
# from, since fair models must be audited on tasks that they were not learned from.

past, labels = people.Y_new_tasks, people.Y_new_both  # of those learned from, and of others

# %%
# Two models, trained as usual
# ----------------------------
#
# A forest can learn all tasks at once; a logistic regression is fitted for each.

forest = RandomForestClassifier(n_estimators=50, min_samples_leaf=3, random_state=0)
forest.fit(people.X, past)
logistic = MultiOutputClassifier(LogisticRegression()).fit(people.X, past)

# %%
# The audit needs no model of ours. The question: is everybody, but for 5% of the people, within 0.1
# of a common error rate? ``groups`` are optional.

asked = {"groups": pd.Series(people.groups_new, name="group"), "alpha": 0.1, "beta": 0.05}
of_forest = audit(labels, forest.predict(people.X_new), **asked)
of_logistic = audit(labels, logistic.predict(people.X_new), **asked)
print(of_logistic)

# %%
# The logistic regression errs less than the forest on the whole, and less equally.

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
# Who is worse off, and how sure is that? Each person's rate comes with an interval.

figure, ax = plt.subplots(figsize=(5.8, 4.2), layout="constrained")
draw_rates(of_logistic, ax)
ax.set_title("Everybody's error rate under the logistic\nregression, with intervals")
plt.show()

# %%
# Everything drawn is in tables too. The worst off:

print(of_logistic.to_frame().nlargest(5, "rate")[["rate", "low", "high", "tasks"]].round(2))

# %%
# A fair model on the same people
# -------------------------------
#
# It learns from the other 100 tasks, and makes classifiers for these from their past labels. Its
# decisions are drawn; chances are audited, since draws would add noise.

fair = AverageFairClassifier(alpha=0.05, random_state=0).fit(people.X, people.Y)
of_fair = audit(labels, fair.extend(past).decision_probability(people.X_new), **asked)
audits["fair, alpha = 0.05"] = of_fair
print(in_short().to_string())

# %%
# :func:`~averagefair.compare` goes through people and tasks pair by pair, so that what both models
# have in common does not blur the difference.

print(compare(of_logistic, of_fair))

# %%
# The fair model errs more often on the whole, and people are nearer to each other. Of few single
# persons, if any, can it be shown that they are better or worse off: a hundred tasks are few for
# that. The whole picture is clear all the same.

figure, panels = plt.subplots(2, 1, figsize=(5.8, 8.2), sharex=True, layout="constrained")
for ax, name in zip(panels, ("logistic regression", "fair, alpha = 0.05"), strict=True):
    draw_curve(audits[name], ax).set_title(f"Share of people further off:\n{name}")
plt.show()

# %%
# A line further left is fairer; the cross is what was asked for. The light area is what noise alone
# would show. ``found.plot()`` draws all panels of an audit at once, and ``audit_report`` of
# ``averagefair.report`` writes them into a file. What each figure means: :doc:`/audit`.
