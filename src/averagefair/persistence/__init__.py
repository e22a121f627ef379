"""Model files: arrays in safetensors, everything else in a JSON manifest; no pickle, no code.

What decides is always stored: the classifiers, their chances, the seed, the names of tasks and
features, and the certificate. The training individuals are people's data: they are stored only on
request (``extendable=True``), and then the file can make classifiers for tasks that come later.
"""

from averagefair.persistence.checkpoint import Checkpoint
from averagefair.persistence.estimators import TRUSTED, UntrustedError
from averagefair.persistence.model_file import ModelFile, load, read_model, save

__all__ = ["TRUSTED", "Checkpoint", "ModelFile", "UntrustedError", "load", "read_model", "save"]
