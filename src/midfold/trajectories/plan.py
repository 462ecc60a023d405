"""Plans which turns of a trajectory stay, and which are folded.

Turns go in groups: a call is never parted from its responses, and a group with a protected turn in it stays
whole. What is left is folded from its start, as little of it as it takes.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from midfold.folding import Span, legal_cuts
from midfold.late_dataclasses import dataclass
from midfold.messages import SYSTEM_ROLES, Message, Pairing, pair_calls
from midfold.trajectories.config import LEAST_SUMMARY_TOKENS, CompressionConfig
from midfold.trajectories.metrics import Turn
from midfold.wire import parse

_SPEAKER = "human"
_KNOWN_ROLES = frozenset([*SYSTEM_ROLES, "user", "assistant", "tool"])


@dataclass(frozen=True, slots=True)
class TurnGroup:
    """Turns that stay or go together."""

    span: Span
    tokens: int
    is_protected: bool
    opens_with_user: bool
    ends_with_user: bool


def group_turns(
    messages: Sequence[Message], pairing: Pairing, sizes: Sequence[int], config: CompressionConfig
) -> tuple[TurnGroup, ...]:
    """Part a trajectory into groups, and mark those that must stay."""
    protected = find_protected(messages, config)
    return tuple(
        TurnGroup(
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


def choose_groups(groups: Sequence[TurnGroup], tokens: int) -> tuple[TurnGroup, ...]:
    """Take groups from the start until they hold `tokens`; all that may be taken where they never do.

    The summary is a turn of the user. So that it stands between turns of others, the first group stays where
    it answers the user, and a user's turn right behind the last one goes, too, as long as there is enough to
    take.
    """
    free = [index for index, group in enumerate(groups) if not group.is_protected]
    if free and free[0] and groups[free[0] - 1].ends_with_user and not groups[free[0]].opens_with_user:
        held = sum(groups[index].tokens for index in free[1:])
        free = free[1:] if held >= tokens else free
    held, enough = 0, len(free)
    for number, index in enumerate(free, 1):
        held += groups[index].tokens
        if held < tokens:
            continue
        enough = min(enough, number)
        if not _is_free_user_turn(groups, index + 1):
            return tuple(groups[taken] for taken in free[:number])
    return tuple(groups[taken] for taken in free[:enough])


def _is_free_user_turn(groups: Sequence[TurnGroup], index: int) -> bool:
    return index < len(groups) and groups[index].opens_with_user and not groups[index].is_protected


@dataclass(frozen=True, slots=True)
class SystemNotice:
    """A system turn that says that there is a summary: where it stands, and how many tokens that adds."""

    index: int
    turn: Turn
    tokens: int


@dataclass(frozen=True, slots=True)
class TrajectoryLayout:
    """Everything that is asked about a trajectory on the way to a shorter one."""

    config: CompressionConfig
    messages: Sequence[Message]
    pairing: Pairing
    sizes: Sequence[int]
    tokens: int
    groups: tuple[TurnGroup, ...]
    notice: SystemNotice | None
    speaker: str
    """who speaks the summary: whatever this trajectory calls its user"""

    @property
    def notice_tokens(self) -> int:
        return self.notice.tokens if self.notice else 0

    @property
    def excess_tokens(self) -> int:
        """The tokens that have to go, a summary's not counted."""
        return self.tokens + self.notice_tokens - self.config.target_max_tokens

    def choose(self, tokens: int) -> tuple[Span, ...]:
        """Choose what to fold: at least `tokens` from the start of what may be, or all of it."""
        return tuple(group.span for group in choose_groups(self.groups, tokens))

    def room(self, folded_tokens: int) -> int:
        """Return how long a summary of so many tokens may be within the target; below 0 where none fits."""
        return folded_tokens - self.excess_tokens

    def budget(self, folded_tokens: int) -> int:
        """Return the length of a summary of so many tokens: as set, shorter where that makes the rest fit.

        Where nothing does, at most half of what it stands for, so that something is saved.
        """
        room = self.room(folded_tokens)
        most = room if room >= LEAST_SUMMARY_TOKENS else folded_tokens // 2
        return min(self.config.summary_target_tokens, most)


def lay_out(
    turns: Sequence[Turn], sizes: Sequence[int], config: CompressionConfig, count: Callable[[str], int]
) -> TrajectoryLayout:
    """Take a trajectory apart."""
    messages = parse(turns, "sharegpt")
    pairing = pair_calls(messages)
    users = (turn["from"] for turn, message in zip(turns, messages, strict=True) if message.role == "user")
    return TrajectoryLayout(
        config=config,
        messages=messages,
        pairing=pairing,
        sizes=sizes,
        tokens=sum(sizes),
        groups=group_turns(messages, pairing, sizes, config),
        notice=_make_notice(turns, messages, sizes, config, count),
        speaker=str(next(users, _SPEAKER)),
    )


def _make_notice(
    turns: Sequence[Turn],
    messages: Sequence[Message],
    sizes: Sequence[int],
    config: CompressionConfig,
    count: Callable[[str], int],
) -> SystemNotice | None:
    """Append the notice to the first system turn, unless that says so already or may be folded itself."""
    index = next((at for at, message in enumerate(messages) if message.role in SYSTEM_ROLES), None)
    notice = config.summary_notice_text
    if index is None or not (config.add_summary_notice and config.protect_first_system and notice):
        return None
    said = str(turns[index]["value"])
    if notice in said:
        return None
    value = f"{said}\n\n{notice}"
    return SystemNotice(index, {**turns[index], "value": value}, count(value) - sizes[index])
