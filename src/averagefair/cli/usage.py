"""Wrong usage: what is said of an option or command that typer cannot read."""

from __future__ import annotations

import re
from typing import Any

KINDS = (
    (r"integer|valid int", "must be a whole number"),
    (r"number|float", "must be a number"),
)
"""Words in typer's messages, and the rule they stand for."""
REWORDED = (
    (r"No such command (.+?)\.?( Did you mean .+)?", r"there is no command \1.\2"),
    (
        r"Got unexpected extra argument(?:s|\(s\))? \((.+)\)",
        r"too many arguments: \1. An option takes one value: repeat it for each.",
    ),
    (r"Option '?(.+?)'? requires an argument\.", r"\1 needs a value."),
    (r"Option '?(.+?)'? does not take a value\.", r"\1 takes no value."),
    (r"Missing command\.", r"the command is missing."),
)


def usage_error(error: Exception, command: str | None = None) -> str | None:
    """Return what is wrong in the style of all other errors; None if it is no wrong usage.

    Parameters
    ----------
    error : Exception
        Typer raised it.
    command : str, optional
        The command that was read, if the error does not know it.
    """
    told = getattr(error, "format_message", None)
    if told is None or type(error).__name__ == "NoArgsIsHelpError":
        return None
    context = getattr(error, "ctx", None)
    path = command if context is None else context.command_path
    text = _said(error, told())
    if path is None:
        return text
    return f"{text}{'' if text.endswith(('.', '?')) else '.'} See: {path} --help"


def _said(error: Any, text: str) -> str:
    kind, param = type(error).__name__, getattr(error, "param", None)
    if kind == "NoSuchOption":
        near = sorted(error.possibilities or ())
        hint = f". Did you mean {' or '.join(near)}?" if near else ""
        return f"there is no option {error.option_name}{hint}"
    if param is not None and kind == "MissingParameter":
        about = _choices(text) or (getattr(param, "help", None) or "").partition(". ")[0].rstrip(
            "."
        )
        return f"{_name(param)} is missing" + (f": {about[:1].lower()}{about[1:]}" if about else "")
    if param is not None and kind == "BadParameter":
        return f"{_name(param)} {_rule(error)}"
    for pattern, words in REWORDED:
        found = re.fullmatch(pattern, text)
        if found:
            return found.expand(words)
    return f"{text[:1].lower()}{text[1:]}"


def _choices(text: str) -> str:
    """Return the words that may be given, as typer lists them; "" without a list."""
    listed = re.search(r"Choose from:?\s*(.+)", text, flags=re.DOTALL)
    return "" if listed is None else f"one of {' '.join(listed[1].split())}"


def _name(param: Any) -> str:
    """Return the name of an option as typed, or of an argument as on the help page."""
    names = [*getattr(param, "opts", ())]
    if getattr(param, "param_type_name", "") == "argument":
        return str(param.metavar or param.name.upper())
    return str(max(names, key=len, default=param.name))


def _rule(error: Any) -> str:
    """Return the rule that a value breaks, and the value."""
    message = str(error.message).replace("Value error, ", "")
    listed = re.fullmatch(r"(.+) is not one of (.+?)\.?", message, flags=re.DOTALL)
    if listed:
        return f"must be one of {listed[2].replace(chr(39), '')}; got {listed[1]}"
    quoted = re.match(r"'.*?'(?= is not)", message, flags=re.DOTALL)
    value = quoted[0] if quoted else _value(error)
    for pattern, rule in KINDS:
        if re.search(pattern, message):
            return rule + (f"; got {value}" if value else "")
    return f"cannot be read: {message}"


def _value(error: Any) -> str:
    """Return the refused value, quoted; "" if it is not known."""
    details = getattr(error.__cause__, "errors", None)
    found = details() if callable(details) else []
    return repr(found[0]["input"]) if found and "input" in found[0] else ""
