"""Every exception midfold raises, so that a caller can catch one thing or everything.

    MidfoldError
    ├── ConfigError                key, value, hint
    ├── DialectError
    │   ├── UnknownDialect         hint
    │   ├── MalformedMessage       index, reason
    │   └── UnreadableTranscript   source, reason
    ├── EngineError
    ├── CompressionError
    ├── ProviderError
    └── StoreError

Each one is a single clear line when printed, and carries its facts as attributes.
"""


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
    """One message of an otherwise known dialect cannot be read."""

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


class CompressionError(MidfoldError):
    """A compression could not be done."""


class ProviderError(MidfoldError):
    """A model provider answered with a failure."""


class StoreError(MidfoldError):
    """The session store could not do what was asked."""
