"""Answers of the admin API, as JSON Schema by operation: `openapi` describes them, and tests check them."""

from collections.abc import Mapping
from typing import TypeAlias

Schema: TypeAlias = Mapping[str, object]

_TEXT: Schema = {"type": "string"}
_WHOLE: Schema = {"type": "integer"}
_NUMBER: Schema = {"type": "number"}
_FLAG: Schema = {"type": "boolean"}
_ANYTHING: Schema = {}


def _or_null(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


def _object(**fields: Schema) -> Schema:
    return {"type": "object", "required": list(fields), "properties": fields}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_NAME = _or_null(_TEXT)
_COUNT = _or_null(_WHOLE)
_MOMENT: Schema = {"type": ["string", "null"], "format": "date-time"}

_SESSION: Mapping[str, Schema] = {
    **dict.fromkeys(("id", "conversation", "kind", "source"), _TEXT),
    **dict.fromkeys(("parent", "title", "model", "dialect", "end_reason"), _NAME),
    **dict.fromkeys(("started_at", "ended_at"), _MOMENT),
    "is_undone": _FLAG,
    "messages": _WHOLE,
}
_FOLD: Mapping[str, Schema] = {
    **dict.fromkeys(("number",), _WHOLE),
    **dict.fromkeys(("session", "child"), _TEXT),
    "at": _MOMENT,
    "is_damaged": _FLAG,
    "spans": _list(_list(_WHOLE)),
    **dict.fromkeys(("reason", "why", "focus", "summarizer", "warning"), _NAME),
    **dict.fromkeys(
        ("messages_before", "messages_after", "tokens_before", "tokens_after", "summary_tokens"), _COUNT
    ),
}
_NOTE = _object(
    number=_WHOLE,
    heading=_TEXT,
    text=_TEXT,
    author=_TEXT,
    is_pinned=_FLAG,
    is_struck=_FLAG,
    is_corrected=_FLAG,
    quotes_user=_FLAG,
    sources=_list(_object(number=_WHOLE, speaker=_TEXT)),
)
_MESSAGE = _object(
    number=_WHOLE,
    session=_TEXT,
    seq=_WHOLE,
    role=_NAME,
    origin=_TEXT,
    tools=_list(_TEXT),
    at=_MOMENT,
    tokens=_COUNT,
    is_damaged=_FLAG,
    parts=_list(_object(kind=_TEXT, text=_TEXT)),
)
_HIT = _object(
    session=_TEXT,
    conversation=_TEXT,
    seq=_WHOLE,
    role=_NAME,
    tools=_list(_TEXT),
    at=_MOMENT,
    title=_NAME,
    origin=_TEXT,
    pieces=_list(_object(text=_TEXT, is_marked=_FLAG)),
)
_AMOUNT = _object(tokens=_WHOLE, dollars=_or_null(_NUMBER))
_TOTALS: Mapping[str, Schema] = {
    "calls": _WHOLE,
    "tokens": _object(prompt_tokens=_WHOLE, output_tokens=_WHOLE, total_tokens=_WHOLE),
    "cost": _object(dollars=_or_null(_NUMBER), complete=_FLAG),
    "cache": _object(hit_rate=_NUMBER, saved_dollars=_or_null(_NUMBER)),
    "compressions": _WHOLE,
    "savings": _object(
        net=_AMOUNT, left_out=_AMOUNT, cache_loss=_AMOUNT, summaries=_AMOUNT, read_again=_AMOUNT
    ),
}
_GROUPS = _list(_object(name=_TEXT, **_TOTALS))
_TIP = {**_SESSION, "began_at": _MOMENT, "title": _NAME}
_ROW = _object(before=_COUNT, after=_COUNT, role=_TEXT, fate=_TEXT, text=_TEXT)
_CHANGED = _object(session=_TEXT)
_PINS = _object(pins=_list(_TEXT))

ANSWERS: Mapping[str, Schema] = {
    "token": _object(token=_TEXT, version=_TEXT),
    "openapi": _object(openapi=_TEXT, info=_ANYTHING, paths=_ANYTHING, components=_ANYTHING),
    "conversations": _object(conversations=_list(_object(**_TIP, folds=_WHOLE)), next=_NAME),
    "conversation": _object(
        **_TIP,
        tip=_TEXT,
        window_tokens=_WHOLE,
        threshold_tokens=_WHOLE,
        chain=_list(_object(**_SESSION)),
        folds=_list(_object(**_FOLD)),
        pressure=_list(_object(at=_MOMENT, tokens=_WHOLE, kind=_TEXT)),
        pins=_list(_TEXT),
        usage=_object(**_TOTALS, by_model=_GROUPS, by_session=_GROUPS),
    ),
    "messages": _object(messages=_list(_MESSAGE), total=_WHOLE, named=_COUNT, next=_COUNT),
    "fold": _object(
        **_FOLD,
        title=_NAME,
        is_newest=_FLAG,
        rows=_list(_ROW),
        rows_left_out=_WHOLE,
        losses=_list(_object(index=_WHOLE, kind=_TEXT, what=_TEXT, weight=_NUMBER)),
        notes=_list(_NOTE),
    ),
    "notes": _object(notes=_list(_NOTE)),
    "search": _object(hits=_list(_HIT), is_incomplete=_FLAG),
    "usage": _object(
        since=_TEXT, until=_TEXT, conversations=_WHOLE, **_TOTALS, by_day=_GROUPS, by_model=_GROUPS
    ),
    "settings": _object(settings=_list(_object(key=_TEXT, value=_ANYTHING, origin=_TEXT))),
    "events": _TEXT,
    "compress": _object(
        session=_NAME,
        changed=_FLAG,
        reason=_TEXT,
        warning=_NAME,
        headline=_TEXT,
        token_line=_TEXT,
        note=_NAME,
    ),
    "undo": _CHANGED,
    "add": _CHANGED,
    "strike": _CHANGED,
    "edit": _CHANGED,
    "pin": _PINS,
    "unpin": _PINS,
}
"""Fields that are not listed may come with later versions."""
