"""Passes a client's request on to an upstream, and the answer back, byte for byte.

A gateway lets most requests through as they are. A relay adds nothing but a key, keeps nothing of the answer
but what it read on the side, and tries nothing twice: the caller knows whether a byte of the answer is out.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from enum import Enum
from http import HTTPStatus
from typing import TYPE_CHECKING, Self

from midfold.errors import ConfigError, ProviderUnavailable
from midfold.late_dataclasses import replace
from midfold.providers.catalog import PROVIDERS, Provider
from midfold.providers.client import Client
from midfold.providers.connection import DEFAULT_TIMEOUTS, ConnectionBroken, Timeouts
from midfold.providers.decoder import decode_start
from midfold.providers.endpoint import Endpoint, find_endpoint
from midfold.providers.failures import judge_answer
from midfold.providers.keys import ApiKey
from midfold.providers.observation import MAX_FAILURE_BYTES, Observation, Observer
from midfold.providers.relay_request import (
    HeaderPairs,
    RelayRequest,
    RequestRefused,
    Upload,
    answer_headers,
    check_target,
    client_headers,
    replace_credentials,
)
from midfold.providers.retry import CallFailed
from midfold.wire.apis import find_api

if TYPE_CHECKING:
    from midfold.providers.http import Answer, Transport

_CLOSED = "the relay is closed"
_LEFT = "the answer was not taken to its end"


class KeySource(Enum):
    """The owner of the key that goes to the upstream."""

    OURS = "ours"
    """The upstream's own, in place of any that the client brought; none at all where it has none."""
    CLIENT = "client"
    """The client's, in whichever header it came."""


class RelayBroken(ProviderUnavailable):
    """No answer came from the upstream, or not all of it.

    `may_pass` says whether asking again may help, `has_begun` whether the caller was given some of the body:
    then the request must not be repeated.
    """

    def __init__(self, reason: str, endpoint: Endpoint, *, may_pass: bool, has_begun: bool) -> None:
        masked = endpoint.key.mask(reason) if endpoint.key else reason
        super().__init__(masked, provider=endpoint.provider, model=endpoint.model)
        self.may_pass = may_pass
        self.has_begun = has_begun


class Relay(Client):
    """A way to one upstream: `async with relay.send(RelayRequest("POST", "/messages", …)) as answer`."""

    def __init__(
        self,
        endpoint: Endpoint,
        transport: "Transport | None" = None,
        *,
        keys: KeySource = KeySource.OURS,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
    ) -> None:
        super().__init__(endpoint, transport, timeouts=timeouts)
        self.keys = keys

    @classmethod
    def open(
        cls,
        provider: str,
        *,
        base_url: str | None = None,
        key: ApiKey | str | None = None,
        keys: KeySource = KeySource.OURS,
        api: str | None = None,
        providers: Mapping[str, Provider] = PROVIDERS,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        transport: "Transport | None" = None,
    ) -> Self:
        """Open the way to a provider; raises `ConfigError`, and `ExtraMissing` without the extra `models`.

        With `KeySource.CLIENT` no key of ours is looked for, and none may be given. `timeouts` are those of a
        transport made here; a given one has its own.
        """
        if provider not in providers:
            raise ConfigError("provider", provider, hint=f"one of {', '.join(sorted(providers))}")
        if keys is KeySource.CLIENT:
            if key is not None:
                raise ConfigError("key", "***", hint="none, as clients bring their own")
            known = providers[provider]
            base_url = base_url or known.base_url
            providers = {provider: Provider(provider, known.base_url, known.api)}
        endpoint = find_endpoint(f"{provider}/*", base_url=base_url, key=key, api=api, providers=providers)
        return cls(replace(endpoint, model=""), transport, keys=keys, timeouts=timeouts)

    @asynccontextmanager
    async def send(
        self, request: RelayRequest, *, output_cap: int | None = None
    ) -> AsyncIterator["RelayAnswer"]:
        """Send a request and give its answer, whose status and headers have arrived.

        What is not read of it when the block is left is given up, and the upstream is disconnected.
        `output_cap` is the most output that the request asks for: see `Completion`.

        Raises `RequestRefused` before anything is sent, `RelayBroken` where no answer comes, a
        `ProviderError` with its status for a redirect, and what an iterator of the body raises.
        """
        if self._is_closed:
            raise self._break(_CLOSED, may_pass=False)
        headers = self._headers_for(request)
        upload = Upload(request.body, request.length)
        broken: tuple[str, bool] | None = None
        try:
            async with self._transport.exchange(
                request.method, self.endpoint.base_url, request.path, headers, upload
            ) as answer:
                yield self._receive(answer, request, output_cap)
        except ConnectionBroken as error:
            broken = error.reason, error.may_pass
        if broken is not None:  # out here, as what led to it may quote a key
            reason, may_pass = broken
            raise upload.error or self._break(reason, may_pass=may_pass)

    def __repr__(self) -> str:
        return f"Relay({self.endpoint.provider} at {self.endpoint.base_url}, keys: {self.keys.value})"

    def _break(self, reason: str, *, may_pass: bool) -> RelayBroken:
        reason = _CLOSED if self._transport.is_closed else reason
        return RelayBroken(reason, self.endpoint, may_pass=may_pass, has_begun=False)

    def _headers_for(self, request: RelayRequest) -> HeaderPairs:
        try:
            check_target(request)
            headers = client_headers(request)
        except RequestRefused as error:
            reason = error.reason
        else:
            if self.keys is KeySource.CLIENT:
                return HeaderPairs(headers)
            key = self.endpoint.key.reveal() if self.endpoint.key else ""
            own = (find_api(request.path) or self.endpoint.api).headers(key)
            return HeaderPairs(replace_credentials(headers, own.items()))
        raise RequestRefused(reason)  # out here, as what led to it may quote a key

    def _receive(self, answer: "Answer", request: RelayRequest, output_cap: int | None) -> "RelayAnswer":
        is_redirect = HTTPStatus.MULTIPLE_CHOICES <= answer.status < HTTPStatus.BAD_REQUEST
        # What has not changed since the client last asked leads nowhere else.
        if is_redirect and answer.status != HTTPStatus.NOT_MODIFIED:
            raise judge_answer(self.endpoint, answer.status, answer.headers, b"").error
        observer = Observer(
            find_api(request.path) if request.method == "POST" else None,
            answer.status,
            encoding=answer.headers.get("Content-Encoding", ""),
            output_cap=output_cap,
        )
        return RelayAnswer(answer, self.endpoint, observer)


