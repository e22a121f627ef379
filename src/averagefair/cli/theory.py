"""``averagefair theory``: constants, sample sizes and bounds for your numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Any

import typer

from averagefair._util.checks import positive_number, whole_number
from averagefair._util.text import percent
from averagefair.cli import options as given
from averagefair.cli.console import answer, wrapped
from averagefair.errors import InputError


def theory(
    alpha: Annotated[
        float, typer.Option(help="Slack, the largest distance of a rate from a common rate.")
    ],
    n: Annotated[int, typer.Option(help="Number of people.")],
    nu: Annotated[float, typer.Option(help="Distance from equilibrium to accept.")] = 0.1,
    delta: Annotated[
        float,
        typer.Option(
            help="The paper's delta. Promises about new people or tasks fail with 5 to 12 times "
            "this probability."
        ),
    ] = 0.05,
    m: Annotated[int | None, typer.Option(help="Number of tasks you have.")] = None,
    beta: Annotated[float, typer.Option(help="Share of new people left without a promise.")] = 0.05,
    features: Annotated[
        int | None, typer.Option(help="Number of features of the linear classifiers.")
    ] = None,
    rho_min: Annotated[
        float | None,
        typer.Option(
            help="For false positives or negatives: smallest share of tasks that count for any "
            "person. For new people and tasks at once, it must hold for all future people too."
        ),
    ] = None,
    as_json: given.AsJson = False,
) -> None:
    """Show what the paper's theorems require and promise, and whether n and m are enough.

    --alpha is the slack, as everywhere in averagefair; the theory's own alpha is half of it.

    Example: averagefair theory --alpha 0.1 --nu 0.1 --n 1000 --delta 0.05 --m 50 --features 20
    """
    from averagefair import theory as paper

    half = positive_number("--alpha", alpha, 0.5) / 2
    for name, count in (("--n", n), ("--m", m), ("--features", features)):
        if count is not None:
            whole_number(name, count)
    people = joint = per_task = every_decision = None
    draws: dict[str, Any] | None = None
    try:
        plan = paper.plan(half, nu, n, delta=delta, rho_min=rho_min)
        if features is not None:
            joint = paper.sizes_for_both(half, nu, beta, delta, features + 1, rho_inf=rho_min)
        if m is not None and features is not None:
            people = paper.individuals_needed(half, nu, beta, delta, m, features + 1)
        if m is not None:
            counting = max(1.0, m * (rho_min or 1.0))
            per_task = paper.draws_per_task(n, counting, half, delta)
            every_decision = paper.sparse_support(n, m, half, delta)
            draws = {
                "per_task": per_task,
                "one_per_task_within": paper.draws_deviation(n, counting, 1, delta),
                "every_decision": every_decision,
            }
    except ArithmeticError:
        raise InputError(
            "these numbers need larger samples than can be computed. Use a larger --alpha, --nu or "
            "--beta."
        ) from None
    promises = {
        "in_sample": paper.in_sample(half, nu, delta),
        "new_tasks": paper.over_new_tasks(half, delta, nu),
        "new_people": paper.over_new_individuals(half, beta, delta),
        "both": paper.over_both(half, beta, delta),
    }
    verdict = [
        _inside(plan, promises["in_sample"], outside_rho=rho_min is not None),
        _new_tasks(plan, promises["new_tasks"], m),
        _new_people(promises["new_people"], n, people, beta),
        _both(promises["both"], joint, n, m, all_people=rho_min is not None),
        _draws(draws, half, delta),
        *_closing(promises.values()),
    ]
    rows = [
        ("slack (your alpha)", f"{plan.slack:g}"),
        ("the theory's alpha, half of it", f"{half:g}"),
        ("bound of the multipliers B", f"{plan.dual_bound:g}"),
        ("rounds T", f"{plan.rounds:,}"),
        ("step size eta", f"{plan.step_size:.3g}"),
        ("tasks in each round's fresh batch m0", f"{plan.tasks_per_round:,}"),
        (
            "tasks needed m = m0 T" if rho_min is None else "tasks needed m = m0 (T + 1)",
            f"{plan.tasks_needed:,}",
        ),
        ("people needed n, at your m", _or_give("--m and --features", people)),
        ("new people and tasks: people n", _or_give("--features", joint and joint.individuals)),
        ("new people and tasks: tasks m", _or_give("--features", joint and joint.tasks)),
        ("draws for each task, for rates r", _or_give("--m", per_task)),
        ("the same, for every decision r", _or_give("--m", every_decision)),
    ]
    text = "\n".join(f"{name:<38}{value:>24}" for name, value in rows)
    facts: dict[str, Any] = {
        "slack": alpha,
        "plan": asdict(plan),
        "people_needed": people,
        "both_needed": None if joint is None else joint._asdict(),
        "draws": draws,
        "enough_tasks": None if m is None else m >= plan.tasks_needed,
        "enough_people": None if people is None else n >= people,
        "enough_for_both": None if joint is None or m is None else _covers(n, m, joint),
        "promises": {name: asdict(promise) for name, promise in promises.items()},
        "verdict": verdict,
    }
    answer(facts, wrapped(f"{text}\n\n" + "\n".join(verdict)), as_json=as_json)


def _or_give(options: str, number: int | None) -> str:
    if number is None:
        return f"give {options}"
    return f"{number:,}" if number < 10**15 else f"{number:.3g}"


def _inside(plan: Any, promise: Any, *, outside_rho: bool) -> str:
    text = (
        f"Training people and tasks: with an exact oracle, {plan.rounds:,} rounds of exponentiated "
        f"gradient bring everybody within {promise.deviation:g} of a common rate. The error is at "
        f"most {promise.error_excess:g} above the best possible. This is certain for any number "
        "of tasks if every round uses all tasks"
    )
    if not outside_rho:
        return f"{text}."
    return (
        f"{text} and the sample's own rho (the default). With outside estimates of rho, it holds "
        f"with probability {promise.probability:g} from {plan.tasks_needed:,} tasks on. One batch "
        "of them, F_0, is set aside for the estimates."
    )


def _new_tasks(plan: Any, promise: Any, m: int | None) -> str:
    return (
        f"New tasks: everybody is within {promise.deviation:g}, with probability "
        f"{promise.probability:g}. The error is at most {promise.error_excess:.3g} above the best "
        f"possible. This needs {plan.tasks_needed:,} tasks. {_enough(m, plan.tasks_needed, '--m')}"
    )


def _new_people(promise: Any, n: int, people: int | None, beta: float) -> str:
    text = (
        f"New people: all but {percent(beta)} are within {promise.deviation:g}, with probability "
        f"{promise.probability:g}."
    )
    if people is None:
        return f"{text} Give --m and --features to see how many people this needs."
    return f"{text} This needs {people:,} people. {_enough(n, people, '--n')}"


def _both(promise: Any, joint: Any, n: int, m: int | None, *, all_people: bool) -> str:
    text = (
        f"New people and tasks at once: all but {percent(promise.share)} are within "
        f"{promise.deviation:g}, with probability {promise.probability:g}."
    )
    if joint is None:
        return f"{text} Give --features to see how many people and tasks this needs."
    text += f" This needs {joint.individuals:.3g} people and {joint.tasks:.3g} tasks. Each number "
    text += "depends on the other; these are the smallest that fit together."
    if all_people:
        text += " Here --rho-min must hold for all future people (the paper's rho_inf)."
    if m is not None:
        verdict = "enough" if _covers(n, m, joint) else "not enough"
        text += f" You have {n:,} and {m:,}: {verdict}."
    return text


def _draws(draws: dict[str, Any] | None, half: float, delta: float) -> str:
    if draws is None:
        return "Draws of classifiers: give --m to see how far they move rates."
    number = draws["per_task"]
    many = f"{number:,} {'draws' if number > 1 else 'draw'}"
    return (
        f"Draws of classifiers: one draw for each task keeps every rate within "
        f"{draws['one_per_task_within']:.3g} of the mixture's, and {many} for each task within "
        f"{half:g}. Each holds for everybody at once with probability {1 - delta:g}. Fixed "
        "decisions that a fit chooses are not draws: their rates are measured."
    )


def _covers(n: int, m: int, joint: Any) -> bool:
    return bool(n >= joint.individuals and m >= joint.tasks)


def _closing(promises: Iterable[Any]) -> list[str]:
    lines = []
    if any(promise.deviation >= 0.5 or promise.probability <= 0 for promise in promises):
        lines.append(
            "A deviation of 0.5 or more, or a probability of 0, promises nothing: all rates are "
            "within 0.5 of one half. Use a smaller --alpha or --delta."
        )
    lines.append(
        "These are worst cases over all populations. Your data usually show far better results: "
        "hold people and tasks out (averagefair frontier --test), and audit them."
    )
    return lines


def _enough(have: int | None, need: int, option: str) -> str:
    if have is None:
        return f"Give {option} to compare."
    if have >= need:
        return f"You have {have:,}: enough."
    factor = f"{need / have:,.1f}" if need < 1_000_000 * have else f"{need // have:,}"
    return f"You have {have:,}: not enough, by a factor of {factor}."
