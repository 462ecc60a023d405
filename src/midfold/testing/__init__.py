"""For people who test against midfold, and for midfold's own tests: conversations made to order."""

from midfold.testing.conversations import Dirt, conversation, transcript

__all__ = ["Dirt", "conversation", "transcript"]
