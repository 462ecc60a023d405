"""The manifest of a run: what it is about, then a line for each chunk that is done.

A line is written after the bytes it speaks of and holds their hash. Whatever ended a run, the chunks whose
bytes are there are done, so nothing has to be synced on the way.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from decimal import Decimal
from hashlib import blake2b
from pathlib import Path

from midfold.config import Description
from midfold.errors import ConfigError, MidfoldError
from midfold.late_dataclasses import dataclass, replace
from midfold.trajectories.chunks import Extent
from midfold.trajectories.metrics import AggregateMetrics
from midfold.trajectories.runs import ChunkResult, RunTotals, SummaryBill

Header = Mapping[str, object]
_HASH_BYTES = 16
_BAD_LINE = (ValueError, TypeError, KeyError, ArithmeticError)


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """A chunk that is done: where it stood, and how many bytes of output it is, with their hash."""

    extent: Extent
    output_bytes: int
    output_hash: str
    listed_bytes: int
    listed_hash: str
    written: int
    listed: int
    metrics: AggregateMetrics
    bill: SummaryBill

    def to_line(self) -> bytes:
        """Return the line of the manifest."""
        return make_line(
            asdict(replace(self, metrics=AggregateMetrics(histograms={})))
            | {
                "metrics": _without_edges(self.metrics),
                "bill": asdict(self.bill) | {"dollars": str(self.bill.dollars)},
            }
        )

    def add_to(self, totals: RunTotals) -> None:
        """Count this chunk as done."""
        totals.position = self.extent.next
        totals.read_bytes = 0 if self.extent.is_last else self.extent.read_bytes
        totals.output_bytes += self.output_bytes
        totals.written += self.written
        totals.listed += self.listed
        totals.metrics.merge(self.metrics)
        totals.bill += self.bill


def make_entry(finished: ChunkResult) -> ManifestEntry:
    """Describe a chunk that came back."""
    listed = make_listed_lines(finished)
    return ManifestEntry(
        finished.extent,
        len(finished.output),
        _hash(finished.output),
        len(listed),
        _hash(listed),
        finished.written,
        len(finished.listed),
        finished.metrics,
        finished.bill,
    )


def make_listed_lines(finished: ChunkResult) -> bytes:
    """Return a line for each row of a chunk that somebody should know about."""
    return b"".join(make_line(asdict(each)) for each in finished.listed)


def make_line(values: Mapping[str, object]) -> bytes:
    """Return a line of JSON."""
    return json.dumps(values, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def add_up(manifest: Path) -> RunTotals:
    """Put together what a manifest says is done."""
    totals = RunTotals()
    for line in _read_lines(manifest):
        line.entry.add_to(totals)
    return totals


def restore(manifest: Path, parts: Callable[[int], Path], listed: Path) -> RunTotals:
    """Keep the chunks whose bytes are there, cut off whatever follows, and put together what is done.

    `parts` says where the output of a file is collected.
    """
    totals = RunTotals()
    sizes = {listed: 0}
    kept_bytes = _header_bytes(manifest)
    for line in _read_lines(manifest):
        entry, part = line.entry, parts(line.entry.extent.file)
        is_next = (entry.extent.file, entry.extent.start) == (totals.position.file, totals.position.offset)
        if not (
            is_next
            and _holds(part, sizes.get(part, 0), entry.output_bytes, entry.output_hash)
            and _holds(listed, sizes[listed], entry.listed_bytes, entry.listed_hash)
        ):
            break
        sizes[part] = sizes.get(part, 0) + entry.output_bytes
        sizes[listed] += entry.listed_bytes
        kept_bytes = line.stop
        entry.add_to(totals)
    os.truncate(manifest, kept_bytes)
    for path in manifest.parent.glob("*.part"):
        os.truncate(path, sizes.get(path, 0))
    return totals


def check_sizes(manifest: Path, parts: Callable[[int], Path], listed: Path) -> None:
    """Raise `MidfoldError` where a part holds more or less than the chunks that are done."""
    sizes = {listed: 0}
    for line in _read_lines(manifest):
        part = parts(line.entry.extent.file)
        sizes[part] = sizes.get(part, 0) + line.entry.output_bytes
        sizes[listed] += line.entry.listed_bytes
    for path, size in sizes.items():
        held = path.stat().st_size
        if held != size:
            raise MidfoldError(f"{path} holds {held:,} bytes, not {size:,}; continue with --resume")


def check_header(manifest: Path, header: Header) -> None:
    """Raise `ConfigError` where a manifest is about something else than this run."""
    with manifest.open("rb") as file:
        begun = json.loads(file.readline())
    for key, value in header.items():
        if begun.get(key) != value:
            hint = (
                f"what the run was begun with, or another OUT; {manifest.parent} has work that does not fit"
            )
            shown = Description("not what it was") if isinstance(value, list | dict) else value
            raise ConfigError(key, shown, hint=hint)


@dataclass(frozen=True, slots=True)
class _Line:
    """An entry, and where its line ends in the manifest."""

    entry: ManifestEntry
    stop: int


def _header_bytes(manifest: Path) -> int:
    with manifest.open("rb") as file:
        return len(file.readline())


def _read_lines(manifest: Path) -> Iterator[_Line]:
    """Yield the lines behind the first; one that is cut or broken ends them."""
    with manifest.open("rb") as file:
        stop = len(file.readline())
        for line in file:
            entry = _read_entry(line)
            if entry is None:
                return
            stop += len(line)
            yield _Line(entry, stop)


def _read_entry(line: bytes) -> ManifestEntry | None:
    if not line.endswith(b"\n"):
        return None
    try:
        values = json.loads(line)
        bill = SummaryBill(**{**values["bill"], "dollars": Decimal(values["bill"]["dollars"])})
        return ManifestEntry(
            **{
                **values,
                "extent": Extent(**values["extent"]),
                "metrics": AggregateMetrics.from_dict(values["metrics"]),
                "bill": bill,
            }
        )
    except _BAD_LINE:
        return None


def _without_edges(metrics: AggregateMetrics) -> dict[str, object]:
    """Leave out what is the same in every line."""
    counts = {name: {"counts": histogram.counts} for name, histogram in metrics.histograms.items()}
    return metrics.to_dict() | {"histograms": counts}


def _hash(data: bytes) -> str:
    return blake2b(data, digest_size=_HASH_BYTES).hexdigest()


def _holds(path: Path, start: int, size: int, expected: str) -> bool:
    try:
        with path.open("rb") as file:
            file.seek(start)
            return _hash(file.read(size)) == expected
    except FileNotFoundError:
        return False
