"""A message that was found, as it is stored."""

from midfold.late_dataclasses import dataclass
from midfold.messages import ToolResult
from midfold.search import Origin
from midfold.store.codec import DamagedRow, read_body
from midfold.store.rows import SUMMARY
from midfold.store.sqlite.checksums import is_intact
from midfold.wire import RESULT_BLOCK

COLUMNS = (
    "m.id, s.id, s.conversation, s.title, m.seq, m.role, m.tools, m.created_at, m.dialect, m.body,"
    " m.session, m.origin, m.seal, m.digest"
)
"""The columns of a `FoundMessage`."""


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message that was found, as it is stored; `tools` are names with spaces between."""

    id: int
    session_id: str
    conversation_id: str
    title: str | None
    seq: int
    role: str
    tools: str
    created_at: float
    dialect: str
    body: str
    session: int
    origin: str
    seal: int | None
    digest: bytes

    @property
    def kind(self) -> Origin:
        """The kind of the message."""
        if self.origin == SUMMARY:
            return Origin.SUMMARY
        return Origin.TOOL_OUTPUT if self.speaker == "tool" else Origin.MESSAGE

    @property
    def speaker(self) -> str:
        """The role, but `tool` for a user message that holds nothing but results, as Anthropic sends them."""
        if self.role != "user" or RESULT_BLOCK not in str(self.body):
            return self.role
        try:
            parts = read_body(self.dialect, self.body).parts
        except DamagedRow:
            return self.role
        return "tool" if all(isinstance(part, ToolResult) for part in parts) else self.role

    @property
    def is_sound(self) -> bool:
        """Whether it is what was stored."""
        columns = (self.session, self.seq, self.origin, self.role, self.tools, self.dialect, self.body)
        return is_intact((*columns, self.seal))
