"""Which messages are requests: what the user says, told from results that ride in user messages."""

from collections.abc import Sequence

from midfold.messages.parts import Media, Message, Text


def newest_request(messages: Sequence[Message]) -> int | None:
    """Return the index of the newest message in which the user says something."""
    for index in range(len(messages) - 1, -1, -1):
        if is_request(messages[index]):
            return index
    return None


def is_request(message: Message) -> bool:
    """Whether the user says or shows something; results that ride in user messages are not the user's."""
    return message.role == "user" and any(
        isinstance(part, Media) or (isinstance(part, Text) and part.text.strip()) for part in message.parts
    )
