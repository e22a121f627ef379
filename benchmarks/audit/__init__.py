"""The audit: simulated coverage, a worked example, time and memory."""
