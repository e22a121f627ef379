"""Tasks that were learned from: what an audit can say of them, and why no more.

A fair model brings rates together on the very tasks it is learned from: what somebody loses on one
task is made up on another. A person's mistakes on these tasks are then no independent draws, not
even for people who were not learned from. The noise of few tasks is estimated from how mistakes
vary between tasks, so it is estimated wrongly. With 1,000 people and 20 tasks learned from at alpha
0.05, the true differences of 600 new people came out as 0 in three of three synthetic populations;
on 800 fresh tasks their standard deviation was 0.018 to 0.019. With fewer people to learn from it
goes wrong less often. So the audit shows what was observed on these tasks, which is what a model
promises for them, and estimates nothing about others.
"""

from __future__ import annotations

WHY = (
    "These tasks were learned from. Fair learning makes a person's mistakes on them offset each "
    "other, so noise cannot be separated from true differences. The figures describe these tasks "
    "only; nothing is estimated for true rates."
)
REMEDY = (
    "For tasks in general, audit tasks that were not learned from: hold tasks out, and get their "
    "classifiers with `extend`."
)
REASON = "the tasks were learned from"
