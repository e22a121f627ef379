"""Classifiers for other programs: tables of coefficients and thresholds, and ONNX files.

A table says in plain numbers how each task is decided, if nothing is drawn. An ONNX file also holds
trees, scikit-learn's classifiers, and the chances of drawn decisions. It runs without Python.
"""

from averagefair.export.linear import LinearRules, coefficients, linear_rules
from averagefair.export.onnx_file import to_onnx
from averagefair.export.stumps import StumpRules, stump_rules
from averagefair.export.table import rule_table

__all__ = [
    "LinearRules",
    "StumpRules",
    "coefficients",
    "linear_rules",
    "rule_table",
    "stump_rules",
    "to_onnx",
]
