"""Tables in files: CSV and Parquet in and out, every complaint with file, column and row.

Nothing is guessed from the first rows: each CSV cell is read as written, then turned into what the
reader asks for. Nothing is half-written: a file appears whole or not at all. Tables larger than
memory pass through from Parquet to files that are learned from where they are.
"""

from averagefair.files.mapped import MappedPeople, map_parquet

__all__ = ["MappedPeople", "map_parquet"]
