"""For people who test against midfold, and for midfold's own tests.

Conversations made to order, and proofs that a plug-in keeps its promises.
"""

from midfold.testing.conversations import Dirt, conversation, transcript
from midfold.testing.engines import check_engine

__all__ = ["Dirt", "check_engine", "conversation", "transcript"]
