"""Files of one JSON object a line, plain or packed, read in chunks with constant memory and packed again."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO

from midfold.errors import ExtraMissing
from midfold.late_dataclasses import dataclass, field
from midfold.trajectories.chunks import MEGABYTE, Chunk, ChunkLimits, Extent, JsonLines, ListedRow, Position
from midfold.trajectories.metrics import RowStatus
from midfold.trajectories.sources import FileForm, InputFile, Sampler

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


# Level 6 takes twice the time of 3 for a twentieth less.
_GZIP_LEVEL = 3
_ZSTD_LEVEL = 3
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Above this a frame asks for memory in proportion; real files stay far below.
_ZSTD_WINDOW_BYTES = 128 * MEGABYTE
# Lines are long: with Python's 8 KB one takes a handful of reads.
_READ_BYTES = MEGABYTE // 4
# What is unpacked at once: four bytes can stand for 128 KB, so this can become 64 MB.
_ZSTD_FEED_BYTES = 2_048


class DamagedFile(Exception):
    """A packed file cannot be read any further."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """A file being read: unpacked, and as it lies on disk."""

    stream: BinaryIO
    raw: BinaryIO


@dataclass(frozen=True, slots=True)
class _Line:
    """One line and where it ends; without its words where it is too long to be held."""

    number: int
    stop: int
    words: bytes | None


@dataclass(slots=True)
class _Filling:
    """A chunk that is being filled."""

    start: int
    stop: int
    first_row: int
    rows: int = 0
    size: int = 0
    numbers: list[int] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    listed: list[ListedRow] = field(default_factory=list)


def read_lines(source: InputFile, begin: Position, sampler: Sampler, limits: ChunkLimits) -> Iterator[Chunk]:
    """Yield a file from `begin` on, at least one chunk of it; what cannot be read is listed in them."""
    filling = _Filling(begin.offset, begin.offset, begin.row)
    with _open(source, begin.offset) as opened:
        try:
            for line in _split(opened.stream, begin, limits.line_bytes):
                _take(line, filling, source, sampler, limits)
                if filling.size >= limits.chunk_bytes or filling.rows >= limits.chunk_rows:
                    yield _close(filling, source, begin.file, opened.raw.tell(), is_last=False)
                    filling = _Filling(filling.stop, filling.stop, filling.first_row + filling.rows)
        except DamagedFile as damage:
            number = filling.first_row + filling.rows
            filling.listed.append(ListedRow(source.name, number, RowStatus.REJECTED, str(damage)))
            filling.rows += 1
        yield _close(filling, source, begin.file, source.size, is_last=True)


def count_lines(source: InputFile) -> int:
    """Count the lines of a file; of a damaged one those before the damage."""
    count, last = 0, b"\n"
    with _open(source) as opened:
        try:
            while block := opened.stream.read(MEGABYTE):
                count += block.count(b"\n")
                last = block[-1:]
        except DamagedFile:
            pass
    return count + (last != b"\n")


def pack(data: bytes, form: FileForm) -> bytes:
    """Pack a chunk so that chunks can simply follow one another; only gzip can."""
    return gzip.compress(data, _GZIP_LEVEL, mtime=0) if data and form is FileForm.GZIP else data


def finish_gzip(part: Path) -> None:
    """See that a file without rows is gzip all the same."""
    if not part.stat().st_size:
        part.write_bytes(gzip.compress(b"", mtime=0))


def pack_zstd(part: Path, packed: Path) -> None:
    """Pack the chunks in `part` as a single frame: many readers stop at the end of the first."""
    packer = load_zstandard().ZstdCompressor(level=_ZSTD_LEVEL)
    with part.open("rb") as plain, packed.open("wb") as file:
        packer.copy_stream(plain, file, size=part.stat().st_size)


def _take(line: _Line, filling: _Filling, source: InputFile, sampler: Sampler, limits: ChunkLimits) -> None:
    filling.rows += 1
    filling.stop = line.stop
    if not sampler.pick(source.name, (line.number,)):
        return
    if line.words is None:
        reason = f"the line is longer than {limits.line_bytes:,} bytes"
        filling.listed.append(ListedRow(source.name, line.number, RowStatus.REJECTED, reason))
        return
    filling.numbers.append(line.number)
    filling.lines.append(line.words)
    filling.size += len(line.words)


def _close(filling: _Filling, source: InputFile, file: int, read_bytes: int, *, is_last: bool) -> Chunk:
    extent = Extent(file, filling.start, filling.stop, filling.first_row, filling.rows, is_last, read_bytes)
    lines = JsonLines(tuple(filling.numbers), tuple(filling.lines))
    return Chunk(extent, source.name, lines, tuple(filling.listed))


def _split(stream: BinaryIO, begin: Position, line_bytes: int) -> Iterator[_Line]:
    """Yield line by line. Only a line feed ends one: other separators stand inside real texts."""
    number, offset = begin.row, begin.offset
    while line := stream.readline(line_bytes + 1):
        offset += len(line)
        words: bytes | None = line.removesuffix(b"\n").removesuffix(b"\r")
        if len(line) > line_bytes and not line.endswith(b"\n"):
            words = None
            offset += _skip_line(stream)
        elif words is not None and number == 1:
            words = words.removeprefix(_BYTE_ORDER_MARK)
        yield _Line(number, offset, words)
        number += 1


def _skip_line(stream: BinaryIO) -> int:
    size = 0
    while block := stream.readline(MEGABYTE):
        size += len(block)
        if block.endswith(b"\n"):
            break
    return size


@contextmanager
def _open(source: InputFile, offset: int = 0) -> Iterator[_Opened]:
    """Open a file for reading, past the first `offset` bytes of what is in it."""
    with source.path.open("rb", _READ_BYTES) as raw:
        if source.form is FileForm.LINES:
            raw.seek(offset)
            yield _Opened(raw, raw)
            return
        with io.BufferedReader(_Unpacking(raw, source.form), MEGABYTE) as stream:
            while offset > 0 and (block := stream.read(min(offset, MEGABYTE))):
                offset -= len(block)
            yield _Opened(stream, raw)


class _Unpacking(io.RawIOBase):
    """The unpacked bytes of a file; one that is cut short or broken raises `DamagedFile`."""

    def __init__(self, raw: BinaryIO, form: FileForm) -> None:
        super().__init__()
        # What is at hand, not more: asked for more, a file that is cut short gives nothing of its last block.
        self._read: Callable[[int], bytes]
        self._failures: tuple[type[Exception], ...] = (EOFError, gzip.BadGzipFile, zlib.error)
        if form is FileForm.GZIP:
            self._read = gzip.GzipFile(fileobj=raw).read1
        else:
            zstandard = load_zstandard()
            self._read = _Frames(raw, zstandard).read1
            self._failures = (EOFError, zstandard.ZstdError)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer)
        try:
            data = self._read(len(view))
        except self._failures as error:
            raise DamagedFile(f"the file is damaged from here on: {error}") from error
        view[: len(data)] = data
        return len(data)


class _Frames:
    """The unpacked bytes of zstd frames, one after the other.

    The library's own reader takes the end of a file inside a frame for the end of the data.
    """

    def __init__(self, raw: BinaryIO, zstandard: ModuleType) -> None:
        self._raw = raw
        self._unpacker = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
        self._frame = self._unpacker.decompressobj()
        self._is_begun = False
        self._packed = b""
        self._ready = memoryview(b"")

    def read1(self, size: int) -> bytes:
        """Return what is at hand, at most `size` bytes; none at the end, `EOFError` inside a frame."""
        while not self._ready:
            self._packed = self._packed or self._raw.read(_ZSTD_FEED_BYTES)
            if not self._packed:
                if self._is_begun:
                    raise EOFError("it ends in the middle of a zstd frame")
                return b""
            self._unpack()
        data, self._ready = bytes(self._ready[:size]), self._ready[size:]
        return data

    def _unpack(self) -> None:
        self._is_begun = True
        self._ready = memoryview(self._frame.decompress(self._packed))
        self._packed = b""
        if self._frame.eof:
            self._packed = self._frame.unused_data
            self._frame = self._unpacker.decompressobj()
            self._is_begun = False


def load_zstandard() -> ModuleType:
    try:
        import zstandard
    except ImportError as error:
        raise ExtraMissing("files packed with zstd", "zstd") from error
    return zstandard
