"""What commands say about encoded features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from averagefair._util.text import counted, digits

if TYPE_CHECKING:
    from averagefair.people.encoder import Encoding, TableEncoder


def encoder_columns(encoder: TableEncoder) -> tuple[str, ...]:
    """Return the columns that an encoder takes.

    Parameters
    ----------
    encoder : TableEncoder
    """
    return tuple(own.name for own in encoder.encodings_)


def encoded_lines(encoder: TableEncoder | None) -> list[str]:
    """Return a line that says how columns were encoded; none without an encoder.

    Parameters
    ----------
    encoder : TableEncoder, or None
    """
    if encoder is None:
        return []
    how = [f"{own.name} ({words})" for own in encoder.encodings_ if (words := _how(own))]
    count = counted(len(encoder.get_feature_names_out()), "column")
    return [f"encoded as {count} of numbers: {', '.join(how) or 'nothing to encode'}"]


def _how(encoding: Encoding) -> str:
    """Say how a column was encoded; "" if it is numbers without blanks."""
    parts = []
    if encoding.kind == "words":
        parts.append(counted(len(encoding.words), "word"))
        parts += ["others together"] if encoding.other else []
    elif encoding.kind == "date":
        parts.append("date")
    if encoding.blank:
        parts.append(
            "blanks" if encoding.kind == "words" else f"blanks become {digits(encoding.median)}"
        )
    return ", ".join(parts)


def encoded_facts(encoder: TableEncoder | None) -> list[str] | None:
    """Return the names of the encoded columns, for JSON; None without an encoder.

    Parameters
    ----------
    encoder : TableEncoder, or None
    """
    return None if encoder is None else list(encoder.get_feature_names_out())
