"""The words in which a compression is reported, the same in chat, gateway and command line."""

from collections.abc import Sequence


def headline(before: int, after: int, *, changed: bool) -> str:
    """Say in one line what became of the messages."""
    if not changed:
        return f"No changes from compression: {before:,} messages"
    return f"Compressed: {before:,} → {after:,} messages"


def summarize_manual_compression(
    before: Sequence[object], after: Sequence[object], before_tokens: int, after_tokens: int
) -> dict[str, object]:
    """Describe a compression that a person asked for: `noop`, `headline`, `token_line` and `note`.

    Token figures are estimates. `note` is set only for the surprising case of fewer messages but more tokens.
    """
    noop = len(before) == len(after) and all(
        old is new or old == new for old, new in zip(before, after, strict=True)
    )
    token_line = f"Request size: ~{before_tokens:,} → ~{after_tokens:,} tokens"
    if before_tokens == after_tokens:
        token_line = f"Request size: ~{before_tokens:,} tokens (unchanged)"
    surprising = not noop and len(after) < len(before) and after_tokens > before_tokens
    note = (
        "Fewer messages can take more tokens: a summary may be denser than what it replaced."
        if surprising
        else None
    )
    return {
        "noop": noop,
        "headline": headline(len(before), len(after), changed=not noop),
        "token_line": token_line,
        "note": note,
    }
