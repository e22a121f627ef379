"""The two populations of the paper's experiments: its synthetic one, and Communities and Crime.

Both come as a `Split`: people and tasks to learn from, and people and tasks held out, so that the
paper's two kinds of generalisation (to new people, to new tasks) can be measured.
"""

from averagefair.datasets.communities import (
    Communities,
    CommunitiesSplit,
    communities_split,
    load_communities,
)
from averagefair.datasets.split import Split
from averagefair.datasets.synthetic import SyntheticPopulation, make_synthetic

__all__ = [
    "Communities",
    "CommunitiesSplit",
    "Split",
    "SyntheticPopulation",
    "communities_split",
    "load_communities",
    "make_synthetic",
]
