"""Helpers of the tests: independent judges, small fits, programs that tests start and watch."""
