"""Names for the sidebar's arrows, which a screen reader would otherwise call "button".

The theme draws an arrow that unfolds the pages below a link. This extension names each arrow after
its link.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from typing import Any

from sphinx.application import Sphinx

ARROW = re.compile(r"(<a [^>]*>(?P<title>.*?)</a>\s*<details[^>]*><summary)>", flags=re.DOTALL)
TAG = re.compile(r"<[^>]*>")


def name_arrows(html: str) -> str:
    """Give each arrow the name of the link before it."""
    return ARROW.sub(lambda at: f'{at[1]} aria-label="Pages of {plain(at["title"])}">', html)


def plain(title: str) -> str:
    """Return a title without tags, ready for an attribute."""
    return escape(TAG.sub("", title).strip().replace("&amp;", "&"), quote=True)


def wrap(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Name the arrows in whatever the theme's function for the sidebar returns."""
    draw: Callable[..., Any] | None = context.get("generate_toctree_html")
    if draw is None:
        return

    def drawn(kind: str, *given: Any, **named: Any) -> Any:
        tree = draw(kind, *given, **named)  # text, or a tree of tags that prints as such
        return name_arrows(str(tree)) if kind == "sidebar" else tree

    context["generate_toctree_html"] = drawn


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", wrap, priority=900)  # after the theme's own
    return {"parallel_read_safe": True, "parallel_write_safe": True}
