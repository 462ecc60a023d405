"""The content of the window by section: one value for library, commands, chat and gateway."""

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum

from midfold.folding import CompressionPolicy, lay_out, make_plan
from midfold.late_dataclasses import dataclass
from midfold.messages import Message
from midfold.ports import Count
from midfold.tokens import Breakdown, ToolShare, break_down


class Section(StrEnum):
    """A part of a request, in the order in which it is sent."""

    TOOLS = "tool schemas"
    SYSTEM = "system prompt"
    MEMORY = "memory"
    HEAD = "head"
    SUMMARY = "summary"
    MIDDLE = "middle"
    """the messages that the next fold would take"""
    TAIL = "tail"
    """the newest messages, and the newest request wherever it stands"""


@dataclass(frozen=True, slots=True)
class SectionShare:
    """The tokens and messages of a section of the window."""

    section: Section
    tokens: int
    messages: int = 0


@dataclass(frozen=True, slots=True)
class ContextBreakdown:
    """The content of the window. The sections add up to `tokens`; `tools` is what came through tools."""

    tokens: int
    context_length: int | None
    threshold_tokens: int | None
    """where the next fold is due; `None` where the window is not known"""
    sections: tuple[SectionShare, ...]
    """in the order in which they are sent, without empty ones"""
    tools: tuple[ToolShare, ...]

    @property
    def free_tokens(self) -> int | None:
        """The room that is left; `None` where the window is not known."""
        return None if self.context_length is None else max(0, self.context_length - self.tokens)

    @property
    def has_summary(self) -> bool:
        return any(share.section is Section.SUMMARY for share in self.sections)

    def tokens_of(self, section: Section) -> int:
        """Return the tokens of one section, 0 where it is not there."""
        return sum(share.tokens for share in self.sections if share.section is section)


def context_breakdown(
    messages: Sequence[Message],
    count: Count,
    policy: CompressionPolicy | None = None,
    *,
    system_tokens: int = 0,
    schema_tokens: int = 0,
    memory_tokens: int = 0,
) -> ContextBreakdown:
    """Take a request apart by section.

    `system_tokens` and `schema_tokens` travel beside the messages; of the system prompt, `memory_tokens` are
    memory files. `policy` sets the window and says what the next fold would keep; without one the window is
    not known, and the usual policy decides what is head and tail.
    """
    whole = break_down(messages, count, system_tokens=system_tokens, schema_tokens=schema_tokens, largest=0)
    return section_breakdown(messages, whole, policy, memory_tokens=memory_tokens)


def section_breakdown(
    messages: Sequence[Message],
    whole: Breakdown,
    policy: CompressionPolicy | None = None,
    *,
    memory_tokens: int = 0,
) -> ContextBreakdown:
    """Break down a request that was counted before, as `context_breakdown` does."""
    tokens: Counter[Section] = Counter()
    items: Counter[Section] = Counter()
    for section, size in zip(_sections(messages, whole.sizes, policy), whole.sizes, strict=True):
        tokens[section] += size
        items[section] += 1
    tokens[Section.TOOLS] = whole.schema_tokens
    tokens[Section.SYSTEM] += whole.system_tokens
    memory = min(memory_tokens, tokens[Section.SYSTEM])
    tokens[Section.SYSTEM] -= memory
    tokens[Section.MEMORY] = memory
    return ContextBreakdown(
        tokens=whole.tokens,
        context_length=policy.context_length if policy else None,
        threshold_tokens=policy.threshold_tokens if policy else None,
        sections=tuple(
            SectionShare(section, tokens[section], items[section])
            for section in Section
            if tokens[section] or items[section]
        ),
        tools=whole.tools,
    )


def _sections(
    messages: Sequence[Message], sizes: Sequence[int], policy: CompressionPolicy | None
) -> Iterator[Section]:
    """Say of each message where it belongs, by what the next fold would do with it."""
    policy = policy or CompressionPolicy()
    layout = lay_out(messages, sizes, policy)
    plan = make_plan(layout, policy, policy.tail_budget_tokens)
    folded = {index for span in plan.spans for index in span}
    for index in range(len(messages)):
        if index == layout.summary:
            yield Section.SUMMARY
        elif index < layout.lead:
            yield Section.SYSTEM
        elif index in folded:
            yield Section.MIDDLE
        else:
            yield Section.HEAD if index < plan.head_stop else Section.TAIL
