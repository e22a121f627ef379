"""The memory that some work allocates, counted by the allocators and not by the system.

It counts Python's, NumPy's and Arrow's allocations. The system's own figures (resident pages,
address space) depend on the machine: on the allocator, the threads and earlier frees.
"""

import gc
import tracemalloc

import pyarrow as pa


def asked_for(work):
    """Do some work; return the most bytes that it held at one time."""
    before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    gc.collect()
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] + pool.max_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)


def left_behind(work, times):
    """Do some work many times; return the bytes and objects that remain afterwards."""
    gc.collect()
    tracemalloc.start()
    try:
        before, objects = tracemalloc.get_traced_memory()[0], len(gc.get_objects())
        for _ in range(times):
            work()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before, len(gc.get_objects()) - objects
    finally:
        tracemalloc.stop()
