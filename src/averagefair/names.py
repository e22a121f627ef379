r"""Names are other people's words: shown as such, whatever is in them.

A name can hold what a terminal obeys (it clears the screen, moves the cursor, opens a link), what
turns the writing direction around, what begins a new line, or what cannot be written at all.
Where names are shown, each such character is written out, ESC as ``\x1b``. Where they are data, in
tables, model files and JSON, they stay as they are.
"""

from __future__ import annotations

import re
from typing import Any

LONGEST_NAME = 60
"""Of a name in a sentence or a list; of a longer one the beginning and the length are told."""
_LONGEST_WORD, _LONGEST_LINE = 400, 4000

# What cannot be seen but does something: control characters, the marks and overrides of writing
# direction, ends of lines and paragraphs, spaces of no width and tags, halves of a pair. The
# joiners U+200C and U+200D are left alone: Persian, Indian scripts and emoji are spelt with them.
_UNSEEN = (
    "\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff"
)
_IN_A_LINE = re.compile(f"[{_UNSEEN}]")
_IN_LINES = re.compile(f"(?!\n)[{_UNSEEN}]")
# What HTML cannot hold, or does not keep.
_IN_HTML = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# A rule under a table is no name.
_WORD = re.compile(rf"(?!-+(?:\s|$))\S{{{_LONGEST_WORD + 1},}}")
_SHORT = {9: r"\t", 10: r"\n", 13: r"\r"}


def in_a_line(name: Any, longest: int | None = LONGEST_NAME) -> str:
    r"""Write a name so that it can stand in a line.

    Examples
    --------
    >>> in_a_line("ann"), in_a_line("a\x1b[2Jb\nc"), in_a_line("\u202eann")
    ('ann', 'a\\x1b[2Jb\\nc', '\\u202eann')
    >>> in_a_line("x" * 10_000, 5)
    'xxxxx… (10,000 characters)'
    """
    return _cut(_IN_A_LINE.sub(_written_out, str(name)), str(name), longest)


def in_lines(text: str) -> str:
    r"""Write lines so that a terminal shows them: what is no plain text is written out.

    A word of thousands of letters is cut, and a line of thousands of words: both can only be names.

    Examples
    --------
    >>> in_lines("one\ntwo\x07")
    'one\ntwo\\x07'
    """
    text = _IN_LINES.sub(_written_out, text)
    text = _WORD.sub(lambda found: _cut(found[0], found[0], LONGEST_NAME), text)
    return "\n".join(_cut(line, line, _LONGEST_LINE) for line in text.split("\n"))


def in_a_terminal(content: bytes) -> bytes:
    r"""Write out what a terminal would obey in a file that is shown in one.

    Examples
    --------
    >>> in_a_terminal(b"a,b\n\x1b[2J\xff\n")
    b'a,b\n\\x1b[2J\\xff\n'
    """
    return _IN_LINES.sub(_written_out, content.decode("utf-8", "backslashreplace")).encode()


def in_html(text: str) -> str:
    r"""Write out what a page cannot hold: control characters, and halves of a pair.

    Marks of writing direction stay: they reach no further than the element they stand in.

    Examples
    --------
    >>> in_html("a\x00b\udcff <b>\u202e") == "a\\x00b\\udcff <b>\u202e"
    True
    """
    return _IN_HTML.sub(_written_out, text)


def _cut(text: str, whole: str, longest: int | None) -> str:
    if longest is None or len(text) <= longest:
        return text
    return f"{text[:longest]}… ({len(whole):,} characters)"


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code in _SHORT:
        return _SHORT[code]
    kind, digits = ("x", 2) if code < 0x100 else ("u", 4) if code < 0x10000 else ("U", 8)
    return f"\\{kind}{code:0{digits}x}"
