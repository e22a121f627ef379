"""Row blocks: how work over n people x m tasks is cut so that no large temporary is built."""

from __future__ import annotations

from collections.abc import Iterator

# Few, large blocks: small ones starve a threaded matrix product (measured).
CELLS_PER_BLOCK = 2_000_000


def row_blocks(n: int, width: int) -> Iterator[slice]:
    """Cut n rows into slices of about two million cells each, whatever the width.

    Examples
    --------
    >>> list(row_blocks(5_000_000, 1))
    [slice(0, 2000000, None), slice(2000000, 4000000, None), slice(4000000, 5000000, None)]
    """
    step = max(1, CELLS_PER_BLOCK // max(1, width))
    for start in range(0, n, step):
        yield slice(start, min(n, start + step))
