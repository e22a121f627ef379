"""What a page of findings is made of: sections of words, pictures and small tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Listing:
    """A small table, written out.

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
    """A part of a story.

    Parameters
    ----------
    title : str
    paragraphs : sequence of str
        Plain text.
    figures : sequence of str
        Names of pictures.
    listings : sequence of Listing
    gist : str
        What it comes to, in a sentence.
    """

    title: str
    paragraphs: Sequence[str] = ()
    figures: Sequence[str] = ()
    listings: Sequence[Listing] = ()
    gist: str = ""


@dataclass(frozen=True)
class Image:
    """A picture, drawn.

    Parameters
    ----------
    png : bytes
    alt : str
        What is to be seen, for whoever cannot see it.
    """

    png: bytes
    alt: str
