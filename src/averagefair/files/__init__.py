"""Tables in files: CSV and Parquet in and out, every complaint with file, column and row.

Nothing is guessed from the first rows: each CSV cell is read as written, then turned into what the
reader asks for. Nothing is half-written: a file appears whole or not at all. Tables larger than
memory pass through from Parquet to files that are learned from where they are.
"""

from averagefair.files.mapped import MappedPeople, map_parquet
from averagefair.files.reading import STREAM, check_path, read_file
from averagefair.files.streaming import FileBlocks
from averagefair.files.table import FileTable
from averagefair.files.writing import (
    TABLES,
    Draft,
    check_output,
    drafted,
    table_content,
    write_table,
    write_whole,
    writing_table,
)

__all__ = [
    "STREAM",
    "TABLES",
    "Draft",
    "FileBlocks",
    "FileTable",
    "MappedPeople",
    "check_output",
    "check_path",
    "drafted",
    "map_parquet",
    "read_file",
    "table_content",
    "write_table",
    "write_whole",
    "writing_table",
]
