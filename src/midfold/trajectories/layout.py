"""A trajectory that is too long, taken apart: what may be folded, and how much room a summary of it has."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from midfold.messages import SYSTEM_ROLES, Message, Pairing, pair_calls
from midfold.trajectories.config import LEAST_SUMMARY_TOKENS, CompressionConfig
from midfold.trajectories.passages import Numbering, Passage, number_turns
from midfold.trajectories.plan import Group, choose_groups, group_turns
from midfold.wire import parse

Turn: TypeAlias = dict[str, object]
"""A turn in ShareGPT form; keys other than `from` and `value` are carried along."""
_SPEAKER = "human"


@dataclass(frozen=True, slots=True)
class Notice:
    """A system turn that says that there is a summary: where it stands, and how many tokens that adds."""

    index: int
    turn: Turn
    tokens: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Everything that is asked about a trajectory on the way to a shorter one."""

    config: CompressionConfig
    messages: Sequence[Message]
    pairing: Pairing
    sizes: Sequence[int]
    tokens: int
    groups: tuple[Group, ...]
    numbering: Numbering
    notice: Notice | None
    speaker: str
    """who speaks the summary: whatever this trajectory calls its user"""

    @property
    def notice_tokens(self) -> int:
        return self.notice.tokens if self.notice else 0

    @property
    def excess_tokens(self) -> int:
        """How many tokens have to go, a summary's not counted."""
        return self.tokens + self.notice_tokens - self.config.target_max_tokens

    def choose(self, tokens: int) -> Passage:
        """Choose what to fold: at least `tokens` from the start of what may be, or all of it."""
        spans = tuple(group.span for group in choose_groups(self.groups, tokens))
        return Passage(self.messages, self.pairing, self.sizes, self.numbering, spans)

    def room(self, passage: Passage) -> int:
        """How long a summary may be without going over the target; below 0 if none can be short enough."""
        return passage.tokens - self.excess_tokens

    def budget(self, passage: Passage) -> int:
        """How long the summary of a passage is to be: as set, shorter where that makes the rest fit.

        Where nothing does, at most half of what it stands for, so that something is saved.
        """
        room = self.room(passage)
        most = room if room >= LEAST_SUMMARY_TOKENS else passage.tokens // 2
        return min(self.config.summary_target_tokens, most)


def lay_out(
    turns: Sequence[Turn], sizes: Sequence[int], config: CompressionConfig, count: Callable[[str], int]
) -> Layout:
    """Take a trajectory apart."""
    messages = parse(turns, "sharegpt")
    pairing = pair_calls(messages)
    users = (turn["from"] for turn, message in zip(turns, messages, strict=True) if message.role == "user")
    return Layout(
        config=config,
        messages=messages,
        pairing=pairing,
        sizes=sizes,
        tokens=sum(sizes),
        groups=group_turns(messages, pairing, sizes, config),
        numbering=number_turns(messages),
        notice=_give_notice(turns, messages, sizes, config, count),
        speaker=str(next(users, _SPEAKER)),
    )


def _give_notice(
    turns: Sequence[Turn],
    messages: Sequence[Message],
    sizes: Sequence[int],
    config: CompressionConfig,
    count: Callable[[str], int],
) -> Notice | None:
    """Append the notice to the first system turn, unless that says so already or may be folded itself."""
    index = next((place for place, message in enumerate(messages) if message.role in SYSTEM_ROLES), None)
    notice = config.summary_notice_text
    if index is None or not (config.add_summary_notice and config.protect_first_system and notice):
        return None
    said = str(turns[index]["value"])
    if notice in said:
        return None
    value = f"{said}\n\n{notice}"
    return Notice(index, {**turns[index], "value": value}, count(value) - sizes[index])
