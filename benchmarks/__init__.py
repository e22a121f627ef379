"""Benchmarks, one folder per family. Run from a checkout, e.g. ``python -m benchmarks.oracles``."""
