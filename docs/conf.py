"""How the documentation is built: ``make docs``, offline, with every warning an error."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("agg")
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import averagefair  # noqa: E402

project = "averagefair"
author = "The averagefair developers"
copyright = "the averagefair developers, MIT licence"
version = release = averagefair.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
    "class_pages",  # the last seven lie in _ext
    "long_lines",
    "mathml",
    "module_map",
    "named_controls",
    "public_names",
    "repository_links",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]

# Links between pages are checked: a name of ours that leads nowhere is a warning, so an error.
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r"(?!averagefair).*")]

# Pages are Markdown that reads well unbuilt too: headings have anchors, mathematics is in dollars.
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_block"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"  # methods beside a class: longer names are cut off
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
smartquotes = False  # types are code: {"error", "false_positive"}

# Every public name has a docstring, every function one that names its parameters. (A record's are
# its attributes, which numpydoc does not take for parameters: classes are left out. The methods of
# a promise have the parameters that Promise names.)
numpydoc_validation_checks = {"GL08", "PR01", "PR02", "SS01"}
PROMISES = r"\.(Equal|Cap|Minimax|WorstOff)\."
numpydoc_validation_exclude = {r"\.[A-Z]\w*$", r"\._", r"\.bind$", PROMISES}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # a page that would load scripts from elsewhere
    "abort_on_example_error": True,
    "parallel": True,  # as many examples at once as sphinx-build has --jobs
    "backreferences_dir": "gallery/mentions",
    "doc_module": ("averagefair",),
    "reference_url": {"averagefair": None},
    "remove_config_comments": True,
    "matplotlib_animations": False,
    "image_srcset": ["2x"],
}
warnings.filterwarnings("error", category=DeprecationWarning, module="averagefair")

plot_formats = [("png", 160)]
plot_html_show_formats = False
plot_html_show_source_link = False

html_theme = "pydata_sphinx_theme"
html_title = "averagefair"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_show_sourcelink = False
html_domain_indices = False
html_sidebars = {"index": [], "changelog": []}
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    # Contrast of at least 4.5 between code and its background (tests/browser checks it).
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
