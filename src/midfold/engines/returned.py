"""What a plain engine returned, read as a compression that is legal and smaller, or a reason why not."""

from collections.abc import Sequence
from dataclasses import replace

from midfold.engines.deriving import NotAFold, derive_fold
from midfold.engines.passes import Pass
from midfold.errors import DialectError, EngineContractError
from midfold.folding import Compression, Fold, note_outcome, splice
from midfold.messages import Message, is_request
from midfold.pipeline import render_compression
from midfold.ports import Count
from midfold.wire import Request, detect, parse, render


class NotUsed(Exception):
    """A list that a host does not go on with; the words say why."""


def read_returned(returned: object, this: Pass, *, engine: str, count: Count) -> Compression[object] | None:
    """Return the compression that an engine made of a pass; `None` where it left everything as it was.

    Raises `EngineContractError` for what is no list of messages, and `NotUsed`.
    """
    if not isinstance(returned, list):
        raise EngineContractError(engine, f"compress returns a list, not {type(returned).__name__}")
    try:
        this = _settle_dialect(this, returned)
        fold = derive_fold(this.messages, parse(returned, this.request.dialect))
    except DialectError as error:
        raise EngineContractError(engine, f"compress returns messages that can be read; {error}") from error
    except NotAFold as error:
        raise NotUsed(str(error)) from error
    if fold is None:
        return None
    result = render_compression(_apply(fold, this, engine, count), this.request, this.state)
    if not result.changed:
        raise NotUsed(result.reason)
    return result


def _settle_dialect(this: Pass, returned: list[object]) -> Pass:
    """Read the old messages as the new ones prove that they are spelled: plain words fit several dialects."""
    items = this.request.messages
    dialect = detect([*items, *returned]) if items or returned else this.request.dialect
    if dialect == this.request.dialect:
        return this
    return replace(this, request=Request(dialect, items), messages=parse(items, dialect))


def _apply(fold: Fold, this: Pass, engine: str, count: Count) -> Compression[Message]:
    messages = splice(fold, this.messages)
    known = dict(zip(map(id, this.messages), this.sizes, strict=True))
    sizes = [known[id(message)] if id(message) in known else count(message) for message in messages]
    tokens_after = this.overhead_tokens + sum(sizes)
    if tokens_after >= this.tokens:
        raise NotUsed(f"{tokens_after:,} tokens are no fewer than {this.tokens:,}")
    if any(len(render([message], this.request.dialect)) != 1 for message in fold.summaries):
        raise NotUsed("one of its messages says nothing")
    newest = _newest_request(this.messages)
    if newest and _newest_request(messages) != newest:
        raise NotUsed("the newest request is no longer the newest, word for word")
    return Compression(
        messages=messages,
        before=tuple(this.messages),
        fold=fold,
        reason=f"compressed by the engine {engine!r}",
        state=note_outcome(this.state, effective=True, is_fold=bool(fold.summaries), tokens=tokens_after),
        tokens_before=this.tokens,
        tokens_after=tokens_after,
        budget_tokens=this.policy.target_tokens,
        summarizer=engine if fold.summaries else None,
        summary_tokens=sum(map(count, fold.summaries)),
    )


def _newest_request(messages: Sequence[Message]) -> str:
    return next((message.text for message in reversed(messages) if is_request(message)), "")
