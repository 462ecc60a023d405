"""The body of a request that is passed on: all of it at hand, or piece by piece as a client sends it."""

import asyncio
import io
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import suppress

from midfold.errors import MidfoldError


class RequestRefused(MidfoldError):
    """A request is not passed on, as it cannot be, or would go elsewhere than to its upstream."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the request is not passed on: {reason}")
        self.reason = reason


class Upload:
    """A body, and what went wrong while its pieces came; used once.

    `length` is how many bytes the pieces come to, where the client says so.
    """

    def __init__(self, body: bytes | AsyncIterable[bytes], length: int | None = None) -> None:
        self.error: Exception | None = None
        self._body = body
        self._length = None if isinstance(body, bytes) else length

    @property
    def framing(self) -> dict[str, str]:
        """The length, where the body itself does not show it."""
        return {} if self._length is None else {"Content-Length": str(self._length)}

    def start(self, deadline: asyncio.Timeout) -> io.BytesIO | AsyncIterator[bytes] | None:
        """Return the body in the form that is sent; each piece puts off the deadline by as much again."""
        if isinstance(self._body, bytes):
            # A buffer is sent piece by piece; megabytes at once would hold up the event loop.
            return io.BytesIO(self._body) if self._body else None
        return self._pieces(self._body, deadline)

    async def _pieces(self, pieces: AsyncIterable[bytes], deadline: asyncio.Timeout) -> AsyncIterator[bytes]:
        clock = asyncio.get_running_loop().time
        end = deadline.when()
        patience = None if end is None else end - clock()
        sent = 0
        try:
            async for piece in pieces:
                if patience is not None:
                    with suppress(RuntimeError):  # the answer came before all was sent
                        deadline.reschedule(clock() + patience)
                sent += len(piece)
                self._check(sent <= self._promised(sent))
                yield piece
            self._check(sent == self._promised(sent))
        except Exception as error:
            self.error = error
            raise

    def _promised(self, sent: int) -> int:
        return sent if self._length is None else self._length

    def _check(self, is_right: bool) -> None:
        if not is_right:
            raise RequestRefused("its body is not as long as it says")
