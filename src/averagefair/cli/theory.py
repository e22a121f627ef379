"""``averagefair theory``: the paper's constants and sample sizes, and what they mean for you."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from averagefair.checks import positive_number, whole_number
from averagefair.cli import options as given
from averagefair.cli.speech import answer, wrapped
from averagefair.errors import InputError
from averagefair.text import percent


def theory(
    alpha: Annotated[float, typer.Option(help="The slack: how far a rate may lie from the rest.")],
    n: Annotated[int, typer.Option(help="How many people.")],
    nu: Annotated[float, typer.Option(help="Distance from equilibrium to accept.")] = 0.1,
    delta: Annotated[
        float,
        typer.Option(
            help="The paper's delta. Promises about new people or tasks fail 5 to 12 times "
            "as often."
        ),
    ] = 0.05,
    m: Annotated[int | None, typer.Option(help="How many tasks you have.")] = None,
    beta: Annotated[float, typer.Option(help="Share of new people left without a promise.")] = 0.05,
    features: Annotated[
        int | None, typer.Option(help="How many features: linear thresholds over them.")
    ] = None,
    rho_min: Annotated[
        float | None,
        typer.Option(
            help="For false positives or negatives: the least share of tasks that count for "
            "anybody."
        ),
    ] = None,
    as_json: given.AsJson = False,
) -> None:
    """Tell what the paper's theorems ask for and promise, and whether n and m are enough.

    alpha is the slack, as everywhere in averagefair; the theory's own alpha is half of it.

    Example: averagefair theory --alpha 0.1 --nu 0.1 --n 1000 --delta 0.05 --m 50 --features 20
    """
    from averagefair import theory as paper

    half = positive_number("--alpha", alpha, 0.5) / 2
    for name, count in (("--n", n), ("--m", m), ("--features", features)):
        if count is not None:
            whole_number(name, count)
    if features is not None and m is None:
        raise InputError("how many people are needed depends on the tasks too: give --m.")
    people = None
    try:
        plan = paper.plan(half, nu, n, delta=delta, rho_min=rho_min)
        if m is not None and features is not None:
            people = paper.individuals_needed(half, nu, beta, delta, m, features + 1)
    except ArithmeticError:
        raise InputError(
            "these numbers ask for more than can be counted; use a larger alpha, nu or beta."
        ) from None
    promises = {
        "in_sample": paper.in_sample(half, nu, delta),
        "new_tasks": paper.over_new_tasks(half, delta),
        "new_people": paper.over_new_individuals(half, beta, delta),
        "both": paper.over_both(half, beta, delta),
    }
    certain = rho_min is None
    verdict = _verdict(plan, promises, n=n, m=m, people=people, beta=beta, certain=certain)
    rows = [
        ("slack (your alpha)", f"{plan.slack:g}"),
        ("the theory's alpha, half of it", f"{half:g}"),
        ("bound of the multipliers B", f"{plan.dual_bound:g}"),
        ("rounds T", f"{plan.rounds:,}"),
        ("step size eta", f"{plan.step_size:.3g}"),
        ("tasks in each round's fresh batch m0", f"{plan.tasks_per_round:,}"),
        ("tasks needed m = m0 T", f"{plan.tasks_needed:,}"),
        ("people needed n", "give --m and --features" if people is None else f"{people:,}"),
    ]
    text = "\n".join(f"{name:<38}{value:>24}" for name, value in rows)
    facts: dict[str, Any] = {
        "slack": alpha,
        "plan": asdict(plan),
        "people_needed": people,
        "enough_tasks": None if m is None else m >= plan.tasks_needed,
        "enough_people": None if people is None else n >= people,
        "promises": {name: asdict(one) for name, one in promises.items()},
        "verdict": verdict,
    }
    answer(facts, wrapped(f"{text}\n\n" + "\n".join(verdict)), as_json=as_json)


def _verdict(
    plan: Any,
    promises: dict[str, Any],
    *,
    n: int,
    m: int | None,
    people: int | None,
    beta: float,
    certain: bool,
) -> list[str]:
    inside, tasks, persons, both = (
        promises[name] for name in ("in_sample", "new_tasks", "new_people", "both")
    )
    said = [
        f"For the people and tasks learned from: with an exact oracle, {plan.rounds:,} rounds of "
        f"exponentiated gradient bring everybody within {inside.deviation:g} of a common rate, at "
        f"an error of at most {inside.error_excess:g} above the best possible. "
        + (
            "For error rates that is certain, and no number of tasks is needed, where every round "
            "looks at all tasks."
            if certain
            else f"For false positives or negatives that has probability {inside.probability:g}, "
            f"from {plan.tasks_needed:,} tasks on."
        ),
        f"For tasks not seen yet: everybody within {tasks.deviation:g}, with probability "
        f"{tasks.probability:g}, from {plan.tasks_needed:,} tasks on. "
        f"{_enough(m, plan.tasks_needed)}",
        f"For people not seen yet: all but {percent(beta)} within {persons.deviation:g}, with "
        f"probability {persons.probability:g}"
        + (
            "; say how many tasks (--m) and features (--features) to learn from how many people."
            if people is None
            else f", from {people:,} people on. {_enough(n, people)}"
        ),
        f"For both at once: all but {percent(both.share)} within {both.deviation:g}, with "
        f"probability {both.probability:g}, from as many tasks and as many people on.",
    ]
    if any(one.deviation >= 0.5 or one.probability <= 0 for one in promises.values()):
        said.append(
            "A deviation of 0.5 or more, or a probability of 0, promises nothing: all rates are "
            "within 0.5 of one half. Ask for a smaller alpha or delta."
        )
    said.append(
        "These are worst cases over all populations. What your data show is usually far better: "
        "hold people and tasks out (averagefair frontier --test), and audit them."
    )
    return said


def _enough(have: int | None, need: int) -> str:
    if have is None:
        return "How many have you (--m)?"
    if have >= need:
        return f"You have {have:,}: enough."
    factor = f"{need / have:,.1f}" if need < 1_000_000 * have else f"{need // have:,}"
    return f"You have {have:,}: not enough, by a factor of {factor}."
