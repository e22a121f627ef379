"""The report: one HTML file that shows a curve, an audit, a drift, a comparison or experiments.

The file needs no network and no other file: it contains its data, charts and style. Python computes
all numbers on the page (``frontier_data.py``, ``audit_data.py``); the page only draws them. Reports
need jinja2 (the extra ``report``).
"""

from averagefair.showing.report.changes_pages import comparison_report, drift_report
from averagefair.showing.report.page import audit_report, frontier_report, story_report
from averagefair.showing.report.story import Image, Listing, Section

__all__ = [
    "Image",
    "Listing",
    "Section",
    "audit_report",
    "comparison_report",
    "drift_report",
    "frontier_report",
    "story_report",
]
