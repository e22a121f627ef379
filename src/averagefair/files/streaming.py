"""Read tables of any length in blocks of rows."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from averagefair.errors import InputError, extra
from averagefair.files.excel import OLE, ZIP
from averagefair.files.mapped import reading_parquet
from averagefair.files.reading import (
    STREAM,
    begin_csv,
    check_head,
    check_path,
    check_regular,
    complain,
    csv_columns,
    csv_options,
    not_letters,
    read_file,
)
from averagefair.files.table import FileTable
from averagefair.people.draws import Keys, id_keys

# Bytes of CSV in a block; pyarrow reads 32 blocks ahead.
BLOCK = 1 << 19
# Cells of Parquet in a block, and the least number of rows, for wide tables.
_CELLS, _ROWS = 250_000, 1024
BLANK_ID = "the id is blank; every row needs the id of its person"


class _LongLineError(Exception):
    """A line is longer than a block."""


@dataclass(frozen=True)
class FileBlocks:
    """A table in a file, to be read in blocks of rows, as often as needed.

    A short file is one block, and so are standard input and a sheet of an Excel workbook. For
    longer files, memory does not grow with their length.

    Parameters
    ----------
    path : str
        CSV, Parquet or Excel; the content decides which.
    """

    path: str

    def __iter__(self) -> Iterator[FileTable]:
        """Yield the blocks; each knows the number of its first row in the file."""
        kind = self._kind()
        if kind == "short":
            yield read_file(self.path)
            return
        rows = 0
        for part in self._parquet() if kind == "Parquet" else self._csv():
            if len(part):
                yield part
            rows += len(part)
        if not rows:
            raise InputError(f"{self.path} has no rows.")

    def by(self, column: str | None) -> Iterator[FileTable]:
        """Yield the blocks with their ids; each person must have one row.

        Repeated ids are refused only at the end. Eight bytes of each id are kept until then.
        """
        keys, empty = [], None
        for part in self:
            if column is None or part.first is None:
                yield part.by(column)
                continue
            known = part.by(column)
            if empty is not None and len(known):
                empty.refuse(0, column, BLANK_ID)
            if empty is None and len(known) < len(part):
                # These may be the empty rows that spreadsheets leave at the end.
                empty = part.rest(len(known))
            if len(known):
                assert known.ids is not None
                keys.append(id_keys(known.ids))
                yield known
        if len(keys) > 1 and column is not None:
            self._refuse_twins(np.concatenate(keys), column)

    def _refuse_twins(self, keys: Keys, column: str) -> None:
        """Refuse an id in two rows: read the file again and compare ids that share a key."""
        order = np.argsort(keys, kind="stable")
        again = keys[order[1:]] == keys[order[:-1]]
        if not again.any():
            return
        shared = np.unique(keys[order[1:]][again])
        seen: dict[str, int] = {}
        for part in self:
            ids = part.by(column).ids
            assert ids is not None
            for row in np.flatnonzero(np.isin(id_keys(ids), shared)).tolist():
                person = str(ids[row])
                if person in seen:
                    part.refuse_twin(row, column, person, seen[person])
                seen[person] = (part.first or 0) + row

    def _kind(self) -> str:
        check_path(self.path)
        if self.path != STREAM:
            check_regular(self.path, pipes=True)
        try:
            # A pipe can be read only once.
            if self.path == STREAM or not Path(self.path).is_file():
                return "short"
            with open(self.path, "rb") as file:
                start = file.read(4)
            if Path(self.path).stat().st_size <= BLOCK:
                return "short"
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror or error}.") from None
        if start in (ZIP, OLE[:4]):
            return "short"
        return "Parquet" if start == b"PAR1" else "CSV"

    def _parquet(self) -> Iterator[FileTable]:
        pa, first = extra("pyarrow", "files"), 0
        with reading_parquet(self.path) as file:
            names = file.schema_arrow.names
            check_head(names, self.path)
            step = max(_ROWS, _CELLS // max(1, len(names)))
            for batch in file.iter_batches(step, use_threads=False):
                table = pa.Table.from_batches([batch])
                yield FileTable(
                    self.path, dict(zip(names, table.columns, strict=True)), first=first
                )
                first += batch.num_rows

    def _csv(self) -> Iterator[FileTable]:
        first, size = 0, BLOCK
        while True:
            try:
                for part in self._csv_blocks(size):
                    assert part.first is not None
                    if part.first + len(part) > first:
                        skipped = first - part.first
                        yield part if not skipped else part.rest(skipped)
                        first = part.first + len(part)
                return
            except _LongLineError:
                size *= 8  # read again with room for the line, and skip the rows yielded before

    def _csv_blocks(self, size: int) -> Iterator[FileTable]:
        pa, reader = extra("pyarrow", "files"), extra("pyarrow.csv", "files")
        first = 0
        try:
            with open(self.path, "rb") as file:
                head, delimiter = self._begin(file)
                how = reader.ReadOptions(use_threads=False, block_size=min(size, 2**31 - 1))
                options = csv_options(head, delimiter)
                for batch in reader.open_csv(file, read_options=how, **options):
                    columns = csv_columns(pa.Table.from_batches([batch]), self.path)
                    yield FileTable(self.path, columns, first=first)
                    first += batch.num_rows
        except pa.ArrowInvalid as error:
            # pyarrow uses these words if a row or the head is longer than a block.
            if any(word in str(error) for word in ("straddling", "Empty CSV")) and size < 2**31:
                raise _LongLineError from None
            self._check_letters()
            complain(error, self.path)
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror or error}.") from None

    def _begin(self, file: BinaryIO) -> tuple[list[str], str]:
        """Read the head, then move back to its beginning."""
        start = file.read(BLOCK)
        while b"\n" not in start and b"\r" not in start and (more := file.read(len(start))):
            start += more
        end = max(start.rfind(b"\n"), start.rfind(b"\r")) + 1 or len(start)
        try:
            head, delimiter, offset = begin_csv(start[:end], self.path)
        except InputError:
            self._check_letters()
            raise
        file.seek(offset)
        return head, delimiter

    def _check_letters(self) -> None:
        """Refuse a file that is not UTF-8; name the line, as `read_file` does."""
        line, decoder = 1, codecs.getincrementaldecoder("utf-8")()
        with open(self.path, "rb") as file:
            while True:
                block = file.read(BLOCK)
                try:
                    decoder.decode(block, final=not block)
                except UnicodeDecodeError as error:
                    line += error.object[: error.start].count(b"\n")
                    raise InputError(not_letters(self.path, line)) from None
                if not block:
                    return
                line += block.count(b"\n")
