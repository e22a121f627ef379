"""What commands print: text or JSON on standard output, messages on standard error."""

from __future__ import annotations

import json
import os
import shlex
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from textwrap import fill
from typing import Any, NamedTuple

import typer

from averagefair._util.names import in_a_line, in_lines
from averagefair._util.text import plain

NOT_MET, BAD_INPUT, FAILED, ENDED_EARLY, INCONCLUSIVE = 1, 2, 3, 4, 5
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
                return  # a long table is read in parts: warn once
            _warned.append(str(message))
            say(wrapped(in_a_line(f"warning: {message}", None)), err=True)

        warnings.showwarning = show
        yield


def complain(message: str) -> None:
    """Print an error; with ``--json``, also as JSON."""
    say(in_a_line(f"error: {message}", None), err=True)
    if "--json" in sys.argv:
        typer.echo(json.dumps({"error": message}))


def say(text: str, *, err: bool = False) -> None:
    """Print lines as plain text: no control character reaches the terminal.

    Commands print everything but JSON through this function (JSON escapes by itself). Characters
    that the stream's encoding lacks are written as escapes.
    """
    typer.echo(_encodable(in_lines(text), err), err=err)


def _encodable(text: str, err: bool) -> str:
    coding = getattr(sys.stderr if err else sys.stdout, "encoding", None) or "utf-8"
    for sign, plainly in (("\u2013", "-"), ("\u00b1", "+/-"), ("\u2264", "<=")):
        if sign.encode(coding, "replace") == b"?":
            text = text.replace(sign, plainly)
    return text.encode(coding, "backslashreplace").decode(coding)


class Ending(NamedTuple):
    """The last line of a result.

    Attributes
    ----------
    text : str
        It begins with the outcome in a word.
    icon : str
        Shown before it at a terminal.
    colour : str, or None
        Its colour at a terminal.
    """

    text: str
    icon: str
    colour: str | None


def say_ending(ending: Ending, *, err: bool = False) -> None:
    """Print the last line; at a terminal with its icon and in its colour.

    The environment variables NO_COLOR and FORCE_COLOR are respected.
    """
    from rich.console import Console

    console = Console(stderr=err)
    if not console.is_terminal:
        say(ending.text, err=err)
        return
    icon = _encodable(ending.icon, err)
    text = in_lines(ending.text if icon != ending.icon else f"{icon} {ending.text}")
    text = _encodable(fill(text, WIDTH + 1, **WHOLE), err)
    if ending.colour is not None and console.color_system is not None and not console.no_color:
        text = typer.style(text, fg=ending.colour, bold=True)
    typer.echo(text, err=err, color=True)


def answer(
    facts: Mapping[str, Any],
    text: str,
    *,
    as_json: bool,
    aside: bool = False,
    ending: Ending | None = None,
) -> None:
    """Print a command's result, as JSON or as text.

    Parameters
    ----------
    facts : mapping
        The JSON object; the warnings are added.
    text : str
    as_json : bool
    aside : bool, default False
        Whether standard output holds a file, so that text goes to standard error.
    ending : Ending, optional
        The last line of the text.
    """
    try:
        if as_json:
            typer.echo(json.dumps(plain({**facts, "warnings": _warned}), allow_nan=False))
            return
        say(text, err=aside)
        if ending is not None:
            say_ending(ending, err=aside)
    except BrokenPipeError:
        silence()  # the reader has closed the pipe; the exit code still counts


def silence() -> None:
    """Redirect standard output to the null device, which discards any unflushed output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def command_line(*program: str) -> str:
    """Return the command as the user typed it, for ``averagefair`` or another program."""
    return shlex.join([*(program or ["averagefair"]), *sys.argv[1:]])


def wrapped(text: str) -> str:
    """Break long lines to fit a terminal of 80 columns."""
    lines = text.split("\n")
    return "\n".join(fill(line, WIDTH, **WHOLE) if len(line) > WIDTH else line for line in lines)


def bulleted(text: str) -> str:
    """Write each line as an item of a list, broken to fit."""
    lines = text.splitlines()
    return "\n".join(
        fill(line, WIDTH, initial_indent="- ", subsequent_indent="  ", **WHOLE) for line in lines
    )
