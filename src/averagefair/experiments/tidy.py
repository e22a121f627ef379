"""Tidy tables: a row for each observation, a column for each variable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.text import figure, table
from averagefair.errors import extra

Column = NDArray[Any]


class ResultTable:
    """Rows with named columns. It is read-only. ``print`` it.

    ``table["error"]`` is a column, ``len(table)`` is the number of rows, and iterating yields each
    row as a dictionary.

    Parameters
    ----------
    columns : mapping of str to array-like, shape (k,)

    Examples
    --------
    >>> found = ResultTable({"alpha": [0.1, 0.2, 0.2], "error": [0.3, 0.2, 0.1]})
    >>> found.where(alpha=0.2)["error"]
    array([0.2, 0.1])
    >>> len(found), found.distinct("alpha")
    (3, [0.1, 0.2])
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self.columns = {name: np.array(values) for name, values in columns.items()}
        shapes = {name: values.shape for name, values in self.columns.items()}
        if len(set(shapes.values())) > 1:
            raise ValueError(f"columns of a table must have equal lengths; got {shapes}")
        for values in self.columns.values():
            values.flags.writeable = False

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, Any]], names: Iterable[str] = ()) -> ResultTable:
        """Return a table of rows that all have the same names.

        Parameters
        ----------
        rows : iterable of mappings
        names : iterable of str
            Names of the columns, used if there are no rows.
        """
        rows = list(rows)
        return cls({name: [row[name] for row in rows] for name in (rows[0] if rows else names)})

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def __len__(self) -> int:
        return next((len(values) for values in self.columns.values()), 0)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        parts = (values.tolist() for values in self.columns.values())
        return (dict(zip(self.columns, row, strict=True)) for row in zip(*parts, strict=True))

    def where(self, **wanted: Any) -> ResultTable:
        """Return the rows in which the named columns have these values.

        Parameters
        ----------
        **wanted
            A value for each column; floats match within 1e-9.
        """
        kept = np.ones(len(self), dtype=np.bool_)
        for name, value in wanted.items():
            same = self[name] == value
            if isinstance(value, float):
                same = np.isclose(self[name], value, rtol=0.0, atol=1e-9)
            kept &= same
        return self.take(kept)

    def take(self, rows: Any) -> ResultTable:
        """Return some of the rows.

        Parameters
        ----------
        rows : bool or integer array
            A mask, or the indices of the rows.
        """
        return ResultTable({name: values[rows] for name, values in self.columns.items()})

    def without(self, *names: str) -> ResultTable:
        """Return the table without some columns.

        Parameters
        ----------
        *names : str
            The columns to leave out.
        """
        kept = self.columns.keys() - set(names)
        return ResultTable({name: self[name] for name in self.columns if name in kept})

    def only(self, *names: str) -> ResultTable:
        """Return the distinct rows of these columns, in order of first appearance.

        Parameters
        ----------
        *names : str
            The columns to keep, in this order.
        """
        rows = zip(*(self[name].tolist() for name in names), strict=True)
        return ResultTable.of_rows(
            dict(zip(names, row, strict=True)) for row in dict.fromkeys(rows)
        )

    def with_columns(self, **values: Any) -> ResultTable:
        """Return the table with new columns in front.

        Parameters
        ----------
        **values
            For each new column one value, or one value for each row.
        """
        known = values.keys() & self.columns.keys()
        if known:
            raise ValueError(f"the table has {', '.join(sorted(known))} already")
        more = {name: np.broadcast_to(value, len(self)) for name, value in values.items()}
        return ResultTable({**more, **self.columns})

    def distinct(self, name: str) -> list[Any]:
        """Return the distinct values of a column, in order of first appearance.

        Parameters
        ----------
        name : str
        """
        return list(dict.fromkeys(self[name].tolist()))

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame (pandas must be installed)."""
        pd = extra("pandas", "pandas")

        return pd.DataFrame(self.columns)

    def __str__(self) -> str:
        return table(list(self.columns), [[*map(_written, row.values())] for row in self])

    def __repr__(self) -> str:
        return f"ResultTable({len(self)} rows: {', '.join(self.columns)})"


def stack(tables: Sequence[ResultTable]) -> ResultTable:
    """Concatenate tables with the same columns, row-wise."""
    return ResultTable(
        {name: np.concatenate([part[name] for part in tables]) for name in tables[0].columns}
    )


def _written(value: Any) -> str:
    return figure(value, 4) if isinstance(value, float) else str(value)
