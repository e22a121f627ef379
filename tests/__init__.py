"""The tests, in folders like the package's; shared helpers are in ``tests.support``."""
