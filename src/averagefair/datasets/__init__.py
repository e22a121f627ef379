"""The two populations of the paper's experiments: its synthetic one, and Communities and Crime.

Both come as a `Split`: training people and tasks, and held-out people and tasks. With a split, the
paper's two kinds of generalisation, to new people and to new tasks, can be measured.
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
