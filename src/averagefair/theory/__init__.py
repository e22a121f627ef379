"""The paper's constants, bounds and sample sizes, as functions of plain numbers.

:func:`draws_per_task`, :func:`draws_deviation` and :func:`effective_tasks` are ours.

Throughout this module ``alpha`` is *the theory's alpha*. In the paper's empirical fair learning
problem, every individual's rate must lie within a slack of 2 alpha of the common rate gamma.
Elsewhere in the library, ``alpha`` names that slack itself. So pass half of a user-facing ``alpha``
to the functions here; :func:`slack` converts back.

The theorems' guarantees assume an exact cost-sensitive oracle and the constants given here; ours do
not. Logarithms are natural. The numbers are worst cases, and large.
"""

from averagefair.theory.draws import draws_deviation, draws_per_task, effective_tasks
from averagefair.theory.promises import (
    Promise,
    in_sample,
    over_both,
    over_new_individuals,
    over_new_tasks,
)
from averagefair.theory.run import (
    Plan,
    auditor_regret,
    dual_bound,
    learner_regret,
    plan,
    rho_estimate_error,
    rounds,
    slack,
    step_size,
    tasks_needed,
    tasks_per_round,
)
from averagefair.theory.sizes import Sizes, individuals_needed, sizes_for_both, sparse_support

__all__ = [
    "Plan",
    "Promise",
    "Sizes",
    "auditor_regret",
    "draws_deviation",
    "draws_per_task",
    "dual_bound",
    "effective_tasks",
    "in_sample",
    "individuals_needed",
    "learner_regret",
    "over_both",
    "over_new_individuals",
    "over_new_tasks",
    "plan",
    "rho_estimate_error",
    "rounds",
    "sizes_for_both",
    "slack",
    "sparse_support",
    "step_size",
    "tasks_needed",
    "tasks_per_round",
]
