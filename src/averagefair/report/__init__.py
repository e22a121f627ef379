"""The report: one HTML file that shows a trade-off curve, an audit or experiments.

It needs no network and no other file: data, drawings and style are in it. What it shows is
computed here, in Python, as plain numbers (``frontier_data.py``, ``audit_data.py``); the page
draws them and does no statistics of its own. Needs jinja2 (the extra ``report``).
"""

from averagefair.report.page import audit_report, frontier_report, story_report
from averagefair.report.story import Image, Listing, Section

__all__ = ["Image", "Listing", "Section", "audit_report", "frontier_report", "story_report"]
