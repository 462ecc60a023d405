"""Every exception midfold raises, so that a caller can catch one thing or everything.

    MidfoldError
    ├── ConfigError                key, value, hint
    ├── DialectError
    │   ├── UnknownDialect         hint
    │   ├── MalformedMessage       index, reason
    │   └── UnreadableTranscript   source, reason
    ├── EngineError
    │   ├── EngineNotFound         name, available
    │   └── EngineContractError    engine, promise
    ├── CompressionError
    │   ├── SummaryUnavailable     reason, retry_after
    │   └── StaleFold
    ├── ProviderError
    └── StoreError

Each one is a single clear line when printed, and carries its facts as attributes.
"""

from collections.abc import Sequence


class MidfoldError(Exception):
    """The root of every error midfold raises on purpose."""


class ConfigError(MidfoldError):
    """A setting has a value that cannot be used."""

    def __init__(self, key: str, value: object, *, hint: str) -> None:
        super().__init__(f"{key} is {value!r}; expected {hint}")
        self.key = key
        self.value = value
        self.hint = hint


class DialectError(MidfoldError):
    """Messages could not be read as any provider's spelling."""


class UnknownDialect(DialectError):
    """Nothing known writes messages like these."""

    def __init__(self, hint: str) -> None:
        super().__init__(f"unknown message format: {hint}")
        self.hint = hint


class MalformedMessage(DialectError):
    """One message of an otherwise known dialect cannot be read, or its edit cannot be written."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(f"message {index}: {reason}")
        self.index = index
        self.reason = reason


class UnreadableTranscript(DialectError):
    """A file or stream does not hold a transcript: not JSON, cut short, or empty."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"{source}: {reason}")
        self.source = source
        self.reason = reason


class EngineError(MidfoldError):
    """A context engine could not be found or broke its contract."""


class EngineNotFound(EngineError):
    """No context engine has this name, or its plug-in does not load."""

    def __init__(self, name: str, available: Sequence[str], reason: str = "") -> None:
        known = ", ".join(sorted(available))
        super().__init__(f"no context engine {name!r}{f' ({reason})' if reason else ''}; there are {known}")
        self.name = name
        self.available = tuple(available)


class EngineContractError(EngineError):
    """A context engine does not do what every engine promises."""

    def __init__(self, engine: str, promise: str) -> None:
        super().__init__(f"the engine {engine!r} breaks a promise: {promise}")
        self.engine = engine
        self.promise = promise


class CompressionError(MidfoldError):
    """A compression could not be done."""


class SummaryUnavailable(CompressionError):
    """The summariser gave nothing usable; the built-in digest stands in for it."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(f"no summary: {reason}")
        self.reason = reason
        self.retry_after = retry_after


class StaleFold(CompressionError):
    """A fold was made for other messages than these."""

    def __init__(self) -> None:
        super().__init__("the fold does not belong to these messages; they changed since it was made")


class ProviderError(MidfoldError):
    """A model provider answered with a failure."""


class StoreError(MidfoldError):
    """The session store could not do what was asked."""
