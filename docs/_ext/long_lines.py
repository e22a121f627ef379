"""What is printed in sentences is shown in sentences: long lines are wrapped, wide tables are not.

A table that is too wide for a screen is scrolled, since wrapped it could not be read. A sentence
that has to be scrolled is not read either: blocks whose long lines are all sentences are marked,
and ``pages.css`` wraps them.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LONG = 84
"""Letters: about what fits beside the menus of a page."""
PRINTED = ("none", "text")


def mark(app: Sphinx, page: nodes.document) -> None:
    """Mark what examples and snippets print in long lines that are no table's."""
    for block in page.findall(nodes.literal_block):
        lines = block.astext().splitlines()
        tables = [line for line in lines if "  " in line.strip()]
        widest = max(map(len, tables), default=0)
        if block.get("language") in PRINTED and widest <= LONG < max(map(len, lines), default=0):
            block["classes"].append("in-sentences" if not tables else "in-sentences-and-tables")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
