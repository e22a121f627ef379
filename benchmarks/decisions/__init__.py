"""Fixed decisions against drawn ones: on training data, on new people and tasks, and over time."""
