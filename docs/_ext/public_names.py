"""Every public name is documented: the build fails where one is missing from the reference."""

from __future__ import annotations

import importlib
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

# The modules that users import from. The names in their __all__ are public.
MODULES = (
    "averagefair",
    "averagefair.datasets",
    "averagefair.evidence",
    "averagefair.experiments",
    "averagefair.export",
    "averagefair.files",
    "averagefair.oracles",
    "averagefair.persistence",
    "averagefair.showing.plots",
    "averagefair.game.protocols",
    "averagefair.showing.report",
    "averagefair.solvers",
    "averagefair.theory",
)
logger = logging.getLogger(__name__)


def check(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of every public name without an entry in the reference."""
    known = set(env.domaindata["py"]["objects"])
    listed = {module: set(importlib.import_module(module).__all__) for module in MODULES}
    for module, names in listed.items():
        for name in sorted(names):
            # A name that the top level offers too has its entry there.
            home = MODULES[0] if name in listed[MODULES[0]] else module
            if f"{home}.{name}" not in known:
                logger.warning("%s.%s is public and in no page of the reference", module, name)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("env-check-consistency", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
