"""The server: it listens on loopback in a thread of its own, so that any test can use it, async or not."""

import asyncio
import socket
import threading
from collections.abc import Callable
from types import TracebackType

from midfold.testing.upstream.delivery import ClientConnection, ClientGone
from midfold.testing.upstream.http import MAX_HEAD_BYTES, read_request
from midfold.testing.upstream.overflow import PROVIDERS, overflow
from midfold.testing.upstream.received import Received, UpstreamApi
from midfold.testing.upstream.response import compose, list_models
from midfold.testing.upstream.script import Answer, Ending, HttpStatus, Raw, Reply, Script, echo

_WORDS_OF_API = {
    UpstreamApi.CHAT: "openai",
    UpstreamApi.RESPONSES: "openai_responses",
    UpstreamApi.MESSAGES: "anthropic",
}


class Upstream:
    """A provider that gives scripted answers: `with Upstream([Reply("hello")]) as up: ...`.

    A sequence is answered one by one, and what comes after its end is refused with a 500 that says so,
    unless `then` is the answer; a single answer is given every time; a function is asked each time,
    in a thread, so that it may wait for the test (not for ever: leaving the block waits for it). Without a
    script the user's newest words come back.

    With `window_tokens`, a request that does not fit is refused in the words of `provider`, by default the
    API's own, and uses up nothing of the script. Model lists and token counts are answered by themselves.
    """

    def __init__(
        self,
        script: Script = echo,
        *,
        then: Answer | Callable[[Received], Answer] | None = None,
        window_tokens: int | None = None,
        provider: str | None = None,
        models: tuple[str, ...] = ("scripted",),
    ) -> None:
        if provider is not None and provider not in PROVIDERS:
            raise ValueError(f"provider is {provider!r}; the known ones are {', '.join(PROVIDERS)}")
        self._script = script
        self._then = then
        self._window_tokens = window_tokens
        self._provider = provider
        self._models = models
        self._changed = threading.Condition()
        self._requests: list[Received] = []
        self._answered = 0
        self._connections = 0
        self._lines: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    @property
    def requests(self) -> list[Received]:
        """The requests received so far, oldest first."""
        with self._changed:
            return list(self._requests)

    @property
    def connections(self) -> int:
        """The number of connections ever made."""
        return self._connections

    @property
    def open_connections(self) -> int:
        """The number of connections that are still open."""
        return len(self._lines)

    def wait_until(self, condition: Callable[[], bool], *, timeout_seconds: float = 5) -> None:
        """Wait for something about requests or connections to become true, or raise `TimeoutError`."""
        with self._changed:
            if not self._changed.wait_for(condition, timeout_seconds):
                raise TimeoutError(f"not so within {timeout_seconds} s")

    def __enter__(self) -> "Upstream":
        listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, args=(listener,), name="upstream", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self, listener: socket.socket) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve(listener))

    async def _serve(self, listener: socket.socket) -> None:
        server = await asyncio.start_server(self._accept, sock=listener, limit=MAX_HEAD_BYTES)
        await self._stop.wait()
        server.close()
        tasks = dict(self._lines)
        for task, writer in tasks.items():
            task.cancel()
            writer.transport.abort()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Without it each answer on a kept connection waits for the client's acknowledgement.
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = asyncio.create_task(self._talk(reader, writer))
        with self._changed:
            self._connections += 1
            self._lines[task] = writer
            self._changed.notify_all()
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        with self._changed:
            del self._lines[task]
            self._changed.notify_all()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = ClientConnection(reader, writer)
        ending = Ending.KEEP
        try:
            while ending is Ending.KEEP and (received := await read_request(reader, writer)):
                ending = await self._answer(line, received)
            await line.end(ending)
        except (ClientGone, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, line: ClientConnection, received: Received) -> Ending:
        with self._changed:
            self._requests.append(received)
            number = len(self._requests)
            self._changed.notify_all()
        try:
            answer = await self._choose(received)
            message = answer if isinstance(answer, Raw) else compose(answer, received, number)
        except Exception as error:  # noqa: BLE001 - nobody else would see a mistake in a script
            answer = HttpStatus(500, f"the script of this upstream failed: {error!r}")
            message = compose(answer, received, number)
        ending = await line.send(message, answer.fault)
        wants_close = received.headers.get("connection", "").lower() == "close"
        return Ending.CLOSE if wants_close and ending is Ending.KEEP else ending

    async def _choose(self, received: Received) -> Answer:
        match received.api:
            case None:
                return HttpStatus(404, f"no such path: {received.path}")
            case UpstreamApi.MODELS:
                return list_models(self._models, self._window_tokens)
            case UpstreamApi.COUNT_TOKENS:
                return HttpStatus(200, {"input_tokens": received.count_tokens()})
            case api:
                return self._refuse_what_does_not_fit(received, api) or await self._next_answer(received)

    def _refuse_what_does_not_fit(self, received: Received, api: UpstreamApi) -> HttpStatus | None:
        if self._window_tokens is None:
            return None
        request = received.request
        return overflow(
            self._provider or _WORDS_OF_API[api],
            window_tokens=self._window_tokens,
            input_tokens=received.count_tokens(),
            output_tokens=(request.max_output if request else None) or 0,
        )

    async def _next_answer(self, received: Received) -> Answer:
        if callable(self._script):
            return await asyncio.to_thread(self._script, received)
        if isinstance(self._script, Reply | HttpStatus | Raw):
            return self._script
        index, self._answered = self._answered, self._answered + 1
        if index < len(self._script):
            return self._script[index]
        if callable(self._then):
            return await asyncio.to_thread(self._then, received)
        exhausted = (
            f"the script of this upstream has {len(self._script)} answers; this is request {index + 1}"
        )
        return self._then or HttpStatus(500, exhausted)
