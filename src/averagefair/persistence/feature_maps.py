"""Feature maps in a file: scikit-learn transformers, written by skops."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from averagefair.people.feature_map import FittedMap
from averagefair.persistence.container import Arrays
from averagefair.persistence.contents import Contents
from averagefair.persistence.estimators import from_bytes, made_with, to_bytes


def write_map(feature_map: FittedMap | None, arrays: Arrays) -> dict[str, Any]:
    """Add a map; return its entry in the manifest, empty without a map."""
    if feature_map is None:
        return {}
    name = type(feature_map.transformer).__name__
    arrays["map"] = to_bytes(feature_map.transformer, f"the feature map ({name})")
    return {"map": {"features": feature_map.width, "made_with": made_with()}}


def read_map(contents: Contents) -> FittedMap | None:
    """Return the map that `write_map` wrote, or None."""
    known = contents.manifest.get("map")
    if known is None:
        return None
    width = Contents({}, known).whole("features")
    data = contents.array("map", None, kind="u")
    transformer = from_bytes(data, contents.trusted, "the feature map", known.get("made_with"))
    if not width or not isinstance(transformer, BaseEstimator):
        raise ValueError("map is not a transformer")
    return FittedMap(transformer, contents.whole("feature_count"), width, contents.source)
