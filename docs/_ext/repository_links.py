"""Links from pages to files of the repository.

The pages link to files, so that they also read well unbuilt. In built pages, a link to a file that
is itself a page leads to that page. A link to another file (source, tests) becomes its text, since
a built page may lie anywhere. The build checks that the file exists.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
PAGES = {"SECURITY.md": "security.md", "CHANGELOG.md": "changes.md"}


def lead_to_pages(app: Sphinx, name: str, source: list[str]) -> None:
    """Replace links to files that are pages."""
    up = "../" * (name.count("/") + 1)
    for file, page in PAGES.items():
        source[0] = source[0].replace(f"]({up}{file}", f"]({up[3:]}{page}")


def name_files(app: Sphinx, page: nodes.document) -> None:
    """Replace a link to another file by its text. A missing file stays an error."""
    for link in list(page.findall(pending_xref)):
        if link.get("reftype") == "myst" and (ROOT / str(link["reftarget"])).is_file():
            link.replace_self(link.children)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", lead_to_pages)
    app.connect("doctree-read", name_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
