"""The stable address of `redact`."""

from midfold.redact import redact

__all__ = ["redact"]