class RelayAnswer:
    """An answer on its way to the client. Chunks are read from the upstream as fast as they are taken."""

    def __init__(self, answer: "Answer", endpoint: Endpoint, observer: Observer) -> None:
        self.status = answer.status
        self.reason = answer.reason
        """The words beside the status."""
        self.headers = answer_headers(answer.raw_headers)
        """The headers for the client, as the upstream wrote and ordered them, each as often as it came."""
        self.has_begun = False
        """Whether the caller was given some of the body."""
        self._answer = answer
        self._endpoint = endpoint
        self._observer = observer
        self._held: list[bytes] = []
        """read ahead, and read on the side as well"""
        self._taken = b""
        """what the caller has and the observer has not"""
        self._has_ended = False
        self._broken: str | None = None

    @property
    def is_success(self) -> bool:
        """Whether this is what was asked for."""
        return self._answer.is_success

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives, not unpacked; raises `RelayBroken`.

        A chunk is read on the side after the caller has dealt with it, so that this delays nobody.
        """
        while self._held:
            self.has_begun = True
            yield self._held.pop(0)
        while chunk := await self._next_chunk():
            self.has_begun = True
            self._taken = chunk
            yield chunk

    async def peek(self, max_bytes: int = MAX_FAILURE_BYTES) -> bytes | None:
        """Read the whole body ahead and return it; `chunks()` still gives every byte of it.

        `None` where it is larger, late or broken: so `chunks()` gives what there is, and the error. It is
        for the body of a failure, which has to be judged before it is passed on.
        """
        size = sum(map(len, self._held))
        try:
            async with asyncio.timeout(self._answer.error_seconds):
                while size <= max_bytes and (chunk := await self._next_chunk()):
                    self._held.append(chunk)
                    size += len(chunk)
                    self._observer.feed(chunk)
        except (RelayBroken, TimeoutError):
            return None
        return b"".join(self._held) if size <= max_bytes else None

    async def failure(self) -> CallFailed:
        """Judge an answer that is no success: the typed error, without our key, and whether it may pass.

        The body is read ahead by `peek`, and as much of it judged as came.
        """
        await self.peek()
        encoding = self._answer.headers.get("Content-Encoding", "")
        packed = b"".join(self._held)
        # An empty body has a meaning of its own, so what cannot be unpacked is judged as it came.
        body = decode_start(packed, encoding, MAX_FAILURE_BYTES) or packed[:MAX_FAILURE_BYTES]
        return judge_answer(self._endpoint, self.status, self._answer.headers, body)

    def observation(self) -> Observation:
        """Say what was read on the side. Asked before the end of the body, it says what came until then."""
        self._observe_taken()
        return self._observer.finish(broken=None if self._has_ended else self._broken or _LEFT)

    def _observe_taken(self) -> None:
        taken, self._taken = self._taken, b""
        if taken:
            self._observer.feed(taken)

    async def _next_chunk(self) -> bytes:
        self._observe_taken()
        if self._has_ended:
            return b""
        try:
            chunk = await self._answer.next_chunk()
        except ConnectionBroken as error:
            self._broken, may_pass = error.reason, error.may_pass
        else:
            self._has_ended = not chunk
            return chunk
        raise RelayBroken(self._broken, self._endpoint, may_pass=may_pass, has_begun=self.has_begun)
