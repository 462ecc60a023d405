"""Keep long LLM conversations inside their token budget without losing anything.

Names are loaded when they are first used, so that importing midfold costs next to nothing.
"""

from importlib import import_module

TYPE_CHECKING = False  # type checkers take this for true; typing itself would cost more than the rest
if TYPE_CHECKING:
    from midfold import errors, messages, ports, testing, tokens, transcripts, wire
    from midfold.errors import (
        ConfigError,
        DialectError,
        MalformedMessage,
        MidfoldError,
        UnknownDialect,
        UnreadableTranscript,
    )
    from midfold.messages import Message
    from midfold.ports import Fault
    from midfold.tokens import CanonicalUsage
    from midfold.transcripts import load_transcript
    from midfold.wire.usage import normalize_usage

__version__ = "0.1.0.dev0"

__all__ = [
    "CanonicalUsage",
    "ConfigError",
    "DialectError",
    "Fault",
    "MalformedMessage",
    "Message",
    "MidfoldError",
    "UnknownDialect",
    "UnreadableTranscript",
    "__version__",
    "errors",
    "load_transcript",
    "messages",
    "normalize_usage",
    "ports",
    "testing",
    "tokens",
    "transcripts",
    "wire",
]

_HOMES = {
    "CanonicalUsage": "midfold.tokens",
    "Fault": "midfold.ports",
    "Message": "midfold.messages",
    "load_transcript": "midfold.transcripts",
    "normalize_usage": "midfold.wire.usage",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'midfold' has no attribute {name!r}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name[0].isupper():
        return getattr(import_module("midfold.errors"), name)
    return import_module(f"midfold.{name}")


def __dir__() -> list[str]:
    return __all__
