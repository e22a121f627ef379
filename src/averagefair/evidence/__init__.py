"""Evidence: a folder to hand to a regulator, a lawyer or a reviewer.

It holds the figures of an audit or a certificate as JSON with a published schema, a report, a card
of one page, and what all this does not prove. The hashes of all files are in ``evidence.json``.
"""

from averagefair.evidence.fingerprint import audit_fingerprint
from averagefair.evidence.folder import save_evidence
from averagefair.evidence.reading import check_evidence, read_evidence, schema_of

__all__ = [
    "audit_fingerprint",
    "check_evidence",
    "read_evidence",
    "save_evidence",
    "schema_of",
]
