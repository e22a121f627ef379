"""Average Individual Fairness: learn many classifiers together, fair to every individual.

Kearns, Roth and Sharifi-Malvajerdi (2019), "Average Individual Fairness: Algorithms,
Generalization and Experiments".

The public names are listed in ``__init__.pyi``. Each is loaded on first use, so importing the
package is fast.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import lazy_loader

__version__ = "0.2.0.dev0"


class _Package(ModuleType):
    """The type of this package: functions keep their names, and workers import it by name."""

    def __setattr__(self, name: str, value: Any) -> None:
        # Importing averagefair.frontier would replace the function by the module.
        if name not in __all__ or value is not sys.modules.get(f"{__name__}.{name}"):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        # cloudpickle pickles plain modules only. joblib and Dask use it to send notebook functions
        # that mention `averagefair` to their workers.
        return import_module, (self.__name__,)


# Set this first: otherwise lazy_loader sets its own type, which cannot be pickled.
sys.modules[__name__].__class__ = _Package

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
