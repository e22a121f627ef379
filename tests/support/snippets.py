"""Run the code blocks of the pages, and compare their output with the pages.

    python -m tests.support.snippets docs/guides/*.md    # compare; print every difference
    python -m tests.support.snippets --write docs/guides/first-table.md  # put output into the page
    python -m tests.support.snippets --clone README.md   # in a fresh clone, with its own install

Each page runs from top to bottom in an empty folder; several pages run at a time. The blocks:

- ``python`` is run, all blocks of a page in one session. In the README each block runs by itself,
  because a reader copies it alone; a block with ``__main__`` runs as a script.
- ``text`` right after it is its expected output.
- ``console`` has commands after ``$ ``, each followed by its output; ``...`` matches anything.
- ``sh`` has commands that must succeed.
- Other blocks are not run (``py`` must compile).

Words must be equal. Figures of three or four decimals must agree to 0.04 or a fifth of the figure,
because another machine may find other columns. Other numbers are not compared. After the comment
``<!-- words go by the figures -->`` only the first and the last line are compared. This needs only
the standard library.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.places import COMMUNITIES, ROOT

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"((?:[^\n]*\\\n)*[^\n]*)\n(.*)", flags=re.DOTALL)
PROGRESS = re.compile(r"^progress: .*\n", flags=re.MULTILINE)  # on a slow machine
IN_PART = "<!-- words go by the figures -->"
AGREE, AGREE_SHARE = 0.04, 0.2
# Equal rates level down on some pages, and a fit says so; that is no mistake of the page.
SAID = "ignore:even the worst-off tenth"

# A Python session that reads code as lines of JSON, and answers with lines of JSON.
SESSION = """
import contextlib, io, json, sys, traceback
page = {"__name__": "page"}
for line in sys.stdin:
    said, failed = io.StringIO(), None
    with contextlib.redirect_stdout(said):
        try:
            exec(compile(json.loads(line), "page", "exec"), page)
        except Exception:
            failed = traceback.format_exc()
    print(json.dumps([said.getvalue(), failed]), flush=True)
"""


class FailedError(Exception):
    """A block of a page failed."""


@dataclass
class Reader:
    """Runs the blocks of a page in a folder."""

    folder: Path
    bin: Path
    alone: bool = False
    session: subprocess.Popen[str] | None = field(default=None, init=False)

    @property
    def surroundings(self) -> dict[str, str]:
        given = os.environ | {"PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}"}
        given |= {"COLUMNS": "80", "MPLBACKEND": "agg"}
        given.pop("VIRTUAL_ENV", None)
        return given | ({"AVERAGEFAIR_DATA": str(COMMUNITIES)} if COMMUNITIES.exists() else {})

    def shell(self, command: str) -> str:
        """Return the output of a command."""
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", command],
            cwd=self.folder,
            env=self.surroundings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            raise FailedError(
                f"$ {command}\nended with exit code {done.returncode}:\n{done.stdout}"
            )
        return PROGRESS.sub("", done.stdout)

    def python(self, code: str) -> str:
        """Return the output of a block of Python; a warning is an error."""
        if self.alone or "__main__" in code:
            script = self.folder / "snippet.py"
            script.write_text(code, encoding="utf-8")
            # On a busy machine, Dask's workers may write warnings to standard error.
            said = self.shell(
                f"python -W error -W '{SAID}' snippet.py 2> said.txt "
                "|| { cat said.txt; exit 1; }; rm said.txt"
            )
            script.unlink()
            return said
        if self.session is None:
            self.session = subprocess.Popen(
                [self.bin / "python", "-W", "error", "-W", SAID, "-c", SESSION],
                cwd=self.folder,
                env=self.surroundings,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self.session.stdin is not None
        assert self.session.stdout is not None
        self.session.stdin.write(json.dumps(code) + "\n")
        self.session.stdin.flush()
        answer = self.session.stdout.readline()
        if not answer:
            raise FailedError(f"Python ended while it ran\n{code}")
        said, failed = json.loads(answer)
        if failed:
            raise FailedError(f"{code}\nfailed:\n{failed}")
        return str(said)

    def leave(self) -> None:
        if self.session is not None:
            self.session.communicate()


def followed(text: str, reader: Reader) -> Iterator[tuple[int, int, str, bool]]:
    """Run a page; yield the span of each quoted output, the real output, and whether in part."""
    printed, end = None, 0
    for block in BLOCK.finditer(text):
        language, content = block.groups()
        between = text[end : block.start()]
        in_part = between.rstrip().endswith(IN_PART)
        if language == "python":
            printed = reader.python(content)
        elif (
            language == "text" and printed is not None and not between.replace(IN_PART, "").strip()
        ):
            yield block.start(2), block.end(2), printed, in_part
            printed = None
        elif language == "console":
            yield from sessions(block, reader, in_part)
        elif language == "sh":
            for line in content.splitlines():
                run_line(line, reader)
        elif language == "py":
            compile(content, "page", "exec")
        if language != "python":
            printed = None
        end = block.end()


def sessions(
    block: re.Match[str], reader: Reader, in_part: bool
) -> Iterator[tuple[int, int, str, bool]]:
    """Run a block's commands one by one."""
    for prompt in re.finditer(r"^\$ (.*?)(?=^\$ |\Z)", block[2], flags=re.DOTALL | re.MULTILINE):
        found = COMMAND.fullmatch(prompt[1])
        assert found is not None
        start = block.start(2) + prompt.start(1)
        came = reader.shell(found[1])
        if not re.search(r"^\.\.\.$", found[2], flags=re.MULTILINE):
            yield start + found.start(2), start + found.end(2), came, in_part
        elif not matches(found[2], came):
            raise FailedError(f"$ {found[1]}\nsaid\n{came}")


