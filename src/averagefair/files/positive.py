"""Labels in words: which words mean 1.

A user names the words that mean 1; every other word then means 0. Words are compared without case
and without spaces around them. Numbers are compared as numbers, and true and false are 1 and 0, so
"1" also finds 1.0 and TRUE. Each cell is read alone: parts of a long table are read alike.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.text import digits
from averagefair.errors import InputError, extra, some_of
from averagefair.files.cells import numbers
from averagefair.people.frames import is_missing
from averagefair.people.words import BLANKS, FALSE, TRUE

# Words that mean 1 in many tables, and words that mean 0, for advice.
_YES = {"yes", "y", "ja", "oui", "si", "sí", "t", "+", "1", "positive", "pos", "pass", "passed"}
_YES |= {"approved", "accepted", "good", "high", "hired"}
_NO = {"no", "n", "nein", "non", "f", "-", "-1", "0", "negative", "neg", "fail", "failed"}
_NO |= {"rejected", "denied", "bad", "low", "never"}
# A column with more words than this is not a column of labels.
_MOST_WORDS = 20


def plain_word(cell: Any) -> str | None:
    """Return a cell as a word to compare; None where blank.

    Examples
    --------
    >>> plain_word(" Yes"), plain_word(1.0), plain_word("-1.0"), plain_word(True), plain_word("NA")
    ('yes', '1', '-1', '1', None)
    """
    if is_missing(cell):
        return None
    if isinstance(cell, bool):
        return str(int(cell))
    word = str(cell).strip().lower()
    if word in BLANKS:
        return None
    if word in TRUE or word in FALSE:
        return str(int(word in TRUE))
    number = _number(word)
    return word if number is None else digits(number)


def _number(word: str) -> float | None:
    try:
        return None if "_" in word else float(word)
    except ValueError:
        return None


def words_in(column: Any) -> dict[str, str]:
    """Return the distinct words of a pyarrow column, each with its first spelling.

    Parameters
    ----------
    column : pyarrow array
    """
    words: dict[str, str] = {}
    for cell in _coded(column).dictionary.to_pylist():
        word = plain_word(cell)
        if word is not None:
            words.setdefault(word, str(cell).strip())
    return words


def positive_words(positive: str | Sequence[str]) -> tuple[str, ...]:
    """Return the words that mean 1, to compare; refuse a blank one.

    Parameters
    ----------
    positive : str or sequence of str
        As the user wrote them.
    """
    words = []
    for written in [positive] if isinstance(positive, str) else positive:
        word = plain_word(written)
        if word is None:
            raise InputError(f"a positive word must not be blank; got {written!r}. Give e.g. yes.")
        words.append(word)
    return tuple(words)


def read_positive(column: Any, positive: Sequence[str], *, chances: bool) -> NDArray[np.float64]:
    """Read a column of words as labels, shape (n,): 1 for the positive words, NaN where blank.

    Every other word is 0. Numbers keep their value, unless a positive word is a number: then it is
    1 and all others are 0. If this word is "1", 0 stays 0, and chances stay chances.

    Parameters
    ----------
    column : pyarrow array
    positive : sequence of str
        From :func:`positive_words`.
    chances : bool
        Whether the column may hold chances, numbers between 0 and 1.
    """
    pa = extra("pyarrow", "files")
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return _of_numbers(numbers(column), positive, chances=chances)
    coded = _coded(column)
    words = [*map(plain_word, coded.dictionary.to_pylist()), None]
    parsed = [None if word is None else _number(word) for word in words]
    known = np.array([np.nan if number is None else number for number in parsed])
    values = _of_numbers(known, positive, chances=chances)
    for place, word in enumerate(words):
        if word is not None and parsed[place] is None:
            values[place] = float(word in positive)
    places = coded.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)
    return np.asarray(values[places])


def _of_numbers(
    values: NDArray[np.float64], positive: Sequence[str], *, chances: bool
) -> NDArray[np.float64]:
    named = [number for number in map(_number, positive) if number is not None]
    if not named:
        return values
    out = np.where(np.isnan(values), np.nan, np.isin(values, named).astype(np.float64))
    if chances and named == [1.0]:
        out = np.where((values >= 0) & (values <= 1), values, out)
    return out


def check_positive(positive: Sequence[str], columns: Iterable[Any]) -> tuple[str, ...]:
    """Return positive words to compare; refuse one that occurs in no column.

    Parameters
    ----------
    positive : sequence of str
        As the user wrote them, after --positive.
    columns : iterable of pyarrow arrays
        All columns of labels (and of decisions).
    """
    there: dict[str, str] = {}
    for column in columns if positive else ():
        there = words_in(column) | there
    words = positive_words(positive)
    for written, word in zip(positive, words, strict=True):
        if word not in there:
            listed = [repr(spelled) for spelled in there.values()] or ["no words"]
            raise InputError(
                f"--positive {shlex.quote(written)}: no label column holds this word. The label "
                f"columns hold: {some_of(listed)}."
            )
    return words


def advice(column: Any) -> str:
    """Say how to name the positive word of a column; "" if it is not a column of labels.

    Parameters
    ----------
    column : pyarrow array
    """
    try:
        words = words_in(column)
    except NotImplementedError:  # lists, for example
        return ""
    digits_only = [_number(word) is not None for word in words]
    mixed = any(digits_only) and not all(digits_only)
    if mixed or (all(digits_only) and len(words) > 2) or len(words) > _MOST_WORDS:
        return ""  # a mistake among labels, or no labels
    word = _likely(list(words))
    others = [repr(spelled) for other, spelled in words.items() if other != word]
    rest = others[0] if len(others) == 1 else "every other word"
    return (
        f"Say which word means 1, e.g. --positive {shlex.quote(words[word])}: {rest} then means 0"
    )


def _likely(words: list[str]) -> str:
    """Return the word that probably means 1.

    Examples
    --------
    >>> _likely(["no", "yes"]), _likely(["-1", "1"]), _likely(["rejected", "offer"])
    ('yes', '1', 'offer')
    """
    for fits in (_YES.__contains__, lambda word: word not in _NO):
        found = [word for word in words if fits(word)]
        if found:
            return max(found)
    return words[0]


def _coded(column: Any) -> Any:
    """Return a column as one dictionary array."""
    pa, pc = extra("pyarrow", "files"), extra("pyarrow.compute", "files")
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    coded = pc.dictionary_encode(column)
    return coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
