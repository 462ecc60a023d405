"""Which turns of a trajectory stay, and which are folded.

Turns go in groups: a call is never parted from its responses, and a group with a protected turn in it stays
whole. What is left is folded from its start, as little of it as it takes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from midfold.folding import Span, legal_cuts
from midfold.messages import SYSTEM_ROLES, Message, Pairing
from midfold.trajectories.config import CompressionConfig

_KNOWN_ROLES = frozenset([*SYSTEM_ROLES, "user", "assistant", "tool"])


@dataclass(frozen=True, slots=True)
class Group:
    """Turns that stay or go together."""

    span: Span
    tokens: int
    is_protected: bool
    opens_with_user: bool
    ends_with_user: bool


def group_turns(
    messages: Sequence[Message], pairing: Pairing, sizes: Sequence[int], config: CompressionConfig
) -> tuple[Group, ...]:
    """Part a trajectory into groups, and mark those that must stay."""
    protected = find_protected(messages, config)
    return tuple(
        Group(
            span=Span(start, stop),
            tokens=sum(sizes[start:stop]),
            is_protected=not protected.isdisjoint(range(start, stop)),
            opens_with_user=messages[start].role == "user",
            ends_with_user=messages[stop - 1].role == "user",
        )
        for start, stop in pairwise(_find_cuts(messages, pairing))
    )


def find_protected(messages: Sequence[Message], config: CompressionConfig) -> frozenset[int]:
    """Find the turns that stay: the first of each speaker, as far as asked for, and the last ones."""
    wanted = {
        "system": config.protect_first_system,
        "user": config.protect_first_human,
        "assistant": config.protect_first_gpt,
        "tool": config.protect_first_tool,
    }
    first: dict[str, int] = {}
    for index, message in enumerate(messages):
        first.setdefault("system" if message.role in SYSTEM_ROLES else message.role, index)
    last = range(max(0, len(messages) - config.protect_last_turns), len(messages))
    return frozenset([*(index for role, index in first.items() if wanted.get(role)), *last])


def _find_cuts(messages: Sequence[Message], pairing: Pairing) -> list[int]:
    """List where groups begin, and where the last one ends."""
    cuts = legal_cuts(messages, pairing)
    unanswered = {call.message for call in pairing.open_calls}
    starts: list[int] = []
    is_waiting = False
    for index, message in enumerate(messages):
        # A response whose call cannot be read belongs to whatever stands before it, and so does what somebody
        # unknown says while a call waits: that is most likely its response under a name of its own.
        is_response = message.role == "tool" or any(message.results)
        is_likely_response = is_waiting and message.role not in _KNOWN_ROLES
        if index == 0 or (cuts[index] and not is_response and not is_likely_response):
            starts.append(index)
            is_waiting = False
        is_waiting = is_waiting or index in unanswered
    return [*starts, len(messages)]


def choose_groups(groups: Sequence[Group], tokens: int) -> tuple[Group, ...]:
    """Take groups from the start until they hold `tokens`; all that may be taken where they never do.

    The summary is a turn of the user. So that it stands between turns of others, the first group stays where
    it answers the user, and a user's turn right behind the last one goes, too, as long as there is enough to
    take.
    """
    free = [place for place, group in enumerate(groups) if not group.is_protected]
    if free and free[0] and groups[free[0] - 1].ends_with_user and not groups[free[0]].opens_with_user:
        held = sum(groups[place].tokens for place in free[1:])
        free = free[1:] if held >= tokens else free
    held, enough = 0, len(free)
    for number, place in enumerate(free, 1):
        held += groups[place].tokens
        if held < tokens:
            continue
        enough = min(enough, number)
        if not _is_free_user_turn(groups, place + 1):
            return tuple(groups[taken] for taken in free[:number])
    return tuple(groups[taken] for taken in free[:enough])


def _is_free_user_turn(groups: Sequence[Group], place: int) -> bool:
    return place < len(groups) and groups[place].opens_with_user and not groups[place].is_protected
