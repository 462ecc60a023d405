"""One damaged row: it is marked, everything else is read, written, found and deleted as before."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from midfold.errors import MessagesDamaged, StoreCorrupt
from midfold.folding.compression import Compression
from midfold.store import open_store
from midfold.store.sqlite.driver import driver
from midfold.store.sqlite.store import SqliteStore
from midfold.store.transfer import ExportFormat, ExportView, export_session
from midfold.store.values import Condition

Damage = Callable[..., None]
COUNT = 30


def say(number: int) -> dict[str, str]:
    return {"role": "user", "content": f"{number} harbour office, word{number}"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a conversation called `hit`, and one called `sound`."""
    path = tmp_path / "s.db"
    with open_store(path, synchronous="NORMAL") as store:
        for name in ("hit", "sound"):
            store.create_session(session_id=name, dialect="openai_chat")
            store.append(name, [say(number) for number in range(COUNT)])
        store.search("harbour")
    return path


def reopen(path: Path) -> SqliteStore:
    return open_store(path, synchronous="NORMAL")


def damage(path: Path, seq: int, value: object = None, column: str = "body") -> None:
    """Change a message of `hit` behind the back of the store, as a bad disk does."""
    connection = driver.connect(str(path), isolation_level=None)
    new = value if value is not None else json.dumps(say(999))
    connection.execute(
        f"UPDATE messages SET {column} = ? WHERE session = 1 AND seq = ?",  # noqa: S608
        (new, seq),
    )
    connection.close()


def spoil_text(path: Path, seq: int) -> None:
    """Make the text of a message no UTF-8."""
    data = path.read_bytes()
    place = data.index(f"{seq} harbour office, word{seq}".encode())
    path.write_bytes(data[: place + 3] + b"\xff" + data[place + 4 :])


def delete_row(path: Path, seq: int) -> None:
    connection = driver.connect(str(path), isolation_level=None)
    connection.execute("DELETE FROM messages WHERE session = 1 AND seq = ?", (seq,))
    connection.close()


@pytest.mark.parametrize("spoil", [damage, spoil_text, delete_row])
def test_the_sound_rest_is_read_with_a_mark_in_the_place_of_a_damaged_message(
    path: Path, spoil: Damage
) -> None:
    spoil(path, 7)
    with reopen(path) as store:
        for records in (store.records("hit"), store.history("hit")):
            assert [each.seq for each in records] == list(range(COUNT))
            assert [each.seq for each in records if each.is_damaged] == [7]
            assert "damaged" in str(records[7].item)
            assert [each.item for each in records if not each.is_damaged] == [
                say(number) for number in range(COUNT) if number != 7
            ]


@pytest.mark.parametrize("spoil", [damage, spoil_text, delete_row])
def test_a_list_without_room_for_a_mark_is_an_error_that_names_the_position(
    path: Path, spoil: Damage
) -> None:
    spoil(path, 7)
    with reopen(path) as store, pytest.raises(MessagesDamaged) as caught:
        store.messages("hit")
    assert caught.value.positions == (7,)


@pytest.mark.parametrize("seqs", [(0,), (7,), (0, 1, 2), (COUNT - 1,), (3, 9, 20)])
def test_a_hole_is_never_passed_over(path: Path, seqs: tuple[int, ...]) -> None:
    for seq in seqs:
        delete_row(path, seq)
    with reopen(path) as store:
        assert [each.seq for each in store.records("hit") if each.is_damaged] == list(seqs)
        assert [each.seq for each in store.history("hit") if each.is_damaged] == list(seqs)


@pytest.mark.parametrize(("start", "stop"), [(0, 5), (5, 10), (6, 8), (8, 12), (25, None), (40, 50)])
def test_a_page_behind_a_hole_is_the_one_asked_for(path: Path, start: int, stop: int | None) -> None:
    delete_row(path, 7)
    with reopen(path) as store:
        for records in (store.records("hit", start, stop), store.history("hit", start, stop)):
            assert [each.seq for each in records] == list(range(COUNT))[start:stop]


def test_numbers_behind_a_hole_are_those_of_the_history(path: Path) -> None:
    delete_row(path, 7)
    with reopen(path) as store:
        written = [("hit", seq) for seq in range(COUNT)]
        assert store.find_numbers("hit", written) == list(range(COUNT))


@pytest.mark.parametrize("spoil", [damage, spoil_text])
def test_other_conversations_and_new_ones_are_written_after_damage_was_met(path: Path, spoil: Damage) -> None:
    spoil(path, 7)
    with reopen(path) as store:
        with pytest.raises(MessagesDamaged):
            store.messages("hit")
        assert store.check()
        assert store.status.may_write
        assert store.append("sound", say(COUNT)) == COUNT
        store.append(store.create_session().id, say(0))


