"""Context engines: stateful shells around the pure fold, one per conversation."""

import logging
from typing import TYPE_CHECKING

from midfold.engines.base import ContextEngine, EngineSetup, FoldingEngine
from midfold.engines.compressor import ContextCompressor
from midfold.engines.context_breakdown import ContextBreakdown, Section, context_breakdown, section_breakdown
from midfold.engines.guards import describe_error, fit_keywords
from midfold.engines.hosting import NOTHING_YET, open_engine
from midfold.engines.prepared import PREPARED_AHEAD, Background
from midfold.engines.registry import GROUP, PLUGIN_FOLDER, find_engine, list_engines
from midfold.engines.summarizer_call import Patience, Summarizer, SummarizerCaller

if TYPE_CHECKING:
    from midfold.engines.lossless import LosslessEngine
    from midfold.engines.recovery import (
        Advice,
        Attempt,
        Compress,
        GiveUp,
        Ladder,
        LowerOutputCap,
        OffloadMedia,
        RecoveryStep,
        Repair,
        learn_limit,
        recover,
    )

# Silent unless a program sets up logging.
logging.getLogger("midfold").addHandler(logging.NullHandler())

__all__ = [
    "GROUP",
    "NOTHING_YET",
    "PLUGIN_FOLDER",
    "PREPARED_AHEAD",
    "Advice",
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
    "LosslessEngine",
    "LowerOutputCap",
    "OffloadMedia",
    "Patience",
    "RecoveryStep",
    "Repair",
    "Section",
    "Summarizer",
    "SummarizerCaller",
    "context_breakdown",
    "describe_error",
    "find_engine",
    "fit_keywords",
    "learn_limit",
    "list_engines",
    "open_engine",
    "recover",
    "section_breakdown",
]


def __getattr__(name: str) -> object:
    """Load the lossless engine, and the ladder of recovery with its many wordings, when they are used."""
    if name == "LosslessEngine":
        from midfold.engines.lossless import LosslessEngine

        return LosslessEngine
    if name in __all__:
        from midfold.engines import recovery

        return getattr(recovery, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
