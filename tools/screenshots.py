"""Take screenshots of the reports, docs/report*.png: ``python -m tools.screenshots``."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

DOCS = Path(__file__).parents[1] / "docs"
JOIN = ["--tasks", "task_*", "--id", "person"]
NEW = ["--tasks", "new_*", "--id", "person"]  # an audit needs tasks that were not learned from
ASKED = ["--groups", "example/groups.csv", "--group-columns", "group"]
ASKED += ["--alpha", "0.1", "--beta", "0.05", "--inconclusive-passes"]
COMMANDS = (
    ["demo", "--tables", "example", "-o", "report.html"],
    ["fit", "example/people.csv", *JOIN, "--alpha", "0.1", "--extendable", "-o", "fair.model"],
    ["extend", "fair.model", "example/new_tasks.csv", "-o", "later.model"],
    ["predict", "later.model", "example/newcomers.csv", "-o", "decisions.csv"],
    ["audit", "example/newcomers.csv", "decisions.csv", *NEW, *ASKED, "-o", "report-audit.html"],
)
WIDTH = 800  # of the page, in CSS pixels; a picture has 1.5 times as many pixels
# Each picture ends below this element.
PICTURES = {"report": ".ruled .facts", "report-audit": ".facts"}


def main() -> None:
    """Run the demo and an audit on its tables, and take pictures of the two reports."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("There is no chromium here. Install it with: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        for command in COMMANDS:
            run = [sys.executable, "-m", "averagefair", *command]
            subprocess.run(run, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        flags = ["--headless", "--no-sandbox", "--disable-gpu"]
        browser = driver.chromium.launch(executable_path=chromium, args=flags)
        for name, last in PICTURES.items():
            page = browser.new_page(
                viewport={"width": WIDTH, "height": 900}, device_scale_factor=1.5
            )
            page.goto((Path(folder) / f"{name}.html").as_uri())
            take(page, last, DOCS / f"{name}.png")


def take(page: Page, last: str, path: Path) -> None:
    """Take a picture from the top of a page to the end of an element."""
    box = page.locator(last).bounding_box()
    assert box is not None
    height = box["y"] + box["height"] + 16
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": height}
    page.screenshot(path=path, full_page=True, clip=clip)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