def run_line(line: str, reader: Reader) -> None:
    """Run a line of shell commands, unless it cannot be run here."""
    command = line.partition("#")[0].strip()
    if command in ("make test", "make docs"):  # .ci/run runs both by themselves
        print(f"  left to be run by itself: {command}")
    elif (
        "communities" in command
        and not COMMUNITIES.exists()
        and "AVERAGEFAIR_DATA" not in os.environ
    ):
        print(f"  left out, the data are not here: {command}")
    elif command:
        reader.shell(command)


def matches(quoted: str, came: str) -> bool:
    """Return whether a text matches a quotation in which ``...`` matches any lines."""
    pattern = ".*".join(
        re.escape(one) for one in re.split(r"^\.\.\.\n", quoted, flags=re.MULTILINE)
    )
    return re.fullmatch(pattern, came, flags=re.DOTALL) is not None


def agree(quoted: str, came: str, in_part: bool) -> bool:
    """Return whether an output agrees with a page's quotation."""
    if in_part:
        quoted, came = (
            "\n".join([*text.strip().splitlines()[:1], *text.strip().splitlines()[-1:]])
            for text in (quoted, came)
        )
    (words, figures), (came_words, came_figures) = map(words_and_figures, (quoted, came))
    return (
        words == came_words
        and len(figures) == len(came_figures)
        and all(
            abs(said - found) <= max(AGREE, AGREE_SHARE * said)
            for said, found in zip(figures, came_figures, strict=True)
        )
    )


def words_and_figures(text: str) -> tuple[list[str], list[float]]:
    """Return a text's words without numbers, and its figures of three or four decimals."""
    figures = [float(one) for one in re.findall(r"(?<![\d.])0\.\d{3,4}(?!\d)", text)]
    return re.sub(r"[\s-]*\d+(?:[.,:]\d+)*(?:e-?\d+)?", " ", text).split(), figures


def check(page: Path, reader: Reader, write: bool) -> list[str]:
    """Run a page; return its differences, or write the real output into it."""
    text, wrong = page.read_text(encoding="utf-8"), []
    new, end = "", 0
    for start, stop, came, in_part in followed(text, reader):
        quoted = text[start:stop]
        new += text[end:start] + came.rstrip("\n") + "\n" if came.strip() else text[end:start]
        end = stop
        if not agree(quoted, came, in_part):
            line = text.count("\n", 0, start) + 1
            wrong.append(f"{page}:{line} says\n{quoted}\nbut the output is\n{came}")
    if write:
        page.write_text(new + text[end:], encoding="utf-8")
        return []
    return wrong


def follow(page: Path, clone: bool, write: bool) -> list[str]:
    """Run a page in a folder of its own; return its differences."""
    with tempfile.TemporaryDirectory() as place:
        folder, bin = Path(place), Path(sys.executable).parent
        if clone:
            folder = folder / "averagefair"
            subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
            bin = folder / ".venv" / "bin"
        reader = Reader(folder, bin, alone=page.name == "README.md")
        print(page, flush=True)
        try:
            return check(page, reader, write)
        except FailedError as failure:
            return [f"{page}: {failure}"]
        finally:
            reader.leave()


def main() -> None:
    """Check the pages on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true", help="write the real output into the pages")
    parser.add_argument(
        "--clone", action="append", default=[], type=Path, help="a page to run in a fresh clone"
    )
    given = parser.parse_args()
    pages = [*((page, True) for page in given.clone), *((page, False) for page in given.pages)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # pages share nothing; the longest is first
        found = pool.map(lambda one: follow(*one, write=given.write), pages)
        wrong = [what for some in found for what in some]
    print(*wrong, sep="\n\n")
    if wrong:
        sys.exit(f"{len(wrong)} outputs differ from the pages")


if __name__ == "__main__":
    main()
