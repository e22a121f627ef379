"""The game of the paper: rates, costs, the Learner, the Auditor, the mapping, the certificate."""
