"""The rules of Anthropic Messages: AN1 to AN25.

Consecutive messages of one role are one turn to the server, so results are paired by turn. A `system`
entry among the messages, as Claude Code sends it, belongs to no turn and does not end one.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from midfold.late_dataclasses import dataclass
from midfold.ports import Fault
from midfold.wire.dialect import Item, describe
from midfold.wire.validate.anthropic_blocks import (
    THINKING,
    Block,
    check_blocks,
    check_markers,
    check_sizes,
    read_blocks,
    read_inner,
)
from midfold.wire.validate.profiles import (
    BEDROCK_MODELS,
    STILL_WAITING,
    Outgoing,
    Profile,
    Rules,
    read_text,
    shown,
)


class _Turn(NamedTuple):
    """Messages of one role in a row, as the server joins them."""

    role: str
    start: int
    blocks: list[Block]

    @property
    def hands_over_results(self) -> bool:
        return any(block.kind == "tool_result" for block in self.blocks)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The messages, taken apart once for all checks."""

    roles: list[str]
    blocks: list[Block]
    inner: list[Block]
    """The blocks inside tool results."""
    turns: list[_Turn]


def check(outgoing: Outgoing) -> Iterator[Fault]:
    reading = _read(outgoing.messages)
    yield from _refused(outgoing, reading)
    if outgoing.enforce:
        yield from _stricter(outgoing, reading)


def _refused(outgoing: Outgoing, reading: _Reading) -> Iterator[Fault]:
    messages, profile = outgoing.messages, outgoing.profile
    if not messages:
        yield Fault("AN1", None, "there are no messages")
    for index, message in enumerate(messages):
        if isinstance(message, dict):
            is_last = index == len(messages) - 1
            yield from _check_message(index, reading.roles[index], message, is_last=is_last)
        else:
            yield Fault("AN3", index, f"expected an object with a role, found {describe(message)}")
    yield from check_blocks(reading.blocks, profile)
    yield from check_sizes([*reading.blocks, *reading.inner], profile)
    yield from _check_request(outgoing, reading)
    yield from _check_turns(reading.turns, profile)
    if outgoing.thinking:
        yield from _check_tool_loop(reading.turns)
    if profile.alternates:
        yield from _check_alternation(reading.roles)


def _stricter(outgoing: Outgoing, reading: _Reading) -> Iterator[Fault]:
    """Name what only we refuse, and warn of what depends on the model or the route."""
    profile = outgoing.profile
    if not profile.alternates:
        yield from _check_alternation(reading.roles)
    yield from _check_system_entries(outgoing.messages, reading)
    yield from _check_prefill(reading)
    if not profile.needs_tools and _lacks_tools(outgoing, reading):
        yield Fault("AN20", None, "some routes want tools offered when the history has calls", "warning")
    for block in reading.blocks:
        call_id = read_text(block.item, "id") if block.kind == "tool_use" else None
        if call_id is not None and len(call_id) > profile.id_chars_advised:
            reason = f"the call id {shown(call_id)} is longer than {profile.id_chars_advised}"
            yield Fault("AN11", block.message, reason, "warning")
    images = sum(block.kind == "image" for block in (*reading.blocks, *reading.inner))
    if images > profile.images_max:
        yield Fault("AN24", None, f"{images} images; some routes take {profile.images_max}", "warning")


def _read(messages: Sequence[object]) -> _Reading:
    reading = _Reading([], [], [], [])
    turns = reading.turns
    for index, message in enumerate(messages):
        item = message if isinstance(message, dict) else {}
        role = read_text(item, "role") or ""
        blocks = read_blocks(index, role, item.get("content"))
        reading.roles.append(role)
        reading.blocks.extend(blocks)
        if turns and turns[-1].role == role:
            turns[-1].blocks.extend(blocks)
        elif role in ("user", "assistant"):
            turns.append(_Turn(role, index, blocks))
    for block in reading.blocks:
        if block.kind == "tool_result":
            reading.inner.extend(read_inner(block))
    return reading


