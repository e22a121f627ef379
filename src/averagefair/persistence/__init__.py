"""Model files: arrays in safetensors, everything else in a JSON manifest; no pickle, no code.

A file always holds what decisions need: the classifiers, their chances, the seed and the names of
tasks and features. The file of a fitted model also holds its certificate. The training individuals
are people's data, so they are stored only on request (``extendable=True``). With them, the loaded
model can make classifiers for new tasks.
"""

from averagefair.persistence.checkpoint import Checkpoint
from averagefair.persistence.estimators import TRUSTED, UntrustedError
from averagefair.persistence.model_file import ModelFile, load, read_model, save

__all__ = ["TRUSTED", "Checkpoint", "ModelFile", "UntrustedError", "load", "read_model", "save"]
