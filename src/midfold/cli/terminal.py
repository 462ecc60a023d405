"""Standard output and standard error, and text made safe for them.

A closed standard output is not like other broken pipes: a worker that dies breaks one as well, and so does a
tool or a server. Only where nobody reads standard output any more is there nothing left to say; every other
broken pipe is a failure.
"""

import codecs
import io
import os
import shlex
import sys
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from midfold.late_patterns import compile_late

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
        # Without a buffer where Python runs with none.
        file if stream.buffer is raw else io.BufferedWriter(file),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


# Control characters, escape sequences with them, and the marks that turn the direction of text.
_UNPRINTABLE = compile_late(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# As wide as what they stand for, so that columns stay columns.
_TWINS = {"█": "#", "░": ".", "▒": "=", "■": "*", "·": "-", "…": "~", "→": ">", "–": "-"}
_HANDLER = "midfold.twins"


def printable(text: str, most: int = 60) -> str:
    """Return `text` as one line without anything that could steer a terminal, cut to `most` characters."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", cut)


def printable_path(path: Path, most: int = 60) -> str:
    """Return a path as one line that a person can copy: `~` stands for the home folder."""
    inside = _inside_home(path)
    return printable(str(path) if inside is None else str(Path("~") / inside), most)


def quote_path(path: Path) -> str:
    """Return a path as a shell takes it; a `~` in quotation marks would be a name."""
    inside = _inside_home(path)
    if inside is None:
        return shlex.quote(str(path))
    return f"~/{shlex.quote(str(inside))}" if inside.parts else "~"


def _inside_home(path: Path) -> Path | None:
    try:
        return path.relative_to(Path.home())
    except (ValueError, RuntimeError):  # elsewhere, or nobody's home
        return None


def soften(stream: object) -> None:
    """Let an output stream print everything: what its encoding lacks becomes an ASCII twin or `?`.

    Redirected output on Windows and a C locale have such encodings. Streams that are none of Python's own
    stay as they are.
    """
    if isinstance(stream, TextIOWrapper):
        codecs.register_error(_HANDLER, _replace_lost)
        stream.reconfigure(errors=_HANDLER)


def _replace_lost(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(_TWINS.get(character, "?") for character in lost), error.end
