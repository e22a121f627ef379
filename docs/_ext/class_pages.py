"""Pages of classes: an attribute that the docstring lists is shown once, there.

Records, enumerations and protocols are made by the library, or by nobody: their pages show no
call either. A class that users make themselves names its parameters in its docstring.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property
from inspect import getdoc
from typing import Any

from numpydoc.docscrape import NumpyDocString
from sphinx.application import Sphinx
from sphinx.util import logging

BACK = re.compile(r"(/names/)([\w.]+?\.(\w+))\.html#averagefair(?:\.[a-z_]+)*\.\3\b")
logger = logging.getLogger(__name__)


def described(kind: type, *sections: str) -> set[str]:
    """Return the names that these sections of a class's docstring list."""
    found = NumpyDocString(getdoc(kind) or "")
    return {name for section in sections for each in found[section] for name in _names(each)}


def _names(entry: Any) -> list[str]:
    return [name.lstrip("*") for name in entry.name.split(", ")]


def skip(app: Sphinx, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what the docstring of the class lists already."""
    here = app.env.current_document
    if what != "class" or skipped or not here.autodoc_class:
        return None
    kind = getattr(importlib.import_module(here.autodoc_module), here.autodoc_class)
    if name in described(kind, "Attributes", "Parameters"):
        if isinstance(obj, property | cached_property):
            logger.warning("%s.%s has two descriptions: keep its own", kind.__name__, name)
        return True
    if name in _fields(kind):
        logger.warning("%s.%s is a field that the docstring does not list", kind.__name__, name)
    return None


def _fields(kind: type) -> set[str]:
    """Return what every instance of a record has, or every value of an enumeration."""
    if issubclass(kind, Enum):
        return set(kind.__members__)
    if is_dataclass(kind):
        return {field.name for field in fields(kind)}
    return set(getattr(kind, "_fields", ()))


def sign(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, returned: str
) -> tuple[str, str] | None:
    """Show no call of a class whose docstring names no parameters."""
    return ("", "") if what == "class" and not described(obj, "Parameters") else None


def lead_back(app: Sphinx, name: str, template: str, context: dict[str, Any], page: Any) -> None:
    """Mend the links from source code back to the reference.

    viewcode takes all names of a file to be public in one module; ours may be public in two. A
    page of the reference is called by the full name of what it is about, and so is the anchor.
    """
    if name.startswith("_modules/") and "body" in context:
        context["body"] = BACK.sub(r"\1\2.html#\2", context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-signature", sign)
    app.connect("html-page-context", lead_back)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
