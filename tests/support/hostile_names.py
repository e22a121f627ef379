"""Names that an attacker chose to do harm, and harmless names that look like them."""

import json
import re
from html.parser import HTMLParser

MARKUP = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(1)</script>",
    "'><svg/onload=alert(1)>",
    "</title></style></textarea><img src=x onerror=alert(1)>",
    "<!--",
    "--><b>",
    "{{7*7}}",
    "{% raw %}",
    "javascript:alert(1)",
    "&lt;i&gt;&amp;",
    "[red]markup[/red]",
    "%s%n%(x)s",
]
FORMULAS = [
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://localhost:9/x","here")',
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "  =1+1",
    "\ufeff=1+1",
    "\uff1d1+1",
    "'=1+1",
    "''=1+1",
    "a;=1+1",
    'b","c";=1+1;"',
    "c\t@x",
    "d\n=1+1",
    "-",
    "+49 171 5555",
]
# Terminal escapes, characters that reverse text or are invisible, and line breaks.
COMMANDS = [
    "\x1b[2J\x1b[31mred",
    "\x1b]8;;http://localhost:9\x07here\x1b]8;;\x07",
    "\x1b]0;title\x07",
    "\x9b31mred",
    "\x08\x08\x08gone\x7f",
    "".join(map(chr, range(1, 32))),
    "\u202egnp.exe",
    "\u2066a\u2069",
    "one\nerror: a line of its own",
    "one\rreport: other.html",
    "one\u2028two\u2029three\x85four",
    "a\u200bb",
]
LETTERS = [
    "Z" + "\u0301\u0489" * 80,
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f600",
    "李雷",
    "$\\frac",
    "$x_1$",
    "_under",
    "a/../../b",
]
LONG = ["x" * 10_000, "two words " * 1_000 + "end", "漢" * 10_000]
HOSTILE = [*MARKUP, *FORMULAS, *COMMANDS, *LETTERS, *LONG]

_HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_UNHELD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def assert_harmless(text, longest=4200):
    """Check a terminal's text: only printable characters, in complete lines."""
    found = _HARMFUL.search(text)
    assert not found, f"{found[0]!r} in {text[max(0, found.start() - 40) : found.end() + 20]!r}"
    assert max(map(len, text.split("\n"))) <= longest


def as_held(name):
    """Return a name as HTML can hold it."""
    return _UNHELD.sub(lambda found: found[0].encode("unicode_escape").decode(), name)


class Page(HTMLParser):
    """A parsed page: tags, attributes, and the text of each element."""

    VOID = frozenset({"meta", "input", "img", "br", "link", "hr"})

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.texts, self._open = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *one) for one in attributes]
        if tag not in self.VOID:
            self._open.append((tag, []))

    def handle_endtag(self, tag):
        opened, parts = self._open.pop()
        assert opened == tag, f"</{tag}> closes <{opened}>"
        text = "".join(parts)
        self.texts.append((tag, text))
        if self._open:
            self._open[-1][1].append(text)

    def handle_data(self, data):
        if self._open:
            self._open[-1][1].append(data)

    def text_of(self, *tags):
        return [text for tag, text in self.texts if tag in tags]

    def data(self):
        """The contents of the page's data blocks."""
        return [json.loads(text) for text in self.text_of("script") if text.startswith("{")]

    def assert_inert(self):
        """Check that the page runs only its own script and fetches nothing."""
        assert self.tags.count("script") - len(self.data()) <= 1
        for _tag, name, value in self.attributes:
            assert not name.startswith("on"), name
            assert name not in ("srcdoc", "action", "formaction"), name
            if name in ("href", "src"):
                assert value.startswith(("#", "data:image/png;base64,")), value
