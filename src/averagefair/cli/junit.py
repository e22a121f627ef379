"""JUnit XML: the outcome of an audit's request, as builds show it beside their tests.

Each part of the request is one test case. FAIL is a ``failure``; INCONCLUSIVE is an ``error``, or
``skipped`` if the build lets it pass.
"""

from __future__ import annotations

import re
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from averagefair._util.names import in_html
from averagefair.auditing.gate import Gate, Outcome, Part

# XML cannot hold these two characters, beside those that HTML cannot.
_NOT_IN_XML = re.compile("[\ufffe\uffff]")
SUITE = "averagefair audit"


def junit(gate: Gate, summary: str, seconds: float, inconclusive_passes: bool = False) -> bytes:
    """Return the XML file.

    Parameters
    ----------
    gate : Gate
    summary : str
        The audit in words, shown as the output of the suite.
    seconds : float
        How long the audit took.
    inconclusive_passes : bool, default False
        Whether the build lets an inconclusive outcome pass.
    """
    kinds = [_kind(part, inconclusive_passes) for part in gate.parts]
    numbers: Any = {
        "tests": str(max(1, len(gate.parts))),
        "failures": str(kinds.count("failure")),
        "errors": str(kinds.count("error")),
        "skipped": str(kinds.count("skipped")),
        "time": f"{seconds:.3f}",
    }
    root = Element("testsuites", name="averagefair", **numbers)
    suite = SubElement(root, "testsuite", name=SUITE, **numbers)
    for part, kind in zip(gate.parts, kinds, strict=True):
        name = part.asked if part.name in part.asked else f"{part.name}: {part.asked}"
        case = _case(suite, name, seconds / len(gate.parts))
        if kind:
            told = SubElement(case, kind, message=_text(str(part)))
            if kind != "skipped":
                told.set("type", part.outcome.value)
                told.text = _text(str(part))
        else:
            SubElement(case, "system-out").text = _text(str(part))
    if not gate.parts:
        case = _case(suite, "nothing was asked", seconds)
        said = "Nothing was asked of this audit: add --fail-above or --alpha."
        SubElement(case, "system-out").text = said
    SubElement(suite, "system-out").text = _text(summary)
    indent(root)
    whole: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return whole + b"\n"


def _kind(part: Part, inconclusive_passes: bool) -> str:
    """Return the element that says how a case ended; empty for a case that passed."""
    if part.outcome is Outcome.FAIL:
        return "failure"
    if part.outcome is Outcome.INCONCLUSIVE:
        return "skipped" if inconclusive_passes else "error"
    return ""


def _case(suite: Element, name: str, seconds: float) -> Element:
    named = {"classname": "averagefair.audit", "name": _text(name), "time": f"{seconds:.3f}"}
    return SubElement(suite, "testcase", named)


def _text(text: str) -> str:
    """Return text that XML can hold; other characters are written as escapes."""
    return _NOT_IN_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", in_html(text))
