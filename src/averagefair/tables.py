"""Tables in, plain arrays out: any array or DataFrame becomes NumPy, with its names kept.

Everything here runs once, at the door. Nothing behind it knows what a DataFrame is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from averagefair.errors import InputError, InputTypeError


class Table(NamedTuple):
    """A table's cells with whatever names it came with (``None`` where it had none)."""

    cells: NDArray[Any]
    columns: tuple[str, ...] | None
    row_names: NDArray[Any] | None


def read_table(data: Any, what: str, *, one_column: bool = False) -> Table:
    """Read an array or DataFrame into a two-dimensional array; blanks become NaN.

    Parameters
    ----------
    data : array-like or DataFrame of any library, shape (rows, columns)
    what : str
        What the table is called in error messages.
    one_column : bool, default False
        Whether one dimension, shape (rows,), may stand for a single column.

    Examples
    --------
    >>> read_table([[1, None], [0, 1]], "Y").cells
    array([[ 1., nan], [ 0.,  1.]])
    """
    frame = _as_frame(data, what)
    if isinstance(frame, nw.DataFrame):
        return _read_frame(frame, what)
    if isinstance(frame, nw.Series) and one_column:
        named = None if frame.name in (None, "") else (str(frame.name),)
        return Table(_column(frame, what)[:, None], named, _row_names(frame))
    if hasattr(data, "toarray"):
        raise InputError(
            f"{what} is a sparse matrix ({type(data).__name__}); sparse input is not supported. "
            f"Pass {what}.toarray() if it fits in memory."
        )
    if hasattr(data, "collect"):
        raise InputError(f"{what} is a lazy table ({type(data).__name__}); pass {what}.collect().")
    cells = _as_array(data, what)
    if cells.ndim == 1 and one_column:
        cells = cells[:, None]
    if cells.ndim != 2:
        raise InputError(
            f"{what} must be a table, rows x columns; got an array of shape {cells.shape}. "
            "Reshape your data: .reshape(-1, 1) makes a single column, .reshape(1, -1) a row."
        )
    return Table(_numeric(cells, what, None), None, None)


def read_vector(
    values: ArrayLike, count: int, what: str, names: NDArray[Any] | None = None
) -> NDArray[np.float64]:
    """Read ``count`` finite numbers into a new float64 array.

    A pandas Series must be indexed by ``names``, where those are given, in their order.
    """
    index = getattr(values, "index", None)
    if names is not None and hasattr(index, "__array__"):
        found = np.asarray(index)
        if len(found) == len(names):
            check_same_rows(names, found, "the sample", what)
    try:
        out = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers; {error}.") from None
    if out.shape != (count,):
        raise InputError(f"{what} must have shape ({count},), one for each; got {out.shape}.")
    if not np.isfinite(out).all():
        place = int(np.flatnonzero(~np.isfinite(out))[0])
        raise InputError(f"{what} must be finite; position {place} holds {float(out[place])!r}.")
    return out


def names_or_default(
    names: Sequence[Any] | NDArray[Any] | None, count: int, prefix: str, what: str
) -> tuple[str, ...]:
    """Return ``count`` distinct names: those given, or ``prefix0, prefix1, ...``."""
    if names is None:
        return tuple(f"{prefix}{position}" for position in range(count))
    out = tuple(str(name) for name in names)
    if len(out) != count:
        raise InputError(f"{what} must give {count} names, one for each; got {len(out)}.")
    _refuse_twins(out, what)
    return out


def check_same_rows(
    first: NDArray[Any] | None, second: NDArray[Any] | None, one: str, other: str
) -> None:
    """Refuse two tables whose rows are named, and named differently; name the first offender."""
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


def _as_frame(data: Any, what: str) -> Any:
    try:
        return nw.from_native(data, eager_only=True, allow_series=True, pass_through=True)
    except Exception as error:
        raise InputError(f"{what} could not be read as a table: {error}") from error


def _read_frame(frame: nw.DataFrame[Any], what: str) -> Table:
    columns = tuple(str(name) for name in frame.columns)
    _refuse_twins(columns, f"{what}'s columns")
    parts = [_column(part, what) for part in frame.iter_columns()]
    dtype = np.result_type(*(part.dtype for part in parts)) if parts else np.dtype(float)
    cells = np.empty((len(frame), len(parts)), dtype=dtype)
    for position, part in enumerate(parts):
        cells[:, position] = part
    return Table(cells, columns, _row_names(frame))


def _row_names(frame: Any) -> NDArray[Any] | None:
    index = nw.maybe_get_index(frame)
    return None if index is None else np.asarray(index)


def _refuse_twins(names: Sequence[str], what: str) -> None:
    if len(set(names)) < len(names):
        twin = next(name for place, name in enumerate(names) if name in names[:place])
        raise InputError(f"{what} must have distinct names; {twin!r} stands more than once.")


def _column(column: Any, what: str) -> NDArray[Any]:
    if column.dtype == nw.Boolean or column.dtype.is_numeric():
        if column.null_count() == 0:
            return np.asarray(column.to_numpy())
        return np.asarray(column.cast(nw.Float64).fill_null(float("nan")).to_numpy(), dtype=float)
    cells = np.empty((len(column), 1), dtype=object)
    cells[:, 0] = column.to_list()
    return _numeric(cells, what, str(column.name))[:, 0]


def _as_array(data: Any, what: str) -> NDArray[Any]:
    if isinstance(data, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(data.astype(np.float64), np.nan))
    try:
        return np.asarray(data)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{what} could not be read as a table; its rows must be of one length ({error})."
        ) from error


def _numeric(cells: NDArray[Any], what: str, column: str | None) -> NDArray[Any]:
    if cells.dtype.kind in "fiub":
        return cells
    if cells.dtype.kind == "c":
        raise InputError(f"Complex data not supported: {what} holds complex numbers.")
    if cells.dtype.kind in "OUS":
        try:
            return cells.astype(np.float64)
        except (TypeError, ValueError):
            pass  # a blank that is not None, or something that is no number: look one by one
    out = np.empty(cells.shape)
    for place, value in np.ndenumerate(cells):
        try:
            out[place] = _number(value)
        except (TypeError, ValueError) as error:
            kind = InputTypeError if isinstance(error, TypeError) else InputError
            raise kind(
                f"{what} must hold numbers; row {place[0]}, column "
                f"{place[1] if column is None else repr(column)} holds {value!r} (argument must be "
                "a string or a number that float() reads). Encode it as a number first."
            ) from None
    return out


def _number(value: Any) -> float:
    if is_missing(value) or (isinstance(value, str) and value.strip() == ""):
        return float("nan")
    if isinstance(value, dict | list | tuple | set | np.ndarray):
        raise TypeError
    return float(value)


def is_missing(value: Any) -> bool:
    """Tell whether a single value is None, NaN or a missing value of pandas."""
    # pandas' NA refuses comparison, so it is told by its type's name rather than imported.
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))
