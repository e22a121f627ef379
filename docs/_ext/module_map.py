"""The directive ``module-map``: the package's modules and imports, drawn and listed.

Both come from the source at every build, so neither can go stale: the modules and who imports whom
from the import graph (grimp), the rows from the layers that ``make check`` holds the package to,
the sentences from the modules' docstrings.
"""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import grimp
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

PACKAGE = "averagefair"
ROOT = Path(__file__).parents[2]

BOX, GAP, ROW, LETTER, MARGIN = 26, 16, 50, 7.4, 12


@dataclass(frozen=True)
class Box:
    """Where a module stands in the drawing."""

    left: float
    top: float
    width: float

    @property
    def middle(self) -> float:
        return self.left + self.width / 2


def layers() -> list[list[str]]:
    """Return the layers of the contract in pyproject.toml, from the top, by short names."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = settings["tool"]["importlinter"]["contracts"]
    rows = [[one.strip() for one in row.split(":")] for row in contract["layers"]]
    return [[one.removeprefix(f"{PACKAGE}.") for one in row] for row in rows]


def imports() -> dict[str, set[str]]:
    """Return for every top-level module those that it imports when it is run."""
    graph = grimp.build_graph(PACKAGE, exclude_type_checking_imports=True)
    found: dict[str, set[str]] = {short(one): set() for one in graph.modules if one != PACKAGE}
    for module in graph.modules - {PACKAGE}:
        for other in graph.find_modules_directly_imported_by(module) - {PACKAGE}:
            if short(module) != short(other):
                found[short(module)].add(short(other))
    return found


def short(module: str) -> str:
    """Return the part of a module's name after the package's."""
    return module.split(".")[1]


def sentence(module: str) -> str:
    """Return the first sentence of a module's docstring."""
    folder = ROOT / "src" / PACKAGE / module
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    if not text:
        raise ValueError(f"{path.relative_to(ROOT)} has no docstring: say there what it is for")
    return " ".join(text.split("\n\n")[0].split()).replace("``", "")


def needed(edges: dict[str, set[str]], rows: list[list[str]]) -> list[tuple[str, str]]:
    """Return the imports that do not follow from others: those that point down, reduced."""
    depth = {module: at for at, row in enumerate(rows) for module in row}
    down = {
        module: {one for one in others if depth[one] > depth[module]}
        for module, others in edges.items()
    }

    def reached(module: str) -> set[str]:
        return set().union(*({one} | reached(one) for one in down[module]))

    return [
        (module, one)
        for module, others in down.items()
        for one in sorted(others)
        if not any(one in reached(other) for other in others - {one})
    ]


def placed(rows: list[list[str]]) -> tuple[dict[str, Box], float]:
    """Return every module's box, rows centred, and the width of the drawing."""
    wide = [
        sum(len(one) * LETTER + 2 * MARGIN for one in row) + GAP * (len(row) - 1) for row in rows
    ]
    width = max(wide) + 2 * MARGIN
    boxes = {}
    for at, (row, taken) in enumerate(zip(rows, wide, strict=True)):
        left = (width - taken) / 2
        for module in row:
            size = len(module) * LETTER + 2 * MARGIN
            boxes[module] = Box(left, MARGIN + at * ROW, size)
            left += size + GAP
    return boxes, width


def drawing(edges: dict[str, set[str]], rows: list[list[str]]) -> str:
    """Return the map as SVG: a row for each layer, a line for each import that is needed."""
    boxes, across = placed(rows)
    height = len(rows) * ROW + MARGIN
    parts = [
        f'<svg class="module-map" viewBox="0 0 {across:.0f} {height:.0f}" role="img" '
        f'width="{across:.0f}" aria-label="The modules of {PACKAGE} in {len(rows)} layers; every '
        f'import points down. The table below lists the same.">'
    ]
    for upper, lower in needed(edges, rows):
        top, bottom = boxes[upper], boxes[lower]
        start, end = top.top + BOX, bottom.top
        left, right, bend = round(top.middle), round(bottom.middle), (start + end) / 2
        curve = f"M{left} {start:.0f}C{left} {bend:.0f} {right} {bend:.0f} {right} {end:.0f}"
        parts.append(f'<path class="from-{upper} to-{lower}" d="{curve}"/>')
    for module, box in boxes.items():
        said = f"{module}: {sentence(module)}"
        width, middle = round(box.width, 1), round(box.middle, 1)
        frame = f'x="{box.left:.1f}" y="{box.top}" rx="4" width="{width}" height="{BOX}"'
        place = f'x="{middle}" y="{box.top + BOX / 2 + 5}" text-anchor="middle"'
        parts.append(
            f'<g class="box-{module}"><title>{escape(said)}</title><rect {frame}/>'
            f"<text {place}>{escape(module)}</text></g>"
        )
    # Whoever points at a box sees its lines.
    lit = ",".join(
        f".module-map:has(.box-{one}:hover) :is(.from-{one}, .to-{one})" for one in boxes
    )
    style = f"<style>{lit} {{ stroke: var(--pst-color-primary); stroke-width: 2.4; }}</style>"
    return "".join(parts) + style + "</svg>"


def listing(edges: dict[str, set[str]], rows: list[list[str]]) -> str:
    """Return the same as a table: what each module is for and which it imports."""
    lines = [
        f"<tr><td><code>{escape(module)}</code></td><td>{escape(sentence(module))}</td>"
        f"<td>{', '.join(f'<code>{escape(one)}</code>' for one in sorted(edges[module]))}</td></tr>"
        for row in rows
        for module in row
    ]
    head = "<tr><th>module</th><th>what it is for</th><th>imports</th></tr>"
    return (
        '<div class="pst-scrollable-table-container"><table class="table modules">'
        f"<thead>{head}</thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


class ModuleMap(SphinxDirective):
    """Draw the map and list it."""

    def run(self) -> list[nodes.Node]:
        edges, rows = imports(), layers()
        unlisted = set(edges) ^ {module for row in rows for module in row}
        if unlisted:
            raise self.error(f"in the layers or in the package, but not in both: {unlisted}")
        figure = f'<div class="module-map-frame">{drawing(edges, rows)}</div>'
        return [nodes.raw("", figure + listing(edges, rows), format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("module-map", ModuleMap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
