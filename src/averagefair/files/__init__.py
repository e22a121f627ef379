"""Read and write tables, CSV and Parquet; every error names the file, the column and the row.

Excel workbooks are read too. No type is guessed from the first rows: each cell of CSV and Excel is
read as text, then converted to what the caller asks for. No file is half-written: it appears whole
or not at all. Parquet tables larger than memory are unpacked into array files that a fit reads in
place.
"""

from averagefair.files.mapped import MappedPeople, map_parquet

__all__ = ["MappedPeople", "map_parquet"]
