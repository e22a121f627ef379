"""Printed output: long sentences are wrapped, wide tables are scrolled.

A wrapped table cannot be read, and nobody scrolls to read a sentence. So this extension marks
blocks whose long lines are all sentences, and ``pages.css`` wraps them.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LONG = 84
"""Letters that fit on a line beside the menus of a page, roughly."""
PRINTED = ("none", "text")


def mark(app: Sphinx, page: nodes.document) -> None:
    """Mark printed blocks whose long lines belong to no table."""
    for block in page.findall(nodes.literal_block):
        lines = block.astext().splitlines()
        tables = [line for line in lines if "  " in line.strip()]
        widest = max(map(len, tables), default=0)
        if block.get("language") in PRINTED and widest <= LONG < max(map(len, lines), default=0):
            block["classes"].append("in-sentences" if not tables else "in-sentences-and-tables")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
