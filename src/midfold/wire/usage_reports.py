"""Usage reports rewritten for a client whose request was made smaller on its way.

A client that steers by the tokens of its own history would be misled by those of a folded one. Where that is
wished, what was taken out is added to every report that passes.
"""

from midfold.wire.dialect import Item, plain

_PROMPT_FIELDS = ("prompt_tokens", "input_tokens")
_TOTAL_FIELD = "total_tokens"
_HOLDERS = ("response", "message")
"""Where an event of a stream holds the reply, and with it the report."""


def add_prompt_tokens(body: Item, tokens: int) -> Item | None:
    """Return a reply or an event with so many more prompt tokens; `None` where it reports none."""
    usage = plain(body.get("usage"))
    if isinstance(usage, dict) and (added := _add(usage, tokens)) is not None:
        return {**body, "usage": added}
    for holder in _HOLDERS:
        inner = plain(body.get(holder))
        if isinstance(inner, dict) and (changed := add_prompt_tokens(inner, tokens)) is not None:
            return {**body, holder: changed}
    return None


def _add(usage: Item, tokens: int) -> Item | None:
    field = next((name for name in _PROMPT_FIELDS if type(usage.get(name)) is int and usage[name] > 0), None)
    if field is None:
        return None
    added = {**usage, field: usage[field] + tokens}
    total = usage.get(_TOTAL_FIELD)
    return added | {_TOTAL_FIELD: total + tokens} if type(total) is int else added
