"""Average Individual Fairness: learn many classifiers together, fair to every individual.

Kearns, Roth and Sharifi-Malvajerdi (2019), "Average Individual Fairness: Algorithms,
Generalization and Experiments".

The public names are listed in ``__init__.pyi``. Each is loaded when it is first used, so that
importing the package costs next to nothing.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
