"""Checks one promise of a store; the contract tests are made of such checks."""

from collections.abc import Callable

from midfold.errors import MidfoldError, StoreError
from midfold.folding import Compression, CompressionPolicy, Strategy, run
from midfold.messages import chain_digests
from midfold.pipeline import compress_request
from midfold.tokens import TokenCounter
from midfold.wire import Request, parse

DIALECT = "openai_chat"


class StoreContractError(StoreError):
    """A session store does not do what every store promises."""

    def __init__(self, promise: str) -> None:
        super().__init__(f"the store breaks a promise: {promise}")
        self.promise = promise


def promise(words: str, kept: bool) -> None:
    """Raise `StoreContractError` where a promise is not kept."""
    if not kept:
        raise StoreContractError(words)


def refuses(kind: type[MidfoldError], action: Callable[[], object], words: str) -> None:
    """Raise `StoreContractError` unless an action raises an error of this kind."""
    try:
        action()
    except kind:
        return
    except Exception as error:
        raise StoreContractError(f"{words}; it raised {error!r}") from error
    raise StoreContractError(words)


def say(words: str) -> dict[str, object]:
    """Return a message of a user."""
    return {"role": "user", "content": words}


def fold(items: list[object]) -> Compression[object]:
    """Fold a long list of messages."""
    policy = CompressionPolicy(context_length=32_000, max_tokens=2_500, strategy=Strategy.FOLD)
    return run(compress_request(Request(DIALECT, items), policy=policy, count=TokenCounter()), lambda _: "")


def digests_of(items: list[object]) -> list[bytes]:
    """Return the chained digests of a list, as a host knows it."""
    return chain_digests(parse(items, DIALECT))
