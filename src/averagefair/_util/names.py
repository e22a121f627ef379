r"""Names from users' tables, made safe to show.

A name can contain terminal commands (to clear the screen, move the cursor, open a link), marks that
reverse the writing direction, line breaks, or characters that cannot be encoded. Where a name is
shown, each such character is escaped: ESC becomes ``\x1b``. In data (tables, model files, JSON)
names stay unchanged.
"""

from __future__ import annotations

import re
from typing import Any

LONGEST_NAME = 60
"""The longest name in a sentence or a list. A longer name is cut, and its length is added."""
_LONGEST_WORD, _LONGEST_LINE = 400, 4000

# Invisible characters with an effect: control characters, marks and overrides of the writing
# direction, ends of lines and paragraphs, zero-width spaces and tags, lone surrogates. The joiners
# U+200C and U+200D are not among them: Persian, Indian scripts and emoji need them.
_UNSEEN = (
    "\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff"
)
_IN_A_LINE = re.compile(f"[{_UNSEEN}]")
_IN_LINES = re.compile(f"(?!\n)[{_UNSEEN}]")
# Characters that HTML cannot contain, or does not preserve.
_IN_HTML = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# A long word, except the rule under a table, which is not a name.
_WORD = re.compile(rf"(?!-+(?:\s|$))\S{{{_LONGEST_WORD + 1},}}")
_SHORT = {9: r"\t", 10: r"\n", 13: r"\r"}


class NamesPeople(str):
    """A sentence that names people.

    Attributes
    ----------
    without_names : str
        The same sentence with their number only.
    """

    without_names: str

    def __new__(cls, text: str, without_names: str = "") -> NamesPeople:
        made = super().__new__(cls, text)
        made.without_names = without_names
        return made


def unnamed(sentence: str) -> str:
    """Return a sentence, without names if it knows how.

    Examples
    --------
    >>> unnamed("2 tasks"), unnamed(NamesPeople("left out: Ann", "left out: 1 person"))
    ('2 tasks', 'left out: 1 person')
    """
    return sentence.without_names if isinstance(sentence, NamesPeople) else sentence


def in_a_line(name: Any, longest: int | None = LONGEST_NAME) -> str:
    r"""Escape a name so that it fits in one line.

    Examples
    --------
    >>> in_a_line("ann"), in_a_line("a\x1b[2Jb\nc"), in_a_line("\u202eann")
    ('ann', 'a\\x1b[2Jb\\nc', '\\u202eann')
    >>> in_a_line("x" * 10_000, 5)
    'xxxxx… (10,000 characters)'
    """
    return _cut(_IN_A_LINE.sub(_escaped, str(name)), str(name), longest)


def in_lines(text: str) -> str:
    r"""Escape text so that a terminal only shows it.

    Words over 400 characters and lines over 4,000 are cut: only names can be that long.

    Examples
    --------
    >>> in_lines("one\ntwo\x07")
    'one\ntwo\\x07'
    """
    text = _IN_LINES.sub(_escaped, text)
    text = _WORD.sub(lambda word: _cut(word[0], word[0], LONGEST_NAME), text)
    return "\n".join(_cut(line, line, _LONGEST_LINE) for line in text.split("\n"))


def in_a_terminal(content: bytes) -> bytes:
    r"""Escape terminal commands in a file that is shown in a terminal.

    Examples
    --------
    >>> in_a_terminal(b"a,b\n\x1b[2J\xff\n")
    b'a,b\n\\x1b[2J\\xff\n'
    """
    return _IN_LINES.sub(_escaped, content.decode("utf-8", "backslashreplace")).encode()


def in_html(text: str) -> str:
    r"""Escape what a page cannot contain: control characters and lone surrogates.

    Marks of the writing direction stay: their effect ends with the HTML element.

    Examples
    --------
    >>> in_html("a\x00b\udcff <b>\u202e") == "a\\x00b\\udcff <b>\u202e"
    True
    """
    return _IN_HTML.sub(_escaped, text)


def _cut(text: str, whole: str, longest: int | None) -> str:
    if longest is None or len(text) <= longest:
        return text
    return f"{text[:longest]}… ({len(whole):,} characters)"


def _escaped(character: re.Match[str]) -> str:
    code = ord(character[0])
    if code in _SHORT:
        return _SHORT[code]
    kind, digits = ("x", 2) if code < 0x100 else ("u", 4) if code < 0x10000 else ("U", 8)
    return f"\\{kind}{code:0{digits}x}"
