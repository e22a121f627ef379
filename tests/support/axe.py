"""Ask axe-core, an independent checker of accessibility, what is wrong with an open page.

The package axe-playwright-python ships a copy of axe-core (MPL 2.0), so nothing is downloaded.
"""

from __future__ import annotations

from importlib.resources import files

import pytest

GRAVE = ("serious", "critical")
RUN = """
async () => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  return found.violations.flatMap((rule) => rule.nodes.map((node) => ({
    impact: rule.impact,
    rule: rule.id,
    at: node.target.join(" "),
    why: node.failureSummary,
  })));
}
"""


def axe_source():
    """Return axe-core's script; skip the test if the package is not installed."""
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    return (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")


def violations(page, impacts=GRAVE):
    """Return the violations of these impacts on an open page, each with its place and reason.

    The script comes in through the debugger, which the page's content security policy allows.
    """
    page.evaluate(axe_source())
    found = page.evaluate(RUN)
    return [
        f"{one['impact']}: {one['rule']} at {one['at']}: {' '.join(one['why'].split())}"
        for one in found
        if one["impact"] in impacts
    ]
