"""How a model encodes words, dates and blanks, in a file: plain JSON, each entry checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from averagefair.people.encoder import KINDS, Encoding, TableEncoder
from averagefair.people.raw_columns import WORDS
from averagefair.persistence.contents import Contents

_ENTRIES = {"max_categories", "named", "columns"}
_KEYS = {"name": str, "kind": str, "words": list, "other": bool, "blank": bool}


def write_encoder(encoder: TableEncoder | None) -> dict[str, Any]:
    """Return an encoder's entry in the manifest, empty without an encoder."""
    if encoder is None:
        return {}
    columns = [
        {
            "name": own.name,
            "kind": own.kind,
            "median": own.median,
            "words": list(own.words),
            "other": own.other,
            "blank": own.blank,
        }
        for own in encoder.encodings_
    ]
    named = hasattr(encoder, "feature_names_in_")
    most = int(encoder.max_categories)
    return {"encoder": {"max_categories": most, "named": named, "columns": columns}}


def read_encoder(contents: Contents) -> TableEncoder | None:
    """Return the encoder that `write_encoder` wrote, or None.

    It must make the features that the file names.
    """
    known = contents.manifest.get("encoder")
    if known is None:
        return None
    own = Contents({}, known)
    columns = known["columns"]
    if not isinstance(columns, list) or not columns or set(known) != _ENTRIES:
        raise ValueError("encoder has no columns")
    encoder = TableEncoder(max_categories=own.whole("max_categories"))
    encoder.encodings_ = tuple(_read_encoding(column, encoder.max_categories) for column in columns)
    encoder.n_features_in_ = len(columns)
    names = [column.name for column in encoder.encodings_]
    if own.flag("named"):
        encoder.feature_names_in_ = np.array(names, dtype=object)
    elif names != [f"x{number}" for number in range(len(names))]:
        raise ValueError("encoder has columns with names")
    made = tuple(name for column in encoder.encodings_ for name in column.columns)
    if len(set(names)) < len(names) or contents.words("features", len(made)) != made:
        raise ValueError("encoder does not make the features")
    return encoder


def _read_encoding(written: Mapping[str, Any], most: int) -> Encoding:
    if not isinstance(written, dict) or set(written) != {*_KEYS, "median"}:
        raise ValueError("encoder has a column that is not described")
    for name, kind in _KEYS.items():
        if type(written[name]) is not kind:
            raise ValueError(f"encoder: {name} is {written[name]!r}")
    median, words, is_words = written["median"], written["words"], written["kind"] == WORDS
    if type(median) not in (int, float) or not np.isfinite(median) or abs(median) > 1e308:
        raise ValueError(f"encoder: median is {median!r}")
    if written["kind"] not in KINDS or is_words != bool(words) or (written["other"] and not words):
        raise ValueError(f"encoder: {written['name']!r} is of no known kind")
    if any(type(word) is not str or not word.strip() or word != word.strip() for word in words):
        raise ValueError(f"encoder: the words of {written['name']!r} are not words")
    if words != sorted(set(words)) or len(words) + written["other"] > most:
        raise ValueError(f"encoder: the words of {written['name']!r} are not in order")
    return Encoding(**{**written, "median": float(median), "words": tuple(words)})
