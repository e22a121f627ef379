"""The pages that ``make docs`` builds: links have a target, pictures have a description.

``make test-browser`` checks what only a browser shows: width on a phone, errors of scripts.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.support.places import ROOT

SITE = ROOT / "docs" / "_build" / "html"
BUILT = pytest.mark.skipif(
    not (SITE / "index.html").exists(), reason="the pages are not built: make docs"
)


@dataclass
class Page(HTMLParser):
    """The contents of a page: names to link to, links, pictures, and the files it would fetch."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    pictures: list[tuple[str, str | None]] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)

    def __post_init__(self):
        super().__init__()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag == "img":
            self.pictures.append((given.get("src", ""), given.get("alt")))
        if tag in ("img", "script", "iframe") and given.get("src"):
            self.fetched.append(given["src"])
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.fetched.append(given["href"])


def read(site):
    pages = {}
    for path in sorted(site.rglob("*.html")):
        pages[path] = Page()
        pages[path].feed(path.read_text(encoding="utf-8"))
    return pages


def is_outside(address):
    return bool(urlsplit(address).scheme or address.startswith("//"))


def broken_links(pages):
    """Return (page, link) for every link within the site to a missing file or heading."""

    @cache  # the same pages are named from everywhere
    def resolved(folder, name):
        target = (folder / unquote(name)).resolve()
        return target / "index.html" if target.is_dir() else target

    exists, found = cache(Path.exists), []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if is_outside(link) or not (parts.path or parts.fragment):
                continue
            target = resolved(path.parent, parts.path) if parts.path else path
            there = pages[target].ids if target in pages else None
            if not exists(target) or (parts.fragment and unquote(parts.fragment) not in there):
                found.append((path.name, link))
    return found


def missing_pictures(pages):
    return [
        (path.name, source)
        for path, page in pages.items()
        for source, _ in page.pictures
        if not is_outside(source) and not (path.parent / unquote(urlsplit(source).path)).exists()
    ]


def silent_pictures(pages):
    """Return pictures without a description, or with only the name of a file.

    The gallery's thumbnails are exempt: the title beside them describes them.
    """
    return [
        (path.name, source, alt)
        for path, page in pages.items()
        for source, alt in page.pictures
        if not source.endswith("_thumb.png")
        and (not alt or len(alt.split()) < 2 or alt.endswith((".png", ".svg")))
    ]


def fetched_from_elsewhere(pages):
    found = defaultdict(set)
    for path, page in pages.items():
        for address in page.fetched:
            if is_outside(address) and not address.startswith("data:"):
                found[address].add(path.name)
    return dict(found)


@pytest.fixture(scope="module")
def site():
    return read(SITE)


@BUILT
class TestTheSite:
    def test_every_link_leads_somewhere(self, site):
        assert sum(len(page.links) for page in site.values()) > 1000
        assert broken_links(site) == []

    def test_every_picture_is_there_and_says_what_it_shows(self, site):
        assert sum(len(page.pictures) for page in site.values()) > 20
        assert missing_pictures(site) == []
        assert silent_pictures(site) == []

    def test_nothing_is_fetched_from_elsewhere(self, site):
        assert fetched_from_elsewhere(site) == {}


class TestTheJudgeCanFail:
    @pytest.fixture
    def small(self, tmp_path):
        def small(body):
            (tmp_path / "index.html").write_text(f'<h1 id="top">Here</h1>{body}')
            (tmp_path / "other.html").write_text('<p id="there">There</p>')
            (tmp_path / "dot.png").write_bytes(b"")
            return read(tmp_path)

        return small

    @pytest.mark.parametrize(
        "link", ["#top", "other.html", "other.html#there", "https://example.org/x", "mailto:a@b.c"]
    )
    def test_good_links(self, small, link):
        assert broken_links(small(f'<a href="{link}">x</a>')) == []

    @pytest.mark.parametrize("link", ["#bottom", "nowhere.html", "other.html#top"])
    def test_bad_links(self, small, link):
        assert broken_links(small(f'<a href="{link}">x</a>')) == [("index.html", link)]

    def test_pictures(self, small):
        pages = small('<img src="dot.png" alt="a dot"><img src="gone.png" alt="no dot">')
        assert missing_pictures(pages) == [("index.html", "gone.png")]
        assert silent_pictures(pages) == []

    @pytest.mark.parametrize("alt", ["", 'alt=""', 'alt="dot.png"', 'alt="../a dot.png"'])
    def test_pictures_without_words(self, small, alt):
        assert len(silent_pictures(small(f'<img src="dot.png" {alt}>'))) == 1

    def test_what_is_fetched(self, small):
        address = "https://example.org/x.js"
        assert fetched_from_elsewhere(small(f'<script src="{address}"></script>')) == {
            address: {"index.html"}
        }
