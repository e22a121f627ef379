"""Plain words: what an audit found, for somebody who has to act on it."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from averagefair.auditing.chance import ChanceTest
from averagefair.auditing.estimates import Estimate
from averagefair.auditing.learned import REMEDY, WHY
from averagefair.auditing.losses import Losses
from averagefair.auditing.spread import Spread
from averagefair.auditing.tally import Tally
from averagefair.errors import some_of
from averagefair.names import in_a_line
from averagefair.rates import spoken
from averagefair.text import counted, percent
from averagefair.windows import ROUNDING

if TYPE_CHECKING:
    from averagefair.auditing.result import Audit

# Up to which share of noise each wording holds.
SHARES = (
    (0.05, "hardly any"),
    (0.15, "about a tenth"),
    (0.225, "about a fifth"),
    (0.29, "about a quarter"),
    (0.42, "about a third"),
    (0.58, "about half"),
    (0.71, "about two thirds"),
    (0.79, "about three quarters"),
    (0.92, "most"),
    (0.99, "nearly all"),
)
# The beta the summary speaks of where none was requested.
USUAL_BETA = 0.05
RELIABLE = 0.8


def summary(audit: Audit) -> str:
    """Return what was found, a paragraph for each question."""
    parts = [_head(audit), _rates(audit), _chance(audit), _nearness(audit)]
    if audit.learned_tasks:
        parts.insert(1, f"{WHY} {REMEDY}")
    if audit.answer is not None:
        parts.append(audit.answer.statement())
    parts += [_ends(audit), _flags(audit), _reliability(audit)]
    parts += [view.statement() for view in audit.groups]
    parts += [f"Note: {note}" for note in audit.notes]
    return "\n".join(part for part in parts if part)


def _evident(audit: Audit) -> bool:
    return audit.chance.p <= 1.0 - audit.confidence


def _units(audit: Audit, count: int | None = None) -> str:
    number = audit.spread.units if count is None else count
    if audit._losses.families is not None:
        return counted(number, "family of tasks", "families of tasks")
    return counted(number, "task")


def _head(audit: Audit) -> str:
    share = int(audit.people.tasks.sum()) / (audit.n * audit.m)
    cells = "" if share == 1 else f"; {share:.0%} of the cells count"
    people, tasks = counted(audit.n, "person", "people"), counted(audit.m, "task")
    if audit.learned_tasks:
        tasks = f"{tasks} that {'was' if audit.m == 1 else 'were'} learned from"
    if audit._losses.families is not None:
        tasks += f" in {counted(audit._losses.units, 'family', 'families')}"
    return f"Audit of individual {spoken(audit.rate)} rates: {people}, {tasks}{cells}."


def _rates(audit: Audit) -> str:
    rate = spoken(audit.rate)
    if np.isnan(audit.mean.value):
        return f"Nobody's {rate} rate is defined: no cell counts."
    low, high = audit.range
    mean = f"the mean is {audit.mean.value:.3f}"
    if not np.isnan(audit.mean.low):
        ends = max(0.0, audit.mean.low), min(1.0, audit.mean.high)
        over = ", over people who were not learned from" if audit.learned_tasks else ""
        mean += f" ({percent(audit.confidence)} interval {ends[0]:.3f} to {ends[1]:.3f}{over})"
    if high - low <= ROUNDING:
        return f"Everybody's {rate} rate is the same; {mean}."
    text = f"Individual {rate} rates run from {low:.2f} to {high:.2f}; {mean}."
    if audit.learned_tasks:
        return f"{text} Their standard deviation is {audit.spread.sd:.3f}, as observed."
    noise = 1.0 - audit.spread.reliability
    if np.isnan(noise) or not _evident(audit):
        return text
    said = next((words for bound, words in SHARES if noise < bound), "all")
    return f"{text} {said.capitalize()} of the variance between people is noise of {_units(audit)}."


def _chance(audit: Audit) -> str:
    test, apart = audit.chance, audit.spread
    if np.isnan(test.p) or test.units < 2 or np.isnan(apart.sigma2.value):
        return ""
    if _evident(audit):
        low, high = sqrt(apart.sigma2.low), sqrt(apart.sigma2.high)
        return (
            f"Differences between people are more than chance (p = {test.p:.3g}). True rates "
            f"differ by a standard deviation of about {apart.sigma:.3f} "
            f"({percent(audit.confidence)} interval {low:.3f} to {high:.3f})."
        )
    text = f"Differences between people may be chance alone (p = {test.p:.3g})."
    if np.isnan(apart.upper):
        return f"{text} How far true rates differ is unknown."
    return (
        f"{text} With {_units(audit)}, true rates may still differ by a standard deviation of up "
        f"to {apart.upper:.3f} ({percent(audit.confidence)} bound)."
    )


def _nearness(audit: Audit) -> str:
    if np.isnan(audit.mean.value):
        return ""
    beta = USUAL_BETA
    if audit.answer is not None and audit.answer.beta > 0:
        beta = audit.answer.beta
    at = audit.curve.at(beta)
    text = (
        f"All but {percent(beta)} of the people fit in a band of \u00b1{at['alpha']:.3f}, as "
        "observed"
    )
    if audit.chance.units >= 2:
        text += f"; if all true rates were equal, noise alone would make it \u00b1{at['floor']:.3f}"
    said = []
    if _evident(audit) and not np.isnan(at["denoised"]):
        said.append(f"about \u00b1{at['denoised']:.3f}")
    if at["cap"] < 0.5:  # everybody is within 0.5 of one half
        said.append(f"at most \u00b1{at['cap']:.3f} by the {percent(audit.confidence)} bound")
    return f"{text}. Without the noise it is {', and '.join(said)}." if said else f"{text}."


def _ends(audit: Audit) -> str:
    if np.isnan(audit.mean.value) or audit.range.width <= ROUNDING:
        return ""
    few = min(3, audit._ordered.size // 2)
    worst, best = audit.worst_off(few), audit.best_off(few)
    return f"Worst off: {_people(audit, worst)}. Best off: {_people(audit, best)}."


def _people(audit: Audit, rows: list[dict[str, Any]]) -> str:
    """Name some people with their rates; with their tasks, where not everybody has the same."""
    counts = audit.people.tasks
    same = bool((counts == counts[0]).all())
    said = []
    for row in rows:
        of = "" if same else f" of {counted(row['tasks'], 'task')}"
        said.append(f"{_called(row['name'])} ({row['rate']:.2f}{of})")
    rates = audit.people.rate
    more = int(np.count_nonzero(rates == rows[-1]["rate"]))
    more -= sum(row["rate"] == rows[-1]["rate"] for row in rows)
    return ", ".join(said) + (f" and {more:,} more at {rows[-1]['rate']:.2f}" if more else "")


def _called(name: Any) -> str:
    return in_a_line(name) if isinstance(name, str) else f"person {in_a_line(name)}"


def _flags(audit: Audit) -> str:
    if np.isnan(audit.mean.value) or audit.range.width <= ROUNDING:
        return ""
    if audit.learned_tasks:
        return _above(audit)
    than = f"the estimated mean rate of {audit.common_rate:.3f}"
    if audit.answer is not None:
        than = f"the estimated common rate of {audit.common_rate:.3f} plus {audit.answer.alpha:g}"
    sure = f"with {percent(audit.confidence)} confidence for all at once"
    flagged = audit._by_rate()[::-1]
    flagged = flagged[audit.people.flagged[flagged]]
    if not flagged.size:
        return f"Of nobody can it be said, {sure}, that they are worse off than {than}."
    names = some_of([*map(_called, audit.people.name[flagged].tolist())])
    return f"Worse off than {than}, {sure}: {names}."


def _above(audit: Audit) -> str:
    """Say who is above the common rate plus alpha on tasks that were learned from."""
    if audit.answer is None:
        return ""
    limit = f"the common rate of {audit.common_rate:.3f} plus {audit.answer.alpha:g}"
    flagged = audit._by_rate()[::-1]
    flagged = flagged[audit.people.flagged[flagged]]
    names = some_of([*map(_called, audit.people.name[flagged].tolist())]) or "nobody"
    return f"Above {limit}, as observed on these tasks: {names}."


def _reliability(audit: Audit) -> str:
    share = audit.spread.reliability
    if np.isnan(share) or share == 0 or not _evident(audit):
        return ""
    text = (
        f"Reliability {share:.2f}: on as many other tasks of this kind, people's rates would "
        f"correlate by about {share:.2f} with these."
    )
    if share >= RELIABLE:
        return text
    needed = int(np.ceil(audit.spread.tasks_needed(RELIABLE) - 1e-9))
    return f"{text} For {RELIABLE:g} it takes about {_units(audit, needed)}."


def notes(
    losses: Losses,
    tally: Tally,
    mean: Estimate,
    test: ChanceTest,
    apart: Spread,
    confidence: float,
    learned_tasks: bool = False,
) -> tuple[str, ...]:
    """Return what could not be told and why, and what to mind."""
    out = _left_out(losses, tally, learned_tasks)
    if learned_tasks:
        return tuple(out)
    out += _undefined(losses, tally, mean, apart)
    if test.units > 1 and test.p < 1 and test.smallest > 1.0 - confidence:
        out.append(
            f"over this few tasks the smallest p-value possible is {test.smallest:.3g}: the test "
            "can show nothing."
        )
    return tuple(out)


def _left_out(losses: Losses, tally: Tally, learned_tasks: bool) -> list[str]:
    unit = "task" if losses.families is None else "family of tasks"
    nobody = [*map(_called, losses.individual_names[~tally.rated].tolist())]
    thin = [*map(_called, losses.individual_names[tally.rated & ~tally.judged].tolist())]
    empty = [losses.task_names[int(place)] for place in np.flatnonzero(tally.task_counted == 0)]
    out = []
    if nobody:
        out.append(f"no rate, since none of their cells counts: {some_of(nobody)}.")
    if thin and not learned_tasks:
        out.append(
            f"with a single {unit} that counts, left out where noise is taken off: {some_of(thin)}."
        )
    if empty:
        out.append(f"tasks in which nothing counts are left out: {some_of(empty)}.")
    return out


def _undefined(losses: Losses, tally: Tally, mean: Estimate, apart: Spread) -> list[str]:
    n, units = int(np.count_nonzero(tally.rated)), tally.live.size
    unit, plural = ("task", "tasks") if losses.families is None else ("family", "families")
    if n == 0:
        return []
    if n == 1:
        return ["with one person there is nobody to compare with, and no interval for the mean."]
    if units == 1:
        return [
            f"with one {unit} that counts, noise and true differences cannot be told apart: the "
            "mean's interval, the test and the de-noised spread are undefined."
        ]
    rates = tally.rates[tally.rated]
    spotless = {0.0: "right", 1.0: "wrong"}.get(mean.value)
    same = f"every decision that counts was {spotless}" if spotless else "all losses are alike"
    alike = np.isnan(mean.low) and np.ptp(rates) <= ROUNDING
    out = []
    if alike:
        out.append(
            f"{same}, so nothing shows how rates would vary: no interval for the mean, no "
            "reliability, and no bound on the spread."
        )
    elif np.isnan(apart.upper) and not np.isnan(apart.sigma2.value):
        out.append(
            f"no bound on the true spread: every person and every {unit} affects the estimate "
            "alike, so the data do not show how uncertain it is."
        )
    if apart.raw == 0 and not alike:
        out.append("all rates are the same, so there is no reliability to speak of.")
    if np.isnan(apart.sigma2.value):
        out.append(
            f"fewer than two people have two {plural} that count: noise cannot be taken off."
        )
    if apart.below_chance:
        out.append(
            "rates are nearer to each other than chance alone would make them (the de-noised "
            f"variance came out at {apart.sigma2.value:.2g}). That happens over few tasks, and "
            "where a model was fitted to these very tasks. If it was, audit with "
            "learned_tasks=True (--learned-tasks)."
        )
    if units <= 60 and min(mean.value, 1 - mean.value) <= 0.06 and not alike:
        out.append("rates this low over so few tasks make intervals a little short.")
    return out
