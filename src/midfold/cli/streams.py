"""Standard output and standard error, which tell their own closing from any other broken pipe.

A worker that dies breaks a pipe as well, and so does a tool or a server. Only where nobody reads standard
output any more is there nothing left to say; every other broken pipe is a failure.
"""

import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class OutputClosed(BrokenPipeError):
    """Standard output was closed by its reader, such as `head`."""


def own_streams() -> None:
    """Let standard output raise `OutputClosed`, and standard error go on in silence, once nobody reads them.

    What goes to standard error is remarks: whether somebody reads them must not decide what a command does.
    """
    sys.stdout = _rewrap(sys.stdout, _Output)
    sys.stderr = _rewrap(sys.stderr, _Errors)


def flush_output() -> None:
    """Write what is left for standard output; a closed one wants none of it."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OutputClosed:
        drop_output()


def drop_output() -> None:
    """Keep the interpreter from flushing, on its way out, what cannot be written."""
    with suppress(OSError, AttributeError):  # a stream without a file, or none at all
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Output(io.FileIO):
    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError as error:
            raise OutputClosed(error.errno, error.strerror) from None


class _Errors(io.FileIO):
    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes


def _rewrap(stream: TextIO, kind: type[io.FileIO]) -> TextIO:
    """Return the stream over a file of another kind; terminals and streams of a host stay as they are."""
    if type(stream) is not io.TextIOWrapper or stream.isatty():
        return stream
    raw = getattr(stream.buffer, "raw", stream.buffer)
    if type(raw) is not io.FileIO:
        return stream
    stream.flush()
    file = kind(raw.fileno(), "wb", closefd=False)
    return io.TextIOWrapper(
        # Without a buffer where Python was told to have none.
        file if stream.buffer is raw else io.BufferedWriter(file),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
