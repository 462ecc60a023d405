"""How the room of a hard ceiling is split: by expected use, which depends on how much room there is.

With little room the notes hold more per token than the newest messages do: standing facts, open work, names.
The more room there is, the less the next line of the notes adds, and the more the newest messages do. Both
figures were found by folding real conversations before a cut and looking for what was used after it.
"""

_LEAST_TAIL, _MOST_TAIL = 0.08, 0.3
_TAIL_PER_ROOM = 1.25
PRUNES_FROM = 0.3
"""Below this part of a conversation's size notes and names keep more than stubs of results do."""


def tail_share(ceiling: int, tokens_before: int) -> float:
    """Return the part of a ceiling that the newest messages may take; the notes get what they leave."""
    room = ceiling / max(tokens_before, 1)
    return min(_MOST_TAIL, max(_LEAST_TAIL, room * _TAIL_PER_ROOM))


def prefers_notes(ceiling: int, tokens_before: int) -> bool:
    """Whether a ceiling is so low that a fold keeps more of what is needed than pruning."""
    return ceiling < tokens_before * PRUNES_FROM
