"""
A lender's portfolio
====================

A lender has many products, from a phone contract to a mortgage, and a classifier for each. A
mistake that hurts the applicant is a *false negative*: a person who would have paid back is
refused. Some people are wrongly refused in product after product. This page promises fewer wrong
refusals to the worst-off tenth, compares that with equal rates, and shows who pays. Products are
weighted by how much they are used.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from averagefair import AverageFairClassifier, WorstOff, frontier, individual_rates, who_pays
from averagefair.game.who_pays import most_changed

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
#
# A price says how much overall error a point less for the worst-off tenth is worth. Each row of the
# table is a model with its price. *Worst off* is the rate at which the worst-off tenth of the
# people are wrongly refused. *Better* and *worse* are shares of the people, compared with the model
# that asks for nothing.

asked = {"rate": "false_negative", "task_weight": volume, "random_state": 0}
curve = frontier(features, pays_back, [0.05, 0.1, 0.25], promise=WorstOff(0.1), **asked)
print(curve)

# %%
# With nothing asked, the worst-off tenth are wrongly refused in about three cases of four. Choose
# by how low this figure must be:

choice = curve.select(max_worst_off=0.5)
print(choice.statement())

# %%
# Equal rates beside it
# ---------------------
#
# The other promise is that everybody is wrongly refused about equally often. With an ``alpha`` of
# 0.25, any two people's rates differ by at most 0.5.

equal = frontier(features, pays_back, [0.25], **asked)[0]
print(equal.statement())

# %%
# The two cost about the same error. Each dot is a person. Below the line are people who are better
# off than with nothing asked. Equal rates may even reward a wrong refusal of a person whose rate is
# low: more of the dots at the left lie above the line.

models = {"worst-off tenth": choice.model, "equal rates": equal.model}
before = choice.unconstrained.rates
figure, panels = plt.subplots(1, 2, figsize=(7.2, 4.0), sharey=True, layout="constrained")
for ax, (name, model) in zip(panels, models.items(), strict=True):
    after = model.individual_rates_
    for who, mask, colour in (("others", ~thin, "#0b4f8a"), ("thin file", thin, "#d55e00")):
        ax.plot(before[mask], after[mask], "o", color=colour, markersize=3, alpha=0.6, label=who)
    ax.plot([0, 1], [0, 1], color="black", linewidth=1)
    pays = who_pays(before, after)
    ax.set_title(f"{name}:\n{pays.better:.0%} better off, {pays.worse:.0%} worse off")
    ax.set_xlabel("wrongly refused, nothing asked")
    ax.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("wrongly refused, with this promise")
panels[0].legend(frameon=False, loc="upper left")
plt.show()

# %%
# Behind the shares are persons. Who gains most, and who loses most?

names = [f"person {number}" for number in np.flatnonzero(rated)]
gains, losses = most_changed(names, before, choice.model.individual_rates_, count=3)
for title, listed in (("gain most", gains), ("lose most", losses)):
    print(title, "; ".join(f"{who} {old:.2f} to {new:.2f}" for who, old, new in listed))

# %%
# What one rate leaves open
# -------------------------
#
# Refusing nobody would make all false-negative rates zero. So look at the other mistake too: a loan
# to a person who will not pay it back. With a list of rates, each rate has its own worst-off tenth.

both = AverageFairClassifier(
    worst_off=0.1, price=0.1, rate=["false_positive", "false_negative"], random_state=0
).fit(features, pays_back, task_weight=volume)
print(both.certificate_)

# %%
# The tables compare four models. They show the overall error. For each kind of mistake they show
# the rate for people with a thin file, the rate for the others, and the mean rate of the worst-off
# tenth.

free = AverageFairClassifier(alpha=0.5, random_state=0).fit(features, pays_back, task_weight=volume)
models = {"nothing asked": free, **models, "worst-off, both rates": both}
KINDS = {"refused wrongly": "false_negative", "lent wrongly": "false_positive"}
for kind, rate in KINDS.items():
    table = {}
    for name, model in models.items():
        decided = model.decision_probability(features)
        rates = individual_rates(pays_back, decided, rate, task_weight=volume)
        table[name] = {
            "error": model.error_,
            "thin file": rates[thin].mean(),
            "others": rates[~thin].mean(),
            "worst-off tenth": np.sort(rates)[-len(rates) // 10 :].mean(),
        }
    print(f"{kind}:\n{pd.DataFrame(table).T.round(3).to_string()}\n")

# %%
# If only wrong refusals count, the model lends to more people, and more of them get loans that they
# cannot pay back. With both rates the worst-off gain in both, and the error is higher.
#
# These results are for the training people and products. To see what carries over to new people,
# read :ref:`sphx_glr_gallery_from_people_to_report.py` and :doc:`/guides/choosing-a-promise`.
