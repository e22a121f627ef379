"""Type aliases of arrays, for signatures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
SignArray = NDArray[np.int8]
