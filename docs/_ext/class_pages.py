"""Pages of classes: an attribute that the docstring lists is shown only there.

Users do not create records, enumerations and protocols, so their pages show no call. The docstring
of a class that users create names its parameters.
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
    doc = NumpyDocString(getdoc(kind) or "")
    return {name for section in sections for entry in doc[section] for name in _names(entry)}


def _names(entry: Any) -> list[str]:
    return [name.lstrip("*") for name in entry.name.split(", ")]


def skip(app: Sphinx, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out attributes that the docstring of the class already lists."""
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
    """Return the fields of a record, or the members of an enumeration."""
    if issubclass(kind, Enum):
        return set(kind.__members__)
    if is_dataclass(kind):
        return {field.name for field in fields(kind)}
    return set(getattr(kind, "_fields", ()))


def sign(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, returned: str
) -> tuple[str, str] | None:
    """Hide the signature of a class whose docstring names no parameters."""
    return ("", "") if what == "class" and not described(obj, "Parameters") else None


def lead_back(app: Sphinx, name: str, template: str, context: dict[str, Any], page: Any) -> None:
    """Correct the links from source code back to the reference.

    viewcode assumes that all names of a file are public in one module; ours may be public in two.
    A page of the reference and its anchor both have the full name of their object.
    """
    if name.startswith("_modules/") and "body" in context:
        context["body"] = BACK.sub(r"\1\2.html#\2", context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-signature", sign)
    app.connect("html-page-context", lead_back)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
