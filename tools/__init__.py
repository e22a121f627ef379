"""Scripts for the pages. Run them from a checkout, e.g. ``python -m tools.first_screen``."""
