"""The store of dictionaries keeps every promise of a store, and an agent runs on it."""

from midfold.store.base import Store
from midfold.testing import DictStore, check_store
from midfold.testing.dict_store import Shelf


def test_a_store_of_dictionaries_keeps_every_promise() -> None:
    shelf = Shelf()
    check_store(lambda: DictStore(shelf))


def test_it_is_a_store_for_the_type_checker_too() -> None:
    store: Store = DictStore()
    with store as opened:
        assert opened.sessions() == []
