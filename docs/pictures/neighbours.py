"""The people of the page "Start here": twenty-four people, thirty tasks, one odd person."""

from __future__ import annotations

import numpy as np

from averagefair import AverageFairClassifier

ALPHA = 0.1
ODD = 7  # in whose tasks what holds for the others is the wrong way round
RIGHT, WRONG, CALM, DARK = "#DCE6EE", "#D55E00", "#0072B2", "#333333"
STYLE = {"font.size": 12.5, "axes.spines.top": False, "axes.spines.right": False}


def neighbours() -> tuple[np.ndarray, np.ndarray]:
    """Draw features and labels; six labels in a hundred follow no rule."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 3))
    Y = X @ rng.normal(size=(3, 30)) > 0
    Y[ODD] = ~Y[ODD]
    Y ^= rng.random(Y.shape) < 0.06
    return X, Y.astype(int)


def learned(alpha: float) -> AverageFairClassifier:
    """Learn with this slack; 0.5 asks for nothing."""
    return AverageFairClassifier(alpha=alpha, random_state=0).fit(*neighbours())
