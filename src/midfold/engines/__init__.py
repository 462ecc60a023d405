"""Context engines: stateful shells around the pure fold, one per conversation."""

from midfold.engines.base import ContextEngine
from midfold.engines.compressor import ContextCompressor
from midfold.engines.folding_engine import EngineSetup, FoldingEngine

__all__ = ["ContextCompressor", "ContextEngine", "EngineSetup", "FoldingEngine"]
