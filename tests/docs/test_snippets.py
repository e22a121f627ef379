"""The tool that runs the pages (tests/support/snippets.py) can fail, and says why."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.snippets import FailedError, Reader, agree, check

HERE = Path(sys.executable).parent


@pytest.fixture
def follow(tmp_path):
    def follow(text, write=False, alone=False):
        page = tmp_path / "page.md"
        page.write_text(text, encoding="utf-8")
        folder = tmp_path / "folder"
        folder.mkdir(exist_ok=True)
        reader = Reader(folder, HERE, alone=alone)
        try:
            return check(page, reader, write), page.read_text(encoding="utf-8")
        finally:
            reader.leave()

    return follow


PAGE = """
```python
found = {code}
print(found)
```

```text
{said}
```
"""


@pytest.mark.parametrize(
    ("said", "holds"),
    [
        ("error 0.1234 here", True),
        ("error 0.1500 here", True),
        ("error 0.1900 here", False),
        ("error 0.1234 there", False),
        ("error here", False),
    ],
)
def test_words_are_held_and_figures_nearly(follow, said, holds):
    wrong, _ = follow(PAGE.format(code='"error 0.1234 here"', said=said))
    assert (wrong == []) == holds


def test_what_came_can_be_written_into_the_page(follow):
    page = PAGE.format(code="6 * 7 * 'x'", said="nothing of the kind")
    wrong, after = follow(page, write=True)
    assert wrong == []
    assert after == page.replace("nothing of the kind", 42 * "x")


def test_a_session_is_shared_but_not_where_snippets_stand_alone(follow):
    page = "```python\nkept = 1\n```\n\n```python\nprint(kept)\n```\n"
    assert follow(page)[0] == []
    with pytest.raises(FailedError, match="NameError"):
        follow(page, alone=True)


@pytest.mark.parametrize(
    "block",
    [
        "```python\n1 / 0\n```",
        "```python\nimport warnings\nwarnings.warn('odd')\n```",
        "```python\nimport os\nos._exit(3)\n```",
        "```console\n$ false\n```",
        "```sh\nfalse | true\n```",
        "```console\n$ echo one\n...\ntwo\n```",
    ],
)
def test_what_fails_is_told(follow, block):
    with pytest.raises(FailedError):
        follow(block + "\n")


def test_a_command_and_what_it_says(follow):
    page = "```console\n$ echo one \\\n    two\none two\n$ echo three\n{}\n```\n"
    assert follow(page.format("three"))[0] == []
    (wrong,), _ = follow(page.format("four"))
    assert "three" in wrong
    assert "four" in wrong


def test_a_script_that_asks_for_main_is_run_as_one(follow):
    page = PAGE.format(code="__name__\nif __name__ == '__main__':\n    print('ran')", said="{}")
    assert follow(page.format("ran\n__main__"))[0] == []


def test_in_part_the_first_and_the_last_line_are_held():
    assert agree("first\nsome words\nlast", "first\nothers\nlast", in_part=True)
    assert not agree("first\nsome words\nlast", "first\nothers\nend", in_part=True)
    assert not agree("first\nsome words\nlast", "first\nothers\nlast", in_part=False)


@pytest.mark.parametrize(
    ("came", "holds"), [("0.600", True), ("0.680", False), ("0.56", False), ("none", False)]
)
def test_figures_agree_as_two_machines_do(came, holds):
    assert agree("spread 0.561", f"spread {came}", in_part=False) is holds
    assert agree("spread 0.010", "spread 0.049", in_part=False)
    assert not agree("spread 0.010", "spread 0.051", in_part=False)
