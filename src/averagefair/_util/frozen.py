"""Frozen records: results whose arrays cannot be changed by accident."""

from __future__ import annotations

from typing import Any

import numpy as np


class Frozen:
    """A frozen dataclass whose arrays are read-only."""

    __dataclass_fields__: dict[str, Any]

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                value = value.view()
                value.flags.writeable = False
                object.__setattr__(self, name, value)
