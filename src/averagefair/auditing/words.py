"""Plain words: what an audit found, for somebody who has to act on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from averagefair.auditing.chance import ChanceTest
from averagefair.auditing.estimates import Estimate
from averagefair.auditing.losses import Losses
from averagefair.auditing.spread import Spread
from averagefair.auditing.tally import Tally
from averagefair.errors import some_of

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
EVIDENT = 0.05


def summary(audit: Audit) -> str:
    """Return what was found, a paragraph for each question."""
    parts = [_head(audit), _rates(audit), _chance(audit), _nearness(audit)]
    if audit.answer is not None:
        parts.append(audit.answer.statement())
    parts += [_ends(audit), _reliability(audit), *(view.statement() for view in audit.groups)]
    parts += [f"Note: {note}" for note in audit.notes]
    return "\n".join(part for part in parts if part)


def _name(audit: Audit) -> str:
    return audit.rate.replace("_", "-")


def _units(audit: Audit, count: int | None = None) -> str:
    families = audit._losses.families is not None
    number = audit.spread.units if count is None else count
    if families:
        return f"{number} {'family' if number == 1 else 'families'} of tasks"
    return f"{number} {'task' if number == 1 else 'tasks'}"


def _head(audit: Audit) -> str:
    cells = int(audit.people.tasks.sum())
    share = cells / (audit.n * audit.m)
    counted = "" if share == 1 else f"; {share:.0%} of the cells count"
    people = "1 person" if audit.n == 1 else f"{audit.n:,} people"
    tasks = "1 task" if audit.m == 1 else f"{audit.m:,} tasks"
    return f"Audit of individual {_name(audit)} rates: {people}, {tasks}{counted}."


def _rates(audit: Audit) -> str:
    if np.isnan(audit.mean.value):
        return f"Nobody has a {_name(audit)} rate: no cell counts."
    low, high = audit.range
    text = f"Individual {_name(audit)} rates run from {low:.2f} to {high:.2f}"
    if high == low:
        text = f"Everybody's {_name(audit)} rate is {low:.3f}"
    text += f"; the mean is {audit.mean.value:.3f}"
    if not np.isnan(audit.mean.low):
        text += f" ({_interval(audit.mean, audit.confidence)})"
    noise = 1.0 - audit.spread.reliability
    if np.isnan(noise):
        return f"{text}."
    return f"{text}. {_share(noise).capitalize()} of that spread is noise of {_units(audit)}."


def _interval(estimate: Estimate, confidence: float) -> str:
    low, high = max(0.0, estimate.low), min(1.0, estimate.high)
    return f"{confidence:.0%} interval {low:.3f} to {high:.3f}"


def _share(noise: float) -> str:
    return next((words for bound, words in SHARES if noise < bound), "all")


def _chance(audit: Audit) -> str:
    test, apart = audit.chance, audit.spread
    if np.isnan(test.p) or test.units < 2 or np.isnan(apart.sigma2.value):
        return ""
    known = (
        f"True rates differ by a standard deviation of {apart.sigma:.3f} "
        f"({audit.confidence:.0%} interval {np.sqrt(apart.sigma2.low):.3f} to "
        f"{np.sqrt(apart.sigma2.high):.3f})."
    )
    if test.p <= EVIDENT:
        return f"Differences between people are more than chance (p = {test.p:.3g}). {known}"
    bound = "how far true rates may differ cannot be told"
    if not np.isnan(apart.upper):
        bound = f"true rates may differ by a standard deviation of up to {apart.upper:.3f}"
    return (
        f"Differences between people are no more than chance would show (p = {test.p:.3g}). That "
        f"is no evidence of fairness: {bound}."
    )


def _nearness(audit: Audit) -> str:
    if np.isnan(audit.mean.value):
        return ""
    at = audit.curve.at(USUAL_BETA)
    text = (
        f"All but {USUAL_BETA:.0%} of the people are within {at['alpha']:.3f} of a common rate of "
        f"{at['common_rate']:.3f}, as observed"
    )
    if audit.chance.units >= 2:
        text += f"; if all true rates were equal, noise alone would make it {at['floor']:.3f}"
    if np.isnan(at["denoised"]):
        return f"{text}."
    cap = at["cap"]
    shown = f", and at most {cap:.3f} with {audit.confidence:.0%} confidence" if cap <= 1 else ""
    return f"{text}. Without the noise it is about {at['denoised']:.3f}{shown}."


def _ends(audit: Audit) -> str:
    if np.isnan(audit.mean.value) or audit.range.width == 0:
        return ""
    few = min(3, audit._ordered.size // 2)
    text = f"Worst off: {_people(audit.worst_off(few))}. Best off: {_people(audit.best_off(few))}."
    flagged = audit.people.name[audit.people.flagged]
    above = f"the common rate of {audit.common_rate:.3f}"
    if audit.answer is not None:
        above += f" plus {audit.answer.alpha:g}"
    else:
        above = f"the mean of {audit.common_rate:.3f}"
    if flagged.size:
        worst = audit.people.rate[audit.people.flagged]
        names = some_of([*map(_called, flagged[np.argsort(-worst, kind="stable")].tolist())])
        return f"{text} Worse off than {above}, beyond doubt: {names}."
    return f"{text} Of nobody is it beyond doubt that they are worse off than {above}."


def _people(rows: list[dict[str, Any]]) -> str:
    return ", ".join(f"{_called(row['name'])} ({row['rate']:.2f})" for row in rows)


def _called(name: Any) -> str:
    return name if isinstance(name, str) else f"person {name}"


def _reliability(audit: Audit) -> str:
    share = audit.spread.reliability
    if np.isnan(share) or share == 0:
        return ""
    needed = audit.spread.tasks_needed(0.8)
    text = f"Reliability {share:.2f}"
    if share >= 0.8:
        return f"{text}: audited on other tasks, mostly the same people would come out worst off."
    return (
        f"{text}: on other tasks, others may come out worst off. For 0.8 it takes about "
        f"{_units(audit, int(np.ceil(needed)))}."
    )


def notes(
    losses: Losses, tally: Tally, mean: Estimate, test: ChanceTest, apart: Spread
) -> tuple[str, ...]:
    """Return what could not be told and why, and what to mind."""
    return (*_left_out(losses, tally), *_undefined(losses, tally, mean, test, apart))


def _left_out(losses: Losses, tally: Tally) -> list[str]:
    unit = "task" if losses.families is None else "family of tasks"
    nobody = [*map(_called, losses.individual_names[~tally.rated].tolist())]
    thin = [*map(_called, losses.individual_names[tally.rated & ~tally.judged].tolist())]
    empty = [losses.task_names[int(place)] for place in np.flatnonzero(tally.task_counted == 0)]
    out = []
    if nobody:
        out.append(f"{len(nobody)} without a cell that counts have no rate: {some_of(nobody)}.")
    if thin:
        out.append(
            f"{len(thin)} with a single {unit} that counts have a rate, but are left out where "
            f"noise is taken off: {some_of(thin)}."
        )
    if empty:
        out.append(f"tasks in which nothing counts are left out: {some_of(empty)}.")
    return out


def _undefined(
    losses: Losses, tally: Tally, mean: Estimate, test: ChanceTest, apart: Spread
) -> list[str]:
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
    alike = np.isnan(mean.low) and np.ptp(rates) == 0
    out = []
    if alike:
        out.append(
            f"{same}, so nothing shows how rates would vary: no interval for the mean, no "
            "reliability, and no bound on the spread."
        )
    elif np.isnan(apart.upper) and not np.isnan(apart.sigma2.value):
        out.append("rates vary so little that no bound on the true spread can be told.")
    if np.isnan(apart.sigma2.value):
        out.append(
            f"fewer than two people have two {plural} that count: noise cannot be taken off."
        )
    if test.smallest > EVIDENT and not alike:
        out.append(
            f"with {units} {plural} the smallest p-value possible is {test.smallest:.3g}: the test "
            "can show nothing."
        )
    if apart.sigma2.value < 0:
        out.append(
            "rates are nearer to each other than chance alone would make them (the de-noised "
            f"variance came out at {apart.sigma2.value:.2g}, shown as 0)."
        )
    if units <= 60 and min(mean.value, 1 - mean.value) <= 0.06 and not alike:
        out.append("rates this low over so few tasks make intervals a little short.")
    return out
