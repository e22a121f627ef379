"""The summary: what an audit found, in plain words, for somebody who has to act on it."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from averagefair._util.names import NamesPeople, in_a_line
from averagefair._util.text import counted, percent
from averagefair.auditing.chance import ChanceTest
from averagefair.auditing.dispersion import Dispersion
from averagefair.auditing.estimates import Estimate
from averagefair.auditing.learned import REMEDY, WHY
from averagefair.auditing.losses import Losses
from averagefair.auditing.tally import Tally
from averagefair.errors import some_of
from averagefair.game.rates import spoken
from averagefair.game.windows import ROUNDING

if TYPE_CHECKING:
    from averagefair.auditing.result import Audit

# Each wording holds for shares of noise below its number.
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
# The summary uses this beta if none was requested.
USUAL_BETA = 0.05
RELIABLE = 0.8


def summary(audit: Audit) -> str:
    """Return what was found, one paragraph for each question."""
    parts = [_head(audit), _rates(audit), _chance(audit), _band(audit)]
    if audit.learned_tasks:
        parts.insert(1, f"{WHY} {REMEDY}")
    if audit.assessment is not None:
        parts.append(audit.assessment.statement())
    parts += [_exposure(audit), audit.systemic.statement()]
    parts += [_ends(audit), _flags(audit), _reliability(audit)]
    parts += [view.statement() for view in audit.groups]
    parts += [f"Note: {note}" for note in audit.notes]
    return "\n".join(part for part in parts if part)


def _significant(audit: Audit) -> bool:
    return audit.chance.p <= 1.0 - audit.confidence


def _units(audit: Audit, count: int | None = None) -> str:
    number = audit.dispersion.units if count is None else count
    if audit.evidence.in_families:
        return counted(number, "family of tasks", "families of tasks")
    return counted(number, "task")


def _head(audit: Audit) -> str:
    share = int(audit.people.tasks.sum()) / (audit.n * audit.m)
    cells = "" if share == 1 else f"; {share:.0%} of the cells count"
    people, tasks = counted(audit.n, "person", "people"), counted(audit.m, "task")
    if audit.evidence.in_families:
        tasks += f" in {counted(audit.evidence.losses.units, 'family', 'families')}"
    if audit.learned_tasks:
        tasks += " that the model was trained on"
    return f"Audit of individual {spoken(audit.rate)} rates: {people}, {tasks}{cells}."


def _rates(audit: Audit) -> str:
    rate = spoken(audit.rate)
    if np.isnan(audit.mean.value):
        return f"Nobody's {rate} rate is defined: no cell counts."
    low, high = audit.range
    mean = f"The mean is {audit.mean.value:.3f}"
    if not np.isnan(audit.mean.low):
        ends = max(0.0, audit.mean.low), min(1.0, audit.mean.high)
        over = ", for people outside the training data" if audit.learned_tasks else ""
        mean += f" ({percent(audit.confidence)} CI {ends[0]:.3f} to {ends[1]:.3f}{over})"
    if high - low <= ROUNDING:
        return f"All individual {rate} rates are equal. {mean}."
    text = f"Individual {rate} rates range from {low:.2f} to {high:.2f}. {mean}."
    if audit.learned_tasks:
        return f"{text} The observed standard deviation is {audit.dispersion.sd:.3f}."
    noise = 1.0 - audit.dispersion.reliability
    if np.isnan(noise) or not _significant(audit):
        return text
    share = next((words for bound, words in SHARES if noise < bound), "all")
    return (
        f"{text} {share.capitalize()} of the variance between people is sampling noise "
        f"({_units(audit)})."
    )


def _chance(audit: Audit) -> str:
    test, dispersion = audit.chance, audit.dispersion
    if np.isnan(test.p) or test.units < 2 or np.isnan(dispersion.sigma2.value):
        return ""
    if _significant(audit):
        low, high = sqrt(dispersion.sigma2.low), sqrt(dispersion.sigma2.high)
        return (
            f"Differences between people are more than chance (p = {test.p:.3g}). True rates "
            f"have a standard deviation of about {dispersion.sigma:.3f} "
            f"({percent(audit.confidence)} CI {low:.3f} to {high:.3f})."
        )
    text = f"Inconclusive: differences between people may be chance alone (p = {test.p:.3g})."
    if np.isnan(dispersion.upper):
        return f"{text} The standard deviation of true rates is unknown."
    return (
        f"{text} With {_units(audit)}, true rates may still have a standard deviation of up to "
        f"{dispersion.upper:.3f} ({percent(audit.confidence)} bound)."
    )


def _band(audit: Audit) -> str:
    if np.isnan(audit.mean.value):
        return ""
    beta = USUAL_BETA
    if audit.assessment is not None and audit.assessment.beta > 0:
        beta = audit.assessment.beta
    row = audit.curve.at(beta)
    text = (
        f"A band of \u00b1{row['alpha']:.3f} holds all but {percent(beta)} of the observed rates."
    )
    if audit.chance.units >= 2:
        floor = f"\u00b1{row['floor']:.3f}"
        text += f" If all true rates were equal, noise alone would give a band of {floor}."
    parts = []
    if _significant(audit) and not np.isnan(row["denoised"]):
        parts.append(f"about \u00b1{row['denoised']:.3f}")
    if row["cap"] < 0.5:  # every rate is within 0.5 of one half
        parts.append(f"at most \u00b1{row['cap']:.3f} ({percent(audit.confidence)} bound)")
    return f"{text} For true rates the band is {', and '.join(parts)}." if parts else text


def _exposure(audit: Audit) -> str:
    if audit.equal_exposure is None:
        return ""
    return audit.equal_exposure.statement(audit.dispersion.sigma2.value, audit.confidence)


def _ends(audit: Audit) -> str:
    if np.isnan(audit.mean.value) or audit.range.width <= ROUNDING:
        return ""
    few = min(3, audit.evidence.sorted_rates.size // 2)
    worst, best = audit.worst_off(few), audit.best_off(few)
    return f"Worst off: {_people(audit, worst)}. Best off: {_people(audit, best)}."


def _people(audit: Audit, rows: list[dict[str, Any]]) -> str:
    """Name some people with their rates, and their numbers of tasks if these differ."""
    counts = audit.people.tasks
    same = bool((counts == counts[0]).all())
    parts = []
    for row in rows:
        tasks = "" if same else f", {counted(row['tasks'], 'task')}"
        parts.append(f"{_person(row['name'])} ({row['rate']:.2f}{tasks})")
    rates = audit.people.rate
    more = int(np.count_nonzero(rates == rows[-1]["rate"]))
    more -= sum(row["rate"] == rows[-1]["rate"] for row in rows)
    return ", ".join(parts) + (f" and {more:,} more at {rows[-1]['rate']:.2f}" if more else "")


def _person(name: Any) -> str:
    return in_a_line(name) if isinstance(name, str) else f"person {in_a_line(name)}"


def _flags(audit: Audit) -> str:
    """Name the people whose rates are clearly above the common rate plus alpha."""
    if np.isnan(audit.mean.value) or audit.range.width <= ROUNDING:
        return ""
    if audit.learned_tasks and audit.assessment is None:
        return ""
    head, limit = "", f"the estimated mean rate of {audit.common_rate:.3f}"
    if audit.assessment is not None:
        about = "" if audit.learned_tasks else "about "
        head = f"The common rate is {about}{audit.common_rate:.3f}. "
        above = audit.common_rate + audit.assessment.alpha
        limit = f"{above:.3f}, the common rate plus alpha"
    rows = audit.people.worst_first()
    names = audit.people.name[rows[audit.people.flagged[rows]]].tolist()
    listed = some_of([*map(_person, names)])
    if audit.learned_tasks:
        return f"{head}Above {limit}, on these tasks: {listed or 'nobody'}."
    level = percent(audit.confidence)
    certainty = f"({level}, corrected for {counted(rows.size, 'comparison')})"
    if not names:
        return f"{head}No individual's rate is clearly above {limit} {certainty}."
    return f"{head}Clearly above {limit} {certainty}: {listed}."


def _reliability(audit: Audit) -> str:
    share = audit.dispersion.reliability
    if np.isnan(share) or share == 0 or not _significant(audit):
        return ""
    text = (
        f"Reliability {share:.2f}: on as many other tasks of this kind, people's rates would "
        f"correlate at about {share:.2f} with the rates here."
    )
    if share >= RELIABLE:
        return text
    needed = int(np.ceil(audit.dispersion.tasks_needed(RELIABLE) - 1e-9))
    return f"{text} A reliability of {RELIABLE:g} needs about {_units(audit, needed)}."


def notes(
    losses: Losses,
    tally: Tally,
    mean: Estimate,
    test: ChanceTest,
    dispersion: Dispersion,
    confidence: float,
    learned_tasks: bool = False,
) -> tuple[str, ...]:
    """Return what is undefined and why, and caveats."""
    out = _left_out(losses, tally, learned_tasks)
    if learned_tasks:
        return tuple(out)
    out += _undefined(losses, tally, mean, dispersion)
    if test.units > 1 and test.p < 1 and test.smallest > 1.0 - confidence:
        out.append(
            f"with so few tasks the smallest possible p-value is {test.smallest:.3g}, so the test "
            "cannot reach significance."
        )
    return tuple(out)


def _left_out(losses: Losses, tally: Tally, learned_tasks: bool) -> list[str]:
    unit = "task" if losses.families is None else "family of tasks"
    unrated = [*map(_person, losses.individual_names[~tally.rated].tolist())]
    single = [*map(_person, losses.individual_names[tally.rated & ~tally.estimable].tolist())]
    empty = [losses.task_names[int(task)] for task in np.flatnonzero(tally.task_counted == 0)]
    out: list[str] = []
    if unrated:
        out.append(_naming("no rate, because none of their cells counts", unrated))
    if single and not learned_tasks:
        out.append(_naming(f"left out of noise estimates, with only one {unit}", single))
    if empty:
        out.append(f"tasks left out, because none of their cells counts: {some_of(empty)}.")
    return out


def _naming(what: str, people: list[str]) -> NamesPeople:
    number = counted(len(people), "person", "people")
    return NamesPeople(f"{what}: {some_of(people)}.", f"{what}: {number}.")


def _undefined(losses: Losses, tally: Tally, mean: Estimate, dispersion: Dispersion) -> list[str]:
    n, units = int(np.count_nonzero(tally.rated)), tally.live.size
    unit, plural = ("task", "tasks") if losses.families is None else ("family", "families")
    if n == 0:
        return []
    if n == 1:
        return ["with one person there is no comparison and no interval for the mean."]
    if units == 1:
        return [
            f"with one {unit} that counts, noise and true differences cannot be separated. The "
            "mean's interval, the chance test and the dispersion are undefined."
        ]
    rates = tally.rates[tally.rated]
    outcome = {0.0: "right", 1.0: "wrong"}.get(mean.value)
    same = f"every decision that counts was {outcome}" if outcome else "all losses are equal"
    alike = np.isnan(mean.low) and np.ptp(rates) <= ROUNDING
    out = []
    if alike:
        out.append(
            f"{same}, so the data show no variation. There is no interval for the mean, no "
            "reliability and no bound on the dispersion."
        )
    elif np.isnan(dispersion.upper) and not np.isnan(dispersion.sigma2.value):
        out.append(
            f"there is no bound on the dispersion: every person and every {unit} affects the "
            "estimate equally, so its uncertainty is unknown."
        )
    if dispersion.raw == 0 and not alike:
        out.append("all rates are equal, so the reliability is undefined.")
    if np.isnan(dispersion.sigma2.value):
        out.append(
            f"fewer than two people have two {plural} that count, so noise cannot be removed."
        )
    if dispersion.below_chance:
        out.append(
            "rates are closer together than chance would make them (de-noised variance "
            f"{dispersion.sigma2.value:.2g}). This happens with few tasks, or if the model was "
            "trained on these tasks. If it was, audit with learned_tasks=True (--learned-tasks)."
        )
    if units <= 60 and min(mean.value, 1 - mean.value) <= 0.06 and not alike:
        out.append(
            "with rates so close to 0 or 1 and so few tasks, intervals are slightly too narrow."
        )
    return out
