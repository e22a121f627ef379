"""``{plot}`` in Markdown pages.

matplotlib's directive hands reStructuredText to docutils to be read next, which MyST has no place
for. Here what it hands over is read at once.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from matplotlib.sphinxext.plot_directive import PlotDirective
from myst_parser.mdit_to_docutils.base import make_document
from myst_parser.mocking import MockRSTParser, MockStateMachine
from sphinx.application import Sphinx


class Kept:
    """A state machine that keeps what is to be read next."""

    def __init__(self, machine: Any) -> None:
        self.machine = machine
        self.lines: list[str] = []

    def insert_input(self, lines: list[str], source: str) -> None:
        self.lines += lines

    def __getattr__(self, name: str) -> Any:
        return getattr(self.machine, name)


class Plot(PlotDirective):  # type: ignore[misc]
    """matplotlib's directive, for pages of either kind."""

    def run(self) -> list[nodes.Node]:
        if not isinstance(self.state_machine, MockStateMachine):
            return list(super().run())
        self.state_machine = kept = Kept(self.state_machine)
        trouble = super().run()
        page, around = make_document(), self.state.document
        page["source"] = around["source"]
        page.settings, page.reporter = around.settings, around.reporter
        MockRSTParser().parse("\n".join(kept.lines), page)
        return [*trouble, *page.children]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("plot", Plot, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
