"""The evidence of a fitted model: its certificate."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from averagefair._util.names import in_a_line
from averagefair._util.text import counted, figure, percent, plain
from averagefair.errors import InputError
from averagefair.estimator import AverageFairClassifier
from averagefair.evidence.not_proved import not_proved_by_certificate
from averagefair.evidence.record import Record, check_settings
from averagefair.game.certificate import Certificate
from averagefair.game.promises import Equal, Promise
from averagefair.game.rates import Rates, spoken
from averagefair.game.who_pays import most_changed
from averagefair.showing.report.page import story_report
from averagefair.showing.report.story import Listing, Section

_PEOPLE = 5
# Settings that say where a run was watched or saved, and not what was learned.
_ASIDE = ("callback", "checkpoint")
COVERS = (
    "The model's fingerprint_: a hash of features, labels, weights and names of the training "
    "data, as of Sample(X, Y).fingerprint()."
)


def model_record(
    model: AverageFairClassifier,
    *,
    title: str | None,
    settings: Mapping[str, Any] | None,
    people: bool,
) -> Record:
    """Return what the evidence of a fitted model says.

    Parameters
    ----------
    model : AverageFairClassifier
    title : str, or None
    settings : mapping, or None
        Shown as given, after the model's own.
    people : bool
        Whether people's names and rates may appear.
    """
    check_is_fitted(model)
    known = model.certificate_
    rates = [rate.name for rate in Rates.of(model.rate)]
    listed = _people(model, rates) if people else None
    given = check_settings(settings)
    undefined = getattr(model, "undefined_individuals_", None)
    what = f"classifiers for {counted(len(model.task_names_), 'task')}"
    individual_rates = getattr(model, "individual_rates_", None)
    n = None if individual_rates is None else len(individual_rates)
    learned = "" if n is None else f", learned from {counted(n, 'person', 'people')}"
    decided = "fixed" if known.decisions == "fixed" else "drawn by chance"
    words = [f"{topic}: {line}" for topic, line in known.lines()]
    return Record(
        kind="certificate",
        title=title or what.capitalize(),
        heading=f"Model card: {title or what}",
        lead=(
            f"{what.capitalize()}{learned}. Decisions are {decided}. The promise is about "
            f"{' and '.join(map(spoken, rates))} rates."
        ),
        data={
            "people": n,
            "tasks": len(model.task_names_),
            "fingerprint": model.fingerprint_,
            "covers": COVERS,
        },
        settings={**_settings(model), **given},
        given=given,
        figures={"rates": rates, **known.to_dict(), **({"people": listed} if people else {})},
        outcome=None,
        verdict=_verdict(known),
        words=words,
        brief=[line for line in words if not line.startswith("Who pays: ")],
        not_proved=not_proved_by_certificate(known, 0 if undefined is None else len(undefined)),
        repeat=f"averagefair.{_call(model)}.fit(X, Y)",
        page=_page,
        listings=[*_pays(known, rates), *_changed(listed)],
    )


def _verdict(known: Certificate) -> str:
    promise = known.promise
    if not promise.required and promise.no_harm is None:
        return f"Asked at a price, so nothing is required: {_asked(promise)}."
    kept = "on average over draws" if known.decisions == "drawn" else "by the decisions made"
    harm = promise.no_harm_words()
    asked = f"{_asked(promise)}{f', and {harm}' if harm else ''}"
    met = f"Met on the training people, {kept}" if known.met else "NOT met on the training people"
    return f"{met}: {asked}."


def _asked(promise: Promise) -> str:
    """Say what is promised to somebody who does not know what alpha is."""
    if not isinstance(promise, Equal):
        return promise.words()
    if promise.max_influence is not None:
        return (
            f"rates within {promise.alpha:g} of a common rate, except for people who would cost "
            "too much (max_influence)"
        )
    who = "everybody" if promise.everybody else f"all but {percent(promise.beta)} of the people"
    return f"{who} within {promise.alpha:g} of a common rate"


def _settings(model: AverageFairClassifier) -> dict[str, Any]:
    own = {name: _shown(value) for name, value in model.get_params(deep=False).items()}
    for name in _ASIDE:
        del own[name]
    return {
        **own,
        "promise": repr(model.promise_),
        "seed": int(model.seed_),
    }


def _shown(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return plain(value)
    return _written(value)


def _call(model: AverageFairClassifier) -> str:
    """Return the estimator as it was made, with all settings that are not the default."""
    defaults = inspect.signature(AverageFairClassifier.__init__).parameters
    given = [
        f"{name}={_written(value)}"
        for name, value in model.get_params(deep=False).items()
        if name not in _ASIDE and repr(value) != repr(defaults[name].default)
    ]
    return f"AverageFairClassifier({', '.join(given)})"


def _written(value: Any) -> str:
    return " ".join(repr(value).split())


def _pays(known: Certificate, rates: list[str]) -> list[Listing]:
    """Return the tables of who pays, one for each rate."""
    against = "today" if known.against_given else "nothing asked"
    out = []
    for rate, pays in zip(rates, known.each_who_pays, strict=False):
        if not pays.people:
            continue
        rows = [
            [name, figure(change.before), figure(change.after), figure(change.change, sign="+")]
            for name, change in (
                ("worst-off tenth, mean rate", pays.worst_off),
                ("median rate", pays.median),
                ("mean rate", pays.mean),
                ("best-off tenth, mean rate", pays.best_off),
            )
        ]
        caption = (
            f"Who pays, {spoken(rate)} rates: {percent(round(pays.better, 3))} of "
            f"{counted(pays.people, 'person', 'people')} are better off, "
            f"{percent(round(pays.worse, 3))} worse off"
        )
        out.append(Listing(caption, ["", against, "this model", "change"], rows))
    return out


def _people(model: AverageFairClassifier, rates: list[str]) -> dict[str, Any]:
    """Return everybody's name and rates, and their rates before."""
    after, mapping = getattr(model, "individual_rates_", None), model.mapping_
    if after is None or mapping is None:
        raise InputError(
            "people=True needs the training people, but a loaded model does not hold their rates. "
            "Save the evidence after the fit, or leave people out."
        )
    before = getattr(model, "baseline_rates_", None)
    return {
        "name": plain(mapping.individuals.individual_names),
        "rates": _by_rate(rates, after),
        "rates_before": None if before is None else _by_rate(rates, before),
    }


