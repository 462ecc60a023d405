"""The rounds of one answer: what the model recalls is read for it, and it goes on, unseen by the client."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Protocol, TypeAlias

from midfold.errors import ProviderUnavailable
from midfold.gateway.recall import MOST_CHARS, RecallTools
from midfold.gateway.records import Outcome
from midfold.gateway.rewriting import Rewrite
from midfold.gateway.session import GatewaySession
from midfold.gateway.streaming import ClientLine, EventGate, Header, is_event_stream, keep_alive, safe_headers
from midfold.gateway.turns import PreparedRequest
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import Message, ToolCall, ToolResult
from midfold.providers import Decoder, Observation, Observer, RelayAnswer, Undecodable
from midfold.transcripts import decode_json
from midfold.wire import StreamTooLong, render, sse
from midfold.wire.apis import Finish, encode_body, get_api, write_error_event
from midfold.wire.joiners import add_items, open_joiner

MOST_ROUNDS = 4
"""Answered in earnest for one reply; one more call is told that it is enough."""
_NO_MORE = "[nothing more can be recalled for this reply: answer with what is known]"
_CHARS_PER_TOKEN = 3
_FEWEST_CHARS = 500
_BAD_GATEWAY = 502
_PACKED = (b"content-length", b"content-encoding", b"transfer-encoding")

Send: TypeAlias = Callable[[bytes], AbstractAsyncContextManager[RelayAnswer]]


class Work(Protocol):
    def __call__(
        self, work: Callable[[Sequence[ToolCall]], bytes], calls: Sequence[ToolCall], /
    ) -> Awaitable[bytes]: ...


@dataclass(frozen=True, slots=True)
class RoundWay:
    """How rounds are sent and answers delivered."""

    send: Send
    """sends the request of the next round"""
    work: "Work"
    """runs what takes a while beside the event loop"""
    extra: Sequence[Header] = ()
    rewrite: Rewrite | None = None
    ping_seconds: float | None = None


class RecallRounds:
    """Delivers one answer to a client, in as many rounds as the model takes."""

    def __init__(
        self,
        tools: RecallTools,
        session: GatewaySession,
        prepared: PreparedRequest,
        line: ClientLine,
        dialect: str,
    ) -> None:
        self._tools = tools
        self._session = session
        self._prepared = prepared
        self._line = line
        self._dialect = dialect
        self._joiner = open_joiner(dialect, prepared.hidden)
        self._seen = Observer(get_api(dialect), output_cap=prepared.output_cap)
        self._added: list[object] = []
        self._whole = b""
        self._broken: str | None = None
        self._observations: list[Observation] = []

    async def run(self, answer: RelayAnswer, way: RoundWay) -> None:
        """Deliver an answer to its end, and those that follow; raises `ClientStalled`.

        Raises `ProviderUnavailable` where an answer breaks off before the client has any of it.
        """
        is_stream = self._line.is_stream = is_event_stream(answer.headers)
        if is_stream:
            await self._start(answer, way)
        try:
            async with keep_alive(self._line, EventGate(), way.ping_seconds if is_stream else None):
                await self._receive(answer, way)
                while calls := self._wanted():
                    body = await way.work(self._go_on, calls)
                    async with way.send(body) as answer:
                        if not answer.is_success:
                            return await self._refuse(answer, way)
                        await self._receive(answer, way)
        except (ProviderUnavailable, Undecodable, StreamTooLong) as error:
            self._broken = str(error)
            if not is_stream:
                raise ProviderUnavailable(self._broken) from None
            return await self._say_broken(f"the upstream did not finish its answer: {self._broken}")
        return await self._end(answer, way)

    @property
    def outcome(self) -> Outcome:
        """The result: the answer as the client has seen it, with the usage of the last round."""
        *earlier, last = self._observations or [Observation()]
        seen = self._seen.finish(broken=self._broken).completion
        if seen is not None and last.completion is not None:
            usage, report = last.completion.usage, last.completion.raw_usage
            seen = replace(seen, usage=usage, raw_usage=report)
        return Outcome(replace(last, completion=seen), tuple(earlier))

    async def _start(self, answer: RelayAnswer, way: RoundWay) -> None:
        headers = [pair for pair in answer.headers if pair[0].lower() not in _PACKED]
        await self._line.start(answer.status, safe_headers(headers, way.extra))

    async def _receive(self, answer: RelayAnswer, way: RoundWay) -> None:
        """Take one answer in, and pass on what the client may see of it."""
        events = sse.SseReader()
        self._whole = b""
        pieces: list[bytes] = []
        try:
            async with aclosing(_unpacked(answer)) as chunks:
                async for chunk in chunks:
                    if not self._line.is_stream:
                        pieces.append(chunk)
                        continue
                    await self._write(b"".join(map(self._joiner.take, events.feed(chunk))), way)
            await self._write(b"".join(map(self._joiner.take, events.close())), way)
        finally:
            self._observations.append(answer.observation())
        self._whole = b"".join(pieces)
        if not self._line.is_stream:
            self._joiner.take_whole(_read_object(self._whole))

    def _wanted(self) -> list[ToolCall]:
        """Return the calls that are ours to answer; none where the client has some to answer as well."""
        completion = self._observations[-1].completion
        if completion is None or completion.finish is not Finish.CALLS or not self._observations[-1].complete:
            return []
        if len(self._observations) > MOST_ROUNDS:
            return []
        calls = list(completion.calls)
        return calls if all(call.name in self._prepared.hidden for call in calls) else []

    def _go_on(self, calls: Sequence[ToolCall]) -> bytes:
        """Answer calls, and return the request with the answers."""
        if len(self._observations) < MOST_ROUNDS:
            answers = self._tools.answer(calls, self._session, most_chars=self._room(len(calls)))
        else:
            answers = [_NO_MORE] * len(calls)
        completion = self._observations[-1].completion
        results = tuple(
            ToolResult(call.id, text, name=call.name) for call, text in zip(calls, answers, strict=True)
        )
        dialect = self._dialect
        self._added += completion.items if completion is not None else []
        self._added += render([Message("tool", results)], dialect)
        self._joiner.go_on()
        body = decode_json(self._prepared.body)
        return encode_body(add_items(body if isinstance(body, dict) else {}, dialect, self._added))

    def _room(self, calls: int) -> int:
        """Return how long each of so many results may be, so that all rounds find room in the window."""
        prepared = self._prepared
        window = self._session.engine.context_length if self._session.engine is not None else 0
        free = window - prepared.tokens - (prepared.output_cap or 0)
        share = free * _CHARS_PER_TOKEN // (MOST_ROUNDS * max(calls, 1))
        return min(max(share, _FEWEST_CHARS), MOST_CHARS)

    async def _end(self, answer: RelayAnswer, way: RoundWay) -> None:
        if self._line.is_stream:
            await self._write(self._joiner.finish(), way)
            return await self._line.end()
        joined = self._joiner.whole()
        body = self._whole if joined is None else encode_body(joined)
        self._seen.feed(body)
        await self._start(answer, way)
        await self._line.write(way.rewrite.whole(body) if way.rewrite is not None else body)
        return await self._line.end()

    async def _write(self, data: bytes, way: RoundWay) -> None:
        if data:
            self._seen.feed(data)
            await self._line.write(way.rewrite.events(data) if way.rewrite is not None else data)

    async def _refuse(self, answer: RelayAnswer, way: RoundWay) -> None:
        """Tell the client of a round that was refused: as it came, or in an event of its stream."""
        failure = await answer.failure()
        self._observations.append(answer.observation())
        if self._line.is_stream:
            self._broken = f"status {answer.status}"
            return await self._say_broken(str(failure.error), answer.status)
        await self._start(answer, way)
        async with aclosing(_unpacked(answer)) as chunks:
            async for chunk in chunks:
                await self._line.write(chunk)
        return await self._line.end()

    async def _say_broken(self, words: str, status: int = _BAD_GATEWAY) -> None:
        await self._line.write(write_error_event(self._dialect, status, words))
        await self._line.end()


async def _unpacked(answer: RelayAnswer) -> AsyncGenerator[bytes, None]:
    """Yield a body as it is read, whatever it was packed with; raises `RelayBroken` and `Undecodable`."""
    encoding = next((value for name, value in answer.headers if name.lower() == b"content-encoding"), b"")
    decoder = Decoder(encoding.decode("latin-1"))
    async with aclosing(answer.chunks()) as chunks:
        async for chunk in chunks:
            for piece in decoder.decode(chunk):
                yield piece


def _read_object(data: bytes) -> dict[str, object]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
