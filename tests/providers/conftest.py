"""What the tests of models share: retries that note their waits instead of waiting, and a server of bytes."""

import asyncio
import gc
import socket
import threading
import traceback
import warnings
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from midfold.providers import Retries

APIS = ("openai_chat", "openai_responses", "anthropic")


@dataclass
class Waits:
    """Retries that wait for nothing, and what they would have waited."""

    seconds: list[float] = field(default_factory=list)
    max_calls: int = 4

    @property
    def retries(self) -> Retries:
        return Retries(max_calls=self.max_calls, sleep=self._note)

    async def _note(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> str:
    return request.param


class RawServer:
    """Notes every byte of a request, and writes what it is told: `answer(writer)` after each request."""

    def __init__(self, answer: Callable[[asyncio.StreamWriter], Awaitable[None]]) -> None:
        self.answer = answer
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.gone = threading.Event()
        """set when a client leaves"""
        self._lines: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    def __enter__(self) -> "RawServer":
        listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, args=(listener,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._lines.clear()
        # A line that came in as the server stopped is the test's own, and no leak of ours.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()

    def _run(self, listener: socket.socket) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve(listener))

    async def _serve(self, listener: socket.socket) -> None:
        server = await asyncio.start_server(self._accept, sock=listener, limit=2**20)
        await self._stop.wait()
        server.close()
        for _ in range(10):  # a line that is on its way in is closed only once it has come
            await asyncio.sleep(0)
        for writer in self._lines.values():
            writer.transport.abort()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for writer in self._lines.values():
            with suppress(OSError):
                await writer.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._lines[asyncio.create_task(self._talk(reader, writer))] = writer

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                self.bodies.append(await self._read_body(reader, head.lower()))
                answering = asyncio.ensure_future(self.answer(writer))
                leaving = asyncio.ensure_future(reader.read(1))
                await asyncio.wait([answering, leaving], return_when=asyncio.FIRST_COMPLETED)
                if leaving.done():
                    self.gone.set()
                    answering.cancel()
                await answering
                leaving.cancel()
                await asyncio.wait([leaving])
        except (asyncio.IncompleteReadError, ConnectionError, ValueError, asyncio.CancelledError):
            self.gone.set()
        finally:
            writer.close()

    async def _read_body(self, reader: asyncio.StreamReader, head: bytes) -> bytes:
        fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
        if b"transfer-encoding" not in fields:
            return await reader.readexactly(int(fields.get(b"content-length", b"0")))
        pieces = []
        while size := int(await reader.readline(), 16):
            pieces.append(await reader.readexactly(size))
            await reader.readline()
        await reader.readline()
        return b"".join(pieces)


@pytest.fixture
def serve() -> Callable[..., RawServer]:
    """Make a server that writes these pieces after each request, or does what a function does."""

    def make(*pieces: bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]) -> RawServer:
        async def write(writer: asyncio.StreamWriter) -> None:
            for piece in pieces:
                writer.write(piece)
                await writer.drain()

        return RawServer(pieces[0] if pieces and callable(pieces[0]) else write)

    return make


@pytest.fixture
def every_text() -> Callable[[BaseException], str]:
    """Spell an error in every way in which it may reach a log, with all that it came from."""

    def spell(error: BaseException | None) -> str:
        if error is None:
            return ""
        own = [repr(error), str(error), repr(error.args), repr(vars(error))]
        return "\n".join([*own, spell(error.__cause__), spell(error.__context__)])

    return spell


@pytest.fixture
def every_frame() -> Callable[[BaseException, str], str]:
    """Spell what a report with locals shows of an error: the variables of every frame but those of a file."""

    def spell(error: BaseException | None, but: str) -> str:
        if error is None:
            return ""
        frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
        ours = (frame for frame in frames if frame.f_code.co_filename != but)
        shown = [repr(value) for frame in ours for value in frame.f_locals.values()]
        return "\n".join([*shown, spell(error.__cause__, but), spell(error.__context__, but)])

    return spell


@pytest.fixture
def every_local(every_frame: Callable[[BaseException, str], str]) -> Callable[[BaseException], str]:
    """Spell the variables of every frame but those of the tests of leaks."""
    return lambda error: every_frame(error, str(Path(__file__).with_name("test_leaks.py")))
