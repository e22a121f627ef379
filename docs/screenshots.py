"""Make the pictures of the reports, docs/report.png and docs/report-audit.png."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

DOCS = Path(__file__).parent
JOIN = ["--tasks", "task_*", "--id", "person"]
ASKED = ["--groups", "example/groups.csv", "--group-columns", "group"]
ASKED += ["--alpha", "0.1", "--beta", "0.05"]
COMMANDS = (
    ["demo", "--tables", "example", "-o", "report.html"],
    ["fit", "example/people.csv", *JOIN, "--alpha", "0.1", "-o", "fair.model"],
    ["predict", "fair.model", "example/newcomers.csv", "-o", "decisions.csv"],
    ["audit", "example/newcomers.csv", "decisions.csv", *JOIN, *ASKED, "-o", "report-audit.html"],
)
# The last element that each picture shows.
PICTURES = {"report": "#curve-chart", "report-audit": "#audit-rates-chart"}


def main() -> None:
    """Run the commands of the README and take pictures of their reports."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("chromium is needed: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        for command in COMMANDS:
            run = [sys.executable, "-m", "averagefair", *command]
            subprocess.run(run, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        flags = ["--headless", "--no-sandbox", "--disable-gpu"]
        browser = driver.chromium.launch(executable_path=chromium, args=flags)
        for name, last in PICTURES.items():
            page = browser.new_page(viewport={"width": 1100, "height": 900})
            page.goto((Path(folder) / f"{name}.html").as_uri())
            take(page, last, DOCS / f"{name}.png")


def take(page: Page, last: str, path: Path) -> None:
    """Take a picture from the top of a page to the end of an element."""
    box = page.locator(last).bounding_box()
    assert box is not None
    height = box["y"] + box["height"] + 16
    clip = {"x": 0, "y": 0, "width": 1100, "height": height}
    page.screenshot(path=path, full_page=True, clip=clip)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
