"""Small helpers that know nothing about fairness."""
