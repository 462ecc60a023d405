"""One line of a Claude Code session: a message, a piece of one, or bookkeeping."""

from dataclasses import dataclass, field

from midfold.errors import MalformedMessage
from midfold.wire.dialect import Item, describe
from midfold.wire.session_files.records import text_or_none

ROLES = ("user", "assistant")
_SYNTHETIC = "<synthetic>"


@dataclass(frozen=True, slots=True)
class Line:
    """`message`, `calls` and `answers` (ids of tool calls) are empty for bookkeeping."""

    index: int
    record: Item
    message: Item = field(default_factory=dict)
    calls: frozenset[str] = frozenset()
    answers: frozenset[str] = frozenset()

    @property
    def kind(self) -> str:
        """What the file says the line is; `user` and `assistant` are the messages."""
        return str(self.record.get("type"))

    @property
    def uuid(self) -> str | None:
        """The name by which the lines that follow this one point to it."""
        return text_or_none(self.record.get("uuid"))

    @property
    def message_id(self) -> str | None:
        """The provider's id of a reply, shared by all lines of that reply."""
        return text_or_none(self.message.get("id")) if self.kind == "assistant" else None

    @property
    def is_sidechain(self) -> bool:
        """True for what a subagent said."""
        return self.record.get("isSidechain") is True

    @property
    def is_compaction(self) -> bool:
        """True for the line that marks one; in files without such lines, for a summary that starts a root."""
        if self.record.get("subtype") == "compact_boundary":
            return True
        return self.record.get("isCompactSummary") is True and self.record.get("parentUuid") is None

    @property
    def is_placeholder(self) -> bool:
        """True for what stands in place of a reply that never came: no model wrote it."""
        return self.record.get("isApiErrorMessage") is True or self.message.get("model") == _SYNTHETIC


def read_line(index: int, record: Item) -> Line:
    """Read one line; raise `MalformedMessage` where it says that it holds a message and does not."""
    if record.get("type") not in ROLES:
        return Line(index, record)
    message = record.get("message")
    if not isinstance(message, dict):
        raise MalformedMessage(index, f"the message is {describe(message)}; expected an object")
    role, content = message.get("role"), message.get("content")
    if role not in ROLES:
        raise MalformedMessage(index, f"the role is {role!r}; expected user or assistant")
    if not isinstance(content, str | list):
        raise MalformedMessage(index, f"the content is {describe(content)}; expected text or a list")
    blocks = [block for block in content if isinstance(block, dict)]
    return Line(
        index,
        record,
        message,
        calls=frozenset([str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]),
        answers=frozenset(
            [str(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"]
        ),
    )