def _check_message(index: int, role: str, message: Item, *, is_last: bool) -> Iterator[Fault]:
    content = message.get("content")
    if role not in ("user", "assistant", "system"):
        found = shown(role) if role else describe(message.get("role"))
        yield Fault("AN3", index, f"the role is {found}; expected user or assistant")
    if role == "system":
        if _is_directive(message):
            return
        if index == 0:
            yield Fault("AN3", index, "the system prompt is a field of the request, not a message")
    if message.get("name") is not None:
        yield Fault("AN3", index, "a message has no name here")
    if not isinstance(content, (str, list, tuple)):
        yield Fault("AN4", index, f"content is {describe(content)}; expected text or a list of blocks")
    elif not content and not (is_last and role == "assistant"):
        yield Fault("AN4", index, "content is empty; only a final assistant message may be")


def _is_directive(message: object) -> bool:
    """Recognise a system entry that sets options and says nothing, which may stand anywhere."""
    if not isinstance(message, dict) or message.get("content"):
        return False
    return isinstance(message.get("output_config"), dict)


def _check_request(outgoing: Outgoing, reading: _Reading) -> Iterator[Fault]:
    """Check the system prompt, and what is counted over it, the tools and the messages."""
    profile = outgoing.profile
    system = read_blocks(None, "system", None if isinstance(outgoing.system, str) else outgoing.system)
    yield from check_blocks(system, profile)
    everything = (*system, *reading.blocks, *reading.inner)
    marked = [block for block in everything if block.item.get("cache_control") is not None]
    yield from check_markers(marked)
    tools = [tool for tool in outgoing.tools or () if isinstance(tool, dict)]
    markers = len(marked) + sum(tool.get("cache_control") is not None for tool in tools)
    if markers > profile.cache_markers_max:
        yield Fault("AN19", None, f"{markers} cache markers; the limit is {profile.cache_markers_max}")
    if profile.needs_tools and _lacks_tools(outgoing, reading):
        yield Fault("AN20", None, "the history has tool calls, so the request must offer tools")


def _lacks_tools(outgoing: Outgoing, reading: _Reading) -> bool:
    has_calls = any(block.kind in ("tool_use", "tool_result") for block in reading.blocks)
    return has_calls and outgoing.tools == []


def _check_turns(turns: Sequence[_Turn], profile: Profile) -> Iterator[Fault]:
    if turns and turns[0].role != "user":
        yield Fault("AN2", turns[0].start, "the first message must be the user's")
    yield from _check_pairing(turns)
    yield from _check_server_tools(turns)
    for turn in turns:
        if turn.role == "user":
            yield from _check_result_order(turn, profile)
        elif turn.blocks and turn.blocks[-1].kind in THINKING:
            yield Fault("AN17", turn.blocks[-1].message, "an assistant message must not end in thinking")


def _check_pairing(turns: Sequence[_Turn]) -> Iterator[Fault]:
    """Match each result to a call of the turn directly before it."""
    seen: set[str] = set()
    calls: dict[str, int | None] = {}
    for turn in turns:
        if turn.role == "user":
            yield from _check_results(turn, calls)
            calls = {}
            continue
        for block in turn.blocks:
            if block.kind == "tool_use" and (call_id := read_text(block.item, "id")) is not None:
                if call_id in seen:
                    yield Fault("AN12", block.message, f"the call id {shown(call_id)} was used before")
                seen.add(call_id)
                calls[call_id] = block.message
    for call_id, index in calls.items():
        yield Fault("AN7", index, f"the call {shown(call_id)} {STILL_WAITING}")


def _check_results(turn: _Turn, calls: Mapping[str, int | None]) -> Iterator[Fault]:
    """Check the results of one turn against the calls of the turn before, given with their messages."""
    answered: set[str] = set()
    for block in turn.blocks:
        if block.kind != "tool_result":
            continue
        call_id = read_text(block.item, "tool_use_id")
        if call_id is None:
            yield Fault("AN6", block.message, "a tool_result has no tool_use_id")
        elif call_id not in calls:
            yield Fault("AN6", block.message, f"no call {shown(call_id)} in the message before this result")
        elif call_id in answered:
            yield Fault("AN8", block.message, f"the call {shown(call_id)} already has its result")
        else:
            answered.add(call_id)
    for call_id, index in calls.items():
        if call_id not in answered:
            yield Fault("AN7", index, f"the call {shown(call_id)} has no result in the next message")


