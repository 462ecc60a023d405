"""For people who test against midfold, and for midfold's own tests.

Conversations made to order, clients that send them again, proofs that a plug-in keeps its promises, a store
in memory, and a provider that fails on request.
"""

from midfold.testing.clients import Habit, clear_results, resend
from midfold.testing.conversations import Dirt, conversation, transcript
from midfold.testing.dict_store import DictStore
from midfold.testing.engines import check_engine
from midfold.testing.pipeline import Pipeline
from midfold.testing.simulation import Simulation, Summarizer, find_requests
from midfold.testing.stores import StoreContractError, check_store
from midfold.testing.upstream import Reply, Status, Upstream

__all__ = [
    "DictStore",
    "Dirt",
    "Habit",
    "Pipeline",
    "Reply",
    "Simulation",
    "Status",
    "StoreContractError",
    "Summarizer",
    "Upstream",
    "check_engine",
    "check_store",
    "clear_results",
    "conversation",
    "find_requests",
    "resend",
    "transcript",
]
