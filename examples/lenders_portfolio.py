"""
A lender's portfolio
====================

A lender has many products, from a phone contract to a mortgage, and a classifier for each. A
mistake that hurts the applicant is a *false negative*: a person who would have paid back is
refused. Some people are wrongly refused in product after product. This page equalises such refusals
between people, weights products by how much they are used, and states the price in words.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from averagefair import AverageFairClassifier, frontier, individual_rates
from averagefair.showing.plots import RatesDisplay

rng = np.random.default_rng(11)
PEOPLE, PRODUCTS = 300, 40

# %%
# The people and the products
# ---------------------------
#
# Whether somebody pays back depends on their means, which the lender guesses from what is on file.
# A quarter of the people have a thin file: they have lived abroad, or borrowed from friends. The
# lender ignores what is not on file, so these people look poorer than they are.

thin = rng.random(PEOPLE) < 0.25
means = rng.normal(size=PEOPLE)
on_file = means - 1.2 * thin
features = pd.DataFrame(
    {
        "income": means + 0.8 * rng.normal(size=PEOPLE),
        "savings": on_file + 0.5 * rng.normal(size=PEOPLE),
        "payments": on_file + 0.5 * rng.normal(size=PEOPLE),
        "age": rng.normal(size=PEOPLE),
        "household": rng.normal(size=PEOPLE),
    }
)
demand = rng.normal(scale=0.4, size=PRODUCTS)
suits = features[["age", "household"]].to_numpy() @ rng.normal(scale=0.4, size=(2, PRODUCTS))
luck = rng.normal(scale=0.6, size=(PEOPLE, PRODUCTS))
pays_back = (0.5 * means[:, None] - demand + suits + luck > 0).astype(float)

# %%
# A few products have most of the volume. ``task_weight`` takes these volumes: a refusal in a
# product with ten times the volume counts ten times.

volume = rng.lognormal(sigma=1.0, size=PRODUCTS)

# %%
# A person who would pay back in no product has no false-negative rate, and a warning would name
# them. A rate over two products says little. So we keep people who have at least three labels of
# each kind.

rated = np.minimum(pays_back.sum(axis=1), (1 - pays_back).sum(axis=1)) >= 3
print(f"left out: {np.count_nonzero(~rated)} of {PEOPLE} people")
features, pays_back, thin = features[rated], pays_back[rated], thin[rated]

# %%
# The price of fewer repeated refusals
# ------------------------------------

curve = frontier(
    features,
    pays_back,
    [0.1, 0.15, 0.2, 0.3],
    rate="false_negative",
    task_weight=volume,
    random_state=0,
)
print(curve)

# %%
# Without a constraint, some creditworthy people are hardly ever refused, and others nearly always.
# Choose by how far apart two people may be:

choice = curve.select(max_spread=0.3)
print(choice.statement())

# %%

figure, ax = plt.subplots(figsize=(5.8, 4.4), layout="constrained")
RatesDisplay.from_point(choice).plot(ax)
figure.suptitle("How often people who would pay back are refused,\nwith and without a constraint")
plt.show()

# %%
# What one rate leaves open
# -------------------------
#
# Refusing nobody would make all false-negative rates zero, and so equal. So look at the other
# mistake too: a loan to a person who will not pay it back. With a list of rates, each rate lies
# within ``alpha`` of its own common rate.

both = AverageFairClassifier(
    alpha=0.15, rate=["false_positive", "false_negative"], random_state=0
).fit(features, pays_back, task_weight=volume)
print(both.certificate_)

# %%
# The tables compare three models. They show the overall error. For each kind of mistake they show
# the rate for people with a thin file, the rate for the others, and the spread.

free = AverageFairClassifier(alpha=0.5, random_state=0).fit(features, pays_back, task_weight=volume)
models = {"no constraint": free, "false negatives": choice.model, "both rates": both}
KINDS = {"refused wrongly": "false_negative", "lent wrongly": "false_positive"}
rates = {
    (name, kind): individual_rates(
        pays_back, model.decision_probability(features), rate, task_weight=volume
    )
    for name, model in models.items()
    for kind, rate in KINDS.items()
}
for kind in KINDS:
    mine = {name: rates[name, kind] for name in models}
    table = {
        "error": {name: model.error_ for name, model in models.items()},
        "thin file": {name: everybody[thin].mean() for name, everybody in mine.items()},
        "others": {name: everybody[~thin].mean() for name, everybody in mine.items()},
        "spread": {name: np.ptp(everybody) for name, everybody in mine.items()},
    }
    print(f"{kind}:\n{pd.DataFrame(table).round(3).to_string()}\n")

# %%
# If only false negatives are constrained, the model lends to more people, and people still differ
# widely in how often they get loans that they cannot pay back. Constraining both rates brings both
# together, and costs more.

figure, panels = plt.subplots(2, 1, figsize=(5.8, 6.4), sharex=True, layout="constrained")
for ax, kind in zip(panels, KINDS, strict=True):
    for row, name in enumerate(models):
        everybody = rates[name, kind]
        shift = rng.uniform(-0.3, 0.3, size=everybody.size)
        ax.plot(everybody, row + shift, "o", color="#0b4f8a", markersize=2.5, alpha=0.4)
        ax.plot(everybody.mean(), row, "D", color="white", markeredgecolor="black", markersize=7)
    ax.set_yticks(range(len(models)), list(models))
    ax.set(ylabel="held to alpha", xlabel=f"share of the cases in which a person is {kind}")
    ax.spines[["top", "right"]].set_visible(False)
figure.suptitle(
    "Both kinds of mistake under three models:\na dot for each person, a diamond for the mean"
)
plt.show()

# %%
# These results are for the training people and products. To see what carries over to new people,
# read :ref:`sphx_glr_gallery_from_people_to_report.py`.
