"""Tables in, plain arrays out: read any array or DataFrame into NumPy, and keep its names.

Everything here runs once, when data come in. No other module knows what a DataFrame is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from averagefair._util.text import counted
from averagefair.errors import InputError, InputTypeError, extra, some_of
from averagefair.people.backends import Space, is_foreign, to_host

MOST_EXACT = 2**53
"""Above this number, float64 does not hold every whole number."""
ROUNDED = "whole numbers above 2**53 are rounded, so that different ones may become the same."
_ENCODE = {False: "", True: ", or pass encode=True"}
# Words that mean label 0, for the coding example in an error message.
_NEGATIVE = ("no", "n", "false", "f", "negative", "neg", "rejected", "denied", "bad", "low")


class Table(NamedTuple):
    """A table's cells and its names (``None`` for a table without names).

    ``rounded`` lists columns of whole numbers that lost digits when they became float64.
    """

    cells: Any
    columns: tuple[str, ...] | None
    row_names: NDArray[Any] | None
    rounded: tuple[Any, ...] = ()

    @property
    def ndim(self) -> int:
        """Two: rows and columns, as in an array of these cells."""
        return 2


def read_table(
    data: Any,
    what: str,
    *,
    one_column: bool = False,
    in_place: bool = False,
    labels: bool = False,
) -> Table:
    """Read an array or DataFrame into a two-dimensional array; blanks become NaN.

    Parameters
    ----------
    data : array-like or DataFrame of any library, shape (rows, columns)
        A :class:`Table` is returned unchanged.
    what : str
        The table's name in error messages.
    one_column : bool, default False
        Whether to read an array of shape (rows,) as a single column.
    in_place : bool, default False
        Whether arrays of PyTorch, CuPy and array-api-strict stay in their library.
    labels : bool, default False
        Whether the cells are labels. If so, shape (rows,) is a single task, and an error about
        words says how to code them.

    Examples
    --------
    >>> read_table([[1, None], [0, 1]], "Y").cells
    array([[ 1., nan], [ 0.,  1.]])
    """
    if isinstance(data, Table):
        return data
    one_column |= labels
    frame = _as_frame(data, what)
    if isinstance(frame, nw.DataFrame):
        return _read_frame(frame, what, labels)
    if isinstance(frame, nw.Series) and one_column:
        named = None if frame.name in (None, "") else (str(frame.name),)
        return Table(_column(frame, what, labels)[:, None], named, _row_names(frame))
    if hasattr(data, "toarray"):
        raise InputError(
            f"{what} is a sparse matrix ({type(data).__name__}); sparse input is not supported. "
            f"Pass {what}.toarray() if it fits in memory."
        )
    if hasattr(data, "collect"):
        raise InputError(f"{what} is a lazy table ({type(data).__name__}); pass {what}.collect().")
    kept = in_place and is_foreign(data)
    cells = data if kept else _as_array(data, what)
    if cells.ndim == 1 and one_column:
        cells = cells[:, None]
    if cells.ndim != 2:
        raise InputError(
            f"{what} must be a table, rows x columns; got an array of shape {cells.shape}. "
            "Reshape your data: .reshape(-1, 1) makes a single column, .reshape(1, -1) a row."
        )
    if kept:
        return Table(_foreign_numbers(cells, what), None, None)
    return Table(_numeric(cells, what, None, labels), None, None)


def read_vector(
    values: ArrayLike, count: int, what: str, names: NDArray[Any] | None = None
) -> NDArray[np.float64]:
    """Read ``count`` finite numbers into a new float64 array.

    If ``names`` are given, the index of a pandas Series must equal them, in order.
    """
    index = getattr(values, "index", None)
    if names is not None and hasattr(index, "__array__"):
        row_names = np.asarray(index)
        if len(row_names) == len(names):
            check_same_rows(names, row_names, "the sample", what)
    out = read_numbers(values, what)
    if out.shape != (count,):
        raise InputError(f"{what} must have shape ({count},), one for each; got {out.shape}.")
    if not np.isfinite(out).all():
        position = int(np.flatnonzero(~np.isfinite(out))[0])
        value = float(out[position])
        raise InputError(f"{what} must be finite; position {position} holds {value!r}.")
    return out


def read_numbers(values: ArrayLike, what: str) -> NDArray[np.float64]:
    """Read real numbers of any shape into a new float64 array; refuse complex numbers.

    Examples
    --------
    >>> read_numbers([1, 1 + 2j], "weights")
    Traceback (most recent call last):
    averagefair.errors.InputError: weights must be real numbers; got complex numbers...
    """
    try:
        given = np.asarray(to_host(values))
        if not _has_complex(given):
            return np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers; {error}.") from None
    raise InputError(
        f"{what} must be real numbers; got complex numbers. Pass the real part (np.real) if "
        "the imaginary part may be dropped."
    )


def _has_complex(cells: NDArray[Any]) -> bool:
    if cells.dtype.kind == "O":
        return any(isinstance(value, complex | np.complexfloating) for value in cells.flat)
    return bool(cells.dtype.kind == "c")


def check_name_types(X: Any) -> None:
    """Refuse column names that mix strings with other types."""
    names = list(getattr(X, "columns", ()))
    words = [name for name in names if isinstance(name, str)]
    if words and len(words) < len(names):
        other = next(name for name in names if not isinstance(name, str))
        raise InputTypeError(
            "either all or none of X's column names must be strings; got "
            f"{words[0]!r} and {other!r} ({type(other).__name__}). Make them strings first: "
            "X.columns = X.columns.astype(str)."
        )


def to_frame_like(cells: Any, columns: Sequence[str], like: Any, index: Any = None) -> Any:
    """Return cells as a DataFrame with these columns, in the library and with the index of another.

    Parameters
    ----------
    cells : array, shape (rows, columns)
    columns : sequence of str
    like : DataFrame or array
        For a table that is not a DataFrame, the result is a pandas DataFrame.
    index : array-like, optional
        The index of the result, if ``like`` is not a DataFrame.
    """
    frame = nw.from_native(like, eager_only=True, strict=False)
    numbers = to_host(cells)
    if isinstance(frame, nw.DataFrame) and not frame.implementation.is_pandas_like():
        own = {name: numbers[:, number] for number, name in enumerate(columns)}
        return nw.from_dict(own, backend=frame.implementation).to_native()
    pd = extra("pandas", "pandas")
    known = getattr(like, "index", None) if isinstance(frame, nw.DataFrame) else index
    return pd.DataFrame(numbers, columns=list(columns), index=known)


def names_or_default(
    names: Sequence[Any] | NDArray[Any] | None, count: int, prefix: str, what: str
) -> tuple[str, ...]:
    """Return ``count`` distinct names: the given names, or ``prefix0, prefix1, ...``."""
    if names is None:
        return tuple(f"{prefix}{position}" for position in range(count))
    out = tuple(str(name) for name in names)
    if len(out) != count:
        raise InputError(
            f"{what} must give {counted(count, 'name')}, one for each; got {len(out):,}."
        )
    _refuse_duplicates(out, what)
    return out


def check_same_rows(
    first: NDArray[Any] | None, second: NDArray[Any] | None, one: str, other: str
) -> None:
    """Refuse two tables with different row names; the message shows the first difference."""
    if first is None or second is None:
        return
    both_missing = (first != first) & (second != second)
    differ = np.flatnonzero((first != second) & ~both_missing)
    if differ.size:
        row = int(differ[0])
        raise InputError(
            f"{one} and {other} must list the same individuals in the same order; at row {row} "
            f"{one} has {first[row : row + 1].tolist()[0]!r} and {other} has "
            f"{second[row : row + 1].tolist()[0]!r}. Align them first, e.g. "
            "with Y = Y.loc[X.index]."
        )


def read_columns(data: Any, default: str) -> list[tuple[str, Any]]:
    """Return a DataFrame's columns by name; read anything else as one column.

    Parameters
    ----------
    data : list, array, Series or DataFrame
    default : str
        Name for a column without a name.
    """
    if isinstance(data, Table) and data.columns is not None:
        return [*zip(data.columns, data.cells.T, strict=True)]
    frame = _as_frame(data, default)
    if isinstance(frame, nw.DataFrame):
        return [(str(column.name), column.to_native()) for column in frame.iter_columns()]
    if isinstance(frame, nw.Series):
        return [(default if frame.name in (None, "") else str(frame.name), data)]
    return [(default, data)]


def read_features(
    data: Any, names: Sequence[Any] | NDArray[Any] | None, count: int
) -> list[tuple[str, list[Any]]]:
    """Return the columns of a table of numbers and words, each with its name.

    Parameters
    ----------
    data : DataFrame or array, shape (count, columns)
        If ``names`` are given, a DataFrame with an index is put in their order.
    names : sequence, or None
        The names of the rows.
    count : int
        The number of rows.

    Examples
    --------
    >>> read_features([[1, 2], [3, 4]], None, 2)
    [('feature 0', [1, 3]), ('feature 1', [2, 4])]
    """
    frame = data if isinstance(data, Table) else _as_frame(data, "features")
    if isinstance(frame, nw.DataFrame):
        index = nw.maybe_get_index(frame)
        columns = [(str(column.name), column.to_list()) for column in frame.iter_columns()]
        if names is not None and index is not None:
            own, wanted = list(index), list(names)
            columns = [(name, _reorder(own_, own, wanted, "features")) for name, own_ in columns]
    else:
        cells = frame.cells if isinstance(frame, Table) else _as_array(data, "features")
        if cells.ndim != 2:
            raise InputError(
                f"features must be a table, people x features; got shape {cells.shape}."
            )
        known = frame.columns if isinstance(frame, Table) else None
        heads = known or [f"feature {number}" for number in range(cells.shape[1])]
        columns = [(str(head), cells[:, number].tolist()) for number, head in enumerate(heads)]
    short = [len(values) for _, values in columns if len(values) != count]
    if short:
        raise InputError(
            f"features must have a row for each of {count:,} people; got {short[0]:,}."
        )
    return columns


def read_categories(
    values: Any, names: Sequence[Any] | NDArray[Any] | None, count: int, what: str
) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """Read ``count`` categories; return their names and each value's position among the names.

    The position is -1 where the category is missing. If ``names`` are given, a pandas Series is
    put in their order. A Series with the default index 0, 1, ... keeps its own order, unless the
    names include such numbers.

    Examples
    --------
    >>> read_categories(["b", "a", None, "b"], None, 4, "groups")
    (('a', 'b'), array([ 1,  0, -1,  1]))
    """
    column = _as_frame(values, what)
    index = None
    if isinstance(column, nw.Series):
        given, index = column.to_list(), nw.maybe_get_index(column)
    elif isinstance(values, str) or not hasattr(values, "__len__") or np.ndim(values) != 1:
        raise InputError(f"{what} must be a list of {count}, one for each; got {values!r}.")
    else:
        given = list(values)
    if names is not None and index is not None:
        given = _reorder(given, list(index), list(names), what)
    if len(given) != count:
        raise InputError(f"{what} must give {count}, one for each; got {len(given)}.")
    try:
        known = {value for value in given if not is_missing(value)}
    except TypeError as error:
        raise InputError(f"{what} must be words or numbers; {error}.") from None
    try:
        ordered = sorted(known)
    except TypeError:
        ordered = sorted(known, key=str)
    code = {value: position for position, value in enumerate(ordered)}
    codes = [-1 if is_missing(value) else code[value] for value in given]
    return tuple(map(str, ordered)), np.array(codes, dtype=np.intp)


def _reorder(given: list[Any], index: list[Any], names: list[Any], what: str) -> list[Any]:
    """Return the values given for each index entry, in the order of the names."""
    if all(isinstance(name, str) for name in names):
        index = [str(name) for name in index]
    default = [str(name) for name in index] == [str(position) for position in range(len(index))]
    if index == names or (default and not set(index) & set(names)):
        return given
    order = _positions(index, names, what, "the audit", "rows")
    return [given[position] for position in order]


def align(table: Table, to: Table, what: str, reference: str) -> NDArray[Any]:
    """Return a table's cells in the order of another's rows and columns.

    If both tables have names, the first table takes the order of the second; different names are
    refused. If either table has no names, the order stays.

    Parameters
    ----------
    table, to : Table
    what, reference : str
        Their names in error messages.
    """
    cells = table.cells
    one_each = cells.shape[1] == to.cells.shape[1] == 1
    if to.columns and table.columns and table.columns != to.columns and not one_each:
        cells = cells[:, _positions(table.columns, to.columns, what, reference, "columns")]
    if to.row_names is not None and table.row_names is not None:
        mine, theirs = table.row_names.tolist(), to.row_names.tolist()
        if mine != theirs:
            cells = cells[_positions(mine, theirs, what, reference, "rows")]
    if cells.shape != to.cells.shape:
        raise InputError(
            f"{what} and {reference} must have one row for each person and one column for each "
            f"task; got shapes {cells.shape} and {to.cells.shape}."
        )
    return np.asarray(cells)


def _positions(
    mine: Sequence[Any], theirs: Sequence[Any], what: str, reference: str, kind: str
) -> list[int]:
    """Return the position of each of their names among mine; both lists need the same names."""
    position = {name: position for position, name in enumerate(mine)}
    wanted = set(theirs)
    unknown = [name for name in mine if name not in wanted]
    missing = [name for name in theirs if name not in position]
    if not unknown and not missing and len(position) == len(mine):
        return [position[name] for name in theirs]
    difference = "; ".join(
        f"{word}: {some_of(names)}"
        for word, names in (("unknown", unknown), ("missing", missing))
        if names
    )
    raise InputError(
        f"{what} must have the {kind} that {reference} has; {difference or 'some are repeated'}. "
        f"Rename or select them; if the {kind} are in the same order, pass an array "
        f"({what}.to_numpy())."
    )


def _as_frame(data: Any, what: str) -> Any:
    try:
        return nw.from_native(data, eager_only=True, allow_series=True, pass_through=True)
    except Exception as error:
        raise InputError(f"{what} could not be read as a table: {error}") from error


def _read_frame(frame: nw.DataFrame[Any], what: str, labels: bool) -> Table:
    columns = tuple(str(name) for name in frame.columns)
    _refuse_duplicates(columns, f"{what}'s columns")
    parts = [_column(column, what, labels) for column in frame.iter_columns()]
    dtype = np.result_type(*(part.dtype for part in parts)) if parts else np.dtype(float)
    cells = np.empty((len(frame), len(parts)), dtype=dtype)
    for position, part in enumerate(parts):
        cells[:, position] = part
    converted = frame if dtype.kind == "f" else frame.select([])
    rounded = tuple(
        str(column.name) for column in converted.iter_columns() if _loses_digits(column)
    )
    return Table(cells, columns, _row_names(frame), rounded)


def _row_names(frame: Any) -> NDArray[Any] | None:
    index = nw.maybe_get_index(frame)
    return None if index is None else np.asarray(index)


def _refuse_duplicates(names: Sequence[str], what: str) -> None:
    if len(set(names)) < len(names):
        twice = next(name for position, name in enumerate(names) if name in names[:position])
        raise InputError(
            f"{what} must have distinct names; {twice!r} occurs more than once. Rename one of them."
        )


def _loses_digits(column: Any) -> bool:
    """Return whether a column has whole numbers that float64 cannot hold."""
    if not column.dtype.is_integer():
        return False
    return is_rounded(np.asarray(column.drop_nulls().to_numpy()))


def is_rounded(numbers: NDArray[Any]) -> bool:
    """Return whether float64 cannot hold some of these whole numbers.

    Examples
    --------
    >>> is_rounded(np.array([2**53, 2**60])), is_rounded(np.array([2**53 + 1]))
    (False, True)
    """
    if numbers.dtype.kind not in "iu" or numbers.dtype.itemsize < 8 or not numbers.size:
        return False
    if max(int(numbers.max()), -int(numbers.min())) <= MOST_EXACT:
        return False
    with np.errstate(invalid="ignore"):
        return bool((numbers.astype(np.float64).astype(numbers.dtype) != numbers).any())


def _column(column: Any, what: str, labels: bool) -> NDArray[Any]:
    if column.dtype == nw.Boolean or column.dtype.is_numeric():
        if column.null_count() == 0:
            return np.asarray(column.to_numpy())
        return np.asarray(column.cast(nw.Float64).fill_null(float("nan")).to_numpy(), dtype=float)
    cells = np.empty((len(column), 1), dtype=object)
    cells[:, 0] = column.to_list()
    return _numeric(cells, what, str(column.name), labels)[:, 0]


def _foreign_numbers(cells: Any, what: str) -> Any:
    xp = Space.of(cells).xp
    if xp.isdtype(cells.dtype, "complex floating"):
        raise InputError(_complex_message(what))
    return cells


def _complex_message(what: str) -> str:
    return f"Complex data not supported: {what} holds complex numbers. Pass np.real({what})."


def check_one_space(first: Any, second: Any, one: str, other: str) -> None:
    """Refuse two arrays of different libraries, or on different devices."""
    here, there = Space.of(first), Space.of(second)
    if here != there:
        raise InputError(
            f"{one} and {other} must be arrays of one library, on one device; {one} is {here}, "
            f"{other} is {there}. Move one of them to the other first."
        )


def _as_array(data: Any, what: str) -> NDArray[Any]:
    data = to_host(data)
    if isinstance(data, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(data.astype(np.float64), np.nan))
    try:
        return np.asarray(data)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{what} could not be read as a table; its rows must be of one length ({error})."
        ) from error


def _numeric(cells: NDArray[Any], what: str, column: str | None, labels: bool) -> NDArray[Any]:
    if cells.dtype.kind in "fiub":
        return cells
    if cells.dtype.kind == "c":
        raise InputError(_complex_message(what))
    if cells.dtype.kind in "OUS" and not _has_complex(cells):
        try:
            return cells.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            pass  # a blank that is not None, or a cell that is not a number: read cell by cell
    out = np.empty(cells.shape)
    for cell, value in np.ndenumerate(cells):
        try:
            out[cell] = _number(value)
        except (TypeError, ValueError, OverflowError) as error:
            value = value.item() if isinstance(value, np.generic) else value
            where = f"row {cell[0]}, column {cell[1] if column is None else repr(column)}"
            if labels and isinstance(value, str):
                raise InputError(
                    f"{what} must hold 0 and 1, blank where unknown; {where} holds {value!r}. "
                    f"{_coding_advice(cells[:, cell[1]], what, column)}"
                ) from None
            kind = InputTypeError if isinstance(error, TypeError) else InputError
            raise kind(
                f"{what} must hold numbers; {where} holds {value!r} (argument must be a string or "
                f"a number that float() reads). Encode it as a number first{_ENCODE[what == 'X']}."
            ) from None
    return out


def _coding_advice(cells: NDArray[Any], what: str, column: str | None) -> str:
    """Say how to code a column of words as labels."""
    words = sorted({str(cell) for cell in cells if isinstance(cell, str) and cell.strip()})
    if len(words) != 2:
        return "Code the labels as 0 and 1 first, and unknown ones as NaN."
    words.sort(key=lambda word: word.strip().lower() not in _NEGATIVE)
    text = f"Code the labels first, e.g. {words[0]!r} as 0 and {words[1]!r} as 1"
    if column is None:
        return f"{text}."
    codes = {word: code for code, word in enumerate(words)}
    return f"{text}: {what}[{column!r}] = {what}[{column!r}].map({codes})."


def _number(value: Any) -> float:
    if is_missing(value) or (isinstance(value, str) and value.strip() == ""):
        return float("nan")
    if isinstance(value, dict | list | tuple | set | np.ndarray | complex | np.complexfloating):
        raise TypeError
    return float(value)


def is_missing(value: Any) -> bool:
    """Return whether a single value is None, NaN or a missing value of pandas."""
    # pandas' NA refuses comparison. Recognise it by its type's name, without importing pandas.
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))
