"""`check_store`: does a session store keep the promises that every host relies on?

Only the protocol is used, and every verb of it.
"""

from collections.abc import Callable
from contextlib import closing

from midfold.store import Store
from midfold.testing.stores.chains import check_branches, check_expectations, check_folding, check_leases
from midfold.testing.stores.messages import (
    check_ending,
    check_first_messages,
    check_imports,
    check_kinds,
    check_messages,
    check_strangers,
    check_threads,
)
from midfold.testing.stores.promises import StoreContractError, promise
from midfold.testing.stores.search import check_histories, check_questions, check_search, check_substrings
from midfold.testing.stores.upkeep import (
    check_calls,
    check_deleting,
    check_figures,
    check_pruning,
    check_states,
    check_summaries,
    check_tenants,
    check_upkeep,
)
from midfold.wire import DIALECTS

_SINGLE_SESSIONS = (
    check_strangers,
    check_ending,
    check_kinds,
    check_first_messages,
    check_imports,
    check_search,
    check_questions,
    check_substrings,
    check_calls,
    check_deleting,
    check_figures,
    check_states,
    check_summaries,
    check_threads,
)
_CHAINS = (
    check_leases,
    check_expectations,
    check_branches,
    check_histories,
    check_tenants,
    check_pruning,
)

__all__ = ["StoreContractError", "check_store"]


def check_store(make_store: Callable[[], Store]) -> None:
    """Prove a store against the promises of every store.

    `make_store` opens one and the same store each time, which has no sessions the first time. Raises
    `StoreContractError` naming the first promise that is broken.
    """
    with closing(make_store()) as store:
        for dialect in sorted(DIALECTS):
            check_messages(store, dialect)
        for check in _SINGLE_SESSIONS:
            check(store)
        session, said = check_folding(store)
        for check in _CHAINS:
            check(store)
        check_upkeep(store)
    _check_reopening(make_store, session, said)


def _check_reopening(make_store: Callable[[], Store], session: str, said: list[object]) -> None:
    with closing(make_store()) as store:
        promise("what was written is there when a store is opened again", store.messages(session) == said)
        promise("so are chains", store.get_compression_tip(store.chain(session)[0].id) == session)
        promise("so is the index", bool(store.search("quaxolotl").hits))
