"""Offloaded output in memory, for tests and for those who want nothing on their disk."""

import errno
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256

from midfold.late_dataclasses import dataclass
from midfold.offload.names import digest_of, name_output
from midfold.offload.outputs import (
    Output,
    OutputInfo,
    count_breaks,
    describe,
    read_slice,
    shown_tool,
)
from midfold.offload.safe_text import sanitize
from midfold.redact import redact as hide_credentials


class MemorySink:
    """The output of one session, gone with the process; at most `max_chars` in all."""

    def __init__(
        self,
        *,
        max_chars: int = 64 << 20,
        redact: Callable[[str], str] = hide_credentials,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._max_chars = max_chars
        self._redact = redact
        self._clock = clock
        self._lock = threading.Lock()
        self._outputs: dict[str, _MemoryOutput] = {}

    def write(self, key: str, text: str, *, tool: str = "") -> str:
        """Keep a text, credentials replaced; `EDQUOT` where there is no room for it."""
        safe = sanitize(text, self._redact)
        call_id, name = sanitize(key, self._redact), shown_tool(sanitize(tool, self._redact))
        digests = (sha256(chunk).hexdigest() for chunk in safe.chunks)
        reference = name_output("memory", digest_of(call_id), name, digest_of(*digests))
        breaks = count_breaks(safe.chunks)
        info = describe(
            reference, safe, breaks=breaks[-1], tool=name, call_id=call_id, at_seconds=self._clock()
        )
        with self._lock:
            if reference not in self._outputs:
                kept_chars = sum(output.info.chars for output in self._outputs.values())
                if kept_chars + len(safe) > self._max_chars:
                    raise OSError(errno.EDQUOT, "the quota for kept output is used up")
                self._outputs[reference] = _MemoryOutput(info, breaks[:-1], safe.chunks)
        return reference

    def read(self, reference: str, offset: int = 0, limit: int | None = None) -> str:
        """Return a part of an offloaded text."""
        with self.open(reference) as output:
            return read_slice(output, offset, output.info.chars if limit is None else limit).text

    def holds(self, reference: str) -> bool:
        """Whether something is kept under that reference."""
        return reference in self._outputs

    @contextmanager
    def open(self, reference: str) -> Iterator[Output]:
        """Open an offloaded text for the block."""
        output = self._outputs.get(reference)
        if output is None:
            raise FileNotFoundError(errno.ENOENT, "no such output in this session", reference)
        yield output

    def outputs(self) -> list[OutputInfo]:
        """Return the offloaded texts, the newest first."""
        with self._lock:
            infos = [output.info for output in self._outputs.values()]
        return sorted(infos, key=lambda info: (-info.at_seconds, info.reference))


@dataclass(frozen=True, slots=True)
class _MemoryOutput:
    info: OutputInfo
    lines_before: list[int]
    chunks: tuple[bytes, ...]

    def chunk(self, number: int) -> str:
        return self.chunks[number].decode()
