"""Learned tasks: what an audit can say about the tasks a fair model was trained on.

A fair model brings rates together on its training tasks: it offsets a person's mistakes on some
tasks by correct decisions on others. So a person's mistakes on these tasks depend on each other,
even for new people. The audit estimates noise from how mistakes vary between tasks. On these tasks
it would estimate the noise wrongly.

The size of the error was measured on three synthetic populations (1,000 people, 20 training tasks,
alpha 0.05). On the training tasks, the estimated standard deviation of 600 new people's true rates
was 0 each time. On 800 fresh tasks it was 0.018 to 0.019. With fewer training people, the error is
less frequent.

Fixed decisions for later tasks have the same effect: ``extend`` chooses their classifiers together,
and counts what people have had so far. The mapping alone makes each task's classifiers without the
other new tasks.

So the audit shows only what was observed on these tasks. A model's promise about its training tasks
is about these observed rates. The audit estimates nothing about other tasks.
"""

from __future__ import annotations

WHY = (
    "The model was trained on these tasks, or chose their classifiers together. A person's "
    "mistakes on them then offset each other, so noise cannot be separated from true differences. "
    "The figures describe these tasks only; true rates are not estimated."
)
REMEDY = (
    "For conclusions about other tasks, audit held-out tasks, with classifiers from "
    "`model.mapping_.extend`."
)
REASON = "the model was trained on these tasks"
