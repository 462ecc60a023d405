"""A port that no connection ever reaches, for the wait that comes before all others."""

import socket
from types import TracebackType

_ENOUGH_TO_FILL = 4


class Unreachable:
    """An address where connecting neither succeeds nor is refused: its queue is full and nobody empties it.

    It relies on how Linux treats a full queue: further attempts are dropped without a word.
    """

    def __enter__(self) -> "Unreachable":
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=0)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._callers = [socket.socket() for _ in range(_ENOUGH_TO_FILL)]
        for caller in self._callers:
            caller.setblocking(False)
            caller.connect_ex(self._listener.getsockname())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for caller in self._callers:
            caller.close()
        self._listener.close()
