"""The two matrix products of a round, as two kernels for Hopper GPUs; each reads the signs once.

The kernels get float32 accuracy from bfloat16 tensor cores, which multiply exactly and add in
float32. A float32 number is the exact sum of three bfloat16 numbers (8 + 8 + 8 bits). Signs are
exact in bfloat16, so the gap sums take three products. The scores take six of the nine products;
the other three are below float32's rounding.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
import triton
import triton.language as tl

Precision = Literal["float32", "tf32"]

# Block sizes are fixed: an autotuner would cost start-up time on every machine.
# Milliseconds for a whole call on one H200, at n = 1,000,000, m = 1,000, d = 64 in "float32".
# Blocks are rows x tasks:
#   gap_sums: 32 x 128: 1.5 to 1.6; 64 x 128: 1.9 to 2.0; 64 x 64: 3.0
#   mistakes: 128 x 64: 1.4 to 1.5; 64 x 64: 1.8; 128 x 128 on 8 warps: 1.7;
#   128 x 64 in three stages: 1.9
_SUMS = {"BLOCK_ROWS": 32, "BLOCK_TASKS": 128, "num_warps": 4, "num_stages": 1}
_MISTAKES = {"BLOCK_ROWS": 128, "BLOCK_TASKS": 64, "num_warps": 4, "num_stages": 2}
# Up to this many features, a block of persons stays in shared memory for all tasks: 3.0 ms at
# d = 128, against 5.2 ms if every tile of tasks loads it again.
_RESIDENT_FEATURES = 128
# With more features, use fewer rows: more rows would spill registers (at d = 256: 16.0 ms instead
# of 9.5 ms).
_WIDE_ROWS = 64
# Number of programs to start: 132 multiprocessors x 2 programs on each x 8.
_PROGRAMS = 2112
# Float32 sums run over at most this many rows (a chunk); float64 adds up the chunks.
_CHUNK_ROWS = 4096
# Chunk sums in float32 take at most this much memory, or the memory of one chunk if that is more.
_PARTIAL_BYTES = 128 * 2**20


@triton.jit
def _nearest(values: tl.tensor) -> tl.tensor:
    """Round float32 values to bfloat16's 8 bits."""
    # Use integer arithmetic: converting to bfloat16 and back is several times slower.
    bits = values.to(tl.uint32, bitcast=True)
    return ((bits + 0x8000) & 0xFFFF0000).to(tl.float32, bitcast=True)


@triton.jit
def _split(values: tl.tensor) -> tuple[tl.tensor, tl.tensor, tl.tensor]:
    """Split a float32 tensor into three bfloat16 tensors that sum to it, the largest first."""
    high = _nearest(values)
    rest = values - high
    middle = _nearest(rest)
    return high.to(tl.bfloat16), middle.to(tl.bfloat16), (rest - middle).to(tl.bfloat16)


@triton.jit
def _load_block(
    features: tl.tensor,
    signs: tl.tensor,
    prices: tl.tensor,
    row: tl.tensor,
    feature: tl.tensor,
    task: tl.tensor,
    count: tl.tensor,
    m: tl.tensor,
    d: tl.tensor,
    WHOLE: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor, tl.tensor]:
    """Load signs, features and prices of a block of rows."""
    # Rows past the end repeat the last row at price zero, which is cheaper than a mask.
    inside = tl.minimum(row, count - 1).to(tl.int64)[:, None]
    sign = tl.load(signs + (inside * m + task[None, :]), mask=(task < m)[None, :], other=0)
    if WHOLE:
        x = tl.load(features + (inside * d + feature[None, :]))
    else:
        x = tl.load(
            features + (inside * d + feature[None, :]), mask=(feature < d)[None, :], other=0.0
        )
    price = tl.load(prices + row, mask=row < count, other=0.0)
    return sign, x, price


