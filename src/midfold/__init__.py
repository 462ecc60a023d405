"""Keep long LLM conversations inside their token budget without losing anything.

Names are loaded when they are first used, so that importing midfold costs next to nothing.
"""

from importlib import import_module

TYPE_CHECKING = False  # type checkers take this for true; typing itself would cost more than the rest
if TYPE_CHECKING:
    from midfold import (
        compression,
        config,
        engines,
        errors,
        evaluation,
        messages,
        notes,
        ports,
        providers,
        testing,
        tokens,
        transcripts,
        wire,
    )
    from midfold.agent import Agent, RecallTool, recall_tool
    from midfold.api import CompressOptions, acompress, compress, compress_request
    from midfold.engines import ContextCompressor, ContextEngine
    from midfold.errors import (
        ConfigError,
        DialectError,
        MalformedMessage,
        MidfoldError,
        UnknownDialect,
        UnreadableTranscript,
    )
    from midfold.folding.compression import Compression, summarize_manual_compression
    from midfold.folding.fold import Fold
    from midfold.folding.losses import Loss, list_losses
    from midfold.folding.policy import CompressionPolicy
    from midfold.messages import Message
    from midfold.ports import Fault
    from midfold.store import Store, open_store
    from midfold.summaries import SummaryRequest
    from midfold.summaries.prompts import SUMMARY_PREFIX
    from midfold.tokens import CanonicalUsage
    from midfold.transcripts import load_transcript
    from midfold.wire.usage import normalize_usage
    from midfold.wrapping import ClientReport, WrapOptions, client_report, wrap

__version__ = "0.1.0.dev0"

__all__ = [
    "SUMMARY_PREFIX",
    "Agent",
    "CanonicalUsage",
    "ClientReport",
    "CompressOptions",
    "Compression",
    "CompressionPolicy",
    "ConfigError",
    "ContextCompressor",
    "ContextEngine",
    "DialectError",
    "Fault",
    "Fold",
    "Loss",
    "MalformedMessage",
    "Message",
    "MidfoldError",
    "RecallTool",
    "Store",
    "SummaryRequest",
    "UnknownDialect",
    "UnreadableTranscript",
    "WrapOptions",
    "__version__",
    "acompress",
    "client_report",
    "compress",
    "compress_request",
    "compression",
    "config",
    "engines",
    "errors",
    "evaluation",
    "list_losses",
    "load_transcript",
    "messages",
    "normalize_usage",
    "notes",
    "open_store",
    "ports",
    "providers",
    "recall_tool",
    "summarize_manual_compression",
    "testing",
    "tokens",
    "transcripts",
    "wire",
    "wrap",
]

_HOMES = {
    "SUMMARY_PREFIX": "midfold.summaries.prompts",
    "Agent": "midfold.agent",
    "CanonicalUsage": "midfold.tokens",
    "ClientReport": "midfold.wrapping",
    "CompressOptions": "midfold.api",
    "Compression": "midfold.folding.compression",
    "CompressionPolicy": "midfold.folding.policy",
    "ContextCompressor": "midfold.engines",
    "ContextEngine": "midfold.engines",
    "Fault": "midfold.ports",
    "Fold": "midfold.folding.compression",
    "Loss": "midfold.folding.losses",
    "Message": "midfold.messages",
    "RecallTool": "midfold.agent",
    "Store": "midfold.store",
    "SummaryRequest": "midfold.summaries",
    "WrapOptions": "midfold.wrapping",
    "acompress": "midfold.api",
    "client_report": "midfold.wrapping",
    "compress": "midfold.api",
    "compress_request": "midfold.api",
    "list_losses": "midfold.folding.losses",
    "load_transcript": "midfold.transcripts",
    "normalize_usage": "midfold.wire.usage",
    "open_store": "midfold.store",
    "recall_tool": "midfold.agent",
    "summarize_manual_compression": "midfold.folding.compression",
    "wrap": "midfold.wrapping",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'midfold' has no attribute {name!r}")
    if name in _HOMES or name[0].isupper():
        value = getattr(import_module(_HOMES.get(name, "midfold.errors")), name)
    else:
        value = import_module(f"midfold.{name}")
    globals()[name] = value  # looked up once
    return value


def __dir__() -> list[str]:
    return __all__
