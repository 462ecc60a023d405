"""Puts the sessions of a damaged store in order again: each chain holds together and has one end."""

from typing import Any

from midfold.late_dataclasses import dataclass, replace
from midfold.store.codec import DamagedRow, read_value
from midfold.store.sqlite.rescue.tables import TableRow

_KINDS = ("root", "continuation", "branch", "subagent")
_FOLDED = "compression"
_DIGEST_BYTES = (0, 32)


@dataclass(frozen=True, slots=True)
class RescuedSession:
    """A session as it is written; in the order of its columns."""

    key: int
    tenant: str
    id: str
    conversation: str
    parent: int | None
    kind: str
    source: str
    model: str | None
    title: str | None
    dialect: str | None
    system: str | None
    started_at: float
    ended_at: float | None
    end_reason: str | None
    undone_at: float | None
    own_from: int
    next_seq: int
    last_chain: bytes
    base_digest: bytes | None


def read_session(row: TableRow) -> RescuedSession:
    """Read a session; what cannot be as it is becomes what it is most likely to have been."""
    key, tenant, session_id, conversation, parent, kind, source, model, title, dialect, system = row[:11]
    started_at, ended_at, end_reason, undone_at, own_from, next_seq, last_chain, base_digest = row[11:]
    name = session_id if isinstance(session_id, str) and session_id else f"rescued-{key}"
    is_chain = isinstance(last_chain, bytes) and len(last_chain) in _DIGEST_BYTES
    return RescuedSession(
        key=key,
        tenant=_text(tenant) or "",
        id=name,
        conversation=_text(conversation) or name,
        parent=parent if type(parent) is int else None,
        kind=kind if kind in _KINDS else "root" if parent is None else "continuation",
        source=_text(source) or "",
        model=_text(model),
        title=_text(title),
        dialect=_text(dialect),
        system=_json(system),
        started_at=_number(started_at) or 0.0,
        ended_at=_number(ended_at),
        end_reason=_text(end_reason) if _number(ended_at) is not None else None,
        undone_at=_number(undone_at),
        own_from=own_from if type(own_from) is int and own_from >= 0 else 0,
        next_seq=next_seq if type(next_seq) is int and next_seq >= 0 else 0,
        last_chain=last_chain if is_chain else b"",
        base_digest=base_digest if isinstance(base_digest, bytes) else None,
    )


def make_session(key: int, tenant: str, dialect: str | None) -> RescuedSession:
    """Make a session for messages whose own cannot be read any more."""
    name = f"rescued-{key}"
    return read_session(
        (key, tenant, name, name, None, "root", "rescue", None, None, dialect, None, 0.0, *[None] * 7)
    )


def put_in_order(session: dict[int, RescuedSession]) -> dict[int, RescuedSession]:
    """Return the sessions with chains that hold together."""
    ordered: dict[int, RescuedSession] = {}
    names: set[tuple[str, str]] = set()
    for key in sorted(session):
        each = session[key]
        if (each.tenant, each.id) in names:
            each = replace(each, id=f"{each.id}-{key}")
        names.add((each.tenant, each.id))
        ordered[key] = _attach(each, ordered)
    return {key: _close(each, ordered) for key, each in ordered.items()}


def _attach(each: RescuedSession, before: dict[int, RescuedSession]) -> RescuedSession:
    """Say whose child a session is; one whose parent is gone follows the newest of its conversation."""
    parent = before.get(each.parent) if each.parent is not None else None
    if parent is not None and parent.tenant != each.tenant:
        parent = None
    if each.kind != "continuation":
        keeps = each.kind != "root" and parent is not None
        return replace(each, parent=each.parent if keeps else None, conversation=each.id)
    if each.undone_at is not None and parent is not None:
        return replace(each, conversation=parent.conversation)
    if parent is None or _find_child(parent.key, before) is not None or parent.undone_at is not None:
        home = parent.conversation if parent else each.conversation
        parent = _find_end(each.tenant, home, before)
    if parent is None:
        return replace(each, parent=None, kind="root", undone_at=None, conversation=each.id)
    return replace(each, parent=parent.key, conversation=parent.conversation)


def _find_end(tenant: str, conversation: str, sessions: dict[int, RescuedSession]) -> RescuedSession | None:
    live = [
        each
        for each in sessions.values()
        if (each.tenant, each.conversation) == (tenant, conversation) and each.undone_at is None
    ]
    return next((each for each in reversed(live) if _find_child(each.key, sessions) is None), None)


def _find_child(key: int, sessions: dict[int, RescuedSession]) -> RescuedSession | None:
    return next(
        (
            each
            for each in sessions.values()
            if each.parent == key and each.kind == "continuation" and each.undone_at is None
        ),
        None,
    )


def _close(each: RescuedSession, sessions: dict[int, RescuedSession]) -> RescuedSession:
    """A session is ended by a fold if, and only if, another goes on with it."""
    if each.undone_at is not None:
        return each
    child = _find_child(each.key, sessions)
    if child is not None and each.end_reason != _FOLDED:
        ended = child.started_at if each.ended_at is None else each.ended_at
        return replace(each, end_reason=_FOLDED, ended_at=ended)
    if child is None and each.end_reason == _FOLDED:
        return replace(each, end_reason=None, ended_at=None)
    return each


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, float) and abs(value) < float("inf") else None


def _json(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        read_value(value)
    except DamagedRow:
        return None
    return value
