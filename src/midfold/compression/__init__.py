"""The door that scripts know: `midfold.compression.redact.redact`. The code is in `midfold.redact`."""

from midfold.compression import redact

__all__ = ["redact"]
