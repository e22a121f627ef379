"""Models measured on held-out people and tasks."""