def test_a_conversation_goes_on_behind_a_damaged_message(path: Path) -> None:
    damage(path, 7)
    with reopen(path) as store:
        assert store.append("hit", say(COUNT)) == COUNT
        assert [each.seq for each in store.records("hit") if each.is_damaged] == [7]


@pytest.mark.parametrize("spoil", [damage, spoil_text, delete_row])
def test_a_conversation_whose_newest_message_is_damaged_does_not_go_on(path: Path, spoil: Damage) -> None:
    spoil(path, COUNT - 1)
    with reopen(path) as store:
        with pytest.raises(MessagesDamaged):
            store.append("hit", say(COUNT))
        assert store.append("sound", say(COUNT)) == COUNT


@pytest.mark.parametrize("spoil", [damage, spoil_text])
def test_a_conversation_with_a_damaged_message_can_be_deleted(path: Path, spoil: Damage) -> None:
    spoil(path, 7)
    with reopen(path) as store:
        assert store.delete("hit").messages == COUNT
        assert [each.id for each in store.sessions()] == ["sound"]
        assert len(store.search("harbour", limit=100).hits) == COUNT
        assert store.check() == []


@pytest.mark.parametrize("spoil", [damage, spoil_text])
def test_a_search_finds_the_rest_and_marks_what_is_damaged(path: Path, spoil: Damage) -> None:
    spoil(path, 7)
    with reopen(path) as store:
        [hit] = store.search("word7", session_id="hit").hits
        assert hit.is_damaged
        assert "damaged" in hit.snippet
        assert len(store.search("harbour", limit=100).hits) == 2 * COUNT
        assert store.find_substring("hit", "word8").hits


def test_a_damaged_message_that_waits_for_the_index_does_not_keep_others_from_it(path: Path) -> None:
    with reopen(path) as store:
        store.append("hit", [say(number) for number in range(COUNT, COUNT + 3)])
    connection = driver.connect(str(path), isolation_level=None)
    connection.execute("DELETE FROM message_words_docsize WHERE id > ?", (2 * COUNT,))
    connection.close()
    damage(path, COUNT, "no JSON at all")
    with reopen(path) as store:
        assert store.search(f"word{COUNT + 2}").hits


@pytest.mark.parametrize("form", ExportFormat)
@pytest.mark.parametrize("view", ExportView)
@pytest.mark.parametrize("spoil", [damage, spoil_text, delete_row])
def test_an_export_has_the_rest_and_says_how_many_are_damaged(
    path: Path, form: ExportFormat, view: ExportView, spoil: Damage
) -> None:
    spoil(path, 7)
    with reopen(path) as store:
        export = export_session(store, "hit", form=form, view=view)
    assert (export.messages, export.damaged) == (COUNT, 1)
    assert "word8" in export.text
    if form is ExportFormat.JSON:
        conditions = [record["condition"] for record in json.loads(export.text)["records"]]
        assert conditions == ["sound"] * 7 + ["damaged"] + ["sound"] * (COUNT - 8)


@pytest.mark.parametrize(
    "change",
    ["UPDATE folds SET body = substr(body, 3)", "UPDATE folds SET body = replace(body, 'module', 'modulo')"],
)
def test_a_damaged_fold_is_marked_and_the_rest_is_read(
    path: Path,
    change: str,
    talk: Callable[..., list[object]],
    fold: Callable[[list[object]], Compression[object]],
) -> None:
    with reopen(path) as store:
        session = store.create_session(dialect="openai_chat").id
        items = talk()
        store.append(session, items)
        result = fold(items)
        child = store.continue_session(session, result.messages, result)
    connection = driver.connect(str(path), isolation_level=None)
    connection.execute(change)
    connection.close()
    with reopen(path) as store:
        [stored] = store.folds(session)
        assert stored.condition is Condition.DAMAGED
        assert store.messages(child) == result.messages
        assert [each.item for each in store.history(child)] == items
        assert export_session(store, session).losses == ("a fold, which is damaged",)


def test_only_damaged_pages_end_all_writing_and_the_error_names_the_doctor(tmp_path: Path) -> None:
    path = tmp_path / "pages.db"
    with reopen(path) as store:
        store.create_session(session_id="long", dialect="openai_chat")
        store.append("long", [say(number) for number in range(300)])
    data = bytearray(path.read_bytes())
    page = data.index(b"150 harbour office") // 4096 * 4096
    data[page : page + 64] = bytes(64)
    path.write_bytes(data)
    with reopen(path) as store:
        records = store.records("long")
        assert [each.seq for each in records] == list(range(300))
        damaged = [each.seq for each in records if each.is_damaged]
        assert 150 in damaged
        assert len(damaged) < 40
        with pytest.raises(StoreCorrupt, match="midfold doctor"):
            store.append("long", say(300))
