"""Reproducible draws: the same seed, person and task always give the same number.

A randomised decision must not change when somebody asks twice, sorts the table or cuts it in two.
So a draw is computed from a key (seed, person and task), not taken from a stream. Each value of the
key is mixed into a 64-bit state by the finaliser of SplitMix64, a bijection that spreads every bit.
The top 53 bits of the state make a number in [0, 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from averagefair.errors import InputError
from averagefair.people.blocks import row_blocks
from averagefair.people.frames import is_missing

Keys = NDArray[np.uint64]


def person_keys(features: NDArray[np.float64]) -> Keys:
    """Return one key for each row, made from the row's values; shape (n,).

    Two people with the same features share their draws. Pass ids to give them separate draws.
    """
    # Adding zero turns -0.0 into 0.0: the same number, but other bits.
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
        # Skip padding: its length depends on the longest id in the list.
        state = np.where(column == 0, state, _mix(state, column.astype(np.uint64)))
    return state


def check_ids(ids: ArrayLike, what: str) -> None:
    """Refuse blank ids and ids that name two rows; the message shows the first of them.

    Examples
    --------
    >>> check_ids(["ann", "bo", "ann"], "ids")
    Traceback (most recent call last):
    averagefair.errors.InputError: ids must name each row once; 'ann' names rows 0 and 2...
    """
    text = id_text(ids, what, nul=True)
    order = np.argsort(text, kind="stable")
    again = np.flatnonzero(text[order[1:]] == text[order[:-1]])
    if again.size:
        first, second = order[again[0]], order[again[0] + 1]
        others = len(np.unique(text[order[again]])) - 1
        more = f", and {others:,} more are repeated" if others else ""
        raise InputError(
            f"{what} must name each row once; {str(text[first])!r} names rows {first} and "
            f"{second}{more}. Give each person one row, or leave {what} out."
        )


def id_text(ids: ArrayLike, what: str = "ids", *, nul: bool = False) -> NDArray[np.str_]:
    """Write every id as text, independent of the rest of the list: 7, 7.0 and "7" are alike.

    Refuses the character NUL. With ``nul``, replaces NUL by another character, to compare ids.
    """
    # Keep a list's values as they are: NumPy turns [1, 2.5] into floats and ["a", None] into text.
    is_list = isinstance(ids, list | tuple)
    given: NDArray[Any] = np.array(ids, dtype=object) if is_list else np.asarray(ids)
    if given.ndim != 1:
        raise InputError(
            f"{what} must be a list with one id for each person; got shape {given.shape}."
        )
    if given.dtype.kind == "O":
        text = [_id_as_text(value) for value in given]
        if nul:
            text = [word and word.replace("\x00", "\udc00") for word in text]
        _refuse_nul([word or "" for word in text], what)
        blank = np.array([word is None for word in text], dtype=bool)
        given = np.array([word or "" for word in text], dtype=np.str_)
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
            "Replace None and NaN by an id."
        )
    return given.astype(np.str_)


def _refuse_nul(text: list[str], what: str) -> None:
    """Refuse NUL in an id: NumPy drops a final NUL, and two people would share one id."""
    for position, word in enumerate(text):
        if "\x00" in word:
            raise InputError(
                f"{what} must not hold the character NUL; position {position} has {word!r}."
            )


def _id_as_text(value: Any) -> str | None:
    if is_missing(value):
        return None
    if isinstance(value, float | np.floating):
        number = float(value)
        return str(int(number) if number.is_integer() and abs(number) < 2.0**63 else number)
    return str(value)


def task_keys(names: Sequence[str]) -> Keys:
    """Return one key for each task name; shape (m,)."""
    # Accept names that are not valid Unicode: halves of surrogate pairs.
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    digests = [blake2b(name, digest_size=8).digest() for name in encoded]
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


def count_draws(
    chances: NDArray[np.float64], r: int, seed: int, task_names: Sequence[str]
) -> NDArray[np.int64]:
    """Count how often each of k possibilities comes up in r draws for each task; shape (k, m).

    A task's draws depend on the seed, the task's name and its chances, a column of ``chances``
    (shape (k, m)).

    Examples
    --------
    >>> count_draws(np.array([[0.5, 1.0], [0.5, 0.0]]), 4, 0, ["loan", "school"])
    array([[1, 4],
           [3, 0]])
    """
    below = np.cumsum(chances, axis=0)
    below /= below[-1]
    tasks = task_keys(task_names)
    counts = np.zeros(chances.shape, dtype=np.int64)
    for rows in row_blocks(r, len(tasks)):
        draws = uniform(seed, np.arange(rows.start, rows.stop, dtype=np.uint64), tasks)
        for count, edge in zip(counts, below, strict=True):
            count += (draws < edge).sum(axis=0)
    return np.diff(counts, axis=0, prepend=0)


def _mix(state: Keys, value: Keys) -> Keys:
    with np.errstate(over="ignore"):
        state = (state ^ value) + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return state ^ (state >> np.uint64(31))
