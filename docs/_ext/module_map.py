"""The directive ``module-map``: the package's rooms and imports, drawn and listed.

A room is a folder of the package. Single modules at the top are drawn in the same way.

The drawing and the list are made from the source at every build, so they cannot go stale. The
imports come from the import graph (grimp), the rows from the layers in pyproject.toml, and the
sentences from the docstrings of the rooms.
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
SOURCE = ROOT / "src" / PACKAGE

BOX, GAP, ROW, LETTER, MARGIN = 26, 16, 50, 7.4, 12


@dataclass(frozen=True)
class Box:
    """The position of a room in the drawing."""

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
    rows = [[room.strip() for room in row.split(":")] for row in contract["layers"]]
    return [[room.removeprefix(f"{PACKAGE}.") for room in row] for row in rows]


def imports() -> dict[str, set[str]]:
    """Return for every room the other rooms that it imports at run time."""
    graph = grimp.build_graph(PACKAGE, exclude_type_checking_imports=True)
    modules = graph.modules - {PACKAGE}
    edges: dict[str, set[str]] = {room_of(module): set() for module in modules}
    for module in modules:
        for imported in graph.find_modules_directly_imported_by(module) - {PACKAGE}:
            if room_of(module) != room_of(imported):
                edges[room_of(module)].add(room_of(imported))
    return edges


def room_of(module: str) -> str:
    """Return the room that a module lies in, or its own name if it lies at the top."""
    return module.split(".")[1]


def label(room: str) -> str:
    """Return what is written in a room's box: folders end in a slash."""
    return f"{room}/" if (SOURCE / room).is_dir() else room


def sentence(room: str) -> str:
    """Return the first paragraph of a room's docstring."""
    folder = SOURCE / room
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    if not text:
        raise ValueError(f"{path.relative_to(ROOT)} has no docstring: say there what it is for")
    return " ".join(text.split("\n\n")[0].split()).replace("``", "")


def needed(edges: dict[str, set[str]], rows: list[list[str]]) -> list[tuple[str, str]]:
    """Return the imports that point down and do not follow from others (transitive reduction)."""
    depth = {room: level for level, row in enumerate(rows) for room in row}
    down = {
        room: {imported for imported in others if depth[imported] > depth[room]}
        for room, others in edges.items()
    }

    def reached(room: str) -> set[str]:
        return set().union(*({imported} | reached(imported) for imported in down[room]))

    return [
        (room, imported)
        for room, others in down.items()
        for imported in sorted(others)
        if not any(imported in reached(other) for other in others - {imported})
    ]


def placed(rows: list[list[str]]) -> tuple[dict[str, Box], float]:
    """Return every room's box, rows centred, and the width of the drawing."""
    sizes = {room: len(label(room)) * LETTER + 2 * MARGIN for row in rows for room in row}
    row_widths = [sum(sizes[room] for room in row) + GAP * (len(row) - 1) for row in rows]
    width = max(row_widths) + 2 * MARGIN
    boxes = {}
    for level, (row, row_width) in enumerate(zip(rows, row_widths, strict=True)):
        left = (width - row_width) / 2
        for room in row:
            boxes[room] = Box(left, MARGIN + level * ROW, sizes[room])
            left += sizes[room] + GAP
    return boxes, width


def drawing(edges: dict[str, set[str]], rows: list[list[str]]) -> str:
    """Return the map as SVG: a row for each layer, a line for each import that is needed."""
    boxes, across = placed(rows)
    height = len(rows) * ROW + MARGIN
    parts = [
        f'<svg class="module-map" viewBox="0 0 {across:.0f} {height:.0f}" role="img" '
        f'width="{across:.0f}" aria-label="The rooms of {PACKAGE} in {len(rows)} layers; every '
        f'import points down. The table below lists the same.">'
    ]
    for upper, lower in needed(edges, rows):
        top, bottom = boxes[upper], boxes[lower]
        start, end = top.top + BOX, bottom.top
        left, right, bend = round(top.middle), round(bottom.middle), (start + end) / 2
        curve = f"M{left} {start:.0f}C{left} {bend:.0f} {right} {bend:.0f} {right} {end:.0f}"
        parts.append(f'<path class="from-{upper} to-{lower}" d="{curve}"/>')
    for room, box in boxes.items():
        title = f"{label(room)}: {sentence(room)}"
        width, middle = round(box.width, 1), round(box.middle, 1)
        frame = f'x="{box.left:.1f}" y="{box.top}" rx="4" width="{width}" height="{BOX}"'
        place = f'x="{middle}" y="{box.top + BOX / 2 + 5}" text-anchor="middle"'
        parts.append(
            f'<g class="box-{room}"><title>{escape(title)}</title><rect {frame}/>'
            f"<text {place}>{escape(label(room))}</text></g>"
        )
    # Pointing at a box highlights its lines.
    lit = ",".join(
        f".module-map:has(.box-{room}:hover) :is(.from-{room}, .to-{room})" for room in boxes
    )
    style = f"<style>{lit} {{ stroke: var(--pst-color-primary); stroke-width: 2.4; }}</style>"
    return "".join(parts) + style + "</svg>"


def listing(edges: dict[str, set[str]], rows: list[list[str]]) -> str:
    """Return the same as a table: what each room is for and which others it imports."""
    lines = [
        f"<tr><td><code>{escape(label(room))}</code></td><td>{escape(sentence(room))}</td>"
        f"<td>{', '.join(f'<code>{escape(name)}</code>' for name in sorted(edges[room]))}</td></tr>"
        for row in rows
        for room in row
    ]
    head = "<tr><th>room</th><th>what it is for</th><th>imports</th></tr>"
    return (
        '<div class="pst-scrollable-table-container"><table class="table modules">'
        f"<thead>{head}</thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


class ModuleMap(SphinxDirective):
    """Draw the map and list it."""

    def run(self) -> list[nodes.Node]:
        edges, rows = imports(), layers()
        in_layers = {room for row in rows for room in row}
        if in_layers != set(edges):
            raise self.error(
                f"in the package, not in the layers of pyproject.toml: {set(edges) - in_layers}; "
                f"in the layers, not in the package: {in_layers - set(edges)}"
            )
        figure = f'<div class="module-map-frame">{drawing(edges, rows)}</div>'
        return [nodes.raw("", figure + listing(edges, rows), format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("module-map", ModuleMap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
