"""Seeds for scikit-learn estimators that have none."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone


def seeded(estimator: Any) -> Any:
    """Return a clone in which every unset random state is 0, including those of CV splitters."""
    copy = clone(estimator)
    unset = {}
    for name, value in copy.get_params().items():
        if name.split("__")[-1] == "random_state" and value is None:
            unset[name] = 0
        elif not hasattr(value, "get_params") and getattr(value, "random_state", 0) is None:
            value.random_state = 0  # a CV splitter, which clone has copied
    return copy.set_params(**unset)
