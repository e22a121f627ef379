"""The headline of a result: what was asked, what was found, and eight rows of figures.

The report, the terminal and a notebook show the same headline, each in its own way. Somebody who is
no statistician should know within ten seconds what was found.
"""

from averagefair.showing.headline.audit import WORST, audit_headline
from averagefair.showing.headline.badge import Badge, Headline, as_dict
from averagefair.showing.headline.changes import comparison_headline, drift_headline
from averagefair.showing.headline.frontier import frontier_headline

__all__ = [
    "WORST",
    "Badge",
    "Headline",
    "as_dict",
    "audit_headline",
    "comparison_headline",
    "drift_headline",
    "frontier_headline",
]
