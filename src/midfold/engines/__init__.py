"""Context engines: stateful shells around the pure fold, one per conversation."""

from midfold.engines.base import ContextEngine
from midfold.engines.compressor import ContextCompressor

__all__ = ["ContextCompressor", "ContextEngine"]
