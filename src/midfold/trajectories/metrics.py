"""Metrics of one trajectory, and of all of them together.

Sums are whole numbers and the edges of a histogram are fixed, so results of any number of workers are put
together in any order and come out the same.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import TypeAlias

from midfold.late_dataclasses import dataclass, field, fields, replace

Turn: TypeAlias = dict[str, object]
"""A turn in ShareGPT form; keys other than `from` and `value` are carried along."""


class RowStatus(StrEnum):
    """The outcome of a row."""

    COMPRESSED = "compressed"
    SKIPPED = "skipped"
    """it fits as it is"""
    OVER_LIMIT = "over_limit"
    """larger than the target, whatever was folded"""
    KEPT = "kept"
    """a summary failed or came too late; the trajectory is as it was"""
    REJECTED = "rejected"
    """there is no trajectory in it"""


@dataclass(frozen=True, slots=True)
class TrajectoryMetrics:
    """The outcome of one trajectory. The indices are those of the turns that came in."""

    original_tokens: int
    original_turns: int
    compressed_tokens: int
    compressed_turns: int
    turns_compressed_start_idx: int | None = None
    turns_compressed_end_idx: int | None = None
    """the turn after the last one that was folded"""
    turns_in_compressed_region: int = 0
    """how many were folded; those that are protected lie between some of them"""
    was_compressed: bool = False
    still_over_limit: bool = False
    skipped_under_target: bool = False
    passes: int = 0
    summary_tokens: int = 0
    summarizer: str | None = None
    """`digest` or `model`"""
    summarizer_calls: int = 0
    summarizer_errors: int = 0
    failure: str | None = None
    """why there is no summary by a model, where there should be one"""

    @property
    def tokens_saved(self) -> int:
        return self.original_tokens - self.compressed_tokens

    @property
    def turns_removed(self) -> int:
        return self.original_turns - self.compressed_turns

    @property
    def compression_ratio(self) -> float:
        """Return what is left, as a part of what there was: 1.0 where nothing was done."""
        return self.compressed_tokens / self.original_tokens if self.original_tokens else 1.0

    def to_dict(self) -> dict[str, object]:
        """Return everything as JSON takes it."""
        return {
            **asdict(self),
            "tokens_saved": self.tokens_saved,
            "turns_removed": self.turns_removed,
            "compression_ratio": self.compression_ratio,
        }


@dataclass(frozen=True, slots=True)
class CompressedTrajectory:
    """A trajectory as it comes out, and what was done to it."""

    turns: list[Turn]
    metrics: TrajectoryMetrics


# Four to an octave, from 64 tokens to a million; finer where most windows lie.
_TOKEN_EDGES = tuple(round(2 ** (power / 4)) for power in range(6 * 4, 20 * 4 + 1))
_PART_EDGES = tuple(twentieth / 20 for twentieth in range(21))
_MOST_NAMES = 20
_OTHER_NAMES = "others"
_TURN_EDGES = (0, 1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 90, 135, 200, 300, 450, 700, 1_000, 10_000)


@dataclass(slots=True)
class Histogram:
    """Counts between edges: `edges[n] <= value < edges[n + 1]`; what lies beyond is in the outermost bin."""

    edges: list[float]
    counts: list[int]

    @classmethod
    def empty(cls, edges: Sequence[float]) -> "Histogram":
        return cls(list(edges), [0] * (len(edges) - 1))

    def add(self, value: float) -> None:
        index = bisect_right(self.edges, value) - 1
        self.counts[min(max(index, 0), len(self.counts) - 1)] += 1

    def merge(self, other: "Histogram") -> None:
        self.counts = [mine + its for mine, its in zip(self.counts, other.counts, strict=True)]


def _empty_histograms() -> dict[str, Histogram]:
    return {
        "tokens_before": Histogram.empty(_TOKEN_EDGES),
        "tokens_after": Histogram.empty(_TOKEN_EDGES),
        "compression_ratio": Histogram.empty(_PART_EDGES),
        "turns_removed": Histogram.empty(_TURN_EDGES),
    }


@dataclass(slots=True)
class AggregateMetrics:
    """The outcomes of many trajectories, in a fixed amount of memory."""

    rows: int = 0
    """all of them, rejected ones too"""
    compressed: int = 0
    skipped: int = 0
    kept: int = 0
    """left as they were because a summary failed"""
    over_limit: int = 0
    """larger than the target all the same; those that were kept are not counted again"""
    rejected: int = 0
    original_tokens: int = 0
    compressed_tokens: int = 0
    original_turns: int = 0
    compressed_turns: int = 0
    folded_turns: int = 0
    summary_tokens: int = 0
    passes: int = 0
    summarizer_calls: int = 0
    summarizer_errors: int = 0
    digests: int = 0
    """summaries that the built-in digest wrote"""
    losses: dict[str, int] = field(default_factory=dict)
    """what conversions to ShareGPT could not say, by its kind"""
    unknown_speakers: dict[str, int] = field(default_factory=dict)
    """turns of those who are neither system, human, model nor tool"""
    histograms: dict[str, Histogram] = field(default_factory=_empty_histograms)

    @property
    def tokens_saved(self) -> int:
        return self.original_tokens - self.compressed_tokens

    @property
    def turns_removed(self) -> int:
        return self.original_turns - self.compressed_turns

    @property
    def compression_ratio(self) -> float:
        """Return what is left of all tokens, as a part of what there was."""
        return self.compressed_tokens / self.original_tokens if self.original_tokens else 1.0

    def add(self, metrics: TrajectoryMetrics) -> None:
        """Take in one trajectory."""
        is_kept = metrics.failure is not None and not metrics.was_compressed
        self.rows += 1
        self.compressed += metrics.was_compressed
        self.skipped += metrics.skipped_under_target
        self.kept += is_kept
        self.over_limit += metrics.still_over_limit and not is_kept
        self.original_tokens += metrics.original_tokens
        self.compressed_tokens += metrics.compressed_tokens
        self.original_turns += metrics.original_turns
        self.compressed_turns += metrics.compressed_turns
        self.folded_turns += metrics.turns_in_compressed_region
        self.summary_tokens += metrics.summary_tokens
        self.passes += metrics.passes
        self.summarizer_calls += metrics.summarizer_calls
        self.summarizer_errors += metrics.summarizer_errors
        self.digests += metrics.summarizer == "digest"
        self.histograms["tokens_before"].add(metrics.original_tokens)
        self.histograms["tokens_after"].add(metrics.compressed_tokens)
        if metrics.was_compressed:
            self.histograms["compression_ratio"].add(metrics.compression_ratio)
            self.histograms["turns_removed"].add(metrics.turns_removed)

    def add_remarks(self, losses: Iterable[str], speakers: Iterable[str]) -> None:
        """Take in what a conversion lost, and turns of unknown speakers."""
        _count_in(self.losses, Counter(losses))
        _count_in(self.unknown_speakers, Counter(speakers))

    def add_rejected(self, count: int = 1) -> None:
        """Take in rows that hold no trajectory."""
        self.rows += count
        self.rejected += count

    def merge(self, other: "AggregateMetrics") -> None:
        """Take in all that another one has seen."""
        for each in fields(self):
            if each.type is int:
                setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))
        _count_in(self.losses, other.losses)
        _count_in(self.unknown_speakers, other.unknown_speakers)
        for name, histogram in self.histograms.items():
            histogram.merge(other.histograms[name])

    def to_dict(self) -> dict[str, object]:
        """Return everything as JSON takes it; `from_dict` takes it back."""
        histograms = {
            name: {"edges": histogram.edges, "counts": histogram.counts}
            for name, histogram in self.histograms.items()
        }
        return {
            **asdict(replace(self, histograms={})),  # which would copy them number by number
            "histograms": histograms,
            "tokens_saved": self.tokens_saved,
            "turns_removed": self.turns_removed,
            "compression_ratio": self.compression_ratio,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> "AggregateMetrics":
        """Read what `to_dict` wrote."""
        sums = {each.name: values[each.name] for each in fields(cls) if each.name != "histograms"}
        aggregate = cls(**sums)  # type: ignore[arg-type]  # whole numbers, as they were written
        written = values.get("histograms")
        for name, histogram in aggregate.histograms.items():
            shown = written.get(name) if isinstance(written, Mapping) else None
            counts = shown.get("counts") if isinstance(shown, Mapping) else None
            if isinstance(counts, list) and len(counts) == len(histogram.counts):
                histogram.counts = [int(count) for count in counts]
        return aggregate


def _count_in(counts: dict[str, int], more: Mapping[str, int]) -> None:
    """Add up by name; in data made for it every name is another, so that the later ones go together."""
    for name, count in more.items():
        known = name if name in counts or len(counts) < _MOST_NAMES else _OTHER_NAMES
        counts[known] = counts.get(known, 0) + count
