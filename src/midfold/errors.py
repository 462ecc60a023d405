"""Every exception midfold raises, so that a caller can catch one thing or everything.

    MidfoldError
    ├── ConfigError                key, value, hint
    ├── ExtraMissing               extra
    ├── DialectError
    │   ├── UnknownDialect         hint
    │   ├── MalformedMessage       index, reason
    │   └── UnreadableTranscript   source, reason
    ├── EngineError
    │   ├── EngineNotFound         name, available
    │   ├── EngineContractError    engine, promise
    │   └── EngineUnable           engine, what
    ├── CompressionError
    │   ├── SummaryUnavailable     reason, retry_after
    │   ├── StillTooLarge          tokens, limit, breakdown
    │   ├── StaleFold
    │   └── NoteNotFound           number
    ├── ProviderError              message, provider, model, status, retry_after, body
    │   ├── ProviderAuthError
    │   ├── RateLimited            retry_after
    │   ├── ProviderUnavailable    retry_after
    │   ├── ContextOverflow        limit, input_tokens
    │   └── OutputCapTooLarge      available, requested
    └── StoreError
        ├── SessionNotFound        session
        ├── SessionBusy            session, holder
        ├── SessionEnded           session, tip
        ├── SessionGrew            session, count
        ├── StoreUnavailable       reason
        ├── StoreFull              limit
        ├── SchemaTooNew           found, supported
        ├── StoreCorrupt           path, reason, stops_writing
        ├── StoreReplaced          path, reason, kept_as
        └── MessagesDamaged        session, positions

Each one is a single clear line when printed, and carries its facts as attributes.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TypedDict, Unpack


class MidfoldError(Exception):
    """The root of every error midfold raises on purpose."""


class ConfigError(MidfoldError):
    """A setting has a value that cannot be used."""

    def __init__(self, key: str, value: object, *, hint: str) -> None:
        super().__init__(f"{key} is {value!r}; expected {hint}")
        self.key = key
        self.value = value
        self.hint = hint


class ExtraMissing(MidfoldError, ImportError):
    """A part of midfold needs packages that are not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"to use {what}, install one more part: pip install 'midfold[{extra}]'")
        self.extra = extra


class DialectError(MidfoldError):
    """The messages are in no known format."""


class UnknownDialect(DialectError):
    """No known provider writes messages like these."""

    def __init__(self, hint: str) -> None:
        super().__init__(f"unknown message format: {hint}")
        self.hint = hint


class MalformedMessage(DialectError):
    """A message of a known dialect cannot be read, or its edit cannot be written."""

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


class EngineUnable(EngineError):
    """A context engine does not support an optional operation."""

    def __init__(self, engine: str, what: str) -> None:
        super().__init__(f"the engine {engine!r} cannot {what}")
        self.engine = engine
        self.what = what


class CompressionError(MidfoldError):
    """A compression failed."""