@triton.jit(do_not_specialize=["n", "m_units", "d_units", "first_chunk", "chunk_rows"])
def _sums_kernel(
    features: tl.tensor,
    signs: tl.tensor,
    mean: tl.tensor,
    inverse_scale: tl.tensor,
    prices: tl.tensor,
    partial: tl.tensor,
    n: tl.tensor,
    m_units: tl.tensor,
    d_units: tl.tensor,
    first_chunk: tl.tensor,
    chunk_rows: tl.tensor,
    M_UNIT: tl.constexpr,
    D_UNIT: tl.constexpr,
    WHOLE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_TASKS: tl.constexpr,
    BLOCK_FEATURES: tl.constexpr,
    GROUPS: tl.constexpr,
    PIECES: tl.constexpr,
    LABEL: tl.constexpr,
) -> None:
    """Sum in float32 over one chunk of rows, for one tile of features and one tile of tasks."""
    # Products with constants tell the compiler how rows are aligned. It then loads 8 signs or 4
    # features at once if m or d is a multiple of that.
    m = m_units * M_UNIT
    d = d_units * D_UNIT
    # Tiles of one chunk are neighbours: they find its rows in the L2 cache.
    feature_tiles = tl.cdiv(d, BLOCK_FEATURES)
    feature_tile = tl.program_id(0) % feature_tiles
    feature = feature_tile * BLOCK_FEATURES + tl.arange(0, BLOCK_FEATURES)
    task = (tl.program_id(0) // feature_tiles) * BLOCK_TASKS + tl.arange(0, BLOCK_TASKS)
    first = (first_chunk + tl.program_id(1)).to(tl.int64) * chunk_rows
    count = tl.minimum(n - first, chunk_rows).to(tl.int32)
    features += first * d
    signs += first * m
    prices += first

    exact = tl.load(mean + feature, mask=feature < d, other=0.0).to(tl.float64)
    centre = exact.to(tl.float32)
    # Keep the part of the mean that float32 drops: it matters if the deviation is far smaller.
    centre_rest = (exact - centre.to(tl.float64)).to(tl.float32)
    scale = tl.load(inverse_scale + feature, mask=feature < d, other=0.0).to(tl.float32)

    row = tl.arange(0, BLOCK_ROWS)
    sums = tl.zeros((BLOCK_FEATURES, BLOCK_TASKS), tl.float32)
    intercept = tl.zeros((GROUPS, BLOCK_TASKS), tl.float32)
    sign, x, price = _load_block(features, signs, prices, row, feature, task, count, m, d, WHOLE)
    z = ((x - centre[None, :]) - centre_rest[None, :]) * scale[None, :]
    high, middle, low = _split(z * price[:, None])
    for start in range(BLOCK_ROWS, count + BLOCK_ROWS, BLOCK_ROWS):
        # Load the next block while this one multiplies.
        next_sign, x, next_price = _load_block(
            features, signs, prices, start + row, feature, task, count, m, d, WHOLE
        )
        s = sign.to(tl.bfloat16)
        if LABEL == 0:
            s = tl.maximum(s, 0.0).to(tl.bfloat16)
        elif LABEL == 1:
            s = tl.minimum(s, 0.0).to(tl.bfloat16)
        # Add the smallest products first, and start a new sum for each block. Tensor cores round
        # towards zero, and that bias would add up over a chunk. The addition to sums rounds to
        # nearest.
        if PIECES == 3:
            block = tl.dot(tl.trans(low), s)
            block = tl.dot(tl.trans(middle), s, block)
        else:
            block = tl.dot(tl.trans(middle), s)
        sums += tl.dot(tl.trans(high), s, block)
        # Each thread sums its own groups of rows: threads exchange nothing in the loop.
        priced = tl.reshape(
            s.to(tl.float32) * price[:, None], (BLOCK_ROWS // GROUPS, GROUPS, BLOCK_TASKS)
        )
        intercept += tl.sum(priced, axis=0)
        z = ((x - centre[None, :]) - centre_rest[None, :]) * scale[None, :]
        high, middle, low = _split(z * next_price[:, None])
        sign = next_sign
        price = next_price

    partial += tl.program_id(1).to(tl.int64) * (d + 1) * m
    tl.store(
        partial + ((feature[:, None] + 1).to(tl.int64) * m + task[None, :]),
        sums,
        mask=(feature < d)[:, None] & (task < m)[None, :],
    )
    if feature_tile == 0:
        tl.store(partial + task, tl.sum(intercept, axis=0), mask=task < m)


@triton.jit(do_not_specialize=["chunks", "m", "columns"])
def _combine_kernel(
    partial: tl.tensor,
    sums: tl.tensor,
    chunks: tl.tensor,
    m: tl.tensor,
    columns: tl.tensor,
    BLOCK_CHUNKS: tl.constexpr,
    BLOCK_TASKS: tl.constexpr,
) -> None:
    """Add the chunks' sums to the float64 sums, always in the same order."""
    task = tl.program_id(0) * BLOCK_TASKS + tl.arange(0, BLOCK_TASKS)
    column = tl.program_id(1).to(tl.int64)
    chunk = tl.arange(0, BLOCK_CHUNKS)
    total = tl.zeros((BLOCK_CHUNKS, BLOCK_TASKS), tl.float64)
    for start in range(0, chunks, BLOCK_CHUNKS):
        at = ((start + chunk).to(tl.int64) * columns + column) * m
        inside = (start + chunk < chunks)[:, None] & (task < m)[None, :]
        total += tl.load(partial + at[:, None] + task[None, :], mask=inside, other=0.0)
    address = sums + task.to(tl.int64) * columns + column
    before = tl.load(address, mask=task < m, other=0.0)
    tl.store(address, before + tl.sum(total, axis=0), mask=task < m)


@triton.jit
def _coefficients_kernel(
    coefficients: tl.tensor,
    intercepts: tl.tensor,
    pieces: tl.tensor,
    thresholds: tl.tensor,
    m: tl.tensor,
    d: tl.tensor,
    BLOCK_TASKS: tl.constexpr,
    BLOCK_FEATURES: tl.constexpr,
    PIECES: tl.constexpr,
) -> None:
    """Split coefficients into bfloat16 pieces, one row for each task, padded with zeros."""
    task = tl.program_id(0) * BLOCK_TASKS + tl.arange(0, BLOCK_TASKS)
    feature = tl.program_id(1) * BLOCK_FEATURES + tl.arange(0, BLOCK_FEATURES)
    width = tl.num_programs(1) * BLOCK_FEATURES
    size = tl.num_programs(0).to(tl.int64) * BLOCK_TASKS * width
    rest = tl.load(
        coefficients + (feature.to(tl.int64)[None, :] * m + task[:, None]),
        mask=(feature < d)[None, :] & (task < m)[:, None],
        other=0.0,
    ).to(tl.float64)
    offsets = task.to(tl.int64)[:, None] * width + feature[None, :]
    for piece in tl.static_range(PIECES):
        part = rest.to(tl.float32).to(tl.bfloat16)
        tl.store(pieces + piece * size + offsets, part)
        rest -= part.to(tl.float64)
    if tl.program_id(1) == 0:
        intercept = tl.load(intercepts + task, mask=task < m, other=0.0)
        tl.store(thresholds + task, -intercept.to(tl.float32))


@triton.jit
def _load_pieces(
    features: tl.tensor, row: tl.tensor, feature: tl.tensor, rows_left: tl.tensor, d: tl.tensor
) -> tuple[tl.tensor, tl.tensor, tl.tensor]:
    """Load raw features as bfloat16 pieces, one column for each person."""
    x = tl.load(
        features + (row.to(tl.int64)[:, None] * d + feature[None, :]),
        mask=(row < rows_left)[:, None] & (feature < d)[None, :],
        other=0.0,
    )
    high, middle, low = _split(x)
    return tl.trans(high), tl.trans(middle), tl.trans(low)


@triton.jit
def _scores(
    pieces: tl.tensor,
    size: tl.tensor,
    high: tl.tensor,
    middle: tl.tensor,
    low: tl.tensor,
    PIECES: tl.constexpr,
) -> tl.tensor:
    """Multiply a tile of coefficients by a tile of features; the result is tasks x persons."""
    c_high = tl.load(pieces)
    c_middle = tl.load(pieces + size)
    # Add the smallest products first. The products left out are below float32's own rounding.
    if PIECES == 3:
        c_low = tl.load(pieces + 2 * size)
        scores = tl.dot(c_low, high)
        scores = tl.dot(c_high, low, scores)
        scores = tl.dot(c_middle, middle, scores)
        scores = tl.dot(c_middle, high, scores)
    else:
        scores = tl.dot(c_middle, high)
    scores = tl.dot(c_high, middle, scores)
    return tl.dot(c_high, high, scores)


@triton.jit(do_not_specialize=["n", "m_units", "d_units"])
def _mistakes_kernel(
    features: tl.tensor,
    signs: tl.tensor,
    pieces: tl.tensor,
    thresholds: tl.tensor,
    positives: tl.tensor,
    negatives: tl.tensor,
    n: tl.tensor,
    m_units: tl.tensor,
    d_units: tl.tensor,
    M_UNIT: tl.constexpr,
    D_UNIT: tl.constexpr,
    ONE_TILE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_TASKS: tl.constexpr,
    BLOCK_FEATURES: tl.constexpr,
    PIECES: tl.constexpr,
    BY_LABEL: tl.constexpr,
) -> None:
    """Count the mistakes of one block of persons over all tasks; scores stay in registers."""
    m = m_units * M_UNIT
    d = d_units * D_UNIT
    width = tl.cdiv(d, BLOCK_FEATURES) * BLOCK_FEATURES
    size = tl.cdiv(m, BLOCK_TASKS).to(tl.int64) * BLOCK_TASKS * width
    first = tl.program_id(0).to(tl.int64) * BLOCK_ROWS
    rows_left = n - first
    features += first * d
    signs += first * m
    row = tl.arange(0, BLOCK_ROWS)
    feature = tl.arange(0, BLOCK_FEATURES)
    column = tl.arange(0, BLOCK_TASKS)
    sign_offsets = row.to(tl.int64)[:, None] * m + column[None, :]
    piece_offsets = column[:, None] * width + feature[None, :]

    # Compute tasks x persons, not persons x tasks. Tensor cores then read the features from shared
    # memory, where one copy serves all tasks.
    wrong = tl.zeros((BLOCK_TASKS, BLOCK_ROWS), tl.int32)
    if ONE_TILE:
        high, middle, low = _load_pieces(features, row, feature, rows_left, d)
    for task in range(0, m, BLOCK_TASKS):
        sign = tl.load(
            signs + task + sign_offsets,
            mask=(row < rows_left)[:, None] & (task + column < m)[None, :],
            other=0,
        )
        threshold = tl.load(thresholds + task + column)
        tile = pieces + (task * width + piece_offsets)
        if ONE_TILE:
            scores = _scores(tile, size, high, middle, low, PIECES)
        else:
            scores = tl.zeros((BLOCK_TASKS, BLOCK_ROWS), tl.float32)
            for start in range(0, width, BLOCK_FEATURES):
                x_high, x_middle, x_low = _load_pieces(features, row, start + feature, rows_left, d)
                scores += _scores(tile + start, size, x_high, x_middle, x_low, PIECES)
        decide = scores < threshold[:, None]
        mistake = tl.trans(sign) == tl.where(decide, 1, -1)
        if BY_LABEL:
            # Keep two 16-bit counts in one register, which is enough for two million tasks.
            wrong += tl.where(mistake, tl.where(decide, 1, 65536), 0)
        else:
            wrong += mistake.to(tl.int32)
    person = first + row
    if BY_LABEL:
        tl.store(positives + person, tl.sum(wrong & 0xFFFF, axis=0), mask=row < rows_left)
        tl.store(negatives + person, tl.sum(wrong >> 16, axis=0), mask=row < rows_left)
    else:
        tl.store(positives + person, tl.sum(wrong, axis=0), mask=row < rows_left)


def supports(device: torch.device) -> bool:
    """Return whether these kernels run on this GPU: Hopper or later."""
    return bool(torch.cuda.get_device_capability(device) >= (9, 0))


def _pieces(precision: Precision) -> int:
    """Return how many bfloat16 numbers stand for one float32 number."""
    try:
        return {"float32": 3, "tf32": 2}[precision]
    except KeyError:
        raise ValueError(f"precision must be 'float32' or 'tf32', not {precision!r}") from None


def _units(features: torch.Tensor, signs: torch.Tensor) -> dict[str, int]:
    """Check the arrays; return their sizes in units of what one load can take."""
    if features.dtype != torch.float32 or signs.dtype != torch.int8:
        raise TypeError("features must be float32 and signs int8")
    if not (features.is_contiguous() and signs.is_contiguous()):
        raise ValueError("features and signs must be contiguous")
    (n, d), m = features.shape, signs.shape[1]
    m_unit, d_unit = math.gcd(m, 8), math.gcd(d, 4)
    return {
        "n": n,
        "m_units": m // m_unit,
        "d_units": d // d_unit,
        "M_UNIT": m_unit,
        "D_UNIT": d_unit,
    }


def _add_sums(
    sums: torch.Tensor,
    features: torch.Tensor,
    signs: torch.Tensor,
    mean: torch.Tensor,
    inverse_scale: torch.Tensor,
    prices: torch.Tensor,
    **options: Any,
) -> None:
    """Add S^T (prices * A) to the float64 sums, over cells with one label or over all cells."""
    (n, d), m = features.shape, signs.shape[1]
    block_rows = _SUMS["BLOCK_ROWS"]
    tiles = triton.cdiv(m, _SUMS["BLOCK_TASKS"]) * triton.cdiv(d, 64)
    rows = min(_CHUNK_ROWS, triton.cdiv(n * tiles, _PROGRAMS))
    rows = triton.cdiv(rows, block_rows) * block_rows
    chunks = triton.cdiv(n, rows)
    # A grid takes at most 65535 programs along its second axis.
    at_once = min(chunks, 65535, max(1, _PARTIAL_BYTES // (4 * m * (d + 1))))
    units = _units(features, signs)
    partial = torch.empty((at_once, d + 1, m), dtype=torch.float32, device=features.device)
    for first in range(0, chunks, at_once):
        now = min(at_once, chunks - first)
        _sums_kernel[(tiles, now)](
            features,
            signs,
            mean,
            inverse_scale,
            prices,
            partial,
            first_chunk=first,
            chunk_rows=rows,
            WHOLE=d % 64 == 0,
            BLOCK_FEATURES=64,
            GROUPS=8,
            **units,
            **options,
            **_SUMS,
        )
        _combine_kernel[(triton.cdiv(m, 128), d + 1)](
            partial, sums, now, m, d + 1, BLOCK_CHUNKS=16, BLOCK_TASKS=128, num_warps=4
        )


def gap_sums(
    features: torch.Tensor,
    signs: torch.Tensor,
    mean: torch.Tensor,
    inverse_scale: torch.Tensor,
    false_positive: torch.Tensor,
    false_negative: torch.Tensor | None = None,
    precision: Precision = "float32",
) -> torch.Tensor:
    """Sum every task's signed, priced features without storing them; all runs give the same sums.

    With A = [1, (features - mean) * inverse_scale], computes G^T A. The gap G of a cell is the
    price of a false positive for label 0, minus the price of a false negative for label 1, and 0
    for an unobserved label.

    Parameters
    ----------
    features : torch.Tensor
        Raw float32 features, shape (n, d).
    signs : torch.Tensor
        Signs as int8, shape (n, m): 1 for label 0, -1 for label 1, 0 where unobserved. Fastest
        where m is a multiple of 8; an odd m is loaded byte by byte.
    mean, inverse_scale : torch.Tensor
        Mean and inverse standard deviation of each feature, shape (d,).
    false_positive, false_negative : torch.Tensor
        Price of either mistake on each person, shape (n,), used in float32. ``false_negative``
        may be None: then both cost the same, and the call takes half the time.
    precision : {"float32", "tf32"}
        Accuracy of the products. "tf32" keeps 16 bits of each factor; TF32 itself keeps 11. On
        Hopper, "tf32" is also faster than TF32.

    Returns
    -------
    torch.Tensor
        Float64 sums, shape (m, d + 1); column 0 is for the intercept.
    """
    m, d = signs.shape[1], features.shape[1]
    sums = torch.zeros((m, d + 1), dtype=torch.float64, device=features.device)
    with torch.cuda.device_of(features):
        passes = [(false_positive, -1)]
        if false_negative is not None:
            passes = [(false_positive, 0), (false_negative, 1)]
        for price, label in passes:
            _add_sums(
                sums,
                features,
                signs,
                mean,
                inverse_scale,
                price.to(torch.float32),
                PIECES=_pieces(precision),
                LABEL=label,
            )
    return sums


def mistakes(
    features: torch.Tensor,
    signs: torch.Tensor,
    coefficients: torch.Tensor,
    intercepts: torch.Tensor,
    by_label: bool = False,
    precision: Precision = "float32",
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Count every person's wrongly decided tasks without ever storing a score.

    Decides 1 where features @ coefficients < -intercepts.

    Parameters
    ----------
    features : torch.Tensor
        Raw float32 features, shape (n, d).
    signs : torch.Tensor
        Signs as int8, shape (n, m): 1 for label 0, -1 for label 1, 0 where unobserved. Fastest
        where m is a multiple of 8; an odd m is loaded byte by byte.
    coefficients : torch.Tensor
        Coefficients of the raw features, float32 or float64, shape (d, m).
    intercepts : torch.Tensor
        Intercepts, float32 or float64, shape (m,).
    by_label : bool
        Whether to count the two kinds of mistake separately.
    precision : {"float32", "tf32"}
        Accuracy of the scores. "tf32" keeps 16 bits of each factor; TF32 itself keeps 11, and takes
        about the same time.

    Returns
    -------
    torch.Tensor or tuple of torch.Tensor
        Int32 counts, shape (n,); with ``by_label``, the false positives (label 0, decided 1)
        and the false negatives (label 1, decided 0).
    """
    (n, d), m = features.shape, signs.shape[1]
    units = _units(features, signs)
    sizes = dict(_MISTAKES)
    block_tasks = sizes["BLOCK_TASKS"]
    block_features = max(16, triton.next_power_of_2(d))
    if d > _RESIDENT_FEATURES:
        sizes["BLOCK_ROWS"], block_features = _WIDE_ROWS, 64
    tiles = triton.cdiv(m, block_tasks), triton.cdiv(d, block_features)
    count = _pieces(precision)
    device = features.device
    pieces = torch.empty(
        (count, tiles[0] * block_tasks, tiles[1] * block_features),
        dtype=torch.bfloat16,
        device=device,
    )
    thresholds = torch.empty(tiles[0] * block_tasks, dtype=torch.float32, device=device)
    positives = torch.empty(n, dtype=torch.int32, device=device)
    negatives = torch.empty_like(positives) if by_label else positives
    with torch.cuda.device_of(features):
        _coefficients_kernel[tiles](
            coefficients.contiguous(),
            intercepts.contiguous(),
            pieces,
            thresholds,
            m,
            d,
            BLOCK_TASKS=block_tasks,
            BLOCK_FEATURES=block_features,
            PIECES=count,
        )
        _mistakes_kernel[(triton.cdiv(n, sizes["BLOCK_ROWS"]),)](
            features,
            signs,
            pieces,
            thresholds,
            positives,
            negatives,
            ONE_TILE=tiles[1] == 1,
            BLOCK_FEATURES=block_features,
            PIECES=count,
            BY_LABEL=by_label,
            **units,
            **sizes,
        )
    return (positives, negatives) if by_label else positives
