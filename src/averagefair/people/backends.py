"""Spaces: which array library and device hold an array.

Arrays as long as the population (features, labels, multipliers, rates) stay where the caller put
them: in NumPy, PyTorch, CuPy or array-api-strict. Small arrays (coefficients, sums over people, a
linear program) are NumPy arrays on the host.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import array_api_compat
import array_api_compat.numpy
import numpy as np
from numpy.typing import NDArray

from averagefair.errors import DeviceMemoryError

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Space:
    """An array library and a device.

    Attributes
    ----------
    xp : module
        The library's functions, by the names of the array API standard.
    device : object
    """

    xp: Any
    device: Any

    @classmethod
    def of(cls, array: Any) -> Space:
        """Return the space of an array; anything that is not foreign counts as a NumPy array.

        Examples
        --------
        >>> Space.of(np.zeros(3)) is NUMPY
        True
        """
        if not is_foreign(array):
            return NUMPY
        return cls(array_api_compat.array_namespace(array), array_api_compat.device(array))

    @property
    def is_numpy(self) -> bool:
        """Whether this space holds NumPy arrays."""
        return self.xp is array_api_compat.numpy

    @property
    def is_torch(self) -> bool:
        """Whether this space holds PyTorch tensors."""
        return bool(array_api_compat.is_torch_namespace(self.xp))

    @property
    def is_gpu(self) -> bool:
        """Whether this space is a GPU's memory."""
        cupy = array_api_compat.is_cupy_namespace(self.xp)
        return bool(cupy or str(self.device).startswith("cuda"))

    def asarray(self, values: Any, dtype: str | None = None) -> Any:
        """Return host values, or values of this space, as an array of this space."""
        kind = None if dtype is None else getattr(self.xp, dtype)
        if self.is_numpy:
            return np.asarray(values, dtype=kind)
        if isinstance(values, np.ndarray) and not values.flags.writeable:
            values = values.copy()  # PyTorch warns about read-only memory
        return self.xp.asarray(values, dtype=kind, device=self.device)

    def zeros(self, shape: int | tuple[int, ...], dtype: str = "float64") -> Any:
        """Return zeros of this shape."""
        return self.xp.zeros(shape, dtype=getattr(self.xp, dtype), device=self.device)

    def to_host(self, array: Any) -> NDArray[Any]:
        """Return an array of this space as a NumPy array."""
        if self.is_numpy:
            return np.asarray(array)
        if self.is_torch:
            return np.asarray(array.detach().cpu().numpy())
        if array_api_compat.is_cupy_namespace(self.xp):
            return np.asarray(array.get())
        return np.asarray(array.to_device(self.xp.Device("CPU_DEVICE")))

    def copy(self, array: Any) -> Any:
        """Return a copy of the array."""
        return array.copy() if self.is_numpy else self.xp.asarray(array, copy=True)

    def contiguous(self, array: Any) -> Any:
        """Return the array in row-major (C) order."""
        if self.is_torch:
            return array.detach().contiguous()
        numpy_like = self.is_numpy or array_api_compat.is_cupy_namespace(self.xp)
        return self.xp.ascontiguousarray(array) if numpy_like else array

    def __str__(self) -> str:
        name = self.xp.__name__.removeprefix("array_api_compat.")
        return "NumPy" if self.is_numpy else f"{name} on {self.device}"

    @contextmanager
    def guarded(self, doing: str, needed: int) -> Iterator[None]:
        """Turn a device's out-of-memory error into one that says what to do.

        Parameters
        ----------
        doing : str
            The work that needs the memory, for the message.
        needed : int
            Approximate number of bytes.
        """
        try:
            yield
        except Exception as error:
            if type(error).__name__ != "OutOfMemoryError":
                raise
            first = str(error).partition(" GPU ")[0].rstrip(". ")
            raise DeviceMemoryError(
                f"{self.device} has too little memory for {doing}: this takes about "
                f"{needed / 1e9:.2f} GB on top of the memory in use ({first}). Use "
                'dtype="float32", fewer tasks at a time (ExponentiatedGradient with batch_size), '
                "fewer rounds, or NumPy arrays, which are processed in small blocks."
            ) from error

    @contextmanager
    def full_precision(self) -> Iterator[None]:
        """Keep PyTorch from rounding float32 products to TF32, whatever its global setting."""
        if not (self.is_torch and self.is_gpu):
            yield
            return
        settings = sys.modules["torch"].backends.cuda.matmul
        before = settings.allow_tf32
        settings.allow_tf32 = False
        try:
            yield
        finally:
            settings.allow_tf32 = before


NUMPY = Space(array_api_compat.numpy, "cpu")
"""The default: NumPy arrays on this machine."""


def is_foreign(data: Any) -> bool:
    """Return whether this is an array of PyTorch, CuPy or array-api-strict."""
    return not isinstance(data, np.ndarray) and (
        array_api_compat.is_torch_array(data)
        or array_api_compat.is_cupy_array(data)
        or type(data).__module__.split(".")[0] == "array_api_strict"
    )


def find_memmap(data: Any) -> np.memmap[Any, Any] | None:
    """Return the ``np.memmap`` that an array is or views; None for any other array."""
    while isinstance(data, np.ndarray):
        if isinstance(data, np.memmap):
            return data
        data = data.base
    return None


def is_mapped(data: Any) -> bool:
    """Return whether a file backs the array's memory."""
    return find_memmap(data) is not None


def to_host(data: Any) -> Any:
    """Return an array of any library as a NumPy array; return anything else unchanged."""
    return Space.of(data).to_host(data) if is_foreign(data) else data


def take_rows(table: Any, rows: NDArray[np.intp]) -> Any:
    """Return these rows of a two-dimensional array of any library."""
    space = Space.of(table)
    return space.xp.take(table, space.asarray(rows), axis=0)


def total_size(vector: Any) -> float:
    """Return the sum of the absolute values of a vector of any library."""
    xp = Space.of(vector).xp
    return float(xp.sum(xp.abs(vector)))
