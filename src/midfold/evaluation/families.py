"""Families of conversations: the harness that wrote them, told by the beginning of their names."""

LEAST_ASKED = 10
"""A family that is asked fewer things says too little for a floor of its own."""
_LANGUAGES = frozenset(
    ("ar", "de", "en", "es", "fr", "hi", "it", "ja", "ko", "nl", "pl", "pt", "ru", "tr", "vi", "zh")
)


def name_family(conversation: str) -> str:
    """Return the family of a conversation: the first word of its name, and the language where one follows."""
    first, *others = conversation.split("-")
    return f"{first}-{others[0]}" if others and others[0] in _LANGUAGES else first
