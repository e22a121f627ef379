"""Find phrases that make readers stumble: ``python -m tools.plain_words``, run by ``make check``.

A short list of words, not a style checker. Each phrase comes with what to write instead.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "docs", "examples", "tests", "benchmarks", "reproduction", "tools")
ENDINGS = {".py", ".pyi", ".md", ".rst", ".html", ".js"}
INSTEAD = {
    r"anew": "again, from scratch",
    r"by and by": "step by step",
    r"cannot be told|can be told|could be told": "inconclusive; is unknown",
    r"heed": "attention",
    r"held against": "compared with",
    r"lest": "so that ... not",
    r"noise of few": "noise from few",
    r"of nobody": "no individual's",
    r"of which (?:some|many|most|none|all|each)": "a second sentence",
    r"put to sleep": "dropped",
    r"so many (?!people|tasks|more)": "this many; the number",
    r"those whom": "people whom",
    r"told apart": "distinguished",
    r"whoever": "anybody who; people who",
}
PATTERN = re.compile(rf"\b(?:{'|'.join(f'(?:{phrase})' for phrase in INSTEAD)})\b", re.IGNORECASE)


def files() -> Iterator[Path]:
    """Yield the files that people read: sources, pages, scripts."""
    yield from (path for path in ROOT.glob("*.md"))
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            built = {"_build", "gallery", "names"} & set(path.relative_to(ROOT).parts)
            if path.suffix in ENDINGS and not built and path != Path(__file__):
                yield path


def stumbles(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line number, the phrase found and what to write instead.

    Examples
    --------
    >>> list(stumbles("Measured anew."))
    [(1, 'anew', 'again, from scratch')]
    """
    for number, line in enumerate(text.splitlines(), 1):
        for match in PATTERN.finditer(line):
            phrase = match.group(0)
            rule = next(
                rule
                for rule in INSTEAD
                if re.fullmatch(rule, phrase.strip(), re.I) or re.match(rule, f"{phrase} ", re.I)
            )
            yield number, phrase.strip(), INSTEAD[rule]


def main() -> int:
    """Print every phrase with its file and line; return the exit status."""
    found = 0
    for path in files():
        for number, phrase, instead in stumbles(path.read_text(encoding="utf-8")):
            found += 1
            print(f"{path.relative_to(ROOT)}:{number}: {phrase!r}; write: {instead}")
    print(f"{found} phrases to say more plainly" if found else "plain words: nothing found")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
