"""Conversations to measure with: found, read, counted and indexed once, whatever is done to them then."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from midfold.errors import MidfoldError, UnreadableTranscript
from midfold.evaluation.probes import Probe, derive_probes, read_probes
from midfold.evaluation.texts import SourceTexts, index_source
from midfold.late_dataclasses import dataclass
from midfold.messages import Message, Pairing, pair_calls
from midfold.tokens import TokenCounter
from midfold.transcripts import load_transcript
from midfold.wire import Request, parse
from midfold.wire.validate import find_errors

_ENDINGS = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
_LEADING_ROLES = ("system", "developer")


@dataclass(frozen=True, slots=True)
class MeasuredConversation:
    """A transcript with all that the measures need to know of it."""

    name: str
    request: Request
    messages: tuple[Message, ...]
    sizes: tuple[int, ...]
    overhead_tokens: int
    """system prompt and tools that travel beside the messages"""
    count: TokenCounter
    counting_ms: float
    """processor time for reading and counting it once"""
    pairing: Pairing
    source: SourceTexts
    probes: tuple[Probe, ...]

    @property
    def tokens(self) -> int:
        return self.overhead_tokens + sum(self.sizes)

    @property
    def lead(self) -> int:
        """The number of system messages at the start."""
        return next(
            (index for index, message in enumerate(self.messages) if message.role not in _LEADING_ROLES),
            len(self.messages),
        )

    @property
    def whole_cuts(self) -> list[int]:
        """The indices, up to the end, before which every call that is answered has its answer."""
        cuts = set(range(len(self.messages) + 1))
        for call, result in self.pairing.answers.items():
            cuts.difference_update(range(call.message + 1, result.message + 1))
        return sorted(cuts)

    def ceiling(self, ratio: float) -> int:
        """Return the tokens that a compression to `ratio` may take."""
        return max(1, int(self.tokens * ratio))

    def find_errors(self, items: Sequence[object]) -> list[str]:
        """Return the codes of the provider's rules that a list of this conversation breaks."""
        request = self.request
        found = find_errors(items, dialect=request.dialect, system=request.system, tools=request.tools)
        return [error.code for error in found]

    def must_keep_tokens(self) -> int:
        """Count the tokens of system prompt, tools and all must-keep strings, once each."""
        answers = dict.fromkeys(probe.answer for probe in self.probes if probe.must_keep)
        system = self.overhead_tokens + sum(self.sizes[: self.lead])
        return system + sum(map(self.count.count_text, answers))


@dataclass(frozen=True, slots=True)
class Unusable:
    """A file that cannot be measured with, and why."""

    path: Path
    reason: str


def find_transcripts(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the files, and the transcripts in the folders, in order; folders are not searched further."""
    for path in paths:
        if path.is_dir():
            yield from sorted(
                found for found in path.iterdir() if found.is_file() and found.name.endswith(_ENDINGS)
            )
        else:
            yield path


def load_conversation(path: Path, probes_dir: Path | None = None) -> MeasuredConversation | Unusable:
    """Read a transcript with its probes, which are derived where no file has them.

    Probes lie in `probes_dir`, or else in the folder `probes` beside that of the transcript.
    """
    try:
        request = load_transcript(path).request
        name = name_transcript(path)
        listed = (probes_dir or path.resolve().parent.parent / "probes") / f"{name}.json"
        return make_conversation(name, request, read_probes(listed) if listed.is_file() else None)
    except UnreadableTranscript as error:
        return Unusable(path, error.reason)
    except MidfoldError as error:
        return Unusable(path, str(error))


def make_conversation(
    name: str, request: Request, probes: Sequence[Probe] | None = None
) -> MeasuredConversation:
    """Count and index a conversation; without `probes` they are derived from it."""
    count = TokenCounter(request.counted_as)
    count.count_text(name)  # the vocabulary is loaded by the first text, and its time is nobody's
    started = time.process_time()
    messages = tuple(parse(request.messages, request.dialect))
    sizes = tuple(map(count, messages))
    overhead = count.count_text(request.system_text) + count.count_tools(request.tools or ())
    counting_ms = (time.process_time() - started) * 1000
    return MeasuredConversation(
        name=name,
        request=request,
        messages=messages,
        sizes=sizes,
        overhead_tokens=overhead,
        count=count,
        counting_ms=counting_ms,
        pairing=pair_calls(messages),
        source=index_source(messages, request.system_text),
        probes=tuple(derive_probes(messages) if probes is None else probes),
    )


def name_transcript(path: Path) -> str:
    """Return the name of a transcript: that of its file, without the ending."""
    ending = next((ending for ending in reversed(_ENDINGS) if path.name.endswith(ending)), "")
    return path.name.removesuffix(ending)