def _check_result_order(turn: _Turn, profile: Profile) -> Iterator[Fault]:
    has_text = False
    has_result = False
    for block in turn.blocks:
        if block.kind == "tool_result":
            has_result = True
            if has_text:
                yield Fault("AN15", block.message, "tool results must come before any text of the message")
        elif block.kind == "text":
            has_text = True
            if has_result and not profile.text_beside_results:
                yield Fault("AN15", block.message, "text must not stand beside tool results")


def _check_server_tools(turns: Sequence[_Turn]) -> Iterator[Fault]:
    """Check the tools that the provider runs itself.

    Their result may come in a later turn while client tools run in between, and a call at the end is a
    paused one; it is lost only once the user speaks again.
    """
    known: set[str | None] = set()
    waiting: dict[str | None, Block] = {}
    for turn in turns:
        if waiting and turn.role == "user" and not turn.hands_over_results:
            for block in waiting.values():
                yield Fault("AN23", block.message, f"a {block.kind} has no result")
            waiting = {}
        for block in turn.blocks:
            if block.kind.endswith("_tool_use"):
                call_id = read_text(block.item, "id")
                known.add(call_id)
                waiting[call_id] = block
            elif block.kind.endswith("_tool_result"):
                call_id = read_text(block.item, "tool_use_id")
                waiting.pop(call_id, None)
                if call_id not in known:
                    yield Fault("AN23", block.message, f"no server tool call before this {block.kind}")


def _check_tool_loop(turns: Sequence[_Turn]) -> Iterator[Fault]:
    """With thinking on, the loop that still runs must begin with the thinking that led to it.

    Later calls of a loop may come without: only some models think between calls.
    """
    opening: _Turn | None = None
    for turn in turns:
        if turn.role == "user" and not turn.hands_over_results:
            opening = None
        elif turn.role == "assistant" and opening is None:
            opening = turn
    still_runs = bool(turns) and turns[-1].hands_over_results
    if opening is None or not still_runs or not opening.blocks:
        return
    kind = opening.blocks[0].kind
    if kind not in THINKING:
        yield Fault("AN18", opening.start, f"the running tool loop must begin with thinking, not with {kind}")


def _check_alternation(roles: Sequence[str]) -> Iterator[Fault]:
    spoken = [(index, role) for index, role in enumerate(roles) if role in ("user", "assistant")]
    for (_, previous), (index, role) in pairwise(spoken):
        if role == previous:
            yield Fault("AN25", index, f"the server joins two {role} messages in a row; send them as one")


def _check_system_entries(messages: Sequence[object], reading: _Reading) -> Iterator[Fault]:
    """Check where system entries stand: after the user's words and before the answer to them."""
    last_kind = {block.message: block.kind for block in reading.blocks}
    may_follow = False
    entries: list[int] = []
    for index, role in enumerate(reading.roles):
        if role != "system":
            yield from _judge_entries(entries, is_well_placed=may_follow and role == "assistant")
            may_follow = role == "user" or last_kind.get(index, "").endswith("_tool_result")
            entries = []
        elif index > 0 and not _is_directive(messages[index]):
            entries.append(index)
    yield from _judge_entries(entries, is_well_placed=may_follow)


def _judge_entries(entries: Sequence[int], *, is_well_placed: bool) -> Iterator[Fault]:
    for index in entries:
        if is_well_placed:
            yield Fault("AN3", index, "older models and other routes refuse system entries", "warning")
        else:
            yield Fault("AN3", index, "a system entry must stand between the user and the answer")


def _check_prefill(reading: _Reading) -> Iterator[Fault]:
    if not reading.roles or reading.roles[-1] != "assistant":
        return
    index = len(reading.roles) - 1
    yield Fault("AN21", index, "newer models refuse a list that ends with the assistant", "warning")
    blocks = reading.turns[-1].blocks
    text = read_text(blocks[-1].item, "text") if blocks else None
    if text is not None and text != text.rstrip():
        yield Fault("AN22", index, "the begun answer ends in white space", "warning")


# GPT in this dialect stays out: a translator stands between, and the name of the model does not say which
# rules it keeps.
RULES = Rules(
    check,
    not_a_list="AN1",
    profile="anthropic",
    profiles_by_model={
        BEDROCK_MODELS: "bedrock",
        r"(.*/)?deepseek-": "deepseek",
        r"(.*/)?(kimi|moonshot)-": "kimi",
        r"(.*/)?minimax-": "minimax",
    },
)
