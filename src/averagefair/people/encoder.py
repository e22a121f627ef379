"""Words, dates and blanks as numbers, in the same way for training people and for later ones.

An encoder learns from the training table how each column becomes numbers:

- numbers: themselves; a blank is the training median;
- dates: days since 1970; a blank is the training median;
- words: a column of 0 and 1 for each word; rare words share one column.

A column with blanks in the training table also gets a column that is 1 where it is blank. All of
this is plain text and numbers: a model file stores it as JSON, without any code.

scikit-learn's ``ColumnTransformer`` with ``OneHotEncoder`` and ``SimpleImputer`` does much of this,
but not dates, and not text from a CSV file, where every number is text. It needs pandas or polars
to choose columns by name, and its parts would have to be checked one by one when a file is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from averagefair._util.arrays import FloatArray
from averagefair._util.checks import whole_number
from averagefair._util.text import counted
from averagefair.errors import InputError, some_of
from averagefair.people.frames import Table, read_vector
from averagefair.people.raw_columns import (
    DATE,
    LEAVE_OUT,
    NUMBER,
    WORDS,
    EncodingError,
    RawColumn,
    RawTable,
)

KINDS = (NUMBER, DATE, WORDS)
MOST_CATEGORIES = 20
"""The default of ``TableEncoder(max_categories=...)``."""
OTHER, BLANK = "(other)", "(blank)"
# A column looks like an id if more than this share of its cells is distinct, and it has more than
# this many words.
_DISTINCT, _FEW = 0.9, 10


@dataclass(frozen=True)
class Encoding:
    """How one column becomes numbers.

    Attributes
    ----------
    name : str
        The column.
    kind : {"number", "date", "words"}
    median : float
        What a blank becomes; for dates, in days since 1970.
    words : tuple of str
        The words with a column of their own, in order.
    other : bool
        Whether all other words share a column. If not, a word that training did not have is 0 in
        all columns.
    blank : bool
        Whether there is a column that is 1 where a cell is blank.
    """

    name: str
    kind: str
    median: float = 0.0
    words: tuple[str, ...] = ()
    other: bool = False
    blank: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the encoded columns."""
        if self.kind != WORDS:
            first: tuple[str, ...] = (self.name,)
        else:
            own = [*self.words, *([OTHER] if self.other else [])]
            first = tuple(f"{self.name}={word}" for word in own)
        return (*first, *([f"{self.name}={BLANK}"] if self.blank else []))

    def write(self, column: RawColumn, out: FloatArray) -> None:
        """Write the encoded columns.

        Parameters
        ----------
        column : RawColumn
        out : array, shape (n, columns)
            Holds zeros.
        """
        if self.kind == WORDS:
            place = {word: number for number, word in enumerate(self.words)}
            unknown, empty = len(self.words) if self.other else -1, -2
            codes = np.array(
                [empty if word is None else place.get(word, unknown) for word in column.as_words()],
                dtype=np.intp,
            )
            known, blank = np.flatnonzero(codes >= 0), codes == empty
            out[known, codes[known]] = 1.0
        else:
            numbers = column.as_numbers(self.kind)
            blank = np.isnan(numbers)
            out[:, 0] = np.where(blank, self.median, numbers)
        if self.blank:
            out[:, -1] = blank


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode a table with words, dates and blanks as numbers.

    ``AverageFairClassifier(encode=True)`` uses it and stores it in the model. Alone it is a
    scikit-learn transformer.

    Numbers stay numbers, dates become days since 1970, and words become columns of 0 and 1. A blank
    number or date becomes the training median. A column with blanks in the training table also gets
    a column that is 1 where it is blank.

    Parameters
    ----------
    max_categories : int, default 20
        The most columns that the words of one column get. If there are more words, the rare ones
        share the last of these columns, "(other)", and so does every word that training did not
        have. Otherwise such a word is 0 in all columns.

    Attributes
    ----------
    encodings_ : tuple of Encoding
        How each column is encoded, in order.
    feature_names_in_ : array of str
        The columns of the table; only if they have names.
    n_features_in_ : int

    Notes
    -----
    A column of text holds numbers if all its cells are numbers, dates if all are written as
    2026-05-31 or 2026-05-31T12:00, and words otherwise. Empty cells and the words NA, NaN, null and
    none are blank. Cells keep their kind: a table that is encoded later must have the same columns,
    of the same kind. A column of a categorical type holds words, whatever they are.

    The encoder keeps the words with a column of their own and the medians. It does not keep the
    words under "(other)".

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({
    ...     "income": [30.0, None, 50.0], "region": ["north", "south", "north"],
    ...     "since": ["2020-01-01", "1970-01-02", "2021-05-31"]})
    >>> encoder = TableEncoder().fit(people)
    >>> encoder.transform(people)
    array([[3.0000e+01, 0.0000e+00, 1.0000e+00, 0.0000e+00, 1.8262e+04],
           [4.0000e+01, 1.0000e+00, 0.0000e+00, 1.0000e+00, 1.0000e+00],
           [5.0000e+01, 0.0000e+00, 1.0000e+00, 0.0000e+00, 1.8778e+04]])
    >>> list(encoder.get_feature_names_out())
    ['income', 'income=(blank)', 'region=north', 'region=south', 'since']
    """

    encodings_: tuple[Encoding, ...]
    feature_names_in_: NDArray[Any]
    n_features_in_: int

    def __init__(self, max_categories: int = MOST_CATEGORIES) -> None:
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> TableEncoder:
        """Learn how to encode each column.

        Parameters
        ----------
        X : array-like or DataFrame of any library, shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,), optional
            How many people each row stands for: weight 2 counts like two such rows, weight 0 like
            no row.
        """
        most = whole_number("max_categories", self.max_categories, least=2)
        frame = RawTable.read(X)
        if not frame.rows or not frame.columns:
            raise InputError(
                f"X must have rows and columns; got {counted(frame.rows, 'row')} and "
                f"{counted(len(frame.columns), 'column')}."
            )
        weights = np.ones(frame.rows)
        if sample_weight is not None:
            weights = read_vector(sample_weight, frame.rows, "individual weights")
        columns = (RawColumn.read(name, column) for name, column in frame.columns.items())
        encodings = tuple(_learn(column, weights, most) for column in columns)
        _check_distinct(encodings)
        self.encodings_, self.n_features_in_ = encodings, len(encodings)
        self.__dict__.pop("feature_names_in_", None)
        if frame.named:
            self.feature_names_in_ = np.array([*frame.columns], dtype=object)
        return self

    def transform(self, X: Any) -> Any:
        """Return the encoded table, float64, shape (n, encoded columns).

        Parameters
        ----------
        X : array-like or DataFrame of any library, shape (n, d)
            With the columns of the training table, in their order.
        """
        return self.table(X).cells

    def table(self, X: Any) -> Table:
        """Return the encoded table with the names of its columns and rows, as a fit takes it.

        Parameters
        ----------
        X : array-like or DataFrame
            As for :meth:`transform`.
        """
        check_is_fitted(self)
        frame = RawTable.read(X)
        self._check_columns(frame)
        widths = [len(own.columns) for own in self.encodings_]
        out = np.zeros((frame.rows, sum(widths)))
        first = 0
        columns = zip(self.encodings_, frame.columns.values(), widths, strict=True)
        for encoding, column, width in columns:
            cells = RawColumn.read(encoding.name, column)
            encoding.write(cells, out[:, first : first + width])
            first += width
        return Table(out, tuple(self.get_feature_names_out()), frame.row_names)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the encoded columns.

        Parameters
        ----------
        input_features : ignored
        """
        check_is_fitted(self)
        names = [name for own in self.encodings_ for name in own.columns]
        return np.array(names, dtype=object)

    def _check_columns(self, frame: RawTable) -> None:
        """Refuse a table that has not the columns of the training table, in order."""
        wanted = [own.name for own in self.encodings_]
        given = [*frame.columns]
        if frame.named and hasattr(self, "feature_names_in_"):
            if given == wanted:
                return
            missing = [name for name in wanted if name not in frame.columns]
            unknown = [name for name in given if name not in set(wanted)]
            difference = "the order differs"
            if missing or unknown:
                difference = (
                    f"missing: {some_of([*map(repr, missing)]) or 'none'}; unknown: "
                    f"{some_of([*map(repr, unknown)]) or 'none'}"
                )
            raise InputError(
                "X must have the columns of the training table, in the same order; "
                f"{difference}. Select them first: X[{wanted[:3]}...]."
            )
        if len(given) != len(wanted):
            raise InputError(
                f"X has {counted(len(given), 'feature')}, but the encoder was fitted on "
                f"{len(wanted):,}. Pass the columns it was fitted with."
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def resolve_encoder(encode: Any) -> TableEncoder | None:
    """Return the encoder that the parameter ``encode`` asks for; None for False.

    Parameters
    ----------
    encode : bool or TableEncoder
    """
    if isinstance(encode, bool | np.bool_):
        return TableEncoder() if encode else None
    if not isinstance(encode, TableEncoder):
        raise InputError(
            "`encode` must be True, False or a TableEncoder, e.g. TableEncoder(max_categories=30); "
            f"got {encode!r}."
        )
    return encode


def _learn(column: RawColumn, weights: FloatArray, most: int) -> Encoding:
    """Learn how to encode a column; only people of positive weight count."""
    name, kind = column.name, column.kind_to_encode(most)
    there = weights > 0
    if kind == WORDS:
        return _learn_words(name, column.as_words(), weights, most)
    numbers = column.as_numbers(kind)
    blank = np.isnan(numbers)
    known = there & ~blank
    if not known.any():
        raise EncodingError(name, "is blank for everybody", LEAVE_OUT)
    median = weighted_median(numbers[known], weights[known])
    return Encoding(name, kind, median, blank=bool((there & blank).any()))


def _learn_words(
    name: str, words: Sequence[str | None], weights: FloatArray, most: int
) -> Encoding:
    """Choose the words that get a column of their own: the most frequent ones."""
    totals: dict[str, float] = {}
    rows, blank = 0, False
    for word, weight in zip(words, weights.tolist(), strict=True):
        if weight > 0 and word is not None:
            totals[word] = totals.get(word, 0.0) + weight
            rows += 1
        blank |= weight > 0 and word is None
    if not totals:
        raise EncodingError(name, "is blank for everybody", LEAVE_OUT)
    if len(totals) > max(_FEW, _DISTINCT * rows):
        raise EncodingError(
            name,
            f"has {len(totals):,} different words in {counted(rows, 'row')}: it looks like an id "
            "or a name",
            LEAVE_OUT,
        )
    other = len(totals) > most
    ranked = sorted(totals, key=lambda word: (-totals[word], word))
    kept = ranked[: most - 1] if other else ranked
    return Encoding(name, WORDS, words=tuple(sorted(kept)), other=other, blank=blank)


def weighted_median(values: FloatArray, weights: FloatArray) -> float:
    """Return the median of values, each counted as often as its weight says.

    Examples
    --------
    >>> weighted_median(np.array([3.0, 1.0]), np.array([1.0, 1.0]))
    2.0
    >>> weighted_median(np.array([3.0, 1.0]), np.array([2.0, 1.0]))
    3.0
    """
    order = np.argsort(values, kind="stable")
    values, reached = values[order], np.cumsum(weights[order])
    half = reached[-1] / 2
    low = values[np.searchsorted(reached, half, side="left")]
    high = values[min(np.searchsorted(reached, half, side="right"), len(values) - 1)]
    return float(low / 2 + high / 2)


def _check_distinct(encodings: Sequence[Encoding]) -> None:
    """Refuse two encoded columns of the same name."""
    seen: dict[str, str] = {}
    for own in encodings:
        for name in own.columns:
            if name in seen:
                raise InputError(
                    f"X: columns {seen[name]!r} and {own.name!r} would both be encoded as "
                    f"{name!r}. Rename one of them."
                )
            seen[name] = own.name
