"""What a notebook shows of a result: small tables and a chart, readable on light and dark pages.

Jupyter, VS Code and others ask a result for ``_repr_html_``; each result asks here. The size of a
cell is bounded, however many people, tasks or points there are: long tables are cut, and long names
too. ``print`` says more in words; ``to_html`` writes the whole report.
"""

from averagefair.showing.notebook.audits import audit_html, comparison_html, drift_html
from averagefair.showing.notebook.models import (
    certificate_html,
    frontier_html,
    generalisation_html,
)

__all__ = [
    "audit_html",
    "certificate_html",
    "comparison_html",
    "drift_html",
    "frontier_html",
    "generalisation_html",
]
