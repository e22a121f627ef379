"""
Audit of a scikit-learn model
=============================

Anybody's decisions can be audited: here those of a random forest for each task.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import RandomForestClassifier

from averagefair import audit
from averagefair.datasets import make_synthetic

people = make_synthetic(n_holdout=200)
forest = RandomForestClassifier(max_depth=4, random_state=0).fit(people.X, people.Y)
found = audit(people.Y_new_people, forest.predict(people.X_new), groups=people.groups_new)
print(found)
found.plot()
plt.show()
