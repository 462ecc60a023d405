"""A database of an earlier schema opens, and its folds are found and used as if they were made today.

`databases/schema-1.db.gz` was written by the first schema's own code: two folds in each dialect, one
that only pruned around thinking, one that was taken back, and a branch. The JSON beside it has what its
clients sent. `schema-1-stubs` has folds with parallel calls that never got their results.
"""

import gzip
import json
from pathlib import Path

import pytest

from midfold.folding.fold import apply
from midfold.messages import chain_digests
from midfold.store import SessionKind, open_store
from midfold.store.sqlite.rescue.salvage import salvage
from midfold.wire import parse, render
from midfold.wire.validate import validate

DATABASES = Path(__file__).parent / "databases"
FACTS = json.loads(gzip.decompress((DATABASES / "schema-1.json.gz").read_bytes()))
DIALECTS = ("openai_chat", "anthropic", "openai_responses", "sharegpt")


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "sessions.db"
    path.write_bytes(gzip.decompress((DATABASES / "schema-1.db.gz").read_bytes()))
    with open_store(path, synchronous="NORMAL") as opened:
        yield opened


def test_every_session_says_what_it_said(store):
    for session, said in FACTS["views"].items():
        assert store.messages(session) == said
    for session, count in FACTS["history_counts"].items():
        assert len(store.history(session)) == count


def test_nothing_is_wrong_with_it(store):
    assert store.check() == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_both_folds_are_found_for_a_client_that_sends_everything_again(store, dialect):
    facts = FACTS[dialect]
    first = store.find_fold(chain_digests(parse(facts["client"], dialect)))
    assert first.child_id == facts["sessions"][1]
    once = apply(first.fold, parse(facts["client"], dialect))
    assert render(once, dialect)[: len(facts["after_first"])] == facts["after_first"]
    second = store.find_fold(chain_digests(once))
    assert second.child_id == facts["sessions"][2]
    assert render(apply(second.fold, once), dialect) == facts["after_second"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_client_that_sends_the_folded_list_is_known(store, dialect):
    facts = FACTS[dialect]
    known = store.find_history(chain_digests(parse(facts["after_second"], dialect)))
    assert (known.session_id, known.length) == (facts["sessions"][2], len(facts["after_second"]))


def test_the_fold_is_found_though_the_system_prompt_was_reworded_and_thinking_dropped(store):
    client = [
        {key: value for key, value in item.items() if key != "reasoning_content"}
        for item in FACTS["pruned"]["client"]
    ]
    client[0] = {"role": "system", "content": "You write code. Today is Tuesday."}
    messages = parse(client, "openai_chat")
    found = store.find_fold(chain_digests(messages))
    assert found.child_id == FACTS["pruned"]["sessions"][1]
    items = render(apply(found.fold, messages), "openai_chat")
    assert validate(items, dialect="openai_chat") == []
    assert [len(item.get("tool_calls") or ()) for item in items if item["role"] == "assistant"] == [1] * 4


def test_the_note_is_a_fact_of_the_fold_and_no_edit(store):
    [first, second] = [each.fold for each in store.folds(FACTS["openai_chat"]["sessions"][0])]
    assert first.note
    assert first.note.startswith("[Note:")
    assert 0 not in first.touched
    assert 0 not in second.touched


def test_a_branch_is_known_by_what_was_said_before_it_and_in_it(store):
    facts = FACTS["undone"]
    known = store.find_history(chain_digests(parse(facts["client"], "openai_chat")))
    assert (known.session_id, known.length) == (facts["sessions"][3], len(facts["client"]))
    fold = store.find_fold(chain_digests(parse(facts["client"], "openai_chat")))
    assert fold is None, "it was taken back"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_session_goes_on(store, dialect):
    tip = FACTS[dialect]["sessions"][2]
    more = FACTS[dialect]["client"][-1]
    store.append(tip, [more])
    assert store.messages(tip)[-1] == more
    branch = store.create_session(parent_id=tip, kind=SessionKind.BRANCH).id
    assert store.messages(branch) == store.messages(tip)
    undone = store.undo_continuation(tip)
    assert len(store.messages(undone)) > len(FACTS["views"][tip])
    assert store.check() == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_saved_from_a_damaged_one_is_brought_up_to_date(tmp_path, dialect):
    damaged, fresh = tmp_path / "damaged.db", tmp_path / "fresh.db"
    damaged.write_bytes(gzip.decompress((DATABASES / "schema-1.db.gz").read_bytes()))
    assert salvage(damaged, fresh).is_whole
    facts = FACTS[dialect]
    with open_store(fresh, synchronous="NORMAL") as store:
        found = store.find_fold(chain_digests(parse(facts["client"], dialect)))
        assert found.child_id == facts["sessions"][1]
        assert store.messages(facts["sessions"][2]) == FACTS["views"][facts["sessions"][2]]
        assert store.check() == []


@pytest.mark.parametrize("dialect", ["anthropic", "openai_chat", "sharegpt"])
def test_stub_results_of_parallel_calls_stand_as_they_were_sent(tmp_path, dialect):
    path = tmp_path / "sessions.db"
    path.write_bytes(gzip.decompress((DATABASES / "schema-1-stubs.db.gz").read_bytes()))
    facts = json.loads(gzip.decompress((DATABASES / "schema-1-stubs.json.gz").read_bytes()))[dialect]
    messages = parse(facts["client"], dialect)
    with open_store(path, synchronous="NORMAL") as store:
        found = store.find_fold(chain_digests(messages))
        assert found.child_id == facts["child"]
        folded = apply(found.fold, messages)
        assert render(folded, dialect) == facts["after"] == store.messages(facts["child"])
        assert store.find_history(chain_digests(folded)).session_id == facts["child"]


def test_folds_of_a_file_whose_number_is_damaged_are_brought_up_to_date(tmp_path):
    damaged, fresh = tmp_path / "damaged.db", tmp_path / "fresh.db"
    body = bytearray(gzip.decompress((DATABASES / "schema-1.db.gz").read_bytes()))
    body[60:64] = bytes(4)  # the number of the schema, in the header of the file
    damaged.write_bytes(body)
    salvage(damaged, fresh)
    with open_store(fresh, synchronous="NORMAL") as store:
        assert len(store.folds()) == len([each for each in store.folds() if each.fold.prefix_digest])
        assert store.check() == []
