"""Turns written out for a summariser, fitted to its window.

A summariser can only keep what it is shown, so everything is shown whole as long as it fits. When it does
not, tool output is cut first, the largest most, then arguments, then long texts, and the user's words last.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import groupby
from typing import TypeAlias, assert_never

from midfold.errors import SummaryUnavailable
from midfold.late_dataclasses import dataclass, replace
from midfold.late_patterns import compile_late
from midfold.messages import (
    Media,
    Message,
    Opaque,
    Reasoning,
    Removed,
    Text,
    ToolCall,
    ToolResult,
    pair_calls,
)
from midfold.summaries.tool_calls.output import excerpt, fit_sizes, one_line

EXCERPT_FLOOR_CHARS = 400
"""No text is cut below this while cutting others can help: its two ends still say what it was."""
MIN_CHUNK_TOKENS = 200
"""Room for a label and the ends of what it labels, in any script."""
_NOTE_CHARS = 50  # about what `excerpt` puts between two ends
_NAME_CHARS = 80
_REFERENCE_CHARS = 200
_TRIES = 4
_SHRINK = 0.9  # how much lower the next try aims: what a cut leaves is known only in proportion
_FORGED_LABEL = compile_late(r"\[(\d+)\](?= *(?:USER|ASSISTANT|SYSTEM|DEVELOPER|TOOL|CALL|RESULT|ITEM)\b)")

CountText: TypeAlias = Callable[[str], int]


class _Rank(IntEnum):
    """The order in which parts are cut."""

    OUTPUT = 0
    ARGUMENTS = 1
    TEXT = 2
    USER = 3


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of message `index`, to be written behind its label."""

    index: int
    label: str
    text: str
    rank: _Rank

    @property
    def is_long(self) -> bool:
        return len(self.text) > EXCERPT_FLOOR_CHARS

    def write(self, chars: int) -> str:
        """Write the piece with about `chars` of its text, never less than the floor."""
        return f"{self.label}{_cut(self.text, max(chars, EXCERPT_FLOOR_CHARS))}"


@dataclass(frozen=True, slots=True)
class _Measured:
    """Pieces and their tokens. Texts that are not long are never cut and only counted together."""

    pieces: Sequence[_Piece]
    sizes: Sequence[int]
    floors: Sequence[int]
    fixed: int
    """tokens of all labels and of every text that is not long"""

    @property
    def least(self) -> int:
        """The tokens of all of it with every long text cut to its floor."""
        return self.fixed + sum(self.floors)


