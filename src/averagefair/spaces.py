"""Spaces: where arrays live. NumPy by default; PyTorch, CuPy or array-api-strict where given.

What is as long as the population (features, labels, multipliers, rates) stays in the space it was
given in. What is small (coefficients, sums over people, a linear program) is NumPy's, on the host.
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
        """Return the space of an array; whatever is no array of a library is NumPy's.

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
        """Whether arrays are NumPy's own."""
        return self.xp is array_api_compat.numpy

    @property
    def is_torch(self) -> bool:
        """Whether arrays are PyTorch's tensors."""
        return bool(array_api_compat.is_torch_namespace(self.xp))

    @property
    def is_gpu(self) -> bool:
        """Whether arrays are in a GPU's memory."""
        cupy = array_api_compat.is_cupy_namespace(self.xp)
        return bool(cupy or str(self.device).startswith("cuda"))

    def asarray(self, values: Any, dtype: str | None = None) -> Any:
        """Bring values, the host's or this space's own, into this space."""
        kind = None if dtype is None else getattr(self.xp, dtype)
        if self.is_numpy:
            return np.asarray(values, dtype=kind)
        if isinstance(values, np.ndarray) and not values.flags.writeable:
            values = values.copy()  # PyTorch warns of memory that it may not write to
        return self.xp.asarray(values, dtype=kind, device=self.device)

    def zeros(self, shape: int | tuple[int, ...], dtype: str = "float64") -> Any:
        """Return zeros of this shape."""
        return self.xp.zeros(shape, dtype=getattr(self.xp, dtype), device=self.device)

    def to_host(self, array: Any) -> NDArray[Any]:
        """Return an array of this space as NumPy's."""
        if self.is_numpy:
            return np.asarray(array)
        if self.is_torch:
            return np.asarray(array.detach().cpu().numpy())
        if array_api_compat.is_cupy_namespace(self.xp):
            return np.asarray(array.get())
        return np.asarray(array.to_device(self.xp.Device("CPU_DEVICE")))

    def copy(self, array: Any) -> Any:
        """Return an array of one's own."""
        return array.copy() if self.is_numpy else self.xp.asarray(array, copy=True)

    def contiguous(self, array: Any) -> Any:
        """Return the array with its rows one after the other in memory."""
        if self.is_torch:
            return array.detach().contiguous()
        numpy_like = self.is_numpy or array_api_compat.is_cupy_namespace(self.xp)
        return self.xp.ascontiguousarray(array) if numpy_like else array

    def __str__(self) -> str:
        name = self.xp.__name__.removeprefix("array_api_compat.")
        return "NumPy" if self.is_numpy else f"{name} on {self.device}"

    @contextmanager
    def guarded(self, doing: str, needed: int) -> Iterator[None]:
        """Say what was needed where the device's memory does not suffice.

        Parameters
        ----------
        doing : str
            What the memory was for.
        needed : int
            Bytes, about.
        """
        try:
            yield
        except Exception as error:
            if type(error).__name__ != "OutOfMemoryError":
                raise
            first = str(error).partition(" GPU ")[0].rstrip(". ")
            raise DeviceMemoryError(
                f"the memory of {self.device} does not suffice for {doing}: that takes about "
                f"{needed / 1e9:.2f} GB at a time beside what is there already ({first}). Use "
                'dtype="float32", fewer tasks at a time (ExponentiatedGradient with batch_size), '
                "fewer rounds, or NumPy arrays, which are worked through in small blocks."
            ) from error

    @contextmanager
    def full_precision(self) -> Iterator[None]:
        """Keep PyTorch from rounding float32 products to TF32, whatever it has been told."""
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


def mapped(data: Any) -> np.memmap[Any, Any] | None:
    """Return the ``np.memmap`` that an array is, or is a view of; None where it is none."""
    while isinstance(data, np.ndarray):
        if isinstance(data, np.memmap):
            return data
        data = data.base
    return None


def is_mapped(data: Any) -> bool:
    """Return whether an array's memory is a file."""
    return mapped(data) is not None


def to_host(data: Any) -> Any:
    """Return an array of any library as NumPy's; anything else as it is."""
    return Space.of(data).to_host(data) if is_foreign(data) else data


def take_rows(table: Any, rows: NDArray[np.intp]) -> Any:
    """Return these rows of a table of any library."""
    space = Space.of(table)
    return space.xp.take(table, space.asarray(rows), axis=0)


def total_size(vector: Any) -> float:
    """Return the sum of the absolute values of a vector of any library."""
    xp = Space.of(vector).xp
    return float(xp.sum(xp.abs(vector)))
