"""What commands say: text or JSON on standard output, complaints on standard error."""

from __future__ import annotations

import json
import os
import shlex
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from textwrap import fill
from typing import Any

import typer

from averagefair.names import in_a_line, in_lines
from averagefair.text import plain

NOT_MET, BAD_INPUT, FAILED, ENDED_EARLY = 1, 2, 3, 4
STOPPED = 130
WIDTH = 79
WHOLE: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}

_warned: list[str] = []


@contextmanager
def listen() -> Iterator[None]:
    """Turn warnings into lines on standard error, and keep them for JSON."""
    _warned.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)

        def show(message: Warning | str, *_: Any, **__: Any) -> None:
            if str(message) in _warned:
                return  # a long table is read in parts: one warning is enough
            _warned.append(str(message))
            say(wrapped(in_a_line(f"warning: {message}", None)), err=True)

        warnings.showwarning = show
        yield


def complain(message: str) -> None:
    """Say what was wrong; as JSON too where JSON is what is read."""
    say(in_a_line(f"error: {message}", None), err=True)
    if "--json" in sys.argv:
        typer.echo(json.dumps({"error": message}))


def say(text: str, *, err: bool = False) -> None:
    """Print lines as plain text: nothing in them reaches the terminal as a command to it.

    All that commands print comes through here, JSON apart, which escapes by itself. What the
    stream's encoding has no letter for is written out too.
    """
    stream = sys.stderr if err else sys.stdout
    coding = getattr(stream, "encoding", None) or "utf-8"
    typer.echo(in_lines(text).encode(coding, "backslashreplace").decode(coding), err=err)


def answer(facts: Mapping[str, Any], text: str, *, as_json: bool, aside: bool = False) -> None:
    """Give a command's result: as JSON, or as text.

    Parameters
    ----------
    facts : mapping
        What JSON holds, beside the warnings there were.
    text : str
    as_json : bool
    aside : bool, default False
        Whether standard output is taken, so that text must go to standard error.
    """
    try:
        if as_json:
            typer.echo(json.dumps(plain({**facts, "warnings": _warned}), allow_nan=False))
        else:
            say(text, err=aside)
    except BrokenPipeError:
        silence()  # whoever read it has had enough; what the command found still counts


def silence() -> None:
    """Leave nothing to be written to standard output when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def command_line() -> str:
    """Return the command as it was given."""
    return shlex.join(["averagefair", *sys.argv[1:]])


def wrapped(text: str) -> str:
    """Break long lines, so that they fit a terminal of 80 columns."""
    lines = text.split("\n")
    return "\n".join(fill(line, WIDTH, **WHOLE) if len(line) > WIDTH else line for line in lines)


def bulleted(text: str) -> str:
    """Write each line as a point of a list, broken to fit."""
    lines = text.splitlines()
    return "\n".join(
        fill(line, WIDTH, initial_indent="- ", subsequent_indent="  ", **WHOLE) for line in lines
    )
