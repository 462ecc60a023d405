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
        ports,
        providers,
        testing,
        tokens,
        transcripts,
        wire,
    )
    from midfold.api import acompress, compress
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
    from midfold.summaries import SummaryRequest
    from midfold.summaries.prompts import SUMMARY_PREFIX
    from midfold.tokens import CanonicalUsage
    from midfold.transcripts import load_transcript
    from midfold.wire.usage import normalize_usage

__version__ = "0.1.0.dev0"

__all__ = [
    "SUMMARY_PREFIX",
    "CanonicalUsage",
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
    "SummaryRequest",
    "UnknownDialect",
    "UnreadableTranscript",
    "__version__",
    "acompress",
    "compress",
    "compression",
    "config",
    "engines",
    "errors",
    "evaluation",
    "list_losses",
    "load_transcript",
    "messages",
    "normalize_usage",
    "ports",
    "providers",
    "summarize_manual_compression",
    "testing",
    "tokens",
    "transcripts",
    "wire",
]

_HOMES = {
    "SUMMARY_PREFIX": "midfold.summaries.prompts",
    "CanonicalUsage": "midfold.tokens",
    "Compression": "midfold.folding.compression",
    "CompressionPolicy": "midfold.folding.policy",
    "ContextCompressor": "midfold.engines",
    "ContextEngine": "midfold.engines",
    "Fault": "midfold.ports",
    "Fold": "midfold.folding.compression",
    "Loss": "midfold.folding.losses",
    "Message": "midfold.messages",
    "SummaryRequest": "midfold.summaries",
    "acompress": "midfold.api",
    "compress": "midfold.api",
    "list_losses": "midfold.folding.losses",
    "load_transcript": "midfold.transcripts",
    "normalize_usage": "midfold.wire.usage",
    "summarize_manual_compression": "midfold.folding.compression",
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
