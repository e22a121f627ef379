"""What ``fit`` and ``frontier`` promise: from options to a promise, and who pays for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from averagefair._util.text import figure, percent, table
from averagefair.cli.joining import match
from averagefair.errors import InputError
from averagefair.files.reading import read_file
from averagefair.files.table import FileTable
from averagefair.game.rates import spoken

if TYPE_CHECKING:
    from averagefair.auditing.first_look import FirstLook
    from averagefair.cli.training_input import TrainingInput
    from averagefair.estimator import AverageFairClassifier
    from averagefair.game.promises import Promise
    from averagefair.game.who_pays import WhoPays

OPTIONS = {
    "alpha": "--alpha",
    "beta": "--beta",
    "max_influence": "--max-influence",
    "max_rate": "--max-rate",
    "worst_off": "--worst-off",
    "share": "--worst-off",
    "price": "--price",
    "no_harm": "--no-harm",
}
"""The option of each parameter of a promise."""
LISTS = {"alpha": "--alphas", "max_rate": "--max-rates", "price": "--prices"}
"""The options of ``frontier`` that list values."""


@contextmanager
def in_options(**others: str) -> Iterator[None]:
    """Write options for parameters in the errors of the block: --max-rate for max_rate.

    Parameters
    ----------
    **others : str
        Options with another name than in ``OPTIONS``, by parameter.
    """
    options = OPTIONS | others
    # "At a price" is no parameter, and a name in quotes is a column's.
    names = re.compile(rf"(?<!\ba )(?<![-'])\b({'|'.join(options)})\b(?!')")
    try:
        yield
    except InputError as error:
        if type(error) is not InputError:
            raise
        text = names.sub(lambda found: options[found[1]], str(error))
        raise InputError(text) from None


def promised(*, minimax: bool = False, **given: Any) -> Promise:
    """Return the promise that the options of ``fit`` ask for; equal rates by default.

    Parameters
    ----------
    minimax : bool, default False
    **given
        The options, as parameters of ``AverageFairClassifier``.
    """
    from averagefair.game.promises import Minimax
    from averagefair.pose import resolve_promise

    if not minimax:
        with in_options():
            return resolve_promise(SimpleNamespace(**given, promise=None))
    others = [
        OPTIONS[name]
        for name, value in given.items()
        if value is not None and name != "no_harm" and not (name == "beta" and value == 0)
    ]
    if others:
        raise InputError(
            f"--minimax cannot go with {', '.join(others)}: it lowers the highest rate as far as "
            "possible and has no figure of its own. Leave one of them out; --no-harm may stay."
        )
    with in_options():
        return Minimax(no_harm=given["no_harm"])


def varied(
    alphas: str | None, max_rates: str | None, prices: str | None, **given: Any
) -> tuple[Promise, list[float]]:
    """Return the promise that ``frontier`` varies, and the values of its figure.

    Parameters
    ----------
    alphas, max_rates, prices : str, or None
        Lists of values, as :func:`read_values` takes them.
    **given
        The other options, as parameters of ``AverageFairClassifier``.
    """
    from averagefair.frontier import ALPHAS, PRICES
    from averagefair.pose import resolve_promise

    texts = {"alpha": alphas, "max_rate": max_rates, "price": prices}
    lists = {
        name: read_values(text, LISTS[name]) for name, text in texts.items() if text is not None
    }
    firsts = {name: lists[name][0] if name in lists else None for name in texts}
    with in_options(**LISTS):
        promise = resolve_promise(SimpleNamespace(**firsts, **given, promise=None))
        usual = list(PRICES if promise.parameter == "price" else ALPHAS)
        values = lists.get(promise.parameter, usual)
        for value in values:
            promise.at(value)
    return promise, values


def read_values(text: str, option: str = "--alphas") -> list[float]:
    """Read "first:last:step", ends included, or "a,b,c".

    Examples
    --------
    >>> read_values("0.02:0.04:0.01"), read_values("0.1, 0.2")
    ([0.02, 0.03, 0.04], [0.1, 0.2])
    """
    try:
        parts = [float(part) for part in text.replace(":", ",").split(",")]
    except ValueError:
        parts = []
    if not parts or (":" in text and (len(parts) != 3 or "," in text)):
        raise InputError(
            f"{option} must be first:last:step, e.g. 0.1:0.3:0.05, or a list such as 0.1,0.2; "
            f"got {text!r}."
        )
    if ":" not in text:
        return parts
    first, last, step = parts
    if not (step > 0 and first <= last < np.inf):
        raise InputError(
            f"{option} must go up from first to last by a step > 0, e.g. 0.1:0.3:0.05; got "
            f"{text!r}."
        )
    if (last - first) / step >= 1000:
        raise InputError(f"{option} lists more than 1000 values: {text!r}. Use a larger step.")
    count = int((last - first) / step + 1e-9) + 1
    return [round(first + step * number, 10) for number in range(count)]


# Rates that people have today.


def check_against(path: str | None, id_column: str | None) -> None:
    """Refuse --against without --id, before any file is read."""
    if path is not None and id_column is None:
        raise InputError(
            "--against needs --id: name the column that says who a row is, in both tables."
        )


def read_against(
    path: str | None, people: TrainingInput, rates: str | Sequence[str]
) -> tuple[Any, tuple[FileTable, ...]]:
    """Return today's rates in the order of the people, and the file that holds them.

    Parameters
    ----------
    path : str, or None
        A table with the id column and a column for each rate. A single rate may be called "rate",
        as in the table that ``audit --people`` writes. Other columns are not read.
    people : TrainingInput
    rates : str, or list of str

    Returns
    -------
    rates : array, shape (n,) or (n, rates), or None without a path
    files : tuple of FileTable
    """
    if path is None:
        return None, ()
    first = people.files[0]
    given = read_file(path).by(first.id_column)
    wanted = [rates] if isinstance(rates, str) else list(rates)
    several = not isinstance(rates, str)
    names = [_column(given, name, several) for name in wanted]
    rows = match(first, given, remedy="Give everybody's rate once; leave it blank if unknown")
    found = given.rates(names)[rows]
    return (found if several else found[:, 0]), (given,)


def _column(given: FileTable, rate: str, several: bool) -> str:
    """Return the column that holds a rate."""
    names = [spoken(rate), rate, *([] if several else ["rate"])]
    for name in names:
        if name in given.columns and name != given.id_column:
            return name
    wanted = " or ".join(dict.fromkeys(repr(name) for name in names))
    listed = ", ".join(repr(name) for name in given.others([])) or "none"
    raise InputError(
        f"{given.source}: --against needs a column {wanted} with everybody's rate from 0 to 1. "
        f"Other columns than the id: {listed}."
    )


# Who pays.


def each_pays(pays: Any) -> tuple[WhoPays, ...]:
    """Return who pays for each rate; empty if unknown."""
    if pays is None:
        return ()
    return tuple(pays) if isinstance(pays, tuple) else (pays,)


def pays_cells(pays: WhoPays) -> list[str]:
    """Return the cells of a table: worst-off and best-off tenth, better and worse off."""
    return [
        *(
            f"{figure(part.before)} to {figure(part.after)}"
            for part in (pays.worst_off, pays.best_off)
        ),
        percent(round(pays.better, 3)),
        percent(round(pays.worse, 3)),
    ]


PAYS_HEAD = ["worst-off tenth", "best-off tenth", "better", "worse"]


def pays_table(rows: Sequence[tuple[str, Any]]) -> str:
    """Return a table of who pays, a row for each name (and each rate)."""
    cells = []
    for name, pays in rows:
        every = each_pays(pays)
        for number, own in enumerate(every, 1):
            which = f"{name}, rate {number}" if len(every) > 1 else name
            cells.append([which, *pays_cells(own)])
    return table(["", *PAYS_HEAD], cells)


def changes(
    model: AverageFairClassifier, names: Any, rates: Sequence[str], count: int
) -> list[dict[str, Any]]:
    """Return, for each rate, who gains most and who loses most; empty if unknown.

    Parameters
    ----------
    model : AverageFairClassifier
        Fitted.
    names : array, shape (n,)
    rates : sequence of str
        The names of the rates.
    count : int
        How many people to list on each side.
    """
    from averagefair.game.who_pays import most_changed

    if model.baseline_rates_ is None:
        return []
    before, after = (
        np.reshape(part, (len(names), -1))
        for part in (model.baseline_rates_, model.individual_rates_)
    )
    listed = []
    for number, rate in enumerate(rates):
        sides = most_changed(names, before[:, number], after[:, number], count)
        both = (
            [{"name": str(name), "before": old, "after": new} for name, old, new in side]
            for side in sides
        )
        listed.append({"rate": rate, **dict(zip(("gain", "lose"), both, strict=True))})
    return listed


def changes_lines(listed: list[dict[str, Any]]) -> list[str]:
    """Return the lists of :func:`changes` as text."""
    lines = []
    for own in listed:
        which = f", {own['rate']} rate" if len(listed) > 1 else ""
        for side in ("gain", "lose"):
            if not own[side]:
                lines.append(f"nobody {side}s{which}")
                continue
            rows = [
                [
                    one["name"],
                    figure(one["before"]),
                    figure(one["after"]),
                    figure(one["after"] - one["before"], sign="+"),
                ]
                for one in own[side]
            ]
            lines.append(f"who {side}s most{which}:")
            lines.append(table(["person", "before", "after", "change"], rows))
    return lines


def look_facts(look: FirstLook | None) -> dict[str, Any] | None:
    """Return the first look for JSON; None if nobody looked."""
    if look is None:
        return None
    return {**look.to_dict(), "statement": look.statement()}
