"""A stable alias for scripts: `midfold.compression.redact.redact`. The compressor is in `midfold.folding`."""

from midfold.compression import redact

__all__ = ["redact"]
