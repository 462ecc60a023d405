"""Which messages a search finds, and in which order."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from midfold.messages import Message, ToolCall, texts_of
from midfold.search import matches, outlines, read_query, words_in
from midfold.search.words import WORD, segment
from midfold.store.codec import stored_texts
from midfold.store.sqlite.search import collected
from midfold.store.sqlite.search import find as finding
from midfold.store.sqlite.search.find import Coverage, MessageFilters, find
from midfold.store.values import Order

# Letters since a later Unicode than that of the tokenizer's tables.
NO_LETTERS = "".join(map(chr, (*range(0x19B0, 0x19CA), 0x1CF2, 0x1CF3)))


def test_words_may_stand_anywhere_and_a_phrase_only_together(shelf):
    apart = shelf.say("the error came after the login")
    together = shelf.say("a login error")
    assert shelf.find("login error") == [together, apart]
    assert shelf.find('"login error"') == [together]


def test_and_or_not_mean_what_they_say_in_every_script(shelf):
    both = shelf.say("安装 完成 fold prune")
    one = shelf.say("安装 失败 fold")
    assert shelf.find("安装 AND 完成") == shelf.find("fold AND prune") == [both]
    assert shelf.find("安装 NOT 完成") == shelf.find("fold NOT prune") == [one]
    assert shelf.find("完成 OR 失败") == shelf.find("prune OR fold") == [one, both]


@pytest.mark.parametrize("query", ["安装", "依赖", "安", '"安装依赖"', "parseArgs", "装*"])
def test_two_chinese_characters_are_enough(shelf, query):
    shelf.say("不安 于 装 fold")
    wanted = shelf.say("请先安装依赖，再用parseArgs函数")
    assert shelf.find(query)[0] == wanted


def test_two_characters_apart_are_not_the_word_they_would_make(shelf):
    shelf.say("安全的装置")
    assert shelf.find("安装") == []


@pytest.mark.parametrize("query", ["안녕", "설정", "ภาษา", "日本", "カナ", "ｶﾅ"])
def test_parts_of_words_in_other_scripts_without_spaces_are_found(shelf, query):
    wanted = shelf.say("안녕하세요 설정을 ภาษาไทย 日本語 カナ")
    assert shelf.find(query) == [wanted]


def test_chinese_inside_escaped_arguments_of_a_call_is_found(shelf):
    call = ToolCall(id="c1", name="write", arguments='{"text": "\\u5b89\\u88c5\\u5b8c\\u6210"}')
    wanted = shelf.say(*texts_of(Message(role="assistant", parts=(call,))))
    assert shelf.find("安装") == [wanted]


@pytest.mark.parametrize(
    "query", ["src/midfold/wire", "wire/usage.py", "wire/us*", '"src/midfold"', "midfold.wire"]
)
def test_a_path_is_found_by_pieces_of_it(shelf, query):
    shelf.say("wire midfold src py usage")
    wanted = shelf.say("look at src/midfold/wire/usage.py:12")
    assert shelf.find(query) == [wanted]


@pytest.mark.parametrize(
    "query",
    [
        "getUserName",
        "getusername",
        "UserName",
        "userName",
        "user_name",
        "user",
        "NAME",
        "getUs*",
        "user-name",
    ],
)
def test_an_identifier_is_found_whole_and_in_parts(shelf, query):
    shelf.say("get a use number")
    wanted = shelf.say("self.getUserName()")
    assert shelf.find(query) == [wanted]


@pytest.mark.parametrize("query", ["cafe", "CAFÉ", "cafe\u0301", "café"])
def test_case_and_accents_make_no_difference(shelf, query):
    assert shelf.find(query) == [] != [shelf.say("Le Café est fermé")] == shelf.find(query)


@pytest.mark.parametrize(
    "query", ["NEAR(a b, 5)", "a NEAR b", "words:error", "NOT", "AND", "{a b}: c", "a + b", "^a", "-la"]
)
def test_what_is_syntax_elsewhere_can_be_found(shelf, query):
    wanted = shelf.say(f"somebody wrote {query} in a message")
    assert shelf.find(query) == [wanted]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(text=st.text(st.characters()) | st.text(st.sampled_from('aBc1_/.-安装 é\u0301ก่\0*"()🫡Ａﾊﾞ')))
def test_every_message_is_found_by_each_of_its_words(shelf, text):
    rowid = shelf.say(text)
    words = {word for word in WORD.findall(segment(text)) if word.strip(NO_LETTERS)}
    assert [word for word in words if rowid not in shelf.find(word, limit=1_000)] == []


def test_the_newest_come_first_and_pages_follow_one_another(shelf):
    ids = [shelf.say(f"fold {number}") for number in range(7)]
    assert shelf.find("fold", limit=3) == ids[:-4:-1]
    assert shelf.find("fold", limit=3, before=ids[4]) == [ids[3], ids[2], ids[1]]
    assert shelf.find("fold", limit=3, offset=5) == [ids[1], ids[0]]


def test_by_relevance_the_best_comes_first_and_of_equals_the_newest(shelf):
    thin = shelf.say("fold " + "and much else " * 30)
    rich = shelf.say("fold fold fold")
    older, newer = shelf.say("a fold here"), shelf.say("a fold here")
    assert shelf.find("fold", order=Order.RELEVANCE) == [rich, newer, older, thin]
    assert shelf.find("fold", order=Order.RELEVANCE, limit=2, offset=1) == [newer, older]


def test_filters_leave_out_what_was_not_asked_for(shelf):
    first = shelf.say("fold", session="a", role="user", created_at=10.0)
    second = shelf.say(
        "fold", session="b", conversation="a", role="tool", tools="read_file grep", created_at=20.0
    )
    third = shelf.say("fold", session="c", role="tool", tools="read", created_at=30.0)
    for order in Order:
        assert sorted(shelf.find("fold", order=order, sessions=("a", "c"))) == [first, third]
        assert sorted(shelf.find("fold", order=order, conversation="a")) == [first, second]
        assert shelf.find("fold", order=order, conversation="a", sessions=("b", "c")) == [second]
        assert shelf.find("fold", order=order, role="tool") == [third, second]
        assert shelf.find("fold", order=order, tool="grep") == [second]
        assert shelf.find("fold", order=order, tool="read") == [third]
        assert shelf.find("fold", order=order, since=20.0) == [third, second]
        assert shelf.find("fold", order=order, until=20.0) == [first]
        assert shelf.find("fold", order=order, sessions=("nobody's",)) == []


def test_a_copy_made_by_a_fold_is_not_a_second_hit(shelf):
    said = shelf.say("the needle", session="a")
    shelf.say("the needle", session="b", origin="copy")
    shelf.say("the needle", session="b", origin="stub")
    summary = shelf.say("summary of the needle", session="b", origin="summary")
    assert shelf.find("needle") == [summary, said]


def test_a_row_carries_what_is_needed_to_show_it(shelf):
    shelf.say("fold", session="b", conversation="a", role="tool", tools="grep find", created_at=5.0)
    [row] = find(shelf.connection, read_query("fold"), MessageFilters("")).rows
    assert (row.session_id, row.conversation_id, row.seq, row.role, row.tools) == (
        "b",
        "a",
        0,
        "tool",
        "grep find",
    )
    assert (row.created_at, row.dialect) == (5.0, "openai_chat")
    assert list(stored_texts(row.dialect, row.body)) == ["fold"]


@pytest.mark.parametrize("most", [0, 20_000])
def test_conversations_that_are_written_in_turns_are_searched_apart(shelf, monkeypatch, most):
    monkeypatch.setattr(collected, "_MOST_IDS", most)
    said = [
        shelf.say(f"the harbour of {name}", session=name, tenant=tenant)
        for _ in range(3)
        for name, tenant in (("skarn", ""), ("vik", ""), ("skarn", "other"))
    ]
    found = shelf.find("how deep is the harbour", conversation="skarn", order=Order.RELEVANCE)
    assert sorted(found) == said[::3]
    assert shelf.find("harbour", sessions=("vik",), order=Order.RELEVANCE, limit=2) == [said[7], said[4]]


def test_a_conversation_that_stands_alone_is_searched_without_looking_at_its_rows(shelf):
    shelf.say("the harbour of vik", session="vik")
    said = [shelf.say(f"the harbour of skarn, berth {number}", session="skarn") for number in range(50)]
    asked = []
    shelf.connection.set_trace_callback(asked.append)
    found = shelf.find("harbour", conversation="skarn", order=Order.RELEVANCE, limit=50)
    assert sorted(found) == said
    matching = [each for each in asked if "MATCH" in each and "message_words" in each]
    assert matching
    assert not [each for each in matching if "JOIN messages" in each]


def test_nobody_finds_what_belongs_to_somebody_else(shelf):
    source = random.Random(22)
    tenants = ("", "ada", "bob", "ada ", "%", "' OR 1=1 --")
    words = [f"w{number}" for number in range(8)]
    owners = {}
    for number in range(300):
        tenant, session = source.choice(tenants), f"s{number % 5}"
        rowid = shelf.say(
            " ".join(source.choices(words, k=4)), tenant=tenant, session=session, conversation="all"
        )
        owners[rowid] = tenant
    for _ in range(300):
        tenant = source.choice((*tenants, "nobody", "w1"))
        query = " ".join(source.choices([*words, "OR", "NOT", *tenants], k=4))
        filters = (
            {} if source.random() < 0.5 else {"sessions": (f"s{source.randrange(6)}",), "conversation": "all"}
        )
        order = source.choice(list(Order))
        found = shelf.find(query, tenant=tenant, order=order, limit=1_000, **filters)
        assert {owners[rowid] for rowid in found} <= {tenant}
        scanned = shelf.scan("w", tenant=tenant, session=f"s{source.randrange(6)}", limit=1_000)
        assert {owners[row.id] for row in scanned.rows} <= {tenant}


@pytest.fixture
def full_shelf(shelf):
    for number in range(1_200):
        shelf.say(f"fold {number} " + "word " * (number % 7))
    return shelf


@pytest.mark.parametrize("order", Order)
def test_a_search_that_takes_too_long_gives_what_it_has(full_shelf, order):
    query = read_query("fold")
    cut = find(full_shelf.connection, query, MessageFilters(""), order=order, limit=1_000, seconds=0)
    assert cut.coverage is Coverage.CUT
    assert cut.is_incomplete
    assert 0 < len(cut.rows) < 1_000
    whole = find(full_shelf.connection, query, MessageFilters(""), order=order, limit=1_000)
    assert len(whole.rows) == 1_000
    assert whole.coverage is Coverage.WHOLE


def test_of_very_many_matches_the_old_ones_with_every_word_are_found(shelf, monkeypatch):
    monkeypatch.setattr(outlines, "KNOWN_MATCHES", 50)
    wanted = shelf.say("the harbour meter")
    for _ in range(200):
        shelf.say("the harbour")
        shelf.say("a meter")
    found = find(shelf.connection, read_query("harbour meter"), MessageFilters(""), order=Order.RELEVANCE)
    assert found.rows[0].id == wanted
    assert found.coverage is Coverage.WHOLE


def test_no_limit_asks_for_more_than_a_page_holds(full_shelf):
    assert len(full_shelf.find("fold", limit=10**30)) == finding.MAX_ROWS
    assert full_shelf.find("fold", limit=-1) == full_shelf.find("fold", limit=0) == []
    assert full_shelf.find("fold", offset=-5, before=10**30) == full_shelf.find("fold")
    assert full_shelf.find("fold", before=-(10**30)) == full_shelf.find("fold", offset=10**30) == []


@pytest.mark.parametrize(
    "query", ["meter harbour", '"harbour meter"', "harb*", "cafe OR quay", "user -name", "安装"]
)
def test_the_index_finds_what_the_rules_without_an_index_find(shelf, query):
    said = [
        "the harbour meter",
        "meter of the harbour",
        "un café",
        "userName here",
        "user there",
        "请安装它",
        "装安",
    ]
    ids = [shelf.say(text) for text in said]
    found = shelf.find(query, limit=100)
    tree = read_query(query).tree
    assert {text for text, rowid in zip(said, ids, strict=True) if rowid in found} == {
        text for text in said if matches(tree, words_in([text]))
    }