def serialize(
    messages: Sequence[Message],
    *,
    count: CountText,
    budget_tokens: int,
    first_index: int = 0,
    redact: Callable[[str], str] = str,
) -> list[str]:
    """Write out `messages` in order, in as few chunks of at most `budget_tokens` as excerpts allow.

    Labels number the messages from `first_index` on. Thinking is left out, media become stubs. Chunks end
    between messages; a message larger than a chunk is cut. Texts go through
    `redact` before anything is cut. Raises `SummaryUnavailable` when the budget is under `MIN_CHUNK_TOKENS`.
    """
    if budget_tokens < MIN_CHUNK_TOKENS:
        raise SummaryUnavailable(f"the summariser's window leaves {budget_tokens:,} tokens for the turns")
    if not messages:
        return []
    pieces = [replace(piece, text=redact(piece.text)) for piece in _read_pieces(messages, first_index)]
    measured = _measure(pieces, count)
    fewest = max(1, -(-measured.least // budget_tokens))
    target = fewest * budget_tokens
    best: list[str] = []
    for _ in range(_TRIES):
        chunks = _pack(measured, target, count, budget_tokens)
        if not best or len(chunks) < len(best):
            best = chunks
        if len(best) == fewest or target <= measured.least:
            break
        target = int(target * _SHRINK)
    return best


def _measure(pieces: Sequence[_Piece], count: CountText) -> _Measured:
    # One token more for each, as texts may count for more together than apart.
    sizes = [count(piece.text) + 1 if piece.is_long else 0 for piece in pieces]
    floors = [
        -(-size * EXCERPT_FLOOR_CHARS // len(piece.text)) if size else 0
        for piece, size in zip(pieces, sizes, strict=True)
    ]
    rest = "\n".join([piece.label if piece.is_long else f"{piece.label}{piece.text}" for piece in pieces])
    return _Measured(pieces, sizes, floors, count(rest))


def _find_caps(measured: _Measured, target: int) -> dict[_Rank, int]:
    """Share out what is left above the floors, the user's words first: what a text of each rank may add."""
    spare = target - measured.least
    caps = {}
    for rank in reversed(_Rank):
        extras = [
            size - floor
            for piece, size, floor in zip(measured.pieces, measured.sizes, measured.floors, strict=True)
            if piece.rank is rank
        ]
        caps[rank] = fit_sizes(extras, spare)
        needed = sum(extras)
        spare = spare - needed if needed <= spare else 0
    return caps


def _write(measured: _Measured, target: int) -> list[str]:
    """Write every piece, with long texts cut so that all together take about `target` tokens."""
    caps = _find_caps(measured, target)
    return [
        piece.write(len(piece.text) * min(size, floor + caps[piece.rank]) // size if size else 0)
        for piece, size, floor in zip(measured.pieces, measured.sizes, measured.floors, strict=True)
    ]


def _pack(measured: _Measured, target: int, count: CountText, budget: int) -> list[str]:
    """Join the pieces, cut for `target`, to chunks of whole messages within the budget."""
    texts = _write(measured, target)
    if measured.least <= 2 * budget and count(whole := "\n".join(texts)) <= budget:
        return [whole]
    groups: list[list[str]] = [[]]
    used = 0
    for _, pairs in groupby(zip(measured.pieces, texts, strict=True), key=lambda pair: pair[0].index):
        pieces, written = zip(*pairs, strict=True)
        text = "\n".join(written)
        size = count(text)
        if size > budget:
            text = _write_alone(pieces, count, budget)
            size = count(text)
        if groups[-1] and used + size + 1 > budget:
            groups.append([])
            used = 0
        groups[-1].append(text)
        used += size + 1
    return [chunk for group in groups for chunk in _split(group, count, budget)]


def _write_alone(pieces: Sequence[_Piece], count: CountText, budget: int) -> str:
    """Write one message within the budget, whatever it takes."""
    whole = "\n".join(_write(_measure(pieces, count), int(budget * _SHRINK)))
    text = whole
    chars = len(whole)
    while count(text) > budget:
        chars = int(chars * _SHRINK)
        text = _cut(whole, chars) if chars > EXCERPT_FLOOR_CHARS else whole[:chars]
    return text


def _split(texts: Sequence[str], count: CountText, budget: int) -> list[str]:
    """Return the texts as one chunk, halved as often as it takes."""
    chunk = "\n".join(texts)
    if len(texts) == 1 or count(chunk) <= budget:
        return [chunk]
    middle = len(texts) // 2
    return [*_split(texts[:middle], count, budget), *_split(texts[middle:], count, budget)]


def _cut(text: str, chars: int) -> str:
    """Keep the two ends of a text, about `chars` in all."""
    kept = max(chars - _NOTE_CHARS, 0)
    return excerpt(text, kept - kept // 2, kept // 2)


def _read_pieces(messages: Sequence[Message], first_index: int) -> list[_Piece]:
    names = _name_results(messages)
    pieces: list[_Piece] = []
    for position, message in enumerate(messages):
        index = first_index + position
        read = list(_read_parts(message, index, names.get(position, {})))
        pieces += read or [_Piece(index, f"[{index}] {_speaker(message)}: ", "(nothing said)", _Rank.TEXT)]
    return pieces


def _name_results(messages: Sequence[Message]) -> dict[int, dict[int, str]]:
    """Find which tool each result is from, by message and part."""
    names: dict[int, dict[int, str]] = {}
    for call, result in pair_calls(messages).answers.items():
        part = messages[call.message].parts[call.part]
        if isinstance(part, ToolCall):
            names.setdefault(result.message, {})[result.part] = part.name
    return names


def _read_parts(message: Message, index: int, names: Mapping[int, str]) -> Iterator[_Piece]:
    said = f"[{index}] {_speaker(message)}: "
    rank = {"user": _Rank.USER, "tool": _Rank.OUTPUT}.get(message.role, _Rank.TEXT)
    for position, part in enumerate(message.parts):
        match part:
            case Text(text):
                if text.strip():
                    yield _Piece(index, said, _as_data(text), rank)
            case Media():
                yield _Piece(index, said, _stub(part), rank)
            case ToolCall(_, name, arguments):
                label = f"[{index}] CALL {one_line(name, _NAME_CHARS)} "
                yield _Piece(index, label, _as_data(arguments), _Rank.ARGUMENTS)
            case ToolResult(_, text, _, media):
                label = _label_result(index, part.name or names.get(position, ""), part)
                words = "\n".join([_as_data(text), *map(_stub, media)])
                yield _Piece(index, label, words, _Rank.OUTPUT)
            case Opaque(kind, text):
                label = f"[{index}] ITEM {one_line(kind, _NAME_CHARS)}: "
                yield _Piece(index, label, _as_data(text), _Rank.OUTPUT)
            case Reasoning() | Removed():
                pass
            case _:
                assert_never(part)


def _speaker(message: Message) -> str:
    return one_line(message.role, _NAME_CHARS).upper()


def _label_result(index: int, name: str, result: ToolResult) -> str:
    source = f" of {one_line(name, _NAME_CHARS)}" if name else ""
    failed = ", failed" if result.is_error else ""
    return f"[{index}] RESULT{source} ({len(result.text):,} chars{failed}):\n"


def _stub(media: Media) -> str:
    where = media.source if media.source.startswith(("https://", "http://")) else ""
    return f"[{one_line(' '.join([media.kind, media.mime, where]), _REFERENCE_CHARS)}]"


def _as_data(text: str) -> str:
    """Rewrite labels inside a text so that none is taken for the beginning of another turn."""
    return _FORGED_LABEL.sub(r"(\1)", text.rstrip())
