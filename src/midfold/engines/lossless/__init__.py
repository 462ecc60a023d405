"""The lossless engine (`context.engine: lcm`): bounded context, unbounded memory.

Every message stays in the store. Old ranges become leaf summaries, these are condensed into higher ones, and
the model can look behind any of them with the engine's tools.
"""

from midfold.engines.lossless.engine import LosslessEngine
from midfold.engines.lossless.flow import LosslessCompression
from midfold.engines.lossless.nodes import SummaryNode

__all__ = ["LosslessCompression", "LosslessEngine", "SummaryNode"]
