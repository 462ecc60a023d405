"""For people who test against midfold, and for midfold's own tests.

Conversations made to order, proofs that an engine or a store keeps its promises, and a provider that fails on
request.
"""

from midfold.testing.conversations import Defect, conversation, transcript
from midfold.testing.engines import check_engine
from midfold.testing.stores import StoreContractError, check_store
from midfold.testing.upstream import HttpStatus, Reply, Upstream

__all__ = [
    "Defect",
    "HttpStatus",
    "Reply",
    "StoreContractError",
    "Upstream",
    "check_engine",
    "check_store",
    "conversation",
    "transcript",
]
