"""Tables in, plain arrays out: any array or DataFrame becomes NumPy, with its names kept.

Everything here runs once, at the door. Nothing behind it knows what a DataFrame is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from averagefair.errors import InputError


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
    native = nw.from_native(data, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, nw.Series) and one_column:
        native = native.to_frame()
    if isinstance(native, nw.DataFrame):
        return _read_frame(native, what)
    if hasattr(data, "toarray"):
        raise InputError(
            f"{what} is a sparse matrix ({type(data).__name__}); sparse input is not supported. "
            f"Pass {what}.toarray() if it fits in memory."
        )
    cells = np.asarray(data)
    if cells.ndim == 1 and one_column:
        cells = cells[:, None]
    if cells.ndim != 2:
        raise InputError(
            f"{what} must be a table, rows x columns; got an array of shape {cells.shape}. "
            "Reshape your data: .reshape(-1, 1) makes a single column, .reshape(1, -1) a row."
        )
    return Table(_numeric(cells, what, None), None, None)


def _read_frame(frame: nw.DataFrame[Any], what: str) -> Table:
    columns = tuple(str(name) for name in frame.columns)
    if len(set(columns)) != len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise InputError(f"{what} has two columns named {twice!r}; column names must be unique.")
    index = nw.maybe_get_index(frame)
    parts = [_column(frame[name], what) for name in frame.columns]
    dtype = np.result_type(*(part.dtype for part in parts)) if parts else np.dtype(float)
    cells = np.empty((len(frame), len(parts)), dtype=dtype)
    for position, part in enumerate(parts):
        cells[:, position] = part
    return Table(cells, columns, None if index is None else np.asarray(index))


def _column(column: nw.Series[Any], what: str) -> NDArray[Any]:
    if column.dtype == nw.Boolean or column.dtype.is_numeric():
        if column.null_count() == 0:
            return np.asarray(column.to_numpy())
        return np.asarray(column.cast(nw.Float64).fill_null(float("nan")).to_numpy(), dtype=float)
    return _numeric(np.asarray(column.to_list(), dtype=object)[:, None], what, column.name)[:, 0]


def _numeric(cells: NDArray[Any], what: str, column: str | None) -> NDArray[Any]:
    if cells.dtype.kind in "fiub":
        return cells
    if cells.dtype.kind == "c":
        raise InputError(f"Complex data not supported: {what} holds complex numbers.")
    out = np.empty(cells.shape)
    for place, value in np.ndenumerate(cells):
        try:
            out[place] = np.nan if _is_blank(value) else _number(value)
        except (TypeError, ValueError):
            raise InputError(
                f"{what} must hold numbers; row {place[0]}, column "
                f"{place[1] if column is None else repr(column)} holds {value!r} (argument must be "
                "a string or a number that float() reads). Encode it as a number first."
            ) from None
    return out


def _number(value: Any) -> float:
    if isinstance(value, dict | list | tuple | set):
        raise TypeError
    return float(value)


def _is_blank(value: Any) -> bool:
    # pandas' NA refuses comparison, so it is told by its type's name rather than imported.
    return value is None or type(value).__name__ in {"NAType", "NaTType"} or value == ""


def names_or_default(
    names: Sequence[Any] | NDArray[Any] | None, count: int, prefix: str, what: str
) -> tuple[str, ...]:
    """Return ``count`` distinct names: those given, or ``prefix0, prefix1, ...``."""
    if names is None:
        return tuple(f"{prefix}{position}" for position in range(count))
    out = tuple(str(name) for name in names)
    if len(out) != count:
        raise InputError(f"{what} must give {count} names, one for each; got {len(out)}.")
    if len(set(out)) != count:
        seen: set[str] = set()
        twice = next(name for name in out if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InputError(f"{what} must be distinct; {twice!r} stands more than once.")
    return out