class SummaryUnavailable(CompressionError):
    """The summariser returned nothing usable; the built-in digest stands in."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(f"no summary: {reason}")
        self.reason = reason
        self.retry_after = retry_after


class StillTooLarge(CompressionError):
    """The request is above the limit although everything possible was folded.

    `breakdown` says where the tokens are, by what holds them.
    """

    def __init__(self, tokens: int, limit: int, breakdown: Mapping[str, int] | None = None) -> None:
        largest = sorted((breakdown or {}).items(), key=lambda item: -item[1])[:5]
        where = f" ({', '.join(f'{name} {size:,}' for name, size in largest)})" if largest else ""
        super().__init__(
            f"the request has {tokens:,} tokens and the limit is {limit:,}{where}; "
            "start a new session, or send fewer tools or smaller messages"
        )
        self.tokens = tokens
        self.limit = limit
        self.breakdown = dict(breakdown or {})


class StaleFold(CompressionError):
    """The fold belongs to other messages."""

    def __init__(self) -> None:
        super().__init__("the fold does not belong to these messages; they changed since it was made")


class NoteNotFound(CompressionError):
    """There is no note with this number; without a number, nothing is folded yet."""

    def __init__(self, number: int | None = None, last: int = 0) -> None:
        text = "nothing is folded yet, so there are no notes"
        super().__init__(
            text if number is None else f"there is no note {number}; they are numbered 1 to {last}"
        )
        self.number = number


class ProviderFacts(TypedDict, total=False):
    """The facts that every error of a provider may carry beside its message."""

    provider: str
    model: str
    status: int | None
    retry_after: float | None
    body: bytes


class ProviderError(MidfoldError):
    """A provider failed or did not answer.

    `message` is one printable line with keys masked, fit for logs and people. `retry_after` is in seconds.
    `body` is what came from the provider, to be passed on or classified; it is in no text of this error.
    """

    def __init__(self, message: str, **facts: Unpack[ProviderFacts]) -> None:
        self.message = _make_safe(message)
        self.provider = facts.get("provider", "")
        self.model = facts.get("model", "")
        self.status = facts.get("status")
        self.retry_after = facts.get("retry_after")
        self.body = facts.get("body", b"")
        super().__init__(self._describe())

    def _describe(self) -> str:
        who = "/".join(filter(None, (self.provider, self.model))) or "the provider"
        return f"{who} answered {self.status}: {self.message}" if self.status else f"{who}: {self.message}"


class ProviderAuthError(ProviderError):
    """The provider rejects the key, or the key may not use this model."""


class RateLimited(ProviderError):
    """Too many requests or tokens in too short a time, or a quota is used up."""


class ProviderUnavailable(ProviderError):
    """The provider is unreachable or overloaded, broke off, or sent an unreadable answer."""


class ContextOverflow(ProviderError):
    """The prompt is too long for the model; `limit` if the provider states it."""

    def __init__(
        self,
        message: str,
        *,
        limit: int | None = None,
        input_tokens: int | None = None,
        **facts: Unpack[ProviderFacts],
    ) -> None:
        super().__init__(message, **facts)
        self.limit = limit
        self.input_tokens = input_tokens


class OutputCapTooLarge(ProviderError):
    """The prompt fits, but not together with the requested output.

    `available` is the most output that can be asked for, where the provider says enough to know it.
    """

    def __init__(
        self,
        message: str,
        *,
        available: int | None = None,
        requested: int | None = None,
        **facts: Unpack[ProviderFacts],
    ) -> None:
        super().__init__(message, **facts)
        self.available = available
        self.requested = requested


# Long enough for the longest real message that matters, short enough for a log line.
_MAX_MESSAGE_CHARS = 1_000
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
# Providers repeat the key they refuse: `sk-...`, `Bearer ...`, `?key=...`.
_KEY = re.compile(
    r"(?i)\b(?:(bearer |api[-_ ]?key(?: provided)?: ?|(?:key|token)=)[\w.~+/*-]{8,200}={0,2}"
    r"|((?:sk|pk|rk|gsk|xai|nvapi|hf|AIza|AKIA|ghp|r8)[-_]?)(?=[\w*-]{0,60}[\d*])[\w*-]{12,200})"
)


def _make_safe(message: str) -> str:
    """Return one printable line without keys, cut where it is endless."""
    cut = message[:_MAX_MESSAGE_CHARS] + ("..." if len(message) > _MAX_MESSAGE_CHARS else "")
    line = _UNPRINTABLE.sub(" ", cut).strip()
    return _KEY.sub(lambda found: f"{found[1] or found[2]}***", line)


class StoreError(MidfoldError):
    """The session store failed."""


class SessionNotFound(StoreError):
    """There is no such session, or it belongs to another tenant; the two look alike on purpose."""

    def __init__(self, session: str) -> None:
        super().__init__(f"there is no session {_make_safe(session)[:80]!r}")
        self.session = session


class SessionBusy(StoreError):
    """Another process is folding this session, or has just folded it."""

    def __init__(self, session: str, holder: str = "") -> None:
        by = f" by {_make_safe(holder)}" if holder else ""
        super().__init__(f"the session {_make_safe(session)} is being changed{by}; try again")
        self.session = session
        self.holder = holder


class SessionEnded(StoreError):
    """The session has ended; `tip` is the session that continues it, if any."""

    def __init__(self, session: str, tip: str | None = None) -> None:
        onward = f"; it goes on in {tip}" if tip else ""
        super().__init__(f"the session {_make_safe(session)} has ended{onward}")
        self.session = session
        self.tip = tip


class SessionGrew(StoreError):
    """The session changed since you read it; `count` is its number of messages."""

    def __init__(self, session: str, count: int) -> None:
        name = _make_safe(session)
        super().__init__(
            f"the session {name} changed since you read it: it has {count:,} messages; read it again"
        )
        self.session = session
        self.count = count


class StoreUnavailable(StoreError):
    """The store cannot write: the disk is full or read-only, or the file is locked."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the session store cannot be used: {reason}")
        self.reason = reason


class StoreFull(StoreError):
    """The quota of the store is used up."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"{what} reached its quota of {limit:,} bytes; prune or delete old sessions")
        self.limit = limit


class SchemaTooNew(StoreError):
    """A newer midfold wrote this store."""

    def __init__(self, found: int, supported: int) -> None:
        super().__init__(
            f"the session store has schema {found}, this version knows {supported} at most; upgrade midfold"
        )
        self.found = found
        self.supported = supported


class StoreCorrupt(StoreError):
    """The file is damaged. Nothing is written to it any more where `stops_writing`; else one row is damaged,
    and everything else goes on."""

    def __init__(self, path: str, reason: str, *, stops_writing: bool = True) -> None:
        super().__init__(f"{path} is damaged ({reason}); `midfold doctor --fix` saves all that is sound")
        self.path = path
        self.reason = reason
        self.stops_writing = stops_writing


class StoreReplaced(StoreError):
    """Another file, or none, has the name of the one that is open. Nothing is written any more.

    `kept_as` is where a copy of all that the open one held was written, where that was possible.
    """

    def __init__(self, path: str, reason: str, kept_as: str | None = None) -> None:
        copy = f"all that it held is kept as {kept_as}; " if kept_as else ""
        super().__init__(f"{path}: {reason}; {copy}end every process that uses it, then open it again")
        self.path = path
        self.reason = reason
        self.kept_as = kept_as


class MessagesDamaged(StoreError):
    """Messages of a session are damaged, so what it says cannot be given as it was said.

    `positions` count what the session says, from 0. `records` and `history` give the sound rest with marks.
    """

    def __init__(self, session: str, positions: Sequence[int]) -> None:
        which = f"message {positions[0]} is" if len(positions) == 1 else f"{len(positions):,} messages are"
        super().__init__(
            f"{which} damaged in session {_make_safe(session)}; `midfold sessions show` and `export` give "
            "the rest with a mark, and after `midfold doctor --fix` the conversation goes on"
        )
        self.session = session
        self.positions = tuple(positions)
