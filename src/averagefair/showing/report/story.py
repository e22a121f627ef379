"""The parts of a page of findings: sections of text, pictures and small tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Listing:
    """A small table, as text.

    Parameters
    ----------
    caption : str
    head : sequence of str
    rows : sequence of sequences of str
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """A section of a page.

    Parameters
    ----------
    title : str
    paragraphs : sequence of str
        Plain text.
    figures : sequence of str
        Names of pictures.
    listings : sequence of Listing
    gist : str
        The conclusion, in one sentence.
    """

    title: str
    paragraphs: Sequence[str] = ()
    figures: Sequence[str] = ()
    listings: Sequence[Listing] = ()
    gist: str = ""


@dataclass(frozen=True)
class Image:
    """A picture as PNG.

    Parameters
    ----------
    png : bytes
    alt : str
        A description for people who cannot see the picture.
    """

    png: bytes
    alt: str
