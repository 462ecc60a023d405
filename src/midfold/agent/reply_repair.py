"""The repair of replies that no provider would take back, before they are stored.

Models write broken JSON, lists for arguments, names with blanks and ids twice, and an output cap cuts a call
in the middle. A history with one of these is refused for ever, so none of them enters it.
"""

import json
import secrets
from collections.abc import Collection, Sequence
from operator import is_

from midfold.errors import MalformedMessage
from midfold.late_dataclasses import dataclass, replace
from midfold.late_patterns import compile_late
from midfold.messages import Message, Part, Text, ToolCall
from midfold.wire import convert, parse, render
from midfold.wire.apis import Completion
from midfold.wire.validate import find_errors

UNREADABLE = "unreadable_arguments"
"""The one argument of a call whose own could not be read; its value is what the model wrote."""
_PLAIN = compile_late(r"[a-zA-Z0-9_-]{1,64}")
_NOT_PLAIN = compile_late(r"[^a-zA-Z0-9_-]")
_QUESTION = Message("user", (Text("?"),))
"""The request before a reply that is validated by itself."""


def repair_reply(
    completion: Completion, dialect: str, *, used_ids: Collection[str], tools: Collection[str]
) -> Completion:
    """Return a reply as a session in `dialect` can keep it; one that is fine stays as it was written.

    `used_ids` are those of earlier calls. The messages of what is returned are those to store and to answer:
    results pair with the ids that they have there.
    """
    is_strict = completion.dialect != dialect or not _is_legal(completion.items, dialect)
    repairer = _Repairer(set(used_ids), tools, is_strict)
    messages = [repairer.repair(message) for message in completion.messages]
    items = _render_again(messages, dialect) if completion.dialect == dialect else None
    if items is None:
        items = _convert(messages, dialect)
    if len(items) == len(completion.items) and all(map(is_, items, completion.items)):
        return completion
    return replace(completion, dialect=dialect, messages=tuple(parse(items, dialect)))


def has_unreadable_arguments(arguments: object) -> bool:
    """Whether these stand in for arguments that could not be read."""
    return isinstance(arguments, dict) and set(arguments) == {UNREADABLE}


def _render_again(reply: Sequence[Message], dialect: str) -> list[object] | None:
    """Render a reply in its own dialect, with all that its provider put there; `None` where it cannot be.

    Broken arguments may leave no room for repaired ones; then only what was understood is written.
    """
    return _try_render(reply, dialect) or _try_render(
        [Message(each.role, each.parts) for each in reply], dialect
    )


def _try_render(reply: Sequence[Message], dialect: str) -> list[object] | None:
    try:
        items = render(reply, dialect)
    except MalformedMessage:
        return None
    return items if _is_legal(items, dialect) else None


def _convert(reply: Sequence[Message], dialect: str) -> list[object]:
    """Convert a reply as the answer that it is: a whole list would be made to begin with a user's words."""
    question = len(convert([_QUESTION], dialect).messages)
    return convert([_QUESTION, *reply], dialect).messages[question:]


def _is_legal(reply: Sequence[object], dialect: str) -> bool:
    return not find_errors([*render([_QUESTION], dialect), *reply], dialect=dialect)


@dataclass(slots=True)
class _Repairer:
    """Goes through the calls of a reply and remembers which ids are taken."""

    used_ids: set[str]
    tools: Collection[str]
    is_strict: bool
    """whether ids and names must be plain; some servers insist on stranger ones of their own"""

    def repair(self, message: Message) -> Message:
        for position, part in enumerate(message.parts):
            message = message.with_part(position, self._repair_part(part))
        return message

    def _repair_part(self, part: Part) -> Part:
        if not isinstance(part, ToolCall):
            return part
        call = ToolCall(self._choose_id(part.id), self._choose_name(part.name), _repair_arguments(part))
        self.used_ids.add(call.id)
        return call

    def _choose_id(self, call_id: str) -> str:
        is_fit = _PLAIN.fullmatch(call_id) if self.is_strict else call_id.strip()
        return call_id if is_fit and call_id not in self.used_ids else f"call_{secrets.token_hex(12)}"

    def _choose_name(self, name: str) -> str:
        if name in self.tools or not self.is_strict:
            return name
        return _NOT_PLAIN.sub("_", name)[:64] or "tool"


def _repair_arguments(call: ToolCall) -> str:
    if not call.arguments.strip():
        return "{}"
    if isinstance(call.parse_arguments(), dict):
        return call.arguments
    return json.dumps({UNREADABLE: call.arguments})
