"""The README is short, its links have targets, and its figures are on the pages it names."""

from __future__ import annotations

import re

import pytest

from tests.support.places import ROOT

PAGE = (ROOT / "README.md").read_text(encoding="utf-8")
ORACLES = (ROOT / "docs" / "oracles.md").read_text(encoding="utf-8")
CORNERS = ["training people and tasks", "new people", "new tasks", "new people and tasks"]


def anchors(text):
    """Return the anchors of a page's headings, as GitHub and MyST make them."""
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(text):
    """Return the links of a text to files or headings that do not exist."""
    links = re.findall(r'\]\(([^)]*)\)|src="([^"]*)"', text)
    found = []
    for link in ("".join(pair) for pair in links):
        path, _, anchor = link.partition("#")
        file = ROOT / path
        if not file.is_file() or (anchor and anchor not in anchors(file.read_text("utf-8"))):
            found.append(link)
    return found


def cells(text, start):
    """Return the cells of the only table row that starts with this text."""
    (row,) = (line for line in text.splitlines() if line.startswith(f"| {start} |"))
    return [cell.strip() for cell in row.split("|")[2:-1]]


def test_it_is_short():
    assert len(PAGE.splitlines()) <= 140


def test_its_links_lead_somewhere():
    assert broken(PAGE) == []


def test_a_broken_link_is_found():
    text = "[a](docs/none.md) [b](docs/oracles.md#none) [c](docs/oracles.md#what-an-answer-costs)"
    assert broken(text) == ["docs/none.md", "docs/oracles.md#none"]


@pytest.mark.parametrize(
    ("start", "oracle"),
    [
        ("error here with the paper's oracle, least squares", "least squares"),
        ("error here with the default oracle", "default"),
    ],
)
def test_training_errors_are_the_oracles_pages(start, oracle):
    table = ORACLES.partition("Training error in the paper's setting")[2]
    numbers = re.search(rf"^{oracle} +(0.*)$", table, flags=re.MULTILINE)[1].split()
    by_alpha = dict(zip(["0.02", "0.05", "0.10", "0.15", "0.20", "0.50"], numbers, strict=True))
    expected = [f"{float(by_alpha[alpha]):.3f}" for alpha in cells(PAGE, "`alpha`")]
    assert cells(PAGE, start) == expected


@pytest.mark.parametrize(("place", "corner"), list(enumerate(CORNERS)))
def test_what_carries_over_is_the_oracles_pages(place, corner):
    """The error, then the standard deviation on new tasks; unconstrained values in brackets."""
    table = ORACLES.partition("Out of sample: error / unfairness")[2]

    def figures(oracle, alpha):
        row = re.search(rf"^{oracle} +{alpha} +(.*)$", table, flags=re.MULTILINE)[1]
        return re.findall(r"(0\.\d+)(?: / (0\.\d+))?", row)[place]

    def cell(oracle, figure):
        asked, free = (float(figures(oracle, alpha)[figure]) for alpha in ("0.10", "0.50"))
        return f"{asked:.3f} ({free:.3f})"

    oracles = ("least squares", "default")
    deviations = [cell(oracle, 1) for oracle in oracles] if place >= 2 else ["", ""]
    assert cells(PAGE, corner) == [cell(oracle, 0) for oracle in oracles] + deviations
