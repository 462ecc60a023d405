"""Commands that list read pages of a store, however many sessions there are."""

from midfold.cli import conversations
from midfold.cli.conversations import every_session, find_session, list_conversations
from midfold.store import SessionKind
from support.dict_store import DictStore


class Counting(DictStore):
    """A store that notes how many sessions were read in each listing."""

    def __init__(self) -> None:
        super().__init__()
        self.listed: list[int] = []

    def sessions(self, **options):
        return self._note(super().sessions(**options))

    def conversations(self, **options):
        return self._note(super().conversations(**options))

    def _note(self, found):
        self.listed.append(len(found))
        return found


def filled(count: int) -> Counting:
    store = Counting()
    for number in range(count):
        store.create_session(session_id=f"session-{number:04}", title=f"number {number}")
    return store


def test_a_list_reads_no_more_than_it_shows():
    store = filled(300)
    assert [each.words for each in list_conversations(store, limit=3)] == [
        "number 299",
        "number 298",
        "number 297",
    ]
    assert store.listed == [3]


def test_the_latest_conversation_is_found_behind_pages_of_helpers(monkeypatch):
    monkeypatch.setattr(conversations, "_PAGE", 10)
    store = filled(2)
    for _helper in range(25):
        store.create_session(parent_id="session-0001", kind=SessionKind.SUBAGENT)
    assert find_session(store, "latest").id == "session-0001"
    assert store.listed == [10, 10, 7]


def test_a_session_is_found_by_the_beginning_of_its_id_alone():
    store = filled(300)
    store.create_session(session_id="other-1")
    assert find_session(store, "oth").id == "other-1"
    assert store.listed == [1, 0]


def test_every_session_comes_once_over_all_pages(monkeypatch):
    monkeypatch.setattr(conversations, "_PAGE", 7)
    store = filled(50)
    assert [each.id for each in every_session(store)] == [
        f"session-{number:04}" for number in range(49, -1, -1)
    ]
    assert max(store.listed) == 7
