"""Draws that stay put: the same seed, person and task always give the same number.

A randomised decision must not change because somebody asked twice, sorted the table or cut it in
two. So the draw is not taken from a stream but computed from its key: each value of the key is
mixed into a 64-bit state (the finaliser of SplitMix64, a bijection that spreads every bit), and
the top 53 bits of the state make a number in [0, 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from averagefair.errors import InputError
from averagefair.tables import is_missing

Keys = NDArray[np.uint64]


def person_keys(features: NDArray[np.float64]) -> Keys:
    """Return one key for each row, made from what the row holds; shape (n,).

    Two people with the same features share their draws. Give ids where that is not wanted.
    """
    # Adding zero turns -0.0 into 0.0, which is the same number with other bits.
    bits = (np.ascontiguousarray(features, dtype=np.float64) + 0.0).view(np.uint64)
    state = np.zeros(len(bits), dtype=np.uint64)
    for column in bits.T:
        state = _mix(state, column)
    return state


def id_keys(ids: ArrayLike) -> Keys:
    """Return one key for each id, made from its text: 7 and "7" are the same person.

    Examples
    --------
    >>> bool((id_keys(["a", "bb"])[:1] == id_keys(["a"])).all())
    True
    """
    text = id_text(ids)
    if text.size == 0:
        return np.zeros(0, dtype=np.uint64)
    letters = np.ascontiguousarray(text).view(np.uint32).reshape(len(text), -1)
    state = np.zeros(len(text), dtype=np.uint64)
    for column in letters.T:
        # The width of the array depends on the longest id; padding must not reach the key.
        state = np.where(column == 0, state, _mix(state, column.astype(np.uint64)))
    return state


def check_ids(ids: ArrayLike, what: str) -> None:
    """Refuse ids of people that are blank or that name two rows; the first ones are named.

    Examples
    --------
    >>> check_ids(["ann", "bo", "ann"], "ids")
    Traceback (most recent call last):
    averagefair.errors.InputError: ids must name each row once; 'ann' stands in rows 0 and 2...
    """
    text = id_text(ids, what, nul=True)
    order = np.argsort(text, kind="stable")
    again = np.flatnonzero(text[order[1:]] == text[order[:-1]])
    if again.size:
        first, second = order[again[0]], order[again[0] + 1]
        several = len(np.unique(text[order[again]])) - 1
        more = f", and {several:,} more likewise" if several else ""
        raise InputError(
            f"{what} must name each row once; {str(text[first])!r} stands in rows {first} and "
            f"{second}{more}. Give each person one row, or leave {what} out."
        )


def id_text(ids: ArrayLike, what: str = "ids", *, nul: bool = False) -> NDArray[np.str_]:
    """Write every id as text, the same whatever else is in the list: 7, 7.0 and "7" are alike.

    The character NUL is refused. With ``nul`` another stands in its place, for comparing ids.
    """
    # A list is read one by one: NumPy would turn [1, 2.5] into floats and ["a", None] into text.
    one_by_one = isinstance(ids, list | tuple)
    given: NDArray[Any] = np.array(ids, dtype=object) if one_by_one else np.asarray(ids)
    if given.ndim != 1:
        raise InputError(f"{what} must be one for each person; got shape {given.shape}.")
    if given.dtype.kind == "O":
        text = [_one_id(value) for value in given]
        if nul:
            text = [one and one.replace("\x00", "\udc00") for one in text]
        _refuse_nul([one or "" for one in text], what)
        blank = np.array([one is None for one in text], dtype=bool)
        given = np.array([one or "" for one in text], dtype=np.str_)
    elif given.dtype.kind == "f":
        blank = np.isnan(given)
        whole = (given == np.floor(given)) & (np.abs(given) < 2.0**63)
        numbers = np.where(whole, given, 0.0).astype(np.int64)
        given = np.where(whole, numbers.astype(np.str_), given.astype(np.str_))
    else:
        blank = np.zeros(len(given), dtype=bool)
        if given.dtype.kind == "U" and not nul:
            _refuse_nul(given.tolist(), what)
        elif given.dtype.kind in "mM":
            blank = np.isnat(given)
    if blank.any():
        raise InputError(
            f"{what} must not be blank; position {int(np.flatnonzero(blank)[0])} is. "
            "Every row must say who it is: no None, no NaN."
        )
    return given.astype(np.str_)


def _refuse_nul(text: list[str], what: str) -> None:
    """Refuse NUL in an id: NumPy drops it at the end of a word, and two people would be one."""
    for place, one in enumerate(text):
        if "\x00" in one:
            raise InputError(
                f"{what} must not hold the character NUL; position {place} has {one!r}."
            )


def _one_id(value: Any) -> str | None:
    if is_missing(value):
        return None
    if isinstance(value, float | np.floating):
        number = float(value)
        return str(int(number) if number.is_integer() and abs(number) < 2.0**63 else number)
    return str(value)


def task_keys(names: Sequence[str]) -> Keys:
    """Return one key for each task name; shape (m,)."""
    # A name need not be proper text: halves of surrogate pairs have keys too.
    letters = [name.encode("utf-8", "surrogatepass") for name in names]
    digests = [blake2b(one, digest_size=8).digest() for one in letters]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def uniform(seed: int, people: Keys, tasks: Keys) -> NDArray[np.float64]:
    """Return numbers in [0, 1), one for each person and task; shape (n, m).

    Examples
    --------
    >>> draws = uniform(0, id_keys(["ann", "bo"]), task_keys(["loan"]))
    >>> bool((draws[1:] == uniform(0, id_keys(["bo"]), task_keys(["loan"]))).all())
    True
    """
    start = _mix(np.zeros(1, dtype=np.uint64), np.array([seed % 2**64], dtype=np.uint64))
    state = _mix(_mix(start, people)[:, None], tasks[None, :])
    return np.asarray((state >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def _mix(state: Keys, value: Keys) -> Keys:
    with np.errstate(over="ignore"):
        state = (state ^ value) + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return state ^ (state >> np.uint64(31))
