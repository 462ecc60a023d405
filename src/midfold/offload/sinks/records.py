"""The file of an offloaded text: the text itself, then a line that describes it, then a seal.

    the text, in chunks of CHUNK_CHARS characters, as UTF-8
    {"owner": …, "key": …, "chunks": [[end of the first in bytes, line breaks up to there, SHA-256], …], …}
    length and digest of the line above

So a part is found without reading what is before it, and whatever is read is known to be what was written.
The name of the file follows from owner, key and content: one that was moved or changed does not fit it.
"""

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from itertools import accumulate

from midfold.files import open_to_read
from midfold.late_dataclasses import dataclass
from midfold.offload.names import digest_of, is_reference, name_output
from midfold.offload.outputs import OutputInfo, count_breaks, describe, shown_tool
from midfold.offload.safe_text import SafeText

SUFFIX = ".txt"
_SEAL_BYTES = 8 + 1 + 64 + 1
# No line is longer that describes a text within any quota.
_MAX_DESCRIPTION_BYTES = 16 << 20
_READ_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
)


@dataclass(frozen=True, slots=True)
class OutputRecord:
    """A text that is ready to be written: the parts of its file, one behind the other."""

    reference: str
    parts: tuple[bytes, ...]

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return sum(map(len, self.parts))


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Where a chunk ends, in bytes and in line breaks from the start of the text."""

    end: int
    lines: int
    digest: str


def make_record(
    owner: str, key: SafeText, text: SafeText, *, tool: SafeText, at_seconds: float, store: str = ""
) -> OutputRecord:
    """Lay out a text as its file; `store` is where its session is kept, empty where nobody keeps it."""
    ends = accumulate(map(len, text.chunks))
    breaks = count_breaks(text.chunks)
    digests = [sha256(chunk).hexdigest() for chunk in text.chunks]
    key_digest, name = digest_of(key), shown_tool(tool)
    reference = name_output(owner, key_digest, name, digest_of(*digests))
    info = describe(reference, text, breaks=breaks[-1], tool=name, call_id=key, at_seconds=at_seconds)
    description = {
        "version": 1,
        "owner": owner,
        "store": store,
        "key": key_digest,
        "tool": info.tool,
        "call_id": info.call_id,
        "at_seconds": at_seconds,
        "chars": info.chars,
        "lines": info.lines,
        "first_line": info.first_line,
        "chunks": list(zip(ends, breaks[1:], digests, strict=True)),
    }
    line = json.dumps(description, separators=(",", ":")).encode()
    seal = f"{len(line):08x} {sha256(line).hexdigest()}\n".encode()
    return OutputRecord(reference, (*text.chunks, b"\n", line, b"\n", seal))


class FileOutput:
    """A kept text in an open file; every chunk is checked as it is read."""

    def __init__(self, descriptor: int, info: OutputInfo, chunks: list[_Chunk]) -> None:
        self._descriptor = descriptor
        self._chunks = chunks
        self.info = info
        self.lines_before = [0, *(chunk.lines for chunk in chunks[:-1])] if chunks else []

    def chunk(self, number: int) -> str:
        """Return one chunk of the text."""
        start = self._chunks[number - 1].end if number else 0
        chunk = self._chunks[number]
        data = os.pread(self._descriptor, chunk.end - start, start)
        if sha256(data).hexdigest() != chunk.digest:
            raise _damaged(self.info.reference)
        return data.decode()


@contextmanager
def open_record(directory: int, reference: str, owner: str) -> Iterator[FileOutput]:
    """Open an offloaded text: `FileNotFoundError` where the owner has none, `EBADMSG` where it is damaged."""
    if not is_reference(reference):
        raise _missing(reference)
    with open_to_read(reference + SUFFIX, folder=directory, flags=_READ_FLAGS) as descriptor:
        yield _read_record(descriptor, reference, owner)


def read_store(directory: int, name: str) -> str | None:
    """Return the store of the session of a file; `None` for a file that is none of ours, or damaged.

    Nothing is said about whose session it is: this is for those who clear up.
    """
    reference = name.removesuffix(SUFFIX)
    if name == reference or not is_reference(reference):
        return None
    try:
        with open_to_read(name, folder=directory, flags=_READ_FLAGS) as descriptor:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
                return None
            found = json.loads(_read_description(descriptor, status.st_size))
            digest = digest_of(*(chunk[2] for chunk in found["chunks"]))
            is_ours = name_output(found["owner"], found["key"], found["tool"], digest) == reference
            return str(found.get("store", "")) if is_ours else None
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None


def _read_record(descriptor: int, reference: str, owner: str) -> FileOutput:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        raise _missing(reference)
    try:
        description = _read_description(descriptor, status.st_size)
        found = json.loads(description)
        chunks = [_Chunk(*chunk) for chunk in found["chunks"]]
        digest = digest_of(*(chunk.digest for chunk in chunks))
        if found["owner"] != owner:
            raise _missing(reference)
        if name_output(owner, found["key"], found["tool"], digest) != reference:
            raise _damaged(reference)
        info = OutputInfo(
            reference,
            found["tool"],
            found["call_id"],
            found["at_seconds"],
            found["chars"],
            found["lines"],
            found["first_line"],
        )
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(reference) from error
    return FileOutput(descriptor, info, chunks)


def _read_description(descriptor: int, size: int) -> bytes:
    """Return the line that describes the text, if the seal behind it fits."""
    length_text, _, digest = os.pread(descriptor, _SEAL_BYTES, max(size - _SEAL_BYTES, 0)).partition(b" ")
    length = int(length_text, 16)
    start = size - _SEAL_BYTES - 1 - length
    if not 0 < length <= _MAX_DESCRIPTION_BYTES or start < 0:
        raise ValueError(length)
    description = os.pread(descriptor, length, start)
    if sha256(description).hexdigest().encode() != digest.strip():
        raise ValueError(digest)
    return description


def _missing(reference: str) -> OSError:
    return FileNotFoundError(errno.ENOENT, "no such output in this session", reference)


def _damaged(reference: str) -> OSError:
    return OSError(errno.EBADMSG, "the kept output is damaged", reference)
