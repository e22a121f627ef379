"""Check the numbers that the theory's functions take."""

from __future__ import annotations

import math
from numbers import Real

from averagefair._util.checks import whole_number
from averagefair.errors import InputError

_REALS = {
    "alpha": (0.25, "]", "It is half the slack; at a slack of 0.5 the constraint never binds."),
    "nu": (1.0, "]", "It is the accepted distance from equilibrium, such as 0.1."),
    "beta": (1.0, ")", "It is the share of individuals left without a promise, such as 0.05."),
    "delta": (1.0, ")", "It is the accepted chance of failure, such as 0.05."),
    "rho_min": (1.0, "]", "Leave out individuals for whom no task counts towards the rate."),
    "rho_inf": (1.0, "]", "Leave out individuals for whom no task counts towards the rate."),
    "rho_hat_min": (1.0, "]", "Leave out individuals for whom no task counts towards the rate."),
    "rho_tilde_min": (1.0, "]", "Estimate the shares of counting tasks from more tasks."),
    "B": (math.inf, ")", "`dual_bound` gives the paper's value."),
    "eta": (math.inf, ")", "`step_size` gives the paper's value."),
}
_COUNTS = {
    "n": "Pass the number of individuals.",
    "m": "Pass the number of tasks.",
    "m0": "Pass the number of tasks in a round's batch; `tasks_per_round` gives one that suffices.",
    "T": "Pass the number of rounds; `rounds` gives the paper's value.",
    "r": "Pass the number of draws for each task; 1 fixes one classifier for each.",
    "vc_dimension": "For linear thresholds it is the number of features plus one.",
}


def real(name: str, value: float) -> float:
    """Return the value as a float, or refuse it if it lies outside its range."""
    top, end, remedy = _REALS[name]
    number = isinstance(value, Real) and not isinstance(value, bool)
    if number and (0 < value < top or (end == "]" and value == top)):
        return float(value)
    raise InputError(f"`{name}` must lie in (0, {top:g}{end}; got {value!r}. {remedy}")


def count(name: str, value: int) -> int:
    """Return the value if it is a positive whole number, or refuse it."""
    return whole_number(name, value, remedy=_COUNTS[name])


def tasks_of_a_person(m: float) -> float:
    """Return the number of tasks, whole or effective, or refuse it if it is below 1."""
    if isinstance(m, Real) and not isinstance(m, bool) and m >= 1:
        return m if isinstance(m, int) else float(m)
    raise InputError(
        f"`m` must be a number of tasks, 1 or more; got {m!r}. `effective_tasks` gives a person's."
    )


def whole(what: str, value: float) -> int:
    """Round up, or refuse infinity and NaN."""
    if math.isfinite(value):
        return math.ceil(value)
    raise InputError(f"{what} must be finite; got {value!r}. Use larger alpha, nu, beta, rho_min.")


def hoeffding(events: int, m0: int, delta: float) -> float:
    """Return sqrt(log(events / delta) / (2 m0)): Hoeffding's bound on means of m0 draws."""
    log = math.log(events) - math.log(real("delta", delta))
    return math.sqrt(log / (2 * count("m0", m0)))
