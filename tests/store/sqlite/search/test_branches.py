"""Searching in one session, and reading its history: folds, what was taken back, and branches of branches."""

import pytest

from midfold.store import SessionKind

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5"


def say(store, session, *words):
    store.append(session, [{"role": "user", "content": word} for word in words])


def items(records):
    return [record.item for record in records]


@pytest.fixture
def folded(store, talk, fold):
    """A root, its continuation after a fold, and a branch of that."""
    root = store.create_session(dialect="openai_chat").id
    store.append(root, talk(30))
    result = fold(talk(30))
    tip = store.continue_session(root, result.messages, result)
    say(store, tip, "zebra after the fold")
    branch = store.create_session(parent_id=tip, kind=SessionKind.BRANCH).id
    say(store, tip, "yak behind the branch")
    say(store, branch, "okapi in the branch")
    return root, tip, branch


def found(store, query, session):
    return [
        (hit.session_id, hit.snippet) for hit in store.search(query, session_id=session, order="newest").hits
    ]


def spelled(store, text, session):
    return [hit.snippet for hit in store.find_substring(session, text).hits]


def test_a_branch_finds_what_it_took_over_and_what_was_folded_before_it(store, folded):
    root, tip, branch = folded
    assert found(store, "zebra", branch) == [(tip, "zebra after the fold")]
    assert found(store, "okapi", branch) == [(branch, "okapi in the branch")]
    assert [session for session, _ in found(store, '"module_3.py" fails', branch)] == [tip, root]


def test_a_branch_does_not_find_what_was_said_beside_it(store, folded):
    root, tip, branch = folded
    assert found(store, "yak", branch) == []
    assert found(store, "okapi", tip) == found(store, "okapi", root) == []


def test_a_branch_of_a_branch_sees_no_more_than_either_did(store, folded):
    _, _, branch = folded
    twig = store.create_session(parent_id=branch, kind=SessionKind.BRANCH).id
    say(store, branch, "gnu behind the twig")
    assert [len(found(store, word, twig)) for word in ("zebra", "okapi", "gnu", "yak")] == [1, 1, 0, 0]
    assert found(store, "code 7919", twig) == found(store, "code 7919", branch) != []


def test_a_search_by_relevance_and_with_filters_is_bounded_in_the_same_way(store, folded):
    branch = folded[2]
    hits = store.search("zebra OR yak OR okapi", session_id=branch, role="user", order="relevance").hits
    assert sorted(hit.snippet.split()[0] for hit in hits) == ["okapi", "zebra"]


def test_letters_are_looked_for_in_all_that_a_session_says(store, folded):
    root, tip, branch = folded
    assert spelled(store, "ebra aft", branch) == spelled(store, "ebra aft", tip) == ["zebra after the fold"]
    assert spelled(store, "kapi", branch) == ["okapi in the branch"]
    assert spelled(store, "ak beh", branch) == []
    last = store.messages(tip)[-3]["content"]
    assert len(spelled(store, last[:20], tip)) >= 1
    assert len(spelled(store, "module_3.py, it", root)) == 1


def test_letters_are_found_newest_first_also_where_a_fold_was_taken_back(store, folded):
    root, _, _ = folded
    again = store.undo_continuation(root)
    say(store, again, "zebra once more")
    assert spelled(store, "zebra", again) == ["zebra once more", "zebra after the fold"]
    assert len(spelled(store, "module_29.py, it", again)) == 1


@pytest.mark.parametrize("text", ['say "hello"', "back\\slash", "two\nlines", "naïve ÜBER", "1, 2", "a/b"])
def test_what_json_spells_otherwise_is_found_as_it_was_said(store, text):
    session = store.create_session(dialect="anthropic").id
    call = {"type": "tool_use", "id": "t", "name": "run", "input": {"text": text, "list": [1, 2]}}
    store.append(
        session, [{"role": "user", "content": f"x{text}x"}, {"role": "assistant", "content": [call]}]
    )
    assert len(store.find_substring(session, text.upper()).hits) >= 1


def test_the_history_of_a_branch_is_all_that_was_said_before_it(store, folded, talk):
    _, _, branch = folded
    assert items(store.history(branch)) == [
        *talk(30),
        {"role": "user", "content": "zebra after the fold"},
        {"role": "user", "content": "okapi in the branch"},
    ]
    twig = store.create_session(parent_id=branch, kind=SessionKind.BRANCH).id
    say(store, branch, "gnu")
    say(store, twig, "emu")
    assert items(store.history(twig)) == [
        *items(store.history(branch))[:-1],
        {"role": "user", "content": "emu"},
    ]


def test_the_history_of_a_branch_from_an_earlier_session_ends_with_that(store, folded, talk):
    root, _, _ = folded
    early = store.create_session(parent_id=root, kind=SessionKind.BRANCH).id
    assert items(store.history(early)) == talk(30)


def test_a_branch_of_an_empty_session_has_a_history_of_its_own(store):
    root = store.create_session(dialect="openai_chat").id
    branch = store.create_session(parent_id=root, kind=SessionKind.BRANCH).id
    say(store, root, "later")
    say(store, branch, "mine")
    assert items(store.history(branch)) == [{"role": "user", "content": "mine"}]
    assert found(store, "later", branch) == []


def test_a_credential_has_the_same_placeholder_in_a_branch(store):
    root = store.create_session(dialect="openai_chat").id
    say(store, root, f"the key is {TOKEN}")
    branch = store.create_session(parent_id=root, kind=SessionKind.BRANCH, title=f"with {TOKEN}").id
    twig = store.create_session(parent_id=branch, kind=SessionKind.BRANCH).id
    for session in (branch, twig):
        say(store, session, f"the key is {TOKEN}")
        first, *_, last = (item["content"] for item in store.messages(session))
        assert first == last
    assert first.removeprefix("the key is ") in store.session(branch).title


def test_a_tenant_finds_nothing_through_a_branch_of_another(store, folded):
    other = store.for_tenant("other")
    root = other.create_session(dialect="openai_chat").id
    branch = other.create_session(parent_id=root, kind=SessionKind.BRANCH).id
    say(other, branch, "heron")
    assert found(other, "zebra OR module", branch) == []
    assert len(found(other, "heron", branch)) == 1


def test_counting_what_was_said_is_as_many_as_reading_it(store, folded, talk):
    root, tip, branch = folded
    deeper = store.create_session(parent_id=branch, kind=SessionKind.BRANCH).id
    say(store, deeper, "deeper")
    undone = store.undo_continuation(tip)
    for session in (root, tip, branch, deeper, undone):
        assert store.count_history(session) == len(store.history(session))
    assert store.count_history(undone) == len(talk(30)) + 2
    assert store.count_history(deeper) == len(talk(30)) + 3
