"""Async callers use a store without ever making their loop wait."""

import asyncio
import threading

import pytest

from midfold.errors import SessionNotFound
from midfold.store.aio import StoreThreads
from midfold.store.sqlite.store import SqliteStore


def test_verbs_run_in_other_threads_with_all_their_arguments(store: SqliteStore) -> None:
    async def use() -> tuple[list[object], str]:
        threads = StoreThreads()
        session = (await threads.call(store.create_session, title="t")).id
        await threads.call(store.append, session, {"role": "user", "content": "hi"}, tokens=[3])
        name = await threads.call(lambda: threading.current_thread().name)
        said = await threads.call(store.messages, session)
        await threads.close()
        return said, name

    said, name = asyncio.run(use())
    assert said == [{"role": "user", "content": "hi"}]
    assert name != threading.current_thread().name


def test_the_loop_goes_on_while_the_store_is_busy(store: SqliteStore) -> None:
    """The database waits for the loop here: if the loop waited for it, neither would go on."""
    is_free = threading.Event()

    async def use() -> str:
        threads = StoreThreads()
        waiting = asyncio.create_task(threads.call(store._database.write, lambda _: is_free.wait(5)))
        await asyncio.sleep(0)
        is_free.set()
        assert await waiting
        await threads.close(store.close)
        return "went on"

    assert asyncio.run(use()) == "went on"


def test_errors_come_back_as_they_are(store: SqliteStore) -> None:
    async def use() -> None:
        threads = StoreThreads()
        try:
            await threads.call(store.messages, "nobody")
        finally:
            await threads.close()

    with pytest.raises(SessionNotFound):
        asyncio.run(use())


def test_a_call_that_is_given_up_is_done_all_the_same(store: SqliteStore) -> None:
    session = store.create_session().id

    async def use() -> None:
        threads = StoreThreads()
        appending = asyncio.create_task(
            threads.call(store.append, session, {"role": "user", "content": "whole"})
        )
        await asyncio.sleep(0)
        appending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await appending
        await threads.close(lambda: None)

    asyncio.run(use())
    store._database.write(lambda _: None)  # whatever was handed in before this is done
    assert store.messages(session) in ([], [{"role": "user", "content": "whole"}])
