"""Context engines: stateful shells around the pure fold, one per conversation."""

from midfold.engines.asking import Asker, Patience, Summarizer
from midfold.engines.background import Background
from midfold.engines.base import ContextEngine
from midfold.engines.compressor import ContextCompressor
from midfold.engines.context import ContextBreakdown, Section, context_breakdown, section_breakdown
from midfold.engines.folding_engine import EngineSetup, FoldingEngine
from midfold.engines.hosting import NOTHING_YET, open_engine
from midfold.engines.publishing import PUBLISHED
from midfold.engines.raised import describe_error
from midfold.engines.recovery import (
    Advice,
    Attempt,
    Compress,
    GiveUp,
    Ladder,
    LowerOutputCap,
    OffloadMedia,
    Repair,
    Step,
    learn_limit,
    recover,
)
from midfold.engines.registry import GROUP, PLUGIN_FOLDER, find_engine, list_engines

__all__ = [
    "GROUP",
    "NOTHING_YET",
    "PLUGIN_FOLDER",
    "PUBLISHED",
    "Advice",
    "Asker",
    "Attempt",
    "Background",
    "Compress",
    "ContextBreakdown",
    "ContextCompressor",
    "ContextEngine",
    "EngineSetup",
    "FoldingEngine",
    "GiveUp",
    "Ladder",
    "LowerOutputCap",
    "OffloadMedia",
    "Patience",
    "Repair",
    "Section",
    "Step",
    "Summarizer",
    "context_breakdown",
    "describe_error",
    "find_engine",
    "learn_limit",
    "list_engines",
    "open_engine",
    "recover",
    "section_breakdown",
]