def _by_rate(rates: list[str], values: Any) -> dict[str, Any]:
    columns = np.asarray(values, dtype=np.float64).reshape(len(values), len(rates))
    return {rate: plain(columns[:, number]) for number, rate in enumerate(rates)}


def _changed(listed: dict[str, Any] | None) -> list[Listing]:
    """Return who gains and who loses most, by name."""
    if listed is None or listed["rates_before"] is None:
        return []
    out = []
    for rate, after in listed["rates"].items():
        before = listed["rates_before"][rate]
        sides = most_changed(listed["name"], _floats(before), _floats(after), _PEOPLE)
        for side, found in zip(("gain", "lose"), sides, strict=True):
            rows = [[in_a_line(name), figure(old), figure(new)] for name, old, new in found]
            caption = f"Who {side}s most, {spoken(rate)} rates"
            out.append(Listing(caption, ["person", "before", "this model"], rows))
    return [listing for listing in out if listing.rows]


def _floats(values: list[float | None]) -> Any:
    return np.array([np.nan if value is None else value for value in values])


def _page(record: Record) -> str:
    """Return the certificate as a page."""
    sections = [
        Section("The certificate", record.brief, gist=record.verdict),
        Section("Who pays", listings=record.listings),
        Section("What this does not prove", record.not_proved),
    ]
    sections = [part for part in sections if part.paragraphs or part.listings]
    settings = {name: value for name, value in record.settings.items() if value is not None}
    return story_report(record.title, record.lead, sections, {}, settings)
