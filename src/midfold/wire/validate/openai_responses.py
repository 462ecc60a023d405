"""The rules of OpenAI Responses: OR1 to OR5, and OR6 for items that are no items.

Calls and reasoning may be kept by the server and only referred to, or sealed in a compaction; where the
list does that, what it lacks proves nothing and is not reported.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from midfold.late_dataclasses import dataclass
from midfold.ports import Fault
from midfold.wire.dialect import Item, describe
from midfold.wire.validate.profiles import STILL_WAITING, Outgoing, Rules, read_list, read_text, shown

_ROLES = ("user", "assistant", "system", "developer")
# The parts that a call must have as text.
_CALLS = {
    "function_call": ("call_id", "name", "arguments"),
    "custom_tool_call": ("call_id", "name", "input"),
}
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_ID_PREFIXES = {"function_call": "fc", "message": "msg", "reasoning": "rs"}
_ID_CHARS_MAX = 64


@dataclass(frozen=True, slots=True)
class _Entry:
    """An item, where it stands and of what type it is."""

    index: int
    kind: str
    item: Item

    @property
    def id(self) -> str | None:
        return read_text(self.item, "id")

    @property
    def call_id(self) -> str | None:
        return read_text(self.item, "call_id")

    @property
    def is_the_models(self) -> bool:
        """Whether a model answered this, or was given it."""
        if self.kind == "message":
            return self.item.get("role") == "assistant"
        return not self.kind.endswith("_output")


def check(outgoing: Outgoing) -> Iterator[Fault]:
    items = enumerate(outgoing.messages)
    entries = [_Entry(index, _kind(item), item) for index, item in items if isinstance(item, dict)]
    yield from _refused(outgoing, entries)
    if outgoing.enforce:
        yield from _stricter(entries)


def _refused(outgoing: Outgoing, entries: Sequence[_Entry]) -> Iterator[Fault]:
    if not outgoing.messages:
        yield Fault("OR6", None, "there are no items")
    for index, item in enumerate(outgoing.messages):
        if not isinstance(item, dict):
            yield Fault("OR6", index, f"expected an object, found {describe(item)}")
    for entry in entries:
        yield from _check_item(entry.index, entry.kind, entry.item)
        yield from _check_id(entry.index, entry.kind, entry.item.get("id"))
        if entry.kind in _CALLS and not outgoing.profile.accepts_id(entry.call_id or ""):
            yield Fault("OR4", entry.index, f"the call id is not one that {outgoing.profile.name} takes")
    yield from _check_unique_ids(entries)
    if not outgoing.continues and not any(entry.kind == "item_reference" for entry in entries):
        yield from _check_pairing(entries)
    yield from _check_reasoning(entries)


def _stricter(entries: Sequence[_Entry]) -> Iterator[Fault]:
    """Name what only we refuse, and warn of what depends on the account or the route."""
    yield from _check_unique_calls(entries)
    yield from _check_missing_reasoning(entries)
    for entry in entries:
        if entry.id and entry.id.endswith("_"):
            yield Fault("OR4", entry.index, f"the item id {shown(entry.id)} ends in an underscore", "warning")
    sealed = next((entry.index for entry in entries if entry.item.get("encrypted_content")), None)
    if sealed is not None:
        reason = "encrypted content can be read only by the organisation it was made for"
        yield Fault("OR5", sealed, reason, "warning")


def _kind(item: Item) -> str:
    """Return the type of an item, which messages and references may leave out."""
    kind = item.get("type")
    if isinstance(kind, str):
        return kind
    if kind is None and "role" in item:
        return "message"
    return "item_reference" if kind is None and isinstance(item.get("id"), str) else ""


def _check_item(index: int, kind: str, item: Item) -> Iterator[Fault]:
    if not kind:
        yield Fault("OR6", index, "an item has neither a type nor a role")
    elif kind == "message":
        yield from _check_message(index, item)
    elif kind in _OUTPUTS and not isinstance(item.get("output"), str | list | tuple):
        found = describe(item.get("output"))
        yield Fault("OR6", index, f"the output of a call is {found}; expected text or a list")
    for key in _CALLS.get(kind, ()):
        if read_text(item, key) is None:
            yield Fault("OR6", index, f"the {key} of a {kind} is {describe(item.get(key))}; expected text")


def _check_message(index: int, item: Item) -> Iterator[Fault]:
    role, content = read_text(item, "role"), item.get("content")
    if role not in _ROLES:
        found = shown(role) if role is not None else describe(item.get("role"))
        yield Fault("OR6", index, f"the role is {found}; expected one of {', '.join(_ROLES)}")
    if not isinstance(content, str | list | tuple):
        yield Fault("OR6", index, f"content is {describe(content)}; expected text or a list of parts")
    for part in read_list(content) or ():
        if not isinstance(part, dict) or read_text(part, "type") is None:
            yield Fault("OR6", index, f"a part of the content is {describe(part)} without a type")


def _check_id(index: int, kind: str, item_id: object) -> Iterator[Fault]:
    if item_id is None:
        return
    if not isinstance(item_id, str):
        yield Fault("OR4", index, f"the item id is {describe(item_id)}; expected text")
        return
    prefix = _ID_PREFIXES.get(kind, "")
    if not item_id.startswith(prefix):
        yield Fault("OR4", index, f"the id of a {kind} is {shown(item_id)}; it must begin with {prefix}")
    if len(item_id) > _ID_CHARS_MAX:
        yield Fault("OR4", index, f"the item id {shown(item_id)} is longer than {_ID_CHARS_MAX}")


def _check_unique_ids(entries: Sequence[_Entry]) -> Iterator[Fault]:
    seen: set[str] = set()
    for entry in entries:
        if entry.id is None:
            continue
        if entry.id in seen:
            yield Fault("OR4", entry.index, f"the item id {shown(entry.id)} was used before")
        seen.add(entry.id)


def _check_pairing(entries: Sequence[_Entry]) -> Iterator[Fault]:
    """Match outputs to calls, in any order that puts the call first.

    Nobody but the server knows which calls a compaction holds, so outputs behind one may answer those.
    """
    known: set[str] = set()
    waiting: dict[str, int] = {}
    moved_on = -1  # where the list last went on to something beyond an open group of calls
    previous = ""
    is_compacted = False
    for entry in entries:
        if entry.kind in _OUTPUTS:
            if not is_compacted:
                yield from _check_output(entry, known)
            waiting.pop(entry.call_id or "", None)
        elif entry.kind == "compaction":
            is_compacted = True
            waiting.clear()
        elif entry.call_id is not None:
            known.add(entry.call_id)
            if entry.kind in _CALLS:
                waiting[entry.call_id] = entry.index
        if entry.kind not in _OUTPUTS and (previous in _OUTPUTS or not entry.is_the_models):
            moved_on = entry.index
        previous = entry.kind
    for call_id, index in waiting.items():
        reason = "has no output although the list goes on" if index < moved_on else STILL_WAITING
        yield Fault("OR2", index, f"the call {shown(call_id)} {reason}")


def _check_output(entry: _Entry, known: set[str]) -> Iterator[Fault]:
    if entry.call_id is None and entry.item.get("name") is None:
        yield Fault("OR1", entry.index, "an output says neither which call nor which tool it comes from")
    elif entry.call_id is not None and entry.call_id not in known:
        yield Fault("OR1", entry.index, f"no call {shown(entry.call_id)} stands before this output")


def _check_unique_calls(entries: Sequence[_Entry]) -> Iterator[Fault]:
    calls: set[str] = set()
    outputs: set[str] = set()
    for entry in entries:
        if entry.call_id is None:
            continue
        if entry.kind in _CALLS:
            if entry.call_id in calls:
                yield Fault("OR2", entry.index, f"the call id {shown(entry.call_id)} was used before")
            calls.add(entry.call_id)
            outputs.discard(entry.call_id)
        elif entry.kind in _OUTPUTS:
            if entry.call_id in outputs:
                yield Fault("OR1", entry.index, f"the call {shown(entry.call_id)} already has its output")
            outputs.add(entry.call_id)


def _check_reasoning(entries: Sequence[_Entry]) -> Iterator[Fault]:
    """Ask that reasoning with an id is followed by what it led to."""
    for entry, following in pairwise((*entries, None)):
        if entry is None or entry.kind != "reasoning" or entry.id is None:
            continue
        if following is None or not following.is_the_models:
            yield Fault("OR3", entry.index, f"what the reasoning {shown(entry.id)} led to does not follow it")


def _check_missing_reasoning(entries: Sequence[_Entry]) -> Iterator[Fault]:
    """Warn of a turn sent back by id without any reasoning, in a list whose other turns have some.

    Only the server knows whether there was any, so this is never more than a warning.
    """
    if not any(entry.kind == "reasoning" and entry.id for entry in entries):
        return
    is_covered = False
    for entry in entries:
        if entry.kind == "message" and not entry.is_the_models:
            is_covered = False
        elif entry.kind == "reasoning":
            is_covered = True
        elif not is_covered and entry.id and entry.kind in ("function_call", "message"):
            reason = f"this {entry.kind} may lack its reasoning item; keep both, or drop the id"
            yield Fault("OR3", entry.index, reason, "warning")
            is_covered = True


RULES = Rules(check, not_a_list="OR6", takes_text=True)
